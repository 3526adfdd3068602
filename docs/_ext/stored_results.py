"""Writes a page in ``docs/results`` for each folder of ``studies/results``; nothing is run."""

import re
import shutil
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
STORED = DOCS.parent / "studies" / "results"
PAGES = DOCS / "results"

HEAD = """# Stored results

Every study, as `python -m studies report NAME` wrote it. Building these pages runs nothing.
See also [The paper, run again](../explanation/paper.md) and
[Run a study](../how-to/studies.md).

"""


def write_pages() -> list[str]:
    """The names of the studies, one page each, and a list of them."""
    if PAGES.exists():
        shutil.rmtree(PAGES)
    PAGES.mkdir()
    names = sorted(folder.name for folder in STORED.iterdir() if (folder / "report.md").exists())
    titles = {name: _write_page(name) for name in names}
    listed = "\n".join(f"- [{name}]({name}.md): {title}" for name, title in titles.items())
    toctree = "\n".join(f"{name} <{name}>" for name in names)
    (PAGES / "index.md").write_text(
        f"{HEAD}{listed}\n\n```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"
    )
    return names


def _write_page(name: str) -> str:
    """Write the page of a study; its title."""
    folder = STORED / name
    text = (folder / "report.md").read_text()
    match = re.match(r"# [^:\n]*: (.*)\n", text)
    assert match is not None, f"{folder} has a report without a title"
    where = f"../../studies/results/{name}"
    text = re.sub(r"\]\((?:\.\./([\w-]+)|\.)/report\.md\)", r"](\1.md)", text)
    text = re.sub(r"!\[[^\]]*\]\(figure\.png\)\n*", "", text)
    links = f"[every number]({where}/results.csv), [every cell]({where}/cells.json.gz)"
    picture = f"![{match[1]}]({where}/figure.png)\n\n" if (folder / "figure.png").exists() else ""
    (PAGES / f"{name}.md").write_text(
        f"# {name}\n\n{match[1]}\n\n{text[match.end() :].strip()}\n\n{picture}"
        f"Stored: {links}. Made by `python -m studies run {name}`, then `report`.\n"
    )
    return match[1]


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: write_pages() and None)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
