"""The files beside a table: outputs, the sheets that people fill in, and what was chosen last."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from chary._files import atomic_write, atomic_writes, sole_writer
from chary._words import Parameter, Step, shown
from chary.audit.filling import Filling
from chary.method.priors import AIMS
from chary.options import Options
from chary.tables import Table, TableError
from chary.tables.formats.packing import state_of

# What a column can be taken for on the page, and the option that says so.
KINDS = {
    "number": "numeric",
    "category": "categorical",
    "text": "text",
    "identifier": "identifier",
    "leave out": "drop",
}
PLANNED, LIVE = RULES = ("planned", "live")  # when the interval of an audit is shown
Writer = Callable[[BinaryIO], None]
_VERSION = 1
_MOST_BYTES = 4 << 20


class Paths(NamedTuple):
    """The files of one table: those that the commands use."""

    audit: Path  # the sheet of random rows
    check: Path
    labels: Path
    model: Path
    report: Path
    kept: Path  # what was chosen on the page, and what it wrote


def paths_of(folder: Path, stem: str, table: Table, judged: bool) -> Paths:
    """Where everything is."""
    sheet, labels, report = ("judge", "judged", "judged") if judged else ("audit", "labeled", "report")
    names = f"{sheet}.csv", "check.csv", f"{labels}{table.suffix}", "model.chary", f"{report}.html", "review.json"
    return Paths(*(folder / f"{stem}.{name}" for name in names))


class Fingerprint:
    """Whether the files of a table are as they were when they were read."""

    def __init__(self, files: Iterable[str]) -> None:
        self._seen = {path: state_of(path) for path in (Path(file).absolute() for file in files)}

    def renew(self, written: Iterable[Path]) -> None:
        """These were written on purpose: a result may be the very file that was read."""
        self._seen |= {path.absolute(): state_of(path) for path in written if path.absolute() in self._seen}

    def changed(self) -> str:
        """The name of the first that is not; empty: none."""
        return next((file.name for file, before in self._seen.items() if state_of(file) != before), "")


class Outputs:
    """The files that a page makes: whose they are, and whether they are of the last result."""

    def __init__(self, paths: Mapping[str, Path], digests: dict[str, str]) -> None:
        self.paths, self.digests = dict(paths), digests  # by name of a file this page wrote: its SHA-256
        self._known: dict[Path, tuple[tuple[int, ...], str]] = {}  # so that a large file is read once
        self._written: dict[str, object] = {}  # by kind: what it was made of

    def write(self, writers: Mapping[str, Writer], made_of: object, overwrite: bool = False) -> list[str]:
        """Write what may be written; returns the names of those that are somebody else's."""
        ours = {kind: self.paths[kind] for kind in writers if overwrite or self._may_write(self.paths[kind])}
        with atomic_writes(list(ours.values()), overwrite=True) as streams:
            for kind, stream in zip(ours, streams, strict=True):
                writers[kind](stream)
        for kind, path in ours.items():
            self.digests[path.name] = self._digest(path)
            self._written[kind] = made_of
        return [self.paths[kind].name for kind in writers if kind not in ours]

    def files(self, kinds: Iterable[str], made_of: object) -> list[dict[str, Any]]:
        """What there is to tell of each file."""
        told = []
        for kind in kinds:
            path = self.paths[kind]
            there, own = path.exists(), self._is_own(path)
            stale = there and (not own or self._written.get(kind) != made_of)
            told.append(
                {"kind": kind, "name": path.name, "written": there, "ours": own or not there, "stale": stale}
            )
        return told

    def _may_write(self, path: Path) -> bool:
        return not path.exists() or self._is_own(path)

    def _is_own(self, path: Path) -> bool:
        """Whether this page wrote it, and nobody has changed it since."""
        return path.name in self.digests and path.exists() and self._digest(path) == self.digests[path.name]

    def _digest(self, path: Path) -> str:
        now = state_of(path)
        if now is None or self._known.get(path, (None,))[0] != now:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if now is None:
                return found
            self._known[path] = now, found
        return self._known[path][1]


