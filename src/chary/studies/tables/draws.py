"""A cell in; a draw out: the features of a table, which labels are known, and the rows that are scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.evaluation import draw
from chary.jobs import prepare
from chary.method import Labels
from chary.studies import datasets
from chary.studies.labeling import train_test_rows
from chary.studies.study import Cell, Task
from chary.studies.tables.collection import RealTable, labelled_rows, load_table
from chary.tables import Table, table_from


class Scored(NamedTuple):
    """The rows that labels are judged on."""

    X: NDArray[Any]
    truth: NDArray[np.intp]  # class codes
    rows: NDArray[np.intp] | None  # which of the draw's rows they are; None: others


@dataclass
class Draw:
    """What a method gets to work on: what ``chary label`` would, and the truth to judge it by."""

    cell: Cell
    X: NDArray[Any]  # (n, d) the features that ``chary label`` makes of the table
    truth: NDArray[np.intp]  # (n,)
    classes: NDArray[Any]  # (C,) as text, sorted
    labeled: NDArray[np.bool_]  # (n,) whose label is given
    table: RealTable | None = None  # where the rows come from a table
    test: Scored | None = None  # rows apart, as in the paper; None: the rows without a label are scored
    kept: dict[Any, Any] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        """Of the learners, too."""
        return self.cell.seed

    def once(self, what: Any, work: Callable[[], Any]) -> Any:
        """The outcome of some work, kept for the other cells that share this draw."""
        if what not in self.kept:
            self.kept[what] = work()
        return self.kept[what]

    def audited(self, k: int) -> NDArray[np.intp]:
        """k rows at random from those without a label; of a larger k the first are the same."""
        rng = np.random.default_rng([self.seed, 3])
        return draw(self.labeled, int((~self.labeled).sum()), rng)[:k]

    def labels(self, more: NDArray[np.intp]) -> Labels:
        """The labels given and those of some more rows; only classes that occur in them are known."""
        known = self.labeled.copy()
        known[more] = True
        seen, codes = np.unique(self.truth[known], return_inverse=True)
        every = np.full(len(known), -1, dtype=np.intp)
        every[known] = codes
        return Labels(self.classes[seen], every, known)

    def scored(self, more: NDArray[np.intp]) -> Scored:
        """The rows to judge by, where some more rows have been labelled."""
        if self.test is not None:
            return self.test
        rest = np.setdiff1d(np.flatnonzero(~self.labeled), more)
        return Scored(self.X[rest], self.truth[rest], rest)

    def hidden(self) -> Table:
        """The table as a user has it: the target is empty where there is no label."""
        assert self.table is not None
        target = pl.Series(self.table.facts.target, self.classes[self.truth].astype(object), dtype=pl.String)
        kept = pl.select(pl.when(pl.Series(self.labeled)).then(target)).to_series().alias(target.name)
        return table_from(self.table.frame.with_columns(kept), name=self.cell.dataset)


def table_draw(cell: Cell) -> Draw:
    """A table with labels drawn at random, from one group, or by a column."""
    table = load_table(cell.dataset)
    labeled = np.zeros(len(table.codes), dtype=bool)
    labeled[labelled_rows(table.frame, table.facts, cell.labeling, cell.seed)] = True
    return Draw(cell, table.X, table.codes, table.classes, labeled, table)


def paper_draw(cell: Cell) -> Draw:
    """A data set of the paper, split and labelled as there; its columns prepared as those of a table."""
    task, data = Task(cell), datasets.load(cell.dataset)
    train, test = train_test_rows(data.y, random_state=task._seed(0))
    columns = {f"x{j}": data.X[:, j] for j in range(data.X.shape[1])}
    frame = pl.DataFrame(columns).with_columns(pl.lit("?").alias("y"))
    prepared = prepare(Table(frame[train], cell.dataset), "y")
    classes = np.unique(data.y.astype(str))
    truth = np.searchsorted(classes, data.y.astype(str))
    apart = Scored(prepared.preparation.transform(frame[test].drop("y")), truth[test], None)
    return Draw(cell, prepared.X, truth[train], classes, task.labeled, test=apart)
