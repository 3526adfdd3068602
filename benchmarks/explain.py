"""What explaining costs beside labelling, and how many rows a row must be compared with.

CHARY_DATA=... python benchmarks/explain.py

Cost: ``chary.labelling.label_table`` on 5,000 rows of tables in ``$CHARY_DATA/tables``, labels
picked at random: CPU time of all steps, of the one that finds what decides the labels (importance
of the columns, and 50 to 70 rows), and of explaining every label besides. Comparison: the deciding
columns of 60 rows, compared with few rows, one typical row or few columns, beside those found with
96 rows and all columns.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table
from second_look import Features
from stored import print_head
from threadpoolctl import threadpool_limits

from chary import MixedEnsembleClassifier
from chary.labelling import label_table
from chary.labelling.explain import decisive, effects, importance, spread_rows
from chary.options import LabelOptions
from chary.tables import Table as Cells
from studies import COLLECTION, TableFacts, labelled_rows

TIMED = ("hotel", "computers", "food_reviews", "occupations")
COMPARED = (
    "breaches",
    "colleges",
    "forbes",
    "hotel",
    "weather",
    "fi_survey",
    "baseball",
    "computers",
)
N_ROWS, N_EXPLAINED, REFERENCE = 5_000, 60, 96
STEP = "Finding what decides the labels"


def main() -> None:
    warnings.simplefilter("ignore")
    data, console = Path(os.environ["CHARY_DATA"]) / "tables", Console(width=110)
    of_name = {spec.name: spec for spec in COLLECTION}
    with threadpool_limits(1):
        console.print(_cost([of_name[name] for name in TIMED], data))
        console.print(_agreement([of_name[name] for name in COMPARED], data))


def _cost(timed: list[TableFacts], data: Path) -> Table:
    grid = Table(title=f"CPU seconds of labelling {N_ROWS:,} rows", title_justify="left")
    for name in (
        "table",
        "columns",
        "features",
        "learner",
        "all",
        "explaining",
        "share of the rest",
        "every label",
    ):
        grid.add_column(name, justify="left" if name == "table" else "right")
    for spec in timed:
        table = _hidden(data, spec)
        result, steps = _timed(table, spec.target, explain=False)
        _, with_all = _timed(table, spec.target, explain=True)
        rest = sum(steps.values()) - steps[STEP]
        features = result.model[0].features()
        grid.add_row(
            spec.name,
            f"{len({feature.column for feature in features})}",
            f"{len(features)}",
            result.settings["learner"],
            f"{sum(steps.values()):.1f}",
            f"{steps[STEP]:.2f}",
            f"{steps[STEP] / rest:.0%}",
            f"{with_all[STEP] - steps[STEP]:.1f}",
        )
    return grid


def _hidden(data: Path, spec: TableFacts) -> Cells:
    frame = pl.read_parquet(data / f"{spec.name}.parquet")
    frame = frame.sample(min(N_ROWS, frame.height), seed=0)
    keep = np.random.default_rng(0).permutation(frame.height)[: spec.n_labeled]
    kept = pl.Series(np.isin(np.arange(frame.height), keep))
    target = pl.when(kept).then(pl.col(spec.target).cast(pl.String))
    return Cells(frame.with_columns(target.alias(spec.target)), spec.name, format="parquet")


def _timed(table: Cells, target: str, explain: bool) -> tuple[Any, dict[str, float]]:
    """The result, and the CPU time of each step; progress within a step does not end it."""
    starts: list[tuple[str, float]] = []
    result = label_table(
        table,
        LabelOptions.of(target=target, explain=explain),
        progress=lambda step: starts.append((step, process_time())),
    )
    steps = [start for start in starts if not start[0].startswith("Explaining rows")]
    ends = [*(since for _, since in steps[1:]), process_time()]
    return result, {name: end - since for (name, since), end in zip(steps, ends, strict=True)}


def _agreement(compared: list[TableFacts], data: Path) -> Table:
    found: dict[str, list[list[float]]] = {}
    for spec in compared:
        for name, figures in _compare(Features(data, spec), spec).items():
            found.setdefault(name, []).append(figures)
    title = (
        f"Beside {REFERENCE} rows and all columns, mean of {len(compared)} tables, "
        f"{N_EXPLAINED} rows each"
    )
    grid = Table(title=title, title_justify="left")
    for name in (
        "compared with",
        "same first column",
        "shared of named columns",
        "effect lost by the first",
    ):
        grid.add_column(name, justify="left" if name == "compared with" else "right")
    for name, figures in found.items():
        grid.add_row(name, *(f"{100 * figure:.1f} %" for figure in np.mean(figures, axis=0)))
    return grid


def _compare(table: Features, spec: TableFacts) -> dict[str, list[float]]:
    rows = labelled_rows(table.frame, spec, "column", 0)
    rest = np.setdiff1d(np.arange(len(table.y)), rows)
    rest = np.random.default_rng(0).choice(rest, min(3_000, len(rest)), replace=False)
    y = np.concatenate([table.y[rows], [None] * len(rest)]).astype(object)
    model = MixedEnsembleClassifier(random_state=0, unlabeled=None).fit(
        table.X[np.concatenate([rows, rest])], y
    )
    pool = table.X[rest]
    names = list(dict.fromkeys(feature.column for feature in table.features))
    groups = [
        np.array([j for j, f in enumerate(table.features) if f.column == name]) for name in names
    ]
    X = pool[np.random.default_rng(1).choice(len(pool), min(N_EXPLAINED, len(pool)), replace=False)]
    codes = model.predict_proba(X).argmax(axis=1)
    reference = effects(model, X, codes, pool[spread_rows(pool, REFERENCE)], groups)
    found = {
        "one typical row": _beside(
            reference, effects(model, X, codes, _typical(table, pool, groups), groups)
        )
    }
    for size in (2, 4, 8, 16):
        background = pool[spread_rows(pool, size)]
        found[f"{size} rows"] = _beside(reference, effects(model, X, codes, background, groups))
    order = np.argsort(-importance(model, pool, groups)[0], kind="stable")
    for most in (10, 20, 30):
        left_out = np.isin(np.arange(len(groups)), order[most:])
        found[f"{REFERENCE} rows, {most} columns"] = _beside(
            reference, np.where(left_out, -1, reference)
        )
    return found


def _typical(table: Features, pool: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    """The median of each number, and the most frequent of each group."""
    typical = np.median(pool, axis=0)[None].astype(pool.dtype)
    for own in groups:
        if all(table.features[j].indicator for j in own):
            values, counts = np.unique(pool[:, own], axis=0, return_counts=True)
            typical[0, own] = values[counts.argmax()]
    return typical


def _beside(reference: np.ndarray, other: np.ndarray) -> list[float]:
    """Measure how often the first column agrees, shared columns, and what the first lacks."""
    named = [
        [{k for k in row if k >= 0} for row in decisive(values).tolist()]
        for values in (reference, other)
    ]
    shared = [len(a & b) / max(1, len(a | b)) for a, b in zip(*named, strict=True)]
    first = [decisive(values)[:, 0] for values in (reference, other)]
    had = np.where(first[1] >= 0, reference[np.arange(len(reference)), first[1]], 0)
    return [
        float(np.mean(first[0] == first[1])),
        float(np.mean(shared)),
        1 - had.mean() / reference.max(1).mean(),
    ]


if __name__ == "__main__":
    print_head()
    main()
