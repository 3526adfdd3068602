"""A saved model and a new table in; its labels and their confidence out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from chary._words import shown, visible
from chary.jobs.model_file import load
from chary.jobs.sketch import NewRows
from chary.method import predict_scores
from chary.tables import Forms, Table, TableError, TablePreparation, with_features

# Rows scored at a time, and features that they have together at most.
_BLOCK_ROWS, _BLOCK_NUMBERS = 2**15, 2**20
_FEW_CLASSES = 8
_DIGITS = 4  # of confidence and probabilities, as they are written


def load_table_model(path: str | os.PathLike[str]) -> Pipeline:
    """Read a model that takes tables, as ``label_table`` makes them."""
    return require_table_model(load(path), Path(path).name)


def require_table_model(model: Any, name: str) -> Pipeline:
    """The model, if it takes tables."""
    if not isinstance(model, Pipeline) or not isinstance(model[0], TablePreparation):
        raise TableError(f"{shown(name)} holds no table model; use one that was made from a table.")
    return model


def predict_table(
    model: Pipeline,
    table: Table,
    *,
    features: str | os.PathLike[str] | None = None,
    probabilities: bool = False,
    new: NewRows | None = None,
) -> dict[str, pl.Series]:
    """Columns with label and confidence for the rows of a new table, and with the probability of each class.

    Parameters
    ----------
    model : Pipeline
        From ``load``.
    table : Table
        From ``read_table``.
    features : path, default=None
        As in ``label_table``, for the new rows.
    probabilities : bool, default=False
        Whether to add a column for each class.
    new : NewRows, default=None
        Counts the rows, to be compared with those the model learned from.
    """
    columns = [column.name for column in model[0].columns_]
    if probabilities:
        refuse_taken(table, probability_names(model.classes_))
    forms = model[0].forms()
    frame = with_features(table.frame, features, known=columns)
    added = scored(model, frame, forms, probabilities=probabilities, new=new)
    forms.refuse()
    return added


def scored(
    model: Pipeline,
    frame: pl.DataFrame,
    forms: Forms,
    *,
    probabilities: bool = False,
    threshold: float | None = None,
    new: NewRows | None = None,
) -> dict[str, pl.Series]:
    """The same columns for a part of a table, block by block; what could not be read is counted in ``forms``.

    ``new`` counts what the rows look like. With a ``threshold`` also ``chary_accept``: whether the confidence, as
    it is written, reaches it.
    """
    size = block_rows(model)
    parts = [
        _scored(model, frame.slice(start, size), forms, probabilities, new)
        for start in range(0, max(1, frame.height), size)
    ]
    added = {name: pl.concat([part[name] for part in parts]) for name in parts[0]}
    if threshold is not None:
        added["chary_accept"] = added["chary_confidence"] >= threshold
    return added


def block_rows(model: Pipeline) -> int:
    """Rows that are scored at a time: as many as keep all that is made of them small."""
    n_features = len(model[0].get_feature_names_out())
    return int(min(_BLOCK_ROWS, max(1, _BLOCK_NUMBERS // n_features)))


def _scored(
    model: Pipeline, frame: pl.DataFrame, forms: Forms, probabilities: bool, new: NewRows | None
) -> dict[str, pl.Series]:
    preparation, classifier = model[0], model[-1]
    own = preparation.forms()
    X = preparation.part(frame, own)
    forms.add(own)
    if new is not None:
        new.add(X, own.missing)
    names = pl.Series(np.asarray(classifier.classes_).astype(str).tolist(), dtype=pl.String)
    if len(X):
        probs, confidence = predict_scores(classifier, X, None if probabilities else _DIGITS)
    else:
        probs, confidence = np.empty((0, len(names))), np.empty(0)
    codes = _likeliest(probs)
    if new is not None:
        new.add_labels(codes, names.to_list())
    added = {
        "chary_label": names.gather(codes),
        "chary_confidence": pl.Series(np.round(confidence, _DIGITS)),
    }
    if probabilities:
        added |= _probabilities(classifier.classes_, probs)
    return added


def _likeliest(probs: NDArray[Any]) -> NDArray[np.intp]:
    """The class of each row (n,), the first of equals: ``argmax``, quicker where there are few."""
    if probs.shape[1] > _FEW_CLASSES:
        return probs.argmax(axis=1)
    codes, best = np.zeros(len(probs), np.intp), probs[:, 0]
    for code in range(1, probs.shape[1]):
        np.copyto(codes, code, where=probs[:, code] > best)
        best = np.maximum(best, probs[:, code])
    return codes


def probability_columns(table: Table, classes: ArrayLike, probs: NDArray[Any]) -> dict[str, pl.Series]:
    """A column for each class with its probability in every row; none may have a name of the table's own."""
    refuse_taken(table, probability_names(classes))
    return _probabilities(classes, probs)


def _probabilities(classes: ArrayLike, probs: NDArray[Any]) -> dict[str, pl.Series]:
    names = probability_names(classes)
    return {name: pl.Series(np.round(probs[:, code], _DIGITS)) for code, name in enumerate(names)}


def refuse_taken(table: Table, names: Iterable[str]) -> None:
    """No column that is added may take the place of one of the table's own."""
    taken = [name for name in names if name in table.frame.columns]
    if taken:
        raise TableError(
            f"{table.name} already has a column {shown(taken[0])}, written by chary; remove or rename it."
        )


def probability_names(classes: ArrayLike) -> list[str]:
    """What the columns are called, one after the other: visible, short, and no two alike.

    >>> probability_names(["no", "a\\nb", "a\\\\nb"])
    ['chary_p_no', 'chary_p_a\\\\nb', 'chary_p_a\\\\nb (2)']
    """
    names: list[str] = []
    for text in np.asarray(classes).astype(str).tolist():
        plain = f"chary_p_{visible(text, 60)}"
        tries = (plain, *(f"{plain} ({number})" for number in range(2, len(names) + 3)))
        names.append(next(name for name in tries if name not in names))
    return names
