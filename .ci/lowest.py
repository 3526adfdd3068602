"""Writes a constraints file of the lowest versions that pyproject.toml states.

    python .ci/lowest.py plots,test-core > lowest.txt     # of the package, an extra and a group

What is not stated there (what our dependencies need) is pinned as in constraints.txt, so that no
release of a stranger turns a build red; a package that is released in step with another follows it.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Released in step with a package that is stated, whose own requirements name the version.
IN_STEP = {"distributed", "httpcore2", "polars-runtime-32"}
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[^\]]*\])?>=(?P<version>[\w.]+)(\s*;.*)?$")


def stated(settings: dict, sets: list[str]) -> dict[str, str]:
    """Name -> lowest version, of the dependencies and of these extras and groups."""
    project = settings["project"]
    by_name = {**project["optional-dependencies"], **settings["dependency-groups"]}
    requirements = [*project["dependencies"]]
    for name in sets:
        # A group may include another one: {include-group = "..."}.
        requirements += [text for text in by_name[name] if isinstance(text, str)]

    versions: dict[str, str] = {}
    for text in requirements:
        match = REQUIREMENT.match(text)
        if match is None:
            raise SystemExit(
                f"{text!r} is not of the form name>=version, which has a lowest version."
            )
        versions[match["name"].lower()] = match["version"]
    return versions


def lowest(sets: list[str]) -> str:
    """The constraints file: what is stated, then the pins of everything else."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    versions = stated(settings, sets)
    # What only other extras and groups state is not installed; its pin would say nothing.
    every_set = [*settings["project"]["optional-dependencies"], *settings["dependency-groups"]]
    unpinned = {*stated(settings, every_set), *IN_STEP}
    lines = [f"{name}=={version}" for name, version in sorted(versions.items())]
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if not line.startswith("#") and line.split("==")[0].lower() not in unpinned:
            lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(lowest([name for words in sys.argv[1:] for name in words.split(",") if name]))
