"""A target column in; classes and codes out, or why it cannot be learned."""

import polars as pl
import pytest

from chary.tables.errors import TableError
from chary.tables.table import Table
from chary.tables.target import target_labels


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


@pytest.mark.parametrize("word", ["NA", "n/a", "nan", "NULL", "?", "-1"])
def test_words_that_may_mean_unlabelled_are_asked_about(word):
    table = table_of(y=["a", "b", word, word])
    with pytest.raises(TableError) as caught:
        target_labels(table, "y")
    assert str(caught.value) == (
        f"Column 'y' holds '{word}' in 2 rows, which may or may not mean unlabelled; pass unlabeled='{word}' if "
        "it does, or unlabeled='' if it is a class."
    )
    assert target_labels(table, "y", word).classes.tolist() == ["a", "b"]
    assert len(target_labels(table, "y", "").classes) == 3


@pytest.mark.parametrize(
    ("columns", "target", "message"),
    [
        ({"churn": ["a", "b"]}, "chrun", "has no column 'chrun'; did you mean 'churn'?"),
        ({"churn": ["a", "b"], "x": [1, 2]}, "zzz", "has no column 'zzz'; it has 'churn', 'x'."),
        ({"y": ["", None]}, "y", "Column 'y' holds no label; label some rows"),
        ({"y": ["a", "a", ""]}, "y", "Column 'y' holds one class only, 'a' in 2 rows"),
        ({"y": [f"{i}.5" for i in range(50)]}, "y", "50 different values in 50 labelled rows"),
    ],
)
def test_targets_that_cannot_be_learned(columns, target, message):
    with pytest.raises(TableError, match=message):
        target_labels(table_of(**columns), target)


def test_labels_too_long_for_memory_are_refused(monkeypatch):
    monkeypatch.setattr("chary.tables.target._MAX_LABEL_BYTES", 1000)
    with pytest.raises(TableError, match="has a label of 100 characters; shorten it"):
        target_labels(table_of(y=["a", "b" * 100, None]), "y")


def test_a_target_of_lists_is_refused():
    with pytest.raises(TableError, match="not labels"):
        target_labels(table_of(y=[[1], [2]]), "y")


def test_a_single_column_is_enough_to_predict_but_not_to_learn_from():
    table = Table(pl.DataFrame({"a": ["1", "2"]}), "t.csv", ",")
    with pytest.raises(TableError, match=r"t.csv has one column only, 'a'; .*pass the parameter delimiter\)\.$"):
        target_labels(table, "a")
