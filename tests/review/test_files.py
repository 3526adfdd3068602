"""The files beside a table: whose they are, the sheets in them, and what was chosen last."""

import errno
import json
import os
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary._files import OutputError
from chary._words import Parameter, Step
from chary.options import Options
from chary.review import begin
from chary.review.audit import audit_page, draw_more
from chary.review.files import Outputs, kinds_of, paths_of, read_settings, with_settings, write_settings
from chary.review.start import overview
from chary.review.state import _PLACES, page_sentence
from chary.tables import Table, TableError


def test_only_what_this_page_wrote_is_overwritten_unasked(tmp_path):
    path = tmp_path / "t.labeled.csv"
    writers = {"labels": lambda stream: stream.write(b"mine")}
    mine = Outputs({"labels": path}, {})
    path.write_text("a stranger's")
    assert mine.write(writers, 1) == ["t.labeled.csv"]
    path.unlink()
    assert mine.write(writers, 1) == []
    again = Outputs({"labels": path}, dict(mine.digests))
    assert again.write(writers, 2) == []
    path.write_text("mine, mended in a spreadsheet")
    for outputs in (mine, again):
        assert outputs.write(writers, 3) == ["t.labeled.csv"]
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
        "t.review.json",
    ]
    assert paths_of(table, judged=True)[:3] == (
        tmp_path / "t.judge.csv",
        tmp_path / "t.check.csv",
        tmp_path / "t.judged.csv",
    )


def test_files_of_others_stay_until_that_is_said(tmp_path):
    labels, report = tmp_path / "t.labeled.csv", tmp_path / "t.report.html"
    report.write_text("theirs")
    outputs = Outputs({"labels": labels, "report": report}, {})
    writers = {kind: lambda stream: stream.write(b"ours") for kind in ("labels", "report")}
    assert outputs.write(writers, "first") == ["t.report.html"]
    assert (labels.read_text(), report.read_text()) == ("ours", "theirs")
    told = {file["kind"]: file for file in outputs.files(["labels", "report"], "first")}
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
    assert [file["stale"] for file in outputs.files(["labels", "report"], "second")] == [False, False]
    assert [file["stale"] for file in outputs.files(["labels", "report"], "third")] == [True, True]


def test_where_the_report_cannot_be_written_the_table_is_not_new(tmp_path):
    paths = {kind: tmp_path / kind for kind in ("labels", "report")}
    outputs = Outputs(paths, {})
    outputs.write({kind: lambda stream: stream.write(b"first") for kind in paths}, "first")

    def fails(stream):
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        outputs.write({"report": fails, "labels": lambda stream: stream.write(b"second")}, "second")
    assert [path.read_text() for path in paths.values()] == ["first", "first"]
    assert [file["stale"] for file in outputs.files(list(paths), "second")] == [True, True]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels", "report"]


def test_files_that_had_their_names_when_the_disk_failed_are_still_ours(tmp_path, monkeypatch):
    paths = {kind: tmp_path / kind for kind in ("labels", "report")}
    outputs, second = Outputs(paths, {}), {kind: lambda stream: stream.write(b"second") for kind in paths}
    outputs.write({kind: lambda stream: stream.write(b"first") for kind in paths}, "first")

    def fails_at_the_last(source, target, replace=os.replace):
        if Path(target).name == "labels":
            raise OSError(errno.EIO, "Input/output error")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fails_at_the_last)
        with pytest.raises(OutputError, match="input/output error"):
            outputs.write(second, "second")
    assert [path.read_text() for path in paths.values()] == ["first", "second"]
    told = outputs.files(list(paths), "second")
    assert [(file["ours"], file["stale"]) for file in told] == [(True, True), (True, False)]
    assert outputs.write(second, "second") == []
    assert [path.read_text() for path in paths.values()] == ["second", "second"]


def test_links_are_left_alone(animals, enter):
    """Also those that lead nowhere, and to a file that this page wrote; a sheet is the file behind its link."""
    path, _ = animals
    options = Options(target="animal", learner="linear")
    paths = begin([str(path)], options).paths
    elsewhere = path.parent / "elsewhere"
    elsewhere.mkdir()
    for one in (paths.labels, paths.settings, paths.check):
        one.symlink_to(elsewhere / one.name)
    browser = enter(begin([str(path)], options))
    browser.bench.learn()
    browser.wait()
    assert "animals.review.json is a link that leads nowhere" in browser.get("/api/state")["notices"][0]
    assert "animals.labeled.csv was not written by this page" in browser.post("/api/write", 409)["error"]
    row = browser.get("/api/doubt")["row"]["number"]
    assert "leads nowhere" in browser.post("/api/doubt", 503, row=row, answer="dog", expected="")["error"]
    assert all(one.is_symlink() and not one.exists() for one in (paths.labels, paths.settings, paths.check))
    paths.check.unlink()
    browser.post("/api/doubt", row=row, answer="dog", expected="")
    for one in (paths.check, paths.model):
        one.rename(elsewhere / one.name)
        one.symlink_to(elsewhere / one.name)
    after = browser.get("/api/doubt")["row"]["number"]
    browser.post("/api/doubt", row=after, answer="cat", expected="")
    assert pl.read_csv(elsewhere / paths.check.name)["animal"].to_list() == ["dog", "cat"]
    browser.post("/api/write", 409)
    assert paths.check.is_symlink()
    assert paths.model.is_symlink()


