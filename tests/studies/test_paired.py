"""Gains draw by draw: means are over tables, errors too, and only shared draws count."""

import numpy as np
import pytest
from scipy.stats import sem

from studies.paired import Contest, Gains, contest_table, gains_over
from studies.real_tables import REAL_TABLES, verdict

POINTS = {"food_reviews": 4.0, "hotel": 1.0, "weather": 3.0}


@pytest.fixture
def results():
    """Three rounds by softmax gain 4, 1 and 3 points on three tables, a point less by a column."""
    found = []
    for cell in REAL_TABLES.cells(list(POINTS), 2, ["network", "network-softmax-3"]):
        points = 0.0
        if cell.method != "network":
            points = POINTS[cell.dataset] - (cell.labeling == "column")
        found.append((cell, {"accuracy": 0.6 + points / 100}))
    return found


def test_a_gain_is_the_mean_over_tables_with_its_error(results):
    gains = gains_over(results, ["random"], "network-softmax-3", "network")
    assert len(gains.by_draw) == 6
    assert gains.mean == pytest.approx(np.mean(list(POINTS.values())))
    assert gains.error == pytest.approx(sem(list(POINTS.values())))
    assert gains.is_clear
    assert str(gains) == "+2.7 ± 0.9 [+1.0]"
    by_column = gains_over(results, ["column"], "network-softmax-3", "network")
    assert by_column.worst == pytest.approx(0)


def test_draws_that_one_method_lacks_do_not_count(results):
    fewer = [pair for pair in results if pair[0].method != "network" or pair[0].seed == 0]
    gains = gains_over(fewer, ["random"], "network-softmax-3", "network")
    assert {seed for _, _, seed in gains.by_draw} == {0}
    assert str(gains_over(results, ["random"], "mixed", "network")) == "-"


def test_one_table_shows_nothing_beyond_chance():
    alone = Gains({("hotel", "random", seed): 5.0 for seed in range(3)})
    assert alone.error == 0
    assert not alone.is_clear


def test_a_contest_is_a_line_of_the_table(results):
    contests = [
        Contest("softmax", "network-softmax-3", "network"),
        Contest("absent", "mixed", "network"),
    ]
    table = contest_table("Gains", contests, REAL_TABLES, results)
    assert [row[0] for row in table.rows] == ["softmax"]
    assert table.rows[0][1] == "+2.7 ± 0.9 [+1.0]"


def test_the_verdict_says_what_helps_beyond_chance(results):
    random = verdict(REAL_TABLES, results, ())[-1]
    assert random == (
        "Self-training beside none, random labels. Better: network, softmax, three rounds "
        "(+2.7 ± 0.9)."
    )
