"""label and diagnose, as typed: what they write and what they say."""

import gzip
import io
import json
import os
import re
import sys
import zipfile
from functools import partial
from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest

import chary.labelling
import chary.model_file
from chary.audit.labels_under_test import read_labels_under_test
from chary.labelling.defaults import Defaults
from chary.options import JudgeOptions
from chary.tables import Source, open_source, read_table

QUICK = ("--learner", "linear", "--rounds", 0)
pytestmark = pytest.mark.usefixtures("quick_learners")


HEADER = "id;age;colour;churn"


def test_label_writes_three_files_and_a_summary(table, run):
    code, out, err = run("label", table, "--target", "churn")
    assert (code, err) == (0, "")
    names = {path.name for path in table.parent.iterdir()}
    assert names == {
        "customers.csv",
        "customers.labeled.csv",
        "customers.model.chary",
        "customers.report.html",
    }
    for word in ("Given", "Learned", "Predicted", "yes", "no", "Left out: id", "report.html"):
        assert word in out
    lines = (table.parent / "customers.labeled.csv").read_text().splitlines()
    assert lines[0] == HEADER + ";chary_label;chary_confidence;chary_source"
    original = table.read_text().splitlines()[1:]
    assert all(new.startswith(old + ";") for new, old in zip(lines[1:], original, strict=True))
    assert re.fullmatch(r"000;20,5;red;;(yes|no);[01]\.\d+;(learned|predicted)", lines[1])
    assert lines[2] == "001;57,5;blue;yes;yes;1.0;given"


def test_json_is_all_that_is_printed(table, run):
    code, out, err = run("label", table, "-t", "churn", "--json", "--seed", 5, *QUICK)
    figures = json.loads(out)
    assert (code, err) == (0, "")
    assert figures["rows"] == 80
    assert figures["sources"] == {"given": 60, "learned": 0, "predicted": 20}
    assert figures["settings"]["seed"] == 5
    kinds = {column["name"]: column["kind"] for column in figures["columns"]}
    assert kinds == {"id": "identifier", "age": "numeric", "colour": "categorical"}
    assert all(os.path.exists(path) for path in figures["files"].values())


def test_class_proportions_are_met_and_owned_up_to(table, run):
    words = ["--class-prior", "yes=45%", "--class-prior", "no=0.55"]
    code, out, err = run("label", table, "-t", "churn", *QUICK, *words)
    assert (code, err) == (0, "")
    sentence = "You told chary that 55 % of all rows are 'no' and 45 % are 'yes'."
    assert sentence in re.sub(r"\s+", " ", out)
    lines = (table.parent / "customers.labeled.csv").read_text().splitlines()[1:]
    assert [line.split(";")[4] for line in lines].count("yes") == 36  # of 80, given ones included
    page = (table.parent / "customers.report.html").read_text()
    assert "You told chary that 55 % of all rows are" in page
    code, out, _ = run(
        "label", table, "-t", "churn", "--force", "--json", "--class-prior", "labeled", *QUICK
    )
    assert (
        "the labelled rows have the proportions of all rows"
        in json.loads(out)["class_prior"]["sentence"]
    )


def test_the_aim_is_asked_for_and_said(table, run):
    code, out, err = run("label", table, "-t", "churn", *QUICK, "--aim", "balanced")
    assert (code, err) == (0, "")
    assert "Optimised for balanced accuracy: every class counts the same." in re.sub(
        r"\s+", " ", out
    )
    assert "If rare classes" not in out
    page = (table.parent / "customers.report.html").read_text()
    assert "Optimised for balanced accuracy: every class counts the same." in page
    assert "balanced accuracy" in page
    question = "If rare classes matter as much as common ones, pass --aim balanced"
    for words in (["label", *QUICK, "--force"], ["diagnose"]):
        code, out, _ = run(words[0], table, "-t", "churn", *words[1:])
        assert code == 0
        assert question in re.sub(r"\s+", " ", out)
    code, out, err = run("label", table, "-t", "churn", "--aim", "rare", "--force")
    assert (code, out) == (1, "")
    assert "--aim rare is not known; give accuracy or balanced." in err


