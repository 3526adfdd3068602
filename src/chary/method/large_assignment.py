"""Class scores of any number of rows, in parts, and class sizes in; the offsets that give these sizes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from chary.method.assignment import Codes, Floats, match_counts, top_two, whole_counts

# Scores that are in memory at a time; of more, a sample says where the boundaries are, and the rows near them are
# looked at one by one.
ROOM = 2**21
_STEPS = 12
_WIDE = 8.0  # standard errors of a sampled boundary within which the true one is sought

Parts = Callable[[], Iterator[Floats]]


class Matched(NamedTuple):
    """Offsets of the classes, and how far the sizes that they give are from those wanted."""

    offset: Floats  # (C,)
    n_off: int  # rows that would have to have another class; 0 but for rows with equal scores


def match_counts_in_parts(parts: Parts, counts: Codes, room: int = ROOM) -> Matched:
    """``match_counts`` of rows whose scores do not fit in memory: the same offsets, to within the gap of two rows.

    A sample of the rows gives offsets with which rows far from any boundary have their class for certain. They are
    counted; the others, fewer in each step, share what is left of the wanted sizes. When these fit in memory the
    best assignment of them is that of all rows, as long as the offsets moved less than the others were away.

    Parameters
    ----------
    parts : callable
        Gives the scores as columns (C, m) from the first row to the last, as often as it is called.
    counts : array of shape (C,)
        Wanted sizes; they sum to the number of rows.
    room : int
        Scores to have in memory at most.
    """
    n, n_classes = int(counts.sum()), len(counts)
    most = max(2, room // n_classes)
    if n <= most:
        offset = match_counts(np.concatenate(list(parts()), axis=1), counts)
        return Matched(offset, _n_off(parts, offset, counts))
    filled = counts > 0
    if not filled.all():
        return _with_empty(parts, counts, filled, room)
    offset, reach, best = np.zeros(n_classes), np.inf, None
    for _ in range(_STEPS):
        near = _near(parts, offset, reach, most)
        left = counts - near.fixed
        if (left < 0).any():  # the boundary is farther away than was thought
            reach *= 4
            continue
        n_near = near.columns.shape[1]
        wanted = left if near.every == 1 else whole_counts(left / left.sum(), n_near)
        found = match_counts(near.columns, wanted)
        if np.ptp(found - offset) > reach:
            offset, reach = offset + (found - offset) * (reach / np.ptp(found - offset)), 4 * reach
            continue
        matched = Matched(found, _n_off(parts, found, counts))
        best = matched if best is None or matched.n_off < best.n_off else best
        if near.every == 1 or not best.n_off:
            break
        offset, reach = found, _reach(near.columns, found, min(0.5, _WIDE / np.sqrt(n_near)))
    if best is None:
        best = Matched(offset, _n_off(parts, offset, counts))
    return best


class _Near(NamedTuple):
    """The rows near a boundary."""

    fixed: Codes  # (C,) rows of each class that are far from any
    columns: Floats  # (C, m) scores of the others, of every so many-th
    every: int
    n_open: int  # how many the others are


def _near(parts: Parts, offset: Floats, reach: float, most: int) -> _Near:
    """At most so many rows whose lead is within reach: every so many-th of them, counted from the first."""
    fixed, kept, every, n_open = np.zeros(len(offset), dtype=np.intp), np.empty((len(offset), 0)), 1, 0
    for columns in parts():
        owner, margin = top_two(columns, offset)
        is_open = margin <= reach
        fixed += np.bincount(owner[~is_open], minlength=len(offset))
        places = np.flatnonzero(is_open)
        new = columns[:, places[-n_open % every :: every]]
        kept, n_open = np.concatenate([kept, new], axis=1), n_open + len(places)
        while kept.shape[1] > most:
            kept, every = kept[:, ::2], 2 * every
    return _Near(fixed, kept, every, n_open)


def _reach(columns: Floats, offset: Floats, share: float) -> float:
    """The lead that such a share of the rows has at most."""
    _, margin = top_two(columns, offset)
    return float(np.quantile(margin, share))


def _with_empty(parts: Parts, counts: Codes, filled: np.ndarray, room: int) -> Matched:
    """Classes too small to have one of these rows, but perhaps a new one, are just below all of them."""
    offset = np.zeros(len(counts))
    if filled.sum() > 1:
        some = match_counts_in_parts(lambda: (columns[filled] for columns in parts()), counts[filled], room)
        offset[filled] = some.offset
    lead = np.full((len(counts), 2), np.inf)  # the two smallest leads of the others over each class
    for columns in parts():
        best = (columns[filled] + offset[filled, None]).max(axis=0)
        for c in np.flatnonzero(~filled):
            lead[c] = np.append(np.unique(np.append(lead[c], best - columns[c])), np.inf)[:2]
    for c in np.flatnonzero(~filled):
        first, second = lead[c]
        offset[c] = first - ((second - first) / 2 if np.isfinite(second) else 1.0)
    return Matched(offset, _n_off(parts, offset, counts))


def _n_off(parts: Parts, offset: Floats, counts: Codes) -> int:
    got = np.zeros(len(counts), dtype=np.intp)
    for columns in parts():
        got += np.bincount(top_two(columns, offset)[0], minlength=len(counts))
    return int((got - counts).clip(0).sum())
