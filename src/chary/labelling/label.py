"""Labels for all rows of a table: learn from the rows in memory, then label batch after batch and write them.

A table that does not fit in memory is read twice: once for its labelled rows and a sample of the others, which are
learned from, and once to label and write every row. One that fits is its own sample, and a single batch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from time import monotonic, perf_counter
from typing import Any, BinaryIO

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from chary._threads import same_warnings
from chary._words import Parameter, listed, percent, shown
from chary.audit.sheet import named_rows, read_sheet, sample_of_table
from chary.labelling.audited import acceptance_levels
from chary.labelling.diagnose import DiagnosedTable, Floats, few_of
from chary.labelling.drift import recount_reference
from chary.labelling.explain import every_reason, reasons_of, reasons_to_doubt
from chary.labelling.learn import Fit, learn
from chary.labelling.predict_files import group_rows
from chary.labelling.result import (
    GIVEN,
    LEARNED,
    PREDICTED,
    Counts,
    LabeledRows,
    LabeledTable,
    columns_to_add,
    joined_labels,
    some_labels,
    suspect_labels,
    with_given,
)
from chary.labelling.score import RowCounts, Scored, probability_names, refuse_memory, score_batches
from chary.method.estimators import in_blocks_of_rows
from chary.method.priors import ACCURACY
from chary.options import Options
from chary.tables import Source, Table, TableError, write_table
from chary.tables.formats import appending
from chary.tables.table import free_memory, refuse_taken

SAMPLE = 100_000  # rows without a label to learn with, of a table that is read in parts
# What a process needs besides the rows that it keeps, how much these grow on the way, and the least of all.
_BASE, _GROWTH, _LEAST = 450 << 20, 3, 600 << 20
_NAMED = 10  # classes in a sentence
# Rows looked at for those worth a label, drawn at random: unlabelled ones, and labelled ones to compare them with.
_MOST_UNLABELED, _MOST_LABELED = 20_000, 600
_BLOCK = 2_000  # rows whose distances are worked out at a time

Progress = Callable[[str], None]


@same_warnings()
def label_table(
    table: Table | Source,
    options: Options,
    *,
    file: BinaryIO | None = None,
    progress: Progress = lambda step: None,
    diagnosed: Callable[[DiagnosedTable], None] = lambda found: None,
) -> LabeledTable:
    """Label the rows of a table whose target cell is empty.

    The model learns from all rows, or, of a table that is read in parts, from every labelled row and a uniform
    sample of the others (``options.sample``). Then every row is labelled, batch after batch. Of a table read in
    parts:

    - Counts are of all rows. Rows to check are chosen from the sample.
    - Class offsets come from the sample, so class shares that were told are met on it, and nearly on all rows.
    - The confidence from which on rows are accepted comes from the sample. That is as exact as for a table in
      memory: the confidences tried have to be fixed before the audited labels are looked at, by any rows. How
      many rows reach it is counted on all of them.

    Parameters
    ----------
    table : Table or Source
        From ``read_table``, or from ``open_source`` to be read in parts.
    options : Options
        What a user can choose. ``target`` must be given.
    file : binary file, default=None
        Where to write the table with its labels. None: they are counted, and not written.
    progress : callable, default=nothing
        Told the name of each step as it begins.
    diagnosed : callable, default=nothing
        Told how the columns were read and whether the labels are biased as soon as that is known: long before the
        labels are there.

    Returns
    -------
    LabeledTable
        Its rows are all, or those that were learned from.
    """
    watch, memory = _Watch(progress), options.memory or free_memory() // 2
    source = None if isinstance(table, Table) else table
    rows_at_hand = table if isinstance(table, Table) else _sampled(table, options, memory, progress)
    fit, X, judges = learn(rows_at_hand, options, watch, diagnosed)
    watch("Labelling")
    if options.probabilities:
        refuse_taken(fit.table, probability_names(fit.labels.classes))
    rows, counts = _label_all(fit, X, source, file, memory, progress)

    watch("Choosing rows to check")
    as_shown = np.round(rows.confidence, 4)
    next_rows = rows_to_label(X, fit.labels.labeled, as_shown, random_state=options.seed or 0)
    suspect = fit.judged.part(suspect_labels(fit.judged))
    reasons = {
        **reasons_of(fit.explainer, X, fit.table, rows.codes, next_rows),
        **reasons_to_doubt(fit.explainer, X, fit.table, fit.labels.classes, suspect, judges),
    }
    found = {
        "audit": None if fit.audit is None else fit.audit.of_rest(counts.rest),
        "notes": [*_on_parts(fit, counts), *fit.notes, *_unused_classes(fit, counts)],
    }
    result = LabeledTable(
        **vars(fit) | found,
        **vars(rows),
        counts=counts,
        levels=acceptance_levels(counts.rest, fit.judged),
        next_rows=next_rows,
        reasons=reasons,
        seconds=watch.seconds(),
    )
    if file is not None and isinstance(table, Table):
        write_table(table, result.added_columns, file)
    return result


def _sampled(source: Source, options: Options, memory: int, progress: Progress) -> Table:
    """The rows of a table to learn from: those with a label, those named by sheets, and a sample of the others."""
    if options.features is not None:
        raise TableError(
            f"A file of features is read as a whole, and this table in parts; leave {Parameter('sample')} out, "
            f"pass more with {Parameter('memory')}, or put the numbers into the table as a column of lists."
        )
    if memory < _LEAST:
        raise TableError(
            f"A table that is read in parts needs {_LEAST >> 20:,} MiB at least, and {memory >> 20:,} MiB are "
            f"allowed; pass more with {Parameter('memory')}."
        )
    sheets = [path for path in (options.audit, options.checked) if path is not None]
    return sample_of_table(
        source,
        str(options.target),
        options.sample or SAMPLE,
        **options.target_reading,
        keep=[row.number for path in sheets for row in named_rows(read_sheet(path))],
        seed=options.seed or 0,
        room=(memory - _BASE) // _GROWTH,
        checksum=options.check_sheet or bool(sheets),
        seen=lambda rows, share: progress(f"Reading: {rows:,} rows"),
    )


# ---------------------------------------------------------------- batch after batch


def _label_all(
    fit: Fit, X: NDArray[Any], source: Source | None, file: BinaryIO | None, memory: int, progress: Progress
) -> tuple[LabeledRows, Counts]:
    """Label every row; what is kept are those that were learned from, and how many rows have which label.

    A table that is read in parts is written as it is labelled.
    """
    every, options, preparation = fit.labels, fit.options, fit.model[0]
    numbers = fit.table.numbers(np.arange(len(every.codes)))
    kept: list[LabeledRows] = []
    counts: Counts | None = None
    appender: Any = None
    start = 0
    with ExitStack() as opened:
        for table, scored in _batches(fit, X, source, memory):
            frame, n = table.frame, table.frame.height
            known = slice(*np.searchsorted(numbers, [start, start + n]))
            places = (numbers[known] - start).astype(np.intp)
            rows = _labelled(fit, scored, known, places)
            if options.explain:
                features = X if source is None else preparation.part(frame, preparation.forms())
                new = np.flatnonzero(rows.source != GIVEN)
                rows = replace(rows, why=every_reason(fit.explainer, features, frame, rows.codes, new, progress))
            more = Counts.of(rows, len(every.classes))
            counts = more if counts is None else counts.plus(more)
            kept.append(some_labels(rows, places))
            start += n
            if source is not None and file is not None:
                if appender is None:  # several row groups are on their way at a time: they are smaller than usual
                    empty = replace(source.table, frame=frame.clear())
                    appender = opened.enter_context(appending(empty, file, max(1, group_rows(frame) // 4)))
                lines = table.lines if source.table.format == "jsonl" else None
                out = replace(source.table, frame=frame, lines=lines)
                appender.append(out, columns_to_add(every, frame.schema[str(options.target)], rows, fit.audit))
                progress(f"Labelling: {start:,} of {fit.table.n_rows:,} rows")
    if counts is None:
        raise TableError(f"{fit.table.name} holds no row.")
    return joined_labels(kept), counts


def _batches(fit: Fit, X: NDArray[Any], source: Source | None, memory: int) -> Iterator[tuple[Table, Scored]]:
    """All rows of the table with what the model says: those in memory at once, others block after block."""
    seen = RowCounts(fit.model)
    if source is None:
        pool = np.flatnonzero(~fit.labels.labeled)
        probs, confidence = np.zeros((len(X), len(fit.labels.classes))), np.ones(len(X))
        probs[pool], confidence[pool] = in_blocks_of_rows(fit.model[-1].predict_scores, X, pool)
        yield fit.table, Scored(probs.argmax(axis=1), confidence, probs, seen)
        return
    for part, scored in score_batches(fit.model, source.batches(), seen, cpu_count()):
        refuse_memory(source.table.name, memory)
        yield part.table, scored
    seen.refuse(source.table.name)
    recount_reference(fit.model, seen.events)


def _labelled(fit: Fit, scored: Scored, known: slice, places: NDArray[np.intp]) -> LabeledRows:
    """What the rows of a batch get: what was given stays as it was, and so does what was learned from.

    ``known`` are the rows that were learned from, which are at ``places`` of the batch.
    """
    every, classifier = fit.labels, fit.model[-1]
    given = np.full(len(scored.codes), -1)
    given[places] = every.codes[known]
    labeled = given >= 0
    predicted = np.where(labeled, given, scored.codes)
    codes, source = predicted.copy(), np.full(len(given), PREDICTED, dtype=object)
    learned = classifier.labeled_iter_[known] > 0
    if classifier.aim == ACCURACY:  # another aim comes after the rounds, and is for every row
        accepted = classifier.transduction_[known][learned].astype(str)
        codes[places[learned]] = np.searchsorted(every.classes, accepted)
    source[places[learned]], source[labeled] = LEARNED, GIVEN
    confidence = np.where(labeled, 1.0, scored.confidence)
    probs = with_given(scored.probs, given) if fit.options.probabilities else None
    return LabeledRows(codes, confidence, source, codes == predicted, probs=probs)


def rows_to_label(
    X: Floats, labeled: NDArray[np.bool_], confidence: Floats, k: int = 50, random_state: Any = None
) -> NDArray[np.intp]:
    """Up to k unlabelled rows worth a label: of low confidence, far from labels, and unlike each other.

    Among the 20 k rows of highest doubt, the product of one minus the confidence and the distance to the nearest
    labelled row, they are chosen one after the other, each the one whose confidence lacks most times its distance
    to the nearest row labelled or chosen before.
    """
    rng = np.random.default_rng(random_state)
    unlabeled = few_of(np.flatnonzero(~labeled), _MOST_UNLABELED, rng)
    reference = X[few_of(np.flatnonzero(labeled), _MOST_LABELED, rng)]
    lacking = 1 - confidence[unlabeled] + 1e-9
    blocks = np.split(unlabeled, np.arange(_BLOCK, len(unlabeled), _BLOCK))
    nearest = np.concatenate([cdist(X[block], reference).min(axis=1) for block in blocks])
    doubtful = np.argsort(-lacking * nearest, kind="stable")[: 20 * k]
    rows, lacking, nearest = unlabeled[doubtful], lacking[doubtful], nearest[doubtful]
    chosen: list[int] = []
    for _ in range(min(k, len(rows))):
        value = lacking * nearest
        value[chosen] = -1
        best = int(value.argmax())
        chosen.append(best)
        nearest = np.minimum(nearest, cdist(X[rows], X[rows[best : best + 1]])[:, 0])
    return rows[chosen]


# ---------------------------------------------------------------- sentences and seconds


def _on_parts(fit: Fit, counts: Counts) -> list[str]:
    """How a table was labelled that is read in parts, a sentence each."""
    if fit.table.taken is None:
        return []
    n_new, every = counts.n_new, fit.labels
    said = [
        f"The table was read in parts, so the model learned from its {counts.n - n_new:,} labelled rows and a "
        f"random sample of {int((~every.labeled).sum()):,} of the {n_new:,} others."
    ]
    if fit.prior.told and fit.options.aim == ACCURACY:
        found = counts.labels.sum(axis=0) / counts.n
        largest = np.argsort(-found, kind="stable")[:_NAMED]
        shares = listed([f"{percent(found[c])} {shown(every.classes[c])}" for c in largest])
        said.append(f"The class shares you gave are met on the sample; over all rows they are {shares}.")
    return said


def _unused_classes(fit: Fit, counts: Counts) -> list[str]:
    """A sentence for classes that have labels and yet no row received."""
    classes, given, received = fit.labels.classes, counts.labels[0], counts.labels[1:].sum(axis=0)
    unused = [f"{shown(classes[c])} ({given[c]:,})" for c in np.flatnonzero((given > 0) & (received == 0))]
    if not unused:
        return []
    more = [f"{len(unused) - _NAMED} more"] if len(unused) > _NAMED else []
    names = listed([*unused[:_NAMED], *more])
    said = "No row was predicted to be of these classes, although you gave labels for them (how many, in brackets)"
    return [f"{said}: {names}."]


# How long the steps of labelling usually take, in parts of the whole; ``Pace`` learns from those that are over.
_USUAL = {
    "Reading": 2,
    "Preparing columns": 3,
    "Comparing labelled and unlabelled rows": 8,
    "Training": 15,
    "Checking against held-out labels": 60,
    "Finding what decides the labels": 4,
    "Labelling": 3,
    "Choosing rows to check": 5,
}


_MEMORY = 5.0  # seconds over which an estimate of the time left is smoothed


class Pace:
    """The share of the work that is done and the seconds left, guessed from the names of the steps.

    A step says how far it is by itself, as in "Labelling: 2,000 of 8,000 rows", or is as long as usual beside
    those before it. Work of another kind is one step of its own.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock, self._start, self._since = clock, clock(), clock()
        self._begun, self._width = 0.0, 0.0
        self._counted: float | None = None
        self._total, self._looked = 0.0, clock()  # seconds that it seems to take in all, and when that was said

    def step(self, name: str) -> None:
        """A step begins, or goes on."""
        kind, _, counts = name.partition(":")
        found = re.search(r"([\d,]+) of ([\d,]+)", counts)
        done, of = (int(text.replace(",", "")) for text in found.groups()) if found else (0, 0)
        whole, before = sum(_USUAL.values()), 0.0
        if kind in _USUAL:
            before = sum(list(_USUAL.values())[: list(_USUAL).index(kind)]) / whole
        if before < self._begun:  # the work begins anew
            self._start, self._total = self._clock(), 0.0
        if before != self._begun or not self._width:
            self._since = self._clock()
        self._begun, self._width = before, _USUAL.get(kind, whole) / whole
        self._counted = done / of if of else None

    @property
    def share(self) -> float:
        """Of the work, from 0 to 1."""
        if self._counted is not None:
            return self._begun + self._width * self._counted
        before, now = self._since - self._start, self._clock() - self._since
        if not self._begun or not before:
            return self._begun
        return self._begun + self._width * -math.expm1(-now * self._begun / (before * self._width))

    @property
    def left(self) -> float | None:
        """Seconds, which do not jump when a step turns out longer or shorter; None: too early to tell."""
        now = self._clock()
        took, share = now - self._start, self.share
        if took <= 1 or not share > 0:
            return None
        told = math.exp(-(now - self._looked) / _MEMORY) if self._total > 0 else 0.0
        self._total, self._looked = told * self._total + (1 - told) * took / share, now
        return max(0.0, self._total - took)

    @property
    def words(self) -> str:
        """Both, for a person."""
        left = "" if self.left is None else f", about {self.left:.0f} s left"
        return f"{self.share:.0%}{left}"


class _Watch:
    """Announces steps, and knows when each began."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.began = progress, list[tuple[str, float]]()

    def __call__(self, step: str) -> None:
        self.began.append((step, perf_counter()))
        self.progress(step)

    def seconds(self) -> dict[str, float]:
        """How long each step took."""
        return {step: end - start for (step, start), (_, end) in pairwise([*self.began, ("", perf_counter())])}
