"""A model from a file takes whatever holds a table, and answers as scikit-learn does."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import chary
from chary.api import TableModel
from chary.model_file import load_model as load_pipeline

pytestmark = pytest.mark.usefixtures("quick_learners")


@pytest.fixture(scope="module", name="saved")
def saved_model(quick_learners, tmp_path_factory):
    rng = np.random.default_rng(0)
    x = rng.normal(size=150).round(3)
    frame = pd.DataFrame(
        {"x": x, "town": rng.choice(["Ulm", "Bonn"], 150), "y": np.where(x > 0, "yes", "no")}
    )
    frame.loc[50:, "y"] = None
    path = tmp_path_factory.mktemp("model") / "m.chary"
    chary.label(frame, "y", rounds=0).save(path)
    return path, frame.drop(columns="y")


def test_probabilities_are_those_of_the_pipeline(saved):
    path, new = saved
    model = chary.load(path)
    probs = model.predict_proba(new)
    assert probs.shape == (150, 2)
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=1e-6)
    assert (model.classes_[probs.argmax(axis=1)] == model.predict(new)).all()
    assert isinstance(load_pipeline(path).predict(new), np.ndarray)  # still a Pipeline


def test_a_frame_comes_back_with_columns_more(saved):
    path, new = saved
    model = chary.load(path)
    before = new.copy()
    found = model.predict_frame(new.set_index(new.index + 7), probabilities=True)
    assert found.columns.tolist() == [
        *["x", "town", "chary_label", "chary_confidence", "chary_p_no", "chary_p_yes"]
    ]
    assert found.index.tolist() == list(range(7, 157))
    assert found["chary_label"].tolist() == model.predict(new).tolist()
    np.testing.assert_allclose(found["chary_p_yes"], model.predict_proba(new)[:, 1], atol=1e-4)
    pd.testing.assert_frame_equal(new, before)
    assert isinstance(model.predict_frame(pl.DataFrame(new.to_dict("list"))), pl.DataFrame)


def test_new_rows_are_compared_with_those_it_learned_from(saved, tmp_path):
    path, new = saved
    model = chary.load(path)
    new.to_csv(tmp_path / "new.csv", index=False)
    assert model.compare(new).verdict == "alike"
    assert model.compare(tmp_path / "new.csv") == model.compare(new)
    assert (
        str(model.compare(new))
        == "The 150 rows have the values, ranges and missing cells that the model knows."
    )
    moved = model.compare(new.assign(town="Atlantis", x=new["x"] + 30))
    assert moved.verdict == "different"
    assert {shift.column for shift in moved.columns} == {"x", "town"}


def test_it_says_what_it_is(saved):
    model = chary.load(saved[0])
    assert repr(model) == "<chary model: classes no, yes>"
    assert isinstance(model, TableModel)
