"""The demonstration: its labels are biased, its truth is whole, and the end is told."""

import re

import numpy as np
import pytest

import chary.cli.demo
from chary.cli.demo import N_LABELED, TARGET, hide_labels, rivals

pytestmark = pytest.mark.usefixtures("quick_learners")


def test_the_demo_tells_what_the_user_could_not_know(tmp_path, run, monkeypatch):
    monkeypatch.setattr(chary.cli.demo, "rivals", lambda hidden, seed: {"another": 0.5, "chary": 0.6})
    folder = tmp_path / "demo"
    code, out, _ = run("demo", "--out", folder)
    assert code == 0
    assert "strongly biased" in out
    assert re.search(r"another +50\.0% +50\.0%", out)
    assert (folder / "tumours.report.html").exists()
    assert f"chary review {folder}/tumours.csv --target diagnosis" in out
    assert run("demo", "--out", folder)[0] == 1


def test_labels_of_extreme_cases_are_kept_and_none_is_lost():
    hidden = hide_labels(seed=1)
    given = hidden.frame[TARGET]
    assert given.drop_nulls().len() == N_LABELED == hidden.labeled.sum()
    assert (given.drop_nulls().to_numpy() == hidden.truth[hidden.labeled]).all()
    assert hidden.frame.shape == (569, 31)
    for name in ("benign", "malignant"):
        of_class = hidden.truth == name
        distance = np.linalg.norm(hidden.X[of_class] - hidden.X[of_class].mean(axis=0), axis=1)
        assert distance[hidden.labeled[of_class]].mean() > 1.5 * distance[~hidden.labeled[of_class]].mean()


def test_rivals_are_compared_on_hidden_labels_only():
    accuracy = rivals(hide_labels(seed=1))
    assert list(accuracy)[-1] == "chary"
    assert all(0.5 < value <= 1 for value in accuracy.values())
