"""Files of any size in; one table of all their rows, read in parts as often as asked, and what it takes, out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chary.tables.errors import TableError
from chary.tables.joining import cast_to, joined
from chary.tables.memory import row_bytes
from chary.tables.reading import GivenPath, as_given, usable
from chary.tables.sources import STDIN, find_sources, refuse_changed, state_of
from chary.tables.streaming import Part, file_kind, stream_table
from chary.tables.table import Lines, Table

# What labelling a table in memory takes: so many bytes for each that its cells do, and what Python itself needs.
_GROWTH, _BASE = 3, 300 << 20


@dataclass(frozen=True)
class Large:
    """A table that is never in memory as a whole."""

    table: Table  # how it is written, and its columns; it holds no row
    states: tuple[tuple[int, ...] | None, ...]  # of its files, when it was opened
    how: dict[str, Any]  # to read them
    n_bytes: int  # that its cells take, about

    @property
    def needed(self) -> int:
        """Bytes of memory that it would take to label it at once, about."""
        return _BASE + _GROWTH * self.n_bytes

    def parts(self) -> Iterator[Part]:
        """All rows, in order; files that have changed since the table was opened are refused."""
        self.refuse_changed()
        try:
            yield from self._parts()
        except (TableError, OSError):
            self.refuse_changed()
            raise
        self.refuse_changed()

    def _parts(self) -> Iterator[Part]:
        wanted = dict(self.table.frame.schema)
        size = [max(1, os.path.getsize(path)) for path in self.table.files]
        for place, path in enumerate(self.table.files):
            before = sum(size[:place])
            for part in stream_table(path, **self.how).parts:
                table = part.table
                if table.frame.schema != self.table.frame.schema:
                    table = replace(table, frame=cast_to(table, wanted))
                lines = None if table.lines is None else Lines(table.lines.texts, table.frame)
                yield Part(
                    replace(self.table, frame=table.frame, lines=lines),
                    (before + part.share * size[place]) / sum(size),
                )

    def refuse_changed(self) -> None:
        """Refuse files of which some rows would be of another state than others."""
        for path, state in zip(self.table.files, self.states, strict=True):
            refuse_changed(Path(path), state, Path(path).name)


def open_large(
    path: GivenPath | Sequence[GivenPath],
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
    memory: int = 1 << 31,
) -> Large | None:
    """A table of files, as in ``read_table``, to be read in parts; None: standard input, which is read once.

    Files of a kind that is read as a whole may take ``memory`` bytes.
    """
    given = [os.fspath(one) for one in ([path] if isinstance(path, (str, os.PathLike)) else path)]
    if STDIN in given:
        return None
    how: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet}
    sources, notes = find_sources(given)
    files = [str(source.path) for source in sources]
    states = tuple(state_of(Path(file)) for file in files)
    # One at a time: each open stream is an open file, and its first rows in memory.
    tables = [stream_table(file, **how, memory=memory).table for file in files]
    table = as_given(joined(tables), given, sources, notes, **how)
    first = next(stream_table(files[0], **how, memory=memory).parts)
    usable(replace(table, frame=first.table.frame))
    per_byte = _cell_bytes(first) / max(1, os.path.getsize(files[0]))
    n_bytes = int(per_byte * sum(map(os.path.getsize, files)))
    return Large(table, states, {**how, "memory": memory}, n_bytes)


def may_be_large(paths: Sequence[GivenPath], memory: int) -> bool:
    """Whether files of kinds that can be read in parts may take more than so many bytes, by their beginnings.

    Text takes no more than four times its size, numbers in JSON lines included; anything else may take any number.
    """
    kinds = [file_kind(path) for path in paths]
    texts = [kind.format in ("csv", "jsonl") for kind in kinds]
    columns = [kind.format == "parquet" and not kind.packed for kind in kinds]
    if not all(text or column for text, column in zip(texts, columns, strict=True)):
        return False
    if all(texts) and not any(kind.packed for kind in kinds):
        return _BASE + 4 * _GROWTH * sum(os.path.getsize(path) for path in paths) > memory
    return True


def _cell_bytes(first: Part) -> float:
    """What all cells of a file take, by its first part; of text the share is that of a part more."""
    there = float(row_bytes(first.table.frame).sum())
    behind = 2 if first.table.format in ("csv", "jsonl") else 1
    return behind * there / max(first.share, 1e-9)
