"""Free text becomes numbers: the same for the same cell, of any script, from what a model file holds."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from chary.jobs.model_file import ModelFileError, load, save
from chary.tables.columns import ngrams, texts
from chary.tables.columns.kinds import as_text, find_column
from chary.tables.columns.ngrams import N_PLACES
from chary.tables.columns.texts import Texts, weighted
from chary.tables.errors import TableError
from chary.tables.preparation import TablePreparation

KIND = Texts()
N = 120
ABOUT = [
    "a dry red wine with cherry and oak and a long finish",
    "the puppy wants food toys walks and sleeps near my shoes",
]


def reviews(n=N, seed=0):
    """Texts about wine and dogs in turn."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(ABOUT[i % 2].split(), rng.integers(4, 9))) for i in range(n)]


CELLS = pl.Series("review", reviews())
COLUMN = KIND.find(CELLS)


def test_what_a_text_is_about_can_be_told_from_its_numbers():
    about = np.arange(N) % 2
    X = KIND.read(CELLS, COLUMN)
    assert X.shape == (N, 30)
    assert LogisticRegression().fit(X[:60], about[:60]).score(X[60:], about[60:]) > 0.95
    new = KIND.read(pl.Series(["my puppy chews shoes", "an oaky wine, cherry red"]), COLUMN)
    assert LogisticRegression().fit(X, about).predict(new).tolist() == [1, 0]


def test_the_numbers_are_those_of_a_plain_decomposition():
    """Against dense linear algebra: weights by the textbook, all n-grams of more than one row, exact vectors."""
    (found,) = ngrams.counted(CELLS)
    there = np.unique(found.indices)
    counts = found[:, there].toarray()
    kept = (counts > 0).sum(axis=0) >= 2
    weights = 1 + np.log((1 + N) / (1 + (counts > 0).sum(axis=0)))
    logs = np.log(counts, where=counts > 0, out=np.zeros_like(counts))
    X = normalize((np.where(counts > 0, 1 + logs, 0) * weights)[:, kept])
    scores = X @ np.linalg.svd(X, full_matrices=False)[2][:5].T
    found = KIND.read(CELLS, COLUMN)[:, :5]
    assert COLUMN.learned["places"].tolist() == there[kept].tolist()
    np.testing.assert_allclose(np.abs(found), np.abs(scores), atol=2e-3)


def test_a_text_in_many_rows_counts_as_often():
    twice = pl.Series(["red wine", "white wine", "old dogs", "white wine"])
    column = KIND.find(twice, forced=True)
    counts = np.vstack([part.toarray() for part in ngrams.counted(twice)])[:, column.learned["places"]]
    X = normalize(np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * column.learned["weights"])
    first = np.linalg.svd(X)[2][0]
    np.testing.assert_allclose(np.abs(column.learned["topics"][:, 0]), np.abs(first), atol=1e-4)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), min_size=1, max_size=8))
def test_row_by_row_as_all_at_once(cells):
    cells = pl.Series("review", [*cells, "red wine"])
    together = KIND.read(cells, COLUMN)
    alone = np.vstack([KIND.read(cells[i : i + 1], COLUMN) for i in range(len(cells))])
    np.testing.assert_array_equal(together, alone)


def test_the_order_of_the_rows_changes_nothing():
    again = KIND.find(CELLS.sample(fraction=1, shuffle=True, seed=1))
    assert again.categories == COLUMN.categories
    for name, array in COLUMN.learned.items():
        assert np.array_equal(again.learned[name], array), name


def test_which_texts_are_drawn_depends_on_what_they_are(monkeypatch):
    monkeypatch.setattr(texts, "_MOST_TEXTS", 40)
    drawn, again = KIND.find(CELLS), KIND.find(CELLS.reverse())
    assert np.array_equal(drawn.learned["topics"], again.learned["topics"])
    assert not np.array_equal(drawn.learned["weights"], COLUMN.learned["weights"])
    shuffled = KIND.find(pl.Series(reviews(40)))
    assert not np.array_equal(drawn.learned["topics"], shuffled.learned["topics"])  # not simply the first


