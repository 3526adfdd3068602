"""A fitted classifier and the unlabelled rows of a table in; which of its columns decide the labels out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.evaluation import HeldOut, decisive, effects, importance, screened, spread_rows
from chary.method import probabilities
from chary.tables import Table, TablePreparation, cell_texts, shown_cells

# Columns whose importance is measured, and of them those that single rows are explained by; rows that stand for
# all, and rows that a row is compared with: see ``benchmarks/explain.py``.
_MOST_COLUMNS, _MOST_DECISIVE, _SAMPLE, _BACKGROUND = 100, 20, 2_000, 8
_ROWS = 5_000  # explained at a time


class ColumnImportance(NamedTuple):
    """What the labels owe to one column."""

    column: str
    change: float  # of the probabilities on average, if its cells are shuffled among the rows
    flipped: float  # the share of the labels that change then


class Cell(NamedTuple):
    """A cell that speaks for the label of its row."""

    column: str
    text: str | None  # visible and short; None: the cell is empty, or a list
    effect: float  # log-odds of the label against the rest: how much more than cells of other rows
    shown: str  # both, as a person reads it


class Explainer(NamedTuple):
    """What explains the labels of a table."""

    classifier: Any  # of features
    importance: list[ColumnImportance]  # the most important first
    n_columns: int  # that were used; above ``len(importance)``: some were not looked at
    n_rows: int  # that the importance was measured on
    columns: list[str]  # that single rows are explained by, in the order of their features
    groups: list[NDArray[np.intp]]  # the features of each
    background: NDArray[Any]  # (B, d) unlabelled rows that others are compared with

    def effects(self, X: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[Any]:
        """How much each of ``columns`` speaks for the class of each row, (n, G)."""
        return effects(self.classifier, X, codes, self.background, self.groups)

    def cells(self, X: NDArray[Any], codes: NDArray[np.intp], frame: pl.DataFrame) -> list[list[Cell]]:
        """Of each of a few rows the two or three cells that decide its class; ``frame`` holds their cells."""
        found = self.effects(X, codes)
        texts = [cell_texts(frame[name]) if name in frame.columns else [None] * len(X) for name in self.columns]
        shown = [_shown(frame, name) for name in self.columns]
        return [
            [Cell(self.columns[k], texts[k][row], float(found[row, k]), shown[k][row]) for k in chosen if k >= 0]
            for row, chosen in enumerate(decisive(found).tolist())
        ]

    def why(
        self,
        features: Callable[[slice], NDArray[Any]],
        codes: NDArray[np.intp],
        frame: pl.DataFrame,
        progress: Callable[[str], None] = lambda step: None,
    ) -> pl.Series:
        """The deciding cells of each of many rows as a text, as in ``income = 12,000; region = north``.

        ``features`` gives those of some rows: they are asked for a part at a time, so that memory stays bounded.
        """
        parts = [pl.Series([], dtype=pl.String)]
        for start in range(0, frame.height, _ROWS):
            progress(f"Explaining rows: {start:,} of {frame.height:,}")
            part = slice(start, start + _ROWS)
            parts.append(self.texts(self.effects(features(part), codes[part]), frame[part]))
        return pl.concat(parts)

    def texts(self, found: NDArray[Any], frame: pl.DataFrame) -> pl.Series:
        """The same from ``effects`` (n, G)."""
        return _joined(frame, decisive(found), self.columns)


def explainer(
    classifier: Any, preparation: TablePreparation, X: NDArray[Any], rest: NDArray[np.intp] | None = None
) -> Explainer:
    """Find the columns that matter among the rows ``rest`` of X (n, d), and rows to compare single ones with.

    Of more than 100 columns, those that go most with the predictions are looked at. Nothing depends on the order
    of rows or columns.
    """
    names, groups = column_groups(preparation)
    some = X[spread_rows(X, _SAMPLE, rest)]
    looked_at = np.arange(len(groups))
    if len(groups) > _MOST_COLUMNS:
        looked_at = screened(some, probabilities(classifier, some), groups, _MOST_COLUMNS)
    found = importance(classifier, some, [groups[k] for k in looked_at])
    order = np.argsort(-found.change, kind="stable")
    most = np.sort(looked_at[order[:_MOST_DECISIVE]])
    return Explainer(
        classifier=classifier,
        importance=[
            ColumnImportance(names[looked_at[k]], float(found.change[k]), float(found.flipped[k])) for k in order
        ],
        n_columns=len(names),
        n_rows=found.n_rows,
        columns=[names[k] for k in most],
        groups=[groups[k] for k in most],
        background=some[spread_rows(some, _BACKGROUND)],
    )


class Judge(NamedTuple):
    """A model, and the labelled rows whose labels it has not seen."""

    model: Any
    rows: NDArray[np.intp]


def reasons_of(
    explained: Explainer, X: NDArray[Any], table: Table, codes: NDArray[np.intp], rows: NDArray[np.intp]
) -> dict[int, list[Cell]]:
    """By row, the cells that decide the class ``codes`` (n,) has for it: a few rows, as a report shows them."""
    return dict(zip(rows.tolist(), explained.cells(X[rows], codes[rows], table.frame[rows]), strict=True))


def reasons_to_doubt(
    explained: Explainer,
    X: NDArray[Any],
    table: Table,
    classes: NDArray[Any],
    doubted: HeldOut,
    judges: list[Judge],
) -> dict[int, list[Cell]]:
    """By row, the cells that speak for what a model says that has not seen the label: others go by the label."""
    codes, found = np.zeros(len(X), dtype=np.intp), {}
    codes[doubted.rows] = np.searchsorted(classes, doubted.prediction.astype(str))
    for one in judges:
        rows = doubted.rows[np.isin(doubted.rows, one.rows)]
        if len(rows):
            found.update(reasons_of(explained._replace(classifier=one.model), X, table, codes, rows))
    return found


def every_reason(
    explained: Explainer,
    X: NDArray[Any],
    table: Table,
    codes: NDArray[np.intp],
    labeled: NDArray[np.bool_],
    progress: Callable[[str], None],
) -> pl.Series:
    """The cells that decide each new label as text; null where a label was given, or no cell stands out."""
    rows = np.flatnonzero(~labeled)
    texts = explained.why(lambda part: X[rows[part]], codes[rows], table.frame[rows], progress)
    return pl.Series([None], dtype=pl.String).new_from_index(0, len(codes)).scatter(rows, texts)


def column_groups(preparation: TablePreparation) -> tuple[list[str], list[NDArray[np.intp]]]:
    """The columns that are used, in the order of their features, and the features of each."""
    places: dict[str, list[int]] = {column.name: [] for column in preparation.ordered_ if column.used}
    for place, feature in enumerate(preparation.features()):
        places[feature.column].append(place)
    return list(places), [np.array(own, dtype=np.intp) for own in places.values()]


def _joined(frame: pl.DataFrame, chosen: NDArray[np.intp], columns: Sequence[str]) -> pl.Series:
    """The chosen cells of each row in one text; chosen (n, k) are places in ``columns``, -1 none."""
    shown = {k: _shown(frame, columns[k]) for k in np.unique(chosen[chosen >= 0]).tolist()}
    ranks: list[pl.Series] = []
    for rank in chosen.T:
        text = pl.Series(f"{len(ranks)}", [None], dtype=pl.String).new_from_index(0, len(rank))
        for k in np.unique(rank[rank >= 0]).tolist():
            text = shown[k].zip_with(pl.Series(rank == k), text)
        ranks.append(text.alias(f"{len(ranks)}"))
    return (
        pl.DataFrame(ranks)
        .select(pl.concat_str(pl.all(), separator="; ", ignore_nulls=True).replace("", None))
        .to_series()
    )


def _shown(frame: pl.DataFrame, name: str) -> pl.Series:
    if name in frame.columns:
        return shown_cells(frame[name])
    return pl.Series(name, [name], dtype=pl.String).new_from_index(0, frame.height)  # a file beside the table
