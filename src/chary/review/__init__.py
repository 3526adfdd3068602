"""The page in the browser, on this machine alone: label random rows, see the truth, correct and accept labels."""

from chary.review.app import create_app, serve
from chary.review.state import Workbench, begin

__all__ = ["Workbench", "begin", "create_app", "serve"]
