"""Why nothing is learned from a column."""

import numpy as np
import polars as pl
import pytest

from chary.tables.columns import left_out
from chary.tables.columns.categories import Categories

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
    for name in ("paid", "amount", "grid", "covid", "casino", "monkey"):
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


def shuffled(n=N):
    """Whole numbers, all different."""
    return pl.Series(np.random.default_rng(0).permutation(10_000)[:n])


@pytest.mark.parametrize(
    "name", ["id", "ID", "id_str", "user_id", "userId", "UserID", "customer-id", "unitid", "id_no"]
)
@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64, pl.String])
def test_what_is_called_an_identifier_names_rows(name, dtype):
    column = left_out.naming(shuffled().cast(dtype).alias(name))
    assert (column.kind, column.used) == ("identifier", False)
    some_twice = pl.concat([shuffled(50), shuffled(50)[:10]]).cast(dtype).alias(name)
    assert left_out.naming(some_twice).note == "an identifier with 50 values in 60 cells"


@pytest.mark.parametrize("name", ["paid", "grid", "covid", "key", "row", "house_no", "x"])
def test_what_is_not_called_so_does_not(name):
    assert left_out.naming(shuffled().alias(name)) is None
    assert left_out.naming(shuffled().cast(pl.String).alias(name)) is None


def test_an_identifier_that_repeats_names_groups():
    column = left_out.naming(pl.Series("subject_id", [7, 3, 12] * 20))
    assert (column.kind, column.categories, column.doubtful) == ("categorical", ("12", "3", "7"), True)
    assert column.note == "an identifier that repeats, so it names groups: 3 values"
    assert left_out.naming(pl.Series("subject_id", [7.0, 3.0, 12.0] * 20)) == column
    many = pl.Series("subject_id", [i // 3 for i in range(600)])
    assert left_out.naming(many).note == "an identifier with 200 values in 600 cells"
    assert left_out.naming(pl.Series("subject_id", [0.5, 1.5] * 30)) is None
    assert left_out.naming(pl.Series("subject_id", [7, 3])) is None  # too few to tell


@pytest.mark.parametrize("code", ["{:018d}", "{:032x}", "{:08x}-0000-4000-8000-000000000000"])
def test_what_only_programs_write_names_rows(code):
    cells = pl.Series("x", [code.format(i) for i in shuffled()])
    assert left_out.naming(cells).kind == "identifier"
    assert left_out.naming(cells.str.slice(0, 4)) is None


@pytest.mark.parametrize(("n_filled", "used"), [(60, False), (59, True), (30, True), (1, True)])
def test_whether_an_identifier_is_there_may_tell_something(n_filled, used):
    column = left_out.told_by_gaps(left_out.Column("x", "identifier", "an identifier"), n_filled, 60)
    assert (column.used, column.doubtful) == (used, used)
    if used:
        assert column.note == "an identifier: only whether it is there is used"
        codes = Categories().read(pl.Series(["17", None, "x"]), column)
        assert codes[:, 0].tolist() == [0, 1, 0]
        assert Categories().feature_names(column) == ["x = (other)", "x = (missing)"]
    assert left_out.told_by_gaps(left_out.Column("x", "numeric"), 30, 60).kind == "numeric"
