"""Writes a constraints file of the lowest versions that pyproject.toml states.

    python .ci/lowest.py plots,dask > lowest.txt      # of the package, and of these extras

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
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[(?P<extras>[^\]]*)\])?(?:>=(?P<version>[\w.]+))?$")


def stated(project: dict, extras: list[str]) -> dict[str, str]:
    """Name -> lowest version, of the dependencies and of the extras."""
    found: dict[str, str] = {}
    for extra in [None, *extras]:
        for text in (
            project["dependencies"] if extra is None else project["optional-dependencies"][extra]
        ):
            match = REQUIREMENT.match(text)
            if match is None:
                raise SystemExit(
                    f"{text!r} is not of the form name>=version, which has a lowest version."
                )
            if match["name"] == project["name"]:
                found |= stated({**project, "dependencies": []}, match["extras"].split(","))
            elif match["version"] is None:
                raise SystemExit(f"{text!r} states no lowest version; write name>=version.")
            else:
                found[match["name"].lower()] = match["version"]
    return found


def lowest(extras: list[str]) -> str:
    """The constraints file: what is stated, then the pins of everything else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = stated(project, extras)
    every_one = stated(
        project, [*project["optional-dependencies"]]
    )  # extras that are not asked for are no matter
    pins = [
        line
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if not line.startswith("#") and line.split("==")[0].lower() not in {*every_one, *IN_STEP}
    ]
    return (
        "\n".join([f"{name}=={version}" for name, version in sorted(versions.items())] + pins)
        + "\n"
    )


if __name__ == "__main__":
    sys.stdout.write(
        lowest([extra for words in sys.argv[1:] for extra in words.split(",") if extra])
    )
