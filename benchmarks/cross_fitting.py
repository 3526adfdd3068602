"""Whether the interval of a model that learned from its own audit holds: many classes, new ones.

Each audited row is judged by a model without its fold; the truth is the accuracy of the model of
all labels on the rows that nobody labelled. Three cheap learners on made tables, and on real ones
labelled in one group alone. Run:
``CHARY_DATA=... python benchmarks/cross_fitting.py > benchmarks/results/cross_fitting.txt``
"""

import argparse
import csv
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table
from sklearn.tree import DecisionTreeClassifier
from stored import print_head

from chary.audit import interval
from chary.audit.model import cross_fitted_score

N_ROWS, N_COLUMNS, N_FOLDS = 1_200, 6, 5


class Design(NamedTuple):
    """A made table, its first labels and its audit."""

    classes: int
    labelled: int  # classes that the first labels have
    n_first: int
    k: int
    apart: float  # how far the classes' centres lie apart
    uneven: bool = False  # shares of the classes as 1, 1/2, 1/3 ...
    biased: bool = True  # first labels from one side of a column
    copies: int = 1  # nearly equal rows


DESIGNS = [
    Design(2, 2, 40, 30, 1.2),
    Design(3, 3, 9, 30, 1.5, biased=False),
    Design(10, 10, 100, 30, 2.5, biased=False),
    Design(21, 14, 140, 10, 2.5),
    Design(21, 14, 140, 30, 2.5),
    Design(21, 14, 140, 100, 2.5),
    Design(21, 14, 140, 30, 2.5, copies=5),
    Design(21, 14, 140, 30, 6),
    Design(40, 14, 140, 30, 3, uneven=True),
    Design(10, 2, 40, 20, 3),
    Design(5, 1, 20, 50, 3),
    Design(30, 2, 40, 50, 4, uneven=True),
]
REAL = [("nace", 30), ("weather", 30), ("use_of_force", 30), ("forbes", 30), ("forbes", 100)]


class Problem(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    first: np.ndarray  # rows labelled first
    audit: np.ndarray


def made(design: Design, rng: np.random.Generator) -> Problem:
    """Two clouds for each class; some classes, and one side of the first column, have labels."""
    n = N_ROWS // design.copies
    share = 1 / np.arange(1, design.classes + 1) if design.uneven else np.ones(design.classes)
    y = rng.choice(design.classes, n, p=share / share.sum())
    centres = rng.normal(size=(design.classes, 2, N_COLUMNS)) * design.apart * 0.57
    X = centres[y, rng.integers(0, 2, n)] + rng.normal(size=(n, N_COLUMNS))
    X, y = X.repeat(design.copies, axis=0), y.repeat(design.copies)
    X += 0.05 * (design.copies > 1) * rng.normal(size=X.shape)
    known = (
        np.arange(design.labelled)
        if design.uneven
        else rng.choice(design.classes, design.labelled, False)
    )
    weight = np.isin(y, known) * np.exp(1.5 * design.biased * X[:, 0] / X[:, 0].std())
    first = rng.choice(len(y), design.n_first, replace=False, p=weight / weight.sum())
    return Problem(
        X, y, first, rng.choice(np.setdiff1d(np.arange(len(y)), first), design.k, replace=False)
    )


def real(
    frame: pl.DataFrame, about: dict[str, str], k: int, n_audits: int, rng: np.random.Generator
):
    """Codes and numbers of a table; the first labels are those of one group."""
    y = (
        frame[about["target"]]
        .cast(pl.String)
        .cast(pl.Categorical)
        .to_physical()
        .to_numpy()
        .astype(int)
    )
    columns = []
    for column in frame.drop(about["target"]):
        cells = (
            column.cast(pl.Categorical).to_physical()
            if column.dtype == pl.String
            else column.to_physical()
        )
        columns.append(cells.cast(pl.Float64).fill_null(-1).fill_nan(-1).to_numpy())
    X = np.column_stack(columns)
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)
    group = np.flatnonzero(frame[about["group_column"]].cast(pl.String) == about["group_value"])
    for _ in range(n_audits):
        first = rng.permutation(group)[: int(about["n_labeled"])]
        yield Problem(
            X, y, first, rng.choice(np.setdiff1d(np.arange(len(y)), first), k, replace=False)
        )


