"""What cells mean (missing, a code, a label), and how people and spreadsheets are shown them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import polars as pl

from chary._words import visible
from chary.tables.table import NO_WIDTH, all_composed, can_be_text, composed, texts

# ---------------------------------------------------------------- cells that hold nothing

# Spreadsheets write these words for errors.
_ERRORS = ("#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!")
# People and programs write these words, here in lower case, for an empty cell.
_NOTHING = ("na", "n/a", "nan", "null", "?", "<na>", *_ERRORS)
# In a feature, infinite numbers and the words of _NOT_THERE are missing, too.
_INFINITE = tuple(f"{sign}{word}" for sign in ("", "+", "-") for word in ("inf", "infinity"))
_NOT_THERE = ("", "none", "-", "n.a.", "n. a.", "k.a.", "k. a.", "n.d.", "s/d", "b.d.", "n.v.t.")
_MISSING = (*_NOTHING, *_INFINITE, *_NOT_THERE)

# In a target such words may mean "no label" or be a class. So may -1, as NumPy and scikit-learn
# mark unlabelled rows, and words of forms and tickets in many languages, which the file lists.
_LINES = Path(__file__).with_name("no_answer.txt").read_text(encoding="utf-8").splitlines()
_NO_ANSWER_WORDS = [line for line in _LINES if line and not line.startswith("#")]
_MAY_BE_UNLABELED = frozenset(word.casefold() for word in (*_NOTHING, "-1", *_NO_ANSWER_WORDS))
# As the answer to a question such words mean "I do not know".
_NO_ANSWER = frozenset((*_NOTHING, "none", "-", "??", "???", "skip", "skipped", "unknown"))


# How a language model says that it gives no label.
_REFUSAL = re.compile(
    r"(i('m| am)? |it is |it's )?(sorry\b|as an ai\b|(unable|not able|impossible|not possible) to "
    r"|(cannot|can not|can['’]t|could not|couldn['’]t) (be )?"
    r"(determine|classify|categori|decide|tell|say|assess|judge|label|answer|provide|assist|help)"
    r"|(don['’]t|do not) know|am not sure\b)"
    r"|(not enough|insufficient|no|missing) (information|context|data)\b"
    r"|error( code)?\s*[:\d]"
)


def missing_cells(cells: pl.Series) -> pl.Series:
    """Tell which cells of a feature hold nothing.

    >>> missing_cells(pl.Series(["1", " NA ", None, ""])).to_list()
    [False, True, True, True]
    """
    if cells.dtype == pl.String:
        return cells.str.strip_chars().str.to_lowercase().is_in(_MISSING).fill_null(True)
    if cells.dtype.is_float():
        return ~cells.is_finite().fill_null(False)
    return cells.is_null()


def filled_cells(cells: pl.Series) -> pl.Series:
    """Keep cells that are not missing, without white space around them."""
    filled = cells.filter(~missing_cells(cells))
    return filled.str.strip_chars() if cells.dtype == pl.String else filled


def without_codes(cells: pl.Series, codes: Sequence[str]) -> pl.Series:
    """Replace codes for missing values by null.

    A cell holds a code if it has the same text, in upper or lower case, or the same number: -9.0 is
    the code -9.

    >>> without_codes(pl.Series([" -9", "-9.0", "9", "refused"]), ["-9", "Refused"]).to_list()
    [None, None, '9', None]
    """
    if not codes or not can_be_text(cells.dtype):
        return cells
    code_words = [composed(code).strip().lower() for code in codes]
    cell_words = all_composed(texts(cells))
    cell_words = cell_words.str.strip_chars().str.to_lowercase()
    is_code = cell_words.is_in(code_words)

    if cells.dtype == pl.String or cells.dtype.is_numeric():
        cell_numbers = cells.cast(pl.Float64, strict=False)  # null for text that is no number
        code_numbers = pl.Series(code_words).cast(pl.Float64, strict=False)
        present_numbers = code_numbers.drop_nulls().to_list()
        is_code |= cell_numbers.is_in(present_numbers)
    return cells.set(is_code.fill_null(False), None)


def settings_for(column: str, settings: Sequence[str]) -> list[str]:
    """Return the settings that concern a column, such as its codes for missing values.

    These are all settings without the name of a column, then those with its own.

    >>> settings_for("age", ["age=99", "-9", "height=999"])
    ['-9', '99']
    """
    prefix = f"{column}="
    for_all = [setting for setting in settings if "=" not in setting]
    for_column = [
        setting.removeprefix(prefix) for setting in settings if setting.startswith(prefix)
    ]
    return for_all + for_column


def is_no_answer(answer: str) -> bool:
    """Tell whether an answer means "I do not know".

    >>> is_no_answer("Unknown"), is_no_answer("no")
    (True, False)
    """
    return composed(answer).strip().casefold() in _NO_ANSWER


# ---------------------------------------------------------------- codes for missing values

# Numbers such as 7, 77 or 777 often stand for a missing value.
_REPEATED_DIGITS = {float(digit * n) for digit in "789" for n in range(1, 7)}
# So do the numbers just below 100, 1,000 and 10,000.
_CODES = _REPEATED_DIGITS | {98.0, 97.0, 96.0, 998.0, 997.0, 9998.0}
_SIGNED_CODES = [-1.0, *_CODES, *(-code for code in _CODES)]
# The note of a column with a likely code has these words.
CODE_WORDS = "may mean missing"

# At most this many codes are looked for at each end of a column's values.
_MOST_CODES = 3
# A column has codes only if it has at least this many other values.
_FEWEST_VALUES = 3
# A number is a likely code only if at least this many cells hold it.
_FEWEST_CELLS = 3
# A number is a likely code only if at least this share of the cells holds it.
_FREQUENT = 0.005
# Codes are further from the other values than this share of the range of these.
_FAR = 0.25
# A spike is compared with this many of the values next to it.
_VALUES_BESIDE = 10

# Beside words, short codes and signs may stand for a missing value, too.
_SHORT_CODES = {float(digit) for digit in "0789"}
_SIGNS = r"[-–—_.…*/\\?]+"
_NUMBER_OR_SIGN = r"[-+]?[\d.,]+ ?%?|[\W_]+"


def doubtful_labels(counts: Mapping[str, int], codes: Sequence[str] = ()) -> list[str]:
    """Find target values that may mean "no label".

    These are words such as NA or "unknown", the ``codes``, and numbers such as 99 if they are far
    from the other numbers or stand among words.

    >>> doubtful_labels({"red": 5, "offen": 9}), doubtful_labels({"red": 5, "other": 3})
    (['offen'], [])
    >>> doubtful_labels({"bug": 5, "I cannot determine the class.": 1, "cannot log in": 3})
    ['I cannot determine the class.']
    >>> doubtful_labels({str(n): 4 for n in (*range(11), 98, 99)})
    ['98', '99']
    >>> doubtful_labels({"97": 4, "98": 3, "99": 8})
    []
    >>> doubtful_labels({"gut": 5, "schlecht": 9, "99": 3})
    ['99']
    >>> doubtful_labels({"1st": 5, "A1": 9, "2": 3})
    []
    """
    numbers = {}  # the whole numbers among the values, by their text
    for text in counts:
        if re.fullmatch(r"\s*-?\d{1,9}(\.0*)?\s*", text):
            numbers[text] = float(text)
    ascending = sorted(set(numbers.values()))
    descending = ascending[::-1]
    code_texts = [code.strip().casefold() for code in codes]
    code_numbers = {float(code) for code in code_texts if re.fullmatch(r"-?\d+(\.\d+)?", code)}
    # Codes stand at either end of the numbers.
    for values in (ascending, descending):
        n_codes = _n_leading_codes(values, fewest=2)
        code_numbers.update(values[:n_codes])

    among_words = _codes_among_words(counts, numbers)
    return [
        text
        for text in counts
        if may_be_unlabeled(text)
        or _REFUSAL.match(composed(text).strip().casefold())
        or text.strip().casefold() in code_texts
        or numbers.get(text) in code_numbers
        or text in among_words
    ]


def _codes_among_words(labels: Iterable[str], numbers: Mapping[str, float]) -> set[str]:
    """Find numbers and signs that may stand for nothing among words.

    All numbers and signs stand for nothing, or none does. None does in these cases:

    - One of them is not a code. Numbers are then classes, as in "1st", "2", "A1".
    - There are not more words than numbers and signs.
    - One of them is a sign or has one digit, and some word has less than two letters, or a digit.
      It may then be a class: 9 beside "10a", 0 beside the blood groups "A" and "AB", "-" beside
      "A", "C", "G", "T".

    >>> _codes_among_words(["yes", "no", "0"], {"0": 0.0})
    {'0'}
    >>> _codes_among_words(["A", "AB", "0"], {"0": 0.0})
    set()
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
    are_codes = candidates == long_codes | short_codes | signs
    if not are_codes or len(candidates) >= len(words):
        return set()
    if candidates != long_codes and not all(map(_is_plain_word, words)):
        return set()
    return candidates


