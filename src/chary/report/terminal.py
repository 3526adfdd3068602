"""What a person sees of a summary in a terminal, at a Python prompt and, as a few lines, in a notebook."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text

from chary._words import number, p_value, percent, shown, visible
from chary.method.priors import ACCURACY
from chary.report.summary import Hints, JudgeHints, Summary, aim_question, next_step, prior_advice

_WIDTH, _N_SHIFTS, _N_NAMED, _N_NOTES = 100, 10, 20, 12
_N_CLASSES, _N_CONFUSIONS, _N_PARTS = 30, 8, 40  # of judged labels
_N_BRIEF_CLASSES, _N_BRIEF = 12, 10


# ------------------------------------------------------------ labels that chary made


def show_labels(console: Console, summary: Summary, hints: Hints) -> None:
    """What came of labelling a table: counts, columns, the verdict, how accurate it is."""
    console.print(_counts(summary))
    _show_notes(console, summary["notes"])
    left_out, doubtful = _left_out_and_doubtful(summary["columns"])
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
        console.print(Text(f"{what}: {_named(columns, _N_NAMED)}.\n"))


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
        grid.add_row(_plain(column["name"]), column["kind"], Text(visible(_why(column), 200)))
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


# ------------------------------------------------------------ labels that somebody else made


def show_judged(console: Console, summary: Summary, hints: JudgeHints) -> None:
    """How good the labels are, by class and slice, what can be accepted, and what to do next."""
    for column in summary["columns"]:
        console.print(_verdict(column))
        console.print(_judged_classes(column["classes"]))
        _show_confusions(console, column["confusions"])
        if column["agreement"] is not None:
            kappa = "{kappa:.2f} ({low:.2f} to {high:.2f})".format(**column["agreement"])
            _say(console, f"Agreement beyond chance (kappa): {kappa}.")
        if not summary["stopped"]:
            share = f"between {column['always']['low']:.1%} and {column['always']['high']:.1%}"
            _say(
                console, f"If you looked at the figures and stopped when they were good enough: {share} are right."
            )
    if summary["comparison"] is not None:
        _say(console, summary["comparison"]["sentence"], "bold")
    for slices in summary["slices"]:
        console.print(_slices(slices))
    _show_acceptable(console, summary, hints)
    for note in summary["notes"]:
        _say(console, note["text"], "bold red" if note["warning"] else "")
    _say(console, next_step(summary, hints))


def _verdict(column: dict[str, Any]) -> Panel:
    low, high = column["promised"]["low"], column["promised"]["high"]
    colour = "green" if low >= 0.9 else "red" if high < 0.9 else "yellow"
    title = Text(f"{_limits(low, high)} right")
    return Panel(Text(column["sentence"]), title=title, title_align="left", border_style=colour, width=_WIDTH)


def _judged_classes(classes: list[dict[str, Any]]) -> Grid:
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
    return "-" if score is None else f"{score['correct']} of {score['n']}: {_limits(score['low'], score['high'])}"


def _show_confusions(console: Console, confusions: list[dict[str, Any]]) -> None:
    for one in confusions[:_N_CONFUSIONS]:
        label = "had no label" if one["label"] is None else f"was labelled '{visible(one['label'], 40)}'"
        _say(console, f"{one['rows']:>4} x '{visible(one['truth'], 40)}' {label}")
    if len(confusions) > _N_CONFUSIONS:
        _say(console, f"and {len(confusions) - _N_CONFUSIONS} more pairs: see the report.")
    if confusions:
        console.print()


def _slices(slices: dict[str, Any]) -> Grid:
    grid = _grid(visible(slices["column"], 40), "Rows", "Audited", "Right", "All intervals hold together", "p")
    for part in slices["parts"][:_N_PARTS]:
        score = part["score"]
        found = (
            ("", "too few audited rows to say", "")
            if score is None
            else (
                f"{score['correct']} of {score['n']}",
                _limits(score["low"], score["high"]),
                p_value(part["p_value"]),
            )
        )
        grid.add_row(Text(visible(part["value"], 40)), f"{part['rows']:,}", f"{part['audited']:,}", *found)
    if len(slices["parts"]) > _N_PARTS:
        grid.add_row(Text(f"and {len(slices['parts']) - _N_PARTS} more"))
    return grid


def _show_acceptable(console: Console, summary: Summary, hints: JudgeHints) -> None:
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


# ------------------------------------------------------------ a few lines for a prompt or a notebook


def brief(summary: Summary, hints: Hints) -> dict[str, Any]:
    """Counts, verdict, what was left out, and the next step, of a labelled table."""
    sources, aim = summary["sources"], summary["aim"]
    aimed = [] if aim["name"] == ACCURACY else [aim["sentence"]]
    return {
        "title": f"Labels for {shown(summary['target'])} in {visible(summary['file'])}",
        "counts": [("rows", summary["rows"]), *sources.items()],
        "heads": ["Class", *(source.capitalize() for source in sources)],
        "rows": [
            [visible(of_class["name"], 40), *(f"{of_class[source]:,}" for source in sources)]
            for of_class in summary["classes"][:_N_BRIEF_CLASSES]
        ],
        "more": max(0, len(summary["classes"]) - _N_BRIEF_CLASSES),
        **_brief_verdict(summary["diagnosis"]),
        "notes": [*aimed, *_noticed(summary["columns"]), *_accuracy(summary)],
        "next": _next(summary, hints),
    }


def brief_diagnosis(summary: dict[str, Any], hints: Hints) -> dict[str, Any]:
    """Verdict, what differs most, what was left out, and the next step, of a diagnosis."""
    differing = [
        [visible(shift["name"], 40), f"{shift['difference']:+.2f}", p_value(shift["p_value"])]
        for shift in summary["shifts"][:5]
    ]
    return {
        "title": f"Rows of {visible(summary['file'])}",
        "counts": [("labelled", summary["labeled"]), ("others", summary["unlabeled"])],
        "heads": ["What differs most", "standard deviations", "p"] if differing else [],
        "rows": differing,
        "more": 0,
        **_brief_verdict(summary),
        "notes": _noticed(summary["columns"]),
        "next": f"{prior_advice(summary, hints)} {aim_question(hints)}".lstrip(),
    }


def brief_text(figures: dict[str, Any]) -> str:
    """For a prompt: plain text."""
    lines = [f"{figures['title']}: {', '.join(f'{count:,} {name}' for name, count in figures['counts'])}"]
    if figures["heads"]:
        lines += ["", *_aligned([figures["heads"], *figures["rows"]])]
        lines += [f"and {figures['more']} more"] * bool(figures["more"])
    lines += ["", fill(f"{figures['verdict'].capitalize()}. {figures['sentence']}", _WIDTH)]
    lines += [fill(note, _WIDTH) for note in figures["notes"]]
    lines += [fill(f"Next: {figures['next']}", _WIDTH)] * bool(figures["next"])
    return "\n".join(lines)


def _left_out_and_doubtful(columns: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The columns that were left out, and the used ones of which it is doubtful what they mean."""
    doubtful = [column for column in columns if column["used"] and column.get("doubtful")]
    return [column for column in columns if not column["used"]], doubtful


