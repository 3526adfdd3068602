"""What follows from the results of a study, in sentences that say what they were counted on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata, wilcoxon

from chary._words import listed
from studies.datasets import dataset_title
from studies.methods import CONFIDENCES, MSTA_READINGS, POLICIES
from studies.results import Line, entry, shown_value, summarize
from studies.study import LABELINGS, Results, Study

# -- Headlines: one sentence ---------------------------------------------------------------------------------


def pairs_won(study: Study, results: Results) -> str:
    """In how many pairs of data set, policy and setting T-similarity beats softmax."""
    parts = []
    for labeling, gains in _gains(study, results).items():
        won = sum(gain > 0 for _, gain in gains)
        mean = np.mean([gain for _, gain in gains])
        parts.append(
            f"in {won} of {len(gains)} pairs with {LABELINGS[labeling]} ({signed(mean)} points on average)"
        )
    return f"T-similarity beats softmax {listed(parts)}" if parts else ""


def gain_at_the_ends(study: Study, results: Results) -> str:
    """How far T-similarity is ahead of softmax at the first and the last value of the varied parameter."""
    name, first, last = _ends(study)
    parts = []
    for labeling, gains in _gains(study, results).items():
        ends = {end: [gain for value, gain in gains if value == end] for end in (first, last)}
        if all(ends.values()):
            at = [f"{signed(np.mean(found))} at {name} = {shown_value(end)}" for end, found in ends.items()]
            parts.append(f"with {LABELINGS[labeling]} {listed(at)}")
    return f"T-similarity against softmax, points on average: {'; '.join(parts)}" if parts else ""


def change_from_end_to_end(study: Study, results: Results) -> str:
    """Which method loses and which gains most from the first to the last value of the varied parameter."""
    name, first, last = _ends(study)
    lines = [line for line in summarize(study, results) if line.metric == study.metric]
    parts = []
    for labeling in study.labelings:
        changes = {}
        for method in study.methods:
            before, after = (
                [x.mean for x in lines if x[1:4] == (labeling, method, value)] for value in (first, last)
            )
            if before and after:
                changes[study.title_of(method)] = float(np.mean(after) - np.mean(before))
        if changes:
            least, most = min(changes, key=changes.__getitem__), max(changes, key=changes.__getitem__)
            ends = [f"{signed(changes[title])} ({title})" for title in (least, most)]
            parts.append(f"with {LABELINGS[labeling]} by {ends[0]} to {ends[1]}")
    span = f"From {name} = {shown_value(first)} to {shown_value(last)}"
    return f"{span} accuracy changes {listed(parts)}" if parts else ""


def cost_of_the_bias(study: Study, results: Results) -> str:
    """What biased labels cost the baseline, and what self-training wins back of it."""
    lines = _accuracies(study, results)
    costs = [
        line.mean - lines[name, "ssb", "erm"].mean
        for (name, labeling, method), line in lines.items()
        if (labeling, method) == ("iid", "erm") and (name, "ssb", "erm") in lines
    ]
    if not costs:
        return ""
    medians = {study.title_of(m): np.median(share) for m, share in _recovered_shares(study, results, ()).items()}
    won = listed([f"{title} {median:.0f} %" for title, median in medians.items()]) if medians else ""
    return (
        f"Biased labels cost {np.mean(costs):.1f} points on average over {data_sets(len(costs))}"
        f"{f'; won back (median): {won}' if won else ''}"
    )


def sure_mistakes(study: Study, results: Results) -> str:
    """The share of wrong predictions that each confidence gives more than 0.9."""
    parts = []
    for kind, title in zip(CONFIDENCES, ("softmax", "T-similarity"), strict=True):
        means = [x.mean for x in summarize(study, results) if x.metric == f"{kind}_wrong_above_0.9"]
        parts += [f"{np.mean(means):.1f} % with {title}"] if means else []
    sets = data_sets(len({cell.dataset for cell, _ in results}))
    return f"Wrong predictions with a confidence above 0.9, {sets}: {listed(parts)}" if parts else ""


def promised_and_kept(study: Study, results: Results) -> str:
    """What leave-one-out promises, and what the test set gives."""
    lines = summarize(study, results)
    parts = []
    for labeling in study.labelings:
        promised, kept = (
            [x.mean for x in lines if (x.labeling, x.metric) == (labeling, metric)]
            for metric in ("leave_one_out", "accuracy")
        )
        if promised and kept:
            parts.append(
                f"with {LABELINGS[labeling]} it promises {np.mean(promised):.1f}, the test set gives "
                f"{np.mean(kept):.1f}"
            )
    return f"Leave-one-out on the labels: {'; '.join(parts)}" if parts else ""


def distance_of_the_labels(study: Study, results: Results) -> str:
    """How far out labelled rows lie on the first principal component, beside all rows."""
    parts = []
    for labeling in study.labelings:
        ratios = [_far_out(r, "labeled") / _far_out(r, "all") for cell, r in results if cell.labeling == labeling]
        parts += [f"{np.mean(ratios):.1f} with {LABELINGS[labeling]}"] if ratios else []
    return (
        f"How far out labelled rows lie on the first component, all rows being 1: {listed(parts)}" if parts else ""
    )


def confidence_over_the_plane(study: Study, results: Results) -> str:
    """The mean of each confidence over the plane that the points lie in."""
    parts = []
    for kind, title in zip(CONFIDENCES, ("softmax", "T-similarity"), strict=True):
        means = [np.mean(r[kind]) for _, r in results]
        parts += [f"{title} {np.mean(means):.2f}"] if means else []
    return f"Mean confidence over the plane, near the labels and far from them: {listed(parts)}" if parts else ""


def means_of_methods(study: Study, results: Results) -> str:
    """The mean accuracy of each method, over the data sets that all of them have."""
    lines = _accuracies(study, results)
    parts = []
    for labeling in study.labelings:
        found = dict.fromkeys(dataset for dataset, *_ in lines)
        names = [name for name in found if all((name, labeling, m) in lines for m in study.methods)]
        if names:
            means = {m: np.mean([lines[n, labeling, m].mean for n in names]) for m in study.methods}
            told = listed([f"{study.title_of(method)} {mean:.1f}" for method, mean in means.items()])
            parts.append(f"with {LABELINGS[labeling]} ({data_sets(len(names))}) {told}")
    return f"Accuracy on average: {'; '.join(parts)}" if parts else ""


# -- Conclusions: further sentences --------------------------------------------------------------------------


def share_against_the_others(study: Study, results: Results, companion: Results) -> list[str]:
    """PL with the class share against PL with each of the other confidences."""
    lines = _accuracies(study, results)
    duels = [
        _duel(study, lines, labeling, "pl-tshare", rival)
        for labeling in study.labelings
        for rival in ("pl-tsim", "pl-softmax")
    ]
    return [sentence for _, _, n, sentence in duels if n]


def on_average(study: Study, results: Results, companion: Results) -> list[str]:
    """The mean accuracy of each method, as a conclusion."""
    said = means_of_methods(study, results)
    return [f"{said}."] if said else []


def beside_the_paper(study: Study, results: Results, companion: Results) -> list[str]:
    """Agreement of the baseline with the paper's, and T-similarity against softmax, under each labelling."""
    lines = _accuracies(study, results)
    said = []
    for labeling in study.labelings if lines else ():
        said += _agreement(study, results, labeling) + _wins(study, lines, labeling)
    return said


