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

# Topics are learned from at most this many different texts, to limit the time.
_MAX_TEXTS = 20_000
# A topic is named by this many words, its heaviest ones.
_NAMING_WORDS = 2
# A word in the name of a topic is cut to this many letters.
_NAMING_LETTERS = 20
# A word can name a topic only if it stands in at least this many rows, so that the names of topics
# give no cell away.
_NAMING_ROWS = 5
# The words that can name topics are taken from a sample of about this many texts.
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
        rows = sample["rows"].to_numpy()
        topics = _topics(ngrams, rows, hints)
        learned = {"places": ngrams.places, "weights": ngrams.weights, "topics": topics}
        topic_names = _name_topics(sample, ngrams, topics)
        return Column(filled.name, self.name, "free text", categories=topic_names, learned=learned)

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
    """Count the rows of each distinct text; of many texts, sample some by their content.

    Returns
    -------
    DataFrame
        With the columns ``value``, sorted, and ``rows``.
    """
    values = filled.alias("value").value_counts(name="rows")
    if len(values) > _MAX_TEXTS:
        order = values["value"].hash(seed=0).arg_sort()
        values = values[order[:_MAX_TEXTS]]
    return values.sort("value")


def _frequent_ngrams(sample: pl.DataFrame, defaults: ColumnDefaults) -> _FrequentNgrams:
    """Choose the most frequent n-grams of those that stand in several rows.

    If no n-gram stands in two rows, those of a single row are chosen.
    """
    rows = sample["rows"].to_numpy()  # (texts,) in how many rows each text stands
    chunks = list(count_ngrams(sample["value"]))
    counts = vstack(chunks, format="csr")  # (texts, _N_PLACES)
    # The rows of an n-gram are the rows of all texts that hold it. ``counts`` has an entry for each
    # n-gram of each text: its column is in ``indices``, and the entries of text i are those from
    # ``indptr[i]`` to ``indptr[i + 1]``.
    n_ngrams_of_text = np.diff(counts.indptr)
    rows_of_entry = np.repeat(rows, n_ngrams_of_text)
    rows_of_place = np.bincount(counts.indices, rows_of_entry, minlength=_N_PLACES)

    most_frequent = np.argsort(-rows_of_place, kind="stable")[: defaults.max_ngrams]
    fewest_rows = min(2, max(1, rows_of_place.max()))
    is_frequent = rows_of_place[most_frequent] >= fewest_rows
    places = np.sort(most_frequent[is_frequent])
    n_rows = rows_of_place[places]
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
    n_entries = np.diff(vectors.indptr)  # (cells,)
    lengths_by_entry = np.repeat(lengths, n_entries)
    vectors.data /= lengths_by_entry.astype(np.float32)
    return vectors


def _topics(ngrams: _FrequentNgrams, rows: NDArray[np.uint32], hints: Hints) -> NDArray[np.float32]:
    """Compute the topics (m, k), the V of ``Texts``: one right singular vector in each column.

    A singular vector is known up to its sign. It is chosen so that the entry of the largest
    absolute value is positive.
    """
    defaults = hints.defaults
    n_topics = int(defaults.topics_per_class * hints.n_classes)
    n_topics = max(defaults.min_topics, n_topics)
    n_topics = min(defaults.max_topics, n_topics)

    vectors = _weigh(ngrams.counts, ngrams.weights)  # (texts, m)
    most_topics = min(vectors.shape) - 1  # that the decomposition can find
    n_topics = max(1, min(n_topics, most_topics))
    # The factor sqrt(r) makes a text that stands in r rows count r times.
    factors = diags_array(np.sqrt(rows).astype(np.float32))
    weighted = factors @ vectors
    left, _, right = randomized_svd(
        weighted, n_topics, n_iter=defaults.svd_iterations, random_state=0
    )
    _, signed = svd_flip(left, right, u_based_decision=False)  # (k, m)
    return np.ascontiguousarray(signed.T, np.float32)