def test_only_frequent_ngrams_are_kept(monkeypatch):
    monkeypatch.setattr(texts, "_MOST_NGRAMS", 50)
    few = KIND.find(CELLS)
    assert few.learned["topics"].shape == (50, 30)
    assert (few.learned["weights"] <= np.sort(COLUMN.learned["weights"])[:50].max()).all()


def test_empty_and_unknown_texts():
    read = KIND.read(pl.Series([None, "", " NA ", "ξψζ", "\x00", "wine"]), COLUMN)
    assert np.isnan(read[:3]).all()
    assert (read[3:5] == 0).all()  # about none of the topics, and not missing
    assert (read[5] != 0).any()
    assert KIND.read(CELLS.clear(), COLUMN).shape == (0, 30)


@pytest.mark.parametrize(
    "words",
    ["这个 产品 非常 好用 质量", "товар очень хороший быстро", "ดีมาก ราคาถูก สินค้า", "मुझे यह पसंद है नहीं",
     "👍 😀 🎉 😡", "좋아요 제품 배송 빠른", "שלום מוצר טוב מאוד", "é ñ ø ß þ"],
)  # fmt: skip
def test_any_script(words):
    rng = np.random.default_rng(0)
    cells = pl.Series([" ".join(rng.choice(words.split(), 6)) for _ in range(60)])
    column = as_text(cells)
    read = KIND.read(cells, column)
    assert np.isfinite(read).all()
    assert len(np.unique(read.round(6), axis=0)) > 15


def test_features_are_named_by_words_of_several_rows():
    names = KIND.feature_names(COLUMN)
    assert len(set(names)) == 30
    assert names[0].startswith("review ~ 1 (")
    spoken = {word for name in names for word in name.split("(")[1].rstrip(")").split(", ")}
    assert spoken <= set(" ".join(ABOUT).split())
    secret = KIND.find(pl.Series("x", [*reviews(), "swordfish red wine"]))
    assert "swordfish" not in str(secret.categories)
    assert KIND.feature_names(KIND.find(pl.Series("x", ["👍 👎", "👎 🎉", "🎉 👍"] * 9)))[0] == "x ~ 1"


def test_numbers_that_are_not_read_are_told_of():
    assert COLUMN.note == "free text"
    rough = pl.Series([f"ca {i % 37}.{i % 7}/{i % 11}" for i in range(N)])
    assert KIND.find(rough, forced=True).note == "free text, though most cells hold digits"


def test_no_text_is_no_free_text():
    assert KIND.find(pl.Series([1, 2, 3])) is None
    assert KIND.find(pl.Series(["\x00", "\x01", "\x01\x00"] * 9), forced=True) is None
    assert as_text(pl.Series("x", ["\x00", "\x01"] * 9)).kind == "text"  # left out, as it always was
    assert as_text(pl.Series("x", [[1], [2]])).kind == "unsupported"
    assert as_text(pl.Series("x", [None, ""])).note == "empty"


@pytest.mark.parametrize("cells", [["ab", "cd"], ["a", "b", "a"], ["x y", "x z", "y y"]])
def test_few_texts_have_few_features(cells):
    column = as_text(pl.Series("x", cells))
    read = KIND.read(pl.Series(cells), column)
    assert read.shape[1] == column.learned["topics"].shape[1] <= len(cells)
    assert len(np.unique(read, axis=0)) == len(set(cells))


def test_somebody_may_say_that_it_is_text_or_is_not():
    table = {"x": [f"A-{i}" for i in range(60)], "n": range(1, 61)}
    kind = lambda **overrides: TablePreparation(numeric=["n"], **overrides).fit(table).columns_[0].kind  # noqa: E731
    assert kind() == "identifier"
    assert kind(text=["x"]) == "words"
    assert kind(categorical=["x"]) == "categorical"
    assert TablePreparation(text=["n"]).fit(table).columns_[1].kind == "words"
    said = {"x": reviews(60), "n": range(1, 61)}
    assert (
        TablePreparation(numeric=["n"], identifier=["x"]).fit(said).columns_[0].note == "an identifier, as asked"
    )
    with pytest.raises(TableError, match="no column 'z' to override"):
        TablePreparation(text=["z"]).fit(table)


