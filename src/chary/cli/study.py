"""Words typed after ``chary study`` or ``chary datasets`` in; results, tables and figures out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from chary.studies import (
    AUDIT,
    PRIOR_STUDIES,
    Cell,
    Entry,
    Interrupted,
    Progress,
    Results,
    Store,
    Study,
    bests,
    dataset_title,
    datasets,
    export,
    figures,
    findings,
    import_results,
    key_of,
    pivot,
    results_of,
    run,
    seeds_of,
    title_of,
    to_csv,
    to_markdown,
)
from chary.studies import STUDIES as PAPER_STUDIES

study_app = typer.Typer(no_args_is_help=True, help="The paper's tables and figures: run, resume, report.")
datasets_app = typer.Typer(
    invoke_without_command=True, help="The benchmark data sets: what is here, and the rest."
)

_NAME = Annotated[str, typer.Argument(help="A study; `chary study list` shows them.")]
_DATASETS = Annotated[str, typer.Option(help="Names, separated by commas; `all` for those of the study.")]
_METHODS = Annotated[str, typer.Option(help="Methods, separated by commas; `all` for those of the study.")]
_SEEDS = Annotated[int | None, typer.Option(min=1, help="How many seeds. Default: the study's own, mostly nine.")]
_STORE = Annotated[Path, typer.Option(help="Directory of finished cells.")]
STUDIES = {**PAPER_STUDIES, AUDIT.name: AUDIT, **PRIOR_STUDIES}
CELLS = Path("studies/cells")
RESULTS = Path("studies/results")
PARTIAL = Path("studies/partial")


@study_app.command("list")
def list_studies(store: _STORE = CELLS) -> None:
    """Show the studies and how far each is."""
    table = _table("Study", "What it shows", "Sets", "Cells", "Done", right=(2, 3, 4))
    finished = Store(store)
    for study in STUDIES.values():
        cells = study.cells()
        done = sum(finished.path(key_of(cell.content())).exists() for cell in cells)
        table.add_row(study.name, study.title, str(len(study.datasets)), str(len(cells)), str(done))
    Console().print(table)


@study_app.command("run")
def run_study(
    name: _NAME,
    datasets: _DATASETS = "all",
    methods: _METHODS = "all",
    seeds: _SEEDS = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes. Default: one per core.")] = None,
    engine: Annotated[str, typer.Option(help=r"process, or dask (needs chary\[dask]).")] = "process",
    address: Annotated[str | None, typer.Option(help="Of a Dask scheduler. Default: a local cluster.")] = None,
    store: _STORE = CELLS,
) -> None:
    """Work out what is missing of a study. Stop it any time; run it again to resume."""
    with _one_sentence():
        study, cells = _select(name, datasets, seeds)
        cells = _of_methods(study, cells, methods)
        _refuse_missing(cells)
        with _display(study.name) as show:
            progress = run(
                study, cells, Store(store), jobs=jobs or _n_cores(), engine=engine, address=address, report=show
            )
        _say_outcome(progress)
    if progress.failed:
        raise typer.Exit(1)
    Console().print(Text(f"Next:  chary study report {name}"), soft_wrap=True)


@study_app.command()
def status(name: _NAME, datasets: _DATASETS = "all", seeds: _SEEDS = None, store: _STORE = CELLS) -> None:
    """Show what is done, missing and failed, data set by data set."""
    with _one_sentence():
        study, cells = _select(name, datasets, seeds)
    finished = Store(store)
    table = _table("Data set", "Done", "Failed", "Missing", "CPU time", right=(1, 2, 3, 4))
    table.title = f"{study.name}: {study.title}"
    reasons: dict[str, None] = {}
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        keys = {key_of(cell.content()) for cell in cells if cell.dataset == dataset}
        records = {key: finished.read(key) for key in keys}
        seconds = sum(record.env.get("cpu_seconds", 0) for record in records.values() if record)
        failures = {key: finished.failure(key) for key, record in records.items() if record is None}
        reasons |= dict.fromkeys(f"{dataset_title(dataset)}: {reason}" for reason in failures.values() if reason)
        n_failed = sum(reason is not None for reason in failures.values())
        numbers = (len(keys) - len(failures), n_failed, len(failures) - n_failed)
        table.add_row(dataset_title(dataset), *map(str, numbers), _duration(seconds))
    console = Console()
    console.print(table)
    for reason in reasons:
        console.print(Text(f"Failed: {reason}"))
    _say_set_aside(len(finished.set_aside))


@study_app.command()
def report(
    name: _NAME,
    datasets: _DATASETS = "all",
    seeds: _SEEDS = None,
    store: _STORE = CELLS,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where Markdown, CSV, PNG and SVG go.", show_default=f"{RESULTS}; {PARTIAL} if cells are missing"
        ),
    ] = None,
    source: Annotated[Path | None, typer.Option("--from", help="An exported file instead of the store.")] = None,
) -> None:
    """Print a study beside the paper; write it as Markdown, CSV and figures."""
    with _one_sentence():
        study, cells = _select(name, datasets, seeds)
        results = _results(study, cells, store, source)
        baseline = replace(study, labelings=("iid",))
        companion: Results = []
        if study.labelings == ("ssb",) and study.vary is None:
            chosen = list(dict.fromkeys(cell.dataset for cell, _ in results))
            companion = _companion(baseline, baseline.cells(chosen, seeds), store, source)
        console = Console()
        _print_table(console, study, results)
        for sentence in findings(study, results, companion):
            console.print(Text(f"• {sentence}"))
        out = out or (RESULTS if len(results) == len(_distinct(study.cells())) else PARTIAL)
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{study.name}.md").write_text(to_markdown(study, results, companion), encoding="utf-8")
        (out / f"{study.name}.csv").write_text(to_csv(study, results), encoding="utf-8")
        _draw(study, results, out)
        console.print(Text(f"Written: {out / study.name}.md, .csv, .png, .svg"))


@study_app.command("export")
def export_study(
    name: _NAME,
    path: Annotated[Path, typer.Argument(help="The file to write, for example results.json.gz.")],
    datasets: _DATASETS = "all",
    seeds: _SEEDS = None,
    store: _STORE = CELLS,
) -> None:
    """Write every cell of a study with its result into one compressed JSON file."""
    with _one_sentence():
        study, cells = _select(name, datasets, seeds)
        results = _results(study, cells, store, None)
        export(results, path)
        Console().print(Text(f"Written: {len(results)} cells in {path}"))


@datasets_app.callback()
def list_datasets(context: typer.Context) -> None:
    """Show the data sets: facts, origin, licence, whether they are here, and what to beware of."""
    if context.invoked_subcommand:
        return
    table = _table("Name", "Rows", "Features", "Classes", "Labels", "r", "Here", right=(1, 2, 3, 4, 5))
    console = Console()
    entries = datasets.catalogue()
    for facts, where in entries:
        numbers = (facts.n, facts.d, facts.n_classes, facts.n_labeled)
        table.add_row(facts.name, *map(str, numbers), f"{facts.r:g}", "yes" if where else "no")
    console.print(table)
    for facts, _ in entries:
        beware = f" Beware: {facts.caution}." if facts.caution else ""
        console.print(Text.assemble((facts.name, "bold"), f": {facts.origin}. Licence: {facts.licence}.{beware}"))
    console.print(
        Text("\n`chary datasets fetch NAME` downloads one; CHARY_DATA names a directory that holds them.")
    )


@datasets_app.command()
def fetch(name: Annotated[str, typer.Argument(help="A data set, or `all` for those that are not here.")]) -> None:
    """Download a data set from its home into the cache, verified."""
    console = Console()
    names = [entry.facts.name for entry in datasets.catalogue() if not entry.where] if name == "all" else [name]
    n_refused = 0
    for one in names:
        try:
            path = datasets.fetch(one)
            console.print(Text(f"{dataset_title(one)}: {path or 'comes with scikit-learn, nothing to do'}"))
        except datasets.DatasetError as error:
            Console(stderr=True).print(Text(str(error)))
            n_refused += 1
    if n_refused:
        raise typer.Exit(1)


def _select(name: str, names: str, n_seeds: int | None) -> tuple[Study, list[Cell]]:
    if name not in STUDIES:
        raise ValueError(f"There is no study {name!r}; choose one of {', '.join(STUDIES)}.")
    study = STUDIES[name]
    chosen = None if names == "all" else [part.strip() for part in names.split(",") if part.strip()]
    return study, study.cells(chosen, n_seeds)


def _distinct(cells: list[Cell]) -> set[str]:
    return {key_of(cell.content()) for cell in cells}


def _of_methods(study: Study, cells: list[Cell], methods: str) -> list[Cell]:
    if methods == "all":
        return cells
    chosen = [part.strip() for part in methods.split(",") if part.strip()]
    unknown = [method for method in chosen if method not in study.methods]
    if unknown or not chosen:
        raise ValueError(
            f"{study.name} has no method {', '.join(map(repr, unknown)) or repr(methods)}; "
            f"choose of {', '.join(study.methods)}."
        )
    return [cell for cell in cells if cell.method in chosen]


def _refuse_missing(cells: list[Cell]) -> None:
    absent = {entry.facts.name for entry in datasets.catalogue() if not entry.where}
    missing = sorted(absent & {cell.dataset for cell in cells})
    if missing:
        here = ",".join(name for name in dict.fromkeys(c.dataset for c in cells) if name not in absent) or "digits"
        raise datasets.DatasetError(
            f"Not on this machine: {', '.join(missing)}; set CHARY_DATA to the directory that holds them, run "
            f"`chary datasets fetch all`, or choose with --datasets {here}."
        )


def _results(study: Study, cells: list[Cell], store: Path, source: Path | None) -> Results:
    results = results_of(study, cells, Store(store)) if source is None else _exported(cells, source)
    if not results:
        raise ValueError(
            f"Nothing of {study.name} is finished in {source or store}; run `chary study run {study.name}`."
        )
    return results


def _companion(baseline: Study, cells: list[Cell], store: Path, source: Path | None) -> Results:
    """The same under random labels: from the store, or from the export beside that of ``table-ssb``: table-iid."""
    if source is None:
        return results_of(baseline, cells, Store(store))
    beside = source.with_name(source.name.replace("-ssb", "-iid"))
    return _exported(cells, beside) if beside != source and beside.exists() else []


def _exported(cells: list[Cell], path: Path) -> Results:
    wanted = {key_of(cell.content()) for cell in cells}
    return [(cell, result) for cell, result in import_results(path) if key_of(cell.content()) in wanted]


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Expected troubles as one sentence on the error stream, never a traceback."""
    try:
        yield
    except Interrupted as stopped:
        Console(stderr=True).print(Text(str(stopped)))
        raise typer.Exit(128 + stopped.signum) from None
    except (ValueError, RuntimeError, OSError) as error:
        Console(stderr=True).print(Text(str(error)))
        raise typer.Exit(1) from None


