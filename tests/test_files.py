"""A file is there whole or not at all."""

import os
import stat
import subprocess
import sys

import pytest

from chary._files import atomic_write, sweep


def test_writes_the_bytes_and_leaves_nothing_else(tmp_path):
    with atomic_write(tmp_path / "a.txt") as file:
        file.write(b"whole")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.txt", b"whole")]


def write_and_fail(path, error):
    with atomic_write(path, overwrite=True) as file:
        file.write(b"half")
        raise error


def test_a_failure_leaves_neither_file_nor_remains(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_and_fail(tmp_path / "a.txt", KeyboardInterrupt)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError):
        write_and_fail(path, ZeroDivisionError)
    assert path.read_bytes() == b"old"


def test_an_existing_file_needs_permission(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError, match="exists already"), atomic_write(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old"
    with atomic_write(path, overwrite=True) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


def test_the_old_file_is_there_until_the_block_ends(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with atomic_write(path, overwrite=True) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"


def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    with atomic_write(tmp_path / "atomic") as file:
        file.write(b"x")
    modes = {stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in ("plain", "atomic")}
    assert len(modes) == 1


@pytest.mark.parametrize("name", ["n" * 250, "\N{OCTOPUS}" * 60, "a@b@c@d.part"])
def test_a_strange_name_is_no_problem(tmp_path, name):
    with atomic_write(tmp_path / name) as file:
        file.write(b"x")
        assert sweep(tmp_path) == 0  # what is being written stays
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_killed_writer_leaves_remains_that_are_swept_once_it_is_dead(tmp_path):
    code = """
import os, sys
from chary._files import atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""
    command = [sys.executable, "-c", code, str(tmp_path / "a.txt")]
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with writer:
        writer.stdout.readline()
        (remains,) = tmp_path.iterdir()
        assert remains.read_bytes() == b"half"
        assert sweep(tmp_path) == 0
        writer.kill()
    (tmp_path / remains.name.replace("@", "@elsewhere", 1)).touch()
    (tmp_path / ".mine@x@y@z.part").touch()
    assert sweep(tmp_path) == 1
    assert not remains.exists()
    assert len(list(tmp_path.iterdir())) == 2  # of another machine, or none of ours
    assert sweep(tmp_path / "none") == 0
