"""The studies of the repository: the paper's tables and figures, and what chary's defaults rest on.

``python -m studies list`` shows them; ``docs/how-to/studies.md`` says how to run one and how to add one.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from studies.audits import AUDIT
from studies.choices import CHOICES
from studies.collection import COLLECTION, TableFacts, labelled_rows
from studies.paper import PAPER
from studies.priors import PRIORS
from studies.results import import_results, results_of, to_csv, to_markdown, write_report
from studies.runner import run
from studies.store import Store
from studies.study import Cell, Method, Study, Task
from studies.tables import ROWS_TO_CHECK, TABLES, TABLES_PAPER, WARM_STARTS

__all__ = [
    "COLLECTION",
    "NAMES",
    "STUDIES",
    "Cell",
    "Method",
    "Store",
    "Study",
    "TableFacts",
    "Task",
    "find_study",
    "import_results",
    "labelled_rows",
    "results_of",
    "run",
    "to_csv",
    "to_markdown",
    "write_report",
]

_ALL = (*PAPER, AUDIT, *PRIORS, *CHOICES, TABLES, TABLES_PAPER, ROWS_TO_CHECK, WARM_STARTS)
STUDIES: Mapping[str, Study] = {study.name: study for study in _ALL}
# Those that need PyTorch are imported when asked for.
_WITH_TORCH = {"figure-calibration-authors": "studies.authors", "deep": "studies.deep"}
NAMES = (*STUDIES, *_WITH_TORCH)


def find_study(name: str) -> Study:
    """The study of this name, as in ``python -m studies list``.

    Parameters
    ----------
    name : str
        A name that ends in "-authors" is a study run as the authors of the paper seem to have run it.

    Examples
    --------
    >>> find_study("table-ssb-authors").labelings
    ('ssb',)
    """
    if name not in NAMES:
        raise ValueError(f"There is no study {name!r}; choose one of {', '.join(NAMES)}.")
    if name in STUDIES:
        return STUDIES[name]
    try:
        study: Study = import_module(_WITH_TORCH[name]).STUDY
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ValueError(f"The study {name} needs PyTorch: pip install 'chary[torch]'.") from error
    return study
