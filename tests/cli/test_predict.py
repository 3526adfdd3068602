"""predict, as typed: one file as ever, many with an output for each, resumed and told of."""

import io
import json
import re
from pathlib import Path

import polars as pl
import pytest

pytestmark = pytest.mark.usefixtures("quick_learners")


@pytest.fixture(scope="module", name="trained")
def model_trained_once():
    """The bytes of the first model."""
    return []


@pytest.fixture(name="model")
def model_of_the_table(table, run, trained):
    path = table.with_name("customers.model.chary")
    if not trained:
        assert run("label", table, "-t", "churn", "--rounds", 0, "--learner", "linear")[0] == 0
        trained.append(path.read_bytes())
    path.write_bytes(trained[0])
    return path


def test_predict_with_the_saved_model(model, table, run):
    new = table.parent / "new.csv"
    new.write_text('colour,age\npurple,"61,5"\nred,\n')
    code, out, _ = run("predict", model, new)
    assert code == 0
    assert "new.predicted.csv" in out
    written = pl.read_csv(table.parent / "new.predicted.csv")
    assert written.columns == ["colour", "age", "chary_label", "chary_confidence"]
    code, out, _ = run("predict", model, new, "--force", "--json")
    assert json.loads(out)["rows"] == 2
    new.write_text("colour\npurple\n")
    code, _, err = run("predict", model, new, "--force")
    assert code == 1
    assert "new.csv: Column 'age' is missing" in err
    new.write_text("colour,age\npurple,61.5\nred,\n")
    code, _, err = run("predict", model, new, "--force")
    assert code == 1
    assert "Column 'age' holds '61.5'" in err
    assert "numbers such as 12,5" in err


@pytest.fixture(name="months")
def folder_of_files(table, tmp_path):
    header, *rows = table.read_text().splitlines()
    folder = tmp_path / "months"
    folder.mkdir()
    for k, name in enumerate(["jan", "feb", "mar", "apr"]):
        (folder / f"{name}.csv").write_text("\n".join([header, *rows[20 * k : 20 * k + 20]]) + "\n")
    return folder


def test_many_files_have_an_output_each_and_are_not_made_twice(model, months, tmp_path, run):
    out = tmp_path / "out"
    code, said, err = run("predict", model, months, "--out", out, "--memory", "1GB")
    assert (code, err) == (0, "")
    assert sorted(path.name for path in out.glob("*.csv")) == [
        f"{month}.predicted.csv" for month in ("apr", "feb", "jan", "mar")
    ]
    assert "and 3 more files" in said
    written = pl.read_csv(out / "jan.predicted.csv", separator=";")
    assert written.columns == ["id", "age", "colour", "churn", "chary_label", "chary_confidence"]
    before = {path: path.stat().st_ino for path in out.glob("*.csv")}
    (out / "mar.predicted.csv").unlink()
    code, said, _ = run("predict", model, f"{months}/*.csv", "--out", out, "--json")
    figures = json.loads(said)
    assert (code, figures["rows"], figures["failed"]) == (0, 20, [])
    assert [Path(path).name for path in figures["files"]["predicted"]] == ["mar.predicted.csv"]
    assert figures["notes"] == [
        "There already, and left as found whichever model made them: 3 outputs "
        "(the first is apr.predicted.csv)."
    ]
    assert sum(figures["labels"].values()) == 20
    assert {path for path in out.glob("*.csv") if path.stat().st_ino == before[path]} >= {
        out / "jan.predicted.csv"
    }
    (out / "jan.predicted.csv").write_text("something else")
    code, said, err = run("predict", model, months, "--out", out)
    assert (code, err) == (0, "")
    assert "4 outputs (the first is" in said
    code, said, err = run("predict", model, months / "jan.csv", "--out", out)
    assert code == 1
    assert (
        "jan.predicted.csv exists already; pass --force to overwrite it, or --out for another "
        "folder" in err
    )
    assert (out / "jan.predicted.csv").read_text() == "something else"
    assert run("predict", model, months, "--out", out, "--force")[0] == 0
    assert pl.read_csv(out / "jan.predicted.csv", separator=";").equals(written)