def won_back(study: Study, results: Results, companion: Results) -> list[str]:
    """How much of the accuracy lost to the bias each method wins back."""
    return [
        f"{study.title_of(method)} wins back {np.median(share):.0f} % of the accuracy lost to the bias "
        f"(median over {len(share)} data sets; from {min(share):.0f} % to {max(share):.0f} %)."
        for method, share in _recovered_shares(study, results, companion).items()
    ]


def _agreement(study: Study, results: Results, labeling: str) -> list[str]:
    found = [d for d in deviations(study, results, labeling) if d.method == "erm"]
    far = [f"{dataset_title(d.dataset)} {d.points:+.1f}" for d in found if not d.is_near]
    tail = f"; beyond it: {', '.join(far)} points" if far else ""
    return [
        f"ERM under {labeling.upper()} is within one standard deviation of the paper's on "
        f"{len(found) - len(far)} of {len(found)} data sets{tail}."
    ] * bool(found)


def _wins(study: Study, lines: dict[Any, Line], labeling: str) -> list[str]:
    """T-similarity against softmax, policy by policy, and in all as the paper counts."""
    said, ours, theirs, n_pairs = [], 0, 0, 0
    for policy in POLICIES:
        won, papers, n, sentence = _duel(study, lines, labeling, f"{policy}-tsim", f"{policy}-softmax")
        ours, theirs, n_pairs = ours + won, theirs + papers, n_pairs + n
        said += [sentence] if n else []
    literal, _, n_literal, _ = _duel(study, lines, labeling, "msta-tsim", "msta-softmax")
    readings = {reading: _duel(study, lines, labeling, reading, "msta-softmax") for reading in MSTA_READINGS}
    instead = [
        f"{ours - literal + won} with {study.title_of(reading)} in place of MSTA T-sim"
        for reading, (won, _, n, _) in readings.items()
        if n == n_literal > 0
    ]
    if n_pairs:
        said.append(
            f"In all, {labeling.upper()}: T-similarity beats softmax in {ours} of {n_pairs} pairs of data set and "
            f"policy ({theirs} in the paper's table){f'; {listed(instead)}' if instead else ''}."
        )
    return said + [sentence for *_, n, sentence in readings.values() if n]


