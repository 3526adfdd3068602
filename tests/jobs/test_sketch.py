"""A model knows what the rows looked like that it learned from, and says where new ones differ."""

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.pipeline import Pipeline

from chary.jobs import ModelFileError, NewRows, RowComparison, load, save, with_sketch
from chary.jobs.model_parts import CODECS
from chary.jobs.sketch import UNCHECKED, is_sketch_of
from chary.tables import TablePreparation

TOPICS = ("the parcel came late", "the colour faded soon", "they fit very well")


def rows(n, seed, **changed):
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
    return with_sketch(Pipeline([("prepare", preparation)]), *preparation.transform_counted(frame))


@pytest.fixture(scope="module", name="model")
def one_model():
    return model_of(rows(1_500, 0))


def compared(model, *frames):
    new = NewRows(model)
    for frame in frames:
        new.add(*model[0].transform_counted(frame))
    return new.compare()


def test_rows_that_are_alike_are_said_to_be(model):
    found = compared(model, rows(1_204, 1))
    assert found.alike is True
    assert found.sentence == "The 1,204 rows look like those the model learned from."
    assert repr(found) == found.sentence
    assert compared(model, rows(1_500, 0)).auc == 0.5


@pytest.mark.parametrize(
    ("column", "cells", "what", "new", "seen"),
    [
        ("region", "north", "north", 1.0, 0.12),
        ("region", "east", "a new or missing value", 1.0, 0.0),
        ("region", None, "a new or missing value", 1.0, 0.0),
        ("age", None, "missing", 1.0, 0.1),
        ("height", None, "missing", 1.0, 0.0),
        ("height", 190.0, "above 180.", 1.0, 0.1),
        ("member", "yes", "yes", 1.0, 0.5),
        ("since", np.datetime64("2023-05-06"), "after 2021-", 1.0, 0.1),
    ],
)
def test_what_differs_most_is_named(model, column, cells, what, new, seen):
    dtype = rows(1, 0).schema[column]
    found = compared(model, rows(300, 2, **{column: pl.lit(cells).cast(dtype)}))
    first = found.columns[0]
    assert found.alike is False
    assert first.column == column
    assert first.what.startswith(what)
    assert first.new == pytest.approx(new, abs=0.02)
    assert first.seen == pytest.approx(seen, abs=0.07)
    assert found.sentence.startswith(f"The 300 rows differ from those the model learned from: '{column}' most (")
    assert found.sentence.endswith("; labels and confidence may be off.")


def test_texts_differ_by_what_they_are_about(model):
    found = compared(model, rows(300, 2, said=pl.lit(TOPICS[0])))
    first = found.columns[0]
    assert (first.column, found.alike) == ("said", False)
    assert first.what.startswith("more of topic ")
    assert abs(first.new - first.seen) > 0.3


def test_two_columns_are_named_and_more_are_figures(model):
    found = compared(model, rows(300, 3, region=pl.lit("north"), height=pl.lit(200.0), member=pl.lit("no")))
    assert found.sentence.count("% here, ") == 2
    figures = found.figures()
    assert {shift["column"] for shift in figures["columns"]} >= {"region", "height", "member"}
    differences = [abs(shift["here"] - shift["then"]) for shift in figures["columns"]]
    assert differences == sorted(differences, reverse=True)
    assert (figures["rows"], figures["rows_then"], figures["verdict"]) == (300, 1_500, "very different")


def test_a_few_rows_prove_little(model):
    assert compared(model, rows(1, 4)).finding.startswith("the row looks like those")
    assert compared(model, rows(20, 4)).finding.endswith(", as far as so few can tell")
    assert compared(model, rows(5, 4, region=pl.lit("east"))).alike is False


def test_parts_add_up_in_any_order_and_travel(model):
    frame = rows(400, 5, region=pl.lit("north"))
    whole = compared(model, frame)
    assert compared(model, frame[250:], frame[:250]) == whole
    parts = []
    for part in (frame[100:300], frame[300:], frame[:100]):
        new = NewRows(model)
        new.add(*model[0].transform_counted(part))
        parts.append(pickle.loads(pickle.dumps(new)))
    assert len(pickle.dumps(parts[0])) < 30_000
    first, *others = parts
    for other in others:
        first.merge(other)
    assert first.compare() == whole


def test_a_rare_and_a_missing_group_have_names_of_their_own():
    cells = [*["a"] * 200, *["b"] * 200, "c", *[None] * 40]
    model = model_of(pl.DataFrame({"said": cells, "x": np.arange(441) % 7}).rename({"said": "k"}).with_columns(
        said=pl.Series([f"{t} so" for t in TOPICS] * 147)))  # fmt: skip
    base = {"x": np.arange(60) % 7, "said": [f"{t} so" for t in TOPICS] * 20}
    assert compared(model, pl.DataFrame({"k": ["new"] * 60, **base})).columns[0].what == "a rare or new value"
    assert compared(model, pl.DataFrame({"k": pl.Series([None] * 60, dtype=pl.String), **base})).columns[
        0
    ].what == ("missing")


