"""The function of Python: draw, label, judge, with a frame or a path, and what comes back."""

import pandas as pd
import polars as pl
import pytest

import chary

FRAME = pl.DataFrame({"text": [f"t{i}" for i in range(300)], "rule": ["a" if i % 3 else "b" for i in range(300)]})
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
    assert "40 of 40 random rows have the right label" in " ".join(repr(found).replace("│", " ").split())
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
