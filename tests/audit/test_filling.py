"""A sheet filled in by several at once: every confirmed answer is on the disk, none is lost."""

import json
from threading import Event, Thread

import polars as pl
import pytest

from chary._files import OutputError, sole_writer
from chary.audit import drawing
from chary.audit.answers import read_audit
from chary.audit.drawing import draw_sheet
from chary.audit.filling import AnsweredElsewhereError, Filling
from chary.audit.sheet import unlabelled_rows
from chary.tables import TableError, read_table
from chary.tables.target import target_labels


@pytest.fixture(name="table")
def a_table(tmp_path):
    """Eighty rows, a quarter of them without a label."""
    frame = pl.DataFrame(
        {"x": range(160), "y": [("ab"[i % 2] if i % 4 else None) for i in range(160)]}
    )
    frame.write_csv(tmp_path / "t.csv")
    return read_table(tmp_path / "t.csv")


@pytest.fixture(name="path")
def a_sheet(table, tmp_path):
    labels = target_labels(table, "y")
    path = tmp_path / "t.audit.csv"
    draw_sheet(path, unlabelled_rows(table, "y", labels), 30)
    return path


def answers_on_disk(path):
    return pl.read_csv(path, infer_schema=False)["y"].fill_null("").to_list()


def test_an_answer_is_on_the_disk_and_is_what_the_commands_read(path, table):
    filling = Filling(path)
    filling.answer(1, "a")
    filling.answer(2, "?")
    filling.answer(3, "=new", expected="")
    assert answers_on_disk(path)[:4] == ["a", "?", "'=new", ""]  # no spreadsheet runs it
    assert filling.answers[2] == "=new"
    assert (filling.n_answered, filling.n_skipped, filling.n_left, filling.next_empty()) == (
        2,
        1,
        27,
        4,
    )
    found = read_audit(path, table, "y", target_labels(table, "y"))
    assert found.labels.tolist() == ["a", "=new"]
    assert found.rows[0] == filling.rows[0].number
    assert filling.sheet.frame["y"].to_list()[:3] == [
        "a",
        "?",
        "'=new",
    ]  # for whoever adds rows to it
    filling.answer(1, "", expected="a")
    assert answers_on_disk(path)[0] == ""


def test_a_row_is_shown_by_its_cells_and_not_by_its_answer_or_what_chary_added(path):
    filling = Filling(path)
    filling.answer(3, "a")
    assert filling.fields == ["x"]
    for place, row in enumerate(filling.rows, 1):
        assert filling.cells(place)["x"] == str(row.number)
    assert filling.cells(3)["y"] == "a"
    assert [filling.place_of(row.number) for row in filling.rows] == list(range(1, 31))
    assert filling.place_of(1) is None  # it has a label, so it was not drawn


def test_answers_of_others_are_taken_over(path):
    one, other = Filling(path), Filling(path)
    one.answer(1, "a", expected="")
    other.answer(2, "b", expected="")
    assert answers_on_disk(path)[:2] == ["a", "b"]
    one.answer(3, "a", expected="")
    assert one.answers[:3] == ["a", "b", "a"]


def test_the_same_row_answered_otherwise_is_a_conflict_and_stays(path):
    one, other = Filling(path), Filling(path)
    other.answer(1, "b", expected="")
    with pytest.raises(AnsweredElsewhereError, match="has the answer 'b' by now"):
        one.answer(1, "a", expected="")
    assert answers_on_disk(path)[0] == "b"
    one.answer(1, "b", expected="")  # the same again: a receipt that was lost
    one.answer(1, "", expected="b")
    with pytest.raises(AnsweredElsewhereError, match="has the answer '' by now"):
        other.answer(1, "a", expected="b")


def test_a_sheet_sorted_in_a_spreadsheet_is_filled_in_by_the_order_of_the_draw(path):
    pl.read_csv(path, infer_schema=False).reverse().write_csv(path)
    filling = Filling(path)
    filling.answer(1, "a")
    assert answers_on_disk(path)[29] == "a"
    assert filling.place_of(filling.rows[4].number) == 5


def test_another_sheet_in_its_place_is_not_answered(path, table):
    filling = Filling(path)
    filling.answer(1, "a")
    labels = target_labels(table, "y")
    draw_sheet(path, unlabelled_rows(table, "y", labels), 20, seed=5, discard_answers=True)
    before = path.read_bytes()
    with pytest.raises(AnsweredElsewhereError, match="another sheet by now"):
        filling.answer(2, "a")
    fresh = Filling(path)
    with pytest.raises(AnsweredElsewhereError, match="another sheet"):
        fresh.answer(2, "a", number=fresh.rows[5].number)
    assert path.read_bytes() == before
    with pytest.raises(TableError, match="rows 1 to 20, and none 21"):
        fresh.answer(21, "a")


