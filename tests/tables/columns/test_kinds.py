"""The kind of a column, why nothing is learned from it, and room for another kind."""

import datetime as dt
import decimal
from dataclasses import fields

import numpy as np
import polars as pl
import pytest

from chary.model_file import load_model, save_model
from chary.tables.cells import Column, Kind, unified
from chary.tables.columns import KINDS, find_column, kind_of
from chary.tables.columns.categories import Categories, find_constant, find_counting, find_identifier, of_no_kind
from chary.tables.preparation import TablePreparation
from chary.tables.source import from_dataframe
from chary.tables.table import TableError

N = 60
RNG = np.random.default_rng(0)


def found(cells, forced=""):
    """What a column x is taken for."""
    return find_column(from_dataframe({"x": cells})["x"], forced)


KINDS_OF_CELLS = [
    ([f" {i}e-3 " for i in range(N)], "numeric"),
    ([f"1.{i:03d},5" for i in range(N)], "numeric"),
    ([*[str(i % 9) for i in range(N - 1)], "oops"], "numeric"),
    ([*[str(i % 9) for i in range(N - 9)], *["oops"] * 9], "categorical"),
    (["NA", "?", *[str(i % 9) for i in range(N)]], "numeric"),
    (RNG.normal(size=N), "numeric"),
    ([decimal.Decimal(i * i) for i in range(N)], "numeric"),
    ([dt.timedelta(days=i % 11) for i in range(N)], "numeric"),
    ([dt.time(i % 24) for i in range(N)], "time"),
    ([f"${i * 37 % 101},000" for i in range(N)], "numeric"),
    ([i % 2 == 0 for i in range(N)], "boolean"),
    (["TRUE", "false", None] * 20, "boolean"),
    (["red", "green", "blue"] * 20, "categorical"),
    (["red", None] * 30, "categorical"),
    (pl.Series(["red", "blue"] * 30, dtype=pl.Categorical), "categorical"),
    ([f"2024-01-{i % 28 + 1:02d}T10:30:00Z" for i in range(N)], "date"),
    ([dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(N)], "date"),
    ([dt.datetime(2024, 1, 1) + dt.timedelta(hours=i) for i in range(N)], "date"),
    ([f"it was {i} o'clock" for i in range(N)], "identifier"),
    ([f"it was {i // 2} o'clock" for i in range(N)], "text"),
    ([f"{'no' if i % 3 else 'so'} much {'wine' if i % 2 else 'rain'} {i}" for i in range(N)], "words"),
    (range(N), "identifier"),
    ([str(i) for i in range(1000, 1000 + N)], "identifier"),
    (["x"] * N, "constant"),
    ([None] * N, "constant"),
    (["", "NA"] * 30, "constant"),
    ([[1]] * N, "embedding"),
    ([[i, 2] for i in range(N)], "embedding"),
    ([["a"], ["b"]] * 30, "unsupported"),
    ([b"x"] * N, "unsupported"),
]


def test_kinds():
    for cells, kind in KINDS_OF_CELLS:
        column = found(cells)
        assert (column.kind, column.used) == (kind, kind in {kind.name for kind in KINDS}), cells


def test_every_kind_is_found_by_its_name():
    assert [kind_of(Column("x", kind.name)) for kind in KINDS] == list(KINDS)
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    with pytest.raises(TableError, match="Kind 'smell' of column 'x' is unknown"):
        TablePreparation.restored({}, [Column("x", "smell")], {})


def test_a_column_is_what_a_model_file_says_of_it():
    names = [field.name for field in fields(Column)][:7]
    assert names == ["name", "kind", "note", "form", "categories", "other", "missing"]
    learned = Column("x", "embedding", learned={"centre": np.zeros(3)})
    assert learned == Column("x", "embedding", learned={"centre": np.zeros(3)})
    assert len({learned, Column("x", "embedding")}) == 1


def test_gaps_are_known():
    assert not found(["1", "2", "3"] * 20).missing
    assert found(["1", "2", ""] * 20).missing
    assert found(["red", "blue", None] * 20).missing
    assert not found([1, 2] * 30, "categorical").missing
    assert found([1, 2, None] * 20, "categorical").missing


def test_one_number_is_enough_where_somebody_says_so():
    cells = ["a", "b", "7"] * 20
    assert found(cells).kind == "categorical"
    for numbers in (cells, ["$1,200", "$900"] * 30, ["20240131", "20240201"] * 30, range(N)):
        assert found(numbers, "numeric").kind == "numeric"
    assert found([True, False] * 30, "numeric").kind == "boolean"
    assert found(["7"] * N, "numeric").kind == "constant"
    for none in (["a", "b"], ["12:30", "7:00"], [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]):
        with pytest.raises(TableError, match=r"^Column 'x' holds '.*', no number; remove it from t"):
            found(none, "numeric")


