"""Studies: the grids of the paper, what cells share, what methods get, and every measure once."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.self_training import SelfTrainingClassifier
from chary.studies import paper as studies
from chary.studies.paper import ALL, SEEDS, STUDIES, TABLE, Method, Study, Task
from chary.studies.store import key_of


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    """A small data set of one's own."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [90, 110])
    X = rng.normal(size=(200, 3)) + 2 * y[:, None]
    path = tmp_path_factory.mktemp("data") / "blobs.npz"
    np.savez(path, X=X, y=y, n_labeled=20, r=1.0)
    return str(path)


def one_cell(name, dataset, labeling="ssb", method="erm", **changes):
    cells = STUDIES[name].cells([dataset], 1)
    (cell,) = [c for c in cells if c.labeling == labeling and c.method == method][:1]
    return replace(cell, model={"n_steps": 30}, **changes)


def test_the_paper_is_here_as_named_studies():
    assert {name.partition("-")[0] for name in STUDIES} == {"table", "failure", "figure"}
    assert len(STUDIES) == 14  # the paper's, and the tables once more with balanced weights
    for name in ("table-ssb", "table-iid"):
        assert len(STUDIES[name].cells()) == 13 * 9 * 8  # the paper's seven methods and one more
    assert STUDIES["figure-threshold"].vary == ("threshold", (0.7, 0.8, 0.9, 0.95))
    assert STUDIES["figure-n-heads"].vary == ("n_heads", (2, 5, 10))
    assert STUDIES["figure-gamma"].vary == ("gamma", (0.0, 0.5, 1.0, 1.5, 2.0))
    assert STUDIES["figure-interpolation"].vary[1][0] == 0
    assert STUDIES["figure-n-labeled"].vary[1][-1] == 2000


def test_a_grid_names_every_cell_once_and_can_be_restricted():
    for study in STUDIES.values():
        keys = [key_of(cell.content()) for cell in study.cells()]
        assert len(set(keys)) == len(keys), study.name
    cells = STUDIES["table-ssb"].cells(["digits"], 2)
    assert {cell.seed for cell in cells} == set(SEEDS[:2])
    assert {cell.method for cell in cells} == set(TABLE)


def test_studies_share_the_cells_they_have_in_common():
    def keys(name):
        return {key_of(cell.content()) for cell in STUDIES[name].cells()}

    tables = keys("table-ssb") | keys("table-iid")
    assert keys("failure-of-softmax") <= tables
    for name, value in (("threshold", 0.8), ("gamma", 1.0), ("n-heads", 5), ("interpolation", 1.0)):
        study = STUDIES[f"figure-{name}"]
        at_default = {key_of(c.content()) for c in study.cells() if study.value_of(c) == value}
        assert at_default, name
        assert at_default <= tables, name


def test_adding_cells_moves_no_other_and_every_field_counts():
    cell = STUDIES["table-ssb"].cells(["digits"], 1)[0]
    changes = {"seed": 1, "alpha": 0.5, "n_labeled": 50, "r": 1.0, "model": {"gamma": 0.0}, "method": "other"}
    keys = {key_of(replace(cell, **{name: value}).content()) for name, value in changes.items()}
    assert len(keys | {key_of(cell.content())}) == len(changes) + 1


def test_labels_follow_the_paper():
    task = Task(one_cell("table-ssb", "digits"))
    assert task.labeled.sum() == 99
    assert len(task.y_test) == 450
    assert set(task.y[~task.labeled]) == {-1}
    assert np.array_equal(task.y[task.labeled], task.y_true[task.labeled])
    task = Task(one_cell("table-iid", "digits", "iid"))
    assert np.bincount(task.y[task.labeled]).tolist() == [10] * 10


def test_labellings_of_a_seed_share_the_split_and_seeds_differ(blobs):
    cells = [
        one_cell("table-ssb", blobs),
        one_cell("table-iid", blobs, "iid"),
        one_cell("table-ssb", blobs, seed=1),
    ]
    ssb, iid, other = (Task(cell) for cell in cells)
    assert np.array_equal(ssb.X, iid.X)
    assert not np.array_equal(ssb.X, other.X)
    assert ssb.random_state == iid.random_state != other.random_state


def test_all_methods_of_a_seed_start_from_one_fit(blobs, monkeypatch):
    fits = []
    original = DiverseEnsembleClassifier.fit
    monkeypatch.setattr(
        DiverseEnsembleClassifier, "fit", lambda self, X, y: fits.append(y) or original(self, X, y)
    )
    task = Task(one_cell("table-ssb", blobs))
    for method in TABLE.values():
        method.run(task, **method.options)
    from_the_start = [y for y in fits if np.array_equal(y, task.y)]
    assert len(from_the_start) == 1
    assert len(fits) > 8


@pytest.mark.parametrize("name", sorted(set(TABLE) - {"erm"}))
def test_a_shared_first_fit_changes_nothing(blobs, name):
    task = Task(one_cell("table-ssb", blobs))
    method = TABLE[name]
    shared = method.run(task, **method.options)
    alone = SelfTrainingClassifier(task.estimator(), policy=shared.policy, confidence=shared.confidence)
    alone.fit(task.X, task.y)
    assert np.array_equal(shared.transduction_, alone.transduction_)
    assert np.array_equal(shared.predict_proba(task.X_test), alone.predict_proba(task.X_test))


