"""What stands before and after a number in; what it is multiplied by, and the unit it is counted in, out."""

from __future__ import annotations

import re
from typing import NamedTuple

# Words that multiply; those of ``_PERHAPS`` are metres, tonnes or bytes, unless a currency or a sure one is near.
_FACTORS = {
    **dict.fromkeys(("k", "K", "thousand", "thsd", "tsd"), 1e3),
    **dict.fromkeys(("M", "MM", "mn", "Mn", "mln", "mio", "million", "m"), 1e6),
    **dict.fromkeys(("bn", "bln", "billion", "mrd", "milliard", "B", "b"), 1e9),
    **dict.fromkeys(("tn", "trn", "trillion", "T", "t"), 1e12),
}
_PERHAPS = ("m", "B", "b", "T", "t", "M", "K")

_CODES = (
    "AED ARS AUD BDT BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW KZT LKR "
    "MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN RMB RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR "
    "Rs Fr SFr kr Kč zł Ft lei"
)
_CURRENCY_WORDS = frozenset(_CODES.split())
_CURRENCY_NAMES = {"euro": "€", "dollar": "$", "pound": "£", "yen": "¥", "rupee": "₹"}
_SAME_CURRENCY = {
    "EUR": "€",
    "GBP": "£",
    "US$": "USD",
    "RS": "₹",
    "INR": "₹",
    "JPY": "¥",
    "FR": "CHF",
    "SFR": "CHF",
}
_PERCENT = ("%", "percent", "per cent", "pct", "prozent", "p.c")
# Units for which upper and lower case are one; MW and mW are two.
_CASE_IS_NOTHING = re.compile(r"\w*[^\W\d_]{3}|[^\W\d_mM][^\W\d_]")
_SYMBOL = re.compile(r"[A-Z]{0,3}[$€£¥₠-⃀]")
_FACTOR_AND_CURRENCY = re.compile(r"([A-Za-z]{1,9})\.?\s*(\S{1,8})")


class Unit(NamedTuple):
    """What a number is multiplied by and counted in."""

    name: str = ""  # empty: nothing was written
    factor: float = 1.0


def currency(word: str) -> str:
    """One name for a currency, empty if the word is none.

    >>> currency("EUR"), currency("€"), currency("US$"), currency("Room")
    ('€', '€', 'USD', '')
    """
    word = word.strip().rstrip(".")
    if word in ("Rs", "Fr", "SFr") or _SYMBOL.fullmatch(word) or word.upper() in _CURRENCY_WORDS:
        return _SAME_CURRENCY.get(word.upper(), word.upper())
    if word in _CURRENCY_WORDS:
        return word
    return _CURRENCY_NAMES.get(_singular(word.lower()), "")


def multiplies(before: str, after: str) -> bool | None:
    """Whether a number is multiplied by what stands around it; None if only its neighbours can tell, as of 5 m.

    >>> multiplies("", "bn"), multiplies("$", "m"), multiplies("", "m"), multiplies("", "km")
    (True, True, None, False)
    """
    word = after.strip().rstrip(".")
    if word in _PERHAPS:
        return True if currency(before) else None
    meant = around(before, after, True)
    return meant is not None and meant.factor != 1


def around(before: str, after: str, factors: bool) -> Unit | None:
    """What the words around a number mean, None if they mean nothing, as in "Room 12" or "$5 EUR".

    Where ``factors`` is false, what may be a factor or a unit is a unit.

    >>> around("$", "bn", True), around("", "k€", True), around("", "days", False), around("Room", "", False)
    (Unit(name='$', factor=1000000000.0), Unit(name='€', factor=1000.0), Unit(name='day', factor=1.0), None)
    """
    first = currency(before)
    if before.strip() and not first:
        return None
    last = _after(after, factors)
    if first and last.name and last.name != first:
        return None
    return Unit(first or last.name, last.factor)


def is_percent(unit: str) -> bool:
    """Whether a unit is a share."""
    return unit == "%"


def _after(word: str, factors: bool) -> Unit:
    """What a word after a number means: a factor, a currency, both, or a unit."""
    word = word.strip()
    if not word:
        return Unit()
    if (factor := _factor(word)) and (factors or word.rstrip(".") not in _PERHAPS):
        return Unit("", factor)
    if name := currency(word):
        return Unit(name)
    both = _FACTOR_AND_CURRENCY.fullmatch(word)
    if both and (factor := _factor(both[1])) and (name := currency(both[2])):
        return Unit(name, factor)
    return Unit(_unit(word))


def _factor(word: str) -> float:
    """What a word multiplies by, 0 if it does not."""
    word = word.rstrip(".")
    return _FACTORS.get(word, 0.0) or (_FACTORS.get(_singular(word.lower()), 0.0) if len(word) > 1 else 0.0)


def _unit(word: str) -> str:
    """One name for a unit: 1 Day and 2 days are counted in one."""
    word = " ".join(word.rstrip(".").split())
    if word.lower() in _PERCENT:
        return "%"
    return _singular(word.lower()) if _CASE_IS_NOTHING.match(word) else word


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 2 and word.endswith("s") and word[-2:] != "ss" else word