def _is_plain_word(word: str) -> bool:
    """Tell whether a word has two letters at least and no digit."""
    has_two_letters = re.search(r"[^\W\d_].*[^\W\d_]", word) is not None
    return has_two_letters and not re.search(r"\d", word)


def _is_long_code(number: float) -> bool:
    """Tell whether a number is a code of several digits, or a negative one."""
    return abs(number) in _CODES and (number < 0 or number > 9)


def likely_codes(
    numbers: pl.Series, *, spike_ratio: float, spike_cells: int
) -> list[tuple[str, int]]:
    """Find frequent numbers that look like codes, such as -9 or 999.

    They are far from the other numbers. Or they have several digits and are much more frequent than
    their neighbours, a spike: among ages of 18 to 90, a 99 in one cell of eight.

    Parameters
    ----------
    numbers : Series
    spike_ratio : float
        A spike is in at least this many times as many cells as either value next to it.
    spike_cells : int
        A spike has at least this many cells.

    Returns
    -------
    list of tuple
        Each code as text, and in how many cells it is.
    """
    present_codes = set(numbers.filter(numbers.is_in(_SIGNED_CODES)).unique())
    if not present_codes & {numbers.min(), numbers.max()}:
        return []

    fewest_cells = max(_FEWEST_CELLS, _FREQUENT * len(numbers))
    counts = numbers.alias("value").value_counts().sort("value")
    codes = []
    # Codes may stand at either end: the smallest values come first, then the largest.
    for counts_from_end in (counts, counts.reverse()):
        n_far = _n_leading_codes(counts_from_end["value"].to_list())
        if n_far:
            code_counts = counts_from_end.head(n_far)
            are_frequent = (code_counts["count"] >= fewest_cells).all()
            if not are_frequent:
                code_counts = code_counts.clear()
        else:
            code_counts = _spikes(counts_from_end, spike_ratio, max(fewest_cells, spike_cells))
        for code, n_cells in code_counts.iter_rows():
            codes.append((f"{code:.0f}", n_cells))
    return codes


