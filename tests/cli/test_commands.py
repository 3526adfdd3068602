"""The commands, as typed: what they write, what they say, how they end."""

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial

import polars as pl
import pytest

from chary import __version__
from chary.cli import commands as cli
from chary.cli import main

HEADER = "id;age;colour;churn"


@pytest.fixture
def table(tmp_path):
    """Customers with decimal commas; a quarter has no label."""
    rows = []
    for i in range(80):
        age, colour = 20 + (i * 37 % 50), ["red", "blue", "green"][i % 3]
        churn = ("yes" if age > 40 else "no") if i % 4 else ""
        rows.append(f"{i:03d};{age},5;{colour};{churn}")
    path = tmp_path / "customers.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_label_writes_three_files_and_a_summary(table, capsys):
    code, out, err = run(capsys, "label", table, "--target", "churn")
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


def test_json_is_all_that_is_printed(table, capsys):
    code, out, err = run(capsys, "label", table, "-t", "churn", "--json", "--seed", 5, "--rounds", 0)
    figures = json.loads(out)
    assert (code, err) == (0, "")
    assert figures["rows"] == 80
    assert figures["sources"] == {"given": 60, "accepted": 0, "predicted": 20}
    assert figures["settings"]["seed"] == 5
    assert figures["columns"] == {"id": "identifier", "age": "numeric", "colour": "categorical"}
    assert all(os.path.exists(path) for path in figures["files"].values())


def test_class_proportions_are_met_and_owned_up_to(table, capsys):
    words = ["--class-prior", "yes=45%", "--class-prior", "no=0.55"]
    code, out, err = run(capsys, "label", table, "-t", "churn", "--rounds", 0, *words)
    assert (code, err) == (0, "")
    sentence = "You told chary that 55 % of all rows are 'no' and 45 % are 'yes'."
    assert sentence in re.sub(r"\s+", " ", out)
    lines = (table.parent / "customers.labeled.csv").read_text().splitlines()[1:]
    assert [line.split(";")[4] for line in lines].count("yes") == 36  # of 80, given ones included
    page = (table.parent / "customers.report.html").read_text()
    assert "You told chary that 55 % of all rows are" in page
    code, out, _ = run(capsys, "label", table, "-t", "churn", "--force", "--json", "--class-prior", "labeled")
    assert "the labelled rows have the proportions of all rows" in json.loads(out)["class_prior"]


def test_predict_with_the_saved_model(table, capsys):
    run(capsys, "label", table, "-t", "churn")
    new = table.parent / "new.csv"
    new.write_text('colour,age\npurple,"61,5"\nred,\n')
    code, out, _ = run(capsys, "predict", table.parent / "customers.model.chary", new)
    assert code == 0
    assert "new.predicted.csv" in out
    written = pl.read_csv(table.parent / "new.predicted.csv")
    assert written.columns == ["colour", "age", "chary_label", "chary_confidence"]
    code, out, _ = run(capsys, "predict", table.parent / "customers.model.chary", new, "--force", "--json")
    assert json.loads(out)["rows"] == 2
    new.write_text("colour\npurple\n")
    code, _, err = run(capsys, "predict", table.parent / "customers.model.chary", new, "--force")
    assert code == 1
    assert "new.csv: Column 'age' is missing" in err
    new.write_text("colour,age\npurple,61.5\nred,\n")
    code, _, err = run(capsys, "predict", table.parent / "customers.model.chary", new, "--force")
    assert code == 1
    assert "Column 'age' holds '61.5'" in err
    assert "decimal comma" in err


def test_predict_takes_a_table_of_one_column_for_a_model_of_one(tmp_path, capsys):
    path, new = tmp_path / "one.csv", tmp_path / "new.csv"
    path.write_text("x,y\n" + "".join(f"{i % 10},{'ab'[i % 10 > 4] if i % 4 else ''}\n" for i in range(80)))
    new.write_text("x\n1\n9\n")
    assert run(capsys, "label", path, "-t", "y", "--rounds", 0)[0] == 0
    assert run(capsys, "predict", tmp_path / "one.model.chary", new)[0] == 0
    assert pl.read_csv(tmp_path / "new.predicted.csv")["chary_label"].to_list() == ["a", "b"]
    code, _, err = run(capsys, "diagnose", new, "-t", "x")
    assert code == 1
    assert "has one column only" in err


def test_diagnose_prints_and_writes_nothing(table, capsys):
    code, out, _ = run(capsys, "diagnose", table, "-t", "churn")
    assert code == 0
    for words in ("categorical", "decimal comma", "AUC", "representative"):
        assert words in out
    code, out, _ = run(capsys, "diagnose", table, "-t", "churn", "--json")
    assert json.loads(out)["verdict"] == "representative"
    assert [path.name for path in table.parent.iterdir()] == ["customers.csv"]


def test_parquet_in_parquet_out(table, tmp_path, capsys):
    path = tmp_path / "p.parquet"
    pl.read_csv(table, separator=";", decimal_comma=True).write_parquet(path)
    code, _, _ = run(capsys, "label", path, "-t", "churn", "--rounds", 0, "--out", tmp_path)
    assert code == 0
    written = pl.read_parquet(tmp_path / "p.labeled.parquet")
    assert written.drop("chary_label", "chary_confidence", "chary_source").equals(pl.read_parquet(path))


