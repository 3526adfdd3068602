"""Text cells in; how numbers are written in them (marks, sign, currency, unit, factor), and the numbers, out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from chary.tables.columns import units

_VERSION = "amount"
_SPACES = r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\s]+"
_MINUS = r"[\u2212\u2012\u2013\ufe63\uff0d]"
_APOSTROPHES = r"[\u2019\u02bc\u00b4`]"
_NUMERAL = r"\d[\d.,' ]*\d(?:[eE][+-]?\d{1,3})?|\d+[.,]?(?:[eE][+-]?\d{1,3})?|[.,]\d+"
_BEFORE = r"[A-Za-zžřčłé]{0,4}\.?[$€£¥\u20a0-\u20c0]|[A-Za-zčł]{2,4}\.?"
_AFTER = r"[^\d\s\p{C}()+\-.,:;/<>=~'#*_|&!?\[\]{}@][^()\p{C}]{0,23}|/ ?\d{1,3}"
_CELL = (
    rf"^(?P<open>\()? ?(?P<sign>[+-])? ?(?P<before>{_BEFORE})? ?(?P<inner>[+-])? ?(?P<number>{_NUMERAL}) ?"
    rf"(?P<after>{_AFTER})? ?(?P<trailing>-)?(?P<close>\))?$"
)
_NO_CENTS = r"[.,][-\u2014]+( |$)"  # 12.- is 12.00
# Marks: the decimal one, and the one between thousands ("_": a space). In the order in which they are preferred;
# no decimal mark was seen beside "." between thousands: it would be a comma.
_MARKS = ((".", ""), (".", ","), (".", "_"), (".", "'"), (",", ""), (",", "."), (",", "_"), (",", "'"), ("", "."))
_MAX_WORDS = 60  # different words after a number that are looked at; of more, no few mean a unit


@dataclass(frozen=True)
class Form:
    """How the numbers of a column are written; as text, what a model file keeps of it.

    >>> form = Form(".", ",", "$")
    >>> form.text, Form.of(form.text) == form
    ('amount;.;,;;$', True)
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    bare: bool = False  # the unit may be left out
    factors: bool = False  # 1.2k and 3M

    @property
    def text(self) -> str:
        """The form as text."""
        flags = "bare" * self.bare + "k" * self.factors
        return ";".join((_VERSION, self.decimal, self.thousands, flags, self.unit))

    @staticmethod
    def of(text: str) -> Form | None:
        """The form that a text stands for, None if it is none of these."""
        version, *parts = text.split(";", 4)
        if version != _VERSION or len(parts) != 4 or tuple(parts[:2]) not in _MARKS:
            return None
        return Form(parts[0], parts[1], parts[3], "bare" in parts[2], parts[2].endswith("k"))

    @property
    def example(self) -> str:
        """A number so written."""
        thousands = self.thousands.replace("_", " ")
        number = f"1{thousands}234" if thousands else "12"
        number += f"{self.decimal}5" if self.decimal else ""
        number += "k" * self.factors
        if self.unit and not self.unit[0].isalnum() and units.currency(self.unit):
            return f"{self.unit}{number}"
        return f"{number} {self.unit}".rstrip()


def looks_numeric(cells: pl.Series) -> pl.Series:
    """Which cells are a number with or without something around it."""
    return _plain(cells).str.contains(_CELL).fill_null(False)


def find_form(filled: pl.Series) -> Form | None:
    """The form in which most cells can be read, None if no cell holds a number."""
    parts = _split(filled)
    pairs = _pairs(parts)
    factors = _factors_used(pairs)
    counts: dict[str, int] = {}
    for before, after, n in pairs:
        if (meant := units.around(before, after, factors)) is not None:
            counts[meant.name] = counts.get(meant.name, 0) + n
    if not counts:
        return None
    unit = max((name for name in counts if name), key=lambda name: counts[name], default="")
    unit = unit if unit and counts[unit] >= counts.get("", 0) else ""
    form = Form(unit=unit, bare="" in counts and unit != "", factors=factors)
    decimal, thousands = _marks(parts["number"].filter(_as_said(parts, form)), bool(units.currency(unit)))
    return replace(form, decimal=decimal, thousands=thousands)


def read_form(cells: pl.Series, form: Form) -> pl.Series:
    """Numbers, null where a cell is written otherwise; nothing needs no unit."""
    parts = _split(cells)
    number = parts["number"]
    number = number.set(~number.str.contains(_pattern(form.decimal, form.thousands)).fill_null(False), None)
    if form.thousands:
        number = number.str.replace_all(form.thousands.replace("_", " "), "", literal=True)
    value = number.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    value = value * _meanings(parts, form.factors)["factor"] * (1 - 2 * parts["minus"].cast(pl.Int8))
    nothing = (value == 0) & (parts["before"] == "") & (parts["after"] == "")
    return value.set(~(_as_said(parts, form) | nothing).fill_null(False), None).alias(cells.name)


