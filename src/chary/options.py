"""Everything a user can choose when labelling or judging a table, in one object.

The command line, Python and the page in the browser all build an ``Options`` and hand it down as it is. A field
says here, once, what it means, which commands take it, how it is typed and how it is read; the commands are made
from that, and every command that chary prints is written by ``Options.command``, so that no option is forgotten.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from chary._words import listed

AUDIT_SIZE = 30  # rows to draw where nobody says how many
# The kinds of files, by the extension of those that are written, and what people call them.
FORMATS = {"csv": "CSV", "parquet": "Parquet", "jsonl": "JSON lines", "arrow": "Arrow", "xlsx": "Excel"}

_LABELLING = "label diagnose review draw"  # a draw remembers what labels shall be made with
_ALL = f"{_LABELLING} judge"
# What a sheet says in another way, or what concerns the draw alone.
_NOT_KEPT = ("target", "labels", "unlabeled", "exact_labels", "k", "force")
# What labels depend on: others than those that a sheet was drawn with are said.
_COLUMNS = ("drop", "categorical", "numeric", "identifier", "text", "missing", "dates")
_DECIDING = (*_COLUMNS, "features", "class_prior", "aim", "learner", "rounds")

_SEVERAL_SHARES = re.compile(r"=\s*\d[\d.]*\s*%?\s*[,;]")  # a share, and something after it
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?))?b?\s*", re.IGNORECASE)


def _option(
    commands: str,
    default: Any,
    help: str,
    *,
    kind: Any = str,
    flags: Sequence[str] = (),
    required: str = "",
    read: Callable[[Any], Any] | None = None,
    write: Callable[[Any], str | list[str]] = str,
    **typer: Any,
) -> Any:
    """A field of ``Options``.

    ``commands`` are those that take it, ``required`` those that cannot do without it. ``kind`` is the type of what
    is typed: with a bool as default it is a flag, with a tuple an option that can be repeated. ``flags`` is how it
    is typed if not by its name. ``read`` turns what was typed into the value and ``write`` turns it back (into a
    list if the option is repeated). ``typer`` are further parameters of ``typer.Option``.
    """
    if isinstance(default, bool):
        kind = bool
    elif isinstance(default, tuple):
        kind, read, write = list[str], tuple, list
    about = {"commands": commands.split(), "required": required.split(), "help": help, "kind": kind}
    return field(default=default, metadata={**about, "flags": flags, "read": read, "write": write, "typer": typer})


def _share(text: str) -> float:
    """A number, or one in per cent; not a number if it is neither."""
    number = text.strip()
    try:
        return float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        return math.nan


def read_share(text: str, option: str, what: str = "share") -> float:
    """What was typed after an option that takes a share, in per cent or not.

    >>> read_share("20%", "--until-width"), read_share(" 0.1", "--error")
    (0.2, 0.1)
    """
    share = _share(text)
    if not 0 < share < 1:
        raise ValueError(f"{option} {text!r} is no {what}; give one such as 10% or 0.1.")
    return share


def read_requirement(text: str) -> float:
    """What was typed after ``--require``: the accuracy that the labels must have.

    >>> read_requirement("accuracy >= 80%")
    0.8
    """
    what, _, share = text.partition(">=")
    if what.strip() != "accuracy":
        raise ValueError(f"--require {text!r} is not understood; give it as in --require 'accuracy>=80%'.")
    return read_share(share, "--require accuracy>=", "accuracy")


def read_prior(texts: Sequence[str]) -> dict[str, float] | str | None:
    """What was typed after ``--class-prior``: nothing, "labeled", or NAME=SHARE once for each class.

    >>> read_prior(["yes=30%", "no=0.7"])
    {'yes': 0.3, 'no': 0.7}
    """
    if list(texts) == ["labeled"]:
        return "labeled"
    shares: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        share = _share(number)
        problem = ""
        if not name or not math.isfinite(share):
            problem = (
                "is not understood; give NAME=SHARE, such as yes=0.3 or yes=30%, once for each class, or the word "
                "labeled"
            )
        elif _SEVERAL_SHARES.search(name):
            problem = (
                "holds more than one class; repeat the option for each, as in --class-prior yes=30% "
                "--class-prior no=70%"
            )
        elif share > 1 and "%" not in number:
            problem = f"is more than all rows; write {text.strip()}% if you mean per cent, or a share such as 0.3"
        elif name in shares:
            problem = f"names {name!r} twice; give each class once"
        if problem:
            raise ValueError(f"--class-prior {text!r} {problem}.")
        shares[name] = share
    return shares or None


def read_size(text: str) -> int:
    """Bytes, as typed after ``--memory``.

    >>> read_size("2GB"), read_size("1.5 GiB"), read_size("800m")
    (2000000000, 1610612736, 800000000)
    """
    found = _SIZE.fullmatch(text)
    power = " kmgt".index((found[2] or " ").lower()) if found else 0
    size = int(float(found[1]) * (1024 if found[3] else 1000) ** power) if found else 0
    if not size:
        raise ValueError(f"--memory {text!r} is no size; give one such as 2GB or 1.5GiB.")
    return size


@dataclass(frozen=True)
class Options:
    """What a user chose; see the help of each field in the source, or ``chary label --help``."""

    target: str | None = _option(
        _LABELLING,
        None,
        "The column that holds the labels.",
        flags=("--target", "-t"),
        required="label diagnose draw",
    )
    labels: tuple[str, ...] = _option(
        "judge review",
        (),
        "Labels that are there already, to judge; twice: which are better.",
        flags=("--labels", "-l"),
        required="judge",
        metavar="COLUMN",
    )
    confidence: str | None = _option(
        "judge review", None, "With --labels: numbers, the larger the surer the label.", metavar="COLUMN"
    )
    unlabeled: tuple[str, ...] = _option(
        _ALL, (), "A cell value that means: no label. Empty cells always do. Repeatable.", metavar="VALUE"
    )
    classes: tuple[str, ...] = _option(
        _ALL,
        (),
        "A cell value that is a class, though it looks like no answer, as unknown or 99 do. Repeatable.",
        flags=("--class",),
        metavar="VALUE",
    )
    exact_labels: bool = _option(
        _ALL, False, "Labels that differ in case or white space only are different classes."
    )
    drop: tuple[str, ...] = _option(_LABELLING, (), "Leave a column out. Repeatable.", metavar="COLUMN")
    categorical: tuple[str, ...] = _option(
        _LABELLING, (), "Numbers in it are names, as postcodes are. Repeatable.", metavar="COLUMN"
    )
    numeric: tuple[str, ...] = _option(_LABELLING, (), "It holds numbers. Repeatable.", metavar="COLUMN")
    identifier: tuple[str, ...] = _option(
        _LABELLING, (), "It only names rows. Repeatable.", flags=("--id",), metavar="COLUMN"
    )
    missing: tuple[str, ...] = _option(
        _LABELLING, (), "A value to treat as missing, such as -9 or age=-9. Repeatable.", metavar="[COLUMN=]CODE"
    )
    dates: tuple[str, ...] = _option(
        _LABELLING,
        (),
        "How 03/04/2024 is meant if a column leaves it open: day-first, month-first or year-first. Repeatable.",
        metavar="[COLUMN=]ORDER",
    )
    text: tuple[str, ...] = _option(_LABELLING, (), "It holds free text. Repeatable.", metavar="COLUMN")
    features: str | os.PathLike[str] | None = _option(
        f"{_LABELLING} predict",
        None,
        "More numbers for each row of FILE, from a model for images or text.",
        kind=Path,
        metavar="FILE.npy",
    )
    audit: str | os.PathLike[str] | None = _option(
        "label judge",
        None,
        "Random rows that a person labelled: the sheet of chary audit draw or of chary judge.",
        kind=Path,
        metavar="FILE",
    )
    k: int = _option(
        "draw judge", AUDIT_SIZE, "How many rows to draw; decide before you look.", kind=int, flags=("-k",), min=2
    )
    checked: str | os.PathLike[str] | None = _option(
        "label draw", None, "Rows to check that a person labelled: --check-sheet.", kind=Path, metavar="FILE"
    )
    check_sheet: bool = _option(
        "label draw", False, "Also write FILE.check.csv: doubtful rows to check and correct."
    )
    class_prior: Mapping[Any, float] | str | None = _option(
        "label draw",
        None,
        "Share of a class among all rows, if you know it. For each class.",
        kind=list[str],
        read=read_prior,
        write=lambda given: given if isinstance(given, str) else [f"{one}={n:.10g}" for one, n in given.items()],
        metavar="NAME=SHARE",
    )
    aim: str = _option(
        "label draw",
        "accuracy",
        "Are rare classes as important as common ones? Then balanced.",
        metavar="accuracy|balanced",
    )
    error: float | None = _option(
        "label draw judge",
        None,
        "Mark the rows to accept with at most so many wrong, as 10%. Needs --audit.",
        read=partial(read_share, option="--error", what="share of wrong labels"),
        write=lambda share: f"{100 * share:.10g}%",
        metavar="SHARE",
    )
    require: float | None = _option(
        "judge",
        None,
        "End with code 3 unless this is shown, with 4 if it is ruled out: accuracy>=80%. Needs --audit.",
        read=read_requirement,
        write=lambda share: f"accuracy>={100 * share:.10g}%",
        metavar="TEXT",
    )
    by: tuple[str, ...] = _option(
        "judge", (), "Accuracy for each value of a column. Repeatable.", metavar="COLUMN"
    )
    hide: tuple[str, ...] = _option(
        "judge", (), "Leave out of the sheet what betrays a label. Repeatable.", metavar="COLUMN"
    )
    learner: Any = _option(
        "label draw",
        "auto",
        "Who learns: mixed (a linear model, trees and boosting), network, linear or boosting; auto: as suits the "
        "labels.",
        metavar="NAME",
    )
    rounds: int | None = _option(
        "label draw",
        None,
        "How often to learn from its own best labels.",
        kind=int,
        min=0,
        max=20,
        show_default="0, 1 or 5, as suits the labels",
    )
    probabilities: bool = _option("label draw predict", False, "Add the probability of each class.")
    explain: bool = _option("label draw", False, "Add the cells that decide each new label; slow on large tables.")
    delimiter: str | None = _option(f"{_ALL} predict", None, "Of a CSV; found out if not given.")
    encoding: str | None = _option(f"{_ALL} predict", None, "Of a CSV; found out if not given.")
    sheet: str | None = _option(f"{_ALL} predict", None, "Of an Excel workbook that has several.", metavar="NAME")
    header_row: int | None = _option(
        f"{_ALL} predict", None, "The row of the column names; found if not given.", kind=int, min=1, metavar="N"
    )
    memory: int | None = _option(
        "label draw predict",
        None,
        "To use at most, such as 2GB.",
        read=read_size,
        metavar="SIZE",
        show_default="half of what is free",
    )
    sample: int | None = _option(
        "label draw",
        None,
        "Read the table in parts, whatever its size, and learn with so many rows without a label.",
        kind=int,
        min=100,
        metavar="ROWS",
        show_default="100,000, if it is read in parts",
    )
    seed: int | None = _option(
        f"{_ALL} demo", None, "Same seed, same result.", kind=int, min=0, max=2**31 - 1, show_default="0"
    )
    out: str | os.PathLike[str] | None = _option(
        "label draw judge predict",
        None,
        "Where to write, made if it is not there; next to FILE if not given.",
        kind=Path,
        metavar="FOLDER",
    )
    format: str | None = _option(
        "label draw judge predict",
        None,
        f"Of the table written: {listed(FORMATS, 'or')}, or as in csv.gz; as FILE if not given.",
        metavar="KIND",
    )
    until_width: float | None = _option(
        "fill",
        None,
        "Say when the accuracy is known this closely, as 20%. For chary judge.",
        read=partial(read_share, option="--until-width"),
        write=lambda share: f"{100 * share:.10g}%",
        metavar="SHARE",
    )
    until_above: float | None = _option(
        "fill",
        None,
        "Say when it is known to be above this or not, as 90%.",
        read=partial(read_share, option="--until-above"),
        write=lambda share: f"{100 * share:.10g}%",
        metavar="SHARE",
    )
    port: int = _option(
        "review", 0, "To listen at, on this machine alone; 0: one that is free.", kind=int, min=0, max=65535
    )
    no_browser: bool = _option("review", False, "Print the address, and leave opening it to you.")
    force: bool = _option("label draw judge predict demo", False, "Overwrite what is there.")

    @classmethod
    def of(cls, command: str = "", /, **given: Any) -> Options:
        """From the parameters of a Python call: one name stands for a list of one, and None for nothing.

        With a ``command``, those alone that it takes.
        """
        known = {one.name: one for one in fields(cls) if not command or command in one.metadata["commands"]}
        unknown = [name for name in given if name not in known]
        if unknown:
            raise TypeError(f"There is no option {unknown[0]!r}; the options are {', '.join(sorted(known))}.")
        values = dict(given)
        for name, value in given.items():
            if isinstance(known[name].default, tuple):
                texts = [value] if isinstance(value, str) else [] if value is None else value
                values[name] = tuple(str(one) for one in texts)
        return cls(**values)

    @classmethod
    def typed(cls, **given: Any) -> Options:
        """From what was typed after a command; None and an empty list: nothing was."""
        reader = {one.name: one.metadata["read"] for one in fields(cls)}
        chosen = {name: value for name, value in given.items() if value not in (None, [])}
        return cls(**{name: reader[name](value) if reader[name] else value for name, value in chosen.items()})

    @property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """What was said of columns, by the parameters of ``TablePreparation``."""
        return {name: getattr(self, name) for name in _COLUMNS}

    @property
    def target_reading(self) -> dict[str, Any]:
        """How the cells of the target are read, by the parameters of ``read_target``."""
        return {name: getattr(self, name) for name in ("unlabeled", "exact_labels", "classes", "missing")}

    @property
    def reading(self) -> dict[str, Any]:
        """How files are read."""
        return {name: getattr(self, name) for name in ("delimiter", "encoding", "sheet", "header_row")}

    def folder(self, beside: Path) -> Path:
        """Where to write: the folder that was named, or that of the table."""
        return beside if self.out is None else Path(self.out)

    def command(self, verb: str, files: Sequence[str | os.PathLike[str]], **changes: Any) -> str:
        """A command that does ``verb`` with these options, as it is typed; ``changes`` replaces some.

        >>> Options(target="y", unlabeled=("?",), error=0.05).command("label", ["my data.csv"], audit="a.csv")
        "chary label 'my data.csv' --target y --unlabeled '?' --audit a.csv --error 5%"
        """
        words = ["chary", *verb.split(), *(os.fspath(file) for file in files)]
        for name, texts in replace(self, **changes).as_typed(verb.split()[-1]).items():
            if texts is True:
                words.append(flag_of(name))
                continue
            several = [texts] if isinstance(texts, str) else texts
            words += [word for text in several for word in (flag_of(name), text)]
        return shlex.join(words)

    def as_typed(self, command: str) -> dict[str, Any]:
        """What was chosen of that which a command takes, by name: a text, a list of them, or True for a flag."""
        chosen = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if command in one.metadata["commands"] and value != one.default:
                chosen[one.name] = value if isinstance(value, bool) else one.metadata["write"](value)
        return chosen

    def to_keep(self, command: str) -> dict[str, Any]:
        """What an audit sheet remembers of how labels shall be made or judged, to be read by ``kept``.

        What cannot be typed, such as an estimator that somebody passed in Python, is left out.
        """
        plain = (str, int, float, tuple, Mapping, os.PathLike)
        odd: dict[str, Any] = {
            one.name: one.default for one in fields(self) if not isinstance(getattr(self, one.name), plain)
        }
        typed = replace(self, **odd).as_typed(command)
        return {name: texts for name, texts in typed.items() if name not in _NOT_KEPT}

    @classmethod
    def kept(cls, said: Mapping[str, Any]) -> Options:
        """From what ``to_keep`` gave, read from a file that anybody may have edited: what is odd is left out."""
        options = cls()
        for one in fields(cls):
            about, texts = one.metadata, said.get(one.name)
            kind = {int: str, Path: str}.get(about["kind"], about["kind"])
            if kind == list[str]:
                texts, kind = [texts] if isinstance(texts, str) else texts, list
            if one.name in _NOT_KEPT or not isinstance(texts, kind) or not texts:
                continue
            with suppress(ValueError, TypeError):
                typed = list(map(str, texts)) if kind is list else int(texts) if about["kind"] is int else texts
                options = replace(options, **{one.name: getattr(cls.typed(**{one.name: typed}), one.name)})
        return options

    def unlike(self, said: Mapping[str, Any]) -> str:
        """The options of a sheet (``to_keep``) that change labels and are not these, as they are typed."""
        drawn, own = Options.kept(said), self.to_keep("label")
        theirs = {name: texts for name, texts in drawn.to_keep("label").items() if name in _DECIDING}
        other = [name for name, texts in theirs.items() if sorted(texts) != sorted(own.get(name, ""))]
        words = Options(**{name: getattr(drawn, name) for name in other}).command("label", ())
        return words.removeprefix("chary label").strip()


def flag_of(name: str) -> str:
    """How a parameter is typed.

    >>> flag_of("class_prior"), flag_of("identifier"), flag_of("overwrite")
    ('--class-prior', '--id', '--force')
    """
    flags = {one.name: one.metadata["flags"] for one in fields(Options)}.get(name, ())
    return str(flags[0]) if flags else "--force" if name == "overwrite" else f"--{name.replace('_', '-')}"
