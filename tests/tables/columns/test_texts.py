"""Free text becomes numbers: equal for equal cells, of any script, from what a file holds."""

import itertools
import random
import unicodedata
import uuid
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import vstack
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from chary.model_file import load_model, save_model
from chary.tables.columns import ColumnDefaults, find_column, is_valid_column, texts
from chary.tables.columns.defaults import Hints
from chary.tables.columns.texts import (
    _N_PLACES,
    Texts,
    _leave_out,
    _sample_beginnings,
    _says_something,
    count_ngrams,
    normalized,
)
from chary.tables.preparation import TablePreparation
from chary.tables.table import TableError

KIND = Texts()


def as_text(cells):
    """A column of free text because somebody says so."""
    return find_column(cells, "text")


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
    """Against dense linear algebra: textbook weights, n-grams of two rows, exact vectors."""
    (found,) = count_ngrams(CELLS)
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
    counts = np.vstack([part.toarray() for part in count_ngrams(twice)])[
        :, column.learned["places"]
    ]
    X = normalize(
        np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * column.learned["weights"]
    )
    first = np.linalg.svd(X)[2][0]
    np.testing.assert_allclose(np.abs(column.learned["topics"][:, 0]), np.abs(first), atol=1e-4)


@settings(max_examples=15)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), min_size=1, max_size=8)
)
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
    monkeypatch.setattr(texts, "_MAX_TEXTS", 40)
    drawn, again = KIND.find(CELLS), KIND.find(CELLS.reverse())
    assert np.array_equal(drawn.learned["topics"], again.learned["topics"])
    assert not np.array_equal(drawn.learned["weights"], COLUMN.learned["weights"])
    shuffled = KIND.find(pl.Series(reviews(40)))
    # Not simply the first.
    assert not np.array_equal(drawn.learned["topics"], shuffled.learned["topics"])


def test_only_frequent_ngrams_are_kept():
    few = KIND.find(CELLS, hints=Hints(defaults=ColumnDefaults(max_ngrams=50)))
    assert few.learned["topics"].shape == (50, 30)
    assert (few.learned["weights"] <= np.sort(COLUMN.learned["weights"])[:50].max()).all()


def test_empty_and_unknown_texts():
    read = KIND.read(pl.Series([None, "", " NA ", "ξψζ", "\x00", "wine"]), COLUMN)
    assert np.isnan(read[:3]).all()
    assert (read[3:5] == 0).all()  # about none of the topics, and not missing
    assert (read[5] != 0).any()
    assert KIND.read(CELLS.clear(), COLUMN).shape == (0, 30)


def test_any_script():
    rng = np.random.default_rng(0)
    for words in (
        "这个 产品 非常 好用 质量",
        "товар очень хороший быстро",
        "ดีมาก ราคาถูก สินค้า",
        "मुझे यह पसंद है नहीं",
        "👍 😀 🎉 😡",
        "שלום מוצר טוב מאוד",
    ):
        cells = pl.Series([" ".join(rng.choice(words.split(), 6)) for _ in range(60)])
        read = KIND.read(cells, as_text(cells))
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
    assert (
        KIND.feature_names(KIND.find(pl.Series("x", ["👍 👎", "👎 🎉", "🎉 👍"] * 9)))[0] == "x ~ 1"
    )


def test_no_text_is_no_free_text():
    assert KIND.find(pl.Series([1, 2, 3])) is None
    assert KIND.find(pl.Series(["\x00", "\x01", "\x01\x00"] * 9), forced=True) is None
    # Left out, as it always was.
    assert as_text(pl.Series("x", ["\x00", "\x01"] * 9)).kind == "text"
    assert as_text(pl.Series("x", [[1], [2]])).kind == "unsupported"
    assert as_text(pl.Series("x", [None, ""])).note == "empty"


def test_few_texts_have_few_features():
    for cells in (["ab", "cd"], ["a", "b", "a"], ["x y", "x z", "y y"]):
        column = as_text(pl.Series("x", cells))
        read = KIND.read(pl.Series(cells), column)
        assert read.shape[1] == column.learned["topics"].shape[1] <= len(cells)
        assert len(np.unique(read, axis=0)) == len(set(cells))


