"""The studies of class priors: what knowing the class proportions is worth, and what a wrong belief costs."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chary._words import ratio
from chary.labelling import diagnose
from chary.labelling.diagnose import REPRESENTATIVE
from chary.method import (
    Curriculum,
    Policy,
    RisingShare,
    SelfTrainingClassifier,
    TransductiveBound,
    max_probability,
    risk_coverage_curve,
    t_similarity,
)
from chary.method.confidence import Floats
from studies import figures
from studies.datasets import dataset_title
from studies.findings import data_sets, recovered_share, signed, won_back
from studies.methods import CSTA, MSTA, first_mixture
from studies.paper import accuracy_tables
from studies.study import ERM, Method, Results, Study, Task, accuracy

# How the class proportions are known: "labeled" believes those of the labelled rows, "true" is told those of all.
NONE, LABELED, TRUE = None, "labeled", "true"
ODDS = (1 / 3, 1 / 2, 2 / 3, 1.0, 3 / 2, 2.0, 3.0)
# Pseudo-labelled rows in a round: bounds the cost on Cod-RNA and Mnist, the other sets stay below it.
MAX_ROWS = 10_000
SHIFTS = (1 / 4, 1 / 2, 1.0, 2.0, 4.0)


def network(task: Task, prior: str | None, policy: Policy | None = None) -> SelfTrainingClassifier:
    """The paper's network with a class prior; self-trained if there is a policy."""
    model = SelfTrainingClassifier(
        task.estimator(), policy=policy, class_prior=_belief(task, prior), max_rounds=5 if policy else 0
    )
    return model.fit(task.X, task.y, initial=task.initial)


class MeanOfHeads:
    """A network whose diverse heads predict together, in place of its prediction head."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self.classes_ = network.classes_

    def predict(self, X: Any) -> NDArray[Any]:
        """Label with the largest mean probability."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Floats:
        """Mean of the heads' probabilities."""
        return self.predict_head_proba(X).mean(axis=1)

    def predict_head_proba(self, X: Any) -> Floats:
        """Probabilities of the heads."""
        return self.network.predict_head_proba(X)


def heads(task: Task, gamma: float) -> MeanOfHeads:
    """The mean of the ensemble's heads, diverse or not."""
    if gamma == task.estimator().gamma:
        return MeanOfHeads(task.initial)
    return MeanOfHeads(task.estimator(gamma=gamma).fit(task.X, task.y))


def mixed(
    task: Task, prior: str | None, rounds: int = 0, confidence: str = "t_similarity", odds: float = 1.0
) -> SelfTrainingClassifier:
    """Unlike learners with a class prior; self-trained with re-scoring when there are rounds."""
    model = SelfTrainingClassifier(
        first_mixture(task),
        policy=RisingShare(0.2, 0.8, max_rows=MAX_ROWS),
        confidence=confidence,
        class_prior=_belief(task, prior, odds),
        max_rounds=rounds,
    )
    first = task.once("mixed", lambda: first_mixture(task).fit(task.X, task.y))
    return task.once(("mixed", prior, rounds, confidence, odds), lambda: model.fit(task.X, task.y, initial=first))


def mixed_if_biased(task: Task) -> SelfTrainingClassifier:
    """Unlike learners that train themselves only where the labelled rows differ from the rest."""
    diagnosis = diagnose(task.X, task.labeled, random_state=task.random_state)
    return mixed(task, NONE, rounds=0 if diagnosis.verdict == REPRESENTATIVE else 5)


def shifted(task: Task, prior: str | None, shift: float) -> SelfTrainingClassifier:
    """Unlike learners where the unlabelled rows have other class proportions than the labelled ones.

    Unlabelled rows are dropped at random until the odds of every second class are ``shift`` times what they were.
    """
    shares = tilted(np.bincount(task.y_true) / len(task.y_true), shift)
    keep = task.labeled | _thinned(task, shares)
    told = np.bincount(task.y_true[keep]) / keep.sum() if prior == TRUE else prior
    model = SelfTrainingClassifier(first_mixture(task, int(keep.sum())), class_prior=told, max_rounds=0)
    return model.fit(task.X[keep], task.y[keep])


def accuracy_and_ranking(task: Task, fitted: Any) -> dict[str, Any]:
    """Test accuracy; the area under the risk-coverage curve of both confidences; how the shares came out."""
    result = accuracy(task, fitted)
    X, y = task.X[~task.labeled], task.y_true[~task.labeled]
    probs, head_probs = fitted.predict_proba(X), fitted.predict_head_proba(X)
    weights = getattr(getattr(fitted, "estimator_", None), "head_weights_", None)
    right = probs.argmax(axis=1) == y
    result["softmax_aurc"] = risk_coverage_curve(max_probability(probs), right).area
    result["t_similarity_aurc"] = risk_coverage_curve(t_similarity(head_probs, weights=weights), right).area
    codes = np.stack([probs.argmax(axis=1), y])
    predicted, true = (np.bincount(of, minlength=probs.shape[1]) / len(y) for of in codes)
    result["shares_off"] = float(np.abs(predicted - true).sum() / 2)
    return result


