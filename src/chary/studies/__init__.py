"""A name of a study in; its cells, results, tables beside the paper's and figures out."""

from chary.studies import datasets, figures, findings
from chary.studies.catalogue import NAMES, PROTOCOLS, STUDIES, find_study, protocols_of
from chary.studies.datasets import dataset_title
from chary.studies.folder import companion_of, figure_bytes, write_figure, write_report
from chary.studies.labeling import iid, selection_biased
from chary.studies.results import (
    Entry,
    bests,
    export,
    import_results,
    pivot,
    results_of,
    row_heads,
    seeds_of,
    to_csv,
    to_markdown,
)
from chary.studies.runner import Interrupted, Progress, run
from chary.studies.store import Store, key_of
from chary.studies.study import Cell, Method, MissingExtraError, Results, Study, Task, TextTable
from chary.studies.tables.collection import COLLECTION, TableFacts, labelled_rows

__all__ = [
    "COLLECTION",
    "NAMES",
    "PROTOCOLS",
    "STUDIES",
    "Cell",
    "Entry",
    "Interrupted",
    "Method",
    "MissingExtraError",
    "Progress",
    "Results",
    "Store",
    "Study",
    "TableFacts",
    "Task",
    "TextTable",
    "bests",
    "companion_of",
    "dataset_title",
    "datasets",
    "export",
    "figure_bytes",
    "figures",
    "find_study",
    "findings",
    "iid",
    "import_results",
    "key_of",
    "labelled_rows",
    "pivot",
    "protocols_of",
    "results_of",
    "row_heads",
    "run",
    "seeds_of",
    "selection_biased",
    "to_csv",
    "to_markdown",
    "write_figure",
    "write_report",
]
