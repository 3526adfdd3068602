"""Diagnose a table: whether its labelled rows are like the others, and which columns differ.

What people read of it, in the terminal and in the report, is ``Diagnosis.sentence``.
"""

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
from chary._words import percent
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.method.held_out import stratified_folds
from chary.method.labels import Labels
from chary.options import DiagnoseOptions
from chary.tables import Table, TablePreparation
from chary.tables.columns import COLUMN_DEFAULTS, Booleans, Column, ColumnDefaults, Numbers
from chary.tables.table import rows_that_count
from chary.tables.target import read_target

# The next four are the verdicts.
# Chance alone may give such a difference between labelled and unlabelled rows.
REPRESENTATIVE = "representative"
# Labelled rows differ from unlabelled rows by more than chance.
MILD = "mildly biased"
# Labelled rows differ so far from unlabelled rows that most can be told from them.
STRONG = "strongly biased"
# There are too few rows for a verdict.
UNKNOWN = "too few rows to tell"

# This share of unlabelled rows is far from every label if the labels are drawn at random. It fixes
# how far "far" is. A convention.
_FAR_BY_CHANCE = 0.05
# With fewer labelled or fewer unlabelled rows than this there is no verdict. A convention.
_MIN_ROWS = 10


class FeatureShift(NamedTuple):
    """How one feature differs between labelled and unlabelled rows."""

    feature: int  #: number of the feature
    name: str  #: name of the feature
    labeled_mean: float  #: mean over the labelled rows
    unlabeled_mean: float  #: mean over the unlabelled rows
    difference: float  #: difference of the means, in standard deviations


class Separation(NamedTuple):
    """How well labelled rows can be told from unlabelled ones."""

    auc: float  # 0.5: not at all, 1: always
    p_value: float  # the chance of such an AUC if the labels are a random draw


@dataclass(frozen=True)
class Diagnosis:
    """Whether the labelled rows are like the rest."""

    verdict: str  #: representative, mildly biased, strongly biased, or too few rows to tell
    #: how well labelled rows can be told from the others: AUC and p-value; None: too few rows
    separation: Separation | None
    #: share of unlabelled rows near a labelled row; 0.95 if labels are representative; None: too
    #: few rows
    coverage: float | None
    shifts: list[FeatureShift]  #: the most different features first
    class_counts: dict[str, int]  #: labelled rows of each class; empty if classes are not known
    n_labeled: int  #: rows with a label
    n_unlabeled: int  #: rows without a label
    #: whether there is an audit: it changes the advice, not the verdict
    audited: bool = False

    @property
    def sentence(self) -> str:
        """The verdict, the figures behind it, what it means and what to do."""
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
        # Far rows are worth a mention if they are at least twice as many as by chance. Rounded,
        # because 1 - 0.9 is slightly below 0.1.
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
        True if the row has a label.
    feature_names : sequence of d str, default=None
        None: x0, x1, ...
    random_state : None, int, RandomState or Generator
        Draws the rows looked at (at most 600 of each side), the folds and the permutations.
    defaults : Defaults, default=DEFAULTS
        Holds the p-value up to which labels are biased, and the AUC that makes the bias strong.

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

    # A sample of labelled rows, and one of unlabelled rows.
    rng = np.random.default_rng(random_state)
    labeled_rows = draw_at_most(np.flatnonzero(is_labeled), defaults.compared_rows, rng)
    unlabeled_rows = draw_at_most(np.flatnonzero(~is_labeled), defaults.compared_rows, rng)
    rows = np.concatenate([labeled_rows, unlabeled_rows])
    sample = features[rows].astype(np.float64)
    sample_labeled = is_labeled[rows]

    standardized = _standardize(sample)
    separation = separate(standardized, sample_labeled, rng, defaults)
    return Diagnosis(
        verdict=_verdict(separation, defaults),
        separation=separation,
        coverage=measure_coverage(standardized, sample_labeled, rng, defaults),
        shifts=feature_shifts(sample, sample_labeled, feature_names),
        class_counts={},  # the classes are not known here; ``compare_rows`` adds the counts
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
    )


@dataclass(frozen=True)
class DiagnosedTable:
    """The outcome of ``diagnose_table``."""

    table: Table
    target: str  #: name of the column that holds the labels
    labels: Labels
    prepared: Prepared
    diagnosis: Diagnosis
    #: sentences about how the table and the target were read
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[Column]:
        """The columns of the table, each with the kind that it was read as."""
        return self.prepared.preparation.columns_