def test_diagnose_prints_and_writes_nothing(table, run):
    code, out, _ = run("diagnose", table, "-t", "churn")
    assert code == 0
    for words in ("categorical", "decimal comma", "AUC", "representative"):
        assert words in out
    code, out, _ = run("diagnose", table, "-t", "churn", "--json")
    assert json.loads(out)["verdict"] == "representative"
    assert [path.name for path in table.parent.iterdir()] == ["customers.csv"]


def test_what_is_said_of_columns_reaches_the_preparation(table, run):
    said = (
        "--drop",
        "colour",
        "--categorical",
        "age",
        "--numeric",
        "id",
        "--missing",
        "age=20,5",
        "--missing",
        "-9",
    )
    code, out, _ = run("diagnose", table, "-t", "churn", "--json", *said)
    kinds = {
        column["name"]: (column["kind"], column["note"]) for column in json.loads(out)["columns"]
    }
    assert code == 0
    assert [kinds[name][0] for name in ("colour", "age", "id")] == [
        "dropped",
        "categorical",
        "numeric",
    ]
    assert kinds["age"][1] == "49 values"
    code, _, err = run("label", table, "-t", "churn", "--missing", "hue=red")
    assert (code, err) == (
        1,
        "chary: There is no column 'hue' for the code 'hue=red'; " + err.split("; ", 1)[1],
    )


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
    assert re.search(
        r"customers.labeled.csv and .*customers.report.html exist already; pass --force", err
    )
    # Of two faults the first.
    assert "did you mean 'churn'?" in run("label", table, "-t", "chrun")[2]
    assert run("label", table, "-t", "churn", "--force", *QUICK)[0] == 0
    assert report.read_text() != "mine"


# ---------------------------------------------------------------- files of every kind

needs_excel = pytest.mark.skipif(not find_spec("fastexcel"), reason="needs chary[excel]")


@pytest.mark.parametrize("kind", ["parquet", "jsonl.gz", pytest.param("xlsx", marks=needs_excel)])
def test_a_table_of_any_kind_is_labelled_in_kind(table, tmp_path, run, kind):
    frame = pl.read_csv(table, separator=";", decimal_comma=True)
    from chary.tables import Table, read_table, write_table

    path = tmp_path / f"shop.{kind}"
    with path.open("wb") as file:
        write_table(Table(frame, "shop").written_as(kind), {}, file)
    out = tmp_path / "made" / "here"
    code, said, err = run("label", path, "-t", "churn", *QUICK, "--out", out)
    assert (code, err) == (0, "")
    names = sorted(file.name for file in out.iterdir())
    assert names == [f"shop.labeled.{kind}", "shop.model.chary", "shop.report.html"]
    code, said, err = run("predict", out / "shop.model.chary", path, "--out", out)
    assert (code, err) == (0, "")
    assert f"shop.predicted.{kind}" in said
    (out / f"shop.labeled.{kind}").rename(tmp_path / f"again.{kind}")
    again = _read_whatever(tmp_path / f"again.{kind}")
    before = read_table(path).frame
    assert again.columns == [*before.columns, "chary_label", "chary_confidence", "chary_source"]
    assert again.select(before.columns).equals(before)
    assert again.select(before.columns).schema == before.schema


def _read_whatever(path):
    from chary.tables import open_source

    return open_source(path, reserved=()).read().frame


def test_another_format_can_be_asked_for(table, run):
    code, _, err = run("label", table, "-t", "churn", *QUICK, "--format", "jsonl.gz")
    assert (code, err) == (0, "")
    lines = (
        gzip.decompress(table.with_name("customers.labeled.jsonl.gz").read_bytes())
        .decode()
        .splitlines()
    )
    assert json.loads(lines[0])["age"] == "20,5"
    assert json.loads(lines[1])["chary_label"] == "yes"
    code, _, err = run(
        "predict", table.with_name("customers.model.chary"), table, "--format", "parquet"
    )
    assert code == 0
    assert pl.read_parquet(table.with_name("customers.predicted.parquet")).height == 80


