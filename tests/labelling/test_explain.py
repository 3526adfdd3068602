"""What decides a row, and all rows: oracles, ties, names; blocks and order change nothing."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from chary.labelling import explain, label_table
from chary.labelling.defaults import DEFAULTS
from chary.labelling.explain import (
    column_groups,
    decisive,
    effects,
    every_reason,
    explainer,
    importance,
    spread_rows,
)
from chary.options import LabelOptions
from chary.tables import Table, TablePreparation

pytestmark = pytest.mark.usefixtures("quick_learners")


class Additive:
    """Two classes whose log-odds are a sum of functions of one feature each."""

    def __init__(self, *functions):
        self.functions = functions

    def parts(self, X):
        return np.column_stack([f(X[:, j]) for j, f in enumerate(self.functions)])

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-self.parts(np.asarray(X, dtype=float)).sum(axis=1)))
        return np.column_stack([1 - p, p])


def each(d):
    return [np.array([j]) for j in range(d)]


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


MODEL = Additive(lambda x: 2 * x, np.sin, lambda x: 0 * x, lambda x: x * x)


def test_in_an_additive_model_an_effect_is_what_the_group_adds_above_its_mean():
    X, background = normal(30, 4), normal(9, 4, seed=1)
    ones, zeros = np.ones(30, dtype=int), np.zeros(30, dtype=int)
    expected = MODEL.parts(X.astype(float)) - MODEL.parts(background.astype(float)).mean(axis=0)
    np.testing.assert_allclose(effects(MODEL, X, ones, background, each(4)), expected, atol=1e-3)
    np.testing.assert_allclose(effects(MODEL, X, zeros, background, each(4)), -expected, atol=1e-3)


def test_features_of_one_group_move_together():
    """Return a joint effect: x0 and x1 count only if they are equal, neither alone."""

    class Equal:
        def predict_proba(self, X):
            p = np.where((X[:, 0] > 0) == (X[:, 1] > 0), 0.9, 0.1)
            return np.column_stack([1 - p, p])

    X = np.array([[1, 1, 5]], dtype=np.float32)
    background = np.array([[-1, -1, 7]], dtype=np.float32)
    together = effects(Equal(), X, np.array([1]), background, [np.array([0, 1]), np.array([2])])
    alone = effects(Equal(), X, np.array([1]), background, each(3))
    np.testing.assert_array_equal(together, [[0, 0]])
    np.testing.assert_allclose(alone, [[2 * np.log(9), 2 * np.log(9), 0]], atol=1e-4)


def test_brute_force_over_rows_and_groups_agrees():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 6)).astype(np.float32), rng.integers(0, 3, 60)
    model = LogisticRegression().fit(X, y)
    groups, background = [np.array([0, 3]), np.array([1]), np.array([2, 4, 5])], X[:5]
    codes = model.predict(X[:8])
    found = effects(model, X[:8], codes, background, groups)

    def score(row, code):
        p = model.predict_proba(row[None])[0, code]
        return np.log(p / (1 - p))

    for i in range(8):
        for g, own in enumerate(groups):
            moved = []
            for other in background:
                changed = X[i].copy()
                changed[own] = other[own]
                moved.append(score(X[i], codes[i]) - score(changed, codes[i]))
            assert found[i, g] == pytest.approx(np.mean(moved), abs=2e-4)


@settings(max_examples=15)
@given(cells=st.integers(1, 400), part=st.integers(1, 300), seed=st.integers(0, 5))
def test_neither_the_size_of_a_block_nor_the_order_of_the_rows_matters(cells, part, seed):
    rng = np.random.default_rng(seed)
    X, background = normal(20, 4, seed), normal(5, 4, seed + 1)
    codes, order = rng.integers(0, 2, 20), rng.permutation(20)
    whole = effects(MODEL, X, codes, background, each(4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explain, "_MAX_PREDICTED_NUMBERS", cells)
        patch.setattr(explain, "_MAX_COMPARED_CELLS", part)
        np.testing.assert_array_equal(
            effects(MODEL, X[order], codes[order], background[::-1], each(4)), whole[order]
        )
        np.testing.assert_array_equal(
            importance(MODEL, X[order], each(4))[0], importance(MODEL, X, each(4))[0]
        )


def test_a_column_that_is_the_same_everywhere_is_never_named():
    X = normal(40, 3)
    X[:, 1] = 2.5
    model = Additive(lambda x: x, lambda x: 100 * x, lambda x: -x)
    found = effects(model, X, np.ones(40, dtype=int), X[:8], each(3))
    assert (found[:, 1] == 0).all()
    assert 1 not in decisive(found)
    assert importance(model, X, each(3))[0][1] == 0


def test_of_equal_effects_the_first_column_comes_first_and_weak_ones_are_left_out():
    np.testing.assert_array_equal(decisive(np.array([[1.0, 3.0, 3.0, 3.0, 0.7]])), [[1, 2, 3]])
    np.testing.assert_array_equal(decisive(np.array([[0.2, 1.0, 0.25]])), [[1, 2, -1]])
    np.testing.assert_array_equal(decisive(np.array([[2.0]])), [[0]])


def test_probabilities_of_nought_and_one_are_no_infinity():
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    model.coef_[:] = 1e6
    found = effects(model, np.array([[5.0]]), np.array([1]), np.array([[-5.0]]), each(1))
    assert found[0, 0] == pytest.approx(2 * np.log(1e6), abs=1e-2)


def test_importance_is_of_the_column_that_decides():
    X = normal(500, 3)
    model = Additive(lambda x: 0 * x, lambda x: 8 * np.sign(x), lambda x: 0.01 * x)
    change, n_rows = importance(model, X, each(3))
    assert change.argmax() == 1
    assert change[0] == 0
    assert n_rows == 500


def test_importance_is_what_the_group_of_the_row_half_the_sample_on_changes():
    X = normal(31, 4)
    groups = [np.array([0, 1]), np.array([3])]
    sample = X[spread_rows(X, 31)]
    expected = []
    for own in groups:
        moved = []
        for place, row in enumerate(sample):
            changed = row.copy()
            changed[own] = sample[(place + 15) % 31][own]
            before, after = MODEL.predict_proba(np.stack([row, changed]))
            moved.append(np.abs(after - before).sum() / 2)
        expected.append(np.mean(moved))
    change, n_rows = importance(MODEL, X, groups)
    np.testing.assert_allclose(change, expected, atol=6e-5)
    assert n_rows == 31


def test_importance_is_measured_on_as_many_rows_as_predictions_allow():
    X = normal(9_000, 1)
    n_rows = []
    for most in (80, 40):
        few = replace(DEFAULTS, importance_predictions=most)
        n_rows.append(importance(MODEL, normal(90, 4), each(4), few)[1])
    assert n_rows == [20, 16]
    assert importance(Additive(np.sin), X, each(1))[1] == 8_192


def test_of_a_text_the_forty_longest_words_are_tried_in_their_order():
    words = [f"w{'o' * k}" for k in range(41)]
    kept = explain._longest_words(["Wooo", *words], DEFAULTS.words_left_out)
    assert list(kept) == ["wooo", *(word for word in words[1:] if word != "wooo")]
    assert kept["wooo"] == "Wooo"


def test_spread_rows_are_the_same_whatever_the_order_and_fair_to_equal_rows():
    X = np.repeat(np.array([[0.0], [1.0], [2.0]], dtype=np.float32), [600, 300, 100], axis=0)
    order = np.random.default_rng(0).permutation(1000)
    counts = [
        np.bincount(some[spread_rows(some, 10), 0].astype(int), minlength=3)
        for some in (X, X[order])
    ]
    np.testing.assert_array_equal(counts[0], counts[1])
    np.testing.assert_array_equal(counts[0], [6, 3, 1])
    other = normal(100, 3)
    shuffled = np.random.default_rng(1).permutation(100)
    picked = [np.sort(some[spread_rows(some, 7)], axis=0) for some in (other, other[shuffled])]
    np.testing.assert_array_equal(picked[0], picked[1])
    assert len(spread_rows(other, 500)) == 100
    assert len(spread_rows(other[:0], 5)) == 0


# ---------------------------------------------------------------- of a table


class ByColumn:
    """Says yes where the features of one column are high; nothing else counts."""

    def __init__(self, features, weight=3.0):
        self.features, self.weight = features, weight

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-self.weight * X[:, self.features].sum(axis=1)))
        return np.column_stack([1 - p, p])


def frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({
        "since": [f"2023-0{1 + i % 9}-1{i % 7}" for i in rng.integers(0, 99, n)],
        "town": rng.choice(["Ulm", "Bonn"], n),
        "age": rng.integers(18, 90, n),
        "same": ["x"] * n,
        "income": rng.normal(size=n).round(3),
    })  # fmt: skip


@pytest.fixture(scope="module")
def prepared():
    cells = frame()
    preparation = TablePreparation().fit(cells)
    return cells, preparation, preparation.transform(cells)


def test_all_features_of_a_column_are_its_group(prepared):
    _, preparation, X = prepared
    names, groups = column_groups(preparation)
    assert names == ["age", "income", "since", "town"]
    features = preparation.features()
    for name, own in zip(names, groups, strict=True):
        assert {features[j].column for j in own} == {name}
    assert sorted(np.concatenate(groups).tolist()) == list(range(X.shape[1]))


def test_the_column_that_a_model_goes_by_is_named_and_no_other(prepared):
    cells, preparation, X = prepared
    names, groups = column_groups(preparation)
    for name in ("age", "town", "since"):
        found = explainer(ByColumn(groups[names.index(name)][-1:]), preparation, X)
        assert found.importance[0].column == name
        assert [column.change for column in found.importance[1:]] == [0, 0, 0]
        codes = found.classifier.predict_proba(X).argmax(axis=1)
        named = {
            cell.column
            for row in found.cells(X, codes, cells, found.effects(X, codes))
            for cell in row
        }
        assert named == {name}


def test_cells_are_those_of_the_table(prepared):
    cells, preparation, X = prepared
    names, groups = column_groups(preparation)
    found = explainer(ByColumn(groups[names.index("income")]), preparation, X)
    top = np.argsort(-cells["income"].to_numpy())[:3]
    ones = np.ones(3, dtype=int)
    rows = found.cells(X[top], ones, cells[top], found.effects(X[top], ones))
    assert [[cell.shown for cell in row] for row in rows] == [
        [f"income = {v:.6g}"] for v in cells["income"][top]
    ]
    assert all(row[0].effect > 1 for row in rows)


def test_of_a_text_the_words_that_decide_are_named_and_not_the_greeting():
    rng = np.random.default_rng(0)
    about = np.where(rng.random(240) < 0.5, "refund", "parcel")
    filler = [
        "waiting",
        "weeks",
        "answer",
        "please",
        "customer",
        "number",
        "account",
        "today",
        "again",
        "letter",
        "office",
        "question",
        "month",
    ]
    some = [" ".join(rng.permutation(filler)[:6]) for _ in about]
    texts = [
        f"Dear support team, {rest} because of the {word}"
        for rest, word in zip(some, about, strict=True)
    ]
    label = [str(word == "refund") if i < 120 else None for i, word in enumerate(about)]
    cells = pl.DataFrame({"text": texts, "y": label})
    result = label_table(
        Table(cells, "t.csv", ","),
        LabelOptions.of(target="y", learner="linear", explain=True, text=["text"]),
    )
    why = [said or "" for said in result.why[120:].to_list()]
    assert (
        np.mean(
            [
                said.startswith(f'text: "{word}"')
                for said, word in zip(why, about[120:], strict=True)
            ]
        )
        > 0.9
    )
    assert not any("support" in said or "Dear" in said for said in why)
    empty = pl.DataFrame({"text": [None, "..."]}, schema={"text": pl.String})
    X = result.model[0].transform(empty)
    # No word is there to be named.
    said = result.explainer.cells(X, np.array([0, 1]), empty, np.ones((2, 1)))
    assert [[cell.column for cell in row] for row in said] == [["text"], ["text"]]


def test_text_for_many_rows_is_made_in_parts_and_says_the_same(prepared, monkeypatch):
    cells, preparation, X = prepared
    names, groups = column_groups(preparation)
    model = ByColumn(np.concatenate([groups[names.index("age")], groups[names.index("town")][:1]]))
    found, codes = explainer(model, preparation, X), model.predict_proba(X).argmax(axis=1)
    told, rows = [], np.arange(200)
    whole = every_reason(found, X, cells, codes, rows, told.append)
    monkeypatch.setattr(explain, "_BATCH_ROWS", 37)
    told.clear()
    assert every_reason(found, X, cells, codes, rows, told.append).equals(whole)
    some = every_reason(found, X, cells, codes, rows[50:], told.append)
    assert some[50:].equals(whole[50:])
    assert some[:50].null_count() == 50
    assert told[:2] == ["Explaining rows: 0 of 200", "Explaining rows: 37 of 200"]
    as_cells = [
        "; ".join(cell.shown for cell in row) or None
        for row in found.cells(X, codes, cells, found.effects(X, codes))
    ]
    assert whole.to_list() == as_cells


def test_the_order_of_the_rows_changes_nothing(prepared):
    _, preparation, X = prepared
    _, groups = column_groups(preparation)
    order = np.random.default_rng(1).permutation(len(X))
    model = ByColumn(np.concatenate(groups), weight=1.0)
    one, other = explainer(model, preparation, X), explainer(model, preparation, X[order])
    assert one.importance == other.importance
    codes = np.ones(len(X), dtype=int)
    np.testing.assert_array_equal(one.effects(X, codes), other.effects(X, codes))


def test_of_many_columns_the_most_important_explain_single_rows():
    rng = np.random.default_rng(0)
    cells = pl.DataFrame({f"x{j:03d}": rng.normal(size=150) for j in range(130)})
    preparation = TablePreparation().fit(cells)
    X = preparation.transform(cells)
    found = explainer(ByColumn(np.array([120])), preparation, X)
    assert (len(found.importance), len(found.columns)) == (130, 20)
    assert found.importance[0].column == "x120"
    assert found.columns == sorted(found.columns)
    assert len(found.background) == 8


def test_of_a_large_table_two_thousand_rows_measure_the_importance():
    cells = pl.DataFrame({"x": np.random.default_rng(0).normal(size=2_500)})
    preparation = TablePreparation().fit(cells)
    model = ByColumn(np.array([0]))
    X = preparation.transform(cells)
    assert explainer(model, preparation, X).n_rows == 2_000
    assert explainer(model, preparation, X, np.arange(2_100)).n_rows == 2_000


WORTH = {"refund": 4.0, "Money": 3.0, "return": 2.5, "again": 2.1, "weak": 1.9, "never": -3.0}


class ByWords:
    """Says yes by the words of a text: their worth is added up."""

    def transform_part(self, frame):
        return np.array(
            [[sum(WORTH.get(w, 0) for w in text.split())] for text in frame.to_series()]
        )

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-X.sum(axis=1)))
        return np.column_stack([1 - p, p])


def test_the_three_words_that_decide_a_text_are_named_if_they_count_half_of_the_best(monkeypatch):
    """Words against the class and words that do nothing are not named, nor is an empty cell."""
    texts = [
        "so never weak again return Money refund so",
        "so weak refund so",
        None,
        "again, refund: the the",
    ]
    cells = pl.DataFrame({"text": texts, "x": [0.0] * 4})
    many = pl.DataFrame({"text": [f"{t} {k}" for k, t in enumerate(texts * 20)], "x": range(80)})
    preparation = TablePreparation(text=["text"]).fit(many.cast({"x": pl.Float64}))
    monkeypatch.setattr(TablePreparation, "without", lambda self, left_out: ByWords())
    found = explain.Explainer(ByWords(), preparation, [], 0, ["text"], [np.array([0])], None)
    X = np.zeros((4, 1))
    rows = found.cells(X, np.array([1, 1, 1, 0]), cells, np.ones((4, 1)))
    shown = [cell.shown for row in rows for cell in row]
    assert shown == [
        'text: "refund", "Money", "return"',
        'text: "refund"',
        "text is missing",
        "text = again, refund: the the",
    ]


def test_only_what_speaks_for_the_label_is_named_and_a_quarter_of_the_best_is_enough(prepared):
    cells, preparation, X = prepared
    found = explain.Explainer(None, preparation, [], 0, ["age", "town"], [], None)
    some = cells[:3]
    row_effects = np.array([[1.0, 0.25], [1.0, 0.24], [-1.0, -2.0]])
    named = found.cells(X[:3], np.ones(3, dtype=int), some, row_effects)
    assert [[cell.column for cell in row] for row in named] == [["age", "town"], ["age"], []]
    assert [cell.effect for cell in named[0]] == [1.0, 0.25]
    assert named[0][0].shown == f"age = {some['age'][0]}"


def labeled(cells, rule, n_labeled=80, swap=()):
    truth = ["yes" if value else "no" for value in rule]
    y = [value if i < n_labeled else None for i, value in enumerate(truth)]
    for i in swap:
        y[i] = {"yes": "no", "no": "yes"}[y[i]]
    return Table(cells.with_columns(pl.Series("y", y, dtype=pl.String)), "t.csv", ",")


@pytest.fixture(scope="module")
def result(quick_learners):
    cells = frame(300)
    swap = [i for i in range(120) if abs(cells["income"][i]) > 1.2][:5]
    table = labeled(cells, cells["income"] > 0, n_labeled=120, swap=swap)
    return label_table(table, LabelOptions.of(target="y", rounds=0, explain=True)), swap


def test_a_labelled_table_says_what_decides(result):
    outcome, _ = result
    assert outcome.explainer.importance[0].column == "income"
    assert outcome.why.null_count() >= 120
    assert outcome.why[:120].null_count() == 120
    told = outcome.why[120:].drop_nulls()
    assert told.str.contains("income = ").mean() > 0.8
    assert outcome.added_columns["chary_why"].equals(outcome.why)
    row = int(outcome.next_rows[0])
    assert "; ".join(cell.shown for cell in outcome.reasons[row]) == (outcome.why[row] or "")


def test_swapped_labels_are_doubted(result):
    outcome, swap = result
    listed = outcome.second_look.rows.tolist()
    assert set(swap) & set(listed)
    for place, row in enumerate(listed):
        assert outcome.labels.labeled[row]
        given = str(outcome.labels.classes[outcome.labels.codes[row]])
        assert given != outcome.second_look.prediction[place]


def test_why_is_not_worked_out_unless_asked_for_and_same_seed_same_answer(result):
    outcome, _ = result
    again = label_table(outcome.table, LabelOptions.of(target="y", rounds=0))
    assert again.why is None
    assert "chary_why" not in again.added_columns
    assert again.reasons == outcome.reasons
    assert again.explainer.importance == outcome.explainer.importance
