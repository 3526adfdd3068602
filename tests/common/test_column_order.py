"""The order of columns, rows and categories changes nothing but the order of what comes back."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chary
from chary.cli import main
from chary.tables import TablePreparation
from chary.tables.columns.kind import sample_cells

N = 90
pytestmark = pytest.mark.usefixtures("quick_learners")


def every_kind():
    """Make a table with all kinds of columns, two of them equal, and labels to match."""
    rng = np.random.default_rng(0)
    number = rng.normal(size=N).round(3)
    words = [
        "late and broken",
        "quick reply",
        "kind staff today",
        "never again",
        "works well",
        "lost parcel here",
    ]
    frame = pl.DataFrame({
        "z number": number,
        "twin of it": number,
        "price": [f"${1000 + 7 * i % 90:,}" for i in range(N)],
        "member": rng.choice(["yes", "no"], N),
        "day": [dt.date(2024, 1, 1) + dt.timedelta(int(i)) for i in rng.integers(0, 300, N)],
        "at": [f"{i % 24:02d}:{i % 60:02d}" for i in rng.integers(0, 999, N)],
        "lasted": [f"{i % 5}h {i % 60}m" for i in rng.integers(0, 999, N)],
        "city": rng.choice(["Ulm", "Bonn", "Kiel"], N),
        "comment": [" ".join(rng.choice(words, 3)) + f" {i % 17}" for i in range(N)],
        "embedding": pl.Series(rng.normal(size=(N, 3)), dtype=pl.Array(pl.Float64, 3)),
        "gaps": [None if i % 5 == 0 else float(i % 7) for i in range(N)],
        "constant": ["same"] * N,
        "id": list(range(N)),
    })  # fmt: skip
    label = np.where(number + rng.normal(scale=0.8, size=N) > 0, "left", "stayed").tolist()
    return frame.with_columns(
        churn=pl.Series([text if i % 3 == 0 else None for i, text in enumerate(label)])
    )


FRAME = every_kind()


USUAL = TablePreparation().fit(FRAME.drop("churn"))


@settings(max_examples=2)
@given(columns=st.permutations([name for name in FRAME.columns if name != "churn"]))
def test_features_are_the_same_in_any_order(columns):
    usual, other = USUAL, TablePreparation().fit(FRAME.select(columns))
    assert [column.name for column in other.columns_] == columns
    assert other.get_feature_names_out().tolist() == usual.get_feature_names_out().tolist()
    np.testing.assert_array_equal(other.transform(FRAME), usual.transform(FRAME))


def test_features_follow_the_names_of_the_columns():
    table = {"b": [1.0, 2.5, 4.0, 6.0], "c": ["x", "y"] * 2, "a": [3.0, None, 5.0, 7.5]}
    named = ["a", "b", "a is missing", "c = x", "c = y"]
    assert TablePreparation().fit(table).get_feature_names_out().tolist() == named


def figures(result):
    """All that a summary says, columns by name where they are listed in the order of the table."""
    summary = json.loads(json.dumps(result.summary, default=str))
    summary["columns"].sort(key=lambda column: column["name"])
    return summary


def test_labels_confidence_and_every_figure_are_the_same(tmp_path):
    columns = np.random.default_rng(0).permutation(FRAME.columns).tolist()
    usual = chary.label(FRAME, "churn", explain=True)
    other = chary.label(FRAME.select(columns), "churn", explain=True)
    assert other.frame.columns == [*columns, *usual.frame.columns[len(columns) :]]
    assert other.frame.select(usual.frame.columns).equals(usual.frame)
    assert other.probabilities.equals(usual.probabilities)
    assert figures(other) == figures(usual)
    explained = [chary.explain(result, [0, 1]) for result in (usual, other)]
    assert explained[1].columns[2:] == [name for name in columns if name in explained[0].columns]
    assert explained[1].select(explained[0].columns).equals(explained[0])
    usual.save(tmp_path / "usual.chary")
    other.save(tmp_path / "other.chary")
    assert (tmp_path / "usual.chary").read_bytes() == (tmp_path / "other.chary").read_bytes()
    loaded = chary.load(tmp_path / "other.chary")
    np.testing.assert_array_equal(
        loaded.predict_proba(FRAME), other.model.predict_proba(FRAME.select(columns))
    )


def test_pandas_and_the_command_line(tmp_path, capsys):
    plain = FRAME.drop("embedding")  # what a text file can hold
    backwards = plain.select(plain.columns[::-1])
    backwards.write_csv(tmp_path / "t.csv")
    command = ["label", str(tmp_path / "t.csv"), "--target", "churn", "--learner", "mixed"]
    assert main(command) == 0
    written = pl.read_csv(tmp_path / "t.labeled.csv")
    assert written.columns[:-3] == backwards.columns
    frame = pd.DataFrame(plain.with_columns(pl.col("day").cast(pl.String)).to_dict(as_series=False))
    found = chary.label(frame, "churn", learner="mixed").frame
    assert found.columns[:-3].tolist() == plain.columns
    for name in ("chary_label", "chary_confidence"):
        assert written[name].to_list() == found[name].tolist()


# -------------------------------------------------- rows, columns, categories, with ties everywhere


def tied(seed, n=240):
    """Make a table of ties: in frequent values, words, medians, units and spellings."""
    rng = np.random.default_rng(seed)
    colours = [f"colour {i}" for i in range(48)]
    words = ["good", "fast", "slow", "bad", "help", "fine"]

    def mixed(*cells):
        return rng.permutation(np.array(cells * (n // len(cells)), dtype=object)).tolist()

    return pl.DataFrame({
        "row": range(n),
        "of 48": mixed(*colours),
        "of an enum": pl.Series(mixed(*colours), dtype=pl.Enum(colours)),
        "number": mixed(0.1, 0.2, 0.3, 0.7),
        "with gaps": mixed(0.1, 0.3, None, None),
        "rank": mixed(*range(1, n + 1)),
        "text": [" ".join(rng.choice(words, 4)) for _ in range(n)],
        "weight": mixed("0.1 kg", "0.3 kg", "0.1 lb", "0.7 lb"),
        "amount": mixed("1.234", "1,234", "12", "7"),
        "day": mixed("03/04/2024", "05.06.2024", "03/04/68", "05/06/69"),
        "spelling": mixed("caf\u00e9", "cafe\u0301", "bar", "bar\u200b"),
        "churn": mixed("Yes", "yes", "no", "NO", None, None, None, None),
    })  # fmt: skip


def shuffled(frame, seed):
    rng = np.random.default_rng(seed)
    other = frame[rng.permutation(frame.height)].select(rng.permutation(frame.columns).tolist())
    categories = pl.Enum(rng.permutation(frame["of an enum"].dtype.categories.to_list()))
    return other.with_columns(pl.col("of an enum").cast(pl.String).cast(categories))


@settings(max_examples=3)
@given(seed=st.integers(0, 2**32))
def test_features_are_the_same_whatever_the_order_of_rows_columns_and_categories(seed):
    frame = tied(seed)
    usual, other = (
        TablePreparation().fit(some.drop("row", "churn")) for some in (frame, shuffled(frame, seed))
    )
    assert other.ordered_ == usual.ordered_
    np.testing.assert_array_equal(other.transform(frame), usual.transform(frame))


@pytest.mark.parametrize("learner", ["auto", "network"])
def test_labels_are_the_same_whatever_the_order_of_rows_columns_and_categories(learner):
    def labels(frame):
        found = chary.label(frame.drop("row"), "churn", learner=learner).frame
        return (
            found.select("chary_label", "chary_confidence").with_columns(frame["row"]).sort("row")
        )

    frame = tied(1, n=96)
    assert labels(shuffled(frame, 2)).equals(labels(frame))


def test_a_sample_of_cells_is_the_same_whatever_their_order():
    cells = pl.Series([f"{i % 700}" for i in range(1_000)])
    found, other = sample_cells(cells, 200), sample_cells(cells.reverse(), 200)
    assert found.to_list() == other.to_list()
    assert len(found) == 200
    assert found.is_in(cells).all()
    assert found.n_unique() > 100
