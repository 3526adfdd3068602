"""A model from a file and a new table: labels and confidence, or one sentence."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from chary import DiverseEnsembleClassifier
from chary.jobs import load_table_model, predict_table, probability_columns, probability_names, save
from chary.tables import Table, TableError, TablePreparation


def test_a_table_model_without_self_training_predicts_too(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=60), "colour": rng.choice(["red", "blue"], 60)})
    preparation = TablePreparation().fit(frame)
    X, codes = preparation.transform(frame), np.where(np.arange(60) < 40, frame["x"].to_numpy() > 0, -1)
    classifier = DiverseEnsembleClassifier(n_steps=20, random_state=0).fit(X, codes)
    save(Pipeline([("prepare", preparation), ("classify", classifier)]), tmp_path / "m.chary")
    added = predict_table(load_table_model(tmp_path / "m.chary"), Table(frame, "new.csv", ","))
    assert set(added["chary_label"]) <= {"0", "1"}
    assert added["chary_confidence"].is_between(0, 1).all()
    more = predict_table(load_table_model(tmp_path / "m.chary"), Table(frame, "new.csv", ","), probabilities=True)
    assert list(more) == ["chary_label", "chary_confidence", "chary_p_0", "chary_p_1"]
    assert (more["chary_p_0"] + more["chary_p_1"]).is_between(0.9998, 1.0002).all()
    assert ((more["chary_p_1"] > 0.5) == (more["chary_label"] == "1")).all()


@pytest.mark.parametrize("steps", [[], [StandardScaler()]])
def test_a_model_that_takes_no_tables_is_refused(tmp_path, steps):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(np.arange(40) < 20, X[:, 0] > 0, -1)
    model = make_pipeline(*steps, DiverseEnsembleClassifier(n_steps=3, random_state=0)).fit(X, y)
    save(model if steps else model[-1], tmp_path / "m.chary")
    with pytest.raises(TableError, match=r"'m.chary' holds no table model; use one that was made from a table"):
        load_table_model(tmp_path / "m.chary")


@given(st.lists(st.text(min_size=1, max_size=100), unique=True, max_size=8))
def test_every_class_has_a_column_of_its_own_with_nothing_invisible_in_its_name(classes):
    names = probability_names(np.array(classes, dtype=object))
    assert len(set(names)) == len(classes)
    assert all(name.startswith("chary_p_") and name.isprintable() and len(name) < 80 for name in names)


def test_no_column_of_the_tables_own_is_replaced():
    table = Table(pl.DataFrame({"chary_p_yes": [1]}), "t.csv", ",")
    assert list(probability_columns(table, ["no"], np.ones((1, 1)))) == ["chary_p_no"]
    with pytest.raises(TableError, match="already has a column 'chary_p_yes'"):
        probability_columns(table, ["no", "yes"], np.ones((1, 2)))
