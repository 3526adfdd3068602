"""The catalogue: every study by its name, also those of rooms that need an extra; no stored result is orphaned."""

import subprocess
import sys
from pathlib import Path

import pytest

from chary.studies import catalogue
from chary.studies.catalogue import ELSEWHERE, NAMES, STUDIES, find_study, protocols_of
from chary.studies.results import import_results
from chary.studies.store import key_of
from chary.studies.study import MissingExtraError

FOLDERS = {find_study(name, protocol).name: (name, protocol) for name in NAMES for protocol in protocols_of(name)}
STORED = sorted((Path(__file__).parents[2] / "studies" / "results").glob("*/cells.json.gz"))


def test_every_study_is_found_by_its_name():
    assert len(set(NAMES)) == len(NAMES) == len(STUDIES) + len(ELSEWHERE)
    assert [find_study(name).name for name in NAMES] == list(NAMES)
    with pytest.raises(ValueError, match=r"There is no study 'table-7'; choose one of table-ssb, .*, deep\."):
        find_study("table-7")
    assert find_study("table-iid", "authors").name == "table-iid-authors"
    with pytest.raises(ValueError, match=r"There is no protocol 'theirs'; choose one of ours, authors\."):
        find_study("table-iid", "theirs")
    with pytest.raises(ValueError, match=r"audit has no protocol of the authors; table-ssb, .* have one\."):
        find_study("audit", "authors")
    with pytest.raises(ValueError, match="There is no study 'table-7'"):
        find_study("table-7", "authors")


def test_every_study_has_a_stored_result():
    assert {path.parent.name for path in STORED} == set(FOLDERS)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.parent.name)
def test_every_stored_cell_is_one_of_its_study(path):
    known = {key_of(cell.content()) for cell in find_study(*FOLDERS[path.parent.name]).cells()}
    stored = [key_of(cell.content()) for cell, _ in import_results(path)]
    assert stored
    assert len(set(stored)) == len(stored)
    assert set(stored) <= known


def test_a_study_of_a_room_is_imported_only_when_asked_for():
    code = """
import sys
from chary.studies import find_study
find_study("table-ssb")
assert "torch" not in sys.modules
find_study("deep")
assert "torch" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_missing_is_said_in_one_sentence(monkeypatch):
    def absent(missing):
        def refuse(module):
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

        return refuse

    monkeypatch.setattr(catalogue, "import_module", absent("torch"))
    with pytest.raises(MissingExtraError, match=r"The study deep needs PyTorch: pip install 'chary\[torch\]'\."):
        find_study("deep")
    monkeypatch.setattr(catalogue, "import_module", absent("chary.torch.other"))  # a mistake of ours is not hidden
    with pytest.raises(ModuleNotFoundError, match=r"chary\.torch\.other"):
        find_study("deep")
