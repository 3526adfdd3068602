"""The study of deep networks: its protocol, its views, its measures, the tables of the page."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from studies import to_markdown
from studies.deep import DEEP, ImageTask, digits_cnn, mnist_cnn, strong, weak
from studies.runner import work_out

ROOT = Path(__file__).parents[2]


def cell(labeling="ssb", method="erm", dataset="digits", **model):
    cells = DEEP.cells([dataset], 1)
    (found,) = (c for c in cells if (c.labeling, c.method) == (labeling, method))
    return replace(found, model={"n_steps": 5, **model})


@pytest.fixture(scope="module")
def task():
    return ImageTask(cell())


def test_the_grid_is_two_sets_of_images_with_a_hundred_labels():
    cells = DEEP.cells()
    assert len(cells) == 2 * 2 * 3 * 12
    assert {c.n_labeled for c in cells} == {100}
    with pytest.raises(
        ValueError, match="rice is not among the images of this study: digits, mnist"
    ):
        ImageTask(replace(cells[0], dataset="rice"))


def test_the_network_sees_pixels_and_a_hundred_labels(task):
    assert task.X.shape == (1347, 64)
    assert len(task.X_test) == 450
    assert (task.X.min(), task.X.max()) == (0, 1)
    assert (task.labeled.sum(), set(task.y[~task.labeled])) == (100, {-1})
    np.testing.assert_array_equal(task.y[task.labeled], task.y_true[task.labeled])
    balanced = ImageTask(cell("iid"))
    assert np.bincount(balanced.y[balanced.labeled]).tolist() == [10] * 10
    assert (
        digits_cnn()(torch.zeros(2, 64)).shape == mnist_cnn()(torch.zeros(2, 784)).shape == (2, 64)
    )


def test_views_of_an_image_are_near_it_and_strong_ones_further():
    torch.manual_seed(0)
    images = torch.zeros(50, 8, 8)
    images[:, 2:6, 3:5] = 1
    images = images.flatten(1)
    apart = [float((view(images) - images).abs().mean()) for view in (weak, strong)]
    assert 0 < apart[0] < apart[1] < 0.5
    assert strong(images).shape == images.shape


@pytest.mark.filterwarnings("ignore:.*far fewer classes")  # after five steps
def test_every_method_is_worked_out_and_measured_on_the_test_rows():
    chosen = [c for c in DEEP.cells(["digits"], 1) if c.labeling == "ssb"]
    outcomes = list(work_out(DEEP, [replace(c, model={"n_steps": 5}) for c in chosen]))
    assert [one.reason for one in outcomes] == [""] * 12, outcomes
    results = [one.result for one in outcomes]
    assert [("accepted_at_end" in result) for result in results] == [False] * 5 + [True] * 7
    assert all(round(450 * result["accuracy"], 6).is_integer() for result in results)


def test_self_training_starts_from_the_shared_first_fit(task):
    fitted = DEEP.methods["csta-tsim"].run(task, **DEEP.methods["csta-tsim"].options)
    alone = fitted.__class__(task.estimator(), policy=fitted.policy, confidence=fitted.confidence)
    alone.fit(task.X, task.y)
    np.testing.assert_array_equal(
        fitted.predict_proba(task.X_test), alone.predict_proba(task.X_test)
    )


def test_its_table_has_a_row_for_each_method_and_a_column_for_each_labelling():
    results = [
        (c, {"accuracy": 0.8 + 0.1 * (c.seed == 0)})
        for c in DEEP.cells(["digits"], 2)
        if c.labeling == "iid"
    ]
    assert "| Digits | PL, softmax | 85.0 ± 5.0 (2) |  |" in to_markdown(DEEP, results)
