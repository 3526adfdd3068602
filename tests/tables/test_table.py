"""A table and names in; the column that is meant, or what may have been meant, out."""

import polars as pl
import pytest

from chary.tables.errors import TableError
from chary.tables.table import Table, column_hint, column_named, has_texts, refuse_duplicates, texts


def test_the_suffix_says_how_a_table_was_written():
    assert Table(pl.DataFrame(), "t", ";").suffix == ".csv"
    assert Table(pl.DataFrame(), "t").suffix == ".parquet"


def test_a_column_that_is_not_there_is_named_with_the_nearest():
    table = Table(pl.DataFrame({"churn": [1], "x": [2]}), "t.csv")
    assert column_named(table, "x") == "x"
    with pytest.raises(TableError, match=r"^t.csv has no column 'chrun'; did you mean 'churn'\?$"):
        column_named(table, "chrun")


def test_of_many_columns_eight_are_named():
    assert column_hint("zzz", [f"c{i}" for i in range(9)]).endswith("'c7', ....")
    assert column_hint("zzz", ["a", "b"]) == "it has 'a', 'b'."


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (pl.Series(["a", None]), ["a", None]),
        (pl.Series([1, 2]), ["1", "2"]),
        (pl.Series([[1], [2]]), None),
        (pl.Series([b"\xff"]), None),
        (pl.Series([object()], dtype=pl.Object), None),
    ],
)
def test_cells_are_shown_as_text_where_they_can(cells, shown):
    assert has_texts(cells) == (shown is not None)
    assert texts(cells).to_list() == (shown or [None] * len(cells))


def test_two_columns_of_one_name_are_refused():
    refuse_duplicates(["a", "b"], "t.csv")
    with pytest.raises(TableError, match=r"^t.csv: columns 2 and 3 are both called 'b'; rename one of them.$"):
        refuse_duplicates(["a", "b", "b"], "t.csv")
