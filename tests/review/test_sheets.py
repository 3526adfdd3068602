"""The sheets behind a page: read again when they change, and said when they cannot be used."""

import polars as pl
import pytest

from chary.review import begin
from chary.tables import TableError


def test_a_sheet_of_another_table_is_said_and_not_used(bench, animals, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    pl.read_csv(animals[0]).head(200).write_csv(other / "animals.csv")
    begin([str(other / "animals.csv")], "animal").draw({"k": 4})
    bench.paths.audit.write_bytes((other / "animals.audit.csv").read_bytes())
    assert bench.sheets.audit is None
    assert "was not drawn from animals.csv as it is now" in bench.state()["notices"][0]
    with pytest.raises(TableError, match="was not drawn from"):
        bench.audit_page()
    bench.paths.audit.unlink()
    assert bench.state()["notices"] == []


def test_rows_to_check_are_added_one_by_one_in_the_form_of_the_command(bench):
    unlabelled = [i for i, given in enumerate(bench.job.read.labels.labeled.tolist()) if not given][:3]
    for row in unlabelled:
        filling, place = bench.sheets.to_check(row, "dog")
        assert filling.rows[place - 1].number == row
    assert bench.sheets.to_check(unlabelled[1], "cat")[1] == 2
    sheet = pl.read_csv(bench.paths.check, infer_schema=False)
    assert sheet.columns == ["chary_row", "animal", "chary_guess", "size", "speed", "name", "chary_classes"]
    assert sheet["chary_guess"].to_list() == ["dog"] * 3
    assert all(token.startswith(f"check {k}/{k}: row") for k, token in enumerate(sheet["chary_row"], 1))
    filling.answer(2, "cat")
    assert bench.sheets.checked_rows() == {unlabelled[1]: "cat"}
