"""What leaving columns out is worth: the mixture's accuracy with and without, on real tables.

python benchmarks/defaults.py [seeds [tables]], such as 0,1 seattle,dunnrun
The tables are those of the folders ``tables`` and ``tables2`` in ``CHARY_DATA``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from stored import print_head

from chary import MixedEnsembleClassifier
from chary.labelling.diagnose import Prepared, diagnose_rows, prepare
from chary.labelling.rules import leave_out_columns_beyond_labels
from chary.method.labels import Labels
from chary.tables import open_source

DATA = Path(os.environ.get("CHARY_DATA", "."))
WAYS = ("group", "column")
SCORED = 3_000  # unlabelled rows at most


def main(seeds: tuple[int, ...], names: list[str]) -> None:
    """Print the draws in which columns are left out, and the mean change over all draws."""
    for collection in ("tables", "tables2"):
        changes: dict[str, list[float]] = {way: [] for way in WAYS}
        for facts in pl.read_csv(DATA / collection / "tables.csv", infer_schema=False).to_dicts():
            if names and facts["name"] not in names:
                continue
            frame = pl.read_parquet(DATA / collection / f"{facts['name']}.parquet")
            prepared = prepare(open_source(frame, name=facts["name"]).read(), facts["target"])
            truth = (
                frame[facts["target"]].cast(pl.String).fill_null("(none)").to_numpy().astype(str)
            )
            for way in WAYS:
                for seed in seeds:
                    rows = labelled_rows(collection, frame, facts, way, seed)
                    if rows is None:
                        continue
                    name = f"{collection} {way} {facts['name']} {seed}"
                    changes[way].append(change(name, prepared, truth, rows, seed))
        for way, found in changes.items():
            if not found:
                continue
            worst = f"worst {min(found):+.1f}, best {max(found):+.1f}"
            print(
                f"{collection}, labels by {way}: {np.mean(found):+.2f} points over {len(found)} "
                f"draws ({worst})"
            )


def change(
    name: str, prepared: Prepared, truth: NDArray[Any], rows: NDArray[np.intp], seed: int
) -> float:
    """Points of accuracy that leaving columns out is worth; 0 where none is."""
    labeled = np.zeros(len(truth), dtype=bool)
    labeled[rows] = True
    classes, codes = np.unique(truth[labeled], return_inverse=True)
    every = np.full(len(truth), -1, dtype=np.intp)
    every[labeled] = codes
    labels = Labels(classes, every, labeled)
    if len(classes) < 2:
        return 0.0
    diagnosis = diagnose_rows(prepared.X, labeled, random_state=seed)
    left_out = leave_out_columns_beyond_labels(prepared, labels, labeled, diagnosis, seed=seed)
    if left_out is None:
        return 0.0
    rest = np.random.default_rng(seed).permutation(np.flatnonzero(~labeled))[:SCORED]
    part = np.concatenate([np.flatnonzero(labeled), rest])
    right = []
    for X in (prepared.X, prepared.without(left_out.notes).X):
        model = MixedEnsembleClassifier(random_state=seed).fit(X[part], labels.subset(part))
        right.append(100 * np.mean(model.predict(X[rest]) == truth[rest]))
    print(
        f"{name}: {right[0]:.1f} -> {right[1]:.1f} without {', '.join(left_out.notes)}", flush=True
    )
    return float(right[1] - right[0])


def labelled_rows(
    collection: str, frame: pl.DataFrame, facts: dict[str, str], way: str, seed: int
) -> NDArray[np.intp] | None:
    """Find rows that keep their label, by the collections' own notes; None if there is no group."""
    rng, n = np.random.default_rng(seed), int(facts["n_labeled"])
    if way == "random" and (collection == "tables" or seed > 0):
        return rng.permutation(len(frame))[:n]
    if collection == "tables":
        if way == "group":
            if not facts["group_column"]:
                return None
            is_in = frame[facts["group_column"]].cast(pl.String) == facts["group_value"]
            return rng.permutation(np.flatnonzero(is_in.fill_null(False).to_numpy()))[:n]
        values = frame[facts["bias_column"]]
        if facts["bias_kind"] == "date":
            order = values.str.to_datetime() if values.dtype == pl.String else values
            return np.lexsort(
                (rng.random(len(values)), order.cast(pl.Datetime("us")).cast(pl.Int64))
            )[:n]
        x = values.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        far = np.nan_to_num(np.abs((x - np.nanmean(x)) / np.nanstd(x)))
        return np.argsort(-(2 * far + rng.gumbel(size=len(x))), kind="stable")[:n]
    drawn = np.load(DATA / collection / f"{facts['name']}.npz")
    if way not in drawn.files:
        return None
    if seed == 0:
        return drawn[way]
    if way == "group":
        pool = drawn["group_rows"]
        return rng.permutation(pool)[: min(n, int(0.8 * len(pool)))]
    values = frame[facts["column"]]
    if values.dtype == pl.String:
        as_dates = values.str.to_datetime(strict=False)
        values = (
            values.cast(pl.Float64, strict=False)
            if as_dates.null_count() > len(values) / 2
            else as_dates
        )
    if values.dtype in (pl.Date, pl.Datetime):
        values = values.cast(pl.Datetime("us")).cast(pl.Int64)
    values = values.cast(pl.Float64, strict=False)
    rank = values.fill_null(values.median()).rank("average").to_numpy() / len(values)
    return np.argsort(-(6 * rank + rng.gumbel(size=len(rank))), kind="stable")[:n]


if __name__ == "__main__":
    print_head()
    seeds, names = [*sys.argv[1:], "0,1", ""][:2] if len(sys.argv) != 2 else (sys.argv[1], "")
    main(tuple(int(seed) for seed in seeds.split(",")), [name for name in names.split(",") if name])
