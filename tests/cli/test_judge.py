"""``chary judge``: rows drawn, labelled, and what they say."""

import json
import shlex

import numpy as np
import polars as pl
import pytest


@pytest.fixture(name="tickets")
def table_of_tickets(tmp_path):
    """Tickets labelled by a rule that is right on nine of ten, and the truth."""
    rng = np.random.default_rng(0)
    truth = rng.choice(["bug", "wish"], 500).astype(object)
    wrong = rng.random(500) < 0.1
    rule = np.where(wrong, np.where(truth == "bug", "wish", "bug"), truth)
    frame = pl.DataFrame({
        "text": [f"t{i}" for i in range(500)],
        "region": rng.choice(["north", "south"], 500).tolist(),
        "rule": rule.tolist(),
        "sure": np.where(wrong, 0.1, 0.9) + 0.05 * rng.random(500),
    })  # fmt: skip
    path = tmp_path / "my tickets.csv"
    frame.write_csv(path)
    return path, truth


def press(keys, sheet, truth):
    rows = [int(token.split("row ")[1].split()[0]) - 1 for token in pl.read_csv(sheet)["chary_row"]]
    answered = pl.read_csv(sheet)["chary_truth"].is_not_null().to_list()
    keys(
        ["12"[truth[row] == "wish"] for row, done in zip(rows, answered, strict=True) if not done]
        + ["x"]
    )


def next_command(out):
    return shlex.split(out.rpartition("Next:  ")[2])[1:]


def test_the_whole_way_by_the_commands_that_are_suggested(tickets, run, keys):
    path, truth = tickets
    sheet = path.with_name("my tickets.judge.csv")
    code, out, _ = run("judge", path, "--labels", "rule", "--confidence", "sure")
    assert code == 0
    assert "Drew 30 of 500 rows at random" in out
    assert (
        "On the sheet: 'text' and 'region'. Hide what gives the label away with --hide COLUMN."
        in out
    )
    assert pl.read_csv(sheet).columns == [
        "chary_row",
        "chary_truth",
        "text",
        "region",
        "chary_classes",
    ]
    press(keys, sheet, truth)
    code, out, _ = run(*next_command(out))
    assert "30 labelled, 0 skipped, 0 left" in out
    code, out, err = run(*next_command(out), "--by", "region")
    assert (code, err) == (0, "")
    assert "of 30 random rows have the right label" in " ".join(out.replace("│", " ").split())
    sees = "The sheet did not show the labels under test; it showed 'text' and 'region'."
    assert sees in out
    page = path.with_name("my tickets.judged.html").read_text().replace("&#39;", "'")
    assert sees in page
    assert "did not see the labels" not in page
    assert not path.with_name("my tickets.judged.csv").exists()
    enlarge = shlex.split(out.partition("takes about four times as many rows):")[2].split("\n")[0])[
        1:
    ]
    assert enlarge[-6:] == ["--confidence", "sure", "-k", "60", "--by", "region"]
    code, out, _ = run(*enlarge)
    assert "30 more rows were drawn at random" in out
    assert "keeps its 30 answers" in out
    press(keys, sheet, truth)
    run("audit", "fill", sheet)
    words = [
        "judge",
        path,
        "-l",
        "rule",
        "--confidence",
        "sure",
        "--audit",
        sheet,
        "--error",
        "10%",
    ]
    assert "pass --force" in run(*words)[2]
    code, out, _ = run(*words, "--force", "--json")
    figures = json.loads(out)
    assert code == 0
    assert figures["audited"] == 60
    assert figures["accept"]["n_accepted"] > 300
    judged = pl.read_csv(figures["files"]["judged"])
    assert judged.columns == ["text", "region", "rule", "sure", "chary_accept"]
    accepted = judged["chary_accept"].to_numpy()
    assert np.mean(judged["rule"].to_numpy()[accepted] == truth[accepted]) > 0.9


