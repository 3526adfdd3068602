"""Words typed after ``chary`` in; files, a summary and an exit code out."""

from chary.cli.app import app, main

__all__ = ["app", "main"]
