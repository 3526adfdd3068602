"""Real tables: the facts, how labels are drawn, damage, and what a method may know of a draw."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from chary.tables.target import read_target
from studies.collection import (
    COLLECTION,
    TableFacts,
    absent,
    collection_of,
    find_table,
    labelled_rows,
    load_table,
    ordinal_codes,
    paper_draw,
    part_of_table,
    possible,
    table_draw,
)
from studies.datasets import DatasetError
from studies.orderings import ORDERINGS
from studies.study import Task
from studies.tables import TABLES, TABLES_PAPER

FOLDER = Path(os.environ.get("CHARY_DATA", "")) / "tables"
needs_tables = pytest.mark.skipif(
    not (FOLDER / "tables.csv").is_file(), reason="CHARY_DATA holds no tables"
)


def rows_of_the_readme(table, spec, how, seed):
    """The function that the README of the collection prints."""
    rng, n = np.random.default_rng(seed), spec["n_labeled"]
    if how == "random":
        return rng.permutation(len(table))[:n]
    if how == "group":
        pool = np.flatnonzero(
            (table[spec["group_column"]].astype("string") == spec["group_value"]).fillna(False)
        )
        return rng.permutation(pool)[:n]
    v = table[spec["bias_column"]]
    if spec["bias_kind"] == "date":
        t = pd.to_datetime(v).to_numpy().astype("datetime64[s]").astype("int64")
        return np.lexsort((rng.random(len(v)), t))[:n]
    x = v.to_numpy(dtype=float, na_value=np.nan)
    z = np.nan_to_num(np.abs((x - np.nanmean(x)) / np.nanstd(x)))
    return np.argsort(-(2 * z + rng.gumbel(size=len(x))), kind="stable")[:n]


@needs_tables
def test_the_facts_are_those_of_the_collection():
    listed = pd.read_csv(FOLDER / "tables.csv", dtype={"group_value": str}, keep_default_na=False)
    assert listed["name"].tolist() == [facts.name for facts in COLLECTION]
    for spec, facts in zip(listed.to_dict("records"), COLLECTION, strict=True):
        own = {key: value for key, value in vars(facts).items() if key != "sha256"}
        assert {key: spec[key] for key in own} == own
        assert hashlib.sha256((FOLDER / spec["file"]).read_bytes()).hexdigest() == facts.sha256


@needs_tables
@pytest.mark.parametrize("facts", COLLECTION[::4], ids=lambda facts: facts.name)
def test_labels_are_drawn_as_the_readme_says(facts):
    path = FOLDER / f"{facts.name}.parquet"
    table, frame = pd.read_parquet(path), pl.read_parquet(path)
    for how in ("random", "group", "column") if facts.group_column else ("random", "column"):
        expected = rows_of_the_readme(table, vars(facts), how, 3)
        assert labelled_rows(frame, facts, how, 3).tolist() == expected.tolist()


def test_labels_come_from_the_group_the_first_days_or_the_far_ends():
    frame = pl.DataFrame(
        {
            "site": ["a", None, "b", "a"] * 10,
            "day": pl.date_range(
                pl.date(2020, 1, 1), pl.date(2020, 2, 9), "1d", eager=True
            ).reverse(),
            "size": [None, *[0.0] * 35, 50.0, -60.0, 70.0, 80.0],
        }
    )
    by_date = TableFacts("t", "y", 5, "day", "date", "site", "a")
    assert set(labelled_rows(frame, by_date, "group", 0)) <= set(range(0, 40, 4)) | set(
        range(3, 40, 4)
    )
    assert sorted(labelled_rows(frame, by_date, "column", 0)) == [35, 36, 37, 38, 39]
    by_number = TableFacts("t", "y", 3, "size", "number", "", "")
    drawn = np.concatenate([labelled_rows(frame, by_number, "column", seed) for seed in range(20)])
    assert np.isin(drawn, [36, 37, 38, 39]).mean() > 0.8
    assert len(set(labelled_rows(frame, by_number, "random", 1))) == 3


def test_a_fresh_clone_has_a_table_of_several_kinds_of_cells(monkeypatch):
    monkeypatch.delenv("CHARY_DATA", raising=False)
    table = load_table("tumours")
    facts = table.facts
    assert absent(["tumours"]) == []
    assert len(facts.sha256) == 64
    assert len({str(dtype) for dtype in table.frame.drop(facts.target).dtypes}) > 1
    assert table.X.shape[0] == len(table.frame) == len(table.codes)
    assert table.classes[table.codes].tolist() == table.frame[facts.target].to_list()
    for how in ("random", "group", "column"):
        rows = labelled_rows(table.frame, facts, how, 0)
        assert len(np.unique(rows)) == facts.n_labeled
        assert len(np.unique(table.codes[rows])) == len(table.classes)


def test_ordinal_codes_keep_numbers_and_rank_texts():
    frame = pl.DataFrame({"n": [3, None, 1], "t": ["b", "a", None], "f": [True, False, True]})
    np.testing.assert_equal(ordinal_codes(frame), [[3, 1, 1], [np.nan, 0, 0], [1, np.nan, 1]])


def test_only_tables_with_a_group_draw_labels_from_it():
    drawn = {
        (cell.dataset, cell.labeling)
        for cell in TABLES.cells(["fastfood", "tumours"], 1)
        if possible(cell)
    }
    assert ("fastfood", "group") not in drawn
    assert {("fastfood", "column"), ("tumours", "group")} <= drawn


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A collection with a table of one's own and a damaged one."""
    (tmp_path / "tables").mkdir()
    columns = "name,target,n_labeled,bias_column,bias_kind,group_column,group_value\n"
    (tmp_path / "tables" / "tables.csv").write_text(
        f"{columns}mine,y,4,x,number,,\ngone,y,4,x,number,,\n"
    )
    frame = pl.DataFrame({"x": np.arange(30.0), "y": ["a", "b", None] * 10})
    frame.drop_nulls().write_parquet(tmp_path / "tables" / "mine.parquet")
    frame.write_parquet(tmp_path / "tables" / "weather.parquet")
    monkeypatch.setenv("CHARY_DATA", str(tmp_path))
    for cached in (find_table, load_table):
        cached.cache_clear()
    yield tmp_path / "tables"
    for cached in (find_table, load_table):
        cached.cache_clear()


