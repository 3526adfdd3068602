"""Paths, a target or labels to judge, and what was typed in; the workbench behind the pages out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from chary.jobs import JudgedTable, LabeledTable
from chary.report import Hints, JudgeHints
from chary.review.files import Fingerprint, paths_of
from chary.review.judging import Judging
from chary.review.labelling import Fixed, Labelling
from chary.review.opening import open_table
from chary.review.settings import Settings, changed, read_kept
from chary.review.workbench import Workbench
from chary.tables import Scan, TableError, require_writable


class Typed(NamedTuple):
    """How what a page does would be typed; left out, nothing is said of it."""

    commands: Callable[[Settings, Path | None, Path | None], list[str]] | None = None
    hints: Callable[[LabeledTable], Hints] | None = None
    judge_hints: Callable[[JudgedTable], JudgeHints] | None = None


def begin(
    paths: Sequence[str],
    target: str | None = None,
    *,
    labels: Sequence[str] = (),
    confidence: str | None = None,
    kinds: Mapping[str, str] | None = None,
    fixed: Fixed = Fixed(),  # noqa: B008 - immutable
    reading: Mapping[str, Any] | None = None,
    typed: Callable[[Labelling | Judging], Typed] = lambda job: Typed(),
) -> Workbench:
    """Read a table, and go on where somebody stopped.

    Parameters
    ----------
    paths : sequence of paths
        Of the table, or of a finished result.
    target : str, default=None
        The column to label; None to judge ``labels``.
    labels, confidence
        Labels under test, and the column that says how sure each is.
    kinds : mapping, default=None
        By column what it is to be taken for, of ``chary.review.settings.KINDS``; it precedes what was kept.
    fixed : Fixed
        What cannot be chosen on the page.
    reading : mapping, default=None
        Parameters of ``read_table``.
    typed : callable, default=nothing
        From the job to the commands that would do the same.
    """
    if (target is None) == (not labels):
        raise TableError("Give either the column to label or the column of labels to judge.")
    opened = open_table(paths, keep=target is None, **(reading or {}))
    table = opened.table
    require_writable(table)
    job: Labelling | Judging
    if target is None:
        job = Judging(Scan(table, table.frame.lazy(), table.frame.height), labels, confidence, fixed)
        told = typed(job)
        job.hints = told.judge_hints or job.hints
    else:
        job = Labelling(table, target, fixed)
        told = typed(job)
        job.hints = told.hints or job.hints
    where = paths_of(opened.folder, opened.stem, table, judged=target is None)
    about = {"target": target, "labels": list(labels), "confidence": confidence}
    columns = [name for name in table.frame.columns if name != target]
    kept = read_kept(where.kept, about, columns, job.classes)
    if kinds:
        kept = replace(kept, settings=changed(kept.settings, {"kinds": dict(kinds)}, columns, job.classes))
    return Workbench(
        job,
        where,
        Fingerprint(opened.files),
        kept,
        about=about,
        notices=opened.notes,
        commands=told.commands,
    )
