"""Twenty-four checks that any self-training classifier can be put through.

scikit-learn's own estimator checks never show an estimator one unlabelled row; these do. Each takes
a ``Subject``, which knows how to make the model under test.
"""

import os
import pickle
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from chary import LabeledStratifiedKFold


@dataclass(frozen=True)
class Subject:
    """A self-training classifier under test."""

    name: str
    # make(base, max_rounds=..., accept="policy" | "nothing" | "all", **parameters) -> unfitted
    # model
    make: Callable[..., Any]
    base: Callable[[], Any]  # the classifier inside, unfitted and seeded
    rescores: bool = False  # whether accepted rows may be given back


def rounds(model):
    return model.n_rounds_ if hasattr(model, "n_rounds_") else model.n_iter_


def problem(n_classes=3, n_rows=120, n_labeled=36, seed=0):
    """Rows of three overlapping classes, some labels, and what the others would be."""
    X, y_true = make_classification(
        n_rows,
        5,
        n_informative=3,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        random_state=seed,
    )
    y = y_true.copy()
    y[np.random.default_rng(seed).permutation(n_rows)[n_labeled:]] = -1
    return X, y, y_true


def check_01_given_labels_never_change(subject):
    X, y, _ = problem()
    model = subject.make(subject.base()).fit(X, y)
    np.testing.assert_array_equal(model.transduction_[y != -1], y[y != -1])
    np.testing.assert_array_equal(model.labeled_iter_[y != -1], 0)


def check_02_no_unlabelled_rows_is_the_base_estimator(subject):
    X, _, y_true = problem()
    model, base = subject.make(subject.base()).fit(X, y_true), subject.base().fit(X, y_true)
    np.testing.assert_array_equal(model.predict_proba(X), base.predict_proba(X))


def check_03_no_labelled_rows_is_an_error(subject):
    X, y, _ = problem()
    with pytest.raises(ValueError, match="label"):
        subject.make(subject.base()).fit(X, np.full_like(y, -1))


def check_04_one_labelled_class_is_an_error(subject):
    X, y, _ = problem()
    with pytest.raises(ValueError, match="one class"):
        subject.make(subject.base()).fit(X, np.where(y == 0, 0, -1))


def check_05_order_of_labelled_rows_is_irrelevant(subject):
    _check_order(subject, lambda y, rng: rng.permutation(np.flatnonzero(y != -1)))


def check_06_order_of_unlabelled_rows_is_irrelevant(subject):
    _check_order(subject, lambda y, rng: rng.permutation(np.flatnonzero(y == -1)))


def _check_order(subject, shuffled_rows):
    X, y, _ = problem()
    rows = shuffled_rows(y, np.random.default_rng(1))
    order = np.arange(len(y))
    order[np.sort(rows)] = rows
    model, other = (
        subject.make(subject.base()).fit(X, y),
        subject.make(subject.base()).fit(X[order], y[order]),
    )
    np.testing.assert_array_equal(other.transduction_, model.transduction_[order])
    np.testing.assert_array_equal(other.labeled_iter_, model.labeled_iter_[order])
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=1e-4)


def check_07_names_of_classes_are_irrelevant(subject):
    X, y, _ = problem()
    renamed = np.array([9, 7, 5])  # in the opposite order
    model = subject.make(subject.base()).fit(X, y)
    other = subject.make(subject.base()).fit(X, np.where(y == -1, -1, renamed[y]))
    expected = np.where(model.transduction_ == -1, -1, renamed[model.transduction_])
    np.testing.assert_array_equal(other.transduction_, expected)
    np.testing.assert_allclose(other.predict_proba(X)[:, ::-1], model.predict_proba(X), atol=1e-4)


