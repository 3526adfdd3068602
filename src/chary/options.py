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

_FILES, _COLUMNS, _LEARNING, _AUDIT, _OUTPUT = "Files", "Target and columns", "Learning", "Audit", "Output"
_EVERY = "label diagnose review draw judge"
_LABELLING = "label diagnose review"

_SEVERAL_SHARES = re.compile(r"=\s*\d[\d.]*\s*%?\s*[,;]")  # a share, and something after it
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?))?b?\s*", re.IGNORECASE)


def _option(
    default: Any,
    help: str,
    commands: str,
    group: str,
    *,
    kind: Any = str,
    flags: Sequence[str] = (),
    required: str = "",
    instead: Mapping[str, str] | None = None,
    read: Callable[[Any], Any] | None = None,
    write: Callable[[Any], Any] = str,
    **typed: Any,
) -> Any:
    """A field of ``Options``.

    ``commands`` are those that take it, ``required`` those that cannot do without. ``kind`` is the type of what is
    typed (a flag and a repeated option have theirs by the default), ``flags`` how it is typed if not by its
    name. ``read`` makes the value of what was typed and ``write`` the reverse (a list of texts for an option that
    is repeated). ``instead`` has another help for some commands; ``typed`` goes to Typer.
    """
    if isinstance(default, bool):
        kind = bool
    elif isinstance(default, tuple):
        kind = list[str]
    about = {"help": help, "commands": commands.split(), "group": group, "kind": kind, "flags": tuple(flags)}
    about |= {"required": required.split(), "instead": instead or {}, "read": read, "write": write, "typed": typed}
    return field(default=default, metadata=about)


