"""The walk through all pages: answers are on the disk, files are those of the commands."""

import json
import os
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from chary.audit.filling import Filling
from chary.cli import main
from chary.options import ReviewOptions
from chary.review import begin
from chary.review.app import READS
from chary.review.audit_page import draw_more
from chary.tables import TableError

ANIMALS = ReviewOptions(target="animal", learner="linear")  # the quickest learner


def answers_in(path, column="animal"):
    return pl.read_csv(path, infer_schema=False)[column].fill_null("").to_list()


def test_the_walk_from_a_file_to_accepted_labels_writes_what_the_commands_write(
    animals, enter, capsys
):
    path, truth = animals
    bench = begin([str(path)], ANIMALS)
    browser = enter(bench)
    assert browser.get("/api/state")["next"] == {"page": "/", "words": "Draw random rows to label"}
    bench.learn()
    page = browser.label(truth, k=30)
    assert (page["row"], page["left"]) == (None, 0)
    assert answers_in(path.with_name("animals.audit.csv")) == [
        truth[row.number] for row in Filling(bench.paths.audit).rows
    ]
    browser.wait()
    found = browser.get("/api/truth")
    assert found["ready"]
    error = next(one["error"] for one in found["acceptance"] if one["n_accepted"])
    assert browser.post("/api/accept", error=error)["chosen"] == error
    row = browser.get("/api/review")
    assert row["row"]["number"] - 1 not in {one.number for one in Filling(bench.paths.audit).rows}
    other = {"cat": "dog", "dog": "cat"}[row["proposed"]]
    after = browser.post("/api/review", row=row["row"]["number"], answer=other, expected="")
    assert after["checked"] == 1
    assert after["row"]["number"] != row["row"]["number"]
    assert browser.get("/api/state")["stale"]
    browser.post("/api/learn")
    browser.wait()
    state = browser.get("/api/state")
    assert (state["stale"], state["learned"]) == (False, True)
    result = browser.get("/api/result")
    assert [file["written"] and file["ours"] and not file["stale"] for file in result["files"]] == [
        True
    ] * 3
    assert {"chary_label", "chary_accept"} <= set(result["columns"])
    downloads = {
        kind: browser.client.get(f"/download/{kind}").content
        for kind in ("labels", "model", "report")
    }
    assert (
        "style-src 'unsafe-inline'"
        in browser.client.get("/report").headers["content-security-policy"]
    )

    command = result["command"]
    assert "--checked" in command
    out = path.parent / "again"
    assert (
        main([*command.replace(str(path.parent), f"{path.parent}").split()[1:], "--out", str(out)])
        == 0
    )
    capsys.readouterr()
    assert (out / "animals.labeled.csv").read_bytes() == downloads["labels"]
    assert (out / "animals.model.chary").read_bytes() == downloads["model"]
    report, other = (out / "animals.report.html").read_text(), downloads["report"].decode()
    assert report == other


def test_a_restart_goes_on_with_the_answers(animals, enter):
    path, _ = animals
    browser = enter(begin([str(path)], ANIMALS))
    page = browser.post("/api/audit/draw", k=8, rule="live")
    for _ in range(3):
        page = browser.post("/api/audit", place=page["row"]["place"], answer="cat", expected="")
    browser.bench.close()
    page = enter(begin([str(path)], ANIMALS)).get("/api/audit")
    assert (page["answered"], page["left"], page["rule"], page["row"]["place"]) == (3, 5, "live", 4)


