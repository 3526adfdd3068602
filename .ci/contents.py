"""Checks built wheels and source archives for files that are missing or should not be there.

python .ci/contents.py build/dist/chary-*
"""

import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Looked for by name, too: a fault in the listing of the folder must not hide that they are missing.
NEEDED = {
    "chary/__init__.py",
    "chary/py.typed",
    "chary/report/templates/page.html",
    "chary/report/templates/style.css",
    "chary/review/assets/icon.svg",
    "chary/review/assets/review.css",
    "chary/review/assets/review.js",
    "chary/review/templates/base.html",
    "chary/tables/no_answer.txt",
}
IN_SOURCE = {
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "PKG-INFO",
    "README.md",
    "SECURITY.md",
    "constraints.txt",
    "pyproject.toml",
    "recipe/recipe.yaml",
    "tests/conftest.py",
    ".ci/contents.py",
    ".ci/first_steps.py",
    ".ci/lowest.py",
    ".ci/pythons.py",
    ".ci/readme_of_package.py",
    ".ci/release.py",
    ".ci/run",
}
# What runs leave behind, and data that is not ours to publish.
NEVER = (
    "__pycache__",
    ".pyc",
    ".venv",
    ".hypothesis",
    ".coverage",
    ".git/",
    ".part",
    "studies/cells",
    "studies/partial",
)


def faults_of_wheel(names: Iterable[str], package: Path) -> list[str]:
    """What a wheel lacks of the package's folder, or has too much."""
    names = set(names)
    inside = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    there = {
        path.relative_to(package.parent).as_posix() for path in package.rglob("*") if path.is_file()
    }
    wanted = {name for name in there if not any(part in name for part in NEVER)} | NEEDED
    faults = [f"lacks {name}" for name in sorted(wanted - inside)]
    faults += [f"should not hold {name}" for name in sorted(inside - wanted)]
    licensed = any(".dist-info/" in name and name.endswith("/LICENSE") for name in names)
    return faults if licensed else [*faults, "lacks the licence"]


def faults_of_source(names: Iterable[str], package: Path) -> list[str]:
    """The same of a source archive, without its first folder: more may be in it."""
    names = {name.partition("/")[2] for name in names}
    there = {
        path.relative_to(package.parent).as_posix() for path in package.rglob("*") if path.is_file()
    }
    wanted = {
        f"src/{name}" for name in there | NEEDED if not any(part in name for part in NEVER)
    } | IN_SOURCE
    faults = [f"lacks {name}" for name in sorted(wanted - names)]
    return faults + [
        f"should not hold {name}" for name in sorted(names) if any(part in name for part in NEVER)
    ]


def faults(archive: Path, package: Path) -> list[str]:
    """What is wrong with an archive, of either kind."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return faults_of_wheel(wheel.namelist(), package)
    with tarfile.open(archive) as source:
        return faults_of_source([member.name for member in source if member.isfile()], package)


if __name__ == "__main__":
    found = [
        f"{name}: {fault}"
        for name in sys.argv[1:]
        for fault in faults(Path(name), ROOT / "src/chary")
    ]
    sys.exit("\n".join(found) or 0)
