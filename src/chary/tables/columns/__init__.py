"""What a column was taken for, and the questions that every kind of column answers; each kind is a file here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.tables.table import all_composed

# Why a column is left out.
IDENTIFIER, TEXT, CONSTANT, DROPPED, UNSUPPORTED = "identifier", "text", "constant", "dropped", "unsupported"

# A column is numeric, or a date, if at least this share of its filled cells reads as one; the rest is missing.
READABLE = 0.98

# How a person reads a feature: as a number, as a date, as a topic (more or less of it), or not at all.
NUMBER, DATE, TOPIC, UNREADABLE = "number", "date", "topic", "unreadable"

FEW, MANY = 200, 20_000  # cells that show what most cells of a column are like, and how they are written


def some_of(cells: pl.Series, size: int) -> pl.Series:
    """Cells of a column, ``size`` of them or somewhat more: the same ones whatever the order of the rows."""
    step = len(cells) // size
    return cells if step < 2 else cells.gather(cells.hash(seed=0).arg_sort().gather_every(step))


def nulls(cells: pl.Series, dtype: type[pl.DataType] = pl.Float64) -> pl.Series:
    """As many cells that hold nothing."""
    return pl.Series(cells.name, [None] * len(cells), dtype=dtype)


def unified(cells: pl.Series) -> pl.Series:
    """Cells as the kinds take them: text kept in a dictionary as text, and in one Unicode form."""
    return all_composed(cells.cast(pl.String) if cells.dtype in (pl.Categorical, pl.Enum) else cells)


@dataclass(frozen=True)
class Column:
    """What a column was taken for: all that a model file says of it."""

    name: str
    kind: str  # the name of a ``Kind``, or why the column is left out
    note: str = ""  # for people
    form: str = ""  # how to read a cell, in words of its kind: of numbers "comma", of dates "dmy"
    # categorical: its frequent values; boolean: the value read as 1; words: what each feature is about
    categories: tuple[str, ...] = ()
    other: bool = False  # categorical: rare and unseen values share a feature
    missing: bool = False  # cells were missing when the preparation was fitted
    learned: dict[str, NDArray[Any]] = field(default_factory=dict, compare=False)  # what else a kind goes by
    doubtful: bool = False  # a person should read the note: it may have been meant otherwise

    @property
    def used(self) -> bool:
        """Whether the column becomes features."""
        return self.kind not in (IDENTIFIER, TEXT, CONSTANT, DROPPED, UNSUPPORTED)


class Kind:
    """What there is to know of a kind of column; each is a subclass in a file of this folder.

    A kind makes k numbers of a cell. They are standardised later, missing ones filled with their median and told
    of by a feature of their own. Where they have ``one_scale``, distances between cells are kept. A kind that is
    ``grouped`` makes one number, the group that a cell belongs to; each group is a feature then, 1 in it and 0
    elsewhere.
    """

    name: ClassVar[str]  # the ``kind`` of its columns
    grouped: ClassVar[bool] = False
    one_scale: ClassVar[bool] = False

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """What the column is, if it is of this kind; None if not.

        ``filled`` are the cells that hold something, of whatever type, and are not all the same. A column is
        ``forced`` if somebody said that it is of this kind.
        """
        raise NotImplementedError

    def feature_names(self, column: Column) -> list[str]:
        """A name for each of the k numbers, or for each group."""
        return [column.name]

    def feature_words(self, column: Column) -> list[tuple[str, str]]:
        """What a person calls each of them, and the unit that a person reads it in."""
        return [(name, NUMBER) for name in self.feature_names(column)]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """The numbers (n, k) of cells; NaN where they are missing or written otherwise than in this column."""
        raise NotImplementedError

    def unread(self, without: pl.Series, column: Column) -> pl.Series:
        """Of cells that hold something and yet have no number, those that are written otherwise than here."""
        return without

    def doubted(self, cells: pl.Series, column: Column) -> tuple[pl.Series, bool] | None:
        """Where a cell that is written otherwise may pass for one that is not, as 1.234 does for 1234.

        The cells that may be such, and whether one shows that none is; None where there is no doubt.
        """
        return None

    def expected(self, column: Column) -> str:
        """How the cells of this column are written, for who wrote them otherwise; a grouped kind is not asked."""
        raise NotImplementedError

    def whole(self, column: Column) -> bool:
        """Whether a column from a model file has learned all that this kind goes by."""
        return True
