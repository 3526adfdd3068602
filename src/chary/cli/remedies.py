"""An error, or a table and what to do with it, in; options and commands to type, quoted for a shell, out."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from chary._words import Parameter, Step, visible

if TYPE_CHECKING:
    from chary.tables import Table

# Parameters that are called otherwise where they are typed, and what to type for a step.
_OPTIONS = {"identifier": "--id", "overwrite": "--force"}
_COMMANDS = {"draw": "audit draw", "fill": "audit fill", "label": "label", "judge": "judge"}


def sentence(error: BaseException) -> str:
    """What an error says, with options where it speaks of parameters and commands where of steps."""
    in_parts = any(isinstance(part, Parameter | Step) for part in error.args)
    return "".join(map(_typed, error.args)) if in_parts else str(error)


def option(name: str) -> str:
    """How a parameter is typed.

    >>> option("class_prior"), option("identifier")
    ('--class-prior', '--id')
    """
    return _OPTIONS.get(name, f"--{name.replace('_', '-')}")


def command(table: Table, verb: str, target: str, unlabeled: str | Sequence[str] | None = None, *more: str) -> str:
    """A command on a table, to be copied into a shell.

    >>> import polars as pl
    >>> from chary.tables import Table
    >>> command(Table(pl.DataFrame(), "my data.csv", path="in/my data.csv"), "label", "y", "?")
    "chary label 'in/my data.csv' --target y --unlabeled '?'"
    """
    markers = [unlabeled] if isinstance(unlabeled, str) else unlabeled or ()
    told = [*(("unlabeled", marker) for marker in markers), *table.read_with.items()]
    given = [word for name, value in told for word in (option(name), value)]
    paths = [table.path or table.name, *table.more_paths]
    return shlex.join(["chary", *verb.split(), *paths, "--target", target, *given, *more])


def _typed(part: str | Parameter | Step) -> str:
    if isinstance(part, Parameter):
        value = [] if part.value is None else [shlex.quote(visible(part.value, 60))]
        return " ".join([option(part.name), *value])
    if isinstance(part, Step):
        return " ".join(["chary", _COMMANDS[part.name], *([shlex.quote(part.path)] if part.path else [])])
    return part
