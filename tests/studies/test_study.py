"""The core of a study: its grid, what cells share, what methods get, what it says of results."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from studies import STUDIES
from studies.methods import PL, TABLE
from studies.peers import label_spreading
from studies.results import results_of, to_markdown
from studies.runner import run
from studies.store import Store, key_of
from studies.study import LABELINGS, SEEDS, Method, Study, Task, accuracy


def one_cell(name, dataset, labeling="ssb", method="erm", **changes):
    cells = STUDIES[name].cells([dataset], 1)
    (cell,) = [c for c in cells if c.labeling == labeling and c.method == method][:1]
    return replace(cell, model={"n_steps": 30}, **changes)


def test_a_grid_can_be_restricted():
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


class OwnBias(Task):
    """Draws labels as the user likes."""

    def _labeled(self, seed):
        return np.arange(len(self.y_true)) % 5 == 0


def keys_of(study):
    return [key_of(cell.content()) for cell in study.cells(["digits"], 1)]


def made_with(constant):
    return lambda task, fitted: {"accuracy": constant}


def weighted_accuracy(task, fitted, weight):
    return {"accuracy": weight}


class Constant:
    """A measure that is an object."""

    def __init__(self, number):
        self.number = number

    def __call__(self, task, fitted):
        return {"accuracy": self.number}


def test_what_is_run_is_part_of_a_cells_key():
    table = replace(STUDIES["table-ssb"], methods={"erm": STUDIES["table-ssb"].methods["erm"]})
    one_line = [lambda task, fitted: {"accuracy": 1.0}, lambda task, fitted: {"accuracy": 2.0}]
    studies = [
        table,
        replace(table, task=OwnBias),
        replace(table, methods={"erm": Method(lambda task: task.initial)}),
        replace(
            table, methods={"erm": Method(label_spreading)}
        ),  # a function of this package, under another name
        *(replace(table, measure=measure) for measure in one_line),
        *(replace(table, measure=made_with(number)) for number in (1.0, 2.0)),
        *(
            replace(table, measure=partial(weighted_accuracy, weight=number))
            for number in (1.0, 2.0)
        ),
        *(replace(table, measure=Constant(number)) for number in (1.0, 2.0)),
    ]
    keys = [key for study in studies for key in keys_of(study)]
    assert len(set(keys)) == len(keys) == len(studies)
    assert keys_of(replace(table, task=OwnBias)) == keys_of(replace(table, task=OwnBias))
    assert [cell.code for cell in table.cells()] == [""] * len(table.cells())


SCRIPT = """
import {library} as library
LIMIT = {limit}

def helper(number):
    return library.floor(number) > LIMIT{comment}

def measure(task, fitted):
    return {{"accuracy": float(any(helper(k) for k in range(3)))}}
