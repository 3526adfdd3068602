"""What was chosen on a page in; the same checked out, and kept in a small file beside the table."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from chary._files import atomic_write
from chary._words import shown
from chary.method import ACCURACY, AIMS
from chary.tables import TableError

# What a column can be taken for on the page, and the parameter that says so.
KINDS = {
    "number": "numeric",
    "category": "categorical",
    "text": "text",
    "identifier": "identifier",
    "leave out": "drop",
}
PLANNED, LIVE = RULES = ("planned", "live")  # when the interval of an audit is shown
_VERSION = 1
_MOST_BYTES = 4 << 20


@dataclass(frozen=True)
class Settings:
    """What a person can choose on the page."""

    kinds: dict[str, str] = field(default_factory=dict)  # by column, of KINDS
    class_prior: dict[str, float] | None = None
    aim: str = ACCURACY
    error: float | None = None
    rule: str = PLANNED

    def parameters(self) -> dict[str, Any]:
        """The parameters of ``label_table`` that name columns."""
        named: dict[str, list[str]] = {parameter: [] for parameter in KINDS.values()}
        for column, kind in self.kinds.items():
            named[KINDS[kind]].append(column)
        return dict(named)


@dataclass(frozen=True)
class Kept:
    """What the file beside a table holds."""

    settings: Settings = field(default_factory=Settings)
    written: dict[str, str] = field(default_factory=dict)  # by name of a file this page wrote: its digest
    notice: str = ""  # why what was there could not be used


def changed(
    settings: Settings, body: Mapping[str, Any], columns: Sequence[str], classes: Sequence[str]
) -> Settings:
    """The settings with what somebody has chosen, or a sentence that says what cannot be."""
    unknown = set(body) - {"kinds", "class_prior", "aim", "error", "rule"}
    if unknown:
        raise TableError(f"There is no setting {shown(min(unknown))}.")
    if "kinds" in body:
        settings = replace(settings, kinds=_kinds({**settings.kinds, **_mapping(body["kinds"])}, columns))
    if "class_prior" in body:
        settings = replace(settings, class_prior=_prior(body["class_prior"], classes))
    if "aim" in body:
        settings = replace(settings, aim=_one_of(body["aim"], AIMS, "aim"))
    if "error" in body:
        settings = replace(settings, error=_share(body["error"]))
    if "rule" in body:
        settings = replace(settings, rule=_one_of(body["rule"], RULES, "rule"))
    return settings


def read_kept(path: Path, about: Mapping[str, Any], columns: Sequence[str], classes: Sequence[str]) -> Kept:
    """What a page kept when it was open last; a file that is damaged, or of something else, is said and let be."""
    if not path.exists():
        return Kept()
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
        return Kept(
            notice=f"{path.name} is damaged, or was not written by this page; the usual settings are used."
        )
    if not of_this:
        return Kept(
            written=written, notice=f"{path.name} holds settings for other labels; the usual ones are used."
        )
    try:
        return Kept(changed(Settings(), chosen, columns, classes), written)
    except TableError as error:
        return Kept(written=written, notice=f"{path.name} cannot be used ({str(error).rstrip('.')}).")


def write_kept(path: Path, about: Mapping[str, Any], kept: Kept) -> None:
    """Keep it for the next time."""
    body = {
        "chary_review": _VERSION,
        "about": dict(about),
        "settings": asdict(kept.settings),
        "written": kept.written,
    }
    with atomic_write(path, overwrite=True) as stream:
        stream.write((json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))


def is_own(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one that ``write_kept`` wrote, or there is none."""
    try:
        return json.loads(Path(path).read_text("utf-8"))["chary_review"] == _VERSION
    except FileNotFoundError:
        return True
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _kinds(chosen: Mapping[str, Any], columns: Sequence[str]) -> dict[str, str]:
    kinds = {}
    for name, kind in chosen.items():
        if kind is None:
            continue
        if name not in columns:
            raise TableError(f"The table has no column {shown(name)}.")
        kinds[name] = _one_of(kind, tuple(KINDS), "kind of a column")
    return kinds


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
