"""A table: names and columns, cells as text, errors in one sentence, and its memory."""

import datetime as dt
import pickle
from datetime import date, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from chary._words import Parameter, Step, visible
from chary.cli import main
from chary.tables import read_table
from chary.tables import table as memory
from chary.tables.cells import cell_texts, shown_cells
from chary.tables.formats import FORMATS
from chary.tables.formats.base import Reading
from chary.tables.formats.files import File
from chary.tables.table import (
    Table,
    TableError,
    can_be_text,
    column_named,
    free_memory,
    reason,
    refuse_duplicates,
    row_bytes,
    texts,
    total_bytes,
)
from chary.tables.target import UndecidedError


def test_a_column_that_is_not_there_is_named_with_the_nearest():
    table = Table(pl.DataFrame({"churn": [1], "x": [2]}), "t.csv")
    assert column_named(table, "x") == "x"
    with pytest.raises(TableError, match=r"^t.csv has no column 'chrun'; did you mean 'churn'\?$"):
        column_named(table, "chrun")


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
    assert can_be_text(cells.dtype) == (shown is not None)
    assert texts(cells).to_list() == (shown or [None] * len(cells))


def test_two_columns_of_one_name_are_refused():
    refuse_duplicates(["a", "b"], "t.csv")
    with pytest.raises(
        TableError, match=r"^t.csv: columns 2 and 3 are both called 'b'; rename one.$"
    ):
        refuse_duplicates(["a", "b", "b"], "t.csv")


@pytest.mark.parametrize(
    ("table", "stem", "suffix", "folder"),
    [
        ({}, "t", ".parquet", "."),
        ({"delimiter": ",", "files": ("in/my.data.csv",)}, "my.data", ".csv", "in"),
        ({"delimiter": "\t", "files": ("t.TSV",)}, "t", ".TSV", "."),
        ({"delimiter": ",", "files": ("t.csv.gz",), "packed": "gz"}, "t", ".csv.gz", "."),
        ({"delimiter": ",", "files": ("a.v2.gz",), "packed": "gz"}, "a.v2", ".csv.gz", "."),
        ({"delimiter": "\t", "files": ("t.tsv.gz",), "packed": "gz"}, "t", ".tsv.gz", "."),
        ({"delimiter": ",", "path": "-"}, "stdin", ".csv", "."),
        (
            {"format": "jsonl", "path": "i/*.a", "files": ("i/x.a", "i/y.a")},
            "x-and-1-more",
            ".jsonl",
            "i",
        ),
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
    assert table.written_as("JSONL").format == "jsonl"
    assert table.written_as("csv").delimiter == ";"
    assert Table(pl.DataFrame(), "t").written_as("csv").delimiter == ","
    assert table.written_as("jsonl.gz").suffix == ".jsonl.gz"
    assert table.written_as(".jsonl").suffix == ".jsonl"
    for unknown in ("doc", "csv.zip", "parquet.gz", "csv.bz2", "gz", "csv.gz.gz"):
        with pytest.raises(TableError, match=r"is not known; choose csv, parquet, .* or csv\.gz"):
            table.written_as(unknown)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["x", " y ", "", "NA", None], ["x", "y", None, None, None]),
        ([1, -2, None], ["1", "-2", None]),
        (
            [1.5, 12000.0, 0.123456789, float("nan"), float("inf")],
            ["1.5", "12000", "0.123457", None, None],
        ),
        ([True, None, False], ["true", None, "false"]),
        ([date(2024, 1, 31)], ["2024-01-31"]),
        (
            [datetime(2024, 1, 31), datetime(2024, 1, 31, 12, 30)],
            ["2024-01-31", "2024-01-31 12:30:00"],
        ),
        ([[1.0, 2.0], None], [None, None]),
        ([b"\xff"], [None]),
        (["v1.0"], ["v1.0"]),
    ],
)
def test_a_cell_is_written_plainly(cells, expected):
    assert cell_texts(pl.Series(cells)).to_list() == expected


def test_text_is_visible_and_short_as_everywhere():
    odd = [
        "a\x00b",
        "\u202eevil",
        "line\nbreak",
        "\x1b[31m" * 20,
        "no\u00a0break",
        "plain",
        "w" * 31,
        "é" * 30,
    ]
    texts = cell_texts(pl.Series(odd)).to_list()
    assert texts == [visible(text, 30) for text in odd]
    assert max(map(len, texts)) <= 30
    assert all(text.isprintable() for text in texts)


