"""A target column: its classes and codes, or why it cannot be learned; equal spellings."""

import datetime as dt
import random
import re
import unicodedata
from itertools import product
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary._words import Parameter
from chary.tables.sampling import sample_rows
from chary.tables.table import Table, TableError
from chary.tables.target import (
    chosen_spellings,
    class_of_slip,
    folded,
    likely_slips,
    read_target,
    target_labels,
)


def table_of(**columns):
    frame = pl.DataFrame(columns)
    return Table(frame.with_columns(other=pl.lit("1")) if frame.width == 1 else frame, "t.csv", ",")


def test_a_target_may_be_called_as_polars_calls_counts():
    assert target_labels(table_of(count=["a", "b", None]), "count").codes.tolist() == [0, 1, -1]


def test_empty_cells_are_unlabelled_and_so_is_the_marker():
    table = table_of(y=["b", "", " a ", None, "todo", "b"], x=range(6))
    labels = target_labels(table, "y", "todo")
    assert labels.classes.tolist() == ["a", "b"]
    assert labels.codes.tolist() == [1, -1, 0, -1, -1, 1]


def test_a_numeric_target_becomes_text_classes():
    labels = target_labels(table_of(y=[1, None, 0]), "y")
    assert labels.classes.tolist() == ["0", "1"]
    assert target_labels(table_of(y=[1, 2, 0]), "y", "2").codes.tolist() == [1, -1, 0]


def test_whole_numbers_that_pandas_made_floats_are_whole():
    labels = target_labels(table_of(y=[3.0, None, 1.0, 2.5]), "y")
    assert labels.classes.tolist() == ["1", "2.5", "3"]


def test_a_target_of_durations_becomes_text_classes():
    hour = dt.timedelta(hours=1)
    labels = target_labels(table_of(y=[hour, None, 36 * hour]), "y")
    assert labels.classes.tolist() == ["1d 12h", "1h"]
    assert labels.codes.tolist() == [1, -1, 0]
    assert target_labels(table_of(y=[hour, 2 * hour, 3 * hour]), "y", "1h").codes.tolist() == [
        -1,
        0,
        1,
    ]


def test_words_that_may_mean_unlabelled_are_asked_about():
    for word in ("NA", "n/a", "nan", "NULL", "?", "-1"):
        table = table_of(y=["a", "b", word, word])
        with pytest.raises(TableError) as caught:
            target_labels(table, "y")
        assert str(caught.value) == (
            f"Column 'y' holds '{word}' in 2 rows; pass unlabeled='{word}' if that means no label, "
            f"or classes='{word}' if that is a class."
        )
        assert target_labels(table, "y", word).classes.tolist() == ["a", "b"]
        assert len(target_labels(table, "y", classes=[word]).classes) == 3


def asked_about(labels, **told):
    """The values of a target that are asked about."""
    try:
        target_labels(table_of(y=labels), "y", **told)
    except TableError as error:
        return [
            part.value
            for part in error.args
            if isinstance(part, Parameter) and part.name == "classes"
        ]
    return []


@pytest.mark.parametrize(
    ("labels", "asked"),
    [
        (["rot", "blau", "Offen", "offen", "K.A."], ["K.A.", "Offen", "offen"]),
        (["a", "b", "Weiß  nicht"], ["Weiß  nicht"]),
        (["+", "-", "other", "none", "not open", "nobody"], []),
        ([*range(11), 98, 99], ["98", "99"]),
        ([0.0, 1.0, 99.0], ["99"]),
        ([0, 1, -9], ["-9"]),
        (["1", "2", "3", "4", "5", "7", "8", "9"], []),
        ([*range(90, 100)], []),
        ([*range(10)], []),
        (["7", "8", "9"], []),
        (["99", "low", "high"], ["99"]),
        (["gut", "schlecht", "offen", "-9", "98", "mittel"], ["-9", "98", "offen"]),
        (["A", "B", "999"], ["999"]),
        (["0-17", "18-64", "65+", "99"], ["99"]),
        (["yes", "no", "9.0"], ["9.0"]),
        (["yes", "no", "0"], ["0"]),
        (["yes", "no", "-"], ["-"]),
        (["yes", "no", "??"], ["??"]),
        ([2019, 2020, 2021], []),
        (["1st", "2", "A1"], []),
        (["1", "X", "2"], []),
        (["0", "A", "AB", "B"], []),
        (["0", "I", "II", "III", "IV"], []),
        (["-", "A", "C", "G", "T"], []),
        (["9", "10a", "10b"], []),
        (["7", "8", "9", "junior", "senior"], []),
        (["98.5", "99", "99.5"], []),
        (["female", "male", "x"], []),
        (["yes", "Yes", "99"], []),
    ],
)
def test_what_looks_like_no_answer_is_asked_about_and_ordinary_classes_are_not(labels, asked):
    every = [*labels, *labels, None]
    assert sorted(asked_about(every)) == asked
    assert asked_about(every, classes=asked) == asked_about(every, unlabeled=asked) == []


