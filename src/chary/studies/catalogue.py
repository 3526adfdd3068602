"""A name in; the study of that name out, wherever it lives."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from chary.studies.audits import AUDIT
from chary.studies.choices import CHOICES
from chary.studies.paper import PAPER
from chary.studies.priors import PRIORS
from chary.studies.study import MissingExtraError, Study
from chary.studies.tables.rows_to_check import ROWS_TO_CHECK
from chary.studies.tables.study import TABLES, TABLES_PAPER

_ALL = (*PAPER, AUDIT, *PRIORS, *CHOICES, TABLES, TABLES_PAPER, ROWS_TO_CHECK)
STUDIES: Mapping[str, Study] = {study.name: study for study in _ALL}
# Studies of rooms that need an extra: where they are, and the extra. They are imported when asked for.
ELSEWHERE = {
    "figure-calibration-authors": ("chary.torch.authors:FIGURE_CALIBRATION_AUTHORS", "torch"),
    "deep": ("chary.torch.study:DEEP", "torch"),
}
NAMES = (*STUDIES, *ELSEWHERE)


def find_study(name: str) -> Study:
    """The study of this name; its room is imported if that has not happened yet.

    >>> find_study("table-ssb").labelings
    ('ssb',)
    """
    if name in STUDIES:
        return STUDIES[name]
    if name not in ELSEWHERE:
        raise ValueError(f"There is no study {name!r}; choose one of {', '.join(NAMES)}.")
    (module, _, attribute), extra = ELSEWHERE[name][0].partition(":"), ELSEWHERE[name][1]
    try:
        study: Study = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name != extra:
            raise
        raise MissingExtraError(f"The study {name} needs PyTorch: pip install 'chary[{extra}]'.") from error
    return study
