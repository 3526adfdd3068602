"""Figures of an audit as plain data, which summaries of made and of judged labels share."""

from __future__ import annotations

import math
import platform
from typing import Any

import numpy as np
import sklearn

from chary import __version__
from chary._words import counted, percent
from chary.audit import Acceptance, Score, smallest_audit
from chary.audit.answers import Audit
from chary.tables.table import ACCEPT

Summary = dict[str, Any]

NO_LABEL = "(no label)"  # what rows without one are called beside the classes
_MOST_IN_MATRIX = 15  # classes that are shown by answer and label
_GOOD = 0.9  # accuracy that is shown in green, or ruled out in red
VERSIONS = {
    "chary": __version__,
    "scikit-learn": sklearn.__version__,
    "NumPy": np.__version__,
    "Python": platform.python_version(),
}


def matrix_of(pairs: dict[tuple[str, str], int], names: list[str]) -> dict[str, Any] | None:
    """Audited rows by the class of the answer and of the label; None where these are too many to be shown."""
    seen = {pair: n for pair, n in pairs.items() if n}
    rows = [name for name in names if any(truth == name for truth, _ in seen)]
    labels = [
        name
        for name in [*names, NO_LABEL]
        if name in rows or any(label == name for _, label in seen)
    ]
    if not 1 < len(labels) <= _MOST_IN_MATRIX:
        return None
    counts = [[seen.get((truth, label), 0) for label in labels] for truth in rows]
    most = max(seen.values())
    shade = [[math.ceil(5 * n / most) for n in row] for row in counts]  # from 0 to 5
    return {"classes": rows, "labels": labels, "counts": counts, "shade": shade}


def accepted_at_error(
    found: Acceptance, audit: Audit, which: str, caveat: str, n_marked: int
) -> dict[str, Any]:
    """What can be accepted at the error asked for, in a sentence too, or why nothing can; and what is marked."""
    at_most = f"can be accepted with at most {100 * found.error:.3g}% wrong"
    if found.n_accepted:
        n_answered = (
            0 if audit.acceptor is None else audit.acceptor.answered.n_from(found.threshold)
        )
        labels = which.replace("label", "label" + "s" * (found.n_accepted != 1), 1)
        included = f", {n_answered:,} of audited rows included," if n_answered else ""
        sentence = (
            f"{found.n_accepted:,} {labels} of confidence {found.threshold:.4g} or more{included} {at_most} "
            f"(level {found.level:.0%}{caveat})."
        )
    else:
        sentence = (
            f"No {which} {at_most}: {_why_noneaccepted_at_error(found.error, found.level, audit)}."
        )
    sentence += f" Column {ACCEPT} marks {counted(n_marked, 'row')}, labels that a person gave or confirmed included."
    return {**as_data(found), "n_marked": n_marked, "sentence": sentence}


def _why_noneaccepted_at_error(error: float, level: float, audit: Audit) -> str:
    """Why no label can be accepted at an error; nothing is advised that would void the promise."""
    n_audited, needs = audit.accuracy.n, smallest_audit(error, level)
    if audit.answers.is_unfinished:
        return "that is decided when all drawn rows are answered, as you could look while labelling"
    if needs > n_audited:
        return f"this needs at least {needs} audited rows, and there are {n_audited}"
    return (
        f"too many of the {n_audited} audited rows were wrong, and another error or more rows, chosen now that "
        "you know this, would void the promise"
    )


def as_data(value: Any) -> Any:
    """Records as dicts and arrays as lists, however deep; a score with its share, and None for infinity."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(name): as_data(item) for name, item in value.items()}
    if not hasattr(value, "_asdict"):
        return [as_data(item) for item in value] if isinstance(value, list | tuple) else value
    more = {"share": value.share} if isinstance(value, Score) else {}
    if isinstance(
        value, Acceptance
    ):  # the fewest audited rows with which anything could be accepted
        more = {"needs": smallest_audit(value.error, value.level)}
    return {**as_data(value._asdict()), **more}


def headline(low: float, high: float) -> dict[str, str]:
    """How good labels are in a few words, and whether that is good, fair or bad."""
    tone = "good" if low >= _GOOD else "bad" if high < _GOOD else "fair"
    return {"tone": tone, "headline": f"{percent(low)} to {percent(high)} right"}
