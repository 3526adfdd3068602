"""Tables of one schema in; one table of all their rows out, or in which file which column differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from chary._words import shown
from chary.tables.contents import words_for
from chary.tables.errors import TableError
from chary.tables.table import Lines, Table

_NAMED = 6


def joined(tables: Sequence[Table]) -> Table:
    """The rows of all tables, in this order; the columns are those of the first."""
    first = tables[0]
    if len(tables) == 1:
        return first
    for table in tables[1:]:
        _refuse_others(first, table)
    frame = pl.concat([table.frame for table in _of_one_type(tables)])
    lines = None
    if all(table.lines is not None for table in tables):
        lines = Lines(pl.concat([table.lines.texts for table in tables if table.lines is not None]), frame)
    names = [table.name for table in tables]
    named = ", ".join(names[:_NAMED]) + (f", ... {names[-1]}" if len(names) > _NAMED else "")
    note = f"{len(tables)} files were read as one table, in this order: {named}."
    notes = [note, *(note for table in tables for note in table.notes)]
    return replace(first, frame=frame, lines=lines, name=f"{len(tables)} files", notes=tuple(dict.fromkeys(notes)))


def _refuse_others(first: Table, table: Table) -> None:
    """Refuse a table that is of another kind than the first, or has other columns."""
    if table.format != first.format:
        raise TableError(
            f"{first.name} is {words_for(first.format)} and {table.name} is {words_for(table.format)}; give files "
            "of one kind."
        )
    there, wanted = table.frame.columns, first.frame.columns
    missing = [name for name in wanted if name not in set(there)]
    extra = [name for name in there if name not in set(wanted)]
    if missing:
        raise TableError(
            f"{table.name} has no column {shown(missing[0])}, which {first.name} has; give files of one schema."
        )
    if extra:
        raise TableError(
            f"{table.name} has a column {shown(extra[0])}, which {first.name} lacks; give files of one schema."
        )


def _of_one_type(tables: Sequence[Table]) -> list[Table]:
    """The tables with the columns in the same order and of the same types, if no cell changes by that."""
    wanted = dict(tables[0].frame.schema)
    for table in tables[1:]:
        for name, dtype in table.frame.schema.items():
            common = common_type(wanted[name], dtype)
            if common is None:
                raise TableError(
                    f"Column {shown(name)} is {dtype} in {table.name} and {wanted[name]} in {tables[0].name}; "
                    "write it in one type."
                )
            wanted[name] = common
    return [replace(table, frame=cast_to(table, wanted)) for table in tables]


def common_type(a: pl.DataType, b: pl.DataType) -> pl.DataType | None:
    """A type that holds cells of both; None: there is none that leaves them as they are."""
    if a == b or b == pl.Null:
        return a
    if a == pl.Null:
        return b
    if a.is_integer() and b.is_integer():
        return pl.Int64()
    if a.is_numeric() and b.is_numeric() and not (a.is_decimal() or b.is_decimal()):
        return pl.Float64()
    categories = (pl.Categorical, pl.Enum, pl.String)
    return pl.String() if a in categories and b in categories else None


def cast_to(table: Table, wanted: dict[str, pl.DataType]) -> pl.DataFrame:
    """The columns in these types; numbers that cannot be told in theirs are refused."""
    columns = []
    for name, dtype in wanted.items():
        cells = table.frame[name]
        cast = cells.cast(dtype, strict=False)
        if cells.dtype.is_numeric() and not cast.cast(cells.dtype, strict=False).equals(cells, null_equal=True):
            raise TableError(
                f"Column {shown(name)} of {table.name} holds numbers too long to be {dtype}, as they are in other "
                "files; write it in one type."
            )
        columns.append(cast)
    return pl.DataFrame(columns)
