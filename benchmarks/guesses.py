"""A column that already guesses the label, by a language model or by rules: is chary ever worse than the column?

    python benchmarks/guesses.py [seeds [tables]] > benchmarks/results/guesses.txt

The tables are in the folders ``tables`` and ``tables2`` of ``CHARY_DATA``. A column of guesses is made up that is
right in 70, 80 or 90 % of the rows; its errors fall on all classes alike, or mostly on one half of the classes. 50
labels come from one group of rows or by a column; 30 rows drawn at random are audited and learned from.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from defaults import DATA, labelled_rows
from numpy.typing import NDArray

from chary import MixedEnsembleClassifier
from chary.labelling.diagnose import prepare
from chary.tables import open_source

TABLES = "flchain,computers,youth_survey,epa_cars,weather,colleges,mlc_churn,beps,towny,cpu,creditcard,pbcseq"
N_LABELED, N_AUDITED, N_ROWS = 50, 30, 3_000


def guesses(codes: NDArray[np.intp], right: float, by_class: bool, rng: np.random.Generator) -> NDArray[np.intp]:
    """Guesses of which a share is right; with ``by_class`` the first half of the classes is mistaken oftener."""
    n_classes = codes.max() + 1
    worse = codes < n_classes / 2
    chance = np.where(worse, 1.0, 0.2 if by_class else 1.0)
    chance = np.minimum(1, chance * (1 - right) / chance.mean())
    wrong = rng.random(len(codes)) < chance
    return np.where(wrong, (codes + rng.integers(1, n_classes, len(codes))) % n_classes, codes)


def main(seeds: list[int], names: list[str]) -> None:
    """Print the accuracy of the column, and of the mixture with and without it."""
    found: dict[tuple[float, bool, str], list[tuple[float, ...]]] = defaultdict(list)
    for collection in ("tables", "tables2"):
        for facts in pl.read_csv(DATA / collection / "tables.csv", infer_schema=False).to_dicts():
            if facts["name"] not in names:
                continue
            frame = pl.read_parquet(DATA / collection / f"{facts['name']}.parquet")
            X = prepare(open_source(frame, name="table").read(), facts["target"]).X
            _, codes = np.unique(frame[facts["target"]].cast(pl.String).fill_null("(none)"), return_inverse=True)
            for seed, way in product(seeds, ("group", "column")):
                drawn = labelled_rows(collection, frame, facts, way, seed)
                if drawn is None:
                    continue
                for key, scores in scores_of(X, codes, drawn[:N_LABELED], seed).items():
                    found[*key, way].append(scores)
                    print(facts["name"], way, *key, *(f"{x:.1f}" for x in scores), file=sys.stderr, flush=True)
    print("right  errors    labels by  draws    column   without      with  worst against the column")
    for (right, by_class, way), rows in sorted(found.items()):
        scores = np.array(rows)
        errors = "by class" if by_class else "anywhere"
        means = "".join(f"{x:10.1f}" for x in scores.mean(axis=0))
        print(f"{right:5.1f}  {errors}  {way:9}  {len(rows):5}{means}{(scores[:, 2] - scores[:, 0]).min():10.1f}")


def scores_of(
    X: NDArray[Any], codes: NDArray[np.intp], drawn: NDArray[np.intp], seed: int
) -> dict[tuple[float, bool], tuple[float, ...]]:
    """Accuracy on the other rows: of a column, of the mixture without and with it; by the kind of column."""
    rng = np.random.default_rng(seed)
    rest = rng.permutation(np.setdiff1d(np.arange(len(codes)), drawn))[:N_ROWS]
    labeled, scored = np.concatenate([drawn, rest[:N_AUDITED]]), rest[N_AUDITED:]
    rows, y = np.concatenate([labeled, scored]), np.full(len(labeled) + len(scored), -1)
    y[: len(labeled)] = codes[labeled]

    def right_with(features: NDArray[Any]) -> float:
        model = MixedEnsembleClassifier(random_state=seed).fit(features[rows], y)
        return 100 * float(np.mean(model.predict(features[scored]) == codes[scored]))

    without, found = right_with(X), {}
    for right, by_class in product((0.7, 0.8, 0.9), (False, True)):
        guess = guesses(codes, right, by_class, rng)
        marks = (guess[:, None] == np.unique(guess)).astype(X.dtype)
        alone = 100 * float(np.mean(guess[scored] == codes[scored]))
        found[right, by_class] = alone, without, right_with(np.column_stack([X, marks]))
    return found


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    seeds, names = [*sys.argv[1:], *["0", TABLES][len(sys.argv) - 1 :]]
    main([int(seed) for seed in seeds.split(",")], names.split(","))
