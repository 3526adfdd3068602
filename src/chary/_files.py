"""A path and bytes in; a file that is there whole or not at all out; and why a file cannot be read."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from chary._words import shown


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only once everything in it is on the disk.

    The bytes go to a temporary file in the same folder, which is flushed and renamed when the block ends,
    and removed when the block fails. Without ``overwrite`` an existing file is left alone.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "note.txt") as file:
    ...         _ = file.write(b"whole")
    ...     print([path.name for path in Path(folder).iterdir()])
    ['note.txt']
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists already; choose another name, or allow overwriting it.")
    temporary = path.parent / f".{path.name[:30]}@{_host()}@{os.getpid()}@{secrets.token_hex(8)}.part"
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _fsync_folder(path.parent)


def why_unreadable(path: str | os.PathLike[str]) -> str | None:
    """The sentence that says why a file cannot be opened; None where it can.

    >>> why_unreadable("nowhere.csv")
    "'nowhere.csv' cannot be read (no such file or directory); check the path."
    """
    if os.path.isdir(path) or (os.path.exists(path) and not os.path.isfile(path)):
        return None  # there, and no file: what else it may be, its reader says
    try:
        with open(path, "rb"):
            return None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        return f"{shown(path, 200)} cannot be read ({reason}); check the path."


def sweep(folder: str | os.PathLike[str]) -> int:
    """Delete the temporary files in a folder that dead processes of this machine left behind; returns how many."""
    n_swept = 0
    for path in Path(folder).glob(".*@*@*@*.part"):
        host, pid, _ = path.name.split("@")[-3:]
        if host == _host() and pid.isdigit() and not _is_alive(int(pid)):
            path.unlink(missing_ok=True)
            n_swept += 1
    return n_swept


def _host() -> str:
    return socket.gethostname().replace("@", "-").replace("/", "-")[:40]


def _is_alive(pid: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 is not a question
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _fsync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, where the system lets folders be opened."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
