"""Outputs that are written whole or not at all, with one clear sentence if they cannot be.

Every output of chary goes through here: to a temporary file beside it, flushed to the disk, then
renamed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import local
from typing import BinaryIO

from chary._words import listed, shown

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be deleted anyway
    fcntl = None  # type: ignore[assignment]

GivenPath = str | os.PathLike[str]

_WINDOWS = os.name == "nt"
# The files of these folders are not on a disk: what is put there is lost at the next start, or
# speaks to a device.
_SYSTEM_FOLDERS = ("/dev", "/proc", "/sys")
# In these folders, looking up a name can connect to the machine of that name.
_MOUNTED_FOLDERS = ("/net", "/afs", "/smb", "/Network")
# These are the errors of a disk that accepts no more. Other errors that are raised while the caller
# writes may be about the files that the caller reads.
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# This many bytes are written to find out whether a folder takes any.
_PROBE_BYTES = 1 << 16
# For each thread, the folders that it holds the lock of, in ``folders``; see ``sole_writer``.
_this_thread = local()


class OutputError(OSError):
    """An output that cannot be written: what, why, and what to do, in one sentence."""


@contextmanager
def atomic_write(path: GivenPath, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a file that takes its name only once it is on the disk.

    The bytes go to a temporary file in the same folder, which is flushed and renamed when the block
    ends, and removed when the block fails. Without ``overwrite`` anything that has the name is left
    alone, even a link that leads nowhere. With it a link is replaced, and the file that it leads to
    stays unchanged; a file keeps its permissions.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "note.txt") as file:
    ...         _ = file.write(b"whole")
    ...     print([path.name for path in Path(folder).iterdir()])
    ['note.txt']
    """
    with atomic_writes([path], overwrite=overwrite) as (file,):
        yield file


@contextmanager
def atomic_writes(
    paths: Sequence[GivenPath], *, overwrite: bool = False
) -> Iterator[list[BinaryIO]]:
    """Open several files that take their names once all are on the disk.

    The first file takes its name last. So if it is there after a power cut, all other files are,
    too.
    """
    outputs = [Path(path) for path in paths]
    for output in outputs:
        _refuse_unwritable(output, overwrite)

    temporaries: list[_Temporary] = []
    try:
        with _errors_as_sentence(outputs):
            for output in outputs:
                temporaries.append(_Temporary(output))
        with _errors_as_sentence(outputs, numbers=_DISK_ERRORS):
            yield [temporary.file for temporary in temporaries]
        with _errors_as_sentence(outputs):
            for temporary in temporaries:
                temporary.finish(overwrite)
            for output in outputs:
                _refuse_unwritable(output, overwrite)  # another file may have the name by now
            for temporary in reversed(temporaries):
                temporary.take_name(overwrite)
        for folder in {output.parent for output in outputs}:
            _flush_folder(folder)
    finally:
        for temporary in temporaries:
            temporary.remove()


@contextmanager
def atomic_rewrite(path: GivenPath) -> Iterator[BinaryIO]:
    """Open a file that replaces an existing one, written as by ``atomic_write``.

    If the path is a link, the file that it leads to is replaced, and the link stays.
    """
    with atomic_write(os.path.realpath(path), overwrite=True) as file:
        yield file


def make_folders(paths: Iterable[GivenPath]) -> None:
    """Make the folders of files about to be written."""
    outputs = [Path(path).absolute() for path in paths]
    with _errors_as_sentence(outputs):
        for output in outputs:
            output.parent.mkdir(parents=True, exist_ok=True)


@contextmanager
def sole_writer(path: GivenPath) -> Iterator[None]:
    """Lock the folder of a file; other threads and processes that lock it wait.

    If the path is a link, the folder of the file that it leads to is locked. A thread may lock a
    folder again that it has locked already. No lock file is left behind. If the system, or the file
    system, has no such locks, nothing is locked.
    """
    folder = os.path.dirname(os.path.realpath(path))
    held_folders = vars(_this_thread).setdefault("folders", set())
    has_locks = fcntl is not None and hasattr(os, "O_DIRECTORY") and os.access(folder, os.R_OK)
    if folder in held_folders or not has_locks:
        yield
        return

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    held_folders.add(folder)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        held_folders.remove(folder)
        os.close(descriptor)  # which also gives the lock back


def probe(paths: Iterable[GivenPath], *, overwrite: bool = False) -> None:
    """Refuse, before any work, outputs that could not be written after it.

    A few bytes are written under a temporary name in the folder of each output, or in the nearest
    folder above it that exists, and removed again.
    """
    outputs = [Path(path).absolute() for path in paths]
    for output in outputs:
        _refuse_unwritable(output, overwrite)
    with _errors_as_sentence(outputs):
        for output in outputs:
            folder = next(parent for parent in output.parents if parent.exists())
            # An output that is not there yet is what is expected. Any other error is reported, such
            # as that of a name that is too long.
            with suppress(FileNotFoundError):
                os.lstat(output)
            temporary = _Temporary(folder / output.name)
            try:
                temporary.file.write(bytes(_PROBE_BYTES))
                temporary.finish(overwrite=False)
            finally:
                temporary.remove()


# ---------------------------------------------------------------- paths to read


def is_on_this_machine(path: GivenPath) -> bool:
    """Tell whether a path is of this machine's disks: no address, network share or device.

    Only its text is looked at. To ask the system about a path of a network share would already
    connect to the other machine.

    >>> [is_on_this_machine(path) for path in ("in/t.csv", "/home/a/t.csv", "C:/t.csv")]
    [True, True, True]
    >>> [is_on_this_machine(path) for path in ("//host/t.csv", "/x/../net/host/t", "s3://t.csv")]
    [False, False, False]
    """
    text = os.fspath(path).replace("\\", "/")
    if _ADDRESS.match(text) or text.startswith("//"):
        return False
    normal = os.path.normpath(text).replace("\\", "/")
    return not _is_within(normal, (*_SYSTEM_FOLDERS, *_MOUNTED_FOLDERS))


