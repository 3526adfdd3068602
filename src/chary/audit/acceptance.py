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

# A report says how many rows can be accepted at each of these errors.
ERRORS = (0.01, 0.02, 0.05, 0.1, 0.2)
# The error of the accepted rows holds with at least this probability.
LEVEL = 0.9
# Confidences are counted in steps of 1 / STEPS: files show four digits.
STEPS = 10_000

# The strictest threshold accepts this share of the pool.
_STRICTEST = 0.1
# This many thresholds are tried.
_N_THRESHOLDS = 40
# This part of the risk goes to the threshold called the start, see ``accept_threshold``.
_RISK_OF_START = 0.8
# A p-value may exceed its part of the risk by this much, which is rounding.
_ROUNDING = 1e-12


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

    **One threshold.** For a threshold t fixed beforehand, the n_t audited rows with confidence at
    least t are a random sample of all rows from t on. So the number w_t of wrong ones among them is
    binomial, and

    .. math:: p_t = P(\mathrm{Bin}(n_t, error) \le w_t)

    is an exact p-value against "more than a share ``error`` of the rows from t on is wrong". If it
    is at most the risk 1 - level, the rows from t on can be accepted.

    **Many thresholds.** They accept fixed shares of the pool, whatever the answers are, and are
    numbered from strict to lax. They share the risk by the fallback procedure (Wiens, 2003; the
    graphs of Bretz et al., 2009): threshold t has a part v_t of the risk as its own. A threshold is
    passed if p_t is at most its risk alpha_t. Then it hands this risk on to the next laxer
    threshold; otherwise its risk is lost:

    .. math:: \alpha_t = v_t (1 - level) + \alpha_{t-1} [p_{t-1} \le \alpha_{t-1}], \qquad
              \sum_t v_t \le 1.

    The laxest threshold that is passed is returned.

    **The parts.** Two thresholds have a part of their own. One is called the start: the strictest
    threshold with enough audited rows to be passed if all of them are right; if none has enough, it
    is the laxest one, which accepts all rows. The start has four fifths of the risk if all its
    audited rows are right, or if no stricter threshold has any audited row. Otherwise these four
    fifths are not used at all. The last fifth belongs to the laxest threshold.

    **What holds.** With probability ``level`` over the draw of the audit, at most a share ``error``
    of the pool's rows from the returned threshold on is wrong. This holds although the threshold
    was chosen by the audit, and supposes nothing of the confidence, the model or its training
    labels. Proof, given how many audited rows each threshold has, which tells nothing about their
    answers: call a threshold bad if more than a share ``error`` of the rows from it on is wrong. A
    wrong outcome needs a bad threshold that is passed; let t be the strictest one, and s the
    nearest bad threshold that is stricter than t. Since t is the strictest bad one passed, s was
    not passed and handed nothing on. So alpha_t holds only parts of thresholds after s, up to t,
    and the chance that t is passed is at most their sum. For different t these parts are different
    ones, so the chances of all t add up to 1 - level at most.

    **More is never less.** A larger error never accepts fewer rows. Neither does a right answer
    instead of a wrong one. Proof: p_t falls with the error and rises with w_t. A larger error may
    also move the start to a stricter threshold. Then the old start was passed with no wrong row, so
    the new one is passed, too, and so are all thresholds between them. From there on, by induction,
    smaller p_t pass the same thresholds and more, each with an alpha_t at least as large.

    **What does not hold.** ``n_wrong / n_audited`` and ``score`` of the accepted rows are
    optimistic, because the threshold was chosen by these rows. And the probability is that of one
    error, fixed beforehand: if several are tried in turn and the best outcome is taken, it is
    lower.

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
    shares = np.geomspace(_STRICTEST, 1, _N_THRESHOLDS)  # (T,)
    places = np.round((1 - shares) * rows.n).astype(int)  # among the rows, sorted by confidence
    thresholds = rows.smallest(np.minimum(places, rows.n - 1))  # (T,)

    # 2. n_t and w_t: the audited rows from each threshold on, and the wrong ones among them.
    order = np.argsort(-confidence, kind="stable")  # the surest audited row first
    n_audited = np.searchsorted(-confidence[order], -thresholds, side="right")  # (T,) n_t
    n_wrong_of_surest = np.append(0, np.cumsum(wrong[order]))  # among the surest 0, 1, ... rows
    n_wrong = n_wrong_of_surest[n_audited]  # (T,) w_t

    # 3. The walk. A threshold that is passed hands its risk on; one that is not passed loses it.
    risk_parts = _risk_parts(n_audited, n_wrong, error, level)  # (T,) v_t
    p_values = bdtr(n_wrong, n_audited, error).tolist()  # (T,) p_t
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
    """Share out the risk among the thresholds: return the v_t of ``accept_threshold``, (T,).

    ``n_audited`` and ``n_wrong``, both (T,), are the audited rows from each threshold on, and the
    wrong ones among them.
    """
    # The start is the first threshold that would be passed if all its audited rows were right, or
    # else the last threshold, which accepts all rows.
    p_if_all_right = bdtr(0, n_audited[:-1], error)  # of all thresholds but the last
    can_pass = p_if_all_right <= _RISK_OF_START * (1 - level) + _ROUNDING
    start = int(np.argmax(np.append(can_pass, True)))  # the place of the first True

    risk_parts = np.zeros(_N_THRESHOLDS)
    # A threshold with fewer audited rows than the start is stricter.
    is_stricter_and_audited = (n_audited > 0) & (n_audited < n_audited[start])
    if n_wrong[start] == 0 or not is_stricter_and_audited.any():
        risk_parts[start] = _RISK_OF_START
    risk_parts[-1] += 1 - _RISK_OF_START
    return risk_parts


def nothing_accepted(error: float, level: float) -> Acceptance:
    """Return the outcome in which no row can be accepted at an error."""
    return Acceptance(math.inf, 0, 0, 0, error, level)


def smallest_audit(error: float, level: float = 0.9) -> int:
    """Count the audited rows that are needed, all of them right, before any row can be accepted.

    The more audited rows are right, the less likely is it that more than a share ``error`` of all
    rows is wrong. With 22 right answers that is unlikely enough for an error of 10 %: if 10 % were
    wrong, 22 right answers in a row would have a chance of 0.9 to the power of 22, less than 10 %.

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
    # Confidences of the rows that the audited ones were drawn from. They fix the thresholds.
    pool: ConfidenceHistogram
    # Confidences of the rows that nobody has answered, in the table whose accepted rows are
    # counted; it may be another table than the one of the audit.
    rest: ConfidenceHistogram
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
        # The confidence at place p is the first one up to which there are more than p rows.
        n_rows_up_to = np.cumsum(self.counts)  # (m,)
        return self.values[np.searchsorted(n_rows_up_to, places, side="right")]

    def n_from(self, threshold: float) -> int:
        """Count the rows of at least this confidence."""
        return int(self.counts[self.values >= threshold].sum())
