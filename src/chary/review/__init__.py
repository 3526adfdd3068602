"""The page in the browser, on this machine alone: label random rows, see the truth, correct and accept labels."""

from chary.review.app import serve
from chary.review.state import begin

__all__ = ["begin", "serve"]
