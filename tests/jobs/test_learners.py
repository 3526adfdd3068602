"""Who learns, by what is known of the labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from chary import DiverseEnsembleClassifier, MixedEnsembleClassifier
from chary.evaluation import MILD, REPRESENTATIVE, STRONG, UNKNOWN, Diagnosis
from chary.jobs.learners import LEARNERS, MIXED, NETWORK, choose, collapsed

SHARES = {"yes": 0.3, "no": 0.7}


def diagnosis(verdict, n_labeled=50, coverage=0.9):
    return Diagnosis(verdict, None, coverage, [], None, {}, n_labeled, 1000)


@pytest.mark.parametrize(
    ("found", "n_features", "prior", "learner", "rounds"),
    [
        (diagnosis(REPRESENTATIVE), 10, None, "mixed", 0),
        (diagnosis(MILD), 10, None, "mixed", 0),
        (diagnosis(STRONG), 10, None, "mixed", 0),
        (diagnosis(UNKNOWN, n_labeled=5, coverage=None), 10, None, "mixed", 0),
        (diagnosis(STRONG, coverage=0.19), 10, None, "network", 1),
        (diagnosis(STRONG, coverage=0.2), 10, None, "mixed", 0),
        (diagnosis(MILD, coverage=0.1), 10, None, "mixed", 0),
        (diagnosis(STRONG), 501, None, "network", 1),
        (diagnosis(STRONG), 500, None, "mixed", 0),
        (diagnosis(REPRESENTATIVE), 501, None, "mixed", 0),
        (diagnosis(REPRESENTATIVE, n_labeled=20_001), 10, None, "boosting", 0),
        (diagnosis(REPRESENTATIVE, n_labeled=20_000), 10, None, "mixed", 0),
        (diagnosis(REPRESENTATIVE), 10, "labeled", "mixed", 0),
        (diagnosis(STRONG, coverage=0.1), 501, SHARES, "mixed", 0),
    ],
)
def test_what_is_known_decides_who_learns(found, n_features, prior, learner, rounds):
    choice = choose(found, n_features, class_prior=prior)
    assert (choice.name, choice.rounds) == (learner, rounds)
    assert choice.learner is LEARNERS[learner]
    assert bool(choice.why) == (learner != "mixed")


def test_who_is_asked_for_learns_and_rounds_that_are_asked_for_are_taken():
    strong = diagnosis(STRONG, coverage=0.1)
    assert choose(strong, 10, learner="mixed").name == "mixed"
    assert choose(strong, 10, learner="network", rounds=3).rounds == 3
    assert choose(strong, 10, learner="linear", rounds=2).rounds == 2


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


def test_a_classifier_of_the_users_is_cloned_and_one_of_charys_is_told_that_empty_means_unlabelled():
    own = LogisticRegression(C=3)
    made = choose(diagnosis(MILD), 10, learner=own).classifier(0)
    assert made.estimator is not own
    assert (made.estimator.C, made.confidence) == (3, "max_probability")
    theirs = choose(diagnosis(MILD), 10, learner=DiverseEnsembleClassifier()).classifier(0)
    assert (theirs.estimator.unlabeled, theirs.confidence) == (None, "t_similarity")


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_predictions_with_the_shares_of_the_labels_are_no_collapse_and_one_class_alone_is(n_classes, seed):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=50)])
    assert not collapsed(labels, rng.permutation(np.tile(labels, 3)), n_classes)
    assert collapsed(labels, np.zeros(100, dtype=int), n_classes)


def test_names_of_classes_do_not_matter_for_a_collapse():
    labels, predicted = np.repeat([0, 1, 2], [10, 20, 30]), np.repeat([0, 1, 2], [1, 1, 60])
    for order in ([0, 1, 2], [2, 0, 1]):
        assert collapsed(np.array(order)[labels], np.array(order)[predicted], 3)
