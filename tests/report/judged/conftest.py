"""A judgement to show: two label columns, slices, confidence, a new class, names to escape."""

import numpy as np
import polars as pl
import pytest

from chary.audit.judge import judge_table
from chary.options import JudgeOptions
from chary.tables import open_source


@pytest.fixture(scope="package")
def judged():
    rng = np.random.default_rng(3)
    truth = rng.choice(["<b>ham</b>", "spam"], 800, p=[0.8, 0.2]).astype(object)
    rule = np.where(rng.random(800) < 0.1, "spam", truth)
    other = np.where(rng.random(800) < 0.4, "spam", truth)
    frame = pl.DataFrame(
        {"x": range(800), "rule": rule.tolist(), "other": other.tolist(), "sure": rng.random(800)}
    )
    frame = frame.with_columns(place=pl.Series(["<i>n</i>"] * 500 + ["s"] * 297 + ["rare"] * 3))
    told = [truth[i] if i % 7 == 0 else None for i in range(800)]
    told[0] = "fox"
    settings = {"confidence": "sure", "by": ["place"], "error": 0.2}
    return judge_table(
        open_source(frame, reserved=()), told, JudgeOptions.of(labels=["rule", "other"], **settings)
    )
