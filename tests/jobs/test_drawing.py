"""Draws that grow: the first rows of a large one are the small one, and nothing there is lost."""

import io

import numpy as np
import polars as pl
import pytest

from chary.evaluation import draw
from chary.jobs import draw_sheet
from chary.jobs.drawing import rows_to_add
from chary.tables import (
    RANDOM,
    Table,
    TableError,
    behind,
    origin_to_tell,
    read_sheet,
    sheet_rows,
    target_labels,
    write_audit,
)

FRAME = pl.DataFrame({"x": [f"r{i}" for i in range(200)], "y": ["a", "b"] * 10 + [None] * 180})
TABLE = Table(FRAME, "t.csv", ",")
LABELS = target_labels(TABLE, "y")
BEHIND = behind(TABLE, "y")


def drawn(path, k, **more):
    origin = origin_to_tell(TABLE, "y", LABELS)
    return draw_sheet(path, TABLE, origin, BEHIND, LABELS.labeled, k, **more)


def numbers(path):
    rows = sheet_rows(read_sheet(path)[0], BEHIND, "y").by_place
    return [rows[place].number for place in sorted(rows)]


@pytest.mark.parametrize("seed", [0, 7])
def test_a_draw_in_steps_is_the_draw_at_once(tmp_path, seed):
    path = tmp_path / "s.csv"
    assert drawn(path, 10, seed=seed) == (10, 10, 0, False)
    assert drawn(path, 25) == (25, 15, 0, True)  # with the seed of the sheet
    assert drawn(path, 60, seed=seed) == (60, 35, 0, True)
    assert numbers(path) == draw(LABELS.labeled, 60, seed).tolist()


def test_a_sheet_of_another_draw_grows_by_rows_that_it_has_not(tmp_path):
    path, own = tmp_path / "s.csv", np.arange(100, 110)
    with path.open("wb") as file:
        write_audit(TABLE, "y", LABELS, own, file)  # of an older version, which did not say its seed
    drawn(path, 40)
    found = numbers(path)
    assert found[:10] == own.tolist()
    assert len(set(found)) == 40
    assert not LABELS.labeled[found].any()


def test_rows_labelled_in_the_table_since_stay_of_the_draw():
    there = sheet_rows(*sheet_of(draw(LABELS.labeled, 10, 0)))
    labeled = LABELS.labeled.copy()
    labeled[[row.number for row in there.by_place.values()]] = True
    assert rows_to_add(there, labeled, 30, 0).tolist() == draw(LABELS.labeled, 30, 0)[10:].tolist()


def sheet_of(rows):
    file = io.BytesIO()
    write_audit(TABLE, "y", LABELS, rows, file)
    return Table(pl.read_csv(file.getvalue(), infer_schema=False), "s.csv", ","), BEHIND, "y", RANDOM


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"k": 10}, "exists already, with 10 rows; ask for more of them"),
        ({"k": 20, "seed": 3}, "drawn with the seed 0; draw with that"),
        ({"k": 181}, "181 rows cannot be drawn from 180"),
        ({"k": 1}, "1 rows cannot be drawn"),
    ],
)
def test_what_cannot_be_enlarged_stays_as_it_is(tmp_path, more, said):
    path = tmp_path / "s.csv"
    drawn(path, 10)
    before = path.read_bytes()
    with pytest.raises(TableError, match=said):
        drawn(path, **more)
    assert path.read_bytes() == before
    drawn(path, 20, seed=3, overwrite=True)
    assert numbers(path) == draw(LABELS.labeled, 20, 3).tolist()
