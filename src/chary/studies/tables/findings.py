"""Results on real tables in; means by way of drawing labels, duels by table, and sentences from them out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from chary._words import listed
from chary.studies.findings import signed
from chary.studies.study import LABELINGS, Results, Study, TextTable
from chary.studies.tables.methods import AUTO, RIVALS

# Means over seeds that differ by no more points than this are a tie.
TIE = 0.5

# (labelling, method) -> table -> seed -> number; percent but for seconds
Numbers = Mapping[tuple[str, str], Mapping[str, Mapping[int, float]]]


def numbers(results: Results, metric: str = "accuracy") -> Numbers:
    """One metric of all results, by labelling, method, table and seed."""
    found: dict[tuple[str, str], dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    scale = 1 if metric == "seconds" else 100
    for cell, result in results:
        if result.get(metric) is not None:
            found[cell.labeling, cell.method][cell.dataset][cell.seed] = scale * result[metric]
    return found


def together(found: Numbers, labeling: str, methods: Sequence[str]) -> dict[str, list[float]]:
    """Of each table that all methods have, their means over the seeds that all of them have there."""
    by_method = [found.get((labeling, method), {}) for method in methods]
    means = {}
    for table in by_method[0]:
        if all(table in by_table for by_table in by_method):
            seeds = set.intersection(*(set(by_table[table]) for by_table in by_method))
            if seeds:
                means[table] = [float(np.mean([by[table][seed] for seed in seeds])) for by in by_method]
    return means


class Duel(NamedTuple):
    """One method against another, table by table."""

    gains: dict[str, float]  # table -> points

    @property
    def counts(self) -> tuple[int, int, int]:
        """Tables won, tied and lost."""
        won = sum(gain > TIE for gain in self.gains.values())
        lost = sum(gain < -TIE for gain in self.gains.values())
        return won, len(self.gains) - won - lost, lost

    @property
    def mean(self) -> float:
        """Points on average over tables."""
        return float(np.mean(list(self.gains.values())))

    @property
    def worst(self) -> str:
        """The table with the largest loss."""
        return min(self.gains, key=self.gains.__getitem__)


def duel(found: Numbers, labelings: Sequence[str], ours: str, rivals: Sequence[str]) -> Duel:
    """A method against the best of some, by table; over several ways of drawing labels, by table and way."""
    gains = {}
    for labeling in labelings:
        for table, (own, *others) in together(found, labeling, [ours, *rivals]).items():
            gains[table if len(labelings) == 1 else f"{table}, {labeling}"] = own - max(others)
    return Duel(gains)


def _rivals(study: Study) -> Sequence[str]:
    """Who chary is held against: plain learners with its features, and on the paper's sets its own."""
    return RIVALS if all(name in study.methods for name in RIVALS) else ("logistic", "ours-mixed", "ours-network")


# -- Tables --------------------------------------------------------------------------------------------------


def by_way(study: Study, results: Results) -> TextTable:
    """Every method: accuracy, plain and balanced, by how labels were drawn."""
    accuracy, balanced = numbers(results), numbers(results, "balanced")
    most: dict[str, int] = defaultdict(int)
    for (labeling, _), by in accuracy.items():
        most[labeling] = max(most[labeling], len(by))
    rows = []
    for method in study.methods:
        places = [(labeling, method) for labeling in study.labelings]
        seeds = {seed for place in places for by_seed in accuracy.get(place, {}).values() for seed in by_seed}
        if seeds:
            cells = [_pair(accuracy, balanced, place, most[place[0]]) for place in places]
            rows.append([study.title_of(method), str(len(seeds)), *cells])
    tables = ", ".join(f"{n} with {LABELINGS[labeling]}" for labeling, n in most.items())
    caption = f"Accuracy (balanced accuracy) in percent, mean over tables: {tables}; [n]: over n tables"
    return TextTable(caption, ["Method", "Seeds", *study.labelings], rows)


def _pair(accuracy: Numbers, balanced: Numbers, place: tuple[str, str], most: int) -> str:
    if place not in accuracy:
        return "-"
    plain, even = (
        np.mean([np.mean(list(by.values())) for by in of[place].values()]) for of in (accuracy, balanced)
    )
    n = len(accuracy[place])
    return f"{plain:.1f} ({even:.1f})" + (f" [{n}]" if n < most else "")


def confidences(study: Study, results: Results) -> TextTable:
    """Every method: what its confidence is worth and what it costs, over all draws."""
    metrics = ("auroc", "aurc", "confidence", "accuracy", "seconds")
    found = {metric: numbers(results, metric) for metric in metrics}
    rows = []
    for method in study.methods:
        cells = [_overall(study, found[metric], method, 2 if metric == "seconds" else 1) for metric in metrics]
        rows += [[study.title_of(method), *cells]] if cells[-1] != "-" else []
    caption = (
        "Over all draws, in percent: how often a right label has more confidence than a wrong one (AUROC), area "
        "under the risk-coverage curve (AURC, less is better), mean confidence beside accuracy; seconds of CPU "
        "time to learn and label, features being there, but for the one with its report"
    )
    return TextTable(caption, ["Method", "AUROC", "AURC", "Confidence", "Accuracy", "Seconds"], rows)


