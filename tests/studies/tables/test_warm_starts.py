"""Warm starts on real tables: what is run, and what is said of it, counted by hand."""

import numpy as np

from chary.studies.catalogue import STUDIES
from chary.studies.tables import warm_starts
from chary.studies.tables.warm_starts import METHODS, network

STUDY = STUDIES["warm-starts"]


def made_up(gains):
    """Fresh starts have 60 % everywhere, warm ones so many points more, by table."""
    by_table = dict(zip(STUDY.datasets, gains, strict=False))
    return [
        (cell, {"accuracy": 0.6 + 0.01 * by_table[cell.dataset] * cell.method.startswith("warm"), "balanced": 0.5})
        for cell in STUDY.cells(list(by_table), 2)
    ]


def test_warm_is_held_against_fresh_table_by_table():
    first, *said = STUDY.findings(made_up([3.0, 0.2, -1.0, 2.2]))
    assert first.startswith("Accuracy on average: with labels from one group (4 tables) no round 60.0, 1 round")
    assert first.endswith("5 rounds fresh 60.0 and 5 rounds warm 61.1.")
    assert len(said) == 2  # one and five rounds
    assert said[0].startswith("Warm against fresh with labels from one group, 1 round: +1.1 points over 4 tables,")
    assert "better on 2 and worse on 1 by more than 0.5 points" in said[0]
    assert "p = 1.00" in STUDY.findings(made_up([0.0, 0.0]))[1]
    assert STUDY.findings([]) == []


def test_the_network_is_that_of_label_and_only_the_start_differs(monkeypatch):
    seen = []
    monkeypatch.setattr(warm_starts, "labels_of", lambda model, draw, scored, start: seen.append(model))
    X = np.random.default_rng(0).standard_normal((60, 3))

    class Draw:
        seed = 0

        def __init__(self):
            self.X = X

        def audited(self, k):
            return np.arange(0)

        def labels(self, more):
            return np.where(np.arange(60) < 30, (X[:, 0] > 0).astype(int), None)

        def scored(self, more):
            return None

    for method in METHODS.values():
        network(Draw(), **method.options)
    assert [(model.max_rounds, model.warm_start, model.n_rounds_ > 0) for model in seen] == [
        (0, False, False),
        (1, False, True),
        (1, True, True),
        (5, False, True),
        (5, True, True),
    ]
    assert not np.allclose(seen[1].predict_proba(X), seen[2].predict_proba(X))