class _display:  # noqa: N801 - used as a context manager only
    """Cells done, running and failed, rate and time left, on one line; nothing when not a terminal."""

    def __init__(self, name: str) -> None:
        self.name = name
        console = Console(stderr=True)
        self.live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None

    def __enter__(self) -> _display:
        if self.live:
            self.live.start()
        return self

    def __call__(self, progress: Progress) -> None:
        if self.live:
            self.live.update(self.line(progress), refresh=True)

    def __exit__(self, *exception: object) -> None:
        if self.live:
            self.live.stop()

    def line(self, progress: Progress) -> Text:
        done = progress.n_found + progress.n_done
        filled = round(24 * done / max(1, progress.n_cells))
        text = Text(f"{self.name} ")
        text.append("━" * filled, "green").append("━" * (24 - filled), "dim")
        text.append(f" {done}/{progress.n_cells} done, {progress.n_running} running")
        text.append(f", {len(progress.failed)} failed", "red" if progress.failed else "")
        if progress.seconds_left is not None:
            rate = 60 * progress.n_left / progress.seconds_left if progress.seconds_left else 0
            text.append(f", {rate:.0f} cells/min, {_duration(progress.seconds_left)} left")
        return text


def _say_outcome(progress: Progress) -> None:
    console = Console()
    console.print(
        Text(f"{progress.n_done} cells worked out, {progress.n_found} were there, {len(progress.failed)} failed.")
    )
    for cell, reason in progress.failed[:10]:
        console.print(Text(f"Failed: {dataset_title(cell.dataset)}, {cell.method}, seed {cell.seed}: {reason}"))
    _say_set_aside(progress.set_aside)


