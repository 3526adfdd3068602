"""Everything a user can choose, with one class of options for each command.

The command line, Python and the page in the browser all build such an object and hand it down. An
option is declared once: what it means, how it is typed and how it is read. The help of the commands
is made from that, and every command that chary prints is written by ``Options.command``, so that no
option is forgotten.

>>> options = LabelOptions(target="y", unlabeled=("?",), audit="a.csv", error=0.05)
>>> options.command(["my data.csv"])
"chary label 'my data.csv' --target y --unlabeled '?' --audit a.csv --error 5%"
>>> DrawOptions.like(options, k=40).command(["my data.csv"])
"chary audit draw 'my data.csv' --target y --unlabeled '?' -k 40 --error 5%"
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypedDict

from chary._files import is_on_this_machine
from chary._words import command_line, listed

# An audit draws this many rows if no number is given.
AUDIT_SIZE = 30

# For each format of tables, the extension of its files, and the word that sentences use for it.
FORMAT_WORDS = {"csv": "CSV", "parquet": "Parquet", "jsonl": "JSON lines", "xlsx": "Excel"}

# The panels of a command's help; options that are used often stand above them.
FILES = "Files"
COLUMNS = "Target and columns"
LEARNING = "Learning"
AUDIT = "Audit"
OUTPUT = "Output"

# The order of the options in help and in the commands that chary prints.
# fmt: off
_ORDER = (
    "target", "labels", "confidence", "unlabeled", "classes", "same",
    "drop", "categorical", "numeric", "identifier", "missing", "dates", "text",
    "audit", "k", "checked", "check_sheet", "class_prior", "aim", "error", "require", "by",
    "hide", "show", "annotator", "learner", "rounds", "probabilities", "explain",
    "delimiter", "encoding", "sheet", "header_row", "memory", "seed", "out", "format",
    "threshold", "scheduler", "until_width", "table", "port", "no_browser",
    "force", "discard_answers",
)
# fmt: on

Names = tuple[str, ...]
GivenPath = str | os.PathLike[str]


# ---------------------------------------------------------------- how texts are read

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?))?b?\s*", re.IGNORECASE)
# The place of a prefix in this text is its power of 1000: 0 for a blank, no prefix, and 1 for k.
_PREFIXES = " kmgt"


def read_share(text: str, flag: str) -> float:
    """Read a share, typed as a percentage or a number.

    >>> read_share("20%", "--until-width"), read_share(" 0.1", "--error")
    (0.2, 0.1)
    """
    share = _number_or_percentage(text)
    if not 0 < share < 1:
        raise ValueError(f"{flag} {text!r} is not a share; give one such as 10% or 0.1.")
    return share


def _number_or_percentage(text: str) -> float:
    """Read a number or a percentage; NaN if it is neither."""
    number = text.strip()
    try:
        if number.endswith("%"):
            return float(number.removesuffix("%")) / 100
        return float(number)
    except ValueError:
        return math.nan


def _write_share(share: float) -> str:
    """Write a share as it is typed."""
    return f"{100 * share:.10g}%"


class Requirement(NamedTuple):
    """What labels must fulfil: a measure of theirs is at least a share."""

    measure: str  # one of MEASURES
    of_class: str | None  # for precision and recall
    share: float


# The measures that labels can be required to have; those of a class name it.
MEASURES = {"accuracy": False, "coverage": False, "precision": True, "recall": True}


def read_requirement(text: str, flag: str = "--require") -> Requirement:
    """Read what the labels must fulfil.

    >>> read_requirement("accuracy >= 80%")
    Requirement(measure='accuracy', of_class=None, share=0.8)
    >>> read_requirement("recall of fraud>=0.9")
    Requirement(measure='recall', of_class='fraud', share=0.9)
    """
    words, sign, share = text.rpartition(">=")
    measure, _, of_class = words.strip().partition(" of ")
    measure = measure.strip()
    is_understood = bool(sign) and measure in MEASURES
    if not is_understood or MEASURES[measure] != bool(of_class.strip()):
        raise ValueError(
            f"{flag} {text!r} is not understood; give 'accuracy>=80%', 'coverage>=80%', "
            "'precision of CLASS>=80%' or 'recall of CLASS>=80%'."
        )
    return Requirement(measure, of_class.strip() or None, read_share(share.strip(), flag))


def requirement_of(require: float | str | Requirement | None) -> Requirement | None:
    """Read a requirement that was given in Python: a text as it is typed, or the accuracy.

    >>> requirement_of(0.9) == requirement_of("accuracy>=90%")
    True
    """
    if require is None or isinstance(require, Requirement):
        return require
    if isinstance(require, str):
        return read_requirement(require, "require")
    return Requirement("accuracy", None, read_share(str(require), "require"))


def _write_requirement(requirement: Requirement) -> str:
    """Write a requirement as it is typed."""
    of_class = "" if requirement.of_class is None else f" of {requirement.of_class}"
    return f"{requirement.measure}{of_class}>={_write_share(requirement.share)}"


def read_prior(texts: Sequence[str], flag: str = "--class-prior") -> dict[str, float] | str | None:
    """Read class shares: nothing, "labeled", or NAME=SHARE once for each class.

    >>> read_prior(["yes=30%", "no=0.7"])
    {'yes': 0.3, 'no': 0.7}
    """
    if list(texts) == ["labeled"]:
        return "labeled"

    shares: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        share = _number_or_percentage(number)
        if not name or not 0 <= share <= 1:
            raise ValueError(
                f"{flag} {text!r} is not understood; give NAME=SHARE, such as yes=30%, for each "
                "class, or the word labeled."
            )
        if name in shares:
            raise ValueError(f"{flag} {text!r} names {name!r} twice; give each class once.")
        shares[name] = share
    return shares or None


def _write_prior(prior: Mapping[str, float] | str) -> str | list[str]:
    """Write class shares as they are typed."""
    if isinstance(prior, str):
        return prior
    return [f"{name}={share:.10g}" for name, share in prior.items()]


def read_same(texts: Sequence[str], flag: str = "--same") -> dict[str, str]:
    """Read which labels are the same, WRONG=RIGHT for each.

    >>> read_same(["gutt=gut", "not sure=unsure"])
    {'gutt': 'gut', 'not sure': 'unsure'}
    """
    class_of: dict[str, str] = {}
    for text in texts:
        wrong, _, right = text.partition("=")
        if not wrong.strip() or not right.strip():
            raise ValueError(
                f"{flag} {text!r} is not understood; give WRONG=RIGHT, such as gutt=gut, for each "
                "label that is a slip."
            )
        if class_of.setdefault(wrong, right) != right:
            raise ValueError(f"{flag} {text!r} names {wrong!r} again; give each slip once.")
    return class_of


def _write_same(same: Mapping[str, str]) -> list[str]:
    """Write which labels are the same as they are typed."""
    return [f"{wrong}={right}" for wrong, right in same.items()]


def read_size(text: str, flag: str = "--memory") -> int:
    """Read a number of bytes.

    >>> read_size("2GB"), read_size("1.5 GiB"), read_size("800m")
    (2000000000, 1610612736, 800000000)
    """
    match = _SIZE.fullmatch(text)
    size = 0
    if match is not None:
        number, prefix, binary = match.groups()
        power = _PREFIXES.index((prefix or " ").lower())
        base = 1024 if binary else 1000
        size = int(float(number) * base**power)
    if not size:
        raise ValueError(f"{flag} {text!r} is not a size; give one such as 2GB or 1.5GiB.")
    return size


# ---------------------------------------------------------------- how an option is declared


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What an option means, and how it is typed, read and written.

    Attributes
    ----------
    help : str
    flags : tuple of str
        Empty: there is only the flag that is made from the name, as ``--class-prior``.
    metavar : str or None
        What the help shows in place of a value, as FILE in ``--audit FILE``.
    panel : str or None
        The panel of the help that lists the option; None: the first, of frequent options.
    typed_as : type
        What the command line reads: ``bool`` for a flag, ``list[str]`` for an option that can be
        repeated, ``Path`` for a file or a folder.
    read : callable
        Turns what was typed into the value; it also gets the flag, for the sentence of an error.
    write : callable
        Turns the value into what is typed.
    min, max : int or None
    default_help : str or None
        What the help says instead of the default, such as "detected".
    in_sheets : bool
        Whether an audit sheet keeps the option among its options. False for options that only
        concern the draw, and for those that have a field of their own in ``SheetOrigin``.
    is_names : bool
        Whether the value is a tuple of texts.
    """

    help: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    panel: str | None = None
    typed_as: Any = str
    read: Callable[[Any, str], Any] = lambda typed, flag: typed
    write: Callable[[Any], str | list[str]] = str
    min: int | None = None
    max: int | None = None
    default_help: str | None = None
    in_sheets: bool = True
    is_names: bool = False


