"""The commands of the studies: ``python -m studies list | run | report | import | datasets``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import joblib
import typer
from rich import box, progress
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

import studies
from studies import GROUPS, NAMES, Cell, Store, Study, datasets, find_study
from studies.datasets import FACTS, DatasetError, dataset_title
from studies.results import import_results, results_of, to_markdown, write_report
from studies.runner import Interrupted, Progress
from studies.store import key_of

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="The paper's tables and figures, and more: run, resume, report.",
)
datasets_app = typer.Typer(
    invoke_without_command=True, help="The benchmark data sets: what is here, and the rest."
)
app.add_typer(datasets_app, name="datasets")

_NAME = Annotated[str, typer.Argument(help="A study; `list` shows them.")]
_DATASETS = Annotated[
    str, typer.Option(help="Names, separated by commas; `all` for those of the study.")
]
_METHODS = Annotated[
    str, typer.Option(help="Methods, separated by commas; `all` for those of the study.")
]
_SEEDS = Annotated[
    int | None, typer.Option(min=1, help="How many seeds. Default: the study's own, mostly nine.")
]
_PROTOCOL = Annotated[
    str, typer.Option(help="`authors`: as the authors of the paper seem to have run it.")
]
_STORE = Annotated[Path, typer.Option(help="Directory of finished cells.")]
_OUT = Annotated[
    Path | None,
    typer.Option(help="Default: results beside the store; partial if cells are missing."),
]
CELLS = Path("studies/cells")


class Slice(NamedTuple):
    """The part of a study that `run` works out and `report` shows."""

    study: Study
    datasets: list[str] | None
    methods: list[str] | None
    seeds: int | None

    @classmethod
    def of(cls, name: str, datasets: str, methods: str, seeds: int | None, protocol: str) -> Slice:
        """From the words of the command line."""
        if protocol not in ("ours", "authors"):
            raise ValueError(f"There is no protocol {protocol!r}; choose ours or authors.")
        if protocol == "authors" and not name.endswith("-authors"):
            if f"{name}-authors" not in NAMES:
                find_study(name)  # refuses a name that is wrong
                raise ValueError(f"The study {name} has one protocol only; leave --protocol out.")
            name = f"{name}-authors"
        return cls(find_study(name), _parts(datasets), _parts(methods), seeds)

    def cells(self, study: Study | None = None) -> list[Cell]:
        """Those of the study, or the same of another that has some of its methods."""
        if study is None:
            return self.study.cells(self.datasets, self.seeds, self.methods)
        shared = [method for method in self.methods or study.methods if method in study.methods]
        return study.cells(self.datasets, self.seeds, shared) if shared else []

    def command(self, verb: str, store: Path) -> str:
        """How to ask for the same slice."""
        options = {
            "datasets": self.datasets,
            "methods": self.methods,
            "store": [str(store)] * (store != CELLS),
        }
        words = [
            f"--{name} {shlex.quote(','.join(some))}" for name, some in options.items() if some
        ]
        words += [f"--seeds {self.seeds}"] if self.seeds else []
        return " ".join(["python -m studies", verb, self.study.name, *words])


@app.command("list")
def list_studies(store: _STORE = CELLS) -> None:
    """Show the studies and how far each is."""
    finished = Store(store)
    for title, names in GROUPS.items():
        table = _table("Study", "What is studied", "Sets", "Cells", "Done", right=(2, 3, 4))
        table.title, table.title_style = title, "bold"
        for name in names:
            try:
                study = find_study(name)
            except ValueError as missing:  # PyTorch
                table.add_row(name, Text(str(missing)))
                continue
            keys = [key_of(cell.content()) for cell in study.cells()]
            done = sum(finished.path(key).exists() for key in keys)
            both = " (also --protocol authors)" if f"{name}-authors" in NAMES else ""
            table.add_row(
                name, study.title + both, *map(str, (len(study.datasets), len(keys), done))
            )
        _say(table)


@app.command("run")
def run_study(
    name: _NAME,
    datasets: _DATASETS = "all",
    methods: _METHODS = "all",
    seeds: _SEEDS = None,
    protocol: _PROTOCOL = "ours",
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Worker processes. Default: one per core.")
    ] = None,
    store: _STORE = CELLS,
    again: Annotated[
        bool, typer.Option("--again", help="Delete finished cells of this slice and run them anew.")
    ] = False,
) -> None:
    """Work out what is missing of a study. Stop it any time; run it again to resume."""
    part = Slice.of(name, datasets, methods, seeds, protocol)
    cells = part.cells()
    _refuse_missing(part.study, cells)
    with _display(part.study.name) as show:
        done = studies.run(
            part.study,
            cells,
            Store(store),
            jobs=jobs or joblib.cpu_count(),
            again=again,
            report=show,
        )
    _say(f"{done.n_done} cells worked out, {done.n_found} were there, {len(done.failed)} failed.")
    if done.n_found:
        _say(f"Cells that were there are reused from {store}; --again runs them anew.")
    for cell, reason in done.failed[:10]:
        error = reason.partition("\n")[0]
        _say(f"Failed: {dataset_title(cell.dataset)}, {cell.method}, seed {cell.seed}: {error}")
    for trace in dict.fromkeys(
        trace for _, reason in done.failed[:10] if (trace := reason.partition("\n")[2])
    ):
        _say(trace.rstrip())
    if done.n_damaged:
        _say(f"{done.n_damaged} damaged files were set aside (.corrupt) and count as missing.")
    if done.failed:
        raise typer.Exit(1)
    _say(f"Next:  {part.command('report', store)}")


@app.command()
def report(
    name: _NAME,
    datasets: _DATASETS = "all",
    methods: _METHODS = "all",
    seeds: _SEEDS = None,
    protocol: _PROTOCOL = "ours",
    store: _STORE = CELLS,
    out: _OUT = None,
) -> None:
    """Print a study beside the paper, and write its files.

    They are Markdown, CSV, a figure, and one file with all cells.
    """
    part, finished = Slice.of(name, datasets, methods, seeds, protocol), Store(store)
    study = part.study
    results = results_of(part.cells(), finished)
    if not results:
        raise ValueError(
            f"Nothing of this is finished in {store}; run `{part.command('run', store)}`."
        )
    companion = results_of(
        part.cells(find_study(study.companion)) if study.companion else [], finished
    )
    _say(Markdown(to_markdown(study, results, companion)))
    is_whole = len(results) == len({key_of(cell.content()) for cell in study.cells()})
    folder = (out or store.parent / ("results" if is_whole else "partial")) / study.name
    written = write_report(study, results, folder, companion)
    _say(f"Written to {folder}: {', '.join(path.name for path in written)}")


@app.command("import")
def import_cells(
    path: Annotated[Path, typer.Argument(help="The cells.json.gz of a report.")],
    store: _STORE = CELLS,
) -> None:
    """Put the cells of a report into the store: a run then works out only what is missing."""
    finished, results = Store(store), import_results(path)
    new = [
        (cell, result) for cell, result in results if finished.read(key_of(cell.content())) is None
    ]
    for cell, result in new:
        finished.write(cell.content(), result, {"from": path.name})
    _say(f"{len(new)} cells put into {store}, {len(results) - len(new)} were there.")


@datasets_app.callback()
def list_datasets(context: typer.Context) -> None:
    """Show the data sets: facts, origin, licence, whether they are here, and what to beware of."""
    if context.invoked_subcommand:
        return
    table = _table(
        "Name", "Rows", "Features", "Classes", "Labels", "r", "Here", right=(1, 2, 3, 4, 5)
    )
    for facts in FACTS:
        numbers = (facts.n, facts.d, facts.n_classes, facts.n_labeled)
        table.add_row(
            facts.name, *map(str, numbers), f"{facts.r:g}", "yes" if facts.where else "no"
        )
    _say(table)
    for facts in FACTS:
        beware = f" Beware: {facts.caution}." if facts.caution else ""
        _say(
            Text.assemble(
                (facts.name, "bold"), f": {facts.origin}. Licence: {facts.licence}.{beware}"
            )
        )
    _say(
        "\n"
        "`python -m studies datasets fetch NAME` downloads one; CHARY_DATA names a directory that "
        "holds them."
    )


@datasets_app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="A data set, or `all` for those that are not here.")],
) -> None:
    """Download a data set from its home into the cache, verified."""
    names = [facts.name for facts in FACTS if not facts.where] if name == "all" else [name]
    failed = False
    for one in names:
        try:
            path = datasets.fetch(one)
            _say(f"{dataset_title(one)}: {path or 'comes with scikit-learn, nothing to do'}")
        except DatasetError as error:  # the others may be had all the same
            failed = bool(_fail(str(error), 1))
    if failed:
        raise typer.Exit(1)


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 is success, 1 a bad input told in one sentence, 130 an interruption, 143 a SIGTERM.
    """
    try:
        code: int = app(arguments, prog_name="python -m studies", standalone_mode=False) or 0
        return _fail("Interrupted; run again to resume.", 130) if code == 130 else code
    except Interrupted as error:
        return _fail(str(error), error.exit_code)
    except (ValueError, OSError, RuntimeError) as error:
        return _fail(str(error), 1)
    except Exception as error:  # a usage error of Click, under whichever name Typer ships it
        if not hasattr(error, "format_message"):
            raise
        message = error.format_message()  # without a word: the help was shown
        return _fail(f"{message.rstrip('.')}; try --help.", 1) if message else 0


