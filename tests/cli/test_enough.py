"""When it is enough: an interval that holds at every moment, and no word on any one label."""

import json

import polars as pl
import pytest


@pytest.fixture(name="judged")
def a_sheet_to_judge(tmp_path, run):
    """Four hundred rows whose labels are right but for every twentieth, and a sheet of sixty of them."""
    frame = pl.DataFrame({"x": range(400), "rule": ["b" if (i % 2) != (i % 20 == 7) else "a" for i in range(400)]})
    frame.write_csv(tmp_path / "t.csv")
    assert run("judge", tmp_path / "t.csv", "-l", "rule", "-k", 60)[0] == 0
    return tmp_path / "t.judge.csv"


def test_filling_in_tells_when_it_is_enough_and_the_report_knows(judged, run, keys):
    keys(
        ["12"[int(token.split("row ")[1].split()[0]) % 2 == 0] for token in pl.read_csv(judged)["chary_row"][:45]]
    )
    code, out, _ = run("audit", "fill", judged, "--until-above", "70%")
    assert code == 0
    assert "By 45 rows, between" in out
    assert "ENOUGH: accuracy is at least 70%" in out
    assert f"Next:  chary judge {judged.with_name('t.csv')} --labels rule --audit {judged}" in out.replace(
        "\n", ""
    )
    code, out, _ = run("judge", judged.with_name("t.csv"), "-l", "rule", "--audit", judged, "--json")
    summary = json.loads(out)
    assert code == 0
    assert summary["stopped"]
    assert summary["audited"] == 45
    assert summary["columns"][0]["promised"] == summary["columns"][0]["always"]


def test_of_a_model_yet_to_be_made_nothing_can_be_told(drawn, run):
    code, _, err = run("audit", "fill", drawn[0], "--until-width", "0.2")
    assert code == 1
    assert "when it is enough can be told of a sheet of chary judge alone" in err
    assert "is no share" in run("audit", "fill", drawn[0], "--until-width", "20")[2]


def test_without_its_table_nothing_can_be_told(judged, run):
    judged.with_name("t.csv").unlink()
    code, _, err = run("audit", "fill", judged, "--until-width", "20%")
    assert code == 1
    assert "is not there; put it back" in err
