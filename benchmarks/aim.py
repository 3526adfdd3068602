"""What moving the boundaries between classes is worth, by how it is done, on real tables; and what it costs.

    CHARY_DATA=... python benchmarks/aim.py [seeds [folder]]

Labels are drawn at random, come from one group of the rows, or are picked by a column, as the README of
``$CHARY_DATA/tables`` says. Three learners (logistic regression, ExtraTrees, which counts twice, boosting) get the
features of ``TablePreparation``, and their scores are put on one scale as ``MixedEnsembleClassifier`` does. What
they say of at most 6,000 unlabelled rows is kept in ``folder`` (studies/cells/aim), so that ways to choose the
offsets of the classes can be tried without another fit. A class without a label counts as one never found.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy starts them

import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from columns import Features
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import StandardScaler

from chary.method import balanced_shares
from chary.method import priors as information
from chary.method.priors import align
from studies import COLLECTION, labelled_rows

WAYS = ("random", "group", "column")
WEIGHTS = {"linear": 0.25, "trees": 0.5, "boosting": 0.25}
MOST_ROWS = 6_000
SIZES = [(10_000, 10), (100_000, 10), (1_000_000, 2), (1_000_000, 10)]


def opinions(table: Features, labeled: np.ndarray) -> dict[str, np.ndarray]:
    """Centred logits of each learner on some unlabelled rows, their classes, and the labels given."""
    rest = np.setdiff1d(np.arange(len(table.y)), labeled)
    rest = rest[np.random.default_rng(0).permutation(len(rest))[:MOST_ROWS]]
    plain = np.array([len(np.unique(column)) <= 2 for column in table.X.T])
    scaled = np.where(plain, table.X, StandardScaler().fit_transform(table.X))
    y = table.y[labeled]
    linear = LogisticRegression(max_iter=1000).fit(scaled[labeled], y)
    trees = ExtraTreesClassifier(200, max_features=0.5, random_state=0).fit(table.X[labeled], y)
    boosting = HistGradientBoostingClassifier(
        max_iter=60, min_samples_leaf=5, max_leaf_nodes=15, random_state=0
    ).fit(table.X[labeled], y)
    return {
        "truth": table.y[rest],
        "given": y,
        "linear": linear.predict_log_proba(scaled[rest]),
        "trees": np.log(trees.predict_proba(table.X[rest]) + 1e-3),
        "boosting": np.log(boosting.predict_proba(table.X[rest]) + 1e-3),
    }


def mean_scores(said: dict[str, np.ndarray]) -> np.ndarray:
    """As ``MixedEnsembleClassifier``."""
    centred = {name: said[name] - said[name].mean(axis=1, keepdims=True) for name in WEIGHTS}
    spread = {name: float(np.sqrt(np.square(z).mean())) or 1.0 for name, z in centred.items()}
    louder = sum(weight * spread[name] for name, weight in WEIGHTS.items())
    return louder * sum(weight * centred[name] / spread[name] for name, weight in WEIGHTS.items())


def ways_to_choose(scores: np.ndarray, given: np.ndarray, truth: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Names, and offsets (C,)."""
    classes, n_classes = np.unique(given), scores.shape[1]
    equal = np.full(n_classes, 1 / n_classes)
    own = np.bincount(scores.argmax(axis=1), minlength=n_classes) / len(scores)
    yield "none", np.zeros(n_classes)
    yield "divided by the labelled shares", -np.log(np.mean(given[:, None] == classes, axis=0))
    yield "equal shares", align(scores, equal)
    yield "half-way to equal shares", align(scores, (own + equal) / 2)
    for spread, part in ((4, 0.25), (4, 0.5), (4, 0.75), (4, 1.0), (2, 0.5), (8, 0.5)):
        information.SPREAD, information.HALF_WAY = float(spread), part
        chosen = " (chosen)" if (spread, part) == (4, 0.5) else ""
        yield f"information, spread {spread}, part {part}{chosen}", align(scores, balanced_shares(scores))
    information.SPREAD, information.HALF_WAY = 4.0, 0.5
    true = np.maximum(np.mean(truth[:, None] == classes, axis=0), 0.5 / len(scores))
    true /= true.sum()
    informed = balanced_shares(scores)
    yield "true shares known: met", align(scores, true)
    yield "true shares known: half-way", align(scores, true / 2 + informed - own / 2)
    yield "true shares known: divided by (chosen)", align(scores, balanced_shares(scores, true))


