"""The rounds of self-training; promises of all policies are in common/test_semi_supervised.py."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import sklearn.semi_supervised
from scipy.sparse import coo_matrix
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from chary import (
    Curriculum,
    DiverseEnsembleClassifier,
    FixedThreshold,
    KBest,
    LabeledStratifiedKFold,
    RisingShare,
    SelfTrainingClassifier,
    TransductiveBound,
)
from chary.method.held_out import hold_out
from chary.method.policies import Decision

X, y_true = load_iris(return_X_y=True)
y = np.where(np.random.default_rng(0).random(150) < 0.2, y_true, -1)
logistic = LogisticRegression(max_iter=1000)


def network(**parameters):
    return DiverseEnsembleClassifier(
        (16,), n_steps=100, learning_rate=0.01, random_state=0, **parameters
    )


class Recorder:
    """Accepts the three surest rows a round and keeps what it was shown."""

    rescore = False

    def __init__(self, posterior="current"):
        self.posterior = posterior
        self.rounds = []

    def accept(self, round):
        self.rounds.append(round)
        return Decision(
            round.confidence >= np.sort(round.confidence)[-3], {"seen": len(round.confidence)}
        )


def fit_recorded(recorder, estimator=logistic, confidence="max_probability", max_rounds=2):
    model = SelfTrainingClassifier(estimator, confidence=confidence, max_rounds=max_rounds)
    model.policy = recorder
    return model.fit(X, y)


def test_the_pool_shrinks_and_its_scores_come_from_the_current_model():
    recorder = Recorder()
    fit_recorded(recorder)
    first, second = recorder.rounds
    unlabeled = X[y == -1]
    base = LogisticRegression(max_iter=1000).fit(X[y != -1], y[y != -1])
    np.testing.assert_array_equal(first.posterior, base.predict_proba(unlabeled))
    np.testing.assert_array_equal(first.prediction, base.predict(unlabeled))
    left = first.confidence < np.sort(first.confidence)[-3]
    assert len(second.confidence) == left.sum()
    assert (second.number, first.number) == (2, 1)
    assert not np.allclose(second.posterior, first.posterior[left])


def test_a_policy_may_ask_for_the_posterior_of_the_initial_model():
    recorder = Recorder(posterior="initial")
    fit_recorded(recorder)
    first, second = recorder.rounds
    left = first.confidence < np.sort(first.confidence)[-3]
    np.testing.assert_array_equal(second.posterior, first.posterior[left])


def test_a_refit_uses_given_and_accepted_labels():
    model = SelfTrainingClassifier(logistic, confidence="softmax", max_rounds=2).fit(X, y)
    labeled = model.labeled_iter_ >= 0
    expected = LogisticRegression(max_iter=1000).fit(X[labeled], model.transduction_[labeled])
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_pseudo_labels_come_from_the_prediction_not_from_the_members():
    recorder = Recorder()
    model = fit_recorded(recorder, network(), "t_similarity", max_rounds=1)
    first = recorder.rounds[0]
    assert (first.class_confidence.argmax(axis=1) != first.prediction).any()
    new = model.labeled_iter_ == 1
    np.testing.assert_array_equal(
        model.transduction_[new],
        first.prediction[first.confidence >= np.sort(first.confidence)[-3]],
    )


def test_rescoring_takes_labels_back():
    model = SelfTrainingClassifier(logistic, confidence="softmax", policy=RisingShare()).fit(X, y)
    assert [record["n_pool"] for record in model.history_] == [(y == -1).sum()] * 5
    accepted = [record["n_accepted"] for record in model.history_]
    assert accepted == sorted(accepted)
    assert (model.labeled_iter_[y == -1] != -1).sum() == accepted[-1]
    assert set(model.labeled_iter_) == {-1, 0, 5}


def test_the_first_fit_can_be_shared():
    base = SelfTrainingClassifier(network(), max_rounds=0).fit(X, y)
    alone = SelfTrainingClassifier(network()).fit(X, y)
    shared = SelfTrainingClassifier(network()).fit(X, y, initial=base.estimator_)
    np.testing.assert_array_equal(shared.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(shared.confidence_, alone.confidence_)


def test_t_similarity_of_any_ensemble():
    for ensemble in [
        RandomForestClassifier(20, random_state=0),
        BaggingClassifier(GaussianNB(), random_state=0),
        VotingClassifier(
            [("tree", DecisionTreeClassifier(random_state=0)), ("bayes", GaussianNB())],
            voting="soft",
        ),
        make_pipeline(StandardScaler(), RandomForestClassifier(20, random_state=0)),
        make_pipeline(StandardScaler(), network()),
    ]:
        model = SelfTrainingClassifier(ensemble).fit(X, y)
        assert model.score(X, y_true) > 0.8
        confidence = model.predict_confidence(X)
        assert ((confidence >= 0) & (confidence <= 1)).all()
        assert model.predict_head_proba(X).shape[::2] == (150, 3)


def test_confidence_may_be_a_function_of_the_model_and_the_rows():
    by_distance = SelfTrainingClassifier(
        logistic, confidence=lambda model, rows: 1 / (1 + np.abs(rows).sum(axis=1))
    )
    model = by_distance.fit(X, y)
    np.testing.assert_allclose(model.predict_confidence(X), 1 / (1 + np.abs(X).sum(axis=1)))
    class_wise = SelfTrainingClassifier(
        logistic, confidence=lambda model, rows: model.predict_proba(rows) ** 2
    )
    np.testing.assert_allclose(
        class_wise.fit(X, y).predict_confidence(X), class_wise.predict_proba(X).max(1) ** 2
    )


def test_a_confidence_of_another_shape_is_refused():
    model = SelfTrainingClassifier(
        logistic, confidence=lambda fitted, rows: np.ones((len(rows), 5))
    )
    with pytest.raises(ValueError, match=r"shape \(123, 5\); \(123,\) or \(123, 3\) is needed"):
        model.fit(X, y)


def test_a_classifier_with_decision_values_only():
    model = SelfTrainingClassifier(RidgeClassifier(), confidence="margin").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_reach_the_classifier_as_frames(frame):
    class Keeper(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            assert isinstance(X, frame)
            return super().fit(X, y, sample_weight)

    data = frame(dict(zip("abcd", X.T, strict=True)))
    model = SelfTrainingClassifier(Keeper(max_iter=1000), confidence="softmax").fit(data, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.n_features_in_ == 4


def test_sparse_and_text_input():
    SelfTrainingClassifier(logistic, confidence="softmax").fit(coo_matrix(X), y)
    texts = ["good film", "bad film", "good good", "bad bad", "very good", "very bad"]
    sentiment = SelfTrainingClassifier(
        make_pipeline(TfidfVectorizer(), LogisticRegression()), confidence="softmax"
    )
    sentiment.fit(texts, ["+", "-", None, None, None, None])
    assert sentiment.transduction_.tolist() == ["+", "-"] * 3


def test_replaces_scikit_learns_class_where_columns_are_mixed_and_cells_are_empty():
    """The example of the documentation."""
    customers = pd.DataFrame(
        {
            "plan": ["basic", "gold", "basic", "gold", "basic", "gold", "basic", "gold"],
            "visits": [1.0, 9.0, 2.0, 8.0, 1.5, 9.5, 2.5, 7.5],
            "churn": ["yes", "no", None, None, None, None, None, None],
        }
    )
    columns = make_column_transformer((OneHotEncoder(), ["plan"]), (StandardScaler(), ["visits"]))
    pipeline = make_pipeline(columns, LogisticRegression())
    model = SelfTrainingClassifier(pipeline, confidence="max_probability")
    model.fit(customers[["plan", "visits"]], customers["churn"])
    assert model.transduction_.tolist() == ["yes", "no"] * 4
    with pytest.raises((ValueError, TypeError)):
        sklearn.semi_supervised.SelfTrainingClassifier(pipeline).fit(
            customers[["plan", "visits"]], customers["churn"]
        )


class WeightKeeper(LogisticRegression):
    """Remembers what its last fit was given."""

    seen: tuple

    def fit(self, X, y, sample_weight=None):
        WeightKeeper.seen = X[:, 0].copy(), sample_weight
        return super().fit(X, y, sample_weight)


def test_weights_travel_with_their_rows():
    model = SelfTrainingClassifier(WeightKeeper(max_iter=1000), confidence="softmax", max_rounds=1)
    tagged = X.copy()
    tagged[:, 0] = np.arange(150)
    model.fit(tagged, y, sample_weight=np.arange(150) / 150)
    first_column, weight = WeightKeeper.seen
    assert len(first_column) < 150
    np.testing.assert_allclose(weight, first_column / 150)


def test_balanced_weights_give_both_kinds_of_label_the_same_total():
    model = SelfTrainingClassifier(
        WeightKeeper(max_iter=1000), confidence="softmax", balance_weights=True
    )
    model.set_params(max_rounds=1).fit(X, y)
    weight = WeightKeeper.seen[1]
    given = y[model.labeled_iter_ >= 0] != -1
    np.testing.assert_allclose(weight[given], 1)
    np.testing.assert_allclose(weight[~given].sum(), given.sum())


def test_weights_for_a_classifier_that_takes_none_are_refused():
    model = SelfTrainingClassifier(KNeighborsClassifier(), confidence="softmax")
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        model.fit(X, y, sample_weight=np.ones(150))


def test_weights_reach_the_last_step_of_a_pipeline():
    model = SelfTrainingClassifier(
        make_pipeline(StandardScaler(), logistic), confidence="softmax", max_rounds=0
    )
    weight = np.where(y_true == 2, 0.01, 1.0)
    assert (model.fit(X, y, sample_weight=weight).predict(X) == 2).sum() < (
        model.fit(X, y).predict(X) == 2
    ).sum()


def test_random_state_seeds_the_classifier_without_changing_it():
    forest = RandomForestClassifier(10)
    model = SelfTrainingClassifier(forest, random_state=0)
    first = model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), first)
    assert forest.random_state is None
    assert isinstance(model.estimator_.random_state, int)
    seeded = SelfTrainingClassifier(RandomForestClassifier(10, random_state=5), random_state=0).fit(
        X, y
    )
    assert seeded.estimator_.random_state == 5


def test_verbose_shows_the_rounds_and_nothing_else_does(capsys):
    SelfTrainingClassifier(logistic, confidence="softmax").fit(X, y)
    assert capsys.readouterr() == ("", "")
    SelfTrainingClassifier(logistic, confidence="softmax", verbose=True).fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "round 1, n_pool 123, n_accepted 49" in captured.err


def test_text_labels_keep_none_where_never_accepted():
    texts = np.where(y == -1, None, np.array(["setosa", "versicolor", "virginica"])[y])
    model = SelfTrainingClassifier(
        logistic, confidence="softmax", unlabeled=None, max_rounds=1
    ).fit(X, texts)
    assert set(model.transduction_) == {"setosa", "versicolor", "virginica", None}
    assert np.isnan(model.confidence_[model.labeled_iter_ == -1]).all()
    assert (model.confidence_[model.labeled_iter_ == 0] == 1).all()


def test_bad_parameters():
    for parameters, message in [
        ({"max_rounds": -1}, "max_rounds"),
        ({"confidence": "sureness"}, "confidence"),
        ({"policy": 0.8}, "policy"),
        ({"estimator": 3}, "estimator"),
    ]:
        with pytest.raises(
            ValueError, match=f"The '{message}' parameter of SelfTrainingClassifier must be"
        ):
            SelfTrainingClassifier(**parameters).fit(X, y)


def test_bad_input():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SelfTrainingClassifier().fit(X, y[:-1])
    with pytest.raises(NotFittedError):
        SelfTrainingClassifier().predict(X)


def test_a_class_prior_rules_every_round_and_the_predictions():
    recorder = Recorder()
    model = SelfTrainingClassifier(
        logistic, confidence="softmax", max_rounds=1, class_prior=[0.6, 0.2, 0.2]
    )
    model.policy = recorder
    model.fit(X, y)
    unlabeled = y == -1
    # Of all rows, less those given.
    expected = len(y) * np.array([0.6, 0.2, 0.2]) - np.bincount(y[~unlabeled])
    assert np.abs(np.bincount(recorder.rounds[0].prediction) - expected).max() < 1
    assert np.abs(np.bincount(model.predict(X[unlabeled])) - expected).max() < 1
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    log_probs = np.log(model.estimator_.predict_proba(X)) + model.class_bias_
    np.testing.assert_allclose(
        np.log(model.predict_proba(X)), log_probs - np.logaddexp.reduce(log_probs, 1)[:, None]
    )


def test_members_are_moved_by_the_class_prior_too():
    prior = {0: 0.6, 1: 0.2, 2: 0.2}
    model = SelfTrainingClassifier(network(), class_prior=prior, max_rounds=0).fit(X, y)
    inside = SelfTrainingClassifier(network(class_prior=prior), max_rounds=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), inside.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(model.predict_head_proba(X), inside.predict_head_proba(X), atol=1e-9)
    np.testing.assert_allclose(model.predict_confidence(X), inside.predict_confidence(X), atol=1e-9)


def test_of_a_large_pool_some_rows_take_part_drawn_by_the_seed():
    def fit(seed, X=X, y=y):
        model = SelfTrainingClassifier(
            logistic,
            policy=Curriculum(1),
            confidence="softmax",
            max_rounds=1,
            max_pool=40,
            random_state=seed,
        )
        return model.fit(X, y, sample_weight=np.ones(len(X)))

    model = fit(0)
    part = model.labeled_iter_ >= 0
    given = y != -1
    assert part[given].all()
    assert (part & ~given).sum() == model.history_[0]["n_pool"] == 40
    assert (model.transduction_[~part] == -1).all()
    assert (np.isnan(model.confidence_) == ~part).all()
    alone = SelfTrainingClassifier(
        logistic, policy=Curriculum(1), confidence="softmax", max_rounds=1
    )
    expected = alone.fit(X[part], y[part], sample_weight=np.ones(part.sum()))
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert (fit(0).labeled_iter_ == model.labeled_iter_).all()
    assert (fit(1).labeled_iter_ != model.labeled_iter_).any()


def test_a_class_prior_is_met_on_all_rows_also_where_few_take_part():
    model = SelfTrainingClassifier(
        logistic, confidence="softmax", class_prior=[0.5, 0.3, 0.2], max_pool=30, random_state=0
    ).fit(X, y)
    labels = np.where(y == -1, model.predict(X), y)
    assert np.bincount(labels).tolist() == [75, 45, 30]


def test_labels_and_confidence_in_one_pass():
    for class_prior in (None, [0.5, 0.3, 0.2]):
        model = SelfTrainingClassifier(network(), max_rounds=1, class_prior=class_prior).fit(X, y)
        probs, confidence = model.predict_scores(X)
        np.testing.assert_array_equal(model.classes_[probs.argmax(axis=1)], model.predict(X))
        np.testing.assert_array_equal(confidence, model.predict_confidence(X))


def test_agrees_with_scikit_learn_where_the_two_definitions_coincide():
    """Same threshold, softmax, same number of rounds, no confidence exactly at the threshold."""
    for seed in [0, 1]:
        for load in [load_iris, load_breast_cancer, load_digits]:
            rows, labels = load(return_X_y=True)
            rows = StandardScaler().fit_transform(rows)
            partly = np.where(np.random.default_rng(seed).random(len(labels)) < 0.1, labels, -1)
            theirs = sklearn.semi_supervised.SelfTrainingClassifier(
                logistic, threshold=0.75, max_iter=10
            ).fit(rows, partly)
            ours = SelfTrainingClassifier(
                logistic, policy=FixedThreshold(0.75), confidence="softmax", max_rounds=10
            )
            ours.fit(rows, partly)
            np.testing.assert_array_equal(ours.transduction_, theirs.transduction_)
            np.testing.assert_array_equal(ours.labeled_iter_, theirs.labeled_iter_)


@pytest.mark.skipif(
    "CHARY_DATA" not in os.environ, reason="CHARY_DATA does not point at the benchmark data"
)
def test_t_similarity_helps_under_selection_bias_as_in_the_paper():
    """Mushrooms, biased labels: softmax makes the model worse, T-similarity makes it better."""
    archive = np.load(Path(os.environ["CHARY_DATA"]) / "mushrooms.npz")
    rows, labels = StandardScaler().fit_transform(archive["X"]), archive["y"]
    gains = {"softmax": [], "t_similarity": []}
    for seed in (0,):
        rng = np.random.default_rng(seed)
        partly = np.full(len(labels), -1)
        for value, count in ((1, 39), (2, 41)):
            members = np.flatnonzero(labels == value)
            centred = rows[members] - rows[members].mean(axis=0)
            score = 2 * np.abs(centred @ np.linalg.svd(centred, full_matrices=False)[2][0])
            chosen = np.argsort(-(score + rng.gumbel(size=len(members))))[:count]
            partly[members[chosen]] = value
        base = DiverseEnsembleClassifier(random_state=seed)
        supervised = SelfTrainingClassifier(base, max_rounds=0).fit(rows, partly)
        for confidence, gain in gains.items():
            model = SelfTrainingClassifier(base, policy=Curriculum(0.4), confidence=confidence)
            model.fit(rows, partly, initial=supervised.estimator_)
            gain.append(model.score(rows, labels) - supervised.score(rows, labels))
    assert np.mean(gains["softmax"]) < 0 < np.mean(gains["t_similarity"])


def test_a_class_whose_labels_all_have_weight_zero_is_refused():
    weights = np.where(y == 0, 0.0, 1.0)
    with pytest.raises(ValueError, match=r"no class may have all its labels at sample_weight 0"):
        SelfTrainingClassifier(network(), max_rounds=1).fit(X, y, sample_weight=weights)


def test_an_initial_classifier_of_other_classes_is_refused():
    other = LogisticRegression().fit(X[y > 0], y[y > 0])
    model = SelfTrainingClassifier(LogisticRegression(), confidence="softmax")
    with pytest.raises(ValueError, match="an initial classifier must know the same"):
        model.fit(X, y, initial=other)


def test_balanced_weights_of_accepted_rows_that_weigh_nothing():
    weights = np.where(y >= 0, 1.0, 0.0)
    model = SelfTrainingClassifier(
        LogisticRegression(), confidence="softmax", balance_weights=True, max_rounds=1
    )
    plain = LogisticRegression().fit(X[y >= 0], y[y >= 0])
    model.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-3)


# --- As scikit-learn's class ----------------------------------------------------------------------


def test_a_classifier_without_members_is_trusted_by_its_largest_probability_and_that_is_said():
    plain = SelfTrainingClassifier(logistic, confidence="max_probability").fit(X, y)
    model = SelfTrainingClassifier(make_pipeline(StandardScaler(with_std=False), logistic))
    with pytest.warns(UserWarning, match="LogisticRegression has no members .* largest class prob"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.transduction_, plain.transduction_)
    np.testing.assert_allclose(
        model.predict_confidence(X), model.predict_proba(X).max(axis=1), rtol=1e-12
    )
    assert not hasattr(model, "predict_head_proba")
    assert hasattr(SelfTrainingClassifier(RandomForestClassifier()), "predict_head_proba")
    assert model.n_iter_ == model.n_rounds_ > 0

    shares = SelfTrainingClassifier(logistic, confidence="t_share")
    with pytest.raises(ValueError, match="LogisticRegression has none"):
        shares.fit(X, y)


def test_k_best_agrees_with_scikit_learn():
    rows, labels = load_breast_cancer(return_X_y=True)
    rows = StandardScaler().fit_transform(rows)
    partly = np.where(np.random.default_rng(0).random(len(labels)) < 0.1, labels, -1)
    theirs = sklearn.semi_supervised.SelfTrainingClassifier(
        logistic, criterion="k_best", k_best=20, max_iter=4
    ).fit(rows, partly)
    ours = SelfTrainingClassifier(
        logistic, policy=KBest(20), confidence="max_probability", max_rounds=4
    ).fit(rows, partly)
    assert np.bincount(ours.labeled_iter_[ours.labeled_iter_ > 0]).tolist() == [0, 20, 20, 20, 20]
    np.testing.assert_array_equal(ours.labeled_iter_, theirs.labeled_iter_)
    np.testing.assert_array_equal(ours.transduction_, theirs.transduction_)
    assert ours.n_iter_ == theirs.n_iter_


def test_a_policy_may_be_one_method_that_returns_a_mask():
    class Own:
        def accept(self, round):
            return round.confidence >= np.sort(round.confidence)[-3]

    model = SelfTrainingClassifier(logistic, policy=Own(), confidence="softmax", max_rounds=2)
    theirs = fit_recorded(Recorder())
    np.testing.assert_array_equal(model.fit(X, y).labeled_iter_, theirs.labeled_iter_)
    assert [record["used"] for record in model.history_] == [{}, {}]


def test_a_round_shows_the_rows_the_labels_and_the_model():
    recorder = Recorder()
    model = fit_recorded(recorder)
    known = y.copy()
    for round in recorder.rounds:
        np.testing.assert_array_equal(round.rows, np.flatnonzero(known == -1))
        np.testing.assert_array_equal(round.labels, known)
        np.testing.assert_array_equal(
            round.model.predict_proba(round.X[round.rows]), round.class_confidence
        )
        accepted = model.labeled_iter_ == round.number
        known[accepted] = model.transduction_[accepted]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Listener(LogisticRegression):
    """Remembers what its last fit was given."""

    seen: tuple

    def fit(self, X, y, sample_weight=None, site=None, note=None):
        Listener.seen = X[:, 0].copy(), sample_weight, site, note
        return super().fit(X, y, sample_weight)


def test_metadata_reaches_the_classifier_with_its_rows(routing):
    tagged = X.copy()
    tagged[:, 0] = np.arange(150)
    rows = np.arange(150)
    listener = Listener(max_iter=1000).set_fit_request(sample_weight="w", site=True, note=True)
    as_they_are = StandardScaler(with_mean=False, with_std=False)
    for base in [listener, make_pipeline(as_they_are, listener)]:
        model = SelfTrainingClassifier(
            base, confidence="softmax", max_rounds=2, max_pool=60, random_state=0
        )
        model.fit(tagged, y, w=rows / 150, site=rows + 1000, note="kept as it is")
        first_column, weights, site, note = Listener.seen
        assert (y != -1).sum() < len(first_column) < 150
        np.testing.assert_allclose(weights, first_column / 150)
        np.testing.assert_array_equal(site, first_column + 1000)
        assert note == "kept as it is"


def test_metadata_is_passed_on_by_a_search(routing):
    listener = Listener(max_iter=1000).set_fit_request(sample_weight=True)
    model = SelfTrainingClassifier(listener, confidence="softmax", max_rounds=1)
    model.set_score_request(sample_weight=True)
    weights = np.where(y_true == 2, 0.5, 1.0)
    search = GridSearchCV(model, {"policy__step": [0.2]}, cv=LabeledStratifiedKFold(2))
    search.fit(X, y, sample_weight=weights)
    assert set(Listener.seen[1]) == {0.5, 1.0}


def test_metadata_that_nobody_asked_for_is_refused_in_scikit_learns_words(routing):
    model = SelfTrainingClassifier(Listener(), confidence="softmax")
    with pytest.raises(ValueError, match=r"\[sample_weight\] are passed but are not explicitly"):
        model.fit(X, y, sample_weight=np.ones(150))


def test_metadata_without_routing_is_refused_in_scikit_learns_words():
    model = SelfTrainingClassifier(Listener(), confidence="softmax")
    with pytest.raises(ValueError, match="only supported if enable_metadata_routing=True"):
        model.fit(X, y, site=np.ones(150))


# --- Parameters of the policy ---------------------------------------------------------------------


def test_a_grid_search_over_a_parameter_of_the_policy():
    model = SelfTrainingClassifier(
        logistic, policy=Curriculum(), confidence="softmax", max_rounds=1
    )
    grid = {"policy__step": [0.2, 0.4], "estimator__C": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=LabeledStratifiedKFold(2)).fit(X, y)
    assert {point["policy__step"] for point in search.cv_results_["params"]} == {0.2, 0.4}
    assert search.best_estimator_.policy == Curriculum(search.best_params_["policy__step"])
    shares = [
        clone(model).set_params(policy__step=step).fit(X, y).history_[0]["n_accepted"]
        for step in (0.2, 0.4)
    ]
    assert shares[0] < shares[1]
    assert model.policy == Curriculum()


def test_get_params_tells_those_of_the_policy_and_a_clone_has_them():
    model = SelfTrainingClassifier(logistic, policy=RisingShare(first=0.3))
    params = model.get_params()
    assert (params["policy__first"], params["policy__max_rows"], params["estimator__C"]) == (
        0.3,
        None,
        1.0,
    )
    assert "policy__first" not in model.get_params(deep=False)
    assert clone(model).policy == RisingShare(first=0.3)


def test_a_policy_and_its_parameter_can_be_set_together():
    model = SelfTrainingClassifier(policy=Curriculum())
    assert model.set_params(policy__step=0.3, policy=Curriculum(0.9)).policy == Curriculum(0.3)


def test_parameters_of_the_default_policy_and_classifier_can_be_set():
    search = GridSearchCV(
        SelfTrainingClassifier(logistic, confidence="softmax", max_rounds=1),
        {"policy__step": [0.2, 0.4]},
        cv=LabeledStratifiedKFold(2),
    ).fit(X, y)
    assert search.best_estimator_.policy == Curriculum(search.best_params_["policy__step"])
    untouched = SelfTrainingClassifier()
    changed = clone(untouched).set_params(estimator__n_steps=7, policy__rescore=True)
    assert (changed.estimator.n_steps, changed.policy) == (7, Curriculum(rescore=True))
    assert (untouched.estimator, untouched.policy) == (None, None)


def test_an_unknown_parameter_is_refused_as_scikit_learn_does():
    for name in ["policy__stp", "polcy", "estimator__none"]:
        model = SelfTrainingClassifier(logistic, policy=Curriculum())
        last = name.split("__")[-1]
        with pytest.raises(
            ValueError, match=rf"(?s)Invalid parameter '{last}' for .*Valid parameters are: \["
        ):
            model.set_params(**{name: 0.2})


def test_a_users_own_policy_needs_no_parameters():
    class Own:
        rescore = False

        def accept(self, round):
            return Decision(round.confidence > 0.9, {})

    model = clone(SelfTrainingClassifier(logistic, policy=Own(), confidence="softmax"))
    assert model.fit(X, y).history_
    assert not [name for name in model.get_params() if name.startswith("policy__")]


def test_a_users_own_policy_may_have_parameters_as_scikit_learn_knows_them():
    class Own(BaseEstimator):
        rescore = False

        def __init__(self, above=0.9):
            self.above = above

        def accept(self, round):
            return Decision(round.confidence > self.above, {})

    model = SelfTrainingClassifier(logistic, policy=Own(), confidence="softmax")
    assert model.get_params()["policy__above"] == 0.9
    assert clone(model).set_params(policy__above=0.5).policy.above == 0.5
    assert model.policy.above == 0.9


# --- Warm starts ----------------------------------------------------------------------------------


class Heir(DiverseEnsembleClassifier):
    """A user's own subclass, whose fit starts from nothing."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight)


