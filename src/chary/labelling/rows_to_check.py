"""Choose rows for a person: doubtful new labels, improbable given ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import polars as pl
from scipy.spatial.distance import cdist

from chary._arrays import Floats, Ints, Mask
from chary.audit.origin import DOUBT
from chary.audit.sheet import GUESS, unlabelled_rows, write_sheet
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.labelling.diagnose import draw_at_most
from chary.method.held_out import HeldOut
from chary.tables.table import LABEL

if TYPE_CHECKING:
    from chary.labelling.label import LabeledTable


def rows_to_check(
    X: Floats,
    labeled: Mask,
    confidence: Floats,
    defaults: Defaults = DEFAULTS,
    seed: int = 0,
) -> Ints:
    """Choose unlabelled rows of low confidence, far from labels, and unlike each other.

    The doubt of a row is one minus its confidence, times the distance to the nearest labelled row.
    Rows are chosen one after the other among the candidates, the rows of highest doubt. Each time
    the row of highest doubt is taken; then it counts as labelled, which lowers the doubt nearby.

    Parameters
    ----------
    X : array of shape (n, d)
    labeled : array of shape (n,), bool
    confidence : array of shape (n,)
    defaults : Defaults, default=DEFAULTS
        Holds the number of rows to choose and the number of candidates.
    seed : int, default=0
        Draws the rows that are considered, if there are many.
    """
    rng = np.random.default_rng(seed)
    rows = draw_at_most(np.flatnonzero(~labeled), defaults.check_rows, rng)
    reference = X[draw_at_most(np.flatnonzero(labeled), defaults.check_reference_rows, rng)]
    # A row of full confidence still has some doubt, by its distance.
    lack_of_confidence = 1 - confidence[rows] + 1e-9
    nearest = cdist(X[rows], reference).min(axis=1)

    n_candidates = defaults.check_candidates * defaults.n_rows_to_check
    candidates = np.argsort(-lack_of_confidence * nearest, kind="stable")[:n_candidates]
    rows = rows[candidates]
    lack_of_confidence = lack_of_confidence[candidates]
    nearest = nearest[candidates]

    chosen: list[int] = []
    for _ in range(min(defaults.n_rows_to_check, len(rows))):
        doubt = lack_of_confidence * nearest
        # A chosen row is not chosen again: doubt is never negative.
        doubt[chosen] = -1
        best = int(doubt.argmax())
        chosen.append(best)
        to_best = cdist(X[rows], X[rows[best : best + 1]])[:, 0]
        nearest = np.minimum(nearest, to_best)
    return rows[chosen]


def suspect_labels(held_out: HeldOut, defaults: Defaults = DEFAULTS) -> Ints:
    """Find the places of improbable labels in ``held_out``, the least probable first.

    A label is listed if a model that has not seen it gives another class a probability far above
    the probability of the given class. Of equally probable labels the one with the more confident
    prediction comes first, then the one in the first row. A listed label may still be right.
    """
    if len(held_out.rows) < defaults.min_held_out:
        return np.zeros(0, dtype=np.intp)
    is_contradicted = held_out.probability - held_out.given_probability >= defaults.suspect_margin
    places = np.flatnonzero(~held_out.correct & is_contradicted)
    suspects = held_out.subset(places)
    order = np.lexsort((suspects.rows, -suspects.probability, suspects.given_probability))
    return places[order[: defaults.max_suspects]]


def write_rows_to_check(result: LabeledTable, file: BinaryIO) -> None:
    """Write a sheet of the rows to check, with their labels.

    The answers are used as given labels, not as an audit: rows chosen for doubt are not random, so
    no accuracy can be measured on them.
    """
    rows = result.next_rows
    labels = result.added_columns[LABEL].gather(rows).cast(pl.String)
    pool = unlabelled_rows(
        result.table, result.target, result.labels, **result.options.for_sheet, chosen=DOUBT
    )
    write_sheet(pool, result.table.numbers(rows), file, {GUESS: labels})
