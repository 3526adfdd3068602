"""A cell means the same in every format: the kind of its column, the classes of its target."""

import polars as pl
import pytest

from chary.tables.columns import find_column
from chary.tables.source import read_table
from chary.tables.target import folded, read_target

N, FORMATS = 40, ("csv", "parquet", "jsonl", "xlsx")
INF = float("inf")
# Cells that repeat down a column: name, cells, kind, whether some are missing, classes (None: no
# target), formats.
TABLE = [
    ("whole", [0, 1], "numeric", False, ["0", "1"], FORMATS),
    ("floats", [0.0, 1.0], "numeric", False, ["0", "1"], FORMATS),
    ("fractions", [0.5, 1.0], "numeric", False, ["0.5", "1"], FORMATS),
    ("truth", [True, False], "boolean", False, ["false", "true"], FORMATS),
    ("codes", ["01", "1"], "numeric", False, ["01", "1"], FORMATS),
    ("not finite", [0.5, INF, -INF, 2.0], "numeric", True, None, FORMATS),
    ("not a number", [0.5, float("nan"), 2.0, 1.0], "numeric", True, None, FORMATS),
    ("errors", ["0.5", "#N/A", "2", "#DIV/0!"], "numeric", True, None, FORMATS),
    ("words", ["a", "#N/A", "b", "<NA>"], "categorical", True, None, FORMATS),
    ("long", [10**15 + 7 * i for i in range(N)], "identifier", False, None, FORMATS),
    (
        "longer",
        [2**53 + i for i in range(N)],
        "identifier",
        False,
        None,
        FORMATS[:-1],
    ),  # Excel keeps 15 digits
    (
        "groups",
        [2**53, 2**53 + 1],
        "categorical",
        False,
        [str(2**53), str(2**53 + 1)],
        FORMATS[:-1],
    ),
]


def written(frame, format, folder):
    path = folder / f"t.{format}"
    how = {"csv": "csv", "parquet": "parquet", "jsonl": "ndjson", "xlsx": "excel"}[format]
    getattr(frame, f"write_{how}")(path)
    return read_table(path)


@pytest.mark.parametrize(
    ("name", "cells", "kind", "missing", "classes", "formats"),
    TABLE,
    ids=lambda cell: str(cell)[:20],
)
def test_formats_agree(name, cells, kind, missing, classes, formats, tmp_path):
    frame = pl.DataFrame({name: (cells * N)[:N], "other": ["x", "y"] * (N // 2)})
    for format in formats:
        table = written(frame, format, tmp_path)
        column = find_column(table.frame[name])
        assert (column.kind, column.missing) == (kind, missing), format
        if classes is not None:
            assert sorted(map(folded, read_target(table, name).labels.classes)) == classes, format


def test_the_whole_number_of_one_format_is_that_of_another():
    for text in ("1", "1.0", " 1.00"):
        assert folded(text) == "1"
    assert len({folded(text) for text in ("1", "01", "1.5", "1.0.0", "v1.0")}) == 5
