"""The study of calibration: its tables and sentences say what its cells say."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from chary.studies.calibration import (
    FIGURE_CALIBRATION,
    beside_the_papers_curves,
    errors_by_dataset,
    errors_by_gamma,
    the_gap,
)
from chary.studies.curves import calibration_curves
from chary.studies.results import import_results, to_markdown

ROOT = Path(__file__).parents[2]


def made_up(labelings=("iid", "ssb"), **numbers):
    """Numbers of a cell: constants, or functions of gamma."""
    study = FIGURE_CALIBRATION
    return [
        (cell, {name: y(study.value_of(cell)) if callable(y) else y for name, y in numbers.items()})
        for cell in study.cells(["cod_rna", "rice"], 2)
        if cell.labeling in labelings
    ]


def test_the_headline_holds_the_ends():
    results = made_up(("ssb",), t_similarity_ece=lambda gamma: 0.1 * gamma, softmax_ece=0.15)
    assert FIGURE_CALIBRATION.says(results) == (
        "From gamma = 0 to 2 the calibration error of T-similarity goes from 0.0 to 20.0 with biased labels "
        "(softmax 15.0)"
    )
    assert FIGURE_CALIBRATION.says([]) == FIGURE_CALIBRATION.title


def test_tables_of_the_errors():
    four = ("softmax", "t_similarity", "t_share", "head_mean")
    numbers = {f"{kind}_{what}": 0.01 * k for k, kind in enumerate(four) for what in ("ece", "ece_mass")}
    results = made_up(**numbers)
    rows = errors_by_gamma(FIGURE_CALIBRATION, results).rows
    assert len(rows) == 2 * 5
    assert rows[0] == ["IID", "0", "0.0 / 0.0", "1.0 / 1.0", "2.0 / 2.0", "3.0 / 3.0"]
    rows = errors_by_dataset(FIGURE_CALIBRATION, results).rows
    assert rows[-1] == ["Rice", "SSB", "0.0", "1.0", "1.0", "1.0", "2.0", "3.0"]


def test_panels_are_counted_by_shape():
    paper = calibration_curves()["cod_rna", "iid"].t_similarity
    results = made_up(("iid",), softmax_notebook=0.5, t_similarity_notebook=lambda gamma: paper[gamma] / 50)
    rows = beside_the_papers_curves(FIGURE_CALIBRATION, results).rows
    assert [row[0] for row in rows] == ["Cod-RNA", "Rice"]
    assert (rows[0][2], rows[0][-1]) == ("50.0 (64.8)", "1.0000")
    assert float(rows[1][-1]) < 0.99
    said = FIGURE_CALIBRATION.findings(results)
    assert any("in 1 of 2 panels" in sentence for sentence in said)
    assert FIGURE_CALIBRATION.findings([]) == []


def test_the_gap_is_counted():
    results = made_up(softmax_notebook=0.5, softmax_gap=lambda gamma: 0.5 if gamma < 1 else 0.2)
    (said,) = the_gap(FIGURE_CALIBRATION, results, ())
    assert said.endswith("in 16 of 40 cells; on average it is 50.0, that distance 32.0.")


@pytest.mark.parametrize("name", ["figure-calibration", "figure-calibration-authors"])
def test_the_stored_report_is_that_of_the_stored_cells(name):
    from chary.studies.catalogue import ELSEWHERE, find_study

    if name in ELSEWHERE:
        pytest.importorskip(ELSEWHERE[name][1])
    study, folder = find_study(name), ROOT / "studies" / "results" / name
    results = import_results(folder / "cells.json.gz", study.cells())
    assert len(results) == len(study.cells()) == 540
    assert to_markdown(study, results) == (folder / "report.md").read_text()


def test_the_stored_results_contradict_the_paper():
    """On average over the sets the true error of T-similarity rises with the diversity."""
    results = import_results(ROOT / "studies" / "results" / "figure-calibration" / "cells.json.gz")
    rows = errors_by_gamma(FIGURE_CALIBRATION, results).rows
    of_tsim = {labels: [float(row[3].split()[0]) for row in rows if row[0] == labels] for labels in ("IID", "SSB")}
    for errors in of_tsim.values():
        assert errors[-1] > errors[0]
        assert all(before < after for before, after in pairwise(errors[1:]))  # from gamma = 0.5 on


def test_the_page_on_the_paper_shows_the_stored_errors():
    page = (ROOT / "docs" / "reproduction.md").read_text()
    shown = re.findall(r"^\| (random|biased) \| (\d) \| (.*) \|$", page, flags=re.MULTILINE)
    results = import_results(ROOT / "studies" / "results" / "figure-calibration" / "cells.json.gz")
    stored = {
        (labels, gamma): " | ".join(cell.split(" / ")[0] for cell in cells)
        for labels, gamma, *cells in errors_by_gamma(FIGURE_CALIBRATION, results).rows
    }
    assert len(shown) == 6
    assert [row for *_, row in shown] == [
        stored[{"random": "IID", "biased": "SSB"}[of], at] for of, at, _ in shown
    ]