def option(default: Any = MISSING, **declaration: Any) -> Any:
    """Declare an option by the attributes of ``Declaration``; without a default it is required."""
    return field(default=default, metadata={"option": Declaration(**declaration)})


def names(default: Any = (), *, help: str, **declaration: Any) -> Any:
    """Declare an option that can be repeated."""
    return option(
        default,
        help=f"{help} Repeatable.",
        typed_as=list[str],
        read=lambda typed, flag: tuple(typed),
        write=list,
        is_names=True,
        **declaration,
    )


def switch(**declaration: Any) -> Any:
    """Declare an option that is on or off."""
    return option(False, typed_as=bool, **declaration)


def same_option(command: type[Options], name: str, default: Any) -> Any:
    """Declare an option of another command again, with a default."""
    return field(default=default, metadata={"option": declarations(command)[name]})


def declarations(command: type[Options]) -> dict[str, Declaration]:
    """List the options of a command by name, in the order of its help.

    A field without a declaration, such as ``ReviewOptions.learner``, is for programs alone and not
    listed.
    """
    declared = {}
    for attribute in fields(command):
        if attribute.metadata:
            declared[attribute.name] = attribute.metadata["option"]
    return {name: declared[name] for name in sorted(declared, key=_ORDER.index)}


# ---------------------------------------------------------------- what all commands have in common


