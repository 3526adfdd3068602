"""What was read is written back, at once or in parts, with columns added and no formula."""

import datetime as dt
import gzip
import io
from decimal import Decimal
from importlib.util import find_spec

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chary.tables.cells import all_as_typed, as_typed, guarded
from chary.tables.formats import appending, require_writable, write_table
from chary.tables.source import read_table
from chary.tables.table import Table, TableError

# NUL is refused in a CSV, and a lone surrogate is no text.
text = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=8)


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(st.tuples(text, text, text), min_size=1, max_size=6),
    delimiter=st.sampled_from(",;\t|"),
)
def test_what_was_read_is_written_back(tmp_path_factory, rows, delimiter):
    frame = pl.DataFrame(rows, schema=dict.fromkeys("abc", pl.String), orient="row")
    buffer = io.BytesIO()
    write_table(Table(frame, "t", delimiter), {}, buffer)
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(buffer.getvalue())
    again = read_table(path, delimiter=delimiter)
    expected = [row for row in rows if any(row)] if all(not any(row) for row in rows) else rows
    cells = [tuple("" if cell is None else cell for cell in row) for row in again.frame.rows()]
    assert cells == (expected or rows)


def test_added_columns_come_last_and_the_others_are_unchanged(tmp_path):
    data = b"\xef\xbb\xbfid;x;y\n007;1,50;=A1\n008; 2 ;\n"
    (tmp_path / "t.csv").write_bytes(data)
    table = read_table(tmp_path / "t.csv")
    buffer = io.BytesIO()
    write_table(table, {"chary_label": ["=A1", "ok"], "chary_confidence": [0.5, 1.0]}, buffer)
    assert buffer.getvalue() == (
        b"\xef\xbb\xbfid;x;y;chary_label;chary_confidence\n007;1,50;=A1;'=A1;0.5\n008; 2 ;;ok;1.0\n"
    )


# ---------------------------------------------------------------- a round trip for every format

NOON = dt.datetime(2024, 1, 31, 12, 30, 15, 123000)
COLUMNS = {
    "whole": pl.Series([1, -2, None]),
    "small": pl.Series([1, 255, None], dtype=pl.UInt8),
    "large": pl.Series([2**62, -1, None]),
    "number": pl.Series([1.5, None, 2.25]),
    "single": pl.Series([0.1, None, 1.25], dtype=pl.Float32),
    "text": pl.Series(["=a", "", 'x,"\n;\t'], dtype=pl.String),
    "flag": pl.Series([True, False, None]),
    "day": pl.Series([dt.date(2024, 1, 31), None, dt.date(1999, 12, 31)]),
    "moment": pl.Series([NOON, None, NOON]),
    "thousandths": pl.Series([NOON, None, NOON], dtype=pl.Datetime("ms")),
    "zone": pl.Series([NOON, None, NOON]).dt.replace_time_zone("Europe/Berlin"),
    "time": pl.Series([dt.time(12, 30), None, dt.time(1)]),
    "duration": pl.Series([dt.timedelta(hours=1), None, dt.timedelta(days=3)]),
    "category": pl.Series(["u", "v", None], dtype=pl.Categorical),
    "enum": pl.Series(["u", "v", None], dtype=pl.Enum(["u", "v", "w"])),
    "list": pl.Series([[1, 2], None, []]),
    "array": pl.Series([[1.0, 2.0], [3.0, 4.0], None], dtype=pl.Array(pl.Float32, 2)),
    "record": pl.Series([{"x": 1, "y": "q"}, None, {"x": None, "y": ""}]),
    "bytes": pl.Series([b"\xff\x00", None, b""]),
    "nothing": pl.Series([None, None, None], dtype=pl.Null),
    "exact": pl.Series([Decimal("1.10"), None, Decimal("2.25")]),
}
# What a format has no type for and is text, or a wider number, after it was written and read; or is
# refused.
TEXT = {
    "whole",
    "small",
    "large",
    "number",
    "single",
    "flag",
    "day",
    "moment",
    "thousandths",
    "zone",
    "time",
}
OTHERWISE = {
    "parquet": {},
    "csv": dict.fromkeys([*TEXT, "category", "enum", "exact", "nothing"], pl.String),
    "jsonl": {
        "small": pl.Int64, "single": pl.Float64, "array": pl.List(pl.Float64),
        **dict.fromkeys(["day", "moment", "thousandths", "zone", "time", "duration"], pl.String),
        **dict.fromkeys(["category", "enum", "exact"], pl.String),
    },
    "xlsx": {
        "small": pl.Int64, "single": pl.Float64, "moment": pl.Datetime("ms"),
        **dict.fromkeys(["category", "enum", "nothing", "large", "zone", "exact"], pl.String),
    },
}  # fmt: skip
NESTED = {"list", "array", "record", "bytes"}
REFUSED = {
    "parquet": set(),
    "csv": {*NESTED, "duration"},
    "jsonl": {"bytes"},
    "xlsx": {*NESTED, "duration"},
}
FORMATS = [
    pytest.param(
        name,
        marks=[pytest.mark.skipif(not find_spec("fastexcel"), reason="needs chary[excel]")]
        * (name == "xlsx"),
    )
    for name in OTHERWISE
]


