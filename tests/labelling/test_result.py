"""Counts of labels add up; the columns that are added are of the target's type."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chary.labelling import label, label_table
from chary.labelling.defaults import DEFAULTS
from chary.labelling.label import (
    SOURCES,
    Counts,
    LabeledRows,
    acceptable,
    columns_to_add,
    with_given,
)
from chary.method.labels import Labels
from chary.options import LabelOptions
from chary.tables import Table, TableError, open_source


@given(st.integers(0, 2**32 - 1), st.integers(0, 40))
def test_counts_of_parts_add_up(seed, cut):
    rng = np.random.default_rng(seed)
    source = rng.choice(np.array(SOURCES, dtype=object), 40)
    why, probs = pl.Series([str(i) for i in range(40)]), rng.random((40, 3))
    rows = LabeledRows(
        rng.integers(0, 3, 40), rng.random(40), source, rng.random(40) < 0.8, why, probs
    )
    counts = Counts.of(rows, 3)
    parts = [rows.subset(np.arange(40)[part]) for part in (slice(cut), slice(cut, None))]
    both = Counts.of(parts[0], 3).plus(Counts.of(parts[1], 3))
    np.testing.assert_array_equal(both.labels, counts.labels)
    np.testing.assert_array_equal(both.confirmed.counts, counts.confirmed.counts)
    assert counts.n == 40
    assert counts.n_new == (source != "given").sum() == counts.new.n
    assert counts.labels[1, 2] == ((source == "learned") & (rows.codes == 2)).sum()
    sure = (np.round(rows.confidence, 4) >= 0.5) & rows.confirmed & (source != "given")
    assert counts.confirmed.n_from(0.5) == sure.sum()
    for name, column in vars(LabeledRows.concatenate(parts)).items():
        np.testing.assert_array_equal(column, getattr(rows, name))


def test_labels_are_of_the_type_of_the_target_if_it_holds_them_all():
    held = [
        (pl.Boolean(), ["false", "maybe", "true"], None),
        (pl.Boolean(), ["false", "true"], [False, True]),
        (pl.Int64(), ["-3", "7"], [-3, 7]),
        (pl.Int64(), ["-3", "7", "other"], None),
        (pl.Int8(), ["1", "300"], None),
        (pl.Int64(), ["1", "1.5"], None),
        (pl.Float64(), ["1", "2.5"], [1.0, 2.5]),
        (pl.Enum(["a", "b"]), ["a", "b"], ["a", "b"]),
        (pl.Enum(["a", "b"]), ["a", "c"], None),
    ]
    for dtype, names, expected in held:
        codes = np.arange(len(names))
        source = np.full(len(names), "predicted", dtype=object)
        rows = LabeledRows(codes, np.full(len(names), 0.12345), source, codes >= 0)
        added = columns_to_add(Labels(np.array(names), codes, codes >= 0), dtype, rows)
        assert added["chary_label"].dtype == (pl.String if expected is None else dtype)
        assert added["chary_label"].to_list() == (expected or names)
        assert added["chary_confidence"].to_list() == [0.1234] * len(names)
        assert list(added) == ["chary_label", "chary_confidence", "chary_source"]


def test_rows_are_accepted_from_the_threshold_on_as_their_confidence_is_shown():
    """Given labels always are; a label that the final model would change never is."""
    shown = [0.8, 0.79995, 0.79994, 0.9, 0.1]
    audit = SimpleNamespace(asked=SimpleNamespace(threshold=0.8))
    confirmed = np.array([True, True, True, False, False])
    rows = acceptable(audit, np.arange(5) == 4, np.array(shown), confirmed)
    assert rows.tolist() == [True, True, False, False, True]
    assert acceptable(None, confirmed, np.array(shown), confirmed) is None
    assert acceptable(SimpleNamespace(asked=None), confirmed, confirmed, confirmed) is None


def test_a_given_label_has_probability_one_and_other_rows_keep_theirs():
    probs = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.4, 0.4, 0.2]])
    expected = [[0, 0, 1], [0.6, 0.3, 0.1], [1, 0, 0]]
    np.testing.assert_array_equal(with_given(probs, np.array([2, -1, 0])), expected)


def test_what_a_table_in_parts_is_sampled_by(monkeypatch):
    """A third of the memory beside the libraries is for rows; sheets need a checksum."""
    asked = []
    monkeypatch.setattr(label, "sample_of_table", lambda *args, **rest: asked.append((args, rest)))
    for check_sheet in (False, True):
        options = LabelOptions.of(target="y", check_sheet=check_sheet)
        label._sample("source", options, 1 << 30, print, replace(DEFAULTS, sample_rows=7))
    label._sample("source", LabelOptions.of(target="y"), 600 << 20, print, DEFAULTS)
    (args, first), (_, second), _ = asked
    assert args == ("source", "y", 7)
    assert [first["checksum"], second["checksum"]] == [False, True]
    assert (first["keep"], first["seed"]) == ([], 0)
    assert 0 <= (1 << 30) - (450 << 20) - 3 * first["max_bytes"] < 3


def test_half_of_the_free_memory_is_for_a_table_in_parts(monkeypatch, tmp_path):
    monkeypatch.setattr(label, "free_memory", lambda: 1_000 << 20)
    pl.DataFrame({"x": [1, 2], "y": ["a", None]}).write_csv(tmp_path / "t.csv")
    with pytest.raises(TableError, match="needs 600 MiB at least, and 500 MiB are allowed"):
        label_table(open_source(tmp_path / "t.csv"), LabelOptions.of(target="y"))


def test_a_row_of_the_table_is_read_alone_although_its_cell_is_no_number():
    cells = [
        f"{i}" if i % 2 else f"word {i}" for i in range(200)
    ]  # more words than a model remembers
    frame = pl.DataFrame({"x": cells, "z": range(200), "y": [*["a", "b"] * 20, *[None] * 160]})
    found = label_table(
        Table(frame, "t"), LabelOptions.of(target="y", numeric=["x"], learner="linear", rounds=0)
    )
    np.testing.assert_array_equal(found.features(np.array([198])), found.features()[[198]])
