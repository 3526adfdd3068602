"""Columns as people have them: each must be read as what it is, with the numbers that it means."""

import datetime as dt
import math
from itertools import cycle, islice

import numpy as np
import polars as pl
import pytest

from chary.tables.columns import find_column, kind_of

N = 60
NB, THIN = "\u00a0", "\u202f"


def column(*cells):
    """As many rows as a small table has."""
    return list(islice(cycle(cells), N))


def days(*written):
    """What becomes of days without a time."""
    dates = [dt.date.fromisoformat(day) for day in written]
    return [(d.year, d.month, d.isoweekday(), (d - dt.date(1970, 1, 1)).days) for d in dates]


def shuffled(first, step=7919, modulo=100_003):
    """Whole numbers, all different, in no order."""
    return [first + i * step % modulo for i in range(N)]


# name, cells, kind, what the form holds, what the note holds, numbers of the first cells (None: not
# read)
CORPUS = [
    # money
    ("price", column("$1,200.50", "$900.00", "$15,000.00"),
     "numeric", ";$", "in $", [1200.5, 900, 15000]),
    ("price", column("$1,499", "$795"),
     "numeric", ";$", "thousands separated by commas", [1499, 795]),
    ("price", column("€ 110.00", "€ 74.50"), "numeric", ";€", "in €", [110, 74.5]),
    ("preis", column("1.200,50 €", "900,00 €", "12,99 €"),
     "numeric", ";,;.;", "comma", [1200.5, 900, 12.99]),
    ("preis", column("1.200 €", "900 €", "15.000 €"),
     "numeric", ";.;", "points read", [1200, 900, 15000]),
    ("prix", column(f"1{NB}200{NB}€", f"15{THIN}000 €", "900 €"),
     "numeric", ";_;", "", [1200, 15000, 900]),
    ("prix", column("1 234,56 €", "12,00 €"), "numeric", ";,;_;", "decimal comma", [1234.56, 12]),
    ("lohn", column("CHF 1'234.50", "CHF 900.00"), "numeric", ";CHF", "", [1234.5, 900]),
    ("lohn", column("5’200.–", "4’800.--", "900.-"), "numeric", ";'", "", [5200, 4800, 900]),
    ("amount", column("EUR 12", "12,50 EUR", "EUR 3"), "numeric", ";EUR", "in EUR", [12, 12.5, 3]),
    ("amount", column("12 USD", "1,300 USD"), "numeric", ";USD", "in USD", [12, 1300]),
    ("amount", column("£1.2m", "£300k", "£2bn"),
     "numeric", ";k;£", "multiplied out", [1.2e6, 3e5, 2e9]),
    ("sales", column("$94.71 bn", "$134.19 bn"),
     "numeric", ";k;$", "multiplied out", [94.71e9, 134.19e9]),
    ("umsatz", column("1,5 Mio. €", "900 Tsd. €"), "numeric", ";€", "decimal comma", [1.5e6, 9e5]),
    ("budget", column("$5 million", "$750 thousand"),
     "numeric", ";$", "multiplied out", [5e6, 7.5e5]),
    ("salary", column("₹1,23,456", "₹99,000"), "numeric", ";₹", "in ₹", [123456, 99000]),
    ("preco", column("R$ 1.234,50", "R$ 12,00"), "numeric", ";R$", "in R$", [1234.5, 12]),
    ("profit", column("(300)", "1,500", "200"),
     "numeric", "amount", "thousands", [-300, 1500, 200]),
    ("profit", column("($300.00)", "$1,500.00", "-$20.00", "$-5.00"),
     "numeric", ";$", "", [-300, 1500, -20, -5]),
    ("balance", column("300.00-", "150.00"), "numeric", "amount", "", [-300, 150]),
    ("cash", column("$5", "7", "$9"), "categorical", "", "most cells are numbers", None),
    # percent, signs, factors
    ("humidity", column("82 %", "94%", "7.5 %"), "numeric", ";%", "in %", [82, 94, 7.5]),
    ("quote", column("12,5 %", "3,75 %"), "numeric", ";,;;;%", "decimal comma", [12.5, 3.75]),
    ("growth", column("+3.2%", "−1.5%", "0%"), "numeric", ";%", "in %", [3.2, -1.5, 0]),
    ("change", column("−5", "+3", "7"), "numeric", "amount", "", [-5, 3, 7]),
    ("change", column("-5", "+3", "7"), "numeric", "", "", [-5, 3, 7]),
    ("followers", column("1.2k", "3M", "900"),
     "numeric", ";k;", "multiplied out", [1200, 3e6, 900]),
    ("views", column("1.5M", "850", "12M"),
     "numeric", ";k;", "multiplied out", [1.5e6, 850, 1.2e7]),
    ("rating", column("4.5/5", "3/5"), "numeric", ";/5", "in /5", [4.5, 3]),
    # units
    ("distance", column("5.4 km", "12 km", "0"), "numeric", ";km", "in km", [5.4, 12, 0]),
    ("distance", column("5 km", "3 mi"), "categorical", "", "others such as '3 mi' are not", None),
    ("height", column("180 cm", "175cm", "160 cm"), "numeric", ";cm", "in cm", [180, 175, 160]),
    ("power", column("5 mW", "3 MW"), "categorical", "", "most cells are numbers", None),
    ("depth", column("5 m", "12 m"), "numeric", ";m", "in m", [5, 12]),
    ("carat", column("0.23 ct", "1.10 ct"), "numeric", ";ct", "in ct", [0.23, 1.1]),
    ("tenure", column("1 year", "3 years", "10 Years"), "numeric", ";year", "in year", [1, 3, 10]),
    ("area", column("85 m²", "120 m²"), "numeric", ";m²", "in m²", [85, 120]),
    ("speed", column("50 km/h", "130 km/h"), "numeric", ";km/h", "in km/h", [50, 130]),
    ("temp", column("21.5 °C", "-3 °C"), "numeric", ";°C", "in °C", [21.5, -3]),
    ("dose", column("500 mg", "1,000 mg"), "numeric", ";mg", "in mg", [500, 1000]),
    ("fuse", column("16A", "10A"), "numeric", ";A", "in A", [16, 10]),
    # plain numbers
    ("n", column("1'234", "12'500", "900"), "numeric", ";';", "", [1234, 12500, 900]),
    ("n", column("1.234.567", "12.500", "900"), "numeric", ";.;", "", [1234567, 12500, 900]),
    ("n", column("900", "1,200", "15,000"), "numeric", ";.;,;;", "commas", [900, 1200, 15000]),
    ("n", column("1,5", "2,25"), "numeric", ";,;;;", "decimal comma", [1.5, 2.25]),
    ("x", column("1e-3", "2.5E4", ".5"), "numeric", "", "", [1e-3, 2.5e4, 0.5]),
    ("zip", column("01234", "90210"), "numeric", "", "", [1234, 90210]),
    ("precip", [*column("0", "0.39", "1.2")[:59], "T"],
     "numeric", "", "1 cells are not numbers", [0, 0.39, 1.2]),
    ("precip", column("0", "0.39", "T"), "categorical", "", "most cells are numbers", None),
    ("age", column("31", "47", "999", "52", "18"),
     "numeric", "", "999 in 12 cells may mean", [31, 47]),
    ("answer", column("0", "1", "2", "3", "-9"),
     "numeric", "", "-9 in 12 cells may mean missing", [0, 1, 2]),
    ("grade", column("9", "10", "11", "12"), "numeric", "", "", [9, 10, 11]),
    # bands and words
    ("change_pct", column("1-10%", "11-20%", "21-30%"), "categorical", "", "3 values", None),
    ("sleep", column("<5", "5", "6", "10+"),
     "categorical", "", "most cells are numbers", None),
    ("age", column("24-28", "29-33"), "categorical", "", "2 values", None),
    ("clarity", column("SI2", "VS1", "IF"), "categorical", "", "3 values", None),
    ("room", column("Room 12", "Room 7"), "categorical", "", "2 values", None),
    ("version", column("1.2.3", "1.10.0"), "categorical", "", "2 values", None),
    ("size", column("10 x 12", "8 x 10"), "categorical", "", "", None),
    # dates
    ("day", column("2024-01-31", "2024-02-01"), "date", "ymd", "", days("2024-01-31")),
    ("day", column("1 Mar 2024", "25 December 2023"),
     "date", "dby", "", days("2024-03-01", "2023-12-25")),
    ("day", column("25-Mar-2018", "3-Apr-2018"),
     "date", "dby", "", days("2018-03-25", "2018-04-03")),
    ("day", column("March 3, 2024", "Apr 13th, 2024"),
     "date", "bdy", "", days("2024-03-03", "2024-04-13")),
    ("day", column("Monday, March 4, 2024"), "constant", "", "the same", None),
    ("tag", column("1. März 2024", "2. Okt. 2023"),
     "date", "dby", "", days("2024-03-01", "2023-10-02")),
    ("day", column("20240131", "20231225"),
     "date", "compact", "", days("2024-01-31", "2023-12-25")),
    ("day", column(20240131, 20231225), "date", "compact", "", days("2024-01-31", "2023-12-25")),
    ("day", column("01/31/24", "12/25/23"), "date", "mdy2", "month first", days("2024-01-31")),
    ("day", column("31.01.99", "25.12.05"),
     "date", "dmy2", "day first", days("1999-01-31", "2005-12-25")),
    ("day", column("01/02/03", "04/05/06"),
     "date", "dmy2:", "read as day first", days("2003-02-01")),
    ("day", column("1/2/2024", "3/4/2024"), "date", "dmy", "read as day first", days("2024-02-01")),
    ("code", column(20249931, 20248825), "numeric", "", "", [20249931, 20248825]),
    ("n", column(1706695800, 1706695900), "numeric", "", "", [1706695800, 1706695900]),
    # times: further numbers are those of the day; see below for the hours
    ("at", column("2024-01-31 10:30:00", "2024-02-01 23:15:10"),
     "date", "ymd time", "with the time", None),
    ("at", column("2024-01-31T10:30:00+02:00", "2024-02-01T09:00:00Z"),
     "date", "ymd time", "", None),
    ("at", column("2024-01-31T10:30:00Z", "2024-02-01T09:00:00"), "date", "ymd time", "", None),
    ("at", column("1/31/2024 2:30 PM", "2/1/2024 12:05 AM"),
     "date", "mdy time", "month first", None),
    ("at", column("2024-01-31 00:00:00", "2024-02-01 00:00:00"),
     "date", "ymd", "", days("2024-01-31")),
    ("opens", column("12:30", "08:00", "23:59:30"),
     "time", "", "a time of day", [12.5, 8, 23 + 59.5 / 60]),
    ("opens", column("2:30 pm", "8:00 AM"), "time", "", "a time of day", [14.5, 8]),
    ("runtime", column("01:30:00", "00:45:00"), "time", "", "a time of day", [1.5, 0.75]),
    ("x", column("26:15:00", "31:00:00"), "categorical", "", "2 values", None),
    ("wait", column(dt.timedelta(hours=1), dt.timedelta(seconds=5)),
     "numeric", "", "in seconds", [3600, 5]),
    # what names rows, or groups of them
    ("id", list(range(N)), "identifier", "", "row number or an ID", None),
    ("unitid", shuffled(100_000), "identifier", "", "row number or an ID", None),
    ("id_str", [str(29 * 10**16 + 7 * i) for i in shuffled(0)],
     "identifier", "", "row number or an ID", None),
    ("tweet", [str(29 * 10**16 + 7 * i) for i in shuffled(0)],
     "identifier", "", "row number or an ID", None),
    ("user_id", [*shuffled(0)[:50], *shuffled(0)[:10]],
     "identifier", "", "50 values in 60 cells", None),
    ("subject_id", column(7, 3, 12, 5),
     "categorical", "", "repeats, so it names groups: 4 values", None),
    ("store_id", column(7.0, 3.0, 12.0), "categorical", "", "repeats, so it names groups", None),
    ("casino", column(3, 7, 12), "numeric", "", "", [3, 7, 12]),
    ("house_no", column(3, 7, 12), "numeric", "", "", [3, 7, 12]),
    ("invoice_no", shuffled(0), "identifier", "", "row number or an ID", None),
    ("session", [f"{i:032x}" for i in shuffled(10**30)],
     "identifier", "", "row number or an ID", None),
    ("amount", shuffled(0), "numeric", "", "", shuffled(0)[:3]),
]  # fmt: skip


