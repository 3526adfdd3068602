"""How numbers are written in a column, and what they are."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chary.tables.columns.numerals import Form, find_form, looks_numeric, read_form, units_of

MARKS = [(".", ","), (",", "."), (".", "'"), (",", "_"), (".", "_"), (".", "")]


def written(number, decimal, thousands, unit, side):
    """A number as people write it."""
    text = f"{abs(number):,.2f}" if thousands else f"{abs(number):.2f}"
    text = text.replace(",", "T").replace(".", "D").replace("D", decimal).replace("T", thousands.replace("_", " "))
    text = {"before": f"{unit}{text}", "after": f"{text} {unit}", "none": text}[side]
    return f"-{text}" if number < 0 else text


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=20),
    st.sampled_from(MARKS),
    st.sampled_from([("€", "before"), ("$", "after"), ("kg", "after"), ("%", "after"), ("", "none")]),
)
def test_what_was_written_is_read(cents, marks, unit):
    numbers = [1234567.25, *(n / 100 for n in cents)]  # the first has every mark
    cells = pl.Series([written(number, *marks, *unit) for number in numbers])
    form = find_form(cells)
    np.testing.assert_allclose(read_form(cells, form).to_numpy(), numbers, rtol=1e-12)
    assert form.unit == unit[0]
    assert Form.of(form.text) == form
    assert read_form(pl.Series([form.example]), form).null_count() == 0


@pytest.mark.parametrize(
    ("form", "cells"),
    [
        (Form(".", ",", "$"), ["€5", "5", "5 km", "$5,5", "$1.234,5", "$5k", "oops", None, "", "$"]),
        (Form(",", ".", "€"), ["1.5 €", "1,234.5 €", "5 $", "€5€€", "(5 €", "-5 € -", "+-5 €"]),
        (Form(unit="km"), ["5 mi", "5", "5 KMH", "5 km 3", "1-5 km", "5k km", "<5 km"]),
        (Form(unit="%"), ["5", "0.05", "5 ‰", "5-10 %"]),
        (Form(), ["5k", "$5", "5 km", "1,000", "1 000", "--5", "1e", "e5", "0x10", "٣"]),
    ],
)
def test_what_is_written_otherwise_is_not_read(form, cells):
    assert read_form(pl.Series(cells), form).to_list() == [None] * len(cells)


@pytest.mark.parametrize("unit", ["km", "%", "$"])
def test_nothing_needs_no_unit(unit):
    assert read_form(pl.Series(["0", "0.0", "7"]), Form(unit=unit)).to_list() == [0, 0, None]
    assert read_form(pl.Series(["0", "7"]), Form(unit=unit, bare=True)).to_list() == [0, 7]


@pytest.mark.parametrize("text", ["", "comma", "thousands", "amount", "amount;;;;", "amount;x;y;;", "ymd", ";;;;"])
def test_other_forms_are_none_of_these(text):
    assert Form.of(text) is None


def test_a_unit_may_hold_the_mark_between_the_parts_of_a_form():
    form = Form(".", ",", "a;b", bare=True, factors=True)
    assert Form.of(form.text) == form


def test_units_are_counted_and_words_are_none():
    cells = pl.Series(["5 km", "3 mi", "4 km", "7", "word", "24-28"])
    assert units_of(cells) == ["km", "mi"]
    assert looks_numeric(cells).to_list() == [True, True, True, True, False, False]
    assert find_form(pl.Series(["word", "24-28", ""])) is None


def test_a_unit_that_few_cells_have_is_not_that_of_the_column():
    assert find_form(pl.Series(["5", "6", "7", "5 km"])).unit == ""
    assert find_form(pl.Series(["5", "6 km", "7 km"])) == Form(unit="km", bare=True)
