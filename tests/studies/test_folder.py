"""The folder of a study: written whole, the same bytes for the same results; the stored ones are up to date."""

import os
import re
import sys
from pathlib import Path

import pytest

from chary.studies import folder
from chary.studies.catalogue import ELSEWHERE, NAMES, STUDIES, find_study, protocols_of
from chary.studies.folder import companion_of, write_figure, write_report
from chary.studies.results import export, import_results
from chary.studies.store import Store
from chary.studies.study import MissingExtraError

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "studies" / "results"
SSB = STUDIES["table-ssb"]


@pytest.fixture
def results():
    return [(cell, {"accuracy": 0.5}) for cell in SSB.cells(["digits"], 1)]


def test_a_report_is_written_whole_and_the_same_each_time(results, tmp_path):
    out = tmp_path / "a" / "b"
    files = [*write_report(SSB, results, out), write_figure(SSB, results, out)]
    assert [path.name for path in files] == ["report.md", "results.csv", "figure.png"]
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    assert set(first) == {path.name for path in files}  # nothing else, no remains
    write_report(SSB, results, out)
    write_figure(SSB, results, out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first


def test_a_figure_that_fails_leaves_the_old_one(results, tmp_path, monkeypatch):
    (tmp_path / "figure.png").write_bytes(b"old")

    class Broken:
        figure = property(lambda self: self)

        def savefig(self, file, **options):
            file.write(b"half")
            raise OSError("the disk is full")

    monkeypatch.setattr(folder, "draw", lambda study, results: Broken())
    with pytest.raises(OSError, match="the disk is full"):
        write_figure(SSB, results, tmp_path)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("figure.png", b"old")]


def test_without_matplotlib_the_figure_says_what_is_missing(results, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in [name for name in sys.modules if name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r"The figure needs matplotlib: pip install 'chary\[plots\]'\."):
        write_figure(SSB, results, tmp_path)
    assert len(write_report(SSB, results, tmp_path)) == 2
    monkeypatch.setattr(folder, "draw", lambda study, results: __import__("chary.nowhere"))
    with pytest.raises(ModuleNotFoundError, match=r"chary\.nowhere"):
        write_figure(SSB, results, tmp_path)


def test_the_companion_comes_from_the_store_or_from_the_folder_beside(results, tmp_path):
    iid = [(cell, {"accuracy": 0.8}) for cell in STUDIES["table-iid"].cells(["digits", "dna"], 2)]
    store, source = Store(tmp_path / "cells"), tmp_path / "table-ssb" / "cells.json.gz"
    assert companion_of(SSB, results, 1, store, source) == []
    for cell, result in iid:
        store.write(cell.content(), result)
    (tmp_path / "table-iid").mkdir()
    export(iid, tmp_path / "table-iid" / source.name)
    wanted = [(cell, result) for cell, result in iid if (cell.dataset, cell.seed) == ("digits", 0)]
    assert companion_of(SSB, results, 1, store) == companion_of(SSB, results, 1, store, source) == wanted
    assert companion_of(STUDIES["table-iid"], iid, 1, store) == []


@pytest.mark.parametrize(("name", "protocol"), [(name, p) for name in NAMES for p in protocols_of(name)])
def test_stored_reports_are_what_the_stored_cells_say(name, protocol, tmp_path):
    if name in ELSEWHERE:
        pytest.importorskip(ELSEWHERE[name][1])
    study = find_study(name, protocol)
    source = RESULTS / study.name / "cells.json.gz"
    results = import_results(source, study.cells())
    companion = companion_of(study, results, None, Store(tmp_path / "none"), source)
    for path in write_report(study, results, tmp_path, companion):
        assert path.read_text() == (RESULTS / study.name / path.name).read_text()


def test_only_figures_that_a_page_shows_are_stored():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    linked = set(re.findall(r"studies/results/([\w-]+)/figure\.png", " ".join(page.read_text() for page in pages)))
    assert {path.parent.name for path in RESULTS.glob("*/*.png")} == linked
    kinds = {path.name for path in RESULTS.rglob("*") if path.is_file()}
    assert kinds == {"cells.json.gz", "report.md", "results.csv", "figure.png"}


def test_report_results_and_figure_appear_together_or_not_at_all(results, tmp_path, monkeypatch):
    out = tmp_path / "new"
    replace = os.replace

    def fails(source, target):
        if target.name == "report.md":
            raise OSError(28, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fails)
        with pytest.raises(OSError, match="Nothing was written in"):
            write_report(SSB, results, out, figure=b"png")
    assert not out.exists()
    assert [path.name for path in write_report(SSB, results, out, figure=b"png")] == [
        "report.md",
        "results.csv",
        "figure.png",
    ]
    assert (out / "figure.png").read_bytes() == b"png"
