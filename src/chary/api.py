"""chary in Python: label, diagnose, judge and explain tables; results show and save themselves."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from io import BytesIO, StringIO
from typing import Any, Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from sklearn.base import ClassifierMixin
from sklearn.pipeline import Pipeline

from chary._arrays import Array, Ints
from chary._files import atomic_write, sole_writer
from chary._threads import refuse_after_fork, same_warnings
from chary._words import shown
from chary.audit.drawing import draw_sheet, keep_copy, refuse_to_lose_answers
from chary.audit.judge import JudgedTable, draw_to_judge, judge_table
from chary.audit.sheet import is_workbook, unlabelled_rows
from chary.labelling import (
    Diagnosis,
    Explainer,
    LabeledTable,
    Predictor,
    RowComparison,
    as_texts,
    compare_with_reference,
    count_events,
    diagnose_table,
    explainer,
    label_table,
    predict_table,
    write_rows_to_check,
)
from chary.model_file import model_bytes
from chary.options import (
    AUDIT_SIZE,
    DiagnoseOptions,
    FileReading,
    GivenPath,
    JudgeOptions,
    LabelOptions,
    requirement_of,
)
from chary.report import (
    NOTEBOOK,
    DiagnosedSummary,
    Hints,
    JudgedSummary,
    LabelsSummary,
    Pace,
    render_diagnosis,
    render_judged,
    render_page,
    show_diagnosis,
    show_judged,
    show_labels,
    summarize,
    summarize_diagnosis,
    summarize_judged,
)
from chary.tables import (
    ACCEPT,
    ADDED_COLUMNS,
    LABEL,
    WHY,
    Source,
    Table,
    TableError,
    aligned,
    alone,
    extended,
    flattened,
    like,
    open_source,
)

Texts = str | Sequence[str]  # one text, or several

# The calls that a report suggests for an audit.
_DRAW_CALLS = (
    "result.draw('audit.csv'), fill in its column {}, then label again with audit='audit.csv'"
)
# The HTML around a result in a notebook.


def label(
    data: Any,
    target: str,
    *,
    unlabeled: Texts | None = None,
    classes: Texts = (),
    same: Mapping[str, str] | None = None,
    drop: Texts = (),
    categorical: Texts = (),
    numeric: Texts = (),
    identifier: Texts = (),
    missing: Texts = (),
    dates: Texts = (),
    text: Texts = (),
    learner: Literal["auto", "mixed", "network", "linear", "boosting"] | ClassifierMixin = "auto",
    rounds: int | None = None,
    audit: GivenPath | None = None,
    checked: GivenPath | None = None,
    class_prior: Any = None,
    aim: Literal["accuracy", "balanced"] = "accuracy",
    error: float | None = None,
    explain: bool = False,
    seed: int = 0,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
) -> Result:
    """Label the rows whose target is empty, and say how far each label can be trusted.

    Parameters
    ----------
    data : DataFrame of pandas, polars or Arrow, dict of columns, path, or Table
        It is not changed.
    target : str
        The column that holds the labels; cells without one are missing.
    unlabeled : str or sequence of str, default=None
        Cell values that mean "no label", besides empty cells.
    classes : str or sequence of str, default=()
        Cell values that are classes although they look like "no answer", such as "unknown" or 99.
        Without this or ``unlabeled`` they are refused.
    same : mapping of str to str, default=None
        Labels that are slips, each with the class that is meant, such as ``{"gutt": "gut"}``.
    drop : sequence of column names, default=()
        Columns to leave out.
    categorical, numeric, identifier : sequences of column names, default=()
        Columns that are of this kind, whatever they look like; identifiers are left out.
    missing : sequence of str, default=()
        Codes for missing values: ``"-9"`` in every column, ``"age=-9"`` in one.
    dates : str or sequence of str, default=()
        How to read dates such as 03/04/2024 if a column leaves it open: ``"day-first"``,
        ``"month-first"`` or ``"year-first"``; ``"start=month-first"`` for one column.
    text : sequence of column names, default=()
        Columns to read as free text.
    learner : {"auto", "mixed", "network", "linear", "boosting"} or classifier, default="auto"
        The model. "mixed": a linear model, trees and boosting together. "network": that of the
        paper. "auto": "mixed", unless strongly biased labels make it fail, or "boosting" above
        20,000 labels (``docs/explanation/defaults.md``). A scikit-learn classifier is cloned and
        fitted to chary's features.
    rounds : int, default=None
        How often the model is fitted again with its most trusted labels. None: once for the
        network, never for other models; with an audit only if once is clearly better on it.
    audit : path, default=None
        A sheet of randomly drawn rows with a person's labels. The model is judged on them, then
        learns from them.
    checked : path, default=None
        A sheet of doubtful rows with a person's labels. The model learns from them as from any
        other label; no accuracy is computed from them.
    class_prior : None, "labeled" or mapping, default=None
        The share of each class among all rows, if you know it, as in ``SelfTrainingClassifier``.
    aim : {"accuracy", "balanced"}, default="accuracy"
        "balanced" if rare classes are as important as common ones: boundaries between classes are
        moved so that a larger share of each class is found on average. Plain accuracy may fall.
        It works with every learner, class prior and audit (``docs/how-to/rare-classes.md``).
    error : float, default=None
        The largest share of wrong labels among those to be accepted, such as 0.1. Needs an audit.
        The column ``chary_accept`` then says which rows can be accepted; given and audited labels
        always can.
    explain : bool, default=False
        Whether to name the two or three cells that decide each new label, as text in the column
        ``chary_why``. It costs up to 160 predictions a row.
    seed : int, default=0
        The same seed gives the same result.
    delimiter : str, default=None
        The delimiter of a CSV; None: detected.
    encoding : str, default=None
        The encoding of a CSV; None: detected among UTF-8, UTF-16 and Windows-1252.
    sheet : str, default=None
        The sheet of an Excel workbook that has several.
    header_row : int, default=None
        The row of a CSV or an Excel sheet that holds the column names, counted from 1; None:
        detected.

    See Also
    --------
    chary.diagnose : Tells only whether the labelled rows are like the rest.
    chary.judge : Says how good existing labels are.
    chary.load : Reads the model, for new rows.

    Examples
    --------
    >>> import polars as pl
    >>> x = [i % 10 for i in range(80)]
    >>> y = [("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]
    >>> frame = pl.DataFrame({"x": x, "y": y})
    >>> result = label(frame, target="y", rounds=0)
    >>> result.frame.columns
    ['x', 'y', 'chary_label', 'chary_confidence', 'chary_source']
    >>> result.diagnosis.verdict
    'representative'
    """
    target = str(target)  # a pandas frame may name a column by a number
    options = LabelOptions.among(locals())
    table = _table(data, **options.reading)
    with _notebook_bar() as progress:
        return Result(data, label_table(table, options, progress=progress))


def diagnose(
    data: Any,
    target: str,
    *,
    unlabeled: Texts | None = None,
    classes: Texts = (),
    same: Mapping[str, str] | None = None,
    drop: Texts = (),
    categorical: Texts = (),
    numeric: Texts = (),
    identifier: Texts = (),
    missing: Texts = (),
    dates: Texts = (),
    text: Texts = (),
    seed: int = 0,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
) -> Diagnosed:
    """Tell whether the labelled rows of a table are like the rest.

    Parameters
    ----------
    data : DataFrame of pandas, polars or Arrow, dict of columns, path, or Table
        It is not changed.
    target : str
        The column that holds the labels; cells without one are missing.
    unlabeled, classes : str or sequence of str
        As in ``chary.label``.
    same : mapping of str to str, default=None
        As in ``chary.label``.
    drop, categorical, numeric, identifier, missing, dates, text : str or sequence of str
        As in ``chary.label``.
    seed : int, default=0
        As in ``chary.label``.
    delimiter, encoding, sheet, header_row : default=None
        As in ``chary.label``.

    See Also
    --------
    chary.label : Labels the rest, and has the same diagnosis.

    Examples
    --------
    >>> x = [i % 10 for i in range(80)]
    >>> y = [("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]
    >>> diagnose({"x": x, "y": y}, target="y").verdict
    'representative'
    """
    target = str(target)  # a pandas frame may name a column by a number
    options = DiagnoseOptions.among(locals())
    table = _table(data, **options.reading)
    result = diagnose_table(table, options)
    return Diagnosed(result.diagnosis, summarize_diagnosis(result))


def judge(
    data: Any,
    labels: Texts,
    audit: Any,
    *,
    level: float = 0.95,
    unlabeled: Texts | None = None,
    classes: Texts = (),
    same: Mapping[str, str] | None = None,
    confidence: str | None = None,
    by: Texts = (),
    error: float | None = None,
    require: float | str | None = None,
    hide: Texts = (),
    annotator: GivenPath | Sequence[GivenPath] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
) -> Judged:
    """Say how good labels are, by a person's answers for random rows.

    Parameters
    ----------
    data : DataFrame of pandas, polars or Arrow, dict of columns, path, or Table
        It is not changed.
    labels : str, or two of them
        The column of labels under test; several are also compared.
    audit : path or array of shape (n,)
        A sheet of ``draw_rows`` with a person's answers. Or answers for all rows, missing if
        nobody looked: then the figures hold only if the rows looked at were drawn at random from
        all, which cannot be checked. A pandas Series is aligned by its index, with the index of a
        pandas frame or with row numbers from 0.
    level : float, default=0.95
        The confidence level of the intervals.
    unlabeled, classes : str or sequence of str
        As in ``chary.label``.
    same : mapping of str to str, default=None
        As in ``chary.label``.
    confidence : str, default=None
        A column of numbers, or of words such as low and high: the larger, the more certain the
        label.
    by : str or sequence of str, default=()
        Columns; the accuracy is also given for each of their values.
    error : float, default=None
        The largest share of wrong labels among those to be accepted, such as 0.1.
    require : float or str, default=None
        The accuracy that the labels must have, or a text as ``--require`` takes it, such as
        ``"recall of fraud>=90%"``; ``summary["required"]`` says whether they do.
    hide : str or sequence of str, default=()
        Columns that the sheet did not show, if it does not say so.
    annotator : path or sequence of paths, default=()
        Sheets with the answers of further people.
    delimiter, encoding, sheet, header_row : default=None
        For a path, as in ``chary.label``.

    Examples
    --------
    >>> labels = ["spam" if i % 5 else "ham" for i in range(500)]
    >>> frame = {"text": [f"t{i}" for i in range(500)], "rule": labels}
    >>> truth = ["spam" if i % 4 else "ham" for i in range(500)]
    >>> answers = [truth[i] if i in range(7, 500, 12) else None for i in range(500)]
    >>> judged = judge(frame, "rule", answers)
    >>> judged.summary["columns"][0]["accuracy"]["correct"], judged.summary["audited"]
    (34, 42)
    """
    options = JudgeOptions.among({**locals(), "require": requirement_of(require)})
    source = flattened(_source(data, reserved=(), **options.reading))
    answers = aligned(audit, data, source.n_rows, "the truth")
    return Judged(data, judge_table(source, answers, options, level))


def draw_rows(
    data: Any,
    labels: Texts,
    path: GivenPath,
    k: int = AUDIT_SIZE,
    *,
    force: bool = False,
    discard_answers: bool = False,
    unlabeled: Texts | None = None,
    classes: Texts = (),
    same: Mapping[str, str] | None = None,
    confidence: str | None = None,
    hide: Texts = (),
    show: Texts = (),
    seed: int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
) -> None:
    """Write a sheet (CSV, or .xlsx) of k random rows without their labels, for a person to label.

    Fill in its column ``chary_truth``, then pass its path as ``audit`` to ``judge``. If there is a
    smaller sheet of the table already, rows are added to it and its answers stay.

    Parameters
    ----------
    data : DataFrame of pandas, polars or Arrow, dict of columns, path, or Table
        As in ``judge``.
    labels : str or list
        The columns under test, which the sheet does not show.
    path : path
        The sheet to write.
    k : int, default=30
        How many rows the sheet should hold.
    force : bool, default=False
        Whether a new draw replaces an existing sheet; a sheet with answers is refused.
    discard_answers : bool, default=False
        Whether a new draw replaces even a sheet with answers; a copy of it is kept.
    unlabeled, classes : str or sequence of str
        As in ``chary.label``.
    same : mapping of str to str, default=None
        As in ``chary.label``.
    confidence : str, default=None
        As in ``judge``.
    hide : str or sequence of str, default=()
        Columns that the sheet does not show either.
    show : str or sequence of str, default=()
        Columns that the sheet shows although the label can be told from them.
    seed : int, default=None
        The same seed draws the same rows. None: the seed of an existing sheet, or a random one,
        which the sheet names.
    delimiter, encoding, sheet, header_row : default=None
        For a path, as in ``chary.label``.
    """
    options = JudgeOptions.among(locals())
    source = flattened(_source(data, reserved=(), **options.reading))
    draw_to_judge(source, path, options, k)


def load(path: GivenPath) -> TableModel:
    """Read a model that ``result.save(path)`` or the command line made.

    A model file holds arrays and JSON alone (no pickle): opening one from a stranger runs no code,
    and a damaged one is refused. The file does not tell whether the model predicts well or honestly
    (``docs/reference/reliability.md``).

    Parameters
    ----------
    path : path
        The model file.

    See Also
    --------
    label : Makes such a model; ``result.save(path)`` writes it.

    Examples
    --------
    >>> import tempfile
    >>> from chary import label
    >>> x = [i % 10 for i in range(80)]
    >>> y = [("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]
    >>> data = {"x": x, "y": y}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     label(data, target="y", learner="linear").save(f"{folder}/model.chary")
    ...     model = load(f"{folder}/model.chary")
    >>> model.predict({"x": [1, 9]}).tolist()
    ['a', 'b']
    """
    return TableModel(Predictor.from_file(path).model)


def predictor(
    model: Any,
    *,
    columns: Sequence[str] = (),
    probabilities: bool = False,
    threshold: float | None = None,
) -> Predictor:
    """Make a function that labels batches of rows, for engines that spread them over machines.

    Parameters
    ----------
    model : path, TableModel, or the bytes of a model file
    columns : sequence of str, default=()
        Columns of the batches to return, left of the labels.
    probabilities : bool, default=False
        Whether to add ``chary_p_`` of each class.
    threshold : float, default=None
        Adds ``chary_accept``: whether the confidence reaches the threshold.

    Returns
    -------
    Predictor
        It documents what a batch may be, and what it returns.

    Examples
    --------
    >>> import polars as pl
    >>> from chary import label
    >>> x = [i % 10 for i in range(80)]
    >>> y = [("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]
    >>> frame = pl.DataFrame({"x": x, "y": y})
    >>> predict = predictor(label(frame, target="y", learner="linear").model, columns=["x"])
    >>> [batch["chary_label"].to_list() for batch in predict([frame[:2], frame[9:10]])]
    [['a', 'a'], ['b']]
    """
    settings: dict[str, Any] = {
        "columns": columns,
        "probabilities": probabilities,
        "threshold": threshold,
    }
    if isinstance(model, (str, os.PathLike)):
        return Predictor.from_file(model, **settings)
    if isinstance(model, TableModel):
        model = model_bytes(model.pipeline)
    return Predictor(bytes(model), **settings)


def explain(
    model: Result | TableModel,
    rows: Any = None,
    *,
    background: Any = None,
    **reading: Unpack[FileReading],
) -> Any:
    """Name the two or three cells that decide each label, and what every column adds.

    A cell speaks for a label if the model is less sure of that label after the cell is replaced by
    cells of other rows: see ``chary.labelling.explain.effects``. This tells what the model goes by,
    not what is true of the world. The cost is up to 160 predictions a row.

    Parameters
    ----------
    model : Result or TableModel
        From ``chary.label`` or ``chary.load``.
    rows : row numbers from 0, a mask or None; with a model a frame, dict of columns, path or Table
        What to explain. With a Result, rows of its table (None: all), with the labels that they
        have in ``result.frame``, compared with its unlabelled rows. With a model, new rows.
    background : frame, dict of columns, path or Table, default=None
        The rows that new ones are compared with. None: with each other.
    **reading
        For a path, ``delimiter``, ``encoding``, ``sheet`` and ``header_row`` as in ``chary.label``.

    Returns
    -------
    DataFrame
        Of the same library and in the same order as the rows: ``chary_label``; ``chary_why``,
        missing if no cell stands out; and for each of the (at most 20) columns that matter most,
        how much it speaks for the label, in log-odds.

    Examples
    --------
    >>> from chary import label
    >>> x = [i % 10 for i in range(80)]
    >>> y = [("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]
    >>> frame = pl.DataFrame({"x": x, "z": [i % 3 for i in range(80)], "y": y})
    >>> explain(label(frame, target="y", learner="linear"), [0, 8])["chary_why"].to_list()
    ['x = 0', 'x = 8']
    """
    if isinstance(model, Result):
        if background is not None or reading:
            raise TypeError(
                "A result explains rows of its own table, so it takes no background and no file; "
                "pass result.model to explain new rows."
            )
        return _explain_result(model, rows)
    return _explain_new_rows(model, rows, background, reading)


def _explain_result(result: Result, rows: Any) -> Any:
    """Explain labels of a labelled table, those of ``rows`` in the way ``explain`` takes them."""
    details = result.details
    table = details.table
    if rows is None:
        numbers = table.numbers(np.arange(table.frame.height))
    else:
        # A mask that is a pandas Series may have the index of the table.
        if str(getattr(rows, "dtype", "")) == "bool":
            rows = aligned(rows, result.data, table.n_file_rows, "the mask")
        all_numbers = np.arange(table.n_file_rows)
        numbers = np.atleast_1d(all_numbers[rows])

    # The numbers count blank rows, which are not in the frame, so places in it may be others.
    places = table.places_of(numbers)
    X = details.features(places)
    codes = details.codes[places]
    frame = table.frame[places]
    columns = _explanation_columns(details.explainer, X, codes, frame)
    return like(result.data, columns, numbers)


def _explain_new_rows(model: TableModel, rows: Any, background: Any, reading: FileReading) -> Any:
    """Explain the labels that a model gives to new rows."""
    preparation = model.pipeline[0]
    classifier = model.pipeline[-1]
    frame = _table(rows, **reading).frame
    X = preparation.transform(frame)
    X_background = X
    if background is not None:
        X_background = preparation.transform(_table(background, **reading).frame)
    if len(X_background) < 2:
        raise TableError(
            "A single row has nothing to be compared with; pass more of them as background."
        )

    codes = classifier.predict_proba(X).argmax(axis=1)
    row_explainer = explainer(classifier, preparation, X_background)
    return like(rows, _explanation_columns(row_explainer, X, codes, frame))


def _explanation_columns(
    row_explainer: Explainer, X: Array, codes: Ints, frame: pl.DataFrame
) -> dict[str, Any]:
    """Make the columns of an explanation: label, deciding cells, and the effect of each column.

    The effects are in the order of the columns of ``frame``.
    """
    effects = row_explainer.effects(X, codes)  # (n, columns)
    effects_of = dict(zip(row_explainer.columns, effects.T, strict=True))
    deciding_cells = row_explainer.cells(X, codes, frame, effects)
    classes = np.asarray(row_explainer.classifier.classes_).astype(str)
    columns: dict[str, Any] = {
        LABEL: classes[codes].tolist(),
        WHY: as_texts(deciding_cells).to_list(),
    }
    for name in frame.columns:
        if name in effects_of:
            columns[name] = effects_of[name]
    return columns


@contextmanager
def _notebook_bar() -> Iterator[Callable[[str], None]]:
    """Show a bar with the share done and the time left in a notebook; nothing elsewhere."""
    if "ipykernel" not in sys.modules:
        yield lambda step: None
        return
    from IPython.display import HTML, display

    pace = Pace()
    handle = display(HTML(""), display_id=True)

    def step(name: str) -> None:
        pace.step(name)
        bar = f"<progress max='1' value='{pace.share:.3f}'></progress>"
        handle.update(HTML(f"{bar} {name}: {pace.words}"))

    try:
        yield step
    finally:
        handle.update(HTML(""))


class _Shown:
    """A result that shows itself: as in a terminal at a prompt, as its report in a notebook."""

    def _show(self, console: Console) -> None:
        """Write the result to a console."""
        raise NotImplementedError

    def _view(self) -> str:
        """Render the result for a notebook."""
        raise NotImplementedError

    def __repr__(self) -> str:
        console = Console(file=StringIO(), width=100, record=True, force_jupyter=False)
        self._show(console)
        lines = console.export_text().splitlines()
        return "\n".join(line.rstrip() for line in lines).strip("\n")

    def _repr_html_(self) -> str:
        return self._view()


class _Reported(_Shown):
    """A result with a report."""

    def _page(self) -> str:
        """Render the report."""
        raise NotImplementedError

    def report(self, path: GivenPath, *, force: bool = False) -> None:
        """Write the report, one HTML page; ``force`` replaces an existing file."""
        _write(path, self._page().encode("utf-8", "backslashreplace"), force)


class Diagnosed(_Shown):
    """Whether the labelled rows are like the rest.

    Attributes
    ----------
    details : Diagnosis
        The diagnosis, for programs.
    summary : dict
        Plain data, as a program gets it.
    """

    def __init__(self, details: Diagnosis, summary: DiagnosedSummary) -> None:
        self.details = details
        self.summary = summary

    @property
    def verdict(self) -> str:
        """Representative, mildly biased, strongly biased, or too few rows to tell."""
        return self.details.verdict

    @property
    def sentence(self) -> str:
        """The verdict, why, what it means and what to do."""
        return self.details.sentence

    def _show(self, console: Console) -> None:
        show_diagnosis(console, self.summary, Hints())

    def _view(self) -> str:
        return render_diagnosis(self.summary)


class Result(_Reported):
    """A labelled table. It shows itself in a notebook and at a prompt.

    Attributes
    ----------
    frame : DataFrame
        The data with ``chary_label``, ``chary_confidence``, ``chary_source`` and, if an error was
        asked for, ``chary_accept``. A path or a dict gives a polars frame.
    probabilities : DataFrame
        One column for each class, with its name; rows in the order of ``frame``.
    diagnosis : Diagnosed
    importance : DataFrame
        How much the labels depend on each column, the most important first: ``column``, and
        ``change``, by how much the probabilities change on average if its cells are shuffled among
        the rows.
    second_look : DataFrame
        Rows whose given label is contradicted by a model that has not seen it and is sure; the
        label may be right. With ``chary_row`` (from 1, as in the report), ``chary_held_out``, the
        label by that model, ``chary_probability`` of it and ``chary_given_probability`` of the
        given label.
    summary : dict
        All figures of the report, plain data.
    model : TableModel
    details : LabeledTable
        All that was found, for programs.
    """

    def __init__(self, data: Any, details: LabeledTable) -> None:
        self.data = data  # as it was given
        self.details = details

    @cached_property
    def frame(self) -> Any:
        """The data with the new columns."""
        details = self.details
        return extended(self.data, details.table, details.added_columns, details.target)

    @cached_property
    def probabilities(self) -> Any:
        """The probability of each class for each row."""
        details = self.details
        columns = dict(
            zip(map(str, details.labels.classes), details.probabilities().T, strict=True)
        )
        if details.table.blank is not None:
            _, columns = details.table.with_blank_rows(columns)
        return like(self.data, columns)

    @cached_property
    def importance(self) -> Any:
        """How much the labels depend on each column."""
        columns = self.details.explainer.importance
        names = [column.column for column in columns]
        changes = [column.change for column in columns]
        return alone(self.data, {"column": names, "change": changes})

    @cached_property
    def second_look(self) -> Any:
        """Rows whose given label a model contradicts."""
        suspect = self.details.second_look
        table = self.details.table
        held_out = [row["held_out"] for row in self.summary["second_look"]]
        added = {
            "chary_row": pl.Series(table.numbers(suspect.rows) + 1),
            "chary_held_out": pl.Series(held_out, dtype=pl.String),
            "chary_probability": pl.Series(np.round(suspect.probability, 4)),
            "chary_given_probability": pl.Series(np.round(suspect.given_probability, 4)),
        }
        return extended(self.data, table, added, rows=suspect.rows)

    @cached_property
    def diagnosis(self) -> Diagnosed:
        """Whether the labelled rows are like the rest."""
        summary = self.summary
        diagnosed: DiagnosedSummary = {
            **summary["diagnosis"],
            "file": summary["file"],
            "target": summary["target"],
            "notes": summary["notes"],
            "columns": summary["columns"],
        }
        return Diagnosed(self.details.diagnosis, diagnosed)

    @cached_property
    def summary(self) -> LabelsSummary:
        """All figures of the report."""
        return summarize(self.details)

    @property
    def model(self) -> TableModel:
        """The model, for new rows."""
        return TableModel(self.details.model)

    def save(self, path: GivenPath, *, force: bool = False) -> None:
        """Write the model to ``path``, for ``chary.load`` and commands.

        ``force`` overwrites a file that is there.
        """
        _write(path, model_bytes(self.details.model), force)

    def draw(
        self,
        path: GivenPath,
        k: int | None = None,
        *,
        seed: int | None = None,
        force: bool = False,
        discard_answers: bool = False,
    ) -> None:
        """Write a sheet (CSV, or .xlsx) of k random unlabelled rows to label.

        Fill in its target column, then pass its path as ``audit`` to ``label``, with the same
        table. If there is a smaller sheet of the same table and seed already, rows are added to it
        and its answers stay.

        Parameters
        ----------
        path : path
            The sheet to write.
        k : int, default=None
            How many rows. None: thirty, or fewer if fewer rows are unlabelled.
        seed : int, default=None
            The same seed draws the same rows. None: the seed of an existing sheet, or a random
            one, which the sheet names.
        force : bool, default=False
            Whether a new draw replaces an existing sheet; a sheet with answers is refused.
        discard_answers : bool, default=False
            Whether a new draw replaces even a sheet with answers; a copy of it is kept.
        """
        details = self.details
        k = details.audit_size if k is None else k
        if k < 2:
            raise TableError(
                f"{k} rows are too few to judge by; look at each unlabelled row instead."
            )

        # Audited rows count as unlabelled, so that an enlarged sheet keeps them.
        labels = details.labels
        if details.audit is not None:
            labels = labels.without(details.audit.answers.rows)
        pool = unlabelled_rows(details.table, details.target, labels, **details.options.for_sheet)
        draw_sheet(path, pool, k, seed=seed, force=force, discard_answers=discard_answers)

    def rows_to_check(
        self, path: GivenPath, *, force: bool = False, discard_answers: bool = False
    ) -> None:
        """Write a sheet (CSV, or .xlsx) of the most doubtful rows, to be checked one by one.

        Fill in its target column, then pass its path as ``checked`` to ``label``: the model learns
        from the labels. No accuracy is computed from them, as the rows were not drawn at random.
        ``force`` replaces an existing file, and ``discard_answers`` a sheet that holds answers, of
        which a copy is kept.
        """
        target = self.details.target
        stream = BytesIO()
        write_rows_to_check(self.details, stream, as_workbook=is_workbook(path))

        with sole_writer(path):
            if not discard_answers:
                refuse_to_lose_answers(path, target, "checked")
            keep_copy(path, target)
            _write(path, stream.getvalue(), force or discard_answers)

    def _page(self) -> str:
        return render_page(self.summary, self._hints)

    def _view(self) -> str:
        return render_page(self.summary, self._hints, NOTEBOOK)

    @property
    def _hints(self) -> Hints:
        """The calls that do what the report suggests."""
        if not self.details.audit_size:
            return Hints()
        return Hints(draw=_DRAW_CALLS.format(shown(self.details.target)))

    def _show(self, console: Console) -> None:
        show_labels(console, self.summary, self._hints)


class TableModel:
    """A model that takes tables.

    A table is a frame of pandas, polars or Arrow, a dict of columns, or a path; for a path,
    ``delimiter``, ``encoding``, ``sheet`` and ``header_row`` as in ``chary.label``. Columns are
    found by name, and further ones are ignored.

    Parameters
    ----------
    pipeline : Pipeline
        The scikit-learn Pipeline that does the work, preparation first.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    @property
    def classes_(self) -> Array:
        """The classes as text, in the order of the columns of ``predict_proba``."""
        return self.pipeline.classes_.astype(str)

    @same_warnings()
    def predict(self, data: Any, **reading: Unpack[FileReading]) -> Array:
        """Predict the label of each row (n,) of ``data``, as text."""
        frame = _table(data, **reading).frame
        return np.asarray(self.pipeline.predict(frame)).astype(str)

    @same_warnings()
    def predict_proba(self, data: Any, **reading: Unpack[FileReading]) -> NDArray[np.float64]:
        """Predict the class probabilities (n, C) of the rows of ``data``."""
        return self.pipeline.predict_proba(_table(data, **reading).frame)

    def predict_frame(
        self, data: Any, *, probabilities: bool = False, **reading: Unpack[FileReading]
    ) -> Any:
        """Return the data with ``chary_label`` and ``chary_confidence``.

        If ``probabilities`` are asked for, also with ``chary_p_`` of each class.
        """
        table = _table(data, **reading)
        added = predict_table(self.pipeline, table, probabilities=probabilities)
        return extended(data, table, added)

    def compare(self, data: Any, **reading: Unpack[FileReading]) -> RowComparison:
        """Tell whether the rows of ``data`` look like those of the labelled table.

        All rows of the labelled table count, with a label or without one.
        """
        frame = _table(data, **reading).frame
        preparation = self.pipeline[0]
        X, n_missing_of = preparation.transform_counted(frame)
        events = count_events(self.pipeline, X, missing=n_missing_of)
        return compare_with_reference(self.pipeline, events)

    def __repr__(self) -> str:
        classes = ", ".join(self.classes_[:8].tolist())
        return f"<chary model: classes {classes}>"


class Judged(_Reported):
    """How good labels are. It shows itself in a notebook and at a prompt.

    Attributes
    ----------
    summary : dict
        All figures, plain data.
    frame : DataFrame
        The data with ``chary_accept`` if an error was asked for.
    details : JudgedTable
        All that was found, for programs.
    """

    def __init__(self, data: Any, details: JudgedTable) -> None:
        self._data = data
        self.details = details

    @cached_property
    def summary(self) -> JudgedSummary:
        """All figures of the report."""
        return summarize_judged(self.details)

    @cached_property
    def frame(self) -> Any:
        """The data with the rows to accept."""
        added = {}
        if self.details.accepted is not None:
            added[ACCEPT] = pl.Series(self.details.accepted)
        return extended(self._data, self.details.tested.source.read(), added)

    @property
    def accuracy(self) -> tuple[float, float]:
        """The promised interval of the share of right labels in the first column."""
        promised = self.summary["columns"][0]["promised"]
        return promised["low"], promised["high"]

    def _page(self) -> str:
        return render_judged(self.summary)

    def _view(self) -> str:
        return render_judged(self.summary, layout=NOTEBOOK)

    def _show(self, console: Console) -> None:
        show_judged(console, self.summary, Hints())


def _table(data: Any, **reading: Unpack[FileReading]) -> Table:
    """Read a path, a frame, a dict of columns or a Table."""
    return _source(data, **reading).read()


def _source(
    data: Any, reserved: Sequence[str] = ADDED_COLUMNS, **reading: Unpack[FileReading]
) -> Source:
    """Open a path, a frame, a dict of columns or a Table."""
    refuse_after_fork()
    return open_source(data, reserved=reserved, **reading)


def _write(path: GivenPath, content: bytes, force: bool) -> None:
    """Write a file; only ``force`` replaces an existing one."""
    if os.path.lexists(path) and not force:
        raise FileExistsError(
            f"{os.fspath(path)} exists already; choose another name, or pass force=True."
        )
    with atomic_write(path, overwrite=force) as stream:
        stream.write(content)