def test_a_code_for_nothing_in_other_columns_is_asked_about_in_the_target():
    every = ["12", "a", "b", "12", None]
    assert asked_about(every) == asked_about(every, missing=["x=12"]) == []
    assert asked_about(every, missing=["12.0"]) == asked_about(every, missing=["y=12"]) == ["12"]


class Parts:
    """A source of a column y, three rows at a time."""

    def __init__(self, cells):
        self.table = table_of(y=cells)

    def batches(self):
        for rows in self.table.frame.iter_slices(3):
            yield SimpleNamespace(table=SimpleNamespace(frame=rows), share=0.0)


def test_rows_that_come_in_parts_are_asked_about_in_the_same_words():
    cells = [*map(str, range(11)), "98", "99", "offen", None]
    with pytest.raises(TableError) as whole:
        target_labels(table_of(y=cells), "y")
    with pytest.raises(TableError) as parts:
        sample_rows(Parts(cells), "y", 5)
    assert parts.value.args == whole.value.args


@pytest.mark.parametrize(
    ("columns", "target", "message"),
    [
        ({"churn": ["a", "b"]}, "chrun", "has no column 'chrun'; did you mean 'churn'?"),
        (
            {"churn": ["a", "b"], "x": [1, 2]},
            "zzz",
            "has no column 'zzz'; the table has 'churn', 'x'.",
        ),
        ({"y": ["", None]}, "y", "Column 'y' holds no label; label some rows"),
        ({"y": ["a", "a", ""]}, "y", "Column 'y' holds one class only, 'a' in 2 rows"),
        ({"y": [f"{i}.5" for i in range(50)]}, "y", "50 different values in 50 labelled rows"),
        (
            {"y": [f"c{i % 1001}" for i in range(2002)]},
            "y",
            "has 1,001 different values in 2,002 labelled rows; group",
        ),
    ],
)
def test_targets_that_cannot_be_learned(columns, target, message):
    with pytest.raises(TableError, match=message):
        target_labels(table_of(**columns), target)


def test_a_target_of_lists_is_refused():
    with pytest.raises(TableError, match="not labels"):
        target_labels(table_of(y=[[1], [2]]), "y")


def test_a_single_column_is_enough_to_predict_but_not_to_learn_from():
    table = Table(pl.DataFrame({"a": ["1", "2"]}), "t.csv", ",")
    with pytest.raises(
        TableError, match=r"t.csv has one column only, 'a'; .*pass the parameter delimiter\)\.$"
    ):
        target_labels(table, "a")


def classes_of(cells, unlabeled=None, **how):
    labels = target_labels(table_of(y=cells), "y", unlabeled, **how)
    return [None if code < 0 else str(labels.classes[code]) for code in labels.codes]


def test_spellings_of_a_label_are_one_class_and_said():
    cells = ["Yes", "YES", "yes ", "yes", "yes", "no", None, "not  sure", "Not sure"]
    read = read_target(table_of(y=cells), "y")
    assert read.labels.classes.tolist() == ["Not sure", "no", "yes"]
    assert read.labels.codes.tolist() == [2, 2, 2, 2, 2, 1, -1, 0, 0]
    assert read.notes == [
        "In column 'y', 'yes', 'YES' and 'Yes' were read as one class, 'yes'.",
        "In column 'y', 'Not sure' and 'not  sure' were read as one class, 'Not sure'.",
    ]


