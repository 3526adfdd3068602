"""What an output was made of in; a record beside it out, by which a rerun knows that it is done.

A record takes its name before the file that it speaks of, so that there is no such file without one. It holds the
digest of that file: where it fits, the file is whole and as it was written.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from chary._words import Parameter, shown
from chary.tables import TableError

# Hidden from Spark, Hive and a folder given to chary, which all pass over names that begin so.
FOLDER = "_chary"
_VERSION = 1
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Record:
    """What an output was made of, and what it is."""

    input_bytes: int
    input_time: int  # when it was last changed, in nanoseconds
    input_sha256: str
    model_sha256: str
    settings: dict[str, Any]
    output_bytes: int
    output_sha256: str
    rows: int
    labels: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    new_rows: dict[str, Any] | None = None  # how its rows differ from those that the model learned from

    def text(self) -> bytes:
        """The bytes of its file."""
        return (json.dumps({"version": _VERSION, **asdict(self)}, indent=1) + "\n").encode()


def record_path(output: Path) -> Path:
    """Where the record of an output is."""
    return output.parent / FOLDER / f"{output.name}.json"


def read_record(output: Path) -> Record | None:
    """The record of an output; None if there is none, or none that can be read."""
    try:
        found = json.loads(record_path(output).read_text())
        if found.pop("version") != _VERSION:
            return None
        return Record(**found)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def finished(output: Path, source: Path, model_sha256: str, settings: dict[str, Any]) -> Record | None:
    """The record of an output that is there, whole, and of this input and model; None: it is still to be made.

    An output that is there and is anything else is refused: it is somebody's.
    """
    if not os.path.lexists(output):
        return None
    record = read_record(output)
    more = "; pass ", Parameter("overwrite"), " to write it again, or write elsewhere."
    if record is None:
        raise TableError(f"{output} exists already and no run of this kind wrote it", *more)
    if record.model_sha256 != model_sha256:
        raise TableError(f"{output} was made with another model", *more)
    if record.settings != settings:
        raise TableError(f"{output} was made with other settings", *more)
    if not _is_same_input(record, source):
        raise TableError(f"{shown(source, 200)} has changed since {output} was made of it", *more)
    if output.stat().st_size != record.output_bytes or digest_of(output) != record.output_sha256:
        raise TableError(f"{output} is not as it was written", *more)
    return record


def _is_same_input(record: Record, source: Path) -> bool:
    """By size and time, as make has it; where only the time is another, by content."""
    status = source.stat()
    if status.st_size != record.input_bytes:
        return False
    return status.st_mtime_ns == record.input_time or digest_of(source) == record.input_sha256


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return digest_of_stream(file)


def digest_of_stream(file: BinaryIO) -> str:
    """The SHA-256 of what an open file holds from here on."""
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()
