"""What is kept of every row: given and learned labels stay, the others are the model's."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from chary.jobs.put_aside import KnownRows, packed, rows_of, unpacked
from chary.method import ACCURACY, BALANCED, Labels, RawScores
from chary.tables import Table, Taken


def learnt(aim=ACCURACY):
    """Rows 2, 5, 6 and 9 of ten: the first was given as b; the model learned the third as a."""
    codes = np.array([1, -1, -1, -1])
    classifier = SimpleNamespace(
        aim=aim,
        labeled_iter_=np.array([0, -1, 1, -1]),
        transduction_=np.array(["b", None, "a", None], dtype=object),
    )
    taken = Taken(np.array([2, 5, 6, 9]), 10)
    return SimpleNamespace(
        table=Table(pl.DataFrame({"x": range(4)}), "t", taken=taken),
        labels=SimpleNamespace(every=Labels(np.array(["a", "b"]), codes, codes >= 0)),
        fitted=SimpleNamespace(classifier=classifier),
    )


@pytest.mark.parametrize("aim", [ACCURACY, BALANCED])
def test_rows_get_what_they_have_and_else_what_the_model_says(aim):
    known = KnownRows(learnt(aim))
    assert known.rest(0, 5).tolist() == [True, True, False, True, True]
    assert known.rest(5, 5).all()
    first = rows_of(known.results(0, 5, np.array([0, 0, 1, 0]), np.array([0.5, 0.25, 0.12345, 1])))
    assert first.codes.tolist() == [0, 0, 1, 1, 0]
    assert first.confidence.tolist() == [0.5, 0.25, 1.0, 0.1234, 1.0]
    assert first.source.tolist() == ["predicted", "predicted", "given", "predicted", "predicted"]
    assert first.settled.all()
    second = rows_of(known.results(5, 5, np.ones(5, dtype=int), np.full(5, 0.5)))
    kept = 0 if aim == ACCURACY else 1  # another aim is for every row
    assert second.codes.tolist() == [1, kept, 1, 1, 1]
    assert second.source.tolist() == ["predicted", "learned", "predicted", "predicted", "predicted"]
    assert second.settled.tolist() == [True, aim == BALANCED, True, True, True]


@pytest.mark.parametrize("members", [None, np.random.default_rng(0).random((4, 3, 2))])
def test_scores_come_back_as_they_were(members):
    raw = RawScores(np.random.default_rng(1).random((4, 2)), members)
    again = unpacked(packed(raw), 2)
    np.testing.assert_array_equal(again.probs, raw.probs)
    assert (again.members is None) == (members is None)
    if members is not None:
        np.testing.assert_array_equal(again.members, members)
