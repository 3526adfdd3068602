"""A table in; what a command does with it out, without a word to anybody."""

from chary.jobs.audit import ERRORS, AuditFigures
from chary.jobs.label import (
    ACCEPTED,
    GIVEN,
    MIXED,
    NETWORK,
    PREDICTED,
    LabeledTable,
    diagnose_features,
    label_table,
    load_table_model,
    predict_table,
)
from chary.jobs.model_file import ModelFileError, load, save
from chary.jobs.prior import advice, parse_prior

__all__ = [
    "ACCEPTED",
    "ERRORS",
    "GIVEN",
    "MIXED",
    "NETWORK",
    "PREDICTED",
    "AuditFigures",
    "LabeledTable",
    "ModelFileError",
    "advice",
    "diagnose_features",
    "label_table",
    "load",
    "load_table_model",
    "parse_prior",
    "predict_table",
    "save",
]