def test_the_order_of_the_rows_changes_no_class():
    cells = ["a", "A", "b", "B ", " b", "B", "c  d", "C d", None] * 2
    shuffled = random.Random(0).sample(range(len(cells)), len(cells))
    before = classes_of(cells)
    assert classes_of([cells[i] for i in shuffled]) == [before[i] for i in shuffled]


def test_one_spelling_with_white_space_around_it_is_nothing_to_tell():
    read = read_target(table_of(y=[" a", " a", "b ", None]), "y")
    assert read.labels.classes.tolist() == ["a", "b"]
    assert read.notes == []


def test_every_marker_counts_in_upper_or_lower_case():
    cells = ["a", "b", "NA", "unknown", "Unknown", "na", None]
    assert classes_of(cells, ["NA", "unknown"]) == ["a", "b", None, None, None, None, None]
    assert read_target(table_of(y=cells), "y", ("NA", "unknown")).notes == [
        "In column 'y', 'Unknown' is treated as unlabelled.",
        "In column 'y', 'na' is treated as unlabelled.",
    ]
    assert classes_of(["a", "b", "?"], ["", "b "], classes=["?"]) == ["a", None, "?"]


def test_a_marker_does_not_settle_what_another_word_means():
    cells = ["a", "b", "NA", "unknown"]
    with pytest.raises(
        TableError,
        match="holds 'NA' in 1 row; pass unlabeled='NA' if that means no label, or classes='NA'",
    ):
        target_labels(table_of(y=cells), "y", "unknown")
    assert classes_of(cells, ["unknown", ""], classes=["NA"]) == ["a", "b", "NA", None]


def test_a_target_of_another_type_has_one_spelling():
    assert classes_of([True, False, None]) == ["true", "false", None]
    category = pl.Series(["Yes", "yes", "no", "yes"], dtype=pl.Categorical)
    assert classes_of(category) == ["yes", "yes", "no", "yes"]
    assert classes_of(["\u2003", "a", "b"]) == [None, "a", "b"]


def test_which_cells_hold_a_label_can_be_told_in_parts():
    cells = ["a", "b", "B", " ", None, "todo", "NA", "a", "Todo", "na"]
    for unlabeled, classes in product(("todo", ["todo", "NA"]), ([], ["NA"])):
        told = {"unlabeled": unlabeled, "classes": classes}
        try:
            labels = target_labels(table_of(y=cells), "y", **told)
        except TableError as error:
            with pytest.raises(TableError, match=re.escape(str(error))):
                sample_rows(Parts(cells), "y", 0, **told)
            continue
        sample = sample_rows(Parts(cells), "y", 0, **told)
        assert sample.taken.numbers.tolist() == np.flatnonzero(labels.labeled).tolist()


# ---------------------------------------------------------------- spellings


@settings(max_examples=25)
@given(st.dictionaries(st.text("aAbB ", max_size=3), st.integers(1, 5), min_size=1), st.randoms())
def test_the_most_frequent_spelling_wins_whatever_the_order(counts, rng):
    chosen = chosen_spellings(counts)
    shuffled = list(counts.items())
    rng.shuffle(shuffled)
    assert chosen_spellings(dict(shuffled)) == chosen
    for text, name in chosen.items():
        group = [other for other in counts if folded(other) == folded(text)]
        assert name in group
        assert (-counts[name], name) == min((-counts[other], other) for other in group)


NFC, NFD = "caf\u00e9", "cafe\u0301"


def test_unicode_spellings_are_one_class_and_told_apart_in_the_note():
    read = read_target(
        table_of(y=[NFC, NFC, NFD, "bar", "bar\u200b", "\u2060bar", "New\u00a0York", "New York"]),
        "y",
    )
    assert read.labels.codes.tolist() == [2, 2, 2, 1, 1, 1, 0, 0]
    assert read.labels.classes.tolist() == ["New York", "bar", NFC]
    assert read.notes[0] == (
        "In column 'y', 'caf\u00e9' and 'cafe\\u0301' were read as one class, 'caf\u00e9'."
    )


