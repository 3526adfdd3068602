"""The studies of class priors: what knowing the class proportions is worth, and what a wrong belief costs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chary import Curriculum, RisingShare, SelfTrainingClassifier, TransductiveBound
from chary._words import ratio
from chary.labelling import diagnose
from chary.labelling.diagnose import REPRESENTATIVE
from chary.method import Policy, max_probability, risk_coverage_curve, t_similarity
from chary.method.confidence import Floats
from studies import figures
from studies.datasets import dataset_title
from studies.findings import data_sets, duel, recovered_share, signed, together, told, won_back
from studies.methods import CSTA, MSTA, first_mixture
from studies.paper import accuracy_tables
from studies.results import Line, summarize
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
    ranked, n_sets = _ranked(study, results)
    if len(ranked) < 2:
        return ""
    best, mean = next(iter(ranked.items()))
    beside = f", where {study.title_of('erm')} has {ranked['erm']:.1f}" if ranked.get("erm", mean) != mean else ""
    return f"Best of {len(ranked)} methods, {data_sets(n_sets)}: {study.title_of(best)} with {mean:.1f}{beside}"


def worth_of_being_told(study: Study, results: Results) -> str:
    """What telling class shares changes, at the ends of the parameter and where the odds are as they should be."""
    lines, values = summarize(study, results, "accuracy"), study.vary[1] if study.vary else (1.0,)
    parts = []
    for method in study.methods:
        shown = []
        for value in sorted({values[0], 1.0, values[-1]}):
            gain = duel([line for line in lines if line.value == value], ["ssb"], method, ["mixed"])
            if gain.gains and method != "mixed":
                shown.append(f"{signed(gain.mean)} at {ratio(value)}")
        parts += [f"{study.title_of(method)} {', '.join(shown)}"] if shown else []
    return told("Points gained over being told nothing, by the factor on the odds:", parts, "; ".join)


def beyond_bias(study: Study, results: Results, companion: Results) -> list[str]:
    """What ``beyond-ssb`` says, in sentences."""
    said = _ranking(study, results)
    for before, after in (
        ("erm", "erm-prior"),
        ("mixed", "mixed-prior"),
        ("mixed", "mixed-st-if-biased"),
        ("mixed-prior", "mixed-prior-st"),
        ("heads", "diverse-heads"),
    ):
        said += _change(study, results, before, after)
    said += _against_paper(study, results, "mixed-prior-st")
    for method in ("mixed-prior", "mixed-prior-st"):
        said += _won_back(study, results, companion, method)
    for method in ("erm", "mixed", "mixed-prior-st"):
        said += _ordering(study, results, method)
    return said


def beyond_random(study: Study, results: Results, companion: Results) -> list[str]:
    """What ``beyond-iid`` says, in sentences."""
    steps = ("mixed-st", "mixed-st-if-biased", "mixed-prior", "mixed-true", "mixed-true-st")
    return _ranking(study, results) + [
        sentence for step in steps for sentence in _change(study, results, "mixed", step)
    ]


def _lines(study: Study, results: Results, metric: str = "accuracy") -> list[Line]:
    """One number, for each data set of the seeds that all its methods have."""
    lines = summarize(study, results, metric)
    seeds: dict[str, set[int]] = {}
    for line in lines:
        seeds[line.dataset] = seeds.get(line.dataset, set(line.by_seed)) & set(line.by_seed)
    shared = [x._replace(by_seed={seed: x.by_seed[seed] for seed in seeds[x.dataset]}) for x in lines]
    return [line for line in shared if line.by_seed]


def _ranked(study: Study, results: Results) -> tuple[dict[str, float], int]:
    """Methods by their mean over the data sets that all of them have, the best first; how many these are."""
    methods = [method for method in study.methods if any(cell.method == method for cell, _ in results)]
    found = together(_lines(study, results), study.labelings[0], methods) if methods else {}
    means = dict(zip(methods, np.mean(list(found.values()), axis=0), strict=True)) if found else {}
    return dict(sorted(means.items(), key=lambda item: -item[1])), len(found)


def _ranking(study: Study, results: Results) -> list[str]:
    ranked, n_sets = _ranked(study, results)
    each = ", ".join(f"{study.title_of(method)} {mean:.1f}" for method, mean in ranked.items())
    return [f"Mean over {n_sets} data sets: {each}."] if ranked else []


def _change(study: Study, results: Results, before: str, after: str) -> list[str]:
    """What one step changes, on average and at the extremes."""
    step = duel(_lines(study, results), study.labelings, after, [before])
    if not step.gains:
        return []
    ends = [f"{signed(step.gains[name])} ({dataset_title(name)})" for name in (step.worst, step.best)]
    return [
        f"From {study.title_of(before)} to {study.title_of(after)}: {signed(step.mean)} points on average over "
        f"{len(step.gains)} data sets, from {ends[0]} to {ends[1]}."
    ]


def _against_paper(study: Study, results: Results, method: str) -> list[str]:
    """Data set by data set against the best number that the paper's table has for it."""
    paper: dict[str, float] = {}
    for (name, _), (mean, _) in accuracy_tables("ssb").items():
        paper[name] = max(mean, paper.get(name, 0))
    lines = [line for line in _lines(study, results) if line.method == method]
    lead = {line.dataset: line.mean - paper[line.dataset] for line in lines if line.dataset in paper}
    if not lead:
        return []
    behind = ", ".join(f"{dataset_title(name)} {gap:+.1f}" for name, gap in lead.items() if gap < 0)
    return [
        f"{study.title_of(method)} is at least as good as the paper's best number on "
        f"{sum(gap >= 0 for gap in lead.values())} of {len(lead)} data sets "
        f"({np.mean(list(lead.values())):+.1f} points on average){'; behind: ' + behind if behind else ''}."
    ]


def _won_back(study: Study, results: Results, companion: Results, method: str) -> list[str]:
    """How much of what the bias cost the same learners is won back."""
    biased = together(_lines(study, results), "ssb", [method, "mixed"])
    random = together(_lines(study, companion), "iid", ["mixed"])
    found = [(*biased[name], *random[name]) for name in biased if name in random]
    if not found:
        return []
    ours, without, ceiling = np.mean(found, axis=0)
    return [
        f"{study.title_of(method)}: {ours:.1f}, where the same learners have {without:.1f} without the prior and "
        f"{ceiling:.1f} with labels drawn at random: {100 * recovered_share(ours, without, ceiling):.0f} % of the "
        f"loss won back ({len(found)} data sets)."
    ]


def _ordering(study: Study, results: Results, method: str) -> list[str]:
    """Which confidence puts the mistakes last."""
    tsim, softmax = (
        np.array([line.mean for line in _lines(study, results, f"{kind}_aurc") if line.method == method])
        for kind in ("t_similarity", "softmax")
    )
    if not len(tsim):
        return []
    return [
        f"{study.title_of(method)}: area under the risk-coverage curve {tsim.mean():.1f} with T-similarity, "
        f"{softmax.mean():.1f} with the largest probability (percent, less is better; T-similarity is better on "
        f"{np.sum(tsim < softmax)} of {len(tsim)} data sets)."
    ]


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
