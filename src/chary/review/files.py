"""The files that a page writes: its results, and beside them what was chosen on it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import isclose
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from chary._files import atomic_rewrite, atomic_writes
from chary._words import shown
from chary.method.priors import AIMS
from chary.options import Options
from chary.tables import Table, TableError
from chary.tables.formats.base import state_of

# What a column can be taken for on the page, and the option that says so.
KINDS = {
    "number": "numeric",
    "category": "categorical",
    "text": "text",
    "identifier": "identifier",
    "leave out": "drop",
}
SETTINGS = ("class_prior", "aim", "error")  # options that can be chosen on the page, besides the kinds of columns
Writer = Callable[[BinaryIO], None]
_ABOUT = ("target", "labels", "confidence", "unlabeled", "classes")  # which labels the settings are for
_VERSION = 1
_MOST_BYTES = 4 << 20


class Paths(NamedTuple):
    """The files of one table: those that the commands use."""

    audit: Path  # the sheet of random rows
    check: Path
    labels: Path
    model: Path
    report: Path
    settings: Path  # what was chosen on the page, and what it wrote


def paths_of(table: Table, judged: bool) -> Paths:
    """Where everything is."""
    sheet, labels, report = ("judge", "judged", "judged") if judged else ("audit", "labeled", "report")
    names = f"{sheet}.csv", "check.csv", f"{labels}{table.suffix}", "model.chary", f"{report}.html", "review.json"
    return Paths(*(table.folder / f"{table.stem}.{name}" for name in names))


class Outputs:
    """The files that a page makes: whose they are, and whether they are of the last result."""

    def __init__(self, paths: Mapping[str, Path], digests: Mapping[str, str]) -> None:
        self.paths, self.digests = dict(paths), dict(digests)  # digests by name of a file this page wrote
        self._written: dict[str, object] = {}  # by kind: what it was made of

    def write(self, writers: Mapping[str, Writer], made_of: object, overwrite: bool = False) -> list[str]:
        """Write what may be written; returns the names of those that are somebody else's."""
        paths = {kind: self.paths[kind] for kind in writers}
        ours = {kind: path for kind, path in paths.items() if overwrite or self._is_free(path)}
        made: dict[str, str] = {}
        try:
            with atomic_writes(list(ours.values()), overwrite=True) as streams:
                for kind, stream in zip(ours, streams, strict=True):
                    writers[kind](stream)
                    stream.flush()
                    made[kind] = _digest(Path(stream.name), None)
        finally:  # where the disk failed midway, those that have their names are ours nevertheless
            for kind, digest in made.items():
                path = paths[kind]
                if path.exists() and _digest(path, state_of(path)) == digest:
                    self.digests[path.name], self._written[kind] = digest, made_of
        return [path.name for kind, path in paths.items() if kind not in ours]

    def files(self, kinds: Iterable[str], made_of: object) -> list[dict[str, Any]]:
        """What there is to tell of each file."""
        told = []
        for kind in kinds:
            path = self.paths[kind]
            there, ours = path.exists(), self._is_free(path)
            stale = there and (not ours or self._written.get(kind) != made_of)
            told.append({"kind": kind, "name": path.name, "written": there, "ours": ours, "stale": stale})
        return told

    def _is_own(self, path: Path) -> bool:
        """Whether this page wrote it, and nobody has changed it since."""
        there = path.name in self.digests and path.exists() and not path.is_symlink()
        return there and _digest(path, state_of(path)) == self.digests[path.name]

    def _is_free(self, path: Path) -> bool:
        """Whether it may be written unasked; a link is somebody's, also one that leads nowhere."""
        return not os.path.lexists(path) or self._is_own(path)


