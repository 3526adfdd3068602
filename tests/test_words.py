"""What a person is shown of a stranger's text, a share or a list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chary._words import Parameter, Step, exact_percent, listed, p_value, percent, shown, visible


@given(st.text(), st.integers(4, 100))
def test_text_is_visible_on_one_line_and_no_longer_than_asked(text, limit):
    seen = visible(text, limit)
    assert seen.isprintable()
    assert len(seen) <= limit
    assert shown(text, limit) == f"'{seen}'"


@given(st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20))
def test_short_visible_text_is_shown_as_it_is(text):
    assert visible(text, 20) == text


def test_what_was_cut_ends_in_dots():
    assert visible("x" * 81) == "x" * 77 + "..."
    assert visible("\x00" * 30, 60).endswith("...")


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0%"), (0.0999, "10%"), (0.1, "10%"), (0.999, "100%")]
)
def test_small_shares_have_a_digit_more(share, text):
    assert percent(share) == text


def test_a_share_that_was_stated_keeps_three_digits():
    assert exact_percent(0.125) == "12.5 %"


def test_lists_end_with_and():
    assert listed(["a", "b"]) == "a and b"


def test_p_values():
    assert p_value(0.001) == "0.001"
    assert p_value(0.00099) == "< 0.001"


def test_a_parameter_is_named_alone_or_with_a_value_short_and_visible():
    assert str(Parameter("class_prior")) == "the parameter class_prior"
    assert str(Parameter("unlabeled", "")) == "unlabeled=''"
    assert str(Parameter("unlabeled", "\x1b" + "x" * 100)) == f"unlabeled='\\x1b{'x' * 53}...'"


def test_a_step_is_said_in_plain_words():
    assert str(Step("fill", "fill in the sheet", "a.csv")) == "fill in the sheet"
