"""Whether new rows look like those learned from: never accused by chance or for a trifle."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.pipeline import Pipeline

from chary.labelling.drift import (
    ALIKE,
    DIFFERENT,
    UNCHECKED,
    VERY_DIFFERENT,
    EventCounts,
    RowComparison,
    compare_counts,
    compare_with_reference,
    count_above,
    count_events,
    event_p_values,
    find_cuts,
    with_drift_reference,
)
from chary.model_file import CODECS, ModelFileError, load_model, save_model
from chary.tables import TablePreparation


def counted(X, cuts):
    return EventCounts(len(X), count_above(X.astype(np.float32), cuts).ravel())


def reference_of(X):
    """Cuts, counts and columns."""
    X = X.astype(np.float32)
    cuts = find_cuts(X, np.zeros(X.shape[1], dtype=bool))
    seen, column = counted(X, cuts), np.repeat(np.arange(X.shape[1]), 9)
    return cuts, seen, column


class Drift(NamedTuple):
    verdict: str
    auc: float
    events: np.ndarray


def drift_of(X, new):
    cuts, seen, column = reference_of(X)
    return Drift(*compare_counts(seen, counted(new, cuts), column))


def correlated(rng, n, d=8, rho=0.7):
    return np.sqrt(rho) * rng.normal(size=(n, 1)) + np.sqrt(1 - rho) * rng.normal(size=(n, d))


# ---------------------------------------------------------------- chance


@pytest.mark.parametrize(("n", "m"), [(5_000, 40), (300, 200), (60, 2_000)])
def test_p_values_are_nearly_fishers_and_seldom_smaller(n, m):
    rng = np.random.default_rng(0)
    share = rng.choice([0.0005, 0.01, 0.1, 0.5, 0.97], 400)
    seen = rng.binomial(n, share)
    new = np.where(rng.random(400) < 0.5, rng.binomial(m, share), rng.binomial(m, np.minimum(1, share + 0.15)))
    ours = event_p_values(EventCounts(n, seen), EventCounts(m, new))
    null = stats.hypergeom(n + m, seen + new, m)
    exact = np.minimum(1, 2 * np.minimum(null.cdf(new), null.sf(new - 1)))
    small = exact < 0.01
    assert small.sum() > 50
    assert (ours[small] > 0.5 * exact[small]).all()
    possible = small & (exact > 1e-12)
    assert np.median(np.log(ours[possible]) / np.log(exact[possible])) > 0.8


def test_unseen_in_one_row_is_chance_and_in_several_it_is_not():
    seen = EventCounts(5_000, np.array([0, 0, 5_000]))
    once, thrice, all_but_five = event_p_values(seen, EventCounts(50, np.array([1, 5, 45])))
    assert once > 0.005
    assert thrice < 1e-8
    assert all_but_five == pytest.approx(thrice)  # an event and its contrary say the same


@pytest.mark.parametrize(("rho", "m"), [(0.0, 200), (0.7, 50)])
def test_alike_rows_are_seldom_accused_however_columns_hang_together(rho, m):
    rng = np.random.default_rng(1)
    drifts = [drift_of(correlated(rng, 250, rho=rho), correlated(rng, m, rho=rho)) for _ in range(100)]
    assert sum(drift.verdict != ALIKE for drift in drifts) <= 4


# ---------------------------------------------------------------- size of a difference


def test_a_trifle_in_a_large_file_is_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 3))
    drift = drift_of(X, rng.normal(size=(30_000, 3)) + 0.06)
    assert drift.verdict == ALIKE
    assert len(drift.events) > 0  # beyond chance


def test_a_shift_of_one_column_is_found_there():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(1_000, 5)), rng.normal(size=(200, 5))
    new[:, 3] += 0.8
    drift = drift_of(X, new)
    assert drift.verdict == DIFFERENT
    assert drift.events[0] // 9 == 3
    new[:, 3] += 5
    assert drift_of(X, new).verdict == VERY_DIFFERENT
    assert drift_of(X, new).auc > 0.9


def test_nine_rows_can_differ_and_identical_ones_do_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    cuts, seen, column = reference_of(X)
    assert compare_counts(seen, counted(X[:9] + 9, cuts), column)[0] == VERY_DIFFERENT
    verdict, auc, events = compare_counts(seen, seen, column)
    assert (verdict, auc, len(events)) == (ALIKE, 0.5, 0)
    assert event_p_values(seen, seen).min() > 0.999


# ---------------------------------------------------------------- cuts and counts

VALUES = st.lists(st.integers(-5, 5), min_size=1, max_size=60)


@given(VALUES)
def test_cuts_lie_between_values_and_cut_something_off(values):
    column = np.array(values, dtype=np.float32)[:, None]
    for once in (False, True):
        cuts = find_cuts(column, np.array([once]))[0]
        found = cuts[np.isfinite(cuts)]
        assert (np.diff(found) > 0).all()
        assert not np.isin(found, column).any()
        assert all(0 < (column > cut).sum() < len(values) for cut in found)
        assert len(found) == min(len(found), 1 if once else 9)
        assert (len(found) > 0) == (len(set(values)) > 1)


def test_cuts_are_near_the_deciles():
    X = np.random.default_rng(0).exponential(size=(30_000, 2)).astype(np.float32)
    cuts = find_cuts(X, np.array([False, True]))
    np.testing.assert_allclose(count_above(X, cuts)[0] / 30_000, np.arange(0.9, 0.05, -0.1), atol=0.015)
    assert cuts[1, 0] == pytest.approx(np.log(2), abs=0.03)


@given(st.permutations(range(6)), st.integers(0, 2**16))
def test_counts_of_parts_add_up_in_any_order(order, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, size=(48, 3)).astype(np.float32)
    cuts = find_cuts(X, np.zeros(3, dtype=bool))
    whole = counted(X, cuts)
    total = EventCounts(0, np.zeros(27, np.int64))
    for part in order:
        total = total.plus(counted(X[8 * part : 8 * part + 8], cuts))
    assert total.n_rows == whole.n_rows
    assert (total.counts == whole.counts).all()
    brute = [sum(bool(x > cut) for x in X[:, j]) for j in range(3) for cut in cuts[j]]
    assert whole.counts.tolist() == brute


# ---------------------------------------------------------------- a model and new rows

TOPICS = ("the parcel came late", "the colour faded soon", "they fit very well")


def new_rows(n, seed, **changed):
    rng = np.random.default_rng(seed)
    words = [f"{rng.choice(TOPICS)} {rng.choice(['indeed', 'again', 'sadly'])}" for _ in range(n)]
    days = np.datetime64("2020-01-01") + rng.integers(0, 700, n)
    return pl.DataFrame({
        "age": np.where(rng.random(n) < 0.9, rng.normal(40, 10, n).round(1), np.nan),
        "height": rng.normal(170, 8, n).round(1),
        "region": rng.choice(["north", "south", "west"], n, p=[0.12, 0.5, 0.38]),
        "member": rng.choice(["yes", "no"], n),
        "since": days.astype("datetime64[D]"),
        "said": words,
    }).with_columns(pl.col("age").fill_nan(None)).with_columns(**changed)  # fmt: skip


def model_of(frame):
    preparation = TablePreparation(text=["said"]).fit(frame)
    return with_drift_reference(Pipeline([("prepare", preparation)]), *preparation.transform_counted(frame))


@pytest.fixture(scope="module", name="model")
def one_model():
    return model_of(new_rows(1_500, 0))


def compared(model, *frames):
    seen = EventCounts()
    for frame in frames:
        seen = seen.plus(count_events(model, *model[0].transform_counted(frame)))
    return compare_with_reference(model, seen)


def test_rows_that_are_alike_are_said_to_be(model):
    found = compared(model, new_rows(1_204, 1))
    assert found.alike is True
    assert found.sentence == "The 1,204 rows look like those the model learned from."
    assert repr(found) == found.sentence
    assert compared(model, new_rows(1_500, 0)).auc == 0.5


def test_what_differs_most_is_named(model):
    for column, cells, what, new, seen in [
        ("region", "north", "north", 1.0, 0.12),
        ("region", "east", "a new or missing value", 1.0, 0.0),
        ("region", None, "a new or missing value", 1.0, 0.0),
        ("age", None, "missing", 1.0, 0.1),
        ("height", None, "missing", 1.0, 0.0),
        ("height", 190.0, "above 180.", 1.0, 0.1),
        ("member", "yes", "yes", 1.0, 0.5),
        ("since", np.datetime64("2023-05-06"), "after 2021-", 1.0, 0.1),
    ]:
        dtype = new_rows(1, 0).schema[column]
        found = compared(model, new_rows(300, 2, **{column: pl.lit(cells).cast(dtype)}))
        first = found.columns[0]
        assert found.alike is False
        assert first.column == column
        assert first.what.startswith(what)
        assert first.here == pytest.approx(new, abs=0.02)
        assert first.then == pytest.approx(seen, abs=0.07)
        assert found.sentence.startswith(
            f"The 300 rows differ from those the model learned from: '{column}' most ("
        )
        assert found.sentence.endswith(". Labels and confidence may be wrong.")


def test_texts_differ_by_what_they_are_about(model):
    found = compared(model, new_rows(300, 2, said=pl.lit(TOPICS[0])))
    first = found.columns[0]
    assert (first.column, found.alike) == ("said", False)
    assert first.what.startswith("more about: ")
    assert abs(first.here - first.then) > 0.3


def test_two_columns_are_named_and_more_are_figures(model):
    found = compared(model, new_rows(300, 3, region=pl.lit("north"), height=pl.lit(200.0), member=pl.lit("no")))
    assert found.sentence.count("% here, ") == 2
    figures = found.figures()
    assert {shift["column"] for shift in figures["columns"]} >= {"region", "height", "member"}
    differences = [abs(shift["here"] - shift["then"]) for shift in figures["columns"]]
    assert differences == sorted(differences, reverse=True)
    assert (figures["rows"], figures["rows_then"], figures["verdict"]) == (300, 1_500, "very different")


def test_a_few_rows_prove_little(model):
    assert compared(model, new_rows(1, 4)).finding.startswith("the row looks like those")
    assert compared(model, new_rows(20, 4)).finding.endswith(" (as far as so few rows can show)")
    assert compared(model, new_rows(5, 4, region=pl.lit("east"))).alike is False


def test_parts_add_up_in_any_order(model):
    frame = new_rows(400, 5, region=pl.lit("north"))
    whole = compared(model, frame)
    assert compared(model, frame[250:], frame[:250]) == whole


def test_a_rare_and_a_missing_group_have_names_of_their_own():
    cells = [*["a"] * 200, *["b"] * 200, "c", *[None] * 40]
    model = model_of(pl.DataFrame({"said": cells, "x": np.arange(441) % 7}).rename({"said": "k"}).with_columns(
        said=pl.Series([f"{t} so" for t in TOPICS] * 147)))  # fmt: skip
    base = {"x": np.arange(60) % 7, "said": [f"{t} so" for t in TOPICS] * 20}
    assert compared(model, pl.DataFrame({"k": ["new"] * 60, **base})).columns[0].what == "a rare or new value"
    assert compared(model, pl.DataFrame({"k": pl.Series([None] * 60, dtype=pl.String), **base})).columns[
        0
    ].what == ("missing")


def test_a_model_without_a_reference_says_that_it_cannot_tell(model):
    old = Pipeline(model.steps)
    found = compared(old, new_rows(30, 6), new_rows(10, 7))
    assert (found.alike, found.verdict, found.n_rows) == (None, UNCHECKED, 40)
    sentence = "The 40 rows could not be compared with those the model learned from: "
    assert found.sentence == sentence + "the model file has no figures to compare with."
    assert compare_with_reference(model, EventCounts()).sentence.endswith(": there are no rows.")
    assert RowComparison(UNCHECKED, 1).finding.startswith("the row could not be compared")


# ---------------------------------------------------------------- the model file


def test_the_reference_is_kept_and_the_same_rows_write_the_same_bytes(model, tmp_path):
    save_model(model, tmp_path / "a.chary")
    save_model(model_of(new_rows(1_500, 0)), tmp_path / "b.chary")
    assert (tmp_path / "a.chary").read_bytes() == (tmp_path / "b.chary").read_bytes()
    frame = new_rows(200, 8, member=pl.lit("no"))
    assert compared(load_model(tmp_path / "a.chary"), frame) == compared(model, frame)


def test_a_model_that_was_saved_finds_the_same_whatever_the_order_of_its_columns(tmp_path):
    rng = np.random.default_rng(0)
    gaps = pl.when(pl.int_range(pl.len()) % 3 > 0).then(pl.col("z")).alias("z")
    frame = pl.DataFrame({"z": rng.normal(size=900), "a": rng.normal(size=900)}).with_columns(gaps)
    model = model_of(frame.with_columns(said=pl.lit("they fit very well")))
    save_model(model, tmp_path / "m.chary")
    new = frame[:300].with_columns(said=pl.lit("they fit very well"))
    assert compared(load_model(tmp_path / "m.chary"), new) == compared(model, new)
    assert compared(model, new).alike


def test_no_number_of_the_table_is_kept(model):
    X = model[0].transform(new_rows(1_500, 0))
    numbers = [j for j, feature in enumerate(model[0].features()) if not feature.indicator]
    for j, cuts in zip(numbers, model.drift_reference_.cuts, strict=True):
        assert not np.isin(cuts, X[:, j]).any()


def broken(reference):
    cuts, counts = reference.cuts, reference.counts
    spoilt, negative, many, turned = cuts.copy(), counts.copy(), counts.copy(), cuts[:, ::-1].copy()
    spoilt[0, 0] = np.nan
    negative[-1] = -1
    many[-1] = reference.n_rows + 1
    low = np.where(np.isinf(cuts), -np.inf, cuts).astype(np.float32)
    return [
        replace(reference, cuts=spoilt),
        replace(reference, cuts=turned),
        replace(reference, cuts=low),
        replace(reference, cuts=cuts[1:]),
        replace(reference, cuts=cuts.astype(np.float64)),
        replace(reference, cuts=cuts.tolist()),
        replace(reference, counts=negative),
        replace(reference, counts=many),
        replace(reference, counts=counts[:-1]),
        replace(reference, counts=counts.astype(float)),
        replace(reference, counts=counts[::-1].copy()),
        replace(reference, n_rows=0),
        replace(reference, n_rows=2**60),
        replace(reference, n_rows=1.5),
    ]


def test_a_reference_that_cannot_be_one_is_refused(model):
    assert model.drift_reference_.fits(model[0])
    codec = CODECS["Pipeline"]
    for reference in broken(model.drift_reference_):
        with pytest.raises(ModelFileError, match="contradicts itself; copy or train it again"):
            codec.check(codec.restore({"steps": model.steps, "sketch": vars(reference)}))
    assert (
        codec.restore({"steps": model.steps, "sketch": vars(model.drift_reference_)}).drift_reference_
        == model.drift_reference_
    )


def test_whatever_passes_as_a_reference_is_compared_without_a_word(model):
    """Counts that no table has, and of more rows than there are anywhere."""
    rng, frame = np.random.default_rng(0), new_rows(100, 9)
    features = model[0].transform_counted(frame)
    for _ in range(50):
        n = int(rng.choice([1, 2, 10, 1_000, 2**52]))
        counts = rng.integers(0, n + 1, len(model.drift_reference_.counts))
        counts[: model.drift_reference_.cuts.size] = np.sort(counts[: model.drift_reference_.cuts.size])[::-1]
        strange = Pipeline(model.steps)
        strange.drift_reference_ = replace(model.drift_reference_, n_rows=n, counts=counts)
        assert strange.drift_reference_.fits(strange[0])
        figures = compare_with_reference(strange, count_events(strange, *features)).figures()
        assert 0.5 <= figures["auc"] <= 1
        assert all(0 <= shift["here"] <= 1 and 0 <= shift["then"] <= 1 for shift in figures["columns"])
        assert len(figures["sentence"]) < 400