def test_a_warm_start_goes_on_from_the_weights_of_the_round_before():
    for balance_weights in [False, True]:
        model = SelfTrainingClassifier(
            network(), max_rounds=2, warm_start=True, balance_weights=balance_weights
        )
        model.fit(X, y)
        assert model.n_rounds_ == 2
        by_hand = network().fit(X, y)
        for number in (
            1,
            2,
        ):  # what was accepted up to each round, with a classifier that starts from the one before
            known = (model.labeled_iter_ >= 0) & (model.labeled_iter_ <= number)
            accepted = known & (model.labeled_iter_ > 0)
            weights = np.ones(150)
            if balance_weights:
                weights[accepted] = (y != -1).sum() / accepted.sum()
            partly = np.where(known, model.transduction_, -1)
            by_hand = network().fit(X, partly, weights, start_from=by_hand)
        np.testing.assert_array_equal(model.predict_proba(X), by_hand.predict_proba(X))
        fresh = clone(model).set_params(warm_start=False).fit(X, y)
        assert not np.allclose(fresh.predict_proba(X), model.predict_proba(X))


def test_a_warm_start_is_about_one_fit_alone():
    initial = network().fit(X, y)
    weights = initial.network_.params.copy()
    model = SelfTrainingClassifier(network(), max_rounds=2, warm_start=True)
    first = model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), first)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), first)
    np.testing.assert_array_equal(model.fit(X, y, initial=initial).predict_proba(X), first)
    np.testing.assert_array_equal(initial.network_.params, weights)
    assert model.get_params()["warm_start"] is True
    assert not hasattr(model.estimator, "network_")


