"""Words and runs of letters by number: against plain Python, for any cells, in any script."""

import itertools
import unicodedata
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import vstack

from chary.tables.columns import ngrams
from chary.tables.columns.ngrams import N_PLACES, Letters, alike, chunks, counted

CELLS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=6)
WORDS = st.lists(st.text("abß中文 .!ก", max_size=20), min_size=1, max_size=6)


def total(cells, **options):
    """(cells, places), sparse."""
    return vstack(list(counted(pl.Series(cells, dtype=pl.String), **options)), format="csr")


def same(one, other):
    return one.shape == other.shape and (one != other).nnz == 0


def in_word(letter):
    return letter.isalnum() or unicodedata.category(letter).startswith("M")


def plainly(text):
    """The n-grams of a cell that was made alike, one by one: kind and letters."""
    text, found = text.casefold(), []
    for word in text.split(" "):
        padded = f" {word} "
        runs = (padded[i : i + n] for n in (2, 3, 4, 5) for i in range(len(padded) - n + 1))
        found += [("run", run) for run in runs if word]
    words = ["".join(group) for inside, group in itertools.groupby(text, in_word) if inside]
    return found + [("word", word) for word in words] + [("words", two) for two in itertools.pairwise(words)]


@given(WORDS)
def test_the_same_ngrams_as_one_by_one(cells):
    """Equal n-grams share a column and unequal ones, but for a collision, do not."""
    counts = total(cells)
    expected = [Counter(plainly(text)) for text in alike(pl.Series(cells, dtype=pl.String)).to_list()]
    for i, of_cell in enumerate(expected):
        assert sorted(counts[i].data.tolist()) == sorted(of_cell.values())
    different = {ngram for of_cell in expected for ngram in of_cell}
    assert len(np.unique(counts.indices)) == len(different)


@given(CELLS)
def test_a_cell_has_its_ngrams_whatever_is_beside_it(cells):
    together = total(cells)
    assert together.shape == (len(cells), N_PLACES)
    for i, cell in enumerate(cells):
        assert same(total([cell]), together[i])


def test_chunks_change_nothing(monkeypatch):
    cells = [f"cell {i} says {'so ' * (i % 50)}" for i in range(100)] + ["", None]
    whole = total(cells)
    monkeypatch.setattr(ngrams, "_CHUNK_LETTERS", 500)
    assert sum(1 for _ in chunks(pl.Series(cells))) > 5
    assert same(total(cells), whole)


def test_only_what_was_seen_is_counted():
    cells = ["red wine", "white wine"]
    whole = total(cells)
    places = np.sort(whole[0].indices)
    seen = np.full(N_PLACES, -1, np.int32)
    seen[places] = np.arange(len(places))
    assert same(total(cells, seen=seen, width=len(places)), whole[:, places])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("STRASSE", "straße"),
        ("ﬁne", "fine"),
        ("cafe\u0301", "café"),
        ("ΟΔΟΣ", "οδος"),
        ("ｆｕｌｌ", "full"),
        ("a\t\r\n b", " a b "),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("a\x00b", "a b"),
    ],
)
def test_the_same_letters_in_another_form_are_the_same(one, other):
    rows = total([one, other])
    assert rows[0].nnz
    assert same(rows[0], rows[1])


@pytest.mark.parametrize("cell", ["", None, " \t", "\x00\x01", "\u200b"])
def test_a_cell_without_letters_has_none(cell):
    assert total([cell, "x"])[0].nnz == 0


def test_the_rest_of_a_very_long_cell_is_not_read():
    cells = pl.Series(["ab " * 5_000, "ab " * 50_000])
    rows = total(cells)
    assert same(rows[0], rows[1])


def test_words_are_found_where_they_stand():
    text = Letters(pl.Series(["Don't panic", "", "मुझे 42!"]))
    start, stop = text.word_bounds()
    found = [text.text[i:j] for i, j in zip(start, stop, strict=True)]
    assert found == ["don", "t", "panic", "मुझे", "42"]
    assert text.words().cell.tolist() == [0, 0, 0, 2, 2]
    assert text.word_pairs().cell.tolist() == [0, 0, 2]
