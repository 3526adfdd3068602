"""The state behind the pages: what each shows, and every answer on the disk.

All of it may be asked by several threads at once: one lock is held while something is looked up or written down.
What takes long, learning and writing the results, is done without it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any

from chary._files import sweep
from chary.audit.filling import Filling
from chary.audit.sheet import SKIPPED
from chary.labelling.result import AUDIT_SIZE
from chary.options import Options
from chary.review.audit import (
    audit_page,
    checked_answer,
    fields_of,
    interval_of,
    keys_of,
    known_classes,
    number_in,
    progress_of,
    row_in,
    whole_number,
)
from chary.review.doubt import Wanted
from chary.review.files import LIVE, PLANNED, Choices, Fingerprint, Outputs, Paths, Sheets, is_own, paths_of
from chary.review.jobs import Job, JudgeJob, LabelJob, Opened, files_of, open_table
from chary.review.learning import Given, Learning
from chary.review.result import Pages, selection_of
from chary.review.start import columns_of, diagnosis_of, next_step, planned_of, questions_of, steps_of
from chary.review.truth import nothing, quality_of
from chary.tables import TableError
from chary.tables.writing import require_writable

_FEWEST, MOST = 2, 5_000  # answers that an audit can be made of, and rows that a person is given


class ConflictError(TableError):
    """Something has changed meanwhile; what it is now is to be shown."""


class NotHereError(TableError):
    """There is no such thing in this mode, or not yet."""


class Workbench:
    """The state behind the pages; nothing is learned before ``relearn``."""

    def __init__(self, job: Job, opened: Opened, choices: Choices, paths: Paths, about: Mapping[str, Any]) -> None:
        self.job, self.choices, self.paths, self.about = job, choices, paths, dict(about)
        self.fingerprint = Fingerprint(opened.files)
        self.lock, self._writing = RLock(), RLock()
        self.sheets = Sheets(job, paths)
        self.learning = Learning(job, self.lock, self._given, self._write_files)
        made = {"labels": paths.labels, "report": paths.report}
        made |= {"model": paths.model} if job.kind == "label" else {}
        self.outputs = Outputs(made, dict(choices.written))
        self.notices = [*opened.notes, *([choices.notice] if choices.notice else [])]
        self.keeps = is_own(paths.kept)  # a file of that name that somebody else wrote stays as it is
        self._pages: tuple[object, Pages] | None = None
        self._examples: dict[str, list[str]] = {}
        sweep(paths.kept.parent)

    # ------------------------------------------------------------ what every page shows

    def state(self) -> dict[str, Any]:
        """How far everything is."""
        with self.lock:
            audit, learning = self.sheets.audit, self.learning
            learned = learning.result is not None
            told: dict[str, Any] = {
                "name": self.job.table.name,
                "kind": self.job.kind,
                "target": self.job.target,
                "rows": self._n_rows,
                "labelled": sum(self.job.counts.values()),
                "classes": self.job.classes,
                "version": learning.version,
                "work": learning.background.view(),
                "audit": None if audit is None else progress_of(audit, self.rule),
                "checked": len(self.sheets.checked_rows()),
                "learned": learned,
                "stale": learned and self._given().key != learning.made_of,
                "notices": [*self.notices, *self.sheets.notices, *self._trouble()],
            }
            written = self.paths.labels.exists() or self.paths.report.exists()
            return {**told, "next": next_step(told), "steps": steps_of(told, written)}

    def start_page(self) -> dict[str, Any]:
        """What was read, what it is taken for, and what can be chosen."""
        with self.lock:
            job, options, summary = self.job, self.choices.options, self.learning.diagnosis
            return {
                "columns": columns_of(job, summary, self.choices, self._examples),
                "classes": [{"name": name, "labels": n} for name, n in job.counts.items()],
                "rows": self._n_rows,
                "labelled": sum(job.counts.values()),
                "notes": [*job.table.notes, *job.notes],
                "spellings": job.spellings,
                "diagnosis": None if summary is None else diagnosis_of(summary),
                "settings": {
                    **{name: getattr(options, name) for name in ("class_prior", "aim", "error")},
                    "seed": options.seed or 0,
                },
                "questions": questions_of(summary, options, job.kind),
                "planned": planned_of(min(job.population, MOST), AUDIT_SIZE),
            }

    def change(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Choose other settings; where the labels hang on them, learning begins anew."""
        with self.lock:
            self._require_unchanged()
            can = {"kinds", "class_prior", "aim", "error"} if self.job.kind == "label" else {"error"}
            if set(body) - can:
                raise TableError("That cannot be chosen here.")
            columns = [name for name in self.job.table.frame.columns if name != self.job.target]
            before, self.choices = self.choices, self.choices.changed(body, columns, self.job.classes)
            if self.choices != before:
                self._keep()
                if set(body) == {"error"}:
                    self.learning.allow(self.choices.options.error)
                else:
                    self.learning.start()
            return self.start_page()

    # ------------------------------------------------------------ the audit

    @property
    def rule(self) -> str:
        """When an interval is shown: what the sheet says, or what was chosen for the next."""
        filling = self.sheets.audit
        return self.choices.rule if filling is None else LIVE if filling.origin.stopped else PLANNED

    def draw(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Draw random rows, or add some to those that were drawn."""
        with self.lock:
            self._require_unchanged()
            k, there = whole_number(body.get("k")), self.sheets.read(self.paths.audit)
            if k > MOST:
                raise TableError(f"At most {MOST:,} rows are drawn here; nobody labels more one by one.")
            chosen = self.choices.changed({"rule": body.get("rule", self.rule)}, [], [])
            begun = there is not None and bool(there.n_answered + there.n_skipped)
            if there is not None and chosen.rule != self.rule and (begun or self.rule == LIVE):
                raise TableError(
                    "How the interval is shown was chosen before the first answer, and stays: otherwise it would "
                    "not hold."
                )
            if there is None or len(there.rows) != k:
                self.sheets.draw(k)
            self.choices, filling = chosen, self._required_audit()
            if chosen.rule == LIVE:
                filling.mark_stopping()
                if self.job.stopping(filling, self.learning.before) is None and not self._is_working:
                    self.learning.start()
            self._keep()
            self.learning.version += 1
            return self.audit_page()

    def audit_page(self, place: int | None = None, whole: bool = False) -> dict[str, Any]:
        """The next row to label, or a certain one."""
        with self.lock:
            filling = self.sheets.read(self.paths.audit)
            interval = None if filling is None else self._interval(filling)
            return audit_page(filling, self.job, self.rule, interval, place, whole)

    def answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Write down what a person said of a row; it is on the disk when this returns."""
        with self.lock:
            self._require_unchanged()
            filling, place = self._required_audit(), whole_number(body.get("place"))
            known = known_classes(filling, self.job.classes)
            answer = checked_answer(body.get("answer"), known, filling.origin.markers)
            row = None if body.get("row") is None else whole_number(body["row"]) - 1
            filling.answer(place, answer, _expected(body), number=row)
            self.learning.version += 1
            if self._given().options.audit is not None and not filling.n_left:
                self.learning.start()
            return self.audit_page(None if answer else place)

    # ------------------------------------------------------------ the truth

    def truth_page(self) -> dict[str, Any]:
        """How many labels are right, and which can be accepted."""
        with self.lock:
            truth, given = self.learning.truth, self._given()
            if truth is None or given.options.audit is None:
                return nothing(self._why_no_truth())
            stale = given.key != self.learning.made_of
            newer = ["Answers or settings are newer than these figures; learn again."] if stale else []
            return {**truth, "chosen": self.choices.options.error, "notes": [*newer, *truth["notes"]]}

    def accept(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Choose how many wrong labels are allowed among those to accept."""
        with self.lock:
            if set(body) != {"error"}:
                raise TableError("Which error is allowed was not said.")
            if body["error"] is not None and self.learning.truth is None:
                raise TableError(self._why_no_truth())
            self.change(body)
            return self.truth_page()

    # ------------------------------------------------------------ rows in doubt

    def doubt_page(self, query: Mapping[str, str]) -> dict[str, Any]:
        """The row of most doubt, or that after another, with all that speaks for its label."""
        with self.lock:
            self._require_label_mode()
            doubt, checked, audited = self.learning.doubt, self.sheets.checked_rows(), self.sheets.audited_rows()
            low, high = number_in(query, "low"), number_in(query, "high")
            wanted = Wanted(
                query.get("label", ""),
                query.get("source", ""),
                0.0 if low is None else low,
                1.0 if high is None else high,
            )
            row, after = row_in(query, "row", self._n_rows), row_in(query, "after", self._n_rows)
        if doubt is None:
            filters: dict[str, list[str]] = {"labels": [], "sources": []}
            return {"left": 0, "mended": len(checked), "filters": filters, "row": None, "keys": []}
        mask = doubt.wanted(wanted, [*audited, *checked])
        classes = list(dict.fromkeys([*doubt.classes, *sorted(checked.values())]))
        shown = {
            "left": int(mask.sum()),
            "mended": len(checked),
            "filters": {"labels": doubt.classes, "sources": doubt.sources},
            "keys": keys_of(classes),
        }
        row = doubt.next(mask, after) if row is None else row
        if row is None or row in audited:
            return {**shown, "row": None}
        cells = self.job.table.frame.row(row, named=True)
        fields = fields_of(cells, doubt.columns, query.get("all") == "true")
        about = {"number": row + 1, **fields, "answer": checked.get(row, "")}
        return {**shown, "row": about, **doubt.opinion(row)}

    def check(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Write down what a person says of a row in doubt."""
        with self.lock:
            self._require_label_mode()
            self._require_unchanged()
            doubt, row = self.learning.doubt, whole_number(body.get("row")) - 1
            if doubt is None:
                raise ConflictError("There are no labels to mend yet; they are being learned.")
            there = self.sheets.check
            is_checked = there is not None and there.place_of(row) is not None
            if row in self.sheets.audited_rows() or not (is_checked or doubt.has(row)):
                raise TableError(f"Row {row + 1:,} is not in doubt: a person labels it elsewhere, or has.")
            answer = checked_answer(body.get("answer"), doubt.classes, self.job.options.unlabeled)
            if answer == SKIPPED:
                raise TableError("To skip a row, go on to the next: nothing is written.")
            if answer or is_checked:
                filling, place = self.sheets.to_check(row, doubt.label(row))
                filling.answer(place, answer, _expected(body), number=row)
            self.learning.version += 1
        return self.doubt_page({"after": str(row + 1)} if answer else {"row": str(row + 1)})

    def relearn(self, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Learn from all answers, in the background."""
        with self.lock:
            self._require_unchanged()
            self.learning.start()
            return self.state()

    # ------------------------------------------------------------ the result

    def result_page(self, query: Mapping[str, str]) -> dict[str, Any]:
        """A page of the table, the files, and the commands that would make the same."""
        chosen, number = selection_of(query), number_in(query, "page") or 0.0
        with self.lock:
            result = self.learning.result
            if self._pages is None or self._pages[0] is not result:
                self._pages = result, Pages(*self.job.shown(result))
            options = self._given().options
            if options.confidence is None and self.job.kind == "judge":
                options = replace(options, error=None)
            written = [] if result is None else self.job.writers(result)
            told = {
                "files": self.outputs.files(
                    [kind for kind in self.outputs.paths if kind in written], self._made_of
                ),
                "commands": [options.command(self.job.kind, files_of(self.job.table))],
                "quality": quality_of(self.truth_page()),
            }
            return {**self._pages[1].page(chosen, int(number)), **told}

    def write(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Write the files; those of somebody else only if that is said."""
        self._require_unchanged()
        if self.learning.result is None:
            raise ConflictError("There is nothing to write yet; it is being learned.")
        left = self._write_files(overwrite=body.get("overwrite") is True)
        if left:
            were = "were" if len(left) > 1 else "was"
            raise ConflictError(f"{', '.join(left)} {were} not written by this page; allow it to be overwritten.")
        return self.result_page({})

    def file(self, kind: str) -> Path:
        """A file to download."""
        path = self.outputs.paths.get(kind)
        if path is None or not path.exists():
            raise NotHereError("There is no such file yet.")
        return path

    def close(self) -> None:
        """Let what is being learned go; a file that is being written is written first."""
        self.learning.background.close()
        with self.lock, self._writing:
            self.keeps = False

    # ------------------------------------------------------------ what is behind it

    @property
    def _n_rows(self) -> int:
        return self.job.table.frame.height

    @property
    def _is_working(self) -> bool:
        return bool(self.learning.background.view()["running"])

    @property
    def _made_of(self) -> str:
        """What the files hang on."""
        return f"{self.learning.made_of} {self.choices.options.error}"

    def _given(self) -> Given:
        """What there is to learn from: the audit once it may be looked at, all of it or live at any time."""
        filling, rule, checked = self.sheets.audit, self.rule, self.sheets.checked_rows()
        usable = filling is not None and filling.n_answered >= _FEWEST and (rule == LIVE or not filling.n_left)
        options = self.choices.options
        about = [self.choices.kinds, options.class_prior, options.aim, sorted(checked.items())]
        answers = filling.answers if usable and filling is not None else None
        audit = self.paths.audit if usable else None
        return Given(
            replace(
                options,
                audit=audit,
                checked=self.paths.check if checked else None,
                error=options.error if usable else None,
            ),
            rule == LIVE,
            json.dumps([*about, answers]),
            json.dumps([*about, None]),
        )

    def _required_audit(self) -> Filling:
        filling = self.sheets.read(self.paths.audit)
        if filling is None:
            raise ConflictError("No rows are drawn yet.")
        return filling

    def _interval(self, filling: Filling) -> dict[str, Any] | None:
        """The interval that may be shown now."""
        truth, rule = self.learning.truth, self.rule
        if rule == PLANNED and truth is not None and self._given().key == self.learning.made_of:
            told = truth["accuracy"]
            return {**{name: told[name] for name in ("low", "high", "n", "words")}, "enough": True}
        due = rule == LIVE or not filling.n_left
        return interval_of(rule, filling, self.job.stopping(filling, self.learning.before) if due else None)

    def _write_files(self, overwrite: bool = False) -> list[str]:
        """Write what may be written; returns the names of those that were not. Answers go on meanwhile."""
        job = self.job
        with self._writing:
            with self.lock:
                result, made_of = self.learning.result, self._made_of
            if result is None or self.fingerprint.changed():
                return []
            writers = job.writers(result)
            left = self.outputs.write(writers, made_of, overwrite)
            self.fingerprint.renew([self.outputs.paths[kind] for kind in writers])
        with self.lock:
            self._keep()
        return left

    def _why_no_truth(self) -> str:
        filling = self.sheets.audit
        if filling is None:
            return "No rows are drawn yet: label some random rows first."
        if self.rule == PLANNED and filling.n_left:
            return f"{filling.n_left} of {len(filling.rows)} random rows have no answer yet."
        if filling.n_answered < _FEWEST:
            return "Fewer than two random rows have a label yet."
        return (
            "The labels are being judged." if self._is_working else "Your answers have not been learned from yet."
        )

    def _trouble(self) -> list[str]:
        name = self.fingerprint.changed()
        if not name:
            return []
        return [f"{name} was changed since it was read; nothing more is written until this page is started again."]

    def _require_unchanged(self) -> None:
        if trouble := self._trouble():
            raise ConflictError(trouble[0])

    def _require_label_mode(self) -> None:
        if self.job.kind != "label":
            raise NotHereError("Labels under test are not mended here.")

    def _keep(self) -> None:
        self.learning.version += 1
        if self.keeps:
            self.choices = replace(self.choices, written=self.outputs.digests)
            self.choices.write(self.paths.kept, self.about)


def _expected(body: Mapping[str, Any]) -> str | None:
    """The answer that the page showed, if it says so."""
    expected = body.get("expected")
    return None if expected is None else str(expected)


def begin(files: Sequence[str], options: Options) -> Workbench:
    """Read a table, and go on where somebody stopped."""
    if (options.target is None) == (not options.labels):
        raise TableError("Give either the column to label or the column of labels to judge.")
    opened = open_table(files, keep=options.target is None, **options.reading)
    table = opened.table
    require_writable(table)
    judged = options.target is None
    job: Job = JudgeJob(table, options) if judged else LabelJob(table, options)
    paths = paths_of(opened.folder, opened.stem, table, judged)
    about = {"target": options.target, "labels": list(options.labels), "confidence": options.confidence}
    columns = [name for name in table.frame.columns if name != options.target]
    typed = Choices(options)
    typed = typed.changed({"kinds": typed.kinds}, columns, job.classes)  # refuses columns that are not there
    return Workbench(job, opened, typed.read(paths.kept, about, columns, job.classes), paths, about)
