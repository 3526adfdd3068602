"""What a report says, as plain data, which terminal, JSON, page and notebook show.

Every value is a number, a text, a truth value, None, or a list or dict of these. Shares are between
0 and 1; rows are counted from 1, without the header. Texts of the user's table are as they are: who
shows them makes them safe.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import sklearn

from chary import __version__
from chary._words import counted, day, named_columns, number, p_value, percent, shown, visible
from chary.audit import Acceptance, Score, smallest_audit
from chary.audit.answers import Audit
from chary.audit.figures import ClassJudgement, kappa
from chary.audit.judge import JudgedColumn, JudgedTable, LabelPair
from chary.labelling import Diagnosis, LabeledTable
from chary.labelling.diagnose import MILD, REPRESENTATIVE, STRONG, DiagnosedTable
from chary.labelling.label import SOURCES
from chary.method import expected_calibration_error
from chary.method.priors import ACCURACY
from chary.options import Options, flag_of
from chary.tables.cells import CODE_WORDS, DATE, NUMBER, TOPIC, UNREADABLE, Column, cell_words
from chary.tables.preparation import Feature
from chary.tables.table import ACCEPT

Summary = dict[str, Any]

_N_SHIFTS = 20
# Of the rows to check: columns, those of them that name the row, and characters of a cell.
_N_CELLS, _N_NAMES, _CELL = 6, 2, 1_000
_CLEAR = 0.05
_NO_LABEL = "(no label)"  # what rows without one are called beside the classes
_MOST_IN_MATRIX = 15  # classes that are shown by answer and label
_GOOD = 0.9  # accuracy that is shown in green, or ruled out in red
_VERSIONS = {
    "chary": __version__,
    "scikit-learn": sklearn.__version__,
    "NumPy": np.__version__,
    "Python": platform.python_version(),
}


# ------------------------------------------------------------ labels that chary made


def summarize(result: LabeledTable) -> Summary:
    """The summary of ``label_table``; what the less obvious keys hold stands beside them."""
    preparation, classifier = result.model[0], result.model[-1]
    counts, judged, found = result.counts, result.judged, result.explainer
    names = _naming_columns(result)
    return {
        "rows": counts.n,
        # Rows by where their label comes from, and by their label.
        "sources": dict(zip(SOURCES, counts.labels.sum(axis=1).tolist(), strict=True)),
        "labels": dict(
            zip(map(str, result.labels.classes), counts.labels.sum(axis=0).tolist(), strict=True)
        ),
        # Of a table larger than memory: the rows that the model learned from.
        "sample": None
        if result.n_drawn is None
        else {"labeled": counts.n - counts.n_new, "drawn": result.n_drawn, "of": counts.n_new},
        "file": result.table.name,
        "target": result.target,
        "notes": result.notes,  # how the table and its target were read
        "classes": _classes(result),
        "diagnosis": _diagnosis(result.diagnosis, result.compared),
        # Given labels judged by a model that has not seen them.
        "held_out": None
        if not len(judged.correct)
        else {
            "n": len(judged.correct),
            "accuracy": float(judged.correct.mean()),
            "balanced_accuracy": judged.balanced,
            "probability": float(judged.probability.mean()),
            "calibration_error": expected_calibration_error(judged.probability, judged.correct),
        },
        "audit": _audit(result),
        "accept": _accepted_labels(result),  # what can be accepted at the error asked for
        "audit_size": result.audit_size,  # rows to draw for an audit; 0: so few are unlabelled that one can look
        "aim": _aim(result),
        "class_prior": as_data(result.prior),  # what was told of the class shares
        # A column that already guesses the label against the model, and whether its labels were
        # kept.
        "guesses": as_data(result.guesses),
        "rounds": [  # of self-training
            {name: record[name] for name in ("round", "n_pool", "n_accepted", "mean_confidence")}
            for record in classifier.history_
        ],
        "rows_to_label": [  # rows to check
            {
                **_row(result, row, names),
                "why": as_data(result.reasons.get(int(row), [])),
                "label": str(result.labels.classes[result.codes[row]]),
                "confidence": round(float(result.confidence[row]), 4),  # as the file shows it
            }
            for row in result.next_rows
        ],
        "second_look": _suspect_labels(result, names),
        # What the labels owe to each column, the most important first.
        "importance": {"columns": as_data(found.importance), "n_rows": found.n_rows},
        "columns": [_column(column) for column in preparation.columns_],
        "settings": {
            **result.settings,
            "options": {  # all that were chosen
                name: ", ".join(said) if isinstance(said, list) else str(said)
                for name, said in result.options.as_typed("label").items()
            },
            "features": len(preparation.get_feature_names_out()),
            "versions": _VERSIONS,
        },
    }


def summarize_diagnosis(result: DiagnosedTable) -> Summary:
    """The summary of ``diagnose_table``: the diagnosis, and what each column was taken for."""
    return {
        **_diagnosis(result.diagnosis, result.prepared.preparation.features()),
        "file": result.table.name,
        "target": result.target,
        "notes": result.notes,
        "columns": [_column(column) for column in result.columns],
    }


def _diagnosis(diagnosis: Diagnosis, features: list[Feature]) -> dict[str, Any]:
    """Every field of a diagnosis, its sentence and what its verdict is; features in the table's own units, too."""
    figures = {field.name: as_data(getattr(diagnosis, field.name)) for field in fields(diagnosis)}
    names = {"n_labeled": "labeled", "n_unlabeled": "unlabeled", "class_counts": "classes"}
    return {
        **{names.get(name, name): figure for name, figure in figures.items()},
        "representative": diagnosis.verdict == REPRESENTATIVE,
        "biased": diagnosis.verdict in (MILD, STRONG),
        "tone": {REPRESENTATIVE: "good", STRONG: "bad"}.get(diagnosis.verdict, "fair"),
        "sentence": diagnosis.sentence,
        "shifts": _shifts(diagnosis, features),
    }


