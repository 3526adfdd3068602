"""How commands begin and end: one sentence for every error, signals, and terminals of any kind."""

import io
import os
import signal
import subprocess
import sys
from functools import partial
from threading import Thread

import pytest

import chary.labelling
import chary.report
from chary import __version__
from chary.cli import main

QUICK = ("--learner", "linear", "--rounds", 0)
pytestmark = pytest.mark.usefixtures("quick_learners")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["label", "{file}", "-t", "chrun"], "has no column 'chrun'; did you mean 'churn'?"),
        (["label", "nothing.csv", "-t", "churn"], "cannot be read (no such file or directory)"),
        (["label", "{file}"], "Missing option '--target'"),
        (["label", "{file}", "-t", "churn", "--seed", "x"], "Invalid value for '--seed'"),
        (
            ["label", "{file}", "-t", "churn", "--format", "doc"],
            "The format 'doc' is not known; choose csv,",
        ),
        (["label", "{file}", "-", "-t", "churn"], "Standard input cannot be combined with files"),
        (
            ["label", "{file}", "-t", "churn", "--sheet", "a"],
            "is a text table without sheets; leave --sheet out",
        ),
        (
            ["label", "{file}", "-t", "churn", "--drop", "idd"],
            "no column 'idd' to override; did you mean 'id'?",
        ),
        (
            ["label", "{file}", "-t", "churn", "--class-prior", "yes=0.3"],
            "class_prior names the classes ['yes'], and",
        ),
        (["predict", "{file}", "{file}"], "not a model file of chary; copy or train it again"),
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
    code, _, err = run("label", table, "-t", "churn", *QUICK)
    assert code == 130
    assert "Interrupted" in err
    assert not list(table.parent.glob(".*.part"))
    assert not (table.parent / "customers.report.html").exists()


@pytest.mark.parametrize(("name", "exit_code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_ends_a_command_and_leaves_no_file(table, run, monkeypatch, name, exit_code):
    """As a shell sends SIGTERM, and a terminal that is closed SIGHUP."""
    signum = getattr(signal, name)
    # SIGHUP is ignored where the tests were started by nohup.
    handler = signal.signal(signum, signal.SIG_DFL)
    end = lambda *args, **kwargs: os.kill(os.getpid(), signum)  # noqa: E731
    monkeypatch.setattr(chary.labelling, "label_table", end)
    try:
        code, _, err = run("label", table, "-t", "churn")
    finally:
        signal.signal(signum, handler)
    message = f"chary: Stopped by {name}; no file was left half-written.\n"
    assert (code, err) == (exit_code, message)
    assert [path.name for path in table.parent.iterdir()] == ["customers.csv"]


def test_a_real_ctrl_c_ends_the_process(table):
    slow = "lambda *args, **kwargs: (print('ready', flush=True), time.sleep(60))"
    job = (
        "import sys, time, chary.labelling as l, chary.cli; "
        f"l.label_table = {slow}; sys.exit(chary.cli.main())"
    )
    command = [sys.executable, "-c", job, "label", str(table), "-t", "churn"]
    # A shell's background jobs ignore it.
    heeded = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    options = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
        "preexec_fn": heeded,
    }
    with subprocess.Popen(command, **options) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "chary: Interrupted; no file was left half-written.\n"
    assert [path.name for path in table.parent.iterdir()] == ["customers.csv"]


def test_a_mistake_of_chary_is_admitted(table, run, monkeypatch):
    def broken(*args, **kwargs):
        raise AttributeError("oops")

    monkeypatch.setattr(chary.labelling, "label_table", broken)
    code, _, err = run("label", table, "-t", "churn")
    assert code == 1
    assert "A mistake in chary itself (AttributeError: oops)" in err
    monkeypatch.setenv("CHARY_DEBUG", "1")
    with pytest.raises(AttributeError):
        main(["label", str(table), "-t", "churn"])


def test_version_and_help(run):
    assert run("--version")[1] == f"chary {__version__}\n"
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    for command in ("label", "diagnose", "predict", "demo"):
        assert command in out
        assert "--help" in run(command, "--help")[1]


def test_quick_answers_import_nothing_heavy():
    heavy = ["sklearn", "scipy", "numpy", "polars", "jinja2"]
    code = (
        "import sys; from chary.cli import main\n"
        "for words in sys.argv[1:]: main(words.split())\n"
        f"sys.exit(', '.join(m for m in {heavy} if m in sys.modules) or 0)"
    )
    words = [
        "--version",
        "--help",
        "label -h",
        "label gone.csv -t y",
        "diagnose gone.csv -t y",
        "review gone.csv",
        "judge gone.csv --labels y",
        "judge draw gone.csv --labels y",
        "audit draw gone.csv -t y",
        "audit fill gone.csv",
        "predict gone.chary new.csv",
        "judge customers.csv",
        "audit draw customers.csv",
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("cannot be read (no such file or directory)") == 8
    assert done.stderr.count("Missing option") == 2


def test_python_m_chary_is_chary_and_shells_complete_its_commands():
    words = {"_CHARY_COMPLETE": "complete_bash", "COMP_WORDS": "chary dia", "COMP_CWORD": "1"}
    command = [sys.executable, "-m", "chary"]
    done = subprocess.run(
        command, env={**os.environ, **words}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["diagnose"]


# ---------------------------------------------------------------- terminals of any kind

ARABIC = "\u0646\u0639\u0645"


@pytest.fixture
def arabic(tmp_path):
    """A table whose labels few terminals know."""
    path = tmp_path / "t.csv"
    path.write_text(
        "x,y\n" + "".join(f"{i},{[ARABIC, 'no', ''][i % 3]}\n" for i in range(90)), encoding="utf-8"
    )
    return path


def draw(path):
    return main(["audit", "draw", str(path), "-t", "y", "-k", "5"])


def test_what_cannot_be_printed_is_escaped(arabic, monkeypatch):
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="latin-1"))
    assert draw(arabic) == 0
    assert rb"\u0646\u0639\u0645" in printed.getvalue()
    assert arabic.with_name("t.audit.csv").exists()


def test_an_error_that_cannot_be_printed_is_escaped(tmp_path, monkeypatch):
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(printed, encoding="latin-1"))
    assert draw(tmp_path / f"{ARABIC}.csv") == 1
    assert rb"\u0646\u0639\u0645.csv' cannot be read" in printed.getvalue()


