"""Files, folders and patterns in; which of them become which outputs, and what of that is done already, out."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from chary._words import Parameter, shown
from chary.jobs.predictor import Predictor
from chary.jobs.records import finished
from chary.jobs.streamed import FileTask, Labelled
from chary.tables import TableError, file_kind, find_sources


class Shard(NamedTuple):
    """A part of the files, for one of several machines: the ``number``-th of ``of``, from 1."""

    number: int = 1
    of: int = 1


class Plan(NamedTuple):
    """What is to be done."""

    tasks: list[FileTask]
    done: list[Labelled]  # finished by a run before, and verified
    failed: list[tuple[str, TableError]]  # files that cannot be labelled, and why
    notes: list[str]


def is_one_file(given: Sequence[str]) -> bool:
    """Whether one file is meant by its name, or standard input; a folder and a pattern mean several."""
    return len(given) == 1 and (given[0] == "-" or (not os.path.isdir(given[0]) and not _is_pattern(given[0])))


def output_of_one(source: str, out: Path | None, format: str | None) -> Path:
    """Where the labelled rows of one file go: next to it, or into a folder, under a name that says what it is."""
    table = file_kind(source).written_as(format)
    return (out or table.folder) / f"{table.stem}.predicted{table.suffix}"


def plan_files(
    predictor: Predictor, given: Sequence[str], out: Path | None, task: FileTask, shard: Shard | None = None
) -> Plan:
    """One output for each file.

    Into the folder ``out`` go files of the same names, as deep as they were; without it an output is next to its
    input, called FILE.predicted. ``task`` holds the settings of all of them. A file whose output is there, whole,
    and made of it with this model and these settings, is done.
    """
    shard = shard or Shard()
    if not 1 <= shard.number <= shard.of:
        raise TableError(f"There is no part {shard.number} of {shard.of}; parts are counted from 1.")
    sources, notes = find_sources(list(given))
    roots = _roots(given)
    mine = [source.path for k, source in enumerate(sources) if source.path and k % shard.of == shard.number - 1]
    plan = Plan([], [], [], notes)
    outputs: dict[str, Path] = {}
    inputs = {os.path.realpath(source.path) for source in sources if source.path}
    for path in mine:
        try:
            output = _output(path, out, roots[path], task.format)
            _refuse_clash(path, output, outputs, inputs)
            settings = {**task.settings, **predictor.settings}
            record = None if task.overwrite else finished(output, path, predictor.digest, settings)
        except TableError as error:
            plan.failed.append((str(path), error))
            continue
        if record is None:
            plan.tasks.append(replace(task, source=str(path), output=str(output), recorded=True))
        else:
            plan.done.append(Labelled.before(str(output), record))
    return plan


def _output(path: Path, out: Path | None, root: Path, format: str | None) -> Path:
    table = file_kind(path).written_as(format)
    if out is None:
        return path.parent / f"{table.stem}.predicted{table.suffix}"
    folder = out / path.parent.resolve().relative_to(root.resolve())
    return folder / (path.name if format is None else f"{table.stem}{table.suffix}")


def _refuse_clash(path: Path, output: Path, outputs: dict[str, Path], inputs: set[str]) -> None:
    """No output may take the place of another, or of an input."""
    name = os.path.realpath(output)
    if name in outputs:
        raise TableError(
            f"{shown(outputs[name], 200)} and {shown(path, 200)} would both be written to {output}; rename one."
        )
    if name in inputs:
        raise TableError(
            f"The output of {shown(path, 200)} would take the place of an input; choose another folder with ",
            Parameter("out"),
            ".",
        )
    outputs[name] = path


def _roots(given: Sequence[str]) -> dict[Path, Path]:
    """For each file the folder from which on its place is kept: the folder given, or where a pattern begins."""
    roots: dict[Path, Path] = {}
    plain = [one for one in given if not os.path.isdir(one) and not _is_pattern(one)]
    shared = (
        Path(os.path.commonpath([os.path.dirname(os.path.abspath(one)) for one in plain])) if plain else Path()
    )
    for one in given:
        root = shared if one in plain else Path(one) if os.path.isdir(one) else _start(one)
        for source in find_sources([one])[0]:
            if source.path is not None:
                roots[source.path] = root
    return roots


def _start(pattern: str) -> Path:
    """The folders of a pattern before the first that is none of them.

    >>> str(_start("in/2024-*/*.csv")), str(_start("*.csv"))
    ('in', '.')
    """
    parts = Path(pattern).parent.parts
    fixed = next((k for k, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return Path(*parts[:fixed])


def _is_pattern(given: str) -> bool:
    return glob.has_magic(given) and not os.path.lexists(given)
