"""Words typed after ``chary predict`` in; files with labels, progress and a summary out."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from chary.cli import options
from chary.cli.console import (
    heed_interrupts,
    plain,
    print_json,
    quietly,
    require_free,
    require_readable,
    stderr,
    stdout,
)
from chary.cli.remedies import sentence
from chary.cli.sizes import parse_part, parse_size

if TYPE_CHECKING:
    from chary.jobs import Event, FileTask, Labelled, Means, Predictor

predict_app = typer.Typer(rich_markup_mode="rich")

FILES = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="CSV, Parquet, JSON lines, Arrow or Excel, also in gzip or zip; several files, a folder or a pattern "
        "in quotes: an output for each; - is standard input.",
    ),
]
COLUMNS = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="A column of FILE to write back; all if not given. Repeatable."),
]
THRESHOLD = Annotated[
    float | None,
    typer.Option(min=0, max=1, metavar="CONFIDENCE", help="Add chary_accept: whether the confidence reaches it."),
]
JOBS = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Files at a time.", show_default="as many as cores and memory allow"),
]
SHARD = Annotated[
    str | None,
    typer.Option(metavar="K/N", help="Only every N-th file, from the K-th on: one part of an array job."),
]
ENGINE = Annotated[str, typer.Option(metavar="process|dask", help="Who labels the files.")]
SCHEDULER = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Of a Dask cluster; one on this machine if not given. Means --engine dask."
    ),
]


@predict_app.command(
    "predict",
    epilog="Examples:  chary predict customers.model.chary new.csv   "
    "chary predict customers.model.chary 'in/*.parquet' --out out",
)
def predict(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A FILE.model.chary.")],
    file: FILES,
    features: options.FEATURES = None,
    columns: COLUMNS = None,
    probabilities: options.PROBABILITIES = False,
    threshold: THRESHOLD = None,
    delimiter: options.DELIMITER = None,
    encoding: options.ENCODING = "utf-8",
    sheet: options.SHEET = None,
    out: options.OUT = None,
    format: options.FORMAT = None,
    strict: options.STRICT = False,
    jobs: JOBS = None,
    memory: options.MEMORY = None,
    shard: SHARD = None,
    engine: ENGINE = "process",
    scheduler: SCHEDULER = None,
    force: options.FORCE = False,
    as_json: options.JSON = False,
) -> None:
    """Label the rows of new tables with a model made by [bold]chary label[/bold].

    One FILE: writes FILE.predicted.csv (or as FILE), the table plus chary_label and chary_confidence.

    Says whether the rows look like those the model learned from.

    Several, a folder or a pattern: one output for each, next to it, or of the same name in the folder of --out.
    Run it again after an interruption: files that are finished, and as they were written, are passed over.
    """
    _refuse_swapped(model_file, file)
    require_readable(model_file, *file)
    engine = "dask" if scheduler else engine
    how: dict[str, Any] = {
        "delimiter": delimiter,
        "encoding": encoding,
        "sheet": sheet,
        "format": format,
        "strict": strict,
        "overwrite": force,
    }
    parts = None if shard is None else parse_part(shard)
    allowed = None if memory is None else parse_size(memory)
    from chary.jobs import FileTask, Predictor, is_one_file, load_table_model

    load_table_model(model_file)
    predictor = Predictor(
        model_file.read_bytes(), columns=columns or (), probabilities=probabilities, threshold=threshold
    )
    task = FileTask("", "", features=None if features is None else os.fspath(features), **how)
    if is_one_file(file) and parts is None and engine == "process":
        _one(predictor, file[0], out, task, allowed, as_json)
        return
    if features is not None:
        raise ValueError("--features belongs to the rows of one table; give one FILE.")
    _several(_Run(model_file, predictor, file, out, task, jobs, allowed, engine, scheduler), parts, as_json)


def _refuse_swapped(model_file: Path, files: Sequence[str]) -> None:
    models = [name for name in files if name.endswith(".chary")]
    if models and model_file.suffix != ".chary":
        others = [str(model_file), *(name for name in files if name != models[0])]
        raise ValueError(f"The model comes first: {shlex.join(['chary', 'predict', models[0], *others])}")


# ---------------------------------------------------------------- one file


def _one(
    predictor: Predictor, source: str, out: Path | None, task: FileTask, memory: int | None, as_json: bool
) -> None:
    """One file, labelled by this process."""
    from dataclasses import replace

    from chary.jobs import Means, free_memory, label_file, n_cores, output_of_one

    with _at_hand(source) as (path, name):
        output = output_of_one(path, out, task.format)
        if name is not None:
            output = (out or Path()) / f"stdin.predicted{output.name.partition('.predicted')[2]}"
        require_free([output], task.overwrite)
        means = Means(1, n_cores(), memory or free_memory() // 2)
        task = replace(
            task, source=path, output=str(output), name=name, threads=means.threads, memory=means.memory
        )
        with _progress({path: os.path.getsize(path)}) as told, quietly_if_unseen():
            labelled = label_file(predictor, task, lambda rows, share: told(path, rows, share))
    if as_json:
        figures = {"rows": labelled.rows, "labels": labelled.labels, "notes": list(labelled.notes)}
        print_json({**figures, "new_rows": labelled.new_rows, "files": {"predicted": labelled.output}})
        return
    _show_labels(labelled.labels)
    said = [] if labelled.new_rows is None else [labelled.new_rows["sentence"]]
    for note in (*labelled.notes, *said):
        stdout().print(plain(note, 500), highlight=False)
    stdout().print(f"Wrote {plain(labelled.output, 500)}", soft_wrap=True)


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


@contextmanager
def quietly_if_unseen() -> Iterator[None]:
    """What Polars itself says of a damaged file, before it raises, is not repeated; a terminal shows progress."""
    if stderr().is_terminal:
        yield
        return
    with quietly():
        yield


# ---------------------------------------------------------------- many files


class _Run(NamedTuple):
    """Many files and how to label them."""

    model_file: Path
    predictor: Predictor
    given: Sequence[str]
    out: Path | None
    task: FileTask
    jobs: int | None
    memory: int | None
    engine: str
    address: str | None


def _several(run: _Run, parts: tuple[int, int] | None, as_json: bool) -> None:
    from chary._files import probe
    from chary.jobs import Means, Shard, free_memory, label_files, plan_files

    plan = plan_files(run.predictor, run.given, run.out, run.task, Shard(*parts) if parts else None)
    if run.engine == "dask" and run.address:
        means = Means(max(1, len(plan.tasks)), 1, run.memory or 2 << 30)  # of each worker, wherever it is
    else:
        means = Means.of(len(plan.tasks), run.jobs, run.memory or free_memory() // 2)
    probe([task.output for task in plan.tasks[:1]], overwrite=True)
    tally = _Tally(list(plan.failed))
    start = time.monotonic()
    with _progress({task.source: os.path.getsize(task.source) for task in plan.tasks}) as told:

        def report(event: Event) -> None:
            tally.take(event)
            told(event.task.source, event.rows, 1.0 if event.kind in ("done", "failed") else event.share)

        with quietly_if_unseen():
            label_files(
                run.model_file, run.predictor, plan.tasks, means, report, engine=run.engine, address=run.address
            )
    seconds = time.monotonic() - start
    figures = tally.figures(plan.done, plan.notes, seconds)
    if as_json:
        print_json(figures)
    else:
        _show_run(figures, tally.failed, means)
    if tally.failed:
        raise typer.Exit(1)


class _Tally:
    """What came of the files so far."""

    def __init__(self, failed: list[tuple[str, Any]]) -> None:
        self.failed, self.labelled = failed, list[Any]()

    def take(self, event: Event) -> None:
        if event.kind == "done" and event.labelled is not None:
            self.labelled.append(event.labelled)
        elif event.kind == "failed":
            self.failed.append((event.task.source, event.error))

    def figures(self, before: Sequence[Labelled], notes: Sequence[str], seconds: float) -> dict[str, Any]:
        """For a program; rows and labels are those of all files, finished now or before."""
        labels: dict[str, int] = {}
        for one in (*before, *self.labelled):
            for name, n in one.labels.items():
                labels[name] = labels.get(name, 0) + n
        rows = sum(one.rows for one in self.labelled)
        said = [*notes, *(f"{Path(one.output).name}: {note}" for one in self.labelled for note in one.notes)]
        compared = {one.output: one.new_rows for one in (*before, *self.labelled) if one.new_rows is not None}
        return {
            "rows": rows + sum(one.rows for one in before),
            "labels": dict(sorted(labels.items(), key=lambda item: (-item[1], item[0]))),
            "notes": said,
            "new_rows": dict(sorted(compared.items())),
            "files": {"predicted": sorted(one.output for one in (*before, *self.labelled))},
            "written": len(self.labelled),
            "finished_before": len(before),
            "failed": [{"file": name, "reason": sentence(error)} for name, error in self.failed],
            "seconds": round(seconds, 3),
            "rows_per_second": round(rows / seconds) if rows and seconds > 0 else 0,
        }


# ---------------------------------------------------------------- what is shown


@contextmanager
def _progress(sizes: dict[str, int]) -> Iterator[Callable[[str, int, float], None]]:
    """A bar with rows per second and time left, on a terminal; told of a file, its further rows and its share."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    heed_interrupts()
    console, total = stderr(), max(1, sum(sizes.values()))
    if not console.is_terminal:  # a disabled bar of an older Rich still ends its line
        yield lambda source, more, share: None
        return
    shares, rows, start = dict.fromkeys(sizes, 0.0), 0, time.monotonic()
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("Reading", total=total)

        def told(source: str, more: int, share: float) -> None:
            nonlocal rows
            rows += more
            shares[source] = share
            done = sum(share * sizes[name] for name, share in shares.items())
            pace = rows / max(1e-3, time.monotonic() - start)
            files = f"{sum(share >= 1 for share in shares.values())} of {len(sizes)} files, " * (len(sizes) > 1)
            progress.update(bar, completed=done, description=f"{files}{rows:,} rows, {pace:,.0f} a second")

        yield told