def shifted_accuracy(task: Task, fitted: Any) -> dict[str, Any]:
    """Test accuracy on rows weighted to the class proportions that the unlabelled rows were given."""
    natural = np.bincount(task.y_true) / len(task.y_true)
    weights = tilted(natural, task.cell.options["shift"]) / natural
    right = fitted.predict(task.X_test) == task.y_test
    return {"accuracy": float(np.average(right, weights=weights[task.y_test]))}


def tilted(shares: Floats, odds: float) -> Floats:
    """Proportions in which the odds of every second class are multiplied.

    >>> tilted(np.array([0.5, 0.5]), 3.0)
    array([0.75, 0.25])
    """
    moved = shares * np.where(np.arange(len(shares)) % 2 == 0, odds, 1.0)
    return moved / moved.sum()


def best_on_average(study: Study, results: Results) -> str:
    """The method with the highest mean over the data sets that all methods have, beside the baseline."""
    ranked, n_sets = _ranked(_means(results))
    if len(ranked) < 2:
        return ""
    (best, mean), *_ = ranked.items()
    beside = (
        f", where {study.title_of('erm')} has {ranked['erm']:.1f}" if "erm" in ranked and best != "erm" else ""
    )
    return f"Best of {len(ranked)} methods, {data_sets(n_sets)}: {study.title_of(best)} with {mean:.1f}{beside}"


def worth_of_being_told(study: Study, results: Results) -> str:
    """What telling class shares changes, at the ends of the parameter and where the odds are as they should be."""
    values = study.vary[1] if study.vary else ()
    at = {value: _means([pair for pair in results if study.value_of(pair[0]) == value]) for value in values}
    parts = []
    for method in study.methods:
        gains = {
            value: [by[method][d] - by["mixed"][d] for d in by[method] if d in by["mixed"]]
            for value, by in at.items()
            if method != "mixed" and value in (values[0], 1.0, values[-1])
        }
        shown = [f"{signed(np.mean(found))} at {ratio(value)}" for value, found in gains.items() if found]
        parts += [f"{study.title_of(method)} {', '.join(shown)}"] if shown else []
    return f"Points gained over being told nothing, by the factor on the odds: {'; '.join(parts)}" if parts else ""


def beyond_bias(study: Study, results: Results, companion: Results) -> list[str]:
    """What ``beyond-ssb`` says, in sentences."""
    biased, random = _means(results), _means(companion)
    said = _ranking(study, biased)
    said += _change(study, biased, "erm", "erm-prior") + _change(study, biased, "mixed", "mixed-prior")
    said += _change(study, biased, "mixed", "mixed-st-if-biased")
    said += _change(study, biased, "mixed-prior", "mixed-prior-st")
    said += _change(study, biased, "heads", "diverse-heads")
    said += _against_paper(study, biased["mixed-prior-st"], "mixed-prior-st")
    for method in ("mixed-prior", "mixed-prior-st"):
        said += _won_back(study, biased, random, method)
    for method in ("erm", "mixed", "mixed-prior-st"):
        said += _ordering(study, results, method)
    return said


def beyond_random(study: Study, results: Results, companion: Results) -> list[str]:
    """What ``beyond-iid`` says, in sentences."""
    means = _means(results)
    steps = ("mixed-st", "mixed-st-if-biased", "mixed-prior", "mixed-true", "mixed-true-st")
    return _ranking(study, means) + [
        sentence for step in steps for sentence in _change(study, means, "mixed", step)
    ]


def _means(results: Results, metric: str = "accuracy") -> dict[str, dict[str, float]]:
    """method -> data set -> mean over the seeds that all methods of the data set have, in percent."""
    numbers: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for cell, result in results:
        if metric in result:
            numbers[cell.method, cell.dataset][cell.seed] = 100 * result[metric]
    means: dict[str, dict[str, float]] = defaultdict(dict)
    for (method, dataset), by_seed in numbers.items():
        shared = set.intersection(*(set(other) for (_, name), other in numbers.items() if name == dataset))
        if shared:
            means[method][dataset] = float(np.mean([by_seed[seed] for seed in shared]))
    return means


def _ranked(means: dict[str, dict[str, float]]) -> tuple[dict[str, float], int]:
    """Methods by their mean over the data sets that all of them have, the best first; how many these are."""
    shared = set.intersection(*(set(by) for by in means.values())) if means else set()
    if not shared:
        return {}, 0
    order = sorted(means, key=lambda method: -sum(means[method][name] for name in shared))
    return {method: float(np.mean([means[method][name] for name in shared])) for method in order}, len(shared)


