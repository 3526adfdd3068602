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
from chary.tables import Table, TableError, TablePreparation, with_features


def load_table_model(path: str | os.PathLike[str]) -> Pipeline:
    """Read a model that takes tables, as ``label_table`` makes them."""
    model = load(path)
    if not isinstance(model, Pipeline) or not isinstance(model[0], TablePreparation):
        raise TableError(f"{shown(Path(path).name)} holds no table model; use one that was made from a table.")
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

    ``features`` as in ``label_table``; ``new`` counts the rows, to be compared with those the model learned from.
    """
    preparation, classifier = model[0], model[-1]
    columns = [column.name for column in preparation.columns_]
    X, n_missing = preparation.transform_counted(with_features(table.frame, features, known=columns))
    if new is not None:
        new.add(X, n_missing)
    added = {
        "chary_label": pl.Series(classifier.predict(X).astype(str).tolist(), dtype=pl.String),
        "chary_confidence": pl.Series(np.round(classifier.predict_confidence(X), 4)),
    }
    if probabilities:
        added |= probability_columns(table, classifier.classes_, classifier.predict_proba(X))
    return added


def probability_columns(table: Table, classes: ArrayLike, probs: NDArray[Any]) -> dict[str, pl.Series]:
    """A column for each class with its probability in every row; none may have a name of the table's own."""
    names = probability_names(classes)
    refuse_taken(table, names)
    return {name: pl.Series(np.round(probs[:, code], 4)) for code, name in enumerate(names)}


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
