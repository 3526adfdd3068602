"""The files beside a table: which are the page's own, and whether the table is as it was."""

import os

import polars as pl

from chary.review.files import Fingerprint, Ownership, paths_of
from chary.tables import Table


def test_only_what_this_page_wrote_is_overwritten_unasked(tmp_path):
    path = tmp_path / "t.labeled.csv"
    mine = Ownership({})
    assert mine.may_write(path)
    path.write_text("a stranger's")
    assert not mine.may_write(path)
    path.write_text("mine")
    mine.wrote(path)
    assert mine.is_own(path)
    again = Ownership(dict(mine.digests))
    assert again.is_own(path)
    path.write_text("mine, mended in a spreadsheet")
    assert not mine.may_write(path)
    assert not again.may_write(path)
    path.unlink()
    assert mine.may_write(path)
    assert not mine.is_own(path)


def test_a_table_that_changes_is_noticed(tmp_path):
    one, other = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("1")
    other.write_text("1")
    seen = Fingerprint([str(one), str(other)])
    assert seen.changed() == ""
    other.write_text("2")
    os.utime(other, ns=(1, 1))
    assert seen.changed() == "b.csv"
    seen.renew([other])
    assert seen.changed() == ""
    one.unlink()
    assert seen.changed() == "a.csv"


def test_files_are_those_of_the_commands(tmp_path):
    table = Table(pl.DataFrame({"a": [1]}), "t.csv", ",", path="t.csv")
    names = [path.name for path in paths_of(tmp_path, "t", table, judged=False)]
    assert names == [
        "t.audit.csv",
        "t.check.csv",
        "t.labeled.csv",
        "t.model.chary",
        "t.report.html",
        "t.review.json",
    ]
    assert paths_of(tmp_path, "t", table, judged=True)[:3] == (
        tmp_path / "t.judge.csv",
        tmp_path / "t.check.csv",
        tmp_path / "t.judged.csv",
    )