def _is_within(path: str, folders: Iterable[str]) -> bool:
    """Tell whether a path is one of some folders, or in one of them."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def why_unreadable(path: GivenPath) -> str | None:
    """Say why a file cannot be opened; None if it can be.

    >>> why_unreadable("nowhere.csv")
    "'nowhere.csv' cannot be read (no such file or directory); check the path."
    """
    if os.path.isdir(path) or (os.path.exists(path) and not os.path.isfile(path)):
        return None  # a folder or a device: its reader says what to do
    try:
        with open(path, "rb"):
            return None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        return f"{shown(path, 200)} cannot be read ({reason}); check the path."


# ---------------------------------------------------------------- a file without its name yet


class _Temporary:
    """A file beside the path whose name it will take."""

    def __init__(self, path: Path) -> None:
        name = f".{path.name[:30]}.{secrets.token_hex(8)}.part"
        self.path = path
        self.temporary = path.parent / name
        self.file = open(self.temporary, "xb")  # noqa: SIM115 - open until it has its name

    def finish(self, overwrite: bool) -> None:
        """Flush the file to the disk; with ``overwrite``, copy the permissions of the old file."""
        self.file.flush()
        if overwrite:
            self._take_permissions()
        os.fsync(self.file.fileno())
        if _WINDOWS:  # where an open file keeps its name
            self.file.close()

    def take_name(self, overwrite: bool) -> None:
        """Give the file its final name, ``self.path``.

        Only with ``overwrite`` may it replace a file of that name.
        """
        if overwrite:
            os.replace(self.temporary, self.path)
            return
        try:
            # A second name for the file; ``remove`` deletes the temporary one. Unlike a renaming,
            # this never replaces another file.
            os.link(self.temporary, self.path)
        except FileExistsError:
            raise _exists_error(self.path) from None
        except (OSError, AttributeError):  # a disk, or a system, without such links
            if os.path.lexists(self.path):
                raise _exists_error(self.path) from None
            os.rename(self.temporary, self.path)

    def remove(self) -> None:
        """Close the file, and delete its temporary name if it still has one."""
        with suppress(OSError):
            self.file.close()  # may flush, and fail again
        with suppress(OSError):
            self.temporary.unlink()

    def _take_permissions(self) -> None:
        """Give the file the permissions of the file that it will replace, if there is one."""
        with suppress(OSError):
            mode = os.lstat(self.path).st_mode
            if stat.S_ISREG(mode):
                os.chmod(self.temporary, stat.S_IMODE(mode))


def _flush_folder(folder: Path) -> None:
    """Write a folder's list of names to the disk, if the system can.

    A file whose bytes are on the disk may still have lost its new name after a power cut.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):  # the name is taken by now, even if the folder cannot be flushed
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# ---------------------------------------------------------------- refusals


def _refuse_unwritable(path: Path, overwrite: bool) -> None:
    """Refuse a path in a system folder, or one that exists and must not be replaced."""
    folder = os.path.realpath(path.parent)
    if _is_within(folder, _SYSTEM_FOLDERS):
        raise OutputError(f"{folder} is a system folder; write {path.name} elsewhere.")
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise _exists_error(path)
    is_dead_link = path.is_symlink() and not path.exists()
    if not os.path.isfile(path) and not is_dead_link:
        raise OutputError(
            f"{path} exists and is not a file, so it cannot be replaced; choose another name."
        )


def _exists_error(path: Path) -> FileExistsError:
    """Return the error that a file exists and must not be replaced."""
    return FileExistsError(f"{path} exists already; choose another name, or allow overwriting it.")


@contextmanager
def _errors_as_sentence(paths: Sequence[Path], numbers: Sequence[int] = ()) -> Iterator[None]:
    """Turn errors of the system in the block into an ``OutputError``.

    Parameters
    ----------
    paths : sequence of Path
        The outputs that the sentence of the error is about.
    numbers : sequence of int, default=()
        The errors to turn, by their numbers; empty: all.
    """
    try:
        yield
    except Exception as error:
        number = _error_number(error)
        # An error without a number is not of the system, or is a sentence of chary already.
        if number is None or (numbers and number not in numbers):
            raise
        raise OutputError(_sentence_on(number, paths)) from None


def _sentence_on(number: int, paths: Sequence[Path]) -> str:
    """Say what an error of the system, by its number, means for some outputs, and what to do."""
    if _WINDOWS and number == errno.EACCES:
        existing = [path.name for path in paths if os.path.isfile(path)]
        if existing:
            return (
                f"{listed(existing, 'or')} cannot be replaced; close it if another program, such "
                "as Excel, has it open."
            )
    if number == errno.ENAMETOOLONG:
        longest = max((part for path in paths for part in path.parts), key=len)
        return f"The name {shown(longest, 60)} is too long; give the table or folder a shorter one."
    folder = paths[0].parent
    reason = os.strerror(number).lower()
    if number == errno.ENOENT and not folder.is_dir():
        reason = "the folder is not there"
    return f"Cannot write in {shown(folder, 200)} ({reason}); fix that, or choose another folder."


def _error_number(error: Exception) -> int | None:
    """Return the number of a system's error; libraries may have put it into words.

    >>> _error_number(RuntimeError("disk is full (os error 28)"))
    28
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    match = re.search(r"\b(?:Errno|os error) (\d+)", str(error))
    return int(match[1]) if match else None