def units_of(filled: pl.Series) -> list[str]:
    """The units that numbers are counted in here, the most frequent first."""
    pairs = _pairs(_split(filled))
    meant = [units.around(before, after, _factors_used(pairs)) for before, after, _ in pairs]
    return list(dict.fromkeys(unit.name for unit in meant if unit is not None and unit.name))


# ---------------------------------------------------------------- cells taken apart


def _split(cells: pl.Series) -> pl.DataFrame:
    """Number, what stands before and after it, and whether it is negative; a null number where there is none."""
    fields = _plain(cells).str.extract_groups(_CELL).struct.unnest()
    signs = [fields[name].fill_null("") for name in ("sign", "inner", "trailing")]
    parenthesised = fields["open"].is_not_null()
    closed = parenthesised == fields["close"].is_not_null()
    once = (signs[0] + signs[1] + signs[2]).str.len_chars() <= 1 - parenthesised.cast(pl.Int8)
    minus = parenthesised | (signs[0] == "-") | (signs[1] == "-") | (signs[2] == "-")
    number = fields["number"].set(~(closed & once), None)
    words = {name: fields[name].fill_null("").str.strip_chars() for name in ("before", "after")}
    return pl.DataFrame({"number": number, **words, "minus": minus})


def _pairs(parts: pl.DataFrame) -> list[tuple[str, str, int]]:
    """The words that stand around numbers, and how often, the most frequent first."""
    there = parts.filter(parts["number"].is_not_null())
    counts = (
        there.group_by("before", "after").len().sort("len", "before", "after", descending=[True, False, False])
    )
    return list(counts.head(_MAX_WORDS).iter_rows())


def _factors_used(pairs: list[tuple[str, str, int]]) -> bool:
    """Whether words multiply here: one that can mean nothing else, or several, or capitals where others have none.

    So 900 and 1.2M are people, 5 m and 12 m are metres, and $5m is money.
    """
    said = {(before, after): units.multiplies(before, after) for before, after, _ in pairs}
    unsure = {after.rstrip(".") for (_, after), multiplies in said.items() if multiplies is None}
    with_bare = ("", "") in said and any(word.isupper() for word in unsure)
    return any(said.values()) or len(unsure) > 1 or with_bare


def _meanings(parts: pl.DataFrame, factors: bool) -> pl.DataFrame:
    """Unit and factor of each row, null where the words mean nothing."""
    pairs = parts.filter(parts["number"].is_not_null()).select("before", "after").unique().rows()
    meant = [
        (before, after, unit.name, unit.factor)
        for before, after in pairs
        if (unit := units.around(before, after, factors))
    ]
    schema = {"before": pl.String, "after": pl.String, "unit": pl.String, "factor": pl.Float64}
    known = pl.DataFrame(meant, schema=schema, orient="row")
    return parts.select("before", "after").join(known, on=["before", "after"], how="left", maintain_order="left")


def _as_said(parts: pl.DataFrame, form: Form) -> pl.Series:
    """Where there is a number with the unit of the form, or without any if that is allowed."""
    meant = _meanings(parts, form.factors)
    unit = meant["unit"] == form.unit
    if form.bare:
        unit |= meant["unit"] == ""
    factor = (meant["factor"] == 1) | form.factors
    return (parts["number"].is_not_null() & unit & factor).fill_null(False)


def _marks(numbers: pl.Series, is_money: bool) -> tuple[str, str]:
    """The marks with which most numbers can be read; in doubt commas, in money points, part thousands."""
    read = {marks: int(numbers.str.contains(_pattern(*marks)).sum()) for marks in _MARKS}
    good = [marks for marks in _MARKS if read[marks] == max(read.values())]
    decimal, thousands = good[0]
    has_comma, has_point = (bool(numbers.str.contains(mark, literal=True).any()) for mark in ",.")
    if has_point and not has_comma and (",", ".") in good and (is_money or decimal == ","):
        decimal, thousands = "", "."
    elif not thousands and (has_comma or has_point):
        thousands = "," if decimal == "." else "."  # which can be mistaken for nothing else now
    return decimal, thousands


def _pattern(decimal: str, thousands: str) -> str:
    """Numbers with these marks; in 1,23,456 there are two digits between them."""
    whole = r"\d+"
    if thousands:
        mark = {".": r"\.", "_": " "}.get(thousands, thousands)
        indian = r"|\d{1,2}(?:,\d{2})+,\d{3}" if thousands == "," else ""
        whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:{mark}\d{{3}})+{indian})"
    return rf"^{whole}?(?:{'[.]' if decimal == '.' else ','}\d*)?(?:[eE][+-]?\d+)?$"


def _plain(cells: pl.Series) -> pl.Series:
    """Text with one kind of space, minus and apostrophe."""
    cells = cells.str.replace_all(_SPACES, " ").str.strip_chars()
    cells = cells.str.replace_all(_MINUS, "-").str.replace_all(_APOSTROPHES, "'")
    return cells.str.replace(_NO_CENTS, "$1")
