"""A cell in; out whether it is empty, a missing value, perhaps no label, or no answer: all that is said of it."""

from __future__ import annotations

import polars as pl

# What people and programs write where there is nothing, in upper or lower case, whatever the column is for.
_NOTHING = ("na", "n/a", "nan", "null", "?")
# In a feature such a cell is missing, and so is one of these.
_MISSING = (*_NOTHING, "", "none", "-")
# In a target it may mean "no label" or be a class; so may this, with which NumPy and scikit-learn mark such rows.
_MAY_BE_UNLABELED = (*_NOTHING, "-1")
# As the answer to a question it means "I do not know", and so does one of these.
_NO_ANSWER = frozenset((*_NOTHING, "none", "-", "??", "???", "skip", "skipped", "unknown"))
# Around a label; NumPy drops a NUL at the end of text anyway.
_SPACE = " \t\r\n\x0b\x0c\x00\ufeff\u00a0"


def missing_cells(cells: pl.Series) -> pl.Series:
    """Where the cells of a feature hold nothing.

    >>> missing_cells(pl.Series(["1", " NA ", None, ""])).to_list()
    [False, True, True, True]
    """
    if cells.dtype == pl.String:
        return cells.str.strip_chars().str.to_lowercase().is_in(_MISSING).fill_null(True)
    return ~cells.is_finite().fill_null(False) if cells.dtype.is_float() else cells.is_null()


def filled_cells(cells: pl.Series) -> pl.Series:
    """The others, text without the white space around it."""
    there = cells.filter(~missing_cells(cells))
    return there.str.strip_chars() if cells.dtype == pl.String else there


def label_texts(cells: pl.Series) -> pl.Series:
    """The cells of a target as text without white space around it, null where they are empty."""
    texts = cells.cast(pl.String).str.strip_chars(_SPACE)
    return texts.set(texts == "", None)


def may_be_unlabeled(label: str) -> bool:
    """Whether only who wrote a label can tell if it is one.

    >>> may_be_unlabeled("NA"), may_be_unlabeled("none")
    (True, False)
    """
    return label.lower() in _MAY_BE_UNLABELED


def is_no_answer(answer: str) -> bool:
    """Whether it says that somebody does not know.

    >>> is_no_answer("Unknown"), is_no_answer("no")
    (True, False)
    """
    return answer.casefold() in _NO_ANSWER
