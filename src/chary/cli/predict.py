"""The command ``chary predict``: labels for new files, with progress and a summary."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chary._words import counted, visible
from chary.cli import console
from chary.options import PredictOptions

if TYPE_CHECKING:
    from chary.labelling.predict_files import FileTask, LabelledFile, Plan, Resources
    from chary.labelling.score import Predictor

_MANY = f"{console.FORMATS_READ}; of a folder or a quoted pattern each file gets an output; - is standard input."
TABLES = Annotated[list[str], typer.Argument(metavar="FILE...", help=_MANY)]


@console.takes_options
def predict_command(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A FILE.model.chary.")],
    file: TABLES,
    options: PredictOptions,
    as_json: console.JSON = False,
) -> None:
    """Label the rows of new tables with a model.

    It writes FILE.predicted.csv (or as FILE): the table with the columns chary_label and
    chary_confidence. It also says whether many rows hold new values, numbers out of range or no
    value.

    Several files, a folder or a pattern give one output each. After an interruption run the same
    command again: files that have their output are not labelled twice.
    """
    from chary.labelling.predict_files import Resources, plan_files
    from chary.labelling.score import Predictor
    from chary.tables.table import free_memory

    predictor = Predictor.from_file(
        model_file, probabilities=options.probabilities, threshold=options.threshold
    )
    with _on_disk(file, options) as (given, options, name):
        plan = plan_files(given, options)
        tasks = [replace(task, name=name) for task in plan.tasks]
        for task in tasks[:1]:
            console.require_free([Path(task.output)], options.force)
        if options.scheduler:
            resources = Resources(1, 1, options.memory or 2 << 30)  # of each worker
        else:
            resources = Resources.of(len(tasks), options.memory or free_memory() // 2)
        outcomes = _label(predictor, tasks, resources, options.scheduler)
    written = [one for one in outcomes if not isinstance(one, Exception)]
    pairs = zip(tasks, outcomes, strict=True)
    failed = plan.failed + [(task.source, one) for task, one in pairs if isinstance(one, Exception)]
    figures = _figures(plan, written, failed)
    if as_json:
        console.print_json(figures)
    else:
        _show(figures)
    for one in figures["failed"]:
        named = Path(one["file"]).name in one["reason"]
        console.complain(one["reason"] if named else f"{one['file']}: {one['reason']}")
    if failed:
        raise typer.Exit(1)


@contextmanager
def _on_disk(
    given: list[str], options: PredictOptions
) -> Iterator[tuple[list[str], PredictOptions, str | None]]:
    """The files, where to write, and what to call them; standard input, which can be read once only, is copied."""
    if given != ["-"]:
        yield given, options, None
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield [str(path)], replace(options, out=options.out or Path()), "standard input"


def _figures(
    plan: Plan, written: Sequence[LabelledFile], failed: Sequence[tuple[str, Exception]]
) -> dict[str, Any]:
    """For a program; rows and labels are those of all files that were written."""
    labels = Counter[str]()
    for one in written:
        labels.update(one.labels)
    return {
        "rows": sum(one.rows for one in written),
        "labels": dict(sorted(labels.items(), key=lambda item: (-item[1], item[0]))),
        "notes": [
            *plan.notes,
            *(f"{Path(one.output).name}: {note}" for one in written for note in one.notes),
        ],
        "new_rows": dict(
            sorted((one.output, one.new_rows) for one in written if one.new_rows is not None)
        ),
        "files": {"predicted": sorted(one.output for one in written)},
        "failed": [{"file": name, "reason": console.sentence(error)} for name, error in failed],
    }


def _label(
    predictor: Predictor, tasks: Sequence[FileTask], resources: Resources, scheduler: str | None
) -> list[Any]:
    """Label files; on a terminal a bar shows how far it is, elsewhere nothing that Polars says is repeated."""
    from chary.labelling.predict_files import label_files

    sizes = {task.source: os.path.getsize(task.source) for task in tasks}
    rows, done = Counter[str](), dict.fromkeys(sizes, 0.0)
    with (
        console.steps() as step,
        nullcontext() if console.stderr().is_terminal else console.quietly(),
    ):

        def seen(task: FileTask, n_rows: int, share: float) -> None:
            rows[task.source], done[task.source] = n_rows, share * sizes[task.source]
            files = f"{sum(done[name] >= sizes[name] for name in sizes)} of {counted(len(sizes), 'file')}"
            step(
                f"{files}, {rows.total():,} rows: {sum(done.values()):,.0f} of {sum(sizes.values()):,} bytes"
            )

        return label_files(predictor, tasks, resources, seen, scheduler=scheduler)


# ---------------------------------------------------------------- what is shown


def _show(figures: dict[str, Any]) -> None:
    from chary.report import number_grid

    if labels := figures["labels"]:
        rows = [[name, f"{count:,}"] for name, count in labels.items()]
        console.stdout().print(number_grid(["Label", "Rows"], rows, len(rows)))
    for text in (*figures["notes"], *_new_rows(figures["new_rows"])):
        console.say(visible(text, 500))
    outputs = figures["files"]["predicted"]
    if outputs:
        more = f" and {counted(len(outputs) - 1, 'more file')}" if len(outputs) > 1 else ""
        console.say(f"Wrote {visible(outputs[0], 500)}{more}")


def _new_rows(compared: dict[str, dict[str, Any]]) -> list[str]:
    """Of each file whose rows are unlike those learned from a sentence; of the others one for all."""
    from chary.labelling.drift import KNOWN

    if len(compared) == 1:
        return [one["sentence"] for one in compared.values()]
    said = [
        f"{Path(name).name}: {one['sentence']}"
        for name, one in compared.items()
        if one["verdict"] != "alike"
    ]
    n_alike = len(compared) - len(said)
    if n_alike:
        said.append(f"The rows of {counted(n_alike, 'file')} {KNOWN}.")
    return said
