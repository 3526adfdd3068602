"""Runs two tutorials, a CSV and labels of an LLM, and draws their reports, light and dark.

python docs/figures/reports.py    # needs Chromium and Playwright; writes into docs/figures
"""

import os
import re
import runpy
import shlex
import tempfile
from pathlib import Path

from chary.cli import main as chary
from chary.cli.demo import invented_customers

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
browsing = runpy.run_path(str(ROOT / "tests/review/browsing.py"))
# Of each page: the report it ends with, the picture, and how much of the report is shown.
PAGES = {
    "csv": ("customers.report.html", "report", 498),
    "llm-labels": ("tumours.judged.html", "judge-report", 1000),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, browsing["chromium"]() as browser:
        os.chdir(folder)
        invented_customers().write_csv("customers.csv")
        for page, (report, picture, height) in PAGES.items():
            follow((ROOT / f"docs/tutorials/{page}.md").read_text())
            for scheme in ("light", "dark"):
                size = {"width": 1000, "height": height}
                shown = browser.new_page(viewport=size, color_scheme=scheme)
                shown.goto((Path(folder) / report).as_uri())
                shown.screenshot(path=HERE / f"{picture}-{scheme}.png")
        os.chdir(ROOT)


def follow(text: str) -> None:
    """Do what a page does up to its last report: its Python, and its commands silently."""
    names = {"__name__": "__main__"}
    for kind, block in re.findall(r"```(python|console)\n(.*?)```", text, flags=re.DOTALL):
        if kind == "python" and "assert" not in block:
            exec(compile(block, "tutorial", "exec"), names)
        for command in re.findall(
            r"^\$ chary ((?:label|audit|judge) [^|\n]*)", block, flags=re.MULTILINE
        ):
            chary(shlex.split(command))


if __name__ == "__main__":
    main()
