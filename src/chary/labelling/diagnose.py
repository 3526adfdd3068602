"""Whether the labelled rows of a table are like the rest: verdict, figures, and the columns that differ most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.spatial.distance import cdist
from sklearn.utils import check_array, check_consistent_length

from chary._threads import one_thread, same_warnings
from chary.method.held_out import stratified_folds
from chary.method.labels import Labels
from chary.options import Options
from chary.tables import Table, TablePreparation
from chary.tables.columns import Column
from chary.tables.table import rows_that_count
from chary.tables.target import read_target

Floats = NDArray[np.floating[Any]]

REPRESENTATIVE, MILD, STRONG = "representative", "mildly biased", "strongly biased"
UNKNOWN = "too few rows to tell"

# A difference that chance gives once in a hundred times is one; an AUC from here on makes it a
# strong one.
SIGNIFICANCE, STRONG_AUC = 0.01, 0.75

# Share of rows that have no label near if labels are drawn at random, by the meaning of "near".
_OUTSIDE_BY_CHANCE = 0.05

# Rows of either side that are looked at, drawn at random, and the fewest that say anything.
_MAX_ROWS, _MIN_ROWS = 600, 10
_N_PERMUTATIONS, _N_COMPONENTS = 999, 10


class FeatureShift(NamedTuple):
    """How one feature differs between labelled and unlabelled rows."""

    feature: int  #: its number
    name: str  #: for people
    labeled_mean: float  #: over the labelled rows
    unlabeled_mean: float  #: over the others
    difference: float  #: of the means, in standard deviations


class Separation(NamedTuple):
    """How well labelled rows can be told from the others."""

    auc: float  # 0.5: not at all, 1: always
    p_value: float  # by permutation


@dataclass(frozen=True)
class Diagnosis:
    """Whether the labelled rows are like the rest."""

    verdict: str  #: representative, mildly biased, strongly biased, or too few rows to tell
    #: how well labelled rows can be told from the others: AUC and p-value; None: too few rows
    separation: Separation | None
    coverage: (
        float | None
    )  #: share of unlabelled rows that have a labelled row near; 0.95 if representative
    shifts: list[FeatureShift]  #: the most different features first
    class_counts: dict[str, int]  #: among the labelled rows, where they are known
    n_labeled: int  #: rows with a label
    n_unlabeled: int  #: rows without
    audited: bool = (
        False  #: whether random rows were labelled besides: changes the advice, not the verdict
    )

    @property
    def sentence(self) -> str:
        """The verdict, why, what it means and what to do."""
        if self.separation is None or self.coverage is None:
            return (
                f"There are too few rows to compare the {self.n_labeled:,} labelled ones with the "
                f"{self.n_unlabeled:,} others: at least {_MIN_ROWS} of each are needed."
            )
        auc, p = self.separation.auc, self.separation.p_value
        figures = f"AUC {auc:.2f}, p {'<' if p <= 0.001 else '='} {max(p, 0.001):.3f}"
        if self.verdict == REPRESENTATIVE:
            return (
                f"The labelled rows look like the rest ({figures}). A class may still mean something else there, "
                f"so accuracy measured on the labelled rows may not hold: {self._remedy}."
            )
        degree = "mildly" if self.verdict == MILD else "strongly"
        far_off = (
            "may be too high or too low"
            if self.verdict == MILD
            else "may be far too high or too low"
        )
        outside = 1 - self.coverage
        uncovered = ""
        if round(outside, 9) >= 2 * _OUTSIDE_BY_CHANCE:
            uncovered = (
                f", and {outside:.0%} of the other rows are far from any label (5% by chance)"
            )
        return (
            f"The labelled rows differ {degree} from the rest ({figures}){uncovered}. Accuracy measured on them "
            f"{far_off}: {self._remedy}."
        )

    @property
    def _remedy(self) -> str:
        if self.audited:
            return "trust the audit, which was drawn at random"
        return "label some random rows before you trust it"


def diagnose_rows(
    X: ArrayLike,
    labeled: ArrayLike,
    *,
    feature_names: Sequence[str] | None = None,
    random_state: Any = None,
) -> Diagnosis:
    """Compare the labelled rows with the unlabelled ones.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Finite numbers, as ``TablePreparation`` makes them.
    labeled : array-like of shape (n,), bool
        Where a label was given.
    feature_names : sequence of d str, default=None
        None: x0, x1, ...
    random_state : None, int, RandomState or Generator
        Draws the rows looked at (at most 600 of each side), the folds and the permutations.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> diagnose_rows(X, rng.random(500) < 0.2, random_state=0).verdict
    'representative'
    >>> diagnose_rows(X, X[:, 1] > 1, random_state=0).verdict
    'strongly biased'
    """
    features = check_array(X, dtype=(np.float32, np.float64))
    mask = np.asarray(labeled, dtype=bool)
    check_consistent_length(features, mask)
    names = (
        [f"x{j}" for j in range(features.shape[1])]
        if feature_names is None
        else list(feature_names)
    )
    n_labeled = int(mask.sum())
    n_unlabeled = len(mask) - n_labeled
    if min(n_labeled, n_unlabeled) < _MIN_ROWS:
        return Diagnosis(UNKNOWN, None, None, [], {}, n_labeled, n_unlabeled)
    rng = np.random.default_rng(random_state)
    rows = np.concatenate([few_of(np.flatnonzero(side), _MAX_ROWS, rng) for side in (mask, ~mask)])
    sample, is_labeled = features[rows].astype(np.float64), mask[rows]
    standardized = _standardized(sample)
    separation = separate(standardized, is_labeled, rng)
    return Diagnosis(
        _verdict(separation),
        separation,
        coverage=measure_coverage(standardized, is_labeled, rng),
        shifts=feature_shifts(sample, is_labeled, names),
        class_counts={},
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
    )


@dataclass(frozen=True)
class DiagnosedTable:
    """The outcome of ``diagnose_table``."""

    table: Table
    target: str
    labels: Labels
    prepared: Prepared
    diagnosis: Diagnosis
    notes: list[str] = field(
        default_factory=list
    )  # on how table and target were read, a sentence each

    @property
    def columns(self) -> list[Column]:
        """What each column was taken for."""
        return self.prepared.preparation.columns_


class Prepared(NamedTuple):
    """The features of a table."""

    X: NDArray[Any]  # (n, d)
    preparation: TablePreparation  # fitted
    n_missing: dict[str, int]  # cells without a number, by column

    def without(self, notes: Mapping[str, str]) -> Prepared:
        """The same with some columns left out, each for the reason in its note."""
        kept = [feature.column not in notes for feature in self.preparation.features()]
        n_missing = {name: n for name, n in self.n_missing.items() if name not in notes}
        return Prepared(self.X[:, kept], self.preparation.without(notes), n_missing)


@same_warnings()
def diagnose_table(
    table: Table, options: Options, *, progress: Callable[[str], None] = lambda step: None
) -> DiagnosedTable:
    """Tell whether the labelled rows of a table are like the rest.

    Parameters
    ----------
    table : Table
        From ``read_table``.
    options : Options
        The target, what the columns are, and the seed of the folds and shuffles that the verdict
        rests on.
    progress : callable
        Told the name of each step.
    """
    progress("Preparing columns")
    table = rows_that_count(table)
    target = str(options.target)
    read = read_target(table, target, **options.target_reading)
    prepared = prepare(table, target, **options.kinds)
    progress("Comparing labelled and unlabelled rows")
    found = compare_rows(prepared, read.labels, options.seed or 0)
    notes = [*table.notes, *read.notes]
    return DiagnosedTable(table, target, read.labels, prepared, found, notes)


def prepare(table: Table, target: str, **kinds: Sequence[str]) -> Prepared:
    """Turn the columns of a table, but the target, into features."""
    frame = table.frame.drop(target)
    preparation = TablePreparation(**kinds).fit(frame, table.frame[target])
    X, n_missing = preparation.transform_counted(frame)
    return Prepared(X, preparation, n_missing)


def compare_rows(prepared: Prepared, labels: Labels, seed: int) -> Diagnosis:
    """Labelled against unlabelled rows, with names and counts for a person."""
    X, preparation, _ = prepared
    counts = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes)).tolist()
    with one_thread(
        "blas"
    ):  # of matrices of a thousand rows two threads spend most time waiting for each other
        diagnosis = diagnose_rows(
            X,
            labels.labeled,
            feature_names=preparation.get_feature_names_out().tolist(),
            random_state=seed,
        )
    return replace(diagnosis, class_counts=dict(zip(labels.classes.tolist(), counts, strict=True)))


def separate(X: Floats, labeled: NDArray[np.bool_], random_state: Any = None) -> Separation:
    r"""Measure how well labelled rows can be told from unlabelled ones.

    The classifier is a kernel ridge regression of s = 1 (labelled) or 0, in k = 5 stratified folds:

    .. math:: \hat s_B = K_{B,A} (K_{A,A} + I)^{-1} (s_A - \bar s_A)

    for the rows B of a fold and the others A. K is the mean of three kernels of mean diagonal 1:
    linear in the features and their squares; linear in the first principal scores and their
    absolute values; Gaussian. None of them knows s, so the classifiers of all permutations of s
    within folds cost one matrix product, and the p-value is exact: it counts the permutations whose
    own cross-validated AUC is as large.

    Parameters
    ----------
    X : array of shape (n, d)
        Standardised.
    labeled : array of shape (n,), bool
    random_state : None, int, RandomState or Generator
    """
    rng = np.random.default_rng(random_state)
    K = _kernel(X)
    targets = np.empty(
        (len(X), 1 + _N_PERMUTATIONS)
    )  # (n, 1 + P): the truth, then its permutations
    folds = stratified_folds(labeled, rng)
    for fold in folds:
        shuffled = rng.permuted(np.tile(labeled[fold], (_N_PERMUTATIONS, 1)), axis=1)
        targets[fold] = np.vstack([labeled[fold], shuffled]).T
    total = np.zeros(1 + _N_PERMUTATIONS)
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(X)), fold)
        factor = cho_factor(K[np.ix_(rest, rest)] + np.eye(len(rest)))
        smoother = cho_solve(factor, K[np.ix_(rest, fold)]).T  # (B, A)
        scores = smoother @ (targets[rest] - targets[rest].mean(axis=0))  # (B, 1 + P)
        total += _auc(scores, targets[fold]) * labeled[fold].sum()
    aucs = total / labeled.sum()  # (1 + P,)
    return Separation(float(aucs[0]), float(np.mean(aucs >= aucs[0] - 1e-12)))


def measure_coverage(
    X: Floats, labeled: NDArray[np.bool_], random_state: Any = None, n_draws: int = 10
) -> float:
    """Share of unlabelled rows that have a labelled row near.

    Near: no further than 95 % of the unlabelled rows are from the nearest of as many rows drawn at
    random from among themselves. So it is 0.95 on average if the labelled rows are such a draw, and
    less if regions are without labels.
    """
    rng = np.random.default_rng(random_state)
    inside, outside = X[labeled], X[~labeled]
    size = min(len(inside), len(outside) // 2)
    nearest = cdist(outside, rng.permutation(inside)[:size]).min(axis=1)  # (U,)
    among = cdist(outside, outside)  # (U, U)
    limits = []
    for _ in range(n_draws):
        order = rng.permutation(len(outside))
        drawn, others = order[:size], order[size:]
        limits.append(np.quantile(among[np.ix_(others, drawn)].min(axis=1), 0.95))
    return float(np.mean(nearest <= np.mean(limits) * (1 + 1e-9)))


def feature_shifts(
    X: Floats, labeled: NDArray[np.bool_], names: Sequence[str]
) -> list[FeatureShift]:
    """Compare the means of every feature that varies, the most different first.

    The difference of the means is divided by the root of the mean of the two variances.
    """
    inside, outside = X[labeled], X[~labeled]
    varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
    means = inside.mean(axis=0), outside.mean(axis=0)
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # infinite where both sides are constant and differ
        difference = (means[0] - means[1]) / np.sqrt((inside.var(axis=0) + outside.var(axis=0)) / 2)
    order = varying[np.argsort(-np.abs(difference[varying]), kind="stable")]
    figures = np.stack([*means, difference], axis=1)  # (d, 3)
    return [FeatureShift(j, names[j], *figures[j].tolist()) for j in order.tolist()]


def few_of(rows: NDArray[np.intp], n_most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """At most so many of the rows, in their order."""
    return rows if len(rows) <= n_most else np.sort(rng.choice(rows, n_most, replace=False))


def _verdict(separation: Separation) -> str:
    if separation.p_value > SIGNIFICANCE:
        return REPRESENTATIVE
    return STRONG if separation.auc >= STRONG_AUC else MILD


def _standardized(X: Floats) -> Floats:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(
        spread > 1e-12 * (1 + np.abs(X).max(axis=0)), spread, np.inf
    )


def _kernel(X: Floats) -> Floats:
    """Mean of the three kernels of ``measure_separation``, each of mean diagonal 1."""
    gram = X @ X.T
    squares = _standardized(np.clip(X, -3, 3) ** 2)
    scores = _standardized(_principal_scores(gram))
    bends = _standardized(np.abs(scores))
    square_norms = np.diag(gram)
    distances = np.maximum(square_norms[:, None] + square_norms - 2 * gram, 0)  # squared, (n, n)
    typical = np.median(distances[~np.eye(len(X), dtype=bool)]) or 1.0
    kernels = [
        gram + squares @ squares.T,
        scores @ scores.T + bends @ bends.T,
        np.exp(-distances / typical),
    ]
    return sum(kernel / max(np.trace(kernel) / len(X), 1e-12) for kernel in kernels) / len(kernels)


def _principal_scores(gram: Floats, n_components: int = _N_COMPONENTS) -> Floats:
    """Scores of centred rows on their first principal components, from their inner products."""
    n = len(gram)
    values, vectors = eigh(gram, subset_by_index=(max(0, n - n_components), n - 1))
    kept = values > 1e-9 * max(values[-1], 1e-12)
    return (vectors * np.sqrt(np.maximum(values, 0)))[:, kept][:, ::-1]


def _auc(scores: Floats, targets: Floats) -> Floats:
    """Area under the ROC curve of each column, ties counted half."""
    ranks = stats.rankdata(scores, axis=0)
    n_positive = targets.sum(axis=0)
    excess = (ranks * targets).sum(axis=0) - n_positive * (n_positive + 1) / 2
    return excess / (n_positive * (len(scores) - n_positive))
