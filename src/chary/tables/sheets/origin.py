"""What a sheet shall say of where it comes from in; a cell that says it out, and what such a cell says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from chary._words import shown
from chary.tables.errors import TableError
from chary.tables.spellings import markers_of
from chary.tables.table import Table, column_named

CLASSES = "chary_classes"
# How the rows of a sheet were chosen: at random, which measures; or for doubt, which does not.
RANDOM, DOUBT = "random", "doubt"

# In the cells of CLASSES, after the target and its classes.
_UNLABELED, _TABLE, _READ_WITH = "chary_unlabeled", "chary_table", "chary_read_with"
_EXACT, _CHOSEN, _SEED, _PLACE = "chary_exact_labels", "chary_chosen", "chary_seed", "chary_place"
_JUDGED, _SHOWN, _STOPPED = "chary_judged", "chary_shown", "chary_stopped_when_enough"
_MOST_SHOWN = 20_000  # characters of names; a cell of a spreadsheet holds 32,767
# Older files hold the words of the command line instead, a name and a value after each other.
_OPTIONS = "chary_options"
_PARAMETERS = ("delimiter", "encoding", "sheet")  # of ``read_table``


class DrawnFrom(NamedTuple):
    """What a sheet says of where it comes from."""

    target: str
    classes: list[str]  # known when it was drawn
    unlabeled: tuple[str, ...] | None  # as given to ``target_labels``
    says_unlabeled: bool  # whether the file says so; older ones do not
    table: str  # path as typed; empty if unknown
    read_with: dict[str, str]  # the parameters to read it with
    more_tables: tuple[str, ...] = ()  # paths, where several files were one table
    exact_labels: bool = False
    chosen: str = RANDOM
    seed: int | None = None  # of the draw; older files do not say
    judged: tuple[str, ...] = ()  # columns of labels that were to be judged; empty: an audit of missing labels
    shown: tuple[str, ...] = ()  # of a table to judge: the columns that the sheet has; empty: too many to say
    stopped: bool = False  # whether the person was told when it was enough

    @property
    def markers(self) -> tuple[str, ...]:
        """The labels that stand for none."""
        return markers_of(self.unlabeled)


def about_cells(origin: DrawnFrom, places: Sequence[int]) -> pl.Series:
    """A cell for each row: all that ``drawn_from`` reads, and the row's place, to be held against its token."""
    tables = [origin.table, *origin.more_tables]
    about: dict[str, Any] = {
        origin.target: list(origin.classes),
        _UNLABELED: _one_or_several(origin.unlabeled),
        _TABLE: tables if origin.more_tables else origin.table,
        _READ_WITH: dict(origin.read_with),
        **({_EXACT: True} if origin.exact_labels else {}),
        **({} if origin.chosen == RANDOM else {_CHOSEN: origin.chosen}),
        **({} if origin.seed is None else {_SEED: origin.seed}),
        **({_JUDGED: list(origin.judged)} if origin.judged else {}),
        **({_SHOWN: list(origin.shown)} if len("".join(origin.shown)) < _MOST_SHOWN and origin.shown else {}),
        **({_STOPPED: True} if origin.stopped else {}),
    }
    return pl.Series(CLASSES, [json.dumps({**about, _PLACE: place}, ensure_ascii=False) for place in places])


def drawn_from(audit: Table) -> DrawnFrom:
    """What a sheet says of the table it was drawn from."""
    cells = audit.frame[CLASSES].drop_nulls() if CLASSES in audit.frame.columns else pl.Series([], dtype=pl.String)
    try:
        found = json.loads(cells[0])
        (target, classes), *_ = found.items()
        classes = [str(name) for name in classes]
        unlabeled, tables, read_with = _texts_in(found, _UNLABELED), _texts_in(found, _TABLE), _told_to_read(found)
        seed = found.get(_SEED)
    except (IndexError, ValueError, AttributeError, TypeError, RecursionError):
        raise TableError(
            f"{audit.name} has no usable column {shown(CLASSES)}, which tells the target and its classes; fill in "
            "the target column in a spreadsheet, or draw again."
        ) from None
    return DrawnFrom(
        column_named(audit, str(target)),
        classes,
        unlabeled=unlabeled,
        says_unlabeled=_UNLABELED in found,
        table=tables[0] if tables else "",
        read_with=read_with,
        more_tables=tables[1:] if tables else (),
        exact_labels=bool(found.get(_EXACT)),
        chosen=str(found.get(_CHOSEN, RANDOM)),
        seed=seed if isinstance(seed, int) else None,
        judged=_texts_in(found, _JUDGED) or (),
        shown=_texts_in(found, _SHOWN) or (),
        stopped=bool(found.get(_STOPPED)),
    )


def with_stopping(audit: Table) -> Table:
    """A sheet that says that whoever fills it in is told when it is enough."""
    if CLASSES not in audit.frame.columns:
        return audit
    told = [{**_parsed(cell), _STOPPED: True} for cell in audit.frame[CLASSES].to_list()]
    cells = pl.Series(CLASSES, [json.dumps(about, ensure_ascii=False) for about in told])
    return replace(audit, frame=audit.frame.with_columns(cells))


def draws_of(audit: Table) -> tuple[set[int | None], list[int | None]]:
    """The seeds that the rows of a sheet name, and each row's own place; None where a cell says nothing of it."""
    cells = audit.frame[CLASSES].to_list() if CLASSES in audit.frame.columns else [None] * audit.frame.height
    found = [_parsed(cell) for cell in cells]
    places = [about.get(_PLACE) for about in found]
    return {about[_SEED] for about in found if _is_number(about.get(_SEED))}, [
        place if _is_number(place) else None for place in places
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _parsed(cell: object) -> Mapping[str, Any]:
    try:
        found = json.loads(str(cell))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _one_or_several(texts: Sequence[str] | None) -> str | list[str] | None:
    return None if texts is None else texts[0] if len(texts) == 1 else list(texts)


def _texts_in(about: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    """One text, as older files have it, or several; None where there is none."""
    found = about.get(key)
    return None if found is None else tuple(map(str, found)) if isinstance(found, list) else (str(found),)


def _told_to_read(about: Mapping[str, Any]) -> dict[str, str]:
    words = [str(word) for word in about.get(_OPTIONS, ())]
    told = {name.lstrip("-"): value for name, value in zip(words[::2], words[1::2], strict=False)}
    told |= about.get(_READ_WITH, {})
    return {name: str(told[name]) for name in _PARAMETERS if name in told}