def test_a_slip_is_counted_as_the_class_that_is_chosen(animals, enter):
    path, _ = animals
    path.write_text(path.read_text().replace(",dog", ",dogg", 5))
    browser = enter(begin([str(path)], ANIMALS))
    page = browser.get("/api/start")
    (slip,) = page["slips"]
    assert (slip["label"], slip["chosen"]) == ("dogg", None)
    assert slip["words"] == "'dogg' (5 rows) may be a slip for 'dog'."
    assert len(page["values"]) == 3  # nothing is merged unasked

    page = browser.post("/api/same", label="dogg", meant="dog")
    assert [value["name"] for value in page["values"]] == ["dog", "cat"]
    assert page["slips"][0]["chosen"] == "dog"
    browser.wait()
    assert "--same dogg=dog" in browser.get("/api/result")["command"]
    assert len(browser.post("/api/same", label="dogg", meant=None)["values"]) == 3
    for label, meant in (("dogg", "bird"), ("bird", "dog"), ("dogg", 3), (None, "dog")):
        assert browser.post("/api/same", 400, label=label, meant=meant)["error"].endswith(".")
    assert len(browser.get("/api/start")["values"]) == 3
    browser.wait()


def test_codes_dates_and_the_row_of_the_names_are_chosen_where_they_are_mentioned(tmp_path, enter):
    lines = ["Survey of 2024;;;", ";;;", "age;seen;mood;x"]
    for i in range(200):
        age = 99 if i % 8 == 0 else 18 + i % 70
        lines.append(
            f"{age};{1 + i % 12:02d}/{1 + i % 9:02d}/2024;{['good', 'bad', ''][i % 3]};{i}"
        )
    path = tmp_path / "survey.csv"
    path.write_text("\n".join(lines))
    bench = begin([str(path)], ReviewOptions(target="mood", learner="linear"))
    browser = enter(bench)
    bench.learn()
    browser.wait()

    def readings(page):
        columns = {column["name"]: column["readings"] for column in page["columns"]}
        return [(one["value"], one["chosen"]) for name in ("age", "seen") for one in columns[name]]

    page = browser.get("/api/start")
    assert page["header_row"] == 3
    assert readings(page) == [("99", False), ("month-first", False)]
    browser.post("/api/reading", column="age", option="missing", value="99", chosen=True)
    browser.post("/api/reading", column="seen", option="dates", value="month-first", chosen=True)
    browser.wait()
    assert readings(browser.get("/api/start")) == [("99", True), ("month-first", True)]
    command = browser.get("/api/result")["command"]
    assert "--missing age=99 --dates seen=month-first" in command
    browser.post("/api/reading", column="age", option="missing", value="99", chosen=False)
    assert bench.options.missing == ()
    for column, option in (("agee", "missing"), ("age", "drop"), ("age", ["dates"])):
        body = {"column": column, "option": option, "value": "99", "chosen": True}
        assert browser.post("/api/reading", 400, **body)["error"].endswith(".")

    # The target stands in row 3 alone: another row is refused, and the page stays as it was.
    assert "has no column 'mood'" in browser.post("/api/header", 400, row=4)["error"]
    assert browser.get("/api/start")["header_row"] == 3
    assert browser.post("/api/header", row=3)["header_row"] == 3
    assert bench.options.header_row == 3
    browser.wait()


def test_columns_are_taken_for_what_is_said(bench, browser):
    browser.post("/api/kind", column="size", kind="category")
    assert bench.options.categorical == ("size",)
    page = browser.post("/api/kind", column="size", kind="leave out")
    assert (bench.options.categorical, bench.options.drop) == ((), ("size",))
    assert {one["name"]: one["chosen"] for one in page["columns"]}["size"] == "leave out"
    browser.post("/api/kind", column="size", kind=None)
    assert bench.options == ANIMALS
    for column, kind in (
        ("animal", "text"),
        ("sise", "text"),
        ("size", "float"),
        (["size"], "text"),
        ("size", {}),
    ):
        assert browser.post("/api/kind", 400, column=column, kind=kind)["error"].endswith(".")
    assert bench.options == ANIMALS


def test_only_a_share_can_be_chosen_as_error(browser, animals):
    browser.label(animals[1], k=12)
    browser.wait()
    for error in (0, 1, True, "10%", 10**400, float("nan")):
        assert browser.post("/api/accept", 400, error=error)["error"].startswith(
            "The share of wrong labels"
        )
    assert browser.bench.options.error is None


