"""Class scores and wanted class sizes in; the offsets of the classes that give exactly these sizes out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

# Up to this many rows are solved as they are; of more, only those near a boundary between classes matter.
_CORE_ROWS = 2**15
_FEW_MOVES = 64  # cheaper one by one than another level of temperature
_MAX_STEPS = 100


def whole_counts(shares: Floats, n: int, favor: Floats | None = None) -> Codes:
    """n rows shared out by largest remainder; of equal remainders the favoured class goes first.

    >>> whole_counts(np.array([0.5, 0.3, 0.2]), 4)
    array([2, 1, 1])
    >>> whole_counts(np.array([0.5, 0.5]), 3, favor=np.array([0.1, 0.9]))
    array([1, 2])
    """
    quotas = shares * n
    counts = np.floor(quotas).astype(np.intp)
    favor = np.zeros(len(shares)) if favor is None else favor
    by_remainder = np.lexsort((-favor, -(quotas - counts).round(9)))
    counts[by_remainder[: n - counts.sum()]] += 1
    return counts


def match_counts(columns: Floats, counts: Codes) -> Floats:
    r"""Offsets b with which class c has the highest raised score in k_c rows.

    With the scores s_ic as columns (C, n), b solves the dual of the best assignment of rows to classes of sizes k,

    .. math:: \min_b \; \sum_i \max_c (s_{ic} + b_c) - \sum_c k_c b_c.

    Among all solutions the one in the middle is returned; it does not depend on the order of the rows. Rows
    with equal scores cannot be told apart: they go to the side that leaves the counts nearest to k (for two
    classes; for more, the nearest that a local search over the orders of the classes finds).

    >>> match_counts(np.array([[2.0, 1.5, 1.0, 0.2], [0.0, 0.0, 0.0, 0.0]]), np.array([2, 2]))
    array([0.  , 1.25])
    """
    n_classes = len(columns)
    filled = counts > 0
    if n_classes == 1:
        return np.zeros(1)
    if filled.all():
        return (_two_class_offset if n_classes == 2 else _many_class_offset)(columns, counts)
    offset = np.zeros(n_classes)
    offset[filled] = match_counts(columns[filled], counts[filled])
    best = (columns[filled] + offset[filled, None]).max(axis=0)  # (n,)
    for c in np.flatnonzero(~filled):  # too small a class to have one of these rows, but perhaps a new one
        offset[c] = _cut(np.unique(best - columns[c]), 0)
    return offset


def match_means(columns: Floats, shares: Floats, offset: Floats, tolerance: float) -> Floats:
    """From an offset on, those with which the mean softmax is within a tolerance of the shares, if steps suffice.

    Over a step whose largest and smallest entry differ by r, the curvature of log-sum-exp changes at most by the
    factor e^r; therefore the share log(1 + r) / r of a Newton step always descends, and no search is needed.
    """
    for _ in range(_MAX_STEPS):
        log_mean, curvature = _soft_moments(columns, offset)
        missing = shares - np.exp(log_mean)
        if np.abs(missing).max() <= tolerance:
            return offset
        if (missing > np.maximum(0.99 * shares, tolerance)).any():
            offset = offset + np.log(shares) - log_mean  # far off and flat: this step always descends too
            continue
        # The problem does not change when all offsets move together: the added ones fix that direction.
        step = np.linalg.lstsq(curvature + 1, missing, rcond=None)[0]
        r = np.ptp(step)
        offset = offset + step * (np.log1p(r) / max(r, np.finfo(np.float64).tiny))
    return offset


def as_columns(scores: ArrayLike) -> Floats:
    """Scores (n, C), checked, as contiguous columns (C, n): a pass over a class is a pass over memory."""
    columns = np.ascontiguousarray(np.asarray(scores, dtype=np.float64).T)
    if columns.ndim != 2 or columns.shape[0] < 2 or columns.shape[1] < 1:
        raise ValueError(f"scores must have at least one row and two classes; got shape {columns.T.shape}.")
    if not np.isfinite(columns).all():
        raise ValueError("scores hold NaN or infinity; give logits, or logarithms of probabilities above 0.")
    return columns


def _two_class_offset(columns: Floats, counts: Codes) -> Floats:
    """One sort: the rows that lean least to the second class are the first class's."""
    leaning = np.sort(columns[1] - columns[0])
    values, first = np.unique(leaning, return_index=True)
    ends = np.append(first, len(leaning))  # rows below each distinct value: the cuts that there are
    nearest = int(np.abs(ends - counts[0]).argmin())
    return np.array([0.0, -_cut(values, nearest)])


