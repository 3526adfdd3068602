"""Rows in doubt: the least sure first, with reasons that are those of the model."""

import numpy as np

from chary._words import percent
from chary.review.review_page import DoubtfulRows


def test_rows_come_by_rising_confidence_and_closed_ones_are_passed_over(labelled):
    doubtful = DoubtfulRows(labelled)
    assert not labelled.labels.labeled[doubtful.order].any()
    assert (np.diff(labelled.confidence[doubtful.order]) >= 0).all()
    first, second, third = doubtful.order[:3].tolist()
    assert doubtful.to_check([second], None).tolist() == [first, *doubtful.order[2:].tolist()]
    assert doubtful.to_check([second], first + 1)[0] == third
    # From the start again.
    assert doubtful.to_check([second], int(doubtful.order[-1]) + 1)[0] == first


def test_an_opinion_is_that_of_the_model(labelled):
    doubtful = DoubtfulRows(labelled)
    row = int(doubtful.order[0])
    found = doubtful.opinion(row)
    assert found["proposed"] == labelled.labels.classes[labelled.codes[row]]
    assert found["confidence"] == percent(labelled.confidence[row])
    assert found["why"][0]["column"] in ("size", "speed")


def test_a_row_stands_in_the_order_of_the_file(labelled, browser):
    browser.bench.result = labelled
    fields = browser.get("/api/review")["row"]["fields"]
    assert [one["name"] for one in fields] == ["size", "speed", "name"]
