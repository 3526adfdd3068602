"""What is saved comes back to the bit; what is not a model is refused, and nothing of it runs."""

import json
import pickle
import struct

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC

from chary import (
    ClassBalanced,
    Curriculum,
    DiverseEnsembleClassifier,
    FixedThreshold,
    MixedEnsembleClassifier,
    RisingShare,
    SelfTrainingClassifier,
    TopK,
    TransductiveBound,
)
from chary.jobs import model_file as persistence
from chary.jobs.model_file import ModelFileError, load, save
from chary.tables.preparation import TablePreparation


def problem(kind="text", n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    codes = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    classes = {"text": np.array(["ham", "spam", "=egg"], dtype=object), "int": np.array([3, -1, 7], dtype=object),
               "bool": np.array([True, False, False], dtype=object)}[kind]  # fmt: skip
    y = classes[codes]
    y[40:] = None
    return X, y


def small(**params):
    return DiverseEnsembleClassifier(n_steps=20, random_state=0, unlabeled=None, **params)


def round_trip(model, folder):
    path = folder / "model.chary"
    save(model, path, overwrite=True)
    return load(path)


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("kind", ["text", "int", "bool"])
@pytest.mark.parametrize("params", [{}, {"hidden_sizes": ()}, {"hidden_sizes": (7, 3), "dtype": "float64"}])
def test_a_classifier_predicts_the_same_bits(tmp_path, kind, params):
    X, y = problem(kind)
    model = small(**params).fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert same_bits(model.predict_proba(X), loaded.predict_proba(X))
    assert same_bits(model.predict_head_proba(X), loaded.predict_head_proba(X))
    assert same_bits(model.predict_confidence(X), loaded.predict_confidence(X))
    assert model.predict(X).tolist() == loaded.predict(X).tolist()
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.get_params() == model.get_params()
    assert sorted(vars(loaded)) == sorted(vars(model))


@pytest.mark.parametrize(
    "policy",
    [
        None,
        FixedThreshold(),
        Curriculum(0.3, rescore=True),
        TransductiveBound(),
        TopK(9),
        ClassBalanced(),
        RisingShare(),
    ],
)
def test_self_training_keeps_everything(tmp_path, policy):
    X, y = problem()
    model = SelfTrainingClassifier(small(), policy=policy, unlabeled=None, max_rounds=2).fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert same_bits(model.predict_proba(X), loaded.predict_proba(X))
    assert same_bits(model.predict_confidence(X), loaded.predict_confidence(X))
    for name in ("labeled_iter_", "confidence_"):
        assert same_bits(getattr(model, name), getattr(loaded, name))
    assert loaded.transduction_.tolist() == model.transduction_.tolist()
    assert repr(loaded.history_) == repr(model.history_)
    assert loaded.termination_condition_ == model.termination_condition_
    assert loaded.policy == policy


def test_a_pipeline_takes_tables(tmp_path):
    rng = np.random.default_rng(0)
    frame = {"n": rng.normal(size=90), "c": rng.choice(["u", "v", '"w"'], 90), "d": ["2024-01-31", "", "x"] * 30}
    y = np.where(frame["n"] > 0, "yes", "no").astype(object)
    y[30:] = None
    preparation = TablePreparation(drop=["d"])
    pipeline = Pipeline([("prepare", preparation), ("classify", small())]).fit(frame, y)
    loaded = round_trip(pipeline, tmp_path)
    assert same_bits(pipeline.predict_proba(frame), loaded.predict_proba(frame))
    assert loaded[0].columns_ == preparation.columns_
    assert loaded[0].get_params() == {**preparation.get_params(), "drop": ("d",)}


@pytest.mark.parametrize("class_prior", [None, "labeled", {"ham": 0.2, "spam": 0.5, "=egg": 0.3}])
def test_a_mixed_ensemble_and_a_class_prior_keep_everything(tmp_path, class_prior):
    X, y = problem()
    ensemble = MixedEnsembleClassifier(random_state=0)
    model = SelfTrainingClassifier(
        ensemble, policy=RisingShare(), class_prior=class_prior, unlabeled=None, max_rounds=1
    ).fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert same_bits(model.predict_proba(X), loaded.predict_proba(X))
    assert same_bits(model.predict_confidence(X), loaded.predict_confidence(X))
    assert same_bits(model.predict_head_proba(X), loaded.predict_head_proba(X))
    assert same_bits(model.class_bias_, loaded.class_bias_)
    assert loaded.class_prior == class_prior


@pytest.fixture(scope="module")
def tree():
    X, y = problem()
    forest = ExtraTreesClassifier(1, random_state=0).fit(X[:40], y[:40].astype(str))
    return persistence._tree_state(forest.estimators_[0].tree_)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("left_child", 0),  # back to the root: an endless walk
        ("left_child", 10**6),  # out of the tree
        ("right_child", -1),  # half a leaf
        ("right_child", -7),
        ("feature", 4),  # out of the row
        ("feature", -2),
    ],
)
def test_a_forged_tree_is_refused_before_scikit_learn_trusts_it(tree, name, value):
    assert persistence._restore_tree(tree).node_count == len(tree["values"])
    column = tree["nodes"][name].copy()
    column[0] = value
    with pytest.raises(ModelFileError, match="contradicts itself"):
        persistence._restore_tree({**tree, "nodes": {**tree["nodes"], name: column}})


