"""Data frames of other libraries become a table, and results a frame of the kind that was given."""

import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import pytest

from chary.tables import Table
from chary.tables.frames import alone, extended, from_dataframe, is_pandas, like
from chary.tables.table import TableError


def test_dataframes_of_all_kinds_are_the_same_table():
    columns = {"n": [1.5, None], "s": ["a", None], "b": [True, False]}
    expected = pl.DataFrame(columns)
    for data in (expected, columns, pd.DataFrame(columns), pd.DataFrame(columns).convert_dtypes()):
        frame = from_dataframe(data)
        assert frame.select("s", "b").equals(expected.select("s", "b"))
        assert frame["n"].fill_nan(None).to_list() == [1.5, None]


def test_dataframes_with_mixed_cells_dates_and_numbered_columns():
    data = pd.DataFrame(
        {0: ["a", 1], 1: pd.to_datetime(["2020-01-01", None]), 2: pd.Categorical(["x", None])}
    )
    frame = from_dataframe(data)
    assert frame.columns == ["0", "1", "2"]
    assert frame["0"].to_list() == ["a", "1"]
    assert frame["1"].dtype == pl.Datetime
    assert frame["2"].to_list() == ["x", None]


def test_series_of_different_indexes_are_no_columns_of_one_table():
    amounts = pd.Series([1, 2, 3], index=["a", "b", "c"])
    with pytest.raises(TableError, match=r"Columns 'n' and 'm' have different indexes"):
        from_dataframe({"n": amounts, "m": amounts.sort_values(ascending=False)})
    assert from_dataframe({"n": amounts, "m": [3, 4, 5], "k": -amounts}).shape == (3, 3)