def cells(folder: Path, kept: Path, seeds: int) -> Iterator[tuple[str, str, dict[str, np.ndarray]]]:
    """Table, way to pick labels, and what the learners say; fitted where that is not kept."""
    kept.mkdir(parents=True, exist_ok=True)
    for spec in track(COLLECTION, description="Tables", console=Console(stderr=True)):
        table = None
        for how in WAYS[:1] + WAYS[1 + (not spec.group_column) :]:
            for seed in range(seeds):
                path = kept / f"{spec.name}-{how}-{seed}.npz"
                if not path.exists():
                    table = table or Features(folder, spec)
                    rows = np.random.default_rng(seed).permutation(len(table.y))[: spec.n_labeled]
                    if how != "random":
                        rows = labelled_rows(table.frame, spec, how, seed)
                    np.savez_compressed(path, **opinions(table, rows))
                with np.load(path) as said:
                    yield spec.name, how, dict(said)


def quality(found: dict[str, dict[tuple[str, str], list[Any]]], n_seeds: int) -> Table:
    """Differences from no offset, in points."""
    title = f"Balanced accuracy of offsets less that of none, in points ({n_seeds} seeds)"
    table = Table(title=title)
    for heading in ("offsets", *WAYS, "mean", "worst table", "worst table and way", "accuracy"):
        table.add_column(heading, justify="left" if heading == "offsets" else "right")
    base = {cell: np.mean(figures, axis=0) for cell, figures in found["none"].items()}
    names = sorted({name for name, _ in base})
    for way, by_cell in found.items():
        gain = {cell: np.mean(figures, axis=0) - base[cell] for cell, figures in by_cell.items()}
        of_table = {name: np.mean([g for (of, _), g in gain.items() if of == name], axis=0) for name in names}
        worst, worst_cell = min(names, key=lambda n: of_table[n][0]), min(gain, key=lambda cell: gain[cell][0])
        table.add_row(
            way,
            *(f"{np.mean([g[0] for (_, how), g in gain.items() if how == h]):+.1f}" for h in WAYS),
            f"{np.mean([g[0] for g in of_table.values()]):+.1f}",
            f"{of_table[worst][0]:+.1f} {worst}",
            f"{gain[worst_cell][0]:+.1f} {' '.join(worst_cell)}",
            f"{np.mean([g[1] for g in of_table.values()]):+.1f}",
        )
    none = np.mean([np.mean([b for (of, _), b in base.items() if of == name], axis=0) for name in names], axis=0)
    table.caption = (
        f"Without offsets: balanced accuracy {none[0]:.1f}, accuracy {none[1]:.1f}; {len(names)} tables"
    )
    return table


def cost() -> Table:
    table = Table(title="Seconds of CPU time")
    for heading in ("rows", "classes", "balanced_shares", "align"):
        table.add_column(heading, justify="right")
    for n, n_classes in SIZES:
        rng = np.random.default_rng(0)
        scores = 3 * rng.standard_normal((n, n_classes)) + rng.standard_normal(n_classes)
        start = process_time()
        shares = balanced_shares(scores)
        middle = process_time()
        align(scores, shares)
        table.add_row(f"{n:,}", str(n_classes), f"{middle - start:.2f}", f"{process_time() - middle:.2f}")
    return table


def main(seeds: int, kept: Path) -> None:
    found: dict[str, dict[tuple[str, str], list[Any]]] = defaultdict(lambda: defaultdict(list))
    for name, how, said in cells(Path(os.environ["CHARY_DATA"]) / "tables", kept, seeds):
        scores, classes = mean_scores(said), np.unique(said["given"])
        for way, offset in ways_to_choose(scores, said["given"], said["truth"]):
            labels = classes[(scores + offset).argmax(axis=1)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # a label may be of a class that these rows lack
                balanced = balanced_accuracy_score(said["truth"], labels)
            found[way][name, how].append(100 * np.array([balanced, np.mean(labels == said["truth"])]))
    console = Console(width=160)
    console.print(quality(found, seeds))
    console.print(cost())


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 2,
        Path(sys.argv[2] if len(sys.argv) > 2 else "studies/cells/aim"),
    )
