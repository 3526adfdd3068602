"""A table cut into parts: the same features to the bit, and the same refusal at its end as of the whole."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.tables import TableError, TablePreparation

N = 120


def awkward(n=N, seed=0):
    """Columns of every kind, written as people write them."""
    rng = np.random.default_rng(seed)
    words = np.array(["late again", "very fine day", "slow, rude", "great!", "Größe 5 ﬁne", ""])
    return pl.DataFrame(
        {
            "plain": rng.normal(size=n),
            "comma": [f"{x:.2f}".replace(".", ",") if x > -1 else "n/a" for x in rng.normal(size=n)],
            "money": [f"{x:,.2f} {'EUR' if k % 3 else '€'}" for k, x in enumerate(rng.uniform(1, 9000, n))],
            "city": rng.choice(["Ulm", "Bonn", " Kiel", "NA", "Jena "], n).tolist(),
            "zip": rng.choice([10115.0, 89073.0, 53111.0], n),
            "day": [f"{1 + k % 28:02d}.{1 + k % 12:02d}.20{10 + k % 9}" for k in range(n)],
            "clock": [f"{k % 24}:{k % 60:02d}" for k in range(n)],
            "took": [f"{k % 5} h {k % 60} min" for k in range(n)],
            "ok": rng.choice(["Yes", "no", "?"], n).tolist(),
            "said": [" ".join(rng.choice(words, 3)) + str(k % 7) for k in range(n)],
            "vector": rng.normal(size=(n, 3)).tolist(),
        }
    )


@pytest.fixture(scope="module", name="prepared")
def fitted():
    preparation = TablePreparation(categorical=["zip"], text=["said"], missing=["plain=0"]).fit(awkward())
    kinds = {column.kind for column in preparation.columns_}
    assert {"numeric", "date", "time", "duration", "boolean", "categorical", "words", "embedding"} <= kinds
    return preparation


@settings(max_examples=25)
@given(cuts=st.lists(st.integers(0, N), max_size=6), seed=st.integers(0, 3))
def test_the_features_of_a_row_do_not_depend_on_the_part_it_is_in(prepared, cuts, seed):
    frame = awkward(seed=seed)
    whole, forms = prepared.transform(frame), prepared.forms()
    bounds = [0, *sorted(cuts), N]
    parts = [prepared.part(frame[a:b], forms) for a, b in pairwise(bounds)]
    forms.refuse()
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_rare_words_after_numbers_mean_the_same_whatever_else_is_there():
    learned = [f"{k % 37} km" for k in range(100)]
    preparation = TablePreparation().fit(pl.DataFrame({"x": learned}))
    odd = [f"{k} {a}{b}" for k, (a, b) in enumerate((a, b) for a in "qwxzv" for b in "qwertzuiopasdfgh")]
    cells = pl.DataFrame({"x": [*(f"{k} km" for k in range(12_000)), *odd, *odd, "7 kilometres", "7 KM"]})
    forms = preparation.forms()
    parts = [preparation.part(cells[k : k + 50], forms) for k in range(0, cells.height, 50)]
    assert np.concatenate(parts).tobytes() == preparation.transform(cells).tobytes()


@settings(max_examples=40)
@given(
    n_odd=st.integers(0, 12),
    n=st.integers(1, 60),
    cut=st.integers(1, 20),
    points=st.booleans(),
    first=st.booleans(),
)
def test_parts_are_refused_exactly_as_the_whole_is(n_odd, n, cut, points, first):
    learned = [f"{k % 9},{k % 7}5" for k in range(40)]
    preparation = TablePreparation().fit(pl.DataFrame({"x": learned, "y": [float(k) ** 2 for k in range(40)]}))
    odd = [f"{k}.{k}25" if points else "later" for k in range(n_odd)]
    good = [str(k) if points else f"{k},5" for k in range(n)]
    cells = [*odd, *good] if first else [*good, *odd]
    frame = pl.DataFrame({"x": cells, "y": [1.5] * len(cells)})
    said = _said(lambda: preparation.transform(frame))

    def in_parts():
        total = preparation.forms()
        for start in range(0, frame.height, cut):
            later = preparation.forms()
            preparation.part(frame[start : start + cut], later)
            total.add(later)
        total.refuse()

    assert _said(in_parts) == said
    if n_odd > 10 and n_odd > n:
        assert "cells cannot be read, because the model learned from numbers with a decimal comma" in said


def _said(job):
    try:
        job()
    except TableError as error:
        return str(error)
    return ""


def test_nothing_is_refused_of_a_table_without_rows(prepared):
    forms = prepared.forms()
    assert prepared.part(awkward()[:0], forms).shape == (0, len(prepared.get_feature_names_out()))
    forms.refuse()
