"""The commands that are typed after ``chary``."""

from chary.cli.app import app, main

__all__ = ["app", "main"]
