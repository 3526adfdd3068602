"""The demonstration, as typed."""

import re

import pytest

from chary.cli import hidden_labels

pytestmark = pytest.mark.usefixtures("quick_learners")


def test_the_demo_tells_what_the_user_could_not_know(tmp_path, run, monkeypatch):
    monkeypatch.setattr(hidden_labels, "rivals", lambda hidden, seed: {"another": 0.5, "chary": 0.6})
    folder = tmp_path / "demo"
    code, out, _ = run("demo", "--out", folder)
    assert code == 0
    assert "strongly biased" in out
    assert re.search(r"another +50\.0% +50\.0%", out)
    assert (folder / "tumours.report.html").exists()
    assert f"chary review {folder}/tumours.csv --target diagnosis" in out
    assert run("demo", "--out", folder)[0] == 1
