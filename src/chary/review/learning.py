"""A job, settings and the sheets to learn from in; what was learned last out, and the work that learns more.

Everything long is done in one thread of the background; what it found is handed over under the lock of the pages.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary.jobs import Enough, JudgedTable, LabeledTable
from chary.report import summarize_diagnosis
from chary.review.background import Background, Progress
from chary.review.doubt import Doubt, columns_by_importance
from chary.review.judging import Judging
from chary.review.labelling import Labelling
from chary.review.settings import LIVE, Settings
from chary.review.truth import truth_of_judged, truth_of_labels
from chary.tables import Filling


class Given(NamedTuple):
    """What there is to learn from."""

    settings: Settings
    audit: Path | None
    checked: Path | None
    key: str  # changes with anything that the labels hang on
    key_before: str  # the same but for the audit


class Before(NamedTuple):
    """What the model of the given labels alone says of every row."""

    key: str
    codes: NDArray[np.intp]
    classes: NDArray[Any]


class Learning:
    """What was learned last: the diagnosis, the labels or the judgement, and what they are made of."""

    def __init__(
        self, job: Labelling | Judging, lock: RLock, given: Callable[[], Given], write: Callable[[], object]
    ) -> None:
        self.job, self.lock, self.given, self.write = job, lock, given, write
        self.background = Background()
        self.version = 0
        self.result: LabeledTable | JudgedTable | None = None
        self.made_of = ""  # the key of the result
        self.truth: dict[str, Any] | None = None
        self.doubt: Doubt | None = None
        self._diagnosed: tuple[str, dict[str, Any]] | None = None
        self._before: Before | None = None

    @property
    def diagnosis(self) -> dict[str, Any] | None:
        """The summary of ``diagnose_table``, once it is there."""
        return None if self._diagnosed is None else self._diagnosed[1]

    @property
    def columns(self) -> list[str]:
        """The columns that matter first: by what the model goes by, or else those that are used."""
        if isinstance(self.result, LabeledTable):
            return columns_by_importance(self.result)
        columns = [] if self.diagnosis is None else self.diagnosis["columns"]
        return [column["name"] for column in sorted(columns, key=lambda column: not column["used"])]

    def start(self) -> None:
        """Learn from all that is given; what is being learned is let go."""
        self.version += 1
        self.background.start(self._labels if isinstance(self.job, Labelling) else self._judgement)

    def allow(self, error: float | None) -> None:
        """Another error is allowed: no label changes, but which can be accepted; files are written again."""
        self.version += 1
        if isinstance(self.job, Judging):
            self.start()
            return
        if isinstance(self.result, LabeledTable) and self.result.audit is not None:
            self.result = self.result.at_error(error)
            self.doubt = Doubt(self.result)
        if self.result is not None and not self.background.view()["running"]:
            self.background.start(self._files)

    def watch(self, filling: Filling) -> Enough | None:
        """The watch over an audit; None as long as there are no labels to compare with."""
        if isinstance(self.job, Judging):
            return self.job.enough(filling)
        before = self._before
        if before is None or before.key != self.given().key_before:
            return None
        return self.job.enough(filling, before.codes, before.classes)

    def _labels(self, progress: Progress) -> None:
        job = self.job
        assert isinstance(job, Labelling)
        with self.lock:
            settings, audit, checked, key, key_before = self.given()
            wants_before = settings.rule == LIVE and (self._before is None or self._before.key != key_before)
        kinds = json.dumps(settings.parameters())
        if self._diagnosed is None or self._diagnosed[0] != kinds:
            summary = summarize_diagnosis(job.diagnose(settings, progress))
            with self.lock:
                self._diagnosed = kinds, summary
                self.version += 1
        if audit is None or wants_before:
            result = job.fit(settings, None, checked, progress)
            self._adopt(progress, result, key_before, None)
            with self.lock:
                self._before = Before(key_before, result.codes, result.labels.classes)
        if audit is not None:
            result = job.fit(settings, audit, checked, progress)
            progress("Weighing what can be accepted")
            self._adopt(progress, result, key, truth_of_labels(result, checked is not None))
        self._files(progress)

    def _judgement(self, progress: Progress) -> None:
        job = self.job
        assert isinstance(job, Judging)
        with self.lock:
            given = self.given()
        if given.audit is None:
            return
        progress("Judging the labels")
        result = job.judge(given.audit, given.settings.error)
        self._adopt(progress, result, given.key, truth_of_judged(result))
        self._files(progress)

    def _adopt(self, progress: Progress, result: Any, key: str, truth: dict[str, Any] | None) -> None:
        """Show this from now on, unless other work was asked for."""
        progress("Looking at the labels")
        with self.lock:
            if isinstance(result, LabeledTable) and result.audit is not None:
                result = result.at_error(self.given().settings.error)  # it may have been chosen meanwhile
            self.result, self.made_of, self.truth = result, key, truth
            self.doubt = Doubt(result) if isinstance(result, LabeledTable) else None
            self.version += 1

    def _files(self, progress: Progress) -> None:
        progress("Writing the files")
        self.write()
