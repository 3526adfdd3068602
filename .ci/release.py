"""Says what is missing before a version can be published.

    python .ci/release.py v1.0.0      # of this tag; exit code 1 if anything is missing
    python .ci/release.py             # of the tag that this version should have

Run by the release workflow before it uploads anything, and at the end of ``make dist``, which only
shows the sentences.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def missing(tag: str | None = None, root: Path = ROOT) -> list[str]:
    """List what keeps a release from being published, a sentence each."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = (root / "src/chary/__init__.py").read_text(encoding="utf-8")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    version = re.findall(r'__version__ = "(.+)"', source)[0]

    sentences = []
    if tag not in (None, f"v{version}"):
        sentences.append(f"The tag is {tag}, the version v{version}.")
    if re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.M) is None:
        sentences.append(f"CHANGELOG.md has no line '## {version} (YYYY-MM-DD)'.")
    placeholders = [name for name, url in project["urls"].items() if ".invalid" in url]
    if placeholders:
        sentences.append(
            f"[project.urls] in pyproject.toml has no address yet for {', '.join(placeholders)}."
        )
    return sentences


def main() -> int:
    """Print what is missing."""
    sentences = missing(*sys.argv[1:])
    for sentence in sentences:
        print(f"Not ready to publish: {sentence}")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
