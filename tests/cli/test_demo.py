"""The demonstration: its labels are biased, its truth is whole, and the end is told."""

import re

import numpy as np
import polars as pl
import pytest

from chary.cli.demo import N_LABELED, TARGET, hide_labels

pytestmark = pytest.mark.usefixtures("quick_learners")


def test_the_demo_tells_what_the_user_could_not_know_and_connects_to_nothing(
    tmp_path, run, sockets
):
    folder = tmp_path / "demo"
    code, out, _ = run("demo", "--out", folder)
    assert code == 0
    said = " ".join(out.split())
    assert "differ strongly" in said
    promised = int(re.search(r"promise that (\d+)%", said)[1])
    true, lifted = (int(share) for share in re.findall(r"cannot know: (\d+)%", said))
    low, high = map(
        int, re.search(r"Of the labels above, (\d+)% to (\d+)% are right", said).groups()
    )
    labelled = pl.read_csv(folder / "tumours.labeled.csv")
    new = (labelled["chary_source"] != "given").to_numpy()
    right = labelled["chary_label"].to_numpy() == hide_labels(0)[1]
    assert true == round(100 * right[new].mean())
    assert promised > true
    assert low < true < high
    # The audited model is the mixture; the paper's method labelled before.
    assert lifted > 80
    assert (folder / "audited" / "tumours.report.html").exists()
    assert f"chary review {folder}/tumours.csv --target diagnosis" in said
    assert sockets() == []


def test_labels_are_hidden_in_the_table_and_kept_in_the_truth():
    frame, truth = hide_labels(0)
    given = frame[TARGET].is_not_null().to_numpy()
    assert given.sum() == N_LABELED
    assert (np.asarray(frame[TARGET].to_list(), dtype=object)[given] == truth[given]).all()
    assert set(truth[given]) == {"malignant", "benign"}
