"""What follows from the results of a study, in sentences that say what they were counted on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata, wilcoxon

from chary._words import listed
from studies.datasets import dataset_title
from studies.methods import CONFIDENCES, POLICIES
from studies.results import Line, shown_value, summarize
from studies.study import Results, Study

# Means over seeds that differ by no more points than this are a tie.
TIE = 0.5
# Pairs without which nothing is claimed: a signed-rank test of fewer never reaches p < 0.05.
LEAST_PAIRS = 6

# -- Words -----------------------------------------------------------------------------------------


def told(start: str, parts: Iterable[str], join: Callable[[list[str]], str] = listed) -> str:
    """A sentence that ends with its parts; nothing where there are none.

    >>> told("It takes", ["a", "b"]), told("It takes", [])
    ('It takes a and b', '')
    """
    found = list(parts)
    return f"{start} {join(found)}" if found else ""


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


# -- Methods against each other, data set by data set ----------------------------------------------


def together(
    lines: Iterable[Line], labeling: str, methods: Sequence[str]
) -> dict[str, list[float]]:
    """Average each data set that all methods have, over the seeds that all of them have."""
    by_place = {
        (line.dataset, line.method): line.by_seed for line in lines if line.labeling == labeling
    }
    means = {}
    for dataset in dict.fromkeys(dataset for dataset, _ in by_place):
        by_method = [by_place.get((dataset, method), {}) for method in methods]
        if seeds := set.intersection(*map(set, by_method)):
            means[dataset] = [
                float(np.mean([by_seed[seed] for seed in seeds])) for by_seed in by_method
            ]
    return means


class Duel(NamedTuple):
    """One method against another, data set by data set."""

    gains: dict[str, float]  # data set -> points

    @property
    def counts(self) -> tuple[int, int, int]:
        """Data sets won, tied and lost."""
        won = sum(gain > TIE for gain in self.gains.values())
        lost = sum(gain < -TIE for gain in self.gains.values())
        return won, len(self.gains) - won - lost, lost

    @property
    def mean(self) -> float:
        """Points on average over data sets."""
        return float(np.mean(list(self.gains.values())))

    @property
    def worst(self) -> str:
        """The data set with the largest loss."""
        return min(self.gains, key=self.gains.__getitem__)

    @property
    def best(self) -> str:
        """The data set with the largest gain."""
        return max(self.gains, key=self.gains.__getitem__)


def duel(lines: Iterable[Line], labelings: Sequence[str], ours: str, rivals: Sequence[str]) -> Duel:
    """Compare a method with the best of its rivals.

    Over several ways of drawing labels it goes by data set and way.
    """
    gains = {}
    for labeling in labelings:
        for dataset, (own, *others) in together(lines, labeling, [ours, *rivals]).items():
            gains[dataset if len(labelings) == 1 else f"{dataset}, {labeling}"] = own - max(others)
    return Duel(gains)


def means_of_methods(
    study: Study, results: Results, count: Callable[[int], str] = data_sets
) -> str:
    """The mean accuracy of each method, over the data sets that all of them have."""
    lines, parts = summarize(study, results, "accuracy"), []
    for labeling in study.labelings:
        means = list(together(lines, labeling, list(study.methods)).values())
        if means:
            by_method = zip(study.methods, np.mean(means, axis=0), strict=True)
            each = listed([f"{study.title_of(method)} {mean:.1f}" for method, mean in by_method])
            parts.append(f"with {study.words_of(labeling)} ({count(len(means))}) {each}")
    return told("Accuracy on average:", parts, "; ".join)


def on_average(study: Study, results: Results, companion: Results) -> list[str]:
    """The mean accuracy of each method, as a conclusion."""
    said = means_of_methods(study, results)
    return [f"{said}."] if said else []


def recovered_share(method: Any, biased: Any, unbiased: Any) -> float:
    """Compute the share of the accuracy lost to biased labels that a method wins back.

    1 is all of it, below 0 is a harm.

    NaN where the bias cost nothing.

    >>> recovered_share(0.8, biased=0.7, unbiased=0.9)
    0.5
    """
    return (
        round(float((method - biased) / (unbiased - biased)), 12)
        if unbiased > biased
        else float("nan")
    )


# -- T-similarity against softmax ------------------------------------------------------------------


def pairs_won(study: Study, results: Results) -> str:
    """In how many pairs of data set, policy and setting T-similarity beats softmax."""
    parts = []
    for labeling, found in _gains(study, results).items():
        gains = [gain for _, gain in found]
        n_won = sum(gain > 0 for gain in gains)
        won = f"in {n_won} of {len(gains)} pairs with {study.words_of(labeling)}"
        parts.append(f"{won} ({signed(np.mean(gains))} points on average)")
    return told("T-similarity beats softmax", parts)


def gain_at_the_ends(study: Study, results: Results) -> str:
    """Say how far T-similarity leads softmax at both ends of the varied parameter."""
    name, ends = _ends(study)
    parts = []
    for labeling, gains in _gains(study, results).items():
        at_ends = {end: [gain for value, gain in gains if value == end] for end in ends}
        if all(at_ends.values()):
            at = [
                f"{signed(np.mean(found))} at {name} = {shown_value(end)}"
                for end, found in at_ends.items()
            ]
            parts.append(f"with {study.words_of(labeling)} {listed(at)}")
    return told("T-similarity against softmax, points on average:", parts, "; ".join)


def change_from_end_to_end(study: Study, results: Results) -> str:
    """Name the methods that lose and gain most between both ends of the varied parameter."""
    name, ends = _ends(study)
    lines = summarize(study, results, study.metric)
    parts = []
    for labeling in study.labelings:
        changes = {}
        for method in study.methods:
            before, after = (
                [x.mean for x in lines if x[1:4] == (labeling, method, end)] for end in ends
            )
            if before and after:
                changes[study.title_of(method)] = float(np.mean(after) - np.mean(before))
        if changes:
            least, most = (
                min(changes, key=changes.__getitem__),
                max(changes, key=changes.__getitem__),
            )
            span = [f"{signed(changes[title])} ({title})" for title in (least, most)]
            parts.append(f"with {study.words_of(labeling)} by {span[0]} to {span[1]}")
    return told(
        f"From {name} = {shown_value(ends[0])} to {shown_value(ends[1])} accuracy changes", parts
    )


def _gains(study: Study, results: Results) -> dict[str, list[tuple[Any, float]]]:
    """Collect, by labelling, values of the parameter and gains of T-similarity, in pairs."""
    lines = {x[:4]: x for x in summarize(study, results, "accuracy")}
    gains: dict[str, list[tuple[Any, float]]] = defaultdict(list)
    for (dataset, labeling, method, value), line in lines.items():
        policy, _, kind = method.partition("-")
        rival = lines.get((dataset, labeling, f"{policy}-softmax", value))
        if kind == "tsim" and rival is not None:
            gains[labeling].append((value, line.mean - rival.mean))
    return gains


def _ends(study: Study) -> tuple[str, tuple[Any, Any]]:
    """Name, and first and last value, of the varied parameter."""
    name, values = study.vary or ("", (None,))
    return name, (values[0], values[-1])


# -- Confidence and bias ---------------------------------------------------------------------------

_CONFIDENCES = tuple(zip(CONFIDENCES, ("softmax", "T-similarity"), strict=True))


def sure_mistakes(study: Study, results: Results) -> str:
    """The share of wrong predictions that each confidence gives more than 0.9."""
    parts = []
    for kind, title in _CONFIDENCES:
        means = [x.mean for x in summarize(study, results, f"{kind}_wrong_above_0.9")]
        parts += [f"{np.mean(means):.1f} % with {title}"] if means else []
    sets = data_sets(len({cell.dataset for cell, _ in results}))
    return told(f"Wrong predictions with a confidence above 0.9, {sets}:", parts)


def confidence_over_the_plane(study: Study, results: Results) -> str:
    """The mean of each confidence over the plane that the points lie in."""
    means = {
        title: [np.mean(result[kind]) for _, result in results] for kind, title in _CONFIDENCES
    }
    parts = [f"{title} {np.mean(found):.2f}" for title, found in means.items() if found]
    return told("Mean confidence over the plane, near the labels and far from them:", parts)


def promised_and_kept(study: Study, results: Results) -> str:
    """What leave-one-out promises, and what the test set gives."""
    parts = []
    for labeling in study.labelings:
        promised, kept = (
            [x.mean for x in summarize(study, results, metric) if x.labeling == labeling]
            for metric in ("leave_one_out", "accuracy")
        )
        if promised and kept:
            promise = f"with {study.words_of(labeling)} it promises {np.mean(promised):.1f}"
            parts.append(f"{promise}, the test set gives {np.mean(kept):.1f}")
    return told("Leave-one-out on the labels:", parts, "; ".join)


def distance_of_the_labels(study: Study, results: Results) -> str:
    """How far out labelled rows lie on the first principal component, beside all rows."""
    parts = []
    for labeling in study.labelings:
        ratios = [
            _far_out(r, "labeled") / _far_out(r, "all")
            for cell, r in results
            if cell.labeling == labeling
        ]
        parts += [f"{np.mean(ratios):.1f} with {study.words_of(labeling)}"] if ratios else []
    return told("How far out labelled rows lie on the first component, all rows being 1:", parts)


def _far_out(result: dict[str, Any], which: str) -> float:
    """Mean distance from zero, of a histogram."""
    edges = np.array(result["edges"])
    return float(np.average(np.abs(edges[:-1] + edges[1:]) / 2, weights=result[which]))


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
    shares = _recovered_shares(study, results, ())
    won = told(
        "; won back (median):",
        [f"{study.title_of(m)} {np.median(of):.0f} %" for m, of in shares.items()],
    )
    n_sets = data_sets(len(costs))
    return f"Biased labels cost {np.mean(costs):.1f} points on average over {n_sets}{won}"


def won_back(study: Study, results: Results, companion: Results) -> list[str]:
    """How much of the accuracy lost to the bias each method wins back."""
    return [
        f"{study.title_of(method)} wins back {np.median(share):.0f} % of the accuracy lost to the "
        f"bias (median over {len(share)} data sets; from {min(share):.0f} % to {max(share):.0f} %)."
        for method, share in _recovered_shares(study, results, companion).items()
    ]


def _recovered_shares(study: Study, results: Results, companion: Results) -> dict[str, list[float]]:
    """List, by method and data set, the percentage won back of what the bias cost the baseline."""
    lines = _accuracies(study, [*companion, *results])
    shares: dict[str, list[float]] = defaultdict(list)
    for (dataset, labeling, method), line in lines.items():
        biased, unbiased = (lines.get((dataset, way, "erm")) for way in ("ssb", "iid"))
        if (
            labeling == "ssb"
            and method != "erm"
            and biased
            and unbiased
            and unbiased.mean > biased.mean
        ):
            shares[method].append(100 * recovered_share(line.mean, biased.mean, unbiased.mean))
    return shares


# -- Beside the paper's table ----------------------------------------------------------------------


def beside_the_paper(study: Study, results: Results, companion: Results) -> list[str]:
    """Say how the baseline agrees with the paper's, and how T-similarity does against softmax."""
    lines, said = _accuracies(study, results), []
    for labeling in study.labelings if lines else ():
        found = [d for d in deviations(study, results, labeling) if d.method == "erm"]
        if found:
            far = [f"{dataset_title(d.dataset)} {d.points:+.1f}" for d in found if not d.is_near]
            beyond = f"; beyond it: {', '.join(far)} points" if far else ""
            said.append(
                f"ERM under {labeling.upper()} is within one standard deviation of the paper's on "
                f"{len(found) - len(far)} of {len(found)} data sets{beyond}."
            )
        said += _wins(study, lines, labeling)
    return said