def test_a_prepared_text_is_centred_and_on_one_scale():
    preparation = TablePreparation().fit({"review": [*reviews(), None, ""], "n": [1.0, 2.0] * 61})
    features = preparation.features()
    assert [feature.name for feature in features if feature.indicator] == ["review is missing"]
    X = preparation.transform({"review": reviews(), "n": [1.0, 2.0] * 60})
    topics = X[:, [f.column == "review" and not f.indicator for f in features]]
    raw = KIND.read(CELLS, preparation.columns_[0])
    scale = {feature.scale for feature in features if feature.column == "review" and not feature.indicator}
    assert len(scale) == 1
    distances = lambda Z: np.linalg.norm(Z[:, None] - Z[None], axis=2)  # noqa: E731
    np.testing.assert_allclose(scale.pop() * distances(topics), distances(raw), atol=1e-5)
    assert 0.9 < (topics**2).mean() < 1.1


def test_a_saved_preparation_reads_the_same(tmp_path):
    table = {"review": [*reviews(), None], "n": np.arange(N + 1) % 7}
    preparation = TablePreparation(text=["review"]).fit(table)
    save(preparation, tmp_path / "m.chary")
    loaded = load(tmp_path / "m.chary")
    assert loaded.transform(table).tobytes() == preparation.transform(table).tobytes()
    assert loaded.get_feature_names_out().tolist() == preparation.get_feature_names_out().tolist()
    assert loaded.text == ("review",)
    with pytest.raises(TableError, match=r"^Column 'review' holds '.*': 1 of 1 cells .* learned from text"):
        loaded.transform({"review": [[1, 2]], "n": [1]})
    assert loaded.transform({"review": [7], "n": [1]}).shape == (1, 32)  # a number can be read as text


@pytest.mark.parametrize(
    "learned",
    [
        {},
        {"places": np.array([5, 3], np.uint32)},
        {"places": np.array([0, N_PLACES], np.uint32)},
        {"places": np.array([-1, 3], np.int64)},
        {"places": np.array([1, 2, 3], np.uint32)},
        {"weights": np.array([1, np.nan], np.float32)},
        {"weights": np.ones(2)},
        {"topics": np.ones((2, 3), np.float32)},
        {"topics": np.ones(2, np.float32)},
    ],
)
def test_a_column_that_lacks_something_is_refused(learned, tmp_path):
    right = {
        "places": np.array([3, 5], np.uint32),
        "weights": np.ones(2, np.float32),
        "topics": np.ones((2, 2), np.float32),
    }
    column = replace(COLUMN, categories=("a", "b"), learned=right)
    assert KIND.whole(column)
    preparation = TablePreparation().fit({"review": reviews()})
    preparation.ordered_ = [replace(column, learned={**right, **learned} if learned else {})]
    with pytest.raises(ModelFileError, match="is not saved, as it would not load"):
        save(preparation, tmp_path / "m.chary")


def test_rows_have_unit_length_or_are_empty():
    (counts,) = ngrams.counted(pl.Series(["red wine", "", "oak oak"]))
    made = weighted(counts, np.linspace(1, 2, N_PLACES, dtype=np.float32))
    np.testing.assert_allclose(np.sqrt((made.toarray() ** 2).sum(axis=1)), [1, 0, 1], rtol=1e-6)


def test_a_column_of_many_returning_codes_is_text():
    rng = np.random.default_rng(0)
    cells = pl.Series(
        "icd", [f"{rng.choice(list('ABCDE'))}{rng.integers(10, 60)}.{rng.integers(9)}" for _ in range(900)]
    )
    column = find_column(cells)
    assert column.kind == "words"
    X, chapter = KIND.read(cells, column), cells.str.slice(0, 1).to_numpy()
    assert LogisticRegression(max_iter=500).fit(X[:300], chapter[:300]).score(X[300:], chapter[300:]) > 0.8
