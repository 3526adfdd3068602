"""What was learned from a part of a table in; what is kept of every row of it, in a few numbers each, out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chary.evaluation import STEPS, in_steps
from chary.jobs.label import Learnt
from chary.jobs.labeled import GIVEN, LEARNED, PREDICTED, SOURCES
from chary.jobs.steps import LabeledRows
from chary.method import ACCURACY, RawScores


class KnownRows:
    """Labels of rows that are not those the model has for them, by row number."""

    def __init__(self, learnt: Learnt) -> None:
        every, classifier = learnt.labels.every, learnt.fitted.classifier
        numbers = learnt.table.numbers(np.arange(len(every.codes)))
        learned = classifier.labeled_iter_ > 0
        codes = every.codes.copy()
        if classifier.aim == ACCURACY:  # another aim comes after the rounds, and is for every row
            codes[learned] = np.searchsorted(every.classes, classifier.transduction_[learned].astype(str))
        there = every.labeled | learned
        self.numbers, self.codes, self.labeled = numbers[there], codes[there], every.labeled[there]

    def among(self, start: int, n: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
        """Of n rows from one on: where they are, their code (-1: the model's), and whether it was given."""
        part = slice(*np.searchsorted(self.numbers, [start, start + n]))
        return (self.numbers[part] - start).astype(np.intp), self.codes[part], self.labeled[part]

    def results(
        self, start: int, n: int, codes: NDArray[np.intp], confidence: NDArray[np.float64]
    ) -> NDArray[np.uint16]:
        """What to keep of n rows (n, 3), given what the model says of those that nobody labelled: ``rows_of``."""
        rest = self.rest(start, n)
        found = np.empty((n, 3), dtype=np.uint16)
        found[~rest, 1], found[rest, 0], found[rest, 1] = STEPS, codes, in_steps(confidence)
        places, known, labeled = self.among(start, n)
        source, settled, told = np.full(n, SOURCES.index(PREDICTED)), np.ones(n, dtype=bool), known >= 0
        source[places] = np.where(labeled, SOURCES.index(GIVEN), SOURCES.index(LEARNED))
        settled[places[told]] = labeled[told] | (found[places[told], 0] == known[told])
        found[places[told], 0] = known[told]
        found[:, 2] = source + len(SOURCES) * settled
        return found

    def rest(self, start: int, n: int) -> NDArray[np.bool_]:
        """Which of n rows from one on nobody labelled."""
        places, _, labeled = self.among(start, n)
        rest = np.ones(n, dtype=bool)
        rest[places[labeled]] = False
        return rest


def rows_of(found: NDArray[Any]) -> LabeledRows:
    """What was put aside of some rows."""
    source = found[:, 2].astype(np.intp) % len(SOURCES)
    return LabeledRows(
        codes=found[:, 0].astype(np.intp),
        confidence=found[:, 1] / STEPS,
        source=np.array(SOURCES, dtype=object)[source],
        settled=found[:, 2] >= len(SOURCES),
    )


def packed(raw: RawScores) -> NDArray[np.float64]:
    """Raw scores as rows of numbers (n, C + M C)."""
    members = [] if raw.members is None else [raw.members.reshape(len(raw.probs), -1)]
    return np.concatenate([raw.probs, *members], axis=1)


def unpacked(rows: NDArray[np.float64], n_classes: int) -> RawScores:
    members = rows[:, n_classes:].reshape(len(rows), -1, n_classes) if rows.shape[1] > n_classes else None
    return RawScores(rows[:, :n_classes], members)


def no_scores(learnt: Learnt) -> RawScores:
    """The raw scores of no row, as wide as those of any."""
    raw = learnt.fitted.classifier.raw_scores(learnt.X[:1])
    return RawScores(raw.probs[:0], None if raw.members is None else raw.members[:0])
