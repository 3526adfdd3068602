"""Text in; the same out, with an apostrophe before what a spreadsheet would run as a formula, and back again."""

from __future__ import annotations

import re

import polars as pl

# What begins a formula: = in every spreadsheet, + and - in Excel and Google Sheets, @ as once in Lotus; in Excel
# set to Japanese also their full-width forms. OWASP's list, "CSV Injection", names these eight, and a report to it
# the long-vowel mark in place of -. The minus sign and the small forms fold to the same signs: for caution.
FORMULA_SIGNS = "=+-@＝＋－＠ー−﹦﹢﹣﹫"
# What is passed over before such a sign: spaces of all kinds, controls, and marks that nobody sees.
_UNSEEN = (
    "\x00-\x20\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufe00-\ufe0f\ufeff"
)
# A tab or the end of a line is one by itself: what comes after it may be a cell of its own. An apostrophe that a
# text already has before a formula gets one more, so that each text is read back as it was.
_RISKY = rf"^'*(?:[{_UNSEEN}]*[{re.escape(FORMULA_SIGNS)}]|[\t\r\n])"
# What runs nothing: a number as it is, and a sign alone.
_HARMLESS = r"^[+-](?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)?$"
_RISKY_TEXT = re.compile(_RISKY)


def without_formulas(name: str) -> pl.Expr:
    """A column of text in which nothing runs as a formula."""
    column = pl.col(name)
    runs = column.str.contains(_RISKY) & ~column.str.contains(_HARMLESS)
    return pl.when(runs).then(pl.lit("'") + column).otherwise(column).alias(name)


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns of text in which nothing runs as a formula.

    >>> guarded(pl.DataFrame({"a": ["=1+1", "-2.5", "b"]}))["a"].to_list()
    ["'=1+1", '-2.5', 'b']
    """
    return frame.with_columns([without_formulas(name) for name in frame.columns])


def as_typed(text: str) -> str:
    """Text without the apostrophe that is put before a formula.

    >>> as_typed("'=yes"), as_typed("'n")
    ('=yes', "'n")
    """
    return text[1:] if text.startswith("'") and _RISKY_TEXT.match(text[1:]) else text


def all_as_typed(cells: pl.Series) -> pl.Series:
    """The same of all cells of a column of text.

    >>> all_as_typed(pl.Series(["'=yes", "'n", None])).to_list()
    ['=yes', "'n", None]
    """
    odd = cells.filter(cells.str.starts_with("'").fill_null(False)).unique().to_list()
    return cells.replace(odd, [as_typed(text) for text in odd]) if odd else cells
