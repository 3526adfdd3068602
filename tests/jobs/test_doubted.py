"""Rows to check are chosen among those of least confidence of the whole table; rows by number are gathered."""

from types import SimpleNamespace

import numpy as np
import polars as pl

from chary.jobs import Counts, doubted
from chary.jobs.doubted import Doubted, Gathered
from chary.jobs.steps import LabeledRows
from chary.method import Labels
from chary.tables import Table, Taken


def all_rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    source = np.full(n, "predicted", dtype=object)
    source[:10] = "given"
    confidence = np.where(source == "given", 1.0, np.round(rng.random(n), 1))
    return rng.normal(size=(n, 2)), LabeledRows(rng.integers(0, 2, n), confidence, source, np.ones(n, dtype=bool))


def seen(rows, X, most, monkeypatch, cut=17):
    monkeypatch.setattr(doubted, "_MOST", most)
    codes = np.where(np.arange(12) < 10, rows.codes[:12], -1)
    preparation = SimpleNamespace(forms=lambda: None, part=lambda frame, forms: frame.select("x", "y").to_numpy())
    frame = pl.DataFrame({"n": range(len(X)), "x": X[:, 0], "y": X[:, 1]})
    learnt = SimpleNamespace(
        table=Table(frame[:12], "t", taken=Taken(np.arange(12), len(X))),
        labels=SimpleNamespace(every=Labels(np.array(["a", "b"]), codes, codes >= 0)),
        X=X[:12],
        model=[preparation],
        asked=SimpleNamespace(seed=0),
    )
    work = Doubted(learnt, Counts.of(*rows, 2), room=1 << 20)
    for start in range(0, len(X), cut):
        part = slice(start, start + cut)
        work.see(start, frame[part], rows.part(np.arange(len(X))[part]))
    return work


def test_the_least_confident_rows_are_kept_whatever_the_parts(monkeypatch):
    X, rows = all_rows()
    new = np.flatnonzero(rows.source != "given")
    expected = new[np.argsort(rows.confidence[new], kind="stable")[:15]]  # of equal ones the first
    for cut in (7, 17, 60):
        work = seen(rows, X, 15, monkeypatch, cut)
        numbers = np.concatenate([part.numbers for part in work.parts])
        assert numbers.tolist() == sorted(expected.tolist())


def test_those_to_check_are_chosen_as_in_memory(monkeypatch):
    from chary.evaluation import rows_to_label

    X, rows = all_rows()
    found = seen(rows, X, 20_000, monkeypatch).chosen()
    assert (
        found.numbers.tolist()
        == rows_to_label(X, rows.source == "given", rows.confidence, random_state=0).tolist()
    )
    assert found.frame["n"].to_list() == found.numbers.tolist()
    np.testing.assert_array_equal(found.X, X[found.numbers])
    np.testing.assert_array_equal(found.rows.confidence, rows.confidence[found.numbers])


def test_rows_are_gathered_by_number():
    _, rows = all_rows()
    kept = Gathered(np.array([0, 3, 20, 59]))
    for start in (0, 25, 50):
        kept.see(start, rows.part(np.arange(start, min(60, start + 25))))
    np.testing.assert_array_equal(kept.rows().codes, rows.codes[[0, 3, 20, 59]])