def test_what_is_no_table_is_refused():
    with pytest.raises(TableError, match="got ndarray"):
        from_dataframe(np.zeros((2, 2)))
    with pytest.raises(TableError, match="both called 'a'"):
        from_dataframe(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_cells_may_be_arrays():
    cells = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    assert from_dataframe(pd.DataFrame({"embedding": cells}))["embedding"].to_list() == [
        [1, 2],
        [3, 4],
    ]
    assert (
        from_dataframe(pd.DataFrame({"embedding": [*cells, None]}))["embedding"].null_count() == 1
    )


LABELS = pl.Series(["a", "b", "a"])


def table_of(data):
    return Table(from_dataframe(data), "t")


@pytest.mark.parametrize(
    ("cells", "labels", "dtype"),
    [
        (pd.Series(["a", None, "b"]), LABELS, None),
        (pd.Series(["a", None, "b"], dtype="string"), LABELS, "string"),
        (pd.Series(["a", None, "b"], dtype=object), LABELS, None),
        (
            pd.Series(["a", None, "b"], dtype=pd.CategoricalDtype(["b", "a"], ordered=True)),
            LABELS,
            "same",
        ),
        (pd.Series([1, None, 0], dtype="Int64"), pl.Series([1, 0, 0]), "Int64"),
        (pd.Series([1, None, 0]), pl.Series([1.0, 0.0, 0.0]), "float64"),
        (
            pd.Series([True, None, False], dtype="boolean"),
            pl.Series([True, False, False]),
            "boolean",
        ),
        (pd.Series([True, None, False], dtype=object), pl.Series([True, False, False]), "bool"),
    ],
)
def test_a_label_has_the_type_of_its_target(cells, labels, dtype):
    data = pd.DataFrame({"y": cells})
    found = extended(data, table_of(data), {"chary_label": labels}, "y")["chary_label"]
    assert found.tolist() == labels.to_list()
    if dtype is not None:
        assert found.dtype == (cells.dtype if dtype == "same" else dtype)


def test_a_type_that_cannot_hold_a_new_class_is_not_forced_on_it():
    data = pd.DataFrame(
        {"y": pd.Categorical(["a", None, "b"]), "n": pd.Series([1, None, 2], dtype="Int64")}
    )
    new = pl.Series(["a", "neither", "b"])
    for target in ("y", "n"):
        assert (
            extended(data, table_of(data), {"chary_label": new}, target)["chary_label"].tolist()
            == new.to_list()
        )


def test_index_types_and_order_are_kept_and_the_frame_given_is_not_changed():
    data = pd.DataFrame(
        {"z": [1, 2, 3], "a": pd.Categorical(["u", "v", "u"]), 7: [0.5, None, 1]}, index=[5, 5, 2]
    )
    before = data.copy(deep=True)
    found = extended(data, table_of(data), {"chary_confidence": pl.Series([0.1, 0.2, 0.3])})
    pd.testing.assert_frame_equal(data, before)
    pd.testing.assert_frame_equal(found[["z", "a", 7]], before)
    assert found.columns.tolist() == ["z", "a", 7, "chary_confidence"]
    assert found["chary_confidence"].tolist() == [0.1, 0.2, 0.3]


def test_polars_stays_polars_and_a_dict_becomes_it():
    for data in (pl.DataFrame({"x": [1, 2, 3]}), {"x": [1, 2, 3]}):
        found = extended(data, table_of(data), {"chary_label": LABELS})
        assert isinstance(found, pl.DataFrame)
        assert found.columns == ["x", "chary_label"]
        assert isinstance(like(data, {"a": np.zeros(3)}), pl.DataFrame)


def test_columns_alone_have_the_index_of_what_was_given():
    data = pd.DataFrame({"x": [1, 2]}, index=pd.Index(["p", "q"], name="who"))
    found = like(data, {"yes": np.array([0.25, 0.5])})
    assert found.loc["q", "yes"] == 0.5
    assert found.index.name == "who"


def test_pandas_is_recognised_without_being_imported(monkeypatch):
    class Own(pd.DataFrame):
        """A class made of it, as those of other packages."""

    assert is_pandas(Own({"x": [1]}))
    assert not is_pandas(pl.DataFrame({"x": [1]}))
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert not is_pandas({"x": [1]})


def test_some_rows_and_columns_alone_are_of_the_kind_that_was_given():
    pandas = pd.DataFrame({"x": [1, 2, 3]}, index=[7, 8, 9])
    polars = pl.DataFrame({"x": [1, 2, 3]})
    table, rows, added = Table(polars, "t"), np.array([2, 0]), {"a": pl.Series([5, 6])}
    assert extended(pandas, table, added, rows=rows).index.tolist() == [9, 7]
    for data in (polars, "t.csv", polars.to_arrow()):
        found = pl.DataFrame(extended(data, table, added, rows=rows))
        assert found.rows() == [(3, 5), (1, 6)]
    assert like(pandas, {"a": [1, 2]}, rows).index.tolist() == [9, 7]
    assert alone(pandas, {"a": [1]}).index.tolist() == [0]
    assert alone(polars, {"a": [1]}).equals(pl.DataFrame({"a": [1]}))


class Stream:
    """Nothing but Arrow's protocol."""

    def __init__(self, frame):
        self.__arrow_c_stream__ = frame.__arrow_c_stream__


def kinds_of_frames(frame):
    """The same table as other libraries keep it, by the names of these."""
    yield "arrow", frame.to_arrow()
    yield "stream", Stream(frame)
    yield "lazy", frame.lazy()
    with suppress(ImportError):
        import duckdb

        yield "duckdb", duckdb.from_arrow(frame.to_arrow())
    with suppress(ImportError):
        import ibis

        ibis.set_backend("polars")
        yield "ibis", ibis.memtable(frame)


def test_tables_of_other_libraries_come_in_and_go_out():
    frame = pl.DataFrame({"x": [1, 2, None], "y": ["a", None, "b"], "z": [1.5, 2.5, 3.5]})
    for name, data in kinds_of_frames(frame):
        assert from_dataframe(data).equals(frame), name
        found = extended(data, table_of(frame), {"chary_label": LABELS})
        assert isinstance(
            found, pl.DataFrame if name in ("stream", "lazy", "ibis") else type(data)
        ), name
        assert from_dataframe(found)["chary_label"].to_list() == LABELS.to_list(), name


def test_what_speaks_arrow_badly_is_refused_in_a_sentence():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError("no rows today")

    with pytest.raises(TableError, match=r"The Broken cannot be read as a table \(no rows today\)"):
        from_dataframe(Broken())
    with pytest.raises(TableError, match="got list"):
        from_dataframe([1, 2])
