"""A summary of labels that were judged in; what a person sees of it in a terminal out."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text

from chary._words import p_value, percent, visible
from chary.report.hints import JudgeHints
from chary.report.judged.summary import JudgedSummary, limits_words

_WIDTH, _N_CLASSES, _N_CONFUSIONS, _N_PARTS = 100, 30, 8, 40


def show_judged(console: Console, summary: JudgedSummary, hints: JudgeHints) -> None:
    """How good the labels are, by class and slice, what can be accepted, and what to do next."""
    for column in summary["columns"]:
        console.print(_verdict(column))
        console.print(_classes(column["classes"]))
        _show_confusions(console, column["confusions"])
        _show_agreement(console, column)
        if not summary["stopped"]:
            _show_always(console, column["always"])
    if summary["comparison"] is not None:
        _say(console, summary["comparison"]["sentence"], "bold")
    for slices in summary["slices"]:
        console.print(_slices(slices))
    _show_accepted(console, summary, hints)
    for note in summary["notes"]:
        _say(console, note["text"], "bold red" if note["warning"] else "")
    _say(console, next_step(summary, hints))


def next_step(summary: JudgedSummary, hints: JudgeHints) -> str:
    """What would make the figures better."""
    how = f":  {hints.enlarge}" if hints.enlarge else "."
    if summary["left"]:
        fill = f":  {hints.fill}" if hints.fill else "."
        return (
            f"{summary['left']} of the rows drawn have no label yet; they would make the intervals narrower{fill}"
        )
    return f"A larger audit makes the intervals narrower, and keeps the answers there are{how}"


def _verdict(column: dict[str, Any]) -> Panel:
    low, high = column["promised"]["low"], column["promised"]["high"]
    colour = "green" if low >= 0.9 else "red" if high < 0.9 else "yellow"
    title = Text(f"{percent(low)} to {percent(high)} right")
    return Panel(Text(column["sentence"]), title=title, title_align="left", border_style=colour, width=_WIDTH)


def _classes(classes: list[dict[str, Any]]) -> Grid:
    grid = _grid("Class", "Labelled so", "Really, by the audit", "Right where said", "Found of it")
    for one in sorted(classes, key=lambda one: -one["labelled"])[:_N_CLASSES]:
        really = f"{one['low']:,} to {one['high']:,}"
        grid.add_row(
            Text(visible(one["name"], 40)),
            f"{one['labelled']:,}",
            Text(really, "bold red" if one["off"] else ""),
            _score(one["precision"]),
            _score(one["recall"]),
        )
    if len(classes) > _N_CLASSES:
        grid.add_row(Text(f"and {len(classes) - _N_CLASSES} more"))
    return grid


def _score(score: dict[str, Any] | None) -> str:
    return (
        "-"
        if score is None
        else f"{score['correct']} of {score['n']}: {limits_words(score['low'], score['high'])}"
    )


def _show_confusions(console: Console, confusions: list[dict[str, Any]]) -> None:
    for one in confusions[:_N_CONFUSIONS]:
        label = "had no label" if one["label"] is None else f"was labelled '{visible(one['label'], 40)}'"
        _say(console, f"{one['rows']:>4} x '{visible(one['truth'], 40)}' {label}")
    if len(confusions) > _N_CONFUSIONS:
        _say(console, f"and {len(confusions) - _N_CONFUSIONS} more pairs: see the report.")
    if confusions:
        console.print()


def _show_agreement(console: Console, column: dict[str, Any]) -> None:
    found = column["agreement"]
    if found is not None:
        _say(
            console,
            f"Agreement beyond chance (kappa): {found['kappa']:.2f} ({found['low']:.2f} to {found['high']:.2f}).",
        )


def _show_always(console: Console, always: dict[str, float]) -> None:
    share = f"between {always['low']:.1%} and {always['high']:.1%}"
    _say(console, f"If you looked at the figures and stopped when they were good enough: {share} are right.")


def _slices(slices: dict[str, Any]) -> Grid:
    grid = _grid(visible(slices["column"], 40), "Rows", "Audited", "Right", "All intervals hold together", "p")
    for part in slices["parts"][:_N_PARTS]:
        score = part["score"]
        found = (
            ("", "too few audited rows to say", "")
            if score is None
            else (
                f"{score['correct']} of {score['n']}",
                limits_words(score["low"], score["high"]),
                p_value(part["p_value"]),
            )
        )
        grid.add_row(Text(visible(part["value"], 40)), f"{part['rows']:,}", f"{part['audited']:,}", *found)
    if len(slices["parts"]) > _N_PARTS:
        grid.add_row(Text(f"and {len(slices['parts']) - _N_PARTS} more"))
    return grid


def _show_accepted(console: Console, summary: JudgedSummary, hints: JudgeHints) -> None:
    if summary["accept"] is not None:
        _say(console, summary["accept"]["sentence"], "bold")
        return
    if summary["confidence"] is None:
        return
    found = next((one for one in summary["acceptance"] if one["n_accepted"]), None)
    if found is None:
        _say(console, "On the word of this audit no label can be accepted at 20% error or less.")
        return
    _say(
        console,
        f"{found['n_accepted']:,} labels, those of confidence {found['threshold']:.4g} and more, can be "
        f"accepted with at most {found['error']:.0%} wrong (level {found['level']:.0%}, if that is "
        f"the error you had decided on); to have them marked: {hints.at(found['error'])}.",
    )


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(visible(text, 800), style), soft_wrap=True)


def _grid(first: str, *numbers: str) -> Grid:
    grid = Grid(first, *numbers, box=box.SIMPLE)
    for column in grid.columns[1:]:
        column.justify = "right"
    return grid
