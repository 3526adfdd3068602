"""What to do next, and how: the advice of a report, in the words of whoever asked for it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from chary._words import counted, number, percent
from chary.audit.judge import JudgedTable
from chary.method.priors import ACCURACY
from chary.options import Options, flag_of
from chary.report.judged_summary import of_column
from chary.report.plain_data import (
    Summary,
    headline,
)
from chary.tables.cells import CODE_WORDS

_HALVING = "halving their width takes about four times as many rows"


class Hints(NamedTuple):
    """How to do what a report suggests, in the words of whoever asked for it: Python's, unless it was typed."""

    draw: str = ""  # draws rows for an audit, or more of them; empty: left to the reader
    fill: str = ""  # goes on labelling the rows of the sheet
    typed: bool = False

    @classmethod
    def for_labels(
        cls, options: Options, files: Sequence[str | os.PathLike[str]], audit_size: int
    ) -> Hints:
        """For somebody who types commands, with all that was chosen; nothing that is there is drawn anew."""
        again: dict[str, Any] = {"k": audit_size, "force": False, "discard_answers": False}
        draw = options.command("audit draw", files, **again) if audit_size else ""
        return cls(draw, typed=True)

    @classmethod
    def for_judged(
        cls, options: Options, files: Sequence[str | os.PathLike[str]], result: JudgedTable
    ) -> Hints:
        """The same for labels that are judged: a draw twice as large keeps the answers."""
        n_drawn, n_rows = result.answers.n_drawn, result.population
        again: dict[str, Any] = {
            "k": min(2 * n_drawn, n_rows),
            "audit": None,
            "require": None,
            "force": False,
        }
        again |= {"annotator": (), "discard_answers": False}
        more = options.command("judge", ["draw", *files], **again) if n_drawn < n_rows else ""
        return cls(more, options.command("audit fill", [str(options.audit)]), typed=True)

    def option(self, name: str, typed: str, in_python: str) -> str:
        """How an option is given."""
        return f"{flag_of(name)} {typed}" if self.typed else f"{name}={in_python}"

    def at(self, error: float) -> str:
        """What asks for the rows to be marked that can be accepted at an error."""
        return self.option("error", f"{100 * error:g}%", f"{error:g}")


def quality(summary: Summary) -> dict[str, Any]:
    """How good the new labels are: a headline, a sentence, and the intervals to draw, if there is an audit."""
    audit, held_out = summary["audit"], summary["held_out"]
    if audit is None:
        sentence = "Your labels are not a random sample, so they cannot show how good the other labels are."
        if not summary["audit_size"]:
            sentence += " There are so few rows without a label that you can look at each."
        return {"tone": "fair", "headline": "Not known yet", "sentence": sentence, "bars": []}
    after, before = audit["after"], audit["before"]
    promised = held_out["accuracy"] if held_out else None
    bars = [{"words": "Without the audit's answers", **before, "mark": promised}]
    valid = ", valid whenever you stop," if audit["stopped"] else ""
    if after is None:
        sentence = f"95% interval{valid} from {before['n']} random rows that a person labelled."
    else:
        bars.insert(0, {"words": "These labels", **after, "mark": promised})
        second = " The second holds whenever you stopped." if audit["stopped"] else ""
        sentence = (
            f"95% intervals from {before['n']} random rows that a person labelled; the first is approximate, as "
            f"the model also learned from these rows.{second}"
        )
    if promised is not None:
        sentence += (
            f" Your own labels promised {percent(promised)} (blue mark), which is not an estimate."
        )
    return {**headline(bars[0]["low"], bars[0]["high"]), "sentence": sentence, "bars": bars}


def next_steps(summary: Summary, hints: Hints) -> list[dict[str, str]]:
    """What to do next, the most useful first: in words, and how."""
    audit, steps = summary["audit"], list[tuple[str, str]]()
    if audit is None and summary["audit_size"]:
        labels = f"Label {number(summary['audit_size']).lower()} random rows"
        steps.append(
            (
                f"{labels}: they show how good the labels are, and the model learns from them.",
                hints.draw,
            )
        )
    if audit is not None:
        asked, caveat = summary["accept"], "approximate, if you chose that error beforehand"
        if asked:
            steps.append((asked["sentence"], ""))
        elif audit["unfinished"]:
            steps.append(
                (
                    "Go on labelling: which labels can be accepted is said at the end of the draw.",
                    "",
                )
            )
        else:
            steps.append(_acceptable(audit["accept"], audit["before"]["n"], hints, caveat))
    if n := len(summary["second_look"]):
        steps.append((suspect_sentence(n), ""))
    steps.append(("Check the rows that the model is least sure of.", ""))
    return [{"words": words, "command": command} for words, command in steps]