def read_share(text: str, option: str, what: str = "share") -> float:
    """What was typed after an option that takes a share, in per cent or not.

    >>> read_share("20%", "--until-width"), read_share(" 0.1", "--error")
    (0.2, 0.1)
    """
    number = text.strip()
    try:
        share = float(number.rstrip("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise ValueError(f"{option} {text!r} is no {what}; give one such as 10% or 0.1.")
    return share


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
        percent = number.strip().endswith("%")
        try:
            share = float(number.strip().rstrip("%"))
        except ValueError:
            share = math.nan
        if not name or not math.isfinite(share):
            raise ValueError(
                f"--class-prior {text!r} is not understood; give NAME=SHARE, such as yes=0.3 or yes=30%, once for "
                "each class, or the word labeled."
            )
        if _SEVERAL_SHARES.search(name):
            raise ValueError(
                f"--class-prior {text!r} holds more than one class; repeat the option for each, as in "
                "--class-prior yes=30% --class-prior no=70%."
            )
        if share > 1 and not percent:
            raise ValueError(
                f"--class-prior {text!r} is more than all rows; write {text.strip()}% if you mean per cent, "
                "or a share such as 0.3."
            )
        if name in shares:
            raise ValueError(f"--class-prior names {name!r} twice; give each class once.")
        shares[name] = share / 100 if percent else share
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
        None,
        "The column that holds the labels.",
        "label diagnose review draw",
        _COLUMNS,
        flags=("--target", "-t"),
        required="label diagnose draw",
    )
    labels: tuple[str, ...] = _option(
        (),
        "The labels to judge; twice: which are better.",
        "judge review",
        _COLUMNS,
        flags=("--labels", "-l"),
        required="judge",
        instead={"review": "Instead: labels that are there already, to judge."},
        metavar="COLUMN",
    )
    confidence: str | None = _option(
        None,
        "Numbers, the larger the surer the label.",
        "judge review",
        _COLUMNS,
        instead={"review": "With --labels: numbers, the larger the surer the label."},
        metavar="COLUMN",
    )
    unlabeled: tuple[str, ...] = _option(
        (),
        "A cell value that means: no label. Empty cells always do. Repeatable.",
        _EVERY,
        _COLUMNS,
        metavar="VALUE",
    )
    exact_labels: bool = _option(
        False, "Labels that differ in case or white space only are different classes.", _EVERY, _COLUMNS
    )
    drop: tuple[str, ...] = _option((), "Leave a column out. Repeatable.", _LABELLING, _COLUMNS, metavar="COLUMN")
    categorical: tuple[str, ...] = _option(
        (), "Numbers in it are names, as postcodes are. Repeatable.", _LABELLING, _COLUMNS, metavar="COLUMN"
    )
    numeric: tuple[str, ...] = _option((), "It holds numbers. Repeatable.", _LABELLING, _COLUMNS, metavar="COLUMN")
    identifier: tuple[str, ...] = _option(
        (), "It only names rows. Repeatable.", _LABELLING, _COLUMNS, flags=("--id",), metavar="COLUMN"
    )
    missing: tuple[str, ...] = _option(
        (),
        "A cell that means: nothing, such as -9 or age=-9. Repeatable.",
        _LABELLING,
        _COLUMNS,
        metavar="[COLUMN=]CODE",
    )
    text: tuple[str, ...] = _option((), "It holds free text. Repeatable.", _LABELLING, _COLUMNS, metavar="COLUMN")
    features: str | os.PathLike[str] | None = _option(
        None,
        "More numbers for each row of FILE, from a model for images or text.",
        f"{_LABELLING} predict",
        _COLUMNS,
        kind=Path,
        metavar="FILE.npy",
    )
    audit: str | os.PathLike[str] | None = _option(
        None,
        "Random rows that a person labelled: chary audit draw.",
        "label judge",
        _AUDIT,
        kind=Path,
        instead={"judge": "The sheet of this command, filled in: say how good they are."},
        metavar="FILE",
    )
    k: int = _option(
        30,
        "How many rows to draw.",
        "draw judge",
        _AUDIT,
        kind=int,
        flags=("-k",),
        instead={"judge": "How many rows to draw; decide before you look."},
        min=2,
    )
    checked: str | os.PathLike[str] | None = _option(
        None, "Rows to check that a person labelled: --check-sheet.", "label", _AUDIT, kind=Path, metavar="FILE"
    )
    check_sheet: bool = _option(
        False, "Also write FILE.check.csv: doubtful rows to check and correct.", "label", _OUTPUT
    )
    class_prior: Mapping[Any, float] | str | None = _option(
        None,
        "Share of a class among all rows, if you know it. For each class.",
        "label",
        _LEARNING,
        kind=list[str],
        read=read_prior,
        write=lambda given: given if isinstance(given, str) else [f"{one}={n:.10g}" for one, n in given.items()],
        metavar="NAME=SHARE",
    )
    aim: str = _option(
        "accuracy",
        "Are rare classes as important as common ones? Then balanced.",
        "label",
        _LEARNING,
        metavar="accuracy|balanced",
    )
    error: float | None = _option(
        None,
        "Mark the rows to accept with at most so many wrong, as 10%. Needs --audit.",
        "label judge",
        _AUDIT,
        read=partial(read_share, option="--error", what="share of wrong labels"),
        write=lambda share: f"{100 * share:.10g}%",
        metavar="SHARE",
    )
    by: tuple[str, ...] = _option(
        (), "Accuracy for each value of a column. Repeatable.", "judge", _AUDIT, metavar="COLUMN"
    )
    hide: tuple[str, ...] = _option(
        (), "Leave out of the sheet what betrays a label. Repeatable.", "judge", _AUDIT, metavar="COLUMN"
    )
    learner: Any = _option(
        "auto",
        "Who learns: mixed (a linear model, trees and boosting), network, linear or boosting; auto: as suits the "
        "labels.",
        "label",
        _LEARNING,
        metavar="NAME",
    )
    rounds: int | None = _option(
        None,
        "How often to learn from its own best labels.",
        "label",
        _LEARNING,
        kind=int,
        min=0,
        max=20,
        show_default="0, 1 or 5, as suits the labels",
    )
    probabilities: bool = _option(False, "Add the probability of each class.", "label predict", _OUTPUT)
    explain: bool = _option(
        False, "Add the cells that decide each new label; slow on large tables.", "label", _OUTPUT
    )
    delimiter: str | None = _option(None, "Of a CSV; found out if not given.", f"{_EVERY} predict", _FILES)
    encoding: str = _option("utf-8", "Of a CSV.", f"{_EVERY} predict", _FILES)
    sheet: str | None = _option(
        None, "Of an Excel workbook that has several.", f"{_EVERY} predict", _FILES, metavar="NAME"
    )
    memory: int | None = _option(
        None,
        "To use at most, such as 2GB.",
        "label draw predict",
        _LEARNING,
        read=read_size,
        metavar="SIZE",
        show_default="half of what is free",
    )
    sample: int | None = _option(
        None,
        "Read the table in parts, whatever its size, and learn with so many rows without a label.",
        "label",
        _LEARNING,
        kind=int,
        min=100,
        metavar="ROWS",
        show_default="100,000, if it is read in parts",
    )
    seed: int | None = _option(
        None,
        "Same seed, same result.",
        f"{_EVERY} demo",
        _LEARNING,
        kind=int,
        instead={"draw": "Another seed, another draw.", "judge": "Another seed, another draw."},
        min=0,
        max=2**31 - 1,
        show_default="0",
    )
    out: str | os.PathLike[str] | None = _option(
        None,
        "Where to write, made if it is not there; next to FILE if not given.",
        "label draw judge predict",
        _OUTPUT,
        kind=Path,
        metavar="FOLDER",
    )
    format: str | None = _option(
        None,
        "Of the table written: csv, parquet, jsonl, arrow or xlsx, or as in csv.gz; as FILE if not given.",
        "label judge predict",
        _OUTPUT,
        metavar="KIND",
    )
    force: bool = _option(False, "Overwrite what is there.", "label draw judge predict demo", _OUTPUT)

    @classmethod
    def of(cls, **given: Any) -> Options:
        """From the parameters of a Python call: one name stands for a list of one, and None for nothing."""
        known = {one.name: one for one in fields(cls)}
        unknown = [name for name in given if name not in known]
        if unknown:
            raise TypeError(f"There is no option {unknown[0]!r}; the options are {', '.join(sorted(known))}.")
        repeated = {name for name, one in known.items() if isinstance(one.default, tuple)}
        read: dict[str, Any] = {
            name: _texts(value) if name in repeated else value for name, value in given.items()
        }
        return cls(**read)

    @classmethod
    def typed(cls, **given: Any) -> Options:
        """From what was typed after a command; None and an empty list: nothing was."""
        reader = {one.name: one.metadata["read"] or _as_typed for one in fields(cls)}
        return cls(**{name: reader[name](value) for name, value in given.items() if value not in (None, [])})

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
            value = getattr(chosen, one.name)
            if name in one.metadata["commands"] and value != one.default:
                words += _typed(flag_of(one.name), value, one.metadata["write"])
        return shlex.join(words)


def flag_of(name: str) -> str:
    """How a parameter is typed.

    >>> flag_of("class_prior"), flag_of("identifier"), flag_of("overwrite")
    ('--class-prior', '--id', '--force')
    """
    flags = {one.name: one.metadata["flags"] for one in fields(Options)}.get(name, ())
    return str(flags[0]) if flags else "--force" if name == "overwrite" else f"--{name.replace('_', '-')}"


def _as_typed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _typed(flag: str, value: Any, write: Callable[[Any], Any]) -> list[str]:
    if isinstance(value, bool):
        return [flag] if value else []
    texts = [str(one) for one in value] if isinstance(value, tuple) else write(value)
    return [word for text in ([texts] if isinstance(texts, str) else texts) for word in (flag, text)]


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(str(one) for one in value)