def _shifts(diagnosis: Diagnosis, features: list[Feature]) -> list[dict[str, Any]]:
    """What differs most, as a person calls it, with means as the table writes them.

    Where a person can read one of several features that say the same, such as the month, the others
    are left out.
    """
    readable = {feature.words for feature in features if feature.unit != UNREADABLE}
    shifts: dict[str, dict[str, Any]] = {}
    for shift in diagnosis.shifts:
        feature = features[shift.feature]
        if (
            feature.words in (readable if feature.unit == UNREADABLE else shifts)
            or len(shifts) == _N_SHIFTS
        ):
            continue
        means = feature.in_units(shift.labeled_mean), feature.in_units(shift.unlabeled_mean)
        sides = ("more", "less") if shift.difference > 0 else ("less", "more")
        words = [in_unit(mean, feature.unit, feature.indicator) for mean in means]
        shown = sides if feature.unit == TOPIC else words
        shifts[feature.words] = {
            **shift._asdict(),
            "name": feature.words,
            **dict(
                zip(
                    ("labeled", "unlabeled", "labeled_words", "unlabeled_words"),
                    (*means, *shown),
                    strict=True,
                )
            ),
        }
    return list(shifts.values())


def in_unit(value: float, unit: str = NUMBER, is_share: bool = False) -> str:
    """A number of a feature as a person reads it.

    >>> in_unit(0.1, is_share=True), in_unit(12345.6), in_unit(17_722.5, "date"), in_unit(0.3, "unreadable")
    ('10%', '12,346', '2018-07-10', '–')
    """
    if unit == UNREADABLE:
        return "–"
    if unit == DATE:
        return day(value)
    return (
        percent(value) if is_share else f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    )


def _classes(result: LabeledTable) -> list[dict[str, Any]]:
    """Name, rows by source, share of the given and of the new labels."""
    n_given, n_new = max(1, int(result.counts.labels[0].sum())), max(1, result.counts.n_new)
    return [
        {
            "name": name,
            **dict(zip(SOURCES, by_source, strict=True)),
            "new": sum(by_source[1:]),
            "given_share": by_source[0] / n_given,
            "new_share": sum(by_source[1:]) / n_new,
        }
        for name, by_source in zip(
            result.labels.classes.tolist(), result.counts.labels.T.tolist(), strict=True
        )
    ]


def _audit(result: LabeledTable) -> dict[str, Any] | None:
    """What a random sample that a person labelled says, exact and approximate figures apart."""
    audit = result.audit
    if audit is None:
        return None
    return {
        "drawn": audit.answers.n_drawn,
        "skipped": audit.answers.n_skipped,
        "stopped": audit.answers.stopped,  # whether the person was shown the interval while labelling
        "unfinished": audit.answers.is_unfinished,  # then only ``before`` can be said
        "new_classes": audit.answers.new_classes,
        "notes": [
            {"text": text, "warning": text in audit.answers.warnings} for text in audit.notes
        ],
        "before": as_data(audit.accuracy),
        "after": as_data(audit.after),
        "classes": as_data(audit.classes),
        "balanced": audit.balanced,
        "matrix": matrix_of(audit.pairs, [str(name) for name in result.labels.classes]),
        "accept": as_data(audit.acceptances),
    }


