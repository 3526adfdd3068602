"""Words typed after ``chary judge`` in; a sheet of random rows, or what a filled-in one says of labels, out."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chary.cli import options
from chary.cli.audit import DRAW_SEED, say, say_drawn
from chary.cli.console import plain, print_json, quietly, require_free, require_readable, stdout, steps, writing
from chary.cli.prior import parse_error

if TYPE_CHECKING:
    from chary.jobs import JudgedTable
    from chary.report import JudgeHints
    from chary.tables import Scan

judge_app = typer.Typer(rich_markup_mode="rich")

LABELS = Annotated[
    list[str],
    typer.Option("--labels", "-l", metavar="COLUMN", help="The labels to judge; twice: which are better."),
]


@judge_app.command("judge", epilog="Example:  chary judge tickets.csv --labels llm_label")
def judge_command(
    file: options.TABLE,
    labels: LABELS,
    audit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The sheet of this command, filled in: say how good they are."),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=2, help="How many rows to draw; decide before you look.")] = 30,
    confidence: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Numbers, the larger the surer the label.")
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Accuracy for each value of a column. Repeatable.")
    ] = None,
    hide: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Leave out of the sheet what betrays a label. Repeatable."),
    ] = None,
    error: options.ERROR = None,
    unlabeled: options.UNLABELED = None,
    exact_labels: options.EXACT_LABELS = False,
    delimiter: options.DELIMITER = None,
    encoding: options.ENCODING = "utf-8",
    sheet: options.SHEET = None,
    seed: DRAW_SEED = None,
    out: options.OUT = None,
    format: options.FORMAT = None,
    force: options.FORCE = False,
    as_json: options.JSON = False,
) -> None:
    """Say how good labels are that anybody made: a language model, rules, a colleague.

    First it draws rows at random into FILE.judge.csv, without the labels, for a person to label with
    [bold]chary audit fill[/bold] or in a spreadsheet. Then, with [bold]--audit[/bold] FILE.judge.csv, it says how
    many labels are right, writes FILE.judged.html and, with --error, FILE.judged.csv (or as FILE): the table, plus
    chary_accept.
    """
    require_readable(*file, *([] if audit is None else [audit]))
    read_with = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet}
    with steps() as step:
        step("Reading")
        scan = _scan(file, read_with)
        told: dict[str, Any] = {"confidence": confidence, "unlabeled": unlabeled, "exact_labels": exact_labels}
        if audit is not None:
            step("Judging")
            done = _judge(scan, labels, audit, out, force, format, by=by or (), error=parse_error(error), **told)
    if audit is None:
        _refuse_early(by, error)
        _draw(scan, labels, k, seed, out, force, as_json, hide=hide or (), **told)
        return
    _show(*done, as_json=as_json, scan=scan)


def _scan(file: list[str], read_with: dict[str, Any]) -> Scan:
    from chary.tables import scan_table

    with quietly():
        return scan_table(file, **read_with)


def _refuse_early(by: list[str] | None, error: str | None) -> None:
    for given, name in ((by, "--by"), (error, "--error")):
        if given:
            raise ValueError(
                f"{name} has a meaning once rows are labelled; leave it out to draw them, or pass --audit."
            )


def _draw(
    scan: Scan,
    labels: list[str],
    k: int,
    seed: int | None,
    out: Path | None,
    force: bool,
    as_json: bool,
    **told: Any,
) -> None:
    from chary._files import folders_for
    from chary.jobs import draw_to_judge

    path = (out or scan.table.folder) / f"{scan.table.stem}.judge.csv"
    require_free([path], force=True)
    with folders_for([path]):
        drawn, classes = draw_to_judge(scan, labels, path, k, seed=seed, overwrite=force, **told)
    if as_json:
        print_json({**drawn._asdict(), "rows": scan.n_rows, "classes": classes, "files": {"sheet": str(path)}})
        return
    say_drawn(drawn, scan.n_rows, "rows", classes, path)
    say(f"Next:  chary audit fill {shlex.quote(str(path))}", "bold")


def _judge(
    scan: Scan,
    labels: list[str],
    audit: Path,
    out: Path | None,
    force: bool,
    format: str | None,
    *,
    error: float | None,
    **told: Any,
) -> tuple[JudgedTable, JudgeHints, dict[str, Path]]:
    """Judge, then write the report and, with an error, the table."""
    from chary.jobs import judge_table, refuse_taken
    from chary.report import render_judged, summarize_judged
    from chary.tables import require_writable, write_table

    table = scan.table.written_as(format)
    folder = out or table.folder
    paths = {"report": folder / f"{table.stem}.judged.html"}
    if error is not None:
        paths["judged"] = folder / f"{table.stem}.judged{table.suffix}"
        refuse_taken(table, ["chary_accept"])
        require_writable(table)
    require_free(paths.values(), force)
    result = judge_table(scan, labels, audit, error=error, **told)
    hints = _hints(scan, labels, audit, result, told)
    with writing(paths.values(), force) as (report, *judged):
        for stream in judged:
            write_table(scan.whole().written_as(format), {"chary_accept": result.accepted()}, stream)
        report.write(render_judged(summarize_judged(result), hints).encode("utf-8", "backslashreplace"))
    return result, hints, paths


def _show(result: JudgedTable, hints: JudgeHints, paths: dict[str, Path], *, as_json: bool, scan: Scan) -> None:
    from chary.report import show_judged, summarize_judged

    summary = summarize_judged(result)
    if as_json:
        print_json({**summary, "files": {kind: str(path) for kind, path in paths.items()}})
        return
    console = stdout()
    show_judged(console, summary, hints)
    console.print()
    for kind, path in paths.items():
        console.print(f"{kind:>8}  {plain(path, 500)}", soft_wrap=True, highlight=False)


def _hints(scan: Scan, labels: list[str], audit: Path, result: JudgedTable, told: dict[str, Any]) -> JudgeHints:
    """The commands that do what a report suggests; a draw twice as large."""
    from chary.report import JudgeHints

    k = min(2 * result.answers.n_drawn, scan.n_rows)
    words = [word for name in labels for word in ("--labels", name)]
    words += ["--confidence", told["confidence"]] if told["confidence"] else []
    words += [word for value in told["unlabeled"] or () for word in ("--unlabeled", value)]
    words += ["--exact-labels"] * bool(told["exact_labels"])
    words += [word for name, value in scan.table.read_with.items() for word in (f"--{name}", value)]
    paths = [scan.table.path or scan.table.name, *scan.table.more_paths]
    enlarge = shlex.join(["chary", "judge", *paths, *words, "-k", str(k)]) if k > result.answers.n_drawn else ""
    return JudgeHints(enlarge, shlex.join(["chary", "audit", "fill", str(audit)]), "--error {percent:g}%")