def _duel(
    study: Study, lines: dict[Any, Line], labeling: str, challenger: str, rival: str
) -> tuple[int, int, int, str]:
    """Data sets won here, won in the paper's table, and compared; and a sentence on it."""
    names = [name for name, of, method in lines if (of, method) == (labeling, challenger)]
    pairs = [
        (lines[n, labeling, challenger], lines[n, labeling, rival]) for n in names if (n, labeling, rival) in lines
    ]
    if not pairs:
        return 0, 0, 0, ""
    gains = np.array([entry(study, a).mean - entry(study, b).mean for a, b in pairs])
    significant = np.array([_p_value(a, b) < 0.05 for a, b in pairs])
    won = int(np.sum(gains > 0))
    paper = study.published(labeling)
    papers = sum(paper[n, challenger][0] > paper[n, rival][0] for n in names if (n, challenger) in paper)
    theirs = [paper[n, challenger][0] - paper[n, rival][0] for n in names if (n, challenger) in paper]
    beside = f" ({papers} in the paper's table)" if theirs else ""
    and_theirs = f" ({signed(np.mean(theirs))} there)" if theirs else ""
    sentence = (
        f"{study.title_of(challenger)} beats {study.title_of(rival)} under {labeling.upper()} on {won} of "
        f"{len(pairs)} data sets{beside}, by {gains.mean():+.1f} points on average{and_theirs}; paired over seeds "
        f"(Wilcoxon, p < 0.05) better on {np.sum(significant & (gains > 0))}, worse on "
        f"{np.sum(significant & (gains < 0))}."
    )
    return won, papers, len(pairs), sentence


