"""Tables of one schema become one; others are refused by file and column."""

import polars as pl
import pytest

from chary.tables.errors import TableError
from chary.tables.joining import joined
from chary.tables.jsonlines import read_jsonlines
from chary.tables.table import Table


def of(name="t", format="", **columns):
    return Table(pl.DataFrame(columns), name, format=format)


def test_rows_come_in_order_and_columns_by_name():
    table = joined([of("one", a=[1], b=["x"]), of("two", b=["y"], a=[2])])
    assert table.frame.rows() == [(1, "x"), (2, "y")]
    assert (table.name, table.notes) == (
        "2 files", ("2 files were read as one table, in this order: one, two.",)
    )  # fmt: skip
    alone = of(a=[1])
    assert joined([alone]) is alone
    many = joined([of(str(k), a=[k]) for k in range(9)])
    assert many.notes == ("9 files were read as one table, in this order: 0, 1, 2, 3, 4, 5, ... 8.",)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (of("two", a=[1]), "two has no column 'b', which one has; give files of one schema."),
        (of("two", a=[1], b=[2], c=[3]), "two has a column 'c', which one lacks; give files of one schema."),
        (of("two", a=["x"], b=[2]), "Column 'a' is String in two and Int64 in one; write it in one type."),
        (
            of("two", "arrow", a=[1], b=[2]),
            "one is a Parquet file and two is an Arrow file; give files of one kind.",
        ),
    ],
)
def test_others_are_refused_by_file_and_column(other, said):
    with pytest.raises(TableError) as caught:
        joined([of("one", a=[1], b=[2]), other])
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [
        (pl.Series([1], dtype=pl.Int32), pl.Series([2], dtype=pl.UInt8), pl.Int64),
        (pl.Series([1]), pl.Series([0.5]), pl.Float64),
        (pl.Series([None]), pl.Series(["x"]), pl.String),
        (pl.Series(["x"]), pl.Series([None]), pl.String),
        (pl.Series(["x"], dtype=pl.Categorical), pl.Series(["y"]), pl.String),
        (pl.Series(["x"], dtype=pl.Enum(["x"])), pl.Series(["y"], dtype=pl.Enum(["y"])), pl.String),
        (pl.Series([0.5], dtype=pl.Float32), pl.Series([float("nan")]), pl.Float64),
    ],
)
def test_types_meet_where_no_cell_changes(first, second, dtype):
    cells = joined([of("one", a=first), of("two", a=second)]).frame["a"]
    assert cells.dtype == dtype
    assert cells.cast(pl.String).to_list() == [
        *first.cast(dtype).cast(pl.String),
        *second.cast(dtype).cast(pl.String),
    ]


def test_numbers_that_would_change_are_refused():
    with pytest.raises(TableError, match=r"^Column 'a' of one holds numbers too long to be Float64"):
        joined([of("one", a=[2**53 + 1]), of("two", a=[0.5])])
    with pytest.raises(TableError, match=r"^Column 'a' of two holds numbers too long to be Int64"):
        joined([of("one", a=[1]), of("two", a=pl.Series([2**64 - 1], dtype=pl.UInt64))])


def test_json_lines_stay_lines():
    one, two = read_jsonlines(b'{"a": 1.0}', "one"), read_jsonlines(b'{"a":2}', "two")
    table = joined([one, two])
    assert table.lines.texts.to_list() == ['{"a": 1.0}', '{"a":2}']
    assert table.lines.frame is table.frame
