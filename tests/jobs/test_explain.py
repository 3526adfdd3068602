"""The columns of a table that decide its labels: named as the table names them, in bounded memory, any order."""

import numpy as np
import polars as pl
import pytest

from chary.jobs import explain, explainer, label_table
from chary.jobs.explain import column_groups
from chary.tables import Table, TablePreparation

pytestmark = pytest.mark.usefixtures("quick_learners")


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
        named = {cell.column for row in found.cells(X, codes, cells) for cell in row}
        assert named == {name}


def test_cells_are_those_of_the_table(prepared):
    cells, preparation, X = prepared
    names, groups = column_groups(preparation)
    found = explainer(ByColumn(groups[names.index("income")]), preparation, X)
    top = np.argsort(-cells["income"].to_numpy())[:3]
    rows = found.cells(X[top], np.ones(3, dtype=int), cells[top])
    assert [[cell.shown for cell in row] for row in rows] == [[f"income = {v:.6g}"] for v in cells["income"][top]]
    assert all(row[0].effect > 1 for row in rows)


def test_text_for_many_rows_is_made_in_parts_and_says_the_same(prepared, monkeypatch):
    cells, preparation, X = prepared
    names, groups = column_groups(preparation)
    model = ByColumn(np.concatenate([groups[names.index("age")], groups[names.index("town")][:1]]))
    found, codes = explainer(model, preparation, X), model.predict_proba(X).argmax(axis=1)
    whole, told = found.why(lambda part: X[part], codes, cells), []
    monkeypatch.setattr(explain, "_ROWS", 37)
    parts = found.why(lambda part: X[part], codes, cells, told.append)
    assert parts.equals(whole)
    assert told[:2] == ["Explaining rows: 0 of 200", "Explaining rows: 37 of 200"]
    as_cells = ["; ".join(cell.shown for cell in row) or None for row in found.cells(X, codes, cells)]
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


def test_of_many_columns_some_are_looked_at_and_it_is_said():
    rng = np.random.default_rng(0)
    cells = pl.DataFrame({f"x{j:03d}": rng.normal(size=150) for j in range(130)})
    preparation = TablePreparation().fit(cells)
    X = preparation.transform(cells)
    found = explainer(ByColumn(np.array([120])), preparation, X)
    assert (found.n_columns, len(found.importance), len(found.columns)) == (130, 100, 20)
    assert found.importance[0].column == "x120"


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
    return label_table(table, "y", rounds=0, explain=True), swap


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


def test_swapped_labels_are_doubted_for_what_the_held_out_model_sees(result):
    outcome, swap = result
    listed = outcome.second_look.rows.tolist()
    assert set(swap) & set(listed)
    for place, row in enumerate(listed):
        assert outcome.labels.labeled[row]
        given = str(outcome.labels.classes[outcome.labels.codes[row]])
        assert given != outcome.second_look.prediction[place]
    first = outcome.reasons[next(row for row in listed if row in swap)]
    assert first[0].column == "income"
    assert first[0].effect > 0


def test_why_is_not_worked_out_unless_asked_for_and_same_seed_same_answer(result):
    outcome, _ = result
    again = label_table(outcome.table, "y", rounds=0)
    assert again.why is None
    assert "chary_why" not in again.added_columns
    assert again.reasons == outcome.reasons
    assert again.explainer.importance == outcome.explainer.importance


def test_with_few_labels_nothing_is_asked_about():
    outcome = label_table(labeled(frame(60), np.arange(60) % 2 == 0, n_labeled=12), "y", rounds=0)
    assert len(outcome.second_look.rows) == 0
