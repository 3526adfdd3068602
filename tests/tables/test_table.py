"""A table and names in; the column that is meant, or what may have been meant, out."""

import datetime as dt

import polars as pl
import pytest

from chary.tables.errors import TableError
from chary.tables.table import Table, column_hint, column_named, has_texts, refuse_duplicates, texts


def test_the_suffix_says_how_a_table_was_written():
    assert Table(pl.DataFrame(), "t", ";").suffix == ".csv"
    assert Table(pl.DataFrame(), "t").suffix == ".parquet"


def test_a_column_that_is_not_there_is_named_with_the_nearest():
    table = Table(pl.DataFrame({"churn": [1], "x": [2]}), "t.csv")
    assert column_named(table, "x") == "x"
    with pytest.raises(TableError, match=r"^t.csv has no column 'chrun'; did you mean 'churn'\?$"):
        column_named(table, "chrun")


def test_of_many_columns_eight_are_named():
    assert column_hint("zzz", [f"c{i}" for i in range(9)]).endswith("'c7', ....")
    assert column_hint("zzz", ["a", "b"]) == "it has 'a', 'b'."


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (pl.Series(["a", None]), ["a", None]),
        (pl.Series([1, 2]), ["1", "2"]),
        (pl.Series([dt.timedelta(days=1, hours=2), None, dt.timedelta(0)]), ["1d 2h", None, "0µs"]),
        (pl.Series([[1], [2]]), None),
        (pl.Series([b"\xff"]), None),
        (pl.Series([object()], dtype=pl.Object), None),
    ],
)
def test_cells_are_shown_as_text_where_they_can(cells, shown):
    assert has_texts(cells) == (shown is not None)
    assert texts(cells).to_list() == (shown or [None] * len(cells))


def test_two_columns_of_one_name_are_refused():
    refuse_duplicates(["a", "b"], "t.csv")
    with pytest.raises(TableError, match=r"^t.csv: columns 2 and 3 are both called 'b'; rename one of them.$"):
        refuse_duplicates(["a", "b", "b"], "t.csv")


@pytest.mark.parametrize(
    ("table", "stem", "suffix", "folder"),
    [
        ({}, "t", ".parquet", "."),
        ({"delimiter": ",", "files": ("in/my.data.csv",)}, "my.data", ".csv", "in"),
        ({"delimiter": "\t", "files": ("t.TSV",)}, "t", ".TSV", "."),
        ({"delimiter": ",", "files": ("t.csv.gz",), "packed": "gz"}, "t", ".csv.gz", "."),
        ({"delimiter": ",", "files": ("a.v2.zip",), "packed": "zip"}, "a.v2", ".csv.zip", "."),
        ({"delimiter": "\t", "files": ("t.tsv.gz",), "packed": "gz"}, "t", ".tsv.gz", "."),
        ({"delimiter": ",", "path": "-"}, "stdin", ".csv", "."),
        ({"format": "arrow", "path": "i/*.a", "files": ("i/x.a", "i/y.a")}, "x-and-1-more", ".arrow", "i"),
        ({"format": "xlsx", "path": "in/u.csv"}, "u", ".xlsx", "in"),
    ],
)
def test_what_is_made_of_a_table_is_called_after_it(table, stem, suffix, folder):
    table = Table(pl.DataFrame(), "t", **{"path": table.get("files", [""])[0], **table})
    assert (table.stem, table.suffix, str(table.folder)) == (stem, suffix, folder)


def test_what_is_made_of_a_folder_goes_next_to_it(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    for given in ("in", "in/"):
        monkeypatch.chdir(tmp_path)
        table = Table(pl.DataFrame(), "t", path=given, files=("in/a.csv", "in/b.csv"))
        assert (table.stem, table.folder.resolve()) == ("in", tmp_path)
    monkeypatch.chdir(tmp_path / "in")
    table = Table(pl.DataFrame(), "t", path=".", files=("a.csv",))
    assert (table.stem, table.folder.resolve()) == ("in", tmp_path)


def test_a_table_is_written_in_the_format_asked_for():
    table = Table(pl.DataFrame(), "t", ";", path="t.csv", files=("t.csv",))
    assert table.written_as(None) is table
    assert table.written_as("Feather").format == "arrow"
    assert table.written_as("csv").delimiter == ";"
    assert Table(pl.DataFrame(), "t").written_as("csv").delimiter == ","
    assert (table.written_as("parquet.zip").suffix, table.written_as(".jsonl").suffix) == (
        ".parquet.zip",
        ".jsonl",
    )
    for unknown in ("doc", "csv.bz2", "gz", "csv.gz.gz"):
        with pytest.raises(
            TableError, match="is not known; choose csv, parquet, jsonl, arrow or xlsx, compressed as"
        ):
            table.written_as(unknown)