def _cut(values: Floats, position: int) -> float:
    """A number between the sorted values before and after a position; beyond the ends, by half the next gap."""
    if 0 < position < len(values):
        return float(values[position - 1] + values[position]) / 2
    if len(values) == 1:
        return float(values[0]) + (1 if position else -1)
    if position:
        return float(values[-1] + (values[-1] - values[-2]) / 2)
    return float(values[0] - (values[1] - values[0]) / 2)


def _many_class_offset(columns: Floats, counts: Codes) -> Floats:
    """The middle of all offsets that are optimal; it depends on the scores alone, not on the order of rows.

    Row i of class c stays there when b_d - b_c <= s_ic - s_id. The least of these limits for each pair (c, d)
    makes a graph; the shortest paths from each class are the corners of the set of optimal b, and their mean lies
    strictly inside unless rows are tied.
    """
    offset, owner = _assign(columns, counts)
    limits = np.maximum(_limits(columns, owner) + offset[:, None] - offset, 0)  # (C, C)
    for c in range(len(limits)):
        limits = np.minimum(limits, limits[:, c, None] + limits[c])
    offset = offset + limits.mean(axis=0)
    offset -= offset[0]
    first, margin = top_two(columns, offset)
    rounding = 64 * np.finfo(np.float64).eps * max(_magnitude(columns), _magnitude(offset))
    tied = margin <= rounding
    if not tied.any():
        return offset
    clear = margin[~tied]
    nudge = clear.min() / 2 if len(clear) else 1.0
    fixed = np.bincount(first[~tied], minlength=len(counts))
    raised = columns[:, tied] + offset[:, None]
    return offset + nudge * _tie_order(raised >= raised.max(axis=0) - rounding, counts - fixed)


def _tie_order(contenders: NDArray[np.bool_], counts: Codes) -> Floats:
    """Heights of the classes, in [0, 1), with which the highest contenders come close to the counts."""
    patterns, repeats = np.unique(contenders, axis=1, return_counts=True)  # (C, number of patterns)
    n_classes = len(counts)

    def miss(order: list[int]) -> float:
        heights = np.argsort(order)
        winners = np.where(patterns, heights[:, None], -1).argmax(axis=0)
        return float(np.abs(np.bincount(winners, repeats, minlength=n_classes) - counts).sum())

    order = list(np.argsort(counts, kind="stable"))  # the class that lacks most rows comes last: highest
    found = miss(order)
    improved = True
    while improved and found > 0:
        improved = False
        for c in range(n_classes):
            others = [d for d in order if d != c]
            for place in range(n_classes):
                trial = [*others[:place], c, *others[place:]]
                if (value := miss(trial)) < found:
                    order, found, improved = trial, value, True
    return np.argsort(order) / n_classes