def _ranking(study: Study, means: dict[str, dict[str, float]]) -> list[str]:
    ranked, n_sets = _ranked(means)
    listed = ", ".join(f"{study.title_of(method)} {mean:.1f}" for method, mean in ranked.items())
    return [f"Mean over {n_sets} data sets: {listed}."] if ranked else []


def _change(study: Study, means: dict[str, dict[str, float]], before: str, after: str) -> list[str]:
    """What one step changes, on average and at the extremes."""
    gains = {name: means[after][name] - means[before][name] for name in means[after] if name in means[before]}
    if not gains:
        return []
    worst, best = min(gains, key=gains.__getitem__), max(gains, key=gains.__getitem__)
    ends = [f"{signed(gains[name])} ({dataset_title(name)})" for name in (worst, best)]
    return [
        f"From {study.title_of(before)} to {study.title_of(after)}: {signed(_mean(gains))} points on average over "
        f"{len(gains)} data sets, from {ends[0]} to {ends[1]}."
    ]


def _against_paper(study: Study, means: dict[str, float], method: str) -> list[str]:
    """Data set by data set against the best number that the paper's table has for it."""
    paper: dict[str, float] = {}
    for (name, _), (mean, _) in accuracy_tables("ssb").items():
        paper[name] = max(mean, paper.get(name, 0))
    lead = {name: mean - paper[name] for name, mean in means.items() if name in paper}
    if not lead:
        return []
    behind = ", ".join(f"{dataset_title(name)} {gap:+.1f}" for name, gap in lead.items() if gap < 0)
    return [
        f"{study.title_of(method)} is at least as good as the paper's best number on "
        f"{sum(gap >= 0 for gap in lead.values())} of {len(lead)} data sets ({_mean(lead):+.1f} points on average)"
        f"{'; behind: ' + behind if behind else ''}."
    ]


def _won_back(
    study: Study, biased: dict[str, dict[str, float]], random: dict[str, dict[str, float]], method: str
) -> list[str]:
    """How much of what the bias cost the same learners is won back."""
    shared = [name for name in biased[method] if name in random["mixed"] and name in biased["mixed"]]
    if not shared:
        return []
    ours, without, ceiling = (
        np.mean([by[name] for name in shared]) for by in (biased[method], biased["mixed"], random["mixed"])
    )
    return [
        f"{study.title_of(method)}: {ours:.1f}, where the same learners have {without:.1f} without the prior and "
        f"{ceiling:.1f} with labels drawn at random: {100 * recovered_share(ours, without, ceiling):.0f} % of the "
        f"loss won back ({len(shared)} data sets)."
    ]


def _ordering(study: Study, results: Results, method: str) -> list[str]:
    """Which confidence puts the mistakes last."""
    tsim, softmax = (_means(results, f"{kind}_aurc")[method] for kind in ("t_similarity", "softmax"))
    if not tsim:
        return []
    return [
        f"{study.title_of(method)}: area under the risk-coverage curve {_mean(tsim):.1f} with T-similarity, "
        f"{_mean(softmax):.1f} with the largest probability (percent, less is better; T-similarity is better on "
        f"{sum(tsim[name] < softmax[name] for name in tsim)} of {len(tsim)} data sets)."
    ]


def _mean(by_dataset: dict[str, float]) -> float:
    return float(np.mean(list(by_dataset.values())))


def _belief(task: Task, prior: str | None, odds: float = 1.0) -> Any:
    """What the model is told; the odds of every second class are off by a factor."""
    if prior == LABELED and odds == 1:
        return LABELED
    codes = task.y_true if prior == TRUE else task.y[task.labeled]
    shares = np.bincount(codes, minlength=task.y_true.max() + 1) / len(codes)
    return None if prior is None else tilted(shares, odds)


def _thinned(task: Task, shares: Floats) -> NDArray[np.bool_]:
    """A random part of the unlabelled rows, as large as it can be, with the given class proportions."""
    unlabeled = np.flatnonzero(~task.labeled)
    counts = np.bincount(task.y_true[unlabeled], minlength=len(shares))
    wanted = np.floor(shares * (counts / shares).min()).astype(np.intp)
    kept = np.zeros(len(task.y_true), dtype=bool)
    rng = np.random.default_rng(task.random_state)
    for c, count in enumerate(wanted):
        kept[rng.choice(unlabeled[task.y_true[unlabeled] == c], count, replace=False)] = True
    return kept