"""


@pytest.mark.parametrize(
    ("change", "is_other_code"),
    [
        ({"limit": 2}, True),
        ({"library": "scipy"}, True),
        ({"comment": "  # strictly"}, False),
        ({"module": "__main__"}, False),
        ({"module": None}, False),  # as functions made by exec have it
    ],
)
def test_a_key_follows_the_code_that_a_function_reaches_and_no_comments(change, is_other_code):
    def measure_of(**change):
        script = {"limit": 1, "comment": "", "library": "math", "module": "a_script"} | change
        namespace = {"__name__": script["module"]}
        exec(SCRIPT.format(**script), namespace)
        return namespace["measure"]

    table = STUDIES["table-ssb"]
    first, second = (keys_of(replace(table, measure=measure_of(**some))) for some in ({}, change))
    assert (first != second) == is_other_code


def test_labels_follow_the_paper():
    task = Task(one_cell("table-ssb", "digits"))
    assert task.labeled.sum() == 99
    assert len(task.y_test) == 450
    assert set(task.y[~task.labeled]) == {-1}
    assert np.array_equal(task.y[task.labeled], task.y_true[task.labeled])
    task = Task(one_cell("table-iid", "digits", "iid"))
    assert np.bincount(task.y[task.labeled]).tolist() == [10] * 10


def test_labels_can_also_be_drawn_from_all_rows_or_within_each_class(blobs):
    study = Study("mine", "", (blobs,), ("random", "stratified"))
    cells = {cell.labeling: cell for cell in study.cells(n_seeds=1)}
    assert {(cell.n_labeled, cell.r, cell.alpha) for cell in cells.values()} == {(20, None, None)}
    assert set(cells) < set(LABELINGS)
    counts = {
        labeling: [
            np.bincount(task.y[task.labeled], minlength=2).tolist()
            for task in (Task(replace(cell, seed=seed)) for seed in range(8))
        ]
        for labeling, cell in cells.items()
    }
    assert counts["stratified"] == [[9, 11]] * 8
    assert all(sum(count) == 20 for count in counts["random"])
    assert len({count[0] for count in counts["random"]}) > 1


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


def test_work_done_once_is_kept(blobs):
    task, done = Task(one_cell("table-ssb", blobs)), []
    assert [task.once("a", lambda: done.append(1) or len(done)) for _ in range(3)] == [1, 1, 1]
    assert task.once("b", lambda: 2) == 2
    assert task.initial is task.initial


def test_accuracy_is_that_of_the_test_rows_and_any_classifier_will_do(blobs):
    task = Task(one_cell("table-ssb", blobs))
    model = LogisticRegression().fit(task.X[task.labeled], task.y[task.labeled])
    assert accuracy(task, model) == {"accuracy": model.score(task.X_test, task.y_test)}
    trained = TABLE["csta-tsim"].run(task, **TABLE["csta-tsim"].options)
    result = accuracy(task, trained)
    right = trained.transduction_[~task.labeled] == task.y_true[~task.labeled]
    assert result["share_accepted"] == 1
    assert result["accepted_accuracy"] == pytest.approx(right.mean())
    assert (result["stopped"], result["n_rounds"]) == ("all_labeled", 3)


def test_labels_in_a_column_score_as_labels_in_a_row(blobs):
    class ColumnOfLabels(LogisticRegression):
        """Predicts labels of shape (n, 1), as CatBoost does for several classes."""

        def predict(self, X):
            return super().predict(X)[:, None]

    task = Task(one_cell("table-ssb", blobs))
    rows, labels = task.X[task.labeled], task.y[task.labeled]
    expected = accuracy(task, LogisticRegression().fit(rows, labels))
    assert accuracy(task, ColumnOfLabels().fit(rows, labels)) == expected


def test_a_parameter_of_the_cell_of_the_network_and_of_the_method_can_vary(blobs):
    def varied(name, values):
        study = Study("mine", "", (blobs,), ("ssb",), PL, vary=(name, values))
        return study, study.cells(n_seeds=1)

    study, cells = varied("n_labeled", (10, 20))
    assert (
        [cell.n_labeled for cell in cells]
        == [10, 20, 10, 20]
        == [study.value_of(cell) for cell in cells]
    )
    study, cells = varied("gamma", (0.0, 1.0))
    assert [cell.model for cell in cells[:2]] == [{"gamma": 0.0}, {}]
    assert [study.value_of(cell) for cell in cells[:2]] == [0.0, 1.0]
    study, cells = varied("threshold", (0.7, 0.9))
    assert [cell.options["threshold"] for cell in cells[:2]] == [0.7, 0.9]
    with pytest.raises(ValueError, match=r"'width' cannot be varied: .*no option of pl-softmax"):
        varied("width", (1, 2))


def test_an_option_that_cannot_be_stored_is_told_by_name(blobs):
    def study_of(**options):
        return Study("mine", "", (blobs,), methods={"own": Method(label_spreading, options)})

    message = (
        r"option 'kernel' of the method 'own' is a function; .*partial\(function, kernel=\.\.\."
    )
    with pytest.raises(TypeError, match=message):
        study_of(kernel=far_out).cells()
    assert study_of(gamma=np.float32(0.5), sizes=np.arange(2)).cells()


def far_out(X, y, rng, n_labeled):
    """Label the rows that are farthest from the middle, one more at random."""
    farthest = np.argsort(np.abs(X).sum(axis=1))[-n_labeled:]
    mask = np.isin(np.arange(len(X)), farthest)
    mask[rng.integers(len(X))] = True
    return mask


def test_an_own_bias_is_a_function_in_one_line(blobs, tmp_path, inline):
    study = Study("mine", "", (blobs,), ("ssb", "far"), biases={"far": far_out})
    ssb, far = study.cells(n_seeds=1)
    assert (far.labeling, far.n_labeled, far.r, far.alpha) == ("far", 20, None, None)
    assert not ssb.code  # the published cell

    task = study.make_task(far)
    distance = np.abs(task.X).sum(axis=1)
    assert 20 <= task.labeled.sum() <= 21
    assert np.sum(distance[task.labeled] >= np.sort(distance)[-20]) == 20
    assert np.array_equal(task.labeled, study.make_task(far).labeled)
    assert np.array_equal(task.X, study.make_task(ssb).X)  # the split of the seed is the same

    store = Store(tmp_path)
    assert run(study, study.cells(n_seeds=1), store).n_done == 2
    found = results_of(study.cells(n_seeds=1), store)
    report = to_markdown(study, found)
    assert "| FAR |" in report
    assert study.words_of("far") == "labels drawn by far"
    # What the bias drew is counted, in the frame and in the report.
    n_far = task.labeled.sum()
    assert found.to_frame()["n_labeled"].tolist() == [20, n_far]
    assert f"FAR labels {n_far} rows of blobs, on average." in report
    assert key_of(far.content()) == key_of(study.cells(n_seeds=1)[1].content())


def test_cells_of_an_own_bias_are_those_of_its_code(blobs):
    def keys(bias, **changes):
        study = Study("mine", "", (blobs,), ("mine",), biases={"mine": bias}, **changes)
        return [key_of(cell.content()) for cell in study.cells(n_seeds=1)]

    def of_class(X, y, rng, wanted):
        return y == wanted

    first, second = (partial(of_class, wanted=wanted) for wanted in (0, 1))
    assert keys(first) == keys(first) != keys(second)
    # One that takes n_labeled gets the study's number, which may vary; for another it is unknown.
    study = Study("mine", "", (blobs,), ("mine",), biases={"mine": first})
    assert [cell.n_labeled for cell in study.cells(n_seeds=1)] == [0]
    assert len(set(keys(far_out, vary=("n_labeled", np.array([10, 20]))))) == 2
    with pytest.raises(ValueError, match="'n_labeled' cannot be varied: mine draws its labels"):
        keys(first, vary=("n_labeled", (10, 20)))


@pytest.mark.parametrize(
    ("bias", "message"),
    [
        (lambda X, y, rng: rng.permutation(len(X))[:20], r"shape \(20,\) and type int64; expected"),
        (lambda X, y, rng: y == 1, r"labelled 82 of 150 rows, of 1 classes; at least two"),
        (lambda X, y, rng: X.__setitem__(0, 0.0), "read-only"),
    ],
)
def test_a_bias_that_is_none_is_told_in_one_sentence(blobs, bias, message):
    study = Study("mine", "", (blobs,), ("mine",), biases={"mine": bias})
    with pytest.raises(ValueError, match=message):
        study.make_task(study.cells(n_seeds=1)[0])


def test_an_unknown_labelling_is_refused_before_any_work(blobs):
    def cells(*labelings, **options):
        return Study("mine", "", (blobs,), labelings, **options).cells()

    with pytest.raises(
        ValueError, match=r"no labelling 'sbs'; choose from iid, ssb, .*: biases=\{'sbs': function"
    ):
        cells("sbs")
    with pytest.raises(ValueError, match="'ssb' is a labelling of the studies; rename"):
        cells("ssb", biases={"ssb": far_out})
    with pytest.raises(ValueError, match=r"'far' is 3; expected a function \(X, y, rng\)"):
        cells("far", biases={"far": 3})
    with pytest.raises(ValueError, match="tasks of mine draw their labels themselves"):
        cells("far", biases={"far": far_out}, task=lambda cell: None)
    with pytest.raises(ValueError, match="Labels 'group' are drawn from real tables"):
        Task(replace(one_cell("table-ssb", blobs), labeling="group"))
