"""Given labels worth a second look: how many of those listed are wrong, with labels swapped or not.

CHARY_DATA=... python benchmarks/second_look.py [folder]

Of the tables in ``$CHARY_DATA/tables`` labels are kept at random, from one group, or by a column,
as its README says (seed 0); 0, 5 or 10 % of them are given another of the classes, at random. Every
label is then judged by unlike learners that have not seen it. Orders and thresholds are compared;
the last line is what chary does. Finished parts are kept in ``folder`` (studies/cells/second_look).
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.progress import track
from rich.table import Table
from stored import print_head
from threadpoolctl import threadpool_limits

from chary import MixedEnsembleClassifier
from chary.labelling.rows_to_check import suspect_labels
from chary.method.held_out import HeldOut, hold_out
from chary.tables import TablePreparation
from studies import COLLECTION, TableFacts, labelled_rows

SHARES = {"random": (0.0, 0.05, 0.1), "group": (0.0, 0.1), "column": (0.0, 0.1)}
POOL, MOST = 2_000, 20
Judged = dict[str, Any]

ORDERS: dict[str, Callable[[HeldOut], np.ndarray]] = {
    "probability of the given label, low first": lambda judged: -judged.given_probability,
    "log of the ratio of both": lambda judged: (
        np.log(judged.probability + 1e-9) - np.log(judged.given_probability + 1e-9)
    ),
    "difference of both": lambda judged: judged.probability - judged.given_probability,
    "probability of the predicted label": lambda judged: judged.probability,
    "T-similarity": lambda judged: judged.confidence,
    "difference times T-similarity": lambda judged: (
        (judged.probability - judged.given_probability) * judged.confidence
    ),
}
MARGINS = (0.5, 0.7, 0.8, 0.85, 0.9)


class Features:
    """A table of the collection with its target, prepared."""

    def __init__(self, folder: Path, facts: TableFacts) -> None:
        self.frame = pl.read_parquet(folder / f"{facts.name}.parquet")
        self.y = self.frame[facts.target].cast(pl.String).to_numpy().astype(str)
        preparation = TablePreparation()
        self.X = preparation.fit_transform(self.frame.drop(facts.target))
        self.features = preparation.features()


def cells(data: Path, folder: Path) -> Iterator[Judged]:
    """Every table, way and share: the labels as judged, and which of them were swapped."""
    for spec in track(COLLECTION, console=Console(stderr=True), description="Tables"):
        ways = [how for how in SHARES if how != "group" or spec.group_column]
        paths = {
            (how, share): folder / f"{spec.name}-{how}-{share}.npz"
            for how in ways
            for share in SHARES[how]
        }
        if not all(path.exists() for path in paths.values()):
            table = Features(data, spec)
            for how in ways:
                _judge(table, spec, how, paths)
        for (how, share), path in paths.items():
            with np.load(path) as stored:
                judged = HeldOut(*(stored[name] for name in HeldOut._fields))
                yield {"how": how, "share": share, "judged": judged, "swapped": stored["swapped"]}


def _judge(
    table: Features, spec: TableFacts, how: str, paths: dict[tuple[str, float], Path]
) -> None:
    rows = (
        _random_rows(table, spec) if how == "random" else labelled_rows(table.frame, spec, how, 0)
    )
    rng = np.random.default_rng(1)
    pool = np.setdiff1d(np.arange(len(table.y)), rows)
    pool = rng.choice(pool, min(POOL, len(pool)), replace=False)
    classes, X = np.unique(table.y[rows]), table.X[np.concatenate([rows, pool])]
    for share in SHARES[how]:
        given = table.y[rows].astype(object)
        swapped = rng.choice(len(rows), round(share * len(rows)), replace=False)
        for i in swapped:
            given[i] = rng.choice(classes[classes != given[i]])
        y = np.concatenate([given, [None] * len(pool)])
        judged = hold_out(
            MixedEnsembleClassifier(random_state=0, unlabeled=None), X, y, random_state=0
        )
        part = paths[how, share].with_suffix(".part")
        with part.open("wb") as file:
            np.savez_compressed(file, swapped=np.isin(judged.rows, swapped), **judged._asdict())
        part.replace(paths[how, share])


def _random_rows(table: Features, spec: TableFacts) -> np.ndarray:
    return np.random.default_rng(0).permutation(len(table.y))[: spec.n_labeled]


def listed(judged: HeldOut, order: np.ndarray, margin: float) -> np.ndarray:
    """The labels that an order and a threshold would list."""
    wrong = np.flatnonzero(
        ~judged.correct & (judged.probability - judged.given_probability >= margin)
    )
    return wrong[np.argsort(-order[wrong], kind="stable")[:MOST]]


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "studies/cells/second_look")
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        found = list(cells(Path(os.environ["CHARY_DATA"]) / "tables", folder))
    console = Console(width=130)
    console.print(_orders(found))
    console.print(_margins(found))


def _orders(found: list[Judged]) -> Table:
    """Twenty contradicted labels, whatever the margin: the share of them that had been swapped."""
    grid = Table(
        title="Of the first 20 contradicted labels, swapped (percent)", title_justify="left"
    )
    ways = [(how, share) for how in SHARES for share in SHARES[how] if share]
    for name in ("order", *(f"{how}, {share:.0%} swapped" for how, share in ways)):
        grid.add_column(name, justify="left" if name == "order" else "right")
    for name, order in ORDERS.items():
        row = []
        for how, share in ways:
            own = [cell for cell in found if (cell["how"], cell["share"]) == (how, share)]
            hits = [
                cell["swapped"][listed(cell["judged"], order(cell["judged"]), 0)].mean()
                for cell in own
            ]
            row.append(f"{100 * np.mean(hits):.1f}")
        grid.add_row(name, *row)
    return grid


def _margins(found: list[Judged]) -> Table:
    """What is listed from a margin on, in the order that chary uses, and by chary."""
    grid = Table(
        title="Listed by margin, all ways of picking labels (mean a table)", title_justify="left"
    )
    grid.add_column("margin")
    for share in (0.0, 0.05, 0.1):
        grid.add_column(f"{share:.0%} swapped: listed", justify="right")
        if share:
            grid.add_column("of those swapped", justify="right")
    rules = {
        f"{margin}": lambda judged, margin=margin: listed(judged, -judged.given_probability, margin)
        for margin in MARGINS
    }
    for name, rule in {**rules, "chary (0.85)": suspect_labels}.items():
        row = []
        for share in (0.0, 0.05, 0.1):
            lists = [
                (cell["swapped"], rule(cell["judged"])) for cell in found if cell["share"] == share
            ]
            n = sum(len(rows) for _, rows in lists)
            row.append(f"{n / len(lists):.1f}")
            if share:
                row.append(
                    f"{100 * sum(swapped[rows].sum() for swapped, rows in lists) / max(1, n):.0f} %"
                )
        grid.add_row(name, *row)
    return grid


if __name__ == "__main__":
    print_head()
    main()
