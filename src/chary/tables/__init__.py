"""Files of strangers in; cells, kinds of columns and numeric features out; and tables written back."""

from chary.tables.preparation import USED_KINDS, Column, TablePreparation, preparation_state, restore_preparation
from chary.tables.reading import Table, TableError, read_table, target_labels, write_table
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

__all__ = [
    "CLASSES",
    "GUESS",
    "ROW",
    "SKIPPED",
    "USED_KINDS",
    "AuditAnswers",
    "Column",
    "DrawnFrom",
    "Table",
    "TableError",
    "TablePreparation",
    "drawn_from",
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
