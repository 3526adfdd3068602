"""A table larger than memory is refused, however small its file."""

import numpy as np
import polars as pl
import pytest

from chary.tables import TableError, free_memory, memory, read_table, row_bytes, total_bytes


@pytest.fixture(name="path")
def file_of_two_long_texts(tmp_path):
    """Two texts in 3,000 rows: 30 MB of cells in a file of some kB."""
    text = pl.Series(["a" * 10_000, "b" * 10_000]).gather([0, 1] * 1500)
    pl.DataFrame({"x": range(3000), "note": text}).write_parquet(tmp_path / "t.parquet")
    pl.DataFrame({"x": range(3000), "note": text.cast(pl.Categorical)}).write_ipc(tmp_path / "t.arrow")
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_cells_that_are_short_in_the_file_are_counted_as_they_are(path, suffix, monkeypatch):
    path = path.with_suffix(suffix)
    assert path.stat().st_size < 100_000
    assert read_table(path).frame.height == 3000
    monkeypatch.setattr(memory, "free_memory", lambda: 50 << 20)
    with pytest.raises(TableError, match=r"holds 28 MiB of cells.* 50 MiB .* without 'note'"):
        read_table(path)


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


def test_what_cells_take_is_told_by_what_they_hold_not_by_how_they_are_kept():
    frame = pl.DataFrame({"t": ["ab", None, "abcd"] * 5, "v": [[1, 2], [], None] * 5, "x": [1.5] * 15})
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
