"""What reading columns is worth: accuracy with and without the features of a kind of column, on real tables.

CHARY_DATA=... python benchmarks/columns.py [seeds [folder]]

Labels come from one group of the rows, or are picked by a column, as the README of ``$CHARY_DATA/tables`` says.
The learners get the features of ``TablePreparation``, and again without those of a kind. Finished parts are
kept in ``folder`` (studies/cells/columns) and not computed again, unless the features of their table changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from threadpoolctl import threadpool_limits

from chary import MixedEnsembleClassifier
from chary.tables import TablePreparation
from chary.tables.cells import Column
from studies import COLLECTION, TableFacts, labelled_rows

WAYS = ("group", "column")

# What to leave out: a column, and the name of a feature, in; whether it goes, out.
Leaving = Callable[[Column, str], bool]
PLAIN_NUMBERS = ("", "comma", "thousands")


def is_text(column: Column, feature: str) -> bool:
    return column.kind == "words"


def is_money_or_unit(column: Column, feature: str) -> bool:
    """A number that is written with something around it."""
    return column.kind == "numeric" and column.form not in PLAIN_NUMBERS


def is_time_of_day(column: Column, feature: str) -> bool:
    part = feature.removeprefix(column.name).lower()
    return column.kind not in ("words", "categorical", "numeric") and ("hour" in part or "time of day" in part)


def is_new(column: Column, feature: str) -> bool:
    return any(leaves(column, feature) for leaves in (is_text, is_money_or_unit, is_time_of_day))


STEPS: dict[str, Leaving] = {
    "everything": lambda column, feature: False,
    "no text": is_text,
    "no money, units": is_money_or_unit,
    "no hours": is_time_of_day,
    "none of these": is_new,
}
LEARNERS: dict[str, Callable[[int], Any]] = {
    "logistic": lambda seed: LogisticRegression(max_iter=1000),
    "extra trees": lambda seed: ExtraTreesClassifier(200, random_state=seed),
    "boosting": lambda seed: HistGradientBoostingClassifier(
        max_iter=60, min_samples_leaf=5, max_leaf_nodes=15, random_state=seed
    ),
    "mixed": lambda seed: MixedEnsembleClassifier(random_state=seed, unlabeled=None),
}


class Features:
    """A table of the collection, prepared, and which of its features stay in a step."""

    def __init__(self, folder: Path, facts: TableFacts) -> None:
        self.frame = pl.read_parquet(folder / f"{facts.name}.parquet")
        self.y = self.frame[facts.target].cast(pl.String).to_numpy().astype(str)
        cells, preparation = self.frame.drop(facts.target), TablePreparation()
        start = process_time()
        self.X = preparation.fit_transform(cells)
        self.seconds = process_time() - start
        self.features, self.columns = preparation.features(), {c.name: c for c in preparation.columns_}
        names = json.dumps([*STEPS, *(feature.name for feature in self.features)])
        self.digest = hashlib.sha256(names.encode() + self.X.tobytes()).hexdigest()[:16]

    def kept(self, leaves: Leaving) -> tuple[int, ...]:
        columns = self.columns
        return tuple(j for j, f in enumerate(self.features) if not leaves(columns[f.column], f.name))


def figures(table: Features, labeled: np.ndarray, seed: int) -> dict[str, Any]:
    """Accuracy, balanced accuracy, and seconds, of every step and learner; equal features are tried once."""
    rest = np.setdiff1d(np.arange(len(table.y)), labeled)
    y = np.full(len(table.y), None, dtype=object)
    y[labeled] = table.y[labeled]
    done: dict[tuple[int, ...], dict[str, list[float]]] = {}
    found = {}
    for step, leaves in STEPS.items():
        kept = table.kept(leaves)
        if kept not in done:
            done[kept] = {
                name: _figures(make(seed), table.X[:, kept], y, table.y, rest) for name, make in LEARNERS.items()
            }
        found[step] = done[kept]
    return found


def _figures(model: Any, X: np.ndarray, y: np.ndarray, truth: np.ndarray, rest: np.ndarray) -> list[float]:
    if not X.shape[1]:
        return [float("nan")] * 3
    start = process_time()
    labeled = np.setdiff1d(np.arange(len(y)), rest)
    unlike = isinstance(model, MixedEnsembleClassifier)  # also learns from the rows without a label
    model.fit(X, y) if unlike else model.fit(X[labeled], y[labeled].astype(str))
    predicted = model.predict(X[rest]).astype(str)
    balanced = balanced_accuracy_score(truth[rest], predicted)
    return [float(np.mean(predicted == truth[rest])), float(balanced), process_time() - start]


def cells(data: Path, folder: Path, seeds: range) -> Iterator[dict[str, Any]]:
    """The figures of each table, way and seed, from a file if they are there."""
    for facts in track(COLLECTION, console=Console(stderr=True), description="Tables"):
        table = Features(data, facts)
        for how in WAYS:
            if how == "group" and not facts.group_column:
                continue
            for seed in seeds:
                path = folder / f"{facts.name}-{how}-{seed}-{table.digest}.json"
                if not path.exists():
                    found = figures(table, labelled_rows(table.frame, facts, how, seed), seed)
                    part = path.with_suffix(".part")
                    part.write_text(json.dumps(found))
                    part.replace(path)
                changed = [step for step in STEPS if table.kept(STEPS[step]) != table.kept(STEPS["everything"])]
                yield {
                    "table": facts.name,
                    "how": how,
                    "changed": changed,
                    "seconds": table.seconds,
                    "figures": json.loads(path.read_text()),
                }


def main() -> None:
    n_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else "studies/cells/columns")
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        found = list(cells(Path(os.environ["CHARY_DATA"]) / "tables", folder, range(n_seeds)))
    console = Console(width=130)
    for how in WAYS:
        console.print(_means([cell for cell in found if cell["how"] == how], how, n_seeds))
    for learner in LEARNERS:
        console.print(_by_table(found, learner))


def _grid(title: str, *columns: str) -> Table:
    grid = Table(title=title, title_justify="left")
    for j, column in enumerate(columns):
        grid.add_column(column, justify="right" if j else "left")
    return grid


def _means(found: list[dict[str, Any]], how: str, n_seeds: int) -> Table:
    """Mean over tables and seeds, of each learner and step."""
    tables = len({cell["table"] for cell in found})
    title = f"Labels by {how}: {tables} tables, {n_seeds} seeds; accuracy (balanced accuracy), percent"
    grid = _grid(title, "features", *LEARNERS)
    for step in STEPS:
        means = [100 * np.nanmean([cell["figures"][step][name] for cell in found], axis=0) for name in LEARNERS]
        grid.add_row(step, *(f"{accuracy:.1f} ({balanced:.1f})" for accuracy, balanced, _ in means))
    return grid


def _by_table(found: list[dict[str, Any]], learner: str) -> Table:
    """Mean over seeds, of each table and step: only where a step leaves something out."""
    left_out = [step for step in STEPS if any(step in cell["changed"] for cell in found)]
    titles = [f"{step}, {how}" for how in WAYS for step in ["everything", *left_out]]
    title = f"Accuracy of {learner}, percent, where something is left out; seconds to prepare the table"
    grid = _grid(title, "table", *titles, "seconds")
    for name in dict.fromkeys(cell["table"] for cell in found if cell["changed"]):
        own = [cell for cell in found if cell["table"] == name]
        row = [_mean(own, how, step, learner) for how in WAYS for step in ["everything", *left_out]]
        grid.add_row(name, *row, f"{own[0]['seconds']:.1f}")
    return grid


def _mean(own: list[dict[str, Any]], how: str, step: str, learner: str) -> str:
    cells = [cell for cell in own if cell["how"] == how and (step == "everything" or step in cell["changed"])]
    return f"{100 * np.mean([cell['figures'][step][learner][0] for cell in cells]):.1f}" if cells else "-"


if __name__ == "__main__":
    main()
