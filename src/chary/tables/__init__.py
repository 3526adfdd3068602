"""Files of strangers in; cells, kinds of columns and numeric features out; and tables written back."""

from chary.tables.appending import GROUP_ROWS, appending
from chary.tables.blocks import MOST_BYTES, in_blocks
from chary.tables.cells import cell_texts, shown_cells
from chary.tables.columns.column import Column
from chary.tables.errors import TableError
from chary.tables.extending import alone, extended, like, part_of
from chary.tables.features import with_features
from chary.tables.forms import Forms
from chary.tables.formulas import all_as_typed
from chary.tables.frames import from_dataframe, table_from
from chary.tables.large import Large, may_be_large, open_large
from chary.tables.memory import free_memory, row_bytes, total_bytes
from chary.tables.missing import is_no_answer, label_texts
from chary.tables.preparation import Feature, TablePreparation, preparation_state, restore_preparation
from chary.tables.reading import read_table
from chary.tables.sampling import behind_large, rows_numbered, sample_rows
from chary.tables.scanning import Scan, scan_table, scanned_column
from chary.tables.sheets.answers import (
    SKIPPED,
    AuditAnswers,
    known_class,
    match_answers,
    origin_of,
    progress_notes,
    read_audit,
)
from chary.tables.sheets.filling import AnsweredElsewhereError, Filling, Seen, seen, sole_writer
from chary.tables.sheets.origin import CLASSES, DOUBT, RANDOM, DrawnFrom, drawn_from, with_stopping
from chary.tables.sheets.rows import (
    ROW,
    Behind,
    SheetRows,
    as_texts,
    behind,
    in_order,
    numbers_named,
    places_and_rows,
    read_sheet,
    sheet_rows,
)
from chary.tables.sheets.writing import (
    GUESS,
    enlarge_sheet,
    origin_to_tell,
    write_audit,
    write_sheet,
)
from chary.tables.sources import find_sources
from chary.tables.spellings import is_marker
from chary.tables.streaming import Part, Stream, file_kind, stream_table
from chary.tables.table import ADDED_COLUMNS, FORMATS, Table, Taken, texts
from chary.tables.target import Target, read_target, target_labels
from chary.tables.tested import Tested, read_tested
from chary.tables.writing import least_bytes, require_writable, write_table

__all__ = [
    "ADDED_COLUMNS",
    "CLASSES",
    "DOUBT",
    "FORMATS",
    "GROUP_ROWS",
    "GUESS",
    "MOST_BYTES",
    "RANDOM",
    "ROW",
    "SKIPPED",
    "AnsweredElsewhereError",
    "AuditAnswers",
    "Behind",
    "Column",
    "DrawnFrom",
    "Feature",
    "Filling",
    "Forms",
    "Large",
    "Part",
    "Scan",
    "Seen",
    "SheetRows",
    "Stream",
    "Table",
    "TableError",
    "TablePreparation",
    "Taken",
    "Target",
    "Tested",
    "all_as_typed",
    "alone",
    "appending",
    "as_texts",
    "behind",
    "behind_large",
    "cell_texts",
    "drawn_from",
    "enlarge_sheet",
    "extended",
    "file_kind",
    "find_sources",
    "free_memory",
    "from_dataframe",
    "in_blocks",
    "in_order",
    "is_marker",
    "is_no_answer",
    "known_class",
    "label_texts",
    "least_bytes",
    "like",
    "match_answers",
    "may_be_large",
    "numbers_named",
    "open_large",
    "origin_of",
    "origin_to_tell",
    "part_of",
    "places_and_rows",
    "preparation_state",
    "progress_notes",
    "read_audit",
    "read_sheet",
    "read_table",
    "read_target",
    "read_tested",
    "require_writable",
    "restore_preparation",
    "row_bytes",
    "rows_numbered",
    "sample_rows",
    "scan_table",
    "scanned_column",
    "seen",
    "sheet_rows",
    "shown_cells",
    "sole_writer",
    "stream_table",
    "table_from",
    "target_labels",
    "texts",
    "total_bytes",
    "with_features",
    "with_stopping",
    "write_audit",
    "write_sheet",
    "write_table",
]