def round_trip(table, tmp_path, added=None):
    path = tmp_path / f"t{table.suffix}"
    with path.open("wb") as file:
        write_table(table, added or {}, file)
    return read_table(path)


@pytest.mark.parametrize("format", FORMATS)
def test_every_type_that_a_format_holds_comes_back(tmp_path, format):
    for name, cells in COLUMNS.items():
        frame = pl.DataFrame({name: cells, "key": ["a", "b", "c"]})
        table = Table(frame, "t").written_as(format)
        if name in REFUSED[format]:
            with pytest.raises(TableError, match=rf"cannot hold .*column '{name}'"):
                require_writable(table)
            continue
        again = round_trip(table, tmp_path)
        assert again.format == format
        assert again.frame.schema[name] == OTHERWISE[format].get(name, frame.schema[name])
        if name == "single" and format in ("jsonl", "xlsx"):
            assert again.frame[name].cast(pl.Float32).equals(frame[name])
        elif again.frame[name].dtype == pl.String and cells.dtype not in (
            pl.String,
            pl.Categorical,
            pl.Enum,
        ):
            assert again.frame[name].is_null().equals(frame[name].is_null())
        else:
            assert again.frame[name].to_list() == frame[name].to_list()


@pytest.mark.parametrize("kind", [*FORMATS, "csv.gz", "jsonl.gz"])
def test_what_was_read_in_a_format_is_written_in_it_unchanged(tmp_path, kind):
    """Read, written, read: the second and third table are equal, cell by cell, type by type."""
    format, _, packed = kind.partition(".")
    left = [name for name in COLUMNS if name not in REFUSED[format]]
    first = round_trip(Table(pl.DataFrame(COLUMNS).select(left), "t").written_as(kind), tmp_path)
    added = {"label": ["=x", "y", None], "confidence": [0.5, 1.0, 0.25]}
    second = round_trip(first, tmp_path, added)
    assert second.packed == packed
    assert second.frame.select(left).equals(first.frame)
    assert second.frame.select(left).schema == first.frame.schema
    assert second.frame.columns == [*left, *added]


def test_a_compressed_csv_is_the_csv(tmp_path):
    data = b"id;x\n007;1,50\n008; 2 \n"
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(data))
    buffer = io.BytesIO()
    write_table(read_table(tmp_path / "t.csv.gz"), {}, buffer)
    assert gzip.decompress(buffer.getvalue()) == data


FRAME = pl.DataFrame(
    {"a": range(1000), "t": [f"=x, {k}\n" if k % 3 else None for k in range(1000)]}
)
LABELS = pl.Series([("=yes", "no")[k % 2] for k in range(1000)])


def appended(table, sizes, group=256):
    file, start = io.BytesIO(), 0
    with appending(table, file, group) as appender:
        for size in sizes:
            frame = table.frame[start : start + size]
            part = Table(frame, table.name, table.delimiter, table.bom, format=table.format)
            appender.append(part, {"chary_label": LABELS[start : start + size]})
            start += size
    return file.getvalue()


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet"])
def test_the_bytes_are_the_same_however_the_rows_came(kind):
    table = Table(FRAME, "t", bom=kind == "csv").written_as(kind)
    whole = appended(table, [1000])
    assert appended(table, [1, 299, 300, 400]) == whole
    expected = io.BytesIO()
    write_table(table, {"chary_label": LABELS}, expected)
    if kind in ("csv", "jsonl"):
        assert whole == expected.getvalue()
    elif kind == "csv.gz":
        assert gzip.decompress(whole) == gzip.decompress(expected.getvalue())
    else:
        assert pl.read_parquet(io.BytesIO(whole)).equals(
            pl.read_parquet(io.BytesIO(expected.getvalue()))
        )


