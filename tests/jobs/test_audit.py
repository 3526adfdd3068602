"""All that a table's audit says, and that nothing is chosen by peeking."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from chary import FixedThreshold, SelfTrainingClassifier
from chary.evaluation import audit
from chary.jobs.audit import ERRORS, judge, merge
from chary.method.labels import encode
from chary.tables import AuditAnswers


def make(rounds):
    return SelfTrainingClassifier(LogisticRegression(), confidence="softmax", max_rounds=rounds, unlabeled=None)


@pytest.fixture(name="biased")
def biased_rows():
    X, y = make_classification(800, 6, n_informative=4, class_sep=1.5, random_state=1)
    truth = np.array(["no", "yes"])[y]
    labeled = X[:, 0] > np.quantile(X[:, 0], 0.9)
    labels = encode(np.where(labeled, truth.astype(object), None))
    rows = audit.draw(labels.labeled, 40, 0)
    return X, truth, labels, AuditAnswers(rows, truth[rows], 40, 0, 0)


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
    given, every = merge(labels, AuditAnswers(np.array([known, unknown]), np.array(["yes", "maybe"]), 2, 0, 0))
    assert every.classes.tolist() == ["maybe", "no", "yes"]
    assert not given.labeled[known]
    assert every.classes[every.codes[unknown]] == "maybe"


def test_figures_are_those_of_the_audit(biased):
    X, truth, labels, answers = biased
    _, every = merge(labels, answers)
    model, figures = judge(make, X, every, answers, rounds=0)
    by_hand = LogisticRegression().fit(X[labels.labeled], truth[labels.labeled])
    n_pool = int((~labels.labeled).sum())
    assert figures.before == audit.score(by_hand.predict(X[answers.rows]) == answers.labels, population=n_pool)
    rest = ~every.labeled
    assert figures.after.low <= np.mean(model.predict(X[rest]) == truth[rest]) <= figures.after.high
    assert sum(found.n for found in figures.classes.values()) == 40
    assert [found.error for found in figures.acceptances] == list(ERRORS)
    assert figures.needed == [audit.smallest_audit(error) for error in ERRORS]
    assert all(
        found.n_accepted == 0 for found, n in zip(figures.acceptances, figures.needed, strict=True) if n > 40
    )
    assert (figures.rounds, figures.comparison) == (0, None)
    assert figures.notes == ["Rounds of self-training: 0, as asked."]


def test_before_is_the_accuracy_of_what_is_used_without_an_audit(biased):
    X, truth, labels, answers = biased
    given, every = merge(labels, answers)
    used = SelfTrainingClassifier(GaussianNB(), confidence="softmax", max_rounds=0, unlabeled=None).fit(X, given)
    _, figures = judge(make, X, every, answers, unaudited=used, rounds=0)
    by_hand = GaussianNB().fit(X[labels.labeled], truth[labels.labeled])
    n_pool = int((~labels.labeled).sum())
    assert figures.before == audit.score(by_hand.predict(X[answers.rows]) == answers.labels, population=n_pool)
    assert figures.after == judge(make, X, every, answers, rounds=0)[1].after


def test_what_can_be_accepted_is_counted_among_rows_that_nobody_labelled(biased):
    X, truth, labels, _ = biased
    rows = audit.draw(labels.labeled, 300, 0)
    answers = AuditAnswers(rows, truth[rows], 300, 0, 0)
    _, every = merge(labels, answers)
    model, figures = judge(make, X, every, answers, rounds=0)
    confidence = np.round(model.predict_confidence(X[~every.labeled]), 4)
    found = figures.acceptances[-1]
    assert found.n_accepted == np.sum(confidence >= found.threshold) > 0
    assert found.threshold == round(found.threshold, 4)


def test_self_training_is_off_unless_clearly_better(biased):
    X, _, labels, answers = biased
    _, every = merge(labels, answers)
    model, figures = judge(make, X, every, answers)
    assert figures.comparison.p_value >= 0.05
    assert figures.rounds == model.max_rounds == 0
    assert "not clearly better, so it is off" in figures.notes[-1]


class LateLearner(ClassifierMixin, BaseEstimator):
    """Says no to everything until it is given many labels, then knows the truth: the sign of a feature."""

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
    rows = audit.draw(labels.labeled, 40, 0)
    answers = AuditAnswers(rows, truth[rows], 40, 0, 0)

    def late(n):
        return make(n).set_params(estimator=LateLearner(), policy=FixedThreshold(0.5))

    model, figures = judge(late, X, merge(labels, answers)[1], answers)
    assert figures.before.share < 0.7
    assert figures.after.share == 1
    assert figures.comparison.p_value < 0.05
    assert figures.rounds == model.max_rounds == 1
    assert "clearly better, so it is on" in figures.notes[-1]


def test_skipped_rows_are_wrong_in_every_figure(biased):
    X, truth, labels, answers = biased
    gone, skipped, told = np.split(answers.rows, [2, 10])
    partial = AuditAnswers(told, truth[told], 40, 10, 0, notes=["ten skipped"], skipped_rows=skipped)
    assert len(gone) == 2  # rows that are no longer in the sheet
    _, every = merge(labels, partial)
    _, figures = judge(make, X, every, partial, rounds=0)
    n_pool = int((~labels.labeled).sum())
    assert (figures.before.n, figures.after.n, figures.answered.n) == (40, 40, 30)
    limits = audit.interval(figures.answered.correct, 40, n_pool, skipped=10)
    assert (figures.before.low, figures.before.high) == limits
    assert figures.after.low <= figures.after.correct / 40
    assert figures.notes[0] == "ten skipped"
    assert "10 skipped rows as wrong" in figures.notes[1]
    assert f"{figures.answered}" in figures.notes[1]
    unskipped = judge(make, X, every, AuditAnswers(told, truth[told], 30, 0, 0), rounds=0)[1]
    assert unskipped.answered == figures.answered
    for name, recall in figures.classes.items():
        assert recall.low <= unskipped.classes[name].low < unskipped.classes[name].high <= recall.high


def test_rows_skipped_where_the_model_is_sure_and_wrong_cannot_be_accepted():
    """What is hard for a person and wrong is skipped: on the answered rows alone nothing would seem wrong."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 2))
    shown = X[:, 0] > 0
    hard = ~shown & (X[:, 1] > 0.5)  # the model says no with the same confidence as in the rest of that side
    truth = np.where(shown | hard, "yes", "no")
    labels = encode(np.where(np.arange(2_000) < 100, np.where(shown, "yes", "no").astype(object), None))
    rows = audit.draw(labels.labeled, 200, 0)
    told, skipped = rows[~hard[rows]], rows[hard[rows]]
    kept, promised = [], []
    for n_skipped, of in ((0, skipped[:0]), (len(skipped), skipped), (len(skipped), skipped[:0])):
        answers = AuditAnswers(told, truth[told], 200, n_skipped, 0, skipped_rows=of)
        _, every = merge(labels, answers)
        model, figures = judge(make, X, every, answers, rounds=0)
        pool = np.flatnonzero(~every.labeled)
        accepted = np.round(model.predict_confidence(X[pool]), 4) >= figures.acceptances[3].threshold
        wrong = model.predict(X[pool]) != truth[pool]
        promised.append(accepted.any())
        kept.append(not accepted.any() or wrong[accepted].mean() <= ERRORS[3])
    assert promised[0]
    assert not kept[0]  # the promise of the answered rows alone is broken
    assert all(kept[1:])
