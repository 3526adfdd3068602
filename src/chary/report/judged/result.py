"""A table with labels under test, and the truth of some rows, in; a judgement that shows itself out."""

from __future__ import annotations

import os
from functools import cached_property
from io import StringIO
from typing import Any

import polars as pl
from rich.console import Console

from chary._files import atomic_write
from chary.jobs import JudgedTable, draw_to_judge, judge_table
from chary.report.hints import JudgeHints
from chary.report.judged.page import render_judged
from chary.report.judged.summary import JudgedSummary, summarize_judged
from chary.report.judged.terminal import show_judged
from chary.tables import extended, scan_table

_READING = ("delimiter", "encoding", "sheet")


def judge(data: Any, labels: Any, truth: Any, **settings: Any) -> Judged:
    """Say how good labels are, whoever made them, by a person's answers for rows drawn at random.

    Parameters
    ----------
    data : pandas or polars DataFrame, dict of columns, path, or Table
        It is not changed.
    labels : str, or two of them
        The column of labels under test; two are also compared.
    truth : path, column name or array of shape (n,)
        A sheet of ``draw_to_judge`` with a person's answers. Or answers for all rows, missing where nobody looked:
        then the figures hold only if the rows looked at were drawn at random from all, which cannot be checked.
    **settings
        Every parameter of ``chary.jobs.judge_table``: ``confidence``, ``by``, ``error``, ``unlabeled``,
        ``exact_labels``, ``level``; for a path also those of ``chary.tables.read_table``.

    Examples
    --------
    >>> frame = {"text": [f"t{i}" for i in range(500)], "rule": ["spam" if i % 5 else "ham" for i in range(500)]}
    >>> truth = [("spam" if i % 4 else "ham") if i in range(7, 500, 12) else None for i in range(500)]
    >>> found = judge(frame, "rule", truth)
    >>> found.summary["columns"][0]["accuracy"]["correct"], found.summary["audited"]
    (34, 42)
    """
    scan = scan_table(data, **{name: settings.pop(name) for name in _READING if name in settings})
    return Judged(data, judge_table(scan, _names(labels), truth, **settings))


def draw_rows(data: Any, labels: Any, path: str | os.PathLike[str], k: int = 30, **settings: Any) -> None:
    """Write a sheet (CSV) of k rows drawn at random from all rows, without the labels, for a person to label.

    Fill in its column ``chary_truth``, then pass its path as ``truth`` to ``judge``. Where a smaller sheet of the
    table is already, rows are added to it and its answers stay.

    Parameters
    ----------
    data : pandas or polars DataFrame, dict of columns, path, or Table
        As in ``judge``.
    labels : str or list of two
        The columns under test, which the sheet does not show.
    path : path
        Of the sheet.
    k : int, default=30
        How many rows it shall hold.
    **settings
        Every parameter of ``chary.jobs.draw_to_judge``: ``confidence``, ``hide``, ``seed``, ``overwrite`` and so
        on; for a path also those of ``chary.tables.read_table``.
    """
    scan = scan_table(data, **{name: settings.pop(name) for name in _READING if name in settings})
    draw_to_judge(scan, _names(labels), path, k, **settings)


class Judged:
    """How good labels are. It shows itself at a prompt.

    Attributes
    ----------
    summary : dict
        All figures, plain data.
    frame : DataFrame
        As it was given, with ``chary_accept`` if an error was asked for.
    details : JudgedTable
        As ``chary.jobs.judge_table`` gives it.
    """

    def __init__(self, data: Any, details: JudgedTable) -> None:
        self._data = data
        self.details = details

    @cached_property
    def summary(self) -> JudgedSummary:
        return summarize_judged(self.details)

    @cached_property
    def frame(self) -> Any:
        accepted = self.details.accepted()
        added = {} if accepted is None else {"chary_accept": pl.Series(accepted)}
        return extended(self._data, self.details.scan.whole(), added)

    @property
    def accuracy(self) -> tuple[float, float]:
        """Between which shares the labels of the first column are right: the interval that is promised."""
        promised = self.summary["columns"][0]["promised"]
        return promised["low"], promised["high"]

    def report(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the whole report to ``path``: one HTML page; an existing file only with ``overwrite``."""
        with atomic_write(path, overwrite=overwrite) as stream:
            stream.write(render_judged(self.summary).encode("utf-8", "backslashreplace"))

    def __repr__(self) -> str:
        console = Console(file=StringIO(), width=100, color_system=None)
        show_judged(console, self.summary, JudgeHints())
        text: str = console.file.getvalue()  # type: ignore[attr-defined]
        return "\n".join(line.rstrip() for line in text.splitlines())

    def _repr_html_(self) -> str:
        """A notebook shows the sentences; the whole is in ``report``."""
        from html import escape

        said = [column["sentence"] for column in self.summary["columns"]]
        said += [note["text"] for note in self.summary["notes"] if note["warning"]]
        return "".join(f"<p>{escape(sentence)}</p>" for sentence in said)


def _names(labels: Any) -> list[str]:
    return [str(name) for name in labels] if isinstance(labels, (list, tuple)) else [str(labels)]
