"""Rows, which are labelled, and the confidence in the others in; those worth a person's label out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from chary.evaluation.diagnosis import Floats, some_of

# Rows that are looked at, drawn at random: unlabelled ones, and labelled ones to compare them with.
_MOST_UNLABELED, _MOST_LABELED = 20_000, 600
_BLOCK = 2_000  # rows whose distances are worked out at a time


def rows_to_label(
    X: Floats, labeled: NDArray[np.bool_], confidence: Floats, k: int = 50, random_state: Any = None
) -> NDArray[np.intp]:
    """Up to k unlabelled rows worth a label: of low confidence, far from labels, and unlike each other.

    Among the 20 k rows of highest doubt, the product of one minus the confidence and the distance to the nearest
    labelled row, they are chosen one after the other, each the one whose confidence lacks most times its distance
    to the nearest row labelled or chosen before.
    """
    rng = np.random.default_rng(random_state)
    unlabeled = some_of(np.flatnonzero(~labeled), _MOST_UNLABELED, rng)
    reference = X[some_of(np.flatnonzero(labeled), _MOST_LABELED, rng)]
    lacking = 1 - confidence[unlabeled] + 1e-9
    blocks = np.split(unlabeled, np.arange(_BLOCK, len(unlabeled), _BLOCK))
    nearest = np.concatenate([cdist(X[block], reference).min(axis=1) for block in blocks])
    doubtful = np.argsort(-lacking * nearest, kind="stable")[: 20 * k]
    rows, lacking, nearest = unlabeled[doubtful], lacking[doubtful], nearest[doubtful]
    chosen: list[int] = []
    for _ in range(min(k, len(rows))):
        value = lacking * nearest
        value[chosen] = -1
        best = int(value.argmax())
        chosen.append(best)
        nearest = np.minimum(nearest, cdist(X[rows], X[rows[best : best + 1]])[:, 0])
    return rows[chosen]