def test_skip_undo_another_class_and_conflicts(animals, enter):
    path, _ = animals
    browser, other = (enter(begin([str(path)], ANIMALS)), enter(begin([str(path)], ANIMALS)))
    browser.post("/api/audit/draw", k=6)
    sheet = path.with_name("animals.audit.csv")
    assert browser.post("/api/audit", place=1, answer="?", expected="")["skipped"] == 1
    assert (
        browser.post("/api/audit", place=2, answer=" fox ", expected="")["keys"][2]["name"] == "fox"
    )
    undone = browser.post("/api/audit", place=1, answer="", expected="?")
    assert undone["row"]["place"] == 1
    assert answers_in(sheet) == ["", "fox", "", "", "", ""]
    assert other.post("/api/audit", place=3, answer="dog", expected="")["answered"] == 2
    refused = browser.post("/api/audit", 409, place=3, answer="cat", expected="")
    assert "has the answer 'dog' by now" in refused["error"]
    for nothing in ("NA", "unknown", " ", "x" * 300, 3, None):
        browser.post("/api/audit", 400, place=4, answer=nothing, expected="")
    browser.post("/api/audit", 409, place=4, row=9999, answer="cat", expected="")
    assert answers_in(sheet) == ["", "fox", "dog", "", "", ""]


def test_a_terminal_and_the_page_fill_in_one_sheet(browser, capsys, monkeypatch):
    import typer

    browser.post("/api/audit/draw", k=6)
    sheet = browser.bench.paths.audit
    pressed = ["1", "2", "q"]

    def press():
        if len(pressed) == 2:  # the page answers what the terminal is showing, and another row
            browser.post("/api/audit", place=2, answer="dog", expected="")
            browser.post("/api/audit", place=6, answer="dog", expected="")
        return pressed.pop(0)

    monkeypatch.setattr(typer, "getchar", press)
    assert main(["audit", "fill", str(sheet)]) == 0
    out = capsys.readouterr().out
    assert answers_in(sheet) == ["cat", "dog", "", "", "", "dog"]
    assert "3 labelled, 0 skipped, 3 left" in out
    assert browser.get("/api/state")["audit"]["answered"] == 3


def test_nothing_is_said_of_accuracy_before_the_planned_size(browser, animals):
    truth = animals[1]
    browser.bench.learn()
    browser.wait()
    page = browser.post("/api/audit/draw", k=6, rule="planned")
    while page["row"]:
        assert page["interval"] is None
        assert not browser.get("/api/truth")["ready"]
        row = page["row"]
        assert not {"chary_label", "chary_confidence", "animal"} & {
            field["name"] for field in row["fields"]
        }
        assert not set(row) & {"proposed", "confidence", "label"}
        page = browser.post(
            "/api/audit", place=row["place"], answer=truth[row["row"] - 1], expected=""
        )
    assert (
        "being audited" in browser.post("/api/review", 400, row=row["row"], answer="dog")["error"]
    )
    # Nor is an opinion shown of it.
    assert browser.get(f"/api/review?row={row['row']}")["row"] is None
    browser.wait()


