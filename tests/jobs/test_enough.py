"""When it is enough: an interval that holds at every moment, shown every fifth row; the exact one at the end."""

import numpy as np

from chary.evaluation import score, sequence, settled
from chary.jobs import Enough


def test_the_interval_is_that_of_the_sequence_and_is_shown_every_fifth_row():
    watch = Enough(["a"] * 40, 1000, width=0.2)
    answers = ["a"] * 12 + ["?"] + ["b"] + [""] * 26
    low, high = watch.limits(answers)
    assert len(low) == 10
    skipped = np.zeros(10, dtype=bool)
    np.testing.assert_allclose((low, high), sequence(np.ones(10, dtype=bool), 1000, skipped=skipped))
    assert watch.words(answers)[0].startswith("By 10 rows, between")
    assert watch.words(["a"] * 4 + [""] * 36)[0].startswith("The interval is shown after 5 rows")
    assert len(watch.limits(["a"] * 39 + ["?"])[0]) == 40  # all of them: there is no single answer to hide


def test_it_says_when_what_was_asked_for_is_reached():
    answers = ["A "] * 80
    said = Enough(["a"] * 80, 5000, above=0.9).words(answers)[0]
    low, high = sequence(np.ones(80, dtype=bool), 5000)
    assert said.startswith(f"ENOUGH: accuracy is at least 90%, by {settled(low, high, above=0.9).n} rows.")
    assert Enough(["b"] * 80, 5000, above=0.9).words(answers)[0].startswith("ENOUGH: accuracy is below 90%")
    assert "the interval is 20% wide or less" in Enough(["a"] * 80, 5000, width=0.2).words(answers)[0]
    assert not Enough(["a"] * 80, 5000, above=0.99).words(answers)[1]


def test_at_the_planned_size_it_is_the_exact_interval():
    found = Enough(["a"] * 7 + [None] * 3, 500).planned(["a"] * 6 + ["?"] + ["a"] * 3)
    assert found == score([True] * 6 + [False] * 3, skipped=1, population=500)
