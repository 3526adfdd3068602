"""Draws are uniform, the same for good, and grow: a small one opens a large one."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from chary.audit import draw
from chary.audit.drawing import draw_sheet
from chary.audit.sheet import read_sheet, sheet_rows, unlabelled_rows
from chary.audit.table_cells import cells_of
from chary.tables import Table, TableError
from chary.tables.target import target_labels
from tests.fixtures.sheets import write_audit

FRAME = pl.DataFrame({"x": [f"r{i}" for i in range(200)], "y": ["a", "b"] * 10 + [None] * 180})


TABLE = Table(FRAME, "t.csv", ",")


LABELS = target_labels(TABLE, "y")


CELLS = cells_of(TABLE, "y")


def drawn(path, k, **more):
    return draw_sheet(path, unlabelled_rows(TABLE, "y", LABELS), k, **more)


def numbers(path):
    rows = sheet_rows(read_sheet(path), CELLS, "y").by_place
    return [rows[place].number for place in sorted(rows)]


@pytest.mark.parametrize("seed", [0, 7])
def test_a_draw_in_steps_is_the_draw_at_once(tmp_path, seed):
    path = tmp_path / "s.csv"
    assert drawn(path, 10, seed=seed)[:4] == (10, 10, 0, False)
    assert drawn(path, 25)[:4] == (25, 15, 0, True)  # with the seed of the sheet
    assert drawn(path, 60, seed=seed)[:4] == (60, 35, 0, True)
    assert numbers(path) == draw(LABELS.labeled, 60, seed).tolist()


def test_a_sheet_of_another_draw_grows_by_rows_that_it_has_not(tmp_path):
    path, own = tmp_path / "s.csv", np.arange(100, 110)
    with path.open("wb") as file:
        # Of an older version, which did not say its seed.
        write_audit(TABLE, "y", LABELS, own, file)
    drawn(path, 40)
    found = numbers(path)
    assert found[:10] == own.tolist()
    assert len(set(found)) == 40
    assert not LABELS.labeled[found].any()


def test_rows_labelled_in_the_table_since_stay_of_the_draw(tmp_path):
    path = tmp_path / "s.csv"
    drawn(path, 10)
    labels = target_labels(
        Table(FRAME.with_columns(y=pl.Series(answered_since(10))), "t.csv", ","), "y"
    )
    draw_sheet(path, unlabelled_rows(TABLE, "y", labels), 30)
    assert numbers(path) == draw(LABELS.labeled, 30, 0).tolist()


def answered_since(k):
    cells = FRAME["y"].to_list()
    for row in draw(LABELS.labeled, k, 0):
        cells[row] = "a"
    return cells


def test_a_sheet_from_which_rows_were_removed_does_not_grow(tmp_path):
    path = tmp_path / "s.csv"
    drawn(path, 10)
    pl.read_csv(path, infer_schema=False)[1:].write_csv(path)
    with pytest.raises(
        TableError, match=r"s.csv lacks 1 row of the draw; put what was removed back"
    ):
        drawn(path, 20)


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
    drawn(path, 20, seed=3, force=True)
    assert numbers(path) == draw(LABELS.labeled, 20, 3).tolist()


def answer_first_rows(path, answers):
    sheet = pl.read_csv(path, infer_schema=False)
    filled = [*answers, *[None] * (sheet.height - len(answers))]
    sheet.with_columns(y=pl.Series(filled, dtype=pl.String)).write_csv(path)
    return path.read_bytes()


@pytest.mark.parametrize("more", [{"force": True}, {}, {"seed": 3}])
def test_a_sheet_with_answers_is_not_overwritten_and_every_refusal_counts_them(tmp_path, more):
    path = tmp_path / "t.audit.csv"
    drawn(path, 10)
    before = answer_first_rows(path, ["a", "b", "?"])
    with pytest.raises(TableError, match=r"t\.audit\.csv holds 3 answers") as refusal:
        drawn(path, 10, **more)
    assert "discard_answers" in str(refusal.value)
    assert path.read_bytes() == before


def test_answers_are_discarded_on_demand_and_a_copy_of_each_sheet_is_kept(tmp_path):
    path = tmp_path / "my.t.audit.csv"
    drawn(path, 10)
    for number, answers in enumerate((["a"], ["b", "a"]), start=1):
        before = answer_first_rows(path, answers)
        copy = tmp_path / f"my.t.discarded-{number}.audit.csv"
        assert drawn(path, 10, discard_answers=True).copy == str(copy)
        assert copy.read_bytes() == before
        assert pl.read_csv(path)["y"].is_null().all()
    assert drawn(path, 10, discard_answers=True).copy is None  # nothing to lose
    assert len(list(tmp_path.iterdir())) == 3


def test_answers_are_counted_without_the_columns_that_say_what_the_sheet_is(tmp_path):
    path = tmp_path / "t.audit.csv"
    drawn(path, 10)
    answer_first_rows(path, ["a", "b"])
    pl.read_csv(path, infer_schema=False).drop("chary_row", "chary_classes").write_csv(path)
    with pytest.raises(TableError, match="holds 2 answers"):
        drawn(path, 10, force=True)
    path.write_bytes(b'chary_row,y\n\xff\x00"')
    before = path.read_bytes()
    for more in ({"force": True}, {"discard_answers": True}):
        with pytest.raises(TableError, match="cannot be read, and may hold answers"):
            drawn(path, 10, **more)
    assert path.read_bytes() == before


def test_draws_unlabelled_rows_only_each_once_and_in_random_order():
    labeled = np.arange(100) % 3 == 0
    rows = draw(labeled, 40, random_state=0)
    assert not labeled[rows].any()
    assert len(set(rows.tolist())) == 40
    assert rows.tolist() != sorted(rows.tolist())


def test_every_unlabelled_row_is_equally_likely_at_every_place():
    labeled = np.array([True, False, False, True, False, False])
    rng = np.random.default_rng(0)
    draws = np.array([draw(labeled, 2, rng) for _ in range(4000)])
    for place in draws.T:
        counts = np.bincount(place, minlength=6)[~labeled]
        assert stats.chisquare(counts).pvalue > 0.01


@given(st.integers(1, 400), st.integers(0, 2**40), st.data())
@settings(max_examples=40)
def test_draws_are_nested_and_go_on_from_any_of_them(n, seed, data):
    labeled = np.random.default_rng(seed).random(n) < 0.3
    labeled[0] = False
    k = data.draw(st.integers(1, int((~labeled).sum())))
    rows = draw(labeled, k, seed)
    assert rows[: k // 2 + 1].tolist() == draw(labeled, k // 2 + 1, seed).tolist()
    first, rest = rows[: k // 2], rows[k // 2 :]
    labeled[first] = True
    assert draw(labeled, len(rest), seed).tolist() == rest.tolist()


def test_a_draw_is_the_same_for_good():
    """Enlarging an old sheet needs the same numbers, whatever became of NumPy's samplers."""
    assert draw(np.zeros(1_000_000, bool), 5, 0).tolist() == [
        799702,
        299610,
        199741,
        598437,
        406974,
    ]


def test_a_draw_has_nothing_to_do_with_a_table_made_from_the_same_seed():
    noise = np.random.default_rng(0).random(20_000)
    raw = np.random.PCG64(0).random_raw(20_000)
    rows = draw(np.zeros(20_000, bool), 500, 0)
    assert abs(noise[rows].mean() - 0.5) < 0.05
    assert abs(raw[rows].mean() / 2**64 - 0.5) < 0.05


@pytest.mark.parametrize("k", [0, -1, 4])
def test_refuses_to_draw_more_than_there_is(k):
    with pytest.raises(ValueError, match="3 unlabelled rows"):
        draw([True, False, False, False], k)


def test_all_rows_can_be_drawn_or_one():
    labeled = np.array([True, False, False, True, False])
    assert sorted(draw(labeled, 3, 0).tolist()) == [1, 2, 4]
    assert draw(labeled, 1, 0).tolist() == draw(labeled, 3, 0)[:1].tolist()
    assert draw([False], 1).tolist() == [0]


def test_refuses_what_is_no_mask():
    for labeled in ([0, 1, 1], [[True, False]], [0.5, 1.0]):
        with pytest.raises(ValueError, match="mask"):
            draw(labeled, 1)
