"""A name in; a real table out, all its labels known, its features prepared; and which labels are kept in a draw.

The collection is in the folder ``tables`` of ``CHARY_DATA``; three small tables are made of what comes with
scikit-learn, so that a fresh clone has something to run.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from chary.jobs import prepare
from chary.studies.datasets import DatasetError
from chary.studies.study import Cell, DataFacts, Source
from chary.tables import read_target, table_from

RANDOM, GROUP, COLUMN = WAYS = ("random", "group", "column")


@dataclass(frozen=True)
class TableFacts:
    """How a table takes part: its target, and how labels are hidden."""

    name: str
    target: str
    n_labeled: int
    bias_column: str  # by which labels are picked
    bias_kind: str  # "number": values far from the mean first; "date": the earliest first
    group_column: str  # labels come from the rows that have ``group_value`` here; "": there is no natural group
    group_value: str  # as text
    sha256: str = ""  # of the file


class RealTable(NamedTuple):
    """A table whose labels are all known."""

    facts: TableFacts
    frame: pl.DataFrame  # target included
    classes: NDArray[Any]  # (C,) as text, sorted
    codes: NDArray[np.intp]  # (n,) the class of every row
    X: NDArray[Any]  # (n, d) the features that ``chary label`` makes of it


@lru_cache
def find_table(name: str) -> TableFacts:
    """What is known of a table without opening it.

    A name that is neither of the collection nor of the small tables is looked up in ``tables.csv`` in the folder
    of the collection, so that tables can be added there.

    >>> find_table("wine").n_labeled
    40
    """
    for facts in COLLECTION:
        if facts.name == name:
            return facts
    if name in _SHIPPED:
        facts, make = _SHIPPED[name]
        return _with_checksum(facts, make().write_csv().encode())
    return _listed_in_folder(name)


@lru_cache(maxsize=2)  # a worker meets the cells of a table one after another
def load_table(name: str) -> RealTable:
    """A table, read and prepared once for all its draws and methods."""
    facts = find_table(name)
    frame = _SHIPPED[name][1]() if name in _SHIPPED else _read(facts)
    table = table_from(frame, name=name)
    labels = read_target(table, facts.target).labels
    if not labels.labeled.all():
        raise DatasetError(f"The table {name} has rows without a label; nothing could be said of them.")
    return RealTable(facts, frame, labels.classes, labels.codes, prepare(table, facts.target).X)


def absent(names: list[str]) -> list[str]:
    """Those of some tables that are not on this machine."""
    return [name for name in names if name not in _SHIPPED and not _path(name).is_file()]


def possible(cell: Cell) -> bool:
    """Whether labels can be drawn so: not every table has a natural group."""
    return cell.labeling != GROUP or bool(find_table(cell.dataset).group_column)


def labelled_rows(frame: pl.DataFrame, facts: TableFacts, how: str, seed: int) -> NDArray[np.intp]:
    """The rows that keep their label, as the README of the collection says.

    ``how``: "random", uniformly; "group", uniformly among the rows of the group; "column", the earliest rows by a
    date, or without replacement and with probability proportional to exp(2 |z|), z a standardised number, missing
    cells z = 0 (drawn in its Gumbel form, which is safe for heavy tails).
    """
    rng, n = np.random.default_rng(seed), facts.n_labeled
    if how == RANDOM:
        return rng.permutation(len(frame))[:n]
    if how == GROUP:
        member = (frame[facts.group_column].cast(pl.String) == facts.group_value).fill_null(False)
        return rng.permutation(np.flatnonzero(member.to_numpy()))[:n]
    values = frame[facts.bias_column]
    if facts.bias_kind == "date":
        seconds = values.cast(pl.Datetime("us")).dt.epoch("s").to_numpy()
        return np.lexsort((rng.random(len(values)), seconds))[:n]
    x = values.cast(pl.Float64).fill_null(np.nan).to_numpy()
    z = np.nan_to_num(np.abs((x - np.nanmean(x)) / np.nanstd(x)))
    return np.argsort(-(2 * z + rng.gumbel(size=len(x))), kind="stable")[:n]


def ordinal_codes(frame: pl.DataFrame) -> NDArray[np.float64]:
    """Cells as they are: numbers stay, anything else becomes the rank of its text; NaN where a cell is empty.

    >>> ordinal_codes(pl.DataFrame({"age": [31, None], "city": ["Ulm", "Bonn"]})).tolist()
    [[31.0, 1.0], [nan, 0.0]]
    """
    columns = [
        column if column.dtype.is_numeric() else (column.cast(pl.String).rank("dense") - 1) for column in frame
    ]
    return np.column_stack([column.cast(pl.Float64).fill_null(np.nan).to_numpy() for column in columns])


def _facts(name: str) -> DataFacts:
    facts = find_table(name)
    return DataFacts(name, facts.n_labeled, facts.n_labeled, 0.0, facts.sha256)


def _folder() -> Path:
    return Path(os.environ.get("CHARY_DATA", "")) / "tables"


def _path(name: str) -> Path:
    return _folder() / f"{name}.parquet"


def _listed_in_folder(name: str) -> TableFacts:
    listed = _folder() / "tables.csv"
    if os.environ.get("CHARY_DATA") and listed.is_file():
        for row in pl.read_csv(listed, infer_schema=False).fill_null("").to_dicts():
            if row["name"] == name and _path(name).is_file():
                texts = [row[key] for key in ("bias_column", "bias_kind", "group_column", "group_value")]
                facts = TableFacts(name, row["target"], int(row["n_labeled"]), *texts)
                return _with_checksum(facts, _path(name).read_bytes())
    known = ", ".join([*_SHIPPED, *(facts.name for facts in COLLECTION)])
    raise DatasetError(f"There is no table {name!r}; choose one of {known}.")


def _read(facts: TableFacts) -> pl.DataFrame:
    try:
        content = _path(facts.name).read_bytes()
    except OSError as error:
        raise DatasetError(
            f"The table {facts.name} is not on this machine; set CHARY_DATA to the directory that holds "
            f"tables/{facts.name}.parquet, or choose of {', '.join(_SHIPPED)}, which come with scikit-learn."
        ) from error
    if hashlib.sha256(content).hexdigest() != facts.sha256:
        raise DatasetError(f"{_path(facts.name)} is not the table chary knows; put the original in its place.")
    return pl.read_parquet(content)


def _with_checksum(facts: TableFacts, content: bytes) -> TableFacts:
    return TableFacts(**{**vars(facts), "sha256": hashlib.sha256(content).hexdigest()})


# -- Small tables of what comes with scikit-learn: cells of several kinds, as people write them ---------------


def _wine() -> pl.DataFrame:
    data = load_wine()
    frame = _numbers(data.data, data.feature_names)
    return frame.with_columns(
        pl.Series("alcohol", [f"{value:.2f} %" for value in frame["alcohol"]]),
        pl.Series("colour", _thirds(frame["color_intensity"], "pale", "ruby", "deep")),
        pl.Series("cultivar", [f"cultivar {code + 1}" for code in data.target]),
    )


def _tumours() -> pl.DataFrame:
    data = load_breast_cancer()
    frame = _numbers(data.data, data.feature_names)
    return frame.with_columns(
        pl.Series("mean radius", [f"{value:.2f} mm" for value in frame["mean radius"]]),
        pl.Series("size", _thirds(frame["worst area"], "small", "medium", "large")),
        pl.Series("diagnosis", data.target_names[data.target].tolist()),
    )


def _scans() -> pl.DataFrame:
    data = load_digits()
    ink = pl.Series("ink", data.data.sum(axis=1))
    return _numbers(data.data, data.feature_names).with_columns(
        ink,
        pl.Series("pen", _thirds(ink, "fine", "medium", "broad")),
        pl.Series("digit", data.target.astype(str).tolist()),
    )


def _numbers(X: NDArray[Any], names: Any) -> pl.DataFrame:
    return pl.DataFrame({str(name): X[:, j] for j, name in enumerate(names)})


def _thirds(values: pl.Series, *names: str) -> list[str]:
    numbers = values.to_numpy()
    return np.array(names)[np.searchsorted(np.quantile(numbers, (1 / 3, 2 / 3)), numbers)].tolist()


_SHIPPED = {
    "wine": (TableFacts("wine", "cultivar", 40, "proline", "number", "colour", "ruby"), _wine),
    "tumours": (TableFacts("tumours", "diagnosis", 60, "texture error", "number", "size", "medium"), _tumours),
    "scans": (TableFacts("scans", "digit", 150, "ink", "number", "pen", "fine"), _scans),
}
SHIPPED = tuple(_SHIPPED)

# The collection's tables.csv, and the checksums of its files.
COLLECTION: tuple[TableFacts, ...] = (
    TableFacts(
        *("food_reviews", "score", 200, "review_chars", "number", "", ""),
        "6e105a2b99666fd4af93c117c42edb9668079dc795df04a4e2b5730fcefcd749",
    ),
    TableFacts(
        *("tweets", "source", 300, "retweet_count", "number", "year", "2015"),
        "d06fe1d374a6c074d7424cd3a388a6a902f7d195cef7ae093301637912f35c35",
    ),
    TableFacts(
        *("slo_comments", "Category", 200, "CreatedDateTimeUtc", "date", "Source", "rtvslo"),
        "f8059fc29fb554670ef0ee8910acb631f7c72abf91aae059abf90c26d25f67f8",
    ),
    TableFacts(
        *(
            "breaches",
            "Type_of_Breach",
            250,
            "Breach_Submission_Date",
            "date",
            "Covered_Entity_Type",
            "Business Associate",
        ),
        "78f369a685c78894dc3253831abcf06b578d88397e3933c24237b92e32b2a4ec",
    ),
    TableFacts(
        *("nace", "section", 200, "words", "number", "Level", "3"),
        "1eebbe0d58201578e5939496974e66551533f77edf2ebd8b2fd0435c2a5c2093",
    ),
    TableFacts(
        *("tate", "technique", 200, "id", "number", "year", "1998"),
        "08bca55b378b4f2f303feb07262bb6181c1a829ea8aaeb8ca6208275a9e7b475",
    ),
    TableFacts(
        *("colleges", "degree", 200, "count_working", "number", "state_abbr", "CA"),
        "73b3f67f76568381241dbe6521ccc96fae00ec31576e20ae537eb6bbb9fce2e9",
    ),
    TableFacts(
        *("forbes", "category", 400, "profits", "number", "country", "United States"),
        "488a519f6adf08cc712acb21fa3ac2a2e0d85da9bf97ad09e5af4011588b7825",
    ),
    TableFacts(
        *("use_of_force", "force_type", 400, "age", "number", "precinct", "1"),
        "4d6c1caa2eba31f40c792231d829c1a24dcbd9ac25a130a59d5504f61a34622c",
    ),
    TableFacts(
        *("epa_cars", "drive_desc", 200, "hwy_mpg", "number", "model_yr", "2012"),
        "66bcc7deff70537460056fad8faeb3b5d470abdd549b967fd33c110994df912f",
    ),
    TableFacts(
        *("hotel", "market_segment", 300, "arrival_date", "date", "country", "gbr"),
        "24866073f18b4cc27002755c0839be65378870d9f5c3c3576ae2568d84138081",
    ),
    TableFacts(
        *("diamonds", "cut", 200, "depth", "number", "clarity", "I1"),
        "6041766d60c2e15ff5e6403fb39ee8c45ea94fa13a6c72db3d1ba94468abb911",
    ),
    TableFacts(
        *("occupations", "occrecode", 300, "age", "number", "gender", "Male"),
        "745d5ff8b58306d81ca256026a191a065c84f152d371a67c8a79f26b51ea058d",
    ),
    TableFacts(
        *("weather", "events", 150, "date", "date", "city", "Chicago"),
        "e81838d091b4f5607d77caf10721bb4abfcf84cf88b5d67797a313f9ed55c6db",
    ),
    TableFacts(
        *("fi_survey", "rel_status", 200, "2020_gross_inc", "number", "age", "24-28"),
        "181f2203d6d752c0aaf18403a8cefa5b547763b5b8abcc64982a83dfea2e8573",
    ),
    TableFacts(
        *("fastfood", "restaurant", 100, "calories", "number", "", ""),
        "5fb4353401202dee4535fb63039d8455a23ddf9e813f1e49d0b9ebfdbf916dbe",
    ),
    TableFacts(
        *("flchain", "death", 150, "creatinine", "number", "sample_yr", "2003"),
        "9802dc5c8cb20e875ae5df1d5907da462e2e812655486c149276bf42251970fe",
    ),
    TableFacts(
        *("baseball", "league_winner", 200, "year", "number", "division_id", "E"),
        "016547d2406b4e5c303cdf1969d177679f997c9602d97061f4d8eeaab8d89583",
    ),
    TableFacts(
        *("computers", "premium", 300, "trend", "number", "cd", "yes"),
        "44710b2cda53c836f532deef20c2f65343a5344b73efa0d385004508820bdadc",
    ),
    TableFacts(
        *("youth_survey", "gender", 150, "weight", "number", "grade", "9"),
        "8539e13ddb3308ae40d68778357b381d29d52195016edf20138ee1971ae731d5",
    ),
)
NAMES = tuple(facts.name for facts in COLLECTION)
SOURCE = Source(_facts, absent, SHIPPED)
