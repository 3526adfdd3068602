"""When it is enough: an interval that holds at every moment, shown every fifth row; the exact one at the end."""

import numpy as np

from chary.audit import sequence, settled
from chary.audit.filling import Stopping


def test_the_interval_is_that_of_the_sequence_and_is_shown_every_fifth_row():
    watch = Stopping(["a"] * 40, 1000, width=0.2)
    answers = ["a"] * 12 + ["?"] + ["b"] + [""] * 26
    low, high = watch.limits(answers)
    assert len(low) == 10
    skipped = np.zeros(10, dtype=bool)
    np.testing.assert_allclose((low, high), sequence(np.ones(10, dtype=bool), 1000, skipped=skipped))
    assert watch.words(answers)[0].startswith("After 10 rows: between")
    said, reached = watch.words(["a"] * 4 + [""] * 36)
    assert said.startswith("The interval is shown after 5 rows")
    assert not reached
    assert [len(limits) for limits in watch.limits([""] * 40)] == [0, 0]
    assert len(watch.limits(["a"] * 39 + ["?"])[0]) == 40  # all of them: there is no single answer to hide


def test_it_says_when_what_was_asked_for_is_reached():
    answers = ["A "] * 80
    said, reached = Stopping(["a"] * 80, 5000, above=0.9).words(answers)
    assert reached
    low, high = sequence(np.ones(80, dtype=bool), 5000)
    assert said.startswith(f"Done: accuracy is at least 90% after {settled(low, high, above=0.9).n} rows.")
    assert Stopping(["b"] * 80, 5000, above=0.9).words(answers)[0].startswith("Done: accuracy is below 90%")
    assert "the interval is 20% wide or less" in Stopping(["a"] * 80, 5000, width=0.2).words(answers)[0]
    assert not Stopping(["a"] * 80, 5000, above=0.99).words(answers)[1]


def test_settled_is_the_first_moment_that_answers():
    low, high = sequence([True] * 80, population=5_000)
    found = settled(low, high, above=0.9)
    assert found.what == "above"
    assert low[found.n - 1] >= 0.9 > low[found.n - 2]
    narrow = settled(low, high, width=0.3)
    assert high[narrow.n - 1] - low[narrow.n - 1] <= 0.3 < high[narrow.n - 2] - low[narrow.n - 2]
    assert settled(low, high, above=0.9, width=0.3) == min(found, narrow)
    assert settled(*sequence([False] * 10, 5_000), above=0.9).what == "below"
    assert settled(low[:20], high[:20], above=0.9) is None
    assert settled([0.0, 0.25], [1.0, 0.75], width=0.5) == (2, "width")  # just as wide
    assert settled([0.0, 0.5], [1.0, 1.0], above=0.5) == (2, "above")
    assert settled([0.0, 0.0], [1.0, 0.5], above=0.5) is None