def test_what_might_have_been_numbers_says_why_it_is_not():
    column = found(["5 km", "3 mi"] * 30)
    assert (column.kind, column.doubtful) == ("categorical", True)
    assert column.note == (
        "2 values, 50% of the cells are numbers, others such as '3 mi' are not; --numeric reads it so"
    )
    assert not found(["red", "blue"] * 30).doubtful
    assert not found([f"{i} word" if i % 3 else "word" for i in range(N)]).used


def test_what_somebody_says():
    for cells, kind, note in (
        (range(N), "categorical", "60 values"),
        (["x"] * N, "categorical", "1 value"),
        ([""] * N, "constant", "empty"),
        ([[1], [2]] * 30, "unsupported", "of a type chary does not read (List(Int64))"),
        ([b"\xff", b"a"] * 30, "unsupported", "of a type chary does not read (Binary)"),
    ):
        column = find_column(pl.Series("x", cells), "categorical")
        assert (column.kind, column.note) == (kind, note)
    assert (found(range(N), "drop").kind, found(range(N), "drop").note) == ("dropped", "dropped as asked")
    named = found(["a", "b"], "identifier")
    assert (named.kind, named.note) == ("identifier", "an identifier, as asked")


def test_texts_kept_in_a_dictionary_are_texts():
    for dtype in (pl.Categorical, pl.Enum(["1", "2"])):
        assert unified(pl.Series(["1", "2"], dtype=dtype)).dtype == pl.String
    assert unified(pl.Series([1, 2])).dtype == pl.Int64


# ---------------------------------------------------------------- what is left out


def test_what_never_changes():
    for cells, note in (
        (["a"] * N, "the same in every row"),
        ([1.5] * N, "the same in every row"),
        ([], "empty"),
        (["a"] * (N - 1), None),  # the other row is empty, which says something
        (["a"] * (N - 1) + ["b"], None),
        ([[1]] * N, None),
        (pl.Series([object()] * N, dtype=pl.Object), None),
    ):
        column = find_constant(pl.Series("x", cells), N)
        assert (column and (column.kind, column.note)) == (note and ("constant", note))


def shuffled(n=N):
    """Whole numbers, all different."""
    return pl.Series(np.random.default_rng(0).permutation(10_000)[:n])


def test_numbers_without_a_gap_count_the_rows_in_any_order_and_others_by_name():
    assert find_counting("x", pl.Series(np.arange(5.0, 30))).kind == "identifier"
    assert find_counting("x", pl.Series(np.arange(19.0))) is None  # too few to be no coincidence
    assert find_counting("x", pl.Series(np.arange(25.0) + 0.5)) is None
    assert "say that it is numeric" in find_counting("x", pl.Series(np.arange(25.0)[::-1].copy())).note
    numbers = shuffled().cast(pl.Float64)
    for name in ("id", "customer_id", "customerId", "Kunden-Nr", "UUID"):
        assert find_counting(name, numbers).kind == "identifier"
        assert find_counting(name, pl.concat([numbers, numbers[:1]])) is None
    for name in ("paid", "amount", "grid", "covid", "casino", "monkey"):
        assert find_counting(name, numbers) is None


def test_whole_numbers_of_which_chance_would_make_some_equal_name_the_rows_if_none_are():
    """Of 1,000 numbers below 10,000, 50 pairs would be equal; below 100,000, 5."""
    rng = np.random.default_rng(0)
    column = find_counting("seqn", pl.Series(rng.permutation(10_000)[:1000]).cast(pl.Float64))
    assert (column.kind, column.note) == ("identifier", "looks like a row number or an ID: all values differ")
    assert column.doubtful
    assert find_counting("seqn", pl.Series(rng.permutation(100_000)[:1000])) is None
    assert find_counting("seqn", pl.Series(rng.permutation(10_000)[:199])) is None  # few, as years are
    assert "numeric if it is a quantity" in find_counting("place", pl.Series(rng.permutation(1000) + 1)).note
    assert find_counting("case", pl.Series(rng.permutation(1000) + 15_000)).kind == "identifier"


def test_what_is_called_an_identifier_names_rows():
    for name in ("id", "ID", "id_str", "user_id", "userId", "UserID", "customer-id", "unitid", "id_no"):
        for dtype in (pl.Int64, pl.Float64, pl.String):
            column = find_identifier(shuffled().cast(dtype).alias(name), N)
            assert (column.kind, column.used) == ("identifier", False)
            some_twice = pl.concat([shuffled(50), shuffled(50)[:10]]).cast(dtype).alias(name)
            assert find_identifier(some_twice, N).note == "an identifier with 50 values in 60 cells"
    for name in ("paid", "grid", "covid", "key", "row", "house_no", "x"):
        assert find_identifier(shuffled().alias(name), N) is None
        assert find_identifier(shuffled().cast(pl.String).alias(name), N) is None


