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
RECORDER = '''
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
    else:
        return
    with open(os.environ["CHARY_TEST_SOCKETS"], "a") as file:
        file.write(json.dumps([event, str(place), outside(place)]) + "\\n")
    if outside(place):
        raise PermissionError(f"{event} to {place}")

sys.addaudithook(noticed)
'''
RUN = "import sys; from chary.cli import main; sys.exit(main())"


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


def run(command, folder, environment, **how):
    words = [sys.executable, "-c", RUN, *command.split()]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, **how)


def test_no_command_connects(folder, watched):
    environment, sockets = watched
    for command, code in {
        "--version": 0,
        "--help": 0,
        "diagnose t.csv -t y": 0,
        "label t.csv -t y --learner linear": 0,
        "predict t.chary new.csv": 0,
        "predict t.chary new.csv more.csv --out two -j 2": 0,  # in processes of their own
        "audit draw t.csv -t y -k 5": 0,
        "judge labelled.csv --labels y -k 5": 0,
        "datasets": 0,
        "study list": 0,
        "study run table-ssb --datasets digits --methods erm --seeds 1 --jobs 1": 0,
        "study report table-ssb --datasets digits --methods erm --seeds 1": 0,
        "demo": 0,
    }.items():
        done = run(command, folder, environment)
        assert done.returncode == code, f"{command}: {done.stdout}{done.stderr}"
        assert sockets() == [], command


def test_importing_connects_to_nothing(folder, watched):
    environment, sockets = watched
    code = "import chary; [getattr(chary, name) for name in chary.__all__]; import chary.studies, chary.review"
    subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, check=True)
    assert sockets() == []


def test_the_one_command_that_downloads_is_noticed_and_says_that_it_could_not(folder, watched):
    environment, sockets = watched
    done = run("datasets fetch mushrooms", folder, {**environment, "XDG_CACHE_HOME": str(folder), "HOME": str(folder)})
    assert done.returncode == 1
    assert done.stderr.startswith("chary: ")
    assert any(away for _, _, away in sockets())


@pytest.mark.parametrize("place", ["192.0.2.1", "0.0.0.0", "example.org"])
@pytest.mark.parametrize("child", [False, True])
def test_a_planted_connection_is_noticed(folder, watched, place, child):
    environment, sockets = watched
    planted = f"import socket; s = socket.socket(); s.{'bind' if place == '0.0.0.0' else 'connect'}(('{place}', 80))"
    if child:
        planted = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {planted!r}])"
    done = subprocess.run(
        [sys.executable, "-c", planted], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert "PermissionError" in done.stderr
    assert [(found, away) for _, found, away in sockets()] == [(place, True)]


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_the_page_listens_at_this_machine_alone(folder, watched):
    environment, sockets = watched
    command = [sys.executable, "-c", RUN, "review", "t.csv", "-t", "y", "--no-browser"]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as server:
        url = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
        with urlopen(url) as answer:
            assert answer.status == 200
        with pytest.raises(HTTPError):
            urlopen(url.split("?")[0])
        time.sleep(0.5)
        server.send_signal(signal.SIGTERM)
        server.stdout.read()
    assert {place for _, place, _ in sockets()} == {"127.0.0.1"}
    assert "socket.connect" not in {event for event, _, _ in sockets()}


def test_a_cluster_of_our_own_keeps_to_this_machine(folder, watched):
    pytest.importorskip("distributed")
    environment, sockets = watched
    assert run("label t.csv -t y --learner linear", folder, environment).returncode == 0
    done = run("predict t.chary new.csv more.csv --out two -j 1 --engine dask", folder, environment)
    assert done.returncode == 0, done.stderr
    assert Path(folder, "two").is_dir()
    assert sockets(), "a cluster talks to itself"
    assert [found for found in sockets() if found[2]] == []