def _overall(study: Study, found: Numbers, method: str, digits: int) -> str:
    means = [
        np.mean(list(by_seed.values()))
        for labeling in study.labelings
        for by_seed in found.get((labeling, method), {}).values()
    ]
    return f"{np.mean(means):.{digits}f}" if means else "-"


def by_table(study: Study, results: Results) -> TextTable:
    """Each table and way: chary beside the three rivals that are given the same features."""
    found, methods = numbers(results), [AUTO, *_rivals(study)]
    rows = []
    for labeling in study.labelings:
        for table, (own, *others) in together(found, labeling, methods).items():
            rows.append([table, labeling, *(f"{mean:.1f}" for mean in (own, *others)), signed(own - max(others))])
    caption = "Accuracy in percent by table, mean over seeds; last, chary label against the best of these"
    return TextTable(caption, ["Table", "Labels", *map(study.title_of, methods), "Against the best"], rows)


# -- Sentences -----------------------------------------------------------------------------------------------


def headline(study: Study, results: Results) -> str:
    """The means of chary and of its best rival, by the way labels were drawn."""
    found, parts, rivals = numbers(results), [], _rivals(study)
    for labeling in study.labelings:
        means = together(found, labeling, [AUTO, *rivals])
        if means:
            own, *others = np.mean(list(means.values()), axis=0)
            best = int(np.argmax(others))
            parts.append(
                f"{own:.1f} with {LABELINGS[labeling]} ({study.title_of(rivals[best])} {others[best]:.1f})"
            )
    return f"{study.title_of(AUTO)} has {listed(parts)}" if parts else ""


def against_rivals(study: Study, results: Results, companion: Results) -> list[str]:
    """Won, tied and lost against each rival; and how far behind the best of them at worst."""
    found, said = numbers(results), []
    for rival in [*_rivals(study), *(method for method in ("ten-lines", "majority") if method in study.methods)]:
        parts = []
        for labeling in study.labelings:
            one = duel(found, [labeling], AUTO, [rival])
            if one.gains:
                won, tied, lost = one.counts
                parts.append(
                    f"{LABELINGS[labeling]} {won} won, {tied} tied, {lost} lost ({signed(one.mean)} points)"
                )
        if parts:
            said.append(f"{study.title_of(AUTO)} against {study.title_of(rival)}, by table: {'; '.join(parts)}.")
    return said + _overall_duels(study, found) + _at_worst(study, found)


def _overall_duels(study: Study, found: Numbers) -> list[str]:
    """By table alone: the mean over the ways of drawing labels."""
    parts = []
    for rival in _rivals(study):
        gains: dict[str, list[float]] = defaultdict(list)
        for labeling in study.labelings:
            for table, (own, other) in together(found, labeling, [AUTO, rival]).items():
                gains[table].append(own - other)
        ahead = sum(np.mean(of_table) > 0 for of_table in gains.values())
        parts += [f"{study.title_of(rival)} on {ahead} of {len(gains)}"] if gains else []
    return [f"Over all ways together, {study.title_of(AUTO)} is ahead of {listed(parts)} tables."] if parts else []


def _at_worst(study: Study, found: Numbers) -> list[str]:
    best = duel(found, study.labelings, AUTO, _rivals(study))
    if not best.gains:
        return []
    behind = sum(gain < -3 for gain in best.gains.values())
    return [
        f"Against the best of these on each table and way ({len(best.gains)}), {study.title_of(AUTO)} has "
        f"{signed(best.mean)} points on average; more than 3 points behind on {behind}; at worst "
        f"{signed(best.gains[best.worst])} ({best.worst})."
    ]


def worth_of_audit(study: Study, results: Results, companion: Results) -> list[str]:
    """With the audited rows: chary against the rivals that got the same rows."""
    found, said = numbers(results), []
    ours = f"{AUTO}-audited"
    for rival in (f"{name}-audited" for name in RIVALS):
        parts = []
        for labeling in study.labelings:
            one = duel(found, [labeling], ours, [rival])
            parts += [f"{signed(one.mean)} with {LABELINGS[labeling]}"] if one.gains else []
        if parts:
            said.append(f"{study.title_of(ours)} against {study.title_of(rival)}, points: {listed(parts)}.")
    gains = [duel(found, [labeling], ours, [AUTO]) for labeling in study.labelings]
    parts = [
        f"{signed(one.mean)} with {LABELINGS[labeling]}"
        for labeling, one in zip(study.labelings, gains, strict=True)
        if one.gains
    ]
    return said + ([f"The audited rows add to {study.title_of(AUTO)}, points: {listed(parts)}."] if parts else [])


def worth_of_aim(study: Study, results: Results, companion: Results) -> list[str]:
    """What the balanced aim changes, on average and on the worst table."""
    said = []
    for metric, words in (("balanced", "Balanced accuracy"), ("accuracy", "Accuracy")):
        found = numbers(results, metric)
        one = duel(found, study.labelings, f"{AUTO}-balanced", [AUTO])
        if one.gains:
            said.append(
                f"{words}, balanced aim: {signed(one.mean)} points on average over {len(one.gains)} tables "
                f"and ways, at worst {signed(one.gains[one.worst])} ({one.worst})."
            )
    return said
