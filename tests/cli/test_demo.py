"""The demonstration: its labels are biased, its truth is whole, and the story is told."""

import re

import numpy as np
import polars as pl
import pytest

from chary.cli.demo import N_LABELED, TARGET, hide_labels

pytestmark = pytest.mark.usefixtures("quick_learners")


def test_the_demo_tells_its_story_in_five_lines_and_connects_to_nothing(tmp_path, run, sockets):
    folder = tmp_path / "demo"
    code, out, _ = run("demo", "--out", folder)
    assert code == 0
    text = " ".join(out.split())
    assert re.findall(r"(\d)\. [A-Z]", text) == ["1", "2", "3", "4", "5"]
    promised = int(re.search(r"promise that (\d+)%", text)[1])
    assert "That is a warning: the labelled rows differ strongly from the rest" in text
    share_right, usual = map(
        int, re.search(r"In truth, (\d+)% are right; .* would be (\d+)%", text).groups()
    )
    low, high = map(
        int, re.search(r"(\d+)% to (\d+)% of the labels above are right", text).groups()
    )
    labelled = pl.read_csv(folder / "tumours.labeled.csv")
    new = (labelled["chary_source"] != "given").to_numpy()
    right = labelled["chary_label"].to_numpy() == hide_labels(0)[1]
    assert share_right == round(100 * right[new].mean())
    # The paper's method is ahead of the usual models where labels promise too much.
    assert promised > share_right > usual
    assert low < share_right < high
    assert (folder / "audited" / "tumours.report.html").exists()
    # What the README and the tutorials label next.
    assert pl.read_csv(folder / "customers.csv")["churn"].count() == 60
    assert f"chary review {folder}/tumours.csv --target diagnosis" in text
    assert sockets() == []


def test_the_story_is_told_of_draws_that_the_usual_models_label(tmp_path, run):
    code, out, _ = run("demo", "--out", tmp_path / "demo", "--seed", "2")
    assert code == 0
    text = " ".join(out.split())
    assert "2. That is no estimate: The labelled rows differ" in text
    assert re.search(r"3\. In truth, \d+% are right\.", text)


def test_labels_are_hidden_in_the_table_and_kept_in_the_truth():
    frame, truth = hide_labels(0)
    given = frame[TARGET].is_not_null().to_numpy()
    assert given.sum() == N_LABELED
    assert (np.asarray(frame[TARGET].to_list(), dtype=object)[given] == truth[given]).all()
    assert set(truth[given]) == {"malignant", "benign"}
