"""No command opens a connection: each is run with every socket of it and of its children on record."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from urllib.error import HTTPError
from urllib.request import urlopen

import polars as pl
import pytest

from chary.cli import main
from studies.__main__ import main as studies

# Run in this process, and by Python itself at the start of every child. What leads away is refused.
RECORDER = """
import json, os, sys

def outside(host):
    host = host.decode() if isinstance(host, bytes) else host
    return not (host == "localhost" or host == "::1" or (host or "").startswith("127."))

def noticed(event, given):
    if not event.startswith("socket.") or "CHARY_TEST_SOCKETS" not in os.environ:
        return
    if event in ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"):
        address = given[1]
        if not isinstance(address, tuple):  # a socket of the file system, or the one that it is connected to
            return
        place = address[0]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        place = given[0]
        if place is None:  # nobody is asked: these are the addresses of this machine
            return
    else:
        return
    with open(os.environ["CHARY_TEST_SOCKETS"], "a") as file:
        file.write(json.dumps([event, str(place), outside(place)]) + "\\n")
    if outside(place):
        raise PermissionError(f"{event} to {place}")

sys.addaudithook(noticed)
"""


@pytest.fixture(scope="session")
def recorder():
    """A hook cannot be taken away again; it heeds nothing unless a variable of the environment is set."""
    exec(RECORDER, {})


@pytest.fixture(name="sockets")
def sockets_on_record(recorder, tmp_path, monkeypatch):
    """A way to read which sockets were used in the test."""
    (tmp_path / "recorder").mkdir()
    (tmp_path / "recorder/sitecustomize.py").write_text(RECORDER)
    record = tmp_path / "sockets.jsonl"
    record.touch()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "recorder"), *sys.path]))
    monkeypatch.setenv("CHARY_TEST_SOCKETS", str(record))
    monkeypatch.delenv("CHARY_DATA", raising=False)
    return lambda: [tuple(json.loads(line)) for line in record.read_text().splitlines()]


@pytest.fixture(name="folder")
def folder_with_a_table(tmp_path, monkeypatch):
    labels = ["ab"[i % 10 > 4] if i % 4 else None for i in range(120)]
    frame = pl.DataFrame({"x": [i % 10 for i in range(120)], "z": [i * 7 % 31 for i in range(120)], "y": labels})
    frame.write_csv(tmp_path / "t.csv")
    frame.drop("y").write_csv(tmp_path / "new.csv")
    frame.drop("y").write_csv(tmp_path / "more.csv")
    frame.with_columns(pl.col("y").fill_null("a")).write_csv(tmp_path / "labelled.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "--version",
        "--help",
        "diagnose t.csv -t y",
        "label t.csv -t y --learner linear --rounds 0; predict t.model.chary new.csv more.csv --out two -j 2",
        "audit draw t.csv -t y -k 5",
        "judge labelled.csv --labels y -k 5",
        "demo",
    ],
)
def test_no_command_connects(folder, sockets, quick_learners, monkeypatch, command):
    monkeypatch.setattr("chary.cli.demo.N_DRAWS", 1)
    for part in command.split("; "):
        assert main(part.split()) == 0
    assert sockets() == []


def test_studies_connect_to_download_and_say_that_they_could_not(folder, sockets, monkeypatch, capsys):
    monkeypatch.setenv("CHARY_CACHE", str(folder))
    assert studies(["datasets", "fetch", "mushrooms"]) == 1
    assert capsys.readouterr().err.startswith("studies: ")
    assert any(away for *_, away in sockets())


PLANTED = {
    "192.0.2.1": lambda plain, datagram: plain.connect(("192.0.2.1", 80)),
    "0.0.0.0": lambda plain, datagram: plain.bind(("0.0.0.0", 0)),
    "example.org": lambda plain, datagram: socket.create_connection(("example.org", 80)),
    "2001:db8::1": lambda plain, datagram: datagram.sendto(b"x", ("2001:db8::1", 53)),
}


def test_a_planted_connection_is_noticed_here_and_in_a_child(sockets):
    with socket.socket() as plain, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as datagram:
        for planted in PLANTED.values():
            with pytest.raises(PermissionError):
                planted(plain, datagram)
    assert [(place, away) for _, place, away in sockets()] == [(place, True) for place in PLANTED]
    code = "import socket; socket.socket().connect(('192.0.2.1', 80))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "PermissionError" in done.stderr
    assert len(sockets()) == len(PLANTED) + 1


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_the_page_listens_at_this_machine_alone(folder, sockets):
    command = [sys.executable, "-m", "chary", "review", "t.csv", "-t", "y", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        url = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
        with urlopen(url) as answer:
            assert answer.status == 200
        with pytest.raises(HTTPError):
            urlopen(url.split("?")[0])
        time.sleep(0.5)
        server.send_signal(signal.SIGTERM)
        server.stdout.read()
    ours = [("socket.getaddrinfo", "127.0.0.1", False), ("socket.connect", "127.0.0.1", False)] * 2
    of_the_page = list(sockets())
    for one in ours:
        of_the_page.remove(one)
    assert {place for _, place, _ in of_the_page} == {"127.0.0.1"}
    assert "socket.connect" not in {event for event, _, _ in of_the_page}


def test_a_cluster_of_our_own_keeps_to_this_machine(folder, sockets):
    pytest.importorskip("distributed")
    learn = "label t.csv -t y --learner linear --rounds 0"
    for command in (learn, "predict t.model.chary new.csv more.csv --out two -j 1 --engine dask"):
        assert main(command.split()) == 0
    assert (folder / "two").is_dir()
    assert sockets(), "a cluster talks to itself"
    assert [found for found in sockets() if found[-1]] == []
