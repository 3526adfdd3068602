"""Columns of free text, and the topics that a cell is about.

Cells are counted by their n-grams: words, pairs of words, and runs of letters. An n-gram with the
code points c_i ... c_(j-1) has the number

    h = (S_j - S_i) B^-i  (mod 2^64),   S_k = sum over l < k of (c_l B^l),   B odd,

which does not depend on the text before it, and takes two look-ups in one cumulative sum. The bits
of the number are mixed; the leading ones are the place of the n-gram among ``_N_PLACES``. No
vocabulary is kept. scikit-learn's ``HashingVectorizer`` does the same, an n-gram at a time, and
takes four times as long.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array, vstack
from sklearn.utils.extmath import randomized_svd, svd_flip

from chary._arrays import Ints, Mask
from chary.tables.cells import missing_cells
from chary.tables.columns.defaults import COLUMN_DEFAULTS, NO_HINTS, ColumnDefaults, Hints
from chary.tables.columns.kind import IDENTIFIER, TOPIC, UNUSED_TEXT, Column, Kind, sample_cells
from chary.tables.table import texts

# Different texts from which the topics are learned: a limit of time.
_MAX_TEXTS = 20_000
# A topic is named by its heaviest words, each cut to ``_NAMING_LETTERS``. A word must stand in at
# least ``_NAMING_ROWS`` rows, so that names of topics give no cell away. Words are taken from a
# sample of about ``_NAMING_TEXTS`` texts.
_NAMING_WORDS = 2
_NAMING_LETTERS = 20
_NAMING_ROWS = 5
_NAMING_TEXTS = 5_000


class Texts(Kind):
    """Words in each cell: comments, titles, names, codes that repeat.

    A cell becomes a vector x of unit length with an entry for each n-gram,

        (1 + log(c)) * (1 + log((1 + n) / (1 + r))),

    if the n-gram stands c times in the cell and in r of the n rows. The cell's numbers are x V; V
    holds the first right singular vectors of all rows (latent semantic analysis). No label is used.
    All topics share one scale, as the more important ones have the larger numbers.
    """

    name = "words"
    one_scale = True
    learns = ("places", "weights", "topics")

    def find(
        self, filled: pl.Series, forced: bool = False, hints: Hints = NO_HINTS
    ) -> Column | None:
        """Find text that says something; any text if it is ``forced``."""
        if filled.dtype != pl.String:
            return None
        if not forced:
            left_out = _leave_out(filled, hints.defaults)
            if left_out is not None:
                return left_out

        sample = _sample_texts(filled)
        ngrams = _frequent_ngrams(sample, hints.defaults)
        if not len(ngrams.places):
            return None
        topics = _topics(ngrams, sample["rows"].to_numpy(), hints)
        return Column(
            filled.name,
            self.name,
            "free text",
            categories=_name_topics(sample, ngrams, topics),
            learned={"places": ngrams.places, "weights": ngrams.weights, "topics": topics},
        )

    def feature_names(self, column: Column) -> list[str]:
        """Name the topics by number and heaviest words."""
        names = []
        for i, words in enumerate(column.categories, 1):
            in_brackets = f" ({words})" if words else ""
            names.append(f"{column.name} ~ {i}{in_brackets}")
        return names

    def feature_words(self, column: Column) -> list[tuple[str, str]]:
        """Say what each topic is about, by its heaviest words."""
        topics = [words or f"topic {i}" for i, words in enumerate(column.categories, 1)]
        return [(f"{column.name}, about: {topic}", TOPIC) for topic in topics]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """Measure how far each cell is about each topic.

        A cell is 0 for all topics if it has no n-gram that was chosen in ``find``.
        """
        cells = texts(cells)
        places, weights, topics = (column.learned[name] for name in self.learns)
        blocks = []
        for counts in count_ngrams(cells):
            vectors = _weigh(counts[:, places], weights)  # (cells of a chunk, m)
            blocks.append(vectors @ topics)
        numbers = np.concatenate(blocks)
        numbers[missing_cells(cells).to_numpy()] = np.nan
        return numbers

    def expected(self, column: Column) -> str:
        """Say that any text will do."""
        return "text"

    def is_valid(self, column: Column) -> bool:
        """Tell whether a column's arrays fit together and its topics have names."""
        places, weights, topics = (column.learned[name] for name in self.learns)
        has_types = places.dtype == np.uint32 and weights.dtype == topics.dtype == np.float32
        n_topics = len(column.categories)
        has_shapes = weights.shape == places.shape and topics.shape == (places.size, n_topics)
        return has_types and has_shapes


class _FrequentNgrams(NamedTuple):
    """The chosen n-grams of a sample of texts."""

    places: NDArray[np.uint32]  # (m,) in order
    weights: NDArray[np.float32]  # (m,) the rarer, the heavier
    n_rows: NDArray[np.float64]  # (m,) rows that hold the n-gram
    counts: csr_matrix  # (texts, m)


