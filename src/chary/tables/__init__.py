"""Files of strangers in; cells, kinds of columns and numeric features out; and tables written back."""

from chary.tables.cells import cell_texts, shown_cells
from chary.tables.columns.column import Column
from chary.tables.errors import TableError
from chary.tables.extending import alone, extended, like, part_of
from chary.tables.features import with_features
from chary.tables.frames import from_dataframe, table_from
from chary.tables.preparation import TablePreparation, preparation_state, restore_preparation
from chary.tables.reading import read_table
from chary.tables.sheets import (
    CLASSES,
    GUESS,
    ROW,
    SKIPPED,
    AuditAnswers,
    DrawnFrom,
    drawn_from,
    read_audit,
    read_audit_table,
    with_answers,
    write_audit,
)
from chary.tables.spellings import is_marker
from chary.tables.table import FORMATS, Table
from chary.tables.target import Target, read_target, target_labels
from chary.tables.writing import require_writable, write_table

__all__ = [
    "CLASSES",
    "FORMATS",
    "GUESS",
    "ROW",
    "SKIPPED",
    "AuditAnswers",
    "Column",
    "DrawnFrom",
    "Table",
    "TableError",
    "TablePreparation",
    "Target",
    "alone",
    "cell_texts",
    "drawn_from",
    "extended",
    "from_dataframe",
    "is_marker",
    "like",
    "part_of",
    "preparation_state",
    "read_audit",
    "read_audit_table",
    "read_table",
    "read_target",
    "require_writable",
    "restore_preparation",
    "shown_cells",
    "table_from",
    "target_labels",
    "with_answers",
    "with_features",
    "write_audit",
    "write_table",
]