def test_names_of_columns_are_shown_with_their_cells():
    assert shown_cells(pl.Series("age", ["31", "?"])).to_list() == ["age = 31", "age is missing"]
    assert shown_cells(pl.Series("v", [[1.0]])).to_list() == ["v"]
    (text,) = shown_cells(pl.Series("n" * 300, ["c" * 300])).to_list()
    assert len(text) == 40 + 3 + 30
    assert shown_cells(pl.Series("x", [], dtype=pl.String)).to_list() == []
    assert shown_cells(pl.Series("x", np.arange(3))).to_list() == ["x = 0", "x = 1", "x = 2"]


def test_a_sentence_names_parameters_and_steps_in_plain_words():
    error = TableError(
        "'{x}' is odd; pass ", Parameter("unlabeled", "{0} %s"), " or ", Step("fill", "fill it.")
    )
    assert str(error) == "'{x}' is odd; pass unlabeled='{0} %s' or fill it."
    assert str(TableError("one")) == "one"


@pytest.mark.parametrize("kind", [TableError, UndecidedError])
def test_an_error_survives_the_way_from_another_process(kind):
    error = kind("leave some out with ", Parameter("drop"), ".")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.args, str(again)) == (kind, error.args, str(error))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory"), "no such file or directory"),
        (ValueError("\n  first line \nsecond"), "first line"),
        (ValueError(), "ValueError"),
        (ValueError("x" * 500), "x" * 97 + "..."),
    ],
)
def test_the_reason_is_the_first_line_of_what_a_library_said(error, said):
    assert reason(error) == said


@pytest.fixture(name="path")
def file_of_two_long_texts(tmp_path):
    """Two texts in 3,000 rows: 30 MB of cells in a file of some kB."""
    text = pl.Series(["a" * 10_000, "b" * 10_000]).gather([0, 1] * 1500)
    pl.DataFrame({"x": range(3000), "note": text}).write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_cells_that_are_short_in_the_file_are_counted_as_they_are(path, monkeypatch):
    assert path.stat().st_size < 100_000
    assert read_table(path).frame.height == 3000
    monkeypatch.setattr(memory, "free_memory", lambda: 50 << 20)
    with pytest.raises(TableError, match=r"would take about 8\d MiB .* 50 MiB .* without 'note'"):
        FORMATS["parquet"].read(File(path.name, path), Reading())


def test_commands_that_read_a_table_at_once_refuse_more_cells_than_the_memory_holds(
    tmp_path, monkeypatch, capsys
):
    equal = pl.zeros(2**21, eager=True)
    frame = pl.DataFrame({"x": equal, "z": equal, "y": ["a", "b", None, None] * 2**19})
    frame.write_parquet(tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 100_000
    for module in ("table", "source"):
        monkeypatch.setattr(f"chary.tables.{module}.free_memory", lambda: 40 << 20)
    for command in ("diagnose --target y", "review --target y --no-browser"):
        first, *options = command.split()
        assert main([first, str(tmp_path / "t.parquet"), *options]) == 1
        refusal = capsys.readouterr().err
        assert "t.parquet would take about" in refusal
        assert "40 MiB are free" in refusal


def test_free_memory_counts_what_files_only_borrow(tmp_path, monkeypatch):
    everything = free_memory()
    assert everything > 0
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("900000\n")
    assert free_memory() == 100_000
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 300000\n")
    assert free_memory() == 400_000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() > 1 << 20


def test_linux_tells_what_psutil_tells(monkeypatch):
    psutil = pytest.importorskip("psutil")
    if not Path("/proc/meminfo").exists():
        pytest.skip("/proc is a part of Linux")
    monkeypatch.setattr(memory, "_GROUP", Path("/nowhere"))
    assert free_memory() == pytest.approx(psutil.virtual_memory().available, rel=0.05)
    used = psutil.Process().memory_info()
    assert memory.resident_bytes() == pytest.approx(used.rss - used.shared, rel=0.05)


def test_what_cells_take_is_told_by_what_they_hold_not_by_how_they_are_kept():
    frame = pl.DataFrame(
        {"t": ["ab", None, "abcd"] * 5, "v": [[1, 2], [], None] * 5, "x": [1.5] * 15}
    )
    expected = np.array([2 + 24 + 8, 0 + 8 + 8, 4 + 8 + 8] * 5)
    assert row_bytes(frame).tolist() == expected.tolist()
    for dtype in (pl.Categorical, pl.Enum(["ab", "abcd"])):
        assert row_bytes(frame.with_columns(pl.col("t").cast(dtype))).tolist() == expected.tolist()
    binary = frame.with_columns(
        pl.col("t").cast(pl.Binary), a=pl.Series([[1.0, 2.0]] * 15, dtype=pl.Array(pl.Float64, 2))
    )
    assert row_bytes(binary).tolist() == (expected + 8 + 16).tolist()
    assert total_bytes(binary) == row_bytes(binary).sum()
    assert total_bytes(frame) == expected.sum()
    assert total_bytes(frame.clear()) == 0