def test_accuracy_is_that_of_the_test_rows_and_any_classifier_will_do(blobs):
    task = Task(one_cell("table-ssb", blobs))
    model = LogisticRegression().fit(task.X[task.labeled], task.y[task.labeled])
    assert studies.accuracy(task, model) == {"accuracy": model.score(task.X_test, task.y_test)}
    trained = TABLE["csta-tsim"].run(task, **TABLE["csta-tsim"].options)
    result = studies.accuracy(task, trained)
    right = trained.transduction_[~task.labeled] == task.y_true[~task.labeled]
    assert result["share_accepted"] == 1
    assert result["accepted_accuracy"] == pytest.approx(right.mean())
    assert (result["stopped"], result["n_rounds"]) == ("all_labeled", 3)


def test_histograms_and_calibration_look_at_the_unlabelled_rows(blobs):
    task = Task(one_cell("table-ssb", blobs))
    histogram = studies.confidence_histogram(task, task.initial)
    n_right = (task.initial.predict(task.X[~task.labeled]) == task.y_true[~task.labeled]).sum()
    for name in studies.CONFIDENCES:
        assert sum(histogram[f"{name}_right"]) == n_right
        assert sum(histogram[f"{name}_right"]) + sum(histogram[f"{name}_wrong"]) == (~task.labeled).sum()
    figures = studies.calibration(task, task.initial)
    assert {
        f"{name}_{what}" for name in studies.CONFIDENCES for what in ("ece", "ece_mass", "auroc", "aurc")
    } < set(figures)


def test_leave_one_out_leaves_one_out(blobs, monkeypatch):
    task = Task(one_cell("figure-model-selection", blobs, n_labeled=8))
    seen = []
    original = DiverseEnsembleClassifier.fit
    monkeypatch.setattr(
        DiverseEnsembleClassifier, "fit", lambda self, X, y: seen.append(X) or original(self, X, y)
    )
    result = studies.leave_one_out(task, task.initial)
    X = task.X[task.labeled]
    assert [len(part) for part in seen[-8:]] == [7] * 8
    assert all(not (part == X[i]).all(axis=1).any() for i, part in enumerate(seen[-8:]))
    assert result["leave_one_out"] * 8 == pytest.approx(round(result["leave_one_out"] * 8))


def test_the_unlabelled_rows_do_not_touch_the_prediction_head(blobs):
    """What leave-one-out relies on, up to the rounding of larger matrix products."""
    task = Task(one_cell("table-ssb", blobs))
    alone = task.estimator().fit(task.X[task.labeled], task.y[task.labeled])
    assert np.array_equal(alone.predict(task.X_test), task.initial.predict(task.X_test))


def test_projections_and_plane_describe_the_data():
    task = Task(one_cell("figure-bias", "digits"))
    shown = studies.projections(task, None)
    assert sum(shown["all"]) == len(task.X)
    assert sum(shown["labeled"]) == len(shown["points_labeled"]) == 99
    assert len(shown["points_all"]) == 600
    task = Task(one_cell("figure-intro", "moons"))
    shown = studies.plane(task, task.initial)
    assert len(shown["softmax"]) == len(shown["t_similarity"]) == len(shown["prediction"]) == 3600
    assert all(0 <= value <= 1 for value in shown["t_similarity"])


def test_a_parameter_of_the_cell_of_the_network_and_of_the_method_can_vary(blobs):
    def varied(name, values):
        study = Study("mine", "", (blobs,), ("ssb",), studies.PL, vary=(name, values))
        return study, study.cells(n_seeds=1)

    study, cells = varied("n_labeled", (10, 20))
    assert [cell.n_labeled for cell in cells] == [10, 20, 10, 20] == [study.value_of(cell) for cell in cells]
    study, cells = varied("gamma", (0.0, 1.0))
    assert [cell.model for cell in cells[:2]] == [{"gamma": 0.0}, {}]
    assert [study.value_of(cell) for cell in cells[:2]] == [0.0, 1.0]
    study, cells = varied("threshold", (0.7, 0.9))
    assert [cell.options["threshold"] for cell in cells[:2]] == [0.7, 0.9]
    with pytest.raises(ValueError, match=r"'width' cannot be varied: .*no option of pl-softmax"):
        varied("width", (1, 2))


def test_a_method_of_ones_own_joins_a_study(blobs):
    def nearest(task, k):
        return KNeighborsClassifier(k).fit(task.X[task.labeled], task.y[task.labeled])

    study = replace(STUDIES["table-ssb"], methods={"nearest": Method(nearest, {"k": 3})})
    (cell,) = study.cells([blobs], 1)
    assert (cell.method, cell.options) == ("nearest", {"k": 3})
    task = Task(cell)
    assert studies.accuracy(task, nearest(task, **cell.options))["accuracy"] > 0.5


def test_cells_of_one_first_fit_form_a_group():
    cells = STUDIES["table-ssb"].cells(["digits"], 2)
    groups = [cell.group for cell in cells]
    assert len(set(groups)) == 2
    assert sum(a != b for a, b in pairwise(groups)) == 1


def test_the_thirteen_sets_in_the_order_of_the_paper():
    assert ALL[:3] == ("cod_rna", "coil20", "digits")
    assert len(ALL) == 13
