"""Whatever the terminal is, the job is done: what cannot be printed is escaped, what nobody reads is dropped."""

import io
import os
import signal
import subprocess
import sys
from threading import Thread

import pytest

from chary.cli import main
from chary.cli.streams import AnyText, Terminated, any_text, heeded_signals

ARABIC = "\u0646\u0639\u0645"


@pytest.fixture
def arabic(tmp_path):
    """A table whose labels few terminals know."""
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{i},{[ARABIC, 'no', ''][i % 3]}\n" for i in range(90)), encoding="utf-8")
    return path


def draw(path):
    return main(["audit", "draw", str(path), "-t", "y", "-k", "5"])


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_what_cannot_be_printed_is_escaped(arabic, monkeypatch, encoding):
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding=encoding))
    assert draw(arabic) == 0
    assert rb"\u0646\u0639\u0645" in printed.getvalue()
    assert arabic.with_name("t.audit.csv").exists()


def test_an_error_that_cannot_be_printed_is_escaped(tmp_path, monkeypatch):
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(printed, encoding="latin-1"))
    assert draw(tmp_path / f"{ARABIC}.csv") == 1
    assert rb"\u0646\u0639\u0645.csv' cannot be read" in printed.getvalue()


def test_a_pipe_that_nobody_reads_is_no_failure(arabic, monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert draw(arabic) == 0
    assert arabic.with_name("t.audit.csv").exists()


def test_a_full_disk_behind_the_output_is_said(arabic, monkeypatch, capsys):
    with open("/dev/full", "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert draw(arabic) == 1
    assert "What there is to say cannot be printed (no space left on device)" in capsys.readouterr().err
    assert arabic.with_name("t.audit.csv").exists()


def test_a_full_disk_behind_the_error_stream_is_no_failure(arabic, monkeypatch):
    with open("/dev/full", "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        assert draw(arabic) == 0
        assert draw(arabic.with_name("none.csv")) == 1


def test_no_stream_at_all_no_terminal_and_the_plainest_language(arabic):
    """As a daemon may start it: numbers 0, 1 and 2 are closed, and no output lands in a file of the job."""
    code = (
        "import os, sys; from chary.cli import main; import chary.jobs.drawing as drawing\n"
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


def test_streams_are_as_they_were_afterwards(monkeypatch):
    before = sys.stdin, sys.stdout, sys.stderr
    with any_text():
        assert sys.stdout is not before[1]
        assert sys.stdout.encoding == before[1].encoding
    assert (sys.stdin, sys.stdout, sys.stderr) == before
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    with any_text():
        print(sys.stdin.read())
        print("nowhere", file=sys.stderr)
    assert sys.stdout is None


def test_a_stream_that_was_closed_meanwhile_is_dropped():
    stream = io.StringIO()
    stream.close()
    AnyText(stream).write("x")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_is_an_exception_with_its_code(name):
    signum = getattr(signal, name)

    def run():
        with heeded_signals():
            os.kill(os.getpid(), signum)

    with pytest.raises(Terminated, match=f"Stopped by {name}") as raised:
        run()
    assert raised.value.exit_code == 128 + signum
    assert signal.getsignal(signum) is signal.SIG_DFL


def test_a_signal_that_somebody_heeds_or_ignores_stays_theirs():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with heeded_signals():
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_signals_are_left_alone_outside_the_main_thread():
    def run():
        with heeded_signals():
            found.append(signal.getsignal(signal.SIGTERM))

    found = []
    thread = Thread(target=run)
    thread.start()
    thread.join()
    assert found == [signal.SIG_DFL]
