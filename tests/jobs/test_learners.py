"""Who learns, by what is known of the labels."""

import pytest

from chary import DiverseEnsembleClassifier, MixedEnsembleClassifier
from chary.evaluation import MILD, REPRESENTATIVE, STRONG, UNKNOWN
from chary.jobs.learners import LEARNERS, MIXED, NETWORK, choose


@pytest.mark.parametrize(
    ("verdict", "prior", "n_labeled", "learner", "rounds"),
    [
        (REPRESENTATIVE, None, 50, "mixed", 0),
        (MILD, None, 50, "mixed", 0),
        (STRONG, None, 50, "network", 1),
        (UNKNOWN, None, 5, "network", 1),
        (MILD, None, 20_000, "network", 1),
        (REPRESENTATIVE, "labeled", 50, "mixed", 5),
        (STRONG, {"yes": 0.3, "no": 0.7}, 50, "mixed", 5),
    ],
)
def test_what_is_known_decides_who_learns(verdict, prior, n_labeled, learner, rounds):
    assert choose(verdict, prior, n_labeled) == (learner, rounds)


@pytest.mark.parametrize(
    ("name", "kind"), [(NETWORK, DiverseEnsembleClassifier), (MIXED, MixedEnsembleClassifier)]
)
def test_a_learner_makes_a_classifier_that_is_seeded_and_told_all(name, kind):
    classifier = LEARNERS[name].classifier(3, seed=7, class_prior="labeled")
    assert isinstance(classifier.estimator, kind)
    assert (classifier.max_rounds, classifier.class_prior, classifier.unlabeled) == (3, "labeled", None)
    assert classifier.random_state == classifier.estimator.random_state == 7
    assert classifier.max_pool == LEARNERS[name].most_rows


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_says_what_it_is(name):
    assert LEARNERS[name].words
