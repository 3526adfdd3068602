"""The truth of some rows, from a sheet or from values; sheets of another kind are refused."""

import polars as pl
import pytest

from chary.jobs.truth import behind_scan, read_truth
from chary.tables import TableError, read_tested, scan_table, target_labels, write_audit
from chary.tables.table import Table

FRAME = pl.DataFrame({"x": range(40), "rule": ["a", "b"] * 20, "y": ["a", "b"] * 5 + [None] * 30})


def read(truth, **more):
    scan = scan_table(FRAME)
    return read_truth(scan, ["rule"], truth, read_tested(scan, ["rule"]), None, False, None, **more)


def test_new_classes_and_no_answers_among_values():
    found = read(["A", "fox", "?", "n/a", " b "] + [None] * 35)
    assert found.rows.tolist() == [0, 1, 4]
    assert found.truth.tolist() == ["a", "fox", "b"]
    assert found.answers.new_classes == {"fox": 1}


def test_a_sheet_drawn_for_a_model_is_no_judge(tmp_path):
    table = Table(FRAME, "t.csv", ",")
    with (tmp_path / "a.csv").open("wb") as file:
        write_audit(table, "y", target_labels(table, "y"), target_labels(table, "y").rest[:5], file)
    with pytest.raises(TableError, match="drawn from rows without a label, to audit a model"):
        read(tmp_path / "a.csv")


def test_a_checksum_is_of_the_row_and_of_the_number_of_rows():
    one, fewer = behind_scan(scan_table(FRAME), ["x"]), behind_scan(scan_table(FRAME[:30]), ["x"])
    cells = one.texts([3, 4])
    assert len(set(one.checksums(cells))) == 2
    assert one.checksums(cells) == one.checksums(cells)
    assert not set(one.checksums(cells)) & set(fewer.checksums(cells))
