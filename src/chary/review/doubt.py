"""The page Review: rows by doubt, each with what speaks for and against the label it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chary._words import percent
from chary.audit.sheet import SKIPPED
from chary.labelling import LabeledTable
from chary.report import as_data
from chary.review.audit import checked_answer, fields_of, keys_of, number_in, whole_number
from chary.review.state import ConflictError, Workbench
from chary.tables import TableError


def doubt_page(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    """The row of most doubt, or that after another, with all that speaks for its label."""
    checked, audited = bench.sheets.checked_rows(), bench.sheets.audited_rows()
    row, after = (_row_in(query, name, bench.job.table.n_numbers) for name in ("row", "after"))
    if bench.result is None:
        return {"left": 0, "checked": len(checked), "row": None, "keys": []}
    doubt = _doubt(bench)
    wanted = doubt.wanted([*audited, *checked], after)
    page = {
        "left": len(wanted),
        "checked": len(checked),
        "keys": keys_of(list(dict.fromkeys([*doubt.classes, *sorted(checked.values())]))),
    }
    row = next(iter(wanted.tolist()), None) if row is None else row
    if row is None or row in audited:
        return {**page, "row": None}
    (place,) = bench.job.table.places_of([row]).tolist()
    fields = fields_of(bench.job.table.frame.row(place, named=True), bench.job.columns)
    return {
        **page,
        "row": {"number": row + 1, "fields": fields, "answer": checked.get(row, "")},
        **doubt.opinion(place),
    }


def check(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write down what a person says of a row in doubt."""
    row = whole_number(body.get("row")) - 1
    if bench.result is None:
        raise ConflictError("There are no labels to correct yet; the model is still learning.")
    doubt, sheet = _doubt(bench), bench.sheets.check
    is_checked = sheet is not None and sheet.place_of(row) is not None
    if row in bench.sheets.audited_rows() or not (is_checked or row in doubt.order):
        raise TableError(
            f"Row {row + 1:,} cannot be corrected here: a person has labelled it, or it is being audited."
        )
    text = checked_answer(body.get("answer"), doubt.classes, bench.options.unlabeled)
    if text == SKIPPED:
        raise TableError("To skip a row, go on to the next: nothing is written.")
    if text or is_checked:
        (code,) = doubt.result.codes[doubt.result.table.places_of([row])]
        filling, place = bench.sheets.to_check(row, doubt.classes[code])
        filling.answer(place, text, body.get("expected"), number=row)
    bench.version += 1
    return doubt_page(bench, {"after" if text else "row": str(row + 1)})


def _doubt(bench: Workbench) -> Doubt:
    found: Doubt = bench.view("doubt", lambda: Doubt(bench.result))
    return found


def _row_in(query: Mapping[str, str], name: str, n_rows: int) -> int | None:
    """A row in the address of a request, counted from 1 there and from 0 here."""
    found = number_in(query, name)
    if found is None:
        return None
    if not 1 <= found <= n_rows:
        raise TableError(f"Rows are counted from 1 to {n_rows:,}.")
    return found - 1


class Doubt:
    """The rows of one fit that nobody has labelled, those of least confidence first."""

    def __init__(self, result: LabeledTable) -> None:
        self.result, self.classes = result, [str(name) for name in result.labels.classes]
        pool = np.flatnonzero(~result.labels.labeled)
        places = pool[np.argsort(result.confidence[pool], kind="stable")]
        self.order = result.table.numbers(places)  # (U,)

    def wanted(self, closed: Iterable[int], after: int | None) -> NDArray[np.intp]:
        """The rows to look at but the ``closed`` ones, by number from 0: those past ``after``, then the others."""
        place = np.flatnonzero(self.order == after)
        rows = np.roll(self.order, -1 - place[0]) if len(place) else self.order
        return rows[~np.isin(rows, list(closed))]

    def opinion(self, place: int) -> dict[str, Any]:
        """What the model says of a row, and the cells that speak most for that."""
        result, explainer = self.result, self.result.explainer
        X, codes = result.features(np.array([place])), result.codes[[place]]
        (cells,) = explainer.cells(
            X, codes, result.table.frame[[place]], explainer.effects(X, codes)
        )
        return {
            "proposed": self.classes[codes[0]],
            "source": str(result.source[place]),
            "confidence": percent(float(result.confidence[place])),
            "why": as_data(cells),
        }