def _fail(sentence: str, code: int) -> int:
    Console(stderr=True).print(Text.assemble(("studies: ", "bold red"), sentence), soft_wrap=True)
    return code


def _parts(text: str) -> list[str] | None:
    """Names separated by commas; None for "all"."""
    return None if text == "all" else [part.strip() for part in text.split(",") if part.strip()]


def _refuse_missing(study: Study, cells: list[Cell]) -> None:
    names = list(dict.fromkeys(cell.dataset for cell in cells))
    absent = study.source.absent(names)
    if absent:
        here = ",".join(name for name in names if name not in absent) or study.source.anywhere
        raise DatasetError(
            f"Not on this machine: {', '.join(absent)}; set CHARY_DATA to the directory that holds "
            f"them, {study.source.advice}or choose with --datasets {here}."
        )


@contextmanager
def _display(name: str) -> Iterator[Callable[[Progress], None]]:
    """Count cells and time left on one line, on a terminal alone."""
    console = Console(stderr=True)
    state = progress.TextColumn("{task.fields[state]}, time left")
    columns = (
        progress.TextColumn(name),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        state,
    )
    with progress.Progress(
        *columns,
        progress.TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(name, total=None, state="")

        def show(now: Progress) -> None:
            state = f"{now.n_running} running, {len(now.failed)} failed"
            bar.update(task, total=now.n_cells - now.n_found, completed=now.n_done, state=state)

        yield show


def _say(*parts: Any) -> None:
    """Sentences, as they are, and tables."""
    console = Console(file=sys.stdout)
    for part in parts:
        console.print(Text(part) if isinstance(part, str) else part)


def _table(*heads: str, right: tuple[int, ...] = ()) -> Table:
    table = Table(*heads, box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    table.columns[0].no_wrap = True
    for column in right:
        table.columns[column].justify = "right"
    return table


if __name__ == "__main__":
    sys.exit(main())
