"""The stored results: every study has them, and the reports are what the stored cells say."""

import re
from pathlib import Path

import pytest

import studies
from studies import NAMES, STUDIES, find_study, import_results, to_csv, to_markdown
from studies.store import key_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "studies" / "results"


def test_every_study_has_a_stored_result():
    assert {path.parent.name for path in RESULTS.glob("*/cells.json.gz")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_stored_reports_are_what_the_stored_cells_say(name):
    study, folder = find_study(name), RESULTS / name
    results = import_results(folder / "cells.json.gz")
    keys = [key_of(cell.content()) for cell, _ in results]
    assert results
    assert len(set(keys)) == len(keys)
    cells = [key_of(cell.content()) for cell in study.cells()]
    assert len(set(cells)) == len(cells)
    assert set(keys) <= set(cells)  # so that a run finds them
    companion = (
        import_results(RESULTS / study.companion / "cells.json.gz") if study.companion else ()
    )
    assert to_markdown(study, results, companion) == (folder / "report.md").read_text()
    assert to_csv(study, results) == (folder / "results.csv").read_text()


def test_cells_keep_their_names():
    """Found by the same keys, finished cells are not worked out again."""
    first = {
        name: key_of(STUDIES[name].cells()[0].content())[:16]
        for name in ("table-ssb", "audit", "tables")
    }
    assert first == {
        "table-ssb": "b4a5c1a9cd8e35c7",
        "audit": "330ce3c3383ff290",
        "tables": "0979b0aa26db8b1b",
    }


def test_nothing_but_reports_is_stored():
    kinds = {path.name for path in RESULTS.rglob("*") if path.is_file()}
    # For papers, and not in the repository: they follow from the cells.
    kinds -= {"report.tex", "figure.pdf"}
    assert kinds == {"cells.json.gz", "report.md", "results.csv", "figure.png"}


def test_every_study_is_found_by_its_name():
    assert [find_study(name).name for name in NAMES] == list(NAMES)
    assert len(set(NAMES)) == len(NAMES)
    with pytest.raises(
        ValueError, match=r"There is no study 'table-7'; choose one of table-ssb, .*, deep-joint\."
    ):
        find_study("table-7")


def test_pytorch_is_imported_only_for_the_studies_that_need_it(monkeypatch):
    modules = Path(studies.__file__).parent.glob("*.py")
    found = {
        path.stem
        for path in modules
        if re.search(r"^(import|from) (torch|chary\.torch)", path.read_text(), re.M)
    }
    assert found == {"authors", "deep"}

    def absent(missing):
        def refuse(module):
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

        return refuse

    monkeypatch.setattr(studies, "import_module", absent("torch"))
    with pytest.raises(
        ValueError, match=r"The study deep needs PyTorch: pip install 'chary\[torch\]'\."
    ):
        find_study("deep")
    # A mistake of ours is not hidden.
    monkeypatch.setattr(studies, "import_module", absent("chary.torch.other"))
    with pytest.raises(ModuleNotFoundError, match=r"chary\.torch\.other"):
        find_study("deep")


def test_nothing_follows_from_nothing():
    for study in STUDIES.values():
        assert study.findings([]) == []
        assert study.says([]) == study.title
        assert to_markdown(study, []) == f"# {study.name}: {study.title}\n"
