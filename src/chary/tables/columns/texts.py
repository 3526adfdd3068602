"""Cells in; whether they are free text, and what they are about, in thirty numbers, out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array, vstack
from sklearn.utils.extmath import randomized_svd

from chary.tables.columns.column import Column, Kind
from chary.tables.columns.ngrams import N_PLACES, Letters, alike, counted
from chary.tables.columns.prose import disguised, in_digits, naming
from chary.tables.missing import missing_cells
from chary.tables.table import texts

# Chosen on twenty tables: docs/label.md, "Free text".
_N_TOPICS = 30
_MOST_NGRAMS = 2**14  # that are kept, the most frequent ones
_MOST_TEXTS = 20_000  # different ones, from which the topics are learned
_N_ITER = 4  # of the randomised decomposition

# A topic is named by its heaviest words that stand in so many rows, found in so many texts.
_NAMING_ROWS, _NAMING_TEXTS, _N_WORDS, _WORD = 5, 5_000, 2, 20


class Texts(Kind):
    """Words in each cell: comments, titles, names of more than one word, codes that return.

    A cell becomes a vector x of unit length, an entry for each n-gram that was seen: (1 + log of how often it is
    there) * (1 + log((1 + n) / (1 + in how many of n rows it is)). Its numbers are x V, V the first right singular
    vectors of all rows (latent semantic analysis). No label is used. All share one scale, as the length of V's
    directions says how much there is to say along them.
    """

    name = "words"
    one_scale = True

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Any text but names that are different in nearly every row, and digits; any, if it is ``forced``."""
        if filled.dtype != pl.String:
            return None
        if not forced and (left_out := naming(filled) or disguised(filled)):
            return left_out
        sample = _sample(filled)
        seen = _seen(sample)
        if not len(seen.places):
            return None
        topics = _topics(weighted(seen.counts, seen.weights), sample["rows"].to_numpy())
        learned = {"places": seen.places, "weights": seen.weights, "topics": topics}
        note = "free text" + ", though most cells hold digits" * in_digits(sample["value"])
        return Column(filled.name, self.name, note, categories=_names(sample, seen, topics), learned=learned)

    def feature_names(self, column: Column) -> list[str]:
        """A number for each topic, and its heaviest words."""
        words = enumerate(column.categories, 1)
        return [f"{column.name} ~ {i}" + (f" ({heavy})" if heavy else "") for i, heavy in words]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """How far a cell is about each topic; a cell without any n-gram that was seen is about none."""
        cells, learned = texts(cells), column.learned
        places, topics = learned["places"], learned["topics"]
        seen = np.full(N_PLACES, -1, np.int32)
        seen[places] = np.arange(len(places))
        parts = [weighted(counts, learned["weights"]) @ topics for counts in counted(cells, seen, len(places))]
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
            and bool(len(places) and places[-1] < N_PLACES and (places[1:] > places[:-1]).all())
            and bool(np.isfinite(weights).all() and np.isfinite(topics).all())
        )


class _Seen(NamedTuple):
    """The n-grams of a sample of texts that are kept."""

    places: NDArray[np.uint32]  # (m,) in order
    weights: NDArray[np.float32]  # (m,) the rarer, the heavier
    n_rows: NDArray[np.float64]  # (m,) that hold it
    counts: csr_matrix  # (texts, m)


def weighted(counts: csr_matrix, weights: NDArray[np.float32]) -> csr_matrix:
    """Rows of unit length, or empty: the logarithm of counts, times weights."""
    data = (1 + np.log(counts.data)) * weights[counts.indices]
    lengths = np.sqrt(csr_matrix((data**2, counts.indices, counts.indptr), counts.shape).sum(axis=1).A1)
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
    counts = vstack(list(counted(sample["value"])), format="csr")
    n_rows = np.bincount(counts.indices, np.repeat(rows, np.diff(counts.indptr)), N_PLACES).astype(float)
    places = np.argsort(-n_rows, kind="stable")[:_MOST_NGRAMS]
    places = np.sort(places[n_rows[places] >= min(2, max(1, n_rows.max()))])
    weights = 1 + np.log((1 + rows.sum()) / (1 + n_rows[places]))
    return _Seen(places.astype(np.uint32), weights.astype(np.float32), n_rows[places], counts[:, places])


def _topics(matrix: csr_matrix, rows: NDArray[np.uint32]) -> NDArray[np.float32]:
    """The leading right singular vectors (m, k), the heaviest entry of each positive."""
    as_often = diags_array(np.sqrt(rows).astype(np.float32)) @ matrix  # a text in r rows counts r times
    k = max(1, min(_N_TOPICS, min(matrix.shape) - 1))
    _, _, topics = randomized_svd(as_often, k, n_iter=_N_ITER, random_state=0)
    heaviest = np.abs(topics).argmax(axis=1)
    return np.ascontiguousarray((topics * np.sign(topics[np.arange(k), heaviest])[:, None]).T, np.float32)


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
    words = [text.text[start[i] : stop[i]][:_WORD] for i in first[own].tolist()]
    heaviest = np.argsort(-np.abs(topics[at[own]]), axis=0, kind="stable")[:_N_WORDS]
    return tuple(", ".join(words[i] for i in heavy) for heavy in heaviest.T.tolist())