def test_a_warm_start_of_the_last_step_of_a_pipeline():
    columns = StandardScaler()
    piped = SelfTrainingClassifier(
        make_pipeline(columns, network(standardize=False)), max_rounds=2, warm_start=True
    ).fit(X, y, sample_weight=np.ones(150))
    alone = SelfTrainingClassifier(network(standardize=False), max_rounds=2, warm_start=True)
    alone.fit(columns.fit_transform(X), y)
    np.testing.assert_array_equal(piped.predict_proba(X), alone.predict_proba(columns.transform(X)))


def test_a_classifier_without_weights_to_start_from_is_refused():
    for max_rounds in [0, 1]:
        for estimator in [
            logistic,
            RandomForestClassifier(3),
            make_pipeline(StandardScaler(), logistic),
            Heir(n_steps=1),
        ]:
            model = SelfTrainingClassifier(
                estimator, confidence="softmax", warm_start=True, max_rounds=max_rounds
            )
            with pytest.raises(
                ValueError,
                match=r"warm_start=True needs a classifier whose fit .* leave it out, or take a",
            ):
                model.fit(X, y)


def test_an_initial_classifier_of_another_kind_gives_no_weights():
    model = SelfTrainingClassifier(network(), confidence="softmax", warm_start=True, max_rounds=1)
    with pytest.raises(ValueError, match=r"start_from must be .*; it is LogisticRegression"):
        model.fit(X, y, initial=LogisticRegression(max_iter=1000).fit(X[y >= 0], y[y >= 0]))


