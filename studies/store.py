"""Keeps finished cells, one verified file each, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from chary._files import atomic_write, sweep

# Part of every key: raise it when a change to the methods or the protocol makes old results wrong.
SCHEMA = 1


class Record(NamedTuple):
    """What a cell's file holds."""

    cell: dict[str, Any]
    result: dict[str, Any]
    env: dict[str, Any]  # versions, duration, host: differs from run to run


def key_of(cell: dict[str, Any]) -> str:
    """The name of a cell: a hash of its content (data checksum included) and of the schema version.

    >>> key_of({"seed": 1, "method": "erm"}) == key_of({"method": "erm", "seed": 1})
    True
    """
    return _digest({"schema": SCHEMA, "cell": cell})


class Store:
    """A directory of finished cells.

    A file appears under its name only when it is complete. Reading verifies the checksum; a file that is torn
    or altered is set aside as ``.corrupt``, listed in ``damaged``, and counts as absent.

    Parameters
    ----------
    directory : path
        Made when the first cell is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     store = Store(directory)
    ...     key = store.write({"method": "erm", "seed": 0}, {"accuracy": 0.9})
    ...     store.read(key).result
    {'accuracy': 0.9}
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self.damaged: list[Path] = []

    def path(self, key: str) -> Path:
        """Where the cell with this key is or will be."""
        return self.directory / key[:2] / f"{key}.json"

    def read(self, key: str) -> Record | None:
        """The record of the finished cell of this ``key``; None if there is none that verifies."""
        path = self.path(key)
        try:
            text = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        record = _verified(text, key)
        if record is None:
            aside = path.with_suffix(".corrupt")
            path.replace(aside)
            self.damaged.append(aside)
        return record

    def write(self, cell: dict[str, Any], result: dict[str, Any], env: dict[str, Any] | None = None) -> str:
        """Record a finished ``cell`` with its ``result``, and in which ``env`` it was made; returns its key.

        An earlier failure of the cell is forgotten.
        """
        key = key_of(cell)
        content = {"schema": SCHEMA, "key": key, "cell": cell, "result": result, "env": env or {}}
        _write_whole(self.path(key), {**content, "sha256": _digest(content)})
        self.forget_failure(key)
        return key

    def fail(self, cell: dict[str, Any], reason: str) -> None:
        """Record that a ``cell`` was given up, and the ``reason``."""
        key = key_of(cell)
        _write_whole(self._failure_path(key), {"key": key, "cell": cell, "reason": reason})

    def failure(self, key: str) -> str | None:
        """Why the cell of this ``key`` was given up, if it was."""
        try:
            return str(json.loads(self._failure_path(key).read_bytes())["reason"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return "unknown (the record of the failure cannot be read)"

    def forget_failure(self, key: str) -> None:
        """Before the cell of this ``key`` is tried again."""
        self._failure_path(key).unlink(missing_ok=True)

    def sweep(self) -> int:
        """Delete temporary files left behind by processes of this machine that are dead; returns how many."""
        return sum(sweep(folder) for folder in self.directory.glob("*"))

    def _failure_path(self, key: str) -> Path:
        return self.directory / "failed" / f"{key}.json"


def _verified(text: bytes, key: str) -> Record | None:
    try:
        content = json.loads(text)
        recorded = content.pop("sha256")
        whole = recorded == _digest(content) and content["key"] == key == key_of(content["cell"])
        return Record(content["cell"], content["result"], content["env"]) if whole else None
    except (ValueError, KeyError, TypeError, AttributeError):  # not JSON, or JSON of another shape
        return None


def _write_whole(path: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=1, sort_keys=True, allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, overwrite=True) as file:
        file.write(text.encode())


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