def _show_labels(labels: dict[str, int]) -> None:
    from rich import box
    from rich.table import Table as Grid

    grid = Grid("Label", "Rows", box=box.SIMPLE)
    grid.columns[1].justify = "right"
    for name, count in labels.items():
        grid.add_row(plain(name), f"{count:,}")
    stdout().print(grid)


def _show_run(figures: dict[str, Any], failed: Sequence[tuple[str, Any]], means: Means) -> None:
    console = stdout()
    if figures["labels"]:
        _show_labels(figures["labels"])
    for note in figures["notes"]:
        console.print(plain(note, 500), highlight=False, soft_wrap=True)
    for said in _new_rows(figures["new_rows"]):
        console.print(plain(said, 500), highlight=False, soft_wrap=True)
    written, before = figures["written"], figures["finished_before"]
    if before:
        console.print(f"{before} {_files(before)} finished before and verified", highlight=False)
    if written:
        pace = f"{figures['seconds']:,.1f} s, {figures['rows_per_second']:,} rows a second"
        room = f"{means.jobs} at a time, {means.jobs * means.memory >> 20:,} MiB at most"
        console.print(f"{written} {_files(written)} written in {pace} ({room})", highlight=False, soft_wrap=True)
    folders = sorted({str(Path(path).parent) for path in figures["files"]["predicted"]})
    if folders:
        more = f" and {len(folders) - 1} more" if len(folders) > 1 else ""
        console.print(f"Wrote to {plain(folders[0], 500)}{more}", soft_wrap=True, highlight=False)
    for name, error in failed:
        said = sentence(error)
        said = said if Path(name).name in said else f"{name}: {said}"
        stderr().print(f"[bold red]chary:[/bold red] {plain(said, 800)}", soft_wrap=True, highlight=False)


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
