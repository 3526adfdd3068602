"""What every command needs: options, reading and writing files, and words on the terminal."""

from __future__ import annotations

import functools
import gc
import glob
import inspect
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TypeVar

import typer

from chary._files import atomic_writes, make_folders, probe, why_unreadable
from chary._words import Parameter, Step, command_line, escaped, finite, listed, visible
from chary.options import (
    FORMAT_WORDS,
    OUTPUT,
    Declaration,
    DrawOptions,
    GivenPath,
    LabelOptions,
    Options,
    declarations,
    flag_of,
)

if TYPE_CHECKING:
    from rich.console import Console

    from chary.report import Hints
    from chary.tables import Source, Table

FORMATS_READ = f"{listed(FORMAT_WORDS.values(), 'or')}, text also in gzip"
TABLE = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help=f"{FORMATS_READ}; several files, a folder or a pattern are one table; "
        "- is standard input.",
    ),
]
JSON = Annotated[
    bool, typer.Option("--json", help="Print figures for a program.", rich_help_panel=OUTPUT)
]

# The command by the name of a ``Step`` that an error suggests.
_COMMANDS = {"draw": "audit draw", "fill": "audit fill", "label": "label", "judge": "judge"}

Figures = TypeVar("Figures", bound=Mapping[str, Any])


# ---------------------------------------------------------------- what is typed


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter ``options`` of a command by one parameter for each option.

    A command is written as ``label_command(file, options: LabelOptions)``. Typer makes a flag of
    each parameter, so it is given ``run(*, file, target, unlabeled, ...)`` instead, which collects
    the options that were typed and calls the command.
    """
    parameters = inspect.signature(command, eval_str=True).parameters
    options_class = parameters["options"].annotation
    option_parameters = {}
    for name, declaration in declarations(options_class).items():
        option_parameters[name] = _parameter(options_class, name, declaration)

    @functools.wraps(command)
    def run(**typed: Any) -> None:
        texts = {name: typed.pop(name) for name in option_parameters}
        command(**typed, options=options_class.typed(**texts))

    run_parameters: list[inspect.Parameter] = []
    for name, parameter in parameters.items():
        if name == "options":
            run_parameters += option_parameters.values()
        else:
            run_parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    # Typer reads the parameters and their types from these two attributes.
    run.__signature__ = inspect.Signature(run_parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in run_parameters}
    return run


def import_libraries(files: Iterable[str]) -> None:
    """Import all that reads tables and learns from them, unless a file cannot be opened.

    Such a file is refused before the imports, which take more than a second.
    """
    _refuse_unreadable(files)
    _import_uncollected()


@functools.cache
def _import_uncollected() -> None:
    """Import libraries while Python does not collect garbage, and have it ignore them later.

    They are hundreds of thousands of objects that stay until the end. To look through them for
    garbage, again and again, takes a tenth of the time of labelling a small table.
    """
    # A program that calls a command may have its own reason not to collect garbage.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        import_module("chary.tables")  # with NumPy, SciPy, scikit-learn and Polars
    finally:
        if was_enabled:
            gc.enable()
    gc.freeze()


def _refuse_unreadable(files: Iterable[str]) -> None:
    for file in files:
        is_pattern = glob.has_magic(file) and not os.path.lexists(file)
        if file == "-" or is_pattern:
            continue
        refusal = why_unreadable(file)
        if refusal is not None:
            raise ValueError(refusal)


def _parameter(command: type[Options], name: str, declaration: Declaration) -> inspect.Parameter:
    """Make the parameter that Typer turns into the flag of an option."""
    default = getattr(command, name, inspect.Parameter.empty)
    kind = declaration.typed_as
    # Typer knows an option without a default value by None.
    if default in (None, ()):
        default = None
        kind |= None
    option = typer.Option(
        *(declaration.flags or (flag_of(name),)),
        help=declaration.help,
        metavar=declaration.metavar,
        rich_help_panel=declaration.panel,
        min=declaration.min,
        max=declaration.max,
        show_default=declaration.default_help or True,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, option],
    )


def sentence(error: BaseException) -> str:
    """Write an error's sentence, with parameters as options and steps as commands.

    >>> sentence(ValueError("Too many columns; pass ", Parameter("drop", "a"), "."))
    'Too many columns; pass --drop a.'
    """
    if any(isinstance(part, Parameter | Step) for part in error.args):
        return "".join(map(_as_typed, error.args))
    return str(error)


def _as_typed(part: str | Parameter | Step) -> str:
    """Write a part of an error's sentence as it is typed."""
    if isinstance(part, Parameter):
        flag = flag_of(part.name)
        if part.value is None:
            return flag
        return f"{flag} {command_line([visible(part.value, 60)])}"
    if isinstance(part, Step):
        command = f"chary {_COMMANDS[part.name]}"
        if part.path:
            return f"{command} {command_line([part.path])}"
        return command
    return part


