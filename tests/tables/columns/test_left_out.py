"""Why nothing is learned from a column."""

import numpy as np
import polars as pl
import pytest

from chary.tables.columns import left_out

N = 60
NOTHING = pl.Series("x", [], dtype=pl.String)


def test_what_somebody_leaves_out_says_so():
    assert left_out.asked("x", dropped=True).note == "dropped as asked"
    assert left_out.asked("x", dropped=False).note == "an identifier, as asked"
    assert left_out.asked("x", dropped=False).kind == "identifier"


@pytest.mark.parametrize(
    ("filled", "note"),
    [
        (pl.Series("x", ["a"] * N), "the same in every row"),
        (pl.Series("x", [1.5] * N), "the same in every row"),
        (NOTHING, "empty"),
        (pl.Series("x", ["a"] * (N - 1)), None),  # the other row is empty, which says something
        (pl.Series("x", ["a"] * (N - 1) + ["b"]), None),
        (pl.Series("x", [[1]] * N), None),
        (pl.Series("x", [object()] * N, dtype=pl.Object), None),
    ],
)
def test_what_never_changes(filled, note):
    column = left_out.constant(filled, N)
    assert (column and (column.kind, column.note)) == (note and ("constant", note))


def test_numbers_in_the_order_of_the_rows_count_them():
    assert left_out.counting("x", pl.Series(np.arange(5.0, 30))).kind == "identifier"
    assert left_out.counting("x", pl.Series(np.arange(19.0))) is None  # too few to be no coincidence
    assert left_out.counting("x", pl.Series(np.arange(25.0) + 0.5)) is None
    assert left_out.counting("x", pl.Series(np.arange(25.0)[::-1].copy())) is None


def test_identifiers_are_known_by_name_only_when_every_value_differs():
    shuffled = pl.Series(np.random.default_rng(0).permutation(10_000)[:N].astype(float))
    for name in ("id", "customer_id", "customerId", "Kunden-Nr", "UUID"):
        assert left_out.counting(name, shuffled).kind == "identifier"
        assert left_out.counting(name, pl.concat([shuffled, shuffled[:1]])) is None
    for name in ("paid", "amount", "grid"):
        assert left_out.counting(name, shuffled) is None


@pytest.mark.parametrize(
    ("cells", "kind", "note"),
    [
        ([f"it was {i} o'clock" for i in range(N)], "identifier", "different in every row"),
        ([f"it was {i // 2} o'clock" for i in range(N)], "text", "free text"),
        ([[1], [2]], "unsupported", "of a type chary does not read (List(Int64))"),
        ([b"x", b"y"], "unsupported", "of a type chary does not read (Binary)"),
    ],
)
def test_what_is_of_no_kind(cells, kind, note):
    column = left_out.rest(pl.Series("x", cells))
    assert (column.kind, column.note, column.used) == (kind, note, False)
