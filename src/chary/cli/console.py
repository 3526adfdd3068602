"""What every command needs: files and texts in; a table, a sentence, plain text or JSON out."""

from __future__ import annotations

import glob
import json
import math
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, BinaryIO

from chary._files import atomic_writes, folders_for, probe, why_unreadable
from chary._words import listed, visible

if TYPE_CHECKING:
    from rich.console import Console

    from chary.tables import Table


def require_readable(*files: str | os.PathLike[str]) -> None:
    """Refuse a file that cannot be opened before anything heavy is imported."""
    for path in files:
        file = os.fspath(path)
        if file == "-" or (glob.has_magic(file) and not os.path.lexists(file)):
            continue  # standard input, or a pattern
        if sentence := why_unreadable(file):
            raise ValueError(sentence)


def read_quietly(files: Sequence[str | os.PathLike[str]], **how: Any) -> Table:
    """Read a table; what Polars itself says of a damaged file, before it raises, is not repeated."""
    from chary.tables import read_table

    with quietly():
        return read_table(files, **how)


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


def require_free(paths: Iterable[Path], force: bool, n_bytes: int = 0) -> None:
    """Refuse before any work what could not be written after it; at least so many bytes will be."""
    paths = list(paths)
    there = [str(path) for path in paths if os.path.lexists(path) and not force]
    if there:
        exist, them = ("exist", "them") if len(there) > 1 else ("exists", "it")
        raise ValueError(
            f"{listed(there)} {exist} already; pass --force to overwrite {them}, or --out for another folder."
        )
    for path in paths:
        folder = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{folder} is a file, so nothing can be written in it; give --out a folder.")
    probe(paths, overwrite=True, n_bytes=n_bytes)


@contextmanager
def writing(paths: Iterable[Path], force: bool) -> Iterator[list[BinaryIO]]:
    """Open files that all appear when the block ends, or none, in folders made for them if need be."""
    paths = list(paths)
    with folders_for(paths), atomic_writes(paths, overwrite=force) as files:
        yield files


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """A spinner on the error stream that names the step at hand; nothing where that is not a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    heed_interrupts()
    console = stderr()
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    if not console.is_terminal:  # a disabled bar of an older Rich still ends its line
        yield lambda step: None
        return
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("")
        yield lambda step: progress.update(task, description=step)


def heed_interrupts() -> None:
    """Have Ctrl-C heard: Polars, once imported, puts a handler of its own in place, which can swallow it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler and current_thread() is main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def print_json(figures: dict[str, Any]) -> None:
    """Figures for a program; infinity, which JSON lacks, is null."""
    sys.stdout.write(json.dumps(_finite(figures), indent=2) + "\n")


def plain(text: object, limit: int = 60) -> str:
    """Text from elsewhere: visible, short, and no markup.

    >>> plain("[red]\\x1b[1m")
    '\\\\[red]\\\\x1b[1m'
    """
    from rich.markup import escape

    return escape(visible(text, limit))


def stdout() -> Console:
    """Where results go."""
    from rich.console import Console

    return Console(file=sys.stdout)


def stderr() -> Console:
    """Where everything else goes."""
    from rich.console import Console

    return Console(file=sys.stderr)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
