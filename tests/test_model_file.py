"""What is saved comes back to the bit; what is not a model is refused, and nothing of it runs."""

import json
import os
import pickle
import random
import struct
import tracemalloc
from collections import Counter
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from chary import (
    Curriculum,
    DiverseEnsembleClassifier,
    FixedThreshold,
    KBest,
    MixedEnsembleClassifier,
    RisingShare,
    SelfTrainingClassifier,
    TransductiveBound,
)
from chary import model_file as persistence
from chary.api import TableModel
from chary.labelling.score import Predictor
from chary.method.estimators import last_step
from chary.method.trees import plain_trees
from chary.model_file import ModelFileError, load_bytes, load_model, save_model
from chary.tables import TableError, TablePreparation
from tests.fuzz import forging


def problem(kind="text", n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    codes = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    classes = {
        "text": np.array(["ham", "spam", "=egg"], dtype=object),
        "int": np.array([3, -1, 7], dtype=object),
        "bool": np.array([True, False, False], dtype=object),
    }[kind]
    y = classes[codes]
    y[40:] = None
    return X, y


def small(**params):
    return DiverseEnsembleClassifier(n_steps=20, random_state=0, unlabeled=None, **params)


def round_trip(model, folder):
    path = folder / "model.chary"
    save_model(model, path, force=True)
    return load_model(path)


def without_seconds(record):
    return {name: value for name, value in record.items() if name != "seconds"}


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("text", {}),
        ("int", {"hidden_sizes": ()}),
        ("bool", {"hidden_sizes": (7, 3), "dtype": "float64"}),
    ],
)
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
        KBest(7),
        Curriculum(0.3, rescore=True),
        TransductiveBound(index="mixed"),
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
    assert repr(loaded.history_) == repr([without_seconds(record) for record in model.history_])
    assert loaded.termination_condition_ == model.termination_condition_
    assert loaded.policy == policy


def test_a_pipeline_takes_tables(tmp_path):
    rng = np.random.default_rng(0)
    frame = {
        "n": rng.normal(size=90),
        "c": rng.choice(["u", "v", '"w"'], 90),
        "d": ["2024-01-31", "", "x"] * 30,
    }
    y = np.where(frame["n"] > 0, "yes", "no").astype(object)
    y[30:] = None
    preparation = TablePreparation(drop=["d"])
    pipeline = Pipeline([("prepare", preparation), ("classify", small())]).fit(frame, y)
    loaded = round_trip(pipeline, tmp_path)
    assert same_bits(pipeline.predict_proba(frame), loaded.predict_proba(frame))
    assert loaded[0].columns_ == loaded[0].ordered_ == preparation.ordered_
    assert [column.name for column in preparation.columns_] == ["n", "c", "d"]
    assert loaded[0].get_params() == {**preparation.get_params(), "drop": ("d",)}


def test_a_mixed_ensemble_and_a_class_prior_keep_everything(tmp_path):
    X, y = problem()
    class_prior = {"ham": 0.2, "spam": 0.5, "=egg": 0.3}
    ensemble = MixedEnsembleClassifier(
        [(str(C), LogisticRegression(C=C)) for C in (0.1, 1)], random_state=0
    )
    model = SelfTrainingClassifier(
        ensemble, policy=RisingShare(), class_prior=class_prior, unlabeled=None, max_rounds=1
    ).fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert same_bits(model.predict_proba(X), loaded.predict_proba(X))
    assert same_bits(model.predict_confidence(X), loaded.predict_confidence(X))
    assert same_bits(model.predict_head_proba(X), loaded.predict_head_proba(X))
    assert same_bits(model.class_bias_, loaded.class_bias_)
    assert loaded.class_prior == class_prior


QUANTILES = QuantileTransformer(n_quantiles=20, output_distribution="normal")
MEMBERS = [
    ("linear", make_pipeline(StandardScaler(), LogisticRegression(C=np.inf))),
    ("quantile", make_pipeline(QUANTILES, LogisticRegression())),
    ("trees", ExtraTreesClassifier(6, max_features=0.5), 2.0),
    ("boosting", HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=3)),
]


