"""The kind of a column, why nothing is learned from it, and room for another kind."""

import datetime as dt
import decimal
from dataclasses import FrozenInstanceError, asdict, fields

import numpy as np
import polars as pl
import pytest

from chary.model_file import load_model, save_model
from chary.tables.columns import KINDS, ColumnDefaults, find_column, kind_of
from chary.tables.columns.categories import find_identifier
from chary.tables.columns.kind import (
    SMALL_SAMPLE,
    Column,
    Kind,
    sample_cells,
    unified,
)
from chary.tables.frames import from_dataframe
from chary.tables.preparation import TablePreparation
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
    ([f"it was {i // 2} o'clock" for i in range(N)], "text"),
    (
        [f"{'no' if i % 3 else 'so'} much {'wine' if i % 2 else 'rain'} {i}" for i in range(N)],
        "words",
    ),
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
        with pytest.raises(TableError, match=r"^Column 'x' holds no number; remove it from t"):
            found(none, "numeric")


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
    assert (found(range(N), "drop").kind, found(range(N), "drop").note) == (
        "dropped",
        "dropped as asked",
    )
    named = found(["a", "b"], "identifier")
    assert (named.kind, named.note) == ("identifier", "an identifier, as asked")


def test_texts_kept_in_a_dictionary_are_texts():
    for dtype in (pl.Categorical, pl.Enum(["1", "2"])):
        assert unified(pl.Series(["1", "2"], dtype=dtype)).dtype == pl.String
    assert unified(pl.Series([1, 2])).dtype == pl.Int64


# ---------------------------------------------------------------- what is left out


def shuffled(n=N):
    """Whole numbers, all different."""
    return pl.Series(np.random.default_rng(0).permutation(10_000)[:n])


def test_what_is_called_an_identifier_names_rows():
    for name in (
        "id",
        "ID",
        "id_str",
        "user_id",
        "userId",
        "UserID",
        "customer-id",
        "unitid",
        "id_no",
    ):
        for dtype in (pl.Int64, pl.Float64, pl.String):
            column = find_identifier(shuffled().cast(dtype).alias(name), N)
            assert (column.kind, column.used) == ("identifier", False)
            some_twice = pl.concat([shuffled(50), shuffled(50)[:10]]).cast(dtype).alias(name)
            assert find_identifier(some_twice, N).note == "an identifier with 50 values in 60 cells"
    for name in ("paid", "grid", "covid", "key", "row", "house_no", "x"):
        assert find_identifier(shuffled().alias(name), N) is None
        assert find_identifier(shuffled().cast(pl.String).alias(name), N) is None


# ---------------------------------------------------------------- another kind


class Words(Kind):
    """A kind that might be added: lists of words, numbered by how long they are."""

    name = "lists of words"
    learns = ("centre",)

    def find(self, filled, forced=False, hints=None):
        if filled.dtype != pl.List(pl.String) or filled.list.len().n_unique() > 1:
            return None
        rows = self._lengths(filled)
        return Column(
            filled.name, self.name, form=str(rows.shape[1]), learned={"centre": rows.mean(axis=0)}
        )

    def feature_names(self, column):
        return [f"{column.name} {i}" for i in range(int(column.form))]

    def read(self, cells, column):
        width = int(column.form)
        if cells.dtype != pl.List(pl.String):
            return np.full((len(cells), width), np.nan)
        right = (cells.list.len() == width).fill_null(False).to_numpy()
        numbers = np.full((len(cells), width), np.nan)
        if right.any():
            numbers[right] = self._lengths(cells.filter(right)) - column.learned["centre"]
        return numbers

    def is_valid(self, column):
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
    assert [column.kind for column in preparation.columns_] == [
        "numeric",
        "lists of words",
        "categorical",
    ]
    expected = [
        "e 0",
        "e 1",
        "n",
        "e is missing",
        "n is missing",
        "c = u",
        "c = v",
    ]  # by name, kind by kind
    assert preparation.get_feature_names_out().tolist() == expected
    assert [feature.column for feature in preparation.features()] == [
        "e",
        "e",
        "n",
        "e",
        "n",
        "c",
        "c",
    ]
    features = preparation.transform(table)
    np.testing.assert_allclose(
        preparation.features()[0].in_units(features[:3, 0]), [-2, 0, 2], atol=1e-6
    )
    save_model(preparation, tmp_path / "m.chary")
    assert load_model(tmp_path / "m.chary").transform(table).tobytes() == features.tobytes()
    with pytest.raises(TableError, match=r"Column 'e' holds .*: 1 of 1 cells .* lists of 2 words"):
        preparation.transform({**table, "n": [1.0], "e": [["a"]], "c": ["u"]})


def test_spellings_of_a_category_that_differ_in_case_or_white_space_are_one():
    cells = pl.Series(
        "how", ["E-Mail"] * 30 + ["e-MAIL "] * 20 + ["By  post", "by post"] * 25 + ["phone"] * 40
    )
    column = find_column(cells)
    assert column.categories == ("By  post", "E-Mail", "phone")
    codes = kind_of(column).read(pl.Series("how", ["E-MAIL", "BY POST", "Phone", "fax"]), column)[
        :, 0
    ]
    assert codes.tolist() == [1, 0, 2, -1]


def test_some_cells_stand_for_all_whatever_their_order():
    for n, size in ((199, 199), (399, 399), (400, 200), (600, 200), (700, 234)):
        cells = pl.Series(range(n))
        assert len(sample_cells(cells, 200)) == size
        assert sample_cells(cells, 200).sort().equals(sample_cells(cells.reverse(), 200).sort())
    assert len(sample_cells(pl.Series(range(400)), SMALL_SAMPLE)) == 200


def test_a_column_is_not_changed_and_is_the_same_whatever_else_was_learned():
    column = Column("x", "words", learned={"a": np.ones(2)})
    assert column == Column("x", "words", learned={"a": np.zeros(3)})
    assert (column.other, column.missing, column.doubtful) == (False, False, False)
    with pytest.raises(FrozenInstanceError):
        column.name = "y"


def test_a_study_can_replace_a_number_chosen_by_experiment():
    table = {"x": ["u", "v", "w"] * 40, "y": [f"{k}.5" for k in range(119)] + ["soon"]}
    usual = TablePreparation().fit(table)
    assert [(column.kind, column.other) for column in usual.columns_] == [
        ("categorical", False),
        ("numeric", False),
    ]
    replaced = ColumnDefaults(max_categories=2, readable_share=1.0)
    x, y = TablePreparation().fit(table, defaults=replaced).columns_
    assert (x.kind, x.categories, x.other) == ("categorical", ("u", "v"), True)
    assert y.kind != "numeric"


def test_numbers_chosen_by_experiment_stay():
    assert asdict(ColumnDefaults()) == {
        "readable_share": 0.98,
        "covered_share": 0.5,
        "frequent_share": 0.005,
        "frequent_cells": 5,
        "max_categories": 150,
        "identifier_cells": 20,
        "unrepeated_cells": 200,
        "equal_pairs": 10,
        "gap_share": 0.01,
        "group_rows": 2,
        "min_topics": 30,
        "max_topics": 200,
        "topics_per_class": 1.5,
        "max_ngrams": 2**14,
        "svd_iterations": 4,
        "wordy_share": 0.5,
        "repeated_words_share": 0.2,
        "repeated_values_share": 0.2,
        "max_units": 3,
        "spike_ratio": 3.0,
        "spike_cells": 5,
    }