# ---------------------------------------------------------------- files


def open_table(files: Sequence[GivenPath], options: LabelOptions | DrawOptions) -> Table | Source:
    """Open a table: in memory if it fits there, otherwise to be read in parts.

    Messages that Polars prints about a damaged file are hidden, as its exception says the same.
    """
    from chary.tables import free_memory, open_source

    paths = [os.fspath(file) for file in files]
    memory = options.memory or free_memory() // 2
    with quietly():
        source = open_source(paths, **options.reading, memory=memory)
        if source.exceeds(memory):
            return source.written_as(options.format)
        return source.read().written_as(options.format)


@contextmanager
def quietly() -> Iterator[None]:
    """Hide what libraries write to the error stream, even from compiled code.

    For a moment, the file descriptor 2, which is the error stream, leads to the null device.
    """
    sys.stderr.flush()
    original = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(original, 2)
        os.close(original)


def require_free(paths: Iterable[Path], force: bool) -> None:
    """Refuse, before any work, files that could not be written after it."""
    paths = list(paths)
    existing = [str(path) for path in paths if os.path.lexists(path)]
    if existing and not force:
        exist, them = ("exist", "them") if len(existing) > 1 else ("exists", "it")
        raise ValueError(
            f"{listed(existing)} {exist} already; pass --force to overwrite {them}, or --out for "
            "another folder."
        )
    probe(paths, overwrite=True)


@contextmanager
def writing(paths: Iterable[Path], force: bool) -> Iterator[list[BinaryIO]]:
    """Open files that appear together when the block ends, or not at all; make their folders."""
    paths = list(paths)
    make_folders(paths)
    with atomic_writes(paths, overwrite=force) as files:
        yield files


# ---------------------------------------------------------------- the terminal


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """Show how far the work is on a terminal; nothing elsewhere.

    Yields
    ------
    callable
        To be called with the name of each step when it begins. The bar then shows that name, the
        share of the work that is done, and the time left.
    """
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
    from rich.text import Text

    heed_interrupts()
    console = stderr()
    if not console.is_terminal:  # a disabled bar of an older Rich still ends its line
        yield lambda step: None
        return
    from chary.report import Pace

    pace = Pace()

    class TimeLeft(ProgressColumn):
        """The share done and the time left."""

        def render(self, task: Task) -> Text:
            """Write share and time, and move the bar."""
            task.completed = pace.share
            return Text(pace.words)

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), TimeLeft())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=1.0)

        def step(name: str) -> None:
            pace.step(name)
            progress.update(bar, description=name)

        yield step


def heed_interrupts() -> None:
    """Set Python's handler of Ctrl-C again.

    Polars, once imported, installs a handler of its own, which Python does not see and which can
    swallow Ctrl-C.
    """
    default = signal.default_int_handler
    if current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is default:
        signal.signal(signal.SIGINT, default)


def tell(
    figures: Figures,
    show: Callable[[Console, Figures, Hints], None],
    hints: Hints,
    as_json: bool,
    paths: Mapping[str, Path] | None = None,
) -> None:
    """Print figures and the files that were written: as JSON for a program, or for a person.

    Parameters
    ----------
    figures : mapping
        The summary of a result.
    show : callable
        Shows the summary to a person.
    hints : Hints
        The commands that it may suggest.
    as_json : bool
        Print for a program.
    paths : mapping of str to Path, default=None
        The files, by what they hold.
    """
    files = {kind: str(path) for kind, path in (paths or {}).items()}
    if as_json:
        print_json({**figures, "files": files} if files else figures)
        return
    show(stdout(), figures, hints)
    for kind, path in files.items():
        say(f"{kind:>8}  {visible(path, 500)}")


def print_json(figures: Mapping[str, Any]) -> None:
    """Print figures for a program; infinity, which JSON lacks, is null."""
    sys.stdout.write(json.dumps(finite(figures), indent=2) + "\n")


def say(text: str, style: str = "") -> None:
    """Print words; characters that are not printable, as names of files may have, are escaped."""
    from rich.text import Text

    stdout().print(Text(escaped(text, allowed="\n"), style), soft_wrap=True)


def complain(sentence: str) -> None:
    """Print what went wrong, on the error stream."""
    from rich.text import Text

    words = Text.assemble(("chary:", "bold red"), " ", visible(sentence, 800))
    stderr().print(words, soft_wrap=True)


def stdout() -> Console:
    """Make the console for results."""
    from rich.console import Console

    return Console(file=sys.stdout)


def stderr() -> Console:
    """Make the console for everything else."""
    from rich.console import Console

    return Console(file=sys.stderr)
