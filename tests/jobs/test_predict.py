"""A model from a file and a new table: labels and confidence, or one sentence."""

import numpy as np
import polars as pl
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from chary import DiverseEnsembleClassifier
from chary.jobs import load_table_model, predict_table, save
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


@pytest.mark.parametrize("steps", [[], [StandardScaler()]])
def test_a_model_that_takes_no_tables_is_refused(tmp_path, steps):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(np.arange(40) < 20, X[:, 0] > 0, -1)
    model = make_pipeline(*steps, DiverseEnsembleClassifier(n_steps=3, random_state=0)).fit(X, y)
    save(model if steps else model[-1], tmp_path / "m.chary")
    with pytest.raises(TableError, match=r"'m.chary' holds no table model; use one that was made from a table"):
        load_table_model(tmp_path / "m.chary")