def test_what_a_format_cannot_hold_is_said_before_any_work(table, tmp_path, run):
    frame = pl.read_csv(table, separator=";", decimal_comma=True).with_columns(v=pl.lit([1, 2]))
    frame.write_parquet(tmp_path / "t.parquet")
    code, _, err = run(
        "label", tmp_path / "t.parquet", "-t", "churn", "--format", "csv", "--out", tmp_path / "out"
    )
    assert code == 1
    assert "csv files cannot hold column 'v', which is List(Int64); choose --format parquet." in err
    assert not (tmp_path / "out").exists()


def test_several_files_are_one_table_and_said(table, tmp_path, run):
    header, *rows = table.read_text().splitlines()
    folder = tmp_path / "months"
    folder.mkdir()
    for k, name in enumerate(["jan.csv", "feb.csv"]):
        (folder / name).write_text("\n".join([header, *rows[40 * k : 40 * k + 40]]) + "\n")
    code, out, _ = run("label", folder / "jan.csv", folder / "feb.csv", "-t", "churn", *QUICK)
    assert code == 0
    assert "2 files were read as one table, in this order: jan.csv, feb.csv." in re.sub(
        r"\s+", " ", out
    )
    written = (folder / "jan-and-1-more.labeled.csv").read_text().splitlines()
    assert [line.rsplit(";", 3)[0] for line in written] == [header, *rows]
    assert "2 files were read as one table" in (folder / "jan-and-1-more.report.html").read_text()
    assert f"auditdraw{folder}/jan.csv{folder}/feb.csv--targetchurn" in re.sub(r"[\s│]+", "", out)
    code, out, _ = run(
        "label", f"{folder}/*.csv", "-t", "churn", *QUICK, "--json", "--out", tmp_path
    )
    assert code == 0
    assert any("Skipped by name" in note for note in json.loads(out)["notes"])
    assert (tmp_path / "feb-and-1-more.labeled.csv").exists()
    (folder / "mar.csv").write_text("id;age;churn\n1;2;3\n")
    code, _, err = run("label", folder, "-t", "churn")
    assert code == 1
    assert "feb.csv has a column 'colour' and mar.csv has not" in err


