"""Random rows and exact answers: draws, intervals, figures, acceptance, labels judged."""

from chary.audit.acceptance import (
    Acceptance,
    ConfidenceHistogram,
    accept_threshold,
    check_error,
    smallest_audit,
)
from chary.audit.answers import Audit, AuditAnswers, read_audit
from chary.audit.blind import hidden_columns
from chary.audit.drawing import DrawnSheet, draw, draw_sheet, keep_copy, refuse_to_lose_answers
from chary.audit.figures import (
    ClassJudgement,
    Score,
    balanced_score,
    class_scores,
    compare,
    difference,
    judge_labels,
    kappa,
    score,
    slice_scores,
)
from chary.audit.filling import CLASS_KEYS, AnsweredElsewhereError, Filling, Stopping
from chary.audit.intervals import at_least, count_interval, interval, sequence
from chary.audit.judge import JudgedColumn, JudgedTable, LabelPair, draw_to_judge, judge_table
from chary.audit.labels_under_test import labels_of_sheet, read_labels_under_test
from chary.audit.model import (
    AuditedResult,
    AuditFigures,
    audit_figures,
    compare_models,
    cross_fitted_score,
    fit_with_audit,
)
from chary.audit.origin import CLASSES, DOUBT, SheetOrigin, tables_beside
from chary.audit.sheet import (
    GUESS,
    ROW,
    SKIPPED,
    enlarge_sheet,
    named_rows,
    read_sheet,
    sheet_rows,
    unlabelled_rows,
    write_sheet,
)
from chary.audit.table_cells import cells_of, sample_of_table

__all__ = [
    "CLASSES",
    "CLASS_KEYS",
    "DOUBT",
    "GUESS",
    "ROW",
    "SKIPPED",
    "Acceptance",
    "AnsweredElsewhereError",
    "Audit",
    "AuditAnswers",
    "AuditFigures",
    "AuditedResult",
    "ClassJudgement",
    "ConfidenceHistogram",
    "DrawnSheet",
    "Filling",
    "JudgedColumn",
    "JudgedTable",
    "LabelPair",
    "Score",
    "SheetOrigin",
    "Stopping",
    "accept_threshold",
    "at_least",
    "audit_figures",
    "balanced_score",
    "cells_of",
    "check_error",
    "class_scores",
    "compare",
    "compare_models",
    "count_interval",
    "cross_fitted_score",
    "difference",
    "draw",
    "draw_sheet",
    "draw_to_judge",
    "enlarge_sheet",
    "fit_with_audit",
    "hidden_columns",
    "interval",
    "judge_labels",
    "judge_table",
    "kappa",
    "keep_copy",
    "labels_of_sheet",
    "named_rows",
    "read_audit",
    "read_labels_under_test",
    "read_sheet",
    "refuse_to_lose_answers",
    "sample_of_table",
    "score",
    "sequence",
    "sheet_rows",
    "slice_scores",
    "smallest_audit",
    "tables_beside",
    "unlabelled_rows",
    "write_sheet",
]
