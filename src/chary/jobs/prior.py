"""A fitted model and what it was told of the class proportions in; what a report says of it out."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary.evaluation import MILD, STRONG
from chary.method import SelfTrainingClassifier, Sensitivity, describe_prior, sensitivity

# Points from CSTA with T-similarity to mixed + prior + self-training: studies/results/beyond-ssb.md.
_WORTH = 11
_SEVERAL = re.compile(r"=\s*\d[\d.]*\s*%?\s*[,;]")  # a share, and something after it
_MOST_ROWS = 50_000  # of the unlabelled ones, to see what another belief would change


def advice(verdict: str, told: bool = False) -> str:
    """What to say to somebody whose labels are biased and who has told nothing of the class proportions."""
    if told or verdict not in (MILD, STRONG):
        return ""
    worth = "it can undo a part of the bias"
    if verdict == STRONG:
        worth = f"on 13 benchmarks with this kind of bias it was worth about {_WORTH} points of accuracy"
    return (
        f"If you know the share of each class among all rows, pass it with --class-prior NAME=SHARE: {worth}. If "
        "you are not sure, do not: a wrong share makes labels wrong."
    )


class PriorFigures(NamedTuple):
    """What was believed about the class proportions, and what hangs on it."""

    sentence: str  # the assumption
    told: bool  # whether there is one
    class_name: str  # the class whose share matters most
    classes: list[str]
    levels: list[Sensitivity]  # the labels if the odds of that class were others


def prior_figures(
    classifier: SelfTrainingClassifier, X_unlabeled: NDArray[Any], random_state: Any = None
) -> PriorFigures:
    """Describe the class prior of a fitted classifier and how its labels depend on it.

    The belief is what the model predicts: with a prior, the predictions have its shares.
    """
    if len(X_unlabeled) > _MOST_ROWS:
        rng = np.random.default_rng(random_state)
        X_unlabeled = X_unlabeled[rng.choice(len(X_unlabeled), _MOST_ROWS, replace=False)]
    probs = classifier.predict_proba(X_unlabeled)
    prior, classes = classifier.class_prior_, classifier.classes_
    belief = np.bincount(probs.argmax(axis=1), minlength=len(classes)) / len(probs)
    code, levels = sensitivity(np.log(np.maximum(probs, np.finfo(np.float64).tiny)), belief)
    return PriorFigures(
        sentence=describe_prior(classifier.class_prior, prior, classes),
        told=prior is not None,
        class_name=str(classes[code]),
        classes=[str(name) for name in classes],
        levels=levels,
    )


def parse_prior(texts: list[str]) -> Any:
    """What was typed after ``--class-prior``: nothing, "labeled", or NAME=SHARE once for each class.

    >>> parse_prior(["yes=30%", "no=0.7"])
    {'yes': 0.3, 'no': 0.7}
    """
    if not texts:
        return None
    if texts == ["labeled"]:
        return "labeled"
    shares: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        percent = number.strip().endswith("%")
        try:
            share = float(number.strip().rstrip("%"))
        except ValueError:
            share = np.nan
        if not name or not np.isfinite(share):
            raise ValueError(
                f"--class-prior {text!r} is not understood; give NAME=SHARE, such as yes=0.3 or yes=30%, once for "
                "each class, or the word labeled."
            )
        if _SEVERAL.search(name):
            raise ValueError(
                f"--class-prior {text!r} holds more than one class; repeat the option for each, as in "
                "--class-prior yes=30% --class-prior no=70%."
            )
        if share > 1 and not percent:
            raise ValueError(
                f"--class-prior {text!r} is more than all rows; write {text.strip()}% if you mean per cent, "
                "or a share such as 0.3."
            )
        if name in shares:
            raise ValueError(f"--class-prior names {name!r} twice; give each class once.")
        shares[name] = share / 100 if percent else share
    return shares