def mixed(kind="text", **params):
    """A mixed ensemble of every class of scikit-learn that a file may hold, and its rows."""
    X, y = problem(kind)
    with threadpool_limits(1):
        return MixedEnsembleClassifier(MEMBERS, random_state=0, unlabeled=None, **params).fit(
            X, y
        ), X


@pytest.mark.parametrize("kind", ["text", "bool"])
def test_members_predict_the_same_bits_and_are_saved_to_the_same_bytes(tmp_path, kind):
    model, X = mixed(kind)
    loaded = round_trip(model, tmp_path)
    written = (tmp_path / "model.chary").read_bytes()
    assert [type(last_step(member.estimator)).__name__ for member in loaded.members_] == [
        "LogisticRegression", "LogisticRegression", "PlainForest", "PlainBoosting"]  # fmt: skip
    for name in ("predict", "predict_proba", "predict_head_proba", "predict_confidence"):
        np.testing.assert_array_equal(
            getattr(loaded, name)(X), getattr(model, name)(X), strict=True
        )
    round_trip(loaded, tmp_path)
    assert (tmp_path / "model.chary").read_bytes() == written
    assert loaded.members[2][1].get_params() == model.members[2][1].get_params()
    with threadpool_limits(1):
        assert same_bits(clone(loaded).fit(*problem(kind)).predict_proba(X), model.predict_proba(X))


def test_trees_that_are_found_nowhere_are_not_saved(tmp_path):
    model, _ = mixed()
    del model.members_[3].estimator._predictors  # a scikit-learn to come may keep them elsewhere
    with pytest.raises(
        ModelFileError, match=r"A HistGradientBoostingClassifier of .* cannot be saved"
    ):
        save_model(model, tmp_path / "m.chary")


def test_the_same_run_writes_the_same_bytes(tmp_path):
    X, y = problem()
    model = SelfTrainingClassifier(small(), policy=Curriculum(0.2), unlabeled=None, max_rounds=2)
    once = persistence.model_bytes(model.fit(X, y))
    assert {persistence.model_bytes(model.fit(X, y)) for _ in range(3)} == {once}


def test_a_generator_is_not_kept(tmp_path):
    X, y = problem()
    model = small().set_params(random_state=np.random.default_rng(0)).fit(X, y)
    assert round_trip(model, tmp_path).random_state is None


def test_the_file_is_plain_safetensors(tmp_path):
    X, y = problem()
    save_model(small().fit(X, y), tmp_path / "m.chary")
    arrays = safetensors.numpy.load_file(tmp_path / "m.chary")
    assert all(array.dtype.kind in "fiub" for array in arrays.values())


def test_an_existing_file_is_kept_unless_told(tmp_path):
    X, y = problem()
    model = small().fit(X, y)
    save_model(model, tmp_path / "m.chary")
    with pytest.raises(FileExistsError):
        save_model(model, tmp_path / "m.chary")
    save_model(model, tmp_path / "m.chary", force=True)


UNSAVED = [
    (lambda X, y: SVC().fit(X[:40], y[:40].astype(str)), "A SVC cannot be saved"),
    (
        lambda X, y: SelfTrainingClassifier(SVC(), unlabeled=None, confidence="softmax").fit(X, y),
        "A SVC cannot be saved",
    ),
    (
        lambda X, y: SelfTrainingClassifier(
            small(), unlabeled=None, confidence=lambda m, X: X[:, 0]
        ).fit(X, y),
        "A function cannot be saved",
    ),
    (lambda X, y: make_pipeline(SVC()).fit(X[:40], y[:40].astype(str)), "A SVC cannot be saved"),
    (
        lambda X, y: HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(
            np.round(np.abs(X[:40])), y[:40].astype(str)
        ),
        "with categorical features cannot be saved",
    ),
    (lambda X, y: object(), "A object cannot be saved"),
    (lambda X, y: type("Network", (), {})(), "A Network cannot be saved"),
]


def test_what_cannot_be_saved_says_so_and_leaves_no_file(tmp_path):
    for model, message in UNSAVED:
        with pytest.raises(ModelFileError, match=message):
            save_model(model(*problem()), tmp_path / "m.chary")
    assert list(tmp_path.iterdir()) == []


