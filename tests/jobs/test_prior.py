"""What a report says about class proportions, and how they are typed."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from chary import SelfTrainingClassifier
from chary.jobs import prior as prior_figures

X, y_true = make_classification(400, 5, n_informative=3, n_redundant=0, class_sep=0.5, random_state=0)
y = np.where(np.arange(400) < 60, np.array(["no", "yes"])[y_true], None)


def figures(class_prior=None, **options):
    model = SelfTrainingClassifier(
        LogisticRegression(), confidence="max_probability", max_rounds=0, class_prior=class_prior
    ).fit(X, y)
    return model, prior_figures.prior_figures(model, X[60:], **options)


def test_a_wrong_belief_shows_as_labels_that_flip():
    _, found = figures({"no": 0.7, "yes": 0.3})
    assert found.told
    assert found.sentence == "you told chary that 70 % of all rows are 'no' and 30 % are 'yes'"
    assert found.classes == ["no", "yes"]
    by_factor = {round(level.factor, 2): level for level in found.levels}
    assert list(by_factor) == [0.5, 0.67, 1, 1.5, 2]
    assert by_factor[1].flipped == 0
    with_given = 340 * by_factor[1].predicted + np.bincount(y_true[:60])
    assert with_given == pytest.approx([280, 120], abs=1)  # 70 and 30 % of all 400 rows
    assert by_factor[2].flipped > 0.1  # odds off by two: one label in ten
    other = found.class_name == "no"
    assert by_factor[2].predicted[1 - other] > by_factor[1].predicted[1 - other] + 0.1


def test_without_a_prior_the_belief_is_what_the_model_predicts():
    model, found = figures()
    assert not found.told
    assert found.sentence.startswith("you told chary nothing")
    predicted = [np.mean(model.predict(X[60:]) == name) for name in ("no", "yes")]
    now = next(level for level in found.levels if level.factor == 1)
    assert now.predicted == pytest.approx(predicted)


def test_a_class_with_labels_cannot_have_share_zero():
    with pytest.raises(ValueError, match="class_prior says that 0 % of all 400 rows"):
        figures({"no": 1.0, "yes": 0.0})


def test_of_many_rows_a_sample_tells(monkeypatch):
    monkeypatch.setattr(prior_figures, "_MOST_ROWS", 100)
    _, found = figures([0.5, 0.5], random_state=0)
    assert found.levels[2].predicted == pytest.approx([0.5, 0.5], abs=0.15)
    assert found.levels[2].flipped == 0