def test_live_the_interval_holds_whenever_one_stops_and_the_command_says_the_same(
    animals, enter, capsys
):
    path, truth = animals
    browser = enter(begin([str(path)], ANIMALS))
    page = browser.post("/api/audit/draw", k=12, rule="live")
    assert page["interval"].startswith("The interval is shown once")
    browser.wait()
    intervals = []
    for _ in range(7):
        row = page["row"]
        page = browser.post(
            "/api/audit", place=row["place"], answer=truth[row["row"] - 1], expected=""
        )
        intervals.append(page["interval"].startswith("After 5 rows"))
    assert intervals == [False] * 4 + [True] * 3
    assert browser.post("/api/audit/draw", k=12, rule="planned")["rule"] == "live"
    browser.post("/api/learn")
    browser.wait()
    truth = browser.get("/api/truth")
    assert "whenever you stop" in truth["sentences"][0]
    assert (
        "Only the accuracy is shown until all 12 drawn rows are answered (5 are left)"
        in truth["sentences"][1]
    )
    assert (truth["acceptance"], truth["classes"], truth["matrix"]) == ([], {}, None)
    assert "Only the accuracy is shown" in browser.post("/api/accept", 400, error=0.3)["error"]
    (found,) = truth["bars"]
    out = path.parent / "again"
    assert (
        main(
            [
                "label",
                str(path),
                "-t",
                "animal",
                "--learner",
                "linear",
                "--audit",
                str(browser.bench.paths.audit),
                "--out",
                str(out),
                "--json",
            ]
        )
        == 0
    )
    before = json.loads(capsys.readouterr().out)["audit"]["before"]
    assert (before["low"], before["high"], before["n"]) == (found["low"], found["high"], 7)


def test_a_table_changed_meanwhile_is_noticed_and_nothing_is_written(browser, animals):
    path, _ = animals
    browser.post("/api/audit/draw", k=4)
    path.write_text(path.read_text().replace("n0", "n00"))
    assert "animals.csv was changed since it was read" in browser.get("/api/state")["notices"][-1]
    for write, body in {
        "audit": {"place": 1, "answer": "dog"},
        "learn": {},
        "kind": {"column": "size", "kind": "text"},
    }.items():
        assert (
            "until this page is started again"
            in browser.post(f"/api/{write}", 409, **body)["error"]
        )
    assert answers_in(browser.bench.paths.audit) == [""] * 4


