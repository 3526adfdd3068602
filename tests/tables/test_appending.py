"""Tables appended one after the other: the bytes of the file do not tell how they were cut."""

import gzip
import io

import polars as pl
import pytest

from chary.tables import Table, TableError, appending, write_table
from chary.tables.table import Lines

FRAME = pl.DataFrame({"a": range(1000), "t": [f"=x, {k}\n" if k % 3 else None for k in range(1000)]})
LABELS = pl.Series([("=yes", "no")[k % 2] for k in range(1000)])


def appended(table, sizes, group=256):
    file, start = io.BytesIO(), 0
    with appending(table, file, group) as appender:
        for size in sizes:
            frame = table.frame[start : start + size]
            lines = table.lines and Lines(table.lines.texts[start : start + size], frame)
            part = Table(frame, table.name, table.delimiter, table.bom, format=table.format, lines=lines)
            appender.append(part, {"chary_label": LABELS[start : start + size]})
            start += size
    return file.getvalue()


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet", "arrow", "parquet.gz"])
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
    elif kind == "parquet.gz":
        frame = pl.read_parquet(io.BytesIO(gzip.decompress(whole)))
        assert frame.equals(FRAME.with_columns(chary_label=LABELS))
    else:
        read = {"parquet": pl.read_parquet, "arrow": pl.read_ipc}[kind]
        assert read(io.BytesIO(whole)).equals(read(io.BytesIO(expected.getvalue())))


def test_lines_stay_as_they_were():
    texts = pl.Series([f'{{ "a":{k} }}' for k in range(4)])
    frame = pl.DataFrame({"a": range(4)})
    table = Table(frame, "t", format="jsonl", lines=Lines(texts, frame))
    assert appended(table, [1, 3]).decode().splitlines()[1] == '{ "a":1, "chary_label":"no"}'


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

    with pytest.raises(OSError, match="No space left") as caught:
        fill()
    assert caught.value.errno == 28


def test_what_a_format_cannot_hold_is_refused_first():
    with (
        pytest.raises(TableError, match="cannot hold column 'v'"),
        appending(Table(pl.DataFrame({"v": [[1]]}), "t", ","), io.BytesIO()),
    ):
        pass