def test_standard_input_goes_to_the_current_folder(table, tmp_path, run, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    code, _, err = run("label", "-", "-t", "churn", *QUICK)
    assert (code, err) == (0, "")
    assert {path.name for path in folder.iterdir()} == {
        "stdin.labeled.csv",
        "stdin.model.chary",
        "stdin.report.html",
    }
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    code, _, err = run("label", "-", "-t", "churn", *QUICK)
    assert code == 1
    assert "stdin.labeled.csv, stdin.model.chary and stdin.report.html exist already" in err


# ---------------------------------------------------------------- the target


def test_a_sheet_is_chosen_by_name(table, tmp_path, run):
    pytest.importorskip("fastexcel", reason="needs chary[excel]")
    import xlsxwriter

    with xlsxwriter.Workbook(tmp_path / "w.xlsx") as book:
        for name in ("Data", "Notes"):
            sheet = book.add_worksheet(name)
            for i, line in enumerate(table.read_text().splitlines()):
                sheet.write_row(i, 0, line.split(";"))
    code, _, err = run("label", tmp_path / "w.xlsx", "-t", "churn")
    assert (code, "has the sheets 'Data', 'Notes'; name one with --sheet." in err) == (1, True)
    code, out, _ = run("label", tmp_path / "w.xlsx", "-t", "churn", "--sheet", "Data", *QUICK)
    assert code == 0
    assert "--sheet Data" in re.sub(r"[\s│]+", " ", out)
    assert zipfile.is_zipfile(tmp_path / "w.labeled.xlsx")


def test_probabilities_are_added_when_asked_for(table, run):
    code, _, err = run("label", table, "-t", "churn", *QUICK, "--probabilities")
    assert (code, err) == (0, "")
    labeled = pl.read_csv(table.parent / "customers.labeled.csv", separator=";")
    assert labeled.columns[-2:] == ["chary_p_no", "chary_p_yes"]
    assert (labeled["chary_p_no"] + labeled["chary_p_yes"]).is_between(0.9998, 1.0002).all()
    assert ((labeled["chary_p_yes"] > 0.5) == (labeled["chary_label"] == "yes")).all()
    given = labeled.filter(pl.col("chary_source") == "given")
    assert set(given["chary_p_yes"]) == {0.0, 1.0}
    code, _, err = run("predict", table.parent / "customers.model.chary", table, "--probabilities")
    assert (code, err) == (0, "")
    predicted = pl.read_csv(table.parent / "customers.predicted.csv", separator=";")
    assert predicted.columns[-2:] == ["chary_p_no", "chary_p_yes"]
    table.write_text(table.read_text().replace("colour", "chary_p_no", 1))
    code, _, err = run("label", table, "-t", "churn", "--force", "--probabilities")
    assert code == 1
    assert "already has a column 'chary_p_no'" in err


def test_cells_that_decide_are_added_when_asked_for_and_are_no_formula(tmp_path, run):
    rng = np.random.default_rng(0)
    x = rng.normal(size=120).round(2)
    y = [("yes" if value > 0 else "no") if i < 60 else None for i, value in enumerate(x)]
    path = tmp_path / "t.csv"
    pl.DataFrame({"=1+1": x, "z": rng.normal(size=120).round(2), "y": y}).write_csv(path)
    code, _, err = run("label", path, "-t", "y", *QUICK, "--explain")
    assert (code, err) == (0, "")
    written = pl.read_csv(tmp_path / "t.labeled.csv")["chary_why"]
    assert written[:60].null_count() == 60
    assert written.drop_nulls().str.starts_with("'=1+1 = ").mean() > 0.8
    assert not written.drop_nulls().str.starts_with("=").any()
    code, _, err = run("label", tmp_path / "t.labeled.csv", "-t", "y")
    assert code == 1
    assert "chary_label" in err


# ----------------------------------------------------------- outputs: found out before, all or none


def never(*args, **kwargs):
    raise AssertionError("the work has begun")


def test_outputs_that_cannot_be_written_are_found_before_the_work(table, run, monkeypatch):
    monkeypatch.setattr(chary.labelling, "label_table", never)
    long = table.with_name("n" * 245 + ".csv")
    table.rename(long)
    for words, said in (
        ([], "is too long; give the table or folder a shorter one."),
        (["--out", "/proc/self"], "is a system folder"),
        (["--out", "/dev"], "is a system folder"),
    ):
        code, out, err = run("label", long, "-t", "churn", *words)
        assert (code, out) == (1, "")
        assert said in err
    long.rename(table)
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: os.write(os.open("/dev/full", os.O_WRONLY), b"x")
    )
    code, _, err = run("label", table, "-t", "churn", "--out", table.parent / "new")
    assert "(no space left on device); fix that, or choose another folder." in err
    assert [path.name for path in table.parent.iterdir()] == ["customers.csv"]


def test_a_sheet_of_doubtful_rows_keeps_its_answers(table, run):
    words = ["label", table, "-t", "churn", *QUICK, "--check-sheet"]
    assert run(*words)[0] == 0
    check = table.with_name("customers.check.csv")
    sheet = pl.read_csv(check, infer_schema=False, separator=";")
    answered = sheet.with_columns(churn=pl.Series(["yes", "no", *[None] * (sheet.height - 2)]))
    answered.write_csv(check, separator=";")
    before = check.read_bytes()
    for more in ([], ["--force"]):
        code, _, err = run(*words, *more)
        assert code == 1
        assert "customers.check.csv holds 2 answers" in err
        assert "pass it as --checked" in err
        assert check.read_bytes() == before
    assert run(*words, "--force", "--discard-answers")[0] == 0
    assert table.with_name("customers.discarded-1.check.csv").read_bytes() == before
    assert check.read_bytes() != before