def test_a_workbook_is_written_at_once():
    pytest.importorskip("xlsxwriter")
    data = appended(Table(FRAME, "t", format="xlsx"), [500, 500])
    assert pl.read_excel(io.BytesIO(data))["chary_label"].len() == 1000


def test_an_error_on_the_way_ends_the_writer_and_is_the_one_that_is_seen():
    def broken():
        with appending(Table(FRAME, "t"), io.BytesIO()) as appender:
            appender.append(Table(FRAME, "t"), {"chary_label": LABELS})
            raise TableError("no more")

    with pytest.raises(TableError, match="no more"):
        broken()


def test_a_disk_that_takes_nothing_is_an_error_of_the_writer():
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    def fill():
        with appending(Table(FRAME, "t"), Full(), 64) as appender:
            for _ in range(50):
                appender.append(Table(FRAME, "t"), {"chary_label": LABELS})

    with pytest.raises(pl.exceptions.PolarsError, match="Errno 28"):
        fill()


def test_what_a_format_cannot_hold_is_refused_first():
    with (
        pytest.raises(TableError, match="cannot hold column 'v'"),
        appending(Table(pl.DataFrame({"v": [[1]]}), "t", ","), io.BytesIO()),
    ):
        pass


# By hand once more: what Excel, LibreOffice and Google Sheets run, and what they pass over before
# it.
SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\u30fc")
UNSEEN = " \u00a0\u3000\u200b\u2009\ufeff\u202e\x00\x1b\t\r\n"
STARTS = [before + sign for before in ("", *UNSEEN, "  \t") for sign in SIGNS] + ["\t", "\r", "\n"]
SPEAKING = ["1+1", "cmd|' /C calc'!A0", "SUM(A1:A9)", "x", "5-3", "inf"]
HARMLESS = [
    "-5",
    "+5",
    "-0.5",
    "-.5",
    "+5.",
    "-1e-9",
    "+",
    "-",
    "yes",
    "a=b",
    "a-b",
    "",
    "'n",
    "5",
    "(=1)",
    "'",
]


def test_every_start_is_guarded():
    texts = [start + rest for start in STARTS for rest in SPEAKING]
    assert guarded(pl.DataFrame({"a": texts}))["a"].to_list() == ["'" + text for text in texts]


def test_numbers_and_signs_alone_stay_as_they_are():
    assert guarded(pl.DataFrame({"a": [*HARMLESS, None]}))["a"].to_list() == [*HARMLESS, None]


likely = st.text(st.sampled_from("'=+-@\uff1d\u30fc \t\n\u3000a5.e"), max_size=6)


@given(st.lists(st.one_of(likely, st.text(), st.none()), max_size=20))
@example(["'=x", "''=x", "'", "''", "'-5", "-5"])
def test_each_text_is_read_back_as_it_was_and_none_runs(texts):
    written = guarded(pl.DataFrame({"a": texts}, schema={"a": pl.String}))["a"]
    assert all_as_typed(written).to_list() == texts
    assert [text if text is None else as_typed(text) for text in written] == texts
    assert [
        text
        for text in written.drop_nulls()
        if text.lstrip(UNSEEN).startswith(SIGNS)
        if not is_sum(text)
    ] == []


def is_sum(text):
    """Whether it is nothing but a sign, or a number."""
    try:
        return text in ("+", "-") or float(text) is not None
    except ValueError:
        return False


def test_a_written_csv_holds_no_formula_in_what_was_added_and_the_rest_as_it_was():
    own = pl.DataFrame({"mine": ["=1+1", "\uff1d1", "-x"]})
    added = {"chary_label": ["=1+1", "\uff1d1", "-5"], "chary_confidence": [0.5, -1.0, 1.0]}
    buffer = io.BytesIO()
    write_table(Table(own, "t.csv", ","), added, buffer)
    assert buffer.getvalue().decode() == (
        "mine,chary_label,chary_confidence\n=1+1,'=1+1,0.5\n\uff1d1,'\uff1d1,-1.0\n-x,-5,1.0\n"
    )