def test_a_forgotten_audit_does_not_wipe_the_answers(tickets, run):
    path, truth = tickets
    run("judge", path, "-l", "rule", "-k", 100)
    sheet = path.with_name("my tickets.judge.csv")
    answer_all(sheet, truth)
    before = sheet.read_bytes()
    for words in ([], ["--force"], ["-k", 100, "--force"], ["--seed", 3]):
        code, _, err = run("judge", path, "-l", "rule", *words)
        assert code == 1
        assert "holds 100 answers" in err
        assert "--force" not in words or "pass it as --audit" in err
        assert sheet.read_bytes() == before
    code, out, _ = run("judge", path, "-l", "rule", "--discard-answers", "--json")
    assert code == 0
    assert path.with_name("my tickets.discarded-1.judge.csv").read_bytes() == before
    assert json.loads(out)["copy"] == str(path.with_name("my tickets.discarded-1.judge.csv"))


def answer_all(sheet, truth, path=None):
    """Fill in every row of a sheet by the truth."""
    answers = pl.read_csv(sheet, infer_schema=False)
    rows = [int(token.split("row ")[1].split()[0]) - 1 for token in answers["chary_row"]]
    answers.with_columns(chary_truth=pl.Series(truth[rows].tolist())).write_csv(path or sheet)


def test_chary_judges_its_own_labels(tickets, run):
    path, _ = tickets
    frame = pl.read_csv(path).rename({"rule": "chary_label", "sure": "chary_confidence"})
    frame.with_columns(chary_source=pl.lit("given")).write_parquet(
        path.with_name("t.labeled.parquet")
    )
    code, _, err = run("judge", path.with_name("t.labeled.parquet"), "-l", "chary_label", "-k", 5)
    assert (code, err) == (0, "")
    sheet = pl.read_csv(path.with_name("t.labeled.judge.csv"))
    assert sheet.columns == ["chary_row", "chary_truth", "text", "region", "chary_classes"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-l", "rul"], "did you mean 'rule'?"),
        (["-l", "text"], "holds no classes; choose another"),
        (["-l", "rule", "-k", 501], "501 rows cannot be drawn from 500"),
        (["-l", "rule", "--confidence", "nope"], "no column 'nope'"),
        (["-l", "rule", "--audit", "nowhere.csv"], "cannot be read"),
        (
            ["-l", "rule", "--annotator", "b.csv"],
            "--annotator has a meaning once rows are labelled",
        ),
    ],
)
def test_bad_words_are_answered_in_one_sentence(tickets, run, words, said):
    code, _, err = run("judge", tickets[0], *words)
    assert code == 1
    assert said in " ".join(err.split())
    assert not tickets[0].with_name("my tickets.judge.csv").exists()


@pytest.mark.parametrize(
    ("required", "outcome", "expected"),
    [("80%", "shown", 0), ("92%", "open", 3), ("0.99", "ruled out", 4)],
)
def test_a_required_accuracy_decides_how_the_command_ends(
    tickets, run, required, outcome, expected
):
    path, truth = tickets
    run("judge", path, "--labels", "rule", "-k", "100")
    sheet = path.with_name("my tickets.judge.csv")
    answer_all(sheet, truth)
    judge = (
        "judge",
        path,
        "--labels",
        "rule",
        "--audit",
        sheet,
        "--require",
        f"accuracy>={required}",
        "--force",
    )
    code, out, err = run(*judge, "--json")
    assert (code, err) == (expected, "")
    figures = json.loads(out)
    found, column = figures["required"], figures["columns"][0]
    assert (found["outcome"], found["at_most"]) == (outcome, column["promised"]["high"])
    assert found["at_least"] == column["accuracy"]["at_least"] > column["accuracy"]["low"]
    code, out, _ = run(*judge)
    assert code == expected
    assert found["sentence"] in " ".join(out.split())
    assert "--require" not in out  # the draw that is suggested has no answers yet
    assert outcome in path.with_name("my tickets.judged.html").read_text().lower().replace(
        "not shown", "open"
    )


