"""The page Review: doubtful rows one by one, each with the cells that decide its label."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from chary._words import percent
from chary.audit import SKIPPED
from chary.labelling import Cell, LabeledTable
from chary.report import as_data
from chary.review.errors import ConflictError
from chary.review.row_to_label import (
    ClassKey,
    Field,
    checked_answer,
    fields_of,
    keys_of,
    number_in,
    whole_number,
)
from chary.review.workbench import Body, Query, Workbench
from chary.tables import TableError


class DoubtfulRow(TypedDict):
    """A row whose label may be wrong."""

    number: int  # in the table, from 1
    fields: list[Field]
    answer: str


class Opinion(TypedDict, total=False):
    """What the model says of the row; empty if no row is shown."""

    proposed: str
    source: str
    confidence: str
    why: list[Cell]  # each as a dict


class ReviewPage(Opinion):
    """What the page shows."""

    left: int  # rows to look at
    checked: int
    row: DoubtfulRow | None
    keys: list[ClassKey]


def review_page(bench: Workbench, query: Query) -> ReviewPage:
    """Show the row of the query, or else the most doubtful row that nobody has checked.

    With ``after`` in the query, only rows behind that row count, in the order of doubt.
    """
    checked = bench.sheets.checked_rows()
    audited = bench.sheets.audited_rows()
    table = bench.job.table
    number = number_in(query, "row", table.n_file_rows)
    after = number_in(query, "after", table.n_file_rows)
    page: ReviewPage = {"left": 0, "checked": len(checked), "row": None, "keys": []}
    if bench.result is None:
        return page

    doubtful = _doubtful_rows(bench)
    rows_to_check = doubtful.to_check([*audited, *checked], after)
    new_classes = set(checked.values()) - set(doubtful.classes)
    page["left"] = len(rows_to_check)
    page["keys"] = keys_of([*doubtful.classes, *sorted(new_classes)])
    if number is None and len(rows_to_check):
        number = int(rows_to_check[0]) + 1
    # An annotator must not see what the model says of an audited row.
    if number is None or number - 1 in audited:
        return page

    row = number - 1
    (place,) = table.places_of([row]).tolist()
    page["row"] = {
        "number": number,
        "fields": fields_of(table.frame.row(place, named=True), bench.job.columns),
        "answer": checked.get(row, ""),
    }
    return {**page, **doubtful.opinion(place)}


def check(bench: Workbench, body: Body) -> ReviewPage:
    """Write the right label of a doubtful row, and show the next row.

    An empty answer takes back an earlier one; the row is then shown again.
    """
    row = whole_number(body.get("row")) - 1
    if bench.result is None:
        raise ConflictError("There are no labels to correct yet; the model is still learning.")
    doubtful = _doubtful_rows(bench)
    sheet = bench.sheets.check
    is_in_sheet = sheet is not None and sheet.place_of(row) is not None
    is_open = is_in_sheet or row in doubtful.order
    if not is_open or row in bench.sheets.audited_rows():
        raise TableError(
            f"Row {row + 1:,} cannot be corrected here: a person has labelled it, or it is being "
            "audited."
        )

    text = checked_answer(body.get("answer"), doubtful.classes, bench.options.unlabeled)
    if text == SKIPPED:
        raise TableError("To skip a row, go on to the next: nothing is written.")
    # Without a sheet of checked rows there is no answer to take back.
    if text or is_in_sheet:
        filling, place = bench.sheets.add_to_check(row, doubtful.proposed(row))
        filling.answer(place, text, body.get("expected"), number=row)
    bench.version += 1
    # A row whose answer is taken back is shown again.
    return review_page(bench, {"after" if text else "row": str(row + 1)})


def _doubtful_rows(bench: Workbench) -> DoubtfulRows:
    """Return the doubtful rows of the result at hand."""
    return bench.view("review", lambda: DoubtfulRows(bench.result))


class DoubtfulRows:
    """The rows that a model labelled, in the order of increasing confidence."""

    def __init__(self, result: LabeledTable) -> None:
        self.result = result
        self.classes = [str(name) for name in result.labels.classes]
        pool = np.flatnonzero(~result.labels.labeled)
        # Stable: rows of equal confidence keep the order of the table.
        places = pool[np.argsort(result.confidence[pool], kind="stable")]
        self.order = result.table.numbers(places)  # (U,)

    def to_check(self, closed: list[int], after: int | None) -> NDArray[np.int64]:
        """List the rows that are not ``closed``, the most doubtful first.

        With ``after``, the number of a row from 1, the list starts behind this row and goes round.
        """
        rows = self.order
        if after is not None:
            places = np.flatnonzero(rows == after - 1)  # one place, or none
            if len(places):
                # Turned round, so that the row itself is the last one.
                rows = np.roll(rows, -1 - places[0])
        return rows[~np.isin(rows, closed)]

    def proposed(self, row: int) -> str:
        """Return the label that the model gives to a row of the table, by its number from 0."""
        (code,) = self.result.codes[self.result.table.places_of([row])]
        return self.classes[code]

    def opinion(self, place: int) -> Opinion:
        """Say which label the model proposes, and which cells decide it."""
        result = self.result
        X = result.features(np.array([place]))
        codes = result.codes[[place]]
        effects = result.explainer.effects(X, codes)
        (cells,) = result.explainer.cells(X, codes, result.table.frame[[place]], effects)
        return {
            "proposed": self.classes[codes[0]],
            "source": str(result.source[place]),
            "confidence": percent(float(result.confidence[place])),
            "why": as_data(cells),
        }