def test_a_table_changed_behind_its_time_is_noticed(browser, animals):
    """As by a clock that was set back, or a copy that keeps times."""
    path, _ = animals
    before = path.stat()
    path.write_text(path.read_text().replace("n0", "m0"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert "animals.csv was changed since it was read" in browser.get("/api/state")["notices"][-1]


def test_files_of_others_are_not_overwritten_unasked(animals, enter):
    path, _ = animals
    theirs = path.with_name("animals.labeled.csv")
    theirs.write_text("theirs")
    browser = enter(begin([str(path)], ANIMALS))
    browser.bench.learn()
    browser.wait()
    assert theirs.read_text() == "theirs"
    files = {file["kind"]: file for file in browser.get("/api/result")["files"]}
    assert [files[kind]["ours"] for kind in ("labels", "model", "report")] == [False, True, True]
    assert (
        "Not written by this page: animals.labeled.csv" in browser.post("/api/write", 409)["error"]
    )
    assert theirs.read_text() == "theirs"
    browser.post("/api/write", overwrite=True)
    assert theirs.read_text().startswith("size,")


def test_a_finished_result_is_no_table_to_label_and_standard_input_none_either(bench, browser):
    bench.learn()
    browser.wait()
    with pytest.raises(TableError, match="already has a column 'chary_label', made by chary"):
        begin([str(bench.paths.labels)], ANIMALS)
    assert (
        begin([str(bench.paths.labels)], ReviewOptions(labels=("chary_label",))).job.kind == "judge"
    )
    with pytest.raises(TableError, match="save standard input in a file"):
        begin(["-"], ANIMALS)


def test_rows_mended_can_be_changed_and_taken_back(browser):
    browser.bench.learn()
    browser.wait()
    first = browser.get("/api/review")["row"]["number"]
    second = browser.post("/api/review", row=first, answer="dog", expected="")["row"]["number"]
    assert second != first
    assert browser.get(f"/api/review?row={first}")["row"]["answer"] == "dog"
    browser.post("/api/review", 409, row=first, answer="cat", expected="")
    browser.post("/api/review", row=first, answer="cat", expected="dog")
    browser.post("/api/review", row=second, answer="cat", expected="")
    assert answers_in(browser.bench.paths.check) == ["cat", "cat"]
    taken = browser.post("/api/review", row=second, answer="", expected="cat")
    assert (taken["row"]["number"], taken["checked"]) == (second, 1)
    assert "nothing is written" in browser.post("/api/review", 400, row=second, answer="?")["error"]


def test_judging_labels_from_the_first_row_to_what_can_be_accepted(rules, enter, capsys):
    path, truth = rules
    options = ReviewOptions(labels=("rule",), confidence="sure")
    browser = enter(begin([str(path)], options))
    state = browser.get("/api/state")
    assert state["kind"] == "judge"
    assert [column["name"] for column in browser.get("/api/start")["columns"]] == ["text"]
    browser.label(truth, k=60)
    browser.wait()
    assert browser.get("/api/truth")["audited"] == 60
    browser.post("/api/accept", error=0.1)
    browser.wait()
    result = browser.get("/api/result")
    marks = pl.read_csv(path.with_name("mails.judged.csv"))["chary_accept"]
    assert 0 < marks.sum() < 200
    for path_ in ("/review", "/api/review"):
        assert browser.client.get(path_).status_code == 404
    browser.post("/api/kind", 404, column="text", kind="text")
    files = {file["name"]: file for file in result["files"]}
    assert set(files) == {"mails.judged.csv", "mails.judged.html"}
    out = path.parent / "again"
    assert main([*result["command"].split()[1:], "--out", str(out)]) == 0
    capsys.readouterr()
    assert (out / "mails.judged.csv").read_bytes() == path.with_name(
        "mails.judged.csv"
    ).read_bytes()


def test_labels_that_have_changed_since_the_draw_are_said_above_the_figures(rules, enter):
    path, truth = rules
    options = ReviewOptions(labels=("rule",))
    browser = enter(begin([str(path)], options))
    browser.label(truth, k=20)
    assert browser.wait().get("/api/truth")["changed_labels"] == []
    browser.bench.close()
    pl.read_csv(path).with_columns(rule=pl.Series(truth)).write_csv(path)
    browser = enter(begin([str(path)], options))
    browser.bench.learn()
    assert browser.wait().get("/api/truth")["changed_labels"][0]["column"] == "rule"
    page = browser.client.get("/truth").text
    assert -1 < page.find("have changed since the rows were drawn") < page.find('id="headline"')


def test_the_label_under_test_is_never_shown(rules, enter):
    path, _ = rules
    browser = enter(begin([str(path)], ReviewOptions(labels=("rule",), confidence="sure")))
    page = browser.post("/api/audit/draw", k=5)
    assert [field["name"] for field in page["row"]["fields"]] == ["text"]


def test_what_cannot_be_is_refused(animals):
    path = str(animals[0])
    with pytest.raises(TableError, match="has no column 'anmal'; did you mean 'animal'"):
        begin([path], ReviewOptions(target="anmal"))
    with pytest.raises(TableError, match="has no column 'color'"):
        begin([path], ReviewOptions(target="animal", categorical=("color",)))


def test_the_job_tells_the_labels(rules):
    bench = begin([str(rules[0])], ReviewOptions(labels=("rule",), confidence="sure"))
    job = bench.job
    assert (job.classes, job.hidden, job.population) == (["ham", "spam"], ["rule", "sure"], 200)
    assert sum(one.rows for one in job.values) == 200
    draw_more(bench, {"k": 5})
    filling = Filling(bench.paths.audit)
    labels = job.table.frame["rule"].to_list()
    assert job.stopping(filling, None).labels == [labels[row.number] for row in filling.rows]
    assert job.shown(None).columns == ["rule", "sure", "text"]


def test_the_interval_while_answering_is_of_the_model_of_the_given_labels(bench):
    draw_more(bench, {"k": 5})
    filling = Filling(bench.paths.audit)
    codes = np.zeros(240, dtype=np.intp)
    codes[filling.rows[2].number] = 1
    before = SimpleNamespace(codes=codes, labels=SimpleNamespace(classes=np.array(["cat", "dog"])))
    watch = bench.job.stopping(filling, before)
    assert watch.labels == ["cat", "cat", "dog", "cat", "cat"]
    assert (
        watch.population == bench.job.population == 240 - sum(one.rows for one in bench.job.values)
    )
    assert bench.job.stopping(filling, None) is None


@pytest.mark.parametrize("moment", ["during", "name"])
def test_what_a_full_disk_refuses_is_neither_answered_nor_chosen(browser, full_disk, moment):
    bench = browser.bench
    bench.learn()
    browser.wait()
    doubted = browser.get("/api/review")["row"]["number"]

    def refused_then_done(path, **body):
        """The same again is refused again, not taken for done; and done once there is room."""
        before, shown = files_in(bench), {page: browser.get(page) for page in READS}
        with full_disk(moment):
            for _ in range(2):
                assert "Cannot write" in browser.post(path, 503, **body)["error"]
        now = {page: browser.get(page) for page in READS}
        assert files_in(bench) == before
        for told in (shown, now):
            told["/api/state"]["version"] = 0
        assert now == shown
        browser.post(path, **body)
        browser.wait()
        return files_in(bench), before

    for k in (4, 6):
        refused_then_done("/api/audit/draw", k=k)
    assert answers_in(bench.paths.audit) == [""] * 6
    refused_then_done("/api/audit", place=2, answer="dog", expected="")
    refused_then_done("/api/audit", place=2, answer="", expected="dog")
    refused_then_done("/api/audit", place=3, answer="cat", expected="")
    assert answers_in(bench.paths.audit) == ["", "", "cat", "", "", ""]
    refused_then_done("/api/review", row=doubted, answer="dog", expected="")
    assert answers_in(bench.paths.check) == ["dog"]
    bench.paths.report.unlink()
    now, before = refused_then_done("/api/write")
    assert set(now) - set(before) == {bench.paths.report.name}


def files_in(bench):
    """All files beside the table, to the byte."""
    return {path.name: path.read_bytes() for path in bench.paths.audit.parent.iterdir()}


# ---------------------------------------------------------------- the column is chosen on the page


@pytest.fixture
def tickets(tmp_path):
    """Make tickets, some done, some open ("offen", a missing answer), some without a state."""
    states = ["fixed", "Fixed", "wontfix", "offen", ""]
    rows = [f"{i},{states[i % 5]},{'AB'[i % 2]},{i % 17}" for i in range(100)]
    path = tmp_path / "tickets.csv"
    path.write_text("\n".join(["number,state,team,age", *rows]) + "\n")
    return path


def test_without_a_target_the_page_offers_columns_and_their_values(tickets, enter):
    browser = enter(begin([str(tickets)], ReviewOptions(learner="linear")))
    assert browser.get("/api/state")["next"]["words"] == "Choose the labels"
    page = browser.get("/api/start")
    assert [one["name"] for one in page["columns"][:2]] == ["state", "team"]
    assert page["columns"][0]["about"].startswith("4 values, 20% empty: fixed, ")
    assert page["columns"][-1]["name"] == "number"
    assert "Which column holds the labels?" in browser.client.get("/").text
    assert browser.client.get("/audit").status_code == 404
    for path in READS.keys() - {"/api/start", "/api/state"}:
        assert browser.client.get(path).status_code == 404
    values = browser.get("/api/start?target=state")["values"]
    ticks = {one["name"]: (one["rows"], one["is_label"], one["is_doubtful"]) for one in values}
    assert ticks == {
        "Fixed": (40, True, False),
        "wontfix": (20, True, False),
        "offen": (20, False, True),
    }
    assert "has no column" in browser.client.get("/api/start?target=x").json()["error"]

    page = browser.post(
        "/api/labels", task="label", target="state", unlabeled=["offen"], classes=[]
    )
    assert (page["labelled"], browser.bench.job.classes) == (60, ["Fixed", "wontfix"])
    browser.wait()
    assert browser.bench.result.labels.labeled.sum() == 60
    assert "--unlabeled offen" in browser.get("/api/result")["command"]

    browser.post("/api/labels", 404, task="label", target="team", unlabeled=[], classes=[])  # once


def test_values_that_may_be_no_labels_are_asked_about_on_the_page(tickets, enter):
    tickets.write_text(
        tickets.read_text().replace(",wontfix,A", ",99,A").replace(",wontfix,B", ",duplicate,B")
    )
    for options in (ReviewOptions(target="state"), ReviewOptions(labels=("state",))):
        browser = enter(begin([str(tickets)], options))
        page = browser.get("/api/start")
        assert (page["target"], page["task"]) == ("state", "judge" if options.labels else "label")
        assert [one["name"] for one in page["values"] if not one["is_label"]] == ["offen", "99"]
    page = browser.post(
        "/api/labels", task="judge", target="state", unlabeled=["offen", "99"], classes=[]
    )
    assert (browser.get("/api/state")["kind"], page["labelled"]) == ("judge", 50)


def test_a_confidence_goes_with_labels_to_judge_alone(tickets, enter):
    browser = enter(begin([str(tickets)], ReviewOptions(labels=("state",), confidence="age")))
    browser.post("/api/labels", task="label", target="state", unlabeled=["offen"], classes=[])
    assert "--confidence" not in browser.bench.options.command([])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"task": "label", "target": "nobody"}, "has no column 'nobody'"),
        ({"task": "label", "target": 3}, "is not valid"),
        ({"task": "sell", "target": "state"}, "is not valid"),
        ({"task": "label", "target": "state", "unlabeled": "offen"}, "is not valid"),
        ({"task": "label", "target": "state", "unlabeled": ["offen", "Fixed"]}, "one class only"),
        ({"task": "label", "target": "state"}, "'offen' in 20 rows"),
    ],
)
def test_a_choice_that_cannot_be_is_one_sentence_and_changes_nothing(tickets, enter, body, said):
    browser = enter(begin([str(tickets)], ReviewOptions()))
    assert said in browser.post("/api/labels", 400, **body)["error"]
    assert browser.get("/api/state")["kind"] == "choose"


