"""Turns the links of a Markdown page, written for a forge, into links of the site.

On a forge a link may lead to any file of the repository. On the site the README is the home page, a
stored report is a page, and any other file is copied beside the pages, to be read in the browser.
"""

import re
from typing import Any

# Files of the repository that are pages of the site. From a page, the file is one folder further
# up.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code_of_conduct.md",
    "SECURITY.md": "security.md",
    "examples": "gallery/index.rst",
}
LINK = re.compile(r"\]\(\.\./((?:\.\./)*)(" + "|".join(map(re.escape, PAGES)) + r")(?=[#)])")
PICTURE = re.compile(
    r'<picture><source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">'
    r'<img src="(?P<light>[^"]+)" alt="(?P<alt>[^"]*)"></picture>'
)


def for_the_site(text: str) -> str:
    """Rewrite what is outside of blocks of code."""
    parts = re.split(r"(^```.*?^```[ ]*$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else _rewritten(part) for part in parts)


def _rewritten(text: str) -> str:
    text = LINK.sub(lambda link: f"]({link[1]}{PAGES[link[2]]}", text)
    # A picture of a study is shown where it stands; a link to it, or to its folder, leads to a
    # page.
    text = re.sub(
        r"(?<!!)(\[[^\]]*\])\(\.\./((?:\.\./)*)studies/results/([\w-]+)/[\w.]+\)",
        r"\1(\2results/\3.md)",
        text,
    )
    text = re.sub(r"\]\(\.\./((?:\.\./)*)studies/results/?\)", r"](\1results/index.md)", text)
    return PICTURE.sub(
        r"![\g<alt>](\g<light>){.only-light}\n![\g<alt>](\g<dark>){.only-dark}", text
    )


def _read(app: Any, docname: str, source: list[str]) -> None:
    if app.env.doc2path(docname).suffix == ".md":
        source[0] = for_the_site(source[0])


def link_pages(lines: list[str]) -> list[str]:
    """The lines of a docstring, in which ``docs/how-to/audit.md`` is a link."""
    return [re.sub(r"``docs/([\w/-]+)\.md``", r":doc:`/\1`", line) for line in lines]


def _docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = link_pages(lines)


def _open_in_the_browser(
    app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Show results and sources that a page links to, instead of saving them.

    Those of the gallery are saved.
    """
    if "body" in context and not pagename.startswith("gallery/"):
        context["body"] = context["body"].replace(' download=""', "")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("html-page-context", _open_in_the_browser)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
