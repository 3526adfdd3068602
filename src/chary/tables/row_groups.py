"""The footer of a Parquet file in; how many rows each of its row groups has, and what they take, out."""

from __future__ import annotations

import struct
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

_MAGIC = b"PAR1"
_MOST_FOOTER = 8 << 20  # a larger one takes seconds to look through
_MOST_DEPTH = 16
# Kinds of values in Thrift's compact protocol; 1 and 2 are true and false.
_BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = 3, (4, 5, 6), 7, 8, (9, 10), 12


class RowGroup(NamedTuple):
    """Rows that are kept together in the file."""

    n_rows: int
    packed: int  # bytes in the file
    unpacked: int  # without compression; texts of a dictionary once


def row_groups(path: Path, columns: Collection[str]) -> list[RowGroup] | None:
    """The row groups of a file, as far as some of its columns go; None if the footer does not tell."""
    try:
        footer = _footer(path)
        if footer is None:
            return None
        found = _Thrift(footer).structure()
        return [_group(group, set(columns)) for group in found[4]]
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, struct.error):
        return None


def _footer(path: Path) -> bytes | None:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        n_bytes, magic = struct.unpack("<I4s", file.read(8))
        if magic != _MAGIC or not 0 < n_bytes <= min(_MOST_FOOTER, size - 8):
            return None
        file.seek(size - 8 - n_bytes)
        return file.read(n_bytes)


def _group(group: dict[int, Any], columns: set[str]) -> RowGroup:
    """What the Parquet format numbers: columns 1, rows 3; of a column its facts 3, of these path 3, sizes 6, 7."""
    facts = [chunk[3] for chunk in group[1]]
    used = [fact for fact in facts if fact[3][0].decode() in columns]
    sizes = [(fact[7], fact[6]) for fact in used]
    packed, unpacked = sum(size for size, _ in sizes), sum(size for _, size in sizes)
    if group[3] < 0 or packed < 0 or unpacked < 0:
        raise ValueError("less than nothing")
    return RowGroup(group[3], packed, unpacked)


class _Thrift:
    """Values of Thrift's compact protocol, one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def structure(self, depth: int = 0) -> dict[int, Any]:
        """The fields of a structure by their numbers."""
        if depth > _MOST_DEPTH:
            raise ValueError("too deep")
        fields, number = {}, 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._signed()
        if kind == _BINARY:
            return self._bytes(self._unsigned())
        if kind == _STRUCT:
            return self.structure(depth + 1)
        if kind in _LISTS:
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._unsigned()
            if size > len(self.data):
                raise ValueError("longer than the footer")
            return [self._value(head & 15 if head & 15 != 2 else _BYTE, depth + 1) for _ in range(size)]
        if kind in (1, _BYTE):
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        raise ValueError("a map, or no value at all")

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def _bytes(self, n: int) -> bytes:
        if self.place + n > len(self.data):
            raise ValueError("beyond the end")
        self.place += n
        return self.data[self.place - n : self.place]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("no number is so long")

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