def test_an_unfitted_model_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        save_model(small(), tmp_path / "m.chary")


# ---------------------------------------------------------------- foreign and forged files


def forge(path, model=None, arrays=None, **metadata):
    """A file with a right checksum and whatever content."""
    arrays = {} if arrays is None else arrays
    description = json.dumps({"model": model})
    checksum = persistence._checksum(description, arrays)
    given = {
        "format": persistence.FORMAT,
        "description": description,
        "sha256": checksum,
        **metadata,
    }
    path.write_bytes(safetensors.numpy.save(arrays, given))
    return path


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


FOREIGN = [
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
    safetensors.numpy.save({"a": np.zeros(3)}),
    safetensors.numpy.save({"a": np.zeros(3)}, {"format": "chary-model-1"}),
]


def test_foreign_files_are_refused_in_one_sentence(tmp_path):
    path = tmp_path / "m.chary"
    for data in FOREIGN:
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match=r"^m\.chary is (not|damaged).*again\.$"):
            load_model(path)


def test_a_model_of_a_later_version_says_what_to_install(tmp_path):
    with pytest.raises(
        ModelFileError,
        match=r"install the version that it was made with, or train the model again\.$",
    ):
        load_model(forge(tmp_path / "m.chary", network(), PARAMS, format="chary-model-3"))


def test_missing_files_folders_and_giants(tmp_path, monkeypatch):
    for path in (tmp_path, tmp_path / "none.chary"):
        with pytest.raises(ModelFileError, match="cannot be read"):
            load_model(path)
    monkeypatch.setattr(persistence, "_MAX_BYTES", 10)
    with pytest.raises(ModelFileError, match="more than a model of chary can have"):
        load_model(forge(tmp_path / "m.chary"))


def network(**changes):
    state = {
        "n_features": 2,
        "hidden_sizes": {"tuple": []},
        "n_classes": 2,
        "n_heads": 2,
        "params": {"array": "p"},
    }
    return {
        "class": "Network",
        "state": {"dict": [[key, value] for key, value in {**state, **changes}.items()]},
    }


def classifier(params, fitted):
    state = {"dict": [["params", {"dict": params}], ["fitted", {"dict": fitted}]]}
    return {"class": "DiverseEnsembleClassifier", "state": state}


PARAMS = {"p": np.zeros(18, np.float32)}


FORGED = [
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
]  # fmt: skip


def test_forged_descriptions_are_refused(tmp_path):
    for model in FORGED:
        with pytest.raises(ModelFileError, match=r"^[^\n]*\.$"):
            load_model(forge(tmp_path / "m.chary", model, PARAMS))


def test_the_forged_network_is_whole_when_nothing_is_wrong_with_it():
    restored = persistence._unpack(network(), dict(PARAMS))
    assert restored.params.tobytes() == PARAMS["p"].tobytes()


def test_a_model_of_other_shapes_is_refused(tmp_path):
    X, y = problem()
    for name, value in (
        ("mean_", np.zeros(3)),
        ("classes_", np.array(["a", "b"])),
        ("n_features_in_", 9),
    ):
        model = small().fit(X, y)
        setattr(model, name, value)
        with pytest.raises(ModelFileError, match="could not be loaded again"):
            save_model(model, tmp_path / "m.chary")
    assert not (tmp_path / "m.chary").exists()


def test_a_wrong_checksum_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="contradicts itself"):
        load_model(forge(tmp_path / "m.chary", network(), PARAMS, sha256="0" * 64))


# ---------------------------------------------------- every field is checked before a model is used


@pytest.fixture(scope="module")
def model_of_a_table():
    """A model of a table with a column of every kind, and its rows."""
    model, frame = forging.example_model()
    kinds = {column.kind for column in model[0].columns_}
    assert kinds == {"numeric", "categorical", "boolean", "date", "time", "words", "embedding"}
    return model, frame


