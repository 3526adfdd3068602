"""Counts of what holds in the rows a model learned from, and in new ones, in; whether they look alike out.

Rows are known by events alone: a number is above a cut, a cell belongs to a group, or is missing. Counts of events
add up over any parts of the rows, in any order, and take no more room for more rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, xlogy

from chary.evaluation.diagnosis import SIGNIFICANCE, STRONG_AUC, some_of

Floats = NDArray[np.floating[Any]]
Counts = NDArray[np.int64]

ALIKE, DIFFERENT, VERY_DIFFERENT = "alike", "different", "very different"

# However sure, a difference is none of weight if an event holds in less than so many more or fewer of the rows, or
# if all columns together tell the rows apart less well than this.
SMALLEST_DIFFERENCE, SMALLEST_AUC = 0.1, 0.6
N_CUTS = 9

# One column, and all together, may be wrong by chance: each half as often.
_LEVEL = SIGNIFICANCE / 2
# Events of such shares make the sum over all columns; the others are looked at one by one only.
_FREQUENT = 0.05, 0.95
# Fewer new rows than this have no sum: it would rest on single rows.
_SUMMED_ROWS = 10
# Rows that the cuts, and the spectrum, come from.
_CUT_ROWS, _GRAM_ROWS, _GRAM_CELLS = 20_000, 1_000, 2**23
_CHUNK_CELLS = 2**18


class EventCounts(NamedTuple):
    """In how many of some rows each event holds."""

    n_rows: int
    counts: Counts  # (e,)

    def plus(self, other: EventCounts) -> EventCounts:
        """Those of the rows of both."""
        return EventCounts(self.n_rows + other.n_rows, self.counts + other.counts)

    @property
    def shares(self) -> Floats:
        """(e,) of the rows, from 0 to 1."""
        return self.counts / max(1, self.n_rows)


@dataclass(frozen=True)
class Drift:
    """How far new rows are from those that a model learned from."""

    verdict: str  # alike, different or very different
    auc: (
        float  # how well new rows can be told from old ones, by the best event or by all: 0.5 not at all, 1 always
    )
    together: Together
    events: NDArray[np.intp]  # that differ beyond chance, of every column the one that differs most; largest first
    n_weighty: int  # how many of these differ by enough to matter
    p_values: Floats  # (e,) of all events, adjusted for their number (Bonferroni)


class Spectrum(NamedTuple):
    """How columns hang together; of independent ones of two values, both are their number."""

    columns: float  # independent ones that vary as much as all, in sum
    tail: float  # independent ones whose sum has as long a tail: fewer, if some hang together and others do not


class Together(NamedTuple):
    """How far all columns together differ."""

    auc: float  # chance taken off
    p_value: float


def compare_counts(seen: EventCounts, new: EventCounts, column: NDArray[np.intp], spectrum: Spectrum) -> Drift:
    """Whether new rows look like those seen before.

    They differ if some event holds in at least a tenth more or fewer of them and chance hardly ever makes it so
    (``event_p_values``, adjusted for the number of events), or if all columns together do (``measure_together``).
    So a large file is not accused of trifles, and a small one not of chance.

    Parameters
    ----------
    seen, new : EventCounts
        Of the same e events.
    column : array of shape (e,), int
        The number of the column that an event is about.
    spectrum : Spectrum
        From ``measure_spectrum``, of rows seen before.
    """
    difference = np.abs(new.shares - seen.shares)
    everything = seen.plus(new).shares
    n_possible = int(((everything > 0) & (everything < 1)).sum())
    p_values = np.minimum(1.0, event_p_values(seen, new) * n_possible)
    together = measure_together(seen, new, column, spectrum)
    sure = np.flatnonzero(p_values <= _LEVEL)
    order = sure[np.argsort(-difference[sure], kind="stable")]
    events = order[np.sort(np.unique(column[order], return_index=True)[1])]
    n_weighty = int((difference[events] >= SMALLEST_DIFFERENCE).sum())
    auc = 0.5 + float(difference[events].max(initial=0)) / 2
    at_large = together.p_value <= _LEVEL and together.auc >= SMALLEST_AUC
    auc = max(auc, together.auc) if at_large else auc
    verdict = ALIKE if not (n_weighty or at_large) else VERY_DIFFERENT if auc >= STRONG_AUC else DIFFERENT
    return Drift(verdict, auc, together, events, n_weighty, p_values)


def event_p_values(seen: EventCounts, new: EventCounts) -> Floats:
    r"""(e,) How often chance makes an event differ as much, if both are drawn from the same rows.

    With k of n rows in one and l of m in the other, and p the share in both together, the deviance

    .. math:: G = \sum_{(k, n)} k \log\frac{k}{n p} + (n - k) \log\frac{n - k}{n (1 - p)}

    after k and l were moved towards p by half a row (as Yates did), and 2 Phi(-sqrt(2 G)). It is nearly that of
    Fisher's exact test, on its safe side where counts are small, and costs the same for a billion rows.
    """
    n, m = float(seen.n_rows), float(new.n_rows)
    total = (seen.counts + new.counts).astype(np.float64)
    expected = total * m / max(1.0, n + m)
    excess = new.counts - expected
    here = expected + np.sign(excess) * np.maximum(np.abs(excess) - 0.5, 0)
    deviance = _information(total - here, n) + _information(here, m) - _information(total, n + m)
    return 2 * ndtr(-np.sqrt(2 * np.maximum(deviance, 0)))


def measure_together(
    seen: EventCounts, new: EventCounts, column: NDArray[np.intp], spectrum: Spectrum
) -> Together:
    r"""How far all columns together differ, from frequent events.

    With p and q the shares of an event in n and m rows, r in all of them, and w its weight
    (``event_weights``),

    .. math:: T = \frac{nm}{n + m} \sum_e w_e \frac{(p_e - q_e)^2}{r_e (1 - r_e)}

    has the mean c, the number of columns, and the variance 2 c^2 / nu if the rows are alike, nu those of them that
    are independent; its p-value is that of a chi-squared distribution of tau degrees of freedom moved to this mean
    and variance, which has its skewness, too (Hall, Buckley and Eagleson; ``Spectrum``). The squared distance
    between both in standard deviations along the line that tells them best apart is then about

    .. math:: \delta^2 = \frac{\nu}{c} \sum_e w_e \frac{(p_e - q_e)^2}{s_e (1 - s_e)} - \nu \frac{n + m}{nm}

    with s the mean of p and q; and the AUC that belongs to it Phi(delta / sqrt(2)).
    """
    weights = event_weights(seen.shares, column)
    n_columns = float(weights.sum())
    if n_columns == 0 or spectrum.tail == 0 or min(seen.n_rows, new.n_rows) < _SUMMED_ROWS:
        return Together(0.5, 1.0)
    used = weights > 0
    p, q, r = seen.shares[used], new.shares[used], seen.plus(new).shares[used]
    middle, nu, tau = (p + q) / 2, spectrum.columns, spectrum.tail
    rows = seen.n_rows / (seen.n_rows + new.n_rows) * new.n_rows
    statistic = rows * float(weights[used] @ ((p - q) ** 2 / (r * (1 - r))))
    moved = tau + np.sqrt(tau * nu) * (statistic / n_columns - 1)
    distance = nu / n_columns * float(weights[used] @ ((p - q) ** 2 / (middle * (1 - middle)))) - nu / rows
    auc = float(ndtr(np.sqrt(max(distance, 0.0) / 2)))
    return Together(auc, float(chdtrc(tau, max(moved, 0.0))))


def event_weights(shares: Floats, column: NDArray[np.intp]) -> Floats:
    """(e,) Weights of frequent events in the sum: those of a column add up to 1, of others they are 0."""
    frequent = (shares >= _FREQUENT[0]) & (shares <= _FREQUENT[1])
    n_of_column = np.bincount(column[frequent], minlength=column.max(initial=0) + 1)
    return np.where(frequent, 1 / np.maximum(1, n_of_column)[column], 0.0)


# ---------------------------------------------------------------- cuts and counts


def find_cuts(X: Floats, once: NDArray[np.bool_]) -> NDArray[np.float32]:
    """(d, 9) Where to cut each feature: near its deciles, or where it is to be cut ``once``, near the median.

    A cut lies halfway between two values, so it is none of them, and rounding moves no value across. Features of
    few values have fewer cuts, then infinity.
    """
    rows = some_of(np.arange(len(X)), _CUT_ROWS, np.random.default_rng(0))
    cuts = np.full((X.shape[1], N_CUTS), np.inf, np.float32)
    for j in range(X.shape[1]):
        found = _cuts(np.sort(X[rows, j]), 1 if once[j] else N_CUTS)
        cuts[j, : len(found)] = found
    return cuts


def count_above(X: Floats, cuts: NDArray[np.float32]) -> Counts:
    """(d, 9) In how many rows each feature is above each cut."""
    counts = np.zeros(cuts.shape, np.int64)
    size = max(1, _CHUNK_CELLS // max(1, X.shape[1]))
    for start in range(0, len(X), size):
        part = np.ascontiguousarray(X[start : start + size].T)
        above = np.empty(part.shape, np.bool_)
        for k in np.flatnonzero(np.isfinite(cuts).any(axis=0)):  # nothing is above infinity
            np.greater(part, cuts[:, k, None], out=above)
            counts[:, k] += [
                np.count_nonzero(of_one) for of_one in above
            ]  # with an axis it takes five times as long
    return counts


def rows_to_measure(n_rows: int, n_events: int) -> NDArray[np.intp]:
    """Rows whose events ``measure_spectrum`` needs: as many as fit."""
    most = min(_GRAM_ROWS, max(_SUMMED_ROWS, _GRAM_CELLS // max(1, n_events)))
    return some_of(np.arange(n_rows), most, np.random.default_rng(0))


def measure_spectrum(events: NDArray[np.bool_], shares: Floats, column: NDArray[np.intp]) -> Spectrum:
    r"""How the columns hang together, from the eigenvalues of the weighted correlations of their events.

    .. math:: \nu = s_1^2 / s_2, \quad \tau = s_2^3 / s_3^2, \quad s_k = \mathrm{tr}\, (W^{1/2} R W^{1/2})^k

    with R the correlations of the events and W their weights. s_2 and s_3 are estimated without bias, by the mean
    over pairs and over triples of different rows of products of inner products of their standardised events.

    Parameters
    ----------
    events : array of shape (n, e), bool
        Which events hold in each of some rows.
    shares : array of shape (e,)
        Of the events in all rows.
    column : array of shape (e,), int
    """
    weights = event_weights(shares, column)
    used, n = weights > 0, len(events)
    if not used.any() or n < 3:
        return Spectrum(0.0, 0.0)
    p, w = shares[used].astype(np.float32), weights[used].astype(np.float32)
    Z = (events[:, used] - p) * np.sqrt(w / (p * (1 - p)))  # (n, frequent)
    gram = (Z @ Z.T).astype(np.float64)
    np.fill_diagonal(gram, 0)
    first = float(weights.sum())
    second = max(np.square(gram).sum() / (n * (n - 1)), first**2 / used.sum())
    third = max(((gram @ gram) * gram).sum() / (n * (n - 1) * (n - 2)), second**2 / first)
    nu = max(1.0, first**2 / second)
    # Rounded, as sums differ in their last digits from one machine to another.
    return Spectrum(round(float(nu), 2), round(float(np.clip(second**3 / third**2, 1.0, nu)), 2))


def _cuts(values: Floats, n_cuts: int) -> Floats:
    """Halfway between neighbours in sorted values: below the quantiles, or above where nothing is below."""
    at = values[np.arange(1, n_cuts + 1) * len(values) // (n_cuts + 1)]
    first, after = np.searchsorted(values, at, "left"), np.searchsorted(values, at, "right")
    upper = np.where(first > 0, first, after)
    upper = np.unique(upper[upper < len(values)])
    return np.unique((values[upper - 1] + values[upper]) / 2)


def _information(k: Floats, n: float) -> Floats:
    return xlogy(k, k) + xlogy(n - k, n - k) - xlogy(n, n)
