"""Cells become features: nothing unseen refused, arithmetic of scikit-learn, equal in any parts."""

import datetime as dt
import os
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from chary.model_file import load_model, save_model
from chary.tables.preparation import TablePreparation
from chary.tables.table import TableError

N = 60
RNG = np.random.default_rng(0)


def kind_of(cells, **overrides):
    """The kind that a column x is taken for, beside a column that is always fine."""
    frame = {"x": cells, "fine": [i % 7 for i in range(len(cells))]}
    return TablePreparation(**overrides).fit(frame).columns_[0]


WRITTEN_OTHERWISE = [
    (
        [f"{i},5" for i in range(N)],
        [f"{i}.5" for i in range(9)],
        "holds '0.5': 9 of 9 .* such as 12,5",
    ),
    ([f"{i}.5" for i in range(N)], [*["7"] * 96, *["1,5"] * 8], "8 of 104"),
    (
        [f"2024-{i % 12 + 1:02d}-28" for i in range(N)],
        ["28.01.2024"] * 3,
        "dates such as 2024-01-31",
    ),
    (
        [f"1/{i % 28 + 1}/2024" for i in range(N)],
        ["28/1/2024", "29/1/2024"],
        "dates such as 01/31/2024",
    ),
    (
        [dt.date(2024, 1, 1 + i % 28) for i in range(N)],
        [20240131, 20240201],
        "dates such as 2024-01-31",
    ),
    ([i * i for i in range(N)], [dt.date(2024, 1, 1)], "numbers such as 12.5"),
    (["yes", "no"] * 30, ["true", "false"], "holds 'true': 2 of 2 .* yes or its opposite"),
    (["5.4 km", "7 km"] * 30, ["5 mi"], "holds '5 mi': 1 of 1 .* numbers in km such as 12.5 km"),
    (["12 %", "7 %"] * 30, [0.12, 0.07], "holds '0.12': 2 of 2 .* numbers in %"),
    (["3.8 MB/s", "4 MB/s"] * 30, ["3.8 Mb/s"], "holds '3.8 Mb/s': 1 of 1 .* numbers in MB/s"),
    (["3.8 MWh", "4 MWh"] * 30, ["3.8 mWh"], "holds '3.8 mWh': 1 of 1 .* numbers in MWh"),
    (["12:30", "7:15"] * 30, ["half past"], "times of day such as 12:30"),
    (
        ["2024-01-31 10:30", "2024-02-01 7:00"] * 30,
        ["2024-01-31"],
        "with a time of day such as 2024-01-31 10:30",
    ),
]


def test_cells_written_otherwise_than_learned_are_refused():
    for learned, new, said in WRITTEN_OTHERWISE:
        preparation = TablePreparation().fit({"x": learned, "fine": [i % 7 for i in range(N)]})
        with pytest.raises(TableError, match=f"^Column 'x' .*{said}") as caught:
            preparation.transform({"x": new, "fine": [1] * len(new)})
        assert "\n" not in str(caught.value)


def test_what_shows_how_numbers_are_written_may_come_later():
    preparation = TablePreparation().fit({"x": ["57.330,18", "1.234,5"] * 30})
    doubtful, clear = preparation.transform({"x": ["3.754", "2,5"]})[:, 0]
    assert doubtful > clear  # 3754 and 2.5


def test_a_few_odd_cells_are_missing_as_they_are_when_learning():
    learned = [*[f"{i % 49}.5" for i in range(98)], "oops", "1,5"]
    preparation = TablePreparation().fit({"x": learned})
    assert preparation.columns_[0].note == "2 cells are not numbers and count as missing"
    assert preparation.transform({"x": learned})[-2:, 1].tolist() == [1, 1]
    assert preparation.transform({"x": [*["7"] * 20, "oops"]})[-1, 1] == 1
    assert preparation.transform({"x": ["", None, "NA"]})[:, 1].tolist() == [1, 1, 1]


