"""Which rows can be accepted with at most a share of wrong labels, by confidence and an audit."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from chary._arrays import Array, Floats, Ints, Mask
from chary._words import Parameter, shown
from chary.tables.table import TableError

# A report says how many rows can be accepted at each of these errors, with this probability.
ERRORS = (0.01, 0.02, 0.05, 0.1, 0.2)
LEVEL = 0.9
# Confidences are counted in steps of 1 / STEPS: files show four digits.
STEPS = 10_000

_STRICTEST = 0.1  # the strictest threshold accepts this share of the pool
_N_THRESHOLDS = 40  # how many thresholds are tried
_RISK_OF_START = 0.8  # the part of the risk that goes to the start, see ``accept_threshold``
_ROUNDING = 1e-12  # a p-value may exceed its part of the risk by this much


class Acceptance(NamedTuple):
    """The rows that can be accepted at an error."""

    threshold: float  #: accept rows of at least this confidence; infinite: none
    n_accepted: int  #: rows of the pool
    n_audited: int  #: audited rows among the accepted ones
    n_wrong: int  #: accepted audited rows whose label is wrong
    error: float  #: at most this share of the accepted rows is wrong
    level: float  #: the probability, at least, that ``error`` holds


def accept_threshold(
    confidence: ArrayLike,
    correct: ArrayLike,
    pool: ConfidenceHistogram | ArrayLike,
    error: float,
    level: float = 0.9,
) -> Acceptance:
    r"""Find the smallest confidence from which on rows can be accepted at an error.

    For a threshold t fixed beforehand, the n_t audited rows with confidence at least t are a random
    sample of all such rows, so that the number of wrong ones w_t is binomial and

    .. math:: p_t = P(\mathrm{Bin}(n_t, error) \le w_t)

    is an exact p-value against "the error above t exceeds ``error``". The thresholds are fixed
    shares of the pool, whatever the answers are. They are walked from strict to lax by the fallback
    procedure (Wiens, 2003; the graphs of Bretz et al., 2009): each threshold has its own part v_t
    of the risk 1 - level, and a threshold that is passed hands its risk alpha_t on to the next
    laxer one,

    .. math:: \alpha_t = v_t (1 - level) + \alpha_{t-1} [p_{t-1} \le \alpha_{t-1}], \qquad
              \sum_t v_t = 1.

    The laxest threshold with p_t at most alpha_t is returned. Four fifths of the risk go to the
    start: the strictest threshold with enough audited rows to be passed if all of them are right,
    or all rows if no threshold has enough. The start gets its four fifths only if all its audited
    rows are right, or if no stricter threshold has any audited row. The last fifth goes to
    accepting all rows.

    What holds: with probability ``level`` over the draw of the audit, at most a share ``error`` of
    the pool's rows from the returned threshold on is wrong, although the threshold was chosen with
    the audit, with no assumption on the confidence, the model or its training labels. Proof, given
    how many audited rows each threshold has, which tells nothing about their answers: if thresholds
    are passed whose error is too high, let t be the strictest of them and s the next stricter one
    whose error is too high. It was not passed, so alpha_t holds no more than the parts after s up
    to t. Each part belongs to one such t alone, so the chances of these events add up to 1 - level
    at most.

    A larger error never accepts fewer rows. Neither does a right answer instead of a wrong one.
    Proof: p_t falls with the error and rises with w_t. A larger error may also move the start to a
    stricter threshold. Then the old start was passed with no wrong row, so the new one is passed
    too, and so are all thresholds between them. From there on, by induction, smaller p_t pass the
    same thresholds and more, each with an alpha_t at least as large.

    What does not hold: ``n_wrong / n_audited`` and ``score`` of the accepted rows are optimistic,
    because the threshold was chosen by these rows. Nor does the best of several errors that were
    tried in turn: fix one error beforehand.

    Parameters
    ----------
    confidence : array-like of shape (k,)
        Confidences of the audited rows, by a model that has not seen their labels.
    correct : array-like of shape (k,), bool
        Whether that model's predictions of them are right.
    pool : array-like of shape (n,), or ConfidenceHistogram
        Confidences of all unlabelled rows, the audited ones included.
    error : float
        The largest share of wrong rows allowed.
    level : float, default=0.9

    Examples
    --------
    >>> pool = np.linspace(0, 1, 1001)
    >>> audited = pool[::10]
    >>> accepted = accept_threshold(audited, audited > 0.3, pool, error=0.1)
    >>> accepted.n_accepted, accepted.n_audited, accepted.n_wrong
    (702, 71, 1)
    """
    if not (0 < error < 1 and 0 < level < 1):
        raise ValueError(f"error={error} and level={level} must be shares, above 0 and below 1.")
    confidence = np.asarray(confidence, dtype=float)
    wrong = ~np.asarray(correct, dtype=bool)
    rows = pool if isinstance(pool, ConfidenceHistogram) else ConfidenceHistogram.exact(pool)
    # The values are sorted, with NaN at the end.
    if np.isnan(confidence).any() or np.isnan(rows.values[-1:]).any():
        raise ValueError(
            "confidence must be a number for every row; give -inf where there is none."
        )
    if len(confidence) == 0:
        return nothing_accepted(error, level)

    # 1. The thresholds accept fixed shares of the pool, from strict to lax: the threshold for a
    # share of 10 % is the confidence that 90 % of the rows are below.
    shares = np.geomspace(_STRICTEST, 1, _N_THRESHOLDS)
    places = np.round((1 - shares) * rows.n).astype(int)
    thresholds = rows.smallest(np.minimum(places, rows.n - 1))  # (T,)

    # 2. n_t and w_t: the audited rows from each threshold on, and the wrong ones among them.
    order = np.argsort(-confidence, kind="stable")  # the surest audited row first
    n_audited = np.searchsorted(-confidence[order], -thresholds, side="right")  # (T,)
    n_wrong_of_surest = np.append(0, np.cumsum(wrong[order]))  # of the surest 0, 1, ... rows
    n_wrong = n_wrong_of_surest[n_audited]  # (T,)

    # 3. v_t and p_t. A threshold that is passed hands its risk on; one that is not loses it.
    risk_parts = _risk_parts(n_audited, n_wrong, error, level)
    p_values = bdtr(n_wrong, n_audited, error).tolist()
    laxest = None
    alpha = 0.0
    for t, p_value in enumerate(p_values):
        alpha += risk_parts[t] * (1 - level)
        if p_value <= alpha + _ROUNDING:
            laxest = t
        else:
            alpha = 0.0
    if laxest is None:
        return nothing_accepted(error, level)

    threshold = float(thresholds[laxest])
    return Acceptance(
        threshold,
        n_accepted=rows.n_from(threshold),
        n_audited=int(n_audited[laxest]),
        n_wrong=int(n_wrong[laxest]),
        error=error,
        level=level,
    )


def _risk_parts(n_audited: Ints, n_wrong: Ints, error: float, level: float) -> Floats:
    """Share out the risk among the thresholds: return the v_t of ``accept_threshold``, (T,)."""
    # The start is the strictest threshold that can be passed at all, or else the last threshold,
    # which accepts all rows.
    p_if_all_right = bdtr(0, n_audited[:-1], error)
    can_pass = p_if_all_right <= _RISK_OF_START * (1 - level) + _ROUNDING
    start = int(np.argmax(np.append(can_pass, True)))  # the first True

    risk_parts = np.zeros(_N_THRESHOLDS)
    is_stricter = (n_audited > 0) & (n_audited < n_audited[start])
    if n_wrong[start] == 0 or not is_stricter.any():
        risk_parts[start] = _RISK_OF_START
    risk_parts[-1] += 1 - _RISK_OF_START
    return risk_parts


def nothing_accepted(error: float, level: float) -> Acceptance:
    """Return the outcome in which no row can be accepted at an error."""
    return Acceptance(math.inf, 0, 0, 0, error, level)


def smallest_audit(error: float, level: float = 0.9) -> int:
    """Count the audited rows, all of them right, that are needed to accept any row at an error.

    Parameters
    ----------
    error : float
        The largest share of wrong rows allowed among the accepted ones.
    level : float, default=0.9
        The probability with which the error should hold.

    Examples
    --------
    >>> smallest_audit(0.1), smallest_audit(0.05), smallest_audit(0.01)
    (22, 45, 230)
    """
    return math.ceil(math.log(1 - level + _ROUNDING) / math.log1p(-error))


class Acceptor(NamedTuple):
    """The confidences and audited labels by which rows are accepted at any error."""

    confidence: Array  # (k,) of the audited rows, skipped ones included
    correct: Mask  # (k,) False where skipped
    # Confidences of the rows that the audited ones were drawn from: they fix the thresholds.
    pool: ConfidenceHistogram
    rest: ConfidenceHistogram  # confidences of the rows of the table that nobody has answered
    answered: ConfidenceHistogram  # confidences of the rows that a person has answered

    @property
    def n_rows(self) -> int:
        """Number of rows that the audited ones were drawn from."""
        return self.rest.n + self.answered.n

    def at(self, error: float) -> Acceptance:
        """Find the rows to accept at an error.

        ``n_accepted`` counts answered rows too: the proof of ``accept_threshold`` is about all rows
        that the audited ones were drawn from. Among the unanswered rows alone, the share of wrong
        ones can be higher.
        """
        accepted = accept_threshold(self.confidence, self.correct, self.pool, error, LEVEL)
        threshold = accepted.threshold
        n_accepted = self.rest.n_from(threshold) + self.answered.n_from(threshold)
        return accepted._replace(n_accepted=n_accepted)


def check_error(error: float | None, audit: Any) -> None:
    """Refuse an error that is not a share, or that was given without an audit."""
    if error is None:
        return
    if not isinstance(error, Real) or not 0 < error < 1:
        raise TableError(
            f"The error {shown(error)} is not a share of wrong labels, such as ",
            Parameter("error", "0.1"),
            ".",
        )
    if audit is None:
        raise TableError(
            "Only an audit tells which rows can be accepted; pass ", Parameter("audit"), "."
        )


class ConfidenceHistogram(NamedTuple):
    """How many rows have each confidence.

    By default, confidences are counted in steps of a ten-thousandth, so that the histogram has the
    same size for any table.
    """

    counts: NDArray[np.int64]  # (m,) number of rows with each confidence
    values: Floats = np.arange(STEPS + 1) / STEPS  # (m,) the confidences, ascending

    @classmethod
    def of(cls, confidence: ArrayLike) -> ConfidenceHistogram:
        """Count rows by their confidence, from 0 to 1, in steps of a ten-thousandth.

        >>> ConfidenceHistogram.of([0.5, 0.50004, 1.0]).n_from(0.5)
        3
        """
        shares = np.clip(np.asarray(confidence, dtype=np.float64), 0, 1)
        steps = np.rint(shares * STEPS).astype(np.intp)
        return cls(np.bincount(steps, minlength=STEPS + 1).astype(np.int64))

    @classmethod
    def exact(cls, confidence: ArrayLike) -> ConfidenceHistogram:
        """Count rows by their confidence without rounding; it may be any number.

        >>> ConfidenceHistogram.exact([7, -1.5, 7]).smallest([0, 1])
        array([-1.5,  7. ])
        """
        values, counts = np.unique(np.asarray(confidence, dtype=float), return_counts=True)
        return cls(counts, values)

    @property
    def n(self) -> int:
        """Rows in all."""
        return int(self.counts.sum())

    def plus(self, other: ConfidenceHistogram) -> ConfidenceHistogram:
        """Add the rows of another histogram, counted in the same steps."""
        return self._replace(counts=self.counts + other.counts)

    def smallest(self, places: ArrayLike) -> Floats:
        """Return the confidences at places of the sorted rows; place 0 has the smallest.

        >>> ConfidenceHistogram.of([0.9, 0.1, 0.5]).smallest([0, 2])
        array([0.1, 0.9])
        """
        return self.values[np.searchsorted(np.cumsum(self.counts), places, side="right")]

    def n_from(self, threshold: float) -> int:
        """Count the rows of at least this confidence."""
        return int(self.counts[self.values >= threshold].sum())
