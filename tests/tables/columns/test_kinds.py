"""The cells of a column in; its kind out, and room for another kind."""

import datetime as dt
import decimal

import numpy as np
import polars as pl
import pytest

from chary.jobs.model_file import load, save
from chary.tables.columns import kinds
from chary.tables.columns.column import Column, Kind
from chary.tables.columns.kinds import KINDS, as_categories, find_column, kind_of, plain
from chary.tables.errors import TableError
from chary.tables.frames import from_dataframe
from chary.tables.preparation import TablePreparation, restore_preparation

N = 60
RNG = np.random.default_rng(0)


def found(cells, **options):
    """What a column x is taken for."""
    return find_column(from_dataframe({"x": cells})["x"], **options)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([str(i * 37 % 101) for i in range(N)], "numeric"),
        ([f"{i}.5" for i in range(N)], "numeric"),
        ([f" {i}e-3 " for i in range(N)], "numeric"),
        ([f"{i},5" for i in range(N)], "numeric"),
        ([f"1.{i:03d},5" for i in range(N)], "numeric"),
        ([*[str(i % 9) for i in range(N - 1)], "oops"], "numeric"),
        ([*[str(i % 9) for i in range(N - 9)], *["oops"] * 9], "categorical"),
        (["NA", "?", *[str(i % 9) for i in range(N)]], "numeric"),
        (RNG.normal(size=N), "numeric"),
        ([decimal.Decimal(i * i) for i in range(N)], "numeric"),
        ([dt.timedelta(days=i % 11) for i in range(N)], "duration"),
        ([dt.time(i % 24) for i in range(N)], "time"),
        ([f"${i * 37 % 101},000" for i in range(N)], "numeric"),
        ([i % 2 == 0 for i in range(N)], "boolean"),
        (["yes", "No"] * 30, "boolean"),
        (["TRUE", "false", None] * 20, "boolean"),
        (["red", "green", "blue"] * 20, "categorical"),
        (["red", None] * 30, "categorical"),
        (pl.Series(["red", "blue"] * 30, dtype=pl.Categorical), "categorical"),
        ([f"2024-01-{i % 28 + 1:02d}" for i in range(N)], "date"),
        ([f"2024-01-{i % 28 + 1:02d}T10:30:00Z" for i in range(N)], "date"),
        ([f"{i % 28 + 1}.1.2024" for i in range(N)], "date"),
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
        ([[1]] * N, "constant"),
        ([[i, 2] for i in range(N)], "embedding"),
        ([["a"], ["b"]] * 30, "unsupported"),
        ([b"x"] * N, "unsupported"),
    ],
)
def test_kinds(cells, kind):
    assert found(cells).kind == kind


def test_every_kind_is_found_by_its_name():
    assert [kind_of(Column("x", kind.name)) for kind in KINDS] == list(KINDS)
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    assert all(Column("x", kind.name).used for kind in KINDS)


def test_a_kind_of_another_version_is_refused():
    with pytest.raises(TableError, match="Column 'x' is of kind 'smell', which this version"):
        restore_preparation(TablePreparation(), [Column("x", "smell")], {})


def test_gaps_are_known():
    assert not found(["1", "2", "3"] * 20).missing
    assert found(["1", "2", ""] * 20).missing
    assert found(["red", "blue", None] * 20).missing
    assert not as_categories(pl.Series([1, 2] * 30)).missing
    assert as_categories(pl.Series([1, 2, None] * 20)).missing


def test_one_number_is_enough_where_somebody_says_so():
    cells = ["a", "b", "7"] * 20
    assert found(cells).kind == "categorical"
    assert found(cells, numeric=True).kind == "numeric"
    assert found(["$1,200", "$900"] * 30, numeric=True).kind == "numeric"
    assert found(["20240131", "20240201"] * 30, numeric=True).kind == "numeric"
    assert found(range(N), numeric=True).kind == "numeric"
    assert found([True, False] * 30, numeric=True).kind == "boolean"
    assert found(["7"] * N, numeric=True).kind == "constant"


@pytest.mark.parametrize("cells", [["a", "b"], ["12:30", "7:00"], [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]])
def test_what_holds_no_number_cannot_be_said_to_be_numeric(cells):
    with pytest.raises(TableError, match=r"^Column 'x' holds '.*' and no number at all; leave it out of the p"):
        found(cells, numeric=True)


def test_what_might_have_been_numbers_says_why_it_is_not():
    column = found(["5 km", "3 mi"] * 30)
    assert (column.kind, column.doubtful) == ("categorical", True)
    assert column.note == "2 values, no numbers: units differ ('km' and 'mi')"
    assert not found(["red", "blue"] * 30).doubtful
    assert not found([f"{i} word" if i % 3 else "word" for i in range(N)]).used


@pytest.mark.parametrize(
    ("cells", "kind", "note"),
    [
        (range(N), "categorical", "30 values, 30 rare ones grouped"),
        (["x"] * N, "categorical", "1 value"),
        ([""] * N, "constant", "empty"),
        ([[1], [2]] * 30, "unsupported", "of a type chary does not read (List(Int64))"),
        ([b"\xff", b"a"] * 30, "unsupported", "of a type chary does not read (Binary)"),
    ],
)
def test_categories_because_somebody_says_so(cells, kind, note):
    column = as_categories(pl.Series("x", cells))
    assert (column.kind, column.note) == (kind, note)


def test_texts_kept_in_a_dictionary_are_texts():
    for dtype in (pl.Categorical, pl.Enum(["1", "2"])):
        assert plain(pl.Series(["1", "2"], dtype=dtype)).dtype == pl.String
    assert plain(pl.Series([1, 2])).dtype == pl.Int64


class Words(Kind):
    """A kind that might be added: lists of words, numbered by how long they are."""

    name = "lists of words"

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

    def expected(self, column):
        return f"lists of {column.form} words"

    def _lengths(self, cells):
        return np.array([[len(word) for word in cell] for cell in cells.to_list()], dtype=float)


def test_a_new_kind_is_a_class_and_a_place_among_the_kinds(monkeypatch, tmp_path):
    monkeypatch.setattr(kinds, "KINDS", (*KINDS, Words()))
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
    save(preparation, tmp_path / "m.chary")
    assert load(tmp_path / "m.chary").transform(table).tobytes() == features.tobytes()
    with pytest.raises(TableError, match=r"Column 'e' holds .*: 1 of 1 cells .* lists of 2 words"):
        preparation.transform({**table, "n": [1.0], "e": [["a"]], "c": ["u"]})
