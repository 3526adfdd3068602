"""The paper's methods and what is measured of them."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.method import expected_calibration_error
from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.self_training import SelfTrainingClassifier
from studies import STUDIES
from studies import methods as measures
from studies.methods import POLICIES, SELF_TRAINING, TABLE, as_the_authors
from studies.study import Task


@pytest.fixture
def task(blobs):
    return Task(replace(STUDIES["table-ssb"].cells([blobs], 1)[0], model={"n_steps": 30}))


def test_each_policy_comes_with_both_confidences():
    assert list(SELF_TRAINING) == [
        f"{policy}-{kind}" for policy in POLICIES for kind in ("softmax", "tsim")
    ]
    assert [TABLE[name].title for name in ("erm", "pl-softmax", "csta-tsim")] == [
        "ERM",
        "PL softmax",
        "CSTA T-sim",
    ]


def test_all_methods_of_a_seed_start_from_one_fit(task, monkeypatch):
    fits = []
    original = DiverseEnsembleClassifier.fit

    def fit(self, X, y, *, start_from=None):
        fits.append(y)
        return original(self, X, y, start_from=start_from)

    monkeypatch.setattr(DiverseEnsembleClassifier, "fit", fit)
    for method in (*TABLE.values(), *as_the_authors(TABLE).values()):
        method.run(task, **method.options)
    from_the_start = [y for y in fits if np.array_equal(y, task.y)]
    assert len(from_the_start) == 1
    assert len(fits) > 8


@pytest.mark.parametrize("name", ["pl-tsim", "csta-softmax", "msta-tsim-mixed"])
@pytest.mark.parametrize("methods", [TABLE, as_the_authors(TABLE)], ids=["ours", "authors"])
def test_a_shared_first_fit_changes_nothing(task, name, methods):
    method = methods[name]
    shared = method.run(task, **method.options)
    assert shared.warm_start == (methods is not TABLE and name.startswith(("pl", "csta")))
    alone = SelfTrainingClassifier(
        task.estimator(),
        policy=shared.policy,
        confidence=shared.confidence,
        warm_start=shared.warm_start,
    )
    alone.fit(task.X, task.y)
    assert np.array_equal(shared.transduction_, alone.transduction_)
    assert np.array_equal(shared.predict_proba(task.X_test), alone.predict_proba(task.X_test))


def task_of(name, dataset, **changes):
    cell = next(c for c in STUDIES[name].cells([dataset], 1) if c.labeling == "ssb")
    return Task(replace(cell, model={"n_steps": 30}, **changes))


def share_of_pairs(head_probs, code):
    """Of all products of the probabilities that two heads give a class, the share of one class."""
    products = np.sum([a * b for a, b in permutations(head_probs, 2)], axis=0)
    return products[code] / products.sum()


def test_histograms_and_calibration_look_at_the_unlabelled_rows(blobs):
    task = task_of("table-ssb", blobs)
    histogram = measures.confidence_histogram(task, task.initial)
    n_right = (task.initial.predict(task.X[~task.labeled]) == task.y_true[~task.labeled]).sum()
    for name in measures.CONFIDENCES:
        assert sum(histogram[f"{name}_right"]) == n_right
        assert (
            sum(histogram[f"{name}_right"]) + sum(histogram[f"{name}_wrong"])
            == (~task.labeled).sum()
        )
    figures = measures.calibration(task, task.initial)
    assert {
        f"{name}_{what}"
        for name in measures.CONFIDENCES
        for what in ("ece", "ece_mass", "auroc", "aurc")
    } < set(figures)


def test_four_confidences_in_the_prediction_on_the_unlabelled_rows(blobs):
    task = task_of("figure-calibration", blobs)
    found = measures.calibration_errors(task, task.initial)
    X, y = task.X[~task.labeled], task.y_true[~task.labeled]
    predicted = task.initial.predict(X)
    assert found["accuracy"] == np.mean(predicted == y)
    probs, heads = task.initial.predict_joint_proba(X)
    for name, confidence in (
        ("softmax", probs.max(axis=1)),
        ("t_similarity", task.initial.predict_confidence(X)),
        (
            "t_share",
            [share_of_pairs(row, code) for row, code in zip(heads, predicted, strict=True)],
        ),
        ("head_mean", heads.mean(axis=1)[np.arange(len(y)), predicted]),
    ):
        assert found[f"{name}_ece"] == pytest.approx(
            expected_calibration_error(confidence, predicted == y)
        )
        mass = expected_calibration_error(confidence, predicted == y, bins="mass")
        assert found[f"{name}_ece_mass"] == pytest.approx(mass)
    assert found["softmax_notebook"] == pytest.approx(measures.notebook_error(probs.max(axis=1), y))
    assert found["softmax_gap"] == pytest.approx(abs(probs.max(axis=1).mean() - y.mean()))
    # The old measure says the same of what it knows.
    old = measures.calibration(task, task.initial)
    assert found["t_similarity_auroc"] == pytest.approx(old["t_similarity_auroc"])


@given(
    rows=st.lists(st.tuples(st.floats(0.001, 1), st.integers(0, 1)), min_size=1, max_size=40),
    n_bins=st.integers(1, 8),
)
@settings(max_examples=100, deadline=None)
def test_the_notebooks_formula_row_by_row(rows, n_bins):
    """Written as loops: what is "right" there is that [confidence > 1/2] is the class code."""
    expected = 0.0
    for b in range(n_bins):
        inside = [(c, y) for c, y in rows if b / n_bins < c <= (b + 1) / n_bins]
        if inside:
            right = sum((1 if c > 0.5 else 0) == y for c, y in inside) / len(inside)
            expected += (
                len(inside) / len(rows) * abs(right - sum(c for c, _ in inside) / len(inside))
            )
    confidence, codes = (np.array(column) for column in zip(*rows, strict=True))
    assert measures.notebook_error(confidence, codes, n_bins) == pytest.approx(expected)


@given(rows=st.lists(st.tuples(st.floats(0.501, 1), st.integers(0, 1)), min_size=1, max_size=40))
@settings(max_examples=100, deadline=None)
def test_of_softmax_in_two_classes_it_is_no_calibration_error(rows):
    """Check: at least |mean confidence - share of class 1|, and equal if all bins agree in sign."""
    confidence, codes = (np.array(column) for column in zip(*rows, strict=True))
    gap = abs(confidence.mean() - codes.mean())
    error = measures.notebook_error(confidence, codes)
    assert error >= gap - 1e-12
    bins = np.ceil(confidence * 5)
    signs = {
        np.sign(round(confidence[bins == b].mean() - codes[bins == b].mean(), 12))
        for b in set(bins)
    } - {0}
    assert (len(signs) <= 1) == (error == pytest.approx(gap, abs=1e-9))
    # Whichever class the model predicts: right always or wrong always, the number is the same.
    assert measures.notebook_error(confidence, np.zeros(len(codes))) == pytest.approx(
        confidence.mean()
    )


def test_leave_one_out_leaves_one_out(blobs, monkeypatch):
    task = task_of("figure-model-selection", blobs, n_labeled=8)
    seen = []
    original = DiverseEnsembleClassifier.fit
    monkeypatch.setattr(
        DiverseEnsembleClassifier, "fit", lambda self, X, y: seen.append(X) or original(self, X, y)
    )
    result = measures.leave_one_out(task, task.initial)
    X = task.X[task.labeled]
    assert [len(part) for part in seen[-8:]] == [7] * 8
    assert all(not (part == X[i]).all(axis=1).any() for i, part in enumerate(seen[-8:]))
    assert result["leave_one_out"] * 8 == pytest.approx(round(result["leave_one_out"] * 8))


def test_the_unlabelled_rows_do_not_touch_the_prediction_head(blobs):
    """What leave-one-out relies on, up to the rounding of larger matrix products."""
    task = task_of("table-ssb", blobs)
    alone = task.estimator().fit(task.X[task.labeled], task.y[task.labeled])
    assert np.array_equal(alone.predict(task.X_test), task.initial.predict(task.X_test))


def test_projections_and_plane_describe_the_data():
    task = task_of("figure-bias", "digits")
    shown = measures.projections(task, None)
    assert sum(shown["all"]) == len(task.X)
    assert sum(shown["labeled"]) == len(shown["points_labeled"]) == 99
    assert len(shown["points_all"]) == 600
    task = task_of("figure-intro", "moons")
    shown = measures.plane(task, task.initial)
    assert len(shown["softmax"]) == len(shown["t_similarity"]) == len(shown["prediction"]) == 3600
    assert all(0 <= value <= 1 for value in shown["t_similarity"])
