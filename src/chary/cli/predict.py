"""The command ``chary predict``: labels for new files, with progress and a summary."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chary._words import visible
from chary.cli import console
from chary.options import Options

if TYPE_CHECKING:
    from chary.labelling.predict_files import FileTask, LabelledFile, Plan, Resources
    from chary.labelling.score import Predictor

_MANY = f"{console.READABLE}; of a folder or a quoted pattern each file gets an output; - is standard input."
TABLES = Annotated[list[str], typer.Argument(metavar="FILE...", help=_MANY)]


@console.takes_options("predict")
def predict_command(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A FILE.model.chary.")],
    file: TABLES,
    options: Options,
    as_json: console.JSON = False,
) -> None:
    """Label the rows of new tables with a model.

    It writes FILE.predicted.csv (or as FILE): the table with the columns chary_label and chary_confidence. It also
    says whether the rows look like those the model learned from.

    Several files, a folder or a pattern give one output each, next to the file or in the folder of --out. After an
    interruption run the same command again: finished files are not labelled twice.
    """
    console.require_readable(model_file, *file)
    from chary.labelling.predict_files import FileTask, Resources, is_one_file, plan_files
    from chary.labelling.score import Predictor
    from chary.tables.table import free_memory

    engine = "dask" if options.scheduler else options.engine
    predictor = Predictor.from_file(model_file, options.columns, options.probabilities, options.threshold)
    task, memory = FileTask("", "", options, strict=options.strict), options.memory or free_memory() // 2
    if is_one_file(file) and options.shard is None and engine == "process":
        _one(predictor, file[0], task, memory, as_json)
        return
    if options.features is not None:
        raise ValueError("--features belongs to the rows of one table; give one FILE.")
    plan = plan_files(predictor, file, task, options.shard or (1, 1))
    if options.scheduler:
        resources = Resources(max(1, len(plan.tasks)), 1, options.memory or 2 << 30)  # of each, wherever it is
    else:
        resources = Resources.of(len(plan.tasks), options.jobs, memory)
    _several(predictor, plan, resources, engine, options.scheduler, as_json)


def _one(predictor: Predictor, source: str, task: FileTask, memory: int, as_json: bool) -> None:
    """One file, labelled by this process."""
    from dataclasses import replace

    from joblib import cpu_count

    from chary.labelling.predict_files import Resources, output_of_one

    with _at_hand(source) as (path, name):
        output = output_of_one(path, task.options)
        if name is not None:
            output = Path(task.options.out or "") / f"stdin.predicted{output.name.partition('.predicted')[2]}"
        console.require_free([output], task.options.force)
        task = replace(task, source=path, output=str(output), name=name)
        (labelled,) = _label(predictor, [task], Resources(1, cpu_count(), memory))
    if isinstance(labelled, Exception):
        raise labelled
    if as_json:
        figures = {"rows": labelled.rows, "labels": labelled.labels, "notes": labelled.notes}
        console.print_json({**figures, "new_rows": labelled.new_rows, "files": {"predicted": labelled.output}})
        return
    _show_labels(labelled.labels)
    said = [] if labelled.new_rows is None else [labelled.new_rows["sentence"]]
    for text in (*labelled.notes, *said, f"Wrote {labelled.output}"):
        console.say(visible(text, 500))


@contextmanager
def _at_hand(source: str) -> Iterator[tuple[str, str | None]]:
    """The path of a file; of standard input, which can be read once only, that of a copy, and what to call it."""
    if source != "-":
        yield source, None
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield str(path), "standard input"


def _several(
    predictor: Predictor, plan: Plan, resources: Resources, engine: str, address: str | None, as_json: bool
) -> None:
    """Many files, with an output for each."""
    from chary._files import probe

    probe([task.output for task in plan.tasks[:1]], overwrite=True)
    start = time.monotonic()
    outcomes = _label(predictor, plan.tasks, resources, engine=engine, address=address)
    seconds = time.monotonic() - start
    written = [one for one in outcomes if not isinstance(one, Exception)]
    failed = list(plan.failed)
    for task, one in zip(plan.tasks, outcomes, strict=True):
        failed += [(task.source, one)] if isinstance(one, Exception) else []
    figures = _figures(plan, written, failed, seconds)
    if as_json:
        console.print_json(figures)
    else:
        _show_run(figures, resources)
    if failed:
        raise typer.Exit(1)


def _figures(
    plan: Plan, written: Sequence[LabelledFile], failed: Sequence[tuple[str, Exception]], seconds: float
) -> dict[str, Any]:
    """For a program; rows and labels are those of all files, finished now or before."""
    every, labels = [*plan.done, *written], Counter[str]()
    for one in every:
        labels.update(one.labels)
    rows = sum(one.rows for one in written)
    return {
        "rows": sum(one.rows for one in every),
        "labels": dict(sorted(labels.items(), key=lambda item: (-item[1], item[0]))),
        "notes": [*plan.notes, *(f"{Path(one.output).name}: {note}" for one in written for note in one.notes)],
        "new_rows": dict(sorted((one.output, one.new_rows) for one in every if one.new_rows is not None)),
        "files": {"predicted": sorted(one.output for one in every)},
        "written": len(written),
        "finished_before": len(plan.done),
        "failed": [{"file": name, "reason": console.sentence(error)} for name, error in failed],
        "seconds": round(seconds, 3),
        "rows_per_second": round(rows / seconds) if rows and seconds > 0 else 0,
    }


def _label(predictor: Predictor, tasks: Sequence[FileTask], resources: Resources, **how: Any) -> list[Any]:
    """Label files; on a terminal a bar shows rows per second and the time left."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    from chary.labelling.predict_files import label_files

    console.heed_interrupts()
    if not console.stderr().is_terminal:  # what Polars itself says of a damaged file is not repeated
        with console.quietly():
            return label_files(predictor, tasks, resources, **how)
    sizes = {task.source: os.path.getsize(task.source) for task in tasks}
    rows, shares, start = Counter[str](), dict.fromkeys(sizes, 0.0), time.monotonic()
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console.stderr(), transient=True) as progress:
        bar = progress.add_task("Reading", total=max(1, sum(sizes.values())))

        def seen(task: FileTask, n_rows: int, share: float) -> None:
            rows[task.source], shares[task.source] = n_rows, share
            n_rows, pace = rows.total(), rows.total() / max(1e-3, time.monotonic() - start)
            files = f"{sum(share >= 1 for share in shares.values())} of {len(sizes)} files, " * (len(sizes) > 1)
            done = sum(share * sizes[name] for name, share in shares.items())
            progress.update(bar, completed=done, description=f"{files}{n_rows:,} rows, {pace:,.0f} a second")

        return label_files(predictor, tasks, resources, seen, **how)


