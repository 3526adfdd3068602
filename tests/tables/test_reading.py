"""Files in, tables out: known by their content, refused in one sentence where they are none."""

import gzip
import io
import zipfile

import polars as pl
import pytest

from chary.tables.errors import TableError
from chary.tables.reading import read_table


def write(folder, data, name="t.csv"):
    path = folder / name
    path.write_bytes(data)
    return path


def zip_bytes():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("t.csv", "a,b\n1,2\n")
    return buffer.getvalue()


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
    with pytest.raises(TableError, match="^The folder .* holds no table; give a file"):
        read_table(tmp_path)
    with pytest.raises(TableError, match=r"cannot be read \(no such file"):
        read_table(tmp_path / "missing.csv")
    with pytest.raises(TableError, match="is not a Parquet file"):
        read_table(write(tmp_path, b"a,b\n1,2\n", "t.parquet"))
    with pytest.raises(TableError, match="not a regular file"):
        read_table("/dev/null")


def test_a_table_knows_how_it_was_read(tmp_path):
    path = write(tmp_path, "a:b\n1:é\n".encode("cp1252"))
    table = read_table(path, delimiter=":", encoding="cp1252")
    assert (table.path, table.read_with) == (str(path), {"delimiter": ":", "encoding": "cp1252"})
    assert read_table(table.path, **table.read_with).frame.equals(table.frame)
    assert read_table(write(tmp_path, b"a,b\n1,2\n")).read_with == {}
