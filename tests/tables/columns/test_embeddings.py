"""Lists of numbers of one length become as many features, their geometry kept."""

from contextlib import suppress

import numpy as np
import polars as pl
import pytest

from chary.model_file import load_model, save_model
from chary.tables.columns import find_column, is_valid_column
from chary.tables.columns.embeddings import Embeddings
from chary.tables.columns.kind import Column
from chary.tables.preparation import TablePreparation
from chary.tables.table import TableError

KIND = Embeddings()
N = 40
ROWS = np.random.default_rng(0).normal(3, [1, 10, 0.1], size=(N, 3))
LISTS = pl.Series("e", ROWS.tolist())


@pytest.mark.parametrize(
    "cells",
    [
        LISTS,
        pl.Series("e", ROWS, dtype=pl.Array(pl.Float64, 3)),
        pl.Series("e", ROWS.astype(np.float32), dtype=pl.Array(pl.Float32, 3)),
    ],
)
def test_lists_and_arrays_are_read_alike(cells):
    column = KIND.find(cells)
    assert (column.kind, column.form, column.note) == ("embedding", "3", "3 numbers in each cell")
    np.testing.assert_allclose(KIND.read(cells, column), ROWS, rtol=1e-6)
    assert KIND.feature_names(column) == ["e 1", "e 2", "e 3"]


def test_whole_numbers_are_numbers():
    cells = pl.Series("e", [[1, 2], [3, 4]] * 5, dtype=pl.List(pl.UInt8))
    assert KIND.read(cells, KIND.find(cells))[:2].tolist() == [[1, 2], [3, 4]]


def test_what_is_no_list_of_numbers():
    lists = [["a"], ["b"]], [[[1]], [[2]]], [[True], [False]], [{"a": 1}, {"a": 2}]
    for cells in (*lists, [1, 2], ["[1, 2]", "[3, 4]"]):
        assert KIND.find(pl.Series("e", cells)) is None
        assert np.isnan(KIND.read(pl.Series("e", cells), Column("e", "embedding", form="2"))).all()


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(
        TableError, match=r"^Column 'e' holds lists of different lengths; .* drop the column\.$"
    ):
        KIND.find(pl.Series("e", [[1, 2], [3]]))


def test_a_list_that_is_empty_or_lacks_a_number_is_missing():
    cells = pl.Series(
        "e", [*ROWS.tolist(), [], [1.0, None, 2.0], [1, np.nan, 2], [1, 1e300, 2]], strict=False
    )
    column = KIND.find(cells)
    assert column.note == "3 numbers in each cell, 4 cells without all of them count as missing"
    assert column.missing
    assert np.isnan(KIND.read(cells, column)).all(axis=1).tolist() == [False] * N + [True] * 4
    assert len(KIND.unreadable_cells(cells[N:], column)) == 0
    assert KIND.unreadable_cells(pl.Series([[1.0], [1.0, None, 3.0]]), column).to_list() == [[1.0]]


def test_lists_without_a_number_are_not_learned_from():
    for cells in ([[]] * N, [[None]] * N):
        assert find_column(pl.Series("e", cells, dtype=pl.List(pl.Int64))).kind == "unsupported"


def test_the_same_list_or_an_empty_one_says_something():
    preparation = TablePreparation().fit({"e": [[1, 2], []] * 20})
    assert preparation.get_feature_names_out().tolist() == ["e 1", "e 2", "e is missing"]
    assert preparation.transform({"e": [[1, 2], None, []]}).tolist() == [
        [0, 0, 0],
        [0, 0, 1],
        [0, 0, 1],
    ]


def test_the_geometry_of_the_column_is_kept():
    table = {"e": [*ROWS.tolist(), None], "n": np.arange(N + 1) % 5 * 1.5}
    preparation = TablePreparation().fit(table)
    X = preparation.transform(table)
    assert X.shape == (N + 1, 5)
    scale = preparation.features()[0].scale
    np.testing.assert_allclose(
        X[:N, :3] * scale, ROWS - [f.mean for f in preparation.features()[:3]], atol=1e-4
    )
    assert X[:N, :3].std(axis=0).round(1).tolist() != [1, 1, 1]
    np.testing.assert_allclose((X[:N, :3] ** 2).mean(), 1, rtol=0.1)
    assert X[:, 4].tolist() == [0] * N + [1]


def test_a_saved_preparation_wants_lists_of_the_same_length(tmp_path):
    preparation = TablePreparation().fit({"e": ROWS.tolist()})
    save_model(preparation, tmp_path / "m.chary")
    loaded = load_model(tmp_path / "m.chary")
    assert (
        loaded.transform({"e": ROWS.tolist()}).tobytes()
        == preparation.transform({"e": ROWS.tolist()}).tobytes()
    )
    for cells, held in ([[1.0, 2.0]], r"\[1.0, 2.0\]"), ([5], "5"), (["[1, 2, 3]"], r"\[1, 2, 3\]"):
        with pytest.raises(
            TableError, match=rf"^Column 'e' holds '{held}': 1 of 1 cells .* lists of 3 numbers"
        ):
            loaded.transform({"e": cells})


def test_a_column_of_impossible_width_is_refused():
    statistics = dict.fromkeys(("median", "mean", "scale"), np.ones(3))
    assert (
        len(
            TablePreparation.restored(
                {}, [Column("e", "embedding", form="3")], statistics
            ).features()
        )
        == 3
    )
    for form in ("", "x", "0", "-1", "99999999999", "²"):
        with suppress(ValueError):
            assert not is_valid_column(Column("e", "embedding", form=form))
    with pytest.raises(TableError, match="does not fit its columns"):
        TablePreparation.restored({}, [Column("e", "embedding", form="4")], statistics)


def test_too_many_numbers_are_refused_with_a_remedy():
    with pytest.raises(TableError, match="become 4,100 features, of 4,096 at most"):
        TablePreparation().fit({"e": np.random.default_rng(0).normal(size=(5, 4100)).tolist()})