def suspect_sentence(n: int) -> str:
    """What is said of labels worth a second look."""
    labels, they = (
        ("One of your labels may be a slip", "It")
        if n == 1
        else (f"{n} of your labels may be slips", "They")
    )
    return f"{labels}: a model that had not seen it is sure of another class. {they} may still be right."


def missing_hint(columns: Sequence[dict[str, Any]], hints: Hints) -> str:
    """Say what to pass if a number that looks like a code for a missing value is one."""
    if not any(CODE_WORDS in column["note"] for column in columns):
        return ""
    how = hints.option("missing", "COLUMN=CODE", "['COLUMN=CODE']")
    return f"If such a number stands for a missing value, pass {how}."


def aim_question(hints: Hints, aim: str = ACCURACY) -> str:
    """What is asked of somebody who has not said that rare classes matter as much as common ones."""
    if aim != ACCURACY:
        return ""
    how = hints.option("aim", "balanced", "'balanced'")
    return (
        f"If rare classes matter as much as common ones, pass {how}: more of them are found, at the cost of some "
        "errors in the common ones."
    )


def prior_advice(diagnosis: dict[str, Any], hints: Hints, told: bool = False) -> str:
    """What to say to somebody whose labels are biased and who has told nothing of the class proportions."""
    if told or not diagnosis["biased"]:
        return ""
    how = hints.option("class_prior", "NAME=SHARE", "{name: share, ...}")
    return (
        f"Do you know how common each class is in the whole table? Then pass {how}: {_PRIOR_HELPS} "
        "A wrong share makes labels wrong, so leave it out if you are not sure."
    )


def judged_steps(summary: Summary, hints: Hints) -> list[dict[str, str]]:
    """What to do next with judged labels; the last step would make the figures better."""
    steps = [
        (one["sentence"], "") for one in (summary["required"], summary["accept"]) if one is not None
    ]
    if summary["acceptance"] and summary["accept"] is None:
        of, caveat = (
            of_column([one["name"] for one in summary["columns"]]),
            "if you chose that error beforehand",
        )
        steps.append(_acceptable(summary["acceptance"], summary["audited"], hints, caveat, of))
    people = summary["annotators"]
    words, how = (
        f"To narrow the intervals, label more rows (your answers are kept; {_HALVING})",
        hints.draw,
    )
    if not summary["stopped"]:
        words = (
            "To narrow the intervals, label more rows (your answers are kept; then only the wider limits hold, "
            f"those for looking while labelling; {_HALVING})"
        )
    if summary["unfinished"]:
        words, how = (
            f"To see all figures, label the {counted(summary['left'], 'row')} left",
            hints.fill,
        )
    elif summary["left"]:
        words, how = (
            f"To narrow the intervals, label the {counted(summary['left'], 'row')} left",
            hints.fill,
        )
    elif people:
        words = "To narrow the intervals, draw a larger sheet and let each person go on in a copy with the old answers"
    if people and people["differing"]:
        rows = counted(people["differing"], "row")
        words = f"Decide on the {rows} on which people differ and edit a sheet so that they agree"
        how = ""
    steps.append((f"{words}{':' if how else '.'}", how))
    return [{"words": words, "command": command} for words, command in steps]


def _acceptable(
    levels: list[dict[str, Any]], n_audited: int, hints: Hints, caveat: str, of: str = ""
) -> tuple[str, str]:
    """The smallest error at which labels can be accepted: in words, and how to have them marked."""
    found = next((one for one in levels if one["n_accepted"]), None)
    if found is None:
        at_most, needs = percent(levels[-1]["error"]), levels[-1]["needs"]
        if (
            needs > n_audited
        ):  # which does not depend on the answers, so that more rows may be labelled
            few = (
                f"to accept any label at {at_most} error or less, at least {needs} rows are needed"
            )
            return f"Enlarge the audit: {few}.", ""
        return (
            f"No label can be accepted at {at_most} error or less: too many audited rows were wrong.",
            "",
        )
    which = f"{counted(found['n_accepted'], 'label')}{of} of confidence {found['threshold']:.4g} or more"
    at_most = f"at most {percent(found['error'])} wrong ({percent(found['level'])} level, {caveat})"
    return f"{which} can be accepted with {at_most}. To mark them, add", hints.at(found["error"])


# What was seen on real tables with labels from one group of rows or picked by a column; a test
# holds the numbers against studies/results/tables. Gains are in points of accuracy.
STUDIED = {
    "n_tables": 20,
    "prior_gain": 0.3,  # by true class shares
    "prior_balanced_gain": 3.9,  # the same in balanced accuracy
}
_PRIOR_HELPS = (
    "on {n_tables} real tables with biased labels it added {prior_gain} points of accuracy and "
    "{prior_balanced_gain} of balanced accuracy."
).format(**STUDIED)
