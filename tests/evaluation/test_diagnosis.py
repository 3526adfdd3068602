"""Is the labelled part like the rest? Figures against independent oracles, verdicts on known cases."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import roc_auc_score

from chary.evaluation import diagnosis as diagnostics
from chary.evaluation.diagnosis import (
    MILD,
    REPRESENTATIVE,
    STRONG,
    UNKNOWN,
    Diagnosis,
    Separation,
    diagnose,
    feature_shifts,
    measure_coverage,
    measure_separation,
)


def table(n=400, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, rng


@pytest.fixture
def few_permutations(monkeypatch):
    monkeypatch.setattr(diagnostics, "_N_PERMUTATIONS", 199)


# ---------------------------------------------------------------- separation


@given(st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_auc_of_each_column_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, (20, 3)).astype(float)  # with ties
    targets = np.array([rng.permutation([1.0] * 7 + [0.0] * 13) for _ in range(3)]).T
    expected = [roc_auc_score(targets[:, j], scores[:, j]) for j in range(3)]
    np.testing.assert_allclose(diagnostics._auc(scores, targets), expected)


def test_separation_is_that_of_a_kernel_ridge_in_stratified_folds(monkeypatch, few_permutations):
    X, rng = table(120)
    labeled = X[:, 0] + rng.normal(size=len(X)) > 1
    folds = []
    original = diagnostics.stratified_folds
    monkeypatch.setattr(diagnostics, "stratified_folds", lambda *args: folds.extend(original(*args)) or folds)
    found = measure_separation(X, labeled, random_state=0)
    K = diagnostics._kernel(X)
    aucs, weights = [], []
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(X)), fold)
        ridge = KernelRidge(alpha=1.0, kernel="precomputed").fit(
            K[np.ix_(rest, rest)], labeled[rest] - labeled[rest].mean()
        )
        aucs.append(roc_auc_score(labeled[fold], ridge.predict(K[np.ix_(fold, rest)])))
        weights.append(labeled[fold].sum())
    assert found.auc == pytest.approx(np.average(aucs, weights=weights))
    assert found.low < found.auc < found.high


def test_the_kernel_is_a_mean_of_three_of_mean_diagonal_one():
    X, _ = table(50)
    K = diagnostics._kernel((X - X.mean(axis=0)) / X.std(axis=0))
    assert np.trace(K) / len(K) == pytest.approx(1)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-9


def test_principal_scores_are_those_of_pca():
    X, _ = table(60, 8)
    X = (X - X.mean(axis=0)) * np.arange(1, 9)
    scores = diagnostics._principal_scores(X @ X.T, 3)
    np.testing.assert_allclose(np.abs(scores), np.abs(PCA(3).fit_transform(X)), atol=1e-8)


def test_p_values_are_uniform_when_labels_are_drawn_at_random(few_permutations):
    p_values = []
    for seed in range(60):
        X, rng = table(100, 3, seed)
        p_values.append(measure_separation(X, rng.permutation(100) < 30, seed).p_value)
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


@pytest.mark.parametrize(
    "biased",
    [
        lambda X: X[:, 0] > 1,  # one side
        lambda X: np.abs(X[:, 2]) > 1.5,  # both ends: no linear rule sees it
        lambda X: np.abs(X[:, 1]) < 0.2,  # the middle
        lambda X: X[:, 0] * X[:, 1] > 1,  # an interaction
    ],
)
def test_bias_of_every_shape_is_found(biased, few_permutations):
    X, _ = table(500)
    assert measure_separation(X, biased(X), 0).p_value < 0.01


@pytest.mark.parametrize("effect", [0.3, 1.5])
def test_the_interval_covers_the_auc(effect):
    truth = stats.norm.cdf(effect / np.sqrt(2))
    rng = np.random.default_rng(0)
    labeled = np.arange(150) < 30
    covered = []
    for _ in range(400):
        scores = rng.normal(size=150) + effect * labeled
        low, high = diagnostics._auc_interval(scores, labeled, [np.arange(150)])
        covered.append(low <= truth <= high)
    assert 0.91 <= np.mean(covered) <= 0.99


def test_the_interval_of_a_perfect_separation_is_not_a_point():
    labeled = np.arange(50) < 20
    low, high = diagnostics._auc_interval(labeled * 1.0, labeled, [np.arange(50)])
    assert 0.8 < low < 1
    assert high <= 1


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


# ---------------------------------------------------------------- features


def test_features_are_tested_and_adjusted():
    X, rng = table(300, 4)
    labeled = rng.random(300) < 0.3
    X[labeled, 1] += 1.5
    X[:, 2] = rng.random(300) < np.where(labeled, 0.6, 0.2)
    X[:, 3] = 7.0
    shifts = feature_shifts(X, labeled, ["a", "b", "c", "d"])
    assert [shift.name for shift in shifts] == ["b", "c", "a"]  # d never varies
    b, c, a = shifts
    assert (b.test, c.test) == ("KS", "Fisher")
    tail = min(
        stats.fisher_exact(_crosstab(X[:, 2] > 0, labeled), alternative=side).pvalue
        for side in ("less", "greater")
    )
    raw = [
        stats.ks_2samp(X[labeled, 0], X[~labeled, 0], method="asymp").pvalue,
        stats.ks_2samp(X[labeled, 1], X[~labeled, 1], method="asymp").pvalue,
        min(1, 2 * tail),
    ]
    np.testing.assert_allclose([a.p_value, b.p_value, c.p_value], stats.false_discovery_control(raw), rtol=1e-9)
    spread = np.sqrt((X[labeled, 1].var() + X[~labeled, 1].var()) / 2)
    assert b.difference == pytest.approx((X[labeled, 1].mean() - X[~labeled, 1].mean()) / spread)


def _crosstab(high, labeled):
    return [[np.sum(high & labeled), np.sum(high & ~labeled)], [np.sum(~high & labeled), np.sum(~high & ~labeled)]]


def test_a_feature_that_gives_the_label_away_comes_first():
    X, rng = table(100)
    labeled = rng.random(100) < 0.3
    X[:, 4] = labeled
    first = feature_shifts(X, labeled, list("abcde"))[0]
    assert (first.name, first.difference) == ("e", np.inf)


def test_no_varying_feature_no_shift():
    assert feature_shifts(np.ones((30, 2)), np.arange(30) < 10, ["a", "b"]) == []


# ---------------------------------------------------------------- verdict


@pytest.mark.parametrize(
    ("separation", "verdict"),
    [
        (Separation(0.9, 0.8, 0.95, 0.02), REPRESENTATIVE),
        (Separation(0.6, 0.5, 0.7, 0.01), MILD),
        (Separation(0.75, 0.7, 0.8, 0.01), STRONG),
    ],
)
def test_the_verdict_needs_significance_and_its_degree_the_auc(separation, verdict):
    assert diagnostics._verdict(separation) == verdict


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (REPRESENTATIVE, "look like those of the rest (AUC 0.62, p = 0.020). Whether a class means the same"),
        (MILD, "differ mildly from the rest (AUC 0.62, p = 0.020), and 25% of the other rows"),
        (STRONG, "differ strongly"),
    ],
)
def test_the_sentence_says_why_and_what_to_do(verdict, words):
    diagnosis = Diagnosis(verdict, Separation(0.62, 0.5, 0.7, 0.02), 0.75, [], None, {}, 20, 80)
    assert words in diagnosis.sentence
    assert "off either way" in diagnosis.sentence.replace(", either", " either")
    assert "label some rows drawn at random" in diagnosis.sentence
    assert "trust the figures of the audit" in replace(diagnosis, audited=True).sentence


def test_rows_that_lie_far_from_labels_are_named_only_where_they_are_more_than_chance_gives():
    covered = Diagnosis(STRONG, Separation(0.9, 0.8, 0.95, 0.001), 0.96, [], None, {}, 20, 80)
    assert "far from any label" not in covered.sentence
    assert "10% of the other rows lie far from any label" in replace(covered, coverage=0.9).sentence


def test_random_labels_are_representative_and_biased_ones_are_not(few_permutations):
    verdicts = {REPRESENTATIVE: 0, STRONG: 0}
    for seed in range(20):
        X, rng = table(250, 6, seed)
        verdicts[REPRESENTATIVE] += (
            diagnose(X, rng.permutation(250) < 50, random_state=seed).verdict == REPRESENTATIVE
        )
        far_out = np.abs(X[:, 0]) + 0.3 * rng.normal(size=250) > 1.5
        verdicts[STRONG] += diagnose(X, far_out, random_state=seed).verdict == STRONG
    assert verdicts[REPRESENTATIVE] >= 19
    assert verdicts[STRONG] >= 19


@pytest.mark.skipif("CHARY_DATA" not in os.environ, reason="set CHARY_DATA to the folder of the benchmark data")
@pytest.mark.parametrize(("name", "n_labeled"), [("mushrooms", 79), ("phishing", 99), ("svmguide1", 39)])
def test_the_papers_biased_labels_are_strongly_biased(name, n_labeled, few_permutations):
    from chary.studies.labeling import selection_biased, train_test_protocol

    data = np.load(Path(os.environ["CHARY_DATA"]) / f"{name}.npz")
    split = train_test_protocol(data["X"], data["y"], random_state=0)
    biased = selection_biased(split.X_train, split.y_train, n_labeled, r=2, random_state=0)
    uniform = np.random.default_rng(0).permutation(len(biased)) < n_labeled
    assert diagnose(split.X_train, biased, random_state=0).verdict == STRONG
    assert diagnose(split.X_train, uniform, random_state=0).verdict == REPRESENTATIVE


def test_too_few_rows_say_so():
    X, _ = table(50)
    diagnosis = diagnose(X, np.arange(50) < 9, random_state=0)
    assert (diagnosis.verdict, diagnosis.separation, diagnosis.shifts) == (UNKNOWN, None, [])
    assert "at least 10 of each are needed" in diagnosis.sentence


def test_the_same_seed_gives_the_same_diagnosis_and_rows_beyond_the_sample_are_counted(few_permutations):
    X, rng = table(3000, 3)
    labeled = rng.random(3000) < 0.45
    first, second = (diagnose(X, labeled, random_state=5, class_counts={"a": 1}) for _ in range(2))
    assert first.separation == second.separation
    assert first.coverage == second.coverage
    assert first.n_labeled + first.n_unlabeled == 3000
    assert first.class_counts == {"a": 1}
    assert first.density is not None
    step = first.density.grid[1] - first.density.grid[0]
    assert first.density.labeled.sum() * step == pytest.approx(1, abs=0.05)


def test_the_scores_handed_on_are_those_of_the_verdict(few_permutations):
    X, rng = table(300, 4)
    labeled = X[:, 0] + 0.5 * rng.normal(size=300) > 0.8
    diagnosis = diagnose(X, labeled, random_state=0)
    one, other = diagnosis.likeness
    assert (len(one), len(other)) == (diagnosis.n_labeled, diagnosis.n_unlabeled)
    pooled = np.mean((one[:, None] > other) + 0.5 * (one[:, None] == other))  # by hand, over folds together
    assert pooled == pytest.approx(diagnosis.separation.auc, abs=0.03)
    density = diagnosis.density
    above = density.grid > np.quantile(other, 0.95)
    assert density.labeled[above].sum() > 3 * density.unlabeled[above].sum()  # the picture shows it


def test_constant_features_do_no_harm():
    X = np.zeros((60, 3))
    diagnosis = diagnose(X, np.arange(60) < 20, random_state=0)
    assert diagnosis.verdict == REPRESENTATIVE
    assert diagnosis.density is None


def test_features_are_named_by_number_without_names():
    X, _ = table(60)
    assert {shift.name for shift in diagnose(X, np.arange(60) < 20, random_state=0).shifts} == {
        f"x{j}" for j in range(5)
    }