def _sample_texts(filled: pl.Series) -> pl.DataFrame:
    """Count distinct values, sampled and sorted by content."""
    values = filled.alias("value").value_counts(name="rows")
    if len(values) > _MAX_TEXTS:
        order = values["value"].hash(seed=0).arg_sort()
        values = values[order[:_MAX_TEXTS]]
    return values.sort("value")


def _frequent_ngrams(sample: pl.DataFrame, defaults: ColumnDefaults) -> _FrequentNgrams:
    """Choose the most frequent n-grams of those that stand in several rows.

    If no n-gram stands in two rows, those of a single row are chosen.
    """
    rows = sample["rows"].to_numpy()
    counts = vstack(list(count_ngrams(sample["value"])), format="csr")  # (texts, _N_PLACES)
    # A text may stand in several rows; so do all its n-grams.
    rows_by_entry = np.repeat(rows, np.diff(counts.indptr))
    n_rows = np.bincount(counts.indices, rows_by_entry, minlength=_N_PLACES)

    most_frequent = np.argsort(-n_rows, kind="stable")[: defaults.max_ngrams]
    fewest_rows = min(2, max(1, n_rows.max()))
    is_frequent = n_rows[most_frequent] >= fewest_rows
    places = np.sort(most_frequent[is_frequent])
    n_rows = n_rows[places]
    weights = 1 + np.log((1 + rows.sum()) / (1 + n_rows))
    return _FrequentNgrams(
        places=places.astype(np.uint32),
        weights=weights.astype(np.float32),
        n_rows=n_rows,
        counts=counts[:, places],
    )


def _weigh(counts: csr_matrix, weights: NDArray[np.float32]) -> csr_matrix:
    """Compute the vectors x of unit length from counts (cells, m); see ``Texts``."""
    vectors = counts.copy()
    vectors.data = (1 + np.log(counts.data)) * weights[counts.indices]
    lengths = np.sqrt(vectors.power(2).sum(axis=1).A1)  # (cells,)
    vectors.data /= np.repeat(lengths, np.diff(vectors.indptr)).astype(np.float32)
    return vectors


def _topics(ngrams: _FrequentNgrams, rows: NDArray[np.uint32], hints: Hints) -> NDArray[np.float32]:
    """Compute the leading right singular vectors, (m, k), the heaviest entry of each positive."""
    defaults = hints.defaults
    n_topics = int(defaults.topics_per_class * hints.n_classes)
    n_topics = min(defaults.max_topics, max(defaults.min_topics, n_topics))

    vectors = _weigh(ngrams.counts, ngrams.weights)  # (texts, m)
    n_topics = max(1, min(n_topics, min(vectors.shape) - 1))
    # The factor sqrt(r) makes a text that stands in r rows count r times.
    factors = diags_array(np.sqrt(rows).astype(np.float32))
    left, _, right = randomized_svd(
        factors @ vectors, n_topics, n_iter=defaults.svd_iterations, random_state=0
    )
    _, topics = svd_flip(left, right, u_based_decision=False)
    return np.ascontiguousarray(topics.T, np.float32)