def _assign(columns: Floats, counts: Codes) -> tuple[Floats, Codes]:
    """The best assignment with exactly these counts and an offset for which no row would rather move.

    Of many rows, a sample tells where the boundaries lie; then only the rows close to them are left open.
    """
    n_classes, n = columns.shape
    offset = np.zeros(n_classes)
    if n <= _CORE_ROWS:
        return _assign_core(columns, counts, offset)
    sample = columns[:, :: -(-n // _CORE_ROWS)]
    offset, _ = _assign_core(sample, whole_counts(counts / n, sample.shape[1]), offset)
    owner, margin = top_two(columns, offset)
    n_open = 2 * _CORE_ROWS
    while n_open < n:
        is_open = _close_rows(columns, offset, owner, margin, _excess(owner, counts), n_open)
        left = counts - np.bincount(owner[~is_open], minlength=n_classes)
        if (left >= 0).all():
            refined, owner_of_open = _assign_core(columns[:, is_open], left, offset)
            first, _ = top_two(columns, refined)
            if (first == owner)[~is_open].all():
                owner[is_open] = owner_of_open
                return refined, owner
        n_open *= 4
    return _assign_core(columns, counts, offset)


def _close_rows(
    columns: Floats, offset: Floats, owner: Codes, margin: Floats, excess: Codes, n_open: int
) -> NDArray[np.bool_]:
    """About n_open rows nearest to a boundary, with twice those that each class has to give or get."""
    is_open = margin <= np.partition(margin, n_open)[n_open]
    for c in np.flatnonzero(excess):
        rows = np.flatnonzero((owner == c) == (excess[c] > 0))
        lead = margin[rows]
        if excess[c] < 0:
            # But for offset[c], which all of them have.
            lead = columns[owner[rows], rows] + offset[owner[rows]] - columns[c, rows]
        n_near = min(len(rows), 2 * abs(int(excess[c])))
        is_open[rows[np.argpartition(lead, n_near - 1)[:n_near]]] = True
    return is_open


def _assign_core(columns: Floats, counts: Codes, offset: Floats) -> tuple[Floats, Codes]:
    """Soft proportions at a falling temperature bring the counts close; cheapest exchanges do the rest."""
    n_rows = columns.shape[1]
    shares = np.maximum(counts, 0.5) / np.maximum(counts, 0.5).sum()
    owner, margin = top_two(columns, offset)
    best = offset, owner, _n_misplaced(owner, counts)
    temperature, finest = margin.max(), 1e-13 * _magnitude(columns)
    n_levels_without_gain = 0
    while best[2] > _FEW_MOVES and temperature > finest:
        scaled = columns / temperature
        offset = temperature * match_means(scaled, shares, offset / temperature, 1 / n_rows)
        owner, _ = top_two(columns, offset)
        n_misplaced = _n_misplaced(owner, counts)
        n_levels_without_gain = 0 if n_misplaced < best[2] else n_levels_without_gain + 1
        if n_misplaced < best[2]:
            best = offset, owner, n_misplaced
        if n_levels_without_gain == 2:  # tied rows, exchanged at once, or clusters, which need to cool
            best = _exchange(columns, counts, *best[:2])
        temperature /= 4
    while best[2]:
        best = _exchange(columns, counts, *best[:2])
    return best[:2]


def _n_misplaced(owner: Codes, counts: Codes) -> int:
    return int(_excess(owner, counts).clip(0).sum())


def _exchange(columns: Floats, counts: Codes, offset: Floats, owner: Codes) -> tuple[Floats, Codes, int]:
    """A few moves of rows along cheapest paths from classes with too many rows to classes with too few.

    Successive shortest paths on the graph of classes: the price of c -> d is the least score that a row of c loses
    by going to d. Each move keeps the assignment the best for its counts.
    """
    excess = _excess(owner, counts)
    near = _movable(columns, owner, int(excess.clip(0).sum()))
    columns, part = columns[:, near], owner[near]
    offset, owner = offset.copy(), owner.copy()
    price = _limits(columns, part)
    for _ in range(_FEW_MOVES):
        # Below 0 by rounding only: the owner's raised score is the largest.
        raised_price = np.maximum(price + offset[:, None] - offset, 0)
        distance, previous = _cheapest_paths(raised_price, excess > 0)
        c = end = int(np.where(excess < 0, distance, np.inf).argmin())
        path = []
        while previous[c] >= 0:
            path.append((int(previous[c]), c))
            c = int(previous[c])
        movers = []
        for a, b in path:
            rows = np.flatnonzero(part == a)
            movers.append(rows[columns[a, rows] - columns[b, rows] <= price[a, b]])  # several when tied
        n_moved = min(excess[c], -excess[end], *(len(rows) for rows in movers))
        for (_, b), rows in zip(path, movers, strict=True):
            part[rows[:n_moved]] = b
        for a in {a for edge in path for a in edge}:
            price[a] = _limits_of(a, columns, part)
        excess[c] -= n_moved
        excess[end] += n_moved
        offset += np.minimum(distance, distance[end])
        if not excess.any():
            break
    owner[near] = part
    return offset, owner, int(excess.clip(0).sum())


def _movable(columns: Floats, owner: Codes, moves: int) -> Codes:
    """Rows that so many exchanges can touch: of each class the cheapest ones to give to each other class."""
    n_classes, n = columns.shape
    if moves * n_classes >= n:
        return np.arange(n)
    touched = np.zeros(n, dtype=bool)
    for c in range(n_classes):
        rows = np.flatnonzero(owner == c)
        if len(rows) <= moves:
            touched[rows] = True
            continue
        for d in range(n_classes):
            if d != c:
                loss = columns[c, rows] - columns[d, rows]
                touched[rows[np.argpartition(loss, moves - 1)[:moves]]] = True
    return np.flatnonzero(touched)


def _limits(columns: Floats, owner: Codes) -> Floats:
    """For each pair (c, d), the least that a row of c loses by going to d; infinity where c has no row."""
    return np.array([_limits_of(c, columns, owner) for c in range(len(columns))])


def _limits_of(c: int, columns: Floats, owner: Codes) -> Floats:
    members = columns[:, owner == c]
    limits = (members[c] - members).min(axis=1, initial=np.inf)
    limits[c] = 0
    return limits


def _cheapest_paths(price: Floats, is_start: NDArray[np.bool_]) -> tuple[Floats, Codes]:
    """Distance of each class from the nearest start and the class before it on the way (-1 at a start)."""
    distance = np.where(is_start, 0.0, np.inf)
    previous = np.full(len(price), -1)
    for _ in range(len(price)):
        through = distance[:, None] + price  # (C, C)
        nearest = through.argmin(axis=0)
        shorter = through.min(axis=0) < distance
        if not shorter.any():
            break
        distance = np.where(shorter, through.min(axis=0), distance)
        previous = np.where(shorter, nearest, previous)
    return distance, previous


def _magnitude(scores: Floats) -> float:
    """The largest score but for its sign, without a copy of all of them."""
    return float(max(scores.max(), -scores.min()))


def _excess(owner: Codes, counts: Codes) -> Codes:
    return np.bincount(owner, minlength=len(counts)) - counts


def top_two(columns: Floats, offset: Floats) -> tuple[Codes, Floats]:
    """Class of the highest raised score of each row and its lead over the second highest."""
    first = np.zeros(columns.shape[1], dtype=np.intp)
    highest = columns[0] + offset[0]
    second = np.full(columns.shape[1], -np.inf)
    for c in range(1, len(columns)):
        raised = columns[c] + offset[c]
        np.maximum(second, np.minimum(raised, highest), out=second)
        np.copyto(first, c, where=raised > highest)
        np.maximum(highest, raised, out=highest)
    return first, highest - second


def _soft_moments(columns: Floats, offset: Floats) -> tuple[Floats, Floats]:
    """Logarithm of the mean softmax (C,) and the derivative of the mean (C, C) with respect to the offset."""
    n_rows = columns.shape[1]
    probs = columns + offset[:, None]  # (C, n)
    probs -= probs.max(axis=0)
    top = probs.max(axis=1)  # (C,) kept for classes whose probabilities are too small for float64
    np.exp(probs, out=probs)
    probs /= probs.sum(axis=0)
    mean = probs.mean(axis=1)
    log_mean = np.where(mean > 1e-300, np.log(np.maximum(mean, 1e-300)), top - np.log(n_rows))
    return log_mean, np.diag(mean) - probs @ probs.T / n_rows