def test_a_column_said_to_be_numeric_may_hold_anything_but_not_nothing_but():
    preparation = TablePreparation(numeric=["x"]).fit({"x": ["1,5", "7", "8", "a", "b"] * 12})
    assert preparation.columns_[0].form == "amount;,;;;"
    assert np.isfinite(preparation.transform({"x": ["1,5", "a", "b"]})).all()
    with pytest.raises(TableError, match=r"Column 'x' holds '1\.5'"):
        preparation.transform({"x": ["1.5", "2.5"]})


def test_a_categorical_is_a_category_whatever_its_values():
    pd = pytest.importorskip("pandas")
    numbers, dates = [10, 30, 20] * 30, ["2020-01-01", "2021-05-07", "2022-11-30"] * 30
    for cells in (
        pd.Categorical(numbers),
        pd.Categorical([*map(float, numbers[1:]), None]),
        pl.Series(map(str, numbers), dtype=pl.Categorical),
        pl.Series(dates, dtype=pl.Enum(dates[:3])),
    ):
        preparation = TablePreparation().fit({"x": cells})
        assert preparation.columns_[0].kind == "categorical"
        some = np.asarray(preparation.transform({"x": cells[:4]}))
        np.testing.assert_array_equal(some, preparation.transform({"x": list(cells[:4])}))
    assert (
        TablePreparation(numeric=["x"]).fit({"x": pd.Categorical(numbers)}).columns_[0].kind
        == "numeric"
    )


def test_overrides():
    zips = [str(10_000 + i % 5) for i in range(N)]
    assert kind_of(zips).kind == "numeric"
    assert kind_of(zips, categorical=["x"]).kind == "categorical"
    assert kind_of(zips, drop=["x"]).kind == "dropped"
    assert kind_of(zips, identifier=["x"]).kind == "identifier"
    assert kind_of(range(N)).kind == "identifier"
    assert kind_of(range(N), numeric=["x"]).kind == "numeric"
    with pytest.raises(TableError, match="no column 'nope' to override"):
        kind_of(zips, drop=["nope"])


def test_the_arithmetic_is_that_of_a_column_transformer():
    frame = pd.DataFrame(
        {
            "a": RNG.normal(3, 2, N),
            "b": np.where(RNG.random(N) < 0.3, np.nan, RNG.normal(size=N)),
            "c": RNG.choice(["u", "v", "w"], N),
        }
    )
    expected = ColumnTransformer(
        [
            (
                "number",
                make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
                ["a", "b"],
            ),
            (
                "missing",
                make_pipeline(SimpleImputer(strategy="constant", add_indicator=True)),
                ["b"],
            ),
            ("category", OneHotEncoder(sparse_output=False), ["c"]),
        ]
    ).fit_transform(frame)
    expected = np.delete(expected, 2, axis=1)  # the indicator's own copy of b
    preparation = TablePreparation()
    np.testing.assert_allclose(preparation.fit_transform(frame), expected, rtol=1e-6)
    assert preparation.get_feature_names_out().tolist() == [
        "a",
        "b",
        "b is missing",
        "c = u",
        "c = v",
        "c = w",
    ]