def test_somebody_may_say_that_it_is_text_or_is_not():
    table = {"x": [f"A-{i}" for i in range(60)], "n": range(1, 61)}

    def kind(**overrides):
        preparation = TablePreparation(numeric=["n"], **overrides)
        return preparation.fit(table).columns_[0].kind

    assert kind() == "identifier"
    assert kind(text=["x"]) == "words"
    assert kind(categorical=["x"]) == "categorical"
    assert TablePreparation(text=["n"]).fit(table).columns_[1].kind == "words"
    said = {"x": reviews(60), "n": range(1, 61)}
    assert (
        TablePreparation(numeric=["n"], identifier=["x"]).fit(said).columns_[0].note
        == "an identifier, as asked"
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
    scale = {
        feature.scale
        for feature in features
        if feature.column == "review" and not feature.indicator
    }
    assert len(scale) == 1
    distances = lambda Z: np.linalg.norm(Z[:, None] - Z[None], axis=2)  # noqa: E731
    np.testing.assert_allclose(scale.pop() * distances(topics), distances(raw), atol=1e-5)
    assert 0.9 < (topics**2).mean() < 1.1


def test_a_saved_preparation_reads_the_same(tmp_path):
    table = {"review": [*reviews(), None], "n": np.arange(N + 1) % 7}
    preparation = TablePreparation(text=["review"]).fit(table)
    save_model(preparation, tmp_path / "m.chary")
    loaded = load_model(tmp_path / "m.chary")
    assert loaded.transform(table).tobytes() == preparation.transform(table).tobytes()
    assert loaded.get_feature_names_out().tolist() == preparation.get_feature_names_out().tolist()
    assert loaded.text == ("review",)
    with pytest.raises(
        TableError, match=r"^Column 'review' holds '.*': 1 of 1 cells .* learned from text"
    ):
        loaded.transform({"review": [[1, 2]], "n": [1]})
    # A number can be read as text.
    assert loaded.transform({"review": [7], "n": [1]}).shape == (
        1,
        32,
    )


def test_a_column_that_lacks_something_is_refused():
    right = {
        "places": np.array([3, 5], np.uint32),
        "weights": np.ones(2, np.float32),
        "topics": np.ones((2, 2), np.float32),
    }
    column = replace(COLUMN, categories=("a", "b"), learned=right)
    assert is_valid_column(column)
    for learned in (
        {"places": np.array([0, _N_PLACES], np.uint32)},
        {"places": np.array([-1, 3], np.int64)},
        {"places": np.array([1, 2, 3], np.uint32)},
        {"weights": np.ones(2)},
        {"topics": np.ones((2, 3), np.float32)},
        {"topics": np.ones(2, np.float32)},
    ):
        with suppress(ValueError, IndexError):
            assert not is_valid_column(replace(column, learned={**right, **learned}))


def test_a_column_of_many_returning_codes_is_text():
    rng = np.random.default_rng(0)
    cells = pl.Series(
        "icd",
        [
            f"{rng.choice(list('ABCDE'))}{rng.integers(10, 60)}.{rng.integers(9)}"
            for _ in range(900)
        ],
    )
    column = find_column(cells)
    assert column.kind == "words"
    X, chapter = KIND.read(cells, column), cells.str.slice(0, 1).to_numpy()
    assert (
        LogisticRegression(max_iter=500).fit(X[:300], chapter[:300]).score(X[300:], chapter[300:])
        > 0.8
    )


# ---------------------------------------------------------------- n-grams, against plain Python

ANY_CELLS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=6
)
WORDS = st.lists(st.text("abß中文 .!ก", max_size=20), min_size=1, max_size=6)


def total(cells, **options):
    """(cells, places), sparse."""
    return vstack(list(count_ngrams(pl.Series(cells, dtype=pl.String), **options)), format="csr")


def same(one, other):
    return one.shape == other.shape and (one != other).nnz == 0


def in_word(letter):
    return letter.isalnum() or unicodedata.category(letter).startswith("M")