@pytest.fixture
def unread():
    """The end of a pipe, as a file descriptor, that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def test_a_pipe_that_nobody_reads_ends_a_command_and_its_files_are_there(
    arabic, monkeypatch, unread
):
    with open(os.dup(unread), "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert draw(arabic) == 141
    assert arabic.with_name("t.audit.csv").exists()


def test_a_pipe_that_nobody_reads_ends_a_process_without_a_word(unread):
    command = [sys.executable, "-m", "chary", "--help"]
    done = subprocess.run(command, stdout=unread, stderr=-1, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_full_disk_behind_the_output_is_said(arabic, monkeypatch, capsys):
    with open("/dev/full", "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert draw(arabic) == 1
    assert "Cannot write to standard output (no space left on device)" in capsys.readouterr().err
    assert arabic.with_name("t.audit.csv").exists()


def test_a_full_disk_behind_the_error_stream_is_no_failure(arabic, monkeypatch):
    with open("/dev/full", "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        assert draw(arabic) == 0
        assert draw(arabic.with_name("none.csv")) == 1


def test_no_stream_at_all_no_terminal_and_the_plainest_language(arabic):
    """As a daemon may start it: 0, 1 and 2 are closed, and no output lands in a job's file."""
    code = (
        "import os, sys; from chary.cli import main; import chary.audit.drawing as drawing\n"
        "write = drawing.write_sheet\n"
        "def noisy(*args, **how):\n"
        "    os.write(1, b'noise'); os.write(2, b'noise'); return write(*args, **how)\n"
        "drawing.write_sheet = noisy; sys.exit(main())"
    )
    words = ["audit", "draw", str(arabic), "-t", "y", "-k", "5"]
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    plainest = {**kept, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    shell = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code, *words]
    done = subprocess.run(shell, env=plainest, check=False)
    assert done.returncode == 0
    sheet = arabic.with_name("t.audit.csv").read_text(encoding="utf-8")
    assert sheet.startswith("chary_row,y,")
    assert "noise" not in sheet


def test_a_signal_that_somebody_ignores_stays_ignored(table):
    """As nohup does for SIGHUP."""
    job = (
        "import os, signal; from chary.cli import main; main(['--version']); "
        "os.kill(os.getpid(), signal.SIGHUP)"
    )
    ignored = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
    assert (
        subprocess.run([sys.executable, "-c", job], preexec_fn=ignored, check=False).returncode == 0
    )


def test_signals_are_left_alone_outside_the_main_thread(run):
    thread = Thread(target=run, args=["--version"])
    thread.start()
    thread.join()  # without a warning
