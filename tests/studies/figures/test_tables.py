"""Figures of real tables: gains are those against each rival and the best, by table; lines those of choosers."""

import numpy as np
import pytest

from chary.studies import figures
from chary.studies.tables.rows_to_check import ROWS_TO_CHECK
from chary.studies.tables.study import TABLES

LEVELS = {"auto": 0.80, "logistic": 0.70, "extra-trees": 0.75, "boosting": 0.82}


def test_gains_are_drawn_by_table_against_each_rival_and_the_best():
    cells = [cell for cell in TABLES.cells(["hotel", "fastfood"], 1) if cell.method in LEVELS]
    ax = figures.draw(TABLES, [(cell, {"accuracy": LEVELS[cell.method]}) for cell in cells])
    drawn = {line.get_label(): line.get_xdata() for line in ax.get_lines() if not line.get_label().startswith("_")}
    assert {label: np.round(gains, 6).tolist() for label, gains in drawn.items()} == {
        "ahead of logistic regression": [10, 10],
        "ahead of extra trees": [5, 5],
        "ahead of boosting": [-2, -2],
        "ahead of the best of the three": [-2, -2],
    }
    assert [panel.get_title() for panel in ax.figure.axes] == [
        "labels drawn at random from all rows",
        "labels from one group",
        "labels picked by a column",
    ]
    assert len(ax.figure.axes[1].get_lines()[-1].get_xdata()) == 1  # fastfood has no group


def test_further_labels_are_drawn_by_chooser_way_and_start():
    results = [(cell, {"accuracy": 0.5 + cell.options["k"] / 1000}) for cell in ROWS_TO_CHECK.cells(["hotel"], 1)]
    ax = figures.draw(ROWS_TO_CHECK, results)
    assert len(ax.figure.axes) == 4
    for line in ax.get_lines():
        assert line.get_xdata() == pytest.approx([0, 30, 60])
        assert line.get_ydata() == pytest.approx([50, 53, 56])
