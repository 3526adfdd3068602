"""The function of Python: draw, label, judge, with a frame or a path, and what comes back."""

import pandas as pd
import polars as pl
import pytest

import chary
from chary.tables import TableError

FRAME = pl.DataFrame(
    {"text": [f"t{i}" for i in range(300)], "rule": ["a" if i % 3 else "b" for i in range(300)]}
)
FRAME = FRAME.with_columns(sure=pl.Series([i / 300 for i in range(300)]))


def test_draw_label_judge(tmp_path):
    sheet = tmp_path / "s.csv"
    chary.draw_rows(FRAME, "rule", sheet, 40, confidence="sure")
    frame = pl.read_csv(sheet, infer_schema=False)
    assert frame.columns == ["chary_row", "chary_truth", "text", "chary_classes"]
    rows = frame["chary_row"].str.extract(r"row (\d+) of").cast(int) - 1
    frame.with_columns(chary_truth=FRAME["rule"][rows.to_list()]).write_csv(sheet)
    found = chary.judge(FRAME, "rule", sheet, confidence="sure", error=0.1)
    assert found.accuracy[0] > 0.9
    assert found.accuracy[1] == 1
    assert found.frame.columns == [*FRAME.columns, "chary_accept"]
    assert found.frame["chary_accept"].all()
    assert "40 of 40 random rows have the right label" in " ".join(
        repr(found).replace("│", " ").split()
    )
    assert "are right" in found._repr_html_()
    found.report(tmp_path / "r.html")
    assert "How good are the labels" in (tmp_path / "r.html").read_text()
    with pytest.raises(FileExistsError):
        found.report(tmp_path / "r.html")


def test_a_pandas_frame_and_a_path_are_judged_alike(tmp_path):
    truth = [("a" if i % 3 else "b") if i % 9 == 0 else None for i in range(300)]
    FRAME.write_csv(tmp_path / "t.csv", separator=";")
    by_path = chary.judge(tmp_path / "t.csv", "rule", truth, delimiter=";")
    data = FRAME.to_pandas()
    by_frame = chary.judge(data, ["rule"], truth)
    assert by_frame.accuracy == by_path.accuracy
    assert isinstance(by_frame.frame, pd.DataFrame)
    assert by_frame.frame.equals(data)


@pytest.fixture(name="tickets")
def tickets_with_a_truth():
    truth = pd.Series(["ham", "spam", "ham", "ham"] * 50, index=[f"t{i}" for i in range(200)])
    rule = truth.where(pd.Series([i % 5 > 0 for i in range(200)], truth.index), "spam")
    return pd.DataFrame({"text": truth.index, "rule": rule}), truth


def test_a_truth_in_another_order_is_aligned_by_its_index(tickets):
    frame, truth = tickets
    expected = chary.judge(frame, "rule", truth.to_numpy()).accuracy
    assert chary.judge(frame, "rule", truth).accuracy == expected
    assert chary.judge(frame, "rule", truth.sort_values()).accuracy == expected
    numbered = truth.reset_index(drop=True)
    whole = pl.DataFrame(frame.to_dict("list"))
    assert chary.judge(whole, "rule", numbered.sort_values()).accuracy == expected
    # As it stands beside the frame: each row is known by its place.
    twice = frame.set_axis([0, 1] * 100)
    assert chary.judge(twice, "rule", truth.set_axis(twice.index)).accuracy == expected


def test_a_truth_that_does_not_fit_the_index_is_refused(tickets):
    frame, truth = tickets
    with pytest.raises(TableError, match=r"index of the truth is not that of the table"):
        chary.judge(frame, "rule", truth.reset_index(drop=True))
    with pytest.raises(TableError, match=r"index of the truth is not that of the table"):
        chary.judge(frame, "rule", truth[:150])
    with pytest.raises(TableError, match=r"index of the truth is not that of the table"):
        chary.judge(frame.to_dict("list"), "rule", truth)
    with pytest.raises(TableError, match=r"several rows have the same index"):
        chary.judge(frame.set_axis([0, 1] * 100), "rule", truth.set_axis([1, 0] * 100))
