"""The recipes of docs/how-to/engines.md: short, and run where their engine is installed."""

import re
import sys
from pathlib import Path

import polars as pl
import pytest

import chary

PAGE = (Path(__file__).parents[2] / "docs/how-to/engines.md").read_text()
RECIPES = dict(re.findall(r"```py\n# (\w+)\n(.*?)```", PAGE, flags=re.DOTALL))


@pytest.fixture(name="folder")
def model_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"id": range(80), "x": [i % 10 for i in range(80)]})
    labels = [("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]
    given = frame.with_columns(y=pl.Series(labels))
    chary.label(given, target="y", drop=["id"], rounds=0, learner="linear").save("model.chary")
    (tmp_path / "in").mkdir()
    frame.write_parquet("in/a.parquet")
    return tmp_path, pl.concat(chary.predictor("model.chary", columns=["id"])([frame]))


@pytest.mark.filterwarnings("ignore")  # what an engine warns of is its own
def test_spark(folder, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    sql = pytest.importorskip("pyspark.sql")
    spark = (
        sql.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    try:
        exec(RECIPES["spark"], {"spark": spark})
    finally:
        spark.stop()
    assert pl.read_parquet("out/*.parquet").sort("id").equals(folder[1])


@pytest.mark.filterwarnings("ignore")
def test_ray(folder):
    ray = pytest.importorskip("ray")
    try:
        exec(RECIPES["ray"], {})
    finally:
        ray.shutdown()
    assert pl.read_parquet("out/*.parquet").sort("id").equals(folder[1])