class Prepared(NamedTuple):
    """The features of a table."""

    X: Array  # (n, d)
    preparation: TablePreparation  # fitted; it makes the features of other rows
    n_missing: dict[str, int]  # missing cells of each numeric column

    @property
    def only_numbers(self) -> bool:
        """Whether all columns that are used are numbers or have two values."""
        used = [column for column in self.preparation.columns_ if column.used]
        return all(column.kind in (Numbers.name, Booleans.name) for column in used)

    def without(self, notes: Mapping[str, str]) -> Prepared:
        """Leave out the columns in ``notes``, which say why: column -> reason."""
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
        The target, the kinds of the columns, and the seed of the folds and permutations.
    progress : callable
        Called with the name of each step as it begins.
    """
    progress("Preparing columns")
    table = rows_that_count(table)
    target = options.target
    labels, target_notes = read_target(table, target, **options.target_reading)
    prepared = prepare(table, target, defaults=DEFAULTS.columns, **options.kinds)

    empty_elsewhere = find_columns_empty_elsewhere(prepared, table, labels.labeled)
    prepared = prepared.without(notes_on_empty(empty_elsewhere))

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
    """Turn all columns of a table except the target into features.

    ``kinds`` are the options of ``TablePreparation`` that name columns, such as ``missing``.
    """
    frame = table.frame.drop(target)
    preparation = TablePreparation(**kinds)
    preparation.refuse_unknown_columns(frame.columns, target)
    preparation.fit(frame, table.frame[target], defaults)
    X, n_missing = preparation.transform_counted(frame)
    return Prepared(X, preparation, n_missing)


class FilledShares(NamedTuple):
    """How many cells of a column are filled."""

    labeled: float  # share of the labelled rows
    others: float  # share of the other rows


def find_columns_empty_elsewhere(
    prepared: Prepared, table: Table, labeled: Mask, defaults: Defaults = DEFAULTS
) -> dict[str, FilledShares]:
    """Find columns that are filled in labelled rows and empty, or nearly so, in the others.

    Such a column came with the label, like the reason why a customer left. In labelled rows it
    gives the label away; in the others it is empty, and a model takes that for a sign of the label
    of rows without a reason.

    A column is found if three conditions hold: it is nearly empty in the other rows; chance would
    hardly leave it so empty there; and the user did not name its kind, which means that it should
    be used whatever it holds.

    Parameters
    ----------
    prepared : Prepared
    table : Table
    labeled : array of shape (n,), bool
        Whether a row has a given label.
    defaults : Defaults, default=DEFAULTS
    """
    preparation = prepared.preparation
    named_by_user = {*preparation.categorical, *preparation.numeric, *preparation.text}
    n_labeled = int(labeled.sum())
    n_others = len(labeled) - n_labeled
    candidates = [column.name for column in preparation.columns_ if column.used]
    empty_elsewhere = {}
    for name in candidates:
        # How many cells are filled in labelled rows, and in the others.
        is_filled = preparation.filled(table.frame[name])
        n_filled = int(is_filled[labeled].sum())
        n_filled_others = int(is_filled[~labeled].sum())
        shares = FilledShares(
            labeled=n_filled / max(1, n_labeled), others=n_filled_others / max(1, n_others)
        )
        most_filled = min(defaults.empty_share, shares.labeled / defaults.times_as_filled)
        is_empty = shares.others <= most_filled

        # The chance of so few filled cells among the other rows, if labels were a random draw.
        n_all_filled = n_filled + n_filled_others
        chance = stats.hypergeom.cdf(n_filled_others, len(labeled), n_all_filled, n_others)
        # Bonferroni: the significance is divided by the number of columns.
        is_chance = chance >= defaults.significance / len(candidates)
        if is_empty and not is_chance and name not in named_by_user:
            empty_elsewhere[name] = shares

    # If all columns are such, none would be left.
    if len(empty_elsewhere) == len(candidates):
        return {}
    return empty_elsewhere


def notes_on_empty(columns: Mapping[str, FilledShares]) -> dict[str, str]:
    """Say of each column that is empty elsewhere why it is left out."""
    notes = {}
    for name, shares in columns.items():
        others = percent(shares.others) if shares.others else "none"
        notes[name] = (
            f"filled in {percent(shares.labeled)} of the labelled rows and in {others} of the "
            "others, so it cannot help there"
        )
    return notes


def compare_rows(
    prepared: Prepared, labels: Labels, seed: int, defaults: Defaults = DEFAULTS
) -> Diagnosis:
    """Compare labelled and unlabelled rows; add feature names and class counts for a report."""
    # The matrices have a thousand rows at most: two threads would mostly wait for each other.
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


def separate(
    X: Floats, labeled: Mask, random_state: Any = None, defaults: Defaults = DEFAULTS
) -> Separation:
    r"""Measure how well labelled rows can be told from unlabelled ones.

    A classifier predicts whether a row is labelled, s = 1 or 0. It is a kernel ridge regression
    with kernel K, cross-validated in five stratified folds. For the rows B of a fold it learns from
    all other rows A, and predicts

    .. math:: \hat s_B = K_{B,A} (K_{A,A} + I)^{-1} (s_A - \bar s_A).

    The p-value says how often chance gives as large an AUC. For that, s is permuted within each
    fold again and again, and each permutation is cross-validated in the same way. The p-value is
    the share of permutations, s itself included, with an AUC at least as large as that of s. The
    matrices do not depend on s, so all permutations together cost one matrix product for each fold.

    Parameters
    ----------
    X : array of shape (n, d)
        Standardised.
    labeled : array of shape (n,), bool
        s.
    random_state : None, int, RandomState or Generator
    defaults : Defaults, default=DEFAULTS
        Holds the number of permutations and of principal components.
    """
    rng = np.random.default_rng(random_state)
    n_permutations = defaults.n_permutations
    K = _kernel(X, defaults.kernel_components)  # (n, n)
    folds = stratified_folds(labeled, rng)  # row numbers

    # Column 0 is s, the others are its P permutations within the folds.
    targets = np.empty((len(X), 1 + n_permutations))  # (n, 1 + P)
    for fold in folds:
        copies = np.tile(labeled[fold], (n_permutations, 1))  # (P, rows of the fold)
        targets[fold, 0] = labeled[fold]
        targets[fold, 1:] = rng.permuted(copies, axis=1).T  # each line is permuted on its own

    # The mean AUC of the folds, weighted by the number of labelled rows in each.
    weighted_sum = np.zeros(1 + n_permutations)
    for fold in folds:  # B
        others = np.setdiff1d(np.arange(len(X)), fold)  # A
        factor = cho_factor(K[np.ix_(others, others)] + np.eye(len(others)))
        smoother = cho_solve(factor, K[np.ix_(others, fold)]).T  # (B, A): s_A -> s_B
        centred = targets[others] - targets[others].mean(axis=0)  # (A, 1 + P)
        predictions = smoother @ centred  # (B, 1 + P)
        fold_aucs = _auc(predictions, targets[fold])  # (1 + P,)
        weighted_sum += fold_aucs * labeled[fold].sum()
    aucs = weighted_sum / labeled.sum()  # (1 + P,)

    # An equal AUC may be rounded differently.
    auc_of_s = aucs[0]
    is_as_large = aucs >= auc_of_s - 1e-12
    return Separation(auc=float(auc_of_s), p_value=float(np.mean(is_as_large)))


def measure_coverage(
    X: Floats, labeled: Mask, random_state: Any = None, defaults: Defaults = DEFAULTS
) -> float:
    """Measure the share of unlabelled rows that are near a labelled row.

    A row is near if its nearest labelled row is within a limit. The limit comes from random draws:
    if as many unlabelled rows as are labelled are drawn, 95 % of the other unlabelled rows are
    within the limit of a drawn row. So the coverage is 0.95 on average if the labelled rows are a
    random draw, and lower if labels are missing in some regions.
    """
    rng = np.random.default_rng(random_state)
    labeled_rows = X[labeled]
    unlabeled_rows = X[~labeled]  # (U, d)
    # The distance of each unlabelled row to the nearest of ``size`` labelled rows. As many
    # unlabelled rows are drawn below, but at most half of them.
    size = min(len(labeled_rows), len(unlabeled_rows) // 2)
    some_labeled_rows = rng.permutation(labeled_rows)[:size]
    to_labeled = cdist(unlabeled_rows, some_labeled_rows).min(axis=1)  # (U,)

    # The limit, averaged over several draws.
    distances = cdist(unlabeled_rows, unlabeled_rows)  # (U, U)
    limits = []
    for _ in range(defaults.coverage_draws):
        order = rng.permutation(len(unlabeled_rows))
        drawn = order[:size]
        not_drawn = order[size:]
        to_drawn = distances[np.ix_(not_drawn, drawn)].min(axis=1)  # of each row not drawn
        limits.append(np.quantile(to_drawn, 1 - _FAR_BY_CHANCE))

    # The limit is raised by 1e-9, so that rounding cannot put a row at the limit beyond it.
    is_near = to_labeled <= np.mean(limits) * (1 + 1e-9)
    return float(np.mean(is_near))


def feature_shifts(X: Floats, labeled: Mask, names: Sequence[str]) -> list[FeatureShift]:
    """Compare the means of labelled and unlabelled rows, for every feature that varies.

    The most different feature comes first. The difference of two means is divided by the root of
    the mean of the two variances.
    """
    labeled_means = X[labeled].mean(axis=0)  # (d,)
    unlabeled_means = X[~labeled].mean(axis=0)
    mean_variance = (X[labeled].var(axis=0) + X[~labeled].var(axis=0)) / 2
    # Infinite if a feature has one value in labelled rows and another in unlabelled rows.
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = (labeled_means - unlabeled_means) / np.sqrt(mean_variance)

    varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
    most_different_first = varying[np.argsort(-np.abs(difference[varying]), kind="stable")]
    return [
        FeatureShift(
            feature=j,
            name=names[j],
            labeled_mean=float(labeled_means[j]),
            unlabeled_mean=float(unlabeled_means[j]),
            difference=float(difference[j]),
        )
        for j in most_different_first.tolist()
    ]


def draw_at_most(rows: Ints, n_most: int, rng: np.random.Generator) -> Ints:
    """Return all rows, or ``n_most`` of them drawn at random, in ascending order."""
    if len(rows) <= n_most:
        return rows
    return np.sort(rng.choice(rows, n_most, replace=False))


def _verdict(separation: Separation, defaults: Defaults) -> str:
    """Turn AUC and p-value into a verdict."""
    if separation.p_value > defaults.significance:
        return REPRESENTATIVE
    if separation.auc >= defaults.strong_auc:
        return STRONG
    return MILD


def _standardize(X: Floats) -> Floats:
    """Centre and scale every column; a constant one becomes zeros."""
    spread = X.std(axis=0)
    # Rounding leaves a constant column a spread of about 1e-16 times its size.
    is_constant = spread <= 1e-12 * np.abs(X).max(axis=0)
    divisor = np.where(is_constant, np.inf, spread)
    return (X - X.mean(axis=0)) / divisor


def _kernel(X: Floats, n_components: int) -> Floats:
    """Average three kernels of standardised rows (n, d), each scaled to mean diagonal 1, (n, n).

    1. Linear in the features and in their squares: labelled rows have other means or variances.
    2. Linear in the first principal scores and in their absolute values: labelled rows have other
       means or variances in directions in which many features vary together.
    3. Gaussian: labelled rows are in other regions.
    """
    # 1. Squares are clipped, so that a single outlier does not outweigh all other rows.
    gram = X @ X.T  # (n, n)
    squares = _standardize(np.clip(X, -3, 3) ** 2)  # (n, d)
    linear = gram + squares @ squares.T

    # 2. The first principal components.
    scores = _standardize(_principal_scores(gram, n_components))  # (n, K)
    absolute_scores = _standardize(np.abs(scores))
    principal = scores @ scores.T + absolute_scores @ absolute_scores.T

    # 3. |x - y|^2 = |x|^2 + |y|^2 - 2 x^T y; rounding may put it below 0.
    square_norms = np.diag(gram)  # (n,)
    square_distances = np.maximum(square_norms[:, None] + square_norms - 2 * gram, 0)
    off_diagonal = ~np.eye(len(X), dtype=bool)
    # The median is 0 if most rows are equal; then 1, so that nothing is divided by zero.
    bandwidth = np.median(square_distances[off_diagonal]) or 1.0
    gaussian = np.exp(-square_distances / bandwidth)

    kernels = [linear, principal, gaussian]
    total = np.zeros_like(gram)
    for kernel in kernels:
        mean_diagonal = np.trace(kernel) / len(X)
        total += kernel / max(mean_diagonal, 1e-12)
    return total / len(kernels)


def _principal_scores(gram: Floats, n_components: int) -> Floats:
    """Compute scores on the first principal components, (n, K), from inner products (n, n).

    With the eigenvalues v and eigenvectors u of the inner products of centred rows, the scores on a
    component are u sqrt(v). K is ``n_components``, or lower if other eigenvalues are 0.
    """
    # ``eigh`` sorts eigenvalues upwards, so the largest ones are at the end.
    n = len(gram)
    first_index = max(0, n - n_components)
    values, vectors = eigh(gram, subset_by_index=(first_index, n - 1))
    largest = values[-1]
    is_above_zero = values > 1e-9 * largest
    scores = vectors[:, is_above_zero] * np.sqrt(values[is_above_zero])
    # The first principal component, with the largest eigenvalue, comes first.
    return scores[:, ::-1]


def _auc(scores: Floats, targets: Floats) -> Floats:
    """Compute the area under the ROC curve of each column of scores (n, k), (k,).

    ``targets`` (n, k) are 1 in positive rows and 0 in negative ones. The area is the share of pairs
    of a positive and a negative row in which the positive one has the higher score; ties count
    half.
    """
    ranks = stats.rankdata(scores, axis=0)  # (n, k) from 1
    n_positive = targets.sum(axis=0)  # (k,)
    n_pairs = n_positive * (len(scores) - n_positive)
    # The Mann-Whitney U statistic: the rank of a positive row counts the rows up to it. Less the
    # positive rows among these, it counts the negative rows below it.
    sum_of_positive_ranks = (ranks * targets).sum(axis=0)
    n_ordered_pairs = sum_of_positive_ranks - n_positive * (n_positive + 1) / 2
    return n_ordered_pairs / n_pairs
