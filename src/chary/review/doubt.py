"""The page Review: rows by doubt, each with what speaks for and against the label it has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary.labelling import LabeledTable
from chary.tables.cells import cell_texts

_NEIGHBOURS, _CELLS = 3, 4
_MOST_LABELED = 50_000  # rows among which the nearest are looked for


class Wanted(NamedTuple):
    """Which rows a person wants to see."""

    label: str = ""
    source: str = ""
    low: float = 0.0
    high: float = 1.0


class Doubt:
    """The rows of one fit that nobody has labelled, those of least confidence first."""

    def __init__(self, result: LabeledTable) -> None:
        self.result = result
        pool = np.flatnonzero(~result.labels.labeled)
        self.order = pool[np.argsort(result.confidence[pool], kind="stable")]  # (U,)

    @property
    def classes(self) -> list[str]:
        """Of the labels."""
        return [str(name) for name in self.result.labels.classes]

    @property
    def sources(self) -> list[str]:
        """Where the labels of these rows come from."""
        return sorted(set(self.result.source[self.order].tolist()))

    def wanted(self, wanted: Wanted, closed: Sequence[int]) -> NDArray[np.bool_]:
        """(U,) Which rows, by their place in the order, are wanted; ``closed`` ones, by number, are not."""
        result, rows = self.result, self.order
        confidence = np.round(result.confidence[rows], 4)
        mask = (confidence >= wanted.low) & (confidence <= wanted.high)
        if wanted.label:
            code = self.classes.index(wanted.label) if wanted.label in self.classes else -1
            mask &= result.codes[rows] == code
        if wanted.source:
            mask &= result.source[rows] == wanted.source
        taken = np.zeros(len(result.codes), dtype=bool)
        taken[list(closed)] = True
        return mask & ~taken[rows]

    def has(self, row: int) -> bool:
        """Whether a row, by number from 0, has a label that nobody gave."""
        return 0 <= row < len(self.result.codes) and not self.result.labels.labeled[row]

    def label(self, row: int) -> str:
        """The label that a row has now."""
        return self.classes[self.result.codes[row]]

    def next(self, mask: NDArray[np.bool_], after: int | None) -> int | None:
        """The first wanted row, past this one; from the start again if none is left. By number from 0."""
        start = 0
        if after is not None:
            place = np.flatnonzero(self.order == after)
            start = int(place[0]) + 1 if len(place) else 0
        places = np.flatnonzero(mask)
        if not len(places):
            return None
        later = places[places >= start]
        return int(self.order[later[0] if len(later) else places[0]])

    def opinion(self, row: int) -> dict[str, Any]:
        """What the model says of a row, and why."""
        result, classes = self.result, self.classes
        X = result.features(np.array([row]))
        classifier, code = result.model[-1], int(result.codes[row])
        probs = classifier.predict_proba(X)[0]
        others = [c for c in np.argsort(-probs, kind="stable").tolist() if c != code]
        runner_up = {"name": classes[others[0]], "probability": _round(probs[others[0]])} if others else None
        return {
            "proposed": classes[code],
            "confidence": _round(result.confidence[row]),
            "probability": _round(probs[code]),
            "runner_up": runner_up,
            "source": str(result.source[row]),
            "votes": self._votes(X),
            "neighbours": self._nearest(X),
            "why": self._why(X, row),
        }

    def _votes(self, X: NDArray[Any]) -> list[dict[str, Any]]:
        """What each learner, or each head of the network, says for itself."""
        classifier = self.result.model[-1]
        members = getattr(classifier.estimator_, "members_", None)
        if not hasattr(classifier.estimator_, "predict_head_proba"):
            return []
        probs = classifier.predict_head_proba(X)[0]  # (M, C)
        names = [f"head {m}" for m in range(1, len(probs) + 1)] if members is None else [m.name for m in members]
        best = probs.argmax(axis=1).tolist()
        return [
            {"learner": name, "label": self.classes[code], "probability": _round(own[code])}
            for name, own, code in zip(names, probs, best, strict=True)
        ]

    def _nearest(self, X: NDArray[Any]) -> list[dict[str, Any]]:
        """The given labels of the rows that are most like it: nearest in the features that the model sees."""
        rows, features = self._given
        distance = np.square(features - X[0].astype(np.float32)).sum(axis=1)
        nearest = rows[np.argsort(distance, kind="stable")[:_NEIGHBOURS]]
        result, names = self.result, self.columns[:_CELLS]
        frame = result.table.frame.select(names)[nearest.tolist()]
        texts = [[text or "" for text in cell_texts(frame[name]).to_list()] for name in names]
        return [
            {
                "row": int(row) + 1,
                "label": self.classes[result.labels.codes[row]],
                "cells": [{"name": name, "text": texts[k][i]} for k, name in enumerate(names)],
            }
            for i, row in enumerate(nearest.tolist())
        ]

    def _why(self, X: NDArray[Any], row: int) -> list[dict[str, Any]]:
        explained = self.result.explainer
        if explained is None:
            return []
        (cells,) = explained.cells(explained.effects(X, self.result.codes[[row]]), self.result.table.frame[[row]])
        return [
            {"column": cell.column, "text": cell.text or "", "effect": round(cell.effect, 3), "shown": cell.shown}
            for cell in cells
        ]

    @cached_property
    def columns(self) -> list[str]:
        """Those of the table that the labels owe most to, first."""
        return columns_by_importance(self.result)

    @cached_property
    def _given(self) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        rows = np.flatnonzero(self.result.labels.labeled)
        if len(rows) > _MOST_LABELED:
            rows = rows[np.linspace(0, len(rows) - 1, _MOST_LABELED).astype(np.intp)]
        return rows, self.result.features(rows).astype(np.float32)


def columns_by_importance(result: LabeledTable) -> list[str]:
    """The table's columns but the target: what the labels owe most to first, what is not used last."""
    names = [name for name in result.table.frame.columns if name != result.target]
    found = [] if result.explainer is None else [one.column for one in result.explainer.importance]
    used = {column.name for column in result.model[0].columns_ if column.used}
    rest = sorted(names, key=lambda name: name not in used)
    return [name for name in dict.fromkeys([*found, *rest]) if name in set(names)]


def _round(share: Any) -> float:
    return round(float(share), 4)
