"""What a person sees of a summary in a terminal, at a Python prompt and in a notebook."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Column
from rich.table import Table as Grid
from rich.text import Text

from chary._words import counted, number, percent, shown, visible
from chary.method.priors import ACCURACY
from chary.report.judged_summary import of_column
from chary.report.next_steps import (
    Hints,
    aim_question,
    judged_steps,
    missing_hint,
    next_steps,
    prior_advice,
    suspect_sentence,
)
from chary.report.plain_data import Summary

_WIDTH, _N_SHIFTS, _N_NAMED, _N_NOTES = 100, 10, 20, 12
_N_CLASSES, _N_CONFUSIONS, _N_PARTS = 30, 8, 40  # of judged labels


# ------------------------------------------------------------ labels that chary made


def show_labels(console: Console, summary: Summary, hints: Hints) -> None:
    """What came of labelling a table: counts, columns, the verdict, how accurate it is."""
    console.print(_counts(summary))
    _show_notes(console, summary["notes"])
    columns = summary["columns"]
    _show_columns(console, "Left out", [column for column in columns if not column["used"]])
    _show_columns(
        console,
        "Please check",
        [column for column in columns if column["used"] and column["doubtful"]],
    )
    _show_missing_hint(console, columns, hints)
    prior = summary["class_prior"]
    _show_verdict(
        console, summary["diagnosis"], f"Y{prior['sentence'][1:]}." if prior["told"] else ""
    )
    aim = summary["aim"]
    question = (
        "" if summary["audit"] else aim_question(hints, aim["name"])
    )  # asked before there was one
    console.print(Text(f"{aim['sentence']} {question}".rstrip() + "\n"))
    if doubted := len(summary["second_look"]):
        console.print(f"{suspect_sentence(doubted)}\n")
    if summary["audit"] is None:
        console.print(Text(f"How accurate are they? {_invitation(summary)}\n"))
        if hints.draw:  # never cut
            console.print(
                Text(f"Next:  {visible(hints.draw, len(hints.draw))}\n", "bold"), soft_wrap=True
            )
    else:
        _show_audit(console, summary["audit"], summary["held_out"], summary["aim"]["name"])
        _show_steps(console, next_steps(summary, hints)[:1])
        console.print()


def show_diagnosis(console: Console, diagnosis: dict[str, Any], hints: Hints) -> None:
    """What each column was taken for, and how the labelled rows differ from the rest."""
    columns = Grid("Column", "Kind", "Note", box=box.SIMPLE)
    for column in diagnosis["columns"]:
        name, note = (
            Text(visible(column[key], most)) for key, most in (("name", 60), ("note", 200))
        )
        columns.add_row(name, column["kind"], note)
    console.print(columns)
    counts = sorted(diagnosis["classes"].items(), key=lambda item: -item[1])
    _show_some(
        console, "Classes, and how many labels of each", [(name, f"{n:,}") for name, n in counts]
    )
    _show_missing_hint(console, diagnosis["columns"], hints)
    _show_notes(console, diagnosis["notes"])
    if diagnosis["shifts"]:
        shifts = [
            [one["name"], f"{one['difference']:+.2f}"] for one in diagnosis["shifts"][:_N_SHIFTS]
        ]
        console.print("What differs most between labelled and other rows, in standard deviations:")
        console.print(number_grid(["Feature", "Difference"], shifts, _N_SHIFTS))
    separation, coverage = diagnosis["separation"], diagnosis["coverage"]
    if separation and coverage is not None:
        console.print(
            f"A model tells labelled from other rows: AUC {separation['auc']:.2f} (0.5 is chance).\n"
            f"{coverage:.0%} of the other rows are close to a labelled one (95% if labels were random).\n",
            highlight=False,
        )
    _show_verdict(console, diagnosis, prior_advice(diagnosis, hints))
    console.print(Text(f"{aim_question(hints)}\n"))


def _counts(summary: Summary) -> Grid:
    """Rows by class and by where their label comes from."""
    sources = list(summary["sources"])
    rows = [
        [one["name"], *(f"{one[source]:,}" for source in sources)] for one in summary["classes"]
    ]
    grid = number_grid(["Class", *(source.capitalize() for source in sources)], rows, len(rows))
    grid.add_section()
    grid.add_row("all", *(f"{count:,}" for count in summary["sources"].values()))
    return grid


def _show_columns(console: Console, what: str, columns: list[dict[str, Any]]) -> None:
    """Some columns by name, each with why it is named."""
    _show_some(console, what, [(one["name"], visible(one["note"], 120)) for one in columns])


def _show_missing_hint(console: Console, columns: list[dict[str, Any]], hints: Hints) -> None:
    if hint := missing_hint(columns, hints):
        console.print(Text(f"{hint}\n"))


def _show_some(console: Console, what: str, named: list[tuple[str, str]]) -> None:
    """Names, each with a remark in brackets."""
    said = ", ".join(f"{visible(name, 40)} ({remark})" for name, remark in named[:_N_NAMED])
    more = f" and {len(named) - _N_NAMED} more" if len(named) > _N_NAMED else ""
    if said:
        console.print(Text(f"{what}: {said}{more}.\n"))


def _show_notes(console: Console, notes: list[str]) -> None:
    for note in notes[:_N_NOTES]:
        console.print(Text(visible(note, 500)))
    if len(notes) > _N_NOTES:
        console.print(Text(f"And {len(notes) - _N_NOTES} more such notes: see the report."))
    if notes:
        console.print()


def _show_verdict(console: Console, diagnosis: dict[str, Any], remark: str) -> None:
    console.print(_panel(diagnosis["sentence"], diagnosis["verdict"], diagnosis["tone"]))
    if remark:
        console.print(Text(f"{visible(remark, 500)}\n"))


def _invitation(summary: Summary) -> str:
    if not summary["audit_size"]:
        return "There are so few rows without a label that you can look at each."
    return f"{number(summary['audit_size'])} random rows that you label will tell, and the model learns from them."


def _show_audit(
    console: Console, audit: dict[str, Any], held_out: dict[str, Any] | None, aim: str
) -> None:
    promised = f"{held_out['accuracy']:.1%}" if held_out else "-"
    grid = Grid("Accuracy, other rows", "", "95% interval", "", box=box.SIMPLE)
    grid.columns[1].justify = "right"
    grid.add_row("cross-validation", promised, "", "no estimate: not random", style="dim")
    before, after = audit["before"], audit["after"]
    how = "valid whenever you stop" if audit["stopped"] else "exact"
    measured = before["share"], before["low"], before["high"]
    rows = [("model without the audit", *measured, f"{how}, {before['n']} random rows")]
    if after is not None:
        cross_fitted = after["share"], after["low"], after["high"]
        rows.append(("model that learned from it", *cross_fitted, "approximate, cross-fitted"))
    if aim != ACCURACY and audit["balanced"]:
        rows.append(("  the mean over classes", *audit["balanced"], "approximate, cross-fitted"))
    for name, share, low, high, kind in rows:
        grid.add_row(name, f"{share:.1%}", f"{low:.1%} to {high:.1%}", kind)
    console.print(grid)
    for note in audit["notes"]:
        _say(console, note["text"], "bold red" if note["warning"] else "")


# ------------------------------------------------------------ labels that somebody else made


def show_judged(console: Console, summary: Summary, hints: Hints) -> None:
    """How good the labels are, by class and slice, what can be accepted, and what to do next."""
    for changed in summary["changed_labels"]:
        console.print(_panel(changed["sentence"], "These figures may not hold", "bad"))
    for column in summary["columns"]:
        console.print(_panel(column["sentence"], column["headline"], column["tone"]))
        if len(summary["columns"]) > 1:
            continue  # classes and confusions of each are in the report
        if column["classes"]:
            console.print(_judged_classes(column["classes"]))
        _show_confusions(console, column["confusions"])
        if column["kappa"] is not None:
            _say(
                console, f"Agreement with the answers beyond chance (kappa): {column['kappa']:.2f}."
            )
        if not summary["stopped"]:
            looked = "If you looked at the results while labelling and then stopped: "
            _say(
                console,
                looked + "between {low:.1%} and {high:.1%} are right.".format(**column["always"]),
            )
    for pair in summary["pairs"]:
        _say(console, pair["sentence"], "bold")
    for slices in summary["slices"]:
        if of := of_column([column["name"] for column in summary["columns"]]):
            _say(console, f"Labels{of}, by {visible(slices['column'], 40)}:")
        console.print(_slices(slices))
    _say(console, summary["blind"])
    for note in summary["notes"]:
        _say(console, note["text"], "bold red" if note["warning"] else "")
    _show_steps(console, judged_steps(summary, hints))
    console.print()


def _judged_classes(classes: list[dict[str, Any]]) -> Grid:
    rows = []
    for one in sorted(classes, key=lambda one: -one["labelled"]):
        really = Text(f"{one['low']:,} to {one['high']:,}", "bold red" if one["off"] else "")
        rows.append(
            [
                one["name"],
                f"{one['labelled']:,}",
                really,
                _score(one["precision"]),
                _score(one["recall"]),
            ]
        )
    return number_grid(
        ["Class", "Labelled", "Estimated by the audit", "Precision", "Recall"], rows, _N_CLASSES
    )


def _score(score: dict[str, Any] | None) -> str:
    return (
        "-"
        if score is None
        else f"{score['correct']} of {score['n']}: {_limits(score['low'], score['high'])}"
    )


def _show_confusions(console: Console, confusions: list[dict[str, Any]]) -> None:
    for one in confusions[:_N_CONFUSIONS]:
        label = (
            "without a label" if one["label"] is None else f"labelled as {shown(one['label'], 40)}"
        )
        _say(console, f"{counted(one['rows'], 'row'):>8}: {shown(one['truth'], 40)} {label}")
    if confusions:
        console.print()


def _slices(slices: dict[str, Any]) -> Grid:
    rows = []
    for value, part in slices["parts"].items():
        right = ""
        limits = "too few audited rows to say"
        score = part["score"]
        if score is not None:
            right = f"{score['correct']} of {score['n']}"
            limits = _limits(score["low"], score["high"])
        rows.append([value, f"{part['population']:,}", f"{part['n']:,}", right, limits])
    names = [visible(slices["column"], 40), "Rows", "Audited", "Right", "95% intervals, together"]
    return number_grid(names, rows, _N_PARTS)


# ------------------------------------------------------------ both


def _show_steps(console: Console, steps: list[dict[str, str]]) -> None:
    for one in steps:
        _say(
            console, f"{one['words']}  {one['command']}".rstrip(), "" if one["command"] else "bold"
        )


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(visible(text, 800), style), soft_wrap=True)


def _panel(text: str, title: str, tone: str) -> Panel:
    colour = {"good": "green", "fair": "yellow", "bad": "red"}[tone]
    return Panel(
        Text(text), title=Text(title), title_align="left", border_style=colour, width=_WIDTH
    )


def number_grid(names: list[str], rows: list[list[Any]], most: int) -> Grid:
    """Rows of a name, which may be from elsewhere, and of numbers that stand under each other; only so many."""
    numbers = [Column(Text(name), justify="right") for name in names[1:]]
    grid = Grid(Column(Text(names[0])), *numbers, box=box.SIMPLE)
    for name, *cells in rows[:most]:
        grid.add_row(
            Text(visible(name, 60)), *(Text(one) if isinstance(one, str) else one for one in cells)
        )
    if len(rows) > most:
        grid.add_row(Text(f"and {len(rows) - most} more"))
    return grid


def _limits(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"
