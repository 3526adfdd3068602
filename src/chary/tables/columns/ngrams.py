"""Cells of text in; out how often each of their words and runs of letters occurs, by a number instead of a name.

An n-gram with the code points c_i ... c_(j-1) has the number

    h = (S_j - S_i) B^-i  (mod 2^64),   S_k = sum over l < k of (c_l B^l),   B odd,

whatever stands before it: two look-ups in one cumulative sum. Mixed, its leading bits are the place of the n-gram
among ``N_PLACES``; no vocabulary is kept. scikit-learn's ``HashingVectorizer`` does the same, an n-gram at a time,
and takes four times as long.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

_RUNS = (2, 3, 4, 5)  # letters within a word, the blanks around it among them
BITS = 18
N_PLACES = 2**BITS
# What of a cell is read, and how much at a time.
MOST_LETTERS = 10_000
_CHUNK_LETTERS = 2**20

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 2**64)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_SPACE, _END = 32, 10  # the code points of a blank, and of what stands between cells here


class Ngrams(NamedTuple):
    """The n-grams of some cells, those of a kind together."""

    cell: NDArray[np.int32]  # (m,) in which it stands
    place: NDArray[np.int64]  # (m,) by its number


def counted(
    cells: pl.Series, seen: NDArray[np.int32] | None = None, width: int = N_PLACES
) -> Iterator[csr_matrix]:
    """How often which n-gram occurs (chunk of cells, width), as single precision, a chunk of cells after another.

    ``seen`` maps a place to a column, or to -1 if it has none; without it the columns are the places.
    """
    for part in chunks(cells):
        text = Letters(part)
        found = [*map(text.runs, _RUNS), text.words(), text.word_pairs()]
        cell = np.concatenate([ngrams.cell for ngrams in found])
        column = np.concatenate([ngrams.place for ngrams in found]).astype(np.int32)
        if seen is not None:
            column = seen[column]
            cell, column = cell[column >= 0], column[column >= 0]
        ones = np.ones(len(cell), np.float32)
        matrix = csr_matrix((ones, (cell, column)), shape=(len(part), width))
        matrix.sum_duplicates()
        yield matrix


def chunks(cells: pl.Series) -> Iterator[pl.Series]:
    """Cells made alike, as many at a time as have some million letters."""
    lengths = np.minimum(cells.str.len_chars().fill_null(0).to_numpy(), MOST_LETTERS) + 1
    of_chunk = np.cumsum(lengths, dtype=np.int64) // _CHUNK_LETTERS
    bounds = [0, *(np.flatnonzero(np.diff(of_chunk)) + 1).tolist(), len(cells)]
    for start, stop in pairwise(bounds):
        yield alike(cells.slice(start, stop - start))


def alike(cells: pl.Series) -> pl.Series:
    """What is written in another form of the same letters, or with more white space, made the same; no null.

    >>> alike(pl.Series(["\\ufb01ne\\u3000 day ", None])).to_list()
    ['fine day', '']
    """
    short = cells.str.slice(0, MOST_LETTERS).fill_null("")
    joined = short.str.normalize("NFKC").str.replace_all(r"\p{Cf}+", "")  # what is invisible is no letter
    return joined.str.replace_all(r"[\s\p{Cc}]+", " ").str.strip_chars()


class Letters:
    """All letters of some cells in one row, with what is needed to number any run of them."""

    def __init__(self, cells: pl.Series) -> None:
        self.text = "\n".join(["", *cells.to_list(), ""]).casefold()
        codes = np.frombuffer(self.text.encode("utf-32-le"), np.uint32)
        end = codes == _END
        self.cell = (np.cumsum(end, dtype=np.int32) - 1).astype(np.int32)  # (l,) the cell of a letter
        self.codes = np.where(end, _SPACE, codes).astype(np.uint64)
        self.blank = self.codes == _SPACE
        self._sums = np.concatenate([[np.uint64(0)], np.cumsum(self.codes * _powers(_BASE, len(codes)))])
        self._shift = _powers(_INVERSE, len(codes))

    def runs(self, n: int) -> Ngrams:
        """Runs of ``n`` letters within a word and the blank before and after it."""
        n_runs = max(0, len(self.codes) - n + 1)
        valid = ~(self.blank[:n_runs] & self.blank[1 : 1 + n_runs])
        for inner in range(1, n - 1):
            valid &= ~self.blank[inner : inner + n_runs]
        start = np.flatnonzero(valid)
        return Ngrams(self.cell[start], _places(self._numbers(start, start + n), n))

    def word_bounds(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where words begin and end: runs of letters, digits and the marks on them."""
        inside = np.concatenate([[False], _in_words(self.codes), [False]])
        return np.flatnonzero(inside[1:] & ~inside[:-1]), np.flatnonzero(inside[:-1] & ~inside[1:])

    def words(self) -> Ngrams:
        start, stop = self.word_bounds()
        return Ngrams(self.cell[start], _places(self._numbers(start, stop), 0))

    def word_pairs(self) -> Ngrams:
        """A word and the next of the same cell."""
        start, stop = self.word_bounds()
        numbers, cell = self._numbers(start, stop), self.cell[start]
        same = cell[1:] == cell[:-1]
        return Ngrams(cell[1:][same], _places((numbers[:-1] * _MIX + numbers[1:])[same], 1))

    def _numbers(self, start: NDArray[np.intp], stop: NDArray[np.intp]) -> NDArray[np.uint64]:
        return (self._sums[stop] - self._sums[start]) * self._shift[start]


def _powers(base: int, n: int) -> NDArray[np.uint64]:
    """1, base, base^2 ... modulo 2^64."""
    factors = np.full(n, base, np.uint64)
    factors[:1] = 1
    return np.cumprod(factors)


def _places(numbers: NDArray[np.uint64], kind: int) -> NDArray[np.int64]:
    """The leading bits of numbers, mixed; n-grams of another kind have other ones."""
    mixed = (numbers + np.uint64(kind)) * _MIX
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _MIX
    return (mixed >> np.uint64(64 - BITS)).astype(np.int64)


def _in_words(codes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which code points are letters, digits or marks on them."""
    points = codes.astype(np.int64)
    there = np.flatnonzero(np.bincount(points))
    table = np.zeros(there[-1] + 1 if len(there) else 1, bool)
    for point in there.tolist():  # no more than there are different ones
        letter = chr(point)
        table[point] = letter.isalnum() or unicodedata.category(letter).startswith("M")
    return table[points]