def test_a_tsv_stays_one(table, capsys):
    path = table.with_suffix(".tsv")
    path.write_text(table.read_text().replace(";", "\t"))
    assert run(capsys, "label", path, "-t", "churn", "--rounds", 0)[0] == 0
    assert (table.parent / "customers.labeled.tsv").exists()


def test_overrides_reach_the_preparation(table, capsys):
    _, out, _ = run(
        capsys, "diagnose", table, "-t", "churn", "--drop", "colour", "--categorical", "age", "--numeric", "id"
    )
    assert re.search(r"colour +dropped", out)
    assert re.search(r"age +categorical", out)
    assert re.search(r"id +numeric", out)


def test_nothing_is_overwritten_without_force(table, capsys):
    report = table.parent / "customers.report.html"
    report.write_text("mine")
    code, out, err = run(capsys, "label", table, "-t", "churn")
    assert (code, out) == (1, "")
    assert "customers.report.html exists already; pass --force" in err
    assert report.read_text() == "mine"
    assert not (table.parent / "customers.labeled.csv").exists()
    (table.parent / "customers.labeled.csv").touch()
    _, _, err = run(capsys, "label", table, "-t", "churn")
    assert re.search(r"customers.labeled.csv and .*customers.report.html exist already; pass --force", err)
    assert "did you mean 'churn'?" in run(capsys, "label", table, "-t", "chrun")[2]  # of two faults the first
    assert run(capsys, "label", table, "-t", "churn", "--force")[0] == 0
    assert report.read_text() != "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["label", "{file}", "-t", "chrun"], "has no column 'chrun'; did you mean 'churn'?"),
        (["label", "nothing.csv", "-t", "churn"], "cannot be read (no such file or directory)"),
        (["label", "{file}"], "Missing option '--target'"),
        (["label", "{file}", "-t", "churn", "--seed", "x"], "Invalid value for '--seed'"),
        (["label", "{file}", "-t", "churn", "--out", "nowhere"], "The folder nowhere does not exist"),
        (
            ["label", "{file}", "-t", "churn", "--drop", "[bold]"],
            "has no column '[bold]' to override; it has 'id'",
        ),
        (["label", "{file}", "-t", "churn", "--drop", "idd"], "no column 'idd' to override; did you mean 'id'?"),
        (["label", "{file}", "-t", "churn", "--class-prior", "yes=0.3"], "class_prior lacks the class 'no'"),
        (["label", "{file}", "-t", "churn", "--class-prior", "30%"], "--class-prior '30%' is not understood"),
        (["predict", "{file}", "{file}"], "is not a model file of this version of chary"),
        (["predict", "{file}", "m.chary"], "The model comes first: chary predict m.chary "),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_one(table, capsys, arguments, message):
    code, out, err = run(capsys, *[argument.format(file=table) for argument in arguments])
    assert (code, out) == (1, "")
    assert message in err
    assert err.startswith("chary: ")
    assert err.count("\n") == 1


def test_interruption_is_exit_code_130_and_leaves_no_file(table, capsys, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "render_report", interrupted)
    code, _, err = run(capsys, "label", table, "-t", "churn", "--rounds", 0)
    assert code == 130
    assert "Interrupted" in err
    assert not list(table.parent.glob(".*.part"))
    assert not (table.parent / "customers.report.html").exists()


def test_a_real_interrupt_ends_the_process(table):
    slow = "lambda *args, **kwargs: (print('ready', flush=True), time.sleep(60))"
    code = f"import sys, time, chary.cli.commands as cli; cli.label_table = {slow}; sys.exit(cli.main())"
    command = [sys.executable, "-c", code, "label", str(table), "-t", "churn"]
    heeded = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": heeded}
    with subprocess.Popen(command, **options) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "chary: Interrupted; no file was left half-written.\n"
    assert [path.name for path in table.parent.iterdir()] == ["customers.csv"]


def test_a_mistake_of_chary_is_admitted(table, capsys, monkeypatch):
    def broken(*args, **kwargs):
        raise AttributeError("oops")

    monkeypatch.setattr(cli, "label_table", broken)
    code, _, err = run(capsys, "label", table, "-t", "churn")
    assert code == 1
    assert "A mistake in chary itself (AttributeError: oops)" in err
    monkeypatch.setenv("CHARY_DEBUG", "1")
    with pytest.raises(AttributeError):
        main(["label", str(table), "-t", "churn"])


def test_version_and_help(capsys):
    assert run(capsys, "--version")[1] == f"chary {__version__}\n"
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    for command in ("label", "diagnose", "predict", "demo"):
        assert command in out
        assert "--help" in run(capsys, command, "--help")[1]


def test_the_demo_tells_what_the_user_could_not_know(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cli, "rivals", lambda hidden, seed: {"another": 0.5, "chary": 0.6})
    folder = tmp_path / "demo"
    code, out, _ = run(capsys, "demo", "--out", folder)
    assert code == 0
    assert "strongly biased" in out
    assert re.search(r"another +50\.0% +50\.0%", out)
    assert (folder / "tumours.report.html").exists()
    assert run(capsys, "demo", "--out", folder)[0] == 1
