"""Parquet in and out: types kept, damage told."""

import io
import zlib
from contextlib import nullcontext
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from chary.tables.formats import FORMATS, pages
from chary.tables.formats.base import Reading
from chary.tables.formats.files import File
from chary.tables.source import open_source, read_table
from chary.tables.table import TableError

FRAME = pl.DataFrame({
    "a": [1, 2, 3] * 20,
    "s": ["x", None, "a text that is longer than a view"] * 20,
    "l": [[1.0], [2.0, 3.0], None] * 20,
    "c": pl.Series(["u", "v", "u"] * 20, dtype=pl.Categorical),
    "r": [{"a": 1, "b": "q"}] * 60,
    "n": [None] * 60,
})  # fmt: skip


def read(format, data, name="t"):
    return FORMATS[format].read(File(name, data=data), Reading()).frame


def test_parquet_is_read_from_a_file_or_from_bytes(tmp_path):
    FRAME.write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").frame.equals(FRAME)
    assert read("parquet", (tmp_path / "t.parquet").read_bytes()).equals(FRAME)
    with pytest.raises(TableError, match=r"t is a damaged Parquet file \("):
        read("parquet", b"PAR1" + zlib.compress(b"x" * 100))


def with_another_number(data, number):
    """Change the number of values that the first data page states: 60, written as twice that."""
    at = data.index(b"\x2c\x15\x78") + 2
    return data[:at] + number + data[at + 1 :]


# -60, at which Polars ends the process, and 61.
@pytest.mark.parametrize("number", [b"\x77", b"\x7a"])
def test_pages_that_claim_what_they_cannot_hold_are_refused_before_polars_reads_them(
    tmp_path, number
):
    content = io.BytesIO()
    FRAME.select("s", "a").write_parquet(content, compression="uncompressed")
    data = content.getvalue()
    assert with_another_number(data, b"\x78") == data
    path = tmp_path / "t.parquet"
    path.write_bytes(with_another_number(data, number))
    for reading in (
        read_table,
        lambda given: open_source(given).table,
        lambda given: read("parquet", path.read_bytes()),
    ):
        with pytest.raises(
            TableError,
            match=r"is a damaged Parquet file \(it contradicts itself\); write it again\.$",
        ):
            reading(path)


@pytest.mark.parametrize(
    "how", [{}, {"data_page_version": "2.0"}, {"use_dictionary": False, "row_group_size": 9}]
)
def test_pages_of_other_writers_are_looked_at_to_the_end(monkeypatch, how):
    monkeypatch.setattr(pages, "suppress", lambda *errors: nullcontext())
    content = io.BytesIO()
    parquet.write_table(FRAME.to_arrow(), content, **how)
    assert pages.has_sound_pages(content.getvalue())


@pytest.mark.parametrize("written_as", ["parquet", "scanned parquet"])
def test_decimals_of_256_bits_are_no_damage(tmp_path, written_as):
    path = tmp_path / "t"
    cells = pa.table(
        {"x": pa.array([Decimal("1.5"), None], type=pa.decimal256(50, 5)), "y": ["a", "b"]}
    )
    parquet.write_table(cells, path)
    said = r"^t holds decimal numbers of 256 bits; write them as float64"
    with pytest.raises(TableError, match=said):
        open_source(path).table if written_as == "scanned parquet" else read_table(path)
