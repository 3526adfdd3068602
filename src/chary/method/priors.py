"""Class proportions that the user knows in; per-class offsets for the scores and a plain sentence out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chary._words import exact_percent, listed
from chary.method.assignment import as_columns, whole_counts
from chary.method.information import ACCURACY, AIMS, balanced_shares
from chary.method.labels import Labels
from chary.method.large_assignment import ROOM, Matched, Parts, match_counts_in_parts

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

ODDS_FACTORS = (1 / 2, 2 / 3, 1.0, 3 / 2, 2.0)
_SUM_TOLERANCE = 1e-6
_CHOICE_ROWS = 2_000  # on which the class is chosen whose share matters most
_NAMED_CLASSES = 6  # of more, a sentence names the largest


def align(scores: ArrayLike, prior: ArrayLike) -> Floats:
    r"""Offset of each class with which the predictions have the wanted class proportions.

    With scores s_ic of n rows and proportions p, the offset b is such that :math:`\arg\max_c (s_{ic} + b_c)` gives
    class c to exactly k_c rows, k being n p rounded to whole numbers by largest remainder, and among all ways to
    choose these rows it chooses the one with the highest total score. The same b then serves new rows. Only rows
    with equal scores can stand in the way (see ``chary.method.assignment.match_counts``).

    Parameters
    ----------
    scores : array-like of shape (n, C)
        Logits or log-probabilities, finite.
    prior : array-like of shape (C,)
        Wanted proportions p, summing to 1.

    Returns
    -------
    array of shape (C,)
        Offsets with mean 0; minus infinity for a class whose wanted share is 0.

    Examples
    --------
    >>> scores = np.array([[2.0, 0.0], [1.5, 0.0], [1.0, 0.0], [0.2, 0.0]])
    >>> offset = align(scores, [0.5, 0.5])
    >>> offset
    array([-0.625,  0.625])
    >>> (scores + offset).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    columns = as_columns(scores)  # (C, n)
    return align_in_parts(lambda: iter([columns]), _checked_shares(prior, len(columns)), room=columns.size).offset


def align_in_parts(parts: Parts, prior: ArrayLike, room: int = ROOM) -> Matched:
    """The same of scores that come in parts, as columns (C, m), as often as ``parts`` is called.

    No more than ``room`` of them are kept in memory. The shares are met exactly here, too, but for rows of equal
    scores; ``n_off`` says how many rows are off.
    """
    n, total = 0, np.zeros(np.size(prior))
    for columns in parts():
        n, total = n + columns.shape[1], total + columns.sum(axis=1)
    target = _checked_shares(prior, len(total))
    wanted = target > 0
    offset = np.full(len(total), -np.inf)
    # A row that two classes have an equal claim to goes where the scores lean, whatever the classes' names.
    counts = whole_counts(target[wanted], n, favor=(total / max(1, n))[wanted])
    chosen: Parts = parts if wanted.all() else lambda: (columns[wanted] for columns in parts())
    offset[wanted], n_off = match_counts_in_parts(chosen, counts, room)
    return Matched(offset - offset[wanted].mean(), n_off)


class ClassPrior(NamedTuple):
    """What the parameters ``class_prior`` and ``aim`` of an estimator mean for the rows that it is fitted on."""

    shares: Floats | None  # (C,) of all rows; None: nothing is known
    rest: Floats  # (C,) of the unlabelled rows; NaN where nothing is known
    aim: str = ACCURACY  # of AIMS

    @classmethod
    def of(cls, class_prior: Any, labels: Labels, aim: str = ACCURACY, n_rows: int | None = None) -> ClassPrior:
        """Resolve the parameters.

        Parameters
        ----------
        class_prior : None, "labeled", mapping or array-like
            None imposes nothing. "labeled": the proportions of the labelled rows. A mapping from each class to its
            share, or the shares in the order of the classes.
        labels : Labels
        aim : {"accuracy", "balanced"}, default="accuracy"
        n_rows : int, default=None
            Of which there are that many, where ``labels`` are not of all of them, but of all labelled ones.

        Examples
        --------
        >>> labels = Labels(np.array(["no", "yes"]), np.array([0, 1, 1, 1, -1]), np.arange(5) < 4)
        >>> ClassPrior.of({"yes": 0.6, "no": 0.4}, labels).shares
        array([0.4, 0.6])
        >>> ClassPrior.of("labeled", labels).shares
        array([0.25, 0.75])
        """
        if aim not in AIMS:
            raise ValueError(f"aim={aim!r} is not known; give {' or '.join(map(repr, AIMS))}.")
        if class_prior is None:
            return cls(None, np.full(len(labels.classes), np.nan), aim)
        shares = _resolved(class_prior, labels)
        labeled = np.bincount(labels.codes[labels.labeled], minlength=len(shares))
        return cls(shares, shares_of_rest(shares, labeled, n_rows or len(labels.codes)), aim)

    @property
    def imposes(self) -> bool:
        """Whether there is anything to add to the scores."""
        return self.shares is not None or self.aim != ACCURACY

    def offset(self, scores: Callable[[], ArrayLike]) -> Floats:
        """What to add to the scores (n, C) of the unlabelled rows (``Labels.rest``); 0 where nothing is imposed.

        The scores are worked out only where they are needed.
        """
        if not self.imposes:
            return np.zeros(len(self.rest))
        found = np.asarray(scores(), dtype=np.float64)
        return align(found, self.wanted(lambda: found))

    def wanted(self, scores: Callable[[], Floats]) -> Floats:
        """The shares (C,) to give the unlabelled rows, worked out on scores (n, C) of them where need be."""
        return self.rest if self.aim == ACCURACY else self._balanced(scores())

    def _balanced(self, scores: Floats) -> Floats:
        if self.shares is None:
            return balanced_shares(scores)
        possible = self.rest > 0
        if possible.sum() < 2:
            return self.rest
        shares = np.zeros(len(self.rest))
        shares[possible] = balanced_shares(scores[:, possible], self.rest[possible])
        return shares


