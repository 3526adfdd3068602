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
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

_LABELLING = "label diagnose review"
_ALL = f"{_LABELLING} draw judge"

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
        "label diagnose review draw",
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
        "draw judge", 30, "How many rows to draw; decide before you look.", kind=int, flags=("-k",), min=2
    )
    checked: str | os.PathLike[str] | None = _option(
        "label", None, "Rows to check that a person labelled: --check-sheet.", kind=Path, metavar="FILE"
    )
    check_sheet: bool = _option("label", False, "Also write FILE.check.csv: doubtful rows to check and correct.")
    class_prior: Mapping[Any, float] | str | None = _option(
        "label",
        None,
        "Share of a class among all rows, if you know it. For each class.",
        kind=list[str],
        read=read_prior,
        write=lambda given: given if isinstance(given, str) else [f"{one}={n:.10g}" for one, n in given.items()],
        metavar="NAME=SHARE",
    )
    aim: str = _option(
        "label",
        "accuracy",
        "Are rare classes as important as common ones? Then balanced.",
        metavar="accuracy|balanced",
    )
    error: float | None = _option(
        "label judge",
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
        "label",
        "auto",
        "Who learns: mixed (a linear model, trees and boosting), network, linear or boosting; auto: as suits the "
        "labels.",
        metavar="NAME",
    )
    rounds: int | None = _option(
        "label",
        None,
        "How often to learn from its own best labels.",
        kind=int,
        min=0,
        max=20,
        show_default="0, 1 or 5, as suits the labels",
    )
    probabilities: bool = _option("label predict", False, "Add the probability of each class.")
    explain: bool = _option("label", False, "Add the cells that decide each new label; slow on large tables.")
    delimiter: str | None = _option(f"{_ALL} predict", None, "Of a CSV; found out if not given.")
    encoding: str = _option(f"{_ALL} predict", "utf-8", "Of a CSV.")
    sheet: str | None = _option(f"{_ALL} predict", None, "Of an Excel workbook that has several.", metavar="NAME")
    memory: int | None = _option(
        "label draw predict",
        None,
        "To use at most, such as 2GB.",
        read=read_size,
        metavar="SIZE",
        show_default="half of what is free",
    )
    sample: int | None = _option(
        "label",
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
        "label judge predict",
        None,
        "Of the table written: csv, parquet, jsonl, arrow or xlsx, or as in csv.gz; as FILE if not given.",
        metavar="KIND",
    )
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
        names = ("drop", "categorical", "numeric", "identifier", "text", "missing")
        return {name: getattr(self, name) for name in names}

    @property
    def reading(self) -> dict[str, Any]:
        """How files are read."""
        return {"delimiter": self.delimiter, "encoding": self.encoding, "sheet": self.sheet}

    def folder(self, beside: Path) -> Path:
        """Where to write: the folder that was named, or that of the table."""
        return beside if self.out is None else Path(self.out)

    def command(self, verb: str, files: Sequence[str | os.PathLike[str]], **changes: Any) -> str:
        """A command that does ``verb`` with these options, as it is typed; ``changes`` replaces some.

        >>> Options(target="y", unlabeled=("?",), error=0.05).command("label", ["my data.csv"], audit="a.csv")
        "chary label 'my data.csv' --target y --unlabeled '?' --audit a.csv --error 5%"
        """
        name = verb.split()[-1]
        words = ["chary", *verb.split(), *(os.fspath(file) for file in files)]
        chosen = replace(self, **changes)
        for one in fields(self):
            value, flag = getattr(chosen, one.name), flag_of(one.name)
            if name not in one.metadata["commands"] or value == one.default:
                continue
            texts = one.metadata["write"](value)
            if isinstance(value, bool):
                words.append(flag)
            else:
                words += [word for text in ([texts] if isinstance(texts, str) else texts) for word in (flag, text)]
        return shlex.join(words)


def flag_of(name: str) -> str:
    """How a parameter is typed.

    >>> flag_of("class_prior"), flag_of("identifier"), flag_of("overwrite")
    ('--class-prior', '--id', '--force')
    """
    flags = {one.name: one.metadata["flags"] for one in fields(Options)}.get(name, ())
    return str(flags[0]) if flags else "--force" if name == "overwrite" else f"--{name.replace('_', '-')}"
