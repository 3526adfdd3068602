"""A diagnosis in; what its reader may do about it, and how, out: the command line puts its own words in."""

from __future__ import annotations

from typing import Any, NamedTuple

from chary.method import ACCURACY
from chary.report.evidence import NATURAL


class Hints(NamedTuple):
    """How to do what a report suggests, in the words of whoever asked for it."""

    class_prior: str = "pass it as class_prior={name: share, ...}"
    rounds: str = "rounds=5"
    draw: str = ""  # draws rows for an audit; empty: left to the reader
    error: str = "pass the largest share of wrong labels that you allow, as in error=0.1"
    aim: str = "pass aim='balanced'"


def aim_question(hints: Hints, aim: str = ACCURACY) -> str:
    """What is asked of somebody who has not said that rare classes matter as much as common ones.

    >>> aim_question(Hints(aim="say so"))
    'Are rare classes as important as common ones? Then say so: more of each rare class is found, at the cost of errors among the common ones.'
    >>> aim_question(Hints(), "balanced")
    ''
    """  # noqa: E501 - as it is said
    if aim != ACCURACY:
        return ""
    return (
        f"Are rare classes as important as common ones? Then {hints.aim}: more of each rare class is found, at "
        "the cost of errors among the common ones."
    )


class JudgeHints(NamedTuple):
    """The same for a report on labels that somebody else made."""

    enlarge: str = ""  # draws more rows into the sheet; empty: left to the reader
    fill: str = ""  # goes on labelling the rows of the sheet
    error: str = "error={share:g}"  # asks for the rows to be marked; {percent} stands for 100 times the share

    def at(self, error: float) -> str:
        """What asks for the rows to be marked that can be accepted at an error.

        >>> JudgeHints().at(0.2)
        'error=0.2'
        """
        return self.error.format(share=error, percent=100 * error)


def prior_advice(diagnosis: dict[str, Any], hints: Hints, told: bool = False) -> str:
    """What to say to somebody whose labels are biased and who has told nothing of the class proportions.

    >>> prior_advice({"biased": False, "strongly": False}, Hints())
    ''
    """
    if told or not diagnosis["biased"]:
        return ""
    return (
        f"If you know the share of each class among all rows, {hints.class_prior}: {NATURAL.prior} If you are not "
        "sure, do not: a wrong share makes labels wrong."
    )
