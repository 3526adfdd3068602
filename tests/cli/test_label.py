"""label, diagnose and predict, as typed: what they write and what they say."""

import json
import os
import re

import numpy as np
import polars as pl
import pytest

pytestmark = pytest.mark.usefixtures("quick_learners")


HEADER = "id;age;colour;churn"


def test_label_writes_three_files_and_a_summary(table, run):
    code, out, err = run("label", table, "--target", "churn")
    assert (code, err) == (0, "")
    names = {path.name for path in table.parent.iterdir()}
    assert names == {"customers.csv", "customers.labeled.csv", "customers.model.chary", "customers.report.html"}
    for word in (
        "Given",
        "Accepted",
        "Predicted",
        "yes",
        "no",
        "Left out: id",
        "Read as: age (decimal comma)",
        "report.html",
    ):
        assert word in out
    lines = (table.parent / "customers.labeled.csv").read_text().splitlines()
    assert lines[0] == HEADER + ";chary_label;chary_confidence;chary_source"
    original = table.read_text().splitlines()[1:]
    assert all(new.startswith(old + ";") for new, old in zip(lines[1:], original, strict=True))
    assert re.fullmatch(r"000;20,5;red;;(yes|no);[01]\.\d+;(accepted|predicted)", lines[1])
    assert lines[2] == "001;57,5;blue;yes;yes;1.0;given"


def test_json_is_all_that_is_printed(table, run):
    code, out, err = run("label", table, "-t", "churn", "--json", "--seed", 5, "--rounds", 0)
    figures = json.loads(out)
    assert (code, err) == (0, "")
    assert figures["rows"] == 80
    assert figures["sources"] == {"given": 60, "accepted": 0, "predicted": 20}
    assert figures["settings"]["seed"] == 5
    kinds = {column["name"]: column["kind"] for column in figures["columns"]}
    assert kinds == {"id": "identifier", "age": "numeric", "colour": "categorical"}
    assert all(os.path.exists(path) for path in figures["files"].values())


def test_class_proportions_are_met_and_owned_up_to(table, run):
    words = ["--class-prior", "yes=45%", "--class-prior", "no=0.55"]
    code, out, err = run("label", table, "-t", "churn", "--rounds", 0, *words)
    assert (code, err) == (0, "")
    sentence = "You told chary that 55 % of all rows are 'no' and 45 % are 'yes'."
    assert sentence in re.sub(r"\s+", " ", out)
    lines = (table.parent / "customers.labeled.csv").read_text().splitlines()[1:]
    assert [line.split(";")[4] for line in lines].count("yes") == 36  # of 80, given ones included
    page = (table.parent / "customers.report.html").read_text()
    assert "You told chary that 55 % of all rows are" in page
    code, out, _ = run("label", table, "-t", "churn", "--force", "--json", "--class-prior", "labeled")
    assert "the labelled rows have the proportions of all rows" in json.loads(out)["class_prior"]["sentence"]


def test_predict_with_the_saved_model(table, run):
    run("label", table, "-t", "churn")
    new = table.parent / "new.csv"
    new.write_text('colour,age\npurple,"61,5"\nred,\n')
    code, out, _ = run("predict", table.parent / "customers.model.chary", new)
    assert code == 0
    assert "new.predicted.csv" in out
    written = pl.read_csv(table.parent / "new.predicted.csv")
    assert written.columns == ["colour", "age", "chary_label", "chary_confidence"]
    code, out, _ = run("predict", table.parent / "customers.model.chary", new, "--force", "--json")
    assert json.loads(out)["rows"] == 2
    new.write_text("colour\npurple\n")
    code, _, err = run("predict", table.parent / "customers.model.chary", new, "--force")
    assert code == 1
    assert "new.csv: Column 'age' is missing" in err
    new.write_text("colour,age\npurple,61.5\nred,\n")
    code, _, err = run("predict", table.parent / "customers.model.chary", new, "--force")
    assert code == 1
    assert "Column 'age' holds '61.5'" in err
    assert "decimal comma" in err


