"""What the words around a number mean."""

import pytest

from chary.tables.columns.units import Unit, around, currency, is_percent, multiplies


@pytest.mark.parametrize(
    ("before", "after", "unit"),
    [
        ("", "", Unit()),
        ("$", "", Unit("$")),
        ("", "€", Unit("€")),
        ("EUR", "", Unit("€")),
        ("", "Euros", Unit("€")),
        ("€", "EUR", Unit("€")),
        ("$", "EUR", None),
        ("Room", "", None),
        ("$", "bn", Unit("$", 1e9)),
        ("$", "m", Unit("$", 1e6)),
        ("", "Mio. €", Unit("€", 1e6)),
        ("", "k€", Unit("€", 1e3)),
        ("", "kg", Unit("kg")),
        ("", "%", Unit("%")),
        ("", "Percent", Unit("%")),
        ("", "days", Unit("day")),
        ("", "Day", Unit("day")),
        ("", "hrs.", Unit("hr")),
        ("", "KM", Unit("km")),
        ("", "MW", Unit("MW")),
        ("", "mW", Unit("mW")),
        ("", "glass", Unit("glass")),
    ],
)
def test_currencies_factors_and_units(before, after, unit):
    assert around(before, after, True) == unit


@pytest.mark.parametrize("word", ["m", "M", "K", "b", "B", "t", "T"])
def test_a_letter_may_be_a_factor_or_a_unit(word):
    assert multiplies("", word) is None
    assert multiplies("£", word)
    assert around("", word, False) == Unit(word)
    assert around("", word, True).factor > 1


def test_what_multiplies_for_certain_always_does():
    assert [multiplies("", word) for word in ("k", "bn", "million", "km", "", "%")] == [True] * 3 + [False] * 3
    assert around("", "bn", False) == Unit("", 1e9)


def test_names_of_currencies():
    assert [currency(word) for word in ("CHF", "SFr.", "Rs", "US$", "A$", "dollars", "zł", "Kč", "")] == [
        *["CHF", "CHF", "₹", "USD", "A$", "$", "zł", "Kč", ""]
    ]
    assert [is_percent(unit) for unit in ("%", "km")] == [True, False]