def _recovered_shares(study: Study, results: Results, companion: Results) -> dict[str, list[float]]:
    """For each method, data set by data set, the percentage won back of what the bias cost the baseline."""
    lines = _accuracies(study, results)
    baseline: dict[str, dict[int, float]] = defaultdict(dict)
    for cell, result in companion:
        if cell.labeling == "iid" and cell.method == "erm":
            baseline[cell.dataset][cell.seed] = result["accuracy"]
    for (dataset, labeling, method), line in lines.items():
        if labeling == "iid" and method == "erm":
            baseline[dataset] = line.by_seed
    shares: dict[str, list[float]] = defaultdict(list)
    for (dataset, labeling, method), line in lines.items():
        biased = lines.get((dataset, "ssb", "erm"))
        if labeling == "ssb" and method != "erm" and biased and dataset in baseline:
            means = [np.mean(list(d.values())) for d in (line.by_seed, biased.by_seed, baseline[dataset])]
            share = 100 * recovered_share(*means)
            shares[method] += [] if np.isnan(share) else [share]
    return {method: share for method, share in shares.items() if share}


def recovered_share(method: Any, biased: Any, unbiased: Any) -> float:
    """What part of the accuracy lost to biased labels a method wins back: 1 is all of it, below 0 is a harm.

    NaN where the bias cost nothing.

    >>> round(recovered_share(0.8, biased=0.7, unbiased=0.9), 3)
    0.5
    """
    return float((method - biased) / (unbiased - biased)) if unbiased > biased else float("nan")


def _p_value(a: Line, b: Line) -> float:
    """Two-sided Wilcoxon signed-rank test over the seeds both have, exact also with ties; zeros are split.

    SciPy gives the same, and takes hundreds of times as long where there are ties.
    """
    seeds = sorted(set(a.by_seed) & set(b.by_seed))
    differences = np.array([a.by_seed[seed] - b.by_seed[seed] for seed in seeds]).round(12)
    if len(differences) < 6 or not differences.any():  # fewer can never reach p < 0.05
        return 1.0
    if len(differences) > 13:
        return float(wilcoxon(differences, zero_method="zsplit").pvalue)
    ranks = rankdata(np.abs(differences)) * (differences != 0)
    signs = np.array(list(product((0, 1), repeat=len(ranks))))  # (2^n, n)
    null, found = signs @ ranks, ranks[differences > 0].sum()
    return float(min(1, 2 * min(np.mean(null >= found - 1e-9), np.mean(null <= found + 1e-9))))


def _accuracies(study: Study, results: Results) -> dict[tuple[str, str, str], Line]:
    lines = summarize(study, results)
    return {(x.dataset, x.labeling, x.method): x for x in lines if x.metric == "accuracy"}


def _gains(study: Study, results: Results) -> dict[str, list[tuple[Any, float]]]:
    """Under each labelling that has any: value of the parameter and gain of T-similarity, pair by pair."""
    lines = {x[:4]: x for x in summarize(study, results) if x.metric == "accuracy"}
    gains: dict[str, list[tuple[Any, float]]] = defaultdict(list)
    for (dataset, labeling, method, value), line in lines.items():
        policy, _, kind = method.partition("-")
        rival = lines.get((dataset, labeling, f"{policy}-softmax", value))
        if kind == "tsim" and rival is not None:
            gains[labeling].append((value, line.mean - rival.mean))
    return gains


def signed(points: Any) -> str:
    """A difference in points.

    >>> signed(-0.04), signed(2.0)
    ('+0.0', '+2.0')
    """
    return f"{round(float(points), 1) + 0.0:+.1f}"  # no -0.0


def data_sets(n: int) -> str:
    """How many data sets.

    >>> data_sets(1), data_sets(13)
    ('1 data set', '13 data sets')
    """
    return "1 data set" if n == 1 else f"{n} data sets"


def _ends(study: Study) -> tuple[str, Any, Any]:
    """Name, first and last value of the varied parameter."""
    name, values = study.vary or ("", (None,))
    return name, values[0], values[-1]


def _far_out(result: dict[str, Any], which: str) -> float:
    """Mean distance from zero, of a histogram."""
    edges = np.array(result["edges"])
    return float(np.average(np.abs(edges[:-1] + edges[1:]) / 2, weights=result[which]))


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


# -- Methods against each other, set by set --------------------------------------------------------------------

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
