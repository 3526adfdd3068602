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

    The doubt of a row is (1 - confidence) x (distance to the nearest labelled row). The rows of
    highest doubt are the candidates. From these the row of highest doubt is chosen again and again.
    A chosen row then counts as labelled, which lowers the doubt of rows near it: so rows that are
    like one that was chosen are not chosen after it.

    Parameters
    ----------
    X : array of shape (n, d)
    labeled : array of shape (n,), bool
    confidence : array of shape (n,)
    defaults : Defaults, default=DEFAULTS
        Holds the number of rows to choose and the number of candidates.
    seed : int, default=0
        Draws the rows that are considered, if there are many.

    Returns
    -------
    array of row numbers, in the order of the choice
    """
    # Unlabelled rows, and their distance to the nearest labelled row.
    rng = np.random.default_rng(seed)
    rows = draw_at_most(np.flatnonzero(~labeled), defaults.check_rows, rng)
    reference_rows = draw_at_most(np.flatnonzero(labeled), defaults.check_reference_rows, rng)
    distance = cdist(X[rows], X[reference_rows]).min(axis=1)
    # A little is added, so that among rows of full confidence the distance decides.
    lack_of_confidence = 1 - confidence[rows] + 1e-9

    # The candidates.
    n_candidates = defaults.check_candidates * defaults.n_rows_to_check
    highest_doubt_first = np.argsort(-lack_of_confidence * distance, kind="stable")
    candidates = highest_doubt_first[:n_candidates]  # places in ``rows``
    rows = rows[candidates]
    lack_of_confidence = lack_of_confidence[candidates]
    distance = distance[candidates]

    chosen: list[int] = []  # places in ``rows``
    for _ in range(min(defaults.n_rows_to_check, len(rows))):
        doubt = lack_of_confidence * distance
        # A chosen row is not chosen again: doubt is never negative.
        doubt[chosen] = -1
        best = int(doubt.argmax())
        chosen.append(best)
        distance_to_best = cdist(X[rows], X[[rows[best]]])[:, 0]
        distance = np.minimum(distance, distance_to_best)
    return rows[chosen]


def suspect_labels(held_out: HeldOut, defaults: Defaults = DEFAULTS) -> Ints:
    """Find the places of suspect labels in ``held_out``, the least probable label first.

    A label is suspect if a model that has not seen it predicts another class, with a probability
    far above that of the given class. Among equally probable labels the most probable prediction
    comes first, then the lowest row number. A suspect label may still be right.
    """
    if len(held_out.rows) < defaults.min_held_out:
        return np.zeros(0, dtype=np.intp)
    # How far the probability of the predicted class is above that of the given class, (k,).
    margin = held_out.probability - held_out.given_probability
    is_suspect = ~held_out.correct & (margin >= defaults.suspect_margin)
    places = np.flatnonzero(is_suspect)

    suspects = held_out.subset(places)
    # The last key counts most.
    keys = (suspects.rows, -suspects.probability, suspects.given_probability)
    order = np.lexsort(keys)
    return places[order[: defaults.max_suspects]]


def write_rows_to_check(result: LabeledTable, file: BinaryIO, *, as_workbook: bool) -> None:
    """Write a sheet of the rows to check, with their new labels as guesses.

    The answers become given labels, not an audit: the rows were not drawn at random, so no accuracy
    can be measured on them.
    """
    rows = result.next_rows
    labels = result.added_columns[LABEL].gather(rows).cast(pl.String)
    pool = unlabelled_rows(
        result.table, result.target, result.labels, **result.options.for_sheet, chosen=DOUBT
    )
    write_sheet(pool, result.table.numbers(rows), file, {GUESS: labels}, as_workbook=as_workbook)
