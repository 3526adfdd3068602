"""Words typed after ``chary study`` or ``chary datasets`` in; results, tables and figures out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from chary.studies import Cell, Entry, Progress, Results, Study

study_app = typer.Typer(
    no_args_is_help=True, help="The paper's tables and figures, and more: run, resume, report."
)
datasets_app = typer.Typer(
    invoke_without_command=True, help="The benchmark data sets: what is here, and the rest."
)

_NAME = Annotated[str, typer.Argument(help="A study; `chary study list` shows them.")]
_DATASETS = Annotated[str, typer.Option(help="Names, separated by commas; `all` for those of the study.")]
_METHODS = Annotated[str, typer.Option(help="Methods, separated by commas; `all` for those of the study.")]
_SEEDS = Annotated[int | None, typer.Option(min=1, help="How many seeds. Default: the study's own, mostly nine.")]
_PROTOCOL = Annotated[
    str, typer.Option(help="ours, or authors: as the paper was run, with warm starts for PL and CSTA.")
]
_STORE = Annotated[Path, typer.Option(help="Directory of finished cells.")]
CELLS = Path("studies/cells")
RESULTS = Path("studies/results")
PARTIAL = Path("studies/partial")


@study_app.command("list")
def list_studies(store: _STORE = CELLS) -> None:
    """Show the studies and how far each is."""
    from rich.text import Text

    from chary.studies import NAMES, MissingExtraError, Store, find_study, key_of, protocols_of

    table = _table("Study", "What is studied", "Sets", "Cells", "Done", right=(2, 3, 4))
    finished = Store(store)
    for name in NAMES:
        for protocol in protocols_of(name):
            try:
                study = find_study(name, protocol)
            except MissingExtraError as missing:
                table.add_row(name, Text(str(missing)))
                continue
            cells = study.cells()
            done = sum(finished.path(key_of(cell.content())).exists() for cell in cells)
            typed = _typed(name, protocol)
            table.add_row(typed, study.title, str(len(study.datasets)), str(len(cells)), str(done))
    _say(table)


@study_app.command("run")
def run_study(
    name: _NAME,
    datasets: _DATASETS = "all",
    methods: _METHODS = "all",
    seeds: _SEEDS = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes. Default: one per core.")] = None,
    protocol: _PROTOCOL = "ours",
    engine: Annotated[str, typer.Option(help=r"process, or dask (needs chary\[dask]).")] = "process",
    address: Annotated[str | None, typer.Option(help="Of a Dask scheduler. Default: a local cluster.")] = None,
    store: _STORE = CELLS,
) -> None:
    """Work out what is missing of a study. Stop it any time; run it again to resume."""
    from chary.studies import Store, run

    study, cells = _select(name, protocol, datasets, seeds)
    cells = _of_methods(study, cells, methods)
    _refuse_missing(study, cells)
    with _display(study.name) as show:
        progress = run(
            study, cells, Store(store), jobs=jobs or _n_cores(), engine=engine, address=address, report=show
        )
    _say_outcome(progress)
    if progress.failed:
        raise typer.Exit(1)
    _say(f"Next:  chary study report {_typed(name, protocol)}")


@study_app.command()
def status(
    name: _NAME,
    datasets: _DATASETS = "all",
    seeds: _SEEDS = None,
    protocol: _PROTOCOL = "ours",
    store: _STORE = CELLS,
) -> None:
    """Show what is done, missing and failed, data set by data set."""
    from chary.studies import Store, dataset_title, key_of

    study, cells = _select(name, protocol, datasets, seeds)
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
    _say(table, *(f"Failed: {reason}" for reason in reasons))
    _say_set_aside(len(finished.set_aside))


@study_app.command()
def report(
    name: _NAME,
    datasets: _DATASETS = "all",
    seeds: _SEEDS = None,
    protocol: _PROTOCOL = "ours",
    store: _STORE = CELLS,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where the folder of the study goes.", show_default=f"{RESULTS}; {PARTIAL} if cells are missing"
        ),
    ] = None,
    source: Annotated[Path | None, typer.Option("--from", help="An exported file instead of the store.")] = None,
) -> None:
    """Print a study beside the paper; write it as Markdown, CSV and a figure."""
    from chary.studies import MissingExtraError, Store, companion_of, figure_bytes, write_report

    study, cells = _select(name, protocol, datasets, seeds)
    results = _results(study, cells, store, source, _typed(name, protocol))
    companion = companion_of(study, results, seeds, Store(store), source)
    _print_table(study, results)
    _say(*(f"• {sentence}" for sentence in study.findings(results, companion)))
    folder = (out or (RESULTS if len(results) == len(_distinct(study.cells())) else PARTIAL)) / study.name
    figure = None
    try:
        figure = figure_bytes(study, results)
    except MissingExtraError as missing:
        _say(str(missing))
    written = write_report(study, results, folder, companion, figure)
    _say(f"Written to {folder}: {', '.join(path.name for path in written)}")


@study_app.command("export")
def export_study(
    name: _NAME,
    path: Annotated[Path, typer.Argument(help="The file to write, for example results.json.gz.")],
    datasets: _DATASETS = "all",
    seeds: _SEEDS = None,
    protocol: _PROTOCOL = "ours",
    store: _STORE = CELLS,
) -> None:
    """Write every cell of a study with its result into one compressed JSON file."""
    from chary.studies import export

    study, cells = _select(name, protocol, datasets, seeds)
    results = _results(study, cells, store, None, _typed(name, protocol))
    export(results, path)
    _say(f"Written: {len(results)} cells in {path}")


@study_app.command("import")
def import_study(
    path: Annotated[Path, typer.Argument(help="A file that `chary study export` wrote.")], store: _STORE = CELLS
) -> None:
    """Put the cells of an exported file into the store: a run then works out only what is missing."""
    from chary.studies import Store, import_results, key_of

    finished, results = Store(store), import_results(path)
    new = [(cell, result) for cell, result in results if finished.read(key_of(cell.content())) is None]
    for cell, result in new:
        finished.write(cell.content(), result, {"from": path.name})
    _say(f"{len(new)} cells put into {store}, {len(results) - len(new)} were there.")


@datasets_app.callback()
def list_datasets(context: typer.Context) -> None:
    """Show the data sets: facts, origin, licence, whether they are here, and what to beware of."""
    from rich.text import Text

    from chary.studies import datasets

    if context.invoked_subcommand:
        return
    table = _table("Name", "Rows", "Features", "Classes", "Labels", "r", "Here", right=(1, 2, 3, 4, 5))
    entries = datasets.catalogue()
    for facts, where in entries:
        numbers = (facts.n, facts.d, facts.n_classes, facts.n_labeled)
        table.add_row(facts.name, *map(str, numbers), f"{facts.r:g}", "yes" if where else "no")
    _say(table)
    for facts, _ in entries:
        beware = f" Beware: {facts.caution}." if facts.caution else ""
        _say(Text.assemble((facts.name, "bold"), f": {facts.origin}. Licence: {facts.licence}.{beware}"))
    _say("\n`chary datasets fetch NAME` downloads one; CHARY_DATA names a directory that holds them.")


@datasets_app.command()
def fetch(name: Annotated[str, typer.Argument(help="A data set, or `all` for those that are not here.")]) -> None:
    """Download a data set from its home into the cache, verified."""
    from chary.studies import datasets

    if name != "all":
        _fetch(name)
        return
    names = [entry.facts.name for entry in datasets.catalogue() if not entry.where]
    n_refused = 0
    for one in names:
        try:
            _fetch(one)
        except datasets.DatasetError as error:  # the others may be had all the same
            _say(str(error))
            n_refused += 1
    if n_refused:
        raise datasets.DatasetError(f"{n_refused} of {len(names)} data sets could not be had, as said above.")


def _fetch(name: str) -> None:
    from chary.studies import dataset_title, datasets

    path = datasets.fetch(name)
    _say(f"{dataset_title(name)}: {path or 'comes with scikit-learn, nothing to do'}")


def _typed(name: str, protocol: str) -> str:
    """A study and its protocol as they are typed."""
    return name if protocol == "ours" else f"{name} --protocol {protocol}"


def _select(name: str, protocol: str, names: str, n_seeds: int | None) -> tuple[Study, list[Cell]]:
    from chary.studies import find_study

    study = find_study(name, protocol)
    return study, study.cells(None if names == "all" else _parts(names), n_seeds)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _distinct(cells: Iterable[Cell]) -> set[str]:
    from chary.studies import key_of

    return {key_of(cell.content()) for cell in cells}


def _of_methods(study: Study, cells: list[Cell], methods: str) -> list[Cell]:
    if methods == "all":
        return cells
    chosen = _parts(methods)
    unknown = [method for method in chosen if method not in study.methods]
    if unknown or not chosen:
        raise ValueError(
            f"{study.name} has no method {', '.join(map(repr, unknown)) or repr(methods)}; "
            f"choose of {', '.join(study.methods)}."
        )
    return [cell for cell in cells if cell.method in chosen]


def _refuse_missing(study: Study, cells: list[Cell]) -> None:
    from chary.studies import datasets

    names = list(dict.fromkeys(cell.dataset for cell in cells))
    if study.source:
        absent, anywhere, fetch = set(study.source.absent(names)), ",".join(study.source.anywhere), ""
    else:
        absent = {entry.facts.name for entry in datasets.catalogue() if not entry.where}
        anywhere, fetch = "digits", "run `chary datasets fetch all`, "
    missing = sorted(absent & set(names))
    if missing:
        here = ",".join(name for name in names if name not in absent) or anywhere
        raise datasets.DatasetError(
            f"Not on this machine: {', '.join(missing)}; set CHARY_DATA to the directory that holds them, {fetch}"
            f"or choose with --datasets {here}."
        )


def _results(study: Study, cells: list[Cell], store: Path, source: Path | None, typed: str) -> Results:
    from chary.studies import Store, import_results, results_of

    results = results_of(study, cells, Store(store)) if source is None else import_results(source, cells)
    if not results:
        raise ValueError(
            f"Nothing of {study.name} is finished in {source or store}; run `chary study run {typed}`."
        )
    return results


class _display:  # noqa: N801 - used as a context manager only
    """Cells done, running and failed, rate and time left, on one line; nothing when not a terminal."""

    def __init__(self, name: str) -> None:
        from rich.live import Live

        from chary.cli.console import stderr

        self.name = name
        console = stderr()
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
        from rich.text import Text

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
    from chary.studies import dataset_title

    _say(f"{progress.n_done} cells worked out, {progress.n_found} were there, {len(progress.failed)} failed.")
    for cell, reason in progress.failed[:10]:
        _say(f"Failed: {dataset_title(cell.dataset)}, {cell.method}, seed {cell.seed}: {reason}")
    _say_set_aside(progress.set_aside)


def _say_set_aside(n: int) -> None:
    if n:
        _say(f"{n} damaged files were set aside (.corrupt) and count as missing.")


def _say(*parts: Any) -> None:
    """Sentences, as they are, and tables."""
    from rich.text import Text

    from chary.cli.console import stdout

    console = stdout()
    for part in parts:
        console.print(Text(part) if isinstance(part, str) else part)


def _print_table(study: Study, results: Results) -> None:
    from rich.text import Text

    from chary.cli.console import stdout

    console = stdout()
    if study.table:
        caption, heads, rows = study.table(study, results)
        table = _with_rows(_table(*heads), rows)
        legend = f"{caption}."
    else:
        table, legend = _pivoted(console, study, results)
    if table.row_count:
        table.title = f"{study.name}: {study.title}"
        console.print(table)
        console.print(Text(legend, "dim"))
    for caption, heads, rows in (further(study, results) for further in study.further):
        if rows:
            _say(_with_rows(_table(*heads), rows))
            console.print(Text(f"{caption}.", "dim"))


def _with_rows(table: Table, rows: list[list[str]]) -> Table:
    from rich.text import Text

    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _pivoted(console: Console, study: Study, results: Results) -> tuple[Table, str]:
    """Data sets by methods, the paper's numbers on a second line; and what the numbers are."""
    from rich.text import Text

    from chary.studies import bests, pivot, row_heads, seeds_of

    methods, rows = pivot(study, results)
    heads = row_heads(study)
    table = _table(*heads)
    if not rows:
        return table, ""
    for method in methods:
        table.add_column(study.title_of(method).replace(" ", "\n"), justify="right", no_wrap=True)
    with_std = console.width >= 14 * (len(heads) + len(methods))
    table.collapse_padding = not with_std
    most = max(e.n for _, entries in rows for e in entries if e)
    for label, entries in rows:
        marks = bests(methods, entries)
        texts = (_cell_text(e, best, with_std, most) for e, best in zip(entries, marks, strict=True))
        table.add_row(*map(Text, label), *texts)
    deviation = " ± standard deviation" if with_std else " (widen the window for standard deviations)"
    legend = f"Percent, mean{deviation} over {seeds_of(rows)}."
    if any(e and e.paper for _, entries in rows for e in entries):
        legend += " Second line: the paper. Bold: the better of softmax and T-similarity."
    return table, legend


def _cell_text(e: Entry | None, best: bool, with_std: bool, most: int) -> Text:
    from rich.text import Text

    if e is None:
        return Text("-")
    ours, paper = (
        (f"{mean:.1f} ±{std:4.1f}" if with_std else f"{mean:.1f}") for mean, std in (e[:2], e.paper or e[:2])
    )
    text = Text(ours + (f" [{e.n}]" if e.n < most else ""), "bold" if best else "")
    return text.append(f"\n{paper}", "dim") if e.paper else text


def _table(*heads: str, right: tuple[int, ...] = ()) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(*heads, box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    table.columns[0].no_wrap = True
    for column in right:
        table.columns[column].justify = "right"
    return table


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
