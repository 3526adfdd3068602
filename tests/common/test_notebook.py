"""The notebook of the quickstart, run headless: every cell in order, and what each would show."""

import ast
import json
from pathlib import Path

import pytest

from chary.cli.demo import invented_customers

FOLDER = Path(__file__).parents[2] / "examples" / "1_quickstart"


def run(cell, names):
    """What a notebook does: run the lines, and show the last one if it is a value."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return (
        None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    )


@pytest.fixture(name="shown")
def shown_values(tmp_path, monkeypatch, quick_learners):
    monkeypatch.chdir(tmp_path)
    invented_customers().write_csv("customers.csv")
    names = {}
    return [run("".join(cell["source"]), names) for cell in cells() if cell["cell_type"] == "code"]


def cells():
    return json.loads((FOLDER / "notebook.ipynb").read_text())["cells"]


def test_from_a_frame_to_the_report(shown, tmp_path):
    head, result, frame, diagnosis, labels = shown
    assert "chary_label" in frame
    assert frame.index.name == head.index.name == "id"
    for value in (head, result, frame, diagnosis, labels):
        assert repr(value)
    assert "strongly biased" in result._repr_html_()
    assert "strongly biased" in repr(result)
    assert "<table" in frame._repr_html_()
    assert "AUC" in repr(diagnosis)
    assert set(labels) <= {"yes", "no"}
    assert "Labels for churn" in (tmp_path / "churn.html").read_text()
    assert (tmp_path / "churn.chary").exists()