@lru_cache(maxsize=16)
def _digest(path: Path, state: tuple[int, ...] | None) -> str:
    """SHA-256 of a file, which is read again only once its state is another."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ------------------------------------------------------------ what was chosen


class Kept(NamedTuple):
    """What the file of settings holds."""

    options: Options  # what was chosen on the page when it was open last, under what was typed now
    written: Mapping[str, str] = {}  # by name of a file that the page wrote: its digest
    notice: str = ""  # why the file could not be used
    own: bool = True  # whether it is of this page, and may be written


def resumed(path: Path, options: Options) -> Options:
    """With the column and the classes that were chosen when the page was open last, unless some are typed."""
    try:
        about = _mapping(_parsed(path)["about"])
        typed = options.target is not None or bool(options.labels)
        if (typed and _of(about) != _of(_about(options))) or options.unlabeled or options.classes:
            return options
        return Options.of(**{**vars(options), **{name: about.get(name) for name in _ABOUT}})
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return options  # what is wrong with it, ``read_settings`` says


def read_settings(path: Path, options: Options, columns: Sequence[str], classes: Sequence[str]) -> Kept:
    """What a page kept when it was open last; a file that is damaged, or of something else, is said and let be."""
    try:
        found = _parsed(path)
        written = {str(name): str(digest) for name, digest in _mapping(found["written"]).items()}
        chosen, about = _mapping(found["settings"]), _mapping(found["about"])
    except FileNotFoundError:
        lost = f"{path.name} is a link that leads nowhere; what you choose here is not kept."
        return Kept(options, notice=lost, own=False) if path.is_symlink() else Kept(options)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        notice = f"{path.name} cannot be read; default settings are used."
        return Kept(options, notice=notice, own=False)
    if _of(about) != _of(_about(options)):
        return Kept(options, written, f"{path.name} holds settings for other labels; default ones are used.")
    try:
        kept = with_settings(options, chosen, columns, classes)
        return Kept(with_settings(kept, {"kinds": kinds_of(options)}, columns, classes), written)
    except TableError as error:
        return Kept(options, written, f"{path.name} cannot be used ({str(error).rstrip('.')}).")


def write_settings(path: Path, options: Options, written: Mapping[str, str]) -> None:
    """Keep what was chosen for the next time."""
    settings = {"kinds": kinds_of(options), **{name: getattr(options, name) for name in SETTINGS}}
    body = {"chary_review": _VERSION, "about": _about(options), "settings": settings, "written": written}
    with atomic_rewrite(path) as stream:
        text = json.dumps(body, indent=1, ensure_ascii=False) + "\n"
        stream.write(text.encode("utf-8", "backslashreplace"))


def with_settings(
    options: Options, body: Mapping[str, Any], columns: Sequence[str], classes: Sequence[str]
) -> Options:
    """The same with what somebody has chosen, or a sentence that says what cannot be chosen."""
    if unknown := set(body) - {"kinds", *SETTINGS}:
        raise TableError(f"There is no setting {shown(min(unknown))}.")
    chosen = {name: body[name] for name in SETTINGS if name in body}
    prior, error = chosen.get("class_prior"), chosen.get("error")
    if "kinds" in body:
        kinds = kinds_of(options) | _kinds(body["kinds"], columns)
        chosen |= {name: tuple(c for c in kinds if kinds[c] == kind) for kind, name in KINDS.items()}
    if prior is not None and not _are_shares(prior, classes):
        raise TableError("Give the share of every class among all rows, or none; they must be 100% together.")
    if chosen.get("aim", options.aim) not in AIMS:
        raise TableError(f"The aim {shown(chosen['aim'])} is not known; choose one of {', '.join(AIMS)}.")
    if error is not None and not (_is_share(error) and 0 < error < 1):
        raise TableError("The share of wrong labels that you allow is between 0% and 100%, such as 10%.")
    return replace(options, **chosen)


def kinds_of(options: Options) -> dict[str, str]:
    """By column what it was said to be, of ``KINDS``."""
    return {column: kind for kind, name in KINDS.items() for column in getattr(options, name)}


def _kinds(chosen: Any, columns: Sequence[str]) -> dict[str, str]:
    for name, kind in _mapping(chosen).items():
        if name not in columns:
            raise TableError(f"The table has no column {shown(name)}.")
        if kind not in (None, *KINDS):
            raise TableError(f"A column is one of {', '.join(KINDS)}, and not {shown(kind)}.")
    return {name: kind or "" for name, kind in chosen.items()}


def _are_shares(value: Any, classes: Sequence[str]) -> bool:
    """Whether it has a share for each class, together 1."""
    shares = _mapping(value)
    if set(shares) != set(classes) or not all(map(_is_share, shares.values())):
        return False
    return isclose(sum(shares.values()), 1, abs_tol=0.01)


def _parsed(path: Path) -> Any:
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError
    found = json.loads(path.read_text("utf-8"))
    if found["chary_review"] != _VERSION:
        raise ValueError
    return found


def _about(options: Options) -> dict[str, Any]:
    found = {name: getattr(options, name) for name in _ABOUT}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def _of(about: Mapping[str, Any]) -> list[Any]:
    """Whose settings they are: the columns."""
    return [about.get(name) for name in _ABOUT[:3]]


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TableError("A setting is not valid.")
    return value