def _name_topics(
    sample: pl.DataFrame, ngrams: _FrequentNgrams, topics: NDArray[np.float32]
) -> tuple[str, ...]:
    """Name each topic by its heaviest words."""
    step = max(1, len(sample) // _NAMING_TEXTS)
    sample = sample.gather_every(step)
    letters = Letters(normalized(sample["value"]))
    words = letters.words()
    # For each place its first word, and for each word the number of its place.
    places, first_words, place_numbers = np.unique(
        words.place, return_index=True, return_inverse=True
    )
    rows_by_word = sample["rows"].to_numpy()[words.cell]
    n_rows = step * np.bincount(place_numbers, rows_by_word, minlength=len(places))

    # Another n-gram may have the same place as a word: at least half of the rows counted at the
    # place must hold the word.
    chosen = np.searchsorted(ngrams.places, places).clip(max=len(ngrams.places) - 1)
    is_chosen = ngrams.places[chosen] == places
    can_name = is_chosen & (n_rows >= _NAMING_ROWS) & (n_rows >= ngrams.n_rows[chosen] / 2)

    names = [letters.word(i)[:_NAMING_LETTERS] for i in first_words[can_name].tolist()]
    weights = np.abs(topics[chosen[can_name]])  # (names, k)
    heaviest = np.argsort(-weights, axis=0, kind="stable")[:_NAMING_WORDS]
    return tuple(", ".join(names[i] for i in column) for column in heaviest.T.tolist())


# ---------------------------------------------------------------- texts that say nothing

# Different texts that are enough to judge a column, and letters of each that are read.
_JUDGED_TEXTS = 2_000
_JUDGED_LETTERS = 1_000

# Scripts that put no blank between words: a letter counts as one.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
# A word has letters and no digit; anything else between blanks is a number or a code.
_IN_WORD = r"\p{L}\p{M}'’.&/-"
_WORD = rf"^[{_UNSPACED}]$|^[{_IN_WORD}]*[\p{{L}}\p{{M}}--[{_UNSPACED}]]{{2}}[{_IN_WORD}]*$"
_AROUND = "\"'“”„«»‘’()[]{}<>.,;:!?¿¡…*#@&/-"


def _leave_out(filled: pl.Series, defaults: ColumnDefaults = COLUMN_DEFAULTS) -> Column | None:
    """Describe a column that is left out: row names, or digits in an unknown form."""
    sample = _sample_beginnings(filled)
    n_unique = filled.is_unique().sum()
    is_repeated = n_unique <= (1 - defaults.repeated_values_share) * len(filled)
    if not is_repeated and not _says_something(sample, defaults):
        rows = "every row" if n_unique == len(filled) else "nearly every row"
        return Column(filled.name, IDENTIFIER, f"different in {rows}")

    # The letters of the cells make few different texts: the rest are digits with a unit.
    has_digits = sample.str.contains(r"\d").sum() > len(sample) / 2
    if has_digits and sample.str.replace_all(r"\PL", "").n_unique() <= defaults.max_units:
        return Column(filled.name, UNUSED_TEXT, "digits in a form that is not read")
    return None


def _sample_beginnings(filled: pl.Series) -> pl.Series:
    """Sample the beginnings of distinct values."""
    return sample_cells(filled.unique(), _JUDGED_TEXTS).str.slice(0, _JUDGED_LETTERS)


def _says_something(cells: pl.Series, defaults: ColumnDefaults = COLUMN_DEFAULTS) -> bool:
    """Tell whether most cells have several words that repeat."""
    spaced = cells.str.to_lowercase().str.replace_all(f"([{_UNSPACED}])", " $1 ")
    pieces = pl.DataFrame({"word": spaced.str.extract_all(r"\S+")}).with_row_index("cell")
    word = pl.col("word")
    words = (
        pieces.explode("word")
        .with_columns(word.str.strip_chars(_AROUND))
        .filter(word.str.contains(_WORD))
    )

    n_words = words["cell"].value_counts()["count"]  # by cell
    if (n_words >= 2).sum() < defaults.wordy_share * len(cells):
        return False
    # For each word of each cell: whether another cell holds the word, too.
    repeats = words.unique().select(pl.len().over("word") > 1).to_series()
    return bool(repeats.sum() >= defaults.repeated_words_share * len(repeats))


# ---------------------------------------------------------------- n-grams

# Lengths of runs of letters; a run lies within a word and the blanks around it.
_RUNS = (2, 3, 4, 5)
_BITS = 18
_N_PLACES = 2**_BITS
# Most letters of a cell that are read, and letters of all cells in a chunk.
_MAX_LETTERS = 10_000
_CHUNK_LETTERS = 2**20

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 2**64)
_MIX = np.uint64(0xD6E8FEB86659FD93)
# The code points of a blank, and of the line break that ``Letters`` puts between cells.
_SPACE = 32
_END = 10


class Ngrams(NamedTuple):
    """The n-grams of one kind of some cells."""

    cell: NDArray[np.int32]  # (m,) the cell in which the n-gram stands
    place: NDArray[np.int64]  # (m,) the place of the n-gram among ``_N_PLACES``


