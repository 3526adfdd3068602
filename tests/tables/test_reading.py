"""Files in, tables out: known by their content, refused in one sentence where they are none."""

import gzip
import io
import sys
import zipfile

import polars as pl
import pytest

from chary.tables.errors import TableError
from chary.tables.reading import read_table


def write(folder, data, name="t.csv"):
    path = folder / name
    path.write_bytes(data)
    return path


def test_parquet_is_known_by_its_content(tmp_path):
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    frame.write_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.parquet").rename(tmp_path / "t.dat")
    table = read_table(tmp_path / "t.dat")
    assert table.frame.equals(frame)
    assert table.suffix == ".parquet"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a,b\n", "has a header and no rows"),
        (b"PAR1 and then nothing", r"is a damaged Parquet file \("),
        (b"a,chary_label\n1,2\n", "already has a column 'chary_label'"),
    ],
)
def test_files_that_are_no_table_are_refused(tmp_path, data, message):
    with pytest.raises(TableError, match=message) as caught:
        read_table(write(tmp_path, data))
    assert "\n" not in str(caught.value)


def test_refusals_of_paths(tmp_path):
    with pytest.raises(TableError, match=r"^The folder .* holds no table; give a file"):
        read_table(tmp_path)
    with pytest.raises(TableError, match=r"cannot be read \(no such file"):
        read_table(tmp_path / "missing.csv")
    with pytest.raises(TableError, match=r"is not a Parquet file"):
        read_table(write(tmp_path, b"a,b\n1,2\n", "t.parquet"))
    with pytest.raises(TableError, match=r"not a regular file"):
        read_table("/dev/null")


def test_a_table_knows_how_it_was_read(tmp_path):
    path = write(tmp_path, "a:b\n1:é\n".encode("cp1252"))
    table = read_table(path, delimiter=":", encoding="cp1252")
    assert (table.path, table.read_with) == (str(path), {"delimiter": ":", "encoding": "cp1252"})
    assert read_table(table.path, **table.read_with).frame.equals(table.frame)
    assert read_table(write(tmp_path, b"a,b\n1,2\n")).read_with == {}


FRAME = pl.DataFrame({"a": [1, 2, 3], "s": ["x", None, "z"]})


def file_of(kind, frame=FRAME):
    buffer = io.BytesIO()
    write = {
        "csv": frame.write_csv,
        "parquet": frame.write_parquet,
        "jsonl": frame.write_ndjson,
        "arrow": frame.write_ipc,
    }
    write[kind](buffer)
    return buffer.getvalue()


def zipped(data, name):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "arrow"])
@pytest.mark.parametrize("packed", ["", "gz", "zip"])
def test_every_kind_is_known_by_its_content_also_where_it_is_compressed(tmp_path, kind, packed):
    data = file_of(kind)
    data = {"gz": gzip.compress, "zip": lambda data: zipped(data, f"t.{kind}")}.get(packed, bytes)(data)
    table = read_table(write(tmp_path, data, "t.dat"))
    assert (table.format, table.packed) == (kind, packed)
    assert table.frame.equals(FRAME.cast(pl.String) if kind == "csv" else FRAME)
    assert (table.notes, table.files) == ((), (str(tmp_path / "t.dat"),))
    assert table.suffix == f".{kind}" + (f".{packed}" if packed else "")


def test_a_file_that_is_not_what_its_name_says_is_told_of(tmp_path):
    said = "is a Parquet file, whatever its name says, and was read as such."
    assert read_table(write(tmp_path, file_of("parquet"), "t.csv")).notes == (f"t.csv {said}",)
    assert read_table(write(tmp_path, gzip.compress(file_of("parquet")), "u.csv.gz")).notes == (f"u.csv {said}",)
    assert read_table(write(tmp_path, zipped(file_of("parquet"), "x.parquet"), "u.zip")).notes == ()
    with pytest.raises(TableError, match=r"t.parquet.gz is not a Parquet file"):
        read_table(write(tmp_path, gzip.compress(b"a,b\n1,2\n"), "t.parquet.gz"))
    with pytest.raises(TableError, match=r"^t.parquet is empty"):
        read_table(write(tmp_path, b"", "t.parquet"))
    with pytest.raises(TableError, match=r"t.gz holds a gzip file, compressed twice; unpack it once"):
        read_table(write(tmp_path, gzip.compress(gzip.compress(b"a,b\n1,2\n")), "t.gz"))
    with pytest.raises(
        TableError, match=r"t.csv is a text table, which has no sheets; leave the parameter sheet out"
    ):
        read_table(write(tmp_path, b"a,b\n1,2\n"), sheet="data")


def test_a_folder_a_pattern_or_several_files_are_one_table(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for month, cells in {"b.csv": "a,s\n2,y\n", "a.csv": "s,a\nx,1\n", ".hidden": "no", "_SUCCESS": ""}.items():
        (folder / month).write_text(cells)
    (folder / "a.labeled.csv").write_text("a,s,chary_label\n1,2,3\n")
    (folder / "deeper").mkdir()
    expected = [("x", "1"), ("y", "2")]
    for given in (folder, f"{folder}/*.csv", f"{tmp_path}/**/*.csv", [folder / "a.csv", folder / "b.csv"]):
        table = read_table(given)
        assert table.frame.columns == ["s", "a"]  # of the first
        assert table.frame.rows() == expected
        assert "2 files were read as one table, in this order: a.csv, b.csv." in table.notes
    assert read_table([folder / "b.csv", folder / "a.csv"]).frame.rows() == [("2", "y"), ("1", "x")]
    assert "1 file written by chary was passed over." in read_table(folder).notes
    assert (read_table(folder).stem, read_table(folder).folder) == ("in", tmp_path)
    assert (table.path, table.more_paths) == (str(folder / "a.csv"), (str(folder / "b.csv"),))
    assert (table.stem, table.folder) == ("a-and-1-more", folder)
    (folder / "c.csv").write_text("a,t\n2,y\n")
    with pytest.raises(TableError, match=r"^c.csv has no column 's', which a.csv has; give files of one schema.$"):
        read_table(folder)


def test_standard_input_is_a_table_of_any_kind(monkeypatch):
    for data, kind in (
        (b"a,s\n1,x\n", "csv"),
        (file_of("parquet"), "parquet"),
        (gzip.compress(b'{"a": 1}', mtime=0), "jsonl"),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        table = read_table("-")
        assert (table.format, table.stem, str(table.folder), table.files) == (kind, "stdin", ".", ())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(TableError, match=r"^standard input is empty"):
        read_table("-")


def test_no_path_is_refused():
    with pytest.raises(TableError, match=r"No file was given"):
        read_table([])
