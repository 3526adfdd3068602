"""Figures of confidences and of the rows they were given to."""

import numpy as np
import pytest

from chary.studies import figures
from chary.studies.catalogue import STUDIES


def test_histograms_are_shares_of_the_right_and_of_the_wrong():
    study = STUDIES["figure-confidence"]
    names = [f"{kind}_{what}" for kind in ("softmax", "t_similarity") for what in ("right", "wrong")]
    results = [(cell, dict.fromkeys(names, [1, 3] + [0] * 18)) for cell in study.cells(["digits"], 2)]
    right = figures.draw(study, results).patches[:20]
    assert [bar.get_height() for bar in right[:3]] == pytest.approx([25, 75, 0])


def test_labelled_rows_are_shown_among_all_of_one_seed():
    study = STUDIES["figure-bias"]
    shown = {
        "edges": [0, 1, 2],
        "all": [1, 1],
        "labeled": [1, 3],
        "points_all": [[0, 0]],
        "points_labeled": [[1, 1]],
    }
    ax = figures.draw(study, [(cell, shown) for cell in study.cells()])
    assert [bar.get_height() for bar in ax.patches[:2]] == [50, 50]
    assert np.max(ax.patches[2].get_xy()[:, 1]) == 75