# --- The class share ------------------------------------------------------------------------------


def test_the_class_share_of_the_members_can_rule_the_rounds():
    for estimator in [network(), RandomForestClassifier(10, random_state=0)]:
        model = SelfTrainingClassifier(estimator, confidence="t_share", max_rounds=1).fit(X, y)
        heads = model.predict_head_proba(X)  # (n, M, C)
        terms = np.einsum("nmc,nkc->nc", heads, heads) - np.einsum("nmc,nmc->nc", heads, heads)
        shares = terms / terms.sum(axis=1, keepdims=True)
        predicted = model.predict_proba(X).argmax(axis=1)
        np.testing.assert_allclose(
            model.predict_confidence(X), shares[np.arange(150), predicted], atol=1e-9
        )
        assert model.history_[0]["n_accepted"] > 0
        bound = SelfTrainingClassifier(
            estimator, confidence="t_share", policy=TransductiveBound(), max_rounds=1
        )
        assert bound.fit(X, y).history_[0]["n_accepted"] > 0  # class-wise, too


@pytest.mark.parametrize(
    "wrong",
    [
        lambda mask: mask.astype(int),
        np.flatnonzero,
        lambda mask: mask.tolist(),
        lambda mask: np.column_stack([mask, mask]),
        lambda mask: None,
    ],
)
def test_a_policy_that_gives_no_mask_is_refused(wrong):
    class Own:
        def accept(self, round):
            return wrong(round.confidence > 0.5)

    class InADecision(Own):
        def accept(self, round):
            return Decision(super().accept(round), {})

    for policy in [Own(), InADecision()]:
        model = SelfTrainingClassifier(logistic, policy=policy, confidence="max_probability")
        with pytest.raises(ValueError, match="a boolean array, one for each row"):
            model.fit(X, y)


