"""Label batches of rows, with confidence, by a model of a table.

``score_rows`` labels one block of a file or of a record batch (Dask, Spark, Ray), by
``predict_scores``. ``label_table`` calls ``predict_scores`` itself for a table in memory.
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
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from chary._arrays import Array, Floats, Ints
from chary._threads import one_thread, refuse_after_fork, same_warnings
from chary._words import Parameter, shown, visible
from chary.labelling.drift import EventCounts, count_events
from chary.method.estimators import predict_scores
from chary.model_file import load_bytes, read_model_file
from chary.tables import Table, TableError, TablePreparation
from chary.tables.formats.base import Batch
from chary.tables.frames import from_dataframe
from chary.tables.source import in_blocks
from chary.tables.table import ACCEPT, CONFIDENCE, LABEL, refuse_taken, resident_bytes

# A block of rows, which is scored at once, has at most this many rows.
_BLOCK_ROWS = 2**15
# A block has at most this many numbers, rows times features; but at least one row.
_BLOCK_NUMBERS = 2**20
# Confidence and probabilities are written with this many digits.
_DIGITS = 4


class RowCounts:
    """Counts of the rows that were scored; the counts of several batches can be added."""

    def __init__(self, model: Pipeline) -> None:
        self.cells = model[0].cell_counts()  # missing and unreadable cells
        self.events = EventCounts()  # for ``compare_with_reference``
        self.classes = np.asarray(model[-1].classes_).astype(str).tolist()
        self.class_counts = np.zeros(len(self.classes), np.int64)  # (C,) rows with each label
        self.n_blank = 0  # rows without any cell, which are not scored and get no label

    def add(self, later: RowCounts) -> None:
        """Add the counts of the rows that follow."""
        self.cells.add(later.cells)
        self.events = self.events.plus(later.events)
        self.class_counts += later.class_counts

    @property
    def n_rows(self) -> int:
        """Number of rows that were scored."""
        return self.events.n_rows

    @property
    def labels(self) -> dict[str, int]:
        """Number of rows with each label that occurs: the most frequent first, then by name."""
        counts = zip(self.classes, self.class_counts.tolist(), strict=True)
        n_rows_of = {name: n_rows for name, n_rows in counts if n_rows > 0}
        # Classes come in the order of their names, which sorting keeps among equal counts.
        most_frequent_first = sorted(n_rows_of, key=lambda name: -n_rows_of[name])
        return {name: n_rows_of[name] for name in most_frequent_first}

    def refuse(self, name: str | None = None) -> None:
        """Refuse a table with a column that the model cannot read."""
        with naming_table(name):
            self.cells.refuse()


class Scored(NamedTuple):
    """What a model predicts for a batch of rows."""

    codes: Ints  # (n,) predicted classes, as places in the model's ``classes_``
    confidence: Floats  # (n,)
    probs: Floats  # (n, C)
    counts: RowCounts  # of these rows

    def columns(
        self, *, probabilities: bool = False, threshold: float | None = None
    ) -> dict[str, pl.Series]:
        """Make the columns that are added to the rows: label, confidence, and more if asked for.

        With ``probabilities`` there is a column for each class. With a ``threshold`` there is a
        column that tells whether the rounded confidence is at least the threshold.
        """
        names = pl.Series(self.counts.classes, dtype=pl.String)
        columns = {
            LABEL: names.gather(self.codes),
            CONFIDENCE: pl.Series(np.round(self.confidence, _DIGITS)),
        }
        if probabilities:
            columns |= probability_columns(self.counts.classes, self.probs)
        if threshold is not None:
            columns[ACCEPT] = columns[CONFIDENCE] >= threshold
        return columns


@same_warnings()
def score_rows(model: Pipeline, frame: pl.DataFrame) -> Scored:
    """Label a batch of rows, and count them.

    A cell is read in the same way in every batch. Whether a column is written in a form that the
    model knows can only be told from all batches: add their ``counts``, then call ``refuse``.

    Parameters
    ----------
    model : Pipeline
        Takes tables: its first step is the preparation, its last the classifier.
    frame : DataFrame
        At most ``block_rows(model)`` rows; columns are found by name.
    """
    preparation = model[0]
    classifier = model[-1]
    counts = RowCounts(model)
    n_classes = len(counts.classes)

    X = preparation.transform_part(frame, counts.cells)  # (n, d); counts cells on the way
    probs: Floats = np.empty((0, n_classes))
    confidence: Floats = np.empty(0)
    if len(X):
        probs, confidence = predict_scores(classifier, X)
    codes = probs.argmax(axis=1)

    counts.events = count_events(model, X, counts.cells.missing)
    counts.class_counts = np.bincount(codes, minlength=n_classes).astype(np.int64)
    return Scored(codes, confidence, probs, counts)


def score_batches(
    model: Pipeline, batches: Iterable[Batch], counts: RowCounts, threads: int = 1
) -> Iterator[tuple[Batch, Scored]]:
    """Score the rows of a file block by block, several blocks at a time in threads.

    The blocks are yielded in the order of the file; before that, their counts are added to
    ``counts``. Where a block ends depends on row numbers only, and BLAS uses one thread. So the
    scores of a row depend on nothing but the table and the model.
    """

    def score_block(frame: pl.DataFrame) -> Scored:
        with one_thread("openmp"):
            return score_rows(model, frame)

    # Blocks that were given to a thread and not yielded yet, in the order of the file.
    submitted: deque[tuple[Batch, Future[Scored]]] = deque()

    def wait_for_first() -> tuple[Batch, Scored]:
        block, future = submitted.popleft()
        with naming_table(block.table.name):
            scored = future.result()
        counts.add(scored.counts)
        if block.table.blank is not None:
            counts.n_blank += len(block.table.blank.numbers)
        return block, scored

    with one_thread("blas"), ThreadPoolExecutor(threads) as pool:
        try:
            for block in in_blocks(iter(batches), block_rows(model)):
                filled = block._replace(table=block.table.without_blank_rows())
                submitted.append((filled, pool.submit(score_block, filled.table.frame)))
                # One block more than there are threads is submitted, so that no thread is idle.
                if len(submitted) > threads:
                    yield wait_for_first()
            while submitted:
                yield wait_for_first()
        finally:
            # After an error, or if the caller stops.
            for _, future in submitted:
                future.cancel()


def refuse_memory(name: str, memory: int) -> None:
    """Refuse the table ``name`` if the process takes more than ``memory`` bytes."""
    if resident_bytes() > memory:
        raise TableError(
            f"{name} takes more than the {memory >> 20:,} MiB allowed; pass more with "
            f"{Parameter('memory')}."
        )


def predict_table(
    model: Pipeline, table: Table, *, probabilities: bool = False
) -> dict[str, pl.Series]:
    """Predict label and confidence for the rows of a new table, as columns.

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
    blocks = []
    for block, scored in _score_blocks(model, table.frame, counts):
        _, columns = block.with_blank_rows(scored.columns(probabilities=probabilities))
        blocks.append(columns)
    counts.refuse()
    return {name: pl.concat([columns[name] for columns in blocks]) for name in blocks[0]}


