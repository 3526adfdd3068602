"""A file is there whole or not at all."""

import errno
import os
import shutil
import stat
import subprocess
import sys
from contextlib import contextmanager

import pytest

fcntl, resource = pytest.importorskip("fcntl"), pytest.importorskip("resource")  # not on Windows

from chary._files import (  # noqa: E402
    OutputError,
    atomic_rewrite,
    atomic_write,
    atomic_writes,
    make_folders,
    probe,
)


def test_writes_the_bytes_and_leaves_nothing_else(tmp_path):
    with atomic_write(tmp_path / "a.txt") as file:
        file.write(b"whole")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.txt", b"whole")]


def write_and_fail(path, error):
    with atomic_write(path, overwrite=True) as file:
        file.write(b"half")
        raise error


def test_a_failure_leaves_neither_file_nor_remains_and_keeps_the_old_one(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(KeyboardInterrupt):
        write_and_fail(path, KeyboardInterrupt)
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError):
        write_and_fail(path, ZeroDivisionError)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"old"]


def test_an_existing_file_needs_permission(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError, match="exists already"), atomic_write(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old"
    with atomic_write(path, overwrite=True) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"  # until the block ends
    assert path.read_bytes() == b"new"


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
    assert [path.name for path in tmp_path.iterdir()] == [name]


# ---------------------------------------------------------------- several files, the first last


def write_three(folder, overwrite=False, then=lambda: None):
    paths = [folder / name for name in "abc"]
    with atomic_writes(paths, overwrite=overwrite) as files:
        for file in files:
            file.write(b"new")
        then()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def raising(error):
    raise error


def test_several_files_appear_together(tmp_path):
    seen = []
    write_three(tmp_path, then=lambda: seen.extend(tmp_path.glob("[!.]*")))
    assert seen == []
    assert contents(tmp_path) == dict.fromkeys("abc", b"new")
    (tmp_path / "b").write_bytes(b"old")
    write_three(tmp_path, overwrite=True)
    assert contents(tmp_path) == dict.fromkeys("abc", b"new")


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), KeyboardInterrupt()])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_where_one_cannot_take_its_name_the_first_does_not_and_each_is_whole(
    tmp_path, monkeypatch, error, nth
):
    before = {"a": b"old a", "c": b"old c"}
    for name, text in before.items():
        (tmp_path / name).write_bytes(text)
    replace, calls = os.replace, []

    def failing(source, target):
        calls.append(target)
        if len(calls) == nth:
            raise error
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises((OSError, KeyboardInterrupt)):
        write_three(tmp_path, overwrite=True)
    assert contents(tmp_path) == before | dict.fromkeys("cb"[: nth - 1], b"new")


def test_a_disk_without_links(tmp_path, monkeypatch):
    monkeypatch.setattr(
        os, "link", lambda *args, **how: raising(OSError(errno.EPERM, "no links here"))
    )
    write_three(tmp_path)
    assert contents(tmp_path) == dict.fromkeys("abc", b"new")
    with pytest.raises(FileExistsError, match="exists already"):
        write_three(tmp_path)


def test_what_appears_meanwhile_is_not_overwritten(tmp_path):
    with pytest.raises(FileExistsError, match="exists already"):
        write_three(tmp_path, then=lambda: (tmp_path / "b").write_bytes(b"of somebody else"))
    assert contents(tmp_path) == {"b": b"of somebody else"}


