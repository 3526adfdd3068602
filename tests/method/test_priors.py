"""What a class prior may be, what it does to the scores, and the sentence that owns up to it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from chary.method.labels import Labels
from chary.method.priors import (
    ClassPrior,
    align,
    balanced_shares,
    describe_prior,
    shares_of_unlabeled,
    whole_counts,
)

CLASSES = np.array(["no", "yes"])
CODES = np.array([0, 1, 1, 1, -1])


def prior_of_rest(prior, codes):
    return shares_of_unlabeled(
        prior, np.bincount(codes[codes >= 0], minlength=len(prior)), len(codes)
    )


def shares(class_prior, classes=CLASSES, codes=CODES):
    return ClassPrior.of(class_prior, Labels(classes, codes, codes >= 0)).shares


def shares_of(scores, offset):
    return np.bincount((scores + offset).argmax(axis=1), minlength=scores.shape[1]) / len(scores)


@given(st.integers(2, 5), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_predictions_have_the_wanted_proportions(n_classes, n, seed):
    rng = np.random.default_rng(seed)
    scores, prior = rng.standard_normal((n, n_classes)), rng.dirichlet(np.ones(n_classes))
    offset = align(scores, prior)
    assert shares_of(scores, offset) * n == pytest.approx(whole_counts(prior, n))
    assert offset.mean() == pytest.approx(0)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_what_is_common_to_a_row_does_not_matter(n_classes, seed):
    """Logits and log-probabilities give the same offset."""
    rng = np.random.default_rng(seed)
    logits, prior = rng.standard_normal((50, n_classes)), rng.dirichlet(np.ones(n_classes))
    log_probs = np.log(softmax(logits, axis=1))
    np.testing.assert_allclose(align(log_probs, prior), align(logits, prior), atol=1e-7)


def test_a_class_of_share_zero_is_never_predicted():
    scores = np.random.default_rng(0).standard_normal((100, 3))
    offset = align(scores, [0.5, 0.0, 0.5])
    assert offset[1] == -np.inf
    assert np.isfinite(offset[[0, 2]]).all()
    assert (scores + offset).argmax(axis=1).tolist().count(1) == 0
    assert align(scores, [1.0, 0.0, 0.0]).tolist() == [0.0, -np.inf, -np.inf]


def test_a_class_the_model_never_predicts_gets_its_share():
    rng = np.random.default_rng(0)
    scores, prior = (
        rng.standard_normal((1000, 3)) + np.array([0, 0, -2000]),
        np.array([0.4, 0.4, 0.2]),
    )
    np.testing.assert_allclose(shares_of(scores, align(scores, prior)), prior)


def test_align_refuses_what_it_cannot_use():
    with pytest.raises(ValueError, match="NaN or infinity"):
        align(np.array([[0.0, -np.inf]]), [0.5, 0.5])


def test_a_prior_is_nothing_the_labelled_shares_a_mapping_or_an_array():
    assert shares(None) is None
    assert shares("labeled").tolist() == [0.25, 0.75]
    assert shares({"yes": 0.3, "no": 0.7}).tolist() == [0.7, 0.3]
    assert shares({np.str_("yes"): 0.3, np.str_("no"): 0.7}).tolist() == [0.7, 0.3]
    assert shares({1: 0.3, 0: 0.7}, np.array([0, 1])).tolist() == [0.7, 0.3]
    assert shares([0.7, 0.3]).tolist() == [0.7, 0.3]


def test_the_offset_is_that_of_the_unlabelled_rows_and_scores_are_not_worked_out_for_nothing():
    labels = Labels(CLASSES, np.array([0, 0, 0, 1, -1, -1, -1, -1]), np.arange(8) < 4)
    scores = np.array([[0.0, -3.0], [0.0, -1.0], [0.0, 1.0], [0.0, 2.0]])  # of the last four
    prior = ClassPrior.of([0.5, 0.5], labels)
    # Four of eight in all, and three are labelled.
    np.testing.assert_allclose(prior.unlabeled_shares, [0.25, 0.75])
    offset = prior.offset(lambda: scores)
    np.testing.assert_array_equal(offset, align(scores, [0.25, 0.75]))
    assert (scores + offset).argmax(axis=1).tolist() == [0, 1, 1, 1]
    assert ClassPrior.of(None, labels).offset(lambda: pytest.fail("worked out")).tolist() == [0, 0]


def test_shares_that_sum_to_one_but_for_rounding_are_made_to():
    assert shares([1 / 3, 1 / 3, 0.3333333], np.arange(3)).sum() == 1


def test_errors_say_what_was_given_and_what_to_do():
    for class_prior, message in [
        ("labelled", "class_prior='labelled' is not known; give 'labeled'"),
        ({}, r"names the classes \[\], and"),
        (
            {"yes": 0.3},
            r"names the classes \['yes'\], .* rows have \['no', 'yes'\]; "
            "give the share of every class",
        ),
        ({"yes": 0.3, "no": 0.6, "maybe": 0.1}, r"names the classes \['yes', 'no', 'maybe'\]"),
        (
            {"yes": 30, "no": 70},
            r"class_prior=\[70, 30\] are not the shares of 2 classes; .* which sum to 1",
        ),
        ([0.5, 0.4], "are not the shares"),
        ([1.5, -0.5], "are not the shares"),
        ([np.nan, 1.0], "are not the shares"),
        ([0.2, 0.3, 0.5], "are not the shares of 2 classes"),
        (["much", "little"], "is not known"),
        (0.3, "are not the shares"),
    ]:
        with pytest.raises(ValueError, match=message):
            shares(class_prior)


def test_the_assumption_is_one_plain_sentence():
    prior = np.array([0.7, 0.3])
    assert describe_prior(None, None, CLASSES).startswith("you told chary nothing")
    assert describe_prior([0.7, 0.3], prior, CLASSES) == (
        "you told chary that 70 % of all rows are 'no' and 30 % are 'yes'"
    )
    assert "labelled rows have the proportions of all rows" in describe_prior(
        "labeled", prior, CLASSES
    )
    assert "0.125 % are 1" in describe_prior(
        [0.99875, 0.00125], np.array([0.99875, 0.00125]), np.array([0, 1])
    )


def test_of_more_than_six_classes_the_sentence_names_none():
    six, seven = np.arange(1, 7) / 21, np.ones(7) / 7
    assert describe_prior("labeled", six, np.arange(6)).endswith("and 28.6 % are 5")
    assert (
        describe_prior(seven, seven, np.arange(7))
        == "you told chary the share of each of the 7 classes"
    )


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_the_rest_and_the_labelled_rows_together_have_the_prior(n_classes, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, n_classes, size=40)
    counts = np.bincount(codes[codes >= 0], minlength=n_classes)
    n_rest = int((codes < 0).sum())
    rest_counts = rng.multinomial(n_rest, np.full(n_classes, 1 / n_classes))
    prior = (counts + rest_counts) / 40
    floored = np.maximum(rest_counts, 0.5 * (prior > 0))
    rest = prior_of_rest(prior, codes)
    np.testing.assert_allclose(rest, floored / floored.sum() if n_rest else prior, atol=1e-12)


def test_the_proportions_of_the_labelled_rows_are_those_of_the_rest():
    codes = np.array([0, 0, 1] * 7 + [-1] * 50)
    prior = ClassPrior.of("labeled", Labels(CLASSES, codes, codes >= 0))
    np.testing.assert_allclose(prior.unlabeled_shares, prior.shares)


def test_a_class_with_more_labels_than_its_share_gets_half_a_row():
    codes = np.array([0, 0, 0, 1, -1, -1])
    np.testing.assert_allclose(prior_of_rest(np.array([0.25, 0.75]), codes), [0.5 / 4, 3.5 / 4])


def test_a_share_that_the_labelled_rows_contradict_is_refused():
    codes = np.array([0] * 50 + [1] * 10 + [-1] * 40)
    with pytest.raises(
        ValueError, match="10 % of all 100 rows are of a class that 50 labelled rows have"
    ):
        prior_of_rest(np.array([0.1, 0.9]), codes)


def test_shares_are_refused_from_three_standard_deviations_and_a_row_on():
    prior = np.array([0.1, 0.9])  # 10 of 100 rows expected, 3 standard deviations are 9
    at_most = np.array([0] * 20 + [-1] * 80)
    np.testing.assert_allclose(prior_of_rest(prior, at_most), [0.5 / 90.5, 90 / 90.5])
    with pytest.raises(ValueError, match="21 labelled rows"):
        prior_of_rest(prior, np.array([0] * 21 + [-1] * 79))
    with pytest.raises(
        ValueError, match="67 labelled rows"
    ):  # 50 expected, 3 standard deviations are 15
        prior_of_rest(np.array([0.5, 0.5]), np.array([0] * 67 + [-1] * 33))


def test_where_no_row_is_left_the_rest_is_as_all_rows_are():
    np.testing.assert_array_equal(
        prior_of_rest(np.array([0.9, 0.1]), np.array([0, 1, 1])), [0.9, 0.1]
    )
    one_left = prior_of_rest(np.array([0.5, 0.5]), np.array([0, 1, 1, -1]))
    np.testing.assert_allclose(one_left, [1 / 1.5, 0.5 / 1.5])


def test_the_last_class_may_be_one_of_which_no_row_is_labelled():
    codes = np.array([0, 0, 1, -1, -1, -1, -1, -1])
    np.testing.assert_allclose(
        prior_of_rest(np.array([0.25, 0.25, 0.5]), codes), np.array([0.5, 1, 4]) / 5.5
    )
    assert shares("labeled", np.array(["no", "yes", "maybe"])).tolist() == [0.25, 0.75, 0]


def test_a_class_without_a_share_has_none_of_the_rest():
    np.testing.assert_array_equal(
        prior_of_rest(np.array([1.0, 0.0]), np.array([0, -1, -1])), [1, 0]
    )


def test_a_balanced_aim_knows_of_a_prior_and_of_classes_that_there_are_not():
    scores = np.random.default_rng(0).standard_normal((4, 3))
    none_of_2 = ClassPrior(np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.5, 0.0]), "balanced").offset(
        lambda: scores
    )
    assert np.isfinite(none_of_2[:2]).all()
    assert none_of_2[2] == -np.inf
    only_0 = ClassPrior(np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]), "balanced").offset(
        lambda: scores
    )
    assert only_0.tolist() == [0, -np.inf, -np.inf]


def test_a_balanced_aim_moves_the_shares_and_an_accurate_one_keeps_them():
    scores, rest = np.random.default_rng(0).standard_normal((60, 3)), np.array([0.7, 0.2, 0.1])
    accurate, balanced = (
        ClassPrior(rest, rest, aim).offset(lambda: scores) for aim in ("accuracy", "balanced")
    )
    np.testing.assert_array_equal(accurate, align(scores, rest))
    np.testing.assert_array_equal(balanced, align(scores, balanced_shares(scores, rest)))
    assert shares_of(scores, balanced)[2] > shares_of(scores, accurate)[2]
    two = np.array([0.8, 0.2, 0.0])  # of three classes two are there: balanced between them
    of_two = ClassPrior(two, two, "balanced").offset(lambda: scores)
    np.testing.assert_array_equal(
        of_two, align(scores, [*balanced_shares(scores[:, :2], two[:2]), 0])
    )
    assert shares_of(scores, of_two)[1] > 0.2


def test_shares_of_a_table_that_is_labelled_to_the_last_row_are_not_refused():
    prior = np.array([0.01, 0.99])
    np.testing.assert_array_equal(prior_of_rest(prior, np.array([0, 1] * 50)), prior)


def test_shares_may_miss_one_by_a_millionth():
    for total, is_refused in [(1 + 9e-7, False), (1 - 9e-7, False), (1 + 2e-6, True)]:
        given_shares = np.array([0.25, 0.75]) * total
        if is_refused:
            with pytest.raises(ValueError, match="are not the shares"):
                shares(given_shares)
        else:
            assert shares(given_shares) == pytest.approx([0.25, 0.75])
