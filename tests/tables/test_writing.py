"""What was read is written back, with columns added and no formula in them."""

import io

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.tables.reading import read_table
from chary.tables.table import Table
from chary.tables.writing import write_table

# NUL is refused in a CSV, and a lone surrogate is no text.
text = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=8)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(text, text, text), min_size=1, max_size=6), delimiter=st.sampled_from(",;\t|"))
def test_what_was_read_is_written_back(tmp_path_factory, rows, delimiter):
    frame = pl.DataFrame(rows, schema=dict.fromkeys("abc", pl.String), orient="row")
    buffer = io.BytesIO()
    write_table(Table(frame, "t", delimiter), {}, buffer)
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(buffer.getvalue())
    again = read_table(path, delimiter=delimiter)
    expected = [row for row in rows if any(row)] if all(not any(row) for row in rows) else rows
    cells = [tuple("" if cell is None else cell for cell in row) for row in again.frame.rows()]
    assert cells == (expected or rows)


def test_added_columns_come_last_and_the_others_are_unchanged(tmp_path):
    data = b"\xef\xbb\xbfid;x;y\n007;1,50;=A1\n008; 2 ;\n"
    (tmp_path / "t.csv").write_bytes(data)
    table = read_table(tmp_path / "t.csv")
    buffer = io.BytesIO()
    write_table(table, {"chary_label": ["=A1", "ok"], "chary_confidence": [0.5, 1.0]}, buffer)
    assert buffer.getvalue() == (
        b"\xef\xbb\xbfid;x;y;chary_label;chary_confidence\n007;1,50;=A1;'=A1;0.5\n008; 2 ;;ok;1.0\n"
    )


@pytest.mark.parametrize("label", ["=1+1", "+x", "-x", "@SUM(A1)", "\tx", "\rx"])
def test_no_formula_in_added_text(label):
    buffer = io.BytesIO()
    write_table(Table(pl.DataFrame({"x": ["1"]}), "t", ","), {"chary_label": [label]}, buffer)
    written = pl.read_csv(buffer.getvalue())
    assert written["chary_label"].to_list() == ["'" + label]


@pytest.mark.parametrize("label", ["-1", "+", "-"])
def test_a_negative_number_or_a_sign_alone_is_no_formula(label):
    buffer = io.BytesIO()
    write_table(Table(pl.DataFrame({"x": ["1"]}), "t", ","), {"chary_label": [label]}, buffer)
    assert buffer.getvalue() == f"x,chary_label\n1,{label}\n".encode()


def test_parquet_keeps_types():
    frame = pl.DataFrame({"a": [1, 2], "d": ["=x", None]})
    buffer = io.BytesIO()
    write_table(Table(frame, "t"), {"chary_label": ["=x", "y"]}, buffer)
    assert pl.read_parquet(buffer.getvalue()).equals(frame.with_columns(chary_label=pl.Series(["=x", "y"])))