def _accepted_labels(result: LabeledTable) -> dict[str, Any] | None:
    if result.accept is None or result.audit is None or result.audit.asked is None:
        return None
    found = result.audit.asked
    n_given = int(result.counts.labels[0].sum())
    n_settled = result.counts.settled.n_from(found.threshold)
    n_changed = result.counts.rest.n_from(found.threshold) - n_settled
    accepted = _accepted(found, result.audit, "new label", ", approximate", n_settled + n_given)
    if n_changed:
        keep = "keeps" if n_changed == 1 else "keep"
        accepted["sentence"] += (
            f" {n_changed:,} of these {keep} a label that the model learned from and would change now: not marked."
        )
    return accepted


def _aim(result: LabeledTable) -> dict[str, str]:
    """What the labels are to be good at: its name, and a sentence that says what it means."""
    aim, sentence = result.options.aim, "Optimised for overall accuracy."
    if aim != ACCURACY:
        how = (
            "The new labels do not have the class shares that you gave. "
            if result.prior.told
            else ""
        )
        sentence = (
            "Optimised for balanced accuracy: every class counts the same. More rows of rare classes are found, "
            f"and overall accuracy may be lower. {how}Probabilities and confidence are shifted, too."
        )
    return {"name": aim, "sentence": sentence}


def _suspect_labels(result: LabeledTable, names: list[str]) -> list[dict[str, Any]]:
    """Given labels that a model which had not seen them contradicts, with the probabilities of both."""
    doubted = result.second_look
    return [
        {
            **_row(result, row, names),
            "given": str(result.labels.classes[result.labels.codes[row]]),
            "held_out": str(doubted.prediction[place]),
            "probability": float(doubted.probability[place]),
            "given_probability": float(doubted.own[place]),
        }
        for place, row in enumerate(doubted.rows)
    ]


def _row(result: LabeledTable, row: Any, names: list[str]) -> dict[str, Any]:
    """What a row is known by."""
    cells = result.table.frame.select(names).row(int(row)) if names else ()
    return {
        "row": int(result.table.numbers(row)) + 1,
        "cells": {
            name: visible(cell_words(cell, 6), _CELL)
            for name, cell in zip(names, cells, strict=True)
        },
    }


def _naming_columns(result: LabeledTable) -> list[str]:
    """Columns to know a row by: what names it, then what differs most."""
    preparation = result.model[0]
    names = [column.name for column in preparation.columns_ if column.kind == "identifier"][
        :_N_NAMES
    ]
    of_feature = [feature.column for feature in preparation.features()]
    by_shift = [result.compared[shift.feature].column for shift in result.diagnosis.shifts]
    every = dict.fromkeys([*names, *by_shift, *of_feature])
    return [name for name in every if name in result.table.frame.columns][
        :_N_CELLS
    ]  # others: a file beside it


def _column(column: Column) -> dict[str, Any]:
    return {name: getattr(column, name) for name in ("name", "kind", "used", "note", "doubtful")}


# ------------------------------------------------------------ labels that somebody else made


def summarize_judged(result: JudgedTable) -> Summary:
    """The summary of ``judge_table``."""
    answers, n_rows, people = result.answers, result.population, result.answers.annotators
    notes = [(text, True) for text in answers.warnings] + [(text, False) for text in result.notes]
    return {
        "file": result.tested.source.table.name,
        # Columns whose labels are not known to be those that the rows were drawn for: stands above
        # all figures.
        "changed_labels": [
            {"column": name, "sentence": sentence}
            for name, sentence in answers.changed_labels.items()
        ],
        "rows": n_rows,
        "drawn": answers.n_drawn,  # rows for a person to label
        "audited": result.accuracy.n,  # of these, up to the last one answered: the figures rest on them
        "answered": len(answers.rows),
        # Columns that the person could see, and in words; None: not known.
        "shown": None if answers.columns_shown is None else list(answers.columns_shown),
        "blind": _blind(result),
        "skipped": answers.n_skipped,  # of the audited ones: wrong, for every promise
        "left": answers.n_left,  # not reached yet
        "level": result.level,  # of the intervals
        "stopped": answers.stopped,  # whether the person was told when it was enough
        "unfinished": answers.is_unfinished,  # then nothing but the accuracy can be said
        "notes": [{"text": text, "warning": warning} for text, warning in notes],
        "columns": [_judged_column(column, result) for column in result.columns],
        "pairs": [_pair(pair) for pair in result.pairs],
        # Who answered, and on how many rows they differ, if several did; the notes say how far they
        # agree.
        "annotators": people and {"names": people.names, "differing": len(people.differing)},
        "slices": [
            {"column": name, "parts": as_data(parts)} for name, parts in result.slices.items()
        ],
        "confidence": result.tested.options.confidence,
        "acceptance": as_data(result.acceptances),  # what can be accepted at which error
        "accept": _accepted_judged(result),  # the same at the error asked for
        "required": _required(result),  # whether the accuracy that was asked for is shown
        "versions": _VERSIONS,
    }