def _say_set_aside(n: int) -> None:
    if n:
        Console().print(Text(f"{n} damaged files were set aside (.corrupt) and count as missing."))


def _print_table(console: Console, study: Study, results: Results) -> None:
    methods, rows = pivot(study, results)
    if not rows:
        return
    heads = [
        "Data set",
        *(["Labels"] if len(study.labelings) > 1 else []),
        *([study.vary[0]] if study.vary else []),
    ]
    table = _table(*heads)
    table.title = f"{study.name}: {study.title}"
    for method in methods:
        table.add_column(title_of(method).replace(" ", "\n"), justify="right", no_wrap=True)
    with_std = console.width >= 14 * (len(heads) + len(methods))
    most = max(e.n for _, entries in rows for e in entries if e)
    for label, entries in rows:
        marks = bests(methods, entries)
        texts = (_cell_text(e, best, with_std, most) for e, best in zip(entries, marks, strict=True))
        table.add_row(*label, *texts)
    console.print(table)
    deviation = " ± standard deviation" if with_std else " (widen the window for standard deviations)"
    legend = f"Percent, mean{deviation} over {seeds_of(rows)}."
    if any(e and e.paper for _, entries in rows for e in entries):
        legend += " Second line: the paper. Bold: the better of softmax and T-similarity."
    console.print(Text(legend, "dim"))


def _cell_text(e: Entry | None, best: bool, with_std: bool, most: int) -> Text:
    if e is None:
        return Text("-")
    ours, paper = (
        (f"{mean:.1f} ±{std:4.1f}" if with_std else f"{mean:.1f}") for mean, std in (e[:2], e.paper or e[:2])
    )
    text = Text(ours + (f" [{e.n}]" if e.n < most else ""), "bold" if best else "")
    return text.append(f"\n{paper}", "dim") if e.paper else text


def _table(*heads: str, right: tuple[int, ...] = ()) -> Table:
    table = Table(*heads, box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    table.columns[0].no_wrap = True
    for column in right:
        table.columns[column].justify = "right"
    return table


def _draw(study: Study, results: Results, out: Path) -> None:
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "chary"}):  # the same bytes for the same results
        figure: Any = figures.draw(study, results).figure
        figure.savefig(out / f"{study.name}.png", metadata={"Software": None})
        figure.savefig(out / f"{study.name}.svg", metadata={"Date": None})


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