def count_ngrams(cells: pl.Series) -> Iterator[csr_matrix]:
    """Count n-grams (cells of a chunk, places), chunk by chunk.

    A chunk has about a million letters.
    """
    lengths = cells.str.len_chars().fill_null(0).to_numpy()
    # A cell takes one letter more than it has: the line break before it.
    letters_so_far = np.cumsum(np.minimum(lengths, _MAX_LETTERS) + 1, dtype=np.int64)
    starts = np.flatnonzero(np.diff(letters_so_far // _CHUNK_LETTERS)) + 1
    for start, stop in pairwise([0, *starts.tolist(), len(cells)]):
        yield _count_in_chunk(cells.slice(start, stop - start))


def _count_in_chunk(cells: pl.Series) -> csr_matrix:
    """Count the n-grams of each cell, (cells, _N_PLACES)."""
    letters = Letters(normalized(cells))
    kinds = [letters.runs(n) for n in _RUNS]
    kinds += [letters.words(), letters.word_pairs()]
    rows = np.concatenate([ngrams.cell for ngrams in kinds])
    places = np.concatenate([ngrams.place for ngrams in kinds]).astype(np.int32)
    ones = np.ones(len(rows), np.float32)
    counts = csr_matrix((ones, (rows, places)), shape=(len(cells), _N_PLACES))
    counts.sum_duplicates()
    return counts


def normalized(cells: pl.Series) -> pl.Series:
    r"""Write text in one Unicode form, with single blanks.

    Invisible characters are left out, and null becomes the empty text.

    >>> normalized(pl.Series(["\ufb01ne\u3000 day ", None])).to_list()
    ['fine day', '']
    """
    short = cells.str.slice(0, _MAX_LETTERS).fill_null("")
    visible = short.str.normalize("NFKC").str.replace_all(r"\p{Cf}+", "")
    return visible.str.replace_all(r"[\s\p{Cc}]+", " ").str.strip_chars()


class Letters:
    """The letters of some cells, put one after the other, to number their n-grams."""

    def __init__(self, cells: pl.Series) -> None:
        # A line break stands before each cell and at the end.
        self.text = "\n".join(["", *cells.to_list(), ""]).casefold()
        codes = np.frombuffer(self.text.encode("utf-32-le"), np.uint32)
        n_letters = len(codes)
        is_end = codes == _END
        self.cell = np.cumsum(is_end, dtype=np.int32) - np.int32(1)  # (l,) the cell of a letter
        self.codes = np.where(is_end, _SPACE, codes).astype(np.uint64)
        self.blank = self.codes == _SPACE

        # S_0, S_1, ... and B^-i of the formula above.
        self._sums = np.zeros(n_letters + 1, np.uint64)
        np.cumsum(self.codes * _powers(_BASE, n_letters), out=self._sums[1:])
        self._shift = _powers(_INVERSE, n_letters)

        # Words are runs of letters, digits and the marks on them: they start and stop by turns
        # where ``in_word`` changes. The text begins and ends outside of words.
        in_word = _in_words(self.text, self.codes)
        bounds = np.flatnonzero(in_word[1:] != in_word[:-1]) + 1
        self.word_start = bounds[::2]
        self.word_stop = bounds[1::2]

    def word(self, number: int) -> str:
        """Return the letters of a word."""
        return self.text[self.word_start[number] : self.word_stop[number]]

    def runs(self, n: int) -> Ngrams:
        """Find runs of ``n`` letters in words and the blanks around them."""
        n_starts = max(0, len(self.codes) - n + 1)
        # Only the first and the last letter may be blank; in a run of two, not both.
        is_run = ~(self.blank[:n_starts] & self.blank[1 : 1 + n_starts])
        for inner in range(1, n - 1):
            is_run &= ~self.blank[inner : inner + n_starts]
        start = np.flatnonzero(is_run)
        numbers = self._numbers(start, start + n)
        return Ngrams(self.cell[start], _places(numbers, kind=n))

    def words(self) -> Ngrams:
        """Find words."""
        numbers = self._numbers(self.word_start, self.word_stop)
        return Ngrams(self.cell[self.word_start], _places(numbers, kind=0))

    def word_pairs(self) -> Ngrams:
        """Find words with the next word of the same cell."""
        numbers = self._numbers(self.word_start, self.word_stop)
        pair_numbers = numbers[:-1] * _MIX + numbers[1:]
        cell = self.cell[self.word_start]
        in_same_cell = cell[1:] == cell[:-1]
        places = _places(pair_numbers[in_same_cell], kind=1)
        return Ngrams(cell[1:][in_same_cell], places)

    def _numbers(self, start: Ints, stop: Ints) -> NDArray[np.uint64]:
        """Compute the numbers h of n-grams, by the formula above."""
        return (self._sums[stop] - self._sums[start]) * self._shift[start]


def _powers(base: int, n: int) -> NDArray[np.uint64]:
    """Compute 1, base, base^2 ... modulo 2^64."""
    factors = np.full(n, base, np.uint64)
    factors[:1] = 1
    return np.cumprod(factors)


def _places(numbers: NDArray[np.uint64], kind: int) -> NDArray[np.int64]:
    """Return the places of n-grams: the leading bits of their numbers, mixed.

    The ``kind`` keeps words (0), pairs (1) and runs (their length) of the same number apart.
    """
    mixed = (numbers + np.uint64(kind)) * _MIX
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _MIX
    return (mixed >> np.uint64(64 - _BITS)).astype(np.int64)


def _in_words(text: str, codes: NDArray[np.uint64]) -> Mask:
    """Tell which code points of a text are letters, digits or marks on them."""
    # A table of all code points, filled for those in the text.
    in_word = np.zeros(sys.maxunicode + 1, bool)
    for letter in set(text):
        is_mark = unicodedata.category(letter).startswith("M")
        in_word[ord(letter)] = is_mark or letter.isalnum()
    return in_word[codes]