def _spikes(counts: pl.DataFrame, ratio: float, fewest_cells: float) -> pl.DataFrame:
    """Find codes at an end of the values that have many more cells than the values next to them.

    A code of one digit is no spike: 9 beside 1 to 8 is a value like them.

    Parameters
    ----------
    counts : DataFrame
        The distinct values, which ascend or descend, and the number of cells of each.
    ratio : float
        A spike has at least this many times the cells of each of the values next to the codes.
    fewest_cells : float
        A spike has at least this many cells.
    """
    values = counts["value"].to_list()
    most_codes = min(_MOST_CODES, len(values) - _FEWEST_VALUES)
    n_codes = 0
    while n_codes < most_codes and abs(values[n_codes]) > 9 and _is_code(values[n_codes]):
        n_codes += 1
    most_cells_beside = max(counts["count"][n_codes : n_codes + _VALUES_BESIDE].to_list())
    is_spike = pl.col("count") >= max(fewest_cells, ratio * most_cells_beside)
    return counts.head(n_codes).filter(is_spike)


def _n_leading_codes(values: list[float], fewest: int = _FEWEST_VALUES) -> int:
    """Count the codes at the beginning of distinct values, which ascend or descend.

    Numbers that look like codes are codes only if at least ``fewest`` other values follow, and if
    there is a wide gap before these. No gap is needed if the codes are the only negative numbers.

    >>> _n_leading_codes([99, 98, 10, 9, 8, 7]), _n_leading_codes([99, 98, 97, 96, 95, 94])
    (2, 0)
    """
    most_codes = min(_MOST_CODES, len(values) - fewest)
    n_codes = 0
    while n_codes < most_codes and _is_code(values[n_codes]):
        n_codes += 1
    if n_codes == 0:
        return 0

    last_code = values[n_codes - 1]
    next_value = values[n_codes]
    others = sorted(values[n_codes:])
    smallest = others[0]
    largest = others[-1]
    are_only_negatives = last_code < 0 <= smallest
    widest_gap = max(after - before for before, after in pairwise(others))
    least_distance = max(_FAR * (largest - smallest), 2 * widest_gap)
    are_far = abs(next_value - last_code) > least_distance
    return n_codes if are_only_negatives or are_far else 0


