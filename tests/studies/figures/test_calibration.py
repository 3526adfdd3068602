"""The figure of calibration errors."""

import pytest

from chary.studies import figures
from chary.studies.catalogue import STUDIES
from chary.studies.curves import calibration_curves


def test_errors_stand_against_gamma_and_the_papers_curve_beside_its_formula():
    study = STUDIES["figure-calibration"]
    results = [
        (
            cell,
            {
                "softmax_ece": 0.1,
                "t_similarity_ece": 0.1 * study.value_of(cell),
                "t_share_ece": 0.05,
                "t_similarity_notebook": 0.3,
            },
        )
        for cell in study.cells(["rice", "splice"], 1)
    ]
    first = figures.draw(study, results)
    softmax, tsim, share = first.lines
    assert softmax.get_ydata() == pytest.approx([10] * 5)
    assert tsim.get_ydata() == pytest.approx([0, 5, 10, 15, 20])
    assert share.get_label() == "class share of T-similarity"
    axes = first.figure.axes
    assert len(axes) == 6 * 2  # two kinds of bins and the paper's formula, two labellings; two data sets
    ours, _, paper = axes[8].lines
    assert ours.get_ydata() == pytest.approx([30] * 5)
    assert list(paper.get_ydata()) == list(calibration_curves()["rice", "iid"].t_similarity.values())


def test_a_set_that_the_paper_does_not_show_has_our_lines_alone():
    study = STUDIES["figure-calibration"]
    results = [(cell, {"t_similarity_notebook": 0.3}) for cell in study.cells(["digits"], 1)]
    axes = figures.draw(study, results).figure.axes
    assert [len(ax.lines) for ax in axes] == [0, 0, 0, 0, 1, 1]
