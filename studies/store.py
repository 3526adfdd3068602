"""Keeps finished cells, one verified file each, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chary._files import atomic_write

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


def plain_value(value: Any) -> Any:
    """Turn numbers and arrays of NumPy into plain values, and NaN into None, at any depth.

    >>> plain_value({"nll": np.float32(0.5), "auroc": float("nan"), "counts": np.arange(2)})
    {'nll': 0.5, 'auroc': None, 'counts': [0, 1]}
    """
    if isinstance(value, (np.generic, np.ndarray)):
        return plain_value(value.tolist())
    if isinstance(value, Mapping):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    if isinstance(value, tuple):
        return tuple(plain_value(item) for item in value)
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, float) and math.isinf(value):
        raise ValueError(f"{value} is no finite number; give NaN where there is none")
    return value


class Store:
    """A directory of finished cells.

    A file appears under its name only when it is complete. Reading verifies the checksum; a file
    that is torn or altered is set aside as ``.corrupt``, listed in ``damaged``, and counts as
    absent.

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

    def write(
        self, cell: dict[str, Any], result: dict[str, Any], env: dict[str, Any] | None = None
    ) -> str:
        """Record a finished ``cell``, its ``result`` and its ``env``; return the cell's key.

        NumPy's numbers and arrays are stored as plain ones, and NaN as None: there is no number.
        """
        key = key_of(cell)
        result = plain_value(result)
        content = {"schema": SCHEMA, "key": key, "cell": cell, "result": result, "env": env or {}}
        text = json.dumps(
            {**content, "sha256": _digest(content)}, indent=1, sort_keys=True, allow_nan=False
        )
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, overwrite=True) as file:
            file.write(text.encode())
        return key

    def forget(self, key: str) -> None:
        """Delete the cell of this ``key``, if it is there."""
        self.path(key).unlink(missing_ok=True)


def _verified(text: bytes, key: str) -> Record | None:
    try:
        content = json.loads(text)
        recorded = content.pop("sha256")
        whole = recorded == _digest(content) and content["key"] == key == key_of(content["cell"])
        return Record(content["cell"], content["result"], content["env"]) if whole else None
    except (ValueError, KeyError, TypeError, AttributeError):  # not JSON, or JSON of another shape
        return None


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
