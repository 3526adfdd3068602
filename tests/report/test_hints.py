"""Advice is for those whom it may help, in the words of whoever asked."""

from chary.report import Hints
from chary.report.next_steps import aim_question, prior_advice

MILD, STRONG = {"biased": True, "tone": "fair"}, {"biased": True, "tone": "bad"}


def test_advice_is_for_those_with_biased_labels_who_told_nothing():
    unbiased = {"biased": False, "tone": "fair"}
    assert prior_advice(unbiased, Hints()) == prior_advice(STRONG, Hints(), told=True) == ""
    for diagnosis in (MILD, STRONG):
        assert "leave it out if you are not sure" in prior_advice(diagnosis, Hints())
        assert "real tables with biased labels it added" in prior_advice(diagnosis, Hints())


def test_the_words_are_those_of_the_caller():
    assert "class_prior={name: share, ...}" in prior_advice(STRONG, Hints())
    assert "table? Then pass --class-prior NAME=SHARE: on 20" in prior_advice(
        STRONG, Hints(typed=True)
    )


def test_who_has_said_that_every_class_counts_is_not_asked():
    assert "If rare classes matter as much as common ones, pass aim='balanced'" in aim_question(
        Hints()
    )
    assert aim_question(Hints(), "balanced") == ""