def test_without_a_folder_outputs_are_next_to_their_inputs(model, months, run):
    (months / "bad.csv").write_text("id;age\n1\n")
    code, said, err = run("predict", model, months, "--format", "parquet", "--threshold", 0.8)
    assert code == 1
    assert "bad.csv, line 2: 1 cells where the header has 2" in err
    assert "and 3 more files" in said
    found = pl.read_parquet(months / "jan.predicted.parquet")
    assert found.columns[-3:] == ["chary_label", "chary_confidence", "chary_accept"]
    assert not (months / "bad.predicted.parquet").exists()
    code, said, _ = run(
        "predict", model, months, "--format", "parquet", "--threshold", 0.8, "--json"
    )
    figures = json.loads(said)
    assert (len(figures["files"]["predicted"]), len(figures["failed"])) == (0, 1)


def test_what_does_not_go_together_is_said_before_any_work(model, months, tmp_path, run):
    for words, said in [
        (["--memory", "much"], "--memory 'much' is not a size"),
        (
            ["--memory", "1MB"],
            "Labelling a file needs at least 400 MiB, but only 0 MiB are allowed",
        ),
    ]:
        code, _, err = run("predict", model, months, *words)
        assert (code, said in err) == (1, True), err
    assert not list(months.glob("*.predicted.*"))


def test_standard_input_is_one_file(model, table, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)

    class Typed:
        buffer = io.BytesIO(table.read_bytes())

    monkeypatch.setattr("sys.stdin", Typed)
    code, said, err = run("predict", model, "-", "--json")
    assert (code, err) == (0, "")
    assert json.loads(said)["files"] == {"predicted": ["stdin.predicted.csv"]}
    assert (
        (tmp_path / "stdin.predicted.csv").read_text().startswith("id;age;colour;churn;chary_label")
    )


def test_progress_on_a_terminal(model, months, tmp_path, run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    code, _, err = run("predict", model, months, "--out", tmp_path / "out")
    assert code == 0
    assert "4 files, 80 rows" in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", err)


def test_predict_says_whether_the_rows_are_like_those_learned_from(model, table, run):
    new = table.parent / "new.csv"
    code, out, _ = run("predict", model, table)
    assert code == 0
    assert "The 80 rows have the values, ranges and missing cells that the model knows." in re.sub(
        r"\s+", " ", out
    )
    new.write_text("colour;age\n" + "purple;61,5\n" * 60)
    code, out, _ = run("predict", model, new)
    assert code == 0
    assert "'colour' (a new or missing value: 100% here, 0% then)" in re.sub(r"\s+", " ", out)
    assert "Labels and confidence may be wrong." in re.sub(r"\s+", " ", out)
    code, out, _ = run("predict", model, new, "--force", "--json")
    (figures,) = json.loads(out)["new_rows"].values()
    assert (figures["verdict"], figures["rows"], figures["rows_then"]) == ("different", 60, 80)
    assert figures["columns"][0]["column"] == "colour"
    assert figures["columns"][0]["here"] == 1


def test_a_model_of_an_older_version_cannot_tell(tmp_path, run):
    golden = Path(__file__).parents[1] / "fixtures" / "golden"
    code, out, _ = run(
        "predict", golden / "label-network.chary", golden / "rows.csv", "--out", tmp_path
    )
    assert code == 0
    assert "the model file has no figures to compare with." in re.sub(r"\s+", " ", out)


def test_of_many_files_those_that_differ_are_named(model, months, tmp_path, run):
    (months / "odd.csv").write_text(
        "id;age;colour;churn\n" + "".join(f"{k};61,5;purple;\n" for k in range(60))
    )
    out = tmp_path / "out"
    code, said, _ = run("predict", model, months, "--out", out)
    said = re.sub(r"\s+", " ", said)
    assert code == 0
    assert (
        "odd.predicted.csv: The 60 rows differ from those the model learned from: 'colour' ("
        in said
    )
    assert (
        "The rows of 4 files have the values, ranges and missing cells that the model knows."
        in said
    )
