"""What a column is taken for, and what a kind of column can do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._arrays import Array
from chary.tables.columns.defaults import NO_HINTS, Hints
from chary.tables.table import all_composed

# A column of one of the following kinds is left out, and its kind says why.
IDENTIFIER = "identifier"
# Nothing can be learned from such text. Free text that is used is of the kind ``Texts``.
UNUSED_TEXT = "text"
CONSTANT = "constant"
DROPPED = "dropped"
UNSUPPORTED = "unsupported"
LEFT_OUT = frozenset((IDENTIFIER, UNUSED_TEXT, CONSTANT, DROPPED, UNSUPPORTED))

# A person reads a feature in one of the following ways.
NUMBER = "number"
DATE = "date"
# Of a topic, a text has more or less.
TOPIC = "topic"
# A sine or cosine says nothing to a person.
UNREADABLE = "unreadable"

# About this many cells show what most cells of a column are like.
SMALL_SAMPLE = 200


@dataclass(frozen=True)
class Column:
    """All that a model file says of a column."""

    name: str
    kind: str  # the name of a ``Kind``, or why the column is left out
    note: str = ""  # for people
    form: str = ""  # how cells are written, in a notation of the kind: "dmy" for dates
    # Texts that depend on the kind: the frequent values of a categorical column, the value that a
    # boolean one reads as 1, the names of the topics of free text, and words that stand in a
    # numeric column in place of a number and count as missing.
    categories: tuple[str, ...] = ()
    other: bool = False  # categorical: rare and unseen values share a feature
    missing: bool = False  # cells were missing when the preparation was fitted
    learned: dict[str, Array] = field(default_factory=dict, compare=False)  # by the kind
    doubtful: bool = False  # a person should read the note: it may have been meant otherwise

    @property
    def used(self) -> bool:
        """Whether the column becomes features."""
        return self.kind not in LEFT_OUT


class Kind:
    """A kind of column.

    A kind makes k numbers of a cell. The preparation standardises them later; it fills missing
    numbers with the median and marks them by a feature of their own. With ``one_scale``, the k
    numbers are divided by the same scale, which keeps distances between cells. A ``grouped`` kind
    makes one number, the group that a cell belongs to; each group becomes a feature, 1 in the group
    and 0 elsewhere.
    """

    name: ClassVar[str]  # the ``kind`` of its columns
    grouped: ClassVar[bool] = False
    one_scale: ClassVar[bool] = False
    learns: ClassVar[tuple[str, ...]] = ()  # the arrays that its columns have in ``learned``

    def find(
        self, filled: pl.Series, forced: bool = False, hints: Hints = NO_HINTS
    ) -> Column | None:
        """Describe a column of this kind; None for any other.

        ``filled`` are the cells that hold something, of any type; they are not all equal. A column
        is ``forced`` if the user said that it is of this kind.
        """
        raise NotImplementedError

    def feature_names(self, column: Column) -> list[str]:
        """Name each of the k numbers, or each group."""
        return [column.name]

    def feature_words(self, column: Column) -> list[tuple[str, str]]:
        """Name each of the k numbers for a person, with its unit."""
        return [(name, NUMBER) for name in self.feature_names(column)]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """Read cells as numbers (n, k).

        The numbers of a cell are NaN if it is missing or in another form than the column's.
        """
        raise NotImplementedError

    def unreadable_cells(self, numberless: pl.Series, column: Column) -> pl.Series:
        """Keep the cells that are in another form than the column's.

        ``numberless`` are filled cells without a number.
        """
        return numberless

    def expected(self, column: Column) -> str:
        """Say how the cells of this column are written.

        A grouped kind is never asked.
        """
        raise NotImplementedError

    def is_valid(self, column: Column) -> bool:
        """Tell whether a column that can be read fits together."""
        return True


def sample_cells(cells: pl.Series, size: int) -> pl.Series:
    """Sample ``size`` cells or somewhat more.

    The same cells are drawn in any order of the rows.
    """
    step = len(cells) // size
    if step < 2:
        return cells
    # Sorted by hash, cells are in an order that is random but depends on their content alone.
    order = cells.hash(seed=0).arg_sort()
    return cells.gather(order.gather_every(step))


def null_cells(cells: pl.Series, dtype: type[pl.DataType] = pl.Float64) -> pl.Series:
    """Make a series of the same name and length that holds only null."""
    return pl.Series(cells.name, [None] * len(cells), dtype=dtype)


def unified(cells: pl.Series) -> pl.Series:
    """Write text in one Unicode form, and categories as text."""
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    return all_composed(cells)
