"""Words typed after ``chary review`` in; pages in the browser out, until Ctrl-C."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chary.cli import options
from chary.cli.audit import say
from chary.cli.console import heed_interrupts, quietly, require_readable
from chary.cli.remedies import command, option

if TYPE_CHECKING:
    from chary.review import Settings, Typed, Workbench

review_app = typer.Typer(rich_markup_mode="rich")


@review_app.command("review", epilog="Example:  chary review customers.csv --target churn")
def review_command(
    file: options.TABLE,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The column that holds the labels.", show_default=False)
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option("--labels", "-l", metavar="COLUMN", help="Instead: labels that are there already, to judge."),
    ] = None,
    confidence: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --labels: numbers, the larger the surer the label.")
    ] = None,
    unlabeled: options.UNLABELED = None,
    exact_labels: options.EXACT_LABELS = False,
    drop: options.DROP = None,
    categorical: options.CATEGORICAL = None,
    numeric: options.NUMERIC = None,
    identifier: options.IDENTIFIER = None,
    missing: options.MISSING = None,
    text: options.TEXT = None,
    features: options.FEATURES = None,
    delimiter: options.DELIMITER = None,
    encoding: options.ENCODING = "utf-8",
    sheet: options.SHEET = None,
    seed: options.SEED = 0,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="To listen at, on this machine alone; 0: one that is free.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and leave opening it to you.")
    ] = False,
) -> None:
    """The whole job in the browser, on this machine: label random rows, see the truth, mend and accept labels.

    Everything is saved as it happens, in the files of [bold]chary audit[/bold], [bold]chary label[/bold] and
    [bold]chary judge[/bold], so that page, terminal and spreadsheet can be mixed. Ctrl-C ends it; the same command
    goes on where you stopped. FILE may be a FILE.labeled.csv, too.
    """
    require_readable(*file)
    _refuse_together(target, labels, confidence)
    heed_interrupts()
    from chary.review import Fixed, begin, serve

    named = {"leave out": drop, "category": categorical, "number": numeric, "identifier": identifier, "text": text}
    fixed = Fixed(
        None if unlabeled is None else tuple(unlabeled), exact_labels, tuple(missing or ()), features, seed
    )
    with quietly():
        bench = begin(
            file,
            target,
            labels=labels or (),
            confidence=confidence,
            kinds={column: kind for kind, columns in named.items() for column in columns or ()},
            fixed=fixed,
            reading={"delimiter": delimiter, "encoding": encoding, "sheet": sheet},
            typed=_typed,
        )
    serve(bench, port, browser=not no_browser, opened=_say_address)
    again = [word for name in labels or () for word in ("--labels", name)]
    again += [] if target is None else ["--target", target]
    again += ["--confidence", confidence] if confidence else []
    _say_end(bench, shlex.join(["chary", "review", *file, *again]))


def _refuse_together(target: str | None, labels: list[str] | None, confidence: str | None) -> None:
    if (target is None) == (not labels):
        raise ValueError("Give --target, the column to label, or --labels, the column to judge: one of the two.")
    if confidence is not None and not labels:
        raise ValueError("--confidence goes with --labels; leave it out, or judge labels that are there already.")


def _say_address(url: str) -> None:
    say(f"The page is at {url}  (Ctrl-C ends it)")


def _say_end(bench: Workbench, again: str) -> None:
    there = [path for path in (bench.paths.audit, bench.paths.check) if path.exists()]
    kept = f"Your answers are in {' and '.join(map(str, there))}." if there else "No answer was given."
    say(f"\nThe page has ended. {kept}\nGo on:  {again}")


def _typed(job: Any) -> Typed:
    """How what the page does would be typed."""
    from chary.cli.label import hints_for
    from chary.review import Typed

    if job.kind == "label":
        return Typed(lambda *made_of: _label_commands(job, *made_of), hints_for)
    return Typed(lambda settings, audit, checked: _judge_commands(job, settings, audit), None)


def _label_commands(job: Any, settings: Settings, audit: Path | None, checked: Path | None) -> list[str]:
    fixed, words = job.fixed, []
    for parameter, columns in settings.parameters().items():
        words += [word for name in columns for word in (option(parameter), name)]
    words += [word for code in fixed.missing for word in ("--missing", code)]
    words += ["--exact-labels"] * fixed.exact_labels
    words += ["--features", str(fixed.features)] if fixed.features else []
    words += ["--seed", str(fixed.seed)] if fixed.seed else []
    for name, share in (settings.class_prior or {}).items():
        words += ["--class-prior", f"{name}={share:.10g}"]
    words += ["--aim", settings.aim] if settings.aim != "accuracy" else []
    words += ["--audit", str(audit)] if audit else []
    words += ["--checked", str(checked)] if checked else []
    words += ["--error", f"{settings.error:.10g}"] if settings.error and audit else []
    return [command(job.table, "label", job.target, fixed.unlabeled, *words)]


def _judge_commands(job: Any, settings: Settings, audit: Path | None) -> list[str]:
    words: list[str] = [word for name in job.labels for word in ("--labels", name)]
    words += ["--confidence", job.confidence] if job.confidence else []
    words += [word for value in job.fixed.unlabeled or () for word in ("--unlabeled", value)]
    words += ["--exact-labels"] * job.fixed.exact_labels
    words += [word for name, value in job.table.read_with.items() for word in (option(name), value)]
    paths: Sequence[str] = [job.table.path or job.table.name, *job.table.more_paths]
    if audit is None:
        return [shlex.join(["chary", "judge", *paths, *words])]
    words += ["--audit", str(audit)]
    words += ["--error", f"{settings.error:.10g}"] if settings.error and job.confidence else []
    return [shlex.join(["chary", "judge", *paths, *words])]