def _blind(result: JudgedTable) -> str:
    """Say what the person who labelled the rows could see."""
    columns = result.answers.columns_shown
    if columns is None:
        return "What the person who labelled the rows could see is not known: the answers are from no sheet."
    judged = [column.name for column in result.columns if column.name in columns]
    if judged:
        return f"The sheet showed the labels under test ({named_columns(judged)}), and {named_columns(columns)}."
    if not columns:
        return "The sheet showed no column of the table."
    return f"The sheet did not show the labels under test; it showed {named_columns(columns)}."


def _required(result: JudgedTable) -> dict[str, Any] | None:
    """Whether the audit shows that the labels are as accurate as required: by the one-sided limit."""
    share, found = result.tested.options.require, result.columns[0].labelled or result.accuracy
    if share is None:
        return None
    least = found.low if found.at_least is None else found.at_least
    wanted = f"at least {100 * share:.4g}% of the labels in column {shown(result.columns[0].name)} are right"
    outcome, sentence = (
        "open",
        f"Not shown: {wanted}. The interval is {least:.1%} to {found.high:.1%}.",
    )
    if least >= share:
        outcome, sentence = "shown", f"Shown: {wanted}."
    elif found.high < share:
        outcome, sentence = "ruled out", f"Ruled out: {wanted}. At most {found.high:.1%} are."
    changed = result.answers.changed_labels.get(result.columns[0].name)
    if changed is not None:
        outcome, sentence = "changed", f"Not shown: {wanted}. {changed}"
    return {
        "accuracy": share,
        "outcome": outcome,
        "at_least": least,
        "at_most": found.high,
        "sentence": sentence,
    }


def _judged_column(column: JudgedColumn, result: JudgedTable) -> dict[str, Any]:
    """Accuracy, for an audit of fixed size and for whoever looked and stopped; and all classes.

    What is promised is the accuracy of the labels there are; ``coverage`` says how many rows have
    one.
    """
    found, accuracy, n_labels = (
        column.judgement,
        column.judgement.accuracy,
        result.population - column.n_missing,
    )
    every = column.always if result.answers.stopped else accuracy
    promised = column.labelled or every
    how = "whenever you stopped" if result.answers.stopped else "exact"
    sentence = (
        f"Between {promised.low:.1%} and {promised.high:.1%} of the {n_labels:,} labels in column "
        f"{shown(column.name)} are right ({result.level:.0%} interval, {how}): {promised.correct:,} of "
        f"{promised.n:,} random rows{' with a label' * bool(column.n_missing)} have the right label."
    )
    if not result.answers.stopped:
        sentence += f" If you only need a lower limit: at least {promised.at_least:.1%} are right."
    if column.n_missing:
        sentence += (
            f" {percent(n_labels / result.population)} of the {result.population:,} rows have a label; with the "
            f"others counted as wrong, between {every.low:.1%} and {every.high:.1%} are right."
        )
    right = {
        (name, name): one.precision.correct for name, one in found.classes.items() if one.precision
    }
    pairs = {
        (str(truth), str(label or _NO_LABEL)): n
        for (truth, label), n in [*found.confusions.items(), *right.items()]
    }
    return {
        "name": column.name,
        "missing": column.n_missing,
        "accuracy": as_data(accuracy),
        "always": as_data(column.always),
        "promised": as_data(promised),
        "coverage": n_labels / result.population,
        **_headline(promised.low, promised.high),
        "kappa": found.kappa,
        "matrix": matrix_of(pairs, [str(name) for name in found.classes]),
        "classes": [_judged_class(str(name), one) for name, one in found.classes.items()],
        "confusions": [
            {"truth": str(truth), "label": None if label is None else str(label), "rows": rows}
            for (truth, label), rows in found.confusions.items()
        ],
        "sentence": sentence,
    }


