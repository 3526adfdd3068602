"""A table in; what a command does with it out, without a word to anybody."""

from chary.jobs.acceptance import AcceptanceLevel
from chary.jobs.audit import ERRORS, AuditFigures
from chary.jobs.contrasts import Contrast
from chary.jobs.diagnose import DiagnosedTable, diagnose_table, prepare
from chary.jobs.drawing import DrawnSheet, ToDrawFrom, draw_sheet, write_rows_to_check
from chary.jobs.engines import ENGINES, Means, free_memory, label_files, n_cores
from chary.jobs.enough import Enough
from chary.jobs.explain import Cell, ColumnImportance, Explainer, explainer
from chary.jobs.in_parts import SAMPLE, Allowance, label_in_parts
from chary.jobs.judge import EMPTY, JudgedColumn, JudgedTable, draw_to_judge, judge_table, labels_of_sheet
from chary.jobs.label import label_table
from chary.jobs.labeled import AUDIT_SIZE, SOURCES, Counts, LabeledTable
from chary.jobs.learners import LEARNERS, WITH_AUDIT, learn
from chary.jobs.model_file import ModelFileError, load, load_bytes, model_bytes, save
from chary.jobs.planning import Plan, Shard, is_one_file, output_of_one, plan_files
from chary.jobs.predict import (
    load_table_model,
    predict_table,
    probability_columns,
    probability_names,
    refuse_taken,
)
from chary.jobs.predictor import Predictor
from chary.jobs.prior import PriorFigures
from chary.jobs.sketch import ColumnShift, NewRows, RowComparison, with_sketch
from chary.jobs.steps import Asked
from chary.jobs.streamed import FileTask, Labelled, label_file
from chary.jobs.workers import Event

__all__ = [
    "AUDIT_SIZE",
    "EMPTY",
    "ENGINES",
    "ERRORS",
    "LEARNERS",
    "SAMPLE",
    "SOURCES",
    "WITH_AUDIT",
    "AcceptanceLevel",
    "Allowance",
    "Asked",
    "AuditFigures",
    "Cell",
    "ColumnImportance",
    "ColumnShift",
    "Contrast",
    "Counts",
    "DiagnosedTable",
    "DrawnSheet",
    "Enough",
    "Event",
    "Explainer",
    "FileTask",
    "JudgedColumn",
    "JudgedTable",
    "LabeledTable",
    "Labelled",
    "Means",
    "ModelFileError",
    "NewRows",
    "Plan",
    "Predictor",
    "PriorFigures",
    "RowComparison",
    "Shard",
    "ToDrawFrom",
    "diagnose_table",
    "draw_sheet",
    "draw_to_judge",
    "explainer",
    "free_memory",
    "is_one_file",
    "judge_table",
    "label_file",
    "label_files",
    "label_in_parts",
    "label_table",
    "labels_of_sheet",
    "learn",
    "load",
    "load_bytes",
    "load_table_model",
    "model_bytes",
    "n_cores",
    "output_of_one",
    "plan_files",
    "predict_table",
    "prepare",
    "probability_columns",
    "probability_names",
    "refuse_taken",
    "save",
    "with_sketch",
    "write_rows_to_check",
]