def test_a_confidence_that_is_no_number_is_refused():
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    nowhere = SelfTrainingClassifier(
        LogisticRegression(), confidence=lambda model, X: np.full(len(X), np.nan)
    )
    with pytest.raises(ValueError, match="confidence gives NaN"):
        nowhere.fit(X, y)


class ColumnOfLabels(LogisticRegression):
    """Predicts labels of shape (n, 1), as CatBoost does for several classes."""

    def predict(self, X):
        return super().predict(X)[:, None]


class OneRowTooFew(LogisticRegression):
    def predict(self, X):
        return super().predict(X)[:-1]


class OneClassTooMany(LogisticRegression):
    def predict_proba(self, X):
        return np.column_stack([np.zeros(len(X)), super().predict_proba(X)])


def test_labels_in_a_column_are_one_label_per_row():
    model = SelfTrainingClassifier(ColumnOfLabels(max_iter=1000), confidence="max_probability").fit(
        X, y
    )
    plain = SelfTrainingClassifier(logistic, confidence="max_probability").fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    judged = hold_out(ColumnOfLabels(max_iter=1000), X, y, random_state=0)
    assert judged.correct.shape == ((y >= 0).sum(),)
    assert judged.correct.mean() == hold_out(logistic, X, y, random_state=0).correct.mean() > 0.8


