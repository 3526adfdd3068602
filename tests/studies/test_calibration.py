"""The study of calibration: its tables and sentences say what its cells say."""

import re
from itertools import pairwise
from pathlib import Path

from studies.calibration import (
    FIGURE_CALIBRATION,
    beside_the_papers_curves,
    calibration_curves,
    errors_by_gamma,
)
from studies.results import import_results

ROOT = Path(__file__).parents[2]


def made_up(labelings=("iid", "ssb"), **numbers):
    """Numbers of a cell: constants, or functions of gamma."""
    study = FIGURE_CALIBRATION
    return [
        (cell, {name: y(study.value_of(cell)) if callable(y) else y for name, y in numbers.items()})
        for cell in study.cells(["cod_rna", "rice"], 2)
        if cell.labeling in labelings
    ]


def test_panels_are_counted_by_shape():
    paper = calibration_curves()["cod_rna", "iid"].t_similarity
    results = made_up(
        ("iid",), softmax_notebook=0.5, t_similarity_notebook=lambda gamma: paper[gamma] / 50
    )
    rows = beside_the_papers_curves(FIGURE_CALIBRATION, results).rows
    assert [row[0] for row in rows] == ["Cod-RNA", "Rice"]
    assert (rows[0][2], rows[0][-1]) == ("50.0 (64.8)", "1.0000")
    assert float(rows[1][-1]) < 0.99
    said = FIGURE_CALIBRATION.findings(results)
    assert any("in 1 of 2 panels" in sentence for sentence in said)
    assert FIGURE_CALIBRATION.findings([]) == []


def test_the_stored_results_contradict_the_paper():
    """On average over the sets the true error of T-similarity rises with the diversity."""
    results = import_results(ROOT / "studies" / "results" / "figure-calibration" / "cells.json.gz")
    rows = errors_by_gamma(FIGURE_CALIBRATION, results).rows
    of_tsim = {
        labels: [float(row[3].split()[0]) for row in rows if row[0] == labels]
        for labels in ("IID", "SSB")
    }
    said = FIGURE_CALIBRATION.findings(results)[0]
    assert said.count("T-similarity is better at 0 and 0.5)") == 2
    for errors in of_tsim.values():
        assert errors[-1] > errors[0]
        assert all(before < after for before, after in pairwise(errors[1:]))  # from gamma = 0.5 on


def test_the_page_on_the_paper_shows_the_stored_errors():
    page = (ROOT / "docs/explanation/paper.md").read_text()
    shown = re.findall(r"^\| (random|biased) \| ([\d. |]+) \|$", page, flags=re.MULTILINE)[:2]
    results = import_results(ROOT / "studies" / "results" / "figure-calibration" / "cells.json.gz")
    stored = {"IID": [], "SSB": []}
    for labels, _, softmax, t_similarity, *_ in errors_by_gamma(FIGURE_CALIBRATION, results).rows:
        stored[labels] = [softmax, *stored[labels][1:], t_similarity]
    assert shown == [
        (name, " | ".join(cell.split(" / ")[0] for cell in stored[labels]))
        for name, labels in (("random", "IID"), ("biased", "SSB"))
    ]
