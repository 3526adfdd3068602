"""A frame, a path or a table with a few labels in; a result that shows, draws and saves itself out."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from chary._files import atomic_write
from chary._words import shown
from chary.evaluation import Diagnosis
from chary.jobs import LabeledTable, diagnose_table, draw_sheet, label_table, save, write_rows_to_check
from chary.report.brief import brief, brief_diagnosis, brief_html, brief_text
from chary.report.given import READING, given
from chary.report.hints import Hints
from chary.report.model import TableModel
from chary.report.page import render_page
from chary.report.plots import Plots
from chary.report.summary import Summary, summarize, summarize_diagnosis
from chary.tables import TableError, alone, behind, extended, like, origin_to_tell, part_of, read_table

_DRAW = "result.draw('audit.csv'), fill in its column {}, then label again with audit='audit.csv'"


def label(data: Any, target: Any, **settings: Any) -> Result:
    """Label the rows of a table whose target is empty, and say how far each label can be trusted.

    Parameters
    ----------
    data : pandas or polars DataFrame, dict of columns, path, or Table
        It is not changed.
    target : str
        The column that holds the labels; cells without one are missing.
    **settings
        Every parameter of ``chary.jobs.label_table``: ``audit``, ``class_prior``, ``aim``, ``error``, ``rounds``,
        ``drop``, ``unlabeled``, ``seed`` and so on; for a path also those of ``chary.tables.read_table``.

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
    found = given(data, settings)
    return Result(found.data, label_table(found.table, str(target), **found.settings))


def diagnose(data: Any, target: Any, **settings: Any) -> Diagnosed:
    """Tell whether the labelled rows of a table are like the rest.

    Parameters
    ----------
    data : pandas or polars DataFrame, dict of columns, path, or Table
        It is not changed.
    target : str
        The column that holds the labels; cells without one are missing.
    **settings
        Every parameter of ``chary.jobs.diagnose_table``; for a path also those of ``chary.tables.read_table``.

    See Also
    --------
    chary.label : Labels the rest, and has the same diagnosis.

    Examples
    --------
    >>> data = {"x": [i % 10 for i in range(80)], "y": [("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]}
    >>> diagnose(data, target="y").verdict
    'representative'
    """
    found = given(data, settings)
    result = diagnose_table(found.table, str(target), **found.settings)
    return Diagnosed(result.diagnosis, summarize_diagnosis(result))


class Diagnosed:
    """Whether the labelled rows are like the rest.

    Attributes
    ----------
    details : Diagnosis
        As ``chary.evaluation.diagnose`` gives it.
    summary : dict
        Plain data, as a program gets it.
    """

    def __init__(self, details: Diagnosis, summary: dict[str, Any]) -> None:
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

    @property
    def plot(self) -> Plots:
        """``plot.bias()``."""
        return Plots(self.summary)

    def __repr__(self) -> str:
        return brief_text(brief_diagnosis(self.summary, Hints()))

    def _repr_html_(self) -> str:
        return brief_html(brief_diagnosis(self.summary, Hints()))


