"""The demonstration: its labels are biased, its truth is whole, and the end is told."""

import re

import numpy as np
import pytest

from chary.cli.demo import N_LABELED, TARGET, hide_labels

pytestmark = pytest.mark.usefixtures("quick_learners")


def test_the_demo_tells_what_the_user_could_not_know(tmp_path, run):
    folder = tmp_path / "demo"
    code, out, _ = run("demo", "--out", folder)
    assert code == 0
    assert "strongly biased" in out
    assert re.search(r"\d+% of the hidden labels were found", " ".join(out.split()))
    assert (folder / "tumours.report.html").exists()
    assert f"chary review {folder}/tumours.csv --target diagnosis" in out


def test_labels_are_hidden_in_the_table_and_kept_in_the_truth():
    frame, truth = hide_labels(0)
    given = frame[TARGET].is_not_null().to_numpy()
    assert given.sum() == N_LABELED
    assert (np.asarray(frame[TARGET].to_list(), dtype=object)[given] == truth[given]).all()
    assert set(truth[given]) == {"malignant", "benign"}
