"""The commands around an audit, as a person types them."""

import json
import random
import shlex

import numpy as np
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chary import DiverseEnsembleClassifier
from chary.jobs.model_file import save

pytestmark = pytest.mark.usefixtures("quick_learners")


def test_draw_says_what_to_do_next_and_betrays_nothing(animals, run):
    path, _ = animals
    code, out, _ = run("audit", "draw", path, "-t", "animal")
    assert code == 0
    assert "30 of" in out
    assert "'cat', 'dog'" in out
    assert f"chary audit fill {path.with_name('animals.audit.csv')}" in out.replace("\n", "")
    frame = pl.read_csv(path.with_name("animals.audit.csv"))
    assert len(frame) == 30
    assert frame.columns == ["chary_row", "animal", "size", "speed", "name", "chary_classes"]


def test_draw_never_overwrites_answers(drawn, animals, run):
    path, _ = drawn
    before = path.read_bytes()
    code, _, err = run("audit", "draw", animals[0], "-t", "animal", "--seed", 1)
    assert code == 1
    assert "exists already" in err
    assert path.read_bytes() == before
    assert run("audit", "draw", animals[0], "-t", "animal", "--seed", 1, "--force")[0] == 0
    assert path.read_bytes() != before


def test_a_larger_draw_adds_rows_and_keeps_the_answers(animals, run, keys, row_numbers, answers):
    path, _ = animals
    sheet = path.with_name("animals.audit.csv")
    run("audit", "draw", path, "-t", "animal", "-k", 6)
    keys("1212sq")
    run("audit", "fill", sheet)
    small = row_numbers(sheet)
    code, out, _ = run("audit", "draw", path, "-t", "animal", "-k", 10)
    assert code == 0
    assert "4 rows more, drawn at random" in out
    assert "the 5 answers that it held are as they were" in out
    assert answers(sheet) == ["cat", "dog", "cat", "dog", "?", "", "", "", "", ""]
    whole = row_numbers(sheet)
    assert whole[:6] == small
    run("audit", "draw", path, "-t", "animal", "-k", 10, "--force")
    assert row_numbers(sheet) == whole  # one draw, in two steps or in one


def test_what_is_no_sheet_of_the_table_is_not_enlarged(animals, run):
    path, _ = animals
    sheet = path.with_name("animals.audit.csv")
    sheet.write_text("a,b\n1,2\n")
    code, _, err = run("audit", "draw", path, "-t", "animal")
    assert code == 1
    assert "exists already and cannot be enlarged (animals.audit.csv has no column 'chary_row'" in err
    assert sheet.read_text() == "a,b\n1,2\n"


def test_draw_shows_the_guess_of_a_model_only_when_asked_and_warns(animals, tmp_path, run):
    path, _ = animals
    assert run("label", path, "-t", "animal", "--rounds", 0)[0] == 0
    model = path.with_name("animals.model.chary")
    code, out, _ = run("audit", "draw", path, "-t", "animal", "-k", 5, "--show-guess", model)
    assert code == 0
    assert "biases the labeller" in out
    assert set(pl.read_csv(path.with_name("animals.audit.csv"))["chary_guess"]) <= {"cat", "dog"}


@pytest.mark.parametrize(("k", "said"), [(1, "-k"), (10_000, "cannot be drawn")])
def test_draw_refuses_impossible_sizes(animals, k, said, run):
    code, _, err = run("audit", "draw", animals[0], "-t", "animal", "-k", k)
    assert code == 1
    assert said in err


def next_command(out):
    return shlex.split(out.rpartition("Next:  ")[2])[1:]


@pytest.mark.parametrize("folder", [".", "elsewhere"])
def test_every_suggested_command_works_as_printed(tmp_path, monkeypatch, folder, run, keys):
    rng = np.random.default_rng(0)
    lines = ["x:y z"]
    for i, x in enumerate(rng.normal(size=60)):
        lines.append(f"{x:.3f}:" + ("to do" if i % 2 else "" if i % 3 else "né" if x > 0 else "non"))
    (tmp_path / "in put").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "in put" / "my data.csv").write_bytes(("\n".join(lines) + "\n").encode("cp1252"))
    monkeypatch.chdir(tmp_path)
    words = ["in put/my data.csv", "-t", "y z", "--unlabeled", "to do", "--delimiter", ":", "--encoding", "cp1252"]
    code, out, _ = run("label", *words, "--rounds", 0)
    assert code == 0
    said = shlex.split(" ".join(out.replace("│", " ").split()).partition("from them: ")[2].partition(" ╰")[0])
    assert said == [
        *["chary", "audit", "draw", "in put/my data.csv", "--target", "y z", "--unlabeled", "to do"],
        *["--delimiter", ":", "--encoding", "cp1252"],
    ]
    code, out, _ = run(*said[1:], *([] if folder == "." else ["--out", folder]), "-k", 6)
    assert code == 0
    keys("1212n12x", typed="to do")  # what means unlabelled is no class
    code, out, _ = run(*next_command(out))
    assert code == 0
    assert "6 labelled, 0 skipped, 0 left" in out
    assert next_command(out)[-1] == "--force"
    code, out, err = run(*next_command(out), "--rounds", 0)
    assert (code, err) == (0, "")
    assert "exact, 6 random rows" in out


