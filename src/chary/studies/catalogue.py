"""A name and a protocol in; the study of that name out, wherever it lives."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from chary._words import listed
from chary.studies.audits import AUDIT
from chary.studies.choices import CHOICES
from chary.studies.paper import AUTHORS, PAPER
from chary.studies.priors import PRIORS
from chary.studies.study import MissingExtraError, Study
from chary.studies.tables.rows_to_check import ROWS_TO_CHECK
from chary.studies.tables.study import TABLES, TABLES_PAPER
from chary.studies.tables.warm_starts import WARM_STARTS

_ALL = (*PAPER, AUDIT, *PRIORS, *CHOICES, TABLES, TABLES_PAPER, ROWS_TO_CHECK, WARM_STARTS)
STUDIES: Mapping[str, Study] = {study.name: study for study in _ALL}
# Studies of rooms that need an extra: where they are, and the extra. They are imported when asked for.
ELSEWHERE = {
    "figure-calibration-authors": ("chary.torch.authors:FIGURE_CALIBRATION_AUTHORS", "torch"),
    "deep": ("chary.torch.study:DEEP", "torch"),
}
NAMES = (*STUDIES, *ELSEWHERE)
PROTOCOLS = ("ours", "authors")


def protocols_of(name: str) -> tuple[str, ...]:
    """The protocols that a study can be run in.

    >>> protocols_of("table-ssb"), protocols_of("audit")
    (('ours', 'authors'), ('ours',))
    """
    return PROTOCOLS if name in AUTHORS else PROTOCOLS[:1]


def find_study(name: str, protocol: str = "ours") -> Study:
    """The study of this name; its room is imported if that has not happened yet.

    ``protocol="authors"``: as the authors of the paper seem to have run it, with warm starts for PL and CSTA.

    Parameters
    ----------
    name : str
        As in ``chary study list``.
    protocol : {"ours", "authors"}, default="ours"
        "authors": as the authors of the paper seem to have run it, with warm starts for PL and CSTA.

    Examples
    --------
    >>> find_study("table-ssb").labelings
    ('ssb',)
    >>> find_study("table-ssb", "authors").name
    'table-ssb-authors'
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"There is no protocol {protocol!r}; choose one of {', '.join(PROTOCOLS)}.")
    if name in NAMES and protocol not in protocols_of(name):
        raise ValueError(f"{name} has no protocol of the authors; {listed(list(AUTHORS))} have one.")
    if protocol == "authors" and name in AUTHORS:
        return AUTHORS[name]
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
