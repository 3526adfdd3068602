"""The studies of the repository: the paper's tables and figures, and what chary's defaults rest on.

``python -m studies list`` shows them; ``docs/how-to/studies.md`` says how to run one, and
``own-study.md`` there how to add a method, a bias or a measure.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module

from studies.ablations import ABLATIONS
from studies.audits import AUDIT
from studies.collection import COLLECTION, TableFacts, labelled_rows
from studies.comparison import average_ranks, paired_tests
from studies.figures import draw
from studies.label_free import LABEL_FREE
from studies.orderings import ORDERINGS
from studies.paper import PAPER
from studies.peers import PEERS
from studies.priors import PRIORS
from studies.real_tables import REAL_TABLES
from studies.results import (
    import_results,
    means_table,
    results_of,
    to_csv,
    to_latex,
    to_markdown,
    write_report,
)
from studies.runner import run
from studies.store import Store
from studies.study import Cell, Method, Metric, Study, Task
from studies.tables import TABLES, TABLES_PAPER

__all__ = [
    "COLLECTION",
    "GROUPS",
    "NAMES",
    "STUDIES",
    "Cell",
    "Method",
    "Metric",
    "Store",
    "Study",
    "TableFacts",
    "Task",
    "average_ranks",
    "draw",
    "find_study",
    "import_results",
    "labelled_rows",
    "means_table",
    "paired_tests",
    "results_of",
    "run",
    "to_csv",
    "to_latex",
    "to_markdown",
    "write_report",
]

_OF_TABLES = (TABLES, TABLES_PAPER, ABLATIONS, REAL_TABLES, LABEL_FREE)
_ALL = (*PAPER, PEERS, *PRIORS, AUDIT, ORDERINGS, *_OF_TABLES)
STUDIES: Mapping[str, Study] = {study.name: study for study in _ALL}
# Those that need PyTorch are imported when asked for.
_WITH_TORCH = {
    "figure-calibration-authors": ("studies.authors", "STUDY"),
    "table-ssb-exact": ("studies.published_loop", "TABLE_SSB_EXACT"),
    "published-loop": ("studies.published_loop", "PUBLISHED_LOOP"),
    "deep": ("studies.deep", "DEEP"),
    "deep-joint": ("studies.deep", "JOINT"),
}
NAMES = (*STUDIES, *_WITH_TORCH)
_BEYOND = (
    "peers",
    "orderings",
    "deep",
    "deep-joint",
    "table-balanced",
    "audit",
    *(s.name for s in PRIORS),
)
#: As ``python -m studies list`` shows them.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Tables of the paper": (
        "table-ssb",
        "table-ssb-exact",
        "table-iid",
        "failure-of-softmax",
        "published-loop",
    ),
    "Figures of the paper": tuple(
        n for n in NAMES if n.startswith("figure") and not n.endswith("-authors")
    ),
    "Beyond the paper": _BEYOND,
    "Real tables": tuple(study.name for study in _OF_TABLES),
}


def imported_studies() -> list[Study]:
    """List the published studies; those that need PyTorch only if they were asked for before."""
    with_torch = [
        getattr(sys.modules[module], variable)
        for module, variable in _WITH_TORCH.values()
        if module in sys.modules
    ]
    return [*STUDIES.values(), *with_torch]


def find_study(name: str) -> Study:
    """The study of this name, as in ``python -m studies list``.

    Parameters
    ----------
    name : str
        A name that ends in "-authors" is a study run as the authors of the paper seem to have run
        it.

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
        module, variable = _WITH_TORCH[name]
        study: Study = getattr(import_module(module), variable)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ValueError(f"The study {name} needs PyTorch: pip install 'chary[torch]'.") from error
    return study
