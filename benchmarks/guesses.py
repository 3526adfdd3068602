"""A column that already guesses the label, as an LLM does: are chary's labels ever worse than it?

    python benchmarks/guesses.py [seeds [tables]] > benchmarks/results/guesses.txt

The tables are in the folders ``tables`` and ``tables2`` of ``CHARY_DATA``; of each, 600 rows are
used. A column is made up that is right in 78 % of them. Its errors are not uniform: half of the
classes, and a quarter of the rows by one feature, are mistaken three times as often as the others,
and four of five errors name one and the same confusable class. 30 or 100 rows drawn at random have
a label: they are all the labels there are ("labels"), or an audit beside 50 labels of one group or
picked by a column ("audit"). Accuracy is that on all other rows: of the column, of the model that
learns from the column as from any other ("before"), and of what ``chary.label`` gives ("now").
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from stored import print_head

import chary
from chary.audit.sheet import unlabelled_rows, write_sheet
from chary.labelling.diagnose import prepare
from chary.method.labels import encode
from chary.method.self_training import SelfTrainingClassifier
from chary.tables import Table, TableError
from studies.collection import COLLECTION, SECOND, TableFacts, labelled_rows, read_frame

RIGHT = 0.78
N_ROWS = 600
SIZES = (30, 100)
N_BIASED = 50
# Held-out rows that the model must have right more than the column to take its place: 5 is what
# chary uses.
GAINS = (1, 3, 5, 7)


class Draw(NamedTuple):
    """Accuracy on the rows without a label, in percent."""

    column: float
    before: float
    now: float
    # Held-out rows that the model has right more; None: the column was not recognised.
    gain: int | None


def guesses(codes: NDArray[np.intp], X: NDArray[Any], rng: np.random.Generator) -> NDArray[np.intp]:
    """Make up guesses of which ``RIGHT`` are right."""
    n_classes = codes.max() + 1
    feature = X[:, rng.integers(X.shape[1])]
    is_hard_row = feature >= np.quantile(feature, 0.75)
    is_hard_class = codes < n_classes / 2
    chance = np.where(is_hard_class, 3.0, 1.0) * np.where(is_hard_row, 3.0, 1.0)
    scale = (1 - RIGHT) / chance.mean()
    for _ in range(20):  # no row is mistaken more often than nine times in ten
        scale *= (1 - RIGHT) / np.minimum(0.9, scale * chance).mean()
    is_wrong = rng.random(len(codes)) < np.minimum(0.9, scale * chance)

    confusable = (codes + 1) % n_classes
    any_other = (codes + rng.integers(1, n_classes, len(codes))) % n_classes
    mistaken = np.where(rng.random(len(codes)) < 0.8, confusable, any_other)
    return np.where(is_wrong, mistaken, codes)


def main(seeds: list[int], names: list[str]) -> None:
    """Print the mean accuracy over all draws, and how far a draw falls below the column."""
    draws: dict[tuple[str, int], list[Draw]] = defaultdict(list)
    for facts in (*COLLECTION, *SECOND.values()):
        if names and facts.name not in names:
            continue
        for seed in seeds:
            for key, draw in draws_of(facts, seed).items():
                draws[key].append(draw)
                print(facts.name, seed, *key, *draw, file=sys.stderr, flush=True)
    print("                                 accuracy           worst draw   draws 1 point below")
    print(
        "rows    of   draws  recognised  column  before    now  before    now  before    now (the "
        "column)"
    )
    for (kind, size), rows in sorted(draws.items()):
        column, before, now = np.array([draw[:3] for draw in rows]).T
        recognised = sum(draw.gain is not None for draw in rows)
        means = f"{column.mean():8.1f}{before.mean():8.1f}{now.mean():7.1f}"
        worst = f"{(before - column).min():8.1f}{(now - column).min():7.1f}"
        below = f"{(before < column - 1).sum():8}{(now < column - 1).sum():7}"
        print(f"{size:4}  {kind:6}{len(rows):6}{recognised:12}{means}{worst}{below}")
    print()
    print("If the model takes over from so many more held-out rows right than the column on:")
    print("rows    of   gain     now  worst draw  draws 1 point below the column")
    for (kind, size), rows in sorted(draws.items()):
        column, before, _, gain = np.array(
            [draw for draw in rows if draw.gain is not None], dtype=float
        ).T
        for least in GAINS:
            now = np.where(gain >= least, before, column)
            below = (now < column - 1).sum()
            print(
                f"{size:4}  "
                f"{kind:6}{least:5}{now.mean():8.1f}{(now - column).min():12.1f}{below:21}"
            )


def draws_of(facts: TableFacts, seed: int) -> dict[tuple[str, int], Draw]:
    """Accuracy with labels of each kind and number, if the table has rows for them."""
    rng = np.random.default_rng(seed)
    whole = read_frame(facts)
    way = "group" if facts.group_column else "column"
    biased = labelled_rows(whole, facts, way, seed)[:N_BIASED]
    others = rng.permutation(whole.height)[: N_ROWS - len(biased)]
    kept = np.unique(np.concatenate([biased, others]))
    target = facts.target
    frame = whole[kept].with_columns(pl.col(target).cast(pl.String).fill_null("(none)"))
    classes, codes = np.unique(frame[target].to_numpy().astype(str), return_inverse=True)
    frame = frame.drop(target)
    X = prepare(Table(frame.with_columns(truth=pl.Series(classes[codes])), "table"), "truth").X
    guess = guesses(codes, X, rng)
    frame = frame.with_columns(guess=pl.Series(classes[guess]))

    found: dict[tuple[str, int], Draw] = {}
    order = rng.permutation(len(codes))
    for size in SIZES:
        if size > len(codes) / 3:
            continue
        random_rows = order[:size]
        found_labels = _draw(frame, classes, codes, guess, random_rows, None, seed)
        if found_labels is not None:
            found["labels", size] = found_labels
        given = np.searchsorted(kept, np.sort(biased))
        audited = np.setdiff1d(order, given, assume_unique=True)[:size]
        found_audit = _draw(frame, classes, codes, guess, given, audited, seed)
        if found_audit is not None:
            found["audit", size] = found_audit
    return found


def _draw(
    frame: pl.DataFrame,
    classes: NDArray[Any],
    codes: NDArray[np.intp],
    guess: NDArray[np.intp],
    given: NDArray[np.intp],
    audited: NDArray[np.intp] | None,
    seed: int,
) -> Draw | None:
    """Label a table and compare; None if it cannot be labelled, as with labels of one class."""
    cells = np.full(len(codes), None, dtype=object)
    cells[given] = classes[codes[given]]
    table = Table(frame.with_columns(truth=pl.Series(cells.tolist(), dtype=pl.String)), "table")
    known = given if audited is None else np.concatenate([given, audited])
    with tempfile.TemporaryDirectory() as folder:
        sheet = None
        if audited is not None:
            sheet = Path(folder) / "audit.csv"
            _write_answers(
                sheet, table, np.sort(audited), classes[codes], encode(cells, unlabeled=None)
            )
        try:
            result = chary.label(
                table, target="truth", audit=sheet, seed=seed, classes=classes.tolist()
            )
        except (TableError, ValueError) as error:
            print(error, file=sys.stderr)
            return None
    details = result.details
    rest = np.setdiff1d(np.arange(len(codes)), known)
    before = SelfTrainingClassifier.predict_proba(details.model[-1], details.features(rest)).argmax(
        axis=1
    )

    def right(labels: NDArray[Any]) -> float:
        return 100 * float(np.mean(labels.astype(str) == classes[codes[rest]]))

    figures = details.guesses
    return Draw(
        right(classes[guess[rest]]),
        right(details.labels.classes[before]),
        right(details.labels.classes[details.codes[rest]]),
        None if figures is None else figures.model_right - figures.column_right,
    )


def _write_answers(
    path: Path, table: Table, rows: NDArray[np.intp], truth: NDArray[Any], labels: Any
) -> None:
    """Write a sheet of some rows with the right answers."""
    with path.open("wb") as file:
        write_sheet(unlabelled_rows(table, "truth", labels), table.numbers(rows), file)
    sheet = pl.read_csv(path, infer_schema=False)
    answers = pl.Series("truth", truth[rows].tolist())
    sheet.with_columns(answers).write_csv(path)


if __name__ == "__main__":
    print_head()
    warnings.filterwarnings("ignore")
    seeds, names = [*sys.argv[1:], *["0", ""][len(sys.argv) - 1 :]]
    main([int(seed) for seed in seeds.split(",")], [name for name in names.split(",") if name])
