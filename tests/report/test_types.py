"""The types of summaries are true of the data: the same keys, and values of those types."""

from types import UnionType
from typing import Literal, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
import polars as pl
import pytest

import chary
from chary.audit.judge import judge_table
from chary.options import JudgeOptions, requirement_of
from chary.report import (
    DiagnosedSummary,
    JudgedSummary,
    LabelsSummary,
    quality,
    summarize,
    summarize_judged,
)
from chary.report.next_steps import Quality
from chary.tables import open_source

pytestmark = pytest.mark.usefixtures("quick_learners")


def misfits(value, declared, place="summary"):
    """List the places at which plain data are not of the type that they are declared to be."""
    origin, parts = get_origin(declared), get_args(declared)
    if origin is UnionType:
        return [] if any(not misfits(value, part) for part in parts) else [place]
    if origin is Literal:
        return [] if value in parts else [place]
    plain = dict if is_typeddict(declared) else origin or declared
    if not isinstance(value, (int, float) if plain is float else plain):
        return [place]
    items = []
    if is_typeddict(declared):
        types = get_type_hints(declared)
        if value.keys() != types.keys():
            return [place]
        items = [(value[key], types[key], f"{place}.{key}") for key in types]
    elif plain is dict:
        items = [(item, parts[1], f"{place}.{key}") for key, item in value.items()]
    elif plain is list:
        items = [(item, parts[0], f"{place}[]") for item in value]
    elif plain is tuple:
        items = zip(value, parts, [place] * len(parts), strict=True)
    return [misfit for item in items for misfit in misfits(*item)]


@pytest.fixture(scope="module")
def customers():
    rng = np.random.default_rng(0)
    age = rng.normal(40, 10, 400).round(1)
    churned = np.where(age > 42, "yes", "no").tolist()
    frame = pl.DataFrame({
        "id": range(400),
        "age": age,
        "guess": churned,
        "place": ["north", "south"] * 200,
        "churn": [label if i < 150 and i % 2 else None for i, label in enumerate(churned)],
    })  # fmt: skip
    return frame, churned


def test_a_labelled_table(customers):
    frame, _ = customers
    result = chary.label(frame, "churn", learner="network", rounds=1)
    assert result.summary["rounds"]
    assert misfits(result.summary, LabelsSummary) == []
    assert misfits(quality(result.summary), Quality) == []


def test_an_audited_table(customers, tmp_path):
    frame, churned = customers
    first = chary.label(frame, "churn", learner="linear")
    first.draw(tmp_path / "audit.csv", 40)
    sheet = pl.read_csv(tmp_path / "audit.csv", infer_schema=False)
    numbers = sheet.to_series(0).str.extract(r"row (\d+)").cast(pl.Int64).to_list()
    answers = [churned[number - 1] if number else None for number in numbers]
    sheet.with_columns(churn=pl.Series(answers)).write_csv(tmp_path / "audit.csv")
    options = {"learner": "linear", "error": 0.2, "aim": "balanced", "class_prior": "labeled"}
    summary = chary.label(frame, "churn", audit=tmp_path / "audit.csv", **options).summary
    assert summary["audit"]
    assert summary["accept"]
    assert misfits(summary, LabelsSummary) == []
    assert misfits(quality(summary), Quality) == []


def test_a_diagnosis(customers):
    summary = chary.diagnose(customers[0], "churn").summary
    assert summary["shifts"]
    assert misfits(summary, DiagnosedSummary) == []


def test_judged_labels(customers):
    frame, churned = customers
    frame = frame.with_columns(other=pl.Series(churned[:300] + ["no"] * 50 + [None] * 50))
    truth = [label if i % 4 == 0 else None for i, label in enumerate(churned)]
    settings = {"confidence": "age", "by": ["place"], "error": 0.3}
    source = open_source(frame, reserved=())
    result = judge_table(
        source,
        truth,
        JudgeOptions.of(labels=["other", "guess"], require=requirement_of(0.5), **settings),
    )
    summary = summarize_judged(result)
    assert summary["pairs"]
    assert summary["slices"]
    assert summary["required"]
    assert misfits(summary, JudgedSummary) == []


def test_a_value_of_another_type_would_be_noticed(customers):
    summary = summarize(chary.label(customers[0], "churn", learner="linear").details)
    assert misfits({**summary, "rows": "400"}, LabelsSummary) == ["summary.rows"]
    assert misfits({**summary, "more": 1}, LabelsSummary) == ["summary"]
    aim = {"name": "accuracy"}
    assert misfits({**summary, "aim": aim}, LabelsSummary) == ["summary.aim"]
