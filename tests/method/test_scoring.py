"""Confidences from what members say, whatever the kind; blocks of rows are put together in order."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from chary import SelfTrainingClassifier
from chary.method import RawScores, in_blocks_of_rows, log_of, scoring
from chary.method.scoring import scores_of


def test_blocks_are_put_together_in_order(monkeypatch):
    monkeypatch.setattr(scoring, "BLOCK_ROWS", 3)
    X, rows, sizes = np.arange(20.0).reshape(10, 2), np.array([9, 1, 4, 0, 7, 2, 3]), []

    def score(part):
        sizes.append(len(part))
        return part, part.sum(axis=1)

    whole, sums = in_blocks_of_rows(score, X, rows)
    np.testing.assert_array_equal(whole, X[rows])
    np.testing.assert_array_equal(sums, X[rows].sum(axis=1))
    assert sizes == [3, 3, 1]


def test_members_are_needed_for_their_confidence():
    with pytest.raises(ValueError, match="one of members"):
        scores_of(RawScores(np.array([[0.5, 0.5]])), "t_similarity")


def test_logarithms_are_finite():
    assert np.isfinite(log_of(np.array([0.0, 1.0]))).all()


@pytest.mark.parametrize("confidence", ["t_similarity", "t_share", "max_probability", "entropy"])
def test_raw_scores_are_finished_with_the_bias_of_the_moment(confidence):
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) % 3 == 0, y, -1)
    forest = RandomForestClassifier(10, random_state=0)
    model = SelfTrainingClassifier(forest, confidence=confidence, max_rounds=0, class_prior=[0.5, 0.3, 0.2])
    model.fit(X, y)
    raw = model.raw_scores(X)
    for bias in (model.class_bias_, np.array([0.0, 2.0, -1.0])):
        model.class_bias_ = bias
        for found, expected in zip(model.finished(raw), model.predict_scores(X), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert raw.probs[:, 1].mean() != pytest.approx(model.finished(raw)[0][:, 1].mean())