def test_an_identifier_that_repeats_names_groups():
    column = find_identifier(pl.Series("subject_id", [7, 3, 12] * 20), N)
    assert (column.kind, column.categories, column.doubtful) == ("categorical", ("12", "3", "7"), True)
    assert column.note == "an identifier that repeats, so it names groups: 3 values"
    assert find_identifier(pl.Series("subject_id", [7.0, 3.0, 12.0] * 20), N) == column
    many = pl.Series("subject_id", [i // 3 for i in range(600)])
    assert find_identifier(many, 600).note == "an identifier with 200 values in 600 cells"
    assert find_identifier(pl.Series("subject_id", [0.5, 1.5] * 30), N) is None
    assert find_identifier(pl.Series("subject_id", [7, 3]), 2) is None  # too few to tell


def test_what_only_programs_write_names_rows():
    for code in ("{:018d}", "{:032x}", "{:08x}-0000-4000-8000-000000000000"):
        cells = pl.Series("x", [code.format(i) for i in shuffled()])
        assert find_identifier(cells, N).kind == "identifier"
        assert find_identifier(cells.str.slice(0, 4), N) is None


@pytest.mark.parametrize(("n_rows", "used"), [(60, False), (61, True), (120, True), (6000, True), (6100, False)])
def test_whether_an_identifier_is_there_may_tell_something(n_rows, used):
    column = find_identifier(shuffled().alias("reply_id"), n_rows)
    assert (column.used, column.doubtful) == (used, used)
    if used:
        assert column.note == "looks like a row number or an ID: only used as present or missing"
        codes = Categories().read(pl.Series(["17", None, "x"]), column)
        assert codes[:, 0].tolist() == [0, 1, 0]
        assert Categories().feature_names(column) == ["reply_id = (other)", "reply_id = (missing)"]


def test_what_is_of_no_kind():
    for cells, kind, note in (
        ([f"it was {i} o'clock" for i in range(N)], "identifier", "different in every row"),
        ([f"it was {i // 2} o'clock" for i in range(N)], "text", "free text"),
        ([[1], [2]], "unsupported", "of a type chary does not read (List(Int64))"),
    ):
        column = of_no_kind(pl.Series("x", cells))
        assert (column.kind, column.note, column.used) == (kind, note, False)


# ---------------------------------------------------------------- another kind


class Words(Kind):
    """A kind that might be added: lists of words, numbered by how long they are."""

    name = "lists of words"
    learns = ("centre",)

    def find(self, filled, forced=False):
        if filled.dtype != pl.List(pl.String) or filled.list.len().n_unique() > 1:
            return None
        rows = self._lengths(filled)
        return Column(filled.name, self.name, form=str(rows.shape[1]), learned={"centre": rows.mean(axis=0)})

    def feature_names(self, column):
        return [f"{column.name} {i}" for i in range(int(column.form))]

    def read(self, cells, column):
        width = int(column.form)
        right = (cells.list.len() == width).fill_null(False).to_numpy()
        numbers = np.full((len(cells), width), np.nan)
        if right.any():
            numbers[right] = self._lengths(cells.filter(right)) - column.learned["centre"]
        return numbers

    def whole(self, column):
        return column.form.isdecimal()

    def expected(self, column):
        return f"lists of {column.form} words"

    def _lengths(self, cells):
        return np.array([[len(word) for word in cell] for cell in cells.to_list()], dtype=float)


def test_a_new_kind_is_a_class_and_a_place_among_the_kinds(monkeypatch, tmp_path):
    monkeypatch.setattr("chary.tables.columns.KINDS", (*KINDS, Words()))
    table = {
        "n": [1.5, 2.5, 4.0, None] * 5,
        "e": [["a", "bb"], ["ccc", "dddd"], ["eeeee", "f" * 9], None] * 5,
        "c": ["u", "v", "u", "u"] * 5,
    }
    preparation = TablePreparation().fit(table)
    assert [column.kind for column in preparation.columns_] == ["numeric", "lists of words", "categorical"]
    expected = ["e 0", "e 1", "n", "e is missing", "n is missing", "c = u", "c = v"]  # by name, kind by kind
    assert preparation.get_feature_names_out().tolist() == expected
    assert [feature.column for feature in preparation.features()] == ["e", "e", "n", "e", "n", "c", "c"]
    features = preparation.transform(table)
    np.testing.assert_allclose(preparation.features()[0].in_units(features[:3, 0]), [-2, 0, 2], atol=1e-6)
    save_model(preparation, tmp_path / "m.chary")
    assert load_model(tmp_path / "m.chary").transform(table).tobytes() == features.tobytes()
    with pytest.raises(TableError, match=r"Column 'e' holds .*: 1 of 1 cells .* lists of 2 words"):
        preparation.transform({**table, "n": [1.0], "e": [["a"]], "c": ["u"]})


def test_spellings_of_a_category_that_differ_in_case_or_white_space_are_one():
    cells = pl.Series("how", ["E-Mail"] * 30 + ["e-MAIL "] * 20 + ["By  post", "by post"] * 25 + ["phone"] * 40)
    column = find_column(cells)
    assert column.categories == ("By  post", "E-Mail", "phone")
    codes = kind_of(column).read(pl.Series("how", ["E-MAIL", "BY POST", "Phone", "fax"]), column)[:, 0]
    assert codes.tolist() == [1, 0, 2, -1]
