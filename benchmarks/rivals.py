"""``chary.label`` beside other learners on two collections of real tables, labels drawn three ways.

    python benchmarks/rivals.py rivals.jsonl 0,1,2 [methods [tables]]
    python benchmarks/rivals.py rivals.jsonl > benchmarks/results/rivals.txt

The first, such as ``rivals.jsonl 0 chary,catboost hfi,cars``, runs what is not in the file yet; the
second shows the draws of the file that every method has labelled. A rival that is not installed is
skipped (``pip install catboost skrub``). The tables are those of the folders ``tables`` and
``tables2`` in ``CHARY_DATA``; of each the labelled rows and 2,000 others, drawn by the seed, go to
everybody. CatBoost (300 trees, else as it comes), which reads neither, gets dates as numbers and
texts as thirty components of TF-IDF, learned from all rows; logistic regression the same, with
categories one-hot and numbers scaled; skrub prepares the table.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chary.labelling import label_table
from chary.method import confidence_auroc
from chary.options import LabelOptions
from chary.tables import open_source
from studies.collection import COLLECTION, SECOND, WAYS, TableFacts, labelled_rows, read_frame

TABLES = [
    *(("tables", facts) for facts in COLLECTION),
    *(("tables2", facts) for facts in SECOND.values()),
]
SCORED = 2_000
MOST_CATEGORIES = 50
DATES = ("%Y/%m/%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d", "%m/%d/%y %H:%M", "%Y/%m/%d")
Answer = tuple[
    NDArray[Any], NDArray[np.float64]
]  # labels of the unlabelled rows as text, and how sure they are


class Draw(NamedTuple):
    """A table of which some rows have a label."""

    name: str
    frame: pl.DataFrame  # without the target; the labelled rows come first
    y: NDArray[Any]  # (l,) their labels
    truth: NDArray[Any]  # (u,) of the others
    seed: int


def draws(seeds: list[int]) -> Iterator[tuple[str, Callable[[], Draw]]]:
    """List every draw that the collections allow, seed by seed; biased ones come first."""
    for seed in seeds:
        for way in ("group", "column", "random"):
            for collection, facts in TABLES:
                if way == "group" and not facts.group_column:
                    continue
                name = f"{collection} {way} {facts.name} {seed}"
                yield name, partial(drawn, name, facts, partial(read_frame, facts))


def drawn(name: str, facts: TableFacts, read_table: Callable[[], pl.DataFrame]) -> Draw:
    """Hide the labels of a table, but for the rows that its facts name."""
    _, way, _, seed = name.split()
    frame = read_table()
    truth = frame[facts.target].cast(pl.String).fill_null("(none)").to_numpy().astype(str)
    rows = labelled_rows(frame, facts, way, int(seed))
    others = np.setdiff1d(np.arange(len(truth)), rows)
    rest = np.sort(np.random.default_rng(int(seed)).permutation(others)[:SCORED])
    features = frame.drop(facts.target)[np.concatenate([rows, rest])]
    return Draw(name, features, truth[rows], truth[rest], int(seed))


# ---------------------------------------------------------------- who labels


def chary(draw: Draw, **asked: Any) -> Answer:
    """``chary label`` as it is."""
    n = len(draw.truth)
    target = pl.Series("target of the benchmark", [*draw.y.tolist(), *[None] * n], dtype=pl.String)
    table = open_source(draw.frame.with_columns(target), name="table").read()
    told = {"classes": np.unique(draw.y).tolist()}  # "Don't know" is an answer here
    outcome = label_table(
        table, LabelOptions.of(target=target.name, seed=draw.seed, **told, **asked)
    )
    return outcome.labels.classes[outcome.codes[-n:]].astype(str), outcome.confidence[-n:]


def majority(draw: Draw) -> Answer:
    """The most frequent label everywhere."""
    values, counts = np.unique(draw.y, return_counts=True)
    return np.repeat(values[[counts.argmax()]], len(draw.truth)), np.ones(len(draw.truth))


def catboost(draw: Draw) -> Answer:
    """CatBoost, 300 trees, with dates and texts prepared."""
    from catboost import CatBoostClassifier

    numbers, groups = by_hand(draw.frame)
    frame = pl.DataFrame([*numbers, *groups]).to_pandas()
    settings = {"thread_count": 1, "verbose": 0, "allow_writing_files": False}
    model = CatBoostClassifier(iterations=300, random_seed=draw.seed, **settings)
    model.fit(frame[: len(draw.y)], draw.y, cat_features=groups.columns)
    return _answer(model, frame[len(draw.y) :])


def logistic(draw: Draw) -> Answer:
    """Logistic regression of scaled numbers and one-hot categories."""
    numbers, groups = by_hand(draw.frame)
    marks = []
    for column in groups:
        frequent = column.value_counts(sort=True).head(MOST_CATEGORIES)[column.name]
        marks.append((column.to_numpy()[:, None] == frequent.to_numpy()[None]).astype(float))
    scaled = []
    if numbers.width > 0:
        impute = SimpleImputer(add_indicator=True, keep_empty_features=True)
        scaled = [make_pipeline(impute, StandardScaler()).fit_transform(numbers.to_numpy())]
    X = np.column_stack([*scaled, *marks])
    model = LogisticRegression(max_iter=1000).fit(X[: len(draw.y)], draw.y)
    return _answer(model, X[len(draw.y) :])


def skrub_trees(draw: Draw) -> Answer:
    """skrub's pipeline around extra trees."""
    return _skrub(draw, ExtraTreesClassifier(random_state=draw.seed))