def _judged_class(name: str, found: ClassJudgement) -> dict[str, Any]:
    share, n, (low, high) = found.share, found.share.population, found.share.off
    return {
        "name": name,
        **as_data(share),
        **{f"{key}_share": getattr(share, key) / n for key in ("labelled", "low", "high")},
        "off": "too many" if low > 0 else "too few" if high < 0 else "",
        "off_low": low,
        "off_high": high,
        "precision": as_data(found.precision),
        "recall": as_data(found.recall),
    }


def _pair(pair: LabelPair) -> dict[str, Any]:
    """Two columns of labels: which is right more often, and by how much."""
    found, differs = pair.difference.comparison, pair.difference
    first, second = shown(pair.first), shown(pair.second)
    better = first if found.only_first > found.only_second else second
    outcome = (
        f"{better} is better"
        if found.p_value < _CLEAR
        else "The audit does not show which is better"
    )
    low, high = (
        f"{100 * abs(d):.1f} points {'lower' if d < 0 else 'higher'}"
        for d in (differs.low, differs.high)
    )
    unknown = ""
    if found.n_skipped:
        rows = counted(found.n_skipped, "row")
        unknown = f" They differ on {rows} that a person skipped: the limits hold whatever is right there."
    agreement = kappa(pair.counts)
    same = f"{int(np.trace(pair.counts)):,} of {int(pair.counts.sum()):,} rows"
    same += "" if agreement is None else f" (kappa {agreement:.2f})"
    return {
        **as_data(differs),
        "first": pair.first,
        "second": pair.second,
        "p_value": found.p_value,
        "sentence": (
            f"{outcome} ({p_value(found.p_value, 'p ')}): {first} alone is right on "
            f"{counted(found.only_first, 'row')}, "
            f"{second} alone on {found.only_second}. The accuracy of {first} is between {low} and {high} than "
            f"that of {second}.{unknown} They agree on {same}."
        ),
    }


def _accepted_judged(result: JudgedTable) -> dict[str, Any] | None:
    if result.asked is None:
        return None
    which = f"label{of_column([column.name for column in result.columns])}"
    return _accepted(result.asked, result, which, "", int(np.asarray(result.accepted).sum()))


def of_column(names: Sequence[str]) -> str:
    """Which labels a sentence speaks of, if several columns are judged: the first."""
    return f" in column {shown(names[0], 40)}" if len(names) > 1 else ""


# ------------------------------------------------------------ both


def matrix_of(pairs: dict[tuple[str, str], int], names: list[str]) -> dict[str, Any] | None:
    """Audited rows by the class of the answer and of the label; None where these are too many to be shown."""
    seen = {pair: n for pair, n in pairs.items() if n}
    rows = [name for name in names if any(truth == name for truth, _ in seen)]
    labels = [
        name
        for name in [*names, _NO_LABEL]
        if name in rows or any(label == name for _, label in seen)
    ]
    if not 1 < len(labels) <= _MOST_IN_MATRIX:
        return None
    counts = [[seen.get((truth, label), 0) for label in labels] for truth in rows]
    most = max(seen.values())
    shade = [[math.ceil(5 * n / most) for n in row] for row in counts]  # from 0 to 5
    return {"classes": rows, "labels": labels, "counts": counts, "shade": shade}


def _accepted(
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
        sentence = f"No {which} {at_most}: {_why_none_accepted(found.error, found.level, audit)}."
    sentence += f" Column {ACCEPT} marks {counted(n_marked, 'row')}, labels that a person gave or confirmed included."
    return {**as_data(found), "n_marked": n_marked, "sentence": sentence}


def _why_none_accepted(error: float, level: float, audit: Audit) -> str:
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


# ------------------------------------------------------------ what to do next

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
    return {**_headline(bars[0]["low"], bars[0]["high"]), "sentence": sentence, "bars": bars}


def _headline(low: float, high: float) -> dict[str, str]:
    """How good labels are in a few words, and whether that is good, fair or bad."""
    tone = "good" if low >= _GOOD else "bad" if high < _GOOD else "fair"
    return {"tone": tone, "headline": f"{percent(low)} to {percent(high)} right"}


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