def _wins(study: Study, lines: dict[Any, Line], labeling: str) -> list[str]:
    """T-similarity against softmax, policy by policy, and in all as the paper counts."""
    policies = {p: _paired(study, lines, labeling, f"{p}-tsim", f"{p}-softmax") for p in POLICIES}
    ours, theirs, n = (
        sum(getattr(pairs, count) for pairs in policies.values())
        for count in ("won", "won_in_paper", "n")
    )
    in_all = (
        f"In all, {labeling.upper()}: T-similarity beats softmax in {ours} of {n} pairs of data "
        f"set and policy ({theirs} in the paper's table)."
    )
    said = [pairs.sentence for pairs in policies.values() if pairs.n]
    return [*said, in_all] if n else said


class _Pairs(NamedTuple):
    """Data sets that one method wins against another."""

    won: int = 0
    won_in_paper: int = 0
    n: int = 0  # compared
    sentence: str = ""


def _paired(
    study: Study, lines: dict[Any, Line], labeling: str, challenger: str, rival: str
) -> _Pairs:
    names = [name for name, of, method in lines if (of, method) == (labeling, challenger)]
    pairs = [
        (lines[n, labeling, challenger], lines[n, labeling, rival])
        for n in names
        if (n, labeling, rival) in lines
    ]
    if not pairs:
        return _Pairs()
    gains = np.array([a.mean - b.mean for a, b in pairs])
    significant = np.array([_p_value(a, b) < 0.05 for a, b in pairs])
    won = int(np.sum(gains > 0))
    paper = study.published(labeling)
    theirs = [
        paper[n, challenger][0] - paper[n, rival][0] for n in names if (n, challenger) in paper
    ]
    papers = sum(gain > 0 for gain in theirs)
    beside = f" ({papers} in the paper's table)" if theirs else ""
    and_theirs = f" ({signed(np.mean(theirs))} there)" if theirs else ""
    sentence = (
        f"{study.title_of(challenger)} beats {study.title_of(rival)} under {labeling.upper()} on "
        f"{won} of {len(pairs)} data sets{beside}, by {gains.mean():+.1f} points on "
        f"average{and_theirs}; paired over seeds (Wilcoxon, p < 0.05) better on "
        f"{np.sum(significant & (gains > 0))}, worse on {np.sum(significant & (gains < 0))}."
    )
    return _Pairs(won, papers, len(pairs), sentence)


