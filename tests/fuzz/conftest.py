"""The script needs Atheris, and is run by ``make fuzz``."""

collect_ignore_glob = ["fuzz.py"]