def test_unseen_rare_missing_and_unreadable_cells_are_accepted():
    colours = ["red"] * 30 + ["blue"] * 27 + ["odd", "rare", ""]
    frame = {
        "colour": colours,
        "n": [*[str(i % 9) for i in range(N - 1)], ""],
        "flag": ["yes", "no"] * 30,
    }
    preparation = TablePreparation().fit(frame)
    names = preparation.get_feature_names_out().tolist()
    new = preparation.transform({
        "colour": ["red", "rare", "new", None],
        "n": ["1", "x", "", "1"],
        "flag": ["YES", "no", "maybe", None],
        "extra": [1, 2, 3, 4],
    })  # fmt: skip
    colour = new[
        :, [names.index(f"colour = {value}") for value in ("blue", "red", "(other)", "(missing)")]
    ]
    assert colour.tolist() == [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert new[:, names.index("n is missing")].tolist() == [0, 1, 1, 0]
    assert np.isfinite(new).all()


def test_categories_without_a_group_for_others_become_zeros():
    preparation = TablePreparation().fit({"c": ["u", "v"] * 30})
    assert preparation.transform({"c": ["w", None]}).tolist() == [[0, 0], [0, 0]]


def test_values_are_finite_and_bounded_however_large_the_cells():
    preparation = TablePreparation().fit(
        {"x": [*[0.0] * 59, 1e99], "y": [1e300, np.inf, -np.inf] * 20, "z": range(60)}
    )
    features = preparation.transform({"x": [1e99, 1e308, -1e99], "y": [1.0, np.nan, 5e20]})
    assert np.isfinite(features).all()
    assert np.abs(features).max() <= 100


def test_a_missing_column_is_named():
    preparation = TablePreparation().fit({"a": [1, 2, 3], "b": [1, 5, 3]})
    with pytest.raises(
        TableError,
        match=r"Column 'b' is missing, and the model learned from it; the table has 'a'\.$",
    ):
        preparation.transform({"a": [1]})


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(
        TableError, match=r"No column is left to learn from \('x': the same in every row"
    ):
        TablePreparation().fit({"x": [1] * N})


def test_too_many_features_are_refused(monkeypatch):
    monkeypatch.setattr("chary.tables.preparation.MAX_COLUMNS", 30)
    with pytest.raises(TableError, match="become 40 features, of 30 at most; use"):
        TablePreparation().fit({f"c{i}": [f"x{i % 20}" for i in range(200)] for i in range(2)})


def test_long_tables_are_measured_on_a_sample_and_transformed_in_chunks(monkeypatch):
    import chary.tables.preparation as module

    frame = {"a": RNG.normal(size=5000), "c": RNG.choice(["u", "v"], 5000)}
    whole = TablePreparation().fit(frame)
    monkeypatch.setattr(module, "_CHUNK_CELLS", 3000)
    assert np.array_equal(whole.transform(frame), TablePreparation().fit(frame).transform(frame))
    monkeypatch.setattr(module, "_STATISTICS_ROWS", 1000)
    sampled = TablePreparation().fit(frame)
    assert abs(sampled.features()[0].mean - np.mean(frame["a"])) < 0.15
    assert np.array_equal(sampled.transform(frame), TablePreparation().fit(frame).transform(frame))


cell = st.one_of(
    st.none(),
    st.text(max_size=6),
    st.integers(-99, 99).map(str),
    st.sampled_from(["yes", "no", "2024-01-31"]),
)


def test_it_can_be_cloned():
    preparation = TablePreparation(drop=["a"], categorical=["b"])
    assert clone(preparation).get_params() == preparation.get_params()


def test_every_feature_knows_its_column():
    table = {
        "age": ["31", "", "47", "52"],
        "city": ["Ulm", "Bonn", "Ulm", "Bonn"],
        "day": ["2024-01-31", "2024-02-01", "2024-02-02", "2024-02-05"],
    }
    preparation = TablePreparation().fit(table)
    features = preparation.features()
    assert [feature.name for feature in features] == preparation.get_feature_names_out().tolist()
    assert [feature.column for feature in features] == ["age", *["day"] * 4, "age", "city", "city"]
    assert [feature.indicator for feature in features] == [*[False] * 5, *[True] * 3]
    assert all(feature.name.startswith(feature.column) for feature in features)


def test_a_number_is_told_from_an_indicator_whatever_its_scale():
    standardised = np.tile([-1.0, 1.0], 30)  # mean 0 and scale 1, as an indicator seems to have
    number, *groups = TablePreparation().fit({"x": standardised, "c": ["u", "v"] * 30}).features()
    assert number == ("x", "x", False, 0.0, 1.0, "x", "number")
    assert [feature[:5] for feature in groups] == [
        ("c = u", "c", True, 0.0, 1.0),
        ("c = v", "c", True, 0.0, 1.0),
    ]
    assert TablePreparation().fit({"c": ["u", "v"] * 30}).features() == groups
    (number,) = TablePreparation().fit({"x": 7 + 2 * standardised}).features()
    assert (number.mean, number.scale, number.in_units(-0.5)) == (7, 2, 6)


@settings(max_examples=100 if os.environ.get("CHARY_FUZZ") == "full" else 6, deadline=None)
@given(
    st.lists(st.tuples(cell, cell), min_size=3, max_size=30),
    st.lists(st.tuples(cell, cell), max_size=5),
)
def test_restored_state_gives_the_same_bits(rows, new_rows):
    frame = pl.DataFrame([*rows], schema={"a": pl.String, "b": pl.String}, orient="row")
    frame = frame.with_columns(fine=pl.Series(range(len(rows))) % 3)
    preparation = TablePreparation().fit(frame)
    restored = TablePreparation.restored({}, preparation.ordered_, preparation.statistics_)
    new_frame = pl.DataFrame(new_rows, schema={"a": pl.String, "b": pl.String}, orient="row")
    new = pl.concat([frame, new_frame.with_columns(fine=pl.lit(7, pl.Int64))])
    try:
        features = preparation.transform(new)
    except TableError:
        with pytest.raises(TableError):
            restored.transform(new)
        return
    assert np.isfinite(features).all()
    assert features.tobytes() == restored.transform(new).tobytes()
    assert restored.get_feature_names_out().tolist() == preparation.get_feature_names_out().tolist()


def test_codes_for_nothing_are_missing_in_every_column_or_in_one(tmp_path):
    table = {"age": ["31", "-9", "47", "99"] * 5, "height": ["180", "99", "175", "-9"] * 5}
    preparation = TablePreparation(missing=["-9", "age=99"]).fit(table)
    names = preparation.get_feature_names_out().tolist()
    features = preparation.transform(table)
    assert features[:4, names.index("age is missing")].tolist() == [0, 1, 0, 1]
    assert features[:4, names.index("height is missing")].tolist() == [0, 0, 0, 1]
    save_model(preparation, tmp_path / "m.chary")
    assert load_model(tmp_path / "m.chary").transform(table).tobytes() == features.tobytes()
    with pytest.raises(
        TableError, match=r"There is no column 'aeg' for the code 'aeg=9'; did you mean 'age'\?"
    ):
        TablePreparation(missing=["aeg=9"]).fit(table)


def test_dates_of_a_column_that_is_not_there_are_refused():
    table = {"day": ["03/04/2021", "05/06/2021"] * 20, "x": ["1", "2"] * 20}
    with pytest.raises(
        TableError,
        match=r"There is no column 'dya' for the dates 'dya=month-first'; did you mean 'day'",
    ):
        TablePreparation(dates=["dya=month-first"]).fit(table)
    TablePreparation(dates=["day=month-first"]).fit(table)


def test_money_said_to_be_numeric_is_read_and_words_are_refused():
    cells = ["$1,200", "$900", "$15,000"] * 20
    for numeric in ([], ["price"]):
        preparation = TablePreparation(numeric=numeric).fit({"price": cells})
        numbers = preparation.features()[0].in_units(
            preparation.transform({"price": cells[:3]})[:, 0]
        )
        np.testing.assert_allclose(numbers, [1200, 900, 15000], rtol=1e-5)
    with pytest.raises(TableError, match="Column 'price' holds no number"):
        TablePreparation(numeric=["price"]).fit({"price": ["cheap", "dear"] * 30})


def test_cells_that_hold_no_number_are_counted_by_column():
    seen = {
        "age": ["31", "", "47", "52"] * 20,
        "size": ["1,5 m", "2,5 m"] * 40,
        "city": ["Ulm", "Bonn"] * 40,
    }
    preparation = TablePreparation(missing=["age=-9"]).fit(seen)
    new = {
        "age": ["-9", "", "40", *["50"] * 117],
        "size": [None, *["1,5 m"] * 119],
        "city": ["", *["Ulm"] * 119],
    }
    features, n_missing = preparation.transform_counted(new)
    assert n_missing == {"age": 2, "size": 1}
    assert (features == preparation.transform(new)).all()
    assert preparation.transform_counted(pl.DataFrame(new).clear())[1] == {"age": 0, "size": 0}


def test_statistics_that_are_not_those_of_the_columns_are_refused():
    preparation = TablePreparation().fit({"a": [1.0, 2.0, 4.0], "b": [3.0, 5.0, 9.0]})
    for name, wrong in (
        ("median", np.ones(3)),
        ("mean", np.ones((2, 1))),
        ("scale", np.array([1.0, 0.0])),
    ):
        with pytest.raises(TableError, match="does not fit its columns"):
            TablePreparation.restored(
                {}, preparation.ordered_, {**preparation.statistics_, name: wrong}
            )


# ---------------------------------------------------------------- in parts


def awkward(n=120, seed=0):
    """Columns of every kind, written as people write them."""
    rng = np.random.default_rng(seed)
    words = np.array(["late again", "very fine day", "slow, rude", "great!", "Größe 5 ﬁne", ""])
    return pl.DataFrame(
        {
            "plain": rng.normal(size=n),
            "comma": [
                f"{x:.2f}".replace(".", ",") if x > -1 else "n/a" for x in rng.normal(size=n)
            ],
            "money": [
                f"{x:,.2f} {'EUR' if k % 3 else '€'}" for k, x in enumerate(rng.uniform(1, 9000, n))
            ],
            "city": rng.choice(["Ulm", "Bonn", " Kiel", "NA", "Jena "], n).tolist(),
            "zip": rng.choice([10115.0, 89073.0, 53111.0], n),
            "day": [f"{1 + k % 28:02d}.{1 + k % 12:02d}.20{10 + k % 9}" for k in range(n)],
            "clock": [f"{k % 24}:{k % 60:02d}" for k in range(n)],
            "took": [f"{k % 5}:{k % 60:02d}:00" for k in range(n)],
            "ok": rng.choice(["Yes", "no", "?"], n).tolist(),
            "said": [" ".join(rng.choice(words, 3)) + str(k % 7) for k in range(n)],
            "vector": rng.normal(size=(n, 3)).tolist(),
        }
    )


@pytest.fixture(scope="module", name="prepared")
def fitted():
    preparation = TablePreparation(categorical=["zip"], text=["said"], missing=["plain=0"]).fit(
        awkward()
    )
    kinds = {column.kind for column in preparation.columns_}
    assert {"numeric", "date", "time", "boolean", "categorical", "words", "embedding"} <= kinds
    return preparation


@settings(max_examples=8)
@given(cuts=st.lists(st.integers(0, 120), max_size=6), seed=st.integers(0, 3))
def test_the_features_of_a_row_do_not_depend_on_the_part_it_is_in(prepared, cuts, seed):
    frame = awkward(seed=seed)
    whole, forms = prepared.transform(frame), prepared.cell_counts()
    bounds = [0, *sorted(cuts), 120]
    parts = [prepared.transform_part(frame[a:b], forms) for a, b in pairwise(bounds)]
    forms.refuse()
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_rare_words_after_numbers_mean_the_same_whatever_else_is_there():
    learned = [f"{k % 37} km" for k in range(100)]
    preparation = TablePreparation().fit(pl.DataFrame({"x": learned}))
    odd = [
        f"{k} {a}{b}"
        for k, (a, b) in enumerate((a, b) for a in "qwxzv" for b in "qwertzuiopasdfgh")
    ]
    cells = pl.DataFrame(
        {"x": [*(f"{k} km" for k in range(9_000)), *odd, *odd, "7 kilometres", "7 KM"]}
    )
    forms = preparation.cell_counts()
    parts = [
        preparation.transform_part(cells[k : k + 300], forms) for k in range(0, cells.height, 300)
    ]
    assert np.concatenate(parts).tobytes() == preparation.transform(cells).tobytes()


@settings(max_examples=25)
@given(
    n_odd=st.integers(0, 12),
    n=st.integers(1, 60),
    cut=st.integers(1, 20),
    points=st.booleans(),
    first=st.booleans(),
)
def test_parts_are_refused_exactly_as_the_whole_is(n_odd, n, cut, points, first):
    learned = [f"{k % 9},{k % 7}5" for k in range(40)]
    preparation = TablePreparation().fit(
        pl.DataFrame({"x": learned, "y": [float(k) ** 2 for k in range(40)]})
    )
    odd = [f"{k}.{k}25" if points else "later" for k in range(n_odd)]
    good = [str(k) if points else f"{k},5" for k in range(n)]
    cells = [*odd, *good] if first else [*good, *odd]
    frame = pl.DataFrame({"x": cells, "y": [1.5] * len(cells)})
    said = _said(lambda: preparation.transform(frame))

    def in_parts():
        total = preparation.cell_counts()
        for start in range(0, frame.height, cut):
            later = preparation.cell_counts()
            preparation.transform_part(frame[start : start + cut], later)
            total.add(later)
        total.refuse()

    assert _said(in_parts) == said
    if n_odd > 10 and n_odd > n:
        assert "cells cannot be read, because the model learned from numbers such as 12,5" in said


def _said(job):
    try:
        job()
    except TableError as error:
        return str(error)
    return ""


def test_nothing_is_refused_of_a_table_without_rows(prepared):
    forms = prepared.cell_counts()
    assert prepared.transform_part(awkward()[:0], forms).shape == (
        0,
        len(prepared.get_feature_names_out()),
    )
    forms.refuse()


def test_unicode_spellings_of_cells_are_one_and_those_of_names_are_shown():
    nfc, nfd = "caf\u00e9", "cafe\u0301"
    cells = {nfc: [nfc, nfd, "bar", "bar\u200b"] * 10, "n": ["1", "\u200e2", "3", "NA\u200b"] * 10}
    preparation = TablePreparation().fit(cells)
    names = ["n", "n is missing", f"{nfc} = bar", f"{nfc} = {nfc}"]
    assert preparation.get_feature_names_out().tolist() == names
    X = preparation.transform(cells)
    np.testing.assert_array_equal(X[:4, 1:], [[0, 0, 1], [0, 0, 1], [0, 1, 0], [1, 1, 0]])
    with pytest.raises(
        TableError, match=r"'caf\u00e9' is missing, .* did you mean 'cafe\\u0301'\?"
    ):
        preparation.transform(pl.DataFrame(cells).rename({nfc: nfd}))


def test_without_some_columns_the_others_have_the_features_that_they_had():
    rng = np.random.default_rng(0)
    table = {
        "z": rng.normal(size=N),
        "day": [f"2024-01-{1 + i % 28:02d}" for i in range(N)],
        "a": [None if i % 7 == 0 else i / 3 for i in range(N)],
        "c": ["u", "v"] * (N // 2),
    }
    whole = TablePreparation().fit(table)
    kept = [feature.column not in ("day", "c") for feature in whole.features()]
    part = whole.without({"day": "of one year", "c": "of one group"})
    assert [(column.name, column.used, column.note) for column in part.columns_][1] == (
        "day",
        False,
        "of one year",
    )
    np.testing.assert_array_equal(
        part.transform({"a": table["a"], "z": table["z"]}), whole.transform(table)[:, kept]
    )
    assert part.features() == [
        feature for feature, stays in zip(whole.features(), kept, strict=True) if stays
    ]