def prior_of_rest(prior: Floats, codes: Codes) -> Floats:
    """The proportions (C,) of the unlabelled rows, if those of all rows, labelled ones included, are given.

    A class of which somewhat more rows are labelled than its share allows is left with half a row; of far more
    (three standard deviations of a random table), the share cannot be that of all rows.

    >>> prior_of_rest(np.array([0.5, 0.5]), np.array([0, 0, 1, -1, -1, -1, -1, -1]))
    array([0.4, 0.6])
    """
    return shares_of_rest(prior, np.bincount(codes[codes >= 0], minlength=len(prior)), len(codes))


def shares_of_rest(prior: Floats, labeled: Codes, n_rows: int) -> Floats:
    """The same from how many rows of each class are labelled (C,), and how many rows there are in all."""
    expected = prior * n_rows
    excess = labeled - expected - 3 * np.sqrt(expected * (1 - prior)) - 1
    worst = int(excess.argmax())
    if labeled.sum() < n_rows and excess[worst] > 0:
        raise ValueError(
            f"class_prior says that {exact_percent(prior[worst])} of all {n_rows:,} rows are of a class that "
            f"{labeled[worst]:,} labelled rows have; give shares of all rows, labelled ones included."
        )
    rest = np.maximum(expected - labeled, 0.5 * (prior > 0))  # new rows may be of any class that there is
    return rest / rest.sum() if labeled.sum() < n_rows else prior


def shares_of_part(prior: Floats, labeled: Codes, n_rows: int, n_part: int) -> Floats:
    """The proportions (C,) of some rows, all labelled ones among them, the others drawn at random.

    >>> shares_of_part(np.array([0.5, 0.5]), np.array([30, 10]), 1000, 140).round(3)
    array([0.564, 0.436])
    """
    if n_part == n_rows:
        return prior
    return (labeled + shares_of_rest(prior, labeled, n_rows) * (n_part - labeled.sum())) / n_part


def describe_prior(class_prior: Any, prior: Floats | None, classes: NDArray[Any]) -> str:
    """The assumption that a class prior makes, in one plain sentence.

    >>> classes = np.array(["no", "yes"])
    >>> describe_prior({"yes": 0.3, "no": 0.7}, np.array([0.7, 0.3]), classes)
    "you told chary that 70 % of all rows are 'no' and 30 % are 'yes'"
    >>> describe_prior("labeled", np.array([0.7, 0.3]), classes)
    "you told chary that the labelled rows have the proportions of all rows: 70 % are 'no' and 30 % are 'yes'"
    """
    if prior is None:
        return "you told chary nothing about the share of each class among all rows"
    named = np.arange(len(prior))
    if len(prior) > _NAMED_CLASSES:
        named = np.argsort(-prior, kind="stable")[:_NAMED_CLASSES]
    parts = [f"{exact_percent(prior[c])} are {_plain(classes[c])!r}" for c in named]
    if len(prior) > len(named):
        parts.append(f"{exact_percent(1 - prior[named].sum())} are of {len(prior) - len(named)} other classes")
    if isinstance(class_prior, str):
        return f"you told chary that the labelled rows have the proportions of all rows: {listed(parts)}"
    parts[0] = parts[0].replace(" are ", " of all rows are ", 1)
    return f"you told chary that {listed(parts)}"


class Sensitivity(NamedTuple):
    """What would change if the share of one class were another."""

    factor: float  #: of the odds of the class
    share: float  #: of the class among all rows, if so
    predicted: Floats  #: (C,) shares of the predictions
    flipped: float  #: share of the rows whose label changes