def test_predictions_of_another_shape_are_refused():
    model = SelfTrainingClassifier(OneRowTooFew(), confidence="max_probability", max_rounds=0).fit(
        X, y
    )
    with pytest.raises(ValueError, match=r"cannot reshape array of size 149"):
        model.predict(X)
    with pytest.raises(
        ValueError, match=r"predict_proba of OneClassTooMany gives shape \(123, 4\)"
    ):
        SelfTrainingClassifier(OneClassTooMany(), confidence="max_probability").fit(X, y)


def test_members_in_another_order_of_axes_are_refused():
    class MembersFirst(RandomForestClassifier):
        def predict_head_proba(self, X):
            return np.stack([tree.predict_proba(X) for tree in self.estimators_])  # (M, n, C)

    with pytest.raises(ValueError, match="a boolean array, one for each row"):
        SelfTrainingClassifier(MembersFirst(10, random_state=0)).fit(X, y)


def test_an_own_ensemble_may_ask_for_the_unlabelled_rows():
    """The protocol of docs/how-to/own-classifier.md: names are all that counts."""

    class Own(BaseEstimator):
        def __init__(self, unlabeled=-1):
            self.unlabeled = unlabeled

        def fit(self, X, y):
            assert self.unlabeled is None
            is_given = np.array([label is not None for label in y])
            self.n_rows_seen_ = len(X), is_given.sum()
            self.classes_ = np.unique(y[is_given].astype(str))
            means = [X[is_given & (y == label)].mean(axis=0) for label in self.classes_]
            self.means_ = np.stack(means)  # (C, d)
            return self

        def predict_joint_proba(self, X):
            near = np.exp(-np.abs(X[:, None] - self.means_))  # (n, C, d)
            heads = (near / near.sum(axis=1, keepdims=True)).transpose(0, 2, 1)  # (n, M, C)
            return heads.mean(axis=1), heads

        def predict_proba(self, X):
            return self.predict_joint_proba(X)[0]

        def predict_head_proba(self, X):
            return self.predict_joint_proba(X)[1]

        def predict(self, X):
            return self.classes_[self.predict_proba(X).argmax(axis=1)]

    names = np.where(y == -1, None, np.array(list("abc"), dtype=object)[y])
    model = SelfTrainingClassifier(Own(), max_rounds=1).fit(X, names)
    assert model.estimator_.n_rows_seen_ == (150, (model.labeled_iter_ >= 0).sum())
    heads = model.predict_head_proba(X)
    pairs = np.einsum("nmc,nkc->n", heads, heads) - np.einsum("nmc,nmc->n", heads, heads)
    np.testing.assert_allclose(model.predict_confidence(X), pairs / 12, rtol=1e-12)
