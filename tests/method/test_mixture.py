"""Classifiers of unlike kinds on one scale, and what a class prior does to them."""

import numpy as np
import pytest
from joblib import parallel_config
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from chary import MixedEnsembleClassifier, RisingShare, SelfTrainingClassifier
from chary.method.confidence import t_similarity
from chary.method.mixture import default_members

X, y_true = load_iris(return_X_y=True)
y = np.where(np.random.default_rng(0).random(150) < 0.3, y_true, -1)
unlabeled = y == -1
MEMBERS = [("linear", LogisticRegression(max_iter=1000)), ("bayes", GaussianNB(), 3.0)]


def test_the_score_is_the_weighted_mean_of_logits_of_equal_spread():
    model = MixedEnsembleClassifier(MEMBERS).fit(X, y)
    logits = []
    for estimator in (LogisticRegression(max_iter=1000), GaussianNB()):
        estimator.fit(X[~unlabeled], y[~unlabeled])
        is_linear = isinstance(estimator, LogisticRegression)
        raw = (
            estimator.decision_function(X)
            if is_linear
            else np.log(estimator.predict_proba(X) + 1e-3)
        )
        logits.append(raw - raw.mean(axis=1, keepdims=True))
    spreads = [np.sqrt((z[unlabeled] ** 2).mean()) for z in logits]
    common = 0.25 * spreads[0] + 0.75 * spreads[1]
    heads = [z * common / spread for z, spread in zip(logits, spreads, strict=True)]
    np.testing.assert_allclose(model.scales_, spreads)
    np.testing.assert_allclose(
        model.predict_proba(X), softmax(0.25 * heads[0] + 0.75 * heads[1], axis=1)
    )
    np.testing.assert_allclose(
        model.predict_head_proba(X), softmax(np.stack(heads, axis=1), axis=2)
    )


def test_one_member_alone_is_that_member():
    alone = MixedEnsembleClassifier(MEMBERS[:1]).fit(X, y)
    member = LogisticRegression(max_iter=1000).fit(X[~unlabeled], y[~unlabeled])
    np.testing.assert_allclose(alone.predict_proba(X), member.predict_proba(X))


def test_confidence_weighs_the_members():
    model = MixedEnsembleClassifier(MEMBERS).fit(X, y)
    expected = t_similarity(model.predict_head_proba(X), weights=np.array([1.0, 3.0]))
    np.testing.assert_allclose(model.predict_confidence(X), expected)
    np.testing.assert_allclose(
        SelfTrainingClassifier(model, max_rounds=0).fit(X, y).predict_confidence(X), expected
    )
    with pytest.raises(ValueError, match="kind='sureness' is not a confidence"):
        model.predict_confidence(X, "sureness")


def test_preparation_in_a_pipeline_learns_from_all_rows():
    model = MixedEnsembleClassifier(
        [("linear", make_pipeline(StandardScaler(), LogisticRegression()))]
    ).fit(X, y)
    np.testing.assert_allclose(model.members_[0].estimator[0].mean_, X.mean(axis=0))


def test_a_class_prior_is_met_by_labels_and_predictions_together():
    prior = {0: 0.2, 1: 0.3, 2: 0.5}
    model = MixedEnsembleClassifier(MEMBERS[:1], class_prior=prior).fit(X, y)
    counts = np.bincount(np.where(unlabeled, model.predict(X), y), minlength=3)
    assert np.abs(counts - len(y) * np.array([0.2, 0.3, 0.5])).max() < 1
    np.testing.assert_array_equal(model.class_prior_, [0.2, 0.3, 0.5])
    labeled = MixedEnsembleClassifier(MEMBERS[:1], class_prior="labeled").fit(X, y)
    np.testing.assert_allclose(
        labeled.class_prior_, np.bincount(y[~unlabeled]) / (~unlabeled).sum()
    )


def test_without_a_prior_nothing_is_imposed():
    model = MixedEnsembleClassifier(MEMBERS).fit(X, y)
    assert model.class_prior_ is None
    assert not model.class_bias_.any()


