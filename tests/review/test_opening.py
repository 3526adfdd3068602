"""A table, or a finished result, opened: columns of chary are set aside, the files are the table's."""

import polars as pl
import pytest

from chary.review.opening import open_table
from chary.tables import TableError

FRAME = pl.DataFrame({"x": [1, 2, 3], "y": ["a", "b", None]})
ADDED = {"chary_label": ["a", "b", "a"], "chary_confidence": [1.0, 1.0, 0.5], "chary_source": ["given"] * 3}


def test_a_finished_result_is_the_table_again(tmp_path):
    path = tmp_path / "t.labeled.csv"
    FRAME.with_columns(**{name: pl.Series(cells) for name, cells in ADDED.items()}, chary_p_a=pl.lit(1)).write_csv(
        path
    )
    opened = open_table([str(path)])
    assert opened.table.frame.columns == ["x", "y"]
    assert (opened.stem, opened.folder, opened.files) == ("t", tmp_path, (str(path),))
    assert "were set aside" in opened.notes[0]
    assert opened.table.path == str(path)
    FRAME.write_csv(tmp_path / "t.csv")
    assert open_table([str(path)]).table.path == str(tmp_path / "t.csv")  # what commands are typed with
    assert "chary_label" in open_table([str(path)], keep=True).table.frame.columns


def test_other_tables_are_as_they_are(tmp_path):
    FRAME.write_csv(tmp_path / "t.labeled.csv")
    opened = open_table([str(tmp_path / "t.labeled.csv")])
    assert (opened.stem, opened.notes) == ("t.labeled", ())
    with pytest.raises(TableError, match="save standard input in a file"):
        open_table(["-"])