def fields_of(description, class_name, *names):
    """Find a field in the first object of a class that has it, as its list of name and value."""
    for parent, key in forging.places(description):
        node = parent[key]
        if not isinstance(node, dict) or node.get("class") != class_name:
            continue
        entry = [None, node["state"]]
        for name in names:
            entry = (
                next((field for field in entry[1]["dict"] if field[0] == name), None)
                if entry
                else None
            )
        if entry is not None:
            return entry
    raise LookupError(names)


def put(class_name, *path_and_value):
    """Make a change of a description: a field of a class, found by a path, gets another value."""

    def change(description, arrays):
        *names, value = path_and_value
        fields_of(description, class_name, *names)[1] = value

    return change


def add(class_name, *names, field=("more", 1)):
    """Make a change of a description: a dictionary, found by a path of names, gets a field more."""

    def change(description, arrays):
        fields_of(description, class_name, *names)[1]["dict"].append(list(field))

    return change


def first_column(kind, field, value):
    """Give a change of a description: a field of the first column of a kind gets another value."""

    def change(description, arrays):
        columns = fields_of(description, "TablePreparation", "columns")[1]
        kinds = [dict(column["state"]["dict"])["kind"] for column in columns]
        entries = columns[kinds.index(kind)]["state"]["dict"]
        next(entry for entry in entries if entry[0] == field)[1] = value

    return change


def same_name_twice(description, arrays):
    columns = fields_of(description, "TablePreparation", "columns")[1]
    columns[1]["state"]["dict"][0][1] = columns[0]["state"]["dict"][0][1]


def entry_twice(description, arrays):
    entries = fields_of(description, "SelfTrainingClassifier", "params")[1]["dict"]
    entries.append(list(entries[0]))


def no_weights(description, arrays):
    name = fields_of(description, "MixedEnsembleClassifier", "fitted", "weights_")[1]["array"]
    arrays[name] = np.zeros_like(arrays[name])


NOT_A_MODEL = [
    first_column("boolean", "categories", {"tuple": []}),
    first_column("boolean", "categories", {"tuple": ["maybe"]}),
    first_column("numeric", "form", "amount;x"),
    first_column("date", "form", "ydm"),
    first_column("embedding", "form", "9999"),
    first_column("categorical", "other", 2),
    first_column("categorical", "learned", {"dict": [["more", 1]]}),
    first_column("numeric", "name", "\ud800"),
    same_name_twice,
    add("TablePreparation", "statistics", field=("more", {"array": "a0"})),
    add("TablePreparation", "params", field=("more", {"tuple": []})),
    put("TablePreparation", "params", "drop", "text"),
    put("SelfTrainingClassifier", "params", "max_rounds", -1),
    put("SelfTrainingClassifier", "fitted", "classes_", ["no", "yes"]),
    add("SelfTrainingClassifier", "fitted", field=("more_", 1)),
    put("RisingShare", "first", 7),
    put("LogisticRegression", "params", {"dict": [["C", -1.0]]}),
    add("SelfTrainingClassifier", "params", field=({"tuple": ["a\nb", 1]}, 1)),
    no_weights,
    entry_twice,
]  # fmt: skip


def test_every_field_is_checked_before_a_model_is_used(model_of_a_table):
    data = persistence.model_bytes(model_of_a_table[0])
    load_bytes(data)
    for change in NOT_A_MODEL:
        description, arrays, _ = forging.parsed(data)
        change(description, arrays)
        with pytest.raises(ModelFileError, match=r"^[^\n]*again\.$"):
            load_bytes(forging.written(description, arrays))


def test_classes_that_are_lists_or_alike_are_refused(model_of_a_table):
    for values in ([["a"], ["b"]], [1, "1"], ["a", "a"], ["a", None]):
        description, arrays, _ = forging.parsed(persistence.model_bytes(model_of_a_table[0]))
        for class_name in ("SelfTrainingClassifier", "MixedEnsembleClassifier"):
            classes = fields_of(description, class_name, "fitted", "classes_")[1]
            classes.update(values=values, dtype="object")
        with pytest.raises(ModelFileError, match=r"again\.$"):
            load_bytes(forging.written(description, arrays))


