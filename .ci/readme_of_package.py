"""Writes the links of README.md so that they work on the package index, too.

In a clone the README links to files beside it. The package index shows the README alone: there the
links lead to the files of this release, at the address that ``pyproject.toml`` names.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).resolve().parents[1]
# [words](target) and <img src="target">; addresses and places on the same page stay as they are.
LINK = re.compile(r"(?<!!)(\[[^\]]*\]\()(?!https?:|#)([^)]+)(?=\))")
PICTURE = re.compile(r"(<img src=\"|srcset=\"|!\[[^\]]*\]\()(?!https?:)([^)\"]+)")


class ReadmeOfPackage(MetadataHookInterface):
    """Sets the description of the package when it is built."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README, with links that do not depend on where it is read."""
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        version = re.search(r'__version__ = "(.+)"', (ROOT / "src/chary/__init__.py").read_text())
        assert version is not None
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_addresses(text, project["urls"]["Source"], f"v{version[1]}"),
        }


def with_addresses(text: str, source: str, tag: str) -> str:
    """Turn links to files into addresses of these files in the release ``tag``.

    >>> with_addresses("[how](docs/a.md#b), ![](c.png)", "https://x.y/z", "v1.0.0")
    '[how](https://x.y/z/blob/v1.0.0/docs/a.md#b), ![](https://x.y/z/raw/v1.0.0/c.png)'
    """
    text = LINK.sub(rf"\g<1>{source}/blob/{tag}/\g<2>", text)
    return PICTURE.sub(rf"\g<1>{source}/raw/{tag}/\g<2>", text)
