"""A table and columns to add in; the file as it was, with these on the right and no formula in them, out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

import polars as pl

from chary.tables.table import Table

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_table(table: Table, added: Mapping[str, Any], file: BinaryIO) -> None:
    """Write the table as it was read, with columns added on the right.

    The table's own cells are unchanged. Text in added columns of a CSV that a spreadsheet would run as a formula
    gets an apostrophe in front.
    """
    frame = table.frame.with_columns([pl.Series(name, values) for name, values in added.items()])
    if not table.delimiter:
        frame.write_parquet(file)
        return
    schema = frame.schema  # made anew each time it is asked for
    texts = [name for name in added if schema[name] == pl.String]
    frame.with_columns([_without_formulas(name) for name in texts]).write_csv(
        file, separator=table.delimiter, include_bom=table.bom
    )


def as_typed(text: str) -> str:
    """Text without the apostrophe that ``write_table`` puts before a formula.

    >>> as_typed("'=yes"), as_typed("'n")
    ('=yes', "'n")
    """
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA_STARTS) else text


def _without_formulas(name: str) -> pl.Expr:
    column = pl.col(name)
    risky = pl.any_horizontal([column.str.starts_with(start) for start in _FORMULA_STARTS])
    risky &= ~column.is_in(["+", "-"])  # a sign alone runs nothing
    is_number = column.cast(pl.Float64, strict=False).is_not_null()
    return pl.when(risky & ~is_number).then(pl.lit("'") + column).otherwise(column).alias(name)
