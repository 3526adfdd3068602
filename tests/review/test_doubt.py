"""Rows in doubt: the least sure first, with neighbours and reasons that are those of the model."""

import numpy as np

from chary.review.doubt import Doubt


def test_rows_come_by_rising_confidence_and_closed_ones_are_passed_over(labelled):
    doubt = Doubt(labelled)
    assert not labelled.labels.labeled[doubt.order].any()
    assert (np.diff(labelled.confidence[doubt.order]) >= 0).all()
    first, second, third = doubt.order[:3].tolist()
    assert doubt.wanted("", [second], None).tolist() == [first, *doubt.order[2:].tolist()]
    assert doubt.wanted("", [second], first)[0] == third
    assert doubt.wanted("", [second], int(doubt.order[-1]))[0] == first  # from the start again


def test_rows_can_be_chosen_by_their_label(labelled):
    doubt = Doubt(labelled)
    assert {doubt.classes[doubt.result.codes[row]] for row in doubt.wanted("dog", [], None)} == {"dog"}
    assert not len(doubt.wanted("nobody", [], None))


def test_an_opinion_is_that_of_the_model(labelled):
    doubt = Doubt(labelled)
    row = int(doubt.order[0])
    found = doubt.opinion(row)
    probs = labelled.probabilities()[row]
    assert found["proposed"] == labelled.labels.classes[labelled.codes[row]]
    assert found["runner_up"] == labelled.labels.classes[probs.argmin()]
    assert found["why"][0]["column"] in ("size", "speed")


def test_the_nearest_given_labels_are_nearest_by_brute_force(labelled):
    doubt = Doubt(labelled)
    row = int(doubt.order[3])
    X, given = labelled.features(), np.flatnonzero(labelled.labels.labeled)
    distance = ((X[given] - X[row]) ** 2).sum(axis=1)
    nearest = given[np.argsort(distance)[:3]]
    found = doubt.opinion(row)["neighbours"]
    assert [one["row"] - 1 for one in found] == nearest.tolist()
    assert [one["label"] for one in found] == labelled.labels.classes[labelled.labels.codes[nearest]].tolist()
    assert {cell["name"] for cell in found[0]["fields"]} == {"size", "speed", "name"}


def test_a_row_stands_in_the_order_of_the_file_and_its_neighbours_by_what_matters(labelled, browser):
    browser.bench.result = labelled
    fields = browser.get("/api/doubt")["row"]["fields"]
    assert [one["name"] for one in fields] == ["size", "speed", "name"]
    cells = Doubt(labelled).opinion(int(np.flatnonzero(~labelled.labels.labeled)[0]))["neighbours"][0]["fields"]
    assert cells[0]["name"] == labelled.explainer.importance[0].column
