"""A sheet to judge labels by, being filled in, in; the watch that tells when it is enough out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chary.jobs import Enough
    from chary.tables import Filling


def watch_sheet(filling: Filling, width: float | None, above: float | None) -> Enough:
    """The watch over a sheet whose labels are there already; the person does not see them."""
    from chary.jobs import Enough, labels_of_sheet
    from chary.tables import places_and_rows, scan_table

    origin, path = filling.origin, filling.path
    if not origin.judged:
        raise ValueError(
            f"{path} was drawn to train a model, whose labels are not there yet; when it is enough can be told of "
            "a sheet of chary judge alone."
        )
    if not Path(origin.table).exists():
        raise ValueError(f"The table that {path} was drawn from, {origin.table}, is not there; put it back.")
    scan = scan_table([origin.table, *origin.more_tables], **origin.read_with)
    places_and_rows(filling.sheet)  # refuses what names no row
    numbers = [row.number for row in filling.rows]
    if max(numbers, default=0) >= scan.n_rows:
        raise ValueError(
            f"{path} was not drawn from {origin.table} as it is now; use the table it was drawn from."
        )
    return Enough(labels_of_sheet(scan, origin, numbers), scan.n_rows, width, above)
