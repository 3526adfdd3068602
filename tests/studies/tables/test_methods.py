"""Methods on real tables: chary's are what ``chary label`` does, scikit-learn's what they say; figures hold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OrdinalEncoder

from chary.jobs import label_table
from chary.studies.tables.draws import Scored, table_draw
from chary.studies.tables.methods import (
    AUTO,
    Labelled,
    automatic,
    importance_weighted,
    labels_and_confidence,
    learner,
    plain,
    report,
    self_training,
    ten_lines,
)
from chary.studies.tables.study import TABLES
from chary.tables import write_audit

pytestmark = pytest.mark.usefixtures("quick_learners")


@pytest.fixture(scope="module", params=["random", "column"])
def draw(request):
    """Labels that look like the rest, and labels that do not: another learner may be chosen."""
    return table_draw(next(cell for cell in TABLES.cells(["tumours"], 1) if cell.labeling == request.param))


@pytest.fixture(scope="module")
def outcome(draw, quick_learners):
    return label_table(draw.hidden(), draw.table.facts.target, seed=draw.seed)


def test_chary_without_a_word_is_chary_label(draw, outcome):
    found, rest = automatic(draw), ~draw.labeled
    assert found.said == {"verdict": outcome.diagnosis.verdict, "learner": outcome.settings["learner"]}
    assert (draw.classes[found.codes] == outcome.labels.classes[outcome.codes[rest]]).all()
    np.testing.assert_allclose(found.confidence, outcome.confidence[rest], rtol=1e-9)
    named = learner(draw, outcome.settings["learner"])
    assert (named.codes == found.codes).all()


def test_chary_with_an_audit_is_chary_label_with_its_sheet(draw, tmp_path):
    rows, target = draw.audited(30), draw.table.facts.target
    table, path = draw.hidden(), tmp_path / "sheet.csv"
    with path.open("wb") as file:
        write_audit(table, target, draw.labels(rows[:0]), rows, file)
    sheet = pd.read_csv(path, dtype=str, keep_default_na=False)
    sheet[target] = draw.classes[draw.truth[rows]]
    sheet.to_csv(path, index=False)
    outcome = label_table(table, target, audit=path, seed=draw.seed, rounds=0)
    found = automatic(draw, audited=30)
    rest = draw.scored(rows).rows
    assert (draw.classes[found.codes] == outcome.labels.classes[outcome.codes[rest]]).all()


def test_a_report_is_kept_with_the_truth_beside_it(draw, outcome):
    kept = labels_and_confidence(draw, report(draw))
    truth, rest = draw.classes[draw.truth], ~draw.labeled
    made = outcome.labels.classes[outcome.codes]
    assert kept["accuracy"] == pytest.approx(np.mean(made[rest] == truth[rest]))
    score = outcome.judged.score
    assert (kept["held_out"], kept["held_out_low"], kept["held_out_high"]) == (score.share, score.low, score.high)
    assert kept["verdict"] == outcome.diagnosis.verdict
    assert [level["error_high"] for level in kept["levels"]] == [level.error_high for level in outcome.levels]
    half = next(level for level in kept["levels"] if level["share"] == 0.5)
    sure = rest & (outcome.confidence >= np.median(outcome.confidence[rest]))
    assert half["true_error"] == pytest.approx(np.mean(made[sure] != truth[sure]), abs=0.01)
    assert kept["classes_without_rows"] == []


def test_plain_learners_learn_from_the_labels_alone(draw):
    found, known = plain(draw, "logistic"), draw.labeled
    alone = LogisticRegression(max_iter=1000).fit(draw.X[known], draw.truth[known])
    assert (found.codes == alone.predict(draw.X[~known])).all()
    np.testing.assert_allclose(found.confidence, alone.predict_proba(draw.X[~known]).max(axis=1))
    audited = plain(draw, "logistic", audited=30)
    more = known.copy()
    more[draw.audited(30)] = True
    assert (audited.codes == alone.fit(draw.X[more], draw.truth[more]).predict(draw.X[~more])).all()
    assert len(np.unique(plain(draw, "majority").codes)) == 1


def test_the_ten_lines_are_those_of_the_docs(draw):
    table = draw.hidden().frame.to_pandas()
    target = draw.table.facts.target
    X = table.drop(columns=target)
    texts = X.select_dtypes(exclude="number").columns
    X[texts] = OrdinalEncoder().fit_transform(X[texts])
    known = table[target].notna()
    model = HistGradientBoostingClassifier(max_iter=60, min_samples_leaf=5, max_leaf_nodes=15, random_state=0)
    labels = model.fit(X[known], table[target][known]).predict(X[~known])
    assert (draw.classes[ten_lines(draw).codes] == labels).all()


@pytest.mark.parametrize("method", [self_training, importance_weighted])
def test_methods_that_use_the_unlabelled_rows_beat_the_majority(draw, method):
    found = labels_and_confidence(draw, method(draw))
    assert found["accuracy"] > labels_and_confidence(draw, plain(draw, "majority"))["accuracy"] + 0.1


def test_weights_lead_where_the_unlabelled_rows_are(draw):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-1, 1, (200, 1)), rng.normal(2, 1, (800, 1))])
    truth = ((X[:, 0] > 0) ^ (X[:, 0] > 3)).astype(np.intp)  # no line fits both ends
    labeled = np.zeros(1000, dtype=bool)
    labeled[:200], labeled[200:230] = True, True
    drawn = type(draw)(draw.cell, X, truth, np.array(["a", "b"]), labeled)
    weighted, even = (
        labels_and_confidence(drawn, found) for found in (importance_weighted(drawn), plain(drawn, "logistic"))
    )
    assert weighted["accuracy"] != even["accuracy"]


def test_figures_of_labels_and_confidence_are_scikit_learn_s(draw):
    rng = np.random.default_rng(1)
    truth, codes = rng.integers(0, 4, 300), rng.integers(0, 5, 300)  # 4 never occurs
    confidence = rng.uniform(size=300)
    found = labels_and_confidence(draw, Labelled(codes, confidence, Scored(draw.X, truth, None), 1.5))
    right = codes == truth
    assert found["accuracy"] == pytest.approx(right.mean())
    recalls = [right[truth == c].mean() for c in range(4)]
    assert found["balanced"] == pytest.approx(np.mean(recalls))

    assert found["auroc"] == pytest.approx(roc_auc_score(right, confidence))
    assert found["confidence"] == pytest.approx(confidence.mean())
    assert found["seconds"] == 1.5


def test_all_right_or_wrong_has_no_order(draw):
    truth = np.zeros(5, dtype=np.intp)
    found = labels_and_confidence(draw, Labelled(truth, np.full(5, 0.5), Scored(draw.X, truth, None), 0.0))
    assert found["auroc"] is None
    assert found["accuracy"] == found["balanced"] == 1


def test_every_learner_of_chary_label_takes_part():
    from chary.jobs import LEARNERS

    assert {f"ours-{name}" for name in LEARNERS if name != AUTO} <= set(TABLES.methods)