def test_a_sheet_of_another_table_is_said_and_not_used(bench, animals, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    pl.read_csv(animals[0]).head(200).write_csv(other / "animals.csv")
    draw_more(begin([str(other / "animals.csv")], Options(target="animal")), {"k": 4})
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
        filling, place = bench.sheets.to_check(row, "dog")
        assert filling.rows[place - 1].number == row
    assert bench.sheets.to_check(unlabelled[1], "cat")[1] == 2
    sheet = pl.read_csv(bench.paths.check, infer_schema=False)
    assert sheet.columns == ["chary_row", "animal", "chary_guess", "size", "speed", "name", "chary_classes"]
    assert sheet["chary_guess"].to_list() == ["dog"] * 3
    assert all(token.startswith(f"check {k}/{k}: row") for k, token in enumerate(sheet["chary_row"], 1))
    filling.answer(2, "cat")
    assert bench.sheets.checked_rows() == {unlabelled[1]: "cat"}


COLUMNS, CLASSES = ["age", "zip"], ["no", "yes"]
OPTIONS = Options(target="y")


def test_what_is_chosen_is_kept(tmp_path):
    path = tmp_path / "t.review.json"
    chosen = {
        "kinds": {"zip": "category"},
        "class_prior": {"no": 0.8, "yes": 0.2},
        "aim": "balanced",
        "error": 0.1,
    }
    made = with_settings(OPTIONS, chosen, COLUMNS, CLASSES)
    write_settings(path, made, {"t.labeled.csv": "abc"})
    assert read_settings(path, OPTIONS, COLUMNS, CLASSES) == (made, {"t.labeled.csv": "abc"}, "", True)
    assert made.categorical == ("zip",)
    assert kinds_of(with_settings(made, {"kinds": {"zip": None}}, COLUMNS, CLASSES)) == {}


@pytest.mark.parametrize(
    "body",
    [
        {"kinds": {"zap": "category"}},
        {"kinds": {"zip": "float"}},
        {"kinds": ["zip"]},
        {"class_prior": {"yes": 0.2}},
        {"class_prior": {"yes": 0.2, "no": 0.2}},
        {"class_prior": {"yes": 1e308, "no": 1e308}},
        {"class_prior": {"yes": 10**400, "no": 0.8}},
        {"error": 10**400},
        {"class_prior": {"yes": "0.2", "no": 0.8}},
        {"class_prior": {"yes": float("nan"), "no": 0.8}},
        {"aim": "speed"},
        {"error": 0},
        {"error": True},
        {"error": "10%"},
        {"seed": 1},
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(body):
    with pytest.raises(TableError, match=r"^[A-Z].*\.$"):
        with_settings(OPTIONS, body, COLUMNS, CLASSES)


ABOUT = {"target": "y", "labels": [], "confidence": None}


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("", False),
        ("[]", False),
        ('{"chary_review": 2}', False),
        ("\udcff", False),
        ("[" * 100_000, False),
        (json.dumps({"chary_review": 1, "about": ABOUT, "settings": [], "written": {}}), False),
        (json.dumps({"chary_review": 1, "about": ABOUT, "settings": {"aim": "x"}, "written": {}}), True),
        (json.dumps({"chary_review": 1, "about": {}, "settings": {}, "written": {}}), True),
    ],
)
def test_a_damaged_or_foreign_file_is_one_sentence_and_the_usual_settings(tmp_path, text, own):
    path = tmp_path / "t.review.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    kept = read_settings(path, OPTIONS, COLUMNS, CLASSES)
    assert (kept.options, kept.own) == (OPTIONS, own)
    assert kept.notice.startswith("t.review.json ")
    assert kept.notice.count(". ") == 0
    assert kept.notice.endswith(".")


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["kinds", "class_prior", "aim", "error", "x"]), VALUES))
def test_whatever_a_request_says_is_taken_or_refused(body):
    try:
        found = with_settings(OPTIONS, body, COLUMNS, CLASSES)
    except TableError:
        return
    json.dumps([kinds_of(found), found.class_prior, found.error], allow_nan=False)


@pytest.mark.parametrize("name", [*_PLACES, "unlabeled", "delimiter", "missing"])
def test_a_parameter_is_said_in_words_of_the_page(name):
    said = page_sentence(TableError("It is odd; pass ", Parameter(name, "x"), " or ", Parameter(name), "."))
    assert not re.search(r"--|=|parameter", said)
    assert "'x'" in said


def test_steps_are_plain_words_and_other_errors_their_text():
    assert page_sentence(TableError("No row; ", Step("fill", "fill it in."))) == "No row; fill it in."
    assert page_sentence(FileNotFoundError(2, "No such file")) == "[Errno 2] No such file"
    assert "does not fit into memory" in page_sentence(MemoryError())
    assert page_sentence(KeyError("a")).startswith("A mistake in chary itself (KeyError")