class FileReading(TypedDict, total=False):
    """How files are read: parameters of ``open_source``."""

    delimiter: str | None
    encoding: str | None
    sheet: str | None
    header_row: int | None


class TargetReading(TypedDict):
    """How the cells of the target are read: parameters of ``read_target``."""

    unlabeled: Names
    classes: Names
    missing: Names
    same: Mapping[str, str]


class SheetOptions(TypedDict):
    """The options that a sheet remembers: fields of its origin."""

    unlabeled: Names
    options: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user chose for a command."""

    verb: ClassVar[str]  #: the words that call the command

    @classmethod
    def of(cls, **parameters: Any) -> Self:
        """Build options from parameters of a Python call.

        A single text becomes a tuple of one if the option can be repeated, and classes are named by
        texts.
        """
        values = dict(parameters)
        for name, declaration in declarations(cls).items():
            if declaration.is_names and name in values:
                values[name] = _as_names(values[name])

        # The classes of a table are texts, so a prior must name them by texts, too.
        prior = values.get("class_prior")
        if isinstance(prior, Mapping):
            values["class_prior"] = {_class_name(name): share for name, share in prior.items()}
        if values.get("same"):
            values["same"] = _as_same(values["same"])
        return cls(**values)

    @classmethod
    def among(cls, parameters: Mapping[str, Any]) -> Self:
        """Build options from parameters, and ignore parameters that are not options."""
        declared = declarations(cls)
        return cls.of(**{name: value for name, value in parameters.items() if name in declared})

    @classmethod
    def typed(cls, **texts: Any) -> Self:
        """Build options from what was typed for each; None or an empty list: nothing was typed."""
        values = {}
        for name, declaration in declarations(cls).items():
            text = texts[name]
            if text not in (None, []):
                values[name] = declaration.read(text, flag_of(name))
        return cls(**values)

    @classmethod
    def like(cls, options: Options, **changes: Any) -> Self:
        """Build options from another command's; options that only the other has are left out."""
        return cls.among({**vars(options), **changes})

    @classmethod
    def kept(cls, remembered: Mapping[str, Any], **given: Any) -> Self:
        """Build options from ``remembered``, which ``to_keep`` wrote in a sheet.

        Anybody may have edited the sheet since, or another version of chary may have written it, so
        an entry that cannot be read as an option is left out. ``given`` are further options, which
        the sheet does not keep among its options.

        >>> LabelOptions.kept({"rounds": "2", "aim": 7}, target="y").command(["t.csv"])
        'chary label t.csv --target y --rounds 2'
        """
        values = {}
        for name, declaration in declarations(cls).items():
            entry = remembered.get(name)
            if entry and declaration.in_sheets:
                with suppress(ValueError, TypeError):
                    values[name] = _from_sheet(entry, declaration, flag_of(name))
        return cls(**{**values, **given})

    def command(self, files: Sequence[str | os.PathLike[str]]) -> str:
        """Write the command with these options, as it is typed."""
        words = ["chary", *self.verb.split()]
        words += [os.fspath(file) for file in files]
        for name, typed in self.as_typed().items():
            flag = flag_of(name)
            if typed is True:  # a switch
                words.append(flag)
            elif isinstance(typed, str):
                words += [flag, typed]
            else:
                for text in typed:
                    words += [flag, text]
        return command_line(words)

    def as_typed(self) -> dict[str, Any]:
        """Write the options that are not at their defaults as they are typed.

        By name: a text, a list of texts for an option that is repeated, True for a switch.

        >>> LabelOptions(target="y", drop=("a", "b"), error=0.05, explain=True).as_typed()
        {'target': 'y', 'drop': ['a', 'b'], 'error': '5%', 'explain': True}
        """
        typed: dict[str, Any] = {}
        for name, declaration in declarations(type(self)).items():
            value = getattr(self, name)
            # The default is an attribute of the class; a required option has none.
            default = getattr(type(self), name, MISSING)
            if value is True and default is not True:
                typed[name] = True
            elif value != default:
                typed[name] = declaration.write(value)
        return typed

    def to_keep(self) -> dict[str, Any]:
        """Write the options that an audit sheet remembers, in the form that ``kept`` reads.

        A value that cannot be typed, such as an estimator passed in Python, is left out.
        """
        types_that_can_be_typed = (str, int, float, tuple, Mapping, os.PathLike)
        declared = declarations(type(self))
        kept = {}
        for name, typed in self.as_typed().items():
            can_be_typed = isinstance(getattr(self, name), types_that_can_be_typed)
            if declared[name].in_sheets and can_be_typed:
                kept[name] = typed
        return kept


