"""A saved model and a new table in; its labels and their confidence out."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.pipeline import Pipeline

from chary._words import shown
from chary.jobs.model_file import load
from chary.tables import Table, TableError, TablePreparation, with_features


def load_table_model(path: str | os.PathLike[str]) -> Pipeline:
    """Read a model that takes tables, as ``label_table`` makes them."""
    model = load(path)
    if not isinstance(model, Pipeline) or not isinstance(model[0], TablePreparation):
        raise TableError(f"{shown(Path(path).name)} holds no table model; use one that was made from a table.")
    return model


def predict_table(
    model: Pipeline, table: Table, *, features: str | os.PathLike[str] | None = None
) -> dict[str, pl.Series]:
    """Columns with label and confidence for the rows of a new table; ``features`` as in ``label_table``."""
    preparation, classifier = model[0], model[-1]
    columns = [column.name for column in preparation.columns_]
    X = preparation.transform(with_features(table.frame, features, known=columns))
    return {
        "chary_label": pl.Series(classifier.predict(X).astype(str).tolist(), dtype=pl.String),
        "chary_confidence": pl.Series(np.round(classifier.predict_confidence(X), 4)),
    }