class Sheets:
    """The sheet of random rows and that of checked ones; whoever changes them, they are read again when needed."""

    def __init__(self, job: Any, paths: Paths) -> None:
        self.job, self.paths = job, paths
        self._open: dict[Path, Filling] = {}
        self._trouble: dict[Path, str] = {}
        self._changed: list[str] = []  # names of files that somebody else has changed

    @property
    def audit(self) -> Filling | None:
        """Random rows; None: none are drawn, or the file cannot be used, which ``notices`` say."""
        return self._quietly(self.paths.audit)

    @property
    def check(self) -> Filling | None:
        """Rows chosen for doubt."""
        return self._quietly(self.paths.check) if self.job.kind == "label" else None

    @property
    def notices(self) -> list[str]:
        """What a person should know of them, a sentence each."""
        changed = [f"{name} was changed outside this page and has been read again." for name in self._changed]
        return [*changed, *self._trouble.values()]

    def read(self, path: Path) -> Filling | None:
        """A sheet as it is now; None: there is none. One that cannot be used is an error."""
        if not path.exists():
            self._open.pop(path, None)
            return None
        filling = self._open.get(path)
        try:
            if filling is None:
                filling = Filling(path)
                self.job.check_sheet(filling)
                self._open[path] = filling
            elif filling.refresh():
                self.job.check_sheet(filling)
                if path.name not in self._changed:
                    self._changed.append(path.name)
        except Exception:
            self._open.pop(path, None)
            raise
        return filling

    def draw(self, k: int) -> None:
        """Draw random rows, or add to those that were drawn."""
        with sole_writer(self.paths.audit.parent):
            self.job.draw(self.paths.audit, k)
        self._open.pop(self.paths.audit, None)

    def to_check(self, row: int, guess: str) -> tuple[Filling, int]:
        """The sheet of checked rows with this one in it, by number from 0; and the row's place there."""
        path = self.paths.check
        with sole_writer(path.parent):
            there = self.read(path)
            if there is None or there.place_of(row) is None:
                with atomic_write(path, overwrite=True) as stream:
                    self.job.add_to_check(row, guess, there, stream)
                self._open.pop(path, None)
        filling = self.read(path)
        place = None if filling is None else filling.place_of(row)
        if filling is None or place is None:
            raise TableError(f"{path.name} was changed at this very moment; try again.")
        return filling, place

    def audited_rows(self) -> set[int]:
        """Rows of the audit, answered or not, by number from 0: who labels them must not see an opinion."""
        filling = self.audit
        return set() if filling is None else {row.number for row in filling.rows}

    def checked_rows(self) -> dict[int, str]:
        """Answers to rows in doubt, by number from 0."""
        filling = self.check
        if filling is None:
            return {}
        pairs = zip(filling.rows, filling.answers, strict=True)
        return {row.number: answer for row, answer in pairs if answer}

    def _quietly(self, path: Path) -> Filling | None:
        try:
            filling = self.read(path)
        except (TableError, OSError) as error:
            self._trouble[path] = page_sentence(error)
            return None
        self._trouble.pop(path, None)
        return filling


# ------------------------------------------------------------ what was chosen


@dataclass(frozen=True)
class Choices:
    """What a person chose on the page, and what the file beside the table holds of it."""

    options: Options
    rule: str = PLANNED
    written: dict[str, str] = field(default_factory=dict)  # by name of a file this page wrote: its digest
    notice: str = ""  # why what was there could not be used

    @property
    def kinds(self) -> dict[str, str]:
        """By column what it was said to be, of ``KINDS``."""
        return {column: kind for kind, name in KINDS.items() for column in getattr(self.options, name)}

    def changed(self, body: Mapping[str, Any], columns: Sequence[str], classes: Sequence[str]) -> Choices:
        """The same with what somebody has chosen, or a sentence that says what cannot be."""
        if unknown := set(body) - {"kinds", "class_prior", "aim", "error", "rule"}:
            raise TableError(f"There is no setting {shown(min(unknown))}.")
        told: dict[str, Any] = {}
        if "kinds" in body:
            kinds = self.kinds | _kinds(_mapping(body["kinds"]), columns)
            told |= {name: tuple(c for c in kinds if kinds[c] == kind) for kind, name in KINDS.items()}
        if "class_prior" in body:
            told["class_prior"] = _prior(body["class_prior"], classes)
        if "aim" in body:
            told["aim"] = _one_of(body["aim"], AIMS, "aim")
        if "error" in body:
            told["error"] = _share(body["error"])
        rule = _one_of(body["rule"], RULES, "rule") if "rule" in body else self.rule
        return replace(self, options=replace(self.options, **told), rule=rule)

    def read(
        self, path: Path, about: Mapping[str, Any], columns: Sequence[str], classes: Sequence[str]
    ) -> Choices:
        """What a page kept when it was open last, under what was typed now.

        A file that is damaged, or of something else, is said and let be.
        """
        if not path.exists():
            return self
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise ValueError
            found = json.loads(path.read_text("utf-8"))
            if found["chary_review"] != _VERSION:
                raise ValueError
            written = {str(name): str(digest) for name, digest in _mapping(found["written"]).items()}
            chosen = _mapping(found["settings"])
            of_this = found["about"] == json.loads(json.dumps(about))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return replace(
                self,
                notice=f"{path.name} is damaged, or was not written by this page; the usual settings are used.",
            )
        if not of_this:
            notice = f"{path.name} holds settings for other labels; the usual ones are used."
            return replace(self, written=written, notice=notice)
        try:
            kept = self.changed(chosen, columns, classes)
            return replace(kept, written=written).changed({"kinds": self.kinds}, columns, classes)
        except TableError as error:
            notice = f"{path.name} cannot be used ({str(error).rstrip('.')})."
            return replace(self, written=written, notice=notice)

    def write(self, path: Path, about: Mapping[str, Any]) -> None:
        """Keep it for the next time."""
        chosen = {name: getattr(self.options, name) for name in ("class_prior", "aim", "error")}
        settings = {"kinds": self.kinds, **chosen, "rule": self.rule}
        body = {"chary_review": _VERSION, "about": dict(about), "settings": settings, "written": self.written}
        with atomic_write(path, overwrite=True) as stream:
            text = json.dumps(body, indent=1, ensure_ascii=False) + "\n"
            stream.write(text.encode("utf-8", "backslashreplace"))


