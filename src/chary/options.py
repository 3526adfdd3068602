"""Everything a user can choose when labelling or judging a table, in one object.

The command line, Python and the page in the browser all build an ``Options`` and hand it down as it
is. A field says here, once, what it means, which commands take it, how it is typed and how it is
read; the commands are made from that, and every command that chary prints is written by
``Options.command``, so that no option is forgotten.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from chary._files import is_on_this_machine
from chary._words import command_line, listed

AUDIT_SIZE = 30  # rows to draw where nobody says how many
# The kinds of files, by the extension of those that are written, and what people call them.
FORMAT_WORDS = {"csv": "CSV", "parquet": "Parquet", "jsonl": "JSON lines", "xlsx": "Excel"}

# The parts of a command's help; options that are used often stand above them.
FILES, COLUMNS, LEARNING, AUDIT, OUTPUT = (
    "Files",
    "Target and columns",
    "Learning",
    "Audit",
    "Output",
)
_LABELLING = "label diagnose review draw"  # a draw remembers what labels shall be made with
_ALL = f"{_LABELLING} judge"
_READ, _WRITE = f"{_ALL} predict", "label draw judge predict"
# What a sheet says in another way, or what concerns the draw alone.
_NOT_KEPT = ("target", "labels", "unlabeled", "k", "force", "discard_answers")
# What says how columns are read.
_COLUMNS = ("drop", "categorical", "numeric", "identifier", "text", "missing", "dates")

Names = tuple[str, ...]
GivenPath = str | os.PathLike[str]

_SEVERAL_SHARES = re.compile(r"=\s*\d[\d.]*\s*%?\s*[,;]")  # a share, and something after it
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?))?b?\s*", re.IGNORECASE)


def _share(text: str) -> float:
    """A number, or one in per cent; not a number if it is neither."""
    number = text.strip()
    try:
        return float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        return math.nan


def _written_share(share: float) -> str:
    return f"{100 * share:.10g}%"


def read_share(text: str, flag: str) -> float:
    """What was typed after an option that takes a share, in per cent or not.

    >>> read_share("20%", "--until-width"), read_share(" 0.1", "--error")
    (0.2, 0.1)
    """
    share = _share(text)
    if not 0 < share < 1:
        raise ValueError(f"{flag} {text!r} is not a share; give one such as 10% or 0.1.")
    return share


def read_requirement(text: str, flag: str = "--require") -> float:
    """What was typed after ``--require``: the accuracy that the labels must have.

    >>> read_requirement("accuracy >= 80%")
    0.8
    """
    what, _, share = text.partition(">=")
    if what.strip() != "accuracy":
        raise ValueError(
            f"{flag} {text!r} is not understood; give it as in {flag} 'accuracy>=80%'."
        )
    return read_share(share.strip(), f"{flag} accuracy")


def read_prior(texts: Sequence[str], flag: str = "--class-prior") -> dict[str, float] | str | None:
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
            problem = "is not understood; give NAME=SHARE, such as yes=30%, for each class, or the word labeled"
        elif _SEVERAL_SHARES.search(name):
            problem = (
                "holds more than one class; repeat the option for each, as in --class-prior yes=30%"
            )
        elif share > 1 and "%" not in number:
            problem = f"is more than all rows; write {text.strip()}% if you mean per cent, or a share such as 0.3"
        elif name in shares:
            problem = f"names {name!r} twice; give each class once"
        if problem:
            raise ValueError(f"{flag} {text!r} {problem}.")
        shares[name] = share
    return shares or None


def read_size(text: str, flag: str = "--memory") -> int:
    """Bytes, as typed after ``--memory``.

    >>> read_size("2GB"), read_size("1.5 GiB"), read_size("800m")
    (2000000000, 1610612736, 800000000)
    """
    found = _SIZE.fullmatch(text)
    power = " kmgt".index((found[2] or " ").lower()) if found else 0
    size = int(float(found[1]) * (1024 if found[3] else 1000) ** power) if found else 0
    if not size:
        raise ValueError(f"{flag} {text!r} is not a size; give one such as 2GB or 1.5GiB.")
    return size


def _option(
    commands: str,
    typed: str,
    help: str,
    default: Any = None,
    *,
    group: str | None = None,
    **more: Any,
) -> Any:
    """A field of ``Options``.

    ``commands`` are those that take it, with ! those that cannot do without it. ``typed`` is how it
    is typed: its flags, if these are not its name, and a word for what follows. A FILE, FOLDER or
    SHARE is read as such, a bool as default makes a flag, a tuple an option that can be repeated, a
    ``min`` a whole number. What ``help`` says last, in [ ], is what happens without it; it is
    listed in ``group``. ``kind`` is the type of what is typed, ``read`` makes the value of it and
    of the flag, and ``write`` turns that back (into a list if the option is repeated). Further
    parameters are those of ``typer.Option``.
    """
    flags = [word for word in typed.split() if word.startswith("-")]
    word = " ".join(typed.split()[len(flags) :])
    about: dict[str, Any] = {"kind": int if "min" in more else str, "read": None, "write": str}
    if isinstance(default, bool):
        about["kind"] = bool
    elif isinstance(default, tuple):
        about |= {"kind": list[str], "read": lambda texts, flag: tuple(texts), "write": list}
        help += " Repeatable."
    elif word == "SHARE":
        about |= {"read": read_share, "write": _written_share}
    elif word.startswith(("FILE", "FOLDER")):
        about["kind"] = Path
    about |= {name: more.pop(name) for name in ("kind", "read", "write") if name in more}
    if help.endswith("]"):
        help, _, more["show_default"] = help[:-1].rpartition(" [")
    required = [word.removesuffix("!") for word in commands.split() if word.endswith("!")]
    about |= {
        "commands": commands.replace("!", "").split(),
        "required": required,
        "help": help,
        "flags": flags,
    }
    return field(
        default=default,
        metadata={**about, "typer": {**more, "rich_help_panel": group, "metavar": word or None}},
    )


_column, _file = partial(_option, group=COLUMNS), partial(_option, group=FILES)
_learning, _audit = partial(_option, group=LEARNING), partial(_option, group=AUDIT)
_output = partial(_option, group=OUTPUT)


@dataclass(frozen=True)
class Options:
    """What a user chose; see the help of each field in the source, or ``chary label --help``."""

    target: str | None = _option(
        "label! diagnose! review draw!", "--target -t COLUMN", "The column with the labels."
    )
    labels: Names = _option(
        "judge! review",
        "--labels -l COLUMN",
        "A column of labels to judge; give two to compare them.",
        (),
    )
    confidence: str | None = _option(
        "judge review", "COLUMN", "A column of numbers: the larger, the more certain the label."
    )
    unlabeled: Names = _option(
        _ALL, "VALUE", "A value that means no label, like an empty cell.", ()
    )
    classes: Names = _column(
        _ALL,
        "--class VALUE",
        "A value that is a class although it looks missing (unknown, 99).",
        (),
    )
    drop: Names = _option(_LABELLING, "COLUMN", "Leave a column out.", ())
    categorical: Names = _option(
        _LABELLING, "COLUMN", "A column of categories, such as postcodes.", ()
    )
    numeric: Names = _column(_LABELLING, "COLUMN", "A column of numbers.", ())
    identifier: Names = _column(
        _LABELLING, "--identifier --id COLUMN", "A column that only identifies rows.", ()
    )
    missing: Names = _column(
        _LABELLING, "[COLUMN=]CODE", "A value to treat as missing, such as -9 or age=-9.", ()
    )
    dates: Names = _column(
        _LABELLING,
        "[COLUMN=]ORDER",
        "How to read 03/04/2024 if a column leaves it open: day-first, month-first or year-first.",
        (),
    )
    text: Names = _column(_LABELLING, "COLUMN", "A column of free text.", ())
    audit: GivenPath | None = _option("label judge", "FILE", "The filled-in sheet of random rows.")
    k: int = _option(
        "draw judge",
        "-k --rows ROWS",
        "How many rows to draw. Decide before you look.",
        AUDIT_SIZE,
        min=2,
    )
    checked: GivenPath | None = _audit(
        "label draw", "FILE", "The filled-in sheet of doubtful rows, from --check-sheet."
    )
    check_sheet: bool = _audit(
        "label draw", "", "Also write FILE.check.csv: doubtful rows to correct.", False
    )
    class_prior: Mapping[Any, float] | str | None = _learning(
        "label draw review",
        "NAME=SHARE",
        "The share of a class among all rows, if you know it; once for each class.",
        kind=list[str],
        read=read_prior,
        write=lambda given: (
            given if isinstance(given, str) else [f"{one}={n:.10g}" for one, n in given.items()]
        ),
    )
    aim: str = _option(
        "label draw review",
        "AIM",
        "accuracy, or balanced: every class counts the same.",
        "accuracy",
    )
    error: float | None = _option(
        "label draw review judge",
        "SHARE",
        "With --audit: accept rows with at most, say, 10% wrong.",
    )
    require: float | None = _audit(
        "judge",
        "TEXT",
        "For pipelines, with --audit: exit with 0 if the audit shows this, such as accuracy>=80%, with 4 if it "
        "rules it out, with 5 if the labels have changed since the draw, and with 3 otherwise.",
        read=read_requirement,
        write=lambda share: f"accuracy>={_written_share(share)}",
    )
    by: Names = _audit("judge", "COLUMN", "Show the accuracy for each value of a column.", ())
    hide: Names = _audit(
        "judge review", "COLUMN", "Do not show a column to whoever labels the rows.", ()
    )
    show: Names = _audit(
        "judge review", "COLUMN", "Show a column although it gives the label away.", ()
    )
    annotator: Names = _audit(
        "judge review", "FILE", "Another person's answers: a filled-in sheet.", ()
    )
    learner: Any = _learning(
        "label draw",
        "NAME",
        "The model: auto, mixed (linear, trees and boosting together), network, linear or boosting.",
        "auto",
    )
    rounds: int | None = _learning(
        "label draw",
        "N",
        "Rounds of self-training. [0 or 1, depending on the labels]",
        min=0,
        max=20,
    )
    probabilities: bool = _output(
        "label draw predict", "", "Add the probability of each class.", False
    )
    explain: bool = _output(
        "label draw", "", "Add the cells that decided each new label; slow on large tables.", False
    )
    delimiter: str | None = _file(_READ, "CHARACTER", "The delimiter of a CSV. [detected]")
    encoding: str | None = _file(_READ, "NAME", "The encoding of a CSV, such as cp1252. [detected]")
    sheet: str | None = _file(_READ, "NAME", "Which sheet of an Excel workbook.")
    header_row: int | None = _file(
        _READ, "N", "The row that holds the column names. [detected]", min=1
    )
    memory: int | None = _file(
        "label draw predict",
        "SIZE",
        "The most memory to use, such as 2GB. [half of what is free]",
        read=read_size,
    )
    seed: int | None = _learning(
        f"{_ALL} demo", "N", "The same seed gives the same result. [0]", min=0, max=2**31 - 1
    )
    out: GivenPath | None = _option(_WRITE, "FOLDER", "The folder to write to. [that of FILE]")
    format: str | None = _output(
        _WRITE,
        "KIND",
        f"The kind of table to write: {listed(FORMAT_WORDS, 'or')}, or packed, as csv.gz. [that of FILE]",
    )
    threshold: float | None = _option(
        "predict",
        "NUMBER",
        "Add chary_accept: is the confidence at least this?",
        kind=float,
        min=0,
        max=1,
    )
    scheduler: str | None = _file(
        "predict",
        "ADDRESS",
        "The address of a Dask cluster that labels the files. [the cores of this machine]",
    )
    until_width: float | None = _option(
        "fill",
        "SHARE",
        "For a sheet of chary judge: say when the interval is no wider than this, such as 20%.",
    )
    table: Names = _option(
        "fill",
        "FILE",
        "For --until-width: the table of the sheet. [the file of that name beside it]",
        (),
    )
    port: int = _output(
        "review", "N", "The port to listen on; 0 picks a free one.", 0, min=0, max=65535
    )
    no_browser: bool = _option(
        "review", "", "Print the address instead of opening a browser.", False
    )
    force: bool = _option(
        "label draw judge predict demo",
        "",
        "Overwrite files that are there, but no sheet with answers.",
        False,
    )
    discard_answers: bool = _output(
        "label draw judge", "", "Replace a sheet that holds answers; a copy of it is kept.", False
    )

    @classmethod
    def of(cls, command: str = "", /, **given: Any) -> Options:
        """From the parameters of a Python call: one name stands for a list of one, and None for nothing.

        With a ``command``, those alone that it takes.
        """
        known = {
            one.name: one
            for one in fields(cls)
            if not command or command in one.metadata["commands"]
        }
        unknown = [name for name in given if name not in known]
        if unknown:
            raise TypeError(
                f"There is no option {unknown[0]!r}; the options are {', '.join(sorted(known))}."
            )
        values = dict(given)
        for name, value in given.items():
            if isinstance(known[name].default, tuple):
                texts = [value] if isinstance(value, str) else [] if value is None else value
                values[name] = tuple(str(one) for one in texts)
        if isinstance(prior := given.get("class_prior"), Mapping):  # classes of a table are texts
            values["class_prior"] = {_class_name(name): share for name, share in prior.items()}
        return cls(**values)

    @classmethod
    def typed(cls, **given: Any) -> Options:
        """From what was typed after a command; None and an empty list: nothing was."""
        reader = {
            one.name: one.metadata["read"] or (lambda value, flag: value) for one in fields(cls)
        }
        chosen = {name: value for name, value in given.items() if value not in (None, [])}
        return cls(**{name: reader[name](value, flag_of(name)) for name, value in chosen.items()})

    @property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """What was said of columns, by the parameters of ``TablePreparation``."""
        return {name: getattr(self, name) for name in _COLUMNS}

    @property
    def target_reading(self) -> dict[str, Any]:
        """How the cells of the target are read, by the parameters of ``read_target``."""
        return {name: getattr(self, name) for name in ("unlabeled", "classes", "missing")}

    @property
    def reading(self) -> dict[str, Any]:
        """How files are read."""
        return {
            name: getattr(self, name) for name in ("delimiter", "encoding", "sheet", "header_row")
        }

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
        return command_line(words)

    def as_typed(self, command: str) -> dict[str, Any]:
        """What was chosen of that which a command takes, by name: a text, a list of them, or True for a flag."""
        chosen = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if command in one.metadata["commands"] and value != one.default:
                chosen[one.name] = (
                    value if isinstance(value, bool) else one.metadata["write"](value)
                )
        return chosen

    def to_keep(self, command: str) -> dict[str, Any]:
        """What an audit sheet remembers of how labels shall be made or judged, to be read by ``kept``.

        What cannot be typed, such as an estimator that somebody passed in Python, is left out.
        """
        plain = (str, int, float, tuple, Mapping, os.PathLike)
        odd: dict[str, Any] = {
            one.name: one.default
            for one in fields(self)
            if not isinstance(getattr(self, one.name), plain)
        }
        typed = replace(self, **odd).as_typed(command)
        return {name: texts for name, texts in typed.items() if name not in _NOT_KEPT}

    @property
    def for_sheet(self) -> dict[str, Any]:
        """What a sheet of unlabelled rows says of how the table is read and labelled, by fields of its origin."""
        return {"unlabeled": self.unlabeled, "options": self.to_keep("label")}

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
            if about["kind"] is Path and not is_on_this_machine(texts):
                continue
            with suppress(ValueError, TypeError):
                typed = (
                    list(map(str, texts))
                    if kind is list
                    else int(texts)
                    if about["kind"] is int
                    else texts
                )
                options = replace(
                    options, **{one.name: getattr(cls.typed(**{one.name: typed}), one.name)}
                )
        return options


def _class_name(value: Any) -> str:
    """A class as a table spells it: 1 for 1.0, true for True."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def flag_of(name: str) -> str:
    """How a parameter is typed.

    >>> flag_of("class_prior"), flag_of("identifier")
    ('--class-prior', '--identifier')
    """
    flags = {one.name: one.metadata["flags"] for one in fields(Options)}.get(name, ())
    if flags:
        return str(flags[0])
    return f"--{name.replace('_', '-')}"
