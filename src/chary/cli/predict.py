"""The command ``chary predict``: labels for new files, with progress and a summary."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from chary._words import counted, visible
from chary.cli import console
from chary.options import PredictOptions

if TYPE_CHECKING:
    from chary.labelling import FileTask, LabelledFile, NewRowsSummary, Predictor, Resources

TABLES = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help=f"{console.FORMATS_READ}; of a folder or a quoted pattern each file gets an output; "
        "- is standard input.",
    ),
]


class FailedFile(TypedDict):
    """A file that was not labelled, and why."""

    file: str
    reason: str


class PredictSummary(TypedDict):
    """What came of all files; rows and labels are those of the files that were written."""

    rows: int
    labels: dict[str, int]  # rows by label, the most frequent first
    notes: list[str]
    new_rows: dict[str, NewRowsSummary]  # by output: how its rows compare with those learned from
    files: dict[str, list[str]]  # predicted: the outputs
    failed: list[FailedFile]


@console.takes_options
def predict_command(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A FILE.model.chary.")],
    file: TABLES,
    options: PredictOptions,
    as_json: console.JSON = False,
) -> None:
    """Label the rows of new tables with a model.

    It writes the table with the columns chary_label and chary_confidence, to FILE.predicted.csv or
    with the extension of FILE. It also says whether many rows hold new values, numbers out of range
    or no value.

    Several files, a folder or a pattern give one output each. After an interruption run the same
    command again: files that have their output are not labelled twice.
    """
    console.import_libraries([os.fspath(model_file)])
    from chary.labelling import LabelledFile, Predictor, Resources, plan_files
    from chary.tables import free_memory

    predictor = Predictor.from_file(
        model_file, probabilities=options.probabilities, threshold=options.threshold
    )
    with _on_disk(file, options) as (paths, options, name_of_copy):
        plan = plan_files(paths, options)
        tasks = [replace(task, name=name_of_copy) for task in plan.tasks]
        if tasks:
            console.require_free([Path(tasks[0].output)], options.force)
        if options.scheduler:
            resources = Resources(memory=options.memory or Resources().memory)  # of each worker
        else:
            resources = Resources.of(len(tasks), options.memory or free_memory() // 2)
        outcomes = _label(predictor, tasks, resources, options.scheduler)

    written = []
    failed = list(plan.failed)
    for task, outcome in zip(tasks, outcomes, strict=True):
        if isinstance(outcome, LabelledFile):
            written.append(outcome)
        else:
            failed.append((task.source, outcome))
    summary = _summarize(plan.notes, written, failed)

    if as_json:
        console.print_json(summary)
    else:
        _show(summary)
    for failure in summary["failed"]:
        reason = failure["reason"]
        if Path(failure["file"]).name not in reason:
            reason = f"{failure['file']}: {reason}"
        console.complain(reason)
    if failed:
        raise typer.Exit(1)


@contextmanager
def _on_disk(
    files: list[str], options: PredictOptions
) -> Iterator[tuple[list[str], PredictOptions, str | None]]:
    """Copy standard input, which can be read only once, to a file.

    Yields the files, the options with the folder to write to, and a name for the copy.
    """
    if files != ["-"]:
        yield files, options, None
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield [str(path)], replace(options, out=options.out or Path()), "standard input"


def _label(
    predictor: Predictor, tasks: Sequence[FileTask], resources: Resources, scheduler: str | None
) -> list[LabelledFile | Exception]:
    """Label files, with a bar on a terminal."""
    from chary.labelling import label_files

    # For each file its size, and how many of its bytes and rows are labelled so far.
    n_bytes = {task.source: os.path.getsize(task.source) for task in tasks}
    bytes_done = dict.fromkeys(n_bytes, 0.0)
    rows_done = Counter[str]()

    # Polars prints messages about damaged files, which the summary reports anyway. They are hidden,
    # unless that would hide the bar on the same stream.
    has_bar = console.stderr().is_terminal
    with console.steps() as step, nullcontext() if has_bar else console.quietly():

        def show_progress(task: FileTask, n_rows: int, share: float) -> None:
            rows_done[task.source] = n_rows
            bytes_done[task.source] = share * n_bytes[task.source]
            files = counted(len(n_bytes), "file")
            n_done = sum(bytes_done.values())
            n_all = sum(n_bytes.values())
            step(f"{files}, {rows_done.total():,} rows: {n_done:,.0f} of {n_all:,} bytes")

        return label_files(predictor, tasks, resources, show_progress, scheduler=scheduler)


def _summarize(
    notes: Sequence[str],
    written: Sequence[LabelledFile],
    failed: Sequence[tuple[str, Exception]],
) -> PredictSummary:
    """Sum up all files: those that were labelled, and those that failed, each with its error."""
    labels = Counter[str]()
    all_notes = list(notes)
    new_rows = {}
    for file in written:
        labels.update(file.labels)
        all_notes += [f"{Path(file.output).name}: {note}" for note in file.notes]
        if file.new_rows is not None:
            new_rows[file.output] = file.new_rows
    return {
        "rows": sum(file.rows for file in written),
        "labels": dict(sorted(labels.items(), key=lambda item: (-item[1], item[0]))),
        "notes": all_notes,
        "new_rows": new_rows,
        "files": {"predicted": [file.output for file in written]},
        "failed": [{"file": name, "reason": console.sentence(error)} for name, error in failed],
    }


# ---------------------------------------------------------------- what is shown


def _show(summary: PredictSummary) -> None:
    """Show the labels, the notes and the first output."""
    from chary.report import number_grid

    labels = summary["labels"]
    if labels:
        rows = [[name, f"{n_rows:,}"] for name, n_rows in labels.items()]
        console.stdout().print(number_grid(["Label", "Rows"], rows, len(rows)))

    for note in [*summary["notes"], *_new_rows_notes(summary["new_rows"])]:
        console.say(visible(note, 500))

    outputs = summary["files"]["predicted"]
    if outputs:
        words = f"Wrote {visible(outputs[0], 500)}"
        if len(outputs) > 1:
            words += f" and {counted(len(outputs) - 1, 'more file')}"
        console.say(words)


def _new_rows_notes(new_rows: Mapping[str, NewRowsSummary]) -> list[str]:
    """Say whether the rows of the files look like those that the model learned from.

    There is a sentence on each file whose rows differ, and one on all other files together. A
    single file has its own sentence in any case.
    """
    from chary.labelling import LOOK_AS_KNOWN

    if len(new_rows) == 1:
        return [comparison["sentence"] for comparison in new_rows.values()]

    notes = []
    for output, comparison in new_rows.items():
        if comparison["verdict"] != "alike":
            notes.append(f"{Path(output).name}: {comparison['sentence']}")
    n_alike = len(new_rows) - len(notes)
    if n_alike:
        notes.append(f"The rows of {counted(n_alike, 'file')} {LOOK_AS_KNOWN}.")
    return notes
