"""Rows in doubt: the least sure first, with reasons that are those of the model."""

import numpy as np

from chary._words import percent
from chary.review.doubt import Doubt


def test_rows_come_by_rising_confidence_and_closed_ones_are_passed_over(labelled):
    doubt = Doubt(labelled)
    assert not labelled.labels.labeled[doubt.order].any()
    assert (np.diff(labelled.confidence[doubt.order]) >= 0).all()
    first, second, third = doubt.order[:3].tolist()
    assert doubt.wanted([second], None).tolist() == [first, *doubt.order[2:].tolist()]
    assert doubt.wanted([second], first)[0] == third
    assert doubt.wanted([second], int(doubt.order[-1]))[0] == first  # from the start again


def test_an_opinion_is_that_of_the_model(labelled):
    doubt = Doubt(labelled)
    row = int(doubt.order[0])
    found = doubt.opinion(row)
    assert found["proposed"] == labelled.labels.classes[labelled.codes[row]]
    assert found["confidence"] == percent(labelled.confidence[row])
    assert found["why"][0]["column"] in ("size", "speed")


def test_a_row_stands_in_the_order_of_the_file(labelled, browser):
    browser.bench.result = labelled
    fields = browser.get("/api/doubt")["row"]["fields"]
    assert [one["name"] for one in fields] == ["size", "speed", "name"]
