"""chary in Python: from a frame, a path or a model to results that show, draw and save themselves."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from io import BytesIO, StringIO
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from sklearn.base import ClassifierMixin
from sklearn.pipeline import Pipeline

from chary._files import atomic_write, sole_writer
from chary._threads import refuse_after_fork, same_warnings
from chary._words import shown
from chary.audit.drawing import draw_sheet, keep_copy, refuse_to_lose_answers
from chary.audit.judge import JudgedTable, draw_to_judge, judge_table
from chary.audit.sheet import unlabelled_rows
from chary.labelling import (
    Diagnosis,
    LabeledTable,
    Predictor,
    diagnose_table,
    label_table,
    predict_table,
)
from chary.labelling.drift import RowComparison, compare_with_reference, count_events
from chary.labelling.explain import Explainer, explainer
from chary.labelling.rows_to_check import write_rows_to_check
from chary.model_file import model_bytes
from chary.options import AUDIT_SIZE, DiagnoseOptions, JudgeOptions, LabelOptions
from chary.report import (
    DiagnosedSummary,
    Hints,
    JudgedSummary,
    LabelsSummary,
    Pace,
    render_judged,
    render_page,
    show_diagnosis,
    show_judged,
    show_labels,
    summarize,
    summarize_diagnosis,
    summarize_judged,
)
from chary.tables import Source, Table, TableError, open_source
from chary.tables.frames import aligned, alone, extended, like
from chary.tables.source import flattened
from chary.tables.table import ACCEPT, LABEL, WHY

_DRAW = "result.draw('audit.csv'), fill in its column {}, then label again with audit='audit.csv'"
_PRE = "<pre style='white-space: pre-wrap; line-height: 1.25'>{code}</pre>"


def label(
    data: Any,
    target: str,
    *,
    unlabeled: str | Sequence[str] | None = None,
    classes: str | Sequence[str] = (),
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    identifier: Sequence[str] = (),
    missing: Sequence[str] = (),
    dates: str | Sequence[str] = (),
    text: Sequence[str] = (),
    learner: Literal["auto", "mixed", "network", "linear", "boosting"] | ClassifierMixin = "auto",
    rounds: int | None = None,
    audit: str | os.PathLike[str] | None = None,
    checked: str | os.PathLike[str] | None = None,
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
    """Label the rows of a table whose target is empty, and say how far each label can be trusted.

    Parameters
    ----------
    data : DataFrame of pandas, polars or Arrow, dict of columns, path, or Table
        It is not changed.
    target : str
        The column that holds the labels; cells without one are missing.
    unlabeled : str or sequence of str, default=None
        Cell values that mean "no label", besides empty cells.
    classes : str or sequence of str, default=()
        Cell values that are classes though they look like no answer, as "unknown" or 99 do: without
        it, or ``unlabeled``, these are refused.
    drop : sequence of column names, default=()
        Columns to leave out.
    categorical, numeric, identifier : sequences of column names, default=()
        Columns that are of this kind, whatever they look like; identifiers are left out.
    missing : sequence of str, default=()
        Codes for nothing: ``"-9"`` in every column, ``"age=-9"`` in one.
    dates : str or sequence of str, default=()
        How dates such as 03/04/2024 are meant where a column does not show it: ``"day-first"``,
        ``"month-first"`` or ``"year-first"``; ``"start=month-first"`` for one column.
    text : sequence of column names, default=()
        Columns to read as free text.
    learner : {"auto", "mixed", "network", "linear", "boosting"} or classifier, default="auto"
        The model. "mixed": a linear model, trees and boosting together. "network": that of the
        paper. "auto": "mixed", unless strongly biased labels make it fail, or "boosting" above
        20,000 labels (``docs/explanation/defaults.md``). A scikit-learn classifier is cloned and
        fitted to chary's features.
    rounds : int, default=None
        How often the model is fitted anew with its own most trusted labels. None: the network once,
        others not at all; with an audit only if once proves clearly better on it.
    audit : path, default=None
        A sheet of randomly drawn rows with a person's labels. The model is judged on them, then
        learns from them.
    checked : path, default=None
        A sheet of rows that were chosen for doubt, with a person's labels. The model learns from
        them as from any other label; no accuracy is computed from them.
    class_prior : None, "labeled" or mapping, default=None
        The share of each class among all rows, if you know it, as in ``SelfTrainingClassifier``.
    aim : {"accuracy", "balanced"}, default="accuracy"
        Are rare classes as important as common ones? Then "balanced": boundaries between classes
        are moved so that a larger share of each class is found on average. Plain accuracy may fall.
        Whoever learns, and with a class prior or an audit, too: ``docs/how-to/rare-classes.md``
        says how.
    error : float, default=None
        The largest share of wrong labels among those to be accepted, such as 0.1. Needs an audit.
        Which rows can be accepted is in ``accept`` and in the column ``chary_accept`` then; given
        and audited labels always can.
    explain : bool, default=False
        Whether to find the two or three cells that decide each new label, as text in the column
        ``chary_why``: up to 160 predictions a row.
    seed : int, default=0
        The same seed gives the same result.
    delimiter : str, default=None
        Of a CSV; None: found out.
    encoding : str, default=None
        Of a CSV; None: found out, among UTF-8, UTF-16 and Windows-1252.
    sheet : str, default=None
        Of an Excel workbook that has several.
    header_row : int, default=None
        The row of a CSV or an Excel sheet, counted from 1, that holds the column names; None: found
        out.

    See Also
    --------
    chary.diagnose : Whether the labels are like the rest, alone.
    chary.judge : How good labels are that are there already.
    chary.load : The model again, for new rows.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"x": [i % 10 for i in range(80)]})
    >>> frame = frame.with_columns(y=pl.Series([("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]))
    >>> result = label(frame, target="y", rounds=0)
    >>> result.frame.columns
    ['x', 'y', 'chary_label', 'chary_confidence', 'chary_source']
    >>> result.diagnosis.verdict
    'representative'
    """
    settings = {name: value for name, value in locals().items() if name != "data"}
    options = LabelOptions.of(**settings | {"target": str(target)})
    table = _table(data, **options.reading)
    with _notebook_bar() as step:
        return Result(data, label_table(table, options, progress=step))


def diagnose(data: Any, target: str, **options: Any) -> Diagnosed:
    """Tell whether the labelled rows of a table are like the rest.

    Parameters
    ----------
    data : DataFrame of pandas, polars or Arrow, dict of columns, path, or Table
        It is not changed.
    target : str
        The column that holds the labels; cells without one are missing.
    **options
        The parameters of ``chary.label`` that say how the table is read: ``unlabeled``,
        ``classes``, ``drop``, ``categorical``, ``numeric``, ``identifier``, ``missing``, ``dates``,
        ``text``, ``delimiter``, ``encoding``, ``sheet``, ``header_row``; and ``seed``.

    See Also
    --------
    chary.label : Labels the rest, and has the same diagnosis.

    Examples
    --------
    >>> data = {"x": [i % 10 for i in range(80)], "y": [("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]}
    >>> diagnose(data, target="y").verdict
    'representative'
    """
    chosen = DiagnoseOptions.of(target=str(target), **options)
    table = _table(data, **chosen.reading)
    result = diagnose_table(table, chosen)
    return Diagnosed(result.diagnosis, summarize_diagnosis(result))


def judge(data: Any, labels: Any, audit: Any, *, level: float = 0.95, **options: Any) -> Judged:
    """Say how good labels are, whoever made them, by a person's answers for rows drawn at random.

    Parameters
    ----------
    data : DataFrame of pandas, polars or Arrow, dict of columns, path, or Table
        It is not changed.
    labels : str, or two of them
        The column of labels under test; several are also compared.
    audit : path or array of shape (n,)
        A sheet of ``draw_rows`` with a person's answers. Or answers for all rows, missing where
        nobody looked: then the figures hold only if the rows looked at were drawn at random from
        all, which cannot be checked. A pandas Series is aligned by its index, with that of a pandas
        frame or with row numbers from 0.
    level : float, default=0.95
        Of the intervals.
    **options
        ``confidence``, a column of numbers, the larger the surer the label; ``by``, columns to
        slice by; ``error``, the largest share of wrong labels among those to accept; ``annotator``,
        further people's sheets; ``unlabeled`` as in ``label``; for a path also ``delimiter``,
        ``encoding``, ``sheet`` and ``header_row``.

    Examples
    --------
    >>> frame = {"text": [f"t{i}" for i in range(500)], "rule": ["spam" if i % 5 else "ham" for i in range(500)]}
    >>> truth = [("spam" if i % 4 else "ham") if i in range(7, 500, 12) else None for i in range(500)]
    >>> found = judge(frame, "rule", truth)
    >>> found.summary["columns"][0]["accuracy"]["correct"], found.summary["audited"]
    (34, 42)
    """
    chosen = JudgeOptions.of(labels=labels, **options)
    source = flattened(_source(data, reserved=(), **chosen.reading))
    audit = aligned(audit, data, source.n_rows, "the truth")
    return Judged(data, judge_table(source, audit, chosen, level))


def draw_rows(
    data: Any,
    labels: Any,
    path: str | os.PathLike[str],
    k: int = AUDIT_SIZE,
    *,
    force: bool = False,
    **options: Any,
) -> None:
    """Write a sheet (CSV) of k rows drawn at random from all rows, without the labels, for a person to label.

    Fill in its column ``chary_truth``, then pass its path as ``audit`` to ``judge``. Where a
    smaller sheet of the table is already, rows are added to it and its answers stay.

    Parameters
    ----------
    data : DataFrame of pandas, polars or Arrow, dict of columns, path, or Table
        As in ``judge``.
    labels : str or list
        The columns under test, which the sheet does not show.
    path : path
        Of the sheet.
    k : int, default=30
        How many rows it shall hold.
    force : bool, default=False
        Whether to draw anew in place of what is there; a sheet that holds answers is refused.
    **options
        ``discard_answers``, to draw anew even in place of answers, of which a copy is kept;
        ``confidence`` and ``hide``, columns that the sheet does not show either; ``show``, columns
        that it shows although the label can be told from them; ``seed``; ``unlabeled`` as in
        ``label``; for a path also ``delimiter``, ``encoding``, ``sheet``, ``header_row``.
    """
    chosen = JudgeOptions.of(labels=labels, force=force, **options)
    source = flattened(_source(data, reserved=(), **chosen.reading))
    draw_to_judge(source, path, chosen, k)


def load(path: str | os.PathLike[str]) -> TableModel:
    """Read a model that was made from a table: ``result.save(path)``, or by the command line.

    Opening a file from a stranger runs no code, as it holds arrays and JSON alone (no pickle), and
    a damaged one is refused. Nobody can tell from the file whether it predicts well or honestly
    (``docs/reference/reliability.md``).

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
    >>> predict = predictor(label(frame, target="y", learner="linear").model, columns=["x"])
    >>> [batch["chary_label"].to_list() for batch in predict([frame[:2], frame[9:10]])]
    [['a', 'a'], ['b']]
    """
    how: dict[str, Any] = {
        "columns": columns,
        "probabilities": probabilities,
        "threshold": threshold,
    }
    if isinstance(model, (str, os.PathLike)):
        return Predictor.from_file(model, **how)
    return Predictor(
        model_bytes(model.pipeline) if isinstance(model, TableModel) else bytes(model), **how
    )


def explain(model: Any, rows: Any = None, *, background: Any = None, **reading: Any) -> Any:
    """Why these labels: the two or three cells that decide each, and what every column adds.

    A cell speaks for a label if the model would be less sure of it with the cells of other rows in
    its place: see ``chary.labelling.explain.effects``. This tells what the model goes by, not what
    is true of the world. The cost is up to 160 predictions a row.

    Parameters
    ----------
    model : Result or TableModel
        From ``chary.label`` or ``chary.load``.
    rows : row numbers from 0, a mask or None; with a model a frame, dict of columns, path or Table
        What to explain. Of a Result: rows of its table (None: all), with the labels that they have
        in ``result.frame``, compared with its unlabelled rows. Of a model: new rows.
    background : frame, dict of columns, path or Table, default=None
        The rows that new ones are compared with. None: with each other.
    **reading
        For paths, the parameters of ``chary.tables.read_table``.

    Returns
    -------
    DataFrame
        Of the kind of the rows, in their order: ``chary_label``; ``chary_why``, missing where no
        cell stands out; and for each of the (at most 20) columns that matter most how much it
        speaks for the label, in log-odds.

    Examples
    --------
    >>> from chary import label
    >>> frame = pl.DataFrame({"x": [i % 10 for i in range(80)], "z": [i % 3 for i in range(80)]})
    >>> frame = frame.with_columns(y=pl.Series([("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]))
    >>> explain(label(frame, target="y", learner="linear"), [0, 8])["chary_why"].to_list()
    ['x = 0', 'x = 8']
    """
    if isinstance(model, Result):
        result, table = model.details, model.details.table
        if str(getattr(rows, "dtype", "")) == "bool":
            rows = aligned(rows, model.data, table.n_numbers, "the mask")
        numbers = table.numbers(np.arange(table.frame.height))
        if rows is not None:
            numbers = np.atleast_1d(np.arange(table.n_numbers)[rows])
        places = table.places_of(numbers)
        found = _effects(
            result.explainer, result.features(places), result.codes[places], table.frame[places]
        )
        return like(model.data, found, numbers)

    preparation, classifier = model.pipeline[0], model.pipeline[-1]
    frame = _table(rows, **reading).frame
    X = preparation.transform(frame)
    others = X if background is None else preparation.transform(_table(background, **reading).frame)
    if len(others) < 2:
        raise TableError(
            "A single row has nothing to be compared with; pass more of them as background."
        )
    codes = classifier.predict_proba(X).argmax(axis=1)
    return like(rows, _effects(explainer(classifier, preparation, others), X, codes, frame))


def _effects(
    explained: Explainer, X: NDArray[Any], codes: NDArray[np.intp], frame: pl.DataFrame
) -> dict[str, Any]:
    """The label of each row, the cells that decide it, and how much each column speaks for it."""
    effects = explained.effects(X, codes)
    effect_of = {name: effects[:, k] for k, name in enumerate(explained.columns)}
    names = [name for name in dict.fromkeys([*frame.columns, *effect_of]) if name in effect_of]
    return {
        LABEL: np.asarray(explained.classifier.classes_).astype(str)[codes].tolist(),
        WHY: explained.texts(X, codes, frame, effects).to_list(),
        **{name: effect_of[name] for name in names},
    }


@contextmanager
def _notebook_bar() -> Iterator[Callable[[str], None]]:
    """A bar with the share done and the time left while a notebook waits; nothing elsewhere."""
    if "ipykernel" not in sys.modules:
        yield lambda step: None
        return
    from IPython.display import HTML, display

    pace, handle = Pace(), display(HTML(""), display_id=True)

    def step(name: str) -> None:
        pace.step(name)
        handle.update(
            HTML(f"<progress max='1' value='{pace.share:.3f}'></progress> {name}: {pace.words}")
        )

    try:
        yield step
    finally:
        handle.update(HTML(""))


class _Shown:
    """Something that shows itself at a prompt and in a notebook as the command line does in a terminal."""

    summary: Any  # plain data

    def _show(self, console: Console) -> None:
        raise NotImplementedError

    def _recorded(self) -> Console:
        console = Console(file=StringIO(), width=100, record=True, force_jupyter=False)
        self._show(console)
        return console

    def __repr__(self) -> str:
        return "\n".join(
            line.rstrip() for line in self._recorded().export_text().splitlines()
        ).strip("\n")

    def _repr_html_(self) -> str:
        return self._recorded().export_html(inline_styles=True, code_format=_PRE)


class _Reported(_Shown):
    """Something that has a report, too."""

    def _page(self) -> str:
        raise NotImplementedError

    def report(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the whole report to ``path``: one HTML page; an existing file only with ``force``."""
        _write(path, self._page().encode("utf-8", "backslashreplace"), force)


class Diagnosed(_Shown):
    """Whether the labelled rows are like the rest.

    Attributes
    ----------
    details : Diagnosis
        As ``chary.labelling.diagnose`` gives it.
    summary : dict
        Plain data, as a program gets it.
    """

    def __init__(self, details: Diagnosis, summary: DiagnosedSummary) -> None:
        self.details = details
        self.summary = summary

    @property
    def verdict(self) -> str:
        """One of: representative, mildly biased, strongly biased, too few rows to tell."""
        return self.details.verdict

    @property
    def sentence(self) -> str:
        """The verdict, why, what it means and what to do."""
        return self.details.sentence

    def _show(self, console: Console) -> None:
        show_diagnosis(console, self.summary, Hints())


class Result(_Reported):
    """A labelled table. It shows itself in a notebook and at a prompt.

    Attributes
    ----------
    frame : DataFrame
        As it was given, with ``chary_label``, ``chary_confidence``, ``chary_source`` and, if an
        error was asked for, ``chary_accept``. A path or a dict gives a polars frame.
    probabilities : DataFrame
        One column a class, named like it; rows in the order of ``frame``.
    diagnosis : Diagnosed
    importance : DataFrame
        What the labels owe to each column, the most important first: ``column``, and ``change`` of
        the probabilities on average if its cells are shuffled among the rows.
    second_look : DataFrame
        Rows whose given label a model that had not seen it contradicts and is sure; they may be
        right. With ``chary_row`` (from 1, as in the report), ``chary_held_out``, what it says,
        ``chary_probability`` of that and ``chary_given_probability`` of the given label.
    summary : dict
        All figures of the report, plain data.
    model : TableModel
    details : LabeledTable
        As ``chary.labelling.label_table`` gives it.
    """

    def __init__(self, data: Any, details: LabeledTable) -> None:
        self.data = data  # as it was given
        self.details = details

    @cached_property
    def frame(self) -> Any:
        return extended(
            self.data, self.details.table, self.details.added_columns, self.details.target
        )

    @cached_property
    def probabilities(self) -> Any:
        probs = self.details.probabilities()
        columns = {
            str(name): probs[:, code] for code, name in enumerate(self.details.labels.classes)
        }
        _, in_place = self.details.table.with_blank_rows(columns)
        return like(self.data, in_place if self.details.table.blank is not None else columns)

    @cached_property
    def importance(self) -> Any:
        columns = self.summary["importance"]["columns"]
        names = [column["column"] for column in columns]
        changes = [column["change"] for column in columns]
        return alone(self.data, {"column": names, "change": changes})

    @cached_property
    def second_look(self) -> Any:
        rows, doubted = self.summary["second_look"], self.details.second_look
        added = {
            "chary_row": pl.Series(self.details.table.numbers(doubted.rows) + 1),
            "chary_held_out": pl.Series([row["held_out"] for row in rows], dtype=pl.String),
            "chary_probability": pl.Series(np.round(doubted.probability, 4)),
            "chary_given_probability": pl.Series(np.round(doubted.own, 4)),
        }
        return extended(self.data, self.details.table, added, rows=doubted.rows)

    @cached_property
    def diagnosis(self) -> Diagnosed:
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
        return summarize(self.details)

    @property
    def model(self) -> TableModel:
        return TableModel(self.details.model)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model to ``path``, for ``chary.load`` and the commands; ``force`` as in ``report``."""
        _write(path, model_bytes(self.details.model), force)

    def draw(
        self,
        path: str | os.PathLike[str],
        k: int | None = None,
        *,
        seed: int = 0,
        force: bool = False,
        discard_answers: bool = False,
    ) -> None:
        """Write a sheet (CSV) of k unlabelled rows drawn at random, thirty if there are so many, to be labelled.

        It goes to ``path``; with ``force`` it is drawn anew in place of what is there, unless that
        is a sheet with answers: for that pass ``discard_answers``, which keeps a copy of it. Where
        a smaller sheet of the same table and seed is already, rows are added to it and its answers
        stay. Fill in its target column, then pass its path as ``audit`` to ``label``, with the same
        table.
        """
        details = self.details
        labels = (
            details.labels
            if details.audit is None
            else details.labels.without(details.audit.answers.rows)
        )
        k = details.audit_size if k is None else k
        if k < 2:
            raise TableError(
                f"{k} rows are too few to judge by; look at each unlabelled row instead."
            )
        pool = unlabelled_rows(details.table, details.target, labels, **details.options.for_sheet)
        draw_sheet(path, pool, k, seed=seed, force=force, discard_answers=discard_answers)

    def rows_to_check(
        self, path: str | os.PathLike[str], *, force: bool = False, discard_answers: bool = False
    ) -> None:
        """Write a sheet (CSV) of the rows of highest doubt to ``path``, to be checked one by one.

        Fill in its target column, then pass its path as ``checked`` to ``label``: the model learns
        from the labels, and no accuracy is computed from them, as the rows were not drawn at
        random. An existing file is replaced with ``force`` only, a sheet that holds answers with
        ``discard_answers``, which keeps a copy.
        """
        target = self.details.target
        stream = BytesIO()
        write_rows_to_check(self.details, stream)
        with sole_writer(path):
            if not discard_answers:
                refuse_to_lose_answers(path, target, "checked")
            keep_copy(path, target)
            _write(path, stream.getvalue(), force or discard_answers)

    def _page(self) -> str:
        return render_page(self.summary, self._hints)

    @property
    def _hints(self) -> Hints:
        return Hints(
            draw=_DRAW.format(shown(self.details.target)) if self.details.audit_size else ""
        )

    def _show(self, console: Console) -> None:
        show_labels(console, self.summary, self._hints)


class TableModel:
    """A model that takes tables: a pandas or polars frame, a dict of columns, or the path of a file.

    Columns are found by name; further ones are ignored. ``pipeline`` is the scikit-learn Pipeline
    that does the work, preparation first.

    Parameters
    ----------
    pipeline : Pipeline
        As ``chary.model_file.load_model`` gives it.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, as text, in the order of the columns of ``predict_proba``."""
        return self.pipeline.classes_.astype(str)

    @same_warnings()
    def predict(self, data: Any, **reading: Any) -> NDArray[Any]:
        """The label of each row (n,) of ``data``, as text; ``reading`` as in ``read_table``, for a file."""
        return np.asarray(self.pipeline.predict(_table(data, **reading).frame)).astype(str)

    @same_warnings()
    def predict_proba(self, data: Any, **reading: Any) -> NDArray[np.float64]:
        """Class probabilities (n, C) of the rows of ``data``."""
        return self.pipeline.predict_proba(_table(data, **reading).frame)

    def predict_frame(self, data: Any, *, probabilities: bool = False, **reading: Any) -> Any:
        """The same kind of frame as ``data`` with ``chary_label`` and ``chary_confidence``.

        And with ``chary_p_`` of each class if ``probabilities`` are asked for.
        """
        table = _table(data, **reading)
        return extended(
            data, table, predict_table(self.pipeline, table, probabilities=probabilities)
        )

    def compare(self, data: Any, **reading: Any) -> RowComparison:
        """Whether rows of ``data`` look like those learned from: ``alike``, ``sentence``, ``columns``.

        The rows learned from are all of the labelled table, with a label or without one.
        """
        seen = count_events(
            self.pipeline, *self.pipeline[0].transform_counted(_table(data, **reading).frame)
        )
        return compare_with_reference(self.pipeline, seen)

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
        As it was given, with ``chary_accept`` if an error was asked for.
    details : JudgedTable
        All that was found, for programs.
    """

    def __init__(self, data: Any, details: JudgedTable) -> None:
        self._data = data
        self.details = details

    @cached_property
    def summary(self) -> JudgedSummary:
        return summarize_judged(self.details)

    @cached_property
    def frame(self) -> Any:
        accepted = self.details.accepted
        added = {} if accepted is None else {ACCEPT: pl.Series(accepted)}
        return extended(self._data, self.details.tested.source.read(), added)

    @property
    def accuracy(self) -> tuple[float, float]:
        """Between which shares the labels of the first column are right: the interval that is promised."""
        promised = self.summary["columns"][0]["promised"]
        return promised["low"], promised["high"]

    def _page(self) -> str:
        return render_judged(self.summary)

    def _show(self, console: Console) -> None:
        show_judged(console, self.summary, Hints())


def _table(data: Any, **reading: Any) -> Table:
    """A path, a pandas or polars frame, a dict of columns or a Table as a table."""
    return _source(data, **reading).read()


def _source(data: Any, **reading: Any) -> Source:
    refuse_after_fork()
    return open_source(data, **reading)


def _write(path: str | os.PathLike[str], content: bytes, force: bool) -> None:
    if os.path.lexists(path) and not force:
        raise FileExistsError(
            f"{os.fspath(path)} exists already; choose another name, or pass force=True."
        )
    with atomic_write(path, overwrite=force) as stream:
        stream.write(content)
