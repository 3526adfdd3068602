"""What a person should look at: labels that the other labels contradict, and rows worth a label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from chary.audit.held_out import HeldOut
from chary.labelling.diagnose import Floats, few_of

# Labels listed at most, how much more probable than the given one the other class must be, and how many labels
# must have been judged for the probabilities to mean something: see ``benchmarks/second_look.py``.
_MOST, _MARGIN, _FEWEST_JUDGED = 20, 0.85, 100
# Rows that are looked at, drawn at random: unlabelled ones, and labelled ones to compare them with.
_MOST_UNLABELED, _MOST_LABELED = 20_000, 600
_BLOCK = 2_000  # rows whose distances are worked out at a time


def suspect_labels(judged: HeldOut, most: int = _MOST) -> NDArray[np.intp]:
    """Places in ``judged`` of the labels worth a second look, the least probable label first.

    A label is listed if the model that had not seen it gives another class a probability at least 0.85 above that
    of the given one. They are ordered by the probability of the given label; of equal ones the surer prediction,
    then the first row, comes first. Nothing says that these labels are wrong.
    """
    if len(judged.rows) < _FEWEST_JUDGED:
        return np.zeros(0, dtype=np.intp)
    listed = np.flatnonzero(~judged.correct & (judged.probability - judged.own >= _MARGIN))
    keys = judged.rows[listed], -judged.probability[listed], judged.own[listed]
    return listed[np.lexsort(keys)[:most]]


def rows_to_label(
    X: Floats, labeled: NDArray[np.bool_], confidence: Floats, k: int = 50, random_state: Any = None
) -> NDArray[np.intp]:
    """Up to k unlabelled rows worth a label: of low confidence, far from labels, and unlike each other.

    Among the 20 k rows of highest doubt, the product of one minus the confidence and the distance to the nearest
    labelled row, they are chosen one after the other, each the one whose confidence lacks most times its distance
    to the nearest row labelled or chosen before.
    """
    rng = np.random.default_rng(random_state)
    unlabeled = few_of(np.flatnonzero(~labeled), _MOST_UNLABELED, rng)
    reference = X[few_of(np.flatnonzero(labeled), _MOST_LABELED, rng)]
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
