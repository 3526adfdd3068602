"""When it is enough: an interval that holds at every moment, and no word on any one label."""

import json

import numpy as np
import polars as pl
import pytest

from chary.evaluation import sequence, settled
from chary.jobs import Enough


@pytest.fixture(name="judged")
def a_sheet_to_judge(tmp_path, run):
    """Four hundred rows whose labels are right but for every twentieth, and a sheet of sixty of them."""
    frame = pl.DataFrame({"x": range(400), "rule": ["b" if (i % 2) != (i % 20 == 7) else "a" for i in range(400)]})
    frame.write_csv(tmp_path / "t.csv")
    assert run("judge", tmp_path / "t.csv", "-l", "rule", "-k", 60)[0] == 0
    return tmp_path / "t.judge.csv"


def test_the_interval_is_that_of_the_sequence_and_is_shown_every_fifth_row():
    watch = Enough(["a"] * 40, 1000, width=0.2)
    answers = ["a"] * 12 + ["?"] + ["b"] + [""] * 26
    low, high = watch.limits(answers)
    assert len(low) == 10
    skipped = np.zeros(10, dtype=bool)
    np.testing.assert_allclose((low, high), sequence(np.ones(10, dtype=bool), 1000, skipped=skipped))
    assert watch.words(answers)[0].startswith("By 10 rows, between")
    assert watch.words(["a"] * 4 + [""] * 36)[0].startswith("The interval is shown after 5 rows")
    assert len(watch.limits(["a"] * 39 + ["?"])[0]) == 40  # all of them: there is no single answer to hide


def test_it_says_when_what_was_asked_for_is_reached():
    answers = ["A "] * 80
    said = Enough(["a"] * 80, 5000, above=0.9).words(answers)[0]
    low, high = sequence(np.ones(80, dtype=bool), 5000)
    assert said.startswith(f"ENOUGH: accuracy is at least 90%, by {settled(low, high, above=0.9).n} rows.")
    assert Enough(["b"] * 80, 5000, above=0.9).words(answers)[0].startswith("ENOUGH: accuracy is below 90%")
    assert "the interval is 20% wide or less" in Enough(["a"] * 80, 5000, width=0.2).words(answers)[0]
    assert not Enough(["a"] * 80, 5000, above=0.99).words(answers)[1]


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