@pytest.mark.parametrize(
    "change",
    [
        lambda t: {"max_depth": -1},
        lambda t: {"max_depth": 10**9},
        lambda t: {"nodes": {name: column[:-1] for name, column in t["nodes"].items()}},
        lambda t: {"nodes": {name: column for name, column in t["nodes"].items() if name != "threshold"}},
        lambda t: {"nodes": {name: column.astype(np.float32) for name, column in t["nodes"].items()}},
        lambda t: {"values": t["values"].astype(np.float32)},
        lambda t: {"values": t["values"].repeat(2, axis=1)},
    ],
)
def test_a_tree_of_other_shapes_is_refused(tree, change):
    with pytest.raises(ModelFileError, match="contradicts itself"):
        persistence._restore_tree({**tree, **change(tree)})


def test_trees_of_another_scikit_learn_are_named(tmp_path, monkeypatch):
    X, y = problem()
    model = MixedEnsembleClassifier(random_state=0, unlabeled=None).fit(X, y)
    save(model, tmp_path / "m.chary")
    monkeypatch.setattr(persistence.sklearn, "__version__", "9.9")
    with pytest.raises(ModelFileError, match=r"holds trees of scikit-learn .*, and this is 9\.9"):
        load(tmp_path / "m.chary")


def test_a_generator_is_not_kept(tmp_path):
    X, y = problem()
    model = small().set_params(random_state=np.random.default_rng(0)).fit(X, y)
    assert round_trip(model, tmp_path).random_state is None


def test_the_file_is_plain_safetensors(tmp_path):
    X, y = problem()
    save(small().fit(X, y), tmp_path / "m.chary")
    arrays = safetensors.numpy.load_file(tmp_path / "m.chary")
    assert all(array.dtype.kind in "fiub" for array in arrays.values())


def test_an_existing_file_is_kept_unless_told(tmp_path):
    X, y = problem()
    model = small().fit(X, y)
    save(model, tmp_path / "m.chary")
    with pytest.raises(FileExistsError):
        save(model, tmp_path / "m.chary")
    save(model, tmp_path / "m.chary", overwrite=True)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda X, y: SVC().fit(X[:40], y[:40].astype(str)), "A SVC cannot be saved"),
        (lambda X, y: SelfTrainingClassifier(SVC(), unlabeled=None, confidence="softmax").fit(X, y),
         "A SVC cannot be saved"),
        (lambda X, y: SelfTrainingClassifier(small(), unlabeled=None, confidence=lambda m, X: X[:, 0]).fit(X, y),
         "A function cannot be saved"),
        (lambda X, y: make_pipeline(SVC()).fit(X[:40], y[:40].astype(str)), "A SVC cannot be saved"),
        (lambda X, y: object(), "A object cannot be saved"),
        (lambda X, y: type("Network", (), {})(), "A Network cannot be saved"),
    ],
)  # fmt: skip
def test_what_cannot_be_saved_says_so_and_leaves_no_file(tmp_path, model, message):
    with pytest.raises(ModelFileError, match=message):
        save(model(*problem()), tmp_path / "m.chary")
    assert list(tmp_path.iterdir()) == []


def test_an_unfitted_model_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        save(small(), tmp_path / "m.chary")


# ---------------------------------------------------------------- foreign and forged files