def test_what_nobody_can_see_is_no_label_and_does_not_hide_a_marker():
    assert target_labels(table_of(y=["a", "b", "\u200b", " \ufeff"]), "y").codes.tolist() == [
        0,
        1,
        -1,
        -1,
    ]
    assert target_labels(
        table_of(y=["a", "b", "todo\u200b", NFD]), "y", ["todo", NFC]
    ).codes.tolist() == [
        0,
        1,
        -1,
        -1,
    ]
    with pytest.raises(TableError, match="if that means no label"):
        target_labels(table_of(y=["a", "b", "N\u200bA"]), "y")


@given(st.text(max_size=8))
def test_unicode_forms_of_a_text_are_one(text):
    forms = {folded(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}
    assert forms == {folded(folded(text))} == {folded(f"\u200b{text}\u00a0")}


def test_a_name_in_another_unicode_form_is_suggested_visibly():
    with pytest.raises(TableError, match=re.escape(r"did you mean 'cafe\u0301'?")):
        target_labels(table_of(**{NFD: ["a", "b"]}), NFC)


def test_classes_have_the_same_names_in_files_of_text_and_of_numbers():
    for cells in (
        ["1.0", "2.0", "1.0", ""],
        [1.0, 2.0, 1.0, None],
        [1, 2, 1, None],
        ["1", "2", "1", ""],
    ):
        table = Table(pl.DataFrame({"x": [1, 2, 3, 4], "y": cells}), "t")
        assert read_target(table, "y").labels.classes.tolist() == ["1", "2"]


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        ("gutt", "gut"),
        ("Refnud", "refund"),
        ("nien", "nein"),
        ("schlcht", "schlecht"),
        ("not-sure", "not sure"),
        ("Beschwerdr", "Beschwerde"),
    ],
)
def test_one_letter_too_many_too_few_another_or_swapped_is_a_slip(label, meant):
    assert class_of_slip(label, ["other", meant]) == meant
    assert likely_slips({meant: 40, label: 8, "other": 9}, 0.5) == [(label, 8, meant, 40)]
    assert likely_slips({meant: 15, label: 8}, 0.5) == []  # too frequent for a slip


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("female", "male"),
        ("type 2", "type 1"),
        ("Typ B", "Typ A"),
        ("A-", "A+"),
        ("asymptomatic", "symptomatic"),
        ("no", "on"),
        ("yet", "yes"),
        ("increased", "decreased"),
        ("disagree", "agree"),
    ],
)
def test_classes_that_people_use_beside_each_other_are_no_slips(label, other):
    assert likely_slips({other: 40, label: 2}, 0.5) == []


def test_slips_are_read_as_the_class_that_is_meant_and_only_if_asked():
    table = table_of(y=["gut"] * 5 + ["Gutt", "gutt", "mies", None])
    assert target_labels(table, "y").classes.tolist() == ["Gutt", "gut", "mies"]
    reading = read_target(table, "y", same={"GUTT": "gut"})
    assert reading.labels.classes.tolist() == ["gut", "mies"]
    assert reading.labels.class_counts.tolist() == [7, 1]
    assert reading.notes == [
        "In column 'y', 'gut', 'Gutt' and 'gutt' were read as one class, 'gut'."
    ]


@pytest.mark.parametrize(
    ("same", "said"),
    [
        (
            {"gutl": "gut"},
            "Column 'y' holds no label 'gutl' for the parameter same; did you mean 'gut'?",
        ),
        (
            {"gutt": "fine"},
            "no label 'fine' for the parameter same; it holds 'gut', 'mies' and 'gutt'.",
        ),
        ({"gutt": "gut", "gut": "mies"}, "'gutt' cannot be a slip for 'gut', which is itself"),
    ],
)
def test_a_slip_with_a_wrong_name_is_refused_in_one_sentence(same, said):
    table = table_of(y=["gut"] * 5 + ["gutt", "mies", "mies", None])
    with pytest.raises(TableError, match=re.escape(said)):
        read_target(table, "y", same=same)
