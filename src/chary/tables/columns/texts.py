"""Columns of free text: which ones say something, and what each cell is about, in thirty numbers or more.

Cells are counted by their n-grams: words, pairs of words, and runs of letters. An n-gram with the
code points c_i ... c_(j-1) has the number

    h = (S_j - S_i) B^-i  (mod 2^64),   S_k = sum over l < k of (c_l B^l),   B odd,

whatever stands before it: two look-ups in one cumulative sum. Mixed, its leading bits are the place
of the n-gram among ``_N_PLACES``; no vocabulary is kept. scikit-learn's ``HashingVectorizer`` does
the same, an n-gram at a time, and takes four times as long.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array, vstack
from sklearn.utils.extmath import randomized_svd, svd_flip

from chary.tables.cells import IDENTIFIER, TEXT, TOPIC, Column, Kind, missing_cells
from chary.tables.table import texts

# Topics of a text: thirty were chosen on twenty tables with up to 27 classes; to tell more apart
# takes more.
_FEWEST_TOPICS, _MOST_TOPICS = 30, 200
_MOST_NGRAMS = 2**14  # that are kept, the most frequent ones
_MOST_TEXTS = 20_000  # different ones, from which the topics are learned
_N_ITER = 4  # of the randomised decomposition
# A topic is named by its heaviest words that stand in so many rows, found in so many texts.
_NAMING_ROWS, _NAMING_TEXTS, _N_WORDS, _WORD_LETTERS = 5, 5_000, 2, 20


class Texts(Kind):
    """Words in each cell: comments, titles, names of more than one word, codes that return.

    A cell becomes a vector x of unit length, an entry for each n-gram that was seen: (1 + log of
    how often it is there) * (1 + log((1 + n) / (1 + in how many of n rows it is)). Its numbers are
    x V, V the first right singular vectors of all rows (latent semantic analysis). No label is
    used. All share one scale, as the length of V's directions says how much there is to say along
    them.
    """

    name = "words"
    one_scale = True
    learns = ("places", "weights", "topics")

    def __init__(self, n_classes: int = 0) -> None:
        self.n_topics = min(_MOST_TOPICS, max(_FEWEST_TOPICS, 3 * n_classes // 2))

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Any text but names that are different in nearly every row, and digits; any, if it is ``forced``."""
        if filled.dtype != pl.String:
            return None
        if not forced and (left_out := _left_out(filled)):
            return left_out
        sample = _sample(filled)
        seen = _seen(sample)
        if not len(seen.places):
            return None
        topics = _topics(
            _weighted(seen.counts, seen.weights), sample["rows"].to_numpy(), self.n_topics
        )
        learned = {"places": seen.places, "weights": seen.weights, "topics": topics}
        return Column(
            filled.name,
            self.name,
            "free text",
            categories=_names(sample, seen, topics),
            learned=learned,
        )

    def feature_names(self, column: Column) -> list[str]:
        """A number for each topic, and its heaviest words."""
        words = [f" ({heavy})" if heavy else "" for heavy in column.categories]
        return [f"{column.name} ~ {i}{heavy}" for i, heavy in enumerate(words, 1)]

    def feature_words(self, column: Column) -> list[tuple[str, str]]:
        about = [heavy or f"topic {i}" for i, heavy in enumerate(column.categories, 1)]
        return [(f"{column.name}, about: {heavy}", TOPIC) for heavy in about]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """How far a cell is about each topic; a cell without any n-gram that was seen is about none."""
        cells, learned = texts(cells), column.learned
        places, topics = learned["places"], learned["topics"]
        seen = np.full(_N_PLACES, -1, np.int32)
        seen[places] = np.arange(len(places))
        parts = [
            _weighted(counts, learned["weights"]) @ topics
            for counts in count_ngrams(cells, seen, len(places))
        ]
        numbers = np.concatenate([np.empty((0, topics.shape[1])), *parts])
        numbers[missing_cells(cells).to_numpy()] = np.nan
        return numbers

    def expected(self, column: Column) -> str:
        return "text"

    def whole(self, column: Column) -> bool:
        """Places within bounds and in order; a weight and a row of topics for each; a name for each topic."""
        places, weights, topics = (column.learned[name] for name in ("places", "weights", "topics"))
        return (
            places.dtype == np.uint32
            and weights.dtype == topics.dtype == np.float32
            and weights.shape == places.shape == topics.shape[:1]
            and topics.shape == (len(places), len(column.categories))
            and bool(len(places) and places[-1] < _N_PLACES and (places[1:] > places[:-1]).all())
            and bool(np.isfinite(weights).all() and np.isfinite(topics).all())
        )


class _Seen(NamedTuple):
    """The n-grams of a sample of texts that are kept."""

    places: NDArray[np.uint32]  # (m,) in order
    weights: NDArray[np.float32]  # (m,) the rarer, the heavier
    n_rows: NDArray[np.float64]  # (m,) that hold it
    counts: csr_matrix  # (texts, m)


def _weighted(counts: csr_matrix, weights: NDArray[np.float32]) -> csr_matrix:
    """Rows of unit length, or empty: the logarithm of counts, times weights."""
    data = (1 + np.log(counts.data)) * weights[counts.indices]
    lengths = np.sqrt(
        csr_matrix((data**2, counts.indices, counts.indptr), counts.shape).sum(axis=1).A1
    )
    data /= np.repeat(lengths, np.diff(counts.indptr)).astype(np.float32)
    return csr_matrix((data, counts.indices, counts.indptr), counts.shape)


def _sample(filled: pl.Series) -> pl.DataFrame:
    """Different values and in how many rows each is; which ones, and their order, by what they are."""
    values = filled.alias("value").value_counts(name="rows")
    if len(values) > _MOST_TEXTS:
        values = values[values["value"].hash(seed=0).arg_sort()[:_MOST_TEXTS]]
    return values.sort("value")


def _seen(sample: pl.DataFrame) -> _Seen:
    """What stands in more than one row, if anything does."""
    rows = sample["rows"].to_numpy().astype(float)
    counts = vstack(list(count_ngrams(sample["value"])), format="csr")
    n_rows = np.bincount(counts.indices, np.repeat(rows, np.diff(counts.indptr)), _N_PLACES).astype(
        float
    )
    places = np.argsort(-n_rows, kind="stable")[:_MOST_NGRAMS]
    places = np.sort(places[n_rows[places] >= min(2, max(1, n_rows.max()))])
    weights = 1 + np.log((1 + rows.sum()) / (1 + n_rows[places]))
    return _Seen(
        places.astype(np.uint32), weights.astype(np.float32), n_rows[places], counts[:, places]
    )


def _topics(matrix: csr_matrix, rows: NDArray[np.uint32], n_topics: int) -> NDArray[np.float32]:
    """The leading right singular vectors (m, k), the heaviest entry of each positive."""
    as_often = (
        diags_array(np.sqrt(rows).astype(np.float32)) @ matrix
    )  # a text in r rows counts r times
    k = max(1, min(n_topics, min(matrix.shape) - 1))
    left, _, right = randomized_svd(as_often, k, n_iter=_N_ITER, random_state=0)
    _, topics = svd_flip(left, right, u_based_decision=False)
    return np.ascontiguousarray(topics.T, np.float32)


def _names(sample: pl.DataFrame, seen: _Seen, topics: NDArray[np.float32]) -> tuple[str, ...]:
    """The heaviest words of each topic, of those that stand in several rows."""
    step = max(1, len(sample) // _NAMING_TEXTS)
    some = sample.gather_every(step)
    text = Letters(alike(some["value"]))
    start, stop = text.word_bounds()
    cell, of_word = text.words()
    places, first, word = np.unique(of_word, return_index=True, return_inverse=True)
    n_rows = step * np.bincount(word, some["rows"].to_numpy()[cell], len(places))
    # Most rows at a place must be those of the word: another n-gram may have the same.
    at = np.searchsorted(seen.places, places).clip(max=len(seen.places) - 1)
    own = (seen.places[at] == places) & (n_rows >= np.maximum(_NAMING_ROWS, seen.n_rows[at] / 2))
    words = [text.text[start[i] : stop[i]][:_WORD_LETTERS] for i in first[own].tolist()]
    heaviest = np.argsort(-np.abs(topics[at[own]]), axis=0, kind="stable")[:_N_WORDS]
    return tuple(", ".join(words[i] for i in heavy) for heavy in heaviest.T.tolist())


# ---------------------------------------------------------------- text that says something, names, and digits

# A column says something if so many of its cells have two words or more, and so many of these words
# come up again.
_WORDY, _AGAIN = 0.5, 0.2
# Otherwise it is a category of many values if so many rows have a value that another row has, too.
_SHARED = 0.2
# Digits with the same letters beside them throughout, or one of so many units, are numbers.
_UNITS = 3
_LOOKED_AT, _BEGINNING = 2_000, 1_000  # different texts, and letters of each

# Scripts that put no blank between words: a letter counts as one.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
# A word has letters and no digit; what is between blanks but is no such thing is a number or a
# code.
_WORD = rf"^[{_UNSPACED}]$|^[\p{{L}}\p{{M}}'’.&/-]*[\p{{L}}\p{{M}}--[{_UNSPACED}]]{{2}}[\p{{L}}\p{{M}}'’.&/-]*$"
_AROUND = "\"'“”„«»‘’()[]{}<>.,;:!?¿¡…*#@&/-"


def _left_out(filled: pl.Series) -> Column | None:
    """A column of text that is not learned from: it names the rows, or holds digits in a form that is not read.

    As text, such digits taught learners what is not so.
    """
    some = _looked_at(filled)
    n_different = filled.n_unique()
    if filled.is_unique().sum() > (1 - _SHARED) * len(filled) and not _says_something(some):
        every = "every" if n_different == len(filled) else "nearly every"
        return Column(filled.name, IDENTIFIER, f"different in {every} row")
    if (
        some.str.contains(r"\d").sum() > len(some) / 2
        and some.str.replace_all(r"\PL", "").n_unique() <= _UNITS
    ):
        return Column(filled.name, TEXT, "digits in a form that is not read")
    return None


def _looked_at(filled: pl.Series) -> pl.Series:
    """Different values, or many of them, whatever the order of the rows; of long ones the beginning."""
    different = filled.unique()
    if len(different) > _LOOKED_AT:
        different = different.gather(different.hash(seed=0).arg_sort()[:_LOOKED_AT])
    return different.str.slice(0, _BEGINNING)


def _says_something(cells: pl.Series) -> bool:
    """Whether there are several words in most cells, which come up again, and not the same ones in every cell."""
    spaced = cells.str.to_lowercase().str.replace_all(f"([{_UNSPACED}])", " $1 ")
    words = (
        pl.DataFrame({"word": spaced.str.extract_all(r"\S+")})
        .with_row_index("cell")
        .explode("word")
    )
    words = words.with_columns(pl.col("word").str.strip_chars(_AROUND)).filter(
        pl.col("word").str.contains(_WORD)
    )
    of_cell = words.group_by("cell").agg(pl.len().alias("n"), pl.col("word").sort().str.join(" "))
    if (of_cell["n"] >= 2).sum() < _WORDY * len(cells) or of_cell["word"].n_unique() == 1:
        return False
    again = words.unique().select(pl.len().over("word") > 1).to_series()
    return bool(again.sum() >= _AGAIN * len(again))


# ---------------------------------------------------------------- n-grams

_RUNS = (2, 3, 4, 5)  # letters within a word, the blanks around it among them
_BITS = 18
_N_PLACES = 2**_BITS
# What of a cell is read, and how much at a time.
_MOST_LETTERS = 10_000
_CHUNK_LETTERS = 2**20

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 2**64)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_SPACE, _END = 32, 10  # the code points of a blank, and of what stands between cells here


class Ngrams(NamedTuple):
    """The n-grams of some cells, those of a kind together."""

    cell: NDArray[np.int32]  # (m,) in which it stands
    place: NDArray[np.int64]  # (m,) by its number


def count_ngrams(
    cells: pl.Series, seen: NDArray[np.int32] | None = None, width: int = _N_PLACES
) -> Iterator[csr_matrix]:
    """How often which n-gram occurs (chunk of cells, width), as single precision, a chunk of cells after another.

    A chunk has some million letters. ``seen`` maps a place to a column, or to -1 if it has none;
    without it the columns are the places.
    """
    lengths = np.minimum(cells.str.len_chars().fill_null(0).to_numpy(), _MOST_LETTERS) + 1
    of_chunk = np.cumsum(lengths, dtype=np.int64) // _CHUNK_LETTERS
    bounds = [0, *(np.flatnonzero(np.diff(of_chunk)) + 1).tolist(), len(cells)]
    for start, stop in pairwise(bounds):
        text = Letters(alike(cells.slice(start, stop - start)))
        found = [*map(text.runs, _RUNS), text.words(), text.word_pairs()]
        cell = np.concatenate([ngrams.cell for ngrams in found])
        column = np.concatenate([ngrams.place for ngrams in found]).astype(np.int32)
        if seen is not None:
            column = seen[column]
            cell, column = cell[column >= 0], column[column >= 0]
        matrix = csr_matrix(
            (np.ones(len(cell), np.float32), (cell, column)), shape=(stop - start, width)
        )
        matrix.sum_duplicates()
        yield matrix


def alike(cells: pl.Series) -> pl.Series:
    """What is written in another form of the same letters, or with more white space, made the same; no null.

    >>> alike(pl.Series(["\\ufb01ne\\u3000 day ", None])).to_list()
    ['fine day', '']
    """
    short = cells.str.slice(0, _MOST_LETTERS).fill_null("")
    joined = short.str.normalize("NFKC").str.replace_all(
        r"\p{Cf}+", ""
    )  # what is invisible is no letter
    return joined.str.replace_all(r"[\s\p{Cc}]+", " ").str.strip_chars()


class Letters:
    """All letters of some cells in one row, with what is needed to number any run of them."""

    def __init__(self, cells: pl.Series) -> None:
        self.text = "\n".join(["", *cells.to_list(), ""]).casefold()
        codes = np.frombuffer(self.text.encode("utf-32-le"), np.uint32)
        end = codes == _END
        self.cell = (np.cumsum(end, dtype=np.int32) - 1).astype(
            np.int32
        )  # (l,) the cell of a letter
        self.codes = np.where(end, _SPACE, codes).astype(np.uint64)
        self.blank = self.codes == _SPACE
        self._sums = np.concatenate(
            [[np.uint64(0)], np.cumsum(self.codes * _powers(_BASE, len(codes)))]
        )
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
    return (mixed >> np.uint64(64 - _BITS)).astype(np.int64)


def _in_words(codes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which code points are letters, digits or marks on them."""
    points = codes.astype(np.int64)
    in_word = np.zeros(0x110000, bool)
    for point in np.flatnonzero(
        np.bincount(points)
    ).tolist():  # no more than there are different ones
        in_word[point] = chr(point).isalnum() or unicodedata.category(chr(point)).startswith("M")
    return in_word[points]