def test_every_column_is_read_as_what_it_is():
    for name, cells, kind, form, note, numbers in CORPUS:
        series = pl.Series(name, cells)
        found = find_column(series)
        assert found.kind == kind, found
        assert form in found.form, found
        assert bool(found.form) == bool(form), found
        assert note in found.note, found
        if numbers is not None:
            read = kind_of(found).read(series.head(len(numbers)), found)
            expected = np.array(numbers, dtype=float).reshape(len(numbers), -1)
            np.testing.assert_allclose(
                read[:, : expected.shape[1]], expected, rtol=1e-12, err_msg=str(found)
            )
        if found.used:
            width = kind_of(found).read(series, found).shape[1]
            assert kind_of(found).read(series.clear(), found).shape == (0, width)
            gaps = kind_of(found).read(series.clear(3), found)
            assert np.isnan(gaps).all() or kind_of(found).grouped


@pytest.mark.parametrize(
    ("name", "cell", "hours", "day"),
    [
        ("at", "2024-01-31 10:30:00", 10.5, 19753),
        ("at", "2024-01-31T10:30:00+02:00", 10.5, 19753),
        ("at", "1/31/2024 2:30 PM", 14.5, 19753),
        ("at", dt.datetime(2024, 1, 31, 10, 30), 10.5, 19753),
    ],
)
def test_the_hour_goes_around_the_clock(name, cell, hours, day):
    later = _another(cell)
    found = find_column(pl.Series(name, column(cell, later)))
    names = [feature.removeprefix(f"{name}: ") for feature in kind_of(found).feature_names(found)]
    read = dict(zip(names, kind_of(found).read(pl.Series(name, [cell]), found)[0], strict=True))
    assert (read["year"], read["month"], read["weekday"]) == (2024, 1, 3)
    assert read["elapsed days"] == pytest.approx(day + hours / 24)
    assert math.atan2(read["hour sine"], read["hour cosine"]) % (2 * math.pi) == pytest.approx(
        hours / 24 * 2 * math.pi
    )
    assert math.atan2(read["weekday sine"], read["weekday cosine"]) == pytest.approx(
        2 / 7 * 2 * math.pi
    )
    assert (read["month sine"], read["month cosine"]) == pytest.approx((0, 1))


def _another(cell):
    """An hour later or so, written in the same way."""
    if isinstance(cell, dt.datetime):
        return cell + dt.timedelta(hours=1)
    return cell.replace(":30", ":45")
