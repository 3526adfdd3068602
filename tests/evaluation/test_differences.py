"""How much better one labelling is, against enumeration of every table there could be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from chary.evaluation import compare, difference, differences
from chary.evaluation.differences import _chance, _most, difference_keeps


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
    assert not difference_keeps(6, 2, 30, 200, kept[-1], level=0.9)
    assert difference_keeps(6, 2, 30, 200, kept[-1] + 1, level=0.99)


def chance_of(d, n, population, first, second):
    """That b - c is at least d, b and c counted one by one."""
    table = stats.multivariate_hypergeom([first, second, population - first - second], n)
    pairs = [(b, c) for b in range(n + 1) for c in range(n + 1 - b) if b - c >= d]
    return sum(float(table.pmf([b, c, n - b - c])) for b, c in pairs)


@given(st.data())
@settings(max_examples=40)
def test_the_chance_is_never_below_that_of_counting_and_above_it_by_rounding_alone(data):
    population = data.draw(st.integers(1, 40))
    n = data.draw(st.integers(1, min(population, 9)))
    first = data.draw(st.integers(0, population))
    second = data.draw(st.integers(0, population - first))
    d = data.draw(st.integers(-n, n))
    expected = chance_of(d, n, population, first, second)
    assert expected + 0.99e-6 <= _chance(d, n, population, first, second) <= expected + 1.01e-6


@pytest.mark.parametrize("rows_of", [(3_000, 2_500), (150_000, 149_000), (100, 0), (0, 100)])
def test_of_a_large_table_the_chance_is_that_of_a_table_without_end(rows_of):
    population, n, d = 300_000, 120, 3
    p, q = (count / population for count in rows_of)
    b = np.arange(n + 1)[:, None]
    c = np.arange(n + 1)
    outcomes = stats.binom.pmf(b, n, p) * stats.binom.pmf(c, np.maximum(n - b, 0), q / (1 - p))
    assert _chance(d, n, population, *rows_of) == pytest.approx(outcomes[b - c >= d].sum(), abs=2e-3)


def limits_by_trying(b, c, n, population, level):
    """The least and the most A - B that no tail rules out, over every A and B there could be."""
    tail = (1 - level) / 2
    u = np.arange(population + 1)
    rare = np.minimum(
        stats.hypergeom.sf(b + c - 1, population, u, n), stats.hypergeom.cdf(b + c, population, u, n)
    )
    kept = []
    for total in u[rare > 0.05 * tail]:  # all but a tenth of the tail, on either side
        for first in range(total + 1):
            chances = (
                chance_of(b - c, n, population, first, total - first),
                chance_of(c - b, n, population, total - first, first),
            )
            if min(chances) > 0.9 * tail:
                kept.append(2 * first - total)
    return min(kept), max(kept)


@pytest.mark.parametrize(
    ("b", "c", "n", "population", "level"),
    [(0, 0, 6, 20, 0.95), (3, 0, 6, 20, 0.95), (2, 2, 6, 16, 0.8), (5, 1, 7, 14, 0.9), (1, 4, 5, 12, 0.5)],
)
def test_limits_are_those_of_trying_every_table_or_a_row_wider(b, c, n, population, level):
    found = difference(*rows(n - b - c, b, c, 0), population=population, level=level)
    low, high = limits_by_trying(b, c, n, population, level)
    assert low - 2 <= round(found.low * population) <= low  # as many rows as one more of A and one less of B
    assert high <= round(found.high * population) <= high + 2
    assert found.level == level


def test_limits_are_wider_at_a_higher_level_and_those_of_95_percent_are_usual():
    usual, wide, narrow = (difference(*rows(30, 12, 2, 16), population=1_000, **level) for level in (
        {}, {"level": 0.99}, {"level": 0.8}))  # fmt: skip
    assert usual == difference(*rows(30, 12, 2, 16), population=1_000, level=0.95)
    assert wide.low < usual.low < narrow.low < narrow.high < usual.high < wide.high


def test_cells_cost_a_large_table_next_to_nothing(monkeypatch):
    """Forty of them, where there are hundreds of numbers of rows that could differ."""
    found = difference(*rows(60, 30, 10, 20), population=1_000)
    monkeypatch.setattr(differences, "_CELLS", 1_000)  # each number of rows for itself
    fine = difference(*rows(60, 30, 10, 20), population=1_000)
    assert found.low <= fine.low <= found.low + 0.01
    assert found.high - 0.01 <= fine.high <= found.high


def test_a_larger_table_takes_no_more_work(monkeypatch):
    """At most forty chances for each difference that is tried, whatever could be."""
    tried = []
    monkeypatch.setattr(differences, "_chance", lambda *arguments: tried.append(arguments) or 0.0)
    for population, expected in [(30, 20), (3_000, 40), (300_000, 40)]:
        tried.clear()
        assert not differences._is_likely(3, 20, population, (population // 3, population), 0, 0.02)
        assert len(tried) == expected


def test_rows_are_looked_at_as_far_as_a_draw_may_hold_them_and_not_much_further():
    for n, count, population in [(30, 10, 1_000), (300, 900, 1_000), (300, 5, 10**7), (1_000, 10**5, 10**6)]:
        most = _most(n, count, population)
        assert stats.hypergeom.sf(most, population, count, n) < 1e-9
        assert most <= min(n, count, 2 * n * count / population + 21)
