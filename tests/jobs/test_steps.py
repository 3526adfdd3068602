"""The steps of labelling that know of rows that are not at hand."""

import numpy as np
import pytest

from chary.jobs.steps import prior_of_part
from chary.method import Labels


def part_of_many(n_others):
    """100 labelled rows, half of them yes, and some of 900 others."""
    codes = np.array([0] * 50 + [1] * 50 + [-1] * n_others)
    return Labels(np.array(["no", "yes"]), codes, codes >= 0)


def test_labelled_rows_are_many_among_few():
    """Of 1,000 rows 200 are yes, so of the 900 others 150 are: of 30 of them 5."""
    told = {"no": 0.8, "yes": 0.2}
    np.testing.assert_allclose(prior_of_part(told, part_of_many(30), 1000), [75 / 130, 55 / 130])


@pytest.mark.parametrize("told", [None, "labeled"])
def test_what_says_nothing_of_all_rows_holds_for_a_part(told):
    assert prior_of_part(told, part_of_many(30), 1000) == told


def test_of_all_rows_it_is_what_was_told():
    told = {"no": 0.8, "yes": 0.2}
    assert prior_of_part(told, part_of_many(900), 1000) is told


def test_shares_that_cannot_be_those_of_all_rows_are_refused():
    with pytest.raises(ValueError, match="1 % of all 1,000 rows"):
        prior_of_part({"no": 0.99, "yes": 0.01}, part_of_many(30), 1000)
