"""When it is enough: an interval that holds at every moment, and the exact one at the end."""

import numpy as np

from chary.audit import sequence
from chary.audit.filling import Stopping


def test_the_interval_is_that_of_the_sequence_and_is_shown_every_fifth_row():
    watch = Stopping(["a"] * 40, 1000, width=0.2)
    answers = ["a"] * 12 + ["?"] + ["b"] + [""] * 26
    low, high = watch.limits(answers)
    assert len(low) == 10
    skipped = np.zeros(10, dtype=bool)
    np.testing.assert_allclose(
        (low, high), sequence(np.ones(10, dtype=bool), 1000, skipped=skipped)
    )
    assert watch.words(answers)[0].startswith("After 10 rows: between")
    said, reached = watch.words(["a"] * 4 + [""] * 36)
    assert said.startswith("The interval is shown after 5 rows")
    assert not reached
    assert [len(limits) for limits in watch.limits([""] * 40)] == [0, 0]
    # All of them: there is no single answer to hide.
    assert len(watch.limits(["a"] * 39 + ["?"])[0]) == 40


def test_it_says_when_the_interval_is_as_narrow_as_asked_for():
    answers = ["A "] * 80
    low, high = sequence(np.ones(80, dtype=bool), 5000)
    said, reached = Stopping(["a"] * 80, 5000, width=0.2).words(answers)
    n = int(np.argmax(high - low <= 0.2)) + 1
    assert reached
    assert said.startswith("Done: the interval is 20% wide or less. After 80 rows: ")
    for k in (n - 1, n):
        assert Stopping(["a"] * k, 5000, width=0.2).words(answers[:k])[1] == (k == n)
    assert not Stopping(["a"] * 80, 5000, width=0.01).words(answers)[1]
    assert not Stopping(["a"] * 80, 5000).words(answers)[1]
    just_as_wide = float(high[-1] - low[-1])
    assert Stopping(["a"] * 80, 5000, width=just_as_wide).words(answers)[1]
