"""Words typed after ``chary label`` or ``diagnose`` in; files and a summary out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from chary.cli import options
from chary.cli.console import (
    plain,
    print_json,
    read_quietly,
    require_free,
    require_readable,
    stdout,
    steps,
    writing,
)
from chary.cli.large import if_large
from chary.cli.prior import parse_error, parse_prior
from chary.cli.remedies import command
from chary.cli.sizes import parse_size

if TYPE_CHECKING:
    from chary.jobs import LabeledTable
    from chary.report import Hints, Summary
    from chary.tables import Large, Table

label_app = typer.Typer(rich_markup_mode="rich")


@label_app.command("label", epilog="Example:  chary label customers.csv --target churn")
def label_command(
    file: options.TABLE,
    target: options.TARGET,
    unlabeled: options.UNLABELED = None,
    exact_labels: options.EXACT_LABELS = False,
    drop: options.DROP = None,
    categorical: options.CATEGORICAL = None,
    numeric: options.NUMERIC = None,
    identifier: options.IDENTIFIER = None,
    missing: options.MISSING = None,
    text: options.TEXT = None,
    features: options.FEATURES = None,
    audit: options.AUDIT = None,
    checked: options.CHECKED = None,
    check_sheet: options.CHECK_SHEET = False,
    class_prior: options.CLASS_PRIOR = None,
    aim: options.AIM = "accuracy",
    error: options.ERROR = None,
    learner: options.LEARNER = "auto",
    rounds: options.ROUNDS = None,
    probabilities: options.PROBABILITIES = False,
    explain: options.EXPLAIN = False,
    delimiter: options.DELIMITER = None,
    encoding: options.ENCODING = "utf-8",
    sheet: options.SHEET = None,
    memory: options.MEMORY = None,
    sample: options.SAMPLE = None,
    seed: options.SEED = 0,
    out: options.OUT = None,
    format: options.FORMAT = None,
    force: options.FORCE = False,
    as_json: options.JSON = False,
) -> None:
    """Fill the empty cells of one column, and say how far each label can be trusted.

    Rows of FILE whose target cell is empty get a label. Three files appear next to it:

    FILE.labeled.csv (or as FILE): your table, with the columns chary_label, chary_confidence, chary_source.

    FILE.model.chary: the model, for [bold]chary predict[/bold].

    FILE.report.html: are your labels biased, what can be trusted, which rows to check.

    A table that would take more than --memory is read in parts: the model learns from its labelled rows and a
    random sample of the others, and then labels every row.
    """
    done = run_label(
        file,
        target,
        out,
        force,
        format,
        {"delimiter": delimiter, "encoding": encoding, "sheet": sheet},
        probabilities,
        check_sheet,
        memory=None if memory is None else parse_size(memory),
        sample=sample,
        unlabeled=unlabeled,
        exact_labels=exact_labels,
        learner=learner,
        rounds=rounds,
        audit=audit,
        checked=checked,
        class_prior=parse_prior(class_prior or []),
        aim=aim,
        error=parse_error(error),
        explain=explain,
        seed=seed,
        features=features,
        **_kinds(drop, categorical, numeric, identifier, text, missing),
    )
    if as_json:
        print_json({**done.summary, "files": {kind: str(path) for kind, path in done.paths.items()}})
    else:
        done.show()


@label_app.command("diagnose", epilog="Example:  chary diagnose customers.csv --target churn")
def diagnose_command(
    file: options.TABLE,
    target: options.TARGET,
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
    as_json: options.JSON = False,
) -> None:
    """Tell whether the labelled rows are like the rest, and where not. Writes nothing."""
    require_readable(*file)
    from chary.jobs import diagnose_table
    from chary.report import Hints, show_diagnosis, summarize_diagnosis

    with steps() as step:
        step("Reading")
        table = read_quietly(file, delimiter=delimiter, encoding=encoding, sheet=sheet)
        kinds = _kinds(drop, categorical, numeric, identifier, text, missing)
        diagnosed = diagnose_table(
            table,
            target,
            unlabeled=unlabeled,
            exact_labels=exact_labels,
            features=features,
            seed=seed,
            progress=step,
            **kinds,
        )
    summary = summarize_diagnosis(diagnosed)
    if as_json:
        print_json(summary)
    else:
        show_diagnosis(stdout(), summary, Hints(*_HINTS, aim=_AIM))


class Done:
    """A table that was labelled: what came of it, and where it is."""

    def __init__(self, result: LabeledTable, summary: Summary, hints: Hints, paths: dict[str, Path]) -> None:
        self.result, self.summary, self.hints, self.paths = result, summary, hints, paths

    def show(self) -> None:
        """For a person: the summary and the files."""
        from chary.report import show_labels

        console = stdout()
        show_labels(console, self.summary, self.hints)
        for kind, path in self.paths.items():
            console.print(f"{kind:>8}  {plain(path, 500)}", soft_wrap=True, highlight=False)


def run_label(
    files: Sequence[str | os.PathLike[str]],
    target: str,
    out: Path | None,
    force: bool,
    format: str | None = None,
    read_with: Mapping[str, Any] | None = None,
    probabilities: bool = False,
    check_sheet: bool = False,
    memory: int | None = None,
    sample: int | None = None,
    **settings: Any,
) -> Done:
    """Read, label, write: in parts what does not fit in memory, or if that is asked for by a ``sample``."""
    require_readable(*files)
    from chary.jobs import free_memory, label_table, probability_columns, probability_names, refuse_taken
    from chary.tables import least_bytes, require_writable, target_labels, write_table

    how = read_with or {}
    with steps() as step:
        step("Reading")
        allowed = memory or free_memory() // 2
        large = if_large(files, how, allowed, sample)
        if large is not None:
            large = replace(large, table=large.table.written_as(format))
            means = {"memory": allowed, "sample": sample}
            return _in_parts(large, target, out, force, probabilities, check_sheet, means, settings, step)
        table = read_quietly(files, **how).written_as(format)
        # A wrong target is said first.
        exact = settings.get("exact_labels", False)
        labels = target_labels(table, target, settings.get("unlabeled"), exact_labels=exact)
        refuse_taken(table, probability_names(labels.classes) if probabilities else ())
        paths = _paths(table, out, check_sheet)
        require_free(paths.values(), force, least_bytes(table))
        require_writable(table)
        result = label_table(table, target, progress=step, **settings)
        step("Writing")
        added = result.added_columns
        if probabilities:
            added |= probability_columns(table, result.labels.classes, result.probabilities())
        with writing(paths.values(), force) as (labeled, *others):
            write_table(table, added, labeled)
            return _finished(result, paths, others)


def _in_parts(
    large: Large,
    target: str,
    out: Path | None,
    force: bool,
    probabilities: bool,
    check_sheet: bool,
    means: Mapping[str, Any],
    settings: Mapping[str, Any],
    step: Callable[[str], None],
) -> Done:
    from chary.jobs import SAMPLE, Allowance, Asked, label_in_parts, n_cores
    from chary.tables import require_writable

    paths = _paths(large.table, out, check_sheet)
    require_free(paths.values(), force)
    require_writable(large.table)
    allowance = Allowance(means["memory"], n_cores(), means["sample"] or SAMPLE)
    with writing(paths.values(), force) as (labeled, *others):
        result = label_in_parts(
            large,
            Asked.of(target, **settings),
            labeled,
            paths["labeled"].parent,
            allowance,
            probabilities=probabilities,
            checksum=check_sheet,
            progress=step,
        )
        return _finished(result, paths, others)


def _paths(table: Table, out: Path | None, check_sheet: bool) -> dict[str, Path]:
    """Where each file goes, by what it is."""
    folder = out or table.folder
    return {
        "labeled": folder / f"{table.stem}.labeled{table.suffix}",
        "model": folder / f"{table.stem}.model.chary",
        "report": folder / f"{table.stem}.report.html",
        **({"to check": folder / f"{table.stem}.check.csv"} if check_sheet else {}),
    }


def _finished(result: LabeledTable, paths: dict[str, Path], files: Sequence[BinaryIO]) -> Done:
    """Write the files beside the table."""
    from chary.jobs import model_bytes, write_rows_to_check
    from chary.report import render_page, summarize

    summary, hints = summarize(result), hints_for(result)
    model, report, *to_check = files
    model.write(model_bytes(result.model))
    report.write(render_page(summary, hints).encode("utf-8", "backslashreplace"))
    for stream in to_check:
        write_rows_to_check(result, stream)
    return Done(result, summary, hints, paths)


# How the command line says what a report suggests.
_HINTS = "pass it with --class-prior NAME=SHARE", "--rounds 5"
_AIM = "label with --aim balanced"


def hints_for(result: LabeledTable) -> Hints:
    """The commands and options that do what a report suggests."""
    from chary.jobs import AUDIT_SIZE
    from chary.report import Hints

    k = result.audit_size
    more = [
        *(["--exact-labels"] if result.settings.get("exact_labels") else []),
        *([] if k == AUDIT_SIZE else ["-k", str(k)]),
    ]
    draw = command(result.table, "audit draw", result.target, result.settings["unlabeled"], *more) if k else ""
    return Hints(*_HINTS, draw, "--error 10%", _AIM)


def _kinds(
    drop: list[str] | None,
    categorical: list[str] | None,
    numeric: list[str] | None,
    identifier: list[str] | None,
    text: list[str] | None,
    missing: list[str] | None,
) -> dict[str, Sequence[str]]:
    given = {"drop": drop, "categorical": categorical, "numeric": numeric, "identifier": identifier, "text": text}
    given["missing"] = missing
    return {kind: names or () for kind, names in given.items()}
