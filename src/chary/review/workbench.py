"""A job, its files and what a person does on the page in; what every page shows out, and all answers on the disk.

All of it may be asked by several threads at once: one lock is held while something is looked up or written down.
What takes long, learning and writing the results, is done without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import RLock
from typing import Any

from chary._files import sweep
from chary.jobs import AUDIT_SIZE, JudgedTable, LabeledTable
from chary.review.auditing import audit_page, checked_answer, interval_of, known_classes, no_audit, progress_of
from chary.review.doubt import Wanted
from chary.review.files import Fingerprint, Ownership, Paths
from chary.review.judging import Judging
from chary.review.labelling import Labelling
from chary.review.learning import Given, Learning
from chary.review.outputs import Outputs
from chary.review.result import Pages, asked_of
from chary.review.rows import fields_of, keys_of, number_in, row_in, whole_number
from chary.review.settings import LIVE, PLANNED, Kept, Settings, changed, is_own, write_kept
from chary.review.sheets import Sheets
from chary.review.start import columns_of, diagnosis_of, planned_of, questions_of
from chary.review.steps import next_step, steps_of
from chary.review.truth import nothing, quality_of
from chary.tables import SKIPPED, Filling, TableError

_FEWEST, MOST = 2, 5_000  # answers that an audit can be made of, and rows that a person is given


class ConflictError(TableError):
    """Something has changed meanwhile; what it is now is to be shown."""


class NotHereError(TableError):
    """There is no such thing in this mode, or not yet."""


class Workbench:
    """The state behind the pages; nothing is learned before ``relearn``."""

    def __init__(
        self,
        job: Labelling | Judging,
        paths: Paths,
        fingerprint: Fingerprint,
        kept: Kept,
        *,
        about: Mapping[str, Any],
        notices: tuple[str, ...] = (),
        commands: Callable[[Settings, Path | None, Path | None], list[str]] | None = None,
    ) -> None:
        self.job, self.paths, self.fingerprint, self.about = job, paths, fingerprint, dict(about)
        self.settings, self.commands = kept.settings, commands or (lambda settings, audit, checked: [])
        self.lock, self._writing = RLock(), RLock()
        self.sheets = Sheets(job, paths)
        self.learning = Learning(job, self.lock, self._given, self._write_files)
        made = {"labels": paths.labels, "report": paths.report}
        made |= {} if isinstance(job, Judging) else {"model": paths.model}
        self.outputs = Outputs(made, Ownership(dict(kept.written)))
        self.notices = [*notices, *([kept.notice] if kept.notice else [])]
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
                "labelled": self.job.n_labelled,
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
            job, settings, summary = self.job, self.settings, self.learning.diagnosis
            kinds = [] if summary is None else summary["columns"]
            return {
                "columns": columns_of(job.table.frame, job.hidden, kinds, settings, job.kind, self._examples),
                "classes": [{"name": name, "labels": n} for name, n in job.counts().items()],
                "rows": self._n_rows,
                "labelled": job.n_labelled,
                "notes": [*job.table.notes, *job.notes],
                "spellings": job.spellings,
                "diagnosis": None if summary is None else diagnosis_of(summary),
                "settings": {
                    "class_prior": settings.class_prior,
                    "aim": settings.aim,
                    "error": settings.error,
                    "seed": job.fixed.seed,
                },
                "questions": questions_of(summary, settings, job.kind),
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
            before, self.settings = self.settings, changed(self.settings, body, columns, self.job.classes)
            if self.settings != before:
                self._keep()
                if set(body) == {"error"}:
                    self.learning.allow(self.settings.error)
                else:
                    self.learning.start()
            return self.start_page()

    # ------------------------------------------------------------ the audit

    @property
    def rule(self) -> str:
        """When an interval is shown: what the sheet says, or what was chosen for the next."""
        filling = self.sheets.audit
        return self.settings.rule if filling is None else LIVE if filling.origin.stopped else PLANNED

    def draw(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Draw random rows, or add some to those that were drawn."""
        with self.lock:
            self._require_unchanged()
            k, there = whole_number(body.get("k")), self.sheets.read(self.paths.audit)
            if k > MOST:
                raise TableError(f"At most {MOST:,} rows are drawn here; nobody labels more one by one.")
            chosen = changed(self.settings, {"rule": body.get("rule", self.rule)}, [], [])
            begun = there is not None and bool(there.n_answered + there.n_skipped)
            if there is not None and chosen.rule != self.rule and (begun or self.rule == LIVE):
                raise TableError(
                    "How the interval is shown was chosen before the first answer, and stays: otherwise it would "
                    "not hold."
                )
            if there is None or len(there.rows) != k:
                self.sheets.draw(k)
            self.settings, filling = chosen, self._required_audit()
            if chosen.rule == LIVE:
                filling.mark_stopping()
                if self.learning.watch(filling) is None and not self._is_working:
                    self.learning.start()
            self._keep()
            self.learning.version += 1
            return self.audit_page()

    def audit_page(self, place: int | None = None, whole: bool = False) -> dict[str, Any]:
        """The next row to label, or a certain one."""
        with self.lock:
            filling, job = self.sheets.read(self.paths.audit), self.job
            if filling is None:
                return no_audit(self.rule, job.question)
            columns, interval = self.learning.columns, self._interval(filling)
            told = job.question, job.classes, columns, job.hidden, interval
            return audit_page(filling, self.rule, *told, place, whole)

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
            if self._given().audit is not None and not filling.n_left:
                self.learning.start()
            return self.audit_page(None if answer else place)

    # ------------------------------------------------------------ the truth

    def truth_page(self) -> dict[str, Any]:
        """How many labels are right, and which can be accepted."""
        with self.lock:
            truth, given = self.learning.truth, self._given()
            if truth is None or given.audit is None:
                return nothing(self._why_no_truth())
            stale = given.key != self.learning.made_of
            newer = ["Answers or settings are newer than these figures; learn again."] if stale else []
            return {**truth, "chosen": self.settings.error, "notes": [*newer, *truth["notes"]]}

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
            answer = checked_answer(body.get("answer"), doubt.classes, self.job.fixed.unlabeled or ())
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
        asked, number = asked_of(query), number_in(query, "page") or 0.0
        with self.lock:
            pages, result, given = self._all_pages(), self.learning.result, self._given()
            kinds = [] if result is None else list(self.job.writers(result))
            files = self.outputs.files(kinds, self._made_of)
            commands = self.commands(self.settings, given.audit, given.checked)
            told = {"files": files, "commands": commands, "quality": quality_of(self.truth_page())}
            return {**pages.page(asked, int(number)), **told}

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
        return f"{self.learning.made_of} {self.settings.error}"

    def _given(self) -> Given:
        """What there is to learn from: the audit once it may be looked at, all of it or live at any time."""
        filling, rule, checked = self.sheets.audit, self.rule, self.sheets.checked_rows()
        usable = filling is not None and filling.n_answered >= _FEWEST and (rule == LIVE or not filling.n_left)
        chosen = self.settings
        about = [chosen.kinds, chosen.class_prior, chosen.aim, sorted(checked.items())]
        answers = filling.answers if usable and filling is not None else None
        return Given(
            Settings(chosen.kinds, chosen.class_prior, chosen.aim, chosen.error, rule),
            self.paths.audit if usable else None,
            self.paths.check if checked else None,
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
        watch = self.learning.watch(filling) if rule == LIVE or not filling.n_left else None
        return interval_of(rule, filling, watch)

    def _all_pages(self) -> Pages:
        job, result = self.job, self.learning.result
        if self._pages is None or self._pages[0] is not result:
            if isinstance(job, Judging):
                judged = result if isinstance(result, JudgedTable) else None
                pages = Pages(job.frame(judged), [*job.hidden, "chary_accept"], job.target)
            else:
                added = result.added_columns if isinstance(result, LabeledTable) else {}
                frame = job.table.frame.with_columns([column.alias(name) for name, column in added.items()])
                pages = Pages(frame, [job.target, *added], "chary_label" if added else job.target)
            self._pages = result, pages
        return self._pages[1]

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
            write_kept(self.paths.kept, self.about, Kept(self.settings, self.outputs.ownership.digests))


def _expected(body: Mapping[str, Any]) -> str | None:
    """The answer that the page showed, if it says so."""
    expected = body.get("expected")
    return None if expected is None else str(expected)
