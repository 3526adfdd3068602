"""How commands begin and end: help, one sentence for every error, interruptions, mistakes of chary itself."""

import os
import signal
import subprocess
import sys
from functools import partial

import pytest

import chary.jobs
import chary.report
from chary import __version__
from chary.cli import main

pytestmark = pytest.mark.usefixtures("quick_learners")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["label", "{file}", "-t", "chrun"], "has no column 'chrun'; did you mean 'churn'?"),
        (["label", "nothing.csv", "-t", "churn"], "cannot be read (no such file or directory)"),
        (["label", "{file}"], "Missing option '--target'"),
        (["label", "{file}", "-t", "churn", "--seed", "x"], "Invalid value for '--seed'"),
        (["label", "{file}", "-t", "churn", "--out", "{file}"], "is a file, so nothing can be written in it"),
        (["label", "{file}", "-t", "churn", "--format", "doc"], "The format 'doc' is not known; choose csv,"),
        (["label", "{file}", "-", "-t", "churn"], "Standard input is one table; give it alone"),
        (
            ["label", "{file}", "-t", "churn", "--sheet", "a"],
            "is a text table, which has no sheets; leave --sheet out",
        ),
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
def test_bad_input_is_one_sentence_and_exit_code_one(table, run, arguments, message):
    code, out, err = run(*[argument.format(file=table) for argument in arguments])
    assert (code, out) == (1, "")
    assert message in err
    assert err.startswith("chary: ")
    assert err.count("\n") == 1


def test_interruption_is_exit_code_130_and_leaves_no_file(table, run, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(chary.report, "render_page", interrupted)
    code, _, err = run("label", table, "-t", "churn", "--rounds", 0)
    assert code == 130
    assert "Interrupted" in err
    assert not list(table.parent.glob(".*.part"))
    assert not (table.parent / "customers.report.html").exists()


@pytest.mark.parametrize(
    ("signum", "code", "sentence"),
    [
        (signal.SIGINT, 130, "Interrupted; no file was left half-written."),
        (signal.SIGTERM, 143, "Stopped by SIGTERM; no file was left half-written."),
    ],
)
def test_a_real_signal_ends_the_process(table, signum, code, sentence):
    slow = "lambda *args, **kwargs: (print('ready', flush=True), time.sleep(60))"
    job = f"import sys, time, chary.jobs, chary.cli; chary.jobs.label_table = {slow}; sys.exit(chary.cli.main())"
    command = [sys.executable, "-c", job, "label", str(table), "-t", "churn"]
    heeded = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": heeded}
    with subprocess.Popen(command, **options) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signum)
        _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert err == f"chary: {sentence}\n"
    assert [path.name for path in table.parent.iterdir()] == ["customers.csv"]


def test_a_mistake_of_chary_is_admitted(table, run, monkeypatch):
    def broken(*args, **kwargs):
        raise AttributeError("oops")

    monkeypatch.setattr(chary.jobs, "label_table", broken)
    code, _, err = run("label", table, "-t", "churn")
    assert code == 1
    assert "A mistake in chary itself (AttributeError: oops)" in err
    monkeypatch.setenv("CHARY_DEBUG", "1")
    with pytest.raises(AttributeError):
        main(["label", str(table), "-t", "churn"])


def test_version_and_help(run):
    assert run("--version")[1] == f"chary {__version__}\n"
    code, out, err = run()
    assert (code, err) == (0, "")
    for command in ("label", "diagnose", "predict", "demo"):
        assert command in out
        assert "--help" in run(command, "--help")[1]


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["label", "-h"], ["label", "gone.csv", "-t", "y"]])
def test_quick_answers_import_nothing_heavy(words):
    heavy = ["sklearn", "scipy", "numpy", "polars", "jinja2"]
    code = (
        "import sys; from chary.cli import main; main(sys.argv[1:]); "
        f"sys.exit(', '.join(m for m in {heavy} if m in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_python_m_chary_is_chary():
    done = subprocess.run([sys.executable, "-m", "chary", "-h"], capture_output=True, text=True, check=True)
    assert "Usage: chary [OPTIONS] COMMAND" in done.stdout


def test_shells_can_complete_commands():
    words = {"_CHARY_COMPLETE": "complete_bash", "COMP_WORDS": "chary dia", "COMP_CWORD": "1"}
    command = [sys.executable, "-m", "chary"]
    done = subprocess.run(command, env={**os.environ, **words}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["diagnose"]


class Asked(Exception):  # noqa: N818
    """An end that somebody asked for."""

    exit_code = 143


def test_an_end_that_was_asked_for_has_its_own_code(table, run, monkeypatch):
    def stopped(*args, **kwargs):
        raise Asked("Stopped by SIGTERM; run again to resume.")

    monkeypatch.setattr(chary.jobs, "label_table", stopped)
    assert run("label", table, "-t", "churn") == (143, "", "chary: Stopped by SIGTERM; run again to resume.\n")
