"""The files beside a table: whose they are, and the sheets in them."""

import re

import polars as pl
import pytest

from chary._words import Parameter, Step
from chary.options import ReviewOptions
from chary.review import begin
from chary.review.audit_page import audit_page, draw_more
from chary.review.errors import PLACES, page_sentence
from chary.review.files import Outputs, paths_of
from chary.review.start_page import overview
from chary.tables import Table, TableError


def test_only_what_this_page_wrote_is_overwritten_unasked(tmp_path):
    path = tmp_path / "t.labeled.csv"
    writers = {"labels": lambda stream: stream.write(b"mine")}
    mine = Outputs({"labels": path})
    path.write_text("a stranger's")
    assert mine.write(writers, 1) == ["t.labeled.csv"]
    path.unlink()
    assert mine.write(writers, 1) == []
    assert mine.write(writers, 2) == []
    path.write_text("mine, mended in a spreadsheet")
    assert mine.write(writers, 3) == ["t.labeled.csv"]
    assert path.read_text() == "mine, mended in a spreadsheet"


def test_files_are_those_of_the_commands(tmp_path):
    table = Table(pl.DataFrame({"a": [1]}), "t.csv", ",", path=str(tmp_path / "t.csv"))
    names = [path.name for path in paths_of(table, judged=False)]
    assert names == [
        "t.audit.csv",
        "t.check.csv",
        "t.labeled.csv",
        "t.model.chary",
        "t.report.html",
    ]
    assert paths_of(table, judged=True)[:3] == (
        tmp_path / "t.judge.csv",
        tmp_path / "t.check.csv",
        tmp_path / "t.judged.csv",
    )


def test_files_of_others_stay_until_that_is_said(tmp_path):
    labels, report = tmp_path / "t.labeled.csv", tmp_path / "t.report.html"
    report.write_text("theirs")
    outputs = Outputs({"labels": labels, "report": report})
    writers = {kind: lambda stream: stream.write(b"ours") for kind in ("labels", "report")}
    assert outputs.write(writers, "first") == ["t.report.html"]
    assert (labels.read_text(), report.read_text()) == ("ours", "theirs")
    told = {file["kind"]: file for file in outputs.status(["labels", "report"], "first")}
    assert told["labels"] == {
        "kind": "labels",
        "name": "t.labeled.csv",
        "written": True,
        "ours": True,
        "stale": False,
    }
    assert (told["report"]["ours"], told["report"]["stale"]) == (False, True)
    assert outputs.write(writers, "second", overwrite=True) == []
    assert report.read_text() == "ours"
    assert [file["stale"] for file in outputs.status(["labels", "report"], "second")] == [
        False,
        False,
    ]
    assert [file["stale"] for file in outputs.status(["labels", "report"], "third")] == [True, True]


def test_where_the_report_cannot_be_written_the_table_is_not_new(tmp_path):
    paths = {kind: tmp_path / kind for kind in ("labels", "report")}
    outputs = Outputs(paths)
    outputs.write({kind: lambda stream: stream.write(b"first") for kind in paths}, "first")

    def fails(stream):
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        outputs.write({"report": fails, "labels": lambda stream: stream.write(b"second")}, "second")
    assert [path.read_text() for path in paths.values()] == ["first", "first"]
    assert [file["stale"] for file in outputs.status(list(paths), "second")] == [True, True]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels", "report"]


def test_links_are_left_alone(animals, enter):
    """Also links that lead nowhere or to this page's file; a sheet is the file behind its link."""
    path, _ = animals
    options = ReviewOptions(target="animal", learner="linear")
    paths = begin([str(path)], options).paths
    elsewhere = path.parent / "elsewhere"
    elsewhere.mkdir()
    for one in (paths.labels, paths.check):
        one.symlink_to(elsewhere / one.name)
    browser = enter(begin([str(path)], options))
    browser.bench.learn()
    browser.wait()
    assert (
        "Not written by this page: animals.labeled.csv" in browser.post("/api/write", 409)["error"]
    )
    row = browser.get("/api/review")["row"]["number"]
    assert (
        "exists already"
        in browser.post("/api/review", 503, row=row, answer="dog", expected="")["error"]
    )
    assert all(one.is_symlink() and not one.exists() for one in (paths.labels, paths.check))
    paths.check.unlink()
    browser.post("/api/review", row=row, answer="dog", expected="")
    for one in (paths.check, paths.model):
        one.rename(elsewhere / one.name)
        one.symlink_to(elsewhere / one.name)
    after = browser.get("/api/review")["row"]["number"]
    browser.post("/api/review", row=after, answer="cat", expected="")
    assert pl.read_csv(elsewhere / paths.check.name)["animal"].to_list() == ["dog", "cat"]
    browser.post("/api/write", 409)
    assert paths.check.is_symlink()
    assert paths.model.is_symlink()


def test_a_sheet_of_another_table_is_said_and_not_used(bench, animals, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    pl.read_csv(animals[0]).head(200).write_csv(other / "animals.csv")
    draw_more(begin([str(other / "animals.csv")], ReviewOptions(target="animal")), {"k": 4})
    bench.paths.audit.write_bytes((other / "animals.audit.csv").read_bytes())
    assert bench.sheets.audit is None
    assert "does not match animals.csv" in overview(bench, {})["notices"][0]
    with pytest.raises(TableError, match="does not match"):
        audit_page(bench, {})
    bench.paths.audit.unlink()
    assert overview(bench, {})["notices"] == []


def test_rows_to_check_are_added_one_by_one_in_the_form_of_the_command(bench):
    unlabelled = [i for i, given in enumerate(bench.job.labels.labeled.tolist()) if not given][:3]
    for row in unlabelled:
        filling, place = bench.sheets.add_to_check(row, "dog")
        assert filling.rows[place - 1].number == row
    assert bench.sheets.add_to_check(unlabelled[1], "cat")[1] == 2
    sheet = pl.read_csv(bench.paths.check, infer_schema=False)
    assert sheet.columns == [
        "chary_row",
        "animal",
        "chary_guess",
        "size",
        "speed",
        "name",
        "chary_classes",
    ]
    assert sheet["chary_guess"].to_list() == ["dog"] * 3
    assert all(
        token.startswith(f"check {k}/{k}: row") for k, token in enumerate(sheet["chary_row"], 1)
    )
    filling.answer(2, "cat")
    assert bench.sheets.checked_rows() == {unlabelled[1]: "cat"}


@pytest.mark.parametrize("name", [*PLACES, "unlabeled", "delimiter", "missing"])
def test_a_parameter_is_said_in_words_of_the_page(name):
    said = page_sentence(
        TableError("It is odd; pass ", Parameter(name, "x"), " or ", Parameter(name), ".")
    )
    assert not re.search(r"--|=|parameter", said)
    assert "'x'" in said


def test_steps_are_plain_words_and_other_errors_their_text():
    assert (
        page_sentence(TableError("No row; ", Step("fill", "fill it in."))) == "No row; fill it in."
    )
    assert page_sentence(FileNotFoundError(2, "No such file")) == "[Errno 2] No such file"
    assert "does not fit into memory" in page_sentence(MemoryError())
    assert page_sentence(KeyError("a")).startswith("A mistake in chary itself (KeyError")