def test_draw_and_label_must_agree_on_what_is_unlabelled(tmp_path, run, keys):
    path = tmp_path / "t.csv"
    cells = ["a", "b", "todo", None] * 15
    pl.DataFrame({"x": range(60), "z": [i % 7 for i in range(60)], "y": cells}).write_csv(path)
    run("audit", "draw", path, "-t", "y", "-k", 4, "--unlabeled", "todo")
    keys("1212x")
    run("audit", "fill", tmp_path / "t.audit.csv")
    code, _, err = run("label", path, "-t", "y", "--audit", tmp_path / "t.audit.csv")
    assert code == 1
    assert "was drawn with --unlabeled todo" in err


def test_draw_refuses_what_it_could_not_write_as_other_commands_do(animals, run):
    path, _ = animals
    code, _, err = run("audit", "draw", path, "-t", "animal", "--out", path)
    assert code == 1
    assert "is a file, so nothing can be written in it; give --out a folder." in err
    assert run("audit", "draw", path, "-t", "animal", "--out", path.with_name("new") / "folder")[0] == 0
    assert (path.with_name("new") / "folder" / "animals.audit.csv").exists()
    run("audit", "draw", path, "-t", "animal")
    said = run("audit", "draw", path, "-t", "animal")[2]
    assert "exists already, with 30 rows; ask for more of them to enlarge it, or pass --force to draw anew" in said


def test_draw_refuses_the_guess_of_a_model_without_a_table(animals, tmp_path, run):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(np.arange(40) < 20, X[:, 0] > 0, -1)
    model = make_pipeline(StandardScaler(), DiverseEnsembleClassifier(n_steps=3, random_state=0)).fit(X, y)
    save(model, tmp_path / "m.chary")
    code, _, err = run("audit", "draw", animals[0], "-t", "animal", "--show-guess", tmp_path / "m.chary")
    assert code == 1
    assert "holds no table model; use one that was made from a table." in err
    assert not animals[0].with_name("animals.audit.csv").exists()


def test_label_with_an_audit_says_what_it_found(drawn, animals, run, keys, row_numbers):
    path, truth = drawn
    keys(["12"[name == "dog"] for name in truth] + ["x"])
    run("audit", "fill", path)
    code, out, _ = run("label", animals[0], "-t", "animal", "--audit", path, "--rounds", 0)
    assert code == 0
    assert "promised by your labels" in out
    assert "exact, 8 random rows" in out
    assert "cross-fitted" in out
    page = path.with_name("animals.report.html").read_text()
    assert "does not estimate it: your labels are no random sample" in page
    assert "needs an audit of 230 rows or more" in page
    labeled = pl.read_csv(path.with_name("animals.labeled.csv"))
    rows = row_numbers(path)
    assert labeled["chary_label"][rows].to_list() == truth
    assert set(labeled["chary_source"][rows]) == {"given"}


def test_label_gives_an_audits_figures_to_programs(drawn, animals, run, keys):
    path, truth = drawn
    keys(["12"[name == "dog"] for name in truth[:6]] + ["s", "q"])
    run("audit", "fill", path)
    code, out, _ = run("label", animals[0], "-t", "animal", "--audit", path, "--rounds", 0, "--json")
    figures = json.loads(out)["audit"]
    assert code == 0
    assert (figures["drawn"], figures["skipped"]) == (8, 1)
    assert (figures["before"]["n"], figures["answered"]["n"]) == (7, 6)
    assert "1 of the 8 rows drawn were skipped" in " ".join(note["text"] for note in figures["notes"])


def test_label_without_an_audit_says_what_one_is_good_for(animals, run):
    code, out, _ = run("label", animals[0], "-t", "animal", "--rounds", 0)
    assert code == 0
    command = f"chary audit draw {animals[0]} --target animal"
    assert command.replace(" ", "") in "".join(out.replace("│", " ").split())
    page = animals[0].with_name("animals.report.html").read_text()
    assert command in page
    assert "Only an audit, rows drawn at random, tells how often the other rows are wrong" in page


def test_a_new_class_found_by_the_audit_is_said_loudly(drawn, animals, run, keys):
    path, _ = drawn
    keys("121212n1x", typed="fox")
    run("audit", "fill", path)
    code, out, _ = run("label", animals[0], "-t", "animal", "--audit", path, "--rounds", 0)
    assert code == 0
    assert "NEW CLASS: the audit found 'fox'" in out
    assert '<li class="warning">NEW CLASS' in path.with_name("animals.report.html").read_text()


