"""Makes what a visitor can look at before installing: real reports, and the pages of the browser.

The tutorials are run, and the pages of ``chary review`` are saved as they were answered. A copy
keeps the script of the pages, which asks for JSON: it gets what was recorded, and every change is
refused in one sentence. Everything is written to ``docs/look``, which Sphinx copies as it is.
"""

import json
import os
import re
import runpy
import shutil
import tempfile
from contextlib import redirect_stdout
from http.cookiejar import CookieJar
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import HTTPCookieProcessor, build_opener

from chary.cli.demo import invented_customers

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
# Sphinx copies what is in `look` to the top of the site: the copies are in a folder below it.
COPIES = DOCS / "look" / "look"
PAGE = DOCS / "look-inside.md"
REPORTS = {
    "customers.report.html": "The report of `chary label`, with thirty rows that a person labelled",
    "tumours.judged.html": "The report of `chary judge`: labels made by a rule, and sixty answers",
}
STEPS = {
    "start": "which columns there are, and how the labelled rows differ",
    "audit": "label random rows, with one key each",
    "truth": "how many labels are right",
    "review": "correct doubtful labels one by one",
    "result": "the files, and the report",
}
HEAD = """# Look before you install

Made when this site was built, by the commands of the tutorials. The customers are invented; the
tumours are a data set of scikit-learn.

"""
# What a copy says above its content.
NOTE = (
    '<p class="banner">This is a copy to look at: it shows what was saved, and takes no answers. '
    "The real page runs on your own machine: <code>chary review customers.csv</code>.</p>"
)
# In place of the server: saved answers, and links to the other copies.
STAND_IN = """
window.fetch = async (path, options = {}) => {
  const saved = options.method === "POST" ? null : SAVED[String(path).split("?")[0]];
  const refusal = { error: "This is a copy: nothing can be changed here." };
  return new Response(JSON.stringify(saved ?? refusal), { status: saved ? 200 : 409 });
};
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='/']");
  if (!link) return;
  event.preventDefault();
  location.assign(COPIES[link.getAttribute("href")] ?? "start.html");
}, true);
"""


def save_all() -> None:
    """Run the tutorials and the walk through the pages, and write the copies and their page."""
    if COPIES.parent.exists():
        shutil.rmtree(COPIES.parent)
    COPIES.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        save_reports(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        save_pages(Path(folder))
    lines = [f"- <a href='look/{name}'>{_html(words)}</a>" for name, words in REPORTS.items()]
    lines += [""]
    lines += ["The pages of `chary review`, in the order of the work:", ""]
    lines += [
        f"- <a href='look/{name}.html'>{name.capitalize()}</a>: {words}"
        for name, words in STEPS.items()
    ]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n")


def save_reports(folder: Path) -> None:
    """Run the tutorials in a folder, and keep the reports with which they end."""
    reports = runpy.run_path(str(DOCS / "figures/reports.py"))
    before = Path.cwd()
    os.chdir(folder)
    try:
        invented_customers().write_csv("customers.csv")
        with redirect_stdout(StringIO()):
            for page in reports["PAGES"]:
                reports["follow"]((DOCS / f"tutorials/{page}.md").read_text())
    finally:
        os.chdir(before)
    for name in REPORTS:
        shutil.copy(folder / name, COPIES / name)


def save_pages(folder: Path) -> None:
    """Walk through the pages, and keep each as it is when its step is reached."""
    from chary.options import ReviewOptions
    from chary.review import begin

    invented_customers().write_csv(folder / "customers.csv")
    walk = runpy.run_path(str(DOCS / "figures/review.py"))
    browsing = walk["browsing"]
    bench = begin([str(folder / "customers.csv")], ReviewOptions(target="churn"))
    with browsing["served"](bench) as base:
        opener = build_opener(HTTPCookieProcessor(CookieJar()))
        opener.open(f"{base}/?token={quote(browsing['TOKEN'])}").close()

        def read(path: str) -> str:
            with opener.open(base + path) as response:
                return response.read().decode()

        for name in walk["steps"](bench):
            save_page(name, walk["PLACES"], read)
    for asset in ("review.css", "icon.svg"):
        shutil.copy(ROOT / "src/chary/review/assets" / asset, COPIES)
    script = (ROOT / "src/chary/review/assets/review.js").read_text()
    # As a module it would not be read from a folder, so it gets a scope of its own by a function.
    (COPIES / "review.js").write_text(f"{STAND_IN}\n(async () => {{\n{script}\n}})();\n")


def save_page(name: str, places: dict[str, str], read: Any) -> None:
    """Write the copy of a page, with the answers that its script asks for."""
    saved = {path: json.loads(read(path)) for path in ("/api/state", f"/api/{name}")}
    copies = {address: f"{step}.html" for step, address in places.items()}
    copies["/report"] = "customers.report.html"
    text = read(places[name])
    text = re.sub(r'(href|src)="/assets/', r'\1="', text)
    text = re.sub(r'href="/download/[^"]*" download="[^"]*"', 'href="result.html"', text)
    for address, copy in copies.items():
        text = text.replace(f'href="{address}"', f'href="{copy}"')
    # "<" would end the script if it stood in a cell.
    values = json.dumps(saved).replace("<", "\\u003c")
    data = f"<script>const SAVED = {values}; const COPIES = {json.dumps(copies)};</script>"
    text = text.replace('<script type="module"', f"{data}\n<script defer")
    text = text.replace("<main ", f"{NOTE}\n<main ", 1)
    (COPIES / f"{name}.html").write_text(text)


def _html(words: str) -> str:
    """Turn what is between backticks into code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", words)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: save_all())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
