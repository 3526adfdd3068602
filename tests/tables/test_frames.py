"""Data frames of other libraries in; the same table out."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from chary.tables.errors import TableError
from chary.tables.frames import from_dataframe, table_from
from chary.tables.table import Table


def test_dataframes_of_all_kinds_are_the_same_table():
    columns = {"n": [1.5, None], "s": ["a", None], "b": [True, False]}
    expected = pl.DataFrame(columns)
    for data in (expected, columns, pd.DataFrame(columns), pd.DataFrame(columns).convert_dtypes()):
        frame = from_dataframe(data)
        assert frame.select("s", "b").equals(expected.select("s", "b"))
        assert frame["n"].fill_nan(None).to_list() == [1.5, None]


def test_dataframes_with_mixed_cells_dates_and_numbered_columns():
    data = pd.DataFrame({0: ["a", 1], 1: pd.to_datetime(["2020-01-01", None]), 2: pd.Categorical(["x", None])})
    frame = from_dataframe(data)
    assert frame.columns == ["0", "1", "2"]
    assert frame["0"].to_list() == ["a", "1"]
    assert frame["1"].dtype == pl.Datetime
    assert frame["2"].to_list() == ["x", None]


def test_what_is_no_table_is_refused():
    with pytest.raises(TableError, match="got ndarray"):
        from_dataframe(np.zeros((2, 2)))
    with pytest.raises(TableError, match="both called 'a'"):
        from_dataframe(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_cells_may_be_arrays():
    cells = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    assert from_dataframe(pd.DataFrame({"embedding": cells}))["embedding"].to_list() == [[1, 2], [3, 4]]
    assert from_dataframe(pd.DataFrame({"embedding": [*cells, None]}))["embedding"].null_count() == 1


def test_whatever_holds_a_table_becomes_one(tmp_path):
    columns = {"a": [1, 2], "s": ["x", None]}
    frame = pl.DataFrame(columns)
    frame.write_parquet(tmp_path / "t.parquet")
    for data in (frame, columns, pd.DataFrame(columns), frame.lazy()):
        table = table_from(data)
        assert table.frame.equals(frame)
        assert table.given is data
        assert (table.name, table.path) == ("the table", "")
    for data in (
        tmp_path / "t.parquet",
        str(tmp_path / "t.parquet"),
        f"{tmp_path}/*.parquet",
        [tmp_path / "t.parquet"],
    ):
        table = table_from(data)
        assert table.frame.equals(frame)
        assert table.given is None
    assert table_from(table) is table
    (tmp_path / "t.csv").write_text("a:s\n1:x\n")
    assert table_from(tmp_path / "t.csv", delimiter=":", encoding="utf-8", sheet=None).frame.width == 2


def test_what_cannot_become_a_table_is_refused():
    with pytest.raises(TableError, match="got ndarray"):
        table_from(np.zeros((2, 2)))
    with pytest.raises(TableError, match=r"^the table has a header and no rows"):
        table_from({"a": []})
    with pytest.raises(TableError, match=r"^Shop already has a column 'chary_label'"):
        table_from({"chary_label": [1]}, name="Shop")
    with pytest.raises(
        TableError, match=r"^the table is no file, so the parameter sheet has no meaning; leave it out.$"
    ):
        table_from({"a": [1]}, sheet="x")
    assert isinstance(table_from({"a": [1]}, encoding="utf-8"), Table)
