"""Same seed, same bytes; and nothing outside an estimator changes while it works."""

import hashlib
import json
import os
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest
import threadpoolctl
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_moons

from chary import DiverseEnsembleClassifier, SelfTrainingClassifier
from chary.cli.demo import invented_customers
from chary.labelling import label_table
from chary.model_file import model_bytes
from chary.options import LabelOptions
from chary.tables import Table

UNSEEDED = DiverseEnsembleClassifier((16, 8), n_steps=60)
NETWORK = clone(UNSEEDED).set_params(random_state=0)
ESTIMATORS = [
    pytest.param(NETWORK, id="network"),
    pytest.param(
        SelfTrainingClassifier(UNSEEDED, max_rounds=2, random_state=0), id="self-training"
    ),
]


def moons():
    X, y = make_moons(120, noise=0.2, random_state=0)
    y[20:] = -1
    return X, y


def digest(estimator):
    """A fingerprint of all that a fitted estimator says about some rows."""
    X = np.random.default_rng(1).standard_normal((50, 2))
    said = estimator.predict(X), estimator.predict_proba(X), estimator.predict_confidence(X)
    return hashlib.sha256(
        b"".join(np.ascontiguousarray(part).tobytes() for part in said)
    ).hexdigest()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_refits_are_identical(estimator):
    X, y = moons()
    assert len({digest(clone(estimator).fit(X, y)) for _ in range(4)}) == 1


def digest_of_labels():
    """A fingerprint of the labels and the model of a table with several kinds of columns."""
    options = LabelOptions.of(target="churn", learner="linear")
    result = label_table(Table(invented_customers(), "customers.csv", ","), options)
    labels = json.dumps({name: list(cells) for name, cells in result.added_columns.items()})
    return hashlib.sha256(labels.encode() + model_bytes(result.model)).hexdigest()


def test_another_process_gives_the_same_bytes():
    """With other hashes of texts, and with several threads of Polars, where tests have one."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_reproducibility as t; "
        "print(t.digest(t.NETWORK.fit(*t.moons())), t.digest_of_labels())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, os.path.dirname(__file__)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "7", "POLARS_MAX_THREADS": "4"},
    )
    expected = [digest(clone(NETWORK).fit(*moons())), digest_of_labels()]
    assert done.stdout.split() == expected


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_another_seed_gives_another_model(estimator):
    X, y = moons()
    assert digest(clone(estimator).fit(X, y)) != digest(
        clone(estimator).set_params(random_state=1).fit(X, y)
    )


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_are_used_and_move_on(make):
    X, y = moons()
    model = clone(NETWORK).set_params(random_state=make(3))
    first, second = digest(model.fit(X, y)), digest(model.fit(X, y))
    assert first != second
    assert first == digest(clone(NETWORK).set_params(random_state=make(3)).fit(X, y))


def test_without_a_seed_every_fit_differs():
    X, y = moons()
    model = clone(NETWORK).set_params(random_state=None)
    assert digest(model.fit(X, y)) != digest(model.fit(X, y))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_global_random_state_has_no_influence(estimator):
    X, y = moons()
    state = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(1)  # noqa: NPY002
        one = digest(clone(estimator).fit(X, y))
        np.random.seed(2)  # noqa: NPY002
        assert digest(clone(estimator).fit(X, y)) == one
    finally:
        np.random.set_state(state)  # noqa: NPY002


def world():
    """What a library must leave as it finds it."""
    name, keys, *rest = np.random.get_state()  # noqa: NPY002
    return {
        "NumPy's generator": (name, keys.tolist(), *rest),
        "Python's generator": random.getstate(),
        "threads": [
            (pool["prefix"], pool["num_threads"]) for pool in threadpoolctl.threadpool_info()
        ],
        "warning filters": list(warnings.filters),
        "environment": dict(os.environ),
        "working directory": os.getcwd(),
        "floating-point errors": np.geterr(),
        "print options": np.get_printoptions(),
    }


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_global_state_changes(estimator):
    X, y = moons()
    digest(clone(estimator).fit(X, y))  # what is imported on first use, is
    before = world()
    digest(clone(estimator).fit(X, y))
    assert world() == before


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_neither_data_nor_parameters_change(estimator):
    X, y = moons()
    weights = np.ones(len(X))
    X_before, y_before = X.copy(), y.copy()
    model = clone(estimator)
    params = model.get_params()
    model.fit(X, y, sample_weight=weights)
    digest(model)
    assert_array_equal(X, X_before)
    assert_array_equal(y, y_before)
    assert (weights == 1).all()
    assert {name: id(value) for name, value in model.get_params().items()} == {
        name: id(value) for name, value in params.items()
    }
