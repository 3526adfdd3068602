"""A model in; a function from record batches to record batches with their labels out, for engines of any kind."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl
from sklearn.pipeline import Pipeline

from chary._words import Parameter, shown
from chary.jobs.model_file import load_bytes
from chary.jobs.predict import block_rows, probability_names, require_table_model, scored
from chary.jobs.sketch import NewRows
from chary.tables import Forms, TableError, from_dataframe


class Predictor:
    """Labels for record batches, one after the other.

    Called with an iterable of record batches, it gives an iterator of record batches with ``chary_label`` and
    ``chary_confidence``, in the order of the rows; a large batch gives several. It holds no more than one of them,
    may be called by several threads at once, and may be pickled: what travels is the model file.

    A batch is whatever speaks Arrow's C interface (a pyarrow record batch or table, a polars frame, and so on), or
    a pandas frame. pyarrow batches become pyarrow batches, anything else polars frames. Columns are found by name;
    further ones are ignored. A column may be of another type of its kind in each batch, as 32 or 64 bits.

    What a cell means does not depend on the batch that it is in. Whether a column is written as the model knows
    it, with decimal commas for example, is asked of all batches of a call together, at its end: if it is not, that
    ends in a ``TableError``.

    Parameters
    ----------
    data : bytes
        A model file.
    columns : sequence of str, default=()
        Columns of the batches to give back on the left, as they are.
    probabilities : bool, default=False
        Also ``chary_p_`` of each class.
    threshold : float, default=None
        Also ``chary_accept``: whether the confidence reaches it.
    """

    def __init__(
        self,
        data: bytes,
        *,
        columns: Sequence[str] = (),
        probabilities: bool = False,
        threshold: float | None = None,
    ) -> None:
        if threshold is not None and not 0 <= threshold <= 1:
            raise TableError(
                f"The threshold {shown(threshold)} is no confidence; pass one from 0 to 1, such as ",
                Parameter("threshold", "0.8"),
                ".",
            )
        if isinstance(columns, str):
            raise TableError("The columns to keep are one text; pass a list of names.")
        self.data, self.columns = bytes(data), tuple(columns)
        self.probabilities, self.threshold = bool(probabilities), threshold
        self._lock = threading.Lock()
        self._model: Pipeline | None = None

    @property
    def model(self) -> Pipeline:
        """The model itself, loaded when it is first needed."""
        with self._lock:
            if self._model is None:
                self._model = require_table_model(load_bytes(self.data), "The model")
        return self._model

    @property
    def digest(self) -> str:
        """By which two models are the same."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """Names and types of the columns that are added."""
        types: dict[str, pl.DataType] = {"chary_label": pl.String(), "chary_confidence": pl.Float64()}
        if self.probabilities:
            types |= dict.fromkeys(probability_names(self.model.classes_), pl.Float64())
        return types if self.threshold is None else {**types, "chary_accept": pl.Boolean()}

    @property
    def settings(self) -> dict[str, Any]:
        """What besides the model the added columns depend on."""
        given = {"columns": list(self.columns), "probabilities": self.probabilities, "threshold": self.threshold}
        return {name: value for name, value in given.items() if value not in ([], False, None)}

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Labels of the rows of record batches, as they come."""
        if hasattr(batches, "columns") or hasattr(batches, "__arrow_c_array__"):
            batches = [batches]  # one batch is a list of one
        forms, size = self.model[0].forms(), block_rows(self.model)
        for batch in batches:
            n_rows = len(batch)
            for start in range(0, max(1, n_rows), size):
                yield self._labelled(_slice(batch, start, size), forms)
        forms.refuse()

    def added(self, frame: pl.DataFrame, forms: Forms, new: NewRows | None = None) -> dict[str, pl.Series]:
        """The columns for ``frame``, part of a table; ``forms`` and ``new`` count what there is to know of it."""
        how: dict[str, Any] = {"probabilities": self.probabilities, "threshold": self.threshold, "new": new}
        return scored(self.model, _plain(frame), forms, **how)

    def require_columns(self, names: Sequence[str]) -> None:
        """Refuse ``names`` of columns that lack one to read or keep, or hold one that is to be added."""
        self.model[0].require_columns(names)
        for name in self.columns:
            if name not in names:
                raise TableError(
                    f"There is no column {shown(name)} to keep; it has {', '.join(map(shown, names[:8]))}."
                )
        for name in self.schema:
            if name in names and name in (self.columns or names):
                raise TableError(
                    f"There is a column {shown(name)} already, written by chary; remove or rename it."
                )

    def _labelled(self, batch: Any, forms: Forms) -> Any:
        frame = _frame(batch)
        self.model[0].require_columns(frame.columns)
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            raise TableError(f"There is no column {shown(missing[0])} to keep in the batch.")
        added = self.added(frame, forms)
        if _is_pyarrow(batch):
            return _record_batch(batch, self.columns, added)
        return frame.select(self.columns).with_columns([column.alias(name) for name, column in added.items()])

    def __reduce__(self) -> Any:
        return _made, (self.data, self.columns, self.probabilities, self.threshold)

    def __repr__(self) -> str:
        return f"<chary predictor: {', '.join([*self.columns, *self.schema])}>"


def _made(data: bytes, columns: Sequence[str], probabilities: bool, threshold: float | None) -> Predictor:
    return Predictor(data, columns=columns, probabilities=probabilities, threshold=threshold)


def _is_pyarrow(batch: Any) -> bool:
    return type(batch).__module__.split(".")[0] == "pyarrow"


def _slice(batch: Any, start: int, n: int) -> Any:
    """Some rows of whatever holds them; nothing is copied."""
    if start == 0 and len(batch) <= n:
        return batch
    return batch.iloc[start : start + n] if hasattr(batch, "iloc") else batch.slice(start, n)


def _frame(batch: Any) -> pl.DataFrame:
    if isinstance(batch, pl.DataFrame):
        return batch
    if hasattr(batch, "iloc") or (
        not hasattr(batch, "__arrow_c_array__") and not hasattr(batch, "__arrow_c_stream__")
    ):
        return from_dataframe(batch)
    try:
        return pl.DataFrame(batch)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError) as error:
        raise TableError(f"A record batch cannot be read ({error}); give one of plain columns.") from None


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """What is kept in a dictionary of texts is text, as it may be in the next batch."""
    coded = [name for name, dtype in frame.schema.items() if dtype in (pl.Categorical, pl.Enum)]
    return frame.with_columns(pl.col(coded).cast(pl.String)) if coded else frame


def _record_batch(batch: Any, columns: Sequence[str], added: dict[str, pl.Series]) -> Any:
    """pyarrow columns: those kept as they are, and the added ones in plain types that every engine takes."""
    import pyarrow as pa

    types = {pl.String: pa.string(), pl.Float64: pa.float64(), pl.Boolean: pa.bool_()}
    arrays = [batch.column(name) for name in columns]
    arrays = [array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array for array in arrays]
    arrays += [column.to_arrow().cast(types[type(column.dtype)]) for column in added.values()]
    fields = [batch.schema.field(name) for name in columns]
    fields += [pa.field(name, types[type(column.dtype)]) for name, column in added.items()]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