def test_a_sheet_that_is_gone_is_said(path):
    filling = Filling(path)
    path.unlink()
    with pytest.raises(TableError, match="cannot be read"):
        filling.answer(1, "a")
    assert not path.exists()


def test_a_sheet_says_that_who_fills_it_in_is_told_when_to_stop(path):
    filling = Filling(path)
    filling.mark_stopping()
    assert filling.origin.stopped_when_enough
    cells = pl.read_csv(path, infer_schema=False)["chary_classes"].to_list()
    assert all(json.loads(cell)["chary_stopped_when_enough"] for cell in cells)
    assert Filling(path).origin.stopped_when_enough
    Filling(path).answer(1, "a")
    assert Filling(path).origin.stopped_when_enough


def test_two_who_answer_at_once_lose_nothing(path):
    def answer(text, places):
        filling = Filling(path)
        for place in places:
            filling.answer(place, text)

    writers = [
        Thread(target=answer, args=told) for told in (("a", range(1, 16)), ("b", range(16, 31)))
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert answers_on_disk(path) == ["a"] * 15 + ["b"] * 15
    assert sorted(file.name for file in path.parent.iterdir()) == ["t.audit.csv", "t.csv"]


def test_a_draw_reading_and_answers_wait_for_each_other(path, table, monkeypatch):
    """An answer that is given while rows are added is not lost, and nobody reads in between."""
    pool, filling, link = (
        unlabelled_rows(table, "y", target_labels(table, "y")),
        Filling(path),
        path.with_name("l.csv"),
    )
    link.symlink_to(path)
    enlarge, done = drawing.enlarge_sheet, []
    others = [
        Thread(target=lambda: done.append(filling.answer(1, "a"))),
        Thread(target=lambda: done.append(Filling(link).answer(2, "b"))),
    ]

    def slowly(*args):
        for other in others:
            other.start()
            other.join(0.3)
        assert done == []
        enlarge(*args)

    monkeypatch.setattr(drawing, "enlarge_sheet", slowly)
    assert draw_sheet(path, pool, 32).n_new == 2
    for other in others:
        other.join(60)
    assert answers_on_disk(path) == ["a", "b", *[""] * 30]


def test_writers_wait_for_each_other_and_leave_no_file(tmp_path):
    inside = Event()

    def other():
        with sole_writer(tmp_path / "t.csv"):
            inside.set()

    thread = Thread(target=other)
    with sole_writer(tmp_path / "t.csv"):
        thread.start()
        assert not inside.wait(0.3)
    thread.join(60)
    assert inside.is_set()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moment", ["before", "during", "flush", "name"])
def test_what_a_full_disk_refuses_was_never_answered(path, full_disk, moment):
    filling = Filling(path)
    filling.answer(1, "a")
    before = path.read_bytes()
    with full_disk(moment):
        for place, text in (
            (1, "b"),
            (1, ""),
            (2, "b"),
            (2, "b"),
        ):  # the same again is refused again
            with pytest.raises(OutputError, match="Cannot write"):
                filling.answer(place, text)
        with pytest.raises(OutputError, match="Cannot write"):
            filling.mark_stopping()
        assert filling.answers[:3] == ["a", "", ""]
        assert (filling.n_answered, filling.next_empty(), filling.origin.stopped_when_enough) == (
            1,
            2,
            False,
        )
        assert path.read_bytes() == before
    filling.answer(3, "a")  # and writes nothing of what was refused
    assert answers_on_disk(path)[:4] == ["a", "", "a", ""]
    assert not Filling(path).origin.stopped_when_enough
    filling.answer(2, "b", expected="")
    filling.mark_stopping()
    assert answers_on_disk(path)[:4] == Filling(path).answers[:4] == ["a", "b", "a", ""]
    assert Filling(path).origin.stopped_when_enough
    assert sorted(file.name for file in path.parent.iterdir()) == ["t.audit.csv", "t.csv"]


def test_what_has_its_name_was_answered(path, full_disk):
    filling = Filling(path)
    with full_disk("after"):
        filling.answer(1, "a")
    assert answers_on_disk(path)[0] == filling.answers[0] == "a"


@pytest.mark.parametrize("moment", ["before", "during", "flush", "name"])
def test_a_draw_that_a_full_disk_refuses_leaves_the_sheet_as_it_was(path, table, full_disk, moment):
    pool, fresh = unlabelled_rows(table, "y", target_labels(table, "y")), path.with_name("new.csv")
    Filling(path).answer(1, "a")
    before = path.read_bytes()
    with full_disk(moment):
        for sheet in (path, fresh):
            with pytest.raises(OutputError, match="Cannot write"):
                draw_sheet(sheet, pool, 35)
    assert path.read_bytes() == before
    assert not fresh.exists()
    assert [draw_sheet(sheet, pool, 35).n_drawn for sheet in (path, fresh)] == [35, 35]
    assert answers_on_disk(path)[0] == "a"