def _why(column: dict[str, Any]) -> str:
    """Why a column was left out, or what is doubtful about it."""
    doubt = column.get("doubtful")
    return doubt if isinstance(doubt, str) and doubt else column["note"]


def _named(columns: list[dict[str, Any]], most: int) -> str:
    """Columns by name, each with why it is named; no more than so many of them."""
    names = ", ".join(f"{visible(column['name'], 40)} ({visible(_why(column), 120)})" for column in columns[:most])
    return f"{names} and {len(columns) - most} more" if len(columns) > most else names


def _noticed(columns: list[dict[str, Any]]) -> list[str]:
    pairs = zip(("Left out", "Doubtful"), _left_out_and_doubtful(columns), strict=True)
    return [f"{what}: {_named(some, _N_BRIEF)}." for what, some in pairs if some]


def _brief_verdict(diagnosis: dict[str, Any]) -> dict[str, Any]:
    tone = "good" if diagnosis["representative"] else "bad" if diagnosis["strongly"] else "fair"
    return {"verdict": diagnosis["verdict"], "sentence": diagnosis["sentence"], "tone": tone}


def _accuracy(summary: Summary) -> list[str]:
    audit, accept = summary["audit"], summary["accept"]
    if audit is None:
        return []
    after = audit["after"]
    right = (
        f"Accuracy by the audit: {after['share']:.0%} ({after['low']:.0%} to {after['high']:.0%}, approximate)."
    )
    accepted = [] if accept is None else [accept["sentence"]]
    return [right, *(note["text"] for note in audit["notes"] if note["warning"]), *accepted]


def _next(summary: Summary, hints: Hints) -> str:
    """What would help most."""
    if summary["audit"] is None and summary["audit_size"]:
        number = "thirty" if summary["audit_size"] == 30 else summary["audit_size"]
        how = f": {hints.draw}" if hints.draw else ""
        return f"nobody knows how accurate this is until {number} rows drawn at random are labelled{how}."
    if summary["audit"] is None:
        return "look at the new labels one by one, they are few."
    if summary["accept"] is None:
        return f"have the rows marked that can be accepted: {hints.error}."
    return ""


def _aligned(rows: list[list[str]]) -> list[str]:
    """Names on the left, numbers on the right, under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]


def _grid(first: str, *numbers: str) -> Grid:
    """A name, and numbers that stand under each other."""
    grid = Grid(first, *numbers, box=box.SIMPLE, title_justify="left")
    for column in grid.columns[1:]:
        column.justify = "right"
    return grid


def _plain(text: object) -> Text:
    """Text from elsewhere: visible, short, and no markup."""
    return Text(visible(text, 60))


def _limits(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"