def test_forged_models_are_refused_or_label_rows(model_of_a_table):
    """With a right checksum, any change gives one sentence of chary's, at once or for the rows."""
    model, frame = model_of_a_table
    data = persistence.model_bytes(model)
    outcomes = Counter()
    refusals = []
    n_tries = 5000 if os.environ.get("CHARY_FUZZ") == "full" else 150
    for seed in range(n_tries):
        try:
            loaded = TableModel(load_bytes(forging.forged(data, random.Random(seed))))
            loaded.predict_frame(frame, probabilities=True)
            loaded.predict(frame)
            outcomes["labelled"] += 1
        except (ModelFileError, TableError) as error:
            outcomes[type(error).__name__] += 1
            refusals.append(str(error))
    assert not any("\n" in refusal for refusal in refusals)
    assert outcomes["ModelFileError"] > n_tries / 2
    assert outcomes["labelled"] > n_tries / 50


def test_a_model_of_a_table_has_two_steps_and_a_confidence(tmp_path, model_of_a_table):
    model, frame = model_of_a_table
    y = np.where(frame["number"].to_numpy() > 0, "yes", "no")
    pipelines = [
        Pipeline([("prepare", model[0])]),
        make_pipeline(TablePreparation(), LogisticRegression()).fit(frame, y),
        make_pipeline(TablePreparation(), StandardScaler(), small()).fit(frame, y),
    ]
    for pipeline in pipelines:
        save_model(pipeline, tmp_path / "m.chary", force=True)
        load_model(tmp_path / "m.chary")
        with pytest.raises(TableError, match=r"is not a model of a table"):
            Predictor.from_file(tmp_path / "m.chary")


@pytest.mark.skipif(os.name != "posix", reason="needs pipes and devices")
def test_pipes_devices_and_folders_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.chary")
    (tmp_path / "link.chary").symlink_to("pipe.chary")
    for path in (tmp_path / "pipe.chary", tmp_path / "link.chary", tmp_path, Path("/dev/zero")):
        for load in (load_model, Predictor.from_file):
            with pytest.raises(
                ModelFileError, match=r"cannot be read \(not a regular file\); check the path\.$"
            ):
                load(path)


# ------------------------------------------------------------- what a small file may make in memory


def peak_of_loading(path, message="damaged|contradicts|do not know"):
    """The most bytes in use while a file is refused."""
    tracemalloc.start()
    with pytest.raises(ModelFileError, match=message):
        load_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_a_long_text_told_once_does_not_fill_the_memory(tmp_path):
    node = {"values": ["x" * 100_000], "codes": "c", "dtype": "text"}
    path = forge(
        tmp_path / "m.chary", classifier([], [["classes_", node]]), {"c": np.zeros(2_000, np.uint8)}
    )
    assert path.stat().st_size < 110_000
    assert peak_of_loading(path) < 20 * path.stat().st_size  # as texts of one length: 800 MB


def test_an_array_is_used_once(tmp_path):
    node = {"values": ["x" * 100], "codes": "c", "dtype": "text"}
    path = forge(tmp_path / "m.chary", [node] * 1000, {"c": np.zeros(20_000, np.uint8)})
    assert peak_of_loading(path) < 400 * path.stat().st_size  # 1000 times: 8 GB


def test_columns_that_promise_thousands_of_features_are_refused_on_the_way(tmp_path):
    column = [
        [name, value] for name, value in {"name": "e", "kind": "embedding", "form": "4096"}.items()
    ]
    columns = [{"class": "Column", "state": {"dict": column}}] * 300
    state = {"dict": [["params", {"dict": []}], ["columns", columns], ["statistics", {"dict": []}]]}
    path = forge(tmp_path / "m.chary", {"class": "TablePreparation", "state": state})
    # All of them: a million names and more.
    assert peak_of_loading(path) < 100 * path.stat().st_size