def plainly(text):
    """The n-grams of a cell that was made alike, one by one: kind and letters."""
    text, found = text.casefold(), []
    for word in text.split(" "):
        padded = f" {word} "
        runs = (padded[i : i + n] for n in (2, 3, 4, 5) for i in range(len(padded) - n + 1))
        found += [("run", run) for run in runs if word]
    words = ["".join(group) for inside, group in itertools.groupby(text, in_word) if inside]
    return (
        found
        + [("word", word) for word in words]
        + [("words", two) for two in itertools.pairwise(words)]
    )


@settings(max_examples=25)
@given(WORDS)
def test_the_same_ngrams_as_one_by_one(cells):
    """Equal n-grams share a column and unequal ones, but for a collision, do not."""
    counts = total(cells)
    expected = [
        Counter(plainly(text)) for text in normalized(pl.Series(cells, dtype=pl.String)).to_list()
    ]
    for i, of_cell in enumerate(expected):
        assert sorted(counts[i].data.tolist()) == sorted(of_cell.values())
    different = {ngram for of_cell in expected for ngram in of_cell}
    assert len(np.unique(counts.indices)) == len(different)


@settings(max_examples=15)
@given(ANY_CELLS)
def test_a_cell_has_its_ngrams_whatever_is_beside_it(cells):
    together = total(cells)
    assert together.shape == (len(cells), _N_PLACES)
    for i, cell in enumerate(cells):
        assert same(total([cell]), together[i])


def test_chunks_change_nothing(monkeypatch):
    cells = [f"cell {i} says {'so ' * (i % 50)}" for i in range(100)] + ["", None]
    whole = total(cells)
    monkeypatch.setattr(texts, "_CHUNK_LETTERS", 500)
    assert sum(1 for _ in count_ngrams(pl.Series(cells))) > 5
    assert same(total(cells), whole)


def test_the_same_letters_in_another_form_are_the_same():
    for one, other in (
        ("STRASSE", "straße"),
        ("ﬁne", "fine"),
        ("cafe\u0301", "café"),
        ("ΟΔΟΣ", "οδος"),
        ("ｆｕｌｌ", "full"),
        ("a\t\r\n b", " a b "),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("a\x00b", "a b"),
    ):
        rows = total([one, other])
        assert rows[0].nnz
        assert same(rows[0], rows[1])
    for cell in ("", None, " \t", "\x00\x01", "\u200b"):
        assert total([cell, "x"])[0].nnz == 0


def test_the_rest_of_a_very_long_cell_is_not_read():
    cells = pl.Series(["ab " * 5_000, "ab " * 50_000])
    rows = total(cells)
    assert same(rows[0], rows[1])


# ---------------------------------------------------------------- text that says something

RNG, N_ROWS = random.Random(0), 200


def words(text):
    return text.split()


FIRST = words("Anna Ben Carla David Emma Felix Greta Hans Ida Jonas Karl Lena Max Nora Otto Paula")
LAST = words(
    "Schmidt Müller Meyer Weber Wagner Becker Hoffmann Schulz Koch Richter Klein Wolf Lange Keller"
)
SAID = words(
    "good bad room service food slow nice very the was and clean staff friendly price location "
    "hotel"
)
ARABIC = words("هذا المنتج جيد جدا ولكن السعر مرتفع قليلا والخدمة ممتازة")
IN_LETTERS = str.maketrans("0123456789", "qrstuvwxyz")
CHINESE = "这是一个很好的产品我非常喜欢但价格有点贵质量不错快递服务态度下次还会购买"
THAI = "สินค้าดีมากราคาถูกส่งเร็วแพ็คดีจะสั่งซื้ออีกแน่นอนบริการดี"


def some(words, low, high, between=" "):
    return between.join(RNG.choices(words, k=RNG.randint(low, high)))


def column(make, n=N_ROWS):
    return pl.Series("x", [make(i) for i in range(n)])


