"""What is known of the labels in; who learns from them, and how often from its own, out: a table of learners."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.base import clone, is_classifier

from chary._words import Parameter, listed, shown
from chary.evaluation import STRONG, Diagnosis
from chary.method import (
    ACCURACY,
    Curriculum,
    DiverseEnsembleClassifier,
    Labels,
    MixedEnsembleClassifier,
    Policy,
    RisingShare,
    SelfTrainingClassifier,
    boosted_trees,
    linear_model,
)
from chary.tables import TableError

AUTO, MIXED, NETWORK, LINEAR, BOOSTING = "auto", "mixed", "network", "linear", "boosting"
# Who learns from an audit, too: docs/audit.md has the figures.
WITH_AUDIT = MIXED

# Where labels are strongly biased the network is ahead of unlike learners if hardly a row has a label near it, if
# they find hardly anything but one class, or if there are more features than this: docs/label.md has the figures.
_HARDLY_COVERED, _COLLAPSED, _WIDE = 0.2, 0.4, 500
# Unlabelled rows on which a collapse is looked for.
_GUARD_ROWS = 20_000
# Unlike learners cost more, the more labels there are, and gain less; beyond so many boosting learns alone.
_MOST_LABELED = 20_000


class Learner(NamedTuple):
    """One way to learn from a table."""

    words: str  # what it is, for a report
    estimator: Callable[..., Any]  # (random_state=) -> classifier
    policy: Policy = RisingShare(max_rows=10_000)
    confidence: str = "t_similarity"
    most_rows: int | None = 50_000  # unlabelled ones that take part in the fits; None: all
    held_out_rows: int = 2_000  # unlabelled ones that stay in training while labelled rows are held out
    unlike: bool = False  # whether its confidence is the agreement of unlike kinds, not of heads made to disagree

    def classifier(
        self, rounds: int, seed: int, class_prior: Any = None, aim: str = ACCURACY
    ) -> SelfTrainingClassifier:
        """Not fitted; missing values mark unlabelled rows."""
        return SelfTrainingClassifier(
            self.estimator(random_state=seed),
            policy=self.policy,
            confidence=self.confidence,
            max_rounds=rounds,
            class_prior=class_prior,
            aim=aim,
            max_pool=self.most_rows,
            unlabeled=None,
            random_state=seed,
        )


def _alone(name: str, make: Callable[[], Any]) -> Callable[..., MixedEnsembleClassifier]:
    """An ensemble of one, which prepares its columns with all rows."""
    return lambda random_state: MixedEnsembleClassifier([(name, make())], random_state=random_state)


LEARNERS = {
    MIXED: Learner("a linear model, randomised trees and boosting", MixedEnsembleClassifier, unlike=True),
    NETWORK: Learner(
        "a neural network with five diverse heads",
        partial(DiverseEnsembleClassifier, standardize="numbers"),
        Curriculum(step=0.4),
        most_rows=None,
        held_out_rows=20_000,
    ),
    LINEAR: Learner("logistic regression", _alone(LINEAR, linear_model), confidence="max_probability"),
    BOOSTING: Learner("gradient boosting", _alone(BOOSTING, boosted_trees), confidence="max_probability"),
}


class Choice(NamedTuple):
    """Who learns, how often from its own labels, and why."""

    name: str  # of LEARNERS, or "own"
    learner: Learner
    rounds: int
    why: str = ""  # half a sentence, where the network was taken because of what was seen

    def classifier(self, seed: int, class_prior: Any = None, aim: str = ACCURACY) -> SelfTrainingClassifier:
        """Not fitted."""
        return self.learner.classifier(self.rounds, seed, class_prior, aim)


def choose(
    diagnosis: Diagnosis,
    n_features: int,
    *,
    learner: Any = AUTO,
    rounds: int | None = None,
    class_prior: Any = None,
) -> Choice:
    """The learner for what is known before anything is fitted.

    Parameters
    ----------
    diagnosis : Diagnosis
    n_features : int
    learner : {"auto", "mixed", "network", "linear", "boosting"} or classifier, default="auto"
        A classifier of scikit-learn's kind is cloned; where it has a ``random_state`` of None, that is seeded.
    rounds : int, default=None
        None: one for the network, none otherwise.
    class_prior : None, "labeled", mapping or array-like
    """
    name, why = _named(learner), ""
    if name == AUTO:
        name, why = _before_fitting(diagnosis, n_features, class_prior)
    usual = 1 if name == NETWORK else 0  # others gain nothing from their own labels: docs/label.md
    found = LEARNERS[name] if name in LEARNERS else _own(learner)
    return Choice(name, found, usual if rounds is None else rounds, why)


def collapsed(given: NDArray[np.intp], predicted: NDArray[np.intp], n_classes: int) -> bool:
    r"""Whether predictions find hardly anything but one class, where the labels have several.

    That is if the entropy of the predicted class shares is less than 0.4 of that of the labelled ones:

    .. math:: H(\hat\pi) < 0.4\, H(\pi)

    >>> collapsed(np.array([0, 1] * 20), np.array([0] * 99 + [1]), 2)
    True
    >>> collapsed(np.array([0, 1] * 20), np.array([0] * 80 + [1] * 20), 2)
    False
    """
    entropies = [entr(np.bincount(codes, minlength=n_classes) / len(codes)).sum() for codes in (predicted, given)]
    return bool(entropies[0] < _COLLAPSED * entropies[1])


class Learned(NamedTuple):
    """Who learned in the end, and the fitted classifier."""

    choice: Choice
    classifier: SelfTrainingClassifier


def learn(
    X: NDArray[Any],
    labels: Labels,
    diagnosis: Diagnosis,
    *,
    learner: Any = AUTO,
    rounds: int | None = None,
    class_prior: Any = None,
    aim: str = ACCURACY,
    seed: int = 0,
) -> Learned:
    """Fit whoever suits the labels, or was asked for.

    Where nobody was asked for and the labels are strongly biased, the network takes the place of unlike learners
    that find hardly anything but one class.
    """
    choice = choose(diagnosis, X.shape[1], learner=learner, rounds=rounds, class_prior=class_prior)
    classifier = choice.classifier(seed, class_prior, aim).fit(X, labels)
    if _is_guarded(choice, diagnosis, learner, class_prior) and _has_collapsed(classifier, X, labels):
        why = "unlike learners gave nearly every row the same label"
        choice = Choice(NETWORK, LEARNERS[NETWORK], 1 if rounds is None else rounds, why)
        classifier = choice.classifier(seed, class_prior, aim).fit(X, labels)
    return Learned(choice, classifier)


def _is_guarded(choice: Choice, diagnosis: Diagnosis, learner: Any, class_prior: Any) -> bool:
    return _named(learner) == AUTO and choice.name == MIXED and class_prior is None and diagnosis.verdict == STRONG


def _has_collapsed(classifier: SelfTrainingClassifier, X: NDArray[Any], labels: Labels) -> bool:
    rest = np.flatnonzero(~labels.labeled)
    if len(rest) > _GUARD_ROWS:
        rest = rest[np.linspace(0, len(rest) - 1, _GUARD_ROWS).astype(np.intp)]
    # By the likeliest labels, whatever is aimed at: moved boundaries hide a collapse and do not mend it.
    predicted = np.searchsorted(labels.classes, classifier.estimator_.predict(X[rest]))
    return collapsed(labels.codes[labels.labeled], predicted, len(labels.classes))


def _before_fitting(diagnosis: Diagnosis, n_features: int, class_prior: Any) -> tuple[str, str]:
    if diagnosis.n_labeled > _MOST_LABELED:
        return BOOSTING, f"there are more than {_MOST_LABELED:,} labels"
    if class_prior is None and diagnosis.verdict == STRONG:
        if diagnosis.coverage is not None and diagnosis.coverage < _HARDLY_COVERED:
            return NETWORK, "hardly a row has a label near it"
        if n_features > _WIDE:
            return NETWORK, f"the labels are strongly biased and there are more than {_WIDE} features"
    return MIXED, ""


def _named(learner: Any) -> str:
    if isinstance(learner, str):
        if learner not in (AUTO, *LEARNERS):
            raise TableError(
                f"There is no learner {shown(learner)}; pass ",
                Parameter("learner", AUTO),
                f", or one of {listed([repr(name) for name in LEARNERS])}.",
            )
        return learner
    if isinstance(learner, type) or not hasattr(learner, "fit") or not is_classifier(learner):
        raise TableError(
            f"The learner {shown(learner)} is no classifier; pass ",
            Parameter("learner", AUTO),
            f", one of {listed([repr(name) for name in LEARNERS])}, or a classifier of scikit-learn's kind.",
        )
    return "own"


def _own(classifier: Any) -> Learner:
    """A classifier of the user's; it is fitted on the labelled rows, and on the others if it knows of them."""
    confidence = "t_similarity" if hasattr(classifier, "predict_head_proba") else "max_probability"
    return Learner(type(classifier).__name__, partial(_clone_of, classifier), confidence=confidence)


def _clone_of(classifier: Any, random_state: int) -> Any:
    own = clone(classifier)
    if "unlabeled" in own.get_params(deep=False):
        own.set_params(unlabeled=None)
    return own  # the self-training around it seeds what has no seed