def _score_blocks(
    model: Pipeline, frame: pl.DataFrame, counts: RowCounts
) -> Iterator[tuple[Table, Scored]]:
    """Score the rows of a frame block by block, except blank rows.

    The counts of each block are added to ``counts`` before it is yielded.
    """
    size = block_rows(model)
    # A frame without rows gives one empty block.
    for start in range(0, max(1, frame.height), size):
        block = Table(frame.slice(start, size), "the rows").without_blank_rows()
        scored = score_rows(model, block.frame)
        counts.add(scored.counts)
        yield block, scored


class Predictor:
    """A model that labels record batches, one after the other.

    Called with an iterable of record batches, it gives an iterator of record batches with
    ``chary_label`` and ``chary_confidence``, in the order of the rows; a large batch gives several.
    It reads one batch at a time, and several threads may call it at once. Pickled, it takes the
    bytes of the model file along.

    A batch is any object with Arrow's C interface (a pyarrow record batch or table, a polars frame,
    and so on), or a pandas frame. pyarrow batches become pyarrow batches, all others polars frames.
    Columns are found by name; columns that the model does not need are ignored. The type of a
    column may differ between batches within its kind: 32 or 64 bits, for example.

    A cell is read in the same way in every batch. Whether a column is written in the form that the
    model knows (not with decimal commas, for example) is decided for all batches of a call
    together, at its end: if it is not, a ``TableError`` is raised.

    Parameters
    ----------
    data : bytes
        A model file.
    columns : sequence of str, default=()
        Columns of the batches that are given back unchanged, left of the added columns.
    probabilities : bool, default=False
        Whether to add a column ``chary_p_...`` for each class.
    threshold : float, default=None
        If given, ``chary_accept`` is added: whether the confidence is at least this.
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
                f"The threshold {shown(threshold)} is not a confidence; pass a number from 0 to 1, "
                f"such as {Parameter('threshold', '0.8')}."
            )
        self.data = bytes(data)
        self.columns = tuple(dict.fromkeys(columns))
        self.probabilities = bool(probabilities)
        self.threshold = threshold
        self._lock = threading.Lock()
        self._model: Pipeline | None = None

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        columns: Sequence[str] = (),
        probabilities: bool = False,
        threshold: float | None = None,
    ) -> Predictor:
        """Read a model file at once; errors name the file."""
        data = read_model_file(path)
        predictor = cls(data, columns, probabilities, threshold)
        name = Path(path).name
        predictor._model = _require_table_model(load_bytes(data, name), name)
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
        """The names and types of the columns that are added."""
        types: dict[str, pl.DataType] = {LABEL: pl.String(), CONFIDENCE: pl.Float64()}
        if self.probabilities:
            types |= dict.fromkeys(probability_names(self.model.classes_), pl.Float64())
        if self.threshold is not None:
            types[ACCEPT] = pl.Boolean()
        return types

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Label the rows of record batches, as they come."""
        refuse_after_fork()
        is_one_batch = hasattr(batches, "columns") or hasattr(batches, "__arrow_c_array__")
        if is_one_batch:
            batches = [batches]
        counts = RowCounts(self.model)
        for batch in batches:
            yield from self._label_batch(batch, counts)
        # Only the counts of all batches tell whether a column is written in another form.
        counts.refuse()

    def _label_batch(self, batch: Any, counts: RowCounts) -> Iterator[Any]:
        """Label and count the rows of one batch, block by block."""
        frame = from_dataframe(batch)
        self.model[0].require_columns(frame.columns)
        is_pyarrow = type(batch).__module__.split(".")[0] == "pyarrow"
        start = 0  # first row of the block
        for block, scored in _score_blocks(self.model, frame, counts):
            n_rows = block.n_file_rows  # with the blank rows, which were not scored
            _, added = block.with_blank_rows(self.added(scored))
            if is_pyarrow:
                yield _record_batch(batch.slice(start, n_rows), self.columns, added)
            else:
                kept = {name: frame[name].slice(start, n_rows) for name in self.columns}
                yield pl.DataFrame(kept | added)
            start += n_rows

    def added(self, scored: Scored) -> dict[str, pl.Series]:
        """Make the columns that this predictor adds to rows that were scored."""
        return scored.columns(probabilities=self.probabilities, threshold=self.threshold)

    def __reduce__(self) -> Any:
        return Predictor, (self.data, self.columns, self.probabilities, self.threshold)


