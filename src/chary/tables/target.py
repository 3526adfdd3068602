"""The target column of a table: its labels, classes and their spellings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

import polars as pl

from chary._words import Parameter, counted, listed, shown
from chary.method.labels import Labels, encode
from chary.tables.cells import as_whole, doubtful_labels, label_texts, settings_for
from chary.tables.table import Table, TableError, can_be_text, column_named, composed, told_apart

# A target has at most this many classes: a column of more different values hardly holds labels.
MAX_CLASSES = 1000
# At most this many values are classes in a table of any size; more need two rows each on average.
_FEW_CLASSES = 20
# A sentence names at most this many values, or spellings of a class.
_MAX_NAMED = 6
# Most values for which a sentence offers to read them as another one.
_MOST_SAME = 30
# What stands around a label that a language model wrote: signs of Markdown, quotes, a full stop, or
# words such as "Label:".
_SIGNS_AROUND = r"[\s*_`\"'“”‘’(){}\[\].,;!]*"
_DECORATION = re.compile(
    rf"^{_SIGNS_AROUND}((the )?(final )?(label|answer|class|category)( is)?\s*:{_SIGNS_AROUND})?"
    rf"|{_SIGNS_AROUND}$",
    re.IGNORECASE,
)


class UndecidedError(TableError):
    """Only a person can tell whether values of a column are labels."""


class Target(NamedTuple):
    """The target column of a table."""

    labels: Labels
    notes: list[str]  # sentences for a person on how the column was read


def read_target(
    table: Table,
    target: str,
    unlabeled: str | Sequence[str] | None = None,
    *,
    classes: Sequence[str] = (),
    missing: Sequence[str] = (),
    same: Mapping[str, str] | None = None,
) -> Target:
    """Read and encode the labels of a target column.

    Empty cells, and cells equal to ``unlabeled``, have no label. Labels that differ in nothing but
    case and white space are one class, called by its most frequent spelling; ``notes`` say so.

    Parameters
    ----------
    table, target
        The table, and the name of one of its columns.
    unlabeled : str or sequence of str, default=None
        What means "no label", in upper or lower case. Cells that look like it without being empty
        (NA, ?, -1, unknown, 99 beside 0 to 10 or beside words) are refused unless they are named
        here or among the classes.
    classes : sequence of str, default=()
        Cells that look like no label and are a class.
    missing : sequence of str, default=()
        Codes for nothing in other columns, which may mean no label here.
    same : mapping of str to str, default=None
        Labels that are slips, each with the class that is meant. Both must be in the column.
    """
    require_target(table, target)
    markers = markers_of(unlabeled)
    column = count_labels(table.frame[target], markers)
    refuse_doubtful(target, column.counts, classes, missing)
    class_of = merge_slips(chosen_spellings(column.counts), same or {}, target)
    _refuse_unlearnable(target, column.counts, set(class_of.values()))

    labels = column.labels.replace_strict(class_of, default=None, return_dtype=pl.String)
    notes = fold_sentences(class_of, target)
    for text in column.marker_counts:
        if text not in markers and folded(text):
            notes.append(f"In column {shown(target)}, {shown(text)} is treated as unlabelled.")
    return Target(encode(labels, unlabeled=None), notes)


class Value(NamedTuple):
    """A value of a target column, in all its spellings."""

    name: str
    rows: int
    is_label: bool
    is_doubtful: bool  # whether it looks like a missing answer


def target_values(
    column: pl.Series,
    unlabeled: str | Sequence[str] | None = None,
    *,
    classes: Sequence[str] = (),
    missing: Sequence[str] = (),
    same: Mapping[str, str] | None = None,
) -> list[Value]:
    """List the values of a column, the most frequent first.

    A person can then decide which of them are labels. The parameters are those of ``read_target``,
    which refuses doubtful values; here they are marked as doubtful.
    """
    _, label_counts, marker_counts = count_labels(column, markers_of(unlabeled))
    counts = label_counts | marker_counts
    # Several texts may be spellings of one value.
    name_of = merge_slips(chosen_spellings(counts), same or {}, column.name)

    doubtful_names = set()
    not_labels = {name_of[text] for text in marker_counts}
    codes = settings_for(column.name, missing)
    for text in doubtful_labels(counts, codes):
        name = name_of[text]
        doubtful_names.add(name)
        if not is_marker(text, classes):
            not_labels.add(name)

    rows_of: Counter[str] = Counter()  # by the name of a value
    for text, n_rows in counts.items():
        rows_of[name_of[text]] += n_rows
    values = []
    for name, n_rows in rows_of.most_common():
        is_label = name not in not_labels
        values.append(Value(name, n_rows, is_label, is_doubtful=name in doubtful_names))
    return values


def target_labels(
    table: Table,
    target: str,
    unlabeled: str | Sequence[str] | None = None,
    *,
    classes: Sequence[str] = (),
    missing: Sequence[str] = (),
    same: Mapping[str, str] | None = None,
) -> Labels:
    """Read the labels as ``read_target`` does, without its notes."""
    reading = read_target(table, target, unlabeled, classes=classes, missing=missing, same=same)
    return reading.labels


def require_target(table: Table, target: str) -> None:
    """Refuse a table without the target, or with nothing else."""
    if table.frame.width < 2:
        raise TableError(
            f"{table.name} has one column only, {shown(table.frame.columns[0])}; "
            "chary needs a target and features (if the columns are separated by an unusual "
            f"character, pass {Parameter('delimiter')})."
        )
    column_named(table, target)
    dtype = table.frame[target].dtype
    if not can_be_text(dtype):
        raise TableError(f"Column {shown(target)} holds {dtype}, not labels; choose another.")


class LabelCounts(NamedTuple):
    """The cells of a column as labels, and how many rows have each text.

    In both counts the most frequent text comes first.
    """

    labels: pl.Series  # the text of each cell, null if it is empty
    counts: dict[str, int]  # rows by label
    marker_counts: dict[str, int]  # rows by text that means "no label"


def count_labels(cells: pl.Series, markers: Sequence[str]) -> LabelCounts:
    """Count the labels of a column, and separately the cells that mean "no label".

    ``markers`` are the texts that mean "no label".
    """
    labels = label_texts(cells)
    rows = labels.alias("label").drop_nulls().value_counts(name="rows")
    counts: dict[str, int] = {}
    marker_counts: dict[str, int] = {}
    for text, n_rows in rows.sort("rows", "label", descending=[True, False]).iter_rows():
        if is_marker(text, markers) or not folded(text):
            marker_counts[text] = n_rows
        else:
            counts[text] = n_rows
    return LabelCounts(labels, counts, marker_counts)


def refuse_doubtful(
    target: str,
    counts: Mapping[str, int],
    classes: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> None:
    """Refuse target values that may mean "no label".

    A value is accepted if it is one of the ``classes``.
    """
    codes = settings_for(target, missing)
    doubtful = [text for text in doubtful_labels(counts, codes) if not is_marker(text, classes)]
    if not doubtful:
        return
    doubtful = doubtful[:_MAX_NAMED]
    values = listed(f"{shown(text)} in {counted(counts[text], 'row')}" for text in doubtful)
    no_label = " ".join(f"{Parameter('unlabeled', text)}" for text in doubtful)
    a_class = " ".join(f"{Parameter('classes', text)}" for text in doubtful)
    raise UndecidedError(
        f"Column {shown(target)} holds {values}; pass {no_label} if that means no label, "
        f"or {a_class} if that is a class."
    )


def refuse_decorated(
    target: str,
    counts: Mapping[str, int],
    classes: Sequence[str] = (),
    same: Mapping[str, str] | None = None,
) -> None:
    """Refuse values such as ``**bug**`` or ``bug.`` beside ``bug``: a language model wrote them.

    A value is accepted if it is one of the ``classes``, or named by ``same``.
    """
    plain = {folded(text): text for text in counts}
    settled = {folded(text) for text in (*classes, *(same or {}))}
    meant = {}
    for text in counts:
        bare = folded(_DECORATION.sub("", text))
        if bare and bare != folded(text) and bare in plain and folded(text) not in settled:
            meant[text] = plain[bare]
    if not meant:
        return
    values = listed(
        f"{shown(text)} in {counted(counts[text], 'row')}" for text in list(meant)[:_MAX_NAMED]
    )
    one_class = " ".join(
        f"{Parameter('same', f'{text}={bare}')}" for text, bare in list(meant.items())[:_MOST_SAME]
    )
    own_classes = " ".join(f"{Parameter('classes', text)}" for text in list(meant)[:_MAX_NAMED])
    raise TableError(
        f"Column {shown(target)} holds {values}, which look like other values with signs around "
        f"them; pass {one_class} if they mean the same, or {own_classes} if they are classes of "
        "their own."
    )


def _refuse_unlearnable(target: str, counts: Mapping[str, int], classes: set[str]) -> None:
    """Refuse a target without two classes, or with too many."""
    n_labeled = sum(counts.values())
    if len(classes) < 2:
        content = "no label"
        if classes:
            (only_class,) = classes
            content = f"one class only, {shown(only_class)} in {n_labeled:,} rows"
        raise TableError(
            f"Column {shown(target)} holds {content}; label some rows of at least two classes."
        )
    most_classes = min(MAX_CLASSES, max(_FEW_CLASSES, n_labeled / 2))
    if len(classes) > most_classes:
        raise TableError(
            f"Column {shown(target)} has {len(classes):,} different values in {n_labeled:,} "
            "labelled rows; group them, or choose another target."
        )


# ---------------------------------------------------------------- spellings


def folded(text: str) -> str:
    r"""Write text in lower case, without surplus white space and invisible characters.

    1.0 becomes 1, as file formats differ in how they write a whole number.

    >>> folded(" Not  SURE") == folded("not sure")
    True
    >>> folded("Cafe\u0301\u200b") == folded("caf\u00e9")
    True
    """
    single_spaced = " ".join(composed(text).split())
    # Composed again, as lower case may take a letter and its mark apart.
    return as_whole(composed(single_spaced.casefold()))


def chosen_spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """Map each text to the spelling of its class.

    Texts that are equal when ``folded`` are one class. Its spelling is its most frequent text, the
    first by value among equally frequent ones. The keys of the result are sorted in this way.

    A class 1.0 is called 1, as file formats differ in how they write a whole number.

    >>> chosen_spellings({"yes": 3, "Yes": 5, "1.0": 2})
    {'Yes': 'Yes', 'yes': 'Yes', '1.0': '1'}
    """
    by_frequency = sorted(counts, key=lambda text: (-counts[text], text))
    best: dict[str, str] = {}
    for text in by_frequency:
        best.setdefault(folded(text), as_whole(text))
    return {text: best[folded(text)] for text in by_frequency}


def fold_sentences(class_of: Mapping[str, str], target: str) -> list[str]:
    """Say which labels were read as one class.

    >>> fold_sentences({"yes": "yes", "no": "no", "YES": "yes"}, "churn")
    ["In column 'churn', 'yes' and 'YES' were read as one class, 'yes'."]
    """
    spellings_of: dict[str, list[str]] = {}  # by class
    for text, name in class_of.items():
        spellings_of.setdefault(name, []).append(told_apart(text))
    sentences = []
    for name, spellings in spellings_of.items():
        if len(spellings) > 1:
            sentences.append(
                f"In column {shown(target)}, {listed(spellings[:_MAX_NAMED])} were read as one "
                f"class, {shown(name)}."
            )
    return sentences


# ---------------------------------------------------------------- slips

# A slip is looked for in words of at least this many letters: among shorter ones, one letter often
# tells two classes apart.
_FEWEST_LETTERS = 4
_NO_LETTER = r"[\W\d_]"


def merge_slips(
    class_of: Mapping[str, str], same: Mapping[str, str], target: str
) -> dict[str, str]:
    """Give labels that are slips the class that is meant; refuse names that are not in the column.

    >>> merge_slips({"gut": "gut", "gutt": "gutt"}, {"gutt": "gut"}, "rating")
    {'gut': 'gut', 'gutt': 'gut'}
    """
    class_named = {folded(text): name for text, name in class_of.items()}
    meant = {}  # the class that is meant, by the class that is a slip
    for wrong, right in same.items():
        for text in (wrong, right):
            if folded(text) not in class_named:
                raise TableError(
                    f"Column {shown(target)} holds no label {shown(text)} for ",
                    Parameter("same"),
                    f"; {_label_hint(text, list(class_of.values()))}",
                )
        meant[class_named[folded(wrong)]] = class_named[folded(right)]
    for wrong, right in meant.items():
        if right in meant:
            raise TableError(
                f"{shown(wrong)} cannot be a slip for {shown(right)}, which is itself called a "
                "slip in ",
                Parameter("same"),
                "; name the class that is meant.",
            )
    return {text: meant.get(name, name) for text, name in class_of.items()}


def _label_hint(name: str, classes: Sequence[str]) -> str:
    """Suggest a label for a name that no label has."""
    nearest = get_close_matches(name[:200], classes, n=1, cutoff=0.6)
    if nearest:
        return f"did you mean {shown(nearest[0])}?"
    some_classes = list(dict.fromkeys(classes))[:_MAX_NAMED]
    return f"it holds {listed(map(shown, some_classes))}."


def class_of_slip(name: str, classes: Iterable[str]) -> str:
    """Find the class that may have been meant by a name; return "" if there is none.

    A slip is one letter too many, too few, another one, or two that changed places. It begins as
    the class does ("symptomatic" is no slip for "asymptomatic"), and no digit or single letter may
    tell the two apart ("type 1" and "type 2", "A" and "B").

    >>> class_of_slip("Refnud", ["Refund", "Other"]), class_of_slip("Typ B", ["Typ A"])
    ('Refund', '')
    """
    for other in classes:
        if _is_slip(folded(name), folded(other)):
            return other
    return ""


def _is_slip(name: str, meant: str) -> bool:
    """Tell whether one slip of the pen makes one folded text of the other.

    >>> _is_slip("refnud", "refund"), _is_slip("gutt", "gut"), _is_slip("typ b", "typ a")
    (True, True, False)
    """
    if name == meant or name[:1] != meant[:1]:
        return False
    if re.search(r"\d", name + meant):
        return False
    start = 0  # the place of the first difference
    for letter, letter_of_meant in zip(name, meant, strict=False):
        if letter != letter_of_meant:
            break
        start += 1
    n_letters = max(_word_length(name, start), _word_length(meant, start))
    if n_letters < _FEWEST_LETTERS:
        return False

    # From the first difference on: "nud" and "und" are left of "refnud" and "refund".
    left = name[start:]
    left_of_meant = meant[start:]
    is_another_letter = left[1:] == left_of_meant[1:]
    is_one_too_many = left[1:] == left_of_meant
    is_one_too_few = left == left_of_meant[1:]
    with_two_swapped = left[:2][::-1] + left[2:]
    are_two_swapped = with_two_swapped == left_of_meant
    return is_another_letter or is_one_too_many or is_one_too_few or are_two_swapped


def _word_length(text: str, place: int) -> int:
    """Count the letters of the word at a place of a text.

    If the character there is no letter, the longer of the words before and after it counts.

    >>> _word_length("typ abend", 5), _word_length("e-mail", 1)
    (5, 4)
    """
    before = re.split(_NO_LETTER, text[:place])[-1]
    from_place = re.split(_NO_LETTER, text[place:])[0]
    after_place = re.split(_NO_LETTER, text[place + 1 :])[0]
    return max(len(before) + len(from_place), len(after_place))


class Slip(NamedTuple):
    """A label that may be a slip for another one, with the rows of both."""

    label: str
    rows: int
    meant: str
    meant_rows: int


def likely_slips(rows_of: Mapping[str, int], largest_share: float) -> list[Slip]:
    """Find labels that may be slips, the most frequent first.

    A slip has at most this share of the rows of the label that may be meant.

    >>> likely_slips({"gut": 40, "gutt": 8, "schlecht": 31}, largest_share=0.5)
    [Slip(label='gutt', rows=8, meant='gut', meant_rows=40)]
    """
    present = [name for name, rows in rows_of.items() if rows]
    by_frequency = sorted(present, key=lambda name: (-rows_of[name], name))
    slips = []
    for label in by_frequency:
        rows = rows_of[label]
        much_more_frequent = [
            name for name in by_frequency if rows <= largest_share * rows_of[name]
        ]
        meant = class_of_slip(label, much_more_frequent)
        if meant:
            slips.append(Slip(label, rows, meant, rows_of[meant]))
    return slips


# ---------------------------------------------------------------- what means "no label"


def markers_of(unlabeled: str | Sequence[str] | None) -> tuple[str, ...]:
    """List the texts that mean "no label".

    White space around them is removed, and empty texts are left out.

    >>> markers_of("NA "), markers_of(["NA", "", "unknown"]), markers_of(None)
    (('NA',), ('NA', 'unknown'), ())
    """
    labels = [unlabeled] if isinstance(unlabeled, str) else unlabeled or ()
    stripped = [label.strip() for label in labels]
    return tuple(dict.fromkeys(label for label in stripped if label))


def is_marker(text: str, markers: Sequence[str]) -> bool:
    """Tell whether a text is one of the ``markers``, ignoring case and white space."""
    return folded(text) in {folded(marker) for marker in markers}
