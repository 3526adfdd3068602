"""How class proportions are typed."""

import pytest

from chary.cli.prior import parse_error, parse_prior


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], None),
        (["labeled"], "labeled"),
        (["yes=0.3", "no=0.7"], {"yes": 0.3, "no": 0.7}),
        (["yes=30 %", "no=70%"], {"yes": 0.3, "no": 0.7}),
        (["a=b=1", "c, d=0"], {"a=b": 1.0, "c, d": 0.0}),
    ],
)
def test_shares_as_typed(texts, expected):
    assert parse_prior(texts) == expected


@pytest.mark.parametrize("text", ["yes", "yes=", "=0.3", "yes=many", "yes=nan", "0.3"])
def test_what_cannot_be_understood_is_said_so(text):
    with pytest.raises(ValueError, match="is not understood; give NAME=SHARE"):
        parse_prior([text])


def test_a_class_is_named_once():
    with pytest.raises(ValueError, match="names 'yes' twice"):
        parse_prior(["yes=0.3", "yes=0.7"])


def test_per_cent_need_their_sign():
    with pytest.raises(
        ValueError, match=r"--class-prior 'yes=30' is more than all rows; write yes=30% if you mean"
    ):
        parse_prior(["yes=30", "no=70"])


@pytest.mark.parametrize("text", ["yes=30%,no=70%", "yes=0.3, no=0.7", "yes=30 %;no=70 %"])
def test_several_classes_need_several_options(text):
    with pytest.raises(ValueError, match="holds more than one class; repeat the option for each"):
        parse_prior([text])


@pytest.mark.parametrize("typed", ["ten", "", "0", "1", "100%", "-5%", "10", "nan", "%"])
def test_an_error_that_is_no_share_is_refused(typed):
    with pytest.raises(ValueError, match=r"no share of wrong labels; give one such as 10% or 0\.1"):
        parse_error(typed)


def test_an_error_is_a_share_or_per_cent():
    assert parse_error(None) is None
    assert parse_error("5 %") == parse_error("0.05") == 0.05
