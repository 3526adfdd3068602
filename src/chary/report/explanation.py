"""A result or a model, and rows, in; the cells that decide their labels and what every column adds out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.jobs import Explainer, explainer
from chary.report.given import given
from chary.report.model import TableModel
from chary.report.result import Result
from chary.tables import Table, TableError, like, part_of


def explain(model: Any, rows: Any = None, *, background: Any = None, **reading: Any) -> Any:
    """Why these labels: the two or three cells that decide each, and what every column adds.

    A cell speaks for a label if the model would be less sure of it with the cells of other rows in its place: see
    ``chary.evaluation.effects``. This tells what the model goes by, not what is true of the world. The cost is up
    to 160 predictions a row.

    Parameters
    ----------
    model : Result or TableModel
        From ``chary.label`` or ``chary.load``.
    rows : frame, dict of columns, path, Table; with a Result also row numbers from 0, or None
        What to explain. Of a Result: rows of its table by their numbers (None: all), with the labels that they
        have in ``result.frame``, or a frame of new rows. Of a model: new rows.
    background : frame, dict of columns, path or Table, default=None
        The rows to compare with. None: with a Result the unlabelled rows of its table, with a model ``rows``.
    **reading
        For paths, the parameters of ``chary.tables.read_table``.

    Returns
    -------
    DataFrame
        Of the kind of the rows, in their order: ``chary_label``; ``chary_why``, missing where no cell stands out;
        and for each of the (at most 20) columns that matter most how much it speaks for the label, in log-odds.

    Examples
    --------
    >>> from chary.report import label
    >>> frame = pl.DataFrame({"x": [i % 10 for i in range(80)], "z": [i % 3 for i in range(80)]})
    >>> frame = frame.with_columns(y=pl.Series([("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]))
    >>> explain(label(frame, target="y", rounds=0), [0, 8])["chary_why"].to_list()
    ['x = 0', 'x = 8']
    """
    if not isinstance(model, (Result, TableModel)):
        raise TypeError(
            f"explain takes a result of chary.label or a model of chary.load, not {type(model).__name__}."
        )
    asked = _of_result(model, rows, reading) if isinstance(model, Result) else _new(model, rows, reading)
    explained = asked.explained
    if background is not None or explained is None:
        others = asked.X if background is None else _features(asked.pipeline, given(background, reading).table)
        if len(others) < 2:
            raise TableError("A single row has nothing to be compared with; pass more of them as background.")
        explained = explainer(asked.pipeline[-1], asked.pipeline[0], others)
    effects = explained.effects(asked.X, asked.codes)
    classes = np.asarray(asked.pipeline.classes_).astype(str)
    of = {name: effects[:, k] for k, name in enumerate(explained.columns)}
    columns = {name: of[name] for name in dict.fromkeys([*asked.frame.columns, *of]) if name in of}
    why = explained.texts(effects, asked.frame).to_list()
    return like(asked.data, {"chary_label": classes[asked.codes].tolist(), "chary_why": why, **columns})


class _Asked(NamedTuple):
    """The rows to explain."""

    data: Any  # a frame of the kind that the caller has
    frame: pl.DataFrame  # their cells
    X: NDArray[Any]  # their features
    codes: NDArray[np.intp]  # the classes to explain
    pipeline: Any
    explained: Explainer | None  # None: by the rows themselves


def _of_result(result: Result, rows: Any, reading: dict[str, Any]) -> _Asked:
    details = result.details
    if isinstance(rows, (str, os.PathLike, Mapping, Table)) or hasattr(rows, "columns"):
        return _new(result.model, rows, reading)._replace(explained=details.explainer)
    numbers = _row_numbers(rows, details.table.frame.height)
    X = details.features(numbers)
    data, frame = part_of(result.data, details.table, numbers), details.table.frame[numbers]
    return _Asked(data, frame, X, details.codes[numbers], details.model, details.explainer)


def _new(model: TableModel, rows: Any, reading: dict[str, Any]) -> _Asked:
    if rows is None:
        raise TypeError("A model has no rows of its own; pass those to explain.")
    found = given(rows, reading)
    X = _features(model.pipeline, found.table)
    codes = model.pipeline[-1].predict_proba(X).argmax(axis=1)
    return _Asked(found.data, found.table.frame, X, codes, model.pipeline, None)


def _features(pipeline: Any, table: Table) -> NDArray[Any]:
    return pipeline[0].transform(table.frame)


def _row_numbers(rows: Any, n: int) -> NDArray[np.intp]:
    """Numbers from 0, of a number, several, a mask, or None for all."""
    numbers = np.arange(n) if rows is None else np.atleast_1d(np.asarray(rows))
    if numbers.dtype == bool and numbers.shape == (n,):
        return np.flatnonzero(numbers)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise TypeError("rows must be a frame, a path, or numbers of rows counted from 0.")
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < n):
        raise IndexError(f"rows must be between 0 and {n - 1}: the table has {n:,} rows.")
    return numbers.astype(np.intp)