def _p_value(a: Line, b: Line) -> float:
    """Test whether two methods differ on a data set, over the seeds that both have."""
    seeds = sorted(set(a.by_seed) & set(b.by_seed))
    return signed_rank_test([a.by_seed[seed] - b.by_seed[seed] for seed in seeds])


def signed_rank_test(differences: Sequence[float]) -> float:
    """Run the Wilcoxon signed-rank test, two-sided; its p-value, 1 for fewer than six differences.

    It is exact also with ties; zeros are split. SciPy gives the same, and takes hundreds of times
    as long where there are ties.

    >>> signed_rank_test([1, 2, 3, 4, 5, 6]), signed_rank_test([1, 2, 3, 4, 5])
    (0.03125, 1.0)
    """
    rounded = np.array(differences, dtype=float).round(10)
    # Fewer can never reach p < 0.05.
    if len(rounded) < LEAST_PAIRS or not rounded.any():
        return 1.0
    if len(rounded) > 13:
        return float(wilcoxon(rounded, zero_method="zsplit").pvalue)
    ranks = rankdata(np.abs(rounded)) * (rounded != 0)
    signs = np.array(list(product((0, 1), repeat=len(ranks))))  # (2^n, n)
    null = signs @ ranks
    rank_sum = ranks[rounded > 0].sum()
    at_least = np.mean(null >= rank_sum - 1e-9)
    at_most = np.mean(null <= rank_sum + 1e-9)
    return float(min(1, 2 * min(at_least, at_most)))


