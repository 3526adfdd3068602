"""Rows to check: choosers choose what they say, all are judged on the same rows, and the words follow."""

import numpy as np
import pytest

from chary.labelling.checks import rows_to_label
from chary.labelling.learn import LEARNERS, WITH_AUDIT
from studies import figures
from studies.results import to_markdown
from studies.tables import CHOOSERS, ROWS_TO_CHECK, _halves, chosen_rows, on_rows_apart, taught


@pytest.fixture(scope="module")
def cells():
    return [cell for cell in ROWS_TO_CHECK.cells(["tumours"], 1) if cell.labeling == "group"]


@pytest.fixture(scope="module")
def draw(cells, quick_learners):
    return ROWS_TO_CHECK.task(cells[0])


def test_each_chooser_takes_rows_without_a_label(draw):
    start = draw.audited(30)
    for name in CHOOSERS:
        rows = chosen_rows(draw, name, start)
        assert len(set(rows.tolist())) == 60
        assert not draw.labeled[rows].any()
        assert not np.isin(rows, start).any()


def test_the_report_and_the_margin_go_by_the_model_of_chary_label(draw):
    known, (pool, apart) = draw.labels(draw.audited(0)), _halves(draw, draw.audited(0))
    assert sorted([*pool, *apart]) == np.flatnonzero(~draw.labeled).tolist()
    model = LEARNERS[WITH_AUDIT].classifier(0, draw.seed).fit(draw.X, known)
    there = np.concatenate([np.flatnonzero(draw.labeled), pool])
    confidence = np.concatenate([np.ones(draw.labeled.sum()), model.predict_confidence(draw.X[pool])])
    expected = rows_to_label(draw.X[there], draw.labeled[there], confidence, 60, random_state=draw.seed)
    assert chosen_rows(draw, "report", draw.audited(0)).tolist() == there[expected].tolist()
    probs = model.predict_proba(draw.X[pool])  # two classes
    margins = dict(zip(pool, np.abs(probs[:, 0] - probs[:, 1]), strict=True))
    chosen = chosen_rows(draw, "margin", draw.audited(0))
    assert max(margins[row] for row in chosen) <= min(margins[row] for row in set(pool) - set(chosen))


def test_all_are_judged_on_rows_set_apart(draw):
    found = {name: taught(draw, name, 30, 60) for name in CHOOSERS}
    start = taught(draw, "random", 30, 0)
    chosen = [chosen_rows(draw, name, draw.audited(30)) for name in CHOOSERS]
    assert not np.isin(start.apart, np.concatenate([draw.audited(30), *chosen])).any()
    for one in (*found.values(), start):
        assert one.apart.tolist() == start.apart.tolist()
        assert len(one.rest) == len(start.rest) - (0 if one is start else 60)
        figures_of = on_rows_apart(draw, one)
        right = one.codes == draw.truth
        assert figures_of["accuracy"] == pytest.approx(right[start.apart].mean())
        assert figures_of["rest_accuracy"] == pytest.approx(right[one.rest].mean())
    assert on_rows_apart(draw, found["random"])["rest_accuracy"] > 0.85


def test_the_report_compares_choosers_with_random_rows():
    gain = {"report": 0.01, "random": 0.02, "margin": 0.005}
    results = []
    for cell in ROWS_TO_CHECK.cells(["hotel", "weather"], 2):
        level = 0.6 + gain[cell.options["chosen"]] * cell.options["k"] / 30 + 0.1 * (cell.options["audited"] > 0)
        results.append((cell, {"accuracy": level, "rest_accuracy": level + 0.05}))
    text = to_markdown(ROWS_TO_CHECK, results)
    assert "| group | none | 30 | 61.0 | 62.0 | 60.5 |" in text
    assert "| column | 30 audited | 60 | 72.0 | 74.0 | 71.0 |" in text
    assert (
        "60 further labels add, points of accuracy on rows set apart: +2.0 (rows of the report), +4.0 "
        "(random rows) and +1.0 (smallest margin)."
    ) in text
    assert (
        "30 rows of the report against 30 random ones, on rows set apart: -1.0 with labels from one "
        "group without an audit"
    ) in text
    assert "60 smallest margin against 60 random ones, on all rows left to label: -3.0 with" in text
    figures.draw(ROWS_TO_CHECK, results)
    assert ROWS_TO_CHECK.findings(results[:1]) == []
