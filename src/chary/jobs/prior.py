"""A fitted model in; what it was told of the class proportions, and what hangs on it, out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary._words import Parameter
from chary.method import AIMS, SelfTrainingClassifier, Sensitivity, describe_prior, sensitivity
from chary.tables import TableError

_MOST_ROWS = 50_000  # of the unlabelled ones, to see what another belief would change


class PriorFigures(NamedTuple):
    """What was believed about the class proportions, and what hangs on it."""

    sentence: str  # the assumption
    told: bool  # whether there is one
    class_name: str  # the class whose share matters most
    classes: list[str]
    levels: list[Sensitivity]  # the labels if the odds of that class were others


def check_aim(aim: object) -> None:
    """Refuse what nobody can aim at."""
    if aim not in AIMS:
        raise TableError(Parameter("aim", str(aim)), f" is not known; give {' or '.join(AIMS)}.")


def prior_figures(
    classifier: SelfTrainingClassifier,
    X: NDArray[Any],
    rest: NDArray[np.intp] | None = None,
    random_state: Any = None,
) -> PriorFigures:
    """Describe the class prior of a fitted classifier and how its labels depend on it: those of the rows ``rest``.

    The belief is what the model predicts: with a prior, the predictions have its shares.
    """
    rest = np.arange(len(X)) if rest is None else rest
    if len(rest) > _MOST_ROWS:
        rest = rest[np.random.default_rng(random_state).choice(len(rest), _MOST_ROWS, replace=False)]
    probs = classifier.predict_proba(X[rest])
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
