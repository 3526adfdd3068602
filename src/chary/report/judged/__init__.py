"""Labels that anybody made, judged, in; one summary out, and what terminals, pages and Python show of it."""