def skrub_default(draw: Draw) -> Answer:
    """skrub's pipeline as it comes: gradient boosting."""
    return _skrub(draw, "classifier")


def _skrub(draw: Draw, learner: Any) -> Answer:
    from skrub import tabular_pipeline

    frame = draw.frame.to_pandas()
    return _answer(
        tabular_pipeline(learner).fit(frame[: len(draw.y)], draw.y), frame[len(draw.y) :]
    )


def _answer(model: Any, X: Any) -> Answer:
    probs = model.predict_proba(X)
    return model.classes_[probs.argmax(axis=1)].astype(str), probs.max(axis=1)


METHODS: dict[str, Callable[[Draw], Answer]] = {
    "chary": chary,
    "chary-balanced": lambda draw: chary(draw, aim="balanced"),
    "catboost": catboost,
    "skrub-trees": skrub_trees,
    "skrub": skrub_default,
    "logistic": logistic,
    "majority": majority,
}
RIVALS = ("catboost", "skrub-trees", "skrub", "logistic")


def by_hand(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Numbers, dates as numbers and texts as topics; and categories, as text."""
    numbers, groups = [], []
    for cells in frame:
        if cells.dtype == pl.String:
            cells = _read(cells)
        if cells.dtype.is_temporal():
            cells = cells.cast(pl.Datetime("us"))
            parts = {
                "": cells.dt.epoch("d"),
                "month": cells.dt.month(),
                "weekday": cells.dt.weekday(),
            }
            parts |= {"year": cells.dt.year(), "hour": cells.dt.hour()}
            numbers += [
                part.cast(pl.Float64).alias(f"{cells.name} {name}") for name, part in parts.items()
            ]
        elif cells.dtype.is_numeric() or cells.dtype == pl.Boolean:
            numbers.append(cells.cast(pl.Float64))
        elif (n_unique := cells.n_unique()) > MOST_CATEGORIES and n_unique > len(cells) / 20:
            numbers += _topics(cells)
        else:
            groups.append(cells.fill_null("(none)"))
    return pl.DataFrame(numbers), pl.DataFrame(groups)


def _read(cells: pl.Series) -> pl.Series:
    """Text as numbers or dates, if nearly all of it is one."""
    plain = cells.str.replace_all(r"^[$€]\s*|,|\s*(%|ct|L|mpg|bn)$", "").cast(
        pl.Float64, strict=False
    )
    for found in (
        plain,
        *(cells.str.to_datetime(form, strict=False, exact=False) for form in DATES),
    ):
        if found.null_count() - cells.null_count() <= 0.05 * len(cells) and found.n_unique() > 2:
            return found
    return cells


def _topics(cells: pl.Series) -> list[pl.Series]:
    words = cells.fill_null("").to_list()
    try:
        weights = TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(words)
    except ValueError:  # no word comes up again
        return []
    topics = TruncatedSVD(min(30, weights.shape[1] - 1), random_state=0).fit_transform(weights)
    return [pl.Series(f"{cells.name} {k}", topics[:, k]) for k in range(topics.shape[1])]


# ---------------------------------------------------------------- what is kept and shown


def measured(draw: Draw, method: str) -> dict[str, Any]:
    start = process_time()
    said, confidence = METHODS[method](draw)
    seconds, right = process_time() - start, said == draw.truth
    sure = np.argsort(-confidence, kind="stable")[: len(right) // 2]
    recalls = [right[draw.truth == name].mean() for name in np.unique(draw.truth)]
    return {
        "accuracy": 100 * float(right.mean()),
        "balanced": 100 * float(np.mean(recalls)),
        "auroc": float(confidence_auroc(confidence, right)),
        "error of the surer half": 100 * float(1 - right[sure].mean()),
        "seconds": seconds,
    }


def run(
    cache: Path,
    seeds: list[int],
    methods: list[str],
    tables: list[str],
    list_draws: Callable[[list[int]], Iterator[tuple[str, Callable[[], Draw]]]] = draws,
) -> None:
    """Add to the file what is not in it."""
    found = read(cache)
    for name, make in list_draws(seeds):
        todo = [method for method in methods if method not in found[name]]
        if not todo or (tables and name.split()[2] not in tables):
            continue
        draw = make()
        for method in todo:
            try:
                figures = measured(draw, method)
            except ImportError as error:
                print(f"{method} is skipped: {error}", file=sys.stderr)
                methods = [other for other in methods if other != method]
                continue
            with cache.open("a") as file:
                file.write(json.dumps([name, method, figures]) + "\n")


def read(cache: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Figures by draw and method."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for line in cache.read_text().splitlines() if cache.exists() else []:
        name, method, figures = json.loads(line)
        found[name][method] = figures
    return found


FIGURES = {
    "accuracy": 1,
    "balanced": 1,
    "auroc": 3,
    "error of the surer half": 1,
    "seconds": 1,
}  # and digits


def show(found: dict[str, dict[str, dict[str, float]]]) -> None:
    """Average each way's draws: by how much chary leads, and how often it is far behind."""
    every = [method for method in METHODS if method != "chary-balanced"]
    found = {name: of_draw for name, of_draw in found.items() if set(every) <= set(of_draw)}
    seeds = sorted({f"seed {name.split()[3]}" for name in found})
    for which in (*COLLECTIONS, *seeds, "all"):
        part = [
            name for name in found if which in (name.split()[0], f"seed {name.split()[3]}", "all")
        ]
        for figure, digits in FIGURES.items() if which == "all" else list(FIGURES.items())[:1]:
            methods, own = (
                (list(METHODS), "chary-balanced") if figure == "balanced" else (every, "chary")
            )
            here = [
                [n for n in part if n.split()[1] == way and set(methods) <= set(found[n])]
                for way in WAYS
            ]
            counts = (
                f"{way} ({len(names)})".rjust(18) for way, names in zip(WAYS, here, strict=True)
            )
            print(f"\n{figure}, {which}".ljust(38) + "".join(counts))
            values = {
                m: [np.array([found[name][m][figure] for name in names]) for names in here]
                for m in methods
            }
            for method in methods:
                print(
                    f"  {method}".ljust(37)
                    + "".join(f"{np.nanmean(v):18.{digits}f}" for v in values[method])
                )
            for rival in RIVALS:
                ahead = [one - other for one, other in zip(values[own], values[rival], strict=True)]
                print(f"  {own} - {rival}".ljust(37) + "".join(_mean(d, digits) for d in ahead))
        accuracy = {m: np.array([found[name][m]["accuracy"] for name in part]) for m in every}
        median = np.median([accuracy[rival] for rival in RIVALS], axis=0)
        n_tables = len({name.split()[2] for name in part})
        print(
            "\n"
            f"{which}, {len(part)} draws of {n_tables} tables: more than 3 points below the median "
            f"rival in {np.mean(accuracy['chary'] < median - 3):.1%}, more than 1 below the "
            f"majority of the labels in {np.mean(accuracy['chary'] < accuracy['majority'] - 1):.1%}"
        )


def _mean(values: NDArray[np.float64], digits: int) -> str:
    values = values[~np.isnan(values)]
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():+.{digits}f} ± {error:.{digits}f}".rjust(18)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    cache, seeds, methods, tables = [
        *sys.argv[1:],
        *["rivals.jsonl", "", "", ""][len(sys.argv) - 1 :],
    ]
    if seeds:
        names = methods.split(",") if methods else list(METHODS)
        run(
            Path(cache),
            [int(seed) for seed in seeds.split(",")],
            names,
            tables.split(",") if tables else [],
        )
    else:
        show(read(Path(cache)))
