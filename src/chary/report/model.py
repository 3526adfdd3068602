"""A saved model in; labels for new frames and files out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from chary.jobs import NewRows, Predictor, RowComparison, load_table_model, model_bytes, predict_table
from chary.report.given import given
from chary.tables import extended


class TableModel:
    """A model that takes tables: a pandas or polars frame, a dict of columns, or the path of a file.

    Columns are found by name; further ones are ignored. ``pipeline`` is the scikit-learn Pipeline that does the
    work, preparation first.

    Parameters
    ----------
    pipeline : Pipeline
        As ``chary.jobs.load`` gives it.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, as text, in the order of the columns of ``predict_proba``."""
        return self.pipeline.classes_.astype(str)

    def predict(self, data: Any, **reading: Any) -> NDArray[Any]:
        """The label of each row (n,) of ``data``, as text; ``reading`` as in ``read_table``, for a file."""
        return np.asarray(self.pipeline.predict(_frame(data, reading))).astype(str)

    def predict_proba(self, data: Any, **reading: Any) -> NDArray[np.float64]:
        """Class probabilities (n, C) of the rows of ``data``."""
        return self.pipeline.predict_proba(_frame(data, reading))

    def predict_confidence(self, data: Any, **reading: Any) -> NDArray[np.float64]:
        """How far the label of each row of ``data`` can be trusted, (n,), from 0 to 1."""
        preparation, classifier = self.pipeline[0], self.pipeline[-1]
        return classifier.predict_confidence(preparation.transform(_frame(data, reading)))

    def predict_frame(self, data: Any, *, probabilities: bool = False, **reading: Any) -> Any:
        """The same kind of frame as ``data`` with ``chary_label`` and ``chary_confidence``.

        And with ``chary_p_`` of each class if ``probabilities`` are asked for.
        """
        found = given(data, reading)
        return extended(
            found.data, found.table, predict_table(self.pipeline, found.table, probabilities=probabilities)
        )

    def compare(self, data: Any, **reading: Any) -> RowComparison:
        """Whether rows of ``data`` look like those learned from: ``alike``, ``sentence``, ``columns``, ``auc``.

        The rows learned from are all of the labelled table, with a label or without one.
        """
        new = NewRows(self.pipeline)
        new.add(*self.pipeline[0].transform_counted(_frame(data, reading)))
        return new.compare()

    def __repr__(self) -> str:
        n_columns = sum(column.used for column in self.pipeline[0].columns_)
        return f"<chary model: {n_columns} columns, classes {', '.join(map(str, self.classes_[:8].tolist()))}>"


def load(path: str | os.PathLike[str]) -> TableModel:
    """Read a model that was made from a table: ``result.save(path)``, or by the command line.

    Opening a file from a stranger runs no code, as it holds arrays and JSON alone (no pickle), and a damaged one
    is refused; whether it predicts well, or honestly, nobody can tell from the file (``docs/reliability.md``).

    Parameters
    ----------
    path : path
        Of the model file.

    See Also
    --------
    label : Makes such a model, ``result.save(path)`` writes it.

    Examples
    --------
    >>> import tempfile
    >>> from chary import label
    >>> data = {"x": [i % 10 for i in range(80)], "y": [("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     label(data, target="y", rounds=0).save(f"{folder}/model.chary")
    ...     model = load(f"{folder}/model.chary")
    >>> model.predict({"x": [1, 9]}).tolist()
    ['a', 'b']
    """
    return TableModel(load_table_model(path))


def predictor(
    model: Any, *, columns: Sequence[str] = (), probabilities: bool = False, threshold: float | None = None
) -> Predictor:
    """A function from an iterator of record batches to one of their labels, for engines that spread them.

    Parameters
    ----------
    model : path, TableModel, or the bytes of a model file
    columns : sequence of str, default=()
        Columns of the batches to give back on the left.
    probabilities : bool, default=False
        Also ``chary_p_`` of each class.
    threshold : float, default=None
        Also ``chary_accept``: whether the confidence reaches it.

    Returns
    -------
    Predictor
        What a batch may be, and what comes of it, is said there.

    Examples
    --------
    >>> import polars as pl
    >>> from chary import label
    >>> frame = pl.DataFrame({"x": [i % 10 for i in range(80)]})
    >>> frame = frame.with_columns(y=pl.Series([("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]))
    >>> predict = predictor(label(frame, target="y", rounds=0).model, columns=["x"])
    >>> [batch["chary_label"].to_list() for batch in predict([frame[:2], frame[9:10]])]
    [['a', 'a'], ['b']]
    """
    if isinstance(model, TableModel):
        data = model_bytes(model.pipeline)
    elif isinstance(model, (str, os.PathLike)):
        load_table_model(model)  # says by its name what is wrong with it
        data = Path(model).read_bytes()
    else:
        data = bytes(model)
    return Predictor(data, columns=columns, probabilities=probabilities, threshold=threshold)


def _frame(data: Any, reading: dict[str, Any]) -> Any:
    return given(data, reading).table.frame