class Result:
    """A labelled table. It shows itself in a notebook and at a prompt.

    Attributes
    ----------
    frame : DataFrame
        As it was given, with ``chary_label``, ``chary_confidence``, ``chary_source`` and, if an error was asked
        for, ``chary_accept``. A path or a dict gives a polars frame.
    probabilities : DataFrame
        One column a class, named like it; rows in the order of ``frame``.
    diagnosis : Diagnosed
    importance : DataFrame
        What the labels owe to each column, the most important first: ``column``, ``change`` of the probabilities
        on average, and share of the labels that are ``flipped``, if its cells are shuffled among the rows.
    second_look : DataFrame
        Rows whose given label a model that had not seen it contradicts and is sure; they may be right. With
        ``chary_row`` (from 1, as in the report), ``chary_held_out``, what it says, ``chary_probability`` of that
        and ``chary_given_probability`` of the given label, and ``chary_why``, what speaks for the former.
    summary : dict
        All figures of the report, plain data.
    model : TableModel
    details : LabeledTable
        As ``chary.jobs.label_table`` gives it.
    """

    def __init__(self, data: Any, details: LabeledTable) -> None:
        self.data = data  # as it was given
        self.details = details

    @cached_property
    def frame(self) -> Any:
        return extended(self.data, self.details.table, self.details.added_columns, self.details.target)

    @cached_property
    def probabilities(self) -> Any:
        probs = self.details.probabilities()
        return like(
            self.data, {str(name): probs[:, code] for code, name in enumerate(self.details.labels.classes)}
        )

    @cached_property
    def importance(self) -> Any:
        columns = (self.summary["importance"] or {"columns": []})["columns"]
        names = ("column", "change", "flipped")
        return alone(self.data, {name: [column[name] for column in columns] for name in names})

    @cached_property
    def second_look(self) -> Any:
        rows, doubted = self.summary["second_look"], self.details.second_look
        why = ["; ".join(cell["shown"] for cell in row["why"]) for row in rows]
        added = {
            "chary_row": pl.Series(doubted.rows + 1),
            "chary_held_out": pl.Series([row["held_out"] for row in rows], dtype=pl.String),
            "chary_probability": pl.Series(np.round(doubted.probability, 4)),
            "chary_given_probability": pl.Series(np.round(doubted.own, 4)),
            "chary_why": pl.Series(why, dtype=pl.String),
        }
        return extended(part_of(self.data, self.details.table, doubted.rows), self.details.table, added)

    @cached_property
    def diagnosis(self) -> Diagnosed:
        about = {name: self.summary[name] for name in ("file", "target", "notes", "spellings", "columns")}
        return Diagnosed(self.details.diagnosis, {**self.summary["diagnosis"], **about})

    @cached_property
    def summary(self) -> Summary:
        return summarize(self.details)

    @property
    def model(self) -> TableModel:
        return TableModel(self.details.model)

    @property
    def plot(self) -> Plots:
        """``plot.bias()`` and ``plot.confidence()``."""
        return Plots(self.summary)

    def report(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the whole report to ``path``: one HTML page; an existing file only with ``overwrite``."""
        with _writing(path, overwrite) as stream:
            stream.write(render_page(self.summary, self._hints).encode("utf-8", "backslashreplace"))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model to ``path``, for ``chary.load`` and the commands; ``overwrite`` as in ``report``."""
        _refuse_there(path, overwrite)
        save(self.details.model, path, overwrite=overwrite)

    def draw(
        self, path: str | os.PathLike[str], k: int | None = None, *, seed: int = 0, overwrite: bool = False
    ) -> None:
        """Write a sheet (CSV) of k unlabelled rows drawn at random, thirty if there are so many, to be labelled.

        It goes to ``path``; with ``overwrite`` it is drawn anew in place of what is there.
        Where a smaller sheet of the same table and seed is already, rows are added to it and its answers
        stay. Fill in its target column, then pass its path as ``audit`` to ``label``, with the same table.
        """
        details = self.details
        labels = details.labels if details.audit is None else details.labels.without(details.audit.answers.rows)
        k = details.audit_size if k is None else k
        if k < 2:
            raise TableError(f"{k} rows are too few to judge by; look at each unlabelled row instead.")
        unlabeled, exact = details.settings["unlabeled"], details.settings["exact_labels"]
        origin = origin_to_tell(details.table, details.target, labels, unlabeled, exact_labels=exact)
        cells = behind(details.table, details.target)
        draw_sheet(path, details.table, origin, cells, labels.labeled, k, seed=seed, overwrite=overwrite)

    def rows_to_check(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a sheet (CSV) of the rows of highest doubt to ``path``, to be checked one by one.

        Fill in its target column, then pass its path as ``checked`` to ``label``: the model learns from the
        labels, and no accuracy is computed from them, as the rows were not drawn at random. An existing file is
        replaced with ``overwrite`` only.
        """
        with _writing(path, overwrite) as stream:
            write_rows_to_check(self.details, stream)

    @property
    def _hints(self) -> Hints:
        return Hints(draw=_DRAW.format(shown(self.details.target)) if self.details.audit_size else "")

    def __repr__(self) -> str:
        return brief_text(brief(self.summary, self._hints))

    def _repr_html_(self) -> str:
        return brief_html(brief(self.summary, self._hints))


def _writing(path: str | os.PathLike[str], overwrite: bool) -> Any:
    _refuse_there(path, overwrite)
    return atomic_write(path, overwrite=overwrite)


def _refuse_there(path: str | os.PathLike[str], overwrite: bool) -> None:
    if os.path.lexists(path) and not overwrite:
        raise FileExistsError(f"{os.fspath(path)} exists already; choose another name, or pass overwrite=True.")


def _signature(function: Callable[..., Any], job: Callable[..., Any]) -> inspect.Signature:
    """What ``help`` shows instead of ``**settings``: the parameters that are passed on, whatever they are."""
    own = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    passed = [p for p in inspect.signature(job).parameters.values() if p.kind is p.KEYWORD_ONLY]
    of_files = [inspect.signature(read_table).parameters[name] for name in READING]
    return inspect.Signature([*own, *passed, *of_files])


def _docstring(function: Callable[..., Any], job: Callable[..., Any]) -> str | None:
    """Likewise: what the job and ``read_table`` say of these parameters, in the place of ``**settings``."""
    if function.__doc__ is None:  # python -OO
        return None
    own, _, rest = function.__doc__.partition("    **settings\n")
    _, _, after = rest.partition("\n\n")
    names = [name for name in inspect.signature(function).parameters if name not in ("data", "target")]
    told = [*_entries(job), *_entries(read_table)]
    kept = [text for heads, text in told if set(heads) & set(names)]
    return f"{own}{''.join(kept)}\n{after}"


def _entries(function: Callable[..., Any]) -> list[tuple[list[str], str]]:
    """The parameters of a docstring: (names, the lines about them)."""
    _, _, below = (function.__doc__ or "").partition("    Parameters\n    ----------\n")
    listed = below.partition("\n\n")[0].rstrip() + "\n"
    found = re.split(r"^(?=    \S)", listed, flags=re.MULTILINE)
    return [(re.split(r",\s*", text.strip().partition(" : ")[0]), text) for text in found if text.strip()]


def _tell(function: Any, job: Callable[..., Any]) -> None:
    function.__signature__ = _signature(function, job)
    function.__doc__ = _docstring(function, job)


_tell(label, label_table)
_tell(diagnose, diagnose_table)
