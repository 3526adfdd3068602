"""Results of a table of the paper in; how near to its numbers they are out, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from chary._words import listed
from chary.studies.datasets import dataset_title
from chary.studies.methods import MSTA_READINGS
from chary.studies.results import summarize
from chary.studies.study import Results, Study


class Deviation(NamedTuple):
    """One number of the paper's table, and how far ours is from it."""

    dataset: str
    method: str
    points: float  # ours less the paper's
    deviation: float  # the paper's standard deviation

    @property
    def is_near(self) -> bool:
        """Whether ours is within one of the paper's standard deviations."""
        return abs(self.points) <= self.deviation


def deviations(
    study: Study, results: Results, labeling: str, stand_ins: Mapping[str, str] | None = None
) -> list[Deviation]:
    """Ours less the paper's, for every number that both have under a labelling.

    ``stand_ins``: method of the paper -> method of ours that is set beside it.
    """
    lines = {x[:3]: x.mean for x in summarize(study, results) if x.metric == "accuracy"}
    found = []
    for (dataset, method), (mean, deviation) in study.published(labeling).items():
        ours = lines.get((dataset, labeling, (stand_ins or {}).get(method, method)))
        if ours is not None:
            found.append(Deviation(dataset, method, ours - mean, deviation))
    return found


def nearness(study: Study, results: Results, companion: Results) -> list[str]:
    """How near the numbers are to the paper's, in all, policy by policy, and which are not."""
    said = []
    for labeling in study.labelings:
        found = deviations(study, results, labeling)
        if not found:
            continue
        policies = list(dict.fromkeys(_policy(d) for d in found))
        parts = [f"{policy} {_mean_absolute([d for d in found if _policy(d) == policy])}" for policy in policies]
        said.append(
            f"{_in_all(found)} under {labeling.upper()} (mean absolute deviation; {listed(parts)}), "
            f"{_near(found)} within one of its standard deviations."
        )
        far = sorted((d for d in found if not d.is_near), key=lambda d: -abs(d.points))
        if far:
            names = [f"{dataset_title(d.dataset)} {study.title_of(d.method)} {d.points:+.1f}" for d in far]
            said.append(f"Beyond one under {labeling.upper()}: {', '.join(names)} points.")
    return said


def other_readings(study: Study, results: Results, companion: Results) -> list[str]:
    """The same with each other reading of MSTA in its place."""
    said = []
    for labeling in study.labelings:
        literal = [d for d in deviations(study, results, labeling) if d.method == "msta-tsim"]
        parts = []
        for reading in MSTA_READINGS:
            found = deviations(study, results, labeling, {"msta-tsim": reading})
            its = [d for d in found if d.method == "msta-tsim"]
            if its and len(its) == len(literal):
                parts.append(
                    f"{_mean_absolute(its)} with {study.title_of(reading)} (the whole table then "
                    f"{_mean_absolute(found)}, {_near(found)} near)"
                )
        if parts:
            said.append(
                f"MSTA T-sim is {_mean_absolute(literal)} points from the paper's under {labeling.upper()}; "
                f"{listed(parts)}."
            )
    return said


def _policy(found: Deviation) -> str:
    return found.method.partition("-")[0].upper()


def _mean_absolute(found: list[Deviation]) -> str:
    return f"{np.mean([abs(d.points) for d in found]):.1f}"


def _in_all(found: list[Deviation]) -> str:
    return f"{len(found)} numbers of the paper's table are met to {_mean_absolute(found)} points on average"


def _near(found: list[Deviation]) -> str:
    n_near = sum(d.is_near for d in found)
    return f"{n_near} of {len(found)} ({n_near / len(found):.0%})"
