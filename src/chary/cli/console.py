"""What every command needs: its options, reading and writing files, and what it says on the terminal."""

from __future__ import annotations

import functools
import inspect
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from chary._files import atomic_writes, make_folders, probe
from chary._words import Parameter, Step, command_line, finite, listed, visible
from chary.options import (
    FORMAT_WORDS,
    OUTPUT,
    Declaration,
    DrawOptions,
    LabelOptions,
    Options,
    declarations,
    flag_of,
)

if TYPE_CHECKING:
    from rich.console import Console

    from chary.tables import Source, Table

FORMATS_READ = f"{listed(FORMAT_WORDS.values(), 'or')}, text also in gzip"
TABLE = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help=f"{FORMATS_READ}; several files, a folder or a pattern are one table; - is standard input.",
    ),
]
JSON = Annotated[
    bool, typer.Option("--json", help="Print figures for a program.", rich_help_panel=OUTPUT)
]
# What to type for a step that an error speaks of.
_COMMANDS = {"draw": "audit draw", "fill": "audit fill", "label": "label", "judge": "judge"}


# ---------------------------------------------------------------- what is typed


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Have a command take each option of its parameter ``options`` in place of that parameter."""
    parameters = inspect.signature(command, eval_str=True).parameters
    options_class = parameters["options"].annotation
    options = {
        name: _parameter(options_class, name, declaration)
        for name, declaration in declarations(options_class).items()
    }
    keywords: list[inspect.Parameter] = []
    for name, parameter in parameters.items():
        if name == "options":
            keywords += options.values()
        else:
            keywords.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**typed: Any) -> None:
        chosen = options_class.typed(**{name: typed.pop(name) for name in options})
        command(**typed, options=chosen)

    run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {keyword.name: keyword.annotation for keyword in keywords}
    return run


def _parameter(command: type[Options], name: str, declaration: Declaration) -> inspect.Parameter:
    """Make the parameter from which Typer makes a command's option."""
    default = getattr(command, name, inspect.Parameter.empty)
    kind = declaration.typed_as
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
    """What an error says, with options where it speaks of parameters and commands where of steps."""
    in_parts = any(isinstance(part, Parameter | Step) for part in error.args)
    return "".join(map(_typed, error.args)) if in_parts else str(error)


def _typed(part: str | Parameter | Step) -> str:
    if isinstance(part, Parameter):
        value = [] if part.value is None else [command_line([visible(part.value, 60)])]
        return " ".join([flag_of(part.name), *value])
    if isinstance(part, Step):
        return " ".join(
            ["chary", _COMMANDS[part.name], *([command_line([part.path])] if part.path else [])]
        )
    return part


# ---------------------------------------------------------------- files


def open_table(
    files: Sequence[str | os.PathLike[str]], options: LabelOptions | DrawOptions
) -> Table | Source:
    """Open a table: in memory if it fits there, otherwise to be read in parts.

    What Polars itself says of a damaged file, before it raises, is not repeated.
    """
    from chary.tables import open_source
    from chary.tables.table import free_memory

    given, allowed = [os.fspath(file) for file in files], options.memory or free_memory() // 2
    with quietly():
        source = open_source(given, **options.reading, memory=allowed)
        table = source if source.exceeds(allowed) else source.read()
        return table.written_as(options.format)


@contextmanager
def quietly() -> Iterator[None]:
    """Nothing that a library writes to the error stream is seen."""
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
    """Refuse before any work what could not be written after it."""
    paths = list(paths)
    there = [str(path) for path in paths if os.path.lexists(path) and not force]
    if there:
        exist, them = ("exist", "them") if len(there) > 1 else ("exists", "it")
        raise ValueError(
            f"{listed(there)} {exist} already; pass --force to overwrite {them}, or --out for another folder."
        )
    probe(paths, overwrite=True)


@contextmanager
def writing(paths: Iterable[Path], force: bool) -> Iterator[list[BinaryIO]]:
    """Open files that all appear when the block ends, or none, in folders made for them if need be."""
    paths = list(paths)
    make_folders(paths)
    with atomic_writes(paths, overwrite=force) as files:
        yield files


# ---------------------------------------------------------------- the terminal


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """A bar on the error stream with the step at hand, the share done and the time left; nothing in a file."""
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
    from rich.text import Text

    heed_interrupts()
    console = stderr()
    if not console.is_terminal:  # a disabled bar of an older Rich still ends its line
        yield lambda step: None
        return
    from chary.report import Pace

    pace = Pace()

    class Left(ProgressColumn):
        def render(self, task: Task) -> Text:
            task.completed = pace.share
            return Text(pace.words)

    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), Left()
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=1.0)

        def step(name: str) -> None:
            pace.step(name)
            progress.update(bar, description=name)

        yield step


def heed_interrupts() -> None:
    """Have Ctrl-C heard: Polars, once imported, puts a handler of its own in place, which can swallow it."""
    if (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
        and current_thread() is main_thread()
    ):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def tell(
    figures: Mapping[str, Any],
    show: Callable[[Console], None],
    as_json: bool,
    paths: Mapping[str, Path] | None = None,
) -> None:
    """What was found and the files that were written by what they are: for a program, or for a person."""
    files = {} if paths is None else {kind: str(path) for kind, path in paths.items()}
    if as_json:
        print_json({**figures, "files": files} if files else figures)
        return
    show(stdout())
    for kind, path in files.items():
        say(f"{kind:>8}  {visible(path, 500)}")


def print_json(figures: Mapping[str, Any]) -> None:
    """Figures for a program; infinity, which JSON lacks, is null."""
    sys.stdout.write(json.dumps(finite(figures), indent=2) + "\n")


def say(text: str, style: str = "") -> None:
    """Words with names of files in them, on the terminal."""
    from rich.text import Text

    seen = "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )
    stdout().print(Text(seen, style), soft_wrap=True)


def complain(sentence: str) -> None:
    """What went wrong, on the error stream."""
    from rich.text import Text

    stderr().print(
        Text.assemble(("chary:", "bold red"), " ", visible(sentence, 800)), soft_wrap=True
    )


def stdout() -> Console:
    """Where results go."""
    from rich.console import Console

    return Console(file=sys.stdout)


def stderr() -> Console:
    """Where everything else goes."""
    from rich.console import Console

    return Console(file=sys.stderr)