_PAPER = {**ERM, "csta-tsim": CSTA["csta-tsim"], "msta-tsim": MSTA["msta-tsim"]}
_NETWORK = {
    "erm-prior": Method(network, {"prior": LABELED}, "ERM + prior"),
    "csta-tsim-prior": Method(partial(network, policy=Curriculum(0.4)), {"prior": LABELED}, "CSTA T-sim + prior"),
    "msta-tsim-prior": Method(
        partial(network, policy=TransductiveBound()), {"prior": LABELED}, "MSTA T-sim + prior"
    ),
    "heads": Method(heads, {"gamma": 0.0}, "mean of heads"),
    "diverse-heads": Method(heads, {"gamma": 1.0}, "mean of diverse heads"),
}
_SOFTMAX = {"prior": LABELED, "rounds": 5, "confidence": "max_probability"}
_MIXED = {
    "mixed": Method(mixed, {"prior": NONE}),
    "mixed-st": Method(mixed, {"prior": NONE, "rounds": 5}, "mixed + ST"),
    "mixed-st-if-biased": Method(mixed_if_biased, title="mixed + ST if biased"),
    "mixed-prior": Method(mixed, {"prior": LABELED}, "mixed + prior"),
    "mixed-prior-st": Method(mixed, {"prior": LABELED, "rounds": 5}, "mixed + prior + ST"),
    "mixed-prior-st-softmax": Method(mixed, _SOFTMAX, "mixed + prior + ST softmax"),
}
_TOLD = {
    "mixed-true": Method(mixed, {"prior": TRUE}, "mixed + true prior"),
    "mixed-true-st": Method(mixed, {"prior": TRUE, "rounds": 5}, "mixed + true prior + ST"),
}
_SMALL = ("digits", "dna", "dry_bean", "mushrooms", "phishing", "protein", "rice", "splice", "svmguide1")
_STYLES: dict[str, dict[str, Any]] = {
    "erm": {"color": figures.GREY, "marker": "s"},
    "csta-tsim": {"color": figures.ORANGE, "marker": "^"},
    "mixed": {"color": figures.BLUE, "marker": "o"},
    "mixed-prior": {"color": figures.GREEN, "marker": "D", "fillstyle": "none"},
    "mixed-prior-st": {"color": figures.GREEN, "marker": "D"},
}
_BELIEFS = {
    "mixed": ("erm", "told nothing"),
    "mixed-prior": ("tsim", "told the shares of the labelled rows"),
    "mixed-true": ("softmax", "told the shares on the axis"),
}

BEYOND_SSB = Study(
    "beyond-ssb",
    "Biased labels: the paper's network, unlike learners, and known class shares",
    labelings=("ssb",),
    methods=_PAPER | _NETWORK | _MIXED,
    measure=accuracy_and_ranking,
    companion="beyond-iid",
    headline=best_on_average,
    conclude=(beyond_bias, won_back),
    figure=partial(figures.dots, styles=_STYLES),
)
BEYOND_IID = Study(
    "beyond-iid",
    "Class-balanced labels: the paper's network, unlike learners, and class shares told rightly or wrongly",
    labelings=("iid",),
    methods=_PAPER | _NETWORK | _MIXED | _TOLD,
    measure=accuracy_and_ranking,
    headline=best_on_average,
    conclude=(beyond_random,),
)
PRIOR_MISSPECIFICATION = Study(
    "prior-misspecification",
    "Accuracy against how far the believed class odds are off",
    _SMALL,
    labelings=("ssb",),
    methods={
        "mixed": Method(mixed, {"prior": NONE, "odds": 1.0}),  # for comparison: it is told nothing
        "mixed-true": Method(mixed, {"prior": TRUE, "odds": 1.0}, "mixed + true prior"),
    },
    measure=accuracy_and_ranking,
    vary=("odds", ODDS),
    axis="Believed odds, as a multiple of the true ones",
    headline=worth_of_being_told,
    figure=partial(figures.means, drawn=_BELIEFS, odds=True),
)
LABEL_SHIFT = Study(
    "label-shift",
    "Accuracy where the unlabelled rows have other class shares than the labelled ones",
    _SMALL,
    labelings=("ssb",),
    methods={
        "mixed": Method(shifted, {"prior": NONE, "shift": 1.0}),
        "mixed-prior": Method(shifted, {"prior": LABELED, "shift": 1.0}, "mixed + prior"),
        "mixed-true": Method(shifted, {"prior": TRUE, "shift": 1.0}, "mixed + true prior"),
    },
    measure=shifted_accuracy,
    vary=("shift", SHIFTS),
    axis="Class odds of the unlabelled rows, as a multiple of those of the labelled ones",
    headline=worth_of_being_told,
    figure=partial(figures.means, drawn=_BELIEFS, odds=True),
)

PRIORS = (BEYOND_SSB, BEYOND_IID, PRIOR_MISSPECIFICATION, LABEL_SHIFT)
