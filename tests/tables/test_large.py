"""A table in parts is the table that is read at once; what it takes is known before it is read."""

import os

import polars as pl
import pytest

from chary.tables import TableError, may_be_large, open_large, read_table
from chary.tables import large as large_module


def write(folder, name, frame):
    path = folder / name
    if name.endswith(".csv"):
        frame.write_csv(path)
    elif name.endswith(".jsonl"):
        frame.write_ndjson(path)
    else:
        frame.write_parquet(path, row_group_size=9)
    return str(path)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_parts_are_the_table(tmp_path, kind):
    frame = pl.DataFrame({"a": range(40), "b": ["x", None] * 20})
    for number in range(3):
        write(tmp_path, f"{number}.{kind}", frame)
    large, table = open_large(str(tmp_path)), read_table(str(tmp_path))
    for _ in range(2):
        parts = list(large.parts())
        assert pl.concat([part.table.frame for part in parts]).equals(table.frame)
        assert parts[-1].share == 1
    assert large.table.frame.height == 0
    assert (large.table.name, large.table.notes, large.table.files) == (table.name, table.notes, table.files)
    assert (large.table.path, large.table.stem, large.table.suffix) == (table.path, table.stem, table.suffix)


def test_columns_are_of_one_type_in_all_files(tmp_path):
    paths = [
        write(tmp_path, "0.parquet", pl.DataFrame({"a": [1, 2], "b": ["u", "v"]})),
        write(tmp_path, "1.parquet", pl.DataFrame({"b": ["w"], "a": [0.5]})),
    ]
    found = pl.concat([part.table.frame for part in open_large(paths).parts()])
    assert found.equals(read_table(paths).frame)
    write(tmp_path, "1.parquet", pl.DataFrame({"b": ["w"], "c": [0.5]}))
    with pytest.raises(TableError, match="no column 'a'"):
        open_large(paths)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs a list of open files")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_of_a_folder_are_open_one_at_a_time(tmp_path, kind, monkeypatch):
    for number in range(30):
        write(tmp_path, f"{number:02}.{kind}", pl.DataFrame({"a": range(4), "b": ["x", "y"] * 2}))
    before, most, stream = len(os.listdir("/proc/self/fd")), [], large_module.stream_table

    def watched(*given, **how):
        most.append(len(os.listdir("/proc/self/fd")) - before)
        return stream(*given, **how)

    monkeypatch.setattr(large_module, "stream_table", watched)
    assert sum(part.table.frame.height for part in open_large(str(tmp_path)).parts()) == 120
    assert max(most) < 10


def test_what_it_takes_is_about_what_it_takes(tmp_path):
    frame = pl.DataFrame({"a": range(20_000), "b": ["some text that is longer"] * 20_000})
    for name in ("t.csv", "t.parquet"):
        large = open_large(write(tmp_path, name, frame))
        least = 20_000 * (5 if name == "t.csv" else 8) + 20_000 * 24
        assert least * 0.8 < large.n_bytes < 3 * least
        assert large.needed > large.n_bytes


def test_long_cells_of_a_small_file_are_known_before_they_are_decoded(tmp_path):
    frame = pl.DataFrame({"a": ["y" * 10_000] * 30_000, "b": range(30_000)})
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    assert os.path.getsize(path) < 1 << 20
    assert open_large(path).n_bytes > 250 << 20


def test_a_file_that_changes_is_refused(tmp_path):
    path = write(tmp_path, "t.csv", pl.DataFrame({"a": range(10), "b": range(10)}))
    large = open_large(path)
    assert len(list(large.parts())) == 1
    write(tmp_path, "t.csv", pl.DataFrame({"a": range(11), "b": range(11)}))
    with pytest.raises(TableError, match=r"t\.csv was changed while it was read"):
        list(large.parts())


def test_which_files_may_be_large_is_known_without_reading_them(tmp_path):
    frame = pl.DataFrame({"a": [1, 2], "b": [3, 4]})
    for name in ("t.csv", "t.jsonl"):
        assert may_be_large([write(tmp_path, name, frame)], 300 << 20)
        assert not may_be_large([tmp_path / name], 400 << 20)
    assert may_be_large([write(tmp_path, "t.parquet", frame)], 1 << 40)  # a few bytes may be many cells
    frame.write_ipc(tmp_path / "t.arrow")
    assert not may_be_large([tmp_path / "t.arrow"], 1)
    assert open_large("-") is None
