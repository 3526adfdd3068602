"""Labels and confidence for a batch of rows, with a model that takes tables.

``score_rows`` serves files of any size and record batches of Dask, Spark and Ray; a table in memory
is scored at once, by ``predict_scores``, which it calls too.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from chary._threads import one_thread, refuse_after_fork, same_warnings
from chary._words import Parameter, shown, visible
from chary.labelling.drift import EventCounts, Floats, count_events
from chary.method.estimators import predict_scores
from chary.model_file import load_bytes, read_model_file
from chary.tables import Table, TableError, TablePreparation
from chary.tables.formats.base import Batch
from chary.tables.frames import from_dataframe
from chary.tables.source import in_blocks
from chary.tables.table import ACCEPT, CONFIDENCE, LABEL, column_hint, refuse_taken, resident_bytes

# Rows scored at a time, and features that they have together at most.
_BLOCK_ROWS, _BLOCK_NUMBERS = 2**15, 2**20
_DIGITS = 4  # of confidence and probabilities, as they are written


class RowCounts:
    """What is counted of rows as they are scored; counts of several batches add up to those of all their rows."""

    def __init__(self, model: Pipeline) -> None:
        self.forms = model[0].cell_counts()  # cells that cannot be read
        self.events = EventCounts()  # for ``compare_with_reference``
        self.classes = np.asarray(model[-1].classes_).astype(str).tolist()
        self.of_class = np.zeros(len(self.classes), np.int64)  # rows that have each label
        self.n_blank = 0  # rows that hold nothing, and get no label

    def add(self, later: RowCounts) -> None:
        """Count the rows that follow, too."""
        self.forms.add(later.forms)
        self.events = self.events.plus(later.events)
        self.of_class += later.of_class

    @property
    def n_rows(self) -> int:
        """How many rows there were."""
        return self.events.n_rows

    @property
    def labels(self) -> dict[str, int]:
        """How many rows have each label, the most frequent first."""
        found = {name: n for name, n in zip(self.classes, self.of_class.tolist(), strict=True) if n}
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def refuse(self, name: str | None = None) -> None:
        """Refuse a table, called ``name``, with a column that is not written as the model knows it."""
        with about(name):
            self.forms.refuse()


class Scored(NamedTuple):
    """What a model says of a batch of rows."""

    codes: NDArray[np.intp]  # (n,) places in ``model.classes_``
    confidence: Floats  # (n,)
    probs: Floats  # (n, C)
    counts: RowCounts

    def columns(
        self, *, probabilities: bool = False, threshold: float | None = None
    ) -> dict[str, pl.Series]:
        """The columns that are added to the rows.

        Label and confidence; the probability of each class, if asked for; with a ``threshold``
        whether the confidence, as it is written, reaches it.
        """
        names = pl.Series(self.counts.classes, dtype=pl.String)
        added = {
            LABEL: names.gather(self.codes),
            CONFIDENCE: pl.Series(np.round(self.confidence, _DIGITS)),
        }
        if probabilities:
            added |= probability_columns(self.counts.classes, self.probs)
        if threshold is not None:
            added[ACCEPT] = added[CONFIDENCE] >= threshold
        return added


@same_warnings()
def score_rows(model: Pipeline, frame: pl.DataFrame) -> Scored:
    """Label a batch of rows, and count what there is to know of them.

    What a cell means does not depend on the batch that it is in. Whether a column is written as the
    model knows it is asked of all batches together: add their ``counts`` up, then ``refuse``.

    Parameters
    ----------
    model : Pipeline
        That takes tables: preparation first, classifier last.
    frame : DataFrame
        At most ``block_rows(model)`` rows; columns are found by name.
    """
    counts = RowCounts(model)
    X = model[0].transform_part(frame, counts.forms)
    none: tuple[Floats, Floats] = np.empty((0, len(counts.classes))), np.empty(0)
    probs, confidence = predict_scores(model[-1], X) if len(X) else none
    codes = probs.argmax(axis=1)
    counts.events = count_events(model, X, counts.forms.missing)
    counts.of_class = np.bincount(codes, minlength=len(counts.classes)).astype(np.int64)
    return Scored(codes, confidence, probs, counts)


def score_batches(
    model: Pipeline, batches: Iterable[Batch], counts: RowCounts, threads: int = 1
) -> Iterator[tuple[Batch, Scored]]:
    """Score the rows of a file, block by block and in order, as many blocks at a time as there are threads.

    Blocks are cut by their rows alone, and BLAS computes with one thread, so that what comes of a
    row depends on nothing but the table and the model. The rows are added to ``counts``.
    """

    def score_one(frame: pl.DataFrame) -> Scored:
        with one_thread("openmp"):
            return score_rows(model, frame)

    blocks = in_blocks(iter(batches), block_rows(model))
    waiting: deque[tuple[Batch, Future[Scored]]] = deque()
    with one_thread("blas"), ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                while len(waiting) <= threads and (part := next(blocks, None)) is not None:
                    part = part._replace(table=part.table.without_blank_rows())
                    waiting.append((part, pool.submit(score_one, part.table.frame)))
                if not waiting:
                    return
                part, future = waiting.popleft()
                with about(part.table.name):
                    scored = future.result()
                counts.add(scored.counts)
                if part.table.blank is not None:
                    counts.n_blank += len(part.table.blank.numbers)
                yield part, scored
        finally:
            for _, future in waiting:
                future.cancel()


def refuse_memory(name: str, memory: int, needed: float = 0) -> None:
    """Refuse a table for which more memory is ``needed``, or is in use by now, than is allowed."""
    if max(needed, resident_bytes()) > memory:
        raise TableError(
            f"{name} takes more than the {memory >> 20:,} MiB allowed; pass more with {Parameter('memory')}."
        )


def predict_table(
    model: Pipeline, table: Table, *, probabilities: bool = False
) -> dict[str, pl.Series]:
    """Columns with label and confidence for the rows of a new table, and with the probability of each class.

    Parameters
    ----------
    model : Pipeline
        From ``load``.
    table : Table
        From ``read_table``.
    probabilities : bool, default=False
        Whether to add a column for each class.
    """
    if probabilities:
        refuse_taken(table, probability_names(model.classes_))
    counts = RowCounts(model)
    parts = []
    for block, scored in _score_blocks(model, table.frame, counts):
        _, columns = block.with_blank_rows(scored.columns(probabilities=probabilities))
        parts.append(columns)
    counts.refuse()
    return {name: pl.concat([part[name] for part in parts]) for name in parts[0]}


def _score_blocks(
    model: Pipeline, frame: pl.DataFrame, counts: RowCounts
) -> Iterator[tuple[Table, Scored]]:
    """Score the rows of a frame block by block, but for blank ones, and count them."""
    size = block_rows(model)
    for start in range(0, max(1, frame.height), size):
        block = Table(frame.slice(start, size), "the rows").without_blank_rows()
        scored = score_rows(model, block.frame)
        counts.add(scored.counts)
        yield block, scored


class Predictor:
    """Labels for record batches, one after the other.

    Called with an iterable of record batches, it gives an iterator of record batches with
    ``chary_label`` and ``chary_confidence``, in the order of the rows; a large batch gives several.
    It reads one batch at a time, may be called by several threads at once, and may be pickled: what
    travels is the model file.

    A batch is whatever speaks Arrow's C interface (a pyarrow record batch or table, a polars frame,
    and so on), or a pandas frame. pyarrow batches become pyarrow batches, anything else polars
    frames. Columns are found by name; further ones are ignored. A column may be of another type of
    its kind in each batch, as 32 or 64 bits.

    What a cell means does not depend on the batch that it is in. Whether a column is written as the
    model knows it, with decimal commas for example, is asked of all batches of a call together, at
    its end: if it is not, that ends in a ``TableError``.

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
        columns: Sequence[str] = (),
        probabilities: bool = False,
        threshold: float | None = None,
    ) -> None:
        if threshold is not None and not 0 <= threshold <= 1:
            raise TableError(
                f"The threshold {shown(threshold)} is not a confidence; pass a number from 0 to 1, such as "
                f"{Parameter('threshold', '0.8')}."
            )
        if isinstance(columns, str):
            raise TableError("The columns to keep are one text; pass a list of names.")
        self.data, self.columns = bytes(data), tuple(dict.fromkeys(columns))
        self.probabilities, self.threshold = bool(probabilities), threshold
        self._lock = threading.Lock()
        self._model: Pipeline | None = None

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *how: Any, **named: Any) -> Predictor:
        """One of a model file, which is read at once: what is wrong with it is said by its name."""
        data = read_model_file(path)
        predictor = cls(data, *how, **named)
        predictor._model = _require_table_model(load_bytes(data, Path(path).name), Path(path).name)
        return predictor

    @property
    def model(self) -> Pipeline:
        """The model itself, loaded when it is first needed."""
        with self._lock:
            if self._model is None:
                self._model = _require_table_model(load_bytes(self.data), "The model")
        return self._model

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """Names and types of the columns that are added."""
        types: dict[str, pl.DataType] = {LABEL: pl.String(), CONFIDENCE: pl.Float64()}
        if self.probabilities:
            types |= dict.fromkeys(probability_names(self.model.classes_), pl.Float64())
        return types if self.threshold is None else {**types, ACCEPT: pl.Boolean()}

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Labels of the rows of record batches, as they come."""
        refuse_after_fork()
        if hasattr(batches, "columns") or hasattr(batches, "__arrow_c_array__"):
            batches = [batches]  # one batch is a list of one
        counts = RowCounts(self.model)
        for batch in batches:
            frame = from_dataframe(batch)
            self.model[0].require_columns(frame.columns)
            self._require_kept(frame.columns)
            start = 0
            for block, scored in _score_blocks(self.model, frame, counts):
                n = block.n_numbers
                _, added = block.with_blank_rows(self.added(scored))
                if type(batch).__module__.split(".")[0] == "pyarrow":
                    yield _record_batch(batch.slice(start, n), self.columns, added)
                else:
                    kept = {name: frame[name].slice(start, n) for name in self.columns}
                    yield pl.DataFrame(kept | added)
                start += n
        counts.refuse()

    def added(self, scored: Scored) -> dict[str, pl.Series]:
        """The columns to add to rows that were scored."""
        return scored.columns(probabilities=self.probabilities, threshold=self.threshold)

    def _require_kept(self, names: Sequence[str]) -> None:
        for name in self.columns:
            if name not in names:
                raise TableError(
                    f"There is no column {shown(name)} to keep; {column_hint(name, names)}"
                )

    def __reduce__(self) -> Any:
        return Predictor, (self.data, self.columns, self.probabilities, self.threshold)

    def __repr__(self) -> str:
        return f"<chary predictor: {', '.join([*self.columns, *self.schema])}>"


# ---------------------------------------------------------------- models and columns


@contextmanager
def about(name: str | None) -> Iterator[None]:
    """Have what is refused say which table it is about."""
    try:
        yield
    except TableError as error:
        raise TableError(f"{name}: ", *error.args) if name else error from None


def _require_table_model(model: Any, name: str) -> Pipeline:
    is_of_tables = isinstance(model, Pipeline) and isinstance(model[0], TablePreparation)
    # Rows go from the preparation straight to the classifier, which must say how sure it is.
    if not is_of_tables or len(model) != 2 or not hasattr(model[-1], "predict_confidence"):
        raise TableError(
            f"{shown(name)} is not a model of a table; use one that was made by labelling a table."
        )
    return model


def block_rows(model: Pipeline) -> int:
    """Rows that are scored at a time: as many as keep all that is made of them small."""
    n_features = len(model[0].get_feature_names_out())
    return int(min(_BLOCK_ROWS, max(1, _BLOCK_NUMBERS // n_features)))


def probability_columns(classes: ArrayLike, probs: NDArray[Any]) -> dict[str, pl.Series]:
    """A column for each class with its probability in every row."""
    names = probability_names(classes)
    return {name: pl.Series(np.round(probs[:, code], _DIGITS)) for code, name in enumerate(names)}


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


# ---------------------------------------------------------------- record batches


def _record_batch(batch: Any, columns: Sequence[str], added: dict[str, pl.Series]) -> Any:
    """pyarrow columns: those kept as they are, and the added ones in plain types that every engine takes."""
    import pyarrow as pa

    types = {pl.String: pa.string(), pl.Float64: pa.float64(), pl.Boolean: pa.bool_()}
    arrays = [batch.column(name) for name in columns]
    arrays = [
        array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array for array in arrays
    ]
    arrays += [column.to_arrow().cast(types[type(column.dtype)]) for column in added.values()]
    fields = [batch.schema.field(name) for name in columns]
    fields += [pa.field(name, types[type(column.dtype)]) for name, column in added.items()]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
