"""A sheet that grows keeps what is in it."""

import io

import numpy as np
import polars as pl

from chary.tables.reading import read_table
from chary.tables.sheets.origin import drawn_from
from chary.tables.sheets.rows import behind, places_and_rows, sheet_rows
from chary.tables.sheets.writing import enlarge_sheet, write_audit
from chary.tables.table import Table
from chary.tables.target import target_labels

FRAME = pl.DataFrame({"x": [f"={i}" for i in range(40)], "z": range(40), "y": ["a", "b"] + [None] * 38})
TABLE = Table(FRAME.cast(pl.String), "t.csv", ",")


def test_answers_order_and_columns_of_a_sheet_survive_its_enlarging(tmp_path):
    labels, path = target_labels(TABLE, "y"), tmp_path / "t.audit.csv"
    with path.open("wb") as file:
        write_audit(TABLE, "y", labels, np.array([7, 3, 30]), file, seed=4)
    mine = pl.read_csv(path, infer_schema=False).with_columns(y=pl.Series(["a", None, "b"]), remark=pl.lit("!"))
    mine.drop("z").reverse().write_csv(path, separator=";")
    sheet, cells = read_table(path), behind(TABLE, "y")
    grown = io.BytesIO()
    enlarge_sheet(sheet, drawn_from(sheet), cells, np.array([12, 5]), grown, {"chary_guess": ["=a", "b"]})
    path.write_bytes(grown.getvalue())
    found = read_table(path)
    assert found.frame.columns == sheet.frame.columns
    assert found.delimiter == ";"
    assert found.frame[:3].equals(sheet.frame, null_equal=True)
    assert found.frame["x"].to_list()[3:] == ["'=12", "'=5"]  # nothing runs as a formula
    assert places_and_rows(found) == [(3, 30), (2, 3), (1, 7), (4, 12), (5, 5)]
    assert sheet_rows(found, cells, "y").n_drawn == 5
    assert drawn_from(found).seed == 4
