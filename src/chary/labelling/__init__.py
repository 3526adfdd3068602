"""Labels for the rest of a table: diagnose, learn, score, check and explain."""

from chary.labelling.defaults import DEFAULTS, Defaults
from chary.labelling.diagnose import (
    MILD,
    REPRESENTATIVE,
    STRONG,
    UNKNOWN,
    DiagnosedTable,
    Diagnosis,
    FeatureShift,
    diagnose_rows,
    diagnose_table,
)
from chary.labelling.drift import (
    LOOK_AS_KNOWN,
    NewRowsSummary,
    RowComparison,
    compare_with_reference,
    count_events,
)
from chary.labelling.explain import Cell, Explainer, as_texts, explainer
from chary.labelling.label import SOURCES, LabeledTable, LearnerSettings, label_table
from chary.labelling.predict_files import (
    FileTask,
    LabelledFile,
    Resources,
    label_files,
    plan_files,
)
from chary.labelling.rows_to_check import write_rows_to_check
from chary.labelling.score import Predictor, predict_table

__all__ = [
    "DEFAULTS",
    "LOOK_AS_KNOWN",
    "MILD",
    "REPRESENTATIVE",
    "SOURCES",
    "STRONG",
    "UNKNOWN",
    "Cell",
    "Defaults",
    "DiagnosedTable",
    "Diagnosis",
    "Explainer",
    "FeatureShift",
    "FileTask",
    "LabeledTable",
    "LabelledFile",
    "LearnerSettings",
    "NewRowsSummary",
    "Predictor",
    "Resources",
    "RowComparison",
    "as_texts",
    "compare_with_reference",
    "count_events",
    "diagnose_rows",
    "diagnose_table",
    "explainer",
    "label_files",
    "label_table",
    "plan_files",
    "predict_table",
    "write_rows_to_check",
]