def neighbour(X: np.ndarray, y: np.ndarray, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The class of the nearest labelled row."""
    distance = (X[rows] ** 2).sum(axis=1) - 2 * X[at] @ X[rows].T
    return y[rows][distance.argmin(axis=1)]


def ridge(X: np.ndarray, y: np.ndarray, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Linear scores of each class, by least squares."""
    classes, codes = np.unique(y[rows], return_inverse=True)
    A, B = (np.column_stack([X[part], np.ones(len(part))]) for part in (rows, at))
    weights = np.linalg.solve(A.T @ A + np.eye(A.shape[1]), A.T @ np.eye(len(classes))[codes])
    return classes[(B @ weights).argmax(axis=1)]


def tree(X: np.ndarray, y: np.ndarray, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
    return DecisionTreeClassifier(random_state=0).fit(X[rows], y[rows]).predict(X[at])


LEARNERS = {"neighbour": neighbour, "ridge": ridge, "tree": tree}


def cross_fit(problem: Problem, learn, rng: np.random.Generator) -> tuple[float, int, int]:
    """Compute the final model's truth, and audited rows right cross-fitted and without audit."""
    X, y, first, audit = problem
    every = np.concatenate([first, audit])
    rest = np.setdiff1d(np.arange(len(y)), every)
    truth = float(np.mean(learn(X, y, every, rest) == y[rest]))
    folds = np.array_split(rng.permutation(audit), N_FOLDS)
    others = [np.concatenate([first, np.setdiff1d(audit, fold)]) for fold in folds]
    right = sum(
        int((learn(X, y, rows, fold) == y[fold]).sum())
        for rows, fold in zip(others, folds, strict=True)
    )
    return truth, right, int((learn(X, y, first, audit) == y[audit]).sum())


def tally(problems, k: int, rng: np.random.Generator) -> list[list[str]]:
    """List for each learner truth, error, coverage and width of both intervals."""
    found: dict[str, list[tuple[float, int, int]]] = {name: [] for name in LEARNERS}
    for problem in problems:
        for name, learn in LEARNERS.items():
            found[name].append(cross_fit(problem, learn, rng))
    lines = []
    for name, audits in found.items():
        truth = np.array([audit[0] for audit in audits])
        share = np.array([right / k for _, right, _ in audits])
        plain = np.array([interval(right, k) for _, right, _ in audits])
        scores = [cross_fitted_score(right, before, k, N_FOLDS) for _, right, before in audits]
        wide = np.array([(score.low, score.high) for score in scores])
        line = [name, f"{100 * truth.mean():.0f}", f"{100 * (share - truth).mean():+.1f}"]
        for limits in (plain, wide):
            inside = (limits[:, 0] <= truth) & (truth <= limits[:, 1])
            line += [f"{100 * inside.mean():.1f}", f"{100 * np.diff(limits, axis=1).mean():.0f}"]
        line.append(f"{100 * np.mean(truth < wide[:, 0]):.1f}")
        lines.append(line)
    return lines


def main() -> None:
    """Print a line for each design and learner."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=400)
    n_audits = parser.parse_args().audits
    title = f"{n_audits} audits of each design; percent and points; 95 % asked for"
    heads = [
        "classes",
        "labelled",
        "first",
        "k",
        "design",
        "learner",
        "truth",
        "figure off",
        "plain covers",
        "width",
    ]
    table = Table(*heads, "widened covers", "width", "truth below", title=title)
    for i, design in enumerate(DESIGNS):
        rng = np.random.default_rng([i, 77])
        what = [
            f"apart {design.apart:g}",
            *["uneven"] * design.uneven,
            *["random"] * (not design.biased),
        ]
        what += [f"{design.copies} copies"] * (design.copies > 1)
        about = [
            *map(str, (design.classes, design.labelled, design.n_first, design.k)),
            ", ".join(what),
        ]
        for line in tally((made(design, rng) for _ in range(n_audits)), design.k, rng):
            table.add_row(*about, *line)
    if "CHARY_DATA" in os.environ:
        folder = Path(os.environ["CHARY_DATA"]) / "tables"
        with (folder / "tables.csv").open() as file:
            known = {row["name"]: row for row in csv.DictReader(file)}
        for name, k in REAL:
            rng = np.random.default_rng([k, 78])
            frame = pl.read_parquet(folder / known[name]["file"])
            frame = frame.sample(min(2_500, len(frame)), seed=0)
            problems = list(real(frame, known[name], k, n_audits, rng))
            y, first = problems[0].y, problems[0].first
            about = [*map(str, (len(set(y)), len(set(y[first])), len(first), k)), name]
            for line in tally(problems, k, rng):
                table.add_row(*about, *line)
    Console(width=150).print(table)


if __name__ == "__main__":
    print_head()
    main()
