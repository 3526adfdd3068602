"""Audits of labels on real tables of known truth: coverage, width, and wrong conclusions.

The labels under test are those of a random forest that saw a few rows. Each audit draws its rows
anew. Run: ``CHARY_DATA=... python benchmarks/real_audits.py > benchmarks/results/real_audits.txt``
"""

import argparse
import csv
import os
from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import RandomForestClassifier
from stored import print_head

from chary.audit import accept_threshold, count_interval, draw, figures, interval, sequence

TABLES = ("computers", "epa_cars", "flchain", "hotel", "nace", "weather")
SIZES = (30, 100)
ABOVE, ERROR = 0.9, 0.1
HEADS = {
    "covers": "the interval of the accuracy holds the truth",
    "width": "its mean width",
    "always": "the confidence sequence holds the truth after every row",
    "shares": "the intervals of the classes' shares hold the truth",
    "point": "the audit's own share is on the wrong side of 90 %",
    "above": "the interval says 'above 90 %'",
    "falsely": "and is wrong",
    "stopped": "whoever stops as soon as the sequence is above or below 90 % is wrong",
    "kept": "rows accepted at 10 % error keep it (90 % promised)",
    "accepted": "rows accepted",
}


def labels_of_a_plain_model(
    folder: Path, about: dict[str, str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make truth, labels and confidence of every row, by a forest on a few random rows."""
    frame = pl.read_parquet(folder / about["file"])
    truth = frame[about["target"]].cast(pl.String).to_numpy().astype(object)
    columns = []
    for column in frame.drop(about["target"]):
        cells = (
            column.cast(pl.Categorical).to_physical()
            if column.dtype == pl.String
            else column.to_physical()
        )
        columns.append(cells.cast(pl.Float64).fill_null(-1).fill_nan(-1).to_numpy())
    X = np.column_stack(columns)
    given = np.random.default_rng(0).permutation(len(X))[: int(about["n_labeled"])]
    model = RandomForestClassifier(50, min_samples_leaf=2, random_state=0).fit(
        X[given], truth[given].astype(str)
    )
    probability = model.predict_proba(X)
    return truth, model.classes_[probability.argmax(axis=1)].astype(object), probability.max(axis=1)


def audit_once(truth, labels, confidence, counts, classes, k: int, seed: int) -> dict[str, float]:
    """What one audit of k rows said, beside what is true."""
    n, right = len(truth), truth == labels
    accuracy = float(right.mean())
    rows = draw(np.zeros(n, dtype=bool), k, seed)
    found = figures.judge_labels(truth[rows], labels[rows], counts)
    low, high = found.accuracy.low, found.accuracy.high
    lows, highs = sequence(right[rows], n)
    decided = (lows >= ABOVE) | (highs < ABOVE)
    says_above = bool(lows[decided.argmax()] >= ABOVE)  # at the first moment that decides
    chosen = (
        confidence >= accept_threshold(confidence[rows], right[rows], confidence, ERROR).threshold
    )
    shares = [
        judged.share.low <= classes[name] <= judged.share.high
        for name, judged in found.classes.items()
    ]
    return {
        "covers": low <= accuracy <= high,
        "width": high - low,
        "always": bool(((lows <= accuracy) & (accuracy <= highs)).all()),
        "shares": float(np.mean(shares)),
        "point": (found.accuracy.share >= ABOVE) != (accuracy >= ABOVE),
        "above": low >= ABOVE,
        "falsely": low >= ABOVE > accuracy,
        "stopped": bool(decided.any()) and says_above != (accuracy >= ABOVE),
        "kept": not chosen.any() or bool(np.mean(~right[chosen]) <= ERROR),
        "accepted": float(chosen.mean()),
    }


def main() -> None:
    """Print one line for each table and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=200)
    n_audits = parser.parse_args().audits
    figures.interval = lru_cache(None)(interval)  # audits of one table are often the same
    figures.count_interval = lru_cache(None)(count_interval)
    folder = Path(os.environ["CHARY_DATA"]) / "tables"
    with (folder / "tables.csv").open() as file:
        known = {row["name"]: row for row in csv.DictReader(file)}
    title = f"{n_audits} audits of each table: percent of them, and points; 95 % promised"
    table = Table("table", "rows", "classes", "accuracy", "k", *HEADS, title=title)
    for name in TABLES:
        truth, labels, confidence = labels_of_a_plain_model(folder, known[name])
        counts, classes = dict(Counter(labels.tolist())), Counter(truth.tolist())
        for k in SIZES:
            audits = [
                audit_once(truth, labels, confidence, counts, classes, k, seed)
                for seed in range(n_audits)
            ]
            about = [
                name,
                f"{len(truth):,}",
                str(len(classes)),
                f"{100 * np.mean(truth == labels):.1f}",
                str(k),
            ]
            table.add_row(
                *about,
                *(f"{100 * np.mean([found[head] for found in audits]):.1f}" for head in HEADS),
            )
    console = Console(width=150)
    console.print(table)
    for head, meaning in HEADS.items():
        console.print(f"{head}: {meaning}")


if __name__ == "__main__":
    print_head()
    main()
