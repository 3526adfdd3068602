"""What the cells of a table say, to a person or a spreadsheet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import polars as pl

from chary._words import visible
from chary.tables.table import NO_WIDTH, all_composed, can_be_text, composed, texts

# What people and programs write where there is nothing, in upper or lower case, whatever the column
# is for.
_ERRORS = ("#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!")  # of a spreadsheet
_NOTHING = ("na", "n/a", "nan", "null", "?", "<na>", *_ERRORS)
# In a feature such a cell is missing, and so is one of these; a number that is not finite is, in
# whatever format.
_INFINITE = tuple(f"{sign}{word}" for sign in ("", "+", "-") for word in ("inf", "infinity"))
_NOT_THERE = ("", "none", "-", "n.a.", "n. a.", "k.a.", "k. a.", "n.d.", "s/d", "b.d.", "n.v.t.")
_MISSING = (*_NOTHING, *_INFINITE, *_NOT_THERE)
# In a target it may mean "no label" or be a class. So may -1, as NumPy and scikit-learn mark such
# rows, and words of a form or a ticket in many languages, which the file lists.
_LINES = Path(__file__).with_name("no_answer.txt").read_text(encoding="utf-8").splitlines()
_NOBODY_SAID = [line for line in _LINES if line and not line.startswith("#")]
_MAY_BE_UNLABELED = frozenset(word.casefold() for word in (*_NOTHING, "-1", *_NOBODY_SAID))
# As the answer to a question it means "I do not know", and so does one of these.
_NO_ANSWER = frozenset((*_NOTHING, "none", "-", "??", "???", "skip", "skipped", "unknown"))
_WHOLE = re.compile(r"^([+-]?[0-9]+)\.0+$")
# Around a label; NumPy drops a NUL at the end of text anyway.
_AROUND = rf"^[\s\x00{NO_WIDTH}]+|[\s\x00{NO_WIDTH}]+$"

# Numbers that often stand for nothing; how many of them, beside how many values, in how many cells
# and in what share of them at least, and how far outside the range of the rest, as a share of that.
_CODES = {float(digit * n) for digit in "789" for n in range(1, 7)} | {
    98.0,
    97.0,
    96.0,
    998.0,
    997.0,
    9998.0,
}
CODE_WORDS = "may mean missing"  # in the note of a column with a likely code for nothing
_EITHER_SIGN = [-1.0, *_CODES, *(-code for code in _CODES)]
_MOST_CODES, _FEWEST_VALUES, _FEWEST_CELLS, _FREQUENT, _FAR = 3, 3, 3, 0.005, 0.25
# Beside words these may stand for nothing, too: short ones only if no class is written with digits
# or one letter.
_SHORT_CODES = {float(digit) for digit in "0789"}
_SIGNS = r"[-–—_.…*/\\?]+"
_NUMBER_OR_SIGN = r"[-+]?[\d.,]+ ?%?|[\W_]+"
# A date with the time of midnight, or a moment with no part of a second.
_MOMENT = re.compile(
    r"^(\d{4}-\d\d-\d\d)[ T]00:00:00(?:\.0+)?$|^(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)\.0+$"
)


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


def without_codes(cells: pl.Series, codes: Sequence[str]) -> pl.Series:
    """Cells, null where they hold one of the codes that somebody says mean nothing: the same text, or number.

    >>> without_codes(pl.Series([" -9", "-9.0", "9", "refused"]), ["-9", "Refused"]).to_list()
    [None, None, '9', None]
    """
    if not codes or cells.dtype.is_nested() or cells.dtype in (pl.Binary, pl.Object):
        return cells
    words = [composed(code).strip().lower() for code in codes]
    numbers = (
        pl.Series(words, dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls().to_list()
    )
    coded = all_composed(texts(cells)).str.strip_chars().str.to_lowercase().is_in(words)
    if cells.dtype == pl.String or cells.dtype.is_numeric():
        coded |= cells.cast(pl.Float64, strict=False).is_in(numbers)
    return cells.set(coded.fill_null(False), None)


def codes_of(column: str, missing: Sequence[str]) -> list[str]:
    """Those of the codes for nothing that concern a column: all plain ones, and those that name it.

    >>> codes_of("age", ["-9", "age=99", "height=999"])
    ['-9', '99']
    """
    own = f"{column}="
    named = [code.removeprefix(own) for code in missing if code.startswith(own)]
    return [*(code for code in missing if "=" not in code), *named]


def doubtful_labels(counts: Mapping[str, int], codes: Sequence[str] = ()) -> list[str]:
    """The labels of a target of which only who wrote them can tell whether they are any.

    Words such as NA or "unknown", what ``codes`` names, and numbers such as 99 if they stand out of
    the others or stand among words.

    >>> doubtful_labels({"red": 5, "offen": 9}), doubtful_labels({"red": 5, "blue": 9, "other": 3})
    (['offen'], [])
    >>> doubtful_labels({str(n): 4 for n in (*range(11), 98, 99)}), doubtful_labels({"97": 4, "98": 3, "99": 8})
    (['98', '99'], [])
    >>> doubtful_labels({"gut": 5, "schlecht": 9, "99": 3}), doubtful_labels({"1st": 5, "A1": 9, "2": 3})
    (['99'], [])
    """
    numbers = {
        text: float(text) for text in counts if re.fullmatch(r"\s*-?\d{1,9}(\.0*)?\s*", text)
    }
    values = sorted(set(numbers.values()))
    odd = set(values[: _codes_at_the_start(values, fewest=2)])
    odd |= set(values[::-1][: _codes_at_the_start(values[::-1], fewest=2)])
    named = [code.strip().casefold() for code in codes]
    odd |= {float(code) for code in named if re.fullmatch(r"-?\d+(\.\d+)?", code)}
    among_words = _codes_among_words(counts, numbers)
    return [
        text
        for text in counts
        if may_be_unlabeled(text)
        or text.strip().casefold() in named
        or numbers.get(text) in odd
        or text in among_words
    ]


def _codes_among_words(labels: Iterable[str], numbers: Mapping[str, float]) -> set[str]:
    """Find numbers and signs that may stand for nothing in a target whose classes are words.

    Every number and sign must be a code, as one that is not shows that such are classes ("1st",
    "2", "A1"), and there must be fewer of them than words. A code of one digit, or a sign, is like
    a class that is written with digits or as one letter: 9 beside "10a", 0 beside the blood groups
    "A" and "AB", "-" beside "A", "C", "G", "T".

    >>> _codes_among_words(["yes", "no", "0"], {"0": 0.0}), _codes_among_words(["A", "AB", "0"], {"0": 0.0})
    ({'0'}, set())
    """
    words = set()
    candidates = set()
    for text in labels:
        if may_be_unlabeled(text):
            continue
        if re.fullmatch(_NUMBER_OR_SIGN, text.strip()):
            candidates.add(text)
        else:
            words.add(text.strip().casefold())

    long_codes = {text for text in candidates if text in numbers and _is_long_code(numbers[text])}
    short_codes = {text for text in candidates if numbers.get(text) in _SHORT_CODES}
    signs = {text for text in candidates if re.fullmatch(_SIGNS, text.strip())}
    if candidates != long_codes | short_codes | signs or len(candidates) >= len(words):
        return set()

    are_plain_words = all(
        re.search(r"[^\W\d_].*[^\W\d_]", word) and not re.search(r"\d", word) for word in words
    )
    if candidates != long_codes and not are_plain_words:
        return set()
    return candidates


def _is_long_code(number: float) -> bool:
    return abs(number) in _CODES and (number < 0 or number > 9)


def likely_codes(numbers: pl.Series) -> list[tuple[str, int]]:
    """Numbers that look like a code for nothing, and how often: -9 or 999, frequent, far from all others."""
    coded = numbers.filter(numbers.is_in(_EITHER_SIGN))
    if not set(coded.unique()) & {numbers.min(), numbers.max()}:
        return []
    counts = numbers.alias("value").value_counts().sort("value")
    values, times = counts["value"].to_list(), counts["count"].to_list()
    found = []
    for ends in ((values, times), (values[::-1], times[::-1])):
        n = _codes_at_the_start(ends[0])
        if n and min(ends[1][:n]) < max(_FEWEST_CELLS, _FREQUENT * len(numbers)):
            n = 0
        found += [
            (f"{value:.0f}", count) for value, count in zip(ends[0][:n], ends[1][:n], strict=True)
        ]
    return found


def _codes_at_the_start(values: list[float], fewest: int = _FEWEST_VALUES) -> int:
    """How many of the first values are codes: outside the range of the others, of which there are some."""
    n = 0
    while n < min(_MOST_CODES, len(values) - fewest) and (
        abs(values[n]) in _CODES or values[n] == -1
    ):
        n += 1
    if n == 0:
        return 0
    rest, last = sorted(values[n:]), values[n - 1]
    below_all = last < 0 <= rest[0]
    widest = max(b - a for a, b in pairwise(rest))
    far = abs(values[n] - last) > max(_FAR * (rest[-1] - rest[0]), 2 * widest)
    return n if below_all or far else 0


def target_texts(cells: pl.Series) -> pl.Series:
    """The cells of a target as text: a whole number is one, though pandas makes it 3.0 where others are missing.

    >>> target_texts(pl.Series([3.0, 2.5, None])).to_list()
    ['3', '2.5', None]
    """
    return texts(cells).str.replace(r"\.0$", "") if cells.dtype.is_float() else texts(cells)


def label_texts(cells: pl.Series) -> pl.Series:
    """The cells of a target as text without anything unseen around it, null where they are empty."""
    found = target_texts(cells).str.replace_all(_AROUND, "")
    return found.set(found == "", None)


def as_whole(text: str) -> str:
    """A whole number as a table of whole numbers has it, any other text as it is; 01 is a code.

    >>> as_whole("1.0"), as_whole("01"), as_whole("1.5")
    ('1', '01', '1.5')
    """
    return _WHOLE.sub(r"\1", text)


def may_be_unlabeled(label: str) -> bool:
    """Whether only who wrote a label can tell if it is one.

    >>> may_be_unlabeled("NA"), may_be_unlabeled("none")
    (True, False)
    """
    return as_whole(" ".join(composed(label).split()).casefold()) in _MAY_BE_UNLABELED


def is_no_answer(answer: str) -> bool:
    """Whether it says that somebody does not know.

    >>> is_no_answer("Unknown"), is_no_answer("no")
    (True, False)
    """
    return composed(answer).strip().casefold() in _NO_ANSWER


# ---------------------------------------------------------------- as a person reads them

_NAME, _CELL, _DIGITS = 40, 30, 6
# What ``visible`` escapes: all that is not printable, and every separator but a space.
_UNPRINTABLE = r"[\p{C}\p{Z}&&[^ ]]"


def cell_texts(cells: pl.Series, limit: int = _CELL) -> pl.Series:
    """Cells as text of at most so many characters; null where one is missing, or nothing that can be written.

    >>> cell_texts(pl.Series([" 1,200", "NA", "a\\nb", "very " * 9]), limit=12).to_list()
    ['1,200', None, 'a\\\\nb', 'very very...']
    >>> cell_texts(pl.Series([12000.0, 1 / 3, None])).to_list()
    ['12000', '0.333333', None]
    """
    if not can_be_text(cells.dtype):
        return pl.Series(cells.name, [None] * len(cells), dtype=pl.String)
    nothing, shown = missing_cells(cells), texts(cells)
    if cells.dtype.is_float():
        shown = pl.select(pl.lit(cells).round_sig_figs(_DIGITS)).to_series().cast(pl.String)
    if not cells.dtype.is_integer() and cells.dtype != pl.String:
        shown = shown.str.replace(r"\.0+$", "").str.replace(
            " 00:00:00$", ""
        )  # nor a midnight that says nothing
    shown = shown.str.strip_chars()
    shown = shown.set(nothing, None)
    odd = shown.filter(shown.str.contains(_UNPRINTABLE).fill_null(False)).unique().to_list()
    shown = shown.replace(odd, [visible(text, limit) for text in odd]) if odd else shown
    long = (shown.str.len_chars() > limit).fill_null(False)
    return (shown.str.slice(0, limit - 3) + "...").zip_with(long, shown).alias(cells.name)


def shown_cells(cells: pl.Series) -> pl.Series:
    """The same with the name of their column, as in ``age = 31``, ``age is missing``; of a list the name alone.

    >>> shown_cells(pl.Series("age", [31, None])).to_list()
    ['age = 31', 'age is missing']
    """
    name = visible(cells.name, _NAME)
    if not can_be_text(cells.dtype):
        return pl.Series(cells.name, [name] * len(cells), dtype=pl.String)
    return (pl.Series(cells.name, [f"{name} = "]) + cell_texts(cells)).fill_null(
        f"{name} is missing"
    )


# ---------------------------------------------------------------- in a spreadsheet

# What begins a formula: = in every spreadsheet, + and - in Excel and Google Sheets, @ as once in
# Lotus; in Excel set to Japanese also their full-width forms. OWASP's list, "CSV Injection", names
# these eight, and a report to it the long-vowel mark in place of -. The minus sign and the small
# forms fold to the same signs: for caution.
FORMULA_SIGNS = "=+-@＝＋－＠ー−﹦﹢﹣﹫"
# What is passed over before such a sign: spaces of all kinds, controls, and marks that nobody sees.
_UNSEEN = "\x00-\x20\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufe00-\ufe0f\ufeff"
# A tab or the end of a line is one by itself: what comes after it may be a cell of its own. An
# apostrophe that a text already has before a formula gets one more, so that each text is read back
# as it was.
_RISKY = rf"'*(?:[{_UNSEEN}]*[{re.escape(FORMULA_SIGNS)}]|[\t\r\n])"
# What runs nothing: a number as it is, and a sign alone.
_HARMLESS = r"^[+-](?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)?$"


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with an apostrophe before text that a spreadsheet would run as a formula.

    >>> guarded(pl.DataFrame({"a": ["=1+1", "-2.5", "b"]}))["a"].to_list()
    ["'=1+1", '-2.5', 'b']
    """
    text = pl.col(pl.String)
    runs = text.str.contains(f"^{_RISKY}") & ~text.str.contains(_HARMLESS)
    return frame.with_columns(pl.when(runs).then("'" + text).otherwise(text).name.keep())


def as_typed(text: str) -> str:
    """Text without the apostrophe that is put before a formula.

    >>> as_typed("'=yes"), as_typed("'n")
    ('=yes', "'n")
    """
    return re.sub(f"^'(?={_RISKY})", "", text)


def all_as_typed(cells: pl.Series) -> pl.Series:
    """The same of all cells of a column of text.

    >>> all_as_typed(pl.Series(["'=yes", "'n", None])).to_list()
    ['=yes', "'n", None]
    """
    return cells.str.replace(f"^'({_RISKY})", "$1")


def cell_words(value: object, digits: int = 10) -> str:
    """A cell as a person reads it: truth values as files have them, dates without a midnight that says nothing.

    >>> cell_words(None), cell_words(True), cell_words(1 / 3, 3), cell_words("2024-05-01 00:00:00.000")
    ('', 'true', '0.333', '2024-05-01')
    """
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return _MOMENT.sub(r"\1\2", f"{value:.{digits}g}" if isinstance(value, float) else str(value))
