"""The footers of Parquet files: as Polars wrote them, and damaged ones that tell nothing."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.tables import row_groups as module
from chary.tables.row_groups import RowGroup, row_groups


@pytest.fixture(name="path", scope="module")
def file_of_three_groups(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=2500), "t": ["long " * 20] * 2500, "n": range(2500)})
    path = tmp_path_factory.mktemp("groups") / "t.parquet"
    frame.write_parquet(path, row_group_size=1000)
    return path


def test_rows_and_bytes_are_those_of_the_columns_asked_for(path):
    groups = row_groups(path, ["x", "t", "n"])
    assert sum(group.n_rows for group in groups) == 2500
    assert len(groups) == 3
    every = sum(group.packed for group in groups)
    assert 0.9 * path.stat().st_size < every + 2000 < 1.1 * path.stat().st_size + 2000
    numbers = row_groups(path, ["x"])
    assert all(group.unpacked >= 8 * group.n_rows for group in numbers)
    assert sum(group.packed for group in numbers) < every
    assert row_groups(path, []) == [RowGroup(group.n_rows, 0, 0) for group in groups]


def test_pyarrow_writes_the_same_facts(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    parquet.write_table(pyarrow.table({"a": range(50), "s": [{"b": 1}] * 50}), tmp_path / "t", row_group_size=20)
    meta = parquet.ParquetFile(tmp_path / "t").metadata
    expected = [
        RowGroup(
            meta.row_group(i).num_rows,
            sum(meta.row_group(i).column(j).total_compressed_size for j in range(2)),
            sum(meta.row_group(i).column(j).total_uncompressed_size for j in range(2)),
        )
        for i in range(3)
    ]
    assert row_groups(tmp_path / "t", ["a", "s"]) == expected


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"a,b\n1,2\n" * 9, b"PAR1" + b"\0" * 20 + b"\xff\xff\xff\x7fPAR1"]
)
def test_what_is_no_parquet_tells_nothing(tmp_path, content):
    (tmp_path / "t").write_bytes(content)
    assert row_groups(tmp_path / "t", ["a"]) is None
    assert row_groups(tmp_path / "absent", ["a"]) is None


def test_a_name_that_is_a_number_tells_nothing(path, monkeypatch):
    column = {3: {3: [5], 6: 1, 7: 1}}
    monkeypatch.setattr(module._Thrift, "structure", lambda self: {4: [{1: [column], 3: 1}]})
    assert row_groups(path, ["x"]) is None


@settings(max_examples=300, deadline=None)
@given(places=st.lists(st.tuples(st.integers(9, 900), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_footer_tells_nothing_or_something_plain(path, places):
    data = bytearray(path.read_bytes())
    for place, value in places:
        data[-place] = value
    damaged = path.with_name("damaged.parquet")
    damaged.write_bytes(data)
    groups = row_groups(damaged, ["x", "t", "n"])
    assert groups is None or all(min(group) >= 0 for group in groups)