def test_a_kill_between_two_names_leaves_the_first_one_out(tmp_path):
    code = """
import os, sys
from pathlib import Path
from chary._files import atomic_writes
link, calls = os.link, []
def killing(source, target, **how):
    if len(calls) == 2:
        os.kill(os.getpid(), 9)
    calls.append(target)
    link(source, target, **how)
os.link = killing
with atomic_writes([Path(sys.argv[1]) / name for name in "abc"]) as files:
    for file in files:
        file.write(b"new")
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == -9
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == ["b", "c"]
    assert ((tmp_path / "b").read_bytes(), (tmp_path / "c").read_bytes()) == (b"new", b"new")


# ---------------------------------------------------------------- what has the name already


def test_a_link_that_leads_nowhere_is_not_replaced_unasked(tmp_path):
    path = tmp_path / "a"
    path.symlink_to("nowhere")
    with pytest.raises(FileExistsError, match="a exists already; choose another name"):
        write_and_close(path)
    assert path.is_symlink()
    write_and_close(path, overwrite=True)
    assert (path.is_symlink(), path.read_bytes()) == (False, b"new")
    assert not (tmp_path / "nowhere").exists()


def write_and_close(path, write=atomic_write, **how):
    with write(path, **how) as file:
        file.write(b"new")


def test_a_link_is_replaced_and_the_file_behind_it_stays(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "a").symlink_to("real")
    with pytest.raises(FileExistsError):
        write_and_close(tmp_path / "a")
    write_and_close(tmp_path / "a", overwrite=True)
    assert contents(tmp_path) == {"a": b"new", "real": b"old"}


def test_a_file_that_is_worked_on_is_the_one_behind_the_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "real").write_bytes(b"old")
    (tmp_path / "a").symlink_to("elsewhere/real")
    write_and_close(tmp_path / "a", atomic_rewrite)
    assert (tmp_path / "a").is_symlink()
    assert contents(tmp_path / "elsewhere") == {"real": b"new"}


def test_a_private_file_stays_private(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o600)
    write_and_close(path, overwrite=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("check", [write_and_close, lambda path: probe([path], overwrite=True)])
@pytest.mark.parametrize("folder", ["/dev/shm", "/proc/self", "{links}/dev"])
def test_nothing_is_written_among_devices(tmp_path, folder, check):
    (tmp_path / "dev").symlink_to("/dev")
    path = os.path.join(folder.format(links=tmp_path), "chary-test")
    with pytest.raises(OutputError, match=r"is a system folder; write chary-test elsewhere"):
        check(path)
    with pytest.raises(OutputError, match="is a system folder"):
        write_and_close("/dev/null", overwrite=True)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_folder_or_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    for name in ("pipe", "folder", "link"):
        with pytest.raises(
            OutputError, match=f"{name} exists and is not a file, so it cannot be replaced"
        ):
            write_and_close(tmp_path / name, overwrite=True)


# ---------------------------------------------------------------- before the work


@contextmanager
def largest_file(n_bytes):
    """A limit of the system, which a disk or a quota may be as well."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_can_be_written_is_probed_without_a_trace(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    probe([tmp_path / "a", tmp_path / "deep" / "er" / "b"], overwrite=True)
    assert contents(tmp_path) == {"a": b"old"}
    with pytest.raises(FileExistsError):
        probe([tmp_path / "a"])


def test_what_could_not_be_written_is_found_before(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(OutputError, match=r"Cannot write in .* \(not a directory\)"):
        write_and_close(tmp_path / "file" / "a")
    with pytest.raises(OutputError, match=r"Cannot write in .* \(not a directory\)"):
        probe([tmp_path / "file" / "deep" / "a"])
    for path in (tmp_path / ("n" * 300), tmp_path / ("n" * 300) / "a"):
        with pytest.raises(OutputError, match=r"The name 'n.* is too long; give the table or"):
            probe([path])
    with (
        largest_file(1000),
        pytest.raises(OutputError, match=r"Cannot write in .* \(file too large\)"),
    ):
        probe([tmp_path / "a"])
    monkeypatch.setattr(os, "fsync", lambda descriptor: raising(OSError(errno.ENOSPC, "full")))
    with pytest.raises(
        OutputError, match=r"\(no space left on device\); fix that, or choose another folder"
    ):
        probe([tmp_path / "a"])
    assert contents(tmp_path) == {"file": b"x"}


@contextmanager
def as_nobody():
    if os.geteuid() == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        if os.getuid() == 0:
            os.seteuid(0)


@pytest.mark.parametrize(("inside", "mode"), [("a", 0o555), ("deep/a", 0o000)])
def test_a_folder_that_cannot_be_written_is_found_before(tmp_path, inside, mode):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(mode)
    try:
        with (
            as_nobody(),
            pytest.raises(OutputError, match=r"Cannot write in .* \(permission denied\)"),
        ):
            probe([folder / inside])
    finally:
        folder.chmod(0o755)


def test_folders_are_made_for_files(tmp_path):
    deep = tmp_path / "a" / "b" / "new.txt"
    for _ in range(2):
        make_folders([deep])
    write_and_close(deep)
    assert deep.read_bytes() == b"new"
    with pytest.raises(OutputError, match="Cannot write in"):
        make_folders([deep / "of-a-file.txt"])


# ---------------------------------------------------------------- what goes wrong midway


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("No space left on device (os error 28)"),
        OSError("[Errno 28] No space left on device"),  # of a file in Python that Polars wrote to
        RuntimeError("parquet: File out of specification: [Errno 28] No space left on device"),
        RuntimeError("parquet: underlying IO error: No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_is_one_sentence(tmp_path, error):
    with pytest.raises(
        OutputError, match=r"Cannot write in .* \(no space left on device\); fix that"
    ):
        write_three(tmp_path, then=lambda: raising(error))
    assert contents(tmp_path) == {}


def test_errors_about_other_files_are_their_own(tmp_path):
    error = FileNotFoundError(errno.ENOENT, "No such file", "other.csv")
    with pytest.raises(FileNotFoundError) as raised:
        write_three(tmp_path, then=lambda: raising(error))
    assert raised.value is error


def test_a_folder_that_is_removed_midway_is_one_sentence(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(OutputError, match=r"Cannot write in '.*out' \(the folder is not there\)"):
        write_three(folder, then=lambda: shutil.rmtree(folder))
    with pytest.raises(OutputError, match="the folder is not there"):
        write_three(folder)
    assert list(tmp_path.iterdir()) == []
