"""Define the learners of ``chary label``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from sklearn.base import clone, is_classifier

from chary._arrays import Ints
from chary._words import Parameter, listed, shown
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.mixture import (
    MIXTURE_DEFAULTS,
    MixedEnsembleClassifier,
    MixtureDefaults,
    boosted_trees,
    linear_model,
)
from chary.method.policies import Curriculum, Policy, RisingShare
from chary.method.priors import ACCURACY
from chary.method.self_training import SelfTrainingClassifier
from chary.tables import TableError

AUTO = "auto"
MIXED = "mixed"
NETWORK = "network"
LINEAR = "linear"
BOOSTING = "boosting"

# Models, each with the labelled rows that it was fitted without.
FoldModels = list[tuple[Any, Ints]]


class Learner(NamedTuple):
    """One way to learn from a table."""

    words: str  # a description for the report
    estimator: Callable[..., Any]  # (random_state=) -> classifier
    policy: Policy
    confidence: str  # the name of the confidence measure
    # At most this many unlabelled rows take part in the fits. None: all.
    most_rows: int | None
    # At most this many unlabelled rows stay in training while labelled rows are held out.
    held_out_rows: int
    # Whether the confidence is the agreement of different kinds of models, not of diverse heads.
    unlike: bool = False
    # Whether a round of self-training goes on from the weights of the round before.
    warm_start: bool = False

    def classifier(
        self, rounds: int, seed: int, class_prior: Any = None, aim: str = ACCURACY
    ) -> SelfTrainingClassifier:
        """Make a classifier for which missing values mark unlabelled rows."""
        return SelfTrainingClassifier(
            self.estimator(random_state=seed),
            policy=self.policy,
            confidence=self.confidence,
            max_rounds=rounds,
            warm_start=self.warm_start,
            class_prior=class_prior,
            aim=aim,
            max_pool=self.most_rows,
            unlabeled=None,
            random_state=seed,
        )


def learners(defaults: Defaults = DEFAULTS) -> dict[str, Learner]:
    """List the learners by name."""
    numbers = defaults.mixture
    return {
        MIXED: _learner(
            "a linear model, randomised trees and boosting",
            _mixture_class(numbers),
            defaults,
            confidence="purity",
            unlike=True,
        ),
        NETWORK: Learner(
            "a neural network with five diverse heads",
            partial(DiverseEnsembleClassifier, standardize="numbers"),
            policy=Curriculum(step=defaults.network_step),
            confidence="t_similarity",
            most_rows=None,
            held_out_rows=defaults.network_held_out_rows,
            warm_start=True,
        ),
        LINEAR: _learner(
            "logistic regression",
            partial(_mixture_of_one, LINEAR, linear_model(numbers)),
            defaults,
        ),
        BOOSTING: _learner(
            "gradient boosting",
            partial(_mixture_of_one, BOOSTING, boosted_trees(numbers)),
            defaults,
        ),
    }


def learner_of(learner: Any, defaults: Defaults = DEFAULTS) -> tuple[str, Learner]:
    """Look up a learner by name, or make a learner named "own" from a classifier.

    A scikit-learn classifier is fitted on the labelled rows, and on the unlabelled rows, too, if it
    has a parameter ``unlabeled``. Anything else is refused.
    """
    learner_by_name = learners(defaults)
    if isinstance(learner, str) and learner in learner_by_name:
        return learner, learner_by_name[learner]
    is_object = hasattr(learner, "fit") and not isinstance(learner, type)
    if not is_object or not is_classifier(learner):
        raise TableError(
            f"There is no learner {shown(learner)}; pass {Parameter('learner', AUTO)}, one of "
            f"{listed([repr(name) for name in learner_by_name])}, or a classifier of "
            "scikit-learn's kind."
        )
    confidence = "max_probability"
    if hasattr(learner, "predict_head_proba"):
        confidence = "t_similarity"
    words = type(learner).__name__
    return "own", _learner(words, partial(_clone_of, learner), defaults, confidence)


def _learner(
    words: str,
    estimator: Callable[..., Any],
    defaults: Defaults,
    confidence: str = "max_probability",
    unlike: bool = False,
) -> Learner:
    """Make a learner whose cost is bounded, however many unlabelled rows there are."""
    return Learner(
        words,
        estimator,
        policy=RisingShare(max_rows=defaults.accepted_rows),
        confidence=confidence,
        most_rows=defaults.fit_rows,
        held_out_rows=defaults.held_out_rows,
        unlike=unlike,
    )


def _mixture_class(numbers: MixtureDefaults) -> type[MixedEnsembleClassifier]:
    """Return the mixture, or a subclass with other numbers."""
    if numbers == MIXTURE_DEFAULTS:
        return MixedEnsembleClassifier

    class OtherMixture(MixedEnsembleClassifier):
        defaults = numbers

    return OtherMixture


def _mixture_of_one(name: str, classifier: Any, random_state: int) -> MixedEnsembleClassifier:
    """Make a mixture of one member, which scales features by labelled and unlabelled rows."""
    return MixedEnsembleClassifier([(name, classifier)], random_state=random_state)


def _clone_of(classifier: Any, random_state: int) -> Any:
    """Clone a user's classifier; ``random_state`` is unused: self-training seeds the clone."""
    copy = clone(classifier)
    if "unlabeled" in copy.get_params(deep=False):
        copy.set_params(unlabeled=None)
    return copy
