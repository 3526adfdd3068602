"""Tables from files and frames: cells, kinds of columns, numeric features; and tables written back."""

from chary.tables.formats import write_table
from chary.tables.preparation import TablePreparation
from chary.tables.source import Source, open_source, read_table
from chary.tables.table import Table, TableError

__all__ = [
    "Source",
    "Table",
    "TableError",
    "TablePreparation",
    "open_source",
    "read_table",
    "write_table",
]
