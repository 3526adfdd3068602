"""Lists the interpreters of this machine that chary supports, one for each version.

    python .ci/pythons.py      # prints a path for each; says on the error stream which are missing

Supported are the versions that the classifiers of pyproject.toml name. An interpreter is found by
its name (``python3.12``) or among those of pyenv.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def supported() -> list[str]:
    """List the supported versions, such as "3.12"."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = [re.search(r":: (3\.\d+)$", text) for text in project["classifiers"]]
    return [match[1] for match in found if match is not None]


def interpreter(version: str) -> str | None:
    """Find an interpreter of this version that runs; None if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python"))]
    on_path = shutil.which(f"python{version}")
    if on_path is not None:
        candidates.insert(0, on_path)
    for candidate in candidates:
        # A name that pyenv puts on the path may belong to no chosen version: it ends with an error.
        if subprocess.run([candidate, "-m", "venv", "-h"], capture_output=True).returncode == 0:
            return candidate
    return None


if __name__ == "__main__":
    for version in supported():
        path = interpreter(version)
        if path is None:
            print(f"Python {version} is not on this machine: skipped", file=sys.stderr)
        else:
            print(path)