def test_a_known_prior_helps_where_labels_are_biased():
    """One class labelled at its edge only: the boundary is off until the proportions are known."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(0, 1, (500, 2)), rng.normal([3, 0], 1, (500, 2))])
    truth = np.repeat([0, 1], 500)
    partly = np.full(1000, -1)
    partly[np.argsort(rows[:500, 0])[:20]] = 0  # far from the other class
    partly[500 + np.argsort(rows[500:, 0])[:20]] = 1  # near it
    plain = MixedEnsembleClassifier(random_state=0).fit(rows, partly)
    informed = MixedEnsembleClassifier(random_state=0, class_prior=[0.5, 0.5]).fit(rows, partly)
    assert informed.score(rows, truth) > plain.score(rows, truth) + 0.1


def test_default_members_and_seeds():
    rows, labels = load_breast_cancer(return_X_y=True)
    partly = np.where(np.arange(len(labels)) < 60, labels, -1)
    model = MixedEnsembleClassifier(random_state=0).fit(rows, partly)
    assert [member.name for member in model.members_] == ["linear", "trees", "boosting"]
    np.testing.assert_allclose(model.weights_, [0.25, 0.5, 0.25])
    with parallel_config("threading"):  # processes would take seconds to start
        again = MixedEnsembleClassifier(random_state=0, n_jobs=2).fit(rows, partly)
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert model.members is None


def test_given_weights_replace_those_of_the_members():
    rows, labels = load_breast_cancer(return_X_y=True)
    members = [("a", GaussianNB(), 5), ("b", GaussianNB(), 1)]
    model = MixedEnsembleClassifier(members, weights=[1, 3]).fit(rows, labels)
    np.testing.assert_allclose(model.weights_, [0.25, 0.75])
    for weights in ([1], [1, -1], [0, 0]):
        with pytest.raises(ValueError, match="not those of 2 members; give one for each"):
            model.set_params(weights=weights).fit(rows, labels)


def test_boosting_counts_less_where_it_has_few_labels_of_a_class():
    assert [member.weight for member in default_members(60, 2)] == [1, 2, 1]
    assert [member.weight for member in default_members(30, 2)] == [1.5, 2, 0.5]
    assert [member.weight for member in default_members(900, 3)] == [1, 2, 1]


def test_many_classes_or_features_cost_no_boosting_and_bounded_memory():
    def members(*sizes):
        return {member.name: member for member in default_members(*sizes)}

    assert list(members(10_000, 100, 2_000)) == ["linear", "trees", "boosting"]
    for sizes in ((10_000, 101, 5), (10_000, 2, 2_001)):
        assert {name: member.weight for name, member in members(*sizes).items()} == {
            "linear": 2,
            "trees": 2,
        }
    assert members(20_000, 100)["trees"].estimator.n_estimators == 30
    assert members(20_000, 150)["trees"].estimator.n_estimators == 2**26 // 3_000_000
    assert members(20_000, 1_000)["trees"].estimator.n_estimators == 3
    assert members(10**6, 1_000)["trees"].estimator.n_estimators == 2


def test_works_inside_self_training_with_a_prior():
    model = SelfTrainingClassifier(
        MixedEnsembleClassifier(MEMBERS),
        policy=RisingShare(0.5, 0.5, rescore=False),
        class_prior="labeled",
        random_state=0,
    ).fit(X, y)
    assert model.score(X, y_true) > 0.9
    counts = np.bincount(model.predict(X[unlabeled]), minlength=3)
    assert np.abs(counts - unlabeled.sum() * model.class_prior_).max() <= 2


def test_bad_members():
    for members, message in [
        ([], "not those of 0 members"),
        (
            [LogisticRegression()],
            r"members holds LogisticRegression\(\); give \(name, classifier\)",
        ),
        ([("a", LogisticRegression(), -1)], "not those of 1 members"),
        ([("a", "linear")], r"members holds \('a', 'linear'\)"),
        (
            [("a", StandardScaler())],
            "StandardScaler has neither predict_proba nor decision_function",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            MixedEnsembleClassifier(members).fit(X, y)


def test_members_given_stay_as_they_are():
    members = [
        ("linear", LogisticRegression(max_iter=1000)),
        ("bayes", make_pipeline(StandardScaler(), GaussianNB())),
    ]
    MixedEnsembleClassifier(members).fit(X, y)
    assert not hasattr(members[0][1], "coef_")
    assert not hasattr(members[1][1][0], "mean_")
    kept = MixedEnsembleClassifier(
        [("trees", ExtraTreesClassifier(5, random_state=3))], random_state=0
    ).fit(X, y)
    assert kept.members_[0].estimator.random_state == 3


def test_preparation_that_needs_labels_gets_the_labelled_rows():
    pipeline = make_pipeline(StandardScaler(), "passthrough", SelectKBest(k=2), GaussianNB())
    fitted = MixedEnsembleClassifier([("bayes", pipeline)]).fit(X, y).members_[0].estimator
    np.testing.assert_allclose(fitted[0].mean_, X.mean(axis=0))
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = SelectKBest(k=2).fit(scaled[~unlabeled], y[~unlabeled])
    np.testing.assert_allclose(fitted[2].scores_, expected.scores_)


def test_rows_are_scored_in_blocks(monkeypatch):
    whole = MixedEnsembleClassifier(random_state=0).fit(X, y)
    monkeypatch.setattr("chary.method.mixture._BLOCK", 40)
    blocks = MixedEnsembleClassifier(random_state=0).fit(X, y)
    np.testing.assert_allclose(blocks.scales_, whole.scales_)
    np.testing.assert_allclose(blocks.predict_head_proba(X), whole.predict_head_proba(X))


def test_probabilities_of_zero_stay_finite():
    model = MixedEnsembleClassifier([("tree", DecisionTreeClassifier(random_state=0))]).fit(X, y)
    assert (model.members_[0].estimator.predict_proba(X) == 0).any()
    assert (model.predict_proba(X) > 0).all()


def test_decision_values_of_two_classes_serve_as_logits():
    two = y_true < 2
    partly = np.where(y[two] == -1, -1, y_true[two])
    model = MixedEnsembleClassifier([("ridge", RidgeClassifier())]).fit(X[two], partly)
    ridge = RidgeClassifier().fit(X[two][partly >= 0], partly[partly >= 0])
    np.testing.assert_array_equal(model.predict(X[two]), ridge.predict(X[two]))


def test_decision_values_of_another_shape_are_refused_or_read():
    class OneColumn(LogisticRegression):
        def decision_function(self, X):
            return super().decision_function(X)[:, None]

    class OneVsOne(LogisticRegression):
        def decision_function(self, X):
            return np.zeros((len(X), 6))

    two = np.where(y == 2, -1, y)
    plain, column = (
        MixedEnsembleClassifier([("a", kind(max_iter=1000))]).fit(X, two)
        for kind in (LogisticRegression, OneColumn)
    )
    np.testing.assert_allclose(column.predict_proba(X), plain.predict_proba(X))
    with pytest.raises(ValueError, match=r"could not broadcast input array from shape \(\d+,6\)"):
        MixedEnsembleClassifier([("a", OneVsOne(max_iter=1000))]).fit(X, y)


def test_a_member_without_an_opinion_leaves_the_others_to_decide():
    even = np.full(150, -1)
    even[[0, 1, 50, 51, 100, 101]] = [0, 0, 1, 1, 2, 2]
    silent = ("silent", DummyClassifier())  # equal probabilities everywhere
    model = MixedEnsembleClassifier([*MEMBERS, silent]).fit(X, even)
    np.testing.assert_array_equal(
        model.predict(X), MixedEnsembleClassifier(MEMBERS).fit(X, even).predict(X)
    )
    np.testing.assert_allclose(
        MixedEnsembleClassifier([silent]).fit(X, even).predict_proba(X), 1 / 3
    )


def test_a_class_whose_rows_are_all_labelled_is_predicted_no_more_here_but_can_be_elsewhere():
    share = np.mean(y == 2)
    model = MixedEnsembleClassifier(
        MEMBERS, class_prior=[(1 - share) / 2, (1 - share) / 2, share]
    ).fit(X, y)
    assert np.sum(model.predict(X[unlabeled]) == 2) <= 1
    assert np.isfinite(model.class_bias_).all()
    assert (model.predict_proba(X)[:, 2] > 0).all()
    with pytest.raises(ValueError, match="class_prior says that 0 % of all"):
        MixedEnsembleClassifier(MEMBERS, class_prior=[0.5, 0.5, 0]).fit(X, y)


def test_without_unlabelled_rows_the_proportions_are_those_of_all_rows():
    model = MixedEnsembleClassifier(MEMBERS, class_prior=[0.2, 0.2, 0.6]).fit(X, y_true)
    assert np.bincount(model.predict(X)).tolist() == [30, 30, 90]


def test_order_of_rows_and_names_of_classes_do_not_matter():
    model = MixedEnsembleClassifier(random_state=0, class_prior="labeled")
    expected = model.fit(X, y).predict_proba(X)
    order = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_allclose(model.fit(X[order], y[order]).predict_proba(X), expected, atol=1e-9)
    renamed = np.where(y < 0, None, np.array(["z", "y", "x"])[y])
    np.testing.assert_allclose(model.fit(X, renamed).predict_proba(X)[:, ::-1], expected, atol=1e-9)
