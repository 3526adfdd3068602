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

# Bytes at the end of a file: the length of the footer, and PAR1.
_FOOTER_END = 8

# Types of fields.
_TRUE = 1
_FALSE = 2
_BYTE = 3
_I16 = 4
_I32 = 5
_I64 = 6
_DOUBLE = 7
_BINARY = 8
_LIST = 9
_SET = 10
_STRUCT = 12

# The numbers of fields of the footer and of a group of rows.
_ROW_GROUPS = 4
_COLUMNS = 1
_COLUMN = 3
# The numbers of fields of a column in a group of rows.
_N_VALUES = 5
_PACKED_BYTES = 7
_DATA_OFFSET = 9
_DICTIONARY_OFFSET = 11
# The numbers of fields of the header of a page.
_PAGE_BYTES = 2
_PACKED_PAGE_BYTES = 3
_DATA_PAGE = 5
_DICTIONARY_PAGE = 7
_DATA_PAGE_2 = 8
_N_PAGE_VALUES = 1

# What reading may raise if the bytes are not a footer or the header of a page.
_UNREADABLE = (IndexError, KeyError, AttributeError, TypeError, ValueError, RecursionError)


def has_sound_pages(data: bytes | mmap) -> bool:
    """Tell whether no page of a Parquet file claims what it cannot hold.

    Content that cannot be read at all passes: Polars refuses it without ending the process.
    """
    seen_starts: set[int] = set()
    with suppress(*_UNREADABLE):
        footer_end = len(data) - _FOOTER_END
        footer_bytes = int.from_bytes(data[footer_end : footer_end + 4], "little")
        footer = _Compact(data, footer_end - footer_bytes).struct()
        for group in footer[_ROW_GROUPS]:
            for column in group[_COLUMNS]:
                chunk = column[_COLUMN]
                # The dictionary, if there is one, comes before the data.
                data_start = chunk[_DATA_OFFSET]
                dictionary_start = chunk.get(_DICTIONARY_OFFSET) or data_start
                start = min(data_start, dictionary_start)
                # Columns that share their pages could make a small file take for ever.
                if start in seen_starts:
                    continue
                seen_starts.add(start)
                with suppress(*_UNREADABLE):
                    end = start + chunk[_PACKED_BYTES]
                    if not _is_sound(data, start, end, chunk[_N_VALUES]):
                        return False
    return True


def _is_sound(data: bytes | mmap, start: int, end: int, n_values: int) -> bool:
    """Tell whether the pages of a column are possible.

    No size or count is negative, and no page has more values than the column.
    """
    while start < end:
        compact = _Compact(data, start)
        header = compact.struct()
        numbers = [header[_PAGE_BYTES], header[_PACKED_PAGE_BYTES]]
        for page_type in (_DATA_PAGE, _DATA_PAGE_2, _DICTIONARY_PAGE):
            for value in header.get(page_type, {}).values():
                if type(value) is int:
                    numbers.append(value)
        if min(numbers) < 0:
            return False

        # A dictionary may hold values that no row has, but each takes a byte at least.
        if _DICTIONARY_PAGE in header:
            n_entries = header[_DICTIONARY_PAGE][_N_PAGE_VALUES]
            if n_entries > header[_PAGE_BYTES]:
                return False
        for page_type in (_DATA_PAGE, _DATA_PAGE_2):
            if page_type in header and header[page_type][_N_PAGE_VALUES] > n_values:
                return False
        start = compact.at + header[_PACKED_PAGE_BYTES]
    return True


class _Compact:
    """A cursor over values in Thrift's compact protocol; an IndexError means missing bytes."""

    def __init__(self, data: bytes | mmap, at: int) -> None:
        if at < 0:
            raise IndexError
        self.data = data
        self.at = at

    def struct(self) -> dict[int, Any]:
        """Read a struct: its fields, by their numbers, up to a byte of zero."""
        fields: dict[int, Any] = {}
        number = 0
        while True:
            head = self._byte()
            if head == 0:
                return fields
            # The high four bits are the distance to the number of the last field; 0 means that the
            # number itself follows. The low four bits are the type.
            distance = head >> 4
            number = number + distance if distance else self._number()
            fields[number] = self._value(head & 15, in_struct=True)

    def _value(self, kind: int, in_struct: bool = False) -> Any:
        """Read a value of a type; bytes are skipped."""
        # In a struct the type itself is the truth value; in a list a byte is.
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
            length = head >> 4
            if length == 15:  # the length follows as a number of its own
                length = self._varint()
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
        """Read a whole number in pieces of seven bits, the lowest first."""
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
