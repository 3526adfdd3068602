"""A model fitted with an audit: what it is judged by, and that nothing leaks."""

import doctest
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from chary import DiverseEnsembleClassifier, SelfTrainingClassifier
from chary.evaluation import accuracy_interval, audit, interval
from chary.evaluation.audited import cross_fitted_score, fit_with_audit
from chary.evaluation.held_out import confidence_of

DOCS = Path(__file__).parents[2] / "docs" / "audit.md"


class Memory(ClassifierMixin, BaseEstimator):
    """Right on the rows it has seen, wrong on all others; keeps what it was given."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = dict(zip(np.ravel(X).tolist(), y, strict=True))
        return self

    def predict(self, X):
        return np.array([self.seen_.get(x, "unknown") for x in np.ravel(X).tolist()], dtype=object)

    def predict_proba(self, X):
        return np.tile([0.7, 0.3], (len(X), 1))


@pytest.fixture(name="table")
def biased_table():
    X, y_true = make_classification(600, 8, n_informative=5, class_sep=1.5, random_state=0)
    labeled = X[:, np.abs(X).std(axis=0).argmax()] > 1.5
    y = np.where(labeled, y_true, -1)
    rows = audit.draw(labeled, 30, random_state=0)
    y[rows] = y_true[rows]
    return X, y, y_true, labeled, rows


def test_no_model_is_judged_on_a_label_it_has_seen():
    X = np.arange(40.0)[:, None]
    y = np.array([None] * 20 + ["a", "b"] * 10, dtype=object)
    rows = np.array([3, 17, 5, 11, 2, 8, 0])
    y[rows] = ["b", "a", "a", "a", "b", "b", "a"]
    result = fit_with_audit(Memory(), X, y, rows, random_state=0)
    assert result.before.score.correct == result.after.score.correct == 0
    assert set(result.unaudited_model.seen_) == set(range(20, 40))
    assert set(result.model.seen_) == {*range(20, 40), *rows.tolist()}
    assert result.labels.tolist() == y[rows].tolist()


def test_before_is_the_model_of_the_biased_labels_alone(table):
    X, y, _, labeled, rows = table
    result = fit_with_audit(LogisticRegression(), X, y, rows, random_state=0)
    by_hand = LogisticRegression().fit(X[labeled], y[labeled])
    assert (result.before.prediction == by_hand.predict(X[rows])).all()
    assert result.before.confidence == pytest.approx(by_hand.predict_proba(X[rows]).max(axis=1))
    assert result.before.score == audit.score(by_hand.predict(X[rows]) == y[rows])


def test_the_model_has_learned_from_every_label_equally(table):
    X, y, _, _, rows = table
    result = fit_with_audit(LogisticRegression(), X, y, rows, random_state=0)
    by_hand = LogisticRegression().fit(X[y != -1], y[y != -1])
    assert (result.model.coef_ == by_hand.coef_).all()


def test_after_is_each_row_judged_without_its_own_label(table):
    X, y, _, _, rows = table
    result = fit_with_audit(DecisionTreeClassifier(random_state=0), X, y, rows, n_folds=30, random_state=0)
    for row, prediction in zip(rows, result.after.prediction, strict=True):
        others = (y != -1) & (np.arange(len(y)) != row)
        model = DecisionTreeClassifier(random_state=0).fit(X[others], y[others])
        assert model.predict(X[[row]])[0] == prediction


def test_an_audit_as_mask_or_numbers_in_any_container_is_the_same(table):
    X, y, _, _, rows = table
    mask = np.zeros(len(y), dtype=bool)
    mask[rows] = True
    model = LogisticRegression()
    expected = fit_with_audit(model, X, y, np.sort(rows), random_state=0)
    for X_given in (X, pd.DataFrame(X), csr_matrix(X)):
        found = fit_with_audit(model, X_given, y, mask, random_state=0)
        assert (found.before.correct == expected.before.correct).all()
        assert (found.after.correct == expected.after.correct).all()


@pytest.mark.parametrize(
    "estimator",
    [
        DiverseEnsembleClassifier(n_steps=60, random_state=0),
        SelfTrainingClassifier(DiverseEnsembleClassifier(n_steps=60, random_state=0), max_rounds=1),
        make_pipeline(StandardScaler(), DiverseEnsembleClassifier(n_steps=60, random_state=0)),
        make_pipeline(StandardScaler(), LogisticRegression()),
        LinearSVC(),
    ],
)
def test_any_classifier_will_do(table, estimator):
    X, y, y_true, _, rows = table
    result = fit_with_audit(estimator, X, y, rows, random_state=0)
    rest = y == -1
    before, after = (
        np.mean(model.predict(X[rest]) == y_true[rest]) for model in (result.unaudited_model, result.model)
    )
    assert result.before.score.low <= before <= result.before.score.high
    assert after > 0.8
    assert confidence_of(result.model, X[rest]).shape == (rest.sum(),)
    assert "exact" in str(result)


def test_text_labels_and_a_class_that_only_the_audit_knows(table):
    X, y, y_true, labeled, rows = table
    names = np.array(["no", "yes", "maybe"], dtype=object)
    y_true = np.where(~labeled & (X[:, 0] < np.median(X[:, 0])), 2, y_true)
    y = np.where(labeled, names[y_true], None)
    y[rows] = names[y_true[rows]]
    new = y[rows] == "maybe"
    assert new.any()
    result = fit_with_audit(LogisticRegression(), X, y, rows, random_state=0)
    assert not result.before.correct[new].any()
    assert "maybe" in result.model.classes_


def test_the_figure_after_is_widened_by_what_folds_lack(table):
    X, y, _, _, rows = table
    result = fit_with_audit(LogisticRegression(), X, y, rows, n_folds=3, random_state=0)
    found, right = result.after_score(), int(result.after.correct.sum())
    gain = max(0, right - int(result.before.correct.sum())) / 30
    low, high = accuracy_interval(right, 30, 0.98)
    assert (found.correct, found.n, found.level, result.n_folds) == (right, 30, 0.95, 3)
    assert (found.low, found.high) == (low, min(1, high + gain / 3))
    assert str(found) in str(result)
    skipped = result.after_score(skipped=10)
    assert (skipped.correct, skipped.n) == (right, 40)
    assert skipped.low < found.low
    assert skipped.high >= interval(right, 40, level=0.98, skipped=10)[1]


def test_widened_figure_holds_where_only_the_audit_knows_most_classes():
    """Nearest neighbours, seven of ten classes found by the audit alone: plain limits hold far less often."""
    rng = np.random.default_rng(0)
    plain, wide = [], []
    for _ in range(150):
        y = rng.integers(0, 10, 400)
        X = 4 * rng.normal(size=(10, 4))[y] + rng.normal(size=(400, 4))
        first = rng.permutation(np.flatnonzero(y < 3))[:20]
        rows = rng.choice(np.setdiff1d(np.arange(400), first), 25, replace=False)
        nearest = ((X[:, None] - X[np.append(first, rows)]) ** 2).sum(axis=2)
        nearest[rows[:, None], 20 + np.arange(25)] += 1e9 * (np.arange(25) % 5 == np.arange(25)[:, None] % 5)
        said = y[np.append(first, rows)][nearest.argmin(axis=1)]
        rest = np.setdiff1d(np.arange(400), np.append(first, rows))
        truth, right = np.mean(said[rest] == y[rest]), int((said[rows] == y[rows]).sum())
        before = int((y[first][nearest[rows, :20].argmin(axis=1)] == y[rows]).sum())
        found = cross_fitted_score(right, before, 25)
        low, high = accuracy_interval(right, 25)
        plain.append(low <= truth <= high)
        wide.append(found.low <= truth <= found.high)
    assert np.mean(wide) >= 0.93
    assert np.mean(wide) > np.mean(plain)


def test_same_seed_same_folds(table):
    X, y, _, _, rows = table
    first, again = (fit_with_audit(LogisticRegression(), X, y, rows, random_state=3) for _ in range(2))
    assert (first.after.confidence == again.after.confidence).all()


@pytest.mark.parametrize(
    ("audited", "said"),
    [
        (np.zeros(5, dtype=bool), "mask of shape"),
        ([0], "two rows or more"),
        ([0.5, 1.5], "two rows or more"),
        ([1, 1], "different rows"),
        ([1, 600], "between 0 and 599"),
        ([-1, 2], "between 0 and 599"),
    ],
)
def test_refuses_an_audit_that_is_none(table, audited, said):
    X, y, *_ = table
    with pytest.raises(ValueError, match=said):
        fit_with_audit(LogisticRegression(), X, y, audited)


def test_refuses_audited_rows_without_label(table):
    X, y, _, _, rows = table
    y[rows[:4]] = -1
    with pytest.raises(ValueError, match="4 of the 30 audited rows have no label"):
        fit_with_audit(LogisticRegression(), X, y, rows)


@pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not part of the installed package")
def test_the_examples_of_the_documentation_say_what_they_print():
    found = doctest.testfile(str(DOCS), module_relative=False)
    assert found.attempted > 10
    assert found.failed == 0
