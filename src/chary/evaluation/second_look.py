"""Labels judged by models that had not seen them in; those that confidently contradict the label given out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chary.evaluation.held_out import HeldOut

# Labels listed at most, how much more probable than the given one the other class must be, and how many labels
# must have been judged for the probabilities to mean something: see ``benchmarks/second_look.py``.
_MOST, _MARGIN, _FEWEST_JUDGED = 20, 0.85, 100


def doubtful_labels(judged: HeldOut, most: int = _MOST) -> NDArray[np.intp]:
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