def test_tables_can_be_added_to_the_folder(folder):
    assert load_table("mine").codes.tolist() == [0, 1] * 10
    assert (
        find_table("mine").sha256
        == hashlib.sha256((folder / "mine.parquet").read_bytes()).hexdigest()
    )
    assert absent(["mine", "tweets", "tumours"]) == ["tweets"]


def test_what_is_missing_damaged_or_unknown_is_said_in_a_sentence(folder):
    with pytest.raises(
        DatasetError, match=r"tweets is not on this machine; set CHARY_DATA .* or choose tumours"
    ):
        load_table("tweets")
    with pytest.raises(DatasetError, match=r"weather\.parquet is not the table chary knows"):
        load_table("weather")
    for name in ("gone", "never"):
        with pytest.raises(
            DatasetError, match=f"There is no table '{name}'; choose one of tumours"
        ):
            load_table(name)
    pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": ["a", None, "b"]}).write_parquet(
        folder / "mine.parquet"
    )
    find_table.cache_clear()
    with pytest.raises(DatasetError, match="has rows without a label"):
        load_table("mine")


def test_without_a_folder_nothing_is_looked_up(monkeypatch):
    monkeypatch.delenv("CHARY_DATA", raising=False)
    with pytest.raises(DatasetError, match="There is no table 'elsewhere'"):
        find_table("elsewhere")


@pytest.fixture(scope="module")
def draw():
    return table_draw(
        next(cell for cell in TABLES.cells(["tumours"], 1) if cell.labeling == "group")
    )


def test_a_draw_hides_all_labels_but_those_of_its_rows(draw):
    assert draw.labeled.sum() == 60
    assert set(draw.table.frame["size"].filter(draw.labeled)) == {"medium"}
    read = read_target(draw.hidden(), "diagnosis").labels
    assert (read.labeled == draw.labeled).all()
    known = draw.labels(draw.audited(0))
    assert read.classes.tolist() == known.classes.tolist()
    assert (read.codes == known.codes).all()


def test_audited_rows_are_known_and_never_scored(draw):
    rows = draw.audited(30)
    assert not draw.labeled[rows].any()
    assert draw.audited(10).tolist() == rows[:10].tolist()
    known, scored = draw.labels(rows), draw.scored(rows)
    assert known.labeled.sum() == 90
    assert (known.classes[known.codes[rows]] == draw.classes[draw.truth[rows]]).all()
    together = np.concatenate([np.flatnonzero(known.labeled), scored.rows])
    assert sorted(together) == list(range(569))
    assert (scored.truth == draw.truth[scored.rows]).all()
    assert (draw.X[scored.rows] == scored.X).all()


def test_classes_without_a_label_are_unknown_until_an_audit_finds_them(draw):
    labeled = draw.labeled & (draw.truth != 1)
    fewer = type(draw)(draw.cell, draw.X, draw.truth, draw.classes, labeled, draw.table)
    assert fewer.labels(fewer.audited(0)).classes.tolist() == ["benign"]
    found = fewer.labels(fewer.audited(30))
    assert found.classes.tolist() == draw.classes.tolist()
    assert (found.codes[found.labeled] == draw.truth[found.labeled]).all()


def test_the_paper_s_sets_are_split_and_labelled_as_there(blobs):
    cell = next(cell for cell in TABLES_PAPER.cells([blobs], 1) if cell.labeling == "ssb")
    task, draw = Task(cell), paper_draw(cell)
    assert (draw.labeled == task.labeled).all()
    assert (draw.truth == task.y_true).all()
    scored = draw.scored(draw.audited(0))
    assert scored.rows is None
    assert (scored.truth == task.y_test).all()
    # Numbers are standardised by either.
    np.testing.assert_allclose(draw.X, task.X, atol=1e-6)
    np.testing.assert_allclose(scored.X, task.X_test, atol=1e-6)


def test_a_data_set_of_the_paper_is_a_table_with_its_draw():
    cell = next(c for c in ORDERINGS.cells(["digits"], 1) if c.labeling == "ssb")
    task, part = Task(cell), part_of_table(cell)
    assert len(part.X) == len(task.X)  # all of them: there are fewer than 2,000
    assert (part.labeled == task.labeled).all()
    assert (part.classes[part.truth].astype(int) == task.y_true).all()
    read = read_target(part.hidden(), "y").labels
    assert (read.labeled == task.labeled).all()
    assert collection_of("digits") == "the paper's"
    assert {c.labeling for c in ORDERINGS.cells(["digits"], 1)} == {"iid", "ssb"}
