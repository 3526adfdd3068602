"""How much better one labelling is, against enumeration of every table there could be."""

import numpy as np
import pytest
from scipy import stats

from chary.evaluation import compare, difference
from chary.evaluation.differences import _chance, difference_keeps


def rows(both, b, c, none):
    counts = [both, b, c, none]
    return np.repeat([True, True, False, False], counts), np.repeat([True, False, True, False], counts)


def test_share_test_and_limits():
    found = difference(*rows(30, 12, 2, 16), population=1_000)
    assert found.share == pytest.approx(10 / 60)
    assert found.comparison == compare(*rows(30, 12, 2, 16))
    assert found.low < found.share < found.high
    mirrored = difference(*reversed(rows(30, 12, 2, 16)), population=1_000)
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))


def test_chance_is_that_of_counting():
    table = stats.multivariate_hypergeom([6, 4, 10], 7)
    expected = sum(table.pmf([b, c, 7 - b - c]) for b in range(7) for c in range(5) if b + c <= 7 and b - c >= 2)
    assert _chance(2, 7, 20, 6, 4) == pytest.approx(expected, abs=2e-6)


def test_nothing_is_open_when_every_row_was_drawn():
    found = difference(*rows(3, 4, 1, 2), population=10)
    assert found.low <= 0.3 <= found.high
    assert found.high - found.low <= 0.1


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 1), (3, 0), (5, 5), (6, 2), (12, 0)])
def test_interval_covers_in_every_table_of_twelve(first, second):
    """Enumerated: the chance of each outcome times whether its interval covers."""
    n, population = 6, 12
    table = stats.multivariate_hypergeom([first, second, population - first - second], n)
    covered = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            chance = float(table.pmf([b, c, n - b - c]))
            if chance > 0:
                found = difference(*rows(n - b - c, b, c, 0), population=population)
                inside = found.low - 1e-9 <= (first - second) / population <= found.high + 1e-9
                covered += chance * inside
    assert covered >= 0.95


def test_what_is_kept_is_what_lies_within():
    found = difference(*rows(20, 6, 2, 2), population=200)
    kept = [value for value in range(-200, 201) if difference_keeps(6, 2, 30, 200, value)]
    assert (kept[0] / 200, kept[-1] / 200) == (found.low, found.high)
    assert len(kept) == kept[-1] - kept[0] + 1
