"""A table in; what a command does with it out, without a word to anybody."""

from chary.jobs.acceptance import AcceptanceLevel
from chary.jobs.audit import ERRORS, AuditFigures
from chary.jobs.contrasts import Contrast
from chary.jobs.diagnose import DiagnosedTable, diagnose_table, prepare
from chary.jobs.drawing import DrawnSheet, draw_sheet, write_rows_to_check
from chary.jobs.enough import Enough
from chary.jobs.explain import Cell, ColumnImportance, Explainer, explainer
from chary.jobs.judge import EMPTY, JudgedColumn, JudgedTable, draw_to_judge, judge_table, labels_of_sheet
from chary.jobs.label import AUDIT_SIZE, SOURCES, LabeledTable, label_table
from chary.jobs.learners import LEARNERS, WITH_AUDIT, learn
from chary.jobs.model_file import ModelFileError, load, model_bytes, save
from chary.jobs.predict import (
    load_table_model,
    predict_table,
    probability_columns,
    probability_names,
    refuse_taken,
)
from chary.jobs.prior import PriorFigures
from chary.jobs.sketch import ColumnShift, NewRows, RowComparison, with_sketch

__all__ = [
    "AUDIT_SIZE",
    "EMPTY",
    "ERRORS",
    "LEARNERS",
    "SOURCES",
    "WITH_AUDIT",
    "AcceptanceLevel",
    "AuditFigures",
    "Cell",
    "ColumnImportance",
    "ColumnShift",
    "Contrast",
    "DiagnosedTable",
    "DrawnSheet",
    "Enough",
    "Explainer",
    "JudgedColumn",
    "JudgedTable",
    "LabeledTable",
    "ModelFileError",
    "NewRows",
    "PriorFigures",
    "RowComparison",
    "diagnose_table",
    "draw_sheet",
    "draw_to_judge",
    "explainer",
    "judge_table",
    "label_table",
    "labels_of_sheet",
    "learn",
    "load",
    "load_table_model",
    "model_bytes",
    "predict_table",
    "prepare",
    "probability_columns",
    "probability_names",
    "refuse_taken",
    "save",
    "with_sketch",
    "write_rows_to_check",
]
