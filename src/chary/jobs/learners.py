"""What is known of the labels in; who learns from them, and how often from its own, out: a table of learners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from chary.evaluation import STRONG, UNKNOWN
from chary.method import (
    ACCURACY,
    Curriculum,
    DiverseEnsembleClassifier,
    MixedEnsembleClassifier,
    Policy,
    RisingShare,
    SelfTrainingClassifier,
)

NETWORK, MIXED = "network", "mixed"
# Who learns from an audit, too: docs/audit.md has the figures.
WITH_AUDIT = MIXED
# Unlike learners cost more, the more labels there are; beyond so many they are not asked.
_MOST_LABELED = 5_000


class Learner(NamedTuple):
    """One way to learn from a table."""

    words: str  # what it is, for a report
    estimator: Callable[..., Any]  # (random_state=) -> classifier with ``predict_confidence``
    policy: Policy
    most_rows: int | None  # unlabelled ones that take part in the fits; None: all
    held_out_rows: int  # unlabelled ones that stay in training while labelled rows are held out
    unlike: bool  # whether its confidence is the agreement of unlike kinds, not of heads made to disagree

    def classifier(
        self, rounds: int, seed: int, class_prior: Any = None, aim: str = ACCURACY
    ) -> SelfTrainingClassifier:
        """Not fitted; missing values mark unlabelled rows."""
        return SelfTrainingClassifier(
            self.estimator(random_state=seed),
            policy=self.policy,
            confidence="t_similarity",
            max_rounds=rounds,
            class_prior=class_prior,
            aim=aim,
            max_pool=self.most_rows,
            unlabeled=None,
            random_state=seed,
        )


LEARNERS = {
    NETWORK: Learner(
        "a neural network with five diverse heads",
        DiverseEnsembleClassifier,
        Curriculum(step=0.4),
        most_rows=None,
        held_out_rows=20_000,
        unlike=False,
    ),
    MIXED: Learner(
        "two linear models and trees, which count twice",
        MixedEnsembleClassifier,
        RisingShare(max_rows=10_000),
        most_rows=50_000,
        held_out_rows=2_000,
        unlike=True,
    ),
}


class Choice(NamedTuple):
    """Who learns, and how often from its own labels."""

    name: str  # of LEARNERS
    rounds: int


def choose(verdict: str, class_prior: Any, n_labeled: int) -> Choice:
    """The learner for what is known: see docs/label.md for the figures behind it."""
    if class_prior is not None:
        return Choice(MIXED, 5)
    if verdict in (STRONG, UNKNOWN) or n_labeled > _MOST_LABELED:
        return Choice(NETWORK, 1)  # with strongly biased labels alone to go by, unlike learners can fail together
    return Choice(MIXED, 0)  # with little bias to undo, rounds help some tables and harm others
