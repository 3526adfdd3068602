"""Are labelled rows like the rest? Figures against independent oracles, verdicts on known cases."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.preprocessing import StandardScaler

from chary.labelling import diagnose as diagnostics
from chary.labelling import diagnose_table, label_table
from chary.labelling.defaults import DEFAULTS
from chary.labelling.diagnose import (
    MILD,
    REPRESENTATIVE,
    STRONG,
    UNKNOWN,
    Diagnosis,
    Separation,
    diagnose_rows,
    feature_shifts,
    measure_coverage,
    separate,
)
from chary.options import LabelOptions
from chary.tables import Table, TableError


def table(n=400, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, rng


# Fewer permutations than by default take less time.
FEW = replace(DEFAULTS, n_permutations=199)


# ---------------------------------------------------------------- separation


@given(st.integers(0, 10_000))
@settings(max_examples=15)
def test_auc_of_each_column_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, (20, 3)).astype(float)  # with ties
    targets = np.array([rng.permutation([1.0] * 7 + [0.0] * 13) for _ in range(3)]).T
    expected = [roc_auc_score(targets[:, j], scores[:, j]) for j in range(3)]
    np.testing.assert_allclose(diagnostics._auc(scores, targets), expected)


def test_separation_is_that_of_a_kernel_ridge_in_stratified_folds(monkeypatch):
    X, rng = table(120)
    labeled = X[:, 0] + rng.normal(size=len(X)) > 1
    folds = []
    original = diagnostics.stratified_folds
    monkeypatch.setattr(
        diagnostics, "stratified_folds", lambda *args: folds.extend(original(*args)) or folds
    )
    found = separate(X, labeled, random_state=0, defaults=FEW)
    K = diagnostics._kernel(X, DEFAULTS.kernel_components)
    aucs, weights = [], []
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(X)), fold)
        ridge = KernelRidge(alpha=1.0, kernel="precomputed").fit(
            K[np.ix_(rest, rest)], labeled[rest] - labeled[rest].mean()
        )
        aucs.append(roc_auc_score(labeled[fold], ridge.predict(K[np.ix_(fold, rest)])))
        weights.append(labeled[fold].sum())
    assert found.auc == pytest.approx(np.average(aucs, weights=weights))


def kernel_by_scikit_learn(X):
    """The mean of three kernels, each of mean diagonal 1; 1 stands for a typical distance of 0."""
    scale = StandardScaler().fit_transform
    scores = scale(PCA(min(10, X.shape[1])).fit_transform(X))
    distances = cdist(X, X, "sqeuclidean")[~np.eye(len(X), dtype=bool)]
    kernels = [
        linear_kernel(np.hstack([X, scale(np.clip(X, -3, 3) ** 2)])),
        linear_kernel(np.hstack([scores, scale(np.abs(scores))])),
        rbf_kernel(X, gamma=1 / (np.median(distances) or 1)),
    ]
    return np.mean([kernel / np.diag(kernel).mean() for kernel in kernels], axis=0)


@pytest.mark.parametrize("n_features", [4, 15])
def test_the_kernel_is_a_mean_of_three_of_mean_diagonal_one(n_features):
    X = table(50, n_features)[0] ** 3  # beyond three standard deviations here and there
    X = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(
        diagnostics._kernel(X, DEFAULTS.kernel_components), kernel_by_scikit_learn(X), atol=1e-9
    )


def test_where_most_rows_are_equal_the_kernel_has_a_width_all_the_same():
    X = StandardScaler().fit_transform(np.eye(1, 40).T)
    np.testing.assert_allclose(
        diagnostics._kernel(X, DEFAULTS.kernel_components), kernel_by_scikit_learn(X), atol=1e-9
    )


def test_a_column_is_constant_if_it_varies_by_rounding_alone():
    constant = np.tile([0.0, 0.1, -123_456.789, 1e-7], (997, 1))
    assert not diagnostics._standardize(constant).any()
    tiny = np.arange(9.0)[:, None] * 1e-15
    assert diagnostics._standardize(tiny).std() == pytest.approx(1)


def test_principal_scores_are_those_of_pca():
    X, _ = table(60, 8)
    X = (X - X.mean(axis=0)) * np.arange(1, 9)
    scores = diagnostics._principal_scores(X @ X.T, DEFAULTS.kernel_components)
    np.testing.assert_allclose(np.abs(scores), np.abs(PCA(8).fit_transform(X)), atol=1e-8)
    # One direction has one score, however many features there are.
    assert diagnostics._principal_scores(np.outer(X[:, 0], X[:, 0]), 10).shape == (60, 1)


def test_the_smallest_p_value_is_that_of_999_permutations():
    X, _ = table(60, 2)
    assert separate(X, X[:, 0] > 0.5, 0).p_value == 0.001


def test_p_values_are_uniform_when_labels_are_drawn_at_random():
    p_values = []
    for seed in range(40):
        X, rng = table(80, 3, seed)
        p_values.append(separate(X, rng.permutation(80) < 25, seed, FEW).p_value)
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


def test_bias_of_every_shape_is_found():
    X, _ = table(500)
    shapes = {
        "one side": X[:, 0] > 1,
        "both ends": np.abs(X[:, 2]) > 1.5,  # no linear rule sees it
        "the middle": np.abs(X[:, 1]) < 0.2,
        "an interaction": X[:, 0] * X[:, 1] > 1,
    }
    for name, labeled in shapes.items():
        assert separate(X, labeled, 0, FEW).p_value < 0.01, name


# ---------------------------------------------------------------- coverage


def test_coverage_is_95_percent_for_a_random_draw_and_low_where_a_region_has_no_labels():
    random, corner = [], []
    for seed in range(20):
        X, rng = table(400, 3, seed)
        random.append(measure_coverage(X, rng.permutation(400) < 60, seed))
        corner.append(measure_coverage(X, (X[:, 0] > 0.5) & (rng.random(400) < 0.5), seed))
    assert 0.93 < np.mean(random) < 0.97
    assert max(corner) < 0.85


def test_coverage_of_identical_rows_is_full():
    assert measure_coverage(np.zeros((40, 2)), np.arange(40) < 10, 0) == 1.0


def test_rows_at_the_same_distance_from_every_other_row_are_near():
    """Rounding must not put a row beyond a limit that is its own distance."""
    corners = np.eye(60) * 0.7
    assert measure_coverage(corners, np.arange(60) < 20, 0) == 1.0


# ---------------------------------------------------------------- features


def test_differences_are_in_standard_deviations():
    X, rng = table(300, 4)
    labeled = rng.random(300) < 0.3
    X[labeled, 1] += 1.5
    X[:, 2] = rng.random(300) < np.where(labeled, 0.6, 0.2)
    X[:, 3] = 7.0
    shifts = feature_shifts(X, labeled, ["a", "b", "c", "d"])
    assert [shift.name for shift in shifts] == ["b", "c", "a"]  # d never varies
    b, c, _ = shifts
    assert c.labeled_mean == pytest.approx(X[labeled, 2].mean())
    spread = np.sqrt((X[labeled, 1].var() + X[~labeled, 1].var()) / 2)
    assert b.difference == pytest.approx((X[labeled, 1].mean() - X[~labeled, 1].mean()) / spread)


def test_a_feature_that_gives_the_label_away_comes_first():
    X, rng = table(100)
    labeled = rng.random(100) < 0.3
    X[:, 4] = labeled
    first = feature_shifts(X, labeled, list("abcde"))[0]
    assert (first.name, first.difference) == ("e", np.inf)


def test_no_varying_feature_no_shift():
    assert feature_shifts(np.ones((30, 2)), np.arange(30) < 10, ["a", "b"]) == []


# ---------------------------------------------------------------- verdict


def test_the_verdict_needs_significance_and_its_degree_the_auc():
    assert diagnostics._verdict(Separation(0.9, 0.02), DEFAULTS) == REPRESENTATIVE
    assert diagnostics._verdict(Separation(0.6, 0.01), DEFAULTS) == MILD
    assert diagnostics._verdict(Separation(0.75, 0.01), DEFAULTS) == STRONG


def test_the_sentence_says_why_and_what_to_do():
    said = {
        REPRESENTATIVE: "look like the rest (AUC 0.62, p = 0.020). A class may still mean",
        MILD: "differ mildly from the rest (AUC 0.62, p = 0.020), and 25% of the other rows",
        STRONG: "may be far too high or too low",
    }
    for verdict, words in said.items():
        diagnosis = Diagnosis(verdict, Separation(0.62, 0.02), 0.75, [], {}, 20, 80)
        assert words in diagnosis.sentence
        assert (
            "may not hold" if verdict == REPRESENTATIVE else "too high or too low"
        ) in diagnosis.sentence
        assert "label some random rows" in diagnosis.sentence
        assert "trust the audit" in replace(diagnosis, audited=True).sentence


def test_a_p_value_of_a_thousandth_is_the_smallest_there_is():
    for p_value, words in ((0.001, "p < 0.001"), (0.002, "p = 0.002"), (0.05, "p = 0.050")):
        assert words in Diagnosis(MILD, Separation(0.7, p_value), 0.9, [], {}, 20, 80).sentence


def test_rows_that_lie_far_from_labels_are_named_only_where_they_are_more_than_chance_gives():
    covered = Diagnosis(STRONG, Separation(0.9, 0.001), 0.96, [], {}, 20, 80)
    assert "far from any label" not in covered.sentence
    assert "10% of the other rows are far from any label" in replace(covered, coverage=0.9).sentence


def test_random_labels_are_representative_and_biased_ones_are_not():
    verdicts = {REPRESENTATIVE: 0, STRONG: 0}
    for seed in range(10):
        X, rng = table(250, 6, seed)
        uniform = diagnose_rows(X, rng.permutation(250) < 50, random_state=seed, defaults=FEW)
        verdicts[REPRESENTATIVE] += uniform.verdict == REPRESENTATIVE
        far_out = np.abs(X[:, 0]) + 0.3 * rng.normal(size=250) > 1.5
        biased = diagnose_rows(X, far_out, random_state=seed, defaults=FEW)
        verdicts[STRONG] += biased.verdict == STRONG
    assert verdicts[REPRESENTATIVE] >= 9
    assert verdicts[STRONG] >= 9


@pytest.mark.skipif(
    "CHARY_DATA" not in os.environ, reason="set CHARY_DATA to the folder of the benchmark data"
)
@pytest.mark.parametrize(("name", "n_labeled"), [("mushrooms", 79), ("svmguide1", 39)])
def test_the_papers_biased_labels_are_strongly_biased(name, n_labeled):
    from chary.method.simulated_bias import selection_biased
    from studies.study import train_test_protocol

    data = np.load(Path(os.environ["CHARY_DATA"]) / f"{name}.npz")
    X, _, rows, _ = train_test_protocol(data["X"], data["y"], random_state=0)
    biased = selection_biased(X, data["y"][rows], n_labeled, r=2, random_state=0)
    uniform = np.random.default_rng(0).permutation(len(biased)) < n_labeled
    verdicts = [
        diagnose_rows(X, labeled, random_state=0, defaults=FEW).verdict
        for labeled in (biased, uniform)
    ]
    assert verdicts == [STRONG, REPRESENTATIVE]


def test_too_few_rows_say_so():
    X, _ = table(50)
    diagnosis = diagnose_rows(X, np.arange(50) < 9, random_state=0)
    assert (diagnosis.verdict, diagnosis.separation, diagnosis.shifts) == (UNKNOWN, None, [])
    assert "at least 10 of each are needed" in diagnosis.sentence
    for n_labeled in (10, 40):
        assert diagnose_rows(X, np.arange(50) < n_labeled, random_state=0).verdict != UNKNOWN


def test_six_hundred_rows_of_each_side_are_compared(monkeypatch):
    compared = []

    def separation(X, labeled, rng, defaults):
        compared.append((labeled.sum(), (~labeled).sum()))
        return Separation(0.5, 1.0)

    monkeypatch.setattr(diagnostics, "separate", separation)
    X, _ = table(1400, 1)
    for n_labeled in (50, 700):
        diagnose_rows(X, np.arange(1400) < n_labeled, random_state=0)
    assert compared == [(50, 600), (600, 600)]


def test_the_same_seed_gives_the_same_diagnosis_and_rows_beyond_the_sample_are_counted():
    X, rng = table(1500, 3)
    labeled = rng.random(1500) < 0.45
    first, second = (diagnose_rows(X, labeled, random_state=5, defaults=FEW) for _ in range(2))
    assert first.separation == second.separation
    assert first.coverage == second.coverage
    assert first.n_labeled + first.n_unlabeled == 1500


def test_constant_features_do_no_harm():
    X = np.zeros((60, 3))
    diagnosis = diagnose_rows(X, np.arange(60) < 20, random_state=0)
    assert diagnosis.verdict == REPRESENTATIVE
    X[:, 1] = np.arange(60)
    assert [
        shift.name for shift in diagnose_rows(X, np.arange(60) < 20, random_state=0).shifts
    ] == ["x1"]


# ---------------------------------------------------------------- of a table


@pytest.fixture(scope="module")
def few_rows():
    x = np.random.default_rng(0).normal(size=120)
    y = [("yes" if value > 0 else "no") if abs(value) > 1 else None for value in x]
    return Table(pl.DataFrame({"x": x, "colour": ["red", "blue"] * 60, "y": y}), "t.csv", ",")


def test_it_is_the_diagnosis_of_the_whole_job(few_rows):
    found, job = (
        diagnose_table(few_rows, LabelOptions.of(target="y", seed=4)),
        label_table(few_rows, LabelOptions.of(target="y", seed=4, rounds=0)),
    )
    assert found.diagnosis.verdict == job.diagnosis.verdict == "strongly biased"
    assert found.diagnosis.separation == job.diagnosis.separation
    assert found.diagnosis.shifts == job.diagnosis.shifts
    assert found.columns == job.model[0].columns_
    assert found.diagnosis.class_counts == {
        name: int((job.labels.codes == code).sum()) for code, name in enumerate(job.labels.classes)
    }


def test_steps_are_announced_and_kinds_can_be_overridden(few_rows):
    steps = []
    found = diagnose_table(
        few_rows, LabelOptions.of(target="y", drop=["colour"]), progress=steps.append
    )
    assert steps == ["Preparing columns", "Comparing labelled and unlabelled rows"]
    assert [(column.name, column.kind) for column in found.columns] == [
        ("x", "numeric"),
        ("colour", "dropped"),
    ]


def test_a_wrong_target_is_one_sentence(few_rows):
    with pytest.raises(TableError, match="has no column 'z'"):
        diagnose_table(few_rows, LabelOptions.of(target="z"))
