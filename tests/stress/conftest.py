"""Scripts, no tests: each takes minutes, and is run by hand."""

collect_ignore_glob = ["*.py"]
