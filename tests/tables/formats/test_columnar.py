"""Parquet and Arrow in and out: types kept, damage told, and no size believed before it is checked."""

import io
import random
import struct
import sys
import zlib
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from chary.tables.formats import FORMATS, write_table
from chary.tables.formats.base import File, Reading
from chary.tables.source import open_source, read_table
from chary.tables.table import Table, TableError

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


def read_arrow(data, name):
    return read("arrow", data, name)


def arrow_bytes(kind="file", compression="lz4", frame=FRAME):
    buffer = io.BytesIO()
    write = frame.write_ipc if kind == "file" else frame.write_ipc_stream
    write(buffer, compression=compression)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_files_and_streams_are_read_whatever_their_compression(kind, compression):
    assert read_arrow(arrow_bytes(kind, compression), "t").equals(FRAME)


def test_feather_of_pandas_is_read_and_written():
    frame = pd.DataFrame({"a": [1, 2], "s": ["x", None], "c": pd.Categorical(["u", "v"])})
    buffer = io.BytesIO()
    frame.to_feather(buffer)
    table = read_arrow(buffer.getvalue(), "t")
    assert table.rows() == [(1, "x", "u"), (2, None, "v")]
    buffer = io.BytesIO()
    write_table(Table(table, "t", format="arrow"), {}, buffer)
    assert pd.read_feather(io.BytesIO(buffer.getvalue())).to_dict("list")["a"] == [1, 2]
    assert read_arrow(buffer.getvalue(), "t").equals(table)


def test_several_batches_are_one_table():
    buffer = io.BytesIO()
    FRAME.write_ipc(buffer, compression="zstd", record_batch_size=7)
    assert read_arrow(buffer.getvalue(), "t").equals(FRAME)


def damaged(data, seed):
    rng = random.Random(seed)
    data = bytearray(data)
    for _ in range(rng.choice([1, 3, 30])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    if seed % 5 == 0:
        del data[rng.randrange(len(data)) :]
    if seed % 7 == 0:
        at = rng.randrange(len(data))
        data[at : at + 8] = rng.choice([b"\xff" * 8, b"\x00\x00\x00\x00\x00\xff\x7f\x00"])
    return bytes(data)


def refusal(data):
    try:
        read_arrow(data, "t").rows()
    except TableError as error:
        return str(error)


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_a_damaged_file_is_one_sentence(kind, compression, capfd):
    """Polars believes some of its sizes, and would end the whole program here."""
    data = arrow_bytes(kind, compression)
    said = [text for text in (refusal(damaged(data, seed)) for seed in range(60)) if text is not None]
    assert len(said) > 30
    for text in said:
        assert text.startswith("t is a damaged Arrow file (")
        assert text.endswith("; write it again.")
        assert "\n" not in text
    capfd.readouterr()  # what Polars says before it raises


def test_a_size_that_no_table_has_asks_for_no_memory():
    frame = pl.DataFrame({"a": range(1000)})
    data = arrow_bytes("stream", "zstd", frame)
    size = struct.pack("<q", 8 * 1000)
    assert data.count(size) == 1
    for forged in (2**50, -7):
        with pytest.raises(TableError, match=r"^t is a damaged Arrow file \("):
            read_arrow(data.replace(size, struct.pack("<q", forged)), "t")


def test_what_an_arrow_file_needs_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError, match=r"to read it, pip install 'chary\[arrow\]'"):
        read_arrow(arrow_bytes(), "t")


def test_parquet_is_read_from_a_file_or_from_bytes(tmp_path):
    FRAME.write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").frame.equals(FRAME)
    assert read("parquet", (tmp_path / "t.parquet").read_bytes()).equals(FRAME)
    with pytest.raises(TableError, match=r"t is a damaged Parquet file \("):
        read("parquet", b"PAR1" + zlib.compress(b"x" * 100))


@pytest.mark.parametrize("written_as", ["parquet", "scanned parquet", "arrow file", "arrow stream"])
def test_decimals_of_256_bits_are_no_damage(tmp_path, written_as):
    path = tmp_path / "t"
    cells = pa.table({"x": pa.array([Decimal("1.5"), None], type=pa.decimal256(50, 5)), "y": ["a", "b"]})
    if written_as == "arrow stream":
        with ipc.new_stream(path, cells.schema) as stream:
            stream.write_table(cells)
    else:
        (feather.write_feather if written_as == "arrow file" else parquet.write_table)(cells, path)
    said = r"^t holds decimal numbers of 256 bits; write them as float64"
    with pytest.raises(TableError, match=said):
        open_source(path).table if written_as == "scanned parquet" else read_table(path)
