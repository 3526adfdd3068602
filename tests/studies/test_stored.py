"""The stored results: every study has them, and the reports are what the stored cells say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import studies
from studies import NAMES, STUDIES, Store, find_study, import_results, key_of, protocols_of, to_csv, to_markdown
from studies.results import companion_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "studies" / "results"
FOLDERS = {find_study(name, protocol).name: (name, protocol) for name in NAMES for protocol in protocols_of(name)}


def test_every_study_has_a_stored_result():
    assert {path.parent.name for path in RESULTS.glob("*/cells.json.gz")} == set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_stored_reports_are_what_the_stored_cells_say(folder, tmp_path):
    study, source = find_study(*FOLDERS[folder]), RESULTS / folder / "cells.json.gz"
    cells, stored = study.cells(), import_results(source)
    keys = [key_of(cell.content()) for cell, _ in stored]
    assert stored
    assert len(set(keys)) == len(keys)
    assert set(keys) <= {key_of(cell.content()) for cell in cells}  # so that a run finds them
    results = import_results(source, cells)
    companion = companion_of(study, results, None, Store(tmp_path), source)
    assert to_markdown(study, results, companion) == (source.parent / "report.md").read_text()
    assert to_csv(study, results) == (source.parent / "results.csv").read_text()


def test_cells_keep_their_names():
    """Found by the same keys, finished cells are not worked out again."""
    first = {name: key_of(STUDIES[name].cells()[0].content())[:16] for name in ("table-ssb", "audit", "tables")}
    assert first == {"table-ssb": "b4a5c1a9cd8e35c7", "audit": "330ce3c3383ff290", "tables": "0979b0aa26db8b1b"}


def test_only_figures_that_a_page_shows_are_stored():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    linked = set(re.findall(r"studies/results/([\w-]+)/figure\.png", " ".join(page.read_text() for page in pages)))
    assert {path.parent.name for path in RESULTS.glob("*/*.png")} == linked
    kinds = {path.name for path in RESULTS.rglob("*") if path.is_file()}
    assert kinds == {"cells.json.gz", "report.md", "results.csv", "figure.png"}


def test_every_study_is_found_by_its_name():
    assert [find_study(name).name for name in NAMES] == list(NAMES)
    assert len(set(NAMES)) == len(NAMES)
    for name, protocol, message in (
        ("table-7", "ours", r"There is no study 'table-7'; choose one of table-ssb, .*, deep\."),
        ("table-7", "authors", "There is no study 'table-7'"),
        ("table-iid", "theirs", r"There is no protocol 'theirs'; choose one of ours, authors\."),
        ("audit", "authors", r"audit has no protocol of the authors; table-ssb, .* have one\."),
    ):
        with pytest.raises(ValueError, match=message):
            find_study(name, protocol)


def test_pytorch_is_imported_only_for_the_studies_that_need_it(monkeypatch):
    code = "import sys, studies; studies.find_study('table-ssb'); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)

    def absent(missing):
        def refuse(module):
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

        return refuse

    monkeypatch.setattr(studies, "import_module", absent("torch"))
    with pytest.raises(ValueError, match=r"The study deep needs PyTorch: pip install 'chary\[torch\]'\."):
        find_study("deep")
    monkeypatch.setattr(studies, "import_module", absent("chary.torch.other"))  # a mistake of ours is not hidden
    with pytest.raises(ModuleNotFoundError, match=r"chary\.torch\.other"):
        find_study("deep")


def test_nothing_follows_from_nothing():
    for study in STUDIES.values():
        assert study.findings([]) == []
        assert study.says([]) == study.title
        assert to_markdown(study, []) == f"# {study.name}: {study.title}\n"