def test_labels_that_look_like_formulas_go_all_the_way_and_come_back(tmp_path, run, keys):
    """Try every text column that chary adds: labels, guesses, cells of sheets, and reasons."""
    names = ["\uff1dyes", "-5", "'=no", "@x"]
    rows = [f"{10 * (i % 4) + i % 3},={i},{names[i % 4] if i % 5 else ''}" for i in range(160)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["=x,mine,y", *rows]) + "\n", encoding="utf-8")
    plain = ["label", path, "-t", "y", *QUICK, "--drop", "mine"]
    code, _, err = run(*plain, "--explain", "--check-sheet")
    assert (code, err) == (0, "")
    written = pl.read_csv(tmp_path / "t.labeled.csv", infer_schema=False)
    assert set(written["chary_label"]) == {"'\uff1dyes", "-5", "''=no", "'@x"}
    assert written["mine"].to_list() == [f"={i}" for i in range(160)]  # the user's own cells stay
    assert set(written["chary_why"].drop_nulls().str.slice(0, 3)) == {"'=x"}
    to_check = pl.read_csv(tmp_path / "t.check.csv", infer_schema=False)
    assert set(to_check["chary_guess"]) <= {"'\uff1dyes", "-5", "''=no", "'@x"}
    assert to_check["mine"].str.starts_with("'=").all()
    found = read_labels_under_test(
        open_source([str(tmp_path / "t.labeled.csv")], reserved=()),
        JudgeOptions(labels=("chary_label",)),
    )
    assert found.classes == sorted(names)
    assert found.of(written["chary_label"]) == [names[i % 4] for i in range(160)]
    run("audit", "draw", path, "-t", "y", "-k", 6)
    for pressed in ("12q", "34q", "12"):  # each start reads what the one before wrote
        keys(pressed)
        assert run("audit", "fill", tmp_path / "t.audit.csv")[0] == 0
    sheet = read_table(tmp_path / "t.audit.csv")
    answers = sheet.frame["y"].to_list()
    assert answers == [
        written for name in [*sorted(names), *sorted(names)[:2]] for written in as_written[name]
    ]


as_written = {"\uff1dyes": ["'\uff1dyes"], "-5": ["-5"], "'=no": ["''=no"], "@x": ["'@x"]}


def large_table(path, n=1500):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    y = np.where(x + 0.3 * rng.normal(size=n) > 0.5, "yes", "no").astype(object)
    y[~((np.abs(x) > 1) & (rng.random(n) < 0.2))] = None
    pl.DataFrame({"name": [f"n{i}" for i in range(n)], "x": x.round(4), "y": y.tolist()}).write_csv(
        path
    )
    return path


def test_a_table_that_does_not_fit_is_labelled_in_parts(tmp_path, run, monkeypatch):
    path = large_table(tmp_path / "t.csv")
    told = ("--class-prior", "yes=30%", "--class-prior", "no=70%", "--json", "--seed", 1, *QUICK)
    code, out, err = run("label", path, "-t", "y", "--out", tmp_path / "a", *told)
    assert (code, err) == (0, "")
    at_once = json.loads(out)
    assert at_once["sample"] is None
    monkeypatch.setattr("chary.tables.source._GROWTH", 10**6)  # as if it took that much
    code, out, err = run(
        "label", path, "-t", "y", "--out", tmp_path / "b", "--memory", "4GB", *told
    )
    assert (code, err) == (0, "")
    in_parts = json.loads(out)
    assert in_parts["labels"] == at_once["labels"] == {"no": 1050, "yes": 450}
    assert in_parts["sample"] == at_once["sources"]["predicted"]
    assert any("read in parts" in note for note in in_parts["notes"])
    names = {one.name for one in (tmp_path / "b").iterdir()}
    assert names == {"t.labeled.csv", "t.model.chary", "t.report.html"}
    for name in ("t.labeled.csv", "t.model.chary"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    report = (tmp_path / "b" / "t.report.html").read_text()
    assert "read in parts" in report
    assert "other rows, drawn at random." in report


def test_a_table_in_parts_learns_from_a_sample_and_can_be_written_in_other_formats(
    tmp_path, run, monkeypatch
):
    path = large_table(tmp_path / "t.csv")
    monkeypatch.setattr(Source, "exceeds", lambda self, memory: True)
    few_rows = partial(chary.labelling.label_table, defaults=Defaults(sample_rows=200))
    monkeypatch.setattr(chary.labelling, "label_table", few_rows)
    asked = ("--format", "parquet", "--check-sheet", "--probabilities", "--learner", "linear")
    code, out, err = run("label", path, "-t", "y", *asked)
    assert (code, err) == (0, "")
    assert "200 of the" in " ".join(out.split())
    found = pl.read_parquet(tmp_path / "t.labeled.parquet")
    assert found.height == 1500
    assert found.columns[-2:] == ["chary_p_no", "chary_p_yes"]
    # A sheet that was drawn from the table, and one of rows to check, go with it.
    assert run("audit", "draw", path, "-t", "y", "-k", 20)[0] == 0
    for name, option in (("t.audit.csv", "--audit"), ("t.check.csv", "--checked")):
        sheet = pl.read_csv(tmp_path / name, infer_schema=False).with_columns(
            y=pl.when(pl.col("x").cast(float) > 0.5).then(pl.lit("yes")).otherwise(pl.lit("no"))
        )
        sheet.write_csv(tmp_path / name)
        asked = (option, tmp_path / name, "--learner", "linear", "--out", tmp_path / option[2:])
        code, _, err = run("label", path, "-t", "y", *asked)
        assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--memory", "100MB"), "needs 600 MiB at least, and 95 MiB are allowed; pass more with"),
        (("-t", "z"), "no column 'z'"),
        (("--memory", "much"), "is not a size"),
    ],
)
def test_what_cannot_be_done_in_parts_is_one_sentence(
    tmp_path, run, options, sentence, monkeypatch
):
    path_of_table = large_table(tmp_path / "t.csv")
    monkeypatch.setattr(Source, "exceeds", lambda self, memory: True)
    code, _, err = run(
        "label", path_of_table, "-t", "y", "--out", tmp_path / "new" / "out", *options
    )
    assert code != 0
    assert sentence in " ".join(err.split())
    assert "Traceback" not in err
    # Folders made for outputs stay, files do not.
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [path_of_table]


