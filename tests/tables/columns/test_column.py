"""What a column was taken for, as a model file keeps it."""

from dataclasses import fields

import numpy as np
import polars as pl
import pytest

from chary.tables.columns.column import Column, Kind


@pytest.mark.parametrize("kind", ["identifier", "text", "constant", "dropped", "unsupported"])
def test_a_column_is_used_unless_there_is_a_reason_not_to(kind):
    assert not Column("x", kind).used
    assert Column("x", "numeric").used


def test_the_fields_of_older_model_files_make_a_column():
    assert [field.name for field in fields(Column)][:7] == [
        *["name", "kind", "note", "form"],
        *["categories", "other", "missing"],
    ]
    old = {"name": "x", "kind": "boolean", "note": "", "form": "", "categories": ("yes",), "other": False}
    assert Column(**old, missing=True) == Column("x", "boolean", categories=("yes",), missing=True)


def test_columns_that_learned_something_can_be_compared():
    learned = Column("x", "embedding", learned={"centre": np.zeros(3)})
    assert learned == Column("x", "embedding", learned={"centre": np.zeros(3)})
    assert len({learned, Column("x", "embedding")}) == 1


def test_what_a_kind_cannot_read_is_written_otherwise():
    class Halves(Kind):
        """A kind that reads one of two cells."""

        def read(self, cells, column):
            return np.where(np.arange(len(cells)) % 2, np.nan, 1.0)[:, None]

    assert Halves().unread(pl.Series(["a", "b", "c", "d"]), Column("x", "half")).to_list() == ["b", "d"]
    assert not Halves().ambiguous(Column("x", "half"))