def _is_code(number: float) -> bool:
    """Tell whether a number is one that often stands for a missing value."""
    return number == -1 or abs(number) in _CODES


# ---------------------------------------------------------------- cells of a target

_WHOLE = re.compile(r"^([+-]?[0-9]+)\.0+$")
# Invisible characters around a label, NUL among them: NumPy drops it at the end of text anyway.
_AROUND = rf"^[\s\x00{NO_WIDTH}]+|[\s\x00{NO_WIDTH}]+$"


def target_texts(cells: pl.Series) -> pl.Series:
    """Convert the cells of a target to text, whole numbers without decimals.

    Pandas makes 3.0 of a whole number if other cells are missing.

    >>> target_texts(pl.Series([3.0, 2.5, None])).to_list()
    ['3', '2.5', None]
    """
    if cells.dtype.is_float():
        return texts(cells).str.replace(r"\.0$", "")
    return texts(cells)


def label_texts(cells: pl.Series) -> pl.Series:
    """Convert the cells of a target to trimmed text, null if empty."""
    labels = target_texts(cells).str.replace_all(_AROUND, "")
    return labels.set(labels == "", None)


def as_whole(text: str) -> str:
    """Write a whole number without a point; other text is unchanged.

    >>> as_whole("1.0"), as_whole("01"), as_whole("1.5")
    ('1', '01', '1.5')
    """
    return _WHOLE.sub(r"\1", text)


def may_be_unlabeled(label: str) -> bool:
    """Tell whether a label may mean "no label", whatever the other labels are.

    >>> may_be_unlabeled("NA"), may_be_unlabeled("none")
    (True, False)
    """
    words = " ".join(composed(label).split())
    return as_whole(words.casefold()) in _MAY_BE_UNLABELED


# ---------------------------------------------------------------- as a person reads them

# The name of a column is shown with at most this many letters.
_NAME_WIDTH = 40
# A cell is shown with at most this many letters.
_CELL_WIDTH = 30
# A number is shown with this many significant digits.
_DIGITS = 6
# What ``visible`` escapes: all that is not printable, and every separator but a space.
_UNPRINTABLE = r"[\p{C}\p{Z}&&[^ ]]"
# A date at midnight, or a moment whose fraction of a second is zero; the groups are what is shown.
_MOMENT = re.compile(
    r"^(\d{4}-\d\d-\d\d)[ T]00:00:00(?:\.0+)?$|^(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)\.0+$"
)


def cell_texts(cells: pl.Series, limit: int = _CELL_WIDTH) -> pl.Series:
    r"""Convert cells to texts of at most ``limit`` letters, null if they are missing.

    Numbers are rounded, and what cannot be printed is escaped.

    >>> cell_texts(pl.Series([" 1,200", "NA", "a\nb", "very " * 9]), limit=12).to_list()
    ['1,200', None, 'a\\nb', 'very very...']
    >>> cell_texts(pl.Series([12000.0, 1 / 3, None])).to_list()
    ['12000', '0.333333', None]
    """
    if not can_be_text(cells.dtype):
        return pl.Series(cells.name, [None] * len(cells), dtype=pl.String)
    words = _rounded_texts(cells).str.strip_chars()
    words = words.set(missing_cells(cells), None)

    has_unprintable = words.str.contains(_UNPRINTABLE).fill_null(False)
    unprintable = words.filter(has_unprintable).unique().to_list()
    if unprintable:
        escaped = [visible(text, limit) for text in unprintable]
        words = words.replace(unprintable, escaped)

    lengths = words.str.len_chars()
    is_long = (lengths > limit).fill_null(False)
    beginning = words.str.slice(0, limit - 3)
    shortened = beginning + "..."
    return shortened.zip_with(is_long, words).alias(cells.name)


