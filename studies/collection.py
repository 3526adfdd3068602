"""The collections of real tables: reading one, and which rows keep their label in a draw.

They are in the folders ``tables`` and ``tables2`` of ``CHARY_DATA``, what is known of them in
``published``. A small table, ``tumours``, is made of what comes with scikit-learn, so that a fresh
clone has something to run.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from chary.audit import draw
from chary.labelling.diagnose import prepare
from chary.method.labels import Labels
from chary.tables import Table, open_source
from chary.tables.target import read_target
from studies import datasets
from studies.datasets import DataFacts, DatasetError, Source
from studies.study import ALL, Cell, Shared, Task, train_test_rows

# Rows without a label that are learned from and scored where all rows would take too long.
_ROWS = 2_000
RANDOM, GROUP, COLUMN = WAYS = ("random", "group", "column")
PAPER_WAYS = ("iid", "ssb")


@dataclass(frozen=True)
class TableFacts:
    """How a table takes part: its target, and how labels are hidden."""

    name: str
    target: str
    n_labeled: int
    bias_column: str  # by which labels are picked
    # Labelled first: values far from the mean ("number"), the earliest ("date"), largest ("rank").
    bias_kind: str
    group_column: str  # labels come from the rows that have ``group_value`` here; "": no group
    group_value: str  # as text
    sha256: str = ""  # of the file


class RealTable(NamedTuple):
    """A table whose labels are all known."""

    facts: TableFacts
    frame: pl.DataFrame  # target included
    classes: NDArray[Any]  # (C,) as text, sorted
    codes: NDArray[np.intp]  # (n,) the class of every row
    X: NDArray[Any]  # (n, d) the features that ``chary label`` makes of it
    only_numbers: bool = True  # whether all columns are numbers or have two values


@lru_cache
def find_table(name: str) -> TableFacts:
    """What is known of a table without opening it.

    A name that is not of the collection is looked up in ``tables.csv`` in the folder of the
    collection, so that tables can be added there.

    >>> find_table("tumours").n_labeled
    60
    """
    if name == TUMOURS.name:
        return replace(TUMOURS, sha256=_sha256(_tumours().write_csv().encode()))
    known = {facts.name: facts for facts in COLLECTION}
    if name in known or name in SECOND:
        return known[name] if name in known else SECOND[name]
    catalogue = _folder() / "tables.csv"
    if os.environ.get("CHARY_DATA") and catalogue.is_file() and _path(name).is_file():
        for row in pl.read_csv(catalogue, infer_schema=False).fill_null("").to_dicts():
            if row["name"] == name:
                row = {key: row[key] for key in TableFacts.__dataclass_fields__ if key != "sha256"}
                return _table_facts({**row, "sha256": _sha256(_path(name).read_bytes())})
    raise DatasetError(
        f"There is no table {name!r}; choose one of {', '.join([TUMOURS.name, *known])}."
    )


@lru_cache(maxsize=2)  # a worker meets the cells of a table one after another
def load_table(name: str) -> RealTable:
    """A table, read and prepared once for all its draws and methods."""
    facts = find_table(name)
    frame = read_frame(facts)
    table = open_source(frame, name=name).read()
    # "unknown" is one, too.
    classes = frame[facts.target].cast(pl.String).drop_nulls().unique().to_list()
    labels = read_target(table, facts.target, classes=classes).labels
    if not labels.labeled.all():
        raise DatasetError(
            f"The table {name} has rows without a label; nothing could be said of them."
        )
    prepared = prepare(table, facts.target)
    return RealTable(facts, frame, labels.classes, labels.codes, prepared.X, prepared.only_numbers)


def absent(names: list[str]) -> list[str]:
    """Those of some tables that are not on this machine."""
    return [name for name in names if name != TUMOURS.name and not _path(name).is_file()]


def possible(cell: Cell) -> bool:
    """Whether labels can be drawn so: not every table has a natural group."""
    return cell.labeling != GROUP or bool(find_table(cell.dataset).group_column)


def labelled_rows(frame: pl.DataFrame, facts: TableFacts, how: str, seed: int) -> NDArray[np.intp]:
    """The rows that keep their label, as the README of the collection says.

    ``how``: "random", uniformly; "group", uniformly among the rows of the group; "column", the
    earliest rows by a date, or without replacement and with probability proportional to exp(2 |z|),
    z a standardised number, missing cells z = 0 (drawn in its Gumbel form, which is safe for heavy
    tails); in the second collection exp(6 u), u the share of rows that have no larger value.
    """
    rng, n = np.random.default_rng(seed), facts.n_labeled
    if how == RANDOM:
        return rng.permutation(len(frame))[:n]
    if (
        how == GROUP and facts.bias_kind == "rank"
    ):  # of the second collection, whose groups are in a file
        pool = np.load(_path(facts.name).with_suffix(".npz"))[facts.group_column]
        return rng.permutation(pool)[: min(n, int(0.8 * len(pool)))]
    if how == GROUP:
        member = (frame[facts.group_column].cast(pl.String) == facts.group_value).fill_null(False)
        return rng.permutation(np.flatnonzero(member.to_numpy()))[:n]
    values = frame[facts.bias_column]
    if facts.bias_kind == "date":
        seconds = values.cast(pl.Datetime("us")).dt.epoch("s").to_numpy()
        return np.lexsort((rng.random(len(values)), seconds))[:n]
    if facts.bias_kind == "rank":
        rank = _numbers(values).rank("average").to_numpy() / len(values)
        return np.argsort(-(6 * rank + rng.gumbel(size=len(rank))), kind="stable")[:n]
    x = values.cast(pl.Float64).fill_null(np.nan).to_numpy()
    z = np.nan_to_num(np.abs((x - np.nanmean(x)) / np.nanstd(x)))
    return np.argsort(-(2 * z + rng.gumbel(size=len(x))), kind="stable")[:n]


def _numbers(values: pl.Series) -> pl.Series:
    """Dates as numbers, also those written as text; the median where a cell is empty."""
    if values.dtype == pl.String:
        dates = values.str.to_datetime(strict=False)
        values = dates if dates.null_count() <= len(values) / 2 else values
    if values.dtype in (pl.Date, pl.Datetime):
        values = values.cast(pl.Datetime("us")).cast(pl.Int64)
    numbers = values.cast(pl.Float64, strict=False)
    return numbers.fill_null(numbers.median())


def ordinal_codes(frame: pl.DataFrame) -> NDArray[np.float64]:
    """Turn cells into numbers: numbers stay, others become ranks of their text, empty ones NaN.

    >>> ordinal_codes(pl.DataFrame({"age": [31, None], "city": ["Ulm", "Bonn"]})).tolist()
    [[31.0, 1.0], [nan, 0.0]]
    """
    columns = [
        column if column.dtype.is_numeric() else (column.cast(pl.String).rank("dense") - 1)
        for column in frame
    ]
    return np.column_stack(
        [column.cast(pl.Float64).fill_null(np.nan).to_numpy() for column in columns]
    )


def _facts(name: str) -> DataFacts:
    facts = find_table(name)
    return DataFacts(name, facts.n_labeled, facts.n_labeled, 0.0, facts.sha256)


def _folder() -> Path:
    return Path(os.environ.get("CHARY_DATA", "")) / "tables"


def _path(name: str) -> Path:
    return _folder().with_name("tables2" if name in SECOND else "tables") / f"{name}.parquet"


def _table_facts(row: dict[str, str]) -> TableFacts:
    return TableFacts(**{**row, "n_labeled": int(row["n_labeled"])})  # type: ignore[arg-type]


def read_frame(facts: TableFacts) -> pl.DataFrame:
    """Read a table with its target; refuse a file that is not the known one."""
    if facts.name == TUMOURS.name:
        return _tumours()
    try:
        content = _path(facts.name).read_bytes()
    except OSError as error:
        raise DatasetError(
            f"The table {facts.name} is not on this machine; set CHARY_DATA to the directory that "
            f"holds tables/{facts.name}.parquet, or choose {TUMOURS.name}, which comes with "
            "scikit-learn."
        ) from error
    if _sha256(content) != facts.sha256:
        raise DatasetError(
            f"{_path(facts.name)} is not the table chary knows; put the original in its place."
        )
    return pl.read_parquet(content)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _tumours() -> pl.DataFrame:
    """Make measurements of tumours, with a unit in one column and words in another."""
    data = load_breast_cancer()
    frame = pl.DataFrame({str(name): data.data[:, j] for j, name in enumerate(data.feature_names)})
    area = frame["worst area"].to_numpy()
    thirds = np.searchsorted(np.quantile(area, (1 / 3, 2 / 3)), area)
    return frame.with_columns(
        pl.Series("mean radius", [f"{value:.2f} mm" for value in frame["mean radius"]]),
        pl.Series("size", np.array(["small", "medium", "large"])[thirds].tolist()),
        pl.Series("diagnosis", data.target_names[data.target].tolist()),
    )


TUMOURS = TableFacts("tumours", "diagnosis", 60, "texture error", "number", "size", "medium")
COLLECTION = tuple(map(_table_facts, datasets.published("tables.csv")))
SECOND = {row["name"]: _table_facts(row) for row in datasets.published("tables2.csv")}
NAMES = tuple(facts.name for facts in COLLECTION)
SOURCE = Source(_facts, absent, TUMOURS.name)


class Scored(NamedTuple):
    """The rows that labels are judged on."""

    X: NDArray[Any]
    truth: NDArray[np.intp]  # class codes
    rows: NDArray[np.intp] | None  # which of the draw's rows they are; None: others


@dataclass
class Draw(Shared):
    """What a method gets to work on: what ``chary label`` would, and the truth to judge it by."""

    cell: Cell
    X: NDArray[Any]  # (n, d) the features that ``chary label`` makes of the table
    truth: NDArray[np.intp]  # (n,)
    classes: NDArray[Any]  # (C,) as text, sorted
    labeled: NDArray[np.bool_]  # (n,) whose label is given
    table: RealTable | None = None  # where the rows come from a table
    # Rows apart, as in the paper; None: the rows without a label are scored.
    test: Scored | None = None

    @property
    def seed(self) -> int:
        """Of the learners, too."""
        return self.cell.seed

    @property
    def only_numbers(self) -> bool:
        """Whether all columns are numbers, as in all data sets of the paper."""
        return self.table is None or self.table.only_numbers

    def audited(self, k: int) -> NDArray[np.intp]:
        """k rows at random from those without a label; of a larger k the first are the same."""
        rng = np.random.default_rng([self.seed, 3])
        return draw(self.labeled, int((~self.labeled).sum()), rng)[:k]

    def labels(self, more: NDArray[np.intp]) -> Labels:
        """Add labels to those given; only classes that occur in them are known."""
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
        target = pl.Series(
            self.table.facts.target, self.classes[self.truth].astype(object), dtype=pl.String
        )
        kept = (
            pl.select(pl.when(pl.Series(self.labeled)).then(target)).to_series().alias(target.name)
        )
        return open_source(self.table.frame.with_columns(kept), name=self.cell.dataset).read()


def table_draw(cell: Cell) -> Draw:
    """A table with labels drawn at random, from one group, or by a column."""
    table = load_table(cell.dataset)
    labeled = np.zeros(len(table.codes), dtype=bool)
    labeled[labelled_rows(table.frame, table.facts, cell.labeling, cell.seed)] = True
    return Draw(cell, table.X, table.codes, table.classes, labeled, table)


def paper_draw(cell: Cell) -> Draw:
    """Load a data set of the paper as a table, split and labelled as there."""
    task = Task(cell)
    data = datasets.load(cell.dataset)
    train, test = train_test_rows(data.y, task._seed(0))
    columns = {f"x{j}": column for j, column in enumerate(data.X.T)}
    frame = pl.DataFrame(columns).with_columns(pl.lit("?").alias("y"))
    prepared = prepare(Table(frame[train], cell.dataset), "y")

    classes, truth = np.unique(data.y.astype(str), return_inverse=True)
    test_features = prepared.preparation.transform(frame[test].drop("y"))
    test_rows = Scored(test_features, truth[test], None)
    return Draw(cell, prepared.X, truth[train], classes, task.labeled, test=test_rows)


def part_of_table(cell: Cell) -> Draw:
    """A table, or the training rows of a data set of the paper; at most 2,000 have no label."""
    whole = _training_rows(cell) if cell.dataset in ALL else table_draw(cell)
    assert whole.table is not None
    rng = np.random.default_rng([cell.seed, 8])
    others = rng.permutation(np.flatnonzero(~whole.labeled))[:_ROWS]
    rows = np.sort(np.concatenate([np.flatnonzero(whole.labeled), others]))
    X = whole.X[rows]
    truth = whole.truth[rows]
    table = whole.table._replace(frame=whole.table.frame[rows], codes=truth, X=X)
    return Draw(cell, X, truth, whole.classes, whole.labeled[rows], table)


def _training_rows(cell: Cell) -> Draw:
    """The training rows of a data set of the paper as a table; nothing is prepared."""
    task = Task(cell)
    data = datasets.load(cell.dataset)
    train = train_test_rows(data.y, task._seed(0))[0]
    X = data.X[train]
    classes, truth = np.unique(data.y[train].astype(str), return_inverse=True)
    frame = pl.DataFrame({f"x{j}": column for j, column in enumerate(X.T)})
    facts = TableFacts(cell.dataset, "y", cell.n_labeled, "", "", "", "")
    table = RealTable(facts, frame.with_columns(y=pl.Series(classes[truth])), classes, truth, X)
    return Draw(cell, X, truth, classes, task.labeled, table)


def is_possible(cell: Cell) -> bool:
    """Tell whether labels are drawn so in this data set: the paper's have their own two ways."""
    if cell.dataset in ALL:
        return cell.labeling in PAPER_WAYS
    return cell.labeling in WAYS and possible(cell)


def collection_of(dataset: str) -> str:
    """Name the collection that a data set is of."""
    if dataset in ALL:
        return "the paper's"
    return "tables 2" if dataset in SECOND else "tables 1"


def _source_of(name: str) -> Source:
    return datasets.SOURCE if name in ALL else SOURCE


def _absent_of_any(names: list[str]) -> list[str]:
    return [name for name in names if _source_of(name).absent([name])]


# Of tables and of the paper's data sets.
ANY_SOURCE = Source(lambda name: _source_of(name).facts(name), _absent_of_any, "digits")
