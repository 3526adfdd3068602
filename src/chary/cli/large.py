"""Files and the memory allowed in; a table to be read in parts out, where it does not fit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chary.cli.console import quietly

if TYPE_CHECKING:
    from chary.tables import Large


def if_large(
    files: Sequence[str | os.PathLike[str]], how: Mapping[str, Any], allowed: int, sample: int | None = None
) -> Large | None:
    """The table, if it is to be read in parts; None: at once, and whoever does so says what is wrong with it."""
    from chary.tables import TableError, find_sources, may_be_large, open_large

    given = [os.fspath(file) for file in files]
    with quietly():
        if sample is not None:
            if "-" in given:
                raise ValueError("Standard input can be read once only; save the table, or leave --sample out.")
            return open_large(given, **how, memory=allowed)
        try:
            paths = [one.path for one in find_sources(given)[0] if one.path is not None]
            if "-" in given or how.get("sheet") or not may_be_large(paths, allowed):
                return None
            large = open_large(given, **how, memory=allowed)
        except TableError:
            return None
    return large if large is not None and large.needed > allowed else None
