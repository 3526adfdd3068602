"""A job, its files and what a person does on the page in; what every page shows out, and all answers on the disk.

All of it may be asked by several threads at once: one lock is held while something is looked up or written. The one
thing that takes long, learning, is done in the background and handed over under that lock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary._files import atomic_write, sweep
from chary.jobs import AUDIT_SIZE, Enough, JudgedTable, LabeledTable
from chary.report import summarize_diagnosis
from chary.review.auditing import audit_page, checked_answer, interval_of, known_classes, progress_of
from chary.review.background import Background, Progress
from chary.review.doubt import Doubt, Wanted, columns_by_importance
from chary.review.files import Fingerprint, Ownership, Paths
from chary.review.judging import Judging
from chary.review.labelling import Labelling
from chary.review.outputs import Outputs, to_stream
from chary.review.result import Pages, asked_of, number_in
from chary.review.rows import fields_of, keys_of
from chary.review.settings import LIVE, PLANNED, Kept, Settings, changed, is_own, write_kept
from chary.review.start import columns_of, diagnosis_of, planned_of, questions_of
from chary.review.steps import next_step, steps_of
from chary.review.truth import nothing, truth_of_judged, truth_of_labels
from chary.review.words import page_sentence
from chary.tables import SKIPPED, AnsweredElsewhere, Filling, TableError, sole_writer

_FEWEST = 2  # answers that an audit can be made of


class Conflict(TableError):
    """Something has changed meanwhile; what it is now is to be shown."""


class NotHere(TableError):
    """There is no such page in this mode."""


class Before(NamedTuple):
    """What the model of the given labels alone says of every row."""

    key: str  # what it was made of
    codes: NDArray[np.intp]
    classes: NDArray[Any]


class Workbench:
    """The state behind the pages; ``learn`` begins what is done in the background."""

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
        self.lock, self.background = RLock(), Background()
        self.ownership = Ownership(dict(kept.written))
        made = {"labels": paths.labels, "report": paths.report}
        self.outputs = Outputs(made if job.kind == "judge" else {**made, "model": paths.model}, self.ownership)
        self.version = 1
        self.notices = [*notices, *([kept.notice] if kept.notice else [])]
        self.keeps = is_own(paths.kept)  # a file of that name that somebody else wrote stays as it is
        self._sheets: dict[Path, Filling] = {}
        self._diagnosed: tuple[str, dict[str, Any]] | None = None
        self._before: Before | None = None
        self._result: LabeledTable | JudgedTable | None = None
        self._made_of = ""  # the key of the result
        self._truth: dict[str, Any] | None = None
        self._doubt: Doubt | None = None
        self._pages: Pages | None = None
        sweep(paths.kept.parent)

    # ------------------------------------------------------------ what every page shows

    def state(self) -> dict[str, Any]:
        """How far everything is."""
        with self.lock:
            audit, check = self._quietly(self.paths.audit), self._checked()
            learned = self._result is not None
            told: dict[str, Any] = {
                "name": self.job.table.name,
                "kind": self.job.kind,
                "target": self.job.target,
                "rows": self._n_rows,
                "labelled": self.job.n_labelled,
                "classes": self.job.classes,
                "version": self.version,
                "work": self.background.view(),
                "audit": None if audit is None else progress_of(audit, self._rule),
                "checked": 0 if check is None else check.n_answered,
                "learned": learned,
                "stale": learned and self._key() != self._made_of,
                "notices": [*self.notices, *self._trouble()],
            }
            written = self.paths.labels.exists() or self.paths.report.exists()
            return {**told, "next": next_step(told), "steps": steps_of(told, written)}

    def start_page(self) -> dict[str, Any]:
        """What was read, what it is taken for, and what can be chosen."""
        with self.lock:
            summary = None if self._diagnosed is None else self._diagnosed[1]
            labelling = self.job.kind == "label"
            settings = self.settings
            columns = columns_of(
                self.job.table, self.job.target, [] if summary is None else summary["columns"], settings
            )
            if not labelling:
                columns = [
                    {**column, "choices": []} for column in columns if column["name"] not in self.job.hidden
                ]
            return {
                "columns": columns,
                "classes": [{"name": name, "labels": n} for name, n in self.job.counts().items()],
                "rows": self._n_rows,
                "labelled": self.job.n_labelled,
                "notes": self._notes(),
                "spellings": self.job.read.spellings if isinstance(self.job, Labelling) else {},
                "diagnosis": None if summary is None else diagnosis_of(summary),
                "settings": {
                    "class_prior": settings.class_prior,
                    "aim": settings.aim,
                    "error": settings.error,
                    "seed": self.job.fixed.seed,
                },
                "questions": questions_of(summary, settings) if labelling else {"prior": "", "aim": ""},
                "planned": planned_of(self.job.population, AUDIT_SIZE),
            }

    def change(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Choose other settings; where the labels hang on them, learning begins anew."""
        with self.lock:
            self._require_unchanged()
            if self.job.kind == "judge" and set(body) - {"error"}:
                raise TableError("Of labels that are there already nothing can be chosen but the error.")
            columns = [name for name in self.job.table.frame.columns if name != self.job.target]
            before, self.settings = self.settings, changed(self.settings, body, columns, self.job.classes)
            if self.settings != before:
                self._keep()
                self._accepting() if replace(before, error=self.settings.error) == self.settings else self.learn()
            return self.start_page()

    # ------------------------------------------------------------ the audit

    def draw(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Draw random rows, or add some to those that were drawn."""
        with self.lock:
            self._require_unchanged()
            k = body.get("k")
            if not isinstance(k, int) or isinstance(k, bool):
                raise TableError("How many rows to draw is a whole number.")
            settings = changed(self.settings, {"rule": body.get("rule", self._rule)}, [], [])
            there = self._sheet(self.paths.audit)
            if there is not None and settings.rule != self._rule and there.n_answered + there.n_skipped:
                raise TableError(
                    "How the interval is shown was chosen before the first answer, and stays: otherwise it "
                    "would not hold."
                )
            with sole_writer(self.paths.audit.parent):
                if there is None or len(there.rows) != k:
                    self.job.draw(self.paths.audit, k)
            self.settings = settings
            filling = self._required(self.paths.audit)
            if settings.rule == LIVE:
                filling.mark_stopping()
            self._keep()
            if settings.rule == LIVE and self.job.kind == "label" and self._watch(filling) is None:
                self.learn()
            return self.audit_page()

    def audit_page(self, place: int | None = None) -> dict[str, Any]:
        """The next row to label, or a certain one."""
        with self.lock:
            filling = self._sheet(self.paths.audit)
            if filling is None:
                none = {"drawn": 0, "answered": 0, "skipped": 0, "left": 0, "rule": self._rule, "done": False}
                return {
                    **none,
                    "question": self.job.question,
                    "row": None,
                    "keys": [],
                    "interval": None,
                    "last": None,
                }
            return audit_page(
                filling,
                self._rule,
                self.job.question,
                self.job.classes,
                self._columns(),
                self.job.hidden,
                self._interval(filling),
                place,
            )

    def answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Write down what a person said of a row; it is on the disk when this returns."""
        with self.lock:
            self._require_unchanged()
            filling = self._required(self.paths.audit)
            place, number = body.get("place"), body.get("row")
            if not isinstance(place, int) or isinstance(place, bool):
                raise TableError("Which row is meant is a whole number.")
            known = known_classes(filling, self.job.classes)
            answer = checked_answer(body.get("answer"), known, filling.origin.markers)
            expected = body.get("expected")
            row = number - 1 if isinstance(number, int) else None
            filling.answer(place, answer, None if expected is None else str(expected), number=row)
            self.version += 1
            if not filling.n_left and filling.n_answered >= _FEWEST:
                self.learn()
            return self.audit_page(place if not answer else None)

    # ------------------------------------------------------------ the truth

    def truth_page(self) -> dict[str, Any]:
        """How many labels are right, and which can be accepted."""
        with self.lock:
            if self._truth is not None and self._audit_to_learn() is not None:
                stale = self._key() != self._made_of
                newer = ["Answers or settings are newer than these figures; learn again."] if stale else []
                return {**self._truth, "chosen": self.settings.error, "notes": [*newer, *self._truth["notes"]]}
            return nothing(self._why_no_truth())

    def accept(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Choose how many wrong labels are allowed among those to accept."""
        with self.lock:
            self._require_unchanged()
            if "error" not in body:
                raise TableError("Which error is allowed was not said.")
            if body["error"] is not None and self._truth is None:
                raise TableError(self._why_no_truth())
            self.change({"error": body["error"]})
            return self.truth_page()

    # ------------------------------------------------------------ rows in doubt

    def doubt_page(self, query: Mapping[str, str]) -> dict[str, Any]:
        """The row of most doubt, or that after another, with all that speaks for its label."""
        with self.lock:
            self._require_label_mode()
            doubt, check = self._doubt, self._checked()
            mended = 0 if check is None else check.n_answered
            if doubt is None:
                return {
                    "left": 0,
                    "mended": mended,
                    "filters": {"labels": [], "sources": []},
                    "row": None,
                    "keys": [],
                }
            wanted = Wanted(
                query.get("label", ""),
                query.get("source", ""),
                number_in(query, "low", 0.0) or 0.0,
                _or(number_in(query, "high"), 1.0),
            )
            mask = doubt.wanted(wanted, self._closed(check))
            row = self._number(query, "row")
            row = doubt.next(mask, self._number(query, "after")) if row is None else row
            shown = {
                "left": int(mask.sum()),
                "mended": mended,
                "filters": {"labels": doubt.classes, "sources": doubt.sources},
                "keys": keys_of(doubt.classes if check is None else known_classes(check, doubt.classes)),
            }
        if row is None or row in self._audited():
            return {**shown, "row": None}
        place = None if check is None else check.place_of(row)
        cells = self.job.table.frame.row(row, named=True)
        about = {
            "number": row + 1,
            **fields_of(cells, doubt.columns),
            "answer": "" if check is None or place is None else check.answers[place - 1],
        }
        return {**shown, "row": about, **doubt.opinion(row)}

    def check(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Write down what a person says of a row in doubt."""
        with self.lock:
            self._require_label_mode()
            self._require_unchanged()
            if self._doubt is None or not isinstance(self.job, Labelling):
                raise Conflict("There are no labels to mend yet; they are being learned.")
            number = body.get("row")
            if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= self._n_rows:
                raise TableError(f"Rows are counted from 1 to {self._n_rows:,}.")
            row = number - 1
            if row in self._audited() or row not in set(self._doubt.order[self._doubt.order == row].tolist()):
                raise TableError(f"Row {number:,} has a label that a person gave; it is not in doubt.")
            filling = self._checked()
            markers = self.job.fixed.unlabeled or ()
            answer = checked_answer(body.get("answer"), self._doubt.classes, markers)
            if answer == SKIPPED:
                raise TableError("To skip a row, go on to the next: nothing is written.")
            place = None if filling is None else filling.place_of(row)
            if place is None and answer:
                with sole_writer(self.paths.check.parent):
                    filling = self._checked()
                    guess = self._doubt.classes[self._doubt.result.codes[row]]
                    with atomic_write(self.paths.check, overwrite=True) as stream:
                        self.job.add_to_check(self.paths.check, row, guess, filling, stream)
                self._sheets.pop(self.paths.check, None)
                filling = self._required(self.paths.check)
                place = filling.place_of(row)
            if filling is not None and place is not None:
                filling.answer(place, answer, _text_or_none(body.get("expected")), number=row)
            self.version += 1
        return self.doubt_page({"after": str(number)} if answer else {"row": str(number)})

    # ------------------------------------------------------------ the result

    def result_page(self, query: Mapping[str, str]) -> dict[str, Any]:
        """A page of the table, the files, and the commands that would make the same."""
        with self.lock:
            pages, kinds = self._all_pages(), self._kinds_of_files()
            files = self.outputs.files(kinds, self._made_of_now()) if self._result is not None else []
            commands = self.commands(self.settings, self._audit_to_learn(), self._checks_to_learn())
        number = number_in(query, "page", 0.0) or 0.0
        return {**pages.page(asked_of(query), int(number)), "files": files, "commands": commands}

    def write(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Write the files; those of somebody else only if that is said."""
        with self.lock:
            self._require_unchanged()
            if self._result is None:
                raise Conflict("There is nothing to write yet; it is being learned.")
            left = self._write_files(overwrite=body.get("overwrite") is True)
            if left:
                raise Conflict(
                    f"{', '.join(left)} was not written by this page, and stays unless you say otherwise."
                )
            return self.result_page({})

    def file(self, kind: str) -> Path:
        """A file to download: of the last result."""
        with self.lock:
            path = self.outputs.paths.get(kind)
            if path is None or not path.exists():
                raise NotHere("There is no such file yet.")
            return path

    # ------------------------------------------------------------ learning

    def learn(self) -> None:
        """Learn in the background, from all answers; what is being learned is let go."""
        self.version += 1
        self.background.start(self._learn_labels if self.job.kind == "label" else self._judge)

    def close(self) -> None:
        """Let what is being learned go; a file that is being written is written first."""
        self.background.close()
        with self.lock:
            self.version += 1

    def _learn_labels(self, progress: Progress) -> None:
        job = self.job
        assert isinstance(job, Labelling)
        with self.lock:
            settings, audit, checked = self.settings, self._audit_to_learn(), self._checks_to_learn()
            key, key_before, kinds = self._key(), self._key(audited=False), json.dumps(settings.parameters())
            wants_before = settings.rule == LIVE and (self._before is None or self._before.key != key_before)
        if self._diagnosed is None or self._diagnosed[0] != kinds:
            summary = summarize_diagnosis(job.diagnose(settings, progress))
            with self.lock:
                self._diagnosed = kinds, summary
                self.version += 1
        if audit is None or wants_before:
            result = job.fit(settings, None, checked, progress)
            progress("Looking at the labels")
            with self.lock:
                self._before = Before(key_before, result.codes, result.labels.classes)
                self._adopt(result, key_before)
        if audit is not None:
            result = job.fit(settings, audit, checked, progress)
            progress("Weighing what can be accepted")
            truth = truth_of_labels(result, settings.error)
            progress("Looking at the labels")
            with self.lock:
                self._adopt(result.at_error(self.settings.error), key, truth)
        progress("Writing the files")
        with self.lock:
            self._write_files()

    def _judge(self, progress: Progress) -> None:
        job = self.job
        assert isinstance(job, Judging)
        with self.lock:
            audit, key, error = self._audit_to_learn(), self._key(), self.settings.error
        if audit is None:
            return
        progress("Judging the labels")
        result = job.judge(audit, error)
        truth = truth_of_judged(result, error)
        progress("Writing the files")
        with self.lock:
            self._adopt(result, key, truth)
            self._write_files()

    def _adopt(self, result: Any, key: str, truth: dict[str, Any] | None = None) -> None:
        """Show this from now on."""
        self._result, self._made_of, self._truth, self._pages = result, key, truth, None
        self._doubt = Doubt(result) if isinstance(result, LabeledTable) else None
        self.version += 1

    def _accepting(self) -> None:
        """Another error is allowed: no label changes, but which can be accepted."""
        result = self._result
        if isinstance(result, LabeledTable) and result.audit is not None:
            self._result, self._pages = result.at_error(self.settings.error), None
        self.version += 1
        if self.job.kind == "judge":
            self.learn()
        elif not self.background.view()["running"] and self._result is not None:
            self.background.start(self._write_later)

    def _write_later(self, progress: Progress) -> None:
        progress("Writing the files")
        with self.lock:
            self._write_files()

    def _write_files(self, overwrite: bool = False) -> list[str]:
        result, job = self._result, self.job
        if result is None or self.fingerprint.changed():
            return []
        writers = {kind: to_stream(write) for kind, write in job.writers(result).items()}  # type: ignore[arg-type]
        if isinstance(job, Labelling) and isinstance(result, LabeledTable):
            writers["model"] = lambda path: job.save_model(result, path)
        left = self.outputs.write(writers, self._made_of_now(), overwrite)
        self.fingerprint.renew()  # a result may be the very file that was read
        self._keep()
        return left

    # ------------------------------------------------------------ what is where

    @property
    def _rule(self) -> str:
        return self.settings.rule

    @property
    def _n_rows(self) -> int:
        return self.job.table.frame.height if isinstance(self.job, Labelling) else self.job.scan.n_rows

    def _key(self, audited: bool = True) -> str:
        """What the labels hang on, as it is now."""
        settings, audit, check = self.settings, self._quietly(self.paths.audit), self._checked()
        usable = audited and audit is not None and self._audit_to_learn() is not None
        parts = [settings.kinds, settings.class_prior, settings.aim, audit.answers if usable and audit else None]
        given = {} if check is None else dict(zip([r.number for r in check.rows], check.answers, strict=True))
        return json.dumps([*parts, sorted((row, text) for row, text in given.items() if text)])

    def _made_of_now(self) -> str:
        return f"{self._made_of} {self.settings.error}"

    def _audit_to_learn(self) -> Path | None:
        """The sheet, once it may be looked at: all of what was planned, or live at any time."""
        filling = self._quietly(self.paths.audit)
        if filling is None or filling.n_answered < _FEWEST or (self._rule == PLANNED and filling.n_left):
            return None
        return self.paths.audit

    def _checks_to_learn(self) -> Path | None:
        check = self._checked()
        return self.paths.check if check is not None and check.n_answered else None

    def _checked(self) -> Filling | None:
        return self._quietly(self.paths.check) if self.job.kind == "label" else None

    def _sheet(self, path: Path) -> Filling | None:
        """A sheet as it is now; None: there is none."""
        if not path.exists():
            self._sheets.pop(path, None)
            return None
        filling = self._sheets.get(path)
        if filling is None:
            filling = Filling(path)
            self.job.check_sheet(filling)
            self._sheets[path] = filling
        elif filling.refresh():
            self.job.check_sheet(filling)
            self.version += 1
            self._notice(f"{path.name} was changed outside this page and has been read again.")
        return filling

    def _quietly(self, path: Path) -> Filling | None:
        """The same where a sheet that cannot be used is as none: what is wrong with it is said elsewhere."""
        try:
            return self._sheet(path)
        except (TableError, OSError) as error:
            self._sheets.pop(path, None)
            self._notice(page_sentence(error))
            return None

    def _required(self, path: Path) -> Filling:
        filling = self._sheet(path)
        if filling is None:
            raise Conflict("No rows are drawn yet.")
        return filling

    def _watch(self, filling: Filling) -> Enough | None:
        """The watch over the audit; None as long as there are no labels to compare with."""
        if isinstance(self.job, Judging):
            return self.job.enough(filling)
        before = self._before
        if before is None or before.key != self._key(audited=False):
            return None
        return self.job.enough(filling, before.codes, before.classes)

    def _interval(self, filling: Filling) -> dict[str, Any] | None:
        """The interval that may be shown now."""
        watch = self._watch(filling) if self._rule == LIVE or not filling.n_left else None
        if watch is None and self._rule == PLANNED and self._truth is not None and self._key() == self._made_of:
            told = self._truth["accuracy"]
            return {**{name: told[name] for name in ("low", "high", "n", "words")}, "enough": True}
        return interval_of(self._rule, filling, watch)

    def _audited(self) -> set[int]:
        """Rows of the audit, answered or not: nobody who labels them may see an opinion."""
        filling = self._quietly(self.paths.audit)
        return set() if filling is None else {row.number for row in filling.rows}

    def _closed(self, check: Filling | None) -> list[int]:
        """Rows that are not shown as doubtful."""
        done = [] if check is None else [r.number for r, a in zip(check.rows, check.answers, strict=True) if a]
        return [*self._audited(), *done]

    def _columns(self) -> list[str]:
        """The columns that matter first: by what a model goes by, or else those that are used."""
        if isinstance(self._result, LabeledTable):
            return columns_by_importance(self._result)
        columns = [] if self._diagnosed is None else self._diagnosed[1]["columns"]
        return [column["name"] for column in sorted(columns, key=lambda column: not column["used"])]

    def _number(self, query: Mapping[str, str], name: str) -> int | None:
        """A row of a request, counted from 1 there and from 0 here."""
        found = number_in(query, name)
        if found is None:
            return None
        if not 1 <= found <= self._n_rows:
            raise TableError(f"Rows are counted from 1 to {self._n_rows:,}.")
        return int(found) - 1

    def _all_pages(self) -> Pages:
        if self._pages is None:
            job, result = self.job, self._result
            if isinstance(job, Judging):
                first = [*job.labels, *([job.confidence] if job.confidence else []), "chary_accept"]
                judged = result if isinstance(result, JudgedTable) else None
                self._pages = Pages(job.frame(judged), first, job.target)
            else:
                added = result.added_columns if isinstance(result, LabeledTable) else {}
                frame = job.table.frame.with_columns([column.alias(name) for name, column in added.items()])
                self._pages = Pages(frame, [job.target, *added], "chary_label" if added else job.target)
        return self._pages

    def _kinds_of_files(self) -> list[str]:
        if self.job.kind == "label":
            return ["labels", "model", "report"]
        judged = isinstance(self._result, JudgedTable) and self._result.asked is not None
        return ["labels", "report"] if judged else ["report"]

    def _why_no_truth(self) -> str:
        filling, working = self._quietly(self.paths.audit), self.background.view()["running"]
        if filling is None:
            return "No rows are drawn yet: label some random rows first."
        if self._rule == PLANNED and filling.n_left:
            return f"{filling.n_left} of {len(filling.rows)} random rows have no answer yet."
        if filling.n_answered < _FEWEST:
            return "Fewer than two random rows have a label yet."
        return "The labels are being judged." if working else "Your answers have not been learned from yet."

    def _notes(self) -> list[str]:
        read = self.job.read.notes if isinstance(self.job, Labelling) else self.job.tested.notes
        return [*self.job.table.notes, *read]

    def _trouble(self) -> list[str]:
        name = self.fingerprint.changed()
        if not name:
            return []
        return [f"{name} was changed since it was read; nothing more is written until this page is started again."]

    def _require_unchanged(self) -> None:
        if trouble := self._trouble():
            raise Conflict(trouble[0])

    def _require_label_mode(self) -> None:
        if self.job.kind != "label":
            raise NotHere("Labels under test are not mended here.")

    def _notice(self, text: str) -> None:
        if text not in self.notices:
            self.notices = [*self.notices, text][-5:]
            self.version += 1

    def _keep(self) -> None:
        self.version += 1
        if self.keeps:
            write_kept(self.paths.kept, self.about, Kept(self.settings, self.ownership.digests))


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


__all__ = ["AnsweredElsewhere", "Conflict", "NotHere", "Workbench"]
