"""Finds links of a built site that lead nowhere, and resources that are loaded from elsewhere.

    python docs/check_links.py build/site     exit code 1 if there is any

Links within the site must lead to a file, and after ``#`` to an element with that id. Scripts,
styles, pictures and fonts must be the site's own: it is read without a network.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Of which elements an address is fetched while the page is read, not when a reader follows it.
LOADED = {"script", "img", "source", "iframe", "video", "audio", "embed", "object", "link"}
ELSEWHERE = ("http:", "https:", "//")


class Page(HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids and addresses."""
        values = {name: value for name, value in attrs if value is not None}
        self.ids.update(values[name] for name in ("id", "name") if name in values)
        addresses = [values[name] for name in ("href", "src", "data", "poster") if name in values]
        addresses += [
            part.split()[0] for part in values.get("srcset", "").split(",") if part.strip()
        ]
        (self.loaded if tag in LOADED else self.links).extend(addresses)


def pages_of(site: Path) -> list[Path]:
    """All but the templates that a theme brings along."""
    return [
        path
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.relative_to(site).parts
    ]


def complaints(site: Path) -> list[str]:
    """A sentence for each address that leads nowhere or is fetched from elsewhere."""
    site = site.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in pages_of(site)}
    found = [
        f"{path.relative_to(site)} loads {address} from elsewhere"
        for path, page in pages.items()
        for address in page.loaded
        if address.startswith(ELSEWHERE)
    ]
    for sheet in sorted(site.rglob("*.css")):
        for address in re.findall(
            r"(?:url\(|@import\s+)[\"']?([^\"')\s;]+)", sheet.read_text(encoding="utf-8")
        ):
            if address.startswith(ELSEWHERE):
                found.append(f"{sheet.relative_to(site)} loads {address} from elsewhere")
    for path, page in pages.items():
        found += [
            f"{path.relative_to(site)} links to {address}: {why}"
            for address in dict.fromkeys([*page.links, *page.loaded])
            if (why := _dead(path, address, pages))
        ]
    return found


def _dead(path: Path, address: str, pages: dict[Path, Page]) -> str:
    """Say why an address within the site leads nowhere; nothing if it is right or external."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "no such file"
    page = pages.get(target)
    anchor = unquote(parts.fragment)
    if page is not None and anchor and anchor not in page.ids:
        return "no such place on that page"
    return ""


def main() -> int:
    """Print the complaints, or how much was looked at."""
    site = Path(sys.argv[1])
    found = complaints(site)
    for complaint in found:
        print(complaint)
    n_pages = len(pages_of(site))
    print(f"{n_pages} pages, {len(found)} complaints")
    return 1 if found or not n_pages else 0


if __name__ == "__main__":
    sys.exit(main())
