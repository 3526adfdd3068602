"""The page in the browser, on this machine alone: label random rows, see the truth, mend and accept labels."""

from chary.review.app import create_app
from chary.review.serving import serve
from chary.review.state import Workbench, begin

__all__ = ["Workbench", "begin", "create_app", "serve"]
