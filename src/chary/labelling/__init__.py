"""Labels for the rest of a table: diagnose, learn, score, check and explain."""

from chary.labelling.diagnose import Diagnosis, diagnose_rows, diagnose_table
from chary.labelling.label import LabeledTable, label_table
from chary.labelling.score import Predictor, predict_table

__all__ = [
    "Diagnosis",
    "LabeledTable",
    "Predictor",
    "diagnose_rows",
    "diagnose_table",
    "label_table",
    "predict_table",
]
