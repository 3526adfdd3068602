"""Paths, frames, dicts and tables become a table; settings go where they belong."""

import polars as pl
import pytest

from chary.api import _table as given
from chary.tables import TableError


def test_settings_of_reading_are_for_files(tmp_path):
    (tmp_path / "t.csv").write_text("x|y\n1|a\n")
    assert given(tmp_path / "t.csv", delimiter="|", encoding="utf-8").frame.columns == ["x", "y"]
    with pytest.raises(TableError, match="the parameter delimiter only applies to files"):
        given({"x": [1]}, delimiter="|")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (pl.DataFrame({"chary_label": [1]}), "already has a column 'chary_label'"),
        (pl.DataFrame({"chary_accept": [True]}), "already has a column 'chary_accept'"),
        (pl.DataFrame({"x": []}), "no rows"),
        ([[1, 2]], "A table is needed"),
    ],
)
def test_what_cannot_be_labelled_is_refused_in_one_sentence(data, said):
    with pytest.raises(TableError, match=said):
        given(data)


def test_a_file_that_takes_more_memory_than_is_free_is_refused_before_it_is_read(
    tmp_path, monkeypatch
):
    path = tmp_path / "t.csv"
    pl.DataFrame({"x": range(20), "y": range(20)}).write_csv(path)
    monkeypatch.setattr("chary.tables.source.free_memory", lambda: 100 << 20)
    monkeypatch.setattr("chary.tables.table.free_memory", lambda: 100 << 20)
    with pytest.raises(
        TableError, match=r"t\.csv would take about 300 MiB of memory, and 100 MiB are free; give a"
    ):
        given(path)