def test_many_classes_of_few_rows_are_no_warning_of_a_library(tmp_path, run):
    names = [f"class {i // 3}" if (i % 3 and i < 24) or i < 12 else None for i in range(120)]
    columns = {
        "x": [i * 7 % 120 for i in range(120)],
        "z": [i * 11 % 17 for i in range(120)],
        "y": names,
    }
    path = tmp_path / "t.csv"
    pl.DataFrame(columns).write_csv(path)
    assert run("label", path, "-t", "y", *QUICK)[::2] == (0, "")


def test_how_to_name_codes_for_missing_is_said_once(tmp_path, run):
    rng = np.random.default_rng(0)
    answers = {f"Q{i}": rng.choice([1, 2, 3, 4, 5, 98, 99], size=90).tolist() for i in range(1, 31)}
    colours = [["red", "blue", None][i % 3] for i in range(90)]
    pl.DataFrame(
        {**answers, "age": [20 + i % 40 + 939 * (i % 9 == 4) for i in range(90)], "y": colours}
    ).with_columns(
        pl.when(pl.col("age") > 900).then(999).otherwise(pl.col("age")).alias("age")
    ).write_csv(tmp_path / "t.csv")
    for verb, more in (("label", ("--learner", "linear")), ("diagnose", ())):
        code, out, _ = run(verb, tmp_path / "t.csv", "-t", "y", *more)
        assert code == 0
        hint = " ".join(out.split()).split("If such numbers stand for missing values, pass ")
        assert len(hint) == 2
        assert hint[1].startswith("--missing Q1=99 --missing Q1=98 --missing Q2=99 ")
        assert "and so on, or --missing CODE for every column." in hint[1]
    out = run(
        "label",
        tmp_path / "t.csv",
        "-t",
        "y",
        "--missing",
        "98",
        "--missing",
        "99",
        "--learner",
        "linear",
        "--force",
    )[1]
    assert "Q1" not in out


def test_all_problems_of_a_file_are_told_in_one_run(table, run):
    text = table.read_text().replace(";yes\n", ";unknown\n", 3)
    table.write_text(text)
    table.with_name("customers.report.html").write_text("mine")
    code, _, err = run(
        "label", table, "-t", "churn", "--drop", "agee", "--missing", "colr=red", "--text", "hue"
    )
    assert code == 1
    for problem in (
        "no column 'agee' to override; did you mean 'age'?",
        "no column 'hue' to override",
        "There is no column 'colr' for the code 'colr=red'; did you mean 'colour'?",
        "pass --unlabeled unknown if that means no label",
        "customers.report.html exists already; pass --force",
    ):
        assert problem in err