def test_predict_takes_a_table_of_one_column_for_a_model_of_one(tmp_path, run):
    path, new = tmp_path / "one.csv", tmp_path / "new.csv"
    path.write_text("x,y\n" + "".join(f"{i % 10},{'ab'[i % 10 > 4] if i % 4 else ''}\n" for i in range(80)))
    new.write_text("x\n1\n9\n")
    assert run("label", path, "-t", "y", "--rounds", 0)[0] == 0
    assert run("predict", tmp_path / "one.model.chary", new)[0] == 0
    assert pl.read_csv(tmp_path / "new.predicted.csv")["chary_label"].to_list() == ["a", "b"]
    code, _, err = run("diagnose", new, "-t", "x")
    assert code == 1
    assert "has one column only" in err


def test_diagnose_prints_and_writes_nothing(table, run):
    code, out, _ = run("diagnose", table, "-t", "churn")
    assert code == 0
    for words in ("categorical", "decimal comma", "AUC", "representative"):
        assert words in out
    code, out, _ = run("diagnose", table, "-t", "churn", "--json")
    assert json.loads(out)["verdict"] == "representative"
    assert [path.name for path in table.parent.iterdir()] == ["customers.csv"]


def test_parquet_in_parquet_out(table, tmp_path, run):
    path = tmp_path / "p.parquet"
    pl.read_csv(table, separator=";", decimal_comma=True).write_parquet(path)
    code, _, _ = run("label", path, "-t", "churn", "--rounds", 0, "--out", tmp_path)
    assert code == 0
    written = pl.read_parquet(tmp_path / "p.labeled.parquet")
    assert written.drop("chary_label", "chary_confidence", "chary_source").equals(pl.read_parquet(path))


def test_a_tsv_stays_one(table, run):
    path = table.with_suffix(".tsv")
    path.write_text(table.read_text().replace(";", "\t"))
    assert run("label", path, "-t", "churn", "--rounds", 0)[0] == 0
    assert (table.parent / "customers.labeled.tsv").exists()


def test_overrides_reach_the_preparation(table, run):
    _, out, _ = run(
        "diagnose", table, "-t", "churn", "--drop", "colour", "--categorical", "age", "--numeric", "id"
    )
    assert re.search(r"colour +dropped", out)
    assert re.search(r"age +categorical", out)
    assert re.search(r"id +numeric", out)


def test_nothing_is_overwritten_without_force(table, run):
    report = table.parent / "customers.report.html"
    report.write_text("mine")
    code, out, err = run("label", table, "-t", "churn")
    assert (code, out) == (1, "")
    assert "customers.report.html exists already; pass --force" in err
    assert report.read_text() == "mine"
    assert not (table.parent / "customers.labeled.csv").exists()
    (table.parent / "customers.labeled.csv").touch()
    _, _, err = run("label", table, "-t", "churn")
    assert re.search(r"customers.labeled.csv and .*customers.report.html exist already; pass --force", err)
    assert "did you mean 'churn'?" in run("label", table, "-t", "chrun")[2]  # of two faults the first
    assert run("label", table, "-t", "churn", "--force")[0] == 0
    assert report.read_text() != "mine"


def test_text_and_numbers_beside_the_table(tmp_path, run):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(80, 2))
    np.save(tmp_path / "x.npy", numbers)
    y = [("a" if x > 0 else "b") if i < 60 else None for i, x in enumerate(numbers[:, 0])]
    pl.DataFrame({"code": [f"K-{i}" for i in range(80)], "n": [1, 2] * 40, "y": y}).write_csv(tmp_path / "t.csv")
    path, beside = tmp_path / "t.csv", ("--features", tmp_path / "x.npy")
    code, out, err = run("diagnose", path, "-t", "y", "--json", *beside, "--text", "code")
    kinds = {column["name"]: column["kind"] for column in json.loads(out)["columns"]}
    assert (code, err, kinds) == (0, "", {"code": "words", "n": "numeric", "(features)": "embedding"})
    assert run("label", path, "-t", "y", "--rounds", 0, *beside)[0] == 0
    assert (tmp_path / "t.labeled.csv").read_text().startswith("code,n,y,chary_label")
    assert run("predict", tmp_path / "t.model.chary", path, *beside)[0] == 0
    code, _, err = run("predict", tmp_path / "t.model.chary", path, "--force")
    assert (code, err.endswith("give one for these rows with --features.\n")) == (1, True)
    code, _, err = run("label", path, "-t", "y", "--force", "--features", path)
    assert (code, err) == (1, "chary: t.csv is no NumPy file (.npy); write it with numpy.save.\n")
