"""A model fitted with an audit: what judges it, that nothing leaks or is chosen by peeking."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from chary import DiverseEnsembleClassifier, FixedThreshold, SelfTrainingClassifier
from chary.audit import draw, interval, score, smallest_audit
from chary.audit.acceptance import ERRORS
from chary.audit.answers import AuditAnswers
from chary.audit.model import cross_fitted_score, fit_with_audit
from chary.labelling.audited import audit_model, merge
from chary.method.held_out import confidence_of
from chary.method.labels import encode


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
    rows = draw(labeled, 30, random_state=0)
    y[rows] = y_true[rows]
    return X, y, y_true, labeled, rows


def test_no_model_is_judged_on_a_label_it_has_seen():
    X = np.arange(40.0)[:, None]
    y = np.array([None] * 20 + ["a", "b"] * 10, dtype=object)
    rows = np.array([3, 17, 5, 11, 2, 8, 0])
    y[rows] = ["b", "a", "a", "a", "b", "b", "a"]
    result = fit_with_audit(Memory(), X, y, rows, random_state=0)
    assert result.before.correct.sum() == result.after.correct.sum() == 0
    assert set(result.unaudited_model.seen_) == set(range(20, 40))
    assert set(result.model.seen_) == {*range(20, 40), *rows.tolist()}
    assert result.labels.tolist() == y[rows].tolist()


def test_before_is_the_model_of_the_biased_labels_alone(table):
    X, y, _, labeled, rows = table
    result = fit_with_audit(LogisticRegression(), X, y, rows, random_state=0)
    by_hand = LogisticRegression().fit(X[labeled], y[labeled])
    assert (result.before.prediction == by_hand.predict(X[rows])).all()
    assert result.before.confidence == pytest.approx(by_hand.predict_proba(X[rows]).max(axis=1))
    assert result.before_score == score(by_hand.predict(X[rows]) == y[rows])


def test_after_is_each_row_judged_without_its_own_label(table):
    X, y, _, _, rows = table
    result = fit_with_audit(
        DecisionTreeClassifier(random_state=0), X, y, rows, n_folds=30, random_state=0
    )
    for row, prediction in zip(rows, result.after.prediction, strict=True):
        others = (y != -1) & (np.arange(len(y)) != row)
        model = DecisionTreeClassifier(random_state=0).fit(X[others], y[others])
        assert model.predict(X[[row]])[0] == prediction


def test_an_audit_in_any_container_is_the_same(table):
    X, y, _, _, rows = table
    model = LogisticRegression()
    expected = fit_with_audit(model, X, y, rows, random_state=0)
    for X_given in (X, pd.DataFrame(X), csr_matrix(X)):
        found = fit_with_audit(model, X_given, y, rows.tolist(), random_state=0)
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
        np.mean(model.predict(X[rest]) == y_true[rest])
        for model in (result.unaudited_model, result.model)
    )
    assert result.before_score.low <= before <= result.before_score.high
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
    low, high = interval(right, 30, level=0.98)
    assert (found.correct, found.n, found.level, result.n_folds) == (right, 30, 0.95, 3)
    assert (found.low, found.high) == (low, min(1, high + gain / 3))
    assert str(found) in str(result)
    skipped = result.after_score(skipped=10)
    assert (skipped.correct, skipped.n) == (right, 40)
    assert skipped.low < found.low
    assert skipped.high >= interval(right + 10, 40, level=0.98)[1]


def test_widened_figure_holds_where_only_the_audit_knows_most_classes():
    """Nearest neighbours, seven of ten classes by the audit alone: plain limits hold less often."""
    rng = np.random.default_rng(0)
    plain, wide = [], []
    for _ in range(150):
        y = rng.integers(0, 10, 400)
        X = 4 * rng.normal(size=(10, 4))[y] + rng.normal(size=(400, 4))
        first = rng.permutation(np.flatnonzero(y < 3))[:20]
        rows = rng.choice(np.setdiff1d(np.arange(400), first), 25, replace=False)
        nearest = ((X[:, None] - X[np.append(first, rows)]) ** 2).sum(axis=2)
        nearest[rows[:, None], 20 + np.arange(25)] += 1e9 * (
            np.arange(25) % 5 == np.arange(25)[:, None] % 5
        )
        said = y[np.append(first, rows)][nearest.argmin(axis=1)]
        rest = np.setdiff1d(np.arange(400), np.append(first, rows))
        truth, right = np.mean(said[rest] == y[rest]), int((said[rows] == y[rows]).sum())
        before = int((y[first][nearest[rows, :20].argmin(axis=1)] == y[rows]).sum())
        found = cross_fitted_score(right, before, 25)
        low, high = interval(right, 25)
        plain.append(low <= truth <= high)
        wide.append(found.low <= truth <= found.high)
    assert np.mean(wide) >= 0.93
    assert np.mean(wide) > np.mean(plain)


@pytest.mark.parametrize(
    "audited",
    [np.zeros(5, dtype=bool), [0], [0.5, 1.5], [1, 1], [1, 600], [-1, 2], [[0, 1], [2, 3]]],
)
def test_refuses_an_audit_that_is_none(table, audited):
    X, y, *_ = table
    with pytest.raises(ValueError, match="audit must hold the numbers"):
        fit_with_audit(LogisticRegression(), X, y, audited)


def test_refuses_audited_rows_without_label(table):
    X, y, _, _, rows = table
    y[rows[:4]] = -1
    with pytest.raises(ValueError, match="4 audited rows have no label"):
        fit_with_audit(LogisticRegression(), X, y, rows)


def make(rounds):
    return SelfTrainingClassifier(
        LogisticRegression(), confidence="softmax", max_rounds=rounds, unlabeled=None
    )


@pytest.fixture(name="biased")
def biased_rows():
    X, y = make_classification(800, 6, n_informative=4, class_sep=1.5, random_state=1)
    truth = np.array(["no", "yes"])[y]
    labeled = X[:, 0] > np.quantile(X[:, 0], 0.9)
    labels = encode(np.where(labeled, truth.astype(object), None))
    rows = draw(labels.labeled, 40, 0)
    return X, truth, labels, AuditAnswers(rows, truth[rows], 40)


def test_merge_keeps_given_and_audited_labels_apart(biased):
    _, truth, labels, answers = biased
    given, every = merge(labels, answers)
    assert (given.codes == labels.codes).all()
    assert every.labeled.sum() == labels.labeled.sum() + 40
    assert (every.classes[every.codes[every.labeled]] == truth[every.labeled]).all()


def test_merge_adds_a_new_class_and_hides_audited_labels_from_the_given(biased):
    _, _, labels, _ = biased
    known = np.flatnonzero(labels.labeled)[0]
    unknown = np.flatnonzero(~labels.labeled)[0]
    given, every = merge(
        labels, AuditAnswers(np.array([known, unknown]), np.array(["yes", "maybe"]), 2)
    )
    assert every.classes.tolist() == ["maybe", "no", "yes"]
    assert not given.labeled[known]
    assert every.classes[every.codes[unknown]] == "maybe"


def test_figures_are_those_of_the_audit(biased):
    X, truth, labels, answers = biased
    _, every = merge(labels, answers)
    model, figures, _ = audit_model(make, X, every, answers, rounds=0)
    by_hand = LogisticRegression().fit(X[labels.labeled], truth[labels.labeled])
    n_pool = int((~labels.labeled).sum())
    assert figures.accuracy == score(
        by_hand.predict(X[answers.rows]) == answers.labels, population=n_pool
    )
    rest = ~every.labeled
    assert figures.after.low <= np.mean(model.predict(X[rest]) == truth[rest]) <= figures.after.high
    assert sum(found.n for found in figures.classes.values()) == 40
    assert [found.error for found in figures.acceptances] == list(ERRORS)
    assert all(
        found.n_accepted == 0 for found in figures.acceptances if smallest_audit(found.error) > 40
    )
    assert (figures.rounds, figures.comparison) == (0, None)
    assert figures.notes == ["Rounds of self-training: 0; the audit did not choose them."]


def test_before_is_the_accuracy_of_what_is_used_without_an_audit(biased):
    X, truth, labels, answers = biased
    given, every = merge(labels, answers)
    used = SelfTrainingClassifier(
        GaussianNB(), confidence="softmax", max_rounds=0, unlabeled=None
    ).fit(X, given)
    _, figures, _ = audit_model(make, X, every, answers, unaudited=used, rounds=0)
    by_hand = GaussianNB().fit(X[labels.labeled], truth[labels.labeled])
    n_pool = int((~labels.labeled).sum())
    assert figures.accuracy == score(
        by_hand.predict(X[answers.rows]) == answers.labels, population=n_pool
    )
    assert figures.after == audit_model(make, X, every, answers, rounds=0)[1].after


def test_what_can_be_accepted_is_counted_among_all_rows_that_the_audited_ones_were_drawn_from(
    biased,
):
    X, truth, labels, _ = biased
    rows = draw(labels.labeled, 300, 0)
    answers = AuditAnswers(rows, truth[rows], 300)
    _, every = merge(labels, answers)
    model, figures, _ = audit_model(make, X, every, answers, rounds=0)
    confidence = np.round(model.predict_confidence(X[~labels.labeled]), 4)
    found = figures.acceptances[-1]
    assert found.n_accepted == np.sum(confidence >= found.threshold) > 0
    assert figures.acceptor.n_rows == figures.population == np.sum(~labels.labeled)
    assert found.threshold == round(found.threshold, 4)


def test_self_training_is_off_unless_clearly_better(biased):
    X, _, labels, answers = biased
    _, every = merge(labels, answers)
    model, figures, _ = audit_model(make, X, every, answers)
    assert figures.comparison.p_value >= 0.05
    assert figures.rounds == model.max_rounds == 0
    assert "did not clearly help, so it is off" in figures.notes[-1]


class LateLearner(ClassifierMixin, BaseEstimator):
    """Says no to everything until it has many labels, then knows the truth: a feature's sign."""

    def fit(self, X, y):
        self.classes_ = np.array(["no", "yes"])
        self.knows_ = len(y) > 150
        return self

    def predict_proba(self, X):
        yes = np.where(X[:, 0] > 0, 0.9, 0.1) if self.knows_ else np.full(len(X), 0.1)
        return np.column_stack([1 - yes, yes])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_self_training_is_on_where_the_audit_shows_it_clearly():
    X = np.random.default_rng(0).normal(size=(400, 2))
    truth = np.where(X[:, 0] > 0, "yes", "no")
    labels = encode(np.where(X[:, 1] > 1.3, truth.astype(object), None))
    rows = draw(labels.labeled, 40, 0)
    answers = AuditAnswers(rows, truth[rows], 40)

    def late(n):
        return make(n).set_params(estimator=LateLearner(), policy=FixedThreshold(0.5))

    model, figures, _ = audit_model(late, X, merge(labels, answers)[1], answers)
    assert figures.accuracy.share < 0.7
    assert figures.after.share == 1
    assert figures.comparison.p_value < 0.05
    assert figures.rounds == model.max_rounds == 1
    assert "clearly helped, so it is on" in figures.notes[-1]

    # The first model says no everywhere, so it may be right on every row with yes that was skipped.
    is_skipped = (truth[rows] == "yes") & (np.arange(40) < 39)
    n_left = int(np.sum((truth[rows] == "yes") & ~is_skipped))
    partial = AuditAnswers(rows, np.where(is_skipped, None, truth[rows].astype(object)), 40)
    _, figures, _ = audit_model(late, X, merge(labels, partial)[1], partial)
    assert figures.comparison[:2] == (n_left, 0)
    assert figures.comparison.n_skipped == is_skipped.sum()
    assert figures.comparison.p_value == 1


