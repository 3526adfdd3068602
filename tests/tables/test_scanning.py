"""A table read in parts has the rows, columns and counts of the table read as a whole."""

import polars as pl
import pytest

from chary.tables import scanning
from chary.tables.errors import TableError
from chary.tables.scanning import scan_table, scanned_column

FRAME = pl.DataFrame(
    {"n": range(2000), "t": [f"t{i % 7}" for i in range(2000)], "chary_label": ["a", None] * 1000}
)


@pytest.fixture(params=["parquet", "csv", "large csv", "frame"])
def scan(request, tmp_path, monkeypatch):
    if request.param == "frame":
        return scan_table(FRAME)
    path = tmp_path / f"t.{request.param.split()[-1]}"
    (FRAME.write_parquet if request.param == "parquet" else FRAME.write_csv)(path)
    if request.param == "large csv":
        monkeypatch.setattr(scanning, "_LARGE", 100)
        monkeypatch.setattr(scanning, "_HEAD", 500)
    return scan_table([str(path)])


def test_rows_and_columns_are_those_of_the_table(scan):
    assert scan.n_rows == 2000
    assert scan.names == FRAME.columns
    some = scan.rows([1999, 3, 3, 0], ["t", "n"])
    assert some.cast(pl.String).rows() == [("t4", "1999"), ("t3", "3"), ("t3", "3"), ("t0", "0")]
    assert scan.rows([], ["n"]).shape == (0, 1)
    assert scan.columns(["n"])["n"].cast(pl.Int64).to_list() == list(range(2000))
    values, counts = scan.counts("chary_label")
    assert dict(zip(values.to_list(), counts, strict=True)) == {None: 1000, "a": 1000}
    assert scan.whole().frame.height == 2000
    with pytest.raises(TableError, match="did you mean 'chary_label'"):
        scanned_column(scan, "chary_labels")


def test_parquet_is_not_read_where_rows_are_counted(tmp_path):
    FRAME.write_parquet(tmp_path / "t.parquet")
    found = scan_table(tmp_path / "t.parquet")
    assert found.table.frame.height == 0
    assert (found.table.stem, found.table.suffix, found.table.path) == (
        "t",
        ".parquet",
        str(tmp_path / "t.parquet"),
    )


def test_what_cannot_be_read_is_said_in_one_sentence(tmp_path):
    FRAME.write_parquet(tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TableError, match="cannot be read"):
        scan_table(tmp_path / "t.parquet")
    FRAME.clear().write_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match="no rows"):
        scan_table(tmp_path / "t.parquet")


def test_a_file_that_changes_between_two_looks_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    FRAME.write_parquet(path)
    scan = scan_table([str(path)])
    FRAME.head(1000).write_parquet(path)
    for look in (
        scan.whole,
        lambda: scan.counts("t"),
        lambda: scan.rows([1999], ["n"]),
        lambda: scan.columns(["n"]),
    ):
        with pytest.raises(TableError, match=r"t.parquet was changed while it was read; wait until it is whole"):
            look()
    path.write_bytes(b"PAR1")
    with pytest.raises(TableError, match="was changed while it was read"):
        scan.whole()