def sensitivity(
    scores: ArrayLike, prior: ArrayLike, code: int | None = None, factors: Sequence[float] = ODDS_FACTORS
) -> tuple[int, list[Sensitivity]]:
    """How far the predictions depend on the believed share of one class.

    Parameters
    ----------
    scores : array-like of shape (n, C)
        As for ``align``.
    prior : array-like of shape (C,)
        The proportions believed; those of the predictions themselves, where nothing is.
    code : int, default=None
        The class whose odds move; the others keep their proportions among each other. None: the one whose doubled
        odds flip most labels, of 2,000 rows at most.
    factors : sequence of float
        By which the odds move; 1 is the belief itself.

    Returns
    -------
    code, list of Sensitivity
        The class, and one record for each factor.

    Examples
    --------
    >>> scores = np.column_stack([np.zeros(100), np.linspace(-2, 2, 100)])
    >>> code, levels = sensitivity(scores, [0.8, 0.2], code=1)
    >>> [(level.factor, round(level.share, 2), level.flipped) for level in levels if level.factor >= 1]
    [(1.0, 0.2, 0.0), (1.5, 0.27, 0.07), (2.0, 0.33, 0.13)]
    """
    scores = np.asarray(scores, dtype=np.float64)
    prior = _checked_shares(prior, scores.shape[1])
    if code is None:
        some = scores[_spread(len(scores), _CHOICE_ROWS)]
        own = (some + align(some, prior)).argmax(axis=1)
        possible = [c for c, share in enumerate(prior) if 0 < share < 1]
        code = max(possible, key=lambda c: _level(some, own, prior, c, 2.0).flipped, default=0)
    believed = (scores + align(scores, prior)).argmax(axis=1)
    return code, [_level(scores, believed, prior, code, factor) for factor in factors]


def _resolved(class_prior: Any, labels: Labels) -> Floats:
    if isinstance(class_prior, str):
        if class_prior != "labeled":
            raise ValueError(
                f"class_prior={class_prior!r} is not known; give 'labeled', the share of each class, or None."
            )
        counts = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes))
        return counts / counts.sum()
    if isinstance(class_prior, Mapping):
        class_prior = _shares_in_order(class_prior, labels.classes)
    return _checked_shares(class_prior, len(labels.classes), "class_prior")


def _level(scores: Floats, believed: Codes, prior: Floats, code: int, factor: float) -> Sensitivity:
    moved = prior * np.where(np.arange(len(prior)) == code, factor, 1.0)
    moved /= moved.sum()
    labels = believed if factor == 1 else (scores + align(scores, moved)).argmax(axis=1)
    predicted = np.bincount(labels, minlength=len(prior)) / len(labels)
    return Sensitivity(float(factor), float(moved[code]), predicted, float(np.mean(labels != believed)))


def _spread(n: int, n_most: int) -> Codes:
    """At most so many of n rows, always the same ones, in no order that a table may have."""
    return np.arange(n) if n <= n_most else np.random.default_rng(0).choice(n, n_most, replace=False)


def _checked_shares(shares: ArrayLike, n_classes: int, name: str = "prior") -> Floats:
    try:
        shares = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold one number per class; got {shares!r}.") from None
    if shares.shape != (n_classes,):
        raise ValueError(f"{name} has shape {shares.shape}; give one share for each of the {n_classes} classes.")
    if not (shares >= 0).all():
        raise ValueError(f"{name} holds {shares[~(shares >= 0)][0]:g}; shares must be numbers from 0 to 1.")
    total = shares.sum()
    if not abs(total - 1) <= _SUM_TOLERANCE:
        hint = " (percentages? divide them by 100)" if abs(total - 100) <= 1 else ""
        raise ValueError(f"{name} sums to {total:.7g}{hint}; the shares of all classes must sum to 1.")
    return shares / total


def _shares_in_order(class_prior: Mapping[Any, float], classes: NDArray[Any]) -> list[float]:
    names = [_plain(value) for value in classes]
    unknown = [key for key in class_prior if _plain(key) not in names]
    if unknown:
        raise ValueError(
            f"class_prior names {_plain(unknown[0])!r}, which no labelled row has; "
            f"the classes are {listed([repr(name) for name in names])}."
        )
    missing = [name for name in names if name not in class_prior]
    if missing:
        raise ValueError(
            f"class_prior lacks the class {missing[0]!r}; "
            f"give the share of every class: {listed([repr(name) for name in names])}."
        )
    return [class_prior[name] for name in names]


def _plain(value: Any) -> Any:
    """A NumPy scalar as the Python value that it holds."""
    return value.item() if isinstance(value, np.generic) else value
