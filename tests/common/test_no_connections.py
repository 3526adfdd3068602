"""No command opens a connection; other tests say the same of the demonstration and the page."""

import socket
import subprocess
import sys

import polars as pl
import pytest

from chary.cli import main
from studies.__main__ import main as studies


@pytest.fixture(name="folder")
def folder_with_a_table(tmp_path, monkeypatch):
    labels = ["ab"[i % 10 > 4] if i % 4 else None for i in range(120)]
    frame = pl.DataFrame(
        {"x": [i % 10 for i in range(120)], "z": [i * 7 % 31 for i in range(120)], "y": labels}
    )
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
        "label t.csv -t y --learner linear --rounds 0; predict t.model.chary new.csv more.csv "
        "--out two",
        "audit draw t.csv -t y -k 5",
        "judge labelled.csv --labels y -k 5",
    ],
)
def test_no_command_connects(folder, sockets, quick_learners, command):
    for part in command.split("; "):
        assert main(part.split()) == 0
    assert sockets() == []


def test_an_address_is_refused_without_a_connection(folder, sockets, capsys):
    assert main(["diagnose", "https://example.org/t.csv", "-t", "y"]) == 1
    assert "cannot be read" in capsys.readouterr().err
    assert sockets() == []


def test_studies_connect_to_download_and_say_that_they_could_not(
    folder, sockets, monkeypatch, capsys
):
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
