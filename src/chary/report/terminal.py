"""A summary in; what a person sees of it in a terminal out."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text

from chary._words import number, p_value, visible
from chary.method import ACCURACY
from chary.report.brief import named, noticed, why
from chary.report.hints import Hints, aim_question, prior_advice
from chary.report.summary import Summary

_WIDTH, _N_SHIFTS, _N_NAMED, _N_NOTES = 100, 10, 20, 12


def show_labels(console: Console, summary: Summary, hints: Hints) -> None:
    """What came of labelling a table: counts, columns, the verdict, how accurate it is."""
    console.print(_counts(summary))
    _show_notes(console, summary["notes"])
    left_out, doubtful = noticed(summary["columns"])
    _show_columns(console, "Left out", left_out)
    _show_columns(console, "Doubtful", doubtful)
    _show_columns(console, "Read as", [column for column in summary["columns"] if column["read_otherwise"]])
    prior = summary["class_prior"]
    _show_verdict(console, summary["diagnosis"], f"Y{prior['sentence'][1:]}." if prior["told"] else "")
    aim = summary["aim"]
    console.print(Text(f"{aim['sentence']} {aim_question(hints, aim['name'])}".rstrip() + "\n"))
    if doubted := len(summary["second_look"]):
        these = "One given label contradicts a" if doubted == 1 else f"{doubted} given labels contradict"
        console.print(
            f"{these} confident held-out prediction{'s' * (doubted > 1)} and may be right: see the report.\n"
        )
    if summary["audit"] is None:
        console.print(Panel(_invitation(summary, hints), title="how accurate?", title_align="left", width=_WIDTH))
    else:
        _show_audit(console, summary["audit"], summary["held_out"], summary["aim"]["name"])
        _show_accepted(console, summary["audit"], summary["accept"])


def show_diagnosis(console: Console, diagnosis: dict[str, Any], hints: Hints) -> None:
    """What each column was taken for, and how the labelled rows differ from the rest."""
    console.print(_columns(diagnosis["columns"]))
    _show_notes(console, diagnosis["notes"])
    if diagnosis["shifts"]:
        grid = _grid("Feature", "Difference", "p")
        for shift in diagnosis["shifts"][:_N_SHIFTS]:
            grid.add_row(_plain(shift["name"]), f"{shift['difference']:+.2f}", p_value(shift["p_value"]))
        console.print("What differs most between labelled and other rows, in standard deviations:")
        console.print(grid)
    separation, coverage = diagnosis["separation"], diagnosis["coverage"]
    if separation and coverage is not None:
        auc, low, high = (separation[name] for name in ("auc", "low", "high"))
        console.print(
            f"Telling labelled from other rows: AUC {auc:.2f} ({low:.2f} to {high:.2f}; 0.5 is chance).\n"
            f"Other rows that have a label near: {coverage:.0%} (95% if labels were drawn at random).\n",
            highlight=False,
        )
    _show_verdict(console, diagnosis, prior_advice(diagnosis, hints))
    console.print(Text(f"{aim_question(hints)}\n"))


def _counts(summary: Summary) -> Grid:
    """Rows by class and by where their label comes from."""
    grid = _grid("Class", *(source.capitalize() for source in summary["sources"]))
    for of_class in summary["classes"]:
        counts = (f"{of_class[source]:,}" for source in summary["sources"])
        grid.add_row(_plain(of_class["name"]), *counts)
    grid.add_section()
    grid.add_row("all", *(f"{count:,}" for count in summary["sources"].values()))
    return grid


def _show_columns(console: Console, what: str, columns: list[dict[str, Any]]) -> None:
    if columns:
        console.print(Text(f"{what}: {named(columns, _N_NAMED)}.\n"))


def _show_notes(console: Console, notes: list[str]) -> None:
    for note in notes[:_N_NOTES]:
        console.print(Text(visible(note, 500)))
    if len(notes) > _N_NOTES:
        console.print(Text(f"And {len(notes) - _N_NOTES} more such notes: see the report."))
    if notes:
        console.print()


def _columns(columns: list[dict[str, Any]]) -> Grid:
    grid = Grid("Column", "Kind", "Note", box=box.SIMPLE)
    for column in columns:
        grid.add_row(_plain(column["name"]), column["kind"], Text(visible(why(column), 200)))
    return grid


def _show_verdict(console: Console, diagnosis: dict[str, Any], remark: str) -> None:
    colour = "green" if diagnosis["representative"] else "red" if diagnosis["strongly"] else "yellow"
    console.print(
        Panel(
            Text(diagnosis["sentence"]),
            title=diagnosis["verdict"],
            title_align="left",
            border_style=colour,
            width=_WIDTH,
        )
    )
    if remark:
        console.print(Text(f"{visible(remark, 500)}\n"))


def _invitation(summary: Summary, hints: Hints) -> Text:
    nobody = "No figure computed from labels that were not drawn at random can tell."
    if not summary["audit_size"]:
        return Text(f"{nobody} There are so few rows without a label that you can look at each.")
    how = f":  {visible(hints.draw, 800)}" if hints.draw else "."
    labels = f"{number(summary['audit_size'])} labels of rows drawn at random can, and the model learns from them"
    return Text(f"{nobody} {labels}{how}")


def _show_audit(console: Console, audit: dict[str, Any], held_out: dict[str, Any] | None, aim: str) -> None:
    promised = f"{held_out['accuracy']:.1%}" if held_out else "-"
    grid = Grid("Accuracy elsewhere", "", "95% interval", "", box=box.SIMPLE)
    grid.columns[1].justify = "right"
    grid.add_row("promised by your labels", promised, "", "no estimate: not random", style="dim")
    for name, found, kind in (
        ("model of your labels", audit["before"], f"exact, {audit['before']['n']} random rows"),
        ("model of all labels", audit["after"], "approximate, cross-fitted"),
    ):
        grid.add_row(name, f"{found['share']:.1%}", f"{found['low']:.1%} to {found['high']:.1%}", kind)
    if aim != ACCURACY:
        grid.add_row("  the mean over classes", *_balanced(audit["balanced"]))
    console.print(grid)
    for note in audit["notes"]:
        console.print(Text(visible(note["text"], 400), "bold red" if note["warning"] else ""), soft_wrap=True)


def _balanced(found: list[float] | None) -> tuple[str, str, str]:
    if found is None:
        return "-", "", "too few audited rows of some class"
    share, low, high = found
    return f"{share:.1%}", f"{low:.1%} to {high:.1%}", "approximate, cross-fitted"


def _show_accepted(console: Console, audit: dict[str, Any], asked: dict[str, Any] | None) -> None:
    """What can be accepted at the error asked for; if none was, at the first at which something can."""
    if asked is not None:
        console.print(Text(f"{asked['sentence']}\n"), soft_wrap=True)
        return
    accepted = next((found for found in audit["accept"] if found["n_accepted"]), None)
    if accepted is None:
        largest = audit["accept"][-1]["error"]
        console.print(Text(f"On the word of this audit no row can be accepted at {largest:.0%} error or less.\n"))
        return
    sentence = (
        "{n_accepted:,} new labels, those of confidence {threshold:.4f} and more, can be accepted with at most "
        "{error:.0%} wrong (level {level:.0%}, approximate).\n"
    )
    console.print(Text(sentence.format(**accepted)), soft_wrap=True)


def _grid(first: str, *numbers: str) -> Grid:
    """A name, and numbers that stand under each other."""
    grid = Grid(first, *numbers, box=box.SIMPLE, title_justify="left")
    for column in grid.columns[1:]:
        column.justify = "right"
    return grid


def _plain(text: object) -> Text:
    """Text from elsewhere: visible, short, and no markup."""
    return Text(visible(text, 60))
