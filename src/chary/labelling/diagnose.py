"""Diagnose a table: whether its labelled rows are like the others, and which columns differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.spatial.distance import cdist
from sklearn.utils import check_array, check_consistent_length

from chary._arrays import Array, Floats, Ints, Mask
from chary._threads import one_thread, same_warnings
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.method.held_out import stratified_folds
from chary.method.labels import Labels
from chary.options import DiagnoseOptions
from chary.tables import Table, TablePreparation
from chary.tables.columns import COLUMN_DEFAULTS, Column, ColumnDefaults
from chary.tables.table import rows_that_count
from chary.tables.target import read_target

# The verdicts.
REPRESENTATIVE = "representative"
MILD = "mildly biased"
STRONG = "strongly biased"
UNKNOWN = "too few rows to tell"

# Share of unlabelled rows that are far from every label if labels are drawn at random. The limit
# between near and far is chosen so that this holds.
_FAR_BY_CHANCE = 0.05

# Most labelled rows, and most unlabelled rows, that are compared; a bound of cost.
_MAX_ROWS = 600
# With fewer labelled or fewer unlabelled rows there is no verdict.
_MIN_ROWS = 10
# Permutations of the labels that give the p-value.
_N_PERMUTATIONS = 999
# Principal components that one of the kernels uses.
_N_COMPONENTS = 10


class FeatureShift(NamedTuple):
    """How one feature differs between labelled and unlabelled rows."""

    feature: int  #: number of the feature
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
    #: share of unlabelled rows with a labelled row near them; 0.95 if labels are representative
    coverage: float | None
    shifts: list[FeatureShift]  #: the most different features first
    class_counts: dict[str, int]  #: among the labelled rows, where they are known
    n_labeled: int  #: rows with a label
    n_unlabeled: int  #: rows without
    #: whether there is an audit: it changes the advice, not the verdict
    audited: bool = False

    @property
    def sentence(self) -> str:
        """The verdict, why, what it means and what to do."""
        if self.separation is None or self.coverage is None:
            return (
                f"There are too few rows to compare the {self.n_labeled:,} labelled ones with the "
                f"{self.n_unlabeled:,} others: at least {_MIN_ROWS} of each are needed."
            )
        p_value = self.separation.p_value
        sign = "<" if p_value <= 0.001 else "="
        figures = f"AUC {self.separation.auc:.2f}, p {sign} {max(p_value, 0.001):.3f}"
        if self.verdict == REPRESENTATIVE:
            return (
                f"The labelled rows look like the rest ({figures}). A class may still mean "
                "something else there, so accuracy measured on the labelled rows may not hold: "
                f"{self._remedy}."
            )

        degree = "mildly"
        consequence = "may be too high or too low"
        if self.verdict == STRONG:
            degree = "strongly"
            consequence = "may be far too high or too low"
        far_rows = ""
        far_share = 1 - self.coverage
        if round(far_share, 9) >= 2 * _FAR_BY_CHANCE:
            far_rows = f", and {far_share:.0%} of the other rows are far from any label"
            far_rows += f" ({_FAR_BY_CHANCE:.0%} by chance)"
        return (
            f"The labelled rows differ {degree} from the rest ({figures}){far_rows}. Accuracy "
            f"measured on them {consequence}: {self._remedy}."
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
    defaults: Defaults = DEFAULTS,
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
    defaults : Defaults, default=DEFAULTS
        Holds the p-value below which labels are biased, and the AUC that makes the bias strong.

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
    is_labeled = np.asarray(labeled, dtype=bool)
    check_consistent_length(features, is_labeled)
    if feature_names is None:
        feature_names = [f"x{j}" for j in range(features.shape[1])]
    n_labeled = int(is_labeled.sum())
    n_unlabeled = len(is_labeled) - n_labeled
    if min(n_labeled, n_unlabeled) < _MIN_ROWS:
        return Diagnosis(UNKNOWN, None, None, [], {}, n_labeled, n_unlabeled)

    rng = np.random.default_rng(random_state)
    rows = np.concatenate(
        [
            draw_at_most(np.flatnonzero(is_labeled), _MAX_ROWS, rng),
            draw_at_most(np.flatnonzero(~is_labeled), _MAX_ROWS, rng),
        ]
    )
    sample = features[rows].astype(np.float64)
    standardized = _standardize(sample)
    separation = separate(standardized, is_labeled[rows], rng)
    return Diagnosis(
        verdict=_verdict(separation, defaults),
        separation=separation,
        coverage=measure_coverage(standardized, is_labeled[rows], rng),
        shifts=feature_shifts(sample, is_labeled[rows], feature_names),
        class_counts={},  # rows are not asked for their classes here
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
    #: sentences about how table and target were read
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[Column]:
        """The columns, each with what it was read as."""
        return self.prepared.preparation.columns_


class Prepared(NamedTuple):
    """The features of a table."""

    X: Array  # (n, d)
    preparation: TablePreparation  # fitted
    n_missing: dict[str, int]  # cells without a number, by column

    def without(self, notes: Mapping[str, str]) -> Prepared:
        """Leave some columns out, each for the reason in its note."""
        stays = [feature.column not in notes for feature in self.preparation.features()]
        n_missing = {name: n for name, n in self.n_missing.items() if name not in notes}
        return Prepared(self.X[:, stays], self.preparation.without(notes), n_missing)


@same_warnings()
def diagnose_table(
    table: Table, options: DiagnoseOptions, *, progress: Callable[[str], None] = lambda step: None
) -> DiagnosedTable:
    """Tell whether the labelled rows of a table are like the rest.

    Parameters
    ----------
    table : Table
        From ``read_table``.
    options : DiagnoseOptions
        The target, what the columns are, and the seed of the folds and shuffles that the verdict
        rests on.
    progress : callable
        Told the name of each step.
    """
    progress("Preparing columns")
    table = rows_that_count(table)
    target = options.target
    labels, target_notes = read_target(table, target, **options.target_reading)
    prepared = prepare(table, target, defaults=DEFAULTS.columns, **options.kinds)

    progress("Comparing labelled and unlabelled rows")
    diagnosis = compare_rows(prepared, labels, options.seed or 0)
    notes = [*table.notes, *target_notes]
    return DiagnosedTable(table, target, labels, prepared, diagnosis, notes)


def prepare(
    table: Table,
    target: str,
    *,
    defaults: ColumnDefaults = COLUMN_DEFAULTS,
    **kinds: Sequence[str],
) -> Prepared:
    """Turn all columns of a table except the target into features."""
    frame = table.frame.drop(target)
    preparation = TablePreparation(**kinds).fit(frame, table.frame[target], defaults)
    X, n_missing = preparation.transform_counted(frame)
    return Prepared(X, preparation, n_missing)


def compare_rows(
    prepared: Prepared, labels: Labels, seed: int, defaults: Defaults = DEFAULTS
) -> Diagnosis:
    """Compare labelled and unlabelled rows; add feature names and class counts for a report."""
    # On matrices of a thousand rows, two threads would mostly wait for each other.
    with one_thread("blas"):
        diagnosis = diagnose_rows(
            prepared.X,
            labels.labeled,
            feature_names=prepared.preparation.get_feature_names_out().tolist(),
            random_state=seed,
            defaults=defaults,
        )
    given_codes = labels.codes[labels.labeled]
    counts = np.bincount(given_codes, minlength=len(labels.classes))
    class_counts = dict(zip(labels.classes.tolist(), counts.tolist(), strict=True))
    return replace(diagnosis, class_counts=class_counts)


def separate(X: Floats, labeled: Mask, random_state: Any = None) -> Separation:
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
    folds = stratified_folds(labeled, rng)
    # The truth in the first column, its permutations within the folds in the others.
    targets = np.empty((len(X), 1 + _N_PERMUTATIONS))  # (n, 1 + P)
    for fold in folds:
        copies = np.tile(labeled[fold], (_N_PERMUTATIONS, 1))
        targets[fold, 0] = labeled[fold]
        targets[fold, 1:] = rng.permuted(copies, axis=1).T

    total = np.zeros(1 + _N_PERMUTATIONS)
    for fold in folds:
        others = np.setdiff1d(np.arange(len(X)), fold)
        factor = cho_factor(K[np.ix_(others, others)] + np.eye(len(others)))
        smoother = cho_solve(factor, K[np.ix_(others, fold)]).T  # (B, A)
        scores = smoother @ (targets[others] - targets[others].mean(axis=0))  # (B, 1 + P)
        total += _auc(scores, targets[fold]) * labeled[fold].sum()
    aucs = total / labeled.sum()  # (1 + P,)

    # The truth is one of its permutations, so the p-value is never 0.
    is_as_large = aucs >= aucs[0] - 1e-12
    return Separation(float(aucs[0]), float(np.mean(is_as_large)))


def measure_coverage(
    X: Floats, labeled: Mask, random_state: Any = None, n_draws: int = 10
) -> float:
    """Measure the share of unlabelled rows that have a labelled row near them.

    What counts as near is found by drawing, from the unlabelled rows, as many rows as are labelled:
    95 % of the remaining unlabelled rows are within that distance of the nearest drawn row. So the
    coverage is 0.95 on average if the labelled rows are a random draw, and less if some regions
    have no labels.
    """
    rng = np.random.default_rng(random_state)
    inside = X[labeled]
    outside = X[~labeled]
    size = min(len(inside), len(outside) // 2)
    to_labeled = cdist(outside, rng.permutation(inside)[:size]).min(axis=1)  # (U,)

    among_outside = cdist(outside, outside)  # (U, U)
    limits = []
    for _ in range(n_draws):
        order = rng.permutation(len(outside))
        drawn = order[:size]
        others = order[size:]
        to_drawn = among_outside[np.ix_(others, drawn)].min(axis=1)
        limits.append(np.quantile(to_drawn, 1 - _FAR_BY_CHANCE))

    # The limit is raised by 1e-9, so that rounding cannot put a row at the limit beyond it.
    is_near = to_labeled <= np.mean(limits) * (1 + 1e-9)
    return float(np.mean(is_near))


def feature_shifts(X: Floats, labeled: Mask, names: Sequence[str]) -> list[FeatureShift]:
    """Compare the means of every feature that varies, the most different first.

    The difference of the means is divided by the root of the mean of the two variances.
    """
    inside = X[labeled]
    outside = X[~labeled]
    inside_means = inside.mean(axis=0)
    outside_means = outside.mean(axis=0)
    spread = np.sqrt((inside.var(axis=0) + outside.var(axis=0)) / 2)
    # Infinite if both sides are constant and differ.
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = (inside_means - outside_means) / spread

    varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
    order = varying[np.argsort(-np.abs(difference[varying]), kind="stable")]
    figures = np.stack([inside_means, outside_means, difference], axis=1)  # (d, 3)
    return [FeatureShift(j, names[j], *figures[j].tolist()) for j in order.tolist()]


def draw_at_most(rows: Ints, n_most: int, rng: np.random.Generator) -> Ints:
    """Draw at most ``n_most`` of the rows, and return them in their order."""
    if len(rows) <= n_most:
        return rows
    return np.sort(rng.choice(rows, n_most, replace=False))


def _verdict(separation: Separation, defaults: Defaults) -> str:
    """Turn AUC and p-value into a word."""
    if separation.p_value > defaults.significance:
        return REPRESENTATIVE
    if separation.auc >= defaults.strong_auc:
        return STRONG
    return MILD


def _standardize(X: Floats) -> Floats:
    """Centre and scale every column; a constant one becomes zeros."""
    spread = X.std(axis=0)
    is_constant = spread <= 1e-12 * np.abs(X).max(axis=0)
    return (X - X.mean(axis=0)) / np.where(is_constant, np.inf, spread)


def _kernel(X: Floats) -> Floats:
    """Average the three kernels of ``separate``, each of mean diagonal 1."""
    gram = X @ X.T
    squares = _standardize(np.clip(X, -3, 3) ** 2)
    linear = gram + squares @ squares.T

    scores = _standardize(_principal_scores(gram))
    absolute_scores = _standardize(np.abs(scores))
    principal = scores @ scores.T + absolute_scores @ absolute_scores.T

    square_norms = np.diag(gram)
    square_distances = np.maximum(square_norms[:, None] + square_norms - 2 * gram, 0)  # (n, n)
    off_diagonal = ~np.eye(len(X), dtype=bool)
    # 1 if most rows are equal, so that nothing is divided by zero.
    typical = np.median(square_distances[off_diagonal]) or 1.0
    gaussian = np.exp(-square_distances / typical)

    kernels = [linear, principal, gaussian]
    return sum(kernel / max(np.trace(kernel) / len(X), 1e-12) for kernel in kernels) / len(kernels)


def _principal_scores(gram: Floats) -> Floats:
    """Compute principal component scores from the inner products of centred rows."""
    n = len(gram)
    values, vectors = eigh(gram, subset_by_index=(max(0, n - _N_COMPONENTS), n - 1))
    matters = values > 1e-9 * values[-1]
    scores = vectors[:, matters] * np.sqrt(values[matters])
    # ``eigh`` sorts eigenvalues upwards; the first principal component has the largest.
    return scores[:, ::-1]


def _auc(scores: Floats, targets: Floats) -> Floats:
    """Compute the area under the ROC curve of each column, ties counted half."""
    ranks = stats.rankdata(scores, axis=0)
    n_positive = targets.sum(axis=0)
    # The Mann-Whitney U statistic: pairs in which the positive row has the higher score.
    n_ordered_pairs = (ranks * targets).sum(axis=0) - n_positive * (n_positive + 1) / 2
    return n_ordered_pairs / (n_positive * (len(scores) - n_positive))
