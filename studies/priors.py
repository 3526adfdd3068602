"""The studies of class priors: what knowing class proportions is worth, and what errors cost."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chary import RisingShare, SelfTrainingClassifier
from chary._arrays import Floats
from chary.method import risk_coverage_curve, t_similarity
from chary.method.confidence import max_probability
from studies import figures
from studies.findings import duel, signed, told
from studies.methods import first_mixture
from studies.results import summarize
from studies.study import Method, Results, Study, Task, accuracy, right_on_test

# How the class proportions are known: "labeled" believes those of the labelled rows, "true" is told
# those of all.
NONE, LABELED, TRUE = None, "labeled", "true"
ODDS = (1 / 3, 1 / 2, 2 / 3, 1.0, 3 / 2, 2.0, 3.0)
# Pseudo-labelled rows in a round: bounds the cost on Cod-RNA and Mnist, the other sets stay below
# it.
MAX_ROWS = 10_000
SHIFTS = (1 / 4, 1 / 2, 1.0, 2.0, 4.0)


def mixed(
    task: Task,
    prior: str | None,
    rounds: int = 0,
    confidence: str = "t_similarity",
    odds: float = 1.0,
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
    return task.once(
        ("mixed", prior, rounds, confidence, odds), lambda: model.fit(task.X, task.y, initial=first)
    )


def shifted(task: Task, prior: str | None, shift: float) -> SelfTrainingClassifier:
    """Fit the mixture where unlabelled rows have other class shares than labelled ones.

    Unlabelled rows are dropped at random until the odds of every second class are ``shift`` times
    what they were.
    """
    shares = tilted(np.bincount(task.y_true) / len(task.y_true), shift)
    keep = task.labeled | _thinned(task, shares)
    told = np.bincount(task.y_true[keep]) / keep.sum() if prior == TRUE else prior
    model = SelfTrainingClassifier(
        first_mixture(task, int(keep.sum())), class_prior=told, max_rounds=0
    )
    return model.fit(task.X[keep], task.y[keep])


def accuracy_and_ranking(task: Task, fitted: Any) -> dict[str, Any]:
    """Measure test accuracy, the risk-coverage areas of both confidences, and the class shares."""
    result = accuracy(task, fitted)
    X, y = task.X[~task.labeled], task.y_true[~task.labeled]
    probs, head_probs = fitted.predict_proba(X), fitted.predict_head_proba(X)
    weights = getattr(getattr(fitted, "estimator_", None), "head_weights_", None)
    right = probs.argmax(axis=1) == y
    result["softmax_aurc"] = risk_coverage_curve(max_probability(probs), right).area
    result["t_similarity_aurc"] = risk_coverage_curve(
        t_similarity(head_probs, weights=weights), right
    ).area
    codes = np.stack([probs.argmax(axis=1), y])
    predicted, true = (np.bincount(of, minlength=probs.shape[1]) / len(y) for of in codes)
    result["shares_off"] = float(np.abs(predicted - true).sum() / 2)
    return result


def shifted_accuracy(task: Task, fitted: Any) -> dict[str, Any]:
    """Measure test accuracy, weighted to the class proportions of the unlabelled rows."""
    natural = np.bincount(task.y_true) / len(task.y_true)
    weights = tilted(natural, task.cell.options["shift"]) / natural
    right = right_on_test(task, fitted)
    return {"accuracy": float(np.average(right, weights=weights[task.y_test]))}


def tilted(shares: Floats, odds: float) -> Floats:
    """Proportions in which the odds of every second class are multiplied.

    >>> tilted(np.array([0.5, 0.5]), 3.0)
    array([0.75, 0.25])
    """
    moved = shares * np.where(np.arange(len(shares)) % 2 == 0, odds, 1.0)
    return moved / moved.sum()


def worth_of_being_told(study: Study, results: Results) -> str:
    """Say what given class shares change, at both ends of the parameter and at the true odds."""
    lines, values = summarize(study, results, "accuracy"), study.vary[1] if study.vary else (1.0,)
    parts = []
    for method in study.methods:
        shown = []
        for value in sorted({values[0], 1.0, values[-1]}):
            gain = duel([line for line in lines if line.value == value], ["ssb"], method, ["mixed"])
            if gain.gains and method != "mixed":
                shown.append(f"{signed(gain.mean)} at {Fraction(value).limit_denominator(10)}")
        parts += [f"{study.title_of(method)} {', '.join(shown)}"] if shown else []
    return told(
        "Points gained over being told nothing, by the factor on the odds:", parts, "; ".join
    )


def _belief(task: Task, prior: str | None, odds: float = 1.0) -> Any:
    """What the model is told; the odds of every second class are off by a factor."""
    if prior == LABELED and odds == 1:
        return LABELED
    codes = task.y_true if prior == TRUE else task.y[task.labeled]
    shares = np.bincount(codes, minlength=task.y_true.max() + 1) / len(codes)
    return None if prior is None else tilted(shares, odds)


def _thinned(task: Task, shares: Floats) -> NDArray[np.bool_]:
    """Draw the largest random part of the unlabelled rows that has the given class proportions."""
    unlabeled = np.flatnonzero(~task.labeled)
    counts = np.bincount(task.y_true[unlabeled], minlength=len(shares))
    wanted = np.floor(shares * (counts / shares).min()).astype(np.intp)
    kept = np.zeros(len(task.y_true), dtype=bool)
    rng = np.random.default_rng(task.random_state)
    for c, count in enumerate(wanted):
        kept[rng.choice(unlabeled[task.y_true[unlabeled] == c], count, replace=False)] = True
    return kept


_SMALL = (
    "digits",
    "dna",
    "dry_bean",
    "mushrooms",
    "phishing",
    "protein",
    "rice",
    "splice",
    "svmguide1",
)
_BELIEFS = {
    "mixed": ("erm", "told nothing"),
    "mixed-prior": ("tsim", "told the shares of the labelled rows"),
    "mixed-true": ("softmax", "told the shares on the axis"),
}

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

PRIORS = (PRIOR_MISSPECIFICATION, LABEL_SHIFT)