def test_labels_corrected_after_the_draw_do_not_pass(tickets, run):
    path, truth = tickets
    run("judge", path, "--labels", "rule", "-k", 100)
    sheet = path.with_name("my tickets.judge.csv")
    answer_all(sheet, truth)
    frame, before = pl.read_csv(path), path.read_bytes()
    judge = ("judge", path, "--audit", sheet, "--require", "accuracy>=80%", "--force", "--labels")
    assert run(*judge, "rule")[0] == 0
    report = path.with_name("my tickets.judged.html")
    assert "may not hold" not in report.read_text()

    rows = [int(token.split("row ")[1].split()[0]) - 1 for token in pl.read_csv(sheet)["chary_row"]]
    corrected = frame["rule"].to_numpy().astype(object)
    corrected[rows] = truth[rows]
    frame.with_columns(rule=pl.Series(corrected.tolist())).write_csv(path)
    sentence = "The labels in column 'rule' have changed since the rows were drawn"
    code, out, err = run(*judge, "rule", "--json")
    assert (code, err) == (5, "")
    figures = json.loads(out)
    assert figures["changed_labels"][0]["sentence"].startswith(sentence)
    assert list(figures).index("changed_labels") < list(figures).index("columns")
    assert figures["required"]["outcome"] == "changed"
    code, out, _ = run(*judge, "rule")
    assert code == 5
    in_one_line = " ".join(out.replace("│", " ").split())
    assert -1 < in_one_line.find(sentence) < in_one_line.find("of the 500 labels")
    page = report.read_text()
    assert -1 < page.find("have changed since the rows were drawn") < page.find("of the 500 labels")
    code, _, err = run("judge", "draw", path, "--labels", "rule", "-k", 150)
    assert code == 1
    assert (
        "holds 100 answers and exists already, drawn for other labels, or these have changed since"
        in err
    )

    frame.with_columns(better=pl.Series(corrected.tolist())).write_csv(path)
    code, out, _ = run(*judge, "better", "--json")
    assert code == 5
    assert "not drawn for column 'better'" in json.loads(out)["changed_labels"][0]["sentence"]
    code, out, _ = run(*judge, "rule", "--labels", "better", "--json")
    assert code == 0  # the first column counts
    assert len(json.loads(out)["changed_labels"]) == 1

    path.write_bytes(before)
    assert run(*judge, "rule")[0] == 0


@pytest.mark.parametrize(
    "required", ["80%", "kappa>=80%", "accuracy>=80", "accuracy>=", "accuracy"]
)
def test_a_requirement_that_is_none_is_refused(tickets, run, required):
    code, _, err = run(
        "judge", tickets[0], "--labels", "rule", "--audit", tickets[0], "--require", required
    )
    assert code == 1
    assert "--require" in err


def test_a_requirement_before_any_answer_is_refused(tickets, run):
    code, _, err = run("judge", tickets[0], "--labels", "rule", "--require", "accuracy>=80%")
    assert code == 1
    assert "--require has a meaning once rows are labelled" in err


def test_drawing_can_be_said_with_a_word(animals, run):
    path, _ = animals
    code, out, _ = run("judge", "draw", path, "-l", "animal", "--rows", 7)
    assert (code, "Drew 7 of 300 rows at random" in out) == (0, True)


def test_fields_of_nested_json_lines_can_be_judged_and_are_written_as_they_were(tmp_path, run):
    path = tmp_path / "log.jsonl"
    rows = [
        {
            "input": {"text": f"t{i}"},
            "output": {"label": "ab"[i % 2], "score": i / 100},
            "truth": "ab"[i % 2],
        }
        for i in range(60)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["judge", path, "-l", "output.label", "--confidence", "output.score", "--hide", "truth"]
    code, out, _ = run(*words, "-k", 30)
    assert code == 0
    sheet = tmp_path / "log.judge.csv"
    frame = pl.read_csv(sheet)
    assert frame.columns == ["chary_row", "chary_truth", "input.text", "chary_classes"]
    frame.with_columns(chary_truth=frame["input.text"].str.slice(1).cast(int) % 2).with_columns(
        pl.col("chary_truth").replace_strict({0: "a", 1: "b"})
    ).write_csv(sheet)
    code, out, err = run(*words, "--audit", sheet, "--error", "20%", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["columns"][0]["accuracy"]["correct"] == 30
    first = json.loads((tmp_path / "log.judged.jsonl").read_text().splitlines()[0])
    assert first == {**rows[0], "chary_accept": True}


def test_a_draw_takes_no_audit(tmp_path, run):
    code, out, err = run("judge", "draw", tmp_path / "t.csv", "--labels", "y", "--audit", "a.csv")
    assert (code, out) == (1, "")
    assert "To draw rows, leave out --audit; to judge labels by the sheet, leave out draw." in err
