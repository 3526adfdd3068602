"""The commands that are typed after ``chary``."""

from chary.cli.app import main

__all__ = ["main"]