def test_long_texts_of_many_rows_come_back_as_objects(tmp_path):
    X, y = problem("int", n=400)
    y[y != None] = np.where(y[y != None] == 3, "a" * 3000, "b")  # noqa: E711
    model = SelfTrainingClassifier(small(), unlabeled=None, max_rounds=1).fit(X, y)
    model.transduction_ = np.array(
        ["b" if label is None else label for label in model.transduction_]
    )
    loaded = round_trip(model, tmp_path)
    assert loaded.transduction_.dtype == object
    assert loaded.transduction_.tolist() == model.transduction_.tolist()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


# ---------------------------------------------------------------- whatever is in the arrays

HOSTILE = [0, -1, 1, 7, 10**6, -(2**31), 2**31 - 1, np.nan, np.inf, -np.inf]


def changed(array, rng):
    """One number another, or the array cut, turned, or of another type."""
    way = rng.randrange(6)
    if way == 0:
        return array[: rng.randrange(len(array))] if array.ndim else array[None]
    if way == 1:
        return np.ascontiguousarray(array.T[None])
    if way == 2:
        with np.errstate(invalid="ignore"):
            return array.astype(rng.choice(["f4", "f8", "i4", "i8", "u1", "bool"]))
    array, wrong = array.copy(), rng.choice(HOSTILE)
    fits = array.dtype.kind == "f" or (
        np.isfinite(wrong) and np.can_cast(np.min_scalar_type(wrong), array.dtype)
    )
    if array.size and fits:
        array.flat[rng.randrange(array.size)] = wrong
    return array


def test_arrays_that_were_changed_are_refused_or_predict(tmp_path):
    """With a right checksum, an attack gives one sentence, or a model with finite numbers."""
    model, X = mixed()
    save_model(model, tmp_path / "m.chary")
    header, _ = persistence._read_header((tmp_path / "m.chary").read_bytes())
    metadata = header["__metadata__"]
    original = safetensors.numpy.load_file(tmp_path / "m.chary")
    refusals = []
    n_tries = 2000 if os.environ.get("CHARY_FUZZ") == "full" else 40
    for seed in range(n_tries):
        rng = random.Random(seed)
        arrays, name = dict(original), rng.choice(sorted(original))
        arrays[name] = changed(arrays[name], rng)
        checksum = persistence._checksum(metadata["description"], arrays)
        (tmp_path / "m.chary").write_bytes(
            persistence._file(arrays, {**metadata, "sha256": checksum})
        )
        try:
            loaded = load_model(tmp_path / "m.chary")
        except ModelFileError as error:
            refusals.append(str(error))
            continue
        assert np.isfinite(loaded.predict_proba(X)).all(), (seed, name)
    assert len(refusals) > n_tries / 2
    assert not any("\n" in refusal for refusal in refusals)


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


@settings(max_examples=100, deadline=None)
@given(value)
def test_values_come_back_equal_and_of_the_same_type(original):
    arrays = {}
    packed = json.loads(json.dumps(persistence._pack(original, arrays), allow_nan=False))
    assert repr(persistence._unpack(packed, arrays)) == repr(original)


@settings(max_examples=50, deadline=None)
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
    with pytest.raises(ModelFileError, match="could not be loaded again"):
        save_model(model, tmp_path / "forged")
    assert not (tmp_path / "forged").exists()


@pytest.mark.parametrize("confidence", ["rare", ["t_similarity"], None])
def test_a_confidence_that_nobody_knows_is_refused(tmp_path, confidence):
    X, y = problem()
    model = SelfTrainingClassifier(small(), unlabeled=None, max_rounds=1).fit(X, y)
    model.confidence = confidence
    with pytest.raises(ModelFileError, match="could not be loaded again"):
        save_model(model, tmp_path / "forged")


# ---------------------------------------------------------------- single classes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] > 0, "a", "b")
PARTLY = np.where(np.arange(60) < 30, Y, None)
NONE = (np.nan, np.inf, -np.inf)


def there_and_back(value, change=lambda state: None):
    state = persistence._state(value)
    change(state)
    try:
        return persistence._restore(type(value), state)
    except Exception as error:  # as a whole file is refused
        raise ModelFileError(str(error)) from error


