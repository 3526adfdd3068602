"""Files that are there whole or not at all, and one clear sentence where one cannot be written.

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
# Folders whose files are no files: what is put there is lost at the next start, or speaks to a
# device.
_OF_THE_SYSTEM = ("/dev", "/proc", "/sys")
# Folders in which looking up a name can connect to the machine of that name.
_MOUNTED = ("/net", "/afs", "/smb", "/Network")
# What a disk says when it takes no more, whoever wrote to it; other errors may be about other
# files.
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_of_this_thread = local()  # the folders that it has for itself


class OutputError(OSError):
    """An output that cannot be written: what, why, and what to do, in one sentence."""


@contextmanager
def atomic_write(path: GivenPath, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only once everything in it is on the disk.

    The bytes go to a temporary file in the same folder, which is flushed and renamed when the block
    ends, and removed when the block fails. Without ``overwrite`` whatever has the name is left
    alone, a link that leads nowhere too. With it a link is replaced, and what it leads to stays as
    it is; a file keeps its permissions.

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
    """Open several files that take their names one after the other, once all are on the disk.

    The first takes its name last: where that is new, so are the others, even if the machine stops
    midway.
    """
    finals = [Path(path) for path in paths]
    for path in finals:
        _refuse(path, overwrite)
    parts: list[_Part] = []
    try:
        with _one_sentence(finals):
            for path in finals:
                parts.append(_Part(path))
        with _one_sentence(finals, _OF_THE_DISK):
            yield [part.file for part in parts]
        with _one_sentence(finals):
            for part in parts:
                part.finish(overwrite)
            for path in finals:
                _refuse(path, overwrite)  # what appeared meanwhile
            for part in reversed(parts):
                part.take_name(overwrite)
        for folder in {path.parent for path in finals}:
            _fsync_folder(folder)
    finally:
        for part in parts:
            part.remove()


@contextmanager
def atomic_rewrite(path: GivenPath) -> Iterator[BinaryIO]:
    """The same for a file that is worked on: where the name is a link, the file it leads to is the one."""
    with atomic_write(os.path.realpath(path), overwrite=True) as file:
        yield file


def make_folders(paths: Iterable[GivenPath]) -> None:
    """Make the folders of files about to be written."""
    finals = [Path(path).absolute() for path in paths]
    with _one_sentence(finals):
        for path in finals:
            path.parent.mkdir(parents=True, exist_ok=True)


@contextmanager
def sole_writer(path: GivenPath) -> Iterator[None]:
    """While this lasts, nobody else who asks for a file of the same folder has it; no file is left behind.

    Where the name is a link, the folder is that of the file it leads to. A thread that has it may
    ask again. Where the system, or the file system, has no such locks, nobody is kept out.
    """
    folder, held = (
        os.path.dirname(os.path.realpath(path)),
        vars(_of_this_thread).setdefault("folders", set()),
    )
    if (
        fcntl is None
        or not hasattr(os, "O_DIRECTORY")
        or folder in held
        or not os.access(folder, os.R_OK)
    ):
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    held.add(folder)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        held.remove(folder)
        os.close(descriptor)  # which also gives the lock back


def probe(paths: Iterable[GivenPath], *, overwrite: bool = False) -> None:
    """Refuse, before any work, outputs that could not be written after it; nothing of the attempt stays.

    A little is written under a temporary name in every folder, or in the one that it will be made
    in.
    """
    finals = [Path(path).absolute() for path in paths]
    for path in finals:
        _refuse(path, overwrite)
    with _one_sentence(finals):
        for path in finals:
            folder = next(parent for parent in path.parents if parent.exists())
            with suppress(FileNotFoundError):
                os.lstat(path)  # a name that is too long is another error
            part = _Part(folder / path.name)
            try:
                part.file.write(bytes(1 << 16))
                part.finish(overwrite=False)
            finally:
                part.remove()


def is_address(path: GivenPath) -> bool:
    """Whether it is the address of something on the net; C:/data is none.

    >>> is_address("s3://bucket/t.csv"), is_address("C://t.csv"), is_address("in/t.csv")
    (True, False, False)
    """
    return bool(_ADDRESS.match(os.fspath(path)))


def is_on_this_machine(path: GivenPath) -> bool:
    """Tell by its words alone whether a path is neither an address nor a network share nor a device.

    The path is not looked up: looking up the name of a share already connects to it.

    >>> [is_on_this_machine(path) for path in ("in/t.csv", "/home/a/t.csv", "C:/t.csv")]
    [True, True, True]
    >>> [is_on_this_machine(path) for path in ("//host/t.csv", "/x/../net/host/t", "s3://t.csv", "/dev/zero")]
    [False, False, False, False]
    """
    text = os.fspath(path).replace("\\", "/")
    if is_address(text) or text.startswith("//"):
        return False
    plain = os.path.normpath(text).replace("\\", "/")
    return not any(
        plain == root or plain.startswith(f"{root}/") for root in (*_OF_THE_SYSTEM, *_MOUNTED)
    )


def why_unreadable(path: GivenPath) -> str | None:
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
        if is_address(path):
            where = shown(path, 200)
            return f"{where} is an address, and chary reads files; fetch the file first, then give its path."
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        return f"{shown(path, 200)} cannot be read ({reason}); check the path."


# ---------------------------------------------------------------- a file that has not its name yet


class _Part:
    """A temporary file beside the path whose name it will take."""

    def __init__(self, path: Path) -> None:
        name = f".{path.name[:30]}.{secrets.token_hex(8)}.part"
        self.path, self.temporary = path, path.parent / name
        self.file = open(self.temporary, "xb")  # noqa: SIM115 - open until it has its name

    def finish(self, overwrite: bool) -> None:
        """Have everything on the disk, with the permissions of what is overwritten."""
        self.file.flush()
        if overwrite:
            self._take_permissions()
        os.fsync(self.file.fileno())
        if _WINDOWS:  # where an open file keeps its name
            self.file.close()

    def take_name(self, overwrite: bool) -> None:
        if overwrite:
            os.replace(self.temporary, self.path)
            return
        try:
            os.link(self.temporary, self.path)  # other than a renaming, it never replaces anything
        except FileExistsError:
            raise _there(self.path) from None
        except (OSError, AttributeError):  # a disk, or a system, without links
            if os.path.lexists(self.path):
                raise _there(self.path) from None
            os.rename(self.temporary, self.path)

    def remove(self) -> None:
        with suppress(OSError):
            self.file.close()  # may flush, and fail again
        with suppress(OSError):
            self.temporary.unlink()

    def _take_permissions(self) -> None:
        with suppress(OSError):
            mode = os.lstat(self.path).st_mode
            if stat.S_ISREG(mode):
                os.chmod(self.temporary, stat.S_IMODE(mode))


# ---------------------------------------------------------------- what is refused, and in which words


def _refuse(path: Path, overwrite: bool) -> None:
    real = os.path.realpath(path.parent)
    if any(real == root or real.startswith(f"{root}/") for root in _OF_THE_SYSTEM):
        raise OutputError(f"{real} is a system folder; write {path.name} elsewhere.")
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise _there(path)
    if not (os.path.isfile(path) or (path.is_symlink() and not path.exists())):
        raise OutputError(
            f"{path} exists and is not a file, so it cannot be replaced; choose another name."
        )


def _there(path: Path) -> FileExistsError:
    what = (
        "is a link that leads nowhere"
        if path.is_symlink() and not path.exists()
        else "exists already"
    )
    return FileExistsError(f"{path} {what}; choose another name, or allow overwriting it.")


@contextmanager
def _one_sentence(paths: Sequence[Path], only: Sequence[int] = ()) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        number = _number_of(error)
        if number is None or (
            only and number not in only
        ):  # an error that is a sentence has no number
            raise
        folder, why = paths[0].parent, os.strerror(number).lower()
        if number == errno.ENAMETOOLONG:
            name = max(
                (part for path in paths for part in path.parts),
                key=lambda part: len(os.fsencode(part)),
            )
            raise OutputError(
                f"{shown(name, 80)} is too long a name for a file; choose a shorter one."
            ) from None
        if _WINDOWS and number == errno.EACCES and any(map(os.path.isfile, paths)):
            names = listed([path.name for path in paths if path.is_file()], "or")
            raise OutputError(
                f"{names} cannot be replaced; close it if another program, such as Excel, has it open."
            ) from None
        if number == errno.ENOENT and not folder.is_dir():
            why = "the folder is not there"
        raise OutputError(
            f"Cannot write in {shown(folder, 200)} ({why}); fix that, or choose another folder."
        ) from None


def _number_of(error: Exception) -> int | None:
    """Which error of the system it is; libraries that write to a file by themselves say so in words."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    said = re.search(r"\b(?:Errno|os error) (\d+)", str(error))
    return int(said[1]) if said else None


def _fsync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, where the system lets folders be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):  # the name is taken by now, whatever the folder says of itself
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
