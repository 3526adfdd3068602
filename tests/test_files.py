"""A file is there whole or not at all."""

import os
import stat

import pytest

from chary._files import atomic_write


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


def test_a_long_name_is_no_problem(tmp_path):
    path = tmp_path / ("n" * 250)
    with atomic_write(path) as file:
        file.write(b"x")
    assert path.exists()
