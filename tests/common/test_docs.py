"""What the documentation shows, happens: ``pycon`` and ``console`` blocks are run and their output compared."""

import csv
import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if "```pycon" in page.read_text()
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_the_documentation(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```pycon\n(.*?)```", page.read_text(), flags=re.DOTALL)
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    output = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=output.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(output)


TEXTS = {page.name: page.read_text() for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]}


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if "```console" in text])
def test_commands_of_the_documentation(name, tmp_path):
    """In a folder that holds the customers of the quickstart; ``...`` stands for anything on a line.

    The ``python`` blocks of such a page are run too, where they stand.
    """
    python = f'"{sys.executable}" -c "import sys; from chary.cli import main; sys.exit(main())"'
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, ROOT / "examples/1_quickstart/customers.py"], cwd=tmp_path, check=True)
    lines = ""  # of Python so far: later blocks use the names of earlier ones
    for kind, block in re.findall(r"```(python|console)\n(.*?)```", TEXTS[name], flags=re.DOTALL):
        if kind == "python":
            lines += block
            subprocess.run([sys.executable, "-c", lines], cwd=tmp_path, env=environment, check=True)
            continue
        for part in block.split("$ ")[1:]:
            command, _, expected = part.partition("\n")
            script = f'chary() {{ {python} "$@"; }}; {command}'
            done = subprocess.run(
                ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            found = "\n".join(line.rstrip() for line in (done.stdout + done.stderr).split("\n"))
            pattern = re.escape(expected).replace(r"\.\.\.", ".*")
            assert re.fullmatch(pattern, found), f"$ {command}\n{found}"


def test_the_table_of_the_readme_is_the_stored_result():
    with (ROOT / "studies/results/table-ssb/results.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "accuracy" and row["paper_mean"]]
    shown = re.findall(r"^\| [A-Z][\w-]+ \| \d.*\|$", TEXTS["README.md"], flags=re.MULTILINE)
    numbers = [[float(text) for text in re.findall(r"\d+\.\d", line)] for line in shown]
    stored = {}
    for row in rows:
        stored.setdefault(row["dataset"], []).extend([float(row["mean"]), float(row["paper_mean"])])
    assert len(numbers) == len(stored) == 13
    np.testing.assert_allclose(numbers, list(stored.values()), atol=0.0501)


@pytest.mark.parametrize("name", TEXTS)
def test_no_page_is_unfinished(name):
    assert not re.search(r"@@|PLACEHOLDER|TODO", TEXTS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_links_of_the_documentation_lead_somewhere(name):
    folder = ROOT if name == "README.md" else ROOT / "docs"
    targets = re.findall(r"\]\((?!http)([^)#]+)[^)]*\)|<img src=\"([^\"]+)\"", TEXTS[name])
    for target in (markdown or image for markdown, image in targets):
        assert (folder / target).exists(), target
