"""A review begins with a column to label or labels to judge, and goes on where it stopped."""

import pytest

from chary.review import Fixed, begin
from chary.tables import TableError


def test_one_of_both_is_needed(animals):
    path = str(animals[0])
    for target, labels in ((None, ()), ("animal", ("animal",))):
        with pytest.raises(TableError, match="either the column to label or"):
            begin([path], target, labels=labels)
    with pytest.raises(TableError, match="has no column 'anmal'; did you mean 'animal'"):
        begin([path], "anmal")
    with pytest.raises(TableError, match="has no column 'color'"):
        begin([path], "animal", kinds={"color": "category"})


def test_what_is_typed_precedes_what_was_kept(animals):
    path = str(animals[0])
    begin([path], "animal").change({"kinds": {"size": "category", "name": "text"}})
    again = begin([path], "animal", kinds={"size": "leave out"}, fixed=Fixed(seed=3))
    assert again.settings.kinds == {"size": "leave out", "name": "text"}
    assert again.job.fixed.seed == 3
