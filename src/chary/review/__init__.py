"""A table in; pages in the browser out, on this machine alone: label random rows, see the truth, mend, accept."""

from chary.review.app import create_app
from chary.review.beginning import Typed, begin
from chary.review.labelling import Fixed
from chary.review.serving import serve
from chary.review.settings import Settings
from chary.review.workbench import Workbench

__all__ = ["Fixed", "Settings", "Typed", "Workbench", "begin", "create_app", "serve"]
