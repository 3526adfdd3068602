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


Draws = Iterator[tuple[str, Callable[[], Draw]]]  # names, and what makes the draw


def draws(seeds: list[int]) -> Draws:
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


def chary(draw: Draw) -> Answer:
    """``chary label`` as it is."""
    n = len(draw.truth)
    target = pl.Series("target of the benchmark", [*draw.y.tolist(), *[None] * n], dtype=pl.String)
    table = open_source(draw.frame.with_columns(target), name="table").read()
    told = {"classes": np.unique(draw.y).tolist()}  # "Don't know" is an answer here
    outcome = label_table(table, LabelOptions.of(target=target.name, seed=draw.seed, **told))
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
    list_draws: Callable[[list[int]], Draws],
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


# Other figures than the accuracy, each with the digits that are shown.
FIGURES = {"balanced": 1, "auroc": 3, "error of the surer half": 1, "seconds": 1}
MEDIAN = "median rival"


def show(found: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print the means of each way, chary's leads, and how often it is far behind."""
    methods = ("chary", *RIVALS, "majority")
    complete = {name: of_draw for name, of_draw in found.items() if set(methods) <= set(of_draw)}
    collections = sorted({name.split()[0] for name in complete})
    for collection in collections:
        part = {name: of for name, of in complete.items() if name.split()[0] == collection}
        words = "" if len(collections) == 1 else f" ({collection})"
        _show_means(_values(part, "accuracy"), f"accuracy{words}", digits=1)
        _show_far_below(_values(part, "accuracy"))
        _show_tables(_values(part, "accuracy"))
    if len(collections) > 1:
        _show_means(_values(complete, "accuracy"), "accuracy (all)", digits=1)
        _show_far_below(_values(complete, "accuracy"))
    for figure, digits in FIGURES.items():
        _show_means(_values(complete, figure), figure, digits)


# A figure by draw and method.
Values = dict[str, dict[str, float]]


def _values(found: dict[str, dict[str, dict[str, float]]], figure: str) -> Values:
    """Pick a figure of every method; the median rival has the median of the four."""
    values = {}
    for name, of_draw in found.items():
        values[name] = {method: figures[figure] for method, figures in of_draw.items()}
        values[name][MEDIAN] = float(np.median([values[name][rival] for rival in RIVALS]))
    return values


def _by_way(values: Values) -> dict[str, list[str]]:
    """Names of the draws, by how labels are drawn."""
    return {way: [name for name in values if name.split()[1] == way] for way in WAYS}


def _show_means(values: Values, title: str, digits: int) -> None:
    """Print the mean of every method, and chary's lead over each."""
    ways = _by_way(values)
    n_tables = len({name.split()[2] for name in values})
    print(f"\n{title}, {len(values)} draws of {n_tables} tables")
    heads = (f"{way} ({len(names)})" for way, names in ways.items())
    print(" " * 24 + "".join(head.rjust(18) for head in heads))
    for method in ("chary", *RIVALS, "majority"):
        means = (np.nanmean([values[name][method] for name in names]) for names in ways.values())
        print(f"  {method}".ljust(24) + "".join(f"{mean:18.{digits}f}" for mean in means))
    for rival in (*RIVALS, MEDIAN):
        leads = (_lead(values, names, rival, digits) for names in ways.values())
        print(f"  chary - {rival}".ljust(24) + "".join(lead.rjust(18) for lead in leads))


def _lead(values: Values, names: list[str], rival: str, digits: int) -> str:
    """Average the lead over draws of each table, then over tables, with its standard error."""
    of_table: dict[str, list[float]] = defaultdict(list)
    for name in names:
        of_table[name.split()[2]].append(values[name]["chary"] - values[name][rival])
    leads = np.array([np.nanmean(of_draws) for of_draws in of_table.values()])
    error = leads.std(ddof=1) / np.sqrt(len(leads))
    return f"{leads.mean():+.{digits}f} ± {error:.{digits}f}"


def _show_far_below(accuracy: Values) -> None:
    """Print how often each method is more than 3 points below the median rival."""
    print("\nshare of draws more than 3 points below the median rival")
    for method in ("chary", *RIVALS):
        shares = [_share_far_below(accuracy, names, method) for names in _by_way(accuracy).values()]
        every = _share_far_below(accuracy, list(accuracy), method)
        cells = "".join(f"{share:18.1%}" for share in shares)
        print(f"  {method}".ljust(24) + cells + f"{every:18.1%} of all")


def _share_far_below(accuracy: Values, names: list[str], method: str) -> float:
    leads = [accuracy[name][method] - accuracy[name][MEDIAN] for name in names]
    return float(np.mean(np.array(leads) < -3))


def _show_tables(accuracy: Values) -> None:
    """Print how far chary is ahead of the median rival on each table."""
    title = "\nchary - median rival, mean of the draws of a table"
    print(title.ljust(52) + "".join(way.rjust(10) for way in WAYS))
    ways = _by_way(accuracy)
    for table in dict.fromkeys(name.split()[2] for name in accuracy):
        cells = []
        for names in ways.values():
            of_table = [accuracy[name] for name in names if name.split()[2] == table]
            leads = [of_draw["chary"] - of_draw[MEDIAN] for of_draw in of_table]
            cells.append(f"{np.mean(leads):+10.1f}" if leads else "-".rjust(10))
        print(f"  {table}".ljust(51) + "".join(cells))


def main(
    path: str,
    list_draws: Callable[[list[int]], Draws] = draws,
) -> None:
    """Run what the command line names, or show what is in the file."""
    warnings.filterwarnings("ignore")
    path, seeds, methods, tables = [*sys.argv[1:], *[path, "", "", ""][len(sys.argv) - 1 :]]
    if not seeds:
        show(read(Path(path)))
        return
    wanted = methods.split(",") if methods else list(METHODS)
    names = tables.split(",") if tables else []
    run(Path(path), [int(seed) for seed in seeds.split(",")], wanted, names, list_draws)


if __name__ == "__main__":
    main("rivals.jsonl")
