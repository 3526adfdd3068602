"""``chary study`` and ``chary datasets``: from a fresh clone to tables, figures and one-sentence errors."""

import gzip
import json
import re

import pytest
from rich.console import Console
from typer.testing import CliRunner

from chary.cli import study as study_cli
from chary.cli.study import datasets_app, study_app
from chary.studies import datasets
from chary.studies.paper import STUDIES
from chary.studies.runner import Interrupted, Progress
from chary.studies.store import Store, key_of


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """A directory of its own and a machine without data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHARY_DATA", raising=False)
    monkeypatch.setenv("CHARY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("NO_COLOR", "1")


def call(app, *words, exit_code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == exit_code, result.output
    return re.sub(r"\s+", " ", result.output)


@pytest.fixture
def finished(tmp_path):
    """Digits under both labellings, two seeds, as if they had been run."""
    store = Store(tmp_path / "studies" / "cells")
    for name in ("table-ssb", "table-iid"):
        for cell in STUDIES[name].cells(["digits"], 2):
            accuracy = 0.7 + 0.01 * ("tsim" in cell.method) + 0.1 * (cell.labeling == "iid") + 1e-3 * cell.seed
            store.write(cell.content(), {"accuracy": accuracy}, {"cpu_seconds": 61.0})
    return store


def test_from_a_fresh_clone_to_the_table(tmp_path):
    """The first command of the documentation, with one seed."""
    words = ("table-ssb", "--datasets", "digits", "--seeds", "1")
    only_erm = call(study_app, "run", *words, "--methods", "erm", "--jobs", "1")
    assert "1 cells worked out, 0 were there, 0 failed." in only_erm
    assert "7 cells worked out, 1 were there, 0 failed." in call(study_app, "run", *words, "--jobs", "1")
    assert "0 cells worked out, 8 were there, 0 failed." in call(study_app, "run", *words)
    shown = call(study_app, "report", *words)
    assert "Digits" in shown
    assert "75.7 ± 4.6" in shown  # the paper's
    written = {path.suffix for path in (tmp_path / "studies" / "partial").iterdir()}
    assert written == {".md", ".csv", ".png", ".svg"}
    assert not (tmp_path / "studies" / "results").exists()  # which is for whole studies


def test_a_report_gives_the_paper_wins_and_recovered_share(finished, tmp_path):
    shown = call(study_app, "report", "table-ssb", "--datasets", "digits", "--seeds", "2", "--out", "out")
    assert "T-similarity beats softmax in 3 of 3 pairs" in shown
    assert "PL T-sim wins back 10 % of the accuracy lost to the bias" in shown
    first = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    call(study_app, "report", "table-ssb", "--datasets", "digits", "--seeds", "2", "--out", "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == first


def test_a_narrow_window_keeps_the_table_whole(finished, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(study_app, ["report", "table-ssb", "--datasets", "digits", "--seeds", "2"])
    row = next(line for line in result.output.splitlines() if "Digits" in line)
    assert "…" not in row
    assert len(row.split()) == 1 + len(STUDIES["table-ssb"].methods)
    assert max(map(len, result.output.splitlines())) <= 80


def test_status_counts_done_missing_and_failed(finished):
    cell = STUDIES["table-ssb"].cells(["digits"], 3)[-1]
    finished.fail(cell.content(), "its worker was killed by SIGKILL, 3 times")
    shown = call(study_app, "status", "table-ssb", "--datasets", "digits", "--seeds", "3")
    assert "Digits 16 1 7 16 min 16 s" in shown
    assert "Failed: Digits: its worker was killed by SIGKILL, 3 times" in shown
    path = finished.path(key_of(STUDIES["table-ssb"].cells(["digits"], 1)[0].content()))
    path.write_text("{")
    shown = call(study_app, "status", "table-ssb", "--datasets", "digits", "--seeds", "3")
    assert "1 damaged files were set aside" in shown


def test_list_shows_every_study_and_how_far_it_is(finished):
    shown = call(study_app, "list")
    assert all(name in shown for name in STUDIES)
    assert "936 16" in shown


def test_an_export_can_be_reported_without_the_store(finished, tmp_path):
    words = ("--datasets", "digits", "--seeds", "2")
    assert "16 cells in all.json.gz" in call(study_app, "export", "table-ssb", "all.json.gz", *words)
    rows = json.loads(gzip.decompress((tmp_path / "all.json.gz").read_bytes()))
    assert {row["cell"]["method"] for row in rows} == set(STUDIES["table-ssb"].methods)
    direct = call(study_app, "report", "table-ssb", *words)
    again = call(study_app, "report", "table-ssb", *words, "--from", "all.json.gz", "--store", "nowhere")
    assert again.split("•")[0] == direct.split("•")[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "table-7"), "There is no study 'table-7'; choose one of table-ssb, table-iid"),
        (("run", "table-ssb"), "Not on this machine: cod_rna, coil20, dna"),
        (("run", "table-ssb", "--datasets", "iris"), "There is no data set 'iris'"),
        (("run", "table-ssb", "--datasets", "gone.npz"), "There is no file gone.npz"),
        (("run", "table-ssb", "--datasets", "digits", "--engine", "spark"), "choose 'process' or 'dask'"),
        (("run", "table-ssb", "--methods", "pl,erm"), "table-ssb has no method 'pl'; choose of erm, pl-softmax"),
        (("report", "table-ssb"), "Nothing of table-ssb is finished"),
        (("export", "figure-bias", "x.json.gz"), "Nothing of figure-bias is finished"),
        (("report", "table-ssb", "--from", "none.json.gz"), "none.json.gz"),
        (("status", "figure"), "There is no study 'figure'"),
    ],
)
def test_errors_are_one_sentence(words, message):
    output = call(study_app, *words, exit_code=1)
    assert message in output
    assert "Traceback" not in output


def test_failed_cells_make_the_exit_status_1(monkeypatch):
    cell = STUDIES["table-ssb"].cells(["digits"], 1)[0]
    outcome = Progress(8, 0, n_done=7, failed=[(cell, "ValueError: no luck")], set_aside=2)
    monkeypatch.setattr(study_cli, "run", lambda *args, **options: outcome)
    output = call(study_app, "run", "table-ssb", "--datasets", "digits", exit_code=1)
    assert "7 cells worked out, 0 were there, 1 failed." in output
    assert "Failed: Digits, erm, seed 0: ValueError: no luck" in output
    assert "2 damaged files" in output


@pytest.mark.parametrize(("signum", "exit_code"), [(2, 130), (15, 143)])
def test_an_interrupted_run_says_how_to_go_on(monkeypatch, signum, exit_code):
    def interrupted(*args, **options):
        raise Interrupted(signum)

    monkeypatch.setattr(study_cli, "run", interrupted)
    assert "run again to resume" in call(
        study_app, "run", "table-ssb", "--datasets", "digits", exit_code=exit_code
    )


def test_the_display_shows_done_running_failed_rate_and_time_left():
    console = Console(force_terminal=True, width=140, record=True)
    display = study_cli._display("table-ssb")
    progress = Progress(100, 20, n_done=30, n_running=2)
    progress.started -= 60
    line = display.line(progress).plain
    assert "50/100 done, 2 running, 0 failed, 30 cells/min, 1 min 40 s left" in line
    assert display.live is None  # quiet: the tests have no terminal
    with display as show:
        show(progress)
    console.print(display.line(Progress(4, 4)))
    assert "4/4 done" in console.export_text()


def test_datasets_shows_facts_origin_licence_and_cautions():
    shown = call(datasets_app)
    assert "mushrooms 8124 112 2 79 2 no" in shown
    assert "digits 1797 64 10 99 0.5 yes" in shown
    assert "Licence: CC BY 4.0" in shown
    assert "phishing" in shown
    assert "5270 repeated rows" in shown


def test_fetch_says_where_or_why_not(monkeypatch):
    assert "nothing to do" in call(datasets_app, "fetch", "digits")

    def refuse(name):
        raise datasets.DatasetError(f"{name} could not be downloaded; nothing was kept, try again.")

    monkeypatch.setattr(datasets, "fetch", refuse)
    output = call(datasets_app, "fetch", "all", exit_code=1)
    assert output.count("could not be downloaded") == 12