# ---------------------------------------------------------------- what is shown


def _show_labels(labels: dict[str, int]) -> None:
    from chary.report.terminal import number_grid

    rows = [[name, f"{count:,}"] for name, count in labels.items()]
    console.stdout().print(number_grid(["Label", "Rows"], rows, len(rows)))


def _show_run(figures: dict[str, Any], resources: Resources) -> None:
    if figures["labels"]:
        _show_labels(figures["labels"])
    for text in (*figures["notes"], *_new_rows(figures["new_rows"])):
        console.say(visible(text, 500))
    written, before = figures["written"], figures["finished_before"]
    if before:
        console.say(f"{before} {_files(before)} finished before and verified")
    if written:
        pace = f"{figures['seconds']:,.1f} s, {figures['rows_per_second']:,} rows a second"
        room = f"{resources.jobs} at a time, {resources.jobs * resources.memory >> 20:,} MiB at most"
        console.say(f"{written} {_files(written)} written in {pace} ({room})")
    folders = sorted({str(Path(path).parent) for path in figures["files"]["predicted"]})
    if folders:
        console.say(f"Wrote to {folders[0]}" + (f" and {len(folders) - 1} more" if len(folders) > 1 else ""))
    for one in figures["failed"]:
        named = Path(one["file"]).name in one["reason"]
        console.complain(one["reason"] if named else f"{one['file']}: {one['reason']}")


def _new_rows(compared: dict[str, dict[str, Any]], most: int = 10) -> list[str]:
    """Of each file whose rows are unlike those learned from a sentence; of the others one for all."""
    by_verdict: dict[str, list[str]] = {}
    for output, one in compared.items():
        by_verdict.setdefault(one["verdict"], []).append(f"{Path(output).name}: {one['sentence']}")
    alike, unchecked = by_verdict.pop("alike", []), by_verdict.pop("unchecked", [])
    said = sorted(sentence for sentences in by_verdict.values() for sentence in sentences)
    more = [f"{len(said) - most} more files differ."] if len(said) > most else []
    if alike:
        n, all_of = len(alike), "" if said or unchecked else "all "
        more.append(f"The rows of {all_of}{n} {_files(n)} look like those the model learned from.")
    if unchecked:
        more.append(f"Of {len(unchecked)} {_files(len(unchecked))} it cannot be told: {unchecked[0]}")
    return [*said[:most], *more]


def _files(n: int) -> str:
    return "file" if n == 1 else "files"
