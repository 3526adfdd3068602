"""How often new rows that are others are noticed, how often alike ones are accused, and what that costs.

On the real tables of ``$CHARY_DATA/tables``: a reference made of the rows that a model would learn from is
compared with files of 50, 200 and 1,000 new rows (or as many as there are), 100 draws each.

alike: a random half is learned from, the files are drawn from the other (5 halves, 20 files of each).
group: everything but one group is learned from, the files are drawn from that group.
hidden group: the same without the column that names the group.

Run: ``CHARY_DATA=... python benchmarks/drift.py > benchmarks/results/drift.txt``
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from rich.console import Console
from rich.progress import track
from rich.table import Table as Grid
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from chary.labelling import label_table, predict_table
from chary.labelling.drift import compare_with_reference, count_events, with_drift_reference
from chary.options import Options
from chary.tables import TablePreparation, open_source
from chary.tables.cells import unified
from chary.tables.columns import kind_of
from studies import COLLECTION, TableFacts

SIZES = (50, 200, 1_000)
N_DRAWS, N_HALVES = 100, 5


class Found(NamedTuple):
    """What was said of one file."""

    table: str
    case: str
    size: int
    verdict: str
    auc: float
    column: str  # that differs most


class Rows:
    """Rows of a table as a preparation reads them, from which files are drawn."""

    def __init__(self, preparation: TablePreparation, frame: pl.DataFrame) -> None:
        self.X = preparation.transform(frame)
        self.missing = {}
        for column in preparation.columns_:
            if column.used and not (kind := kind_of(column)).grouped:
                self.missing[column.name] = np.isnan(kind.read(unified(frame[column.name]), column)[:, 0])

    def part(self, rows: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
        return self.X[rows], {name: int(absent[rows].sum()) for name, absent in self.missing.items()}


def draws(learned: pl.DataFrame, others: pl.DataFrame, n: int, rng: np.random.Generator) -> Iterator[Any]:
    """(size, comparison) of files of other rows."""
    preparation = TablePreparation().fit(learned)
    model = with_drift_reference(Pipeline([("prepare", preparation)]), *preparation.transform_counted(learned))
    rows = Rows(preparation, others)
    for size in SIZES:
        for _ in range(n):
            counts = count_events(model, *rows.part(rng.permutation(others.height)[:size]))
            yield size, compare_with_reference(model, counts)


def cases(frame: pl.DataFrame, facts: TableFacts, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """The name of a case, and the comparisons of its draws."""
    for _ in range(N_HALVES):
        order, half = rng.permutation(frame.height), frame.height // 2
        yield "alike", draws(frame[order[:half]], frame[order[half:]], N_DRAWS // N_HALVES, rng)
    if facts.group_column:
        group = (frame[facts.group_column].cast(pl.String) == facts.group_value).fill_null(False)
        yield "group", draws(frame.filter(~group), frame.filter(group), N_DRAWS, rng)
        hidden = frame.drop(facts.group_column)
        yield "hidden group", draws(hidden.filter(~group), hidden.filter(group), N_DRAWS, rng)


def measure(facts: TableFacts, folder: Path) -> Iterator[Found]:
    frame = pl.read_parquet(folder / f"{facts.name}.parquet").drop(facts.target)
    for case, compared in cases(frame, facts, np.random.default_rng(0)):
        for size, rows in compared:
            column = rows.columns[0].column if rows.columns else ""
            yield Found(facts.name, case, size, rows.verdict, rows.auc, column)


def share(found: list[Found], **which: Any) -> str:
    """Of the files of a kind, how many were said to differ, in percent."""
    told = [f.verdict != "alike" for f in found if all(getattr(f, name) == value for name, value in which.items())]
    return f"{100 * np.mean(told):.1f}" if told else "-"


def show(console: Console, found: list[Found]) -> None:
    names = [f"{case}, {size:,}" for case in ("alike", "hidden group", "group") for size in SIZES]
    grid = Grid("table", *names, title="Files said to differ, %: alike ones are falsely accused, others noticed")
    for table in [*dict.fromkeys(f.table for f in found), None]:
        which = {} if table is None else {"table": table}
        cells = [
            share(found, case=case, size=size, **which)
            for case in ("alike", "hidden group", "group")
            for size in SIZES
        ]
        grid.add_row(table or "all", *cells)
    console.print(grid)


def show_cost(console: Console, n_rows: int = 100_000) -> None:
    """CPU time of labelling new rows, reading and writing apart, and of counting them besides."""
    grid = Grid("columns", "learner", "labelling, s", "counting, s", "ratio", title=f"Cost of {n_rows:,} rows")
    for n_columns in (10, 50):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n_rows, n_columns))
        columns = {f"x{j}": X[:, j] for j in range(n_columns - 2)}
        columns |= {f"c{j}": rng.choice(list("abcdef"), n_rows) for j in range(2)}
        target = np.where(np.arange(n_rows) < 300, np.where(X[:, 0] > 0, "yes", "no"), None)
        new = open_source(pl.DataFrame(columns), name="new").read()
        small = open_source(
            new.frame.with_columns(y=pl.Series(target, dtype=pl.String))[:3_000], name="small"
        ).read()
        for learner in ("linear", "network", "mixed"):
            model = label_table(small, Options.of(target="y", learner=learner, rounds=0)).model
            start = process_time()
            predict_table(model, new)
            labelling = process_time() - start
            read = model[0].transform_counted(new.frame)
            start = process_time()
            compare_with_reference(model, count_events(model, *read))
            counting = process_time() - start
            figures = f"{labelling:.2f}", f"{counting:.3f}", f"{counting / labelling:.3f}"
            grid.add_row(str(n_columns), learner, *figures)
    console.print(grid)


def main() -> None:
    folder = Path(os.environ["CHARY_DATA"]) / "tables"
    progress, console = Console(stderr=True), Console(width=150)
    with threadpool_limits(1):
        found = [f for facts in track(COLLECTION, console=progress) for f in measure(facts, folder)]
        show(console, found)
        show_cost(console)


if __name__ == "__main__":
    main()