# ---------------------------------------------------------------- models and columns


@contextmanager
def naming_table(name: str | None) -> Iterator[None]:
    """Put the name of a table before the message of every ``TableError`` raised inside."""
    try:
        yield
    except TableError as error:
        if not name:
            raise error from None
        raise TableError(f"{name}: ", *error.args) from None


def _require_table_model(model: Any, name: str) -> Pipeline:
    """Refuse a model that does not take tables or has no confidence."""
    is_of_table = (
        isinstance(model, Pipeline)
        and isinstance(model[0], TablePreparation)
        and len(model) == 2
        and hasattr(model[-1], "predict_confidence")
    )
    if not is_of_table:
        raise TableError(
            f"{shown(name)} is not a model of a table; use one that was made by labelling a table."
        )
    return model


def block_rows(model: Pipeline) -> int:
    """Return how many rows to score at once: the fewer, the more features they have."""
    n_features = len(model[0].get_feature_names_out())
    return int(min(_BLOCK_ROWS, max(1, _BLOCK_NUMBERS // n_features)))


def probability_columns(classes: ArrayLike, probs: Array) -> dict[str, pl.Series]:
    """Make a column for each class with its probability in every row."""
    names = probability_names(classes)
    return {name: pl.Series(np.round(probs[:, code], _DIGITS)) for code, name in enumerate(names)}


def probability_names(classes: ArrayLike) -> list[str]:
    r"""Name the columns of probabilities: visible, short, and no two alike.

    >>> probability_names(["no", "a\nb", "a\\nb"])
    ['chary_p_no', 'chary_p_a\\nb', 'chary_p_a\\nb (2)']
    """
    names: list[str] = []
    for text in np.asarray(classes).astype(str).tolist():
        plain_name = f"chary_p_{visible(text, 60)}"
        # Two classes may look alike: the second one is numbered.
        name = plain_name
        number = 2
        while name in names:
            name = f"{plain_name} ({number})"
            number += 1
        names.append(name)
    return names


# ---------------------------------------------------------------- record batches


def _record_batch(batch: Any, columns: Sequence[str], added: dict[str, pl.Series]) -> Any:
    """Make a pyarrow batch of some ``columns`` of a batch, unchanged, and the ``added`` ones.

    Added columns get plain types, which Spark, Dask and Ray accept.
    """
    import pyarrow as pa

    types = {pl.String: pa.string(), pl.Float64: pa.float64(), pl.Boolean: pa.bool_()}
    arrays = {}
    for name in columns:
        array = batch.column(name)
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        arrays[name] = array
    for name, column in added.items():
        arrays[name] = column.to_arrow().cast(types[type(column.dtype)])
    return pa.RecordBatch.from_pydict(arrays)
