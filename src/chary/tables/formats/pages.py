"""A look at the pages of a Parquet file before Polars reads them.

Polars believes what the header of a page says of the number of its values. For a negative number it
asks for 2^61 bytes, and the process ends without a word. Footer and page headers are written in
Thrift's compact protocol:
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from contextlib import suppress
from mmap import mmap
from typing import Any

_FOOTER_END = 8  # bytes: the length of the footer, and PAR1

# Types of fields.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)

# Numbers of the fields that are looked at: of the footer, of a group of rows, of a column in it,
# and of the header of a page.
_ROW_GROUPS, _COLUMNS, _COLUMN = 4, 1, 3
_N_VALUES, _PACKED_BYTES, _DATA_OFFSET, _DICTIONARY_OFFSET = 5, 7, 9, 11
_PAGE_BYTES, _PACKED_PAGE_BYTES, _DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_2 = 2, 3, 5, 7, 8
_N_PAGE_VALUES = 1


# What reading bytes that are no footer, or no header of a page, may raise.
_UNREADABLE = (IndexError, KeyError, AttributeError, TypeError, ValueError, RecursionError)


def has_sound_pages(data: bytes | mmap) -> bool:
    """Tell whether no page of a Parquet file claims what it cannot hold.

    What cannot be read at all is for Polars to refuse.
    """
    seen: set[int] = set()
    with suppress(*_UNREADABLE):
        footer_end = len(data) - _FOOTER_END
        footer_bytes = int.from_bytes(data[footer_end : footer_end + 4], "little")
        footer = _Compact(data, footer_end - footer_bytes).struct()
        for group in footer[_ROW_GROUPS]:
            for column in group[_COLUMNS]:
                about = column[_COLUMN]
                start = min(
                    about[_DATA_OFFSET], about.get(_DICTIONARY_OFFSET) or about[_DATA_OFFSET]
                )
                # Columns that share their pages could make a small file take for ever.
                if start in seen:
                    continue
                seen.add(start)
                with suppress(*_UNREADABLE):
                    if not _is_sound(data, start, start + about[_PACKED_BYTES], about[_N_VALUES]):
                        return False
    return True


def _is_sound(data: bytes | mmap, at: int, end: int, n_values: int) -> bool:
    """Tell whether the pages of a column have no negative sizes, and no more values than the column."""
    while at < end:
        compact = _Compact(data, at)
        header = compact.struct()
        sizes = [header[_PAGE_BYTES], header[_PACKED_PAGE_BYTES]]
        counts: list[int] = []
        for field in (_DATA_PAGE, _DATA_PAGE_2, _DICTIONARY_PAGE):
            if field in header:
                counts += [number for number in header[field].values() if type(number) is int]
        if min([*sizes, *counts]) < 0:
            return False
        # A dictionary may hold values that no row has, but each takes a byte at least.
        if (
            _DICTIONARY_PAGE in header
            and header[_DICTIONARY_PAGE][_N_PAGE_VALUES] > header[_PAGE_BYTES]
        ):
            return False
        for field in (_DATA_PAGE, _DATA_PAGE_2):
            if field in header and header[field][_N_PAGE_VALUES] > n_values:
                return False
        at = compact.at + header[_PACKED_PAGE_BYTES]
    return True


class _Compact:
    """Reads values in Thrift's compact protocol; an IndexError means that bytes are missing."""

    def __init__(self, data: bytes | mmap, at: int) -> None:
        if at < 0:
            raise IndexError
        self.data = data
        self.at = at

    def struct(self) -> dict[int, Any]:
        """Read fields by their numbers."""
        fields: dict[int, Any] = {}
        number = 0
        while True:
            head = self._byte()
            if head == 0:
                return fields
            # The number of a field is given by how much it is above the last, or in full.
            number = number + (head >> 4) if head >> 4 else self._number()
            fields[number] = self._value(head & 15, in_struct=True)

    def _value(self, kind: int, in_struct: bool = False) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE if in_struct else self._byte() == _TRUE
        if kind in (_I16, _I32, _I64):
            return self._number()
        if kind == _BINARY:
            return self._skip(self._varint())
        if kind == _STRUCT:
            return self.struct()
        if kind in (_LIST, _SET):
            head = self._byte()
            length = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._value(head & 15) for _ in range(length)]
        if kind in (_BYTE, _DOUBLE):
            return self._skip(1 if kind == _BYTE else 8)
        raise ValueError(f"A Parquet file holds no field of type {kind}.")

    def _byte(self) -> int:
        byte = self.data[self.at]
        self.at += 1
        return byte

    def _skip(self, n_bytes: int) -> None:
        if self.at + n_bytes > len(self.data):
            raise IndexError
        self.at += n_bytes

    def _varint(self) -> int:
        byte = self._byte()
        value = byte & 127
        shift = 7
        while byte >= 128:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
        return value

    def _number(self) -> int:
        """Read a number with a sign: 0, -1, 1, -2 and so on are written as 0, 1, 2, 3."""
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