def test_all_odd_lines_of_a_file_are_told_in_one_run(table, run):
    lines = table.read_text().splitlines()
    for line in (4, 9, 30):
        lines[line - 1] += ";surplus"
    table.write_text("\n".join(lines).replace(",", "."))
    assert (
        "line 4: 5 cells where the header has 4 (also 2 more: line 9, 30);"
        in run("label", table, "-t", "churn")[2]
    )
    lines[0] = "id;id;colour;colour"
    table.write_text("\n".join(lines[:3]))
    assert (
        "columns 1 and 2 are both called 'id'; columns 3 and 4 are both called 'colour'"
        in run("label", table, "-t", "churn")[2]
    )


def test_slips_among_labels_are_asked_about_and_merged_only_if_asked(table, run, keys):
    text = table.read_text().replace(";yes", ";yess", 6)
    table.write_text(text)
    said = "'yess' (6 rows) may be a slip for 'yes'"
    option = "--same yess=yes"
    for verb, more in (("diagnose", ()), ("label", QUICK)):
        out = " ".join(run(verb, table, "-t", "churn", *more)[1].split())
        assert said in out
        assert f"pass {option}." in out
    page = (table.parent / "customers.report.html").read_text()
    assert "may be a slip for" in page
    assert option in page

    code, out, _ = run("label", table, "-t", "churn", *QUICK, "--force", "--same", "yess=yes")
    assert (code, "may be a slip" in out) == (0, False)
    assert "'yes' and 'yess' were read as one class" in " ".join(out.split())
    draw = next(line for line in out.splitlines() if line.startswith("Next:"))
    assert option in draw
    labeled = pl.read_csv(table.parent / "customers.labeled.csv", separator=";")
    assert set(labeled["chary_label"]) == {"yes", "no"}
    assert (labeled["churn"] == "yess").sum() == 6  # the user's cells stay
    model = chary.model_file.load_model(table.parent / "customers.model.chary")
    assert model[-1].classes_.tolist() == ["no", "yes"]

    # The sheet remembers it, and an answer with the same slip is read as the class.
    assert run(*draw.split()[2:])[0] == 0
    sheet = table.parent / "customers.audit.csv"
    frame = pl.read_csv(sheet, separator=";", infer_schema=False)
    answers = pl.Series("churn", ["yess"] + ["no"] * (frame.height - 1))
    frame.with_columns(answers).write_csv(sheet, separator=";")
    keys(["q"])
    out = run("audit", "fill", sheet)[1]
    assert option in out
    code, out, err = run(
        "label", table, "-t", "churn", *QUICK, "--force", "--same", "yess=yes", "--audit", sheet
    )
    assert (code, err) == (0, "")
    assert "The answer 'yess' was read as 'yes'." in out
    assert "NEW CLASS" not in out

    code, _, err = run("label", table, "-t", "churn", *QUICK, "--force", "--same", "yes=yess=")
    assert code == 1
    assert err.count("\n") == 1


def test_the_target_has_no_kind_to_choose(table, run):
    code, out, err = run("label", table, "-t", "churn", "--drop", "churn")
    assert (code, out) == (1, "")
    assert "Column 'churn' is the target, which is read as it is: leave out --drop churn." in err


def test_a_reason_does_not_name_a_code_that_stands_for_a_missing_value(tmp_path, run):
    rng = np.random.default_rng(0)
    csat = rng.choice([1, 2, 3, 4, 5, 9], 200)
    labels = ["" if i >= 100 else "left" if csat[i] == 9 else "stays" for i in range(200)]
    pl.DataFrame({"csat": csat, "x": rng.normal(size=200), "y": labels}).write_csv(
        tmp_path / "t.csv"
    )
    words = ["-t", "y", "--missing", "csat=9", "--explain", "--learner", "linear"]
    assert run("label", tmp_path / "t.csv", *words)[0] == 0
    labelled = open_source(tmp_path / "t.labeled.csv", reserved=()).read().frame
    reasons = labelled["chary_why"].drop_nulls()
    assert reasons.str.contains("csat is missing").any()
    assert not reasons.str.contains("csat = 9").any()