def _accuracies(study: Study, results: Results) -> dict[tuple[str, str, str], Line]:
    return {(x.dataset, x.labeling, x.method): x for x in summarize(study, results, "accuracy")}


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

    @property
    def policy(self) -> str:
        """The policy of the method."""
        return self.method.partition("-")[0].upper()


def deviations(study: Study, results: Results, labeling: str) -> list[Deviation]:
    """Ours less the paper's, for every number that both have under a labelling."""
    lines = _accuracies(study, results)
    found = []
    for (dataset, method), (mean, deviation) in study.published(labeling).items():
        ours = lines.get((dataset, labeling, method))
        if ours is not None:
            found.append(Deviation(dataset, method, ours.mean - mean, deviation))
    return found


def nearness(study: Study, results: Results, companion: Results) -> list[str]:
    """How near the numbers are to the paper's, in all, policy by policy, and which are not."""
    said = []
    for labeling in study.labelings:
        found = deviations(study, results, labeling)
        if not found:
            continue
        policies = dict.fromkeys(d.policy for d in found)
        parts = [
            f"{policy} {_mean_absolute([d for d in found if d.policy == policy])}"
            for policy in policies
        ]
        said.append(
            f"{len(found)} numbers of the paper's table are met to {_mean_absolute(found)} points "
            f"on average under {labeling.upper()} (mean absolute deviation; {listed(parts)}), "
            f"{_near(found)} within one of its standard deviations."
        )
        far = sorted((d for d in found if not d.is_near), key=lambda d: -abs(d.points))
        if far:
            names = [
                f"{dataset_title(d.dataset)} {study.title_of(d.method)} {d.points:+.1f}"
                for d in far
            ]
            said.append(f"Beyond one under {labeling.upper()}: {', '.join(names)} points.")
    return said


def _mean_absolute(found: list[Deviation]) -> str:
    return f"{np.mean([abs(d.points) for d in found]):.1f}"


def _near(found: list[Deviation]) -> str:
    n_near = sum(d.is_near for d in found)
    return f"{n_near} of {len(found)} ({n_near / len(found):.0%})"
