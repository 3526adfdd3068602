"""A table's diagnosis: the same as inside the whole job, without learning anything."""

import numpy as np
import polars as pl
import pytest

from chary.jobs import diagnose_table, label_table
from chary.tables import Table, TableError

pytestmark = pytest.mark.usefixtures("quick_learners")


@pytest.fixture(scope="module")
def table():
    x = np.random.default_rng(0).normal(size=120)
    y = [("yes" if value > 0 else "no") if abs(value) > 1 else None for value in x]
    return Table(pl.DataFrame({"x": x, "colour": ["red", "blue"] * 60, "y": y}), "t.csv", ",")


def test_it_is_the_diagnosis_of_the_whole_job(table):
    found, job = diagnose_table(table, "y", seed=4), label_table(table, "y", seed=4, rounds=0)
    assert found.diagnosis.verdict == job.diagnosis.verdict == "strongly biased"
    assert found.diagnosis.separation == job.diagnosis.separation
    assert found.diagnosis.shifts == job.diagnosis.shifts
    assert found.columns == job.model[0].columns_
    assert found.diagnosis.class_counts == {
        name: int((job.labels.codes == code).sum()) for code, name in enumerate(job.labels.classes)
    }


def test_steps_are_announced_and_kinds_can_be_overridden(table):
    steps = []
    found = diagnose_table(table, "y", drop=["colour"], progress=steps.append)
    assert steps == ["Preparing columns", "Comparing labelled and unlabelled rows"]
    assert [(column.name, column.kind) for column in found.columns] == [("x", "numeric"), ("colour", "dropped")]


def test_a_wrong_target_is_one_sentence(table):
    with pytest.raises(TableError, match="has no column 'z'"):
        diagnose_table(table, "z")