def forge(path, model=None, arrays=None, **metadata):
    """A file with a right checksum and whatever content."""
    arrays = {} if arrays is None else arrays
    description = json.dumps({"versions": persistence._versions(), "model": model})
    checksum = persistence._checksum(description, arrays)
    given = {"format": persistence.FORMAT, "description": description, "sha256": checksum, **metadata}
    path.write_bytes(safetensors.numpy.save(arrays, given))
    return path


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        b"\x00" * 100,
        b"\xff" * 100,
        pickle.dumps(Bomb()),
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 4) + b"[[]]",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 200_000) + b"[" * 200_000,
        struct.pack("<Q", 22) + b'{"__metadata__": [1,2]}',
        safetensors.numpy.save({"a": np.zeros(3)}, {"format": "another"}),
    ],
)
def test_foreign_files_are_refused_in_one_sentence(tmp_path, data):
    path = tmp_path / "m.chary"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"m\.chary is (not|damaged)") as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_missing_files_folders_and_giants(tmp_path, monkeypatch):
    for path in (tmp_path, tmp_path / "none.chary"):
        with pytest.raises(ModelFileError, match="cannot be read"):
            load(path)
    monkeypatch.setattr(persistence, "_MAX_BYTES", 10)
    with pytest.raises(ModelFileError, match="more than a model of chary can have"):
        load(forge(tmp_path / "m.chary"))


def network(**changes):
    state = {
        "n_features": 2,
        "hidden_sizes": {"tuple": []},
        "n_classes": 2,
        "n_heads": 2,
        "params": {"array": "p"},
    }
    return {"class": "Network", "state": {"dict": [[key, value] for key, value in {**state, **changes}.items()]}}


def classifier(params, fitted):
    state = {"dict": [["params", {"dict": params}], ["fitted", {"dict": fitted}]]}
    return {"class": "DiverseEnsembleClassifier", "state": state}


PARAMS = {"p": np.zeros(18, np.float32)}


@pytest.mark.parametrize(
    "model",
    [
        {"class": "os.system", "state": {"dict": []}},
        {"class": "SVC", "state": {"dict": []}},
        {"class": "Pipeline", "state": {"dict": [["steps", [{"tuple": ["a", 1]}]]]}},
        {"class": "DiverseEnsembleClassifier", "state": {"dict": []}},
        classifier([], []),
        classifier([], [["__class__", 1]]),
        classifier([], [["predict", 1]]),
        classifier([["nope", 1]], []),
        network(),
        {"class": "Curriculum", "state": {"dict": [["step", "much"]]}},
        {"array": "missing"},
        {"tuple": 3},
        {"float": "1e5"},
        {"dict": [[[], 1]]},
        {"strange": 1},
        {"values": ["a"], "codes": "p", "dtype": "text"},
        network(n_features=3),
        network(n_features=2**40),
        network(n_features=-2),
        network(n_features=True),
        network(n_features="2"),
        network(hidden_sizes={"tuple": [10**9, 10**9]}),
        network(params=[1, 2]),
        network(more=1),
    ],
)  # fmt: skip
def test_forged_descriptions_are_refused(tmp_path, model):
    with pytest.raises(ModelFileError) as caught:
        load(forge(tmp_path / "m.chary", model, PARAMS))
    assert "\n" not in str(caught.value)


def test_the_forged_network_is_whole_when_nothing_is_wrong_with_it():
    restored = persistence._unpack(network(), PARAMS)
    assert restored.params.tobytes() == PARAMS["p"].tobytes()


def test_a_model_of_other_shapes_is_refused(tmp_path):
    X, y = problem()
    for name, value in (("mean_", np.zeros(3)), ("classes_", np.array(["a", "b"])), ("n_features_in_", 9)):
        model = small().fit(X, y)
        setattr(model, name, value)
        with pytest.raises(ModelFileError, match="contradicts itself"):
            round_trip(model, tmp_path)


def test_a_wrong_checksum_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="its checksum is wrong"):
        load(forge(tmp_path / "m.chary", network(), PARAMS, sha256="0" * 64))


# ---------------------------------------------------------------- values

scalar = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
value = st.recursive(
    scalar,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(value)
def test_values_come_back_equal_and_of_the_same_type(original):
    arrays = {}
    packed = json.loads(json.dumps(persistence._pack(original, arrays), allow_nan=False))
    assert repr(persistence._unpack(packed, arrays)) == repr(original)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3), max_size=8))
def test_object_arrays_keep_their_values_apart(items):
    array = np.empty(len(items), dtype=object)
    array[:] = items
    arrays = {}
    again = persistence._unpack(json.loads(json.dumps(persistence._pack(array, arrays))), arrays)
    assert repr(again.tolist()) == repr(items)
    assert again.dtype == object


def test_an_aim_is_kept_and_one_that_nobody_knows_is_refused(tmp_path):
    X, y = problem()
    model = small(aim="balanced").fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert loaded.aim == "balanced"
    assert loaded.class_bias_.any()
    assert same_bits(model.predict_proba(X), loaded.predict_proba(X))
    model.aim = "rare"
    save(model, tmp_path / "forged")
    with pytest.raises(ModelFileError, match="contradicts itself"):
        load(tmp_path / "forged")
