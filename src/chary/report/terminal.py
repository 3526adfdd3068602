"""What a person sees of a summary in a terminal, at a Python prompt and in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text

from chary._words import counted, number, percent, shown, visible
from chary.method.priors import ACCURACY
from chary.report.judged_summary import (
    ConfusionSummary,
    JudgedClassSummary,
    JudgedColumnSummary,
    JudgedSummary,
    PairedClassSummary,
    SlicesSummary,
    in_first_column,
)
from chary.report.labels_summary import (
    AuditSummary,
    ColumnSummary,
    DiagnosedSummary,
    DiagnosisSummary,
    HeldOutSummary,
    LabelsSummary,
    SettingsSummary,
)
from chary.report.next_steps import (
    NARROWER,
    Hints,
    NextStep,
    aim_question,
    judged_steps,
    missing_hint,
    next_steps,
    prior_advice,
    slip_hint,
    suspect_sentence,
)
from chary.report.plain_data import ClassShareSummary, Note, ScoreSummary, Tone

# A panel is this many characters wide.
_WIDTH = 100
# At most this many features that differ are shown.
_N_SHIFTS = 10
# A sentence lists at most this many names.
_N_NAMES = 20
# At most this many notes are shown.
_N_NOTES = 12
# At most this many classes are shown.
_N_CLASSES = 30
# At most this many pairs of confused classes are shown.
_N_CONFUSIONS = 8
# At most this many values of a column are shown.
_N_SLICES = 40
# The line on which an interval is drawn has this many characters.
_INTERVAL_CELLS = 16


# ---------------------------------------------------------------- labels that chary made


def show_labels(console: Console, summary: LabelsSummary, hints: Hints) -> None:
    """Show the labels of a table: how many of each class, how they were made, how good they are."""
    console.print(_class_counts(summary))
    _show_paragraph(console, slip_hint(summary["diagnosis"]["slips"], hints))
    _show_remarks(console, summary["notes"])
    left_out = [column for column in summary["columns"] if not column["used"]]
    doubtful = [column for column in summary["columns"] if column["used"] and column["doubtful"]]
    _show_columns(console, "Left out", left_out)
    _show_columns(console, "Please check", doubtful)
    _show_paragraph(console, missing_hint(summary["columns"], hints))
    _show_paragraph(console, _learner_sentence(summary["settings"]))

    prior = summary["class_prior"]
    # If the user gave class shares, the sentence opens with "you", which gets a capital here.
    assumption = f"Y{prior['sentence'][1:]}." if prior["told"] else ""
    _show_verdict(console, summary["diagnosis"], assumption)

    audit = summary["audit"]
    aim = summary["aim"]
    question = "" if audit else aim_question(hints, aim["name"])
    _show_paragraph(console, f"{aim['sentence']} {question}".rstrip())
    n_suspect = len(summary["second_look"])
    if n_suspect:
        console.print(f"{suspect_sentence(n_suspect)}\n")

    if audit is not None:
        _show_audit(console, audit, summary["held_out"], aim["name"])
        _show_steps(console, next_steps(summary, hints)[:1])
        console.print()
        return
    invitation = hints.unused or _invitation(summary["audit_size"])
    _show_paragraph(console, f"How accurate are they? {invitation}")
    next_command = hints.use or hints.draw
    if next_command:
        command = visible(next_command, len(next_command))  # never cut
        console.print(Text(f"Next:  {command}\n", "bold"), soft_wrap=True)


def show_diagnosis(console: Console, diagnosis: DiagnosedSummary, hints: Hints) -> None:
    """Show how the labelled rows differ from the rest."""
    columns = Grid("Column", "Kind", "Note", box=box.SIMPLE)
    for column in diagnosis["columns"]:
        name = Text(visible(column["name"], 60))
        columns.add_row(name, column["kind"], Text(visible(column["note"], 300)))
    console.print(columns)
    classes = sorted(diagnosis["classes"].items(), key=lambda item: -item[1])
    counts = [(name, f"{n_labels:,}") for name, n_labels in classes]
    _show_names(console, "Classes, and how many labels of each", counts)
    _show_paragraph(console, slip_hint(diagnosis["slips"], hints))
    _show_paragraph(console, missing_hint(diagnosis["columns"], hints))
    _show_remarks(console, diagnosis["notes"])

    if diagnosis["shifts"]:
        console.print("What differs most between labelled and other rows, in standard deviations:")
        shifts = diagnosis["shifts"][:_N_SHIFTS]
        rows = [[shift["name"], f"{shift['difference']:+.2f}"] for shift in shifts]
        console.print(number_grid(["Feature", "Difference"], rows, n_shown=_N_SHIFTS))
    separation = diagnosis["separation"]
    if separation:
        console.print(
            f"A model tells labelled from other rows: AUC {separation['auc']:.2f} "
            "(0.5 is chance).\n"
            f"{diagnosis['coverage']:.0%} of the other rows are close to a labelled one "
            "(95% if labels were random).\n",
            highlight=False,
        )
    _show_verdict(console, diagnosis, prior_advice(diagnosis, hints))
    _show_paragraph(console, aim_question(hints))


def _class_counts(summary: LabelsSummary) -> Grid:
    """Lay out rows by class and by the origin of their label."""
    rows = [
        [row["name"], f"{row['given']:,}", f"{row['learned']:,}", f"{row['predicted']:,}"]
        for row in summary["classes"]
    ]
    grid = number_grid(["Class", "Given", "Learned", "Predicted"], rows, n_shown=len(rows))
    grid.add_section()
    grid.add_row("all", *[f"{count:,}" for count in summary["sources"].values()])
    return grid


def _learner_sentence(settings: SettingsSummary) -> str:
    """Name the learner and say why it was chosen."""
    return f"Learner: {visible(settings['learner_words'], 200)}, because {settings['why_learner']}."


def _show_columns(console: Console, title: str, columns: list[ColumnSummary]) -> None:
    """Name columns, each with the note on it."""
    names_and_notes = [(column["name"], visible(column["note"], 300)) for column in columns]
    _show_names(console, title, names_and_notes)


def _show_names(console: Console, title: str, names_and_remarks: list[tuple[str, str]]) -> None:
    """List names in a sentence, each with a remark in brackets."""
    if not names_and_remarks:
        return
    listing = []
    for name, remark in names_and_remarks[:_N_NAMES]:
        listing.append(f"{visible(name, 40)} ({remark})")
    n_more = len(names_and_remarks) - _N_NAMES
    more = f" and {n_more} more" if n_more > 0 else ""
    _show_paragraph(console, f"{title}: {', '.join(listing)}{more}.")


def _show_remarks(console: Console, remarks: list[str]) -> None:
    """Show how the table was read, a line each."""
    if not remarks:
        return
    for remark in remarks[:_N_NOTES]:
        console.print(Text(visible(remark, 500)))
    if len(remarks) > _N_NOTES:
        console.print(Text(f"And {len(remarks) - _N_NOTES} more such notes: see the report."))
    console.print()


def _show_verdict(console: Console, diagnosis: DiagnosisSummary, remark: str) -> None:
    """Show the verdict on the labelled rows, and a remark on it."""
    console.print(_panel(diagnosis["sentence"], diagnosis["verdict"], diagnosis["tone"]))
    _show_paragraph(console, visible(remark, 500))


def _invitation(audit_size: int) -> str:
    """Say how to learn how accurate the labels are."""
    if not audit_size:
        return "There are so few rows without a label that you can look at each."
    return (
        f"{number(audit_size)} random rows that you label will tell, and the model learns from"
        " them."
    )


def _show_audit(
    console: Console, audit: AuditSummary, held_out: HeldOutSummary | None, aim: str
) -> None:
    """Show what cross-validation promised and what the audit says, as rows of a table.

    Cross-validation scores the given labels, which are no random sample, so its row has no
    interval. The audit has a row for the model that did not learn from its answers, and one for the
    model that did, if there is one.
    """
    grid = Grid("Accuracy, other rows", "", "95% interval", "", box=box.SIMPLE)
    grid.columns[1].justify = "right"
    promised = f"{held_out['accuracy']:.1%}" if held_out else "-"
    grid.add_row("cross-validation", promised, "", "no estimate: not random", style="dim")

    before = audit["before"]
    after = audit["after"]
    validity = "valid whenever you stop" if audit["stopped"] else "exact"
    kind = f"{validity}, {before['n']} random rows"
    grid.add_row("model without the audit", *_share_and_interval(before), kind)
    kind = "approximate, cross-fitted"
    if after is not None:
        grid.add_row("model that learned from it", *_share_and_interval(after), kind)
    if aim != ACCURACY and audit["balanced"]:
        share, low, high = audit["balanced"]
        grid.add_row("  the mean over classes", f"{share:.1%}", f"{low:.1%} to {high:.1%}", kind)
    baseline = audit["baseline"]
    if baseline is not None:
        one_label = f"{shown(baseline['label'], 20)} for every row"
        grid.add_row(Text(one_label), *_share_and_interval(baseline["accuracy"]), "for comparison")
    console.print(grid)
    if baseline is not None:
        _show_paragraph(console, baseline["sentence"])
    if audit["shares"]:
        console.print(class_share_grid(audit["shares"]))
        _show_line(console, NARROWER)
    _show_audit_notes(console, audit["notes"])


def _share_and_interval(score: ScoreSummary) -> tuple[str, str]:
    """Write a share and its interval, such as "91.2%" and "80.1% to 97.0%"."""
    return f"{score['share']:.1%}", f"{score['low']:.1%} to {score['high']:.1%}"


# ---------------------------------------------------------------- judged labels


def show_judged(console: Console, summary: JudgedSummary, hints: Hints) -> None:
    """Show how good labels are, and what to do next."""
    for changed in summary["changed_labels"]:
        console.print(_panel(changed["sentence"], "These figures may not hold", "bad"))
    columns = summary["columns"]
    for column in columns:
        console.print(_panel(column["sentence"], column["headline"], column["tone"]))
        if column["coverage_sentence"]:
            _show_line(console, column["coverage_sentence"])
    # If there are several columns, only the report shows all of their figures.
    if len(columns) == 1:
        _show_column_details(console, columns[0])

    for pair in summary["pairs"]:
        if pair["classes"]:
            console.print(_paired_classes(pair["classes"]))
        _show_line(console, pair["sentence"], "bold")
    which_column = in_first_column(columns)
    for slices in summary["slices"]:
        if which_column:
            _show_line(console, f"Labels{which_column}, by {visible(slices['column'], 40)}:")
        console.print(_slices(slices))
    _show_line(console, summary["blind"])
    _show_audit_notes(console, summary["notes"])
    _show_steps(console, judged_steps(summary, hints))
    console.print()


def _show_column_details(console: Console, column: JudgedColumnSummary) -> None:
    """Show classes, rates, confusions, agreement and further limits of one column of labels."""
    if column["classes"]:
        console.print(class_share_grid(column["classes"]))
        console.print(_judged_classes(column["classes"]))
    if column["baseline"] is not None:
        _show_line(console, column["baseline"]["sentence"])
    if column["rates"] is not None:
        _show_line(console, column["rates"]["sentence"])
    _show_confusions(console, column["confusions"])
    if column["kappa"] is not None:
        agreement = f"Agreement with the answers beyond chance (kappa): {column['kappa']:.2f}."
        _show_line(console, agreement)
    for remark in column["remarks"]:
        _show_line(console, remark)


def class_share_grid(shares: Sequence[ClassShareSummary]) -> Grid:
    """Lay out how many rows are of each class, and draw the interval beside the labels."""
    rows: list[list[str | Text]] = []
    for share in shares:
        style = "bold red" if share["off"] else ""
        low = share["low"] / share["population"]
        high = share["high"] / share["population"]
        labelled = share["labelled"] / share["population"]
        rows.append(
            [
                share["name"],
                f"{share['labelled']:,}",
                Text(f"{share['low']:,} to {share['high']:,}", style),
                f"{percent(low)} to {percent(high)}",
                _drawn_interval(low, high, labelled),
            ]
        )
    headings = ["Class", "Labelled", "Estimated by the audit", "Of all rows", "0%         100%"]
    return number_grid(headings, rows, n_shown=_N_CLASSES)


def _drawn_interval(low: float, high: float, mark: float) -> str:
    """Draw an interval of shares, with a mark for the labels.

    >>> _drawn_interval(0.2, 0.5, mark=0.4)
    '···■■■|■■·······'
    """
    cells = ["·"] * _INTERVAL_CELLS
    first = _drawn_place(low)
    last = _drawn_place(high)
    for place in range(first, last + 1):
        cells[place] = "■"
    cells[_drawn_place(mark)] = "|"
    return "".join(cells)


def _drawn_place(share: float) -> int:
    """Return the place of a share on the line of a drawn interval; 1 is at its end."""
    return min(int(share * _INTERVAL_CELLS), _INTERVAL_CELLS - 1)


def _judged_classes(classes: Sequence[JudgedClassSummary]) -> Grid:
    """Lay out precision and recall of judged labels, class by class."""
    rows = [
        [figures["name"], _score_words(figures["precision"]), _score_words(figures["recall"])]
        for figures in classes
    ]
    return number_grid(["Class", "Precision", "Recall"], rows, n_shown=_N_CLASSES)


def _paired_classes(classes: Sequence[PairedClassSummary]) -> Grid:
    """Lay out precision and recall of two labellers, class by labeller."""
    rows = []
    for figures in classes:
        precision = _score_words(figures["precision"])
        recall = _score_words(figures["recall"])
        rows.append([figures["name"], visible(figures["labeller"], 40), precision, recall])
    headings = ["Class", "Labels", "Precision", "Recall"]
    return number_grid(headings, rows, n_shown=2 * _N_CLASSES)


def _score_words(score: ScoreSummary | None) -> str:
    """Write how many rows are right, and the interval, such as "6 of 8: 37% to 95%"."""
    if score is None:
        return "-"
    return f"{score['correct']} of {score['n']}: {_interval_words(score)}"


def _interval_words(score: ScoreSummary) -> str:
    """Write an interval in percent."""
    return f"{percent(score['low'])} to {percent(score['high'])}"


def _show_confusions(console: Console, confusions: list[ConfusionSummary]) -> None:
    """List how many rows of a class carry another label, the most frequent pairs first."""
    if not confusions:
        return
    for confusion in confusions[:_N_CONFUSIONS]:
        label = "without a label"
        if confusion["label"] is not None:
            label = f"labelled as {shown(confusion['label'], 40)}"
        n_rows = counted(confusion["rows"], "row")
        _show_line(console, f"{n_rows:>8}: {shown(confusion['truth'], 40)} {label}")
    console.print()


def _slices(slices: SlicesSummary) -> Grid:
    """Lay out the accuracy by the values of a column."""
    rows = []
    for value, figures in slices["parts"].items():
        score = figures["score"]
        right = ""
        interval = "too few audited rows to say"
        if score is not None:
            right = f"{score['correct']} of {score['n']}"
            interval = _interval_words(score)
        rows.append([value, f"{figures['population']:,}", f"{figures['n']:,}", right, interval])
    column = visible(slices["column"], 40)
    headings = [column, "Rows", "Audited", "Right", "95% intervals, together"]
    return number_grid(headings, rows, n_shown=_N_SLICES)


# ---------------------------------------------------------------- parts of all that is shown


def _show_audit_notes(console: Console, notes: list[Note]) -> None:
    """Show the remarks on an audit, with warnings in red."""
    for note in notes:
        _show_line(console, note["text"], "bold red" if note["warning"] else "")


def _show_steps(console: Console, steps: list[NextStep]) -> None:
    """Show what to do next; steps without a command are bold."""
    for step in steps:
        line = f"{step['words']}  {step['command']}".rstrip()
        _show_line(console, line, "" if step["command"] else "bold")


def _show_paragraph(console: Console, text: str) -> None:
    """Show a text and a blank line below it, if there is a text."""
    if text:
        console.print(Text(f"{text}\n"))


def _show_line(console: Console, text: str, style: str = "") -> None:
    """Show one line, which the terminal may wrap."""
    console.print(Text(visible(text, 800), style), soft_wrap=True)


def _panel(text: str, title: str, tone: Tone) -> Panel:
    """Frame a text in the colour of its tone."""
    colour_of = {"good": "green", "fair": "yellow", "bad": "red"}
    return Panel(
        Text(text),
        title=Text(title),
        title_align="left",
        border_style=colour_of[tone],
        width=_WIDTH,
    )


def number_grid(
    headings: Sequence[str], rows: Sequence[Iterable[str | Text]], n_shown: int
) -> Grid:
    """Lay out the first ``n_shown`` rows, each a name and numbers, and count the other rows."""
    grid = Grid(box=box.SIMPLE)
    first_heading, *other_headings = headings
    grid.add_column(Text(first_heading))
    for heading in other_headings:
        grid.add_column(Text(heading), justify="right")

    for name, *cells in rows[:n_shown]:
        # A name may be from the user's table, so nothing in it is markup.
        name_text = Text(visible(name, 60))
        cell_texts = [cell if isinstance(cell, Text) else Text(cell) for cell in cells]
        grid.add_row(name_text, *cell_texts)
    n_more = len(rows) - n_shown
    if n_more > 0:
        grid.add_row(Text(f"and {n_more} more"))
    return grid