# The type in which a sheet holds an option, by the type that the command line reads. Options of
# other types are held as text, such as "2" for a number.
_TYPE_IN_SHEET: dict[Any, type[Any]] = {bool: bool, list[str]: list}


def _from_sheet(entry: Any, declaration: Declaration, flag: str) -> Any:
    """Turn the entry of a sheet into the value of an option.

    It raises a TypeError or a ValueError if the entry cannot be read as this option.
    """
    typed_as = declaration.typed_as
    # A repeatable option may have been written as a single text.
    if typed_as == list[str] and isinstance(entry, str):
        entry = [entry]
    if not isinstance(entry, _TYPE_IN_SHEET.get(typed_as, str)):
        raise TypeError

    # The entry as the command line would hand it to ``Declaration.read``.
    if isinstance(entry, list):
        entry = [str(text) for text in entry]
    elif typed_as is int:
        entry = int(entry)
    # The sheet may come from a stranger: a path of another machine must not be looked up.
    elif typed_as is Path and not is_on_this_machine(entry):
        raise ValueError
    return declaration.read(entry, flag)


def _as_names(value: Any) -> Names:
    """Make a tuple of texts, from a sequence, a single text or path, or None for no text."""
    if value is None:
        return ()
    if isinstance(value, (str, os.PathLike)):
        value = [value]
    return tuple(str(text) for text in value)


def _as_same(value: Any) -> dict[str, str]:
    """Make texts of the labels that are the same; refuse anything but a mapping."""
    if not isinstance(value, Mapping):
        raise ValueError(
            f"same={value!r} is not understood; map each slip to its class, such as "
            "same={'gutt': 'gut'}."
        )
    return {_class_name(wrong): _class_name(right) for wrong, right in value.items()}


