"""How good labels are at a glance, and what to do next: in words, and as a command or a call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypedDict

from chary._words import command_line, counted, number, percent, shown
from chary.audit import FEWEST_ANSWERS, JudgedTable, SheetBeside
from chary.method.priors import ACCURACY
from chary.options import DrawOptions, FillOptions, JudgeOptions, LabelOptions, flag_of
from chary.report.judged_summary import JudgedSummary, in_first_column
from chary.report.labels_summary import (
    AuditSummary,
    ColumnSummary,
    DiagnosisSummary,
    LabelsSummary,
    SlipSummary,
)
from chary.report.plain_data import (
    AcceptanceSummary,
    BaselineSummary,
    Headline,
    ScoreSummary,
    headline_of,
)
from chary.tables import codes_in

# These results are from real tables whose labels were from one group of rows, or chosen by a
# column. A test compares the numbers with studies/results/tables. Gains are in points of accuracy.
STUDIED = {
    "n_tables": 20,
    "prior_gain": 0.3,  # by true class shares
    "prior_balanced_gain": 3.9,  # the same in balanced accuracy
}
_PRIOR_HELPS = (
    "on {n_tables} real tables with biased labels it added {prior_gain} points of accuracy and "
    "{prior_balanced_gain} of balanced accuracy."
).format(**STUDIED)

# A hint names at most this many labels that may be slips.
_N_SLIPS = 5
# At most this many codes for missing values are named in one hint.
_N_CODES = 8

_HALVING = "halving their width takes about four times as many rows"
NARROWER = f"To narrow the intervals, label more random rows: {_HALVING}."


class Hints(NamedTuple):
    """How a user does what a report suggests: by calls in Python, or by typed commands."""

    draw: str = ""  # the call or command that draws rows, or more rows; empty: none is shown
    fill: str = ""  # the command that goes on labelling the drawn rows
    typed: bool = False  # whether the user types commands
    unused: str = ""  # a sentence on a sheet with answers that were not used; empty: there is none
    use: str = ""  # the command that uses these answers

    @classmethod
    def for_labels(
        cls,
        options: LabelOptions,
        files: Sequence[str | os.PathLike[str]],
        audit_size: int,
        sheet: SheetBeside | None = None,
    ) -> Hints:
        """Write the commands for labels that chary made.

        They repeat the options that the user chose, but not the ones that would replace an existing
        ``sheet``. A sheet of random rows that is there already is filled in, or used.
        """
        if sheet is not None and sheet.n_answers >= FEWEST_ANSWERS:
            use = replace(options, audit=sheet.path, force=True, discard_answers=False)
            return cls(typed=True, unused=unused_answers(sheet), use=use.command(files))
        if not audit_size:
            return cls(typed=True)
        if sheet is not None:
            return cls(FillOptions().command([sheet.path]), typed=True)
        draw = DrawOptions.like(options, k=audit_size, force=False, discard_answers=False)
        return cls(draw.command(files), typed=True)

    @classmethod
    def for_judged(
        cls, options: JudgeOptions, files: Sequence[str | os.PathLike[str]], result: JudgedTable
    ) -> Hints:
        """Write the commands for judged labels.

        The drawn rows are doubled, which keeps the answers: the sheet is enlarged, not replaced.
        """
        n_drawn = result.answers.n_drawn
        n_rows = result.population
        draw = ""
        if n_drawn < n_rows:
            larger = replace(
                options,
                k=min(2 * n_drawn, n_rows),
                audit=None,
                require=None,
                force=False,
                annotator=(),
                discard_answers=False,
            )
            draw = larger.command(["draw", *files])
        return cls(draw, FillOptions().command([str(options.audit)]), typed=True)

    def option(self, name: str, typed_value: str, python_value: str) -> str:
        """Write an option with its value, such as ``--error 5%``, or ``error=0.05`` in Python."""
        if self.typed:
            return f"{flag_of(name)} {typed_value}"
        return f"{name}={python_value}"

    def at(self, error: float) -> str:
        """Write the option that marks acceptable rows.

        The command that it is added to has written its files already, so it must replace them.
        """
        option = self.option("error", f"{100 * error:g}%", f"{error:g}")
        return f"{option} {flag_of('force')}" if self.typed else option


def unused_answers(sheet: SheetBeside) -> str:
    """Say that a sheet beside the table holds answers, and how to use them."""
    answers = counted(sheet.n_answers, "answer")
    option = command_line([flag_of("audit"), os.fspath(sheet.path)])
    return f"{sheet.path.name} holds {answers}; add {option}."


class NextStep(TypedDict):
    """Something to do next."""

    words: str
    command: str  # or a call in Python; empty: the words say all


class AccuracyBar(ScoreSummary):
    """An interval to draw as a bar, with its name."""

    words: str
    mark: float | None  # a share to mark on the bar: the accuracy in cross-validation


class Quality(Headline):
    """How good new labels are, for the top of a page."""

    sentence: str
    bars: list[AccuracyBar]  # empty without an audit


# ---------------------------------------------------------------- labels that chary made


def quality(summary: LabelsSummary) -> Quality:
    """Tell at a glance how good new labels are.

    Without an audit nothing is known. With one, there are two bars: the accuracy of these labels,
    and that of a model which did not learn from the answers.
    """
    audit = summary["audit"]
    if audit is None:
        return _quality_without_audit(summary["audit_size"])
    held_out = summary["held_out"]
    promised = held_out["accuracy"] if held_out else None

    # The audit scores two models: audit["before"] is of a model that has not learned from its
    # answers, audit["after"] of the model that has learned from them. The second one made the
    # labels, so its bar comes first.
    bars: list[AccuracyBar] = []
    if audit["after"] is not None:
        bars.append({"words": "These labels", **audit["after"], "mark": promised})
    bars.append({"words": "Without the audit's answers", **audit["before"], "mark": promised})
    baseline = audit["baseline"]
    if baseline is not None:
        bars.append(baseline_bar(baseline))

    sentence = _bars_sentence(audit)
    if baseline is not None:
        sentence = f"{baseline['sentence']} {sentence}"
    if promised is not None:
        sentence += (
            f" Your own labels promised {percent(promised)} (blue mark), which is not an estimate."
        )
    return {**headline_of(bars[0]["low"], bars[0]["high"]), "sentence": sentence, "bars": bars}


def baseline_bar(baseline: BaselineSummary) -> AccuracyBar:
    """Draw one label for all rows beside the labels."""
    words = f"{shown(baseline['label'], 40)} for every row"
    return {"words": words, **baseline["accuracy"], "mark": None}


def _quality_without_audit(audit_size: int) -> Quality:
    """Say why nothing is known of new labels; ``audit_size`` rows could be drawn."""
    sentence = (
        "Your labels are not a random sample, so they cannot show how good the other labels are."
    )
    if not audit_size:
        sentence += " There are so few rows without a label that you can look at each."
    return {"tone": "fair", "headline": "Not known yet", "sentence": sentence, "bars": []}


def _bars_sentence(audit: AuditSummary) -> str:
    """Say what the intervals of an audit rest on, and when they hold.

    They are the bars of ``quality``: first the interval of the model that learned from the audit,
    if there is one, then that of the model that did not.
    """
    rows = f"{audit['before']['n']} random rows that a person labelled"
    if audit["after"] is None:
        validity = ", valid whenever you stop," if audit["stopped"] else ""
        return f"95% interval{validity} from {rows}."
    sentence = (
        f"95% intervals from {rows}; the first is approximate, as the model also learned from these"
        " rows."
    )
    if audit["stopped"]:
        sentence += " The second holds whenever you stopped."
    return sentence


def next_steps(summary: LabelsSummary, hints: Hints) -> list[NextStep]:
    """List what to do next, the most useful first."""
    audit = summary["audit"]
    accept = summary["accept"]
    n_suspect = len(summary["second_look"])
    steps: list[NextStep] = []
    if audit is None:
        if hints.unused:
            steps.append(_step(hints.unused, hints.use))
        elif summary["audit_size"]:
            words = (
                f"Label {number(summary['audit_size']).lower()} random rows: they show how good "
                "the labels are, and the model learns from them."
            )
            steps.append(_step(words, hints.draw))
    elif accept:
        steps.append(_step(accept["sentence"]))
    elif audit["unfinished"]:
        words = "Go on labelling: which labels can be accepted is said at the end of the draw."
        steps.append(_step(words))
    else:
        caveat = "approximate, if you chose that error beforehand"
        steps.append(_acceptable(audit["accept"], audit["before"]["n"], hints, caveat))
    if n_suspect:
        steps.append(_step(suspect_sentence(n_suspect)))
    steps.append(_step("Check the rows that the model is least sure of."))
    return steps


def suspect_sentence(n: int) -> str:
    """Say that some given labels are worth a second look."""
    labels = f"{n} of your labels may be slips"
    they = "They"
    if n == 1:
        labels = "One of your labels may be a slip"
        they = "It"
    return (
        f"{labels}: a model that had not seen it is sure of another class. {they} may still be "
        "right."
    )


def slip_hint(slips: Sequence[SlipSummary], hints: Hints) -> str:
    """Ask whether some labels are slips, and say how to count them as the class that is meant."""
    sentences = []
    class_of = {}
    typed_pairs = []
    for slip in slips[:_N_SLIPS]:
        rows = counted(slip["rows"], "row")
        sentences.append(
            f"{shown(slip['label'])} ({rows}) may be a slip for {shown(slip['meant'])} "
            f"({slip['meant_rows']:,})."
        )
        class_of[slip["label"]] = slip["meant"]
        typed_pairs.append(command_line([f"{slip['label']}={slip['meant']}"]))
    if not class_of:
        return ""

    repeated_flag = f" {flag_of('same')} "
    option = hints.option("same", repeated_flag.join(typed_pairs), repr(class_of))
    as_class = "it as that class" if len(class_of) == 1 else "them as these classes"
    return f"{' '.join(sentences)} To count {as_class}, pass {option}."


def missing_hint(columns: Sequence[ColumnSummary], hints: Hints) -> str:
    """Say what to pass if a suspicious number stands for a missing value."""
    settings = []
    for column in columns:
        settings += [f"{column['name']}={code}" for code in codes_in(column["note"])]
    if not settings:
        return ""
    repeated_flag = f" {flag_of('missing')} "
    typed = repeated_flag.join(command_line([setting]) for setting in settings[:_N_CODES])
    option = hints.option("missing", typed, repr(settings[:_N_CODES]))
    others = ""
    if len(settings) > _N_CODES:
        everywhere = hints.option("missing", "CODE", "['CODE']")
        others = f" and so on, or {everywhere} for every column"
    return f"If such numbers stand for missing values, pass {option}{others}."


def aim_question(hints: Hints, aim: str = ACCURACY) -> str:
    """Ask whether rare classes matter, unless an aim was chosen."""
    if aim != ACCURACY:
        return ""
    option = hints.option("aim", "balanced", "'balanced'")
    return (
        f"If rare classes matter as much as common ones, pass {option}: more of them are found, at "
        "the cost of some errors in the common ones."
    )


def prior_advice(diagnosis: DiagnosisSummary, hints: Hints, told: bool = False) -> str:
    """Ask for the class shares if labels are biased, unless the user ``told`` them already."""
    if told or not diagnosis["biased"]:
        return ""
    option = hints.option("class_prior", "NAME=SHARE", "{name: share, ...}")
    return (
        f"Do you know how common each class is in the whole table? Then pass {option}: "
        f"{_PRIOR_HELPS} A wrong share makes labels wrong, so leave it out if you are not sure."
    )


# ---------------------------------------------------------------- judged labels


def judged_steps(summary: JudgedSummary, hints: Hints) -> list[NextStep]:
    """List what to do next with judged labels, the most useful first."""
    accept = summary["accept"]
    required = summary["required"]
    steps: list[NextStep] = []
    if required is not None:
        steps.append(_step(required["sentence"]))
    if accept is not None:
        steps.append(_step(accept["sentence"]))
    elif summary["acceptance"]:
        in_column = in_first_column(summary["columns"])
        caveat = "if you chose that error beforehand"
        steps.append(
            _acceptable(summary["acceptance"], summary["audited"], hints, caveat, in_column)
        )
    steps.append(_better_figures(summary, hints))
    return steps


def _better_figures(summary: JudgedSummary, hints: Hints) -> NextStep:
    """Tell how to get better figures, by the first of these that applies.

    People decide on rows on which they differ; rows that are left are labelled; more rows are
    drawn.
    """
    # Rows on which people differ count as skipped, so to decide on them helps first.
    annotators = summary["annotators"]
    if annotators and annotators["differing"]:
        rows = counted(annotators["differing"], "row")
        return _step(
            f"Decide on the {rows} on which people differ and edit a sheet so that they agree."
        )

    aim = "To see all figures" if summary["unfinished"] else "To narrow the intervals"
    command = hints.draw
    if summary["left"]:
        step = f"label the {counted(summary['left'], 'row')} left"
        command = hints.fill
    elif annotators:
        step = "draw a larger sheet and let each person go on in a copy with the old answers"
    elif summary["stopped"]:
        step = f"label more rows (your answers are kept; {_HALVING})"
    else:
        step = (
            "label more rows (your answers are kept; then only the wider limits hold, those for "
            f"looking while labelling; {_HALVING})"
        )
    end = ":" if command else "."
    return _step(f"{aim}, {step}{end}", command)


# ---------------------------------------------------------------- steps of both kinds of labels


def _step(words: str, command: str = "") -> NextStep:
    """Make a step of its words and its command."""
    return {"words": words, "command": command}


def _acceptable(
    acceptances: list[AcceptanceSummary],
    n_audited: int,
    hints: Hints,
    caveat: str,
    in_column: str = "",
) -> NextStep:
    """Tell the smallest error at which labels can be accepted, or what stands in the way.

    The ``acceptances`` are in the ascending order of their errors.
    """
    possible = [acceptance for acceptance in acceptances if acceptance["n_accepted"]]
    if possible:
        smallest = possible[0]
        labels = counted(smallest["n_accepted"], "label")
        words = (
            f"{labels}{in_column} of confidence {smallest['threshold']:.4g} or more can be "
            f"accepted with at most {percent(smallest['error'])} wrong "
            f"({percent(smallest['level'])} level, {caveat}). To mark them, add"
        )
        return _step(words, hints.at(smallest["error"]))

    largest = acceptances[-1]
    at_most = percent(largest["error"])
    n_needed = largest["needs"]
    # The answers have no influence on ``n_needed``, so more rows may be labelled because of it.
    if n_needed > n_audited:
        return _step(
            f"Enlarge the audit: to accept any label at {at_most} error or less, at least "
            f"{n_needed} rows are needed."
        )
    return _step(
        f"No label can be accepted at {at_most} error or less: too many audited rows were wrong."
    )