def check_08_types_of_labels_agree(subject):
    X, y, _ = problem(n_classes=2)
    hidden = y == -1
    texts = np.where(hidden, None, np.array(["no", "yes"])[y])
    targets = {
        "float": np.where(hidden, np.nan, y),
        "object": np.where(hidden, None, y),
        "bool": np.where(hidden, None, y.astype(bool)),
        "text": texts,
        "categorical": pd.Series(texts, dtype="category"),
        "nullable": pd.Series(np.where(hidden, pd.NA, y), dtype="Int64"),
    }
    expected = subject.make(subject.base(), max_rounds=2).fit(X, y)
    for kind, target in targets.items():
        model = subject.make(subject.base(), max_rounds=2).fit(X, target)
        np.testing.assert_array_equal(model.labeled_iter_, expected.labeled_iter_, err_msg=kind)
        np.testing.assert_array_equal(
            model.predict(X), model.classes_[expected.predict(X).astype(int)], err_msg=kind
        )


def check_09_marker_is_configurable_and_may_be_absent(subject):
    X, y, y_true = problem()
    expected = subject.make(subject.base()).fit(X, y).transduction_
    other = (
        subject.make(subject.base(), unlabeled=-99).fit(X, np.where(y == -1, -99, y)).transduction_
    )
    np.testing.assert_array_equal(np.where(other == -99, -1, other), expected)
    subject.make(subject.base(), unlabeled=-99).fit(X, y_true)
    plus_minus = np.where(y_true == 0, -1.0, 1.0)
    plus_minus[y == -1] = np.nan
    model = subject.make(subject.base(), unlabeled=None).fit(X, plus_minus)
    np.testing.assert_array_equal(model.classes_, [-1, 1])


def check_10_inputs_are_unchanged(subject):
    X, y, _ = problem()
    X_before, y_before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    subject.make(subject.base()).fit(X, y)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


def check_11_transduction_holds_classes_or_the_marker(subject):
    X, y, _ = problem()
    model = subject.make(subject.base(), max_rounds=1).fit(X, y)
    assert set(model.transduction_) <= {-1, *model.classes_}
    np.testing.assert_array_equal(model.transduction_ == -1, model.labeled_iter_ == -1)


def check_12_history_adds_up(subject):
    X, y, _ = problem()
    model = subject.make(subject.base()).fit(X, y)
    assert len(model.history_) == rounds(model)
    for record in model.history_ if not subject.rescores else model.history_[-1:]:
        new = model.labeled_iter_ == record["round"]
        assert record["n_accepted"] == new.sum()
        assert record["accepted"] == {
            c: int((model.transduction_[new] == c).sum()) for c in model.classes_
        }
        np.testing.assert_allclose(record["mean_confidence"], model.confidence_[new].mean())


def check_13_a_row_is_accepted_once(subject):
    X, y, _ = problem()
    models = [subject.make(subject.base(), max_rounds=k).fit(X, y) for k in range(4)]
    if not subject.rescores:
        for earlier, later in pairwise(models):
            done = earlier.labeled_iter_ >= 0
            np.testing.assert_array_equal(later.transduction_[done], earlier.transduction_[done])
            np.testing.assert_array_equal(later.labeled_iter_[done], earlier.labeled_iter_[done])


def check_14_k_rounds_are_k_plus_1_fits(subject):
    X, y, _ = problem()
    for max_rounds in (0, 1, 2):
        base = CountingRegression()
        CountingRegression.n_fits = 0
        model = subject.make(base, max_rounds=max_rounds).fit(X, y)
        assert rounds(model) <= max_rounds
        assert CountingRegression.n_fits == rounds(model) + 1
    supervised = clone(subject.base()).fit(X[y != -1], y[y != -1])
    if not hasattr(
        supervised, "unlabeled"
    ):  # one that sees unlabelled rows differs from one that does not
        model = subject.make(subject.base(), max_rounds=0).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), supervised.predict_proba(X))


class CountingRegression(LogisticRegression):
    """Counts its fits over all clones."""

    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        CountingRegression.n_fits += 1
        return super().fit(X, y, sample_weight)


def check_15_a_policy_that_accepts_nothing_stops_at_once(subject):
    X, y, _ = problem()
    model = subject.make(subject.base(), accept="nothing").fit(X, y)
    assert model.termination_condition_ == "no_change"
    assert model.labeled_iter_.max() == 0
    np.testing.assert_array_equal(model.transduction_, y)


