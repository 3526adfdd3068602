"""The server: its address answers, no list of processes holds its token, a signal ends it."""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from chary.review.serving import _bind, _door
from chary.tables import TableError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals and modes of files")


@pytest.fixture(name="served")
def a_server(animals, sockets, tmp_path):
    """The command itself; the browser is a script that shows what it was given."""
    shown = tmp_path / "shown"
    browser = tmp_path / "browser"
    browser.write_text(
        "#!/bin/sh\n"
        f'echo "$@" > {shown}.new; cat "${{1#file://}}" >> {shown}.new; mv {shown}.new {shown}\n'
    )
    browser.chmod(0o755)
    command = [sys.executable, "-m", "chary", "review", str(animals[0]), "--target", "animal"]
    environment = {**os.environ, "BROWSER": f"{browser} %s"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen(command, **pipes) as process:
        url = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stdout.readline())[0]
        yield process, url, shown
        process.kill()


def test_the_command_serves_opens_a_browser_and_ends_with_a_sentence(served, animals, sockets):
    process, url, shown = served
    base, token = url.split("/?token=")
    with urllib.request.urlopen(url, timeout=60) as answer:
        cookie = answer.headers["set-cookie"].split(";")[0]
    with urllib.request.urlopen(
        urllib.request.Request(base, headers={"cookie": cookie}), timeout=60
    ) as answer:
        assert b"animals.csv" in answer.read()
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(base, timeout=60)
    while not shown.exists():
        time.sleep(0.05)
    words, _, page = shown.read_text().partition("\n")
    assert token in page  # the file leads to the address
    assert token not in words  # what the list of processes shows does not
    door = Path(re.search(r"file://(\S+)", words)[1])
    for listed in Path("/proc").glob("[0-9]*/cmdline") if Path("/proc").exists() else ():
        try:
            assert token.encode() not in listed.read_bytes()
        except OSError:
            continue
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "The page has ended. No answer was given." in out
    assert f"Go on:  chary review {animals[0]} --target animal" in out.replace("\n", " ").replace(
        "   ", "  "
    )
    assert "403 GET /: Open the address that the command printed." in err
    assert len(err.splitlines()) == 1
    assert token not in err
    assert {place for _, place, _ in sockets()} == {
        "127.0.0.1"
    }  # listens here, and connects to nothing else
    assert not door.exists()
    assert not door.parent.exists()


def test_the_file_that_leads_to_the_page_is_for_this_user_alone():
    with _door("http://127.0.0.1:1/?token=a&b") as door:
        assert stat.S_IMODE(door.stat().st_mode) == 0o600
        assert stat.S_IMODE(door.parent.stat().st_mode) == 0o700
        assert "token=a&amp;b" in door.read_text()
    assert not door.parent.exists()


def test_it_listens_at_this_machine_alone_and_says_when_a_port_is_taken():
    with _bind(0) as bound:
        host, port = bound.getsockname()
        assert host == "127.0.0.1"
        with socket.create_connection((host, port), timeout=10), bound.accept()[0] as taken:
            # Answers are sent without delay.
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        with pytest.raises(TableError, match=f"Port {port} cannot be used"):
            _bind(port)