def test_skipped_rows_are_wrong_in_every_figure(biased):
    X, truth, labels, answers = biased
    told = answers.rows[10:]
    partial = AuditAnswers(
        answers.rows, np.append(np.full(10, None), truth[told]), 40, notes=["ten skipped"]
    )
    _, every = merge(labels, partial)
    _, figures, _ = audit_model(make, X, every, partial, rounds=0)
    n_pool = int((~labels.labeled).sum())
    assert (figures.accuracy.n, figures.after.n) == (40, 40)
    limits = interval(figures.accuracy.correct, 40, n_pool, skipped=10)
    assert (figures.accuracy.low, figures.accuracy.high) == limits
    assert figures.after.low <= figures.after.correct / 40
    assert figures.notes[0] == "ten skipped"
    assert "10 skipped rows count as wrong" in figures.notes[1]
    unskipped = audit_model(make, X, every, AuditAnswers(told, truth[told], 30), rounds=0)[1]
    assert unskipped.accuracy.correct == figures.accuracy.correct
    for name, recall in figures.classes.items():
        assert (
            recall.low <= unskipped.classes[name].low < unskipped.classes[name].high <= recall.high
        )


def test_rows_skipped_where_the_model_is_sure_and_wrong_cannot_be_accepted():
    """Wrong rows that are hard to answer are skipped; by answered rows nothing seems wrong."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 2))
    shown = X[:, 0] > 0
    # The model says no with the same confidence as in the rest of that side.
    hard = ~shown & (X[:, 1] > 0.5)
    truth = np.where(shown | hard, "yes", "no")
    labels = encode(
        np.where(np.arange(2_000) < 100, np.where(shown, "yes", "no").astype(object), None)
    )
    rows = draw(labels.labeled, 200, 0)
    told, skipped = rows[~hard[rows]], rows[hard[rows]]
    kept, promised = [], []
    for of in (skipped[:0], skipped):
        answers = AuditAnswers(
            np.append(of, told), np.append(np.full(len(of), None), truth[told]), 200
        )
        _, every = merge(labels, answers)
        model, figures, _ = audit_model(make, X, every, answers, rounds=0)
        pool = np.flatnonzero(~every.labeled)
        accepted = (
            np.round(model.predict_confidence(X[pool]), 4) >= figures.acceptances[3].threshold
        )
        wrong = model.predict(X[pool]) != truth[pool]
        promised.append(accepted.any())
        kept.append(not accepted.any() or wrong[accepted].mean() <= ERRORS[3])
    assert promised[0]
    assert not kept[0]  # the promise of the answered rows alone is broken
    assert kept[1]