SAYING = {
    "comments": column(lambda i: some(SAID, 4, 12)),
    "titles": column(lambda i: f"The {RNG.choice(SAID)} {RNG.choice(LAST)} of {RNG.choice(FIRST)}"),
    "people": column(lambda i: f"{RNG.choice(FIRST)} {RNG.choice(FIRST)} {RNG.choice(LAST)}"),
    "addresses": column(lambda i: f"{RNG.randrange(1, 300)} {RNG.choice(LAST)} Street"),
    "Arabic": column(lambda i: some(ARABIC, 3, 9)),
    "Chinese": column(lambda i: some(CHINESE, 6, 20, "")),
    "Thai": column(lambda i: some(THAI, 20, 30, "")),
    "diseases that return": column(lambda i: f"{RNG.choice('ABCDE')}{RNG.randrange(10, 60)}", 1000),
    "surnames that return": column(
        lambda i: RNG.choice(LAST) + RNG.choice(["", "mann", "er", "s", "le"])
    ),
}
NAMING = {
    "codes": column(lambda i: f"A-{1000 + i}"),
    "universal ones": column(lambda i: str(uuid.UUID(int=RNG.getrandbits(128)))),
    "hexadecimal ones": column(lambda i: f"{RNG.getrandbits(64):016x}"),
    "a word and a number": column(lambda i: f"Customer {i:05d}"),
    "mail": column(lambda i: f"{RNG.choice(FIRST)}.{RNG.choice(LAST)}{i}@example.com"),
    "links": column(lambda i: f"https://shop.example/p/{i}/red-shoe"),
    "names of one word": column(lambda i: "".join(RNG.choices("abcdefghij", k=9)).title()),
    "telephones": column(lambda i: f"+49 {RNG.randrange(100, 999)} {RNG.randrange(10**6, 10**7)}"),
    "accounts": column(
        lambda i: f"DE{RNG.randrange(10, 99)} {RNG.randrange(10**4)} {RNG.randrange(10**4)}"
    ),
    "plates": column(
        lambda i: f"{RNG.choice(['M', 'HH'])}-{RNG.choice('ABC')}X {RNG.randrange(10**6)}"
    ),
    "words that never return": column(lambda i: f"{10**9 + i} {i + 99}".translate(IN_LETTERS)),
}


def test_what_says_something_is_learned_from():
    for name, cells in SAYING.items():
        assert _leave_out(cells) is None, name


def test_what_only_names_rows_is_an_identifier():
    for name, cells in NAMING.items():
        found = _leave_out(cells)
        assert (found.kind, found.note, found.used) == (
            "identifier",
            "different in every row",
            False,
        ), name
    found = _leave_out(pl.concat([NAMING["codes"], NAMING["codes"][:5]]))
    assert (found.kind, found.note) == ("identifier", "different in nearly every row")


def test_order_and_number_of_rows_and_long_ends_do_not_matter():
    for name in ("comments", "Chinese"):
        cells = SAYING[name]
        assert _says_something(_sample_beginnings(cells.reverse()))
        # More than looked at.
        assert _says_something(_sample_beginnings(pl.concat([cells + f" {word}" for word in SAID])))
    assert _says_something(_sample_beginnings(SAYING["comments"] + " 1" * 10_000))


def test_numbers_in_a_form_that_is_not_read_are_left_out():
    for make in (
        lambda i: f"${RNG.randrange(100, 130)},{RNG.randrange(2)}",
        lambda i: f"{RNG.randrange(40)} {RNG.choice(['kg', 'g'])}",
        lambda i: f"10.0.{RNG.randrange(9)}.{RNG.randrange(5)}",
        lambda i: f"{RNG.randrange(9)}/{RNG.randrange(5)}",
    ):
        found = _leave_out(column(make))
        assert (found.kind, found.note, found.used) == (
            "text",
            "digits in a form that is not read",
            False,
        )


def test_many_classes_need_many_topics():
    rng = np.random.default_rng(0)
    cells = pl.Series(
        "t", [" ".join(f"word{w}" for w in rng.integers(0, 400, 8)) for _ in range(300)]
    )
    for n_classes, expected in ((2, 30), (20, 30), (77, 115), (1_000, 200)):
        assert (
            KIND.find(cells, True, Hints(n_classes=n_classes)).learned["topics"].shape[1]
            == expected
        )
    X = pl.DataFrame({"t": cells})
    y = [f"class {k % 40}" for k in range(300)]
    kinds = {"text": ["t"]}
    assert TablePreparation(**kinds).fit(X, y).transform(X).shape[1] == 60
    assert TablePreparation(**kinds).fit(X).transform(X).shape[1] == 30
