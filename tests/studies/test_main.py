"""``python -m studies``: from a fresh clone to tables, figures and one-sentence errors."""

import gzip
import re

import pytest

import studies
from studies import GROUPS, NAMES, STUDIES, datasets
from studies.__main__ import _display, main
from studies.results import import_results
from studies.runner import Interrupted, Progress
from studies.store import Store


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """A directory of its own and a machine without data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHARY_DATA", raising=False)
    monkeypatch.setenv("CHARY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def call(capsys):
    """Type words after ``python -m studies``; what is printed comes back, its spaces made one."""

    def run(*words, exit_code=0, raw=False):
        code = main([str(word) for word in words])
        printed = capsys.readouterr()
        assert code == exit_code, printed.err
        assert not printed.err or printed.err.startswith("studies: ")
        text = printed.out + printed.err
        return text if raw else re.sub(r"\s+", " ", text)

    return run


@pytest.fixture
def finished(tmp_path):
    """Digits under both labellings, two seeds, as if they had been run."""
    store = Store(tmp_path / "studies" / "cells")
    for name in ("table-ssb", "table-iid"):
        for cell in STUDIES[name].cells(["digits"], 2):
            accuracy = (
                0.7
                + 0.01 * ("tsim" in cell.method)
                + 0.1 * (cell.labeling == "iid")
                + 1e-3 * cell.seed
            )
            store.write(cell.content(), {"accuracy": accuracy}, {"cpu_seconds": 61.0})
    return store


def test_from_a_fresh_clone_to_the_table(call, tmp_path, inline):
    """The first command of the documentation, with one seed and few methods."""
    words = ("table-ssb", "--datasets", "digits", "--seeds", "1")
    ran = call("run", *words, "--methods", "erm", "--jobs", "1")
    hint = "report table-ssb --datasets digits --methods erm --seeds 1"
    assert f"1 cells worked out, 0 were there, 0 failed. Next: python -m studies {hint} " in ran
    ran = call("run", *words, "--methods", "erm,pl-softmax", "--jobs", "1")
    assert (
        "1 cells worked out, 1 were there, 0 failed. Cells that were there are reused from "
        "studies/cells; " in ran
    )
    ran = call("run", *words, "--methods", "erm", "--jobs", "1", "--again")
    assert "1 cells worked out, 0 were there, 0 failed. Next:" in ran
    ran = call("run", *words, "--methods", "erm", "--jobs", "1", "--store", "elsewhere/cells")
    assert (
        f"Next: python -m studies {hint.replace(' --seeds', ' --store elsewhere/cells --seeds')} "
        in ran
    )
    call("report", *words, "--store", "elsewhere/cells")
    assert (tmp_path / "elsewhere" / "partial" / "table-ssb" / "report.md").exists()
    shown = call("report", *words)
    assert "Digits" in shown
    assert "75.7 ± 4.6" in shown  # the paper's
    written = {path.name for path in (tmp_path / "studies" / "partial" / "table-ssb").iterdir()}
    assert written == {
        "report.md",
        "report.tex",
        "results.csv",
        "cells.json.gz",
        "figure.png",
        "figure.pdf",
    }
    assert not (tmp_path / "studies" / "results").exists()  # which is for whole studies


def test_list_shows_every_study_and_how_far_it_is(call, finished):
    shown = call("list")
    assert all(name.removesuffix("-authors") in shown for name in NAMES)
    assert "1053 18" in shown
    groups = ["Tables of the paper", "Figures of the paper", "Beyond the paper", "Real tables"]
    assert sorted(groups, key=shown.index) == groups == list(GROUPS)
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(name for name in NAMES if not name.endswith("-authors"))


def test_run_and_report_take_the_same_slice(call, finished, tmp_path):
    words = (
        "table-ssb",
        "--datasets",
        "digits",
        "--methods",
        "erm,msta-tsim",
        "--protocol",
        "authors",
    )
    ran = call("run", *words, "--seeds", "2")
    assert "0 cells worked out, 4 were there, 0 failed." in ran
    hint = ran.partition("python -m studies ")[2].split()
    assert hint == [
        "report",
        "table-ssb-authors",
        "--datasets",
        "digits",
        "--methods",
        "erm,msta-tsim",
        "--seeds",
        "2",
    ]
    shown = call(*hint)
    assert "Data set ERM MSTA T-sim" in re.sub(r"[^\w-]+", " ", shown)
    assert "PL" not in shown.partition("Written")[0].partition("•")[0]
    assert (
        len(
            import_results(tmp_path / "studies" / "partial" / "table-ssb-authors" / "cells.json.gz")
        )
        == 4
    )


def test_the_cells_of_a_report_can_be_put_into_another_store_and_serve_both_protocols(
    call, finished, tmp_path
):
    words = ("--datasets", "digits", "--seeds", "2", "--out", "out")
    direct = call("report", "table-ssb", *words)
    path = tmp_path / "out" / "table-ssb" / "cells.json.gz"
    assert "18 cells put into other, 0 were there." in call("import", path, "--store", "other")
    assert "0 cells put into other, 18 were there." in call("import", path, "--store", "other")
    again = call("report", "table-ssb", *words, "--store", "other")
    assert again.split("•")[0] == direct.split("•")[0]
    assert "as the authors seem to have run it" in call(
        "report", "table-ssb-authors", *words, "--store", "other"
    )
    shared = import_results(tmp_path / "out" / "table-ssb-authors" / "cells.json.gz")
    assert {cell.method.partition("-")[0] for cell, _ in shared} == {
        "erm",
        "msta",
    }  # PL and CSTA are not the same


@pytest.mark.parametrize(
    "content",
    [b"no file of chary", gzip.compress(b"[1]", mtime=0), gzip.compress(b"{}" * 99, mtime=0)[:20]],
)
def test_a_file_without_cells_is_refused(call, tmp_path, content):
    (tmp_path / "cells.json.gz").write_bytes(content)
    shown = call("import", "cells.json.gz", exit_code=1)
    assert "cells.json.gz holds no exported cells of studies, or is damaged" in shown
    assert not (tmp_path / "studies" / "cells").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "table-7"), "There is no study 'table-7'; choose one of table-ssb, table-iid"),
        (("run", "table-ssb"), "Not on this machine: cod_rna, coil20, dna"),
        (("run", "table-ssb", "--datasets", "iris"), "There is no data set 'iris'"),
        (("run", "table-ssb", "--datasets", "gone.npz"), "There is no file gone.npz"),
        (
            ("run", "table-ssb", "--methods", "pl,erm"),
            "table-ssb has no method 'pl'; choose from erm, pl-softmax",
        ),
        (("report", "table-ssb"), "Nothing of this is finished"),
        (("run", "audit", "--protocol", "authors"), "The study audit has one protocol only"),
        (
            ("run", "table-ssb", "--protocol", "theirs"),
            "There is no protocol 'theirs'; choose ours or authors.",
        ),
        (("report", "table-ssb-authors"), "run `python -m studies run table-ssb-authors`"),
        (("run", "tables"), "or choose with --datasets tumours"),
        (("import", "none.json.gz"), "none.json.gz"),
    ],
)
def test_errors_are_one_sentence(call, words, message):
    output = call(*words, exit_code=1)
    assert message in output
    assert output.startswith("studies: ")
    assert "Traceback" not in output


def test_failed_cells_make_the_exit_status_1(call, monkeypatch):
    cell = STUDIES["table-ssb"].cells(["digits"], 1)[0]
    outcome = Progress(
        8, 0, n_done=6, failed=[(cell, "ValueError: no luck\nTraceback: line 7")] * 2, n_damaged=2
    )
    monkeypatch.setattr("studies.run", lambda *args, **options: outcome)
    output = call("run", "table-ssb", "--datasets", "digits", exit_code=1)
    assert "6 cells worked out, 0 were there, 2 failed." in output
    assert "Failed: Digits, erm, seed 0: ValueError: no luck" in output
    assert output.count("Traceback: line 7") == 1  # the same mistake is shown once
    assert "2 damaged files" in output


def test_datasets_shows_facts_origin_licence_and_cautions(call):
    shown = call("datasets")
    assert "mushrooms 8124 112 2 79 2 no" in shown
    assert "digits 1797 64 10 99 0.5 yes" in shown
    assert "Licence: CC BY 4.0" in shown
    assert "phishing" in shown
    assert "5270 repeated rows" in shown


def test_fetch_says_where_or_why_not(call, monkeypatch):
    assert "nothing to do" in call("datasets", "fetch", "digits")

    def refuse(name):
        raise datasets.DatasetError(f"{name} could not be downloaded; nothing was kept, try again.")

    monkeypatch.setattr(datasets, "fetch", refuse)
    assert call("datasets", "fetch", "dna", exit_code=1).startswith(
        "studies: dna could not be downloaded"
    )
    output = call("datasets", "fetch", "all", exit_code=1)
    assert output.count("could not be downloaded") == 12


@pytest.mark.parametrize(
    ("error", "sentence", "exit_code"),
    [
        (Interrupted(15), "Stopped by SIGTERM; run again to resume.", 143),
        (RuntimeError("No worker could be started."), "No worker could be started.", 1),
        (KeyboardInterrupt(), "Interrupted; run again to resume.", 130),
    ],
)
def test_what_ends_a_run_gives_its_sentence_and_exit_code(
    call, monkeypatch, error, sentence, exit_code
):
    def end(*args, **options):
        raise error

    monkeypatch.setattr(studies, "run", end)
    assert sentence in call("run", "table-ssb", "--datasets", "digits", exit_code=exit_code)


def test_wrong_words_are_one_sentence_and_no_words_are_help(call):
    assert call("walk", exit_code=1) == "studies: No such command 'walk'; try --help. "
    assert "The paper's tables and figures" in call()


def test_without_pytorch_the_list_says_what_its_study_needs(call, monkeypatch):
    def refuse(module):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(studies, "import_module", refuse)
    monkeypatch.setattr("studies.__main__.GROUPS", {"Beyond": ("deep",)})
    assert "deep The study deep needs PyTorch: pip install 'chary[torch]'." in call("list")
    assert "needs PyTorch" in call("run", "deep", exit_code=1)


def test_a_terminal_shows_cells_done_running_and_failed(monkeypatch, capsys):
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    with _display("table-ssb") as show:
        show(Progress(100, 20, n_done=30, n_running=2))
    assert "table-ssb" in (shown := capsys.readouterr().err)
    assert "30/80 2 running, 0 failed" in shown