def _rounded_texts(cells: pl.Series) -> pl.Series:
    """Convert cells to text: numbers to six digits, and dates without a time of midnight."""
    if cells.dtype == pl.String or cells.dtype.is_integer():
        return texts(cells)
    words = texts(cells)
    if cells.dtype.is_float():
        rounded = pl.select(pl.lit(cells).round_sig_figs(_DIGITS)).to_series()
        words = rounded.cast(pl.String)
    words = words.str.replace(r"\.0+$", "")
    return words.str.replace(" 00:00:00$", "")


def shown_cells(cells: pl.Series) -> pl.Series:
    """Show cells with the name of their column.

    Lists and records are shown by the name alone.

    >>> shown_cells(pl.Series("age", [31, None])).to_list()
    ['age = 31', 'age is missing']
    """
    name = visible(cells.name, _NAME_WIDTH)
    if not can_be_text(cells.dtype):
        return pl.Series(cells.name, [name] * len(cells), dtype=pl.String)
    named_cells = pl.Series(cells.name, [f"{name} = "]) + cell_texts(cells)
    return named_cells.fill_null(f"{name} is missing")


def cell_words(value: object, digits: int = 10) -> str:
    """Show one value as a person reads it.

    Truth values are in lower case, as in files. The time of a date at midnight is left out.

    >>> cell_words(None), cell_words(True), cell_words(1 / 3, 3)
    ('', 'true', '0.333')
    >>> cell_words("2024-05-01 00:00:00.000")
    '2024-05-01'
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    text = f"{value:.{digits}g}" if isinstance(value, float) else str(value)
    return _MOMENT.sub(r"\1\2", text)


# ---------------------------------------------------------------- in a spreadsheet

# What begins a formula: = in every spreadsheet, + and - in Excel and Google Sheets, @ as once in
# Lotus; in Excel set to Japanese also their full-width forms. OWASP's list, "CSV Injection", names
# these eight, and a report to OWASP adds the long-vowel mark, which is used for -. The minus sign
# and the small forms, which programs may replace by the plain signs, are added for caution.
FORMULA_SIGNS = "=+-@＝＋－＠ー−﹦﹢﹣﹫"
# Characters that a spreadsheet may skip before such a sign: spaces, controls, invisible marks.
_UNSEEN = (
    "\x00-\x20\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000"
    "\ufe00-\ufe0f\ufeff"
)
# A tab or the end of a line is risky by itself: what comes after it may be a cell of its own. An
# apostrophe that a text already has before a formula gets one more, so that each text is read back
# unchanged.
_RISKY = rf"'*(?:[{_UNSEEN}]*[{re.escape(FORMULA_SIGNS)}]|[\t\r\n])"
# Text that begins with a sign and is no formula: a plain number, or the sign alone.
_HARMLESS = r"^[+-](?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)?$"


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before text that a spreadsheet would run as a formula.

    >>> guarded(pl.DataFrame({"a": ["=1+1", "-2.5", "b"]}))["a"].to_list()
    ["'=1+1", '-2.5', 'b']
    """
    text = pl.col(pl.String)
    is_formula = text.str.contains(f"^{_RISKY}") & ~text.str.contains(_HARMLESS)
    return frame.with_columns(pl.when(is_formula).then("'" + text).otherwise(text).name.keep())


def as_typed(text: str) -> str:
    """Take off the apostrophe that ``guarded`` puts before a formula.

    >>> as_typed("'=yes"), as_typed("'n")
    ('=yes', "'n")
    """
    return re.sub(f"^'(?={_RISKY})", "", text)


def all_as_typed(cells: pl.Series) -> pl.Series:
    """Take off the apostrophes that ``guarded`` puts before formulas.

    >>> all_as_typed(pl.Series(["'=yes", "'n", None])).to_list()
    ['=yes', "'n", None]
    """
    return cells.str.replace(f"^'({_RISKY})", "$1")
