"""One summary: it adds up, any program can read it, and page and terminal show no other figure."""

import datetime
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from chary._words import percent
from chary.labelling import diagnose_table, label_table
from chary.labelling.diagnose import MILD, REPRESENTATIVE, STRONG, UNKNOWN
from chary.method import expected_calibration_error
from chary.options import LabelOptions
from chary.report import summarize, summarize_diagnosis
from chary.tables import Table

pytestmark = pytest.mark.usefixtures("quick_learners")


ROWS = 120


def table():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, ROWS))
    frame = pl.DataFrame({
        "age": 40 + 10 * x,
        "score": (z - z.mean()) / z.std(),  # mean 0, scale 1: a number all the same
        "city": rng.choice(["Ulm", "Bonn"], ROWS),
        "note": [f"N-{i:04d}" for i in range(ROWS)],
        "y": [
            ("yes" if x[i] > 0 else "no") if abs(x[i]) > 0.8 and i < 90 else None
            for i in range(ROWS)
        ],
    })  # fmt: skip
    return Table(frame, "shop.csv", ",")


@pytest.fixture(scope="module")
def result(quick_learners):
    return label_table(table(), LabelOptions.of(target="y", learner="network"))


@pytest.fixture(scope="module")
def summary(result):
    return summarize(result)


def test_any_program_can_read_it_and_every_key_is_documented(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_counts_add_up(summary):
    assert (
        summary["rows"]
        == sum(summary["sources"].values())
        == sum(summary["labels"].values())
        == ROWS
    )
    for source, count in summary["sources"].items():
        assert sum(of_class[source] for of_class in summary["classes"]) == count
    accepted = [record["n_accepted"] for record in summary["rounds"]]
    assert sum(accepted) == summary["sources"]["learned"]


def test_held_out_labels(summary, result):
    found, judged = summary["held_out"], result.held_out
    assert found["n"] == len(judged.correct)
    assert found["accuracy"] == judged.correct.mean()
    assert found["calibration_error"] == expected_calibration_error(
        judged.probability, judged.correct
    )


@pytest.mark.parametrize(
    ("verdict", "flags"),
    [
        (REPRESENTATIVE, (False, "good")),
        (MILD, (True, "fair")),
        (STRONG, (True, "bad")),
        (UNKNOWN, (False, "fair")),
    ],
)
def test_flags_say_what_a_verdict_is(result, verdict, flags):
    found = summarize(replace(result, diagnosis=replace(result.diagnosis, verdict=verdict)))[
        "diagnosis"
    ]
    assert (found["biased"], found["tone"]) == flags


def test_features_that_differ_are_told_in_the_tables_own_units(summary):
    frame = table().frame
    labeled = frame["y"].is_not_null()
    shifts = {shift["name"]: shift for shift in summary["diagnosis"]["shifts"]}
    for name in (
        "age",
        "score",
    ):  # the mean of score is 0 and its scale 1, as if it were a category
        assert float(shifts[name]["labeled_words"]) == pytest.approx(
            frame[name].filter(labeled).mean(), rel=1e-3
        )
        assert float(shifts[name]["unlabeled_words"]) == pytest.approx(
            frame[name].filter(~labeled).mean(), rel=1e-3
        )
    share = (frame["city"].filter(labeled) == "Ulm").mean()
    assert shifts["city = Ulm"]["labeled_words"] == percent(share)


def test_dates_are_dates_and_topics_are_words():
    """Days since 1970 and sines of months are for models; labels of the first year alone."""
    rng = np.random.default_rng(0)
    opened = [
        datetime.datetime(2018, 7, 10) + datetime.timedelta(hours=int(h))
        for h in np.arange(400) * 37
    ]
    filler = [
        "refund",
        "invoice",
        "parcel",
        "late",
        "today",
        "hello",
        "dear",
        "regards",
        "waiting",
        "answer",
        "please",
        "customer",
    ]
    text = [" ".join(rng.permutation(filler)[:5]) for _ in opened]
    y = [rng.choice(["a", "b"]) if i < 200 and i % 3 == 0 else None for i in range(400)]
    frame = pl.DataFrame({"opened": opened, "text": text, "y": y})
    summary = summarize_diagnosis(
        diagnose_table(Table(frame, "t.csv", ","), LabelOptions.of(target="y"))
    )
    names = [shift["name"] for shift in summary["shifts"]]
    assert names[0] == "opened"
    assert len(set(names)) == len(names)
    assert not any(word in name for name in names for word in ("sine", "elapsed", "~"))
    assert summary["shifts"][0]["labeled_words"].startswith("2018-")
    topic = next(shift for shift in summary["shifts"] if shift["name"].startswith("text, about: "))
    assert {topic["labeled_words"], topic["unlabeled_words"]} == {"more", "less"}


def test_rows_to_label_are_named_by_what_names_them(summary, result):
    first = summary["rows_to_label"][0]
    assert first["row"] == result.next_rows[0] + 1
    assert next(iter(first["cells"])) == "note"
    assert set(first["cells"]) == {"note", "age", "city", "score"}
    assert first["cells"]["note"] == f"N-{first['row'] - 1:04d}"
    assert first["label"] in ("yes", "no")


def test_columns_say_what_they_were_taken_for(summary):
    kinds = {column["name"]: (column["kind"], column["used"]) for column in summary["columns"]}
    assert kinds["note"] == ("identifier", False)
    assert kinds["city"] == ("categorical", True)


def test_a_diagnosis_alone_says_the_same_of_the_rows(summary):
    alone = summarize_diagnosis(diagnose_table(table(), LabelOptions.of(target="y")))
    for shared in ("columns", "notes"):
        assert alone.pop(shared) == summary[shared]
    assert (alone.pop("file"), alone.pop("target")) == ("shop.csv", "y")
    assert alone == summary["diagnosis"]


def test_without_an_audit_there_is_none_and_its_size_is_suggested(summary):
    assert summary["audit"] is None
    assert summary["audit_size"] == 30
