"""What a classifier and its members say of rows in; probabilities and confidences out, a block at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary._sklearn import safe_indexing
from chary.method.confidence import CONFIDENCES, OF_MEMBERS, max_probability, t_share, t_similarity
from chary.method.network import Floats

NAMED = {**CONFIDENCES, "softmax": max_probability}  # by its usual name, too
BLOCK_ROWS = 2**16  # scored at a time: all that is made of them on the way stays small


class RawScores(NamedTuple):
    """What a classifier says of some rows, all that ``Scores`` are made of."""

    probs: Floats  # (n, C)
    members: Floats | None = None  # (n, M, C) where the confidence is theirs
    confidence: Floats | None = None  # (n,) or (n, C) where somebody else's


class Scores(NamedTuple):
    """The prediction of some rows."""

    probs: Floats  # (n, C)
    confidence: Floats  # (n,)
    class_confidence: Floats  # (n, C)


def scores_of(raw: RawScores, kind: str, weights: Floats | None = None) -> Scores:
    """Confidences of some rows: of a kind of ``OF_MEMBERS`` or ``NAMED``, or the one that they come with.

    ``weights`` (M,) are how much each member counts.
    """
    probs = raw.probs
    if raw.confidence is None and kind in OF_MEMBERS:
        if raw.members is None:
            raise ValueError(f"The confidence {kind!r} is one of members, and there are none.")
        if kind == "t_share":
            shares = t_share(raw.members, weights=weights)  # (n, C)
            return Scores(probs, shares[np.arange(len(probs)), probs.argmax(axis=1)], shares)
        class_confidence = t_similarity(raw.members, per_class=True, weights=weights)  # (n, C)
        return Scores(probs, class_confidence.sum(axis=1).clip(0, 1), class_confidence)
    if raw.confidence is not None:
        confidence = raw.confidence
        if confidence.ndim == 2:
            return Scores(probs, confidence.max(axis=1), confidence)
    else:
        measure = NAMED[kind]
        confidence = measure(probs)
        if measure is max_probability:
            return Scores(probs, confidence, probs)
    # One number a row: all of it goes to the class predicted.
    class_confidence = np.where(np.eye(probs.shape[1], dtype=bool)[probs.argmax(axis=1)], confidence[:, None], 0)
    return Scores(probs, confidence, class_confidence)


def log_of(probs: Floats) -> Floats:
    """Logarithms, finite also where a probability is 0."""
    return np.log(np.maximum(probs, np.finfo(np.float64).tiny))


def in_blocks_of_rows(
    score: Callable[[Any], tuple[NDArray[Any], ...]], X: Any, rows: NDArray[np.intp]
) -> tuple[NDArray[Any], ...]:
    """What a function of features makes of some rows, a block of them at a time: arrays of as many rows.

    >>> in_blocks_of_rows(lambda part: (part.sum(axis=1),), np.eye(3), np.array([2, 0]))
    (array([1., 1.]),)
    """
    found: list[NDArray[Any]] = []
    for start in range(0, max(1, len(rows)), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        scores = score(safe_indexing(X, rows[part]))
        if not start:
            found = [np.empty((len(rows), *one.shape[1:]), one.dtype) for one in scores]
        for whole, one in zip(found, scores, strict=True):
            whole[part] = one
    return tuple(found)