def test_only_parameters_that_are_not_the_defaults_are_kept():
    state = persistence._state(LogisticRegression(C=0.5, max_iter=1000))
    assert state == {"params": {"C": 0.5, "max_iter": 1000}, "fitted": {}}
    forest = ExtraTreesClassifier(7, random_state=np.random.RandomState(0))
    assert persistence._state(forest) == {"params": {"n_estimators": 7}, "fitted": {}}
    assert there_and_back(forest).n_estimators == 7


def test_a_parameter_that_is_not_known_is_named():
    model = LogisticRegression()
    with pytest.raises(
        ModelFileError, match="LogisticRegression with the parameter fairness, which"
    ):
        there_and_back(model, lambda state: state["params"].update(fairness=1))
    with pytest.raises(ModelFileError, match="parameter luck, which the installed chary"):
        there_and_back(small(), lambda state: state["params"].update(luck=1))


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


def poisoned(array, value):
    array = np.array(array, float)
    array.flat[0] = value
    return array


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (StandardScaler(), ("mean_", "scale_")),
        (QuantileTransformer(n_quantiles=9), ("quantiles_", "references_")),
        (LogisticRegression(), ("coef_", "intercept_")),
        (DiverseEnsembleClassifier(n_steps=2), ("mean_", "scale_")),
        (
            MixedEnsembleClassifier([("l", LogisticRegression())], unlabeled=None),
            ("scales_", "weights_"),
        ),
    ],
)
def test_learned_numbers_are_finite(model, names):
    model = model.fit(X, Y)
    for name, value in product(names, NONE):
        wrong = poisoned(getattr(model, name), value)
        with pytest.raises(ModelFileError):
            there_and_back(model, lambda state: state["fitted"].update({name: wrong}))  # noqa: B023


def test_quantiles_that_are_not_in_order_are_refused():
    """Zeros and ones may have a place among them when other numbers have none."""
    model = QuantileTransformer(n_quantiles=9).fit(X)
    model.quantiles_[4, 0] = 7
    with pytest.raises(ModelFileError):
        there_and_back(model)


def poison_statistic(state, name, value):
    wrong = poisoned(state["statistics"][name], value)
    state.update(statistics={**state["statistics"], name: wrong})


def test_weights_of_the_network_and_statistics_of_columns_are_finite():
    model = DiverseEnsembleClassifier(n_steps=2, unlabeled=None).fit(X, PARTLY)
    preparation = TablePreparation().fit({"n": X[:, 0], "m": X[:, 1]})
    for value in NONE:
        model.network_.params[3] = value
        with pytest.raises(ModelFileError):
            there_and_back(model.network_)
        for name in ("median", "mean", "scale"):
            with pytest.raises(ModelFileError):
                there_and_back(preparation, partial(poison_statistic, name=name, value=value))


@pytest.mark.parametrize("kind", ["diverse", "mixed", "self-training"])
def test_minus_infinity_is_the_offset_of_a_class_that_has_no_share(kind):
    model = {
        "diverse": DiverseEnsembleClassifier(n_steps=2, unlabeled=None),
        "mixed": MixedEnsembleClassifier([("l", LogisticRegression())], unlabeled=None),
        "self-training": SelfTrainingClassifier(
            LogisticRegression(), unlabeled=None, confidence="softmax", class_prior="labeled"
        ),
    }[kind].fit(X, PARTLY)
    model.class_bias_ = np.array([0, -np.inf])
    assert there_and_back(model).class_bias_.tolist() == [0, -np.inf]
    for bias in ([-np.inf, -np.inf], [0, np.inf], [np.nan, 0], [1, 1, 1]):
        model.class_bias_ = np.array(bias, float)
        with pytest.raises(ModelFileError):
            there_and_back(model)


def test_members_know_the_columns_and_classes_of_their_ensemble():
    ensemble = MixedEnsembleClassifier([("l", LogisticRegression())], unlabeled=None).fit(X, Y)
    (member,) = ensemble.members_
    for other in (
        LogisticRegression().fit(X[:, :2], Y),
        LogisticRegression().fit(X, np.arange(60) % 3),
        make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:, :2], Y),
    ):
        ensemble.members_ = [member._replace(estimator=other)]
        with pytest.raises(ModelFileError):
            there_and_back(ensemble)
