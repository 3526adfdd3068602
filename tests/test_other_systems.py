"""Windows, macOS, and systems that lack what Linux has: each branch runs with that taken away."""

import errno
import os
import signal
from pathlib import Path

import polars as pl
import pytest

import chary
from chary import _files, _threads, _words
from chary._files import OutputError, atomic_write, probe, sole_writer
from chary.cli.app import main
from chary.options import LabelOptions
from chary.tables import read_table
from chary.tables import table as memory
from chary.tables.table import Table

LACKING = [(os, "O_DIRECTORY"), (os, "link"), (signal, "SIGHUP")]


@pytest.fixture
def elsewhere(monkeypatch):
    """Take away locks, links, owners, folders that open, /proc and control groups."""
    monkeypatch.setattr(_files, "fcntl", None)
    for module, name in LACKING:
        monkeypatch.delattr(module, name, raising=False)
    monkeypatch.setattr(memory, "_GROUP", Path("/nowhere"))
    monkeypatch.setattr(memory, "_PROC", Path("/nowhere"))
    monkeypatch.setattr(_threads, "Path", lambda path: Path("/nowhere"))


@pytest.fixture
def windows(elsewhere, monkeypatch):
    monkeypatch.setattr(_files, "_WINDOWS", True)
    monkeypatch.setattr(_words, "_WINDOWS", True)


def a_table(folder):
    frame = pl.DataFrame({"x": [i % 10 for i in range(80)], "z": [i % 7 for i in range(80)]})
    frame = frame.with_columns(
        y=pl.Series([("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)])
    )
    frame.write_csv(folder / "t.csv", line_terminator="\r\n")
    return folder / "t.csv"


def test_a_table_is_labelled_where_much_is_lacking(tmp_path, windows):
    path = a_table(tmp_path)
    assert main(["label", str(path), "--target", "y", "--rounds", "0"]) == 0
    assert {one.name for one in tmp_path.iterdir()} == {
        "t.csv", "t.labeled.csv", "t.model.chary", "t.report.html"
    }  # fmt: skip
    lines = (tmp_path / "t.labeled.csv").read_bytes().split(b"\n")
    assert all(line.endswith(b"\r") for line in lines[:-1])  # line ends are kept


def test_files_are_whole_and_never_replaced_unasked(tmp_path, elsewhere, monkeypatch):
    for windows in (False, True):
        monkeypatch.setattr(_files, "_WINDOWS", windows)
        path = tmp_path / f"{windows}.txt"
        with sole_writer(path), atomic_write(path) as file:
            file.write(b"one")
        with pytest.raises(FileExistsError, match="exists already"), atomic_write(path):
            pass
        with atomic_write(path, overwrite=True) as file:
            file.write(b"two")
        assert path.read_bytes() == b"two"
        probe([path], overwrite=True)
    assert len(list(tmp_path.iterdir())) == 2


def test_what_appears_meanwhile_is_left_alone_without_links(tmp_path, elsewhere):
    path = tmp_path / "a.txt"
    with pytest.raises(FileExistsError, match="exists already"), atomic_write(path):
        path.write_bytes(b"somebody else's")
    assert path.read_bytes() == b"somebody else's"


def test_a_workbook_that_is_open_elsewhere_is_said_to_be(tmp_path, windows, monkeypatch):
    path = tmp_path / "book.xlsx"
    path.write_bytes(b"old")

    def locked(*_):
        raise PermissionError(errno.EACCES, "Access is denied")

    monkeypatch.setattr(os, "replace", locked)
    with (
        pytest.raises(
            OutputError,
            match=r"book.xlsx cannot be replaced; close it if another program, such as Ex",
        ),
        atomic_write(path, overwrite=True) as file,
    ):
        file.write(b"new")


def test_commands_are_quoted_for_the_shell_they_are_typed_in(windows):
    said = LabelOptions(target="my target").command([r"C:\Users\Ann Lee\t.csv"])
    assert said == r'chary label "C:\Users\Ann Lee\t.csv" --target "my target"'


def test_drive_letters_and_backslashes_are_paths_and_not_addresses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("C:\\data\\t.csv", "C:/data/t.csv", "C:t.csv"):
        with pytest.raises(chary.tables.TableError, match="cannot be read"):
            read_table(name)
    table = Table(pl.DataFrame({"a": [1]}), "t", path="data\\t.csv")
    assert table.stem.endswith("t")


def test_memory_and_signals_are_asked_of_whatever_there_is(elsewhere):
    assert memory.free_memory() > 1 << 20
    assert memory.resident_bytes() > 1 << 20
    assert main(["--version"]) == 0
    _threads._before_fork()
