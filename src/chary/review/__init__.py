"""The pages in the browser: label random rows, see how many labels are right, correct them."""

from chary.review.serving import serve
from chary.review.workbench import begin

__all__ = ["begin", "serve"]
