"""No command opens a connection: each is run with every socket of it and of its children on record."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import polars as pl
import pytest

# Python imports it at the start of every process, also of those that a command starts. What leads away is refused.
RECORDER = """
import json, os, sys

def outside(host):
    host = host.decode() if isinstance(host, bytes) else host
    return not (host == "localhost" or host == "::1" or (host or "").startswith("127."))

def noticed(event, given):
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
        file.write(json.dumps([os.environ.get("CHARY_TEST_COMMAND"), event, str(place), outside(place)]) + "\\n")
    if outside(place):
        raise PermissionError(f"{event} to {place}")

sys.addaudithook(noticed)
"""
# Several commands in one process, as most of their time is that of importing; what they print comes out, too.
RUN = """
import os, sys
from chary.cli import main
for command in sys.argv[1:]:
    os.environ["CHARY_TEST_COMMAND"] = command
    if main(command.split()):
        sys.exit(f"This failed: {command}")
"""


@pytest.fixture(name="watched")
def processes_on_record(tmp_path):
    """The environment in which sockets are recorded, and a way to read what was."""
    (tmp_path / "recorder").mkdir()
    (tmp_path / "recorder/sitecustomize.py").write_text(RECORDER)
    record = tmp_path / "sockets.jsonl"
    record.touch()
    paths = [str(tmp_path / "recorder"), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "CHARY_TEST_SOCKETS": str(record)}
    environment.pop("CHARY_DATA", None)
    return environment, lambda: [tuple(json.loads(line)) for line in record.read_text().splitlines()]


@pytest.fixture(name="folder")
def folder_with_a_table(tmp_path):
    labels = ["ab"[i % 10 > 4] if i % 4 else None for i in range(120)]
    frame = pl.DataFrame({"x": [i % 10 for i in range(120)], "z": [i * 7 % 31 for i in range(120)], "y": labels})
    frame.write_csv(tmp_path / "t.csv")
    frame.drop("y").write_csv(tmp_path / "new.csv")
    frame.drop("y").write_csv(tmp_path / "more.csv")
    frame.with_columns(pl.col("y").fill_null("a")).write_csv(tmp_path / "labelled.csv")
    return tmp_path


def run(commands, folder, environment):
    words = [sys.executable, "-c", RUN, *commands]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_no_command_connects(folder, watched):
    environment, sockets = watched
    commands = [
        "--version",
        "--help",
        "diagnose t.csv -t y",
        "label t.csv -t y --learner linear --rounds 0",
        "predict t.model.chary new.csv",
        "predict t.model.chary new.csv more.csv --out two -j 2",  # in processes of their own
        "audit draw t.csv -t y -k 5",
        "judge labelled.csv --labels y -k 5",
        "demo",
    ]
    done = run(commands, folder, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sockets() == []


def test_importing_connects_to_nothing(folder, watched):
    environment, sockets = watched
    code = "import chary; [getattr(chary, name) for name in chary.__all__]; import studies, chary.review"
    subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, check=True)
    assert sockets() == []


def test_studies_connect_to_nothing_but_to_download_and_say_that_they_could_not(folder, watched):
    environment, sockets = watched
    away = {**environment, "XDG_CACHE_HOME": str(folder), "HOME": str(folder)}

    def studies(*words):
        command = [sys.executable, "-m", "studies", *words]
        return subprocess.run(command, cwd=folder, env=away, capture_output=True, text=True, check=False)

    ran = studies(*["run", "table-ssb", "--datasets", "digits", "--methods", "erm", "--seeds", "1", "--jobs", "1"])
    assert ran.returncode == 0, ran.stderr
    assert sockets() == []
    fetched = studies("datasets", "fetch", "mushrooms")
    assert fetched.returncode == 1
    assert fetched.stderr.startswith("studies: ")
    assert any(away for *_, away in sockets())


PLANTED = {
    "192.0.2.1": "socket.socket().connect(('192.0.2.1', 80))",
    "0.0.0.0": "socket.socket().bind(('0.0.0.0', 0))",
    "example.org": "socket.create_connection(('example.org', 80))",
    "2001:db8::1": "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('2001:db8::1', 53))",
}


@pytest.mark.parametrize("child", [False, True])
def test_a_planted_connection_is_noticed(folder, watched, child):
    environment, sockets = watched
    for planted in PLANTED.values():
        code = f"import socket; {planted}"
        if child:
            code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert "PermissionError" in done.stderr
    assert [(place, away) for _, _, place, away in sockets()] == [(place, True) for place in PLANTED]


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_the_page_listens_at_this_machine_alone(folder, watched):
    environment, sockets = watched
    command = [sys.executable, "-c", RUN, "review t.csv -t y --no-browser"]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as server:
        url = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
        with urlopen(url) as answer:
            assert answer.status == 200
        with pytest.raises(HTTPError):
            urlopen(url.split("?")[0])
        time.sleep(0.5)
        server.send_signal(signal.SIGTERM)
        server.stdout.read()
    assert {place for _, _, place, _ in sockets()} == {"127.0.0.1"}
    assert "socket.connect" not in {event for _, event, _, _ in sockets()}


def test_a_cluster_of_our_own_keeps_to_this_machine(folder, watched):
    pytest.importorskip("distributed")
    environment, sockets = watched
    learn = "label t.csv -t y --learner linear --rounds 0"
    done = run([learn, "predict t.model.chary new.csv more.csv --out two -j 1 --engine dask"], folder, environment)
    assert done.returncode == 0, done.stderr
    assert Path(folder, "two").is_dir()
    assert sockets(), "a cluster talks to itself"
    assert [found for found in sockets() if found[-1]] == []