def test_an_audit_that_leaves_nothing_to_label_is_refused(animals, tmp_path, run, keys):
    path = tmp_path / "few.csv"
    pl.DataFrame({"x": range(30), "y": ["a", "b"] * 14 + [None, None]}).write_csv(path)
    run("audit", "draw", path, "-t", "y", "-k", 2)
    keys("12x")
    run("audit", "fill", tmp_path / "few.audit.csv")
    code, _, err = run("label", path, "-t", "y", "--audit", tmp_path / "few.audit.csv")
    assert code == 1
    assert "nothing is left to label" in err


def test_mangled_audits_end_in_one_sentence_and_overwrite_nothing(drawn, animals, run, keys):
    """The commands on the files of ``test_audit_files``: a few here, five hundred there."""
    path, truth = drawn
    keys(["12"[name == "dog"] for name in truth] + ["x"])
    run("audit", "fill", path)
    data = path.read_bytes()
    rng = random.Random(1)
    refused = 0
    for _ in range(60):
        i, j = sorted(rng.randrange(len(data)) for _ in range(2))
        broken = rng.choice([data[:i], data[:i] + data[j:], data[:i] + rng.randbytes(4) + data[i:], data[j:]])
        path.write_bytes(broken)
        keys("q")
        code, out, err = run("audit", "fill", path)
        assert code in (0, 1)
        assert "Traceback" not in out + err
        assert "mistake in chary" not in err
        assert path.read_bytes() == broken
        refused += code
        assert err.strip().count("\n") == 0
    assert refused > 10
    assert animals[0].exists()


def test_label_marks_the_rows_that_can_be_accepted_at_an_error(animals, run, row_numbers):
    path, truth = animals
    sheet = path.with_name("animals.audit.csv")
    assert run("audit", "draw", path, "-t", "animal", "-k", 60)[0] == 0
    answers = pl.read_csv(sheet, infer_schema=False)
    answers.with_columns(pl.Series("animal", [truth[row] for row in row_numbers(sheet)])).write_csv(sheet)
    words = ("label", path, "-t", "animal", "--audit", sheet, "--force")
    code, out, _ = run(*words, "--error", "20%", "--json")
    assert code == 0
    asked = json.loads(out)["accept"]
    labeled = pl.read_csv(path.with_name("animals.labeled.csv"))
    new = labeled.filter(pl.col("chary_source") != "given")
    assert labeled.filter(pl.col("chary_source") == "given")["chary_accept"].all()
    assert new["chary_accept"].sum() == asked["n_accepted"] > 0
    assert (new["chary_accept"] == (new["chary_confidence"] >= asked["threshold"])).all()
    known = labeled.with_columns(pl.Series("truth", truth.tolist())).filter(
        (pl.col("chary_source") != "given") & pl.col("chary_accept")
    )
    assert (known["chary_label"] != known["truth"]).mean() <= 0.2
    code, out, _ = run(*words, "--error", "1%")
    assert code == 0
    said = " ".join(out.split())
    assert (
        "No new label can be accepted with at most 1% wrong: the audit has 60 rows, and 230 or more are needed"
        in said
    )
    labeled = pl.read_csv(path.with_name("animals.labeled.csv"))
    assert (labeled["chary_accept"] == (labeled["chary_source"] == "given")).all()
    assert run(*words)[0] == 0
    assert "chary_accept" not in pl.read_csv(path.with_name("animals.labeled.csv")).columns


def test_a_table_that_does_not_fit_gives_the_same_sheet(animals, tmp_path, run):
    path, _ = animals
    run("label", path, "-t", "animal")
    guess = "--show-guess", path.with_name("animals.model.chary")
    for k in (6, 10):  # drawn, then enlarged
        for name, more in (("fits", ()), ("does_not", ("--memory", "100MB"))):
            words = "audit", "draw", path, "-t", "animal", "-k", k, "--out", tmp_path / name, *guess, *more
            code, out, _ = run(*words)
            assert code == 0
            assert f"{k} of" in out or "4 rows more" in out
        sheets = [(tmp_path / name / "animals.audit.csv").read_bytes() for name in ("fits", "does_not")]
        assert sheets[0] == sheets[1]


def test_labelled_rows_that_do_not_fit_are_refused_in_a_sentence(animals, tmp_path, run):
    code, _, err = run("audit", "draw", animals[0], "-t", "animal", "--memory", "3kB", "--out", tmp_path / "o")
    assert code == 1
    assert "pass more with --memory" in err.replace("\n", " ")
    assert not (tmp_path / "o").exists()
