"""A name of a study in; its cells, results, tables beside the paper's and figures out."""

from chary.studies import datasets, figures
from chary.studies.audits import AUDIT
from chary.studies.labeling import iid, selection_biased, train_test_protocol
from chary.studies.paper import STUDIES, Cell, Method, Study, Task
from chary.studies.priors import PRIOR_STUDIES
from chary.studies.results import (
    Entry,
    Results,
    bests,
    dataset_title,
    export,
    findings,
    import_results,
    pivot,
    results_of,
    seeds_of,
    title_of,
    to_csv,
    to_markdown,
)
from chary.studies.runner import Interrupted, Progress, run
from chary.studies.store import Store, key_of

__all__ = [
    "AUDIT",
    "PRIOR_STUDIES",
    "STUDIES",
    "Cell",
    "Entry",
    "Interrupted",
    "Method",
    "Progress",
    "Results",
    "Store",
    "Study",
    "Task",
    "bests",
    "dataset_title",
    "datasets",
    "export",
    "figures",
    "findings",
    "iid",
    "import_results",
    "key_of",
    "pivot",
    "results_of",
    "run",
    "seeds_of",
    "selection_biased",
    "title_of",
    "to_csv",
    "to_markdown",
    "train_test_protocol",
]