def _name_topics(
    sample: pl.DataFrame, ngrams: _FrequentNgrams, topics: NDArray[np.float32]
) -> tuple[str, ...]:
    """Name each topic by its heaviest words.

    A word is an n-gram, too, so it has a place and, if it is frequent, a weight in each topic. The
    words are read again from a sample of texts, as n-grams have only numbers.
    """
    step = max(1, len(sample) // _NAMING_TEXTS)
    sample = sample.gather_every(step)
    letters = Letters(normalized(sample["value"]))
    words = letters.words()

    # ``places`` are the distinct places of the words, ``first_words`` a word at each place, and
    # ``place_numbers`` the number of each word's place among them.
    places, first_words, place_numbers = np.unique(
        words.place, return_index=True, return_inverse=True
    )
    rows_of_word = sample["rows"].to_numpy()[words.cell]
    rows_in_sample = np.bincount(place_numbers, rows_of_word, minlength=len(places))
    n_rows = step * rows_in_sample  # about as many rows of all texts

    # The row of ``topics`` that belongs to each place, if its n-gram is among the chosen ones.
    last = len(ngrams.places) - 1
    topic_rows = np.searchsorted(ngrams.places, places).clip(max=last)
    is_chosen = ngrams.places[topic_rows] == places
    is_frequent = n_rows >= _NAMING_ROWS
    # Another n-gram may have the same place as a word: at least half of the rows counted at the
    # place must hold the word.
    owns_place = n_rows >= ngrams.n_rows[topic_rows] / 2
    can_name = is_chosen & is_frequent & owns_place

    names = [letters.word(i)[:_NAMING_LETTERS] for i in first_words[can_name].tolist()]
    weights = np.abs(topics[topic_rows[can_name]])  # (names, k)
    heaviest = np.argsort(-weights, axis=0, kind="stable")[:_NAMING_WORDS]
    topic_names = []
    for name_numbers in heaviest.T.tolist():
        topic_names.append(", ".join(names[i] for i in name_numbers))
    return tuple(topic_names)


# ---------------------------------------------------------------- texts that say nothing

# About this many different texts are enough to judge a column.
_JUDGED_TEXTS = 2_000
# At most this many letters of each of these texts are read.
_JUDGED_LETTERS = 1_000

# Scripts that put no blank between words: a letter counts as one.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
# A word has letters and no digit; anything else between blanks is a number or a code.
_IN_WORD = r"\p{L}\p{M}'’.&/-"
_WORD = rf"^[{_UNSPACED}]$|^[{_IN_WORD}]*[\p{{L}}\p{{M}}--[{_UNSPACED}]]{{2}}[{_IN_WORD}]*$"
_AROUND = "\"'“”„«»‘’()[]{}<>.,;:!?¿¡…*#@&/-"


def _leave_out(filled: pl.Series, defaults: ColumnDefaults = COLUMN_DEFAULTS) -> Column | None:
    """Describe a column that is left out; return None for text that is used.

    Left out are names of rows, which hardly repeat and have no words, and digits with a unit that
    no other kind could read.
    """
    sample = _sample_beginnings(filled)
    n_unique = filled.is_unique().sum()
    most_unique = (1 - defaults.repeated_values_share) * len(filled)
    if n_unique > most_unique and not _says_something(sample, defaults):
        rows = "every row" if n_unique == len(filled) else "nearly every row"
        return Column(filled.name, IDENTIFIER, f"different in {rows}")

    # Without their digits and signs, the cells are few different texts: these are units.
    n_with_digits = sample.str.contains(r"\d").sum()
    n_units = sample.str.replace_all(r"\PL", "").n_unique()
    if n_with_digits > len(sample) / 2 and n_units <= defaults.max_units:
        return Column(filled.name, UNUSED_TEXT, "digits in a form that is not read")
    return None


def _sample_beginnings(filled: pl.Series) -> pl.Series:
    """Sample the beginnings of distinct values."""
    return sample_cells(filled.unique(), _JUDGED_TEXTS).str.slice(0, _JUDGED_LETTERS)


def _says_something(cells: pl.Series, defaults: ColumnDefaults = COLUMN_DEFAULTS) -> bool:
    """Tell whether most cells have several words, and enough words stand in several cells."""
    lower = cells.str.to_lowercase()
    spaced = lower.str.replace_all(f"([{_UNSPACED}])", " $1 ")
    pieces = spaced.str.extract_all(r"\S+")  # a list for each cell
    pieces_of_cells = pl.DataFrame({"word": pieces}).with_row_index("cell")
    words = pieces_of_cells.explode("word")  # a row for each piece, with the number of its cell
    word = pl.col("word")
    words = words.with_columns(word.str.strip_chars(_AROUND))
    words = words.filter(word.str.contains(_WORD))

    words_by_cell = words["cell"].value_counts()["count"]
    n_wordy = (words_by_cell >= 2).sum()
    if n_wordy < defaults.wordy_share * len(cells):
        return False
    distinct = words.unique()  # each word once for a cell
    n_cells_with_word = pl.len().over("word")
    is_repeated = distinct.select(n_cells_with_word > 1).to_series()
    n_needed = defaults.repeated_words_share * len(distinct)
    return bool(is_repeated.sum() >= n_needed)


# ---------------------------------------------------------------- n-grams

# The lengths of runs of letters. A run lies within a word and the blanks around it.
_RUNS = (2, 3, 4, 5)
# The place of an n-gram has this many bits.
_BITS = 18
_N_PLACES = 2**_BITS
# At most this many letters of a cell are read.
_MAX_LETTERS = 10_000
# The cells of a chunk have about this many letters in all.
_CHUNK_LETTERS = 2**20

# The B of the formula at the top: an odd number, so that it has an inverse modulo 2^64.
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 2**64)
# The bits of a number are mixed by multiplication with this odd number.
_MIX = np.uint64(0xD6E8FEB86659FD93)
# The code point of a blank.
_SPACE = 32
# The code point of the line break that ``Letters`` puts between cells.
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
    """Count the n-grams of each cell, (cells, _N_PLACES).

    The entry at row i and column j is how often an n-gram of place j stands in cell i.
    """
    letters = Letters(normalized(cells))
    ngrams_by_kind = [letters.words(), letters.word_pairs()]
    for n in _RUNS:
        ngrams_by_kind.append(letters.runs(n))
    cell_numbers = np.concatenate([ngrams.cell for ngrams in ngrams_by_kind])
    places = np.concatenate([ngrams.place for ngrams in ngrams_by_kind]).astype(np.int32)

    # Each n-gram counts 1 in its cell and place; equal ones are summed.
    ones = np.ones(len(cell_numbers), np.float32)
    counts = csr_matrix((ones, (cell_numbers, places)), shape=(len(cells), _N_PLACES))
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
    """The letters of some cells, put one after the other, to number their n-grams.

    A line break stands before each cell and at the end, and counts as a blank.

    Attributes
    ----------
    text : str
        All letters.
    cell : array of shape (l,)
        The number of the cell in which each letter stands.
    codes : array of shape (l,)
        The code point of each letter.
    blank : array of shape (l,)
        Whether each letter is a blank.
    word_start, word_stop : arrays of shape (w,)
        Where each word begins, and the place after its end.
    """

    def __init__(self, cells: pl.Series) -> None:
        text = "\n".join(["", *cells.to_list(), ""]).casefold()
        code_points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        is_end = code_points == _END
        n_ends = np.cumsum(is_end, dtype=np.int32)
        codes = np.where(is_end, _SPACE, code_points).astype(np.uint64)
        self.text = text
        self.cell = n_ends - np.int32(1)
        self.codes = codes
        self.blank = codes == _SPACE

        # S_0, S_1, ... and B^-i of the formula at the top.
        n_letters = len(codes)
        powers = _powers(_BASE, n_letters)
        sums = np.zeros(n_letters + 1, np.uint64)
        np.cumsum(codes * powers, out=sums[1:])
        self._sums = sums
        self._shift = _powers(_INVERSE, n_letters)

        # Words are runs of letters, digits and the marks on them: they start and stop by turns
        # where ``in_word`` changes. The text begins and ends outside of words.
        in_word = _in_words(text, codes)
        changes = in_word[1:] != in_word[:-1]
        bounds = np.flatnonzero(changes) + 1
        self.word_start = bounds[::2]
        self.word_stop = bounds[1::2]

    def word(self, number: int) -> str:
        """Return the letters of a word."""
        return self.text[self.word_start[number] : self.word_stop[number]]

    def runs(self, n: int) -> Ngrams:
        """Find runs of ``n`` letters in words and the blanks around them.

        Only the first and the last letter of a run may be blank; in a run of two, not both.
        """
        n_starts = max(0, len(self.codes) - n + 1)  # a run may begin at the first so many letters
        is_blank = self.blank[:n_starts]
        next_is_blank = self.blank[1 : 1 + n_starts]
        is_run = ~(is_blank & next_is_blank)
        for distance in range(1, n - 1):
            inner_is_blank = self.blank[distance : distance + n_starts]
            is_run &= ~inner_is_blank

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