def check_16_a_policy_that_accepts_all_needs_one_round(subject):
    X, y, _ = problem()
    model = subject.make(subject.base(), accept="all").fit(X, y)
    assert model.termination_condition_ == "all_labeled"
    assert rounds(model) == 1
    assert (model.transduction_ != -1).all()


def check_17_the_stop_reason_is_right_at_the_boundary(subject):
    X, y, _ = problem()
    most = 30
    model = subject.make(subject.base(), max_rounds=most).fit(X, y)
    last, reason = rounds(model), model.termination_condition_

    def reason_at(n_rounds):
        model = subject.make(subject.base(), max_rounds=n_rounds)
        return model.fit(X, y).termination_condition_

    if reason == "all_labeled":
        assert reason_at(last) == "all_labeled"
        assert reason_at(last - 1) == "max_rounds"
    elif reason == "no_change":
        assert reason_at(last + 1) == "no_change"
        assert reason_at(last) == "max_rounds"
    else:
        assert subject.rescores
        assert last == most


def check_18_a_class_without_labels_is_never_invented(subject):
    X, y, _ = problem()
    model = subject.make(subject.base()).fit(X, np.where(y == 2, -1, y))
    np.testing.assert_array_equal(model.classes_, [0, 1])
    assert 2 not in model.transduction_


def check_19_nan_and_infinity_in_unlabelled_rows_are_refused(subject):
    X, y, _ = problem()
    for value, message in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = X.copy()
        bad[np.flatnonzero(y == -1)[0], 1] = value
        for max_rounds in (0, 5):
            with pytest.raises(ValueError, match=message):
                subject.make(subject.base(), max_rounds=max_rounds).fit(bad, y)


def check_20_weight_zero_is_removed(subject):
    X, y, _ = problem()
    dropped = np.flatnonzero(y != -1)[::4]
    weight = np.ones(len(y))
    weight[dropped] = 0
    kept = weight > 0
    model = subject.make(subject.base()).fit(X, y, sample_weight=weight)
    other = subject.make(subject.base()).fit(X[kept], y[kept])
    assert np.mean(model.predict(X) == other.predict(X)) > 0.85


def check_21_pickling_keeps_everything(subject):
    X, y, _ = problem()
    model = subject.make(subject.base()).fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.transduction_, model.transduction_)
    assert loaded.termination_condition_ == model.termination_condition_


def check_22_works_inside_scikit_learn(subject):
    X, y, _ = problem()
    model = subject.make(subject.base(), max_rounds=1)
    make_pipeline(StandardScaler(), clone(model)).fit(X, y).predict(X)

    def labeled_accuracy(estimator, X_test, y_test):
        assert (y_test != -1).all()
        return accuracy_score(y_test, estimator.predict(X_test))

    rounds_parameter = "max_rounds" if "max_rounds" in model.get_params() else "max_iter"
    grid = {rounds_parameter: [0, 1]}
    search = GridSearchCV(model, grid, scoring=labeled_accuracy, cv=LabeledStratifiedKFold(3)).fit(
        X, y
    )
    assert 0 <= search.best_score_ <= 1
    calibrated = CalibratedClassifierCV(FrozenEstimator(clone(model).fit(X, y)), cv=2)
    assert calibrated.fit(X[y != -1], y[y != -1]).predict_proba(X).shape == (len(y), 3)


def check_23_no_global_state_is_touched(subject):
    X, y, _ = problem()

    def state():
        threads = sorted((lib["filepath"], lib["num_threads"]) for lib in threadpool_info())
        numpy_state = [str(part) for part in np.random.get_state()]  # noqa: NPY002
        return (
            numpy_state,
            random.getstate(),
            list(warnings.filters),
            dict(os.environ),
            os.getcwd(),
            threads,
        )

    before = state()
    model = subject.make(subject.base()).fit(X, y)
    model.predict(X)
    assert state() == before


def check_24_refits_are_identical(subject):
    X, y, _ = problem()
    model = subject.make(subject.base(), max_rounds=2)
    first = model.fit(X, y).predict_proba(X).tobytes()
    assert all(model.fit(X, y).predict_proba(X).tobytes() == first for _ in range(2))


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]
