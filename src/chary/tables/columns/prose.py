"""The cells of a column of text in; whether they say something, or only name the rows or hold digits, out."""

from __future__ import annotations

import polars as pl

from chary.tables.columns.column import IDENTIFIER, TEXT, Column

# A column says something if so many of its cells have two words or more, and so many of these words come up again.
_WORDY, _AGAIN = 0.5, 0.2
# Otherwise it is a category of many values if so many rows have a value that another row has, too.
_SHARED = 0.2
# Digits with the same letters beside them throughout, or one of so many units, are numbers.
_UNITS = 3
_MOST_TEXTS, _MOST_LETTERS = 2_000, 1_000

# Scripts that put no blank between words: a letter counts as one.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
# A word has letters and no digit; what is between blanks but is no such thing is a number or a code.
_WORD = rf"^[\p{{L}}\p{{M}}'’.&/-]*[\p{{L}}\p{{M}}--[{_UNSPACED}]]{{2}}[\p{{L}}\p{{M}}'’.&/-]*$"
_AROUND = "\"'“”„«»‘’()[]{}<>.,;:!?¿¡…*#@&/-"


def naming(filled: pl.Series) -> Column | None:
    """The identifier that a column of text is, if it is one."""
    n_different = filled.n_unique()
    note = "different in every row" if n_different == len(filled) else "different in nearly every row"
    alone = filled.is_unique().sum() if n_different < len(filled) else len(filled)
    if alone <= (1 - _SHARED) * len(filled) or in_words(filled):
        return None
    return Column(filled.name, IDENTIFIER, note)


def disguised(filled: pl.Series) -> Column | None:
    """Numbers in a form that is not read, if a column is that: as text, they taught learners what is not so."""
    texts = _some(filled)
    with_digit = texts.str.contains(r"\d").sum()
    if with_digit <= len(texts) / 2 or texts.str.replace_all(r"\PL", "").n_unique() > _UNITS:
        return None
    return Column(filled.name, TEXT, "digits in a form that is not read")


def in_digits(texts: pl.Series) -> bool:
    """Whether most texts have more digits than letters."""
    digits, letters = texts.str.count_matches(r"\d"), texts.str.count_matches(r"\pL")
    return bool((digits > letters).sum() > len(texts) / 2)


def in_words(filled: pl.Series) -> bool:
    """Whether cells say something: several words, which come up again, and not the same ones in every cell."""
    texts = _some(filled)
    words = _words(texts)
    of_cell = words.group_by("cell").agg(pl.len().alias("n"), pl.col("word").sort().str.join(" "))
    if (of_cell["n"] >= 2).sum() < _WORDY * len(texts) or of_cell["word"].n_unique() == 1:
        return False
    again = words.unique().select(pl.len().over("word") > 1).to_series()
    return bool(again.sum() >= _AGAIN * len(again))


def _some(filled: pl.Series) -> pl.Series:
    """Different values, or many of them, whatever the order of the rows; of long ones the beginning."""
    texts = filled.unique()
    if len(texts) > _MOST_TEXTS:
        texts = texts.gather(texts.hash(seed=0).arg_sort()[:_MOST_TEXTS])
    return texts.str.slice(0, _MOST_LETTERS)


def _words(texts: pl.Series) -> pl.DataFrame:
    """The words of texts, one by one: in which cell each is."""
    frame = pl.DataFrame({"text": texts.str.to_lowercase()}).with_row_index("cell")
    spaced = frame.select("cell", word=pl.col("text").str.extract_all(r"\S+")).explode("word")
    spaced = spaced.with_columns(pl.col("word").str.strip_chars(_AROUND)).filter(
        pl.col("word").str.contains(_WORD)
    )
    unspaced = frame.select("cell", word=pl.col("text").str.extract_all(f"[{_UNSPACED}]")).explode("word")
    return pl.concat([spaced, unspaced.drop_nulls()])