def test_a_column_that_was_left_out_can_be_chosen_as_target(tickets, enter):
    options = ReviewOptions(drop=("state", "age"), learner="linear")
    browser = enter(begin([str(tickets)], options))
    browser.post("/api/labels", task="label", target="state", unlabeled=["offen"], classes=[])
    browser.wait()
    assert browser.bench.options.drop == ("age",)
    assert browser.get("/api/state")["learned"]


def test_class_shares_of_other_classes_are_refused_before_anything_is_learned(tickets, enter):
    shares = {"fixed": 0.5, "broken": 0.5}
    options = ReviewOptions(target="state", class_prior=shares, unlabeled=("offen",))
    with pytest.raises(ValueError, match="give the share of every class"):
        begin([str(tickets)], options)
    browser = enter(begin([str(tickets)], ReviewOptions(class_prior=shares)))
    choice = {"task": "label", "target": "state", "unlabeled": ["offen"]}
    assert "the share of every class" in browser.post("/api/labels", 400, **choice)["error"]
    assert browser.get("/api/state")["kind"] == "choose"


def test_a_report_of_the_page_and_its_sheet_know_what_was_chosen_on_it(bench, browser):
    browser.post("/api/kind", column="name", kind="leave out")
    browser.post("/api/audit/draw", k=4)
    assert bench.sheets.audit.origin.options == {"drop": ["name"], "learner": "linear"}
    browser.wait()
    assert "--drop name" in bench.paths.report.read_text()
