"""Files of strangers in; cells, kinds of columns and numeric features out; and tables written back."""

from chary.tables.columns.column import Column
from chary.tables.errors import TableError
from chary.tables.extending import extended, like
from chary.tables.frames import from_dataframe
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
from chary.tables.table import Table
from chary.tables.target import target_labels
from chary.tables.writing import write_table

__all__ = [
    "CLASSES",
    "GUESS",
    "ROW",
    "SKIPPED",
    "AuditAnswers",
    "Column",
    "DrawnFrom",
    "Table",
    "TableError",
    "TablePreparation",
    "drawn_from",
    "extended",
    "from_dataframe",
    "like",
    "preparation_state",
    "read_audit",
    "read_audit_table",
    "read_table",
    "restore_preparation",
    "target_labels",
    "with_answers",
    "write_audit",
    "write_table",
]
