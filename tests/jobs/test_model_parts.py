"""Parts of a model come back as they were; numbers that are none, and parameters that nobody knows, do not."""

from math import inf, nan

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from chary import DiverseEnsembleClassifier, MixedEnsembleClassifier, SelfTrainingClassifier, TransductiveBound
from chary.jobs.model_parts import CODECS, ModelFileError, made, require, require_finite
from chary.method import plain_trees
from chary.tables import TablePreparation

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] > 0, "a", "b")
PARTLY = np.where(np.arange(60) < 30, Y, None)


def there_and_back(value, change=lambda state: None):
    codec = CODECS[type(value).__name__]
    state = codec.state(value)
    change(state)
    return codec.restore(state)


@pytest.mark.parametrize("value", [1.5, 3, True, None, "nan", [1.0, {"a": (2.0, np.ones(2))}], np.array(["x"])])
def test_finite_numbers_pass(value):
    require_finite(value)


@pytest.mark.parametrize("value", [nan, inf, -inf, np.array([1, inf]), [1, (2, {"a": np.full((2, 2), nan)})]])
def test_others_do_not(value):
    with pytest.raises(ModelFileError, match="holds an infinite or missing number; copy or train it again"):
        require_finite(value)


def test_what_is_required_is_told_in_one_sentence():
    require(True)
    with pytest.raises(ModelFileError, match=r"^The model file contradicts itself; copy or train it again\.$"):
        require(False)


# ---------------------------------------------------------------- scikit-learn's parameters


def test_only_parameters_that_are_not_the_defaults_are_kept():
    state = CODECS["LogisticRegression"].state(LogisticRegression(C=0.5, max_iter=1000))
    assert state == {"params": {"C": 0.5, "max_iter": 1000}, "fitted": {}}
    forest = ExtraTreesClassifier(7, random_state=np.random.RandomState(0))
    assert CODECS["ExtraTreesClassifier"].state(forest) == {"params": {"n_estimators": 7}, "fitted": {}}
    assert there_and_back(forest).n_estimators == 7


def test_a_parameter_that_is_not_known_is_named():
    with pytest.raises(
        ModelFileError, match=r"LogisticRegression with the parameter 'fairness', which scikit-learn"
    ):
        made(LogisticRegression, {"fairness": 1})
    with pytest.raises(ModelFileError, match=r"parameter 'luck', which chary .* does not know"):
        made(DiverseEnsembleClassifier, {"luck": 1})


def test_a_model_of_before_warm_starts_comes_back_without_them():
    network = DiverseEnsembleClassifier((4,), n_steps=20, random_state=0)
    model = SelfTrainingClassifier(
        network, policy=TransductiveBound(index="mixed"), confidence="t_share", warm_start=True, unlabeled=None
    ).fit(X, PARTLY)
    restored = there_and_back(model)
    assert (restored.warm_start, restored.confidence, restored.policy.index) == (True, "t_share", "mixed")
    np.testing.assert_array_equal(restored.predict_confidence(X), model.predict_confidence(X))
    old = there_and_back(model, lambda state: state["params"].pop("warm_start"))
    assert old.warm_start is False


@pytest.mark.parametrize("value", [nan, inf])
def test_parameters_are_finite_where_infinity_means_nothing(value):
    with pytest.raises(ModelFileError, match="infinite or missing"):
        made(DiverseEnsembleClassifier, {"gamma": value})
    assert not np.isfinite(made(LogisticRegression, {"C": inf}).C)  # no penalty
    assert made(DiverseEnsembleClassifier, {"unlabeled": value}).unlabeled is value


@pytest.mark.parametrize(
    "model",
    [
        StandardScaler(),
        StandardScaler(with_std=False),
        StandardScaler(with_mean=False),
        QuantileTransformer(n_quantiles=9),
        LogisticRegression(),
        plain_trees(ExtraTreesClassifier(3).fit(X, Y)),
        plain_trees(HistGradientBoostingClassifier(max_iter=3).fit(X, Y)),
    ],
)
def test_members_come_back(model):
    model = model if hasattr(model, "classes_") else model.fit(X, Y)
    loaded = there_and_back(model)
    method = "transform" if hasattr(model, "transform") else "predict_proba"
    np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))