def _class_name(value: Any) -> str:
    """Spell a class as a table does: 1 for 1.0, true for True."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


# ---------------------------------------------------------------- groups of options


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(Options):
    """How files are read."""

    delimiter: str | None = option(
        None,
        help="The delimiter of a CSV.",
        metavar="CHARACTER",
        panel=FILES,
        default_help="detected",
    )
    encoding: str | None = option(
        None,
        help="The encoding of a CSV, such as cp1252.",
        metavar="NAME",
        panel=FILES,
        default_help="detected",
    )
    sheet: str | None = option(
        None, help="Which sheet of an Excel workbook.", metavar="NAME", panel=FILES
    )
    header_row: int | None = option(
        None,
        help="The row that holds the column names.",
        metavar="N",
        panel=FILES,
        typed_as=int,
        min=1,
        default_help="detected",
    )

    @property
    def reading(self) -> FileReading:
        """The parameters of ``open_source``."""
        return {
            "delimiter": self.delimiter,
            "encoding": self.encoding,
            "sheet": self.sheet,
            "header_row": self.header_row,
        }


@dataclass(frozen=True, kw_only=True)
class SeedOptions(Options):
    """What random draws start from."""

    seed: int | None = option(
        None,
        help="The same seed gives the same result.",
        metavar="N",
        panel=LEARNING,
        typed_as=int,
        min=0,
        max=2**31 - 1,
        default_help="0",
    )


@dataclass(frozen=True, kw_only=True)
class DrawSeedOptions(SeedOptions):
    """What a draw of rows starts from."""

    seed: int | None = option(
        None,
        help="The same seed draws the same rows.",
        metavar="N",
        panel=LEARNING,
        typed_as=int,
        min=0,
        max=2**31 - 1,
        default_help="random, and kept in the sheet",
    )


@dataclass(frozen=True, kw_only=True)
class MarkerOptions(Options):
    """Which cells of a column of labels are labels."""

    unlabeled: Names = names(
        help="A value that means no label, like an empty cell.", metavar="VALUE", in_sheets=False
    )
    classes: Names = names(
        help="A value that is a class although it looks missing (unknown, 99).",
        flags=("--class",),
        metavar="VALUE",
        panel=COLUMNS,
    )
    same: Mapping[str, str] | None = option(
        None,
        help="A label that is a slip, and the class that is meant, such as gutt=gut. Repeatable.",
        metavar="WRONG=RIGHT",
        panel=COLUMNS,
        typed_as=list[str],
        read=read_same,
        write=_write_same,
    )

    @property
    def for_sheet(self) -> SheetOptions:
        """What a sheet of rows to label remembers."""
        return {"unlabeled": self.unlabeled, "options": self.to_keep()}


@dataclass(frozen=True, kw_only=True)
class ColumnOptions(MarkerOptions):
    """How the labels and the other columns are read."""

    drop: Names = names(help="Leave a column out.", metavar="COLUMN")
    categorical: Names = names(help="A column of categories, such as postcodes.", metavar="COLUMN")
    numeric: Names = names(help="A column of numbers.", metavar="COLUMN", panel=COLUMNS)
    identifier: Names = names(
        help="A column that only identifies rows.",
        flags=("--identifier", "--id"),
        metavar="COLUMN",
        panel=COLUMNS,
    )
    missing: Names = names(
        help="A value to treat as missing, such as -9 or age=-9.",
        metavar="[COLUMN=]CODE",
        panel=COLUMNS,
    )
    dates: Names = names(
        help="How to read 03/04/2024 if a column leaves it open: "
        "day-first, month-first or year-first.",
        metavar="[COLUMN=]ORDER",
        panel=COLUMNS,
    )
    text: Names = names(help="A column of free text.", metavar="COLUMN", panel=COLUMNS)

    @property
    def kinds(self) -> dict[str, Names]:
        """The parameters of ``TablePreparation``."""
        return {
            "drop": self.drop,
            "categorical": self.categorical,
            "numeric": self.numeric,
            "identifier": self.identifier,
            "text": self.text,
            "missing": self.missing,
            "dates": self.dates,
        }

    @property
    def label_cells(self) -> dict[str, Names]:
        """The parameters of ``sample_rows``: which cells of the target are labels."""
        return {"unlabeled": self.unlabeled, "classes": self.classes, "missing": self.missing}

    @property
    def target_reading(self) -> TargetReading:
        """The parameters of ``read_target``: how the cells of the target are read."""
        return {
            "unlabeled": self.unlabeled,
            "classes": self.classes,
            "missing": self.missing,
            "same": self.same or {},
        }


@dataclass(frozen=True, kw_only=True)
class ErrorOptions(Options):
    """Which labels to accept."""

    error: float | None = option(
        None,
        help="With --audit: accept rows with at most, say, 10% wrong.",
        metavar="SHARE",
        read=read_share,
        write=_write_share,
    )


@dataclass(frozen=True, kw_only=True)
class AimOptions(ErrorOptions):
    """What the labels should be good for."""

    class_prior: Mapping[Any, float] | str | None = option(
        None,
        help="The share of a class among all rows, if you know it; once for each class.",
        metavar="NAME=SHARE",
        panel=LEARNING,
        typed_as=list[str],
        read=read_prior,
        write=_write_prior,
    )
    aim: str = option(
        "accuracy",
        help="accuracy, or balanced: every class counts the same.",
        metavar="AIM",
    )


@dataclass(frozen=True, kw_only=True)
class JudgingOptions(Options):
    """What is known of labels under test, and what a person who judges them sees."""

    confidence: str | None = option(
        None,
        help="A column of numbers, or of words such as low and high: the larger, the more certain "
        "the label.",
        metavar="COLUMN",
    )
    hide: Names = names(
        help="Do not show a column to whoever labels the rows.", metavar="COLUMN", panel=AUDIT
    )
    show: Names = names(
        help="Show a column although it gives the label away.", metavar="COLUMN", panel=AUDIT
    )
    annotator: Names = names(
        help="Another person's answers: a filled-in sheet.", metavar="FILE", panel=AUDIT
    )


@dataclass(frozen=True, kw_only=True)
class AuditOptions(Options):
    """The answers of an audit."""

    audit: GivenPath | None = option(
        None, help="The filled-in sheet of random rows.", metavar="FILE", typed_as=Path
    )


@dataclass(frozen=True, kw_only=True)
class ForceOptions(Options):
    """Whether files are overwritten."""

    force: bool = switch(
        help="Overwrite files that are there, but no sheet with answers.",
        in_sheets=False,
    )


@dataclass(frozen=True, kw_only=True)
class WritingOptions(ForceOptions):
    """Where and how files are written."""

    out: GivenPath | None = option(
        None,
        help="The folder to write to.",
        metavar="FOLDER",
        typed_as=Path,
        default_help="that of FILE",
    )
    format: str | None = option(
        None,
        help=f"The kind of table to write: {listed(FORMAT_WORDS, 'or')}, or packed, as csv.gz.",
        metavar="KIND",
        panel=OUTPUT,
        default_help="that of FILE",
    )

    def folder(self, beside: Path) -> Path:
        """Choose where to write: the folder that was named, or that of the table."""
        if self.out is None:
            return beside
        return Path(self.out)


@dataclass(frozen=True, kw_only=True)
class SheetWritingOptions(WritingOptions):
    """Whether sheets are overwritten, too."""

    discard_answers: bool = switch(
        help="Replace a sheet that holds answers; a copy of it is kept.",
        panel=OUTPUT,
        in_sheets=False,
    )


@dataclass(frozen=True, kw_only=True)
class SizeOptions(SheetWritingOptions):
    """How large a sheet is drawn."""

    k: int = option(
        AUDIT_SIZE,
        help="How many rows to draw. Decide before you look.",
        flags=("-k", "--rows"),
        metavar="ROWS",
        typed_as=int,
        min=2,
        in_sheets=False,
    )


@dataclass(frozen=True, kw_only=True)
class ScoringOptions(Options):
    """How rows get their labels."""

    probabilities: bool = switch(
        help="Add the probability of each class.",
        panel=OUTPUT,
    )
    memory: int | None = option(
        None,
        help="The most memory to use, such as 2GB.",
        metavar="SIZE",
        panel=FILES,
        read=read_size,
        default_help="half of what is free",
    )


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, kw_only=True)
class DiagnoseOptions(ColumnOptions, ReadingOptions, SeedOptions):
    """Options of ``chary diagnose``."""

    verb = "diagnose"

    target: str = option(
        help="The column with the labels.",
        flags=("--target", "-t"),
        metavar="COLUMN",
        in_sheets=False,
    )


@dataclass(frozen=True, kw_only=True)
class LearningOptions(DiagnoseOptions, AimOptions, ScoringOptions, SheetWritingOptions):
    """How labels are made; a sheet of ``chary audit draw`` keeps it for ``chary label``."""

    checked: GivenPath | None = option(
        None,
        help="The filled-in sheet of doubtful rows, from --check-sheet.",
        metavar="FILE",
        panel=AUDIT,
        typed_as=Path,
    )
    check_sheet: bool = switch(
        help="Also write FILE.check.csv: doubtful rows to correct.",
        panel=AUDIT,
    )
    learner: Any = option(
        "auto",
        help="The model: auto, mixed (linear, trees and boosting together), "
        "network, linear or boosting.",
        metavar="NAME",
        panel=LEARNING,
    )
    rounds: int | None = option(
        None,
        help="Rounds of self-training.",
        metavar="N",
        panel=LEARNING,
        typed_as=int,
        min=0,
        max=20,
        default_help="0 or 1, depending on the labels",
    )
    explain: bool = switch(
        help="Add the cells that decided each new label; slow on large tables.",
        panel=OUTPUT,
    )


@dataclass(frozen=True, kw_only=True)
class LabelOptions(LearningOptions, AuditOptions):
    """Options of ``chary label``."""

    verb = "label"


@dataclass(frozen=True, kw_only=True)
class DrawOptions(LearningOptions, SizeOptions):
    """Options of ``chary audit draw``."""

    verb = "audit draw"


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(
    JudgingOptions,
    MarkerOptions,
    ReadingOptions,
    DrawSeedOptions,
    ErrorOptions,
    AuditOptions,
    SizeOptions,
):
    """Options of ``chary judge``."""

    verb = "judge"

    labels: Names = names(
        MISSING,
        help="A column of labels to judge; give two to compare them.",
        flags=("--labels", "-l"),
        metavar="COLUMN",
        in_sheets=False,
    )
    require: Requirement | None = option(
        None,
        help="For pipelines, with --audit: exit with 0 if the audit shows this, such as "
        "'accuracy>=80%' ('coverage>=80%', 'precision of CLASS>=80%', 'recall of CLASS>=80%'), "
        "with 4 if it rules it out, with 5 if the labels have changed since the draw, and with 3 "
        "otherwise.",
        metavar="TEXT",
        panel=AUDIT,
        read=read_requirement,
        write=_write_requirement,
    )
    by: Names = names(
        help="Show the accuracy for each value of a column.", metavar="COLUMN", panel=AUDIT
    )


@dataclass(frozen=True, kw_only=True)
class PredictOptions(ReadingOptions, ScoringOptions, WritingOptions):
    """Options of ``chary predict``."""

    verb = "predict"

    threshold: float | None = option(
        None,
        help="Add chary_accept: is the confidence at least this?",
        metavar="NUMBER",
        typed_as=float,
        min=0,
        max=1,
    )
    scheduler: str | None = option(
        None,
        help="The address of a Dask cluster that labels the files.",
        metavar="ADDRESS",
        panel=FILES,
        default_help="the cores of this machine",
    )


@dataclass(frozen=True, kw_only=True)
class FillOptions(Options):
    """Options of ``chary audit fill``."""

    verb = "audit fill"

    until_width: float | None = option(
        None,
        help="For a sheet of chary judge: say when the interval is no wider than this, "
        "such as 20%.",
        metavar="SHARE",
        read=read_share,
        write=_write_share,
    )
    table: Names = names(
        help="For --until-width: the table of the sheet.",
        metavar="FILE",
        default_help="the file of that name beside it",
    )


@dataclass(frozen=True, kw_only=True)
class ReviewOptions(ColumnOptions, ReadingOptions, SeedOptions, AimOptions, JudgingOptions):
    """Options of ``chary review``; without a target or labels, the page asks for them."""

    verb = "review"

    target: str | None = same_option(DiagnoseOptions, "target", default=None)
    labels: Names = same_option(JudgeOptions, "labels", default=())
    port: int = option(
        0,
        help="The port to listen on; 0 picks a free one.",
        metavar="N",
        panel=OUTPUT,
        typed_as=int,
        min=0,
        max=65535,
    )
    no_browser: bool = switch(
        help="Print the address instead of opening a browser.",
    )
    learner: Any = "auto"  #: for programs; the command does not take it


@dataclass(frozen=True, kw_only=True)
class DemoOptions(SeedOptions, ForceOptions):
    """Options of ``chary demo``."""

    verb = "demo"


COMMANDS = (
    LabelOptions,
    DiagnoseOptions,
    DrawOptions,
    JudgeOptions,
    PredictOptions,
    FillOptions,
    ReviewOptions,
    DemoOptions,
)


@cache
def flag_of(name: str) -> str:
    """Write the flag of an option or a parameter.

    >>> flag_of("class_prior"), flag_of("identifier"), flag_of("classes")
    ('--class-prior', '--identifier', '--class')
    """
    for command in COMMANDS:
        declaration = declarations(command).get(name)
        if declaration is not None and declaration.flags:
            return declaration.flags[0]
    return f"--{name.replace('_', '-')}"