def is_own(path: Path) -> bool:
    """Whether a file is one that ``Choices.write`` wrote, or there is none."""
    try:
        return json.loads(path.read_text("utf-8"))["chary_review"] == _VERSION
    except FileNotFoundError:
        return True
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _kinds(chosen: Mapping[str, Any], columns: Sequence[str]) -> dict[str, str]:
    for name, kind in chosen.items():
        if name not in columns:
            raise TableError(f"The table has no column {shown(name)}.")
        if kind is not None:
            _one_of(kind, tuple(KINDS), "kind of a column")
    return {name: "" if kind is None else str(kind) for name, kind in chosen.items()}


def _prior(value: Any, classes: Sequence[str]) -> dict[str, float] | None:
    """A share for each class, together 1; nothing: they are not known."""
    if value is None:
        return None
    shares = _mapping(value)
    if set(shares) != set(classes):
        raise TableError("Give the share of every class among all rows, or none.")
    if not all(_is_number(share) and share >= 0 for share in shares.values()):
        raise TableError("A share of a class is a number between 0% and 100%.")
    total = math.fsum(shares.values())
    if not 0.99 <= total <= 1.01:
        raise TableError(f"The shares of the classes add up to {total:.1%}; they must be 100% together.")
    return {name: float(shares[name]) for name in classes}


def _share(value: Any) -> float | None:
    if value is None:
        return None
    if not _is_number(value) or not 0 < value < 1:
        raise TableError("The share of wrong labels that you allow is between 0% and 100%, such as 10%.")
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _one_of(value: Any, choices: Sequence[str], what: str) -> str:
    if value not in choices:
        raise TableError(f"The {what} {shown(value)} is not known; choose one of {', '.join(choices)}.")
    return str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TableError("A setting has another form than this page gives it.")
    return value


# ------------------------------------------------------------ words

# Where on the page, or before it opens, the thing is told that a parameter stands for.
_PLACES = {
    "aim": "the aim on the page Start",
    "audit": "the answers of the page Audit",
    "categorical": "the kind “category” on the page Start",
    "checked": "the answers of the page Review",
    "class_prior": "the class shares on the page Start",
    "drop": "“leave out” on the page Start",
    "error": "the error on the page Truth",
    "identifier": "the kind “identifier” on the page Start",
    "numeric": "the kind “number” on the page Start",
    "overwrite": "“draw anew”",
    "text": "the kind “text” on the page Start",
}


def page_sentence(error: BaseException) -> str:
    """What an error says, for somebody who sees a page: no parameter of Python, no option.

    >>> page_sentence(TableError("There are too many columns; leave some out with ", Parameter("drop"), "."))
    'There are too many columns; leave some out with “leave out” on the page Start.'
    >>> page_sentence(ZeroDivisionError("division by zero"))
    'A mistake in chary itself (ZeroDivisionError: division by zero); please report it.'
    """
    if isinstance(error, MemoryError):
        return "The table does not fit into memory; leave columns out on the page Start."
    if not isinstance(error, (ValueError, OSError)):
        return f"A mistake in chary itself ({type(error).__name__}: {error}); please report it."
    in_parts = any(isinstance(part, Parameter | Step) for part in error.args)
    return "".join(map(_said, error.args)) if in_parts else str(error)


def _said(part: object) -> str:
    if not isinstance(part, Parameter):
        return str(part)  # a step is told in plain words already
    place = _PLACES.get(part.name, f"the setting “{part.name.replace('_', ' ')}”, when the page is started")
    return place if part.value is None else f"{place}: {shown(part.value)}"