def test_a_model_without_a_sketch_says_that_it_cannot_tell(model):
    old = Pipeline(model.steps)
    found = compared(old, rows(30, 6), rows(10, 7))
    assert (found.alike, found.verdict, found.n_rows) == (None, UNCHECKED, 40)
    sentence = "Whether the 40 rows look like those the model learned from cannot be told: "
    assert found.sentence == sentence + "the model holds no sketch of those."
    assert NewRows(model).compare().sentence.endswith("cannot be told: there are none.")
    assert RowComparison(UNCHECKED, 1).finding.startswith("whether the row looks like")


# ---------------------------------------------------------------- the model file


def test_the_sketch_is_kept_and_the_same_rows_write_the_same_bytes(model, tmp_path):
    save(model, tmp_path / "a.chary")
    save(model_of(rows(1_500, 0)), tmp_path / "b.chary")
    assert (tmp_path / "a.chary").read_bytes() == (tmp_path / "b.chary").read_bytes()
    frame = rows(200, 8, member=pl.lit("no"))
    assert compared(load(tmp_path / "a.chary"), frame) == compared(model, frame)


def test_a_model_that_was_saved_finds_the_same_whatever_the_order_of_its_columns(tmp_path):
    rng = np.random.default_rng(0)
    gaps = pl.when(pl.int_range(pl.len()) % 3 > 0).then(pl.col("z")).alias("z")
    frame = pl.DataFrame({"z": rng.normal(size=900), "a": rng.normal(size=900)}).with_columns(gaps)
    model = model_of(frame.with_columns(said=pl.lit("they fit very well")))
    save(model, tmp_path / "m.chary")
    new = frame[:300].with_columns(said=pl.lit("they fit very well"))
    assert compared(load(tmp_path / "m.chary"), new) == compared(model, new)
    assert compared(model, new).alike


def test_no_number_of_the_table_is_kept(model):
    X = model[0].transform(rows(1_500, 0))
    numbers = [j for j, feature in enumerate(model[0].features()) if not feature.indicator]
    for j, cuts in zip(numbers, model.sketch_.cuts, strict=True):
        assert not np.isin(cuts, X[:, j]).any()


def broken(sketch):
    cuts, counts = sketch.cuts, sketch.counts
    spoilt, negative, many, turned = cuts.copy(), counts.copy(), counts.copy(), cuts[:, ::-1].copy()
    spoilt[0, 0] = np.nan
    negative[-1] = -1
    many[-1] = sketch.n_rows + 1
    low = np.where(np.isinf(cuts), -np.inf, cuts).astype(np.float32)
    return [
        replace(sketch, cuts=spoilt),
        replace(sketch, cuts=turned),
        replace(sketch, cuts=low),
        replace(sketch, cuts=cuts[1:]),
        replace(sketch, cuts=cuts.astype(np.float64)),
        replace(sketch, cuts=cuts.tolist()),
        replace(sketch, counts=negative),
        replace(sketch, counts=many),
        replace(sketch, counts=counts[:-1]),
        replace(sketch, counts=counts.astype(float)),
        replace(sketch, counts=counts[::-1].copy()),
        replace(sketch, n_rows=0),
        replace(sketch, n_rows=2**60),
        replace(sketch, n_rows=1.5),
        replace(sketch, tail=float("nan")),
        replace(sketch, tail=-1.0),
        replace(sketch, tail=sketch.columns + 1),
        replace(sketch, columns=1e9),
        replace(sketch, columns="many"),
    ]


def test_a_sketch_that_cannot_be_one_is_refused(model):
    assert is_sketch_of(model.sketch_, model[0])
    codec = CODECS["Pipeline"]
    for sketch in broken(model.sketch_):
        with pytest.raises(ModelFileError, match="contradicts itself; copy or train it again"):
            codec.restore({"steps": model.steps, "sketch": vars(sketch)})
    assert codec.restore({"steps": model.steps, "sketch": vars(model.sketch_)}).sketch_ == model.sketch_


def test_whatever_passes_as_a_sketch_is_compared_without_a_word(model):
    """Counts that no table has, and of more rows than there are anywhere."""
    rng, frame = np.random.default_rng(0), rows(100, 9)
    features = model[0].transform_counted(frame)
    for _ in range(50):
        n = int(rng.choice([1, 2, 10, 1_000, 2**52]))
        counts = rng.integers(0, n + 1, len(model.sketch_.counts))
        counts[: model.sketch_.cuts.size] = np.sort(counts[: model.sketch_.cuts.size])[::-1]
        strange = Pipeline(model.steps)
        strange.sketch_ = replace(
            model.sketch_, n_rows=n, counts=counts, columns=float(rng.choice([1, 7])), tail=1.0
        )
        assert is_sketch_of(strange.sketch_, strange[0])
        new = NewRows(strange)
        new.add(*features)
        figures = new.compare().figures()
        assert 0.5 <= figures["auc"] <= 1
        assert all(0 <= shift["here"] <= 1 and 0 <= shift["then"] <= 1 for shift in figures["columns"])
        assert len(figures["sentence"]) < 400