# ---------------------------------------------------------------- numbers that are none


def poison(array, value):
    array = np.array(array, float)
    array.flat[0] = value
    return array


@pytest.mark.parametrize("value", [nan, inf, -inf])
@pytest.mark.parametrize(
    ("model", "name"),
    [
        (StandardScaler(), "mean_"),
        (StandardScaler(), "scale_"),
        (QuantileTransformer(n_quantiles=9), "quantiles_"),
        (QuantileTransformer(n_quantiles=9), "references_"),
        (LogisticRegression(), "coef_"),
        (LogisticRegression(), "intercept_"),
        (DiverseEnsembleClassifier(n_steps=2), "mean_"),
        (DiverseEnsembleClassifier(n_steps=2), "scale_"),
        (MixedEnsembleClassifier([("l", LogisticRegression())], unlabeled=None), "scales_"),
        (MixedEnsembleClassifier([("l", LogisticRegression())], unlabeled=None), "weights_"),
    ],
)
def test_learned_numbers_are_finite(model, name, value):
    model = model.fit(X, Y)
    poisoned = poison(getattr(model, name), value)
    with pytest.raises(ModelFileError, match=r"infinite or missing|contradicts itself"):
        there_and_back(model, lambda state: state["fitted"].update({name: poisoned}))


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_weights_of_the_network_are_finite(value):
    model = DiverseEnsembleClassifier(n_steps=2, unlabeled=None).fit(X, PARTLY)
    model.network_.params[3] = value
    with pytest.raises(ModelFileError, match="infinite or missing"):
        there_and_back(model.network_)


@pytest.mark.parametrize("kind", ["diverse", "mixed", "self-training"])
def test_minus_infinity_is_the_offset_of_a_class_that_has_no_share(kind):
    model = {
        "diverse": DiverseEnsembleClassifier(n_steps=2, unlabeled=None),
        "mixed": MixedEnsembleClassifier([("l", LogisticRegression())], unlabeled=None),
        "self-training": SelfTrainingClassifier(LogisticRegression(), unlabeled=None, confidence="softmax"),
    }[kind].fit(X, PARTLY)
    model.class_bias_ = np.array([0, -inf])
    assert there_and_back(model).class_bias_.tolist() == [0, -inf]
    for bias in ([-inf, -inf], [0, inf], [nan, 0], [0]):
        model.class_bias_ = np.array(bias, float)
        with pytest.raises(ModelFileError, match="contradicts itself"):
            there_and_back(model)


@pytest.mark.parametrize("name", ["median", "mean", "scale"])
@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_statistics_of_columns_are_finite(name, value):
    preparation = TablePreparation().fit({"n": X[:, 0], "m": X[:, 1]})
    with pytest.raises(ModelFileError, match="infinite or missing"):
        there_and_back(
            preparation, lambda state: state["statistics"].update({name: poison(state["statistics"][name], value)})
        )


def test_a_weight_is_a_finite_number():
    members = CODECS["Member"]
    for weight in (nan, inf, "2", None):
        with pytest.raises(ModelFileError):
            members.restore({"name": "l", "estimator": LogisticRegression(), "weight": weight})
    assert members.restore({"name": "l", "estimator": LogisticRegression(), "weight": 2.0}).weight == 2


def test_members_know_the_columns_and_classes_of_their_ensemble():
    ensemble = MixedEnsembleClassifier([("l", LogisticRegression())], unlabeled=None).fit(X, Y)
    for other in (
        LogisticRegression().fit(X[:, :2], Y),
        LogisticRegression().fit(X, np.arange(60) % 3),
        make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:, :2], Y),
    ):
        ensemble.members_ = [ensemble.members_[0]._replace(estimator=other)]
        with pytest.raises(ModelFileError, match="contradicts itself"):
            there_and_back(ensemble)
