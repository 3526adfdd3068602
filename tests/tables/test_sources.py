"""Paths, folders and patterns in; files in their order out."""

import io
import sys

import pytest

from chary.tables.errors import TableError
from chary.tables.sources import Source, find_sources


@pytest.fixture
def folder(tmp_path):
    for name in ("b.csv", "a.csv", "c[1].csv", ".hidden.csv", "_metadata", "a.labeled.csv", "a.report.html"):
        (tmp_path / name).write_text(name)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "d.csv").write_text("d")
    return tmp_path


def names(*given):
    found, _ = find_sources([str(path) for path in given])
    return [source.name for source in found]


def test_files_stand_in_the_order_of_their_names_or_as_given(folder):
    assert names(folder) == ["a.csv", "b.csv", "c[1].csv"]
    assert names(f"{folder}/*.csv") == ["a.csv", "b.csv", "c[1].csv"]
    assert names(f"{folder}/**/*.csv") == ["a.csv", "b.csv", "c[1].csv", "d.csv"]
    assert names(folder / "b.csv", folder / "a.csv") == ["b.csv", "a.csv"]
    assert names(folder / "c[1].csv") == ["c[1].csv"]  # a name that looks like a pattern
    assert names(folder / "a.labeled.csv") == ["a.labeled.csv"]  # whoever names it means it


def test_what_chary_wrote_is_passed_over_and_said(folder):
    assert find_sources([str(folder)])[1] == ["2 files written by chary were passed over."]
    assert find_sources([f"{folder}/?.csv"])[1] == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["-", "a.csv"], "Standard input is one table; give it alone"),
        (["{}/*.parquet"], r"^No file is called '.*\*.parquet'; check the pattern.$"),
        (["{}/nothing.csv"], "cannot be read .no such file"),
        (["{}/a.csv", "{}/?.csv"], "a.csv' is given twice"),
        (["{}/empty"], "^The folder .* holds no table; give a file, or a pattern for files deeper in it.$"),
        (["/dev/null"], "is not a regular file"),
        (["a\x00b"], "cannot be read"),
    ],
)
def test_refusals(folder, given, said):
    (folder / "empty").mkdir()
    with pytest.raises(TableError, match=said):
        find_sources([text.format(folder) for text in given])


def test_the_first_bytes_of_a_file_and_all_of_them(folder, monkeypatch):
    source = Source("a.csv", folder / "a.csv")
    assert (source.head(None), source.head(b"x" * 9000), source.read()) == (b"a.csv", b"x" * 4096, b"a.csv")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"typed")))
    assert Source("standard input", None).read() == b"typed"


def test_a_file_that_changes_while_it_is_read_is_refused(folder):
    (source,), _ = find_sources([str(folder / "a.csv")])
    with source.unchanged():
        source.read()

    def change(how, error=None):
        with source.unchanged():
            how()
            if error:
                raise error

    for how in (lambda: source.path.write_text("another"), source.path.unlink):
        with pytest.raises(TableError, match=r"a.csv was changed while it was read; wait until it is whole"):
            change(how)
        source.path.write_text("a")
    with pytest.raises(TableError, match="was changed"):  # which explains whatever else went wrong
        change(lambda: source.path.write_text("a b"), ValueError("damaged"))
    with pytest.raises(ValueError, match="damaged"):
        change(lambda: None, ValueError("damaged"))
    with Source("standard input", None).unchanged():
        pass
