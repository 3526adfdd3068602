"""A diagnosis in; what its reader may do about it, and how, out: the command line puts its own words in."""

from __future__ import annotations

from typing import Any, NamedTuple

# Points from CSTA with T-similarity to mixed + prior + self-training: the study beyond-ssb.
_PRIOR_IS_WORTH = 11


class Hints(NamedTuple):
    """How to do what a report suggests, in the words of whoever asked for it."""

    class_prior: str = "pass it as class_prior={name: share, ...}"
    rounds: str = "rounds=5"
    draw: str = ""  # draws rows for an audit; empty: left to the reader
    error: str = "pass the largest share of wrong labels that you allow, as in error=0.1"


class JudgeHints(NamedTuple):
    """The same for a report on labels that somebody else made."""

    enlarge: str = ""  # draws more rows into the sheet; empty: left to the reader
    fill: str = ""  # goes on labelling the rows of the sheet
    error: str = "pass the largest share of wrong labels that you allow, as in error=0.1"


def prior_advice(diagnosis: dict[str, Any], hints: Hints, told: bool = False) -> str:
    """What to say to somebody whose labels are biased and who has told nothing of the class proportions.

    >>> prior_advice({"biased": False, "strongly": False}, Hints())
    ''
    """
    if told or not diagnosis["biased"]:
        return ""
    worth = "it can undo a part of the bias"
    if diagnosis["strongly"]:
        worth = f"on 13 benchmarks with this kind of bias it was worth about {_PRIOR_IS_WORTH} points of accuracy"
    return (
        f"If you know the share of each class among all rows, {hints.class_prior}: {worth}. If you are not sure, "
        "do not: a wrong share makes labels wrong."
    )
