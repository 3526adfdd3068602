"""Whether new rows look like those learned from: never accused by chance or for a trifle."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.pipeline import Pipeline

from chary.labelling.drift import (
    ALIKE,
    DIFFERENT,
    UNCHECKED,
    EventCounts,
    compare_with_reference,
    count_events,
    with_drift_reference,
)
from chary.model_file import ModelFileError, _restore, load_model, model_bytes, save_model
from chary.tables import TablePreparation

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
    return with_drift_reference(
        Pipeline([("prepare", preparation)]), *preparation.transform_counted(frame)
    )


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
    assert found.verdict == ALIKE
    assert (
        found.sentence
        == "The 1,204 rows have the values, ranges and missing cells that the model knows."
    )
    assert repr(found) == found.sentence


def test_alike_rows_are_seldom_accused_however_few_they_are(model):
    comparisons = [
        compared(model, new_rows(n, seed)) for n in (1, 30, 200) for seed in range(40, 90)
    ]
    assert sum(found.verdict != ALIKE for found in comparisons) <= 3  # promised is 1 of 100


def test_ten_in_a_hundred_more_are_called_different_and_five_are_not(model):
    for n_new, verdict in ((100, DIFFERENT), (50, ALIKE)):
        east = (
            pl.when(pl.int_range(pl.len()) < n_new).then(pl.lit("east")).otherwise(pl.col("region"))
        )
        assert compared(model, new_rows(1_000, 2, region=east)).verdict == verdict


def test_what_differs_most_is_named(model):
    for column, cells, what, new, seen in [
        ("region", "east", "a new or missing value", 1.0, 0.0),
        ("region", None, "a new or missing value", 1.0, 0.0),
        ("age", None, "missing", 1.0, 0.1),
        ("height", None, "missing", 1.0, 0.0),
        ("height", 230.0, "outside 148.", 1.0, 0.01),
        ("height", 90.0, "outside 148.", 1.0, 0.01),
        ("since", np.datetime64("2023-05-06"), "before 2020-01-0", 1.0, 0.01),
    ]:
        dtype = new_rows(1, 0).schema[column]
        found = compared(model, new_rows(300, 2, **{column: pl.lit(cells).cast(dtype)}))
        first = found.columns[0]
        assert found.verdict == DIFFERENT
        assert first.column == column
        assert first.what.startswith(what)
        assert first.here == pytest.approx(new, abs=0.02)
        assert first.then == pytest.approx(seen, abs=0.07)
        assert found.sentence.startswith(
            f"The 300 rows differ from those the model learned from: '{column}' ("
        )
        assert found.sentence.endswith(". Labels and confidence may be wrong.")


def test_two_columns_are_named_and_more_are_figures(model):
    found = compared(model, new_rows(300, 3, region=pl.lit("east"), height=pl.lit(230.0), age=None))
    assert found.sentence.count("% here, ") == 2
    figures = found.figures()
    assert {shift["column"] for shift in figures["columns"]} == {"region", "height", "age"}
    differences = [abs(shift["here"] - shift["then"]) for shift in figures["columns"]]
    assert differences == sorted(differences, reverse=True)
    assert (figures["rows"], figures["rows_then"], figures["verdict"]) == (300, 1_500, "different")


def test_a_few_rows_can_differ(model):
    assert compared(model, new_rows(5, 4, region=pl.lit("east"))).verdict == DIFFERENT


def counts_of(event, n_rows, n):
    """Counts that are zero but for one event."""
    counts = np.zeros(len(event), dtype=np.int64)
    counts[event] = n
    return EventCounts(n_rows, counts)


@pytest.mark.parametrize(
    ("n_new", "n_seen", "then"), [(4, 9, 0), (12, 40, 9), (40, 40, 1), (900, 50_000, 900)]
)
def test_a_column_differs_from_the_count_on_at_which_chance_and_a_tenth_are_exceeded(
    model, n_new, n_seen, then
):
    """The count by an exact test, one more row with the event and as many tests as events."""
    n_events = len(model.drift_reference_.counts)
    differs = [
        binomtest(n, n_new, (then + 1) / (n_seen + 1), alternative="greater").pvalue * n_events
        <= 0.01
        and Fraction(n, n_new) - Fraction(then, n_seen) >= Fraction(1, 10)
        for n in range(n_new + 1)
    ]
    first = differs.index(True)
    event = np.arange(n_events) == n_events - 1
    other = Pipeline(model.steps)
    other.drift_reference_ = replace(
        model.drift_reference_, n_rows=n_seen, counts=counts_of(event, n_seen, then).counts
    )
    verdicts = [
        compare_with_reference(other, counts_of(event, n_new, n)).verdict
        for n in (first - 1, first)
    ]
    assert verdicts == [ALIKE, DIFFERENT]


def test_shares_have_four_digits(model):
    event = np.arange(len(model.drift_reference_.counts)) == 0
    other = Pipeline(model.steps)
    other.drift_reference_ = replace(
        model.drift_reference_, n_rows=7_000, counts=counts_of(event, 7_000, 1_000).counts
    )
    (shift,) = compare_with_reference(other, counts_of(event, 300, 200)).columns
    assert (shift.here, shift.then) == (0.6667, 0.1429)


def test_a_range_leaves_out_half_a_percent_at_either_end_and_its_ends_are_in_it():
    x = np.random.default_rng(0).normal(size=801)
    frame = pl.DataFrame({"few": np.arange(801) % 7, "x": x, "said": "they fit very well"})
    model = model_of(frame)
    X = model[0].transform(frame)
    reference = model.drift_reference_
    np.testing.assert_allclose(reference.ranges.T, np.quantile(X[:, :2], [0.005, 0.995], axis=0))
    assert reference.n_rows == 801
    # Nothing is outside 0 to 6; of the other column four rows at either end are.
    assert reference.counts[:2].tolist() == [0, 8]


def test_no_rows_add_nothing(model):
    counts = count_events(model, *model[0].transform_counted(new_rows(50, 1)))
    total = EventCounts().plus(counts)
    assert total.n_rows == 50
    np.testing.assert_array_equal(total.counts, counts.counts)


def test_parts_add_up_in_any_order(model):
    frame = new_rows(400, 5, region=pl.lit("east"))
    whole = compared(model, frame)
    assert compared(model, frame[250:], frame[:250]) == whole


def test_a_rare_and_a_missing_group_have_names_of_their_own():
    cells = [*["a"] * 200, *["b"] * 200, "c", *[None] * 40]
    texts = [f"{t} so" for t in TOPICS] * 147
    model = model_of(pl.DataFrame({"k": cells, "x": np.arange(441) % 7, "said": texts}))
    base = {"x": np.arange(60) % 7, "said": [f"{t} so" for t in TOPICS] * 20}
    assert (
        compared(model, pl.DataFrame({"k": ["new"] * 60, **base})).columns[0].what
        == "a rare or new value"
    )
    assert compared(
        model, pl.DataFrame({"k": pl.Series([None] * 60, dtype=pl.String), **base})
    ).columns[0].what == ("missing")


def test_a_model_without_a_reference_says_that_it_cannot_tell(model):
    old = Pipeline(model.steps)
    found = compared(old, new_rows(30, 6), new_rows(10, 7))
    assert (found.verdict, found.n_rows) == (UNCHECKED, 40)
    sentence = "The 40 rows could not be compared with those the model learned from: "
    assert found.sentence == sentence + "the model file has no figures to compare with."
    assert found.figures()["rows_then"] == 0
    assert compare_with_reference(model, EventCounts()).sentence.endswith(": there are no rows.")


# ---------------------------------------------------------------- the model file


def test_the_reference_is_kept_and_the_same_rows_write_the_same_bytes(model, tmp_path):
    save_model(model, tmp_path / "a.chary")
    save_model(model_of(new_rows(1_500, 0)), tmp_path / "b.chary")
    assert (tmp_path / "a.chary").read_bytes() == (tmp_path / "b.chary").read_bytes()
    frame = new_rows(200, 8, region=pl.lit("east"))
    assert compared(load_model(tmp_path / "a.chary"), frame) == compared(model, frame)


def test_a_model_that_was_saved_finds_the_same_whatever_the_order_of_its_columns(tmp_path):
    rng = np.random.default_rng(0)
    gaps = pl.when(pl.int_range(pl.len()) % 3 > 0).then(pl.col("z")).alias("z")
    frame = pl.DataFrame({"z": rng.normal(size=900), "a": rng.normal(size=900)}).with_columns(gaps)
    model = model_of(frame.with_columns(said=pl.lit("they fit very well")))
    save_model(model, tmp_path / "m.chary")
    new = frame[:300].with_columns(said=pl.lit("they fit very well"))
    assert compared(load_model(tmp_path / "m.chary"), new) == compared(model, new)
    assert compared(model, new).verdict == ALIKE


def broken(reference):
    ranges, counts = reference.ranges, reference.counts
    spoilt, negative, many = ranges.copy(), counts.copy(), counts.copy()
    spoilt[0, 0] = np.nan
    negative[-1] = -1
    many[-1] = reference.n_rows + 1
    return [
        replace(reference, ranges=spoilt),
        replace(reference, ranges=ranges[:, ::-1].copy()),
        replace(reference, ranges=ranges[1:]),
        replace(reference, ranges=ranges.tolist()),
        replace(reference, counts=negative),
        replace(reference, counts=many),
        replace(reference, counts=counts[:-1]),
        replace(reference, counts=counts.astype(float)),
        replace(reference, n_rows=0),
        replace(reference, n_rows=2**60),
        replace(reference, n_rows=1.5),
    ]


def test_a_reference_that_cannot_be_one_is_refused(model):
    assert model.drift_reference_.fits(model[0])
    for reference in broken(model.drift_reference_):
        forged = Pipeline(model.steps)
        forged.drift_reference_ = reference
        with pytest.raises(ModelFileError, match="copy or train it again"):
            model_bytes(forged)
    restored = _restore(Pipeline, {"steps": model.steps, "sketch": vars(model.drift_reference_)})
    assert restored.drift_reference_ == model.drift_reference_


def test_whatever_passes_as_a_reference_is_compared_without_a_word(model):
    """Counts that no table has, and of more rows than there are anywhere."""
    rng, frame = np.random.default_rng(0), new_rows(100, 9)
    features = model[0].transform_counted(frame)
    for _ in range(50):
        n = int(rng.choice([1, 2, 10, 1_000, 2**52]))
        counts = rng.integers(0, n + 1, len(model.drift_reference_.counts))
        strange = Pipeline(model.steps)
        strange.drift_reference_ = replace(model.drift_reference_, n_rows=n, counts=counts)
        assert strange.drift_reference_.fits(strange[0])
        figures = compare_with_reference(strange, count_events(strange, *features)).figures()
        assert all(
            0 <= shift["here"] <= 1 and 0 <= shift["then"] <= 1 for shift in figures["columns"]
        )
        assert len(figures["sentence"]) < 400
