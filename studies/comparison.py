"""Which methods of a study differ: average ranks, and paired tests corrected for their number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from chary._arrays import Floats
from studies.findings import LEAST_PAIRS, signed_rank_test
from studies.results import summarize
from studies.study import Results, Study, TextTable

# Method -> data set -> seed -> the study's number, turned so that more is better.
Numbers = dict[str, dict[str, dict[int, float]]]


class Pair(NamedTuple):
    """Two methods, and how far one is ahead with the same data sets, labels and seeds."""

    ours: str
    rival: str
    gains: Floats  #: (data sets, seeds)

    @property
    def by_dataset(self) -> list[float]:
        """The mean gain on each data set."""
        return list(self.gains.mean(axis=1))

    @property
    def by_seed(self) -> list[float]:
        """The mean gain with each seed."""
        return list(self.gains.mean(axis=0))


def average_ranks(study: Study, results: Results) -> TextTable:
    """Rank the methods on each data set, and average the ranks; 1 is best.

    A rank is that of the mean over the seeds that all methods have; equal means share their ranks.

    Parameters
    ----------
    study : Study
        Its methods are compared.
    results : list of (Cell, dict)
        From ``results_of``.
    """
    by_labeling: dict[str, dict[str, float]] = {}
    n_sets = {}
    for labeling in study.labelings:
        numbers = _numbers(study, results, labeling)
        methods = [method for method in study.methods if method in numbers]
        shared = _shared(numbers, methods)  # (methods, data sets, seeds)
        if shared.size:
            # Rounded, so that equal means rank equal.
            means = shared.mean(axis=2).round(10)
            ranks = rankdata(-means, axis=0).mean(axis=1)
            by_labeling[labeling] = dict(zip(methods, ranks, strict=True))
            n_sets[labeling] = shared.shape[1]
    heads = [f"{study.words_of(labeling)} ({n})" for labeling, n in n_sets.items()]
    rows = []
    for method in study.methods:
        ranks_of_method = [ranks.get(method) for ranks in by_labeling.values()]
        if any(ranks_of_method):
            shown = ["" if rank is None else f"{rank:.2f}" for rank in ranks_of_method]
            rows.append([study.title_of(method), *shown])
    return TextTable(
        "Average rank of each method, 1 is best (number of data sets)", ["Method", *heads], rows
    )


def paired_tests(study: Study, results: Results) -> TextTable:
    """Test every two methods against each other, over data sets and over seeds.

    Wilcoxon's signed-rank tests: over data sets, of gains averaged over seeds, as the seeds of one
    data set are no independent data sets; over seeds, of gains averaged over data sets, which says
    nothing of other data sets. Holm's correction is for all pairs under a labelling. A dash: fewer
    than six seeds, or data sets, of which nothing is claimed.

    Parameters
    ----------
    study : Study
        Its methods are compared.
    results : list of (Cell, dict)
        From ``results_of``.
    """
    metric = study.metric_of(study.metric)
    rows = []
    for labeling in study.labelings:
        pairs = pairs_of(study, results, labeling)
        p_of_sets = corrected([signed_rank_test(pair.by_dataset) for pair in pairs])
        p_of_seeds = corrected([signed_rank_test(pair.by_seed) for pair in pairs])
        for pair, p_over_sets, p_over_seeds in zip(pairs, p_of_sets, p_of_seeds, strict=True):
            gain = float(np.mean(pair.by_dataset))
            n_better = sum(mean > 0 for mean in pair.by_dataset)
            n_sets = len(pair.by_dataset)
            n_seeds = len(pair.by_seed)
            has_seeds = n_seeds >= LEAST_PAIRS
            rows.append(
                [
                    study.words_of(labeling),
                    f"{study.title_of(pair.ours)} against {study.title_of(pair.rival)}",
                    f"{gain:+.{metric.decimals(gain)}f}",
                    f"{n_better} of {n_sets}",
                    _shown_p(p_over_sets) if has_seeds and n_sets >= LEAST_PAIRS else "-",
                    str(n_seeds),
                    _shown_p(p_over_seeds) if has_seeds else "-",
                ]
            )
    in_unit = " in points" if metric.unit == "percent" else metric.symbol
    caption = (
        f"Gain{in_unit} of the first method on the same labels, above 0 if it is better; p "
        "of signed-rank tests, corrected by Holm for all pairs. Over data sets, each counts once, "
        "with the mean of its seeds; over seeds, the claim is for these data sets alone. With "
        f"fewer than {LEAST_PAIRS} seeds nothing is claimed"
    )
    heads = ["Labels", "Methods", "Mean gain", "Better on", "p, data sets", "Seeds", "p, seeds"]
    return TextTable(caption, heads, rows)


def corrected(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number, by Holm's method.

    >>> corrected([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    n_left = np.arange(len(order), 0, -1)
    raised = np.maximum.accumulate(np.take(p_values, order) * n_left) if len(order) else order
    result = np.empty(len(order))
    result[order] = np.minimum(raised, 1)
    return [float(p) for p in result]


def pairs_of(study: Study, results: Results, labeling: str) -> list[Pair]:
    """Pair the methods of a study under a labelling.

    Of the data sets that both have, with the seeds that both have on all of them.
    """
    numbers = _numbers(study, results, labeling)
    pairs = []
    for rival, ours in combinations([name for name in study.methods if name in numbers], 2):
        means = _shared(numbers, [ours, rival])
        if means.size:
            pairs.append(Pair(ours, rival, means[0] - means[1]))
    return pairs


def _numbers(study: Study, results: Results, labeling: str) -> Numbers:
    """Collect the study's number; where a parameter varies, the mean over its values."""
    sign = -1 if study.metric_of(study.metric).lower_is_better else 1
    values: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for line in summarize(study, results, study.metric):
        if line.labeling == labeling:
            for seed, number in line.by_seed.items():
                values[line.method, line.dataset, seed].append(sign * number)
    numbers: Numbers = defaultdict(lambda: defaultdict(dict))
    for (method, dataset, seed), found in values.items():
        mean = float(np.mean(found))
        if np.isfinite(mean):
            numbers[method][dataset][seed] = mean
    return numbers


def _shared(numbers: Numbers, methods: Sequence[str]) -> Floats:
    """Arrange what all methods have, (methods, data sets, seeds).

    Seeds are those that all methods have on all of these data sets.
    """
    datasets = set.intersection(*(set(numbers[method]) for method in methods)) if methods else set()
    if not datasets:
        return np.zeros((0, 0, 0))
    cells = [[numbers[method][dataset] for dataset in sorted(datasets)] for method in methods]
    seeds = sorted(set.intersection(*(set(cell) for row in cells for cell in row)))
    return np.array([[[cell[seed] for seed in seeds] for cell in row] for row in cells])


def _shown_p(p_value: float) -> str:
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"
