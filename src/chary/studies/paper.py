"""A name of a table or figure of the paper in; its grid of cells, and how to work one of them out, out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from chary.evaluation import confidence_auroc, expected_calibration_error, risk_coverage_curve
from chary.method import (
    Curriculum,
    DiverseEnsembleClassifier,
    FixedThreshold,
    SelfTrainingClassifier,
    TransductiveBound,
)
from chary.studies import datasets
from chary.studies.labeling import iid, selection_biased, train_test_protocol

# The authors' nine seeds.
SEEDS = (0, 1, 42, 100, 1000, 2000, 1234, 3407, 380843)
ALL = tuple(facts.name for facts in datasets.FACTS)
CONFIDENCES = ("softmax", "t_similarity")
_NETWORK = DiverseEnsembleClassifier().get_params()
_KIND = {"softmax": "max_probability", "t_similarity": "t_similarity"}


@dataclass(frozen=True)
class Cell:
    """One run: all that its result depends on. The fields up to ``model`` fix the shared first fit."""

    dataset: str
    data: str  # checksum of the data's content
    labeling: str  # "iid" or "ssb"
    n_labeled: int
    r: float | None  # strength of the bias; None under "iid"
    alpha: float | None  # 1 is the paper's bias, 0 none; None under "iid"
    seed: int
    model: Mapping[str, Any]  # parameters of the network that differ from its defaults
    method: str
    options: Mapping[str, Any]  # parameters of the method
    measure: str

    def content(self) -> dict[str, Any]:
        """The cell as plain values, for its file and its key."""
        return asdict(self)

    @property
    def group(self) -> str:
        """Equal for cells that share data, labels and first fit."""
        content = self.content()
        return json.dumps([content[name] for name in list(content)[:8]], sort_keys=True)


class Task:
    """What a method gets to work on: data with some labels, the model to use, and its first fit."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        dataset = datasets.load(cell.dataset)
        split = train_test_protocol(dataset.X, dataset.y, random_state=self._seed(0))
        self.X, self.X_test = split.X_train, split.X_test
        _, codes = np.unique(np.concatenate([split.y_train, split.y_test]), return_inverse=True)
        self.y_true, self.y_test = np.split(codes, [len(self.X)])
        if cell.labeling == "iid":
            self.labeled = iid(self.y_true, cell.n_labeled, self._seed(1))
        else:
            r, alpha = float(cell.r or 0), float(1 if cell.alpha is None else cell.alpha)
            self.labeled = selection_biased(self.X, self.y_true, cell.n_labeled, r, alpha, self._seed(1))
        self.y = np.where(self.labeled, self.y_true, -1)  # class codes; -1 where the label is hidden
        self.random_state = self._seed(2)
        self._kept: dict[Any, Any] = {}

    def estimator(self, **changes: Any) -> DiverseEnsembleClassifier:
        """The model of this cell, not fitted."""
        # The protocol has standardised the columns already.
        params = {"standardize": False, "random_state": self.random_state, **self.cell.model, **changes}
        return DiverseEnsembleClassifier(**params)

    @cached_property
    def initial(self) -> DiverseEnsembleClassifier:
        """The model fitted on the labels given: every method of this seed starts from it."""
        return self.estimator().fit(self.X, self.y)

    def once(self, what: Any, work: Callable[[], Any]) -> Any:
        """The outcome of some work, kept for the other cells that share this task."""
        if what not in self._kept:
            self._kept[what] = work()
        return self._kept[what]

    def _seed(self, purpose: int) -> int:
        """One stream per data set, seed and purpose (split, labels, model), whatever else the cell says."""
        entropy = [self.cell.seed, int(self.cell.data[:16], 16), purpose]
        return int(np.random.SeedSequence(entropy).generate_state(1)[0])


class Method(NamedTuple):
    """How to get from a task to a classifier."""

    run: Callable[..., Any]  # (task, **options) -> anything with predict
    options: Mapping[str, Any] = {}


def erm(task: Task) -> DiverseEnsembleClassifier:
    """The supervised baseline: no pseudo-labels."""
    return task.initial


def pseudo_labels(task: Task, confidence: str, threshold: float, **options: Any) -> SelfTrainingClassifier:
    """PL: accept above a fixed threshold."""
    return _self_train(task, confidence, FixedThreshold(threshold), **options)


def curriculum(task: Task, confidence: str, step: float, **options: Any) -> SelfTrainingClassifier:
    """CSTA: accept a growing share."""
    return _self_train(task, confidence, Curriculum(step), **options)


def transductive(task: Task, confidence: str, index: str, **options: Any) -> SelfTrainingClassifier:
    """MSTA: accept what a bound on the error allows."""
    return _self_train(task, confidence, TransductiveBound(index=index), **options)


def _self_train(task: Task, confidence: str, policy: Any, **options: Any) -> SelfTrainingClassifier:
    model = SelfTrainingClassifier(task.estimator(), policy=policy, confidence=confidence, **options)
    return model.fit(task.X, task.y, initial=task.initial)


def _both(name: str, run: Callable[..., Any], **options: Any) -> dict[str, Method]:
    return {
        f"{name}-softmax": Method(run, {"confidence": "softmax", **options}),
        f"{name}-tsim": Method(run, {"confidence": "t_similarity", **options}),
    }


PL = _both("pl", pseudo_labels, threshold=0.8)
CSTA = _both("csta", curriculum, step=0.4)
MSTA = _both("msta", transductive, index="confidence")
ERM = {"erm": Method(erm)}
TABLE = {
    **ERM,
    **PL,
    **CSTA,
    **MSTA,
    # The class of the prediction, not of the confidence, picks the threshold: see TransductiveBound.
    "msta-tsim-prediction": Method(transductive, {"confidence": "t_similarity", "index": "prediction"}),
}


def accuracy(task: Task, fitted: Any) -> dict[str, Any]:
    """Test accuracy and, of a self-trained model, what it accepted."""
    result: dict[str, Any] = {"accuracy": float(np.mean(fitted.predict(task.X_test) == task.y_test))}
    if isinstance(fitted, SelfTrainingClassifier):
        accepted = fitted.labeled_iter_ > 0
        right = fitted.transduction_[accepted] == task.y_true[accepted]
        result["n_rounds"] = fitted.n_rounds_
        result["stopped"] = fitted.termination_condition_
        result["share_accepted"] = float(accepted.sum() / (~task.labeled).sum())
        result["accepted_accuracy"] = float(right.mean()) if accepted.any() else None
    return result


def calibration(task: Task, fitted: Any) -> dict[str, Any]:
    """How honest both confidences are on the unlabelled rows."""
    result: dict[str, Any] = {"accuracy": float(np.mean(fitted.predict(task.X_test) == task.y_test))}
    for name, confidence, right in _confidences(task, fitted):
        auroc = confidence_auroc(confidence, right)
        result[f"{name}_ece"] = expected_calibration_error(confidence, right)
        result[f"{name}_ece_mass"] = expected_calibration_error(confidence, right, bins="mass")
        result[f"{name}_auroc"] = None if np.isnan(auroc) else auroc
        result[f"{name}_aurc"] = risk_coverage_curve(confidence, right).area
    return result


def confidence_histogram(task: Task, fitted: Any) -> dict[str, Any]:
    """Counts of right and wrong predictions on the unlabelled rows, in 20 bins of confidence."""
    result = {}
    for name, confidence, right in _confidences(task, fitted):
        result[f"{name}_right"] = np.histogram(confidence[right], 20, (0, 1))[0].tolist()
        result[f"{name}_wrong"] = np.histogram(confidence[~right], 20, (0, 1))[0].tolist()
    return result


def leave_one_out(task: Task, fitted: Any) -> dict[str, Any]:
    """Accuracy on each labelled row by a model of the others, beside the test accuracy of the full model."""
    # Backbone and prediction head never see the unlabelled rows, nor the ensemble's gradient: leave them out.
    X, y = task.X[task.labeled], task.y[task.labeled]
    hits = []
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        model = task.estimator().fit(X[others], y[others])
        hits.append(bool(model.predict(X[i : i + 1])[0] == y[i]))
    return {"leave_one_out": float(np.mean(hits)), **accuracy(task, fitted)}


def projections(task: Task, fitted: Any) -> dict[str, Any]:
    """All training rows and the labelled ones on the first two principal components, rows thinned to 600."""
    scores = PCA(2, svd_solver="covariance_eigh").fit_transform(task.X)
    shown = np.random.default_rng(task.random_state).permutation(len(scores))[:600]
    edges = np.histogram_bin_edges(scores[:, 0], 40)
    return {
        "edges": edges.round(4).tolist(),
        "all": np.histogram(scores[:, 0], edges)[0].tolist(),
        "labeled": np.histogram(scores[task.labeled, 0], edges)[0].tolist(),
        "points_all": scores[shown].round(3).tolist(),
        "points_labeled": scores[task.labeled].round(3).tolist(),
    }


def plane(task: Task, fitted: Any) -> dict[str, Any]:
    """Both confidences and the prediction on a grid over two-dimensional data."""
    low, high = task.X.min(axis=0) - 0.4, task.X.max(axis=0) + 0.4
    axes = [np.linspace(low[k], high[k], 60) for k in (0, 1)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    maps = {name: fitted.predict_confidence(grid, _KIND[name]).round(3).tolist() for name in CONFIDENCES}
    shown = np.random.default_rng(task.random_state).permutation(len(task.X))[:400]
    return {
        "axes": [axis.round(4).tolist() for axis in axes],
        **maps,
        "prediction": fitted.predict(grid).tolist(),
        "points": task.X[shown].round(3).tolist(),
        "points_class": task.y_true[shown].tolist(),
        "labeled": task.X[task.labeled].round(3).tolist(),
        "labeled_class": task.y[task.labeled].tolist(),
        **calibration(task, fitted),
    }


def _confidences(task: Task, fitted: Any) -> Iterable[tuple[str, NDArray[Any], NDArray[np.bool_]]]:
    X, y = task.X[~task.labeled], task.y_true[~task.labeled]
    right = fitted.predict(X) == y
    return [(name, fitted.predict_confidence(X, _KIND[name]), right) for name in CONFIDENCES]


@dataclass(frozen=True)
class Study:
    """A table or figure as a grid: data sets x labellings x methods x values of one parameter x seeds.

    To add a method, data set or measure, make a changed copy with ``dataclasses.replace``.
    """

    name: str
    title: str
    datasets: tuple[str, ...] = ALL
    labelings: tuple[str, ...] = ("iid", "ssb")
    methods: Mapping[str, Method] = field(default_factory=lambda: ERM)
    measure: Callable[[Task, Any], dict[str, Any]] = accuracy
    # A field of the cell, a parameter of the network or an option of the methods, and its values.
    vary: tuple[str, tuple[Any, ...]] | None = None
    seeds: tuple[int, ...] = SEEDS
    # (results, results of the same methods under "iid") -> sentences for the report, besides the usual ones.
    conclude: Callable[[Any, Any], list[str]] | None = None

    def cells(self, names: Iterable[str] | None = None, n_seeds: int | None = None) -> list[Cell]:
        """The grid, restricted to some data sets and to the first seeds if asked.

        Beyond the study's own seeds come 5000, 5001, ...
        """
        chosen = self.datasets if names is None else list(names)
        n_seeds = len(self.seeds) if n_seeds is None else n_seeds
        seeds = [*self.seeds[:n_seeds], *range(5000, 5000 + n_seeds - len(self.seeds))]
        cells = []
        for name in chosen:
            facts = _facts(name)
            for seed, labeling in product(seeds, self.labelings):
                cells += [
                    self._cell(facts, labeling, seed, method, value)
                    for method, value in product(self.methods, self.vary[1] if self.vary else (None,))
                ]
        return cells

    def _cell(self, facts: _DataFacts, labeling: str, seed: int, method: str, value: Any) -> Cell:
        biased = labeling == "ssb"
        cell = Cell(
            dataset=facts.name,
            data=facts.sha256,
            labeling=labeling,
            n_labeled=facts.n_labeled if biased else facts.n_labeled_iid,
            r=facts.r if biased else None,
            alpha=1.0 if biased else None,
            seed=seed,
            model={},
            method=method,
            options=dict(self.methods[method].options),
            measure=self.measure.__name__,
        )
        if self.vary is None:
            return cell
        name = self.vary[0]
        if name in cell.__dataclass_fields__:
            return replace(cell, **{name: value})
        if name in cell.options:
            return replace(cell, options={**cell.options, name: value})
        if name not in _NETWORK:
            raise ValueError(
                f"{name!r} cannot be varied: it is no field of a cell, no parameter of the network, and no option "
                f"of {method}; leave that method out."
            )
        return cell if value == _NETWORK[name] else replace(cell, model={name: value})

    def value_of(self, cell: Cell) -> Any:
        """The varied parameter's value in a cell; None where nothing varies."""
        if self.vary is None:
            return None
        name = self.vary[0]
        if name in cell.__dataclass_fields__:
            return getattr(cell, name)
        return {**_NETWORK, **cell.model, **cell.options}[name]


class _DataFacts(NamedTuple):
    name: str
    n_labeled: int
    n_labeled_iid: int
    r: float
    sha256: str


def _facts(name: str) -> _DataFacts:
    if name.endswith(".npz") or name == datasets.MOONS:
        d = datasets.load(name)
        return _DataFacts(name, d.n_labeled, d.labels_per_class * len(np.unique(d.y)), d.r, d.sha256)
    f = datasets.find(name)
    return _DataFacts(f.name, f.n_labeled, f.labels_per_class * f.n_classes, f.r, datasets.checksum(f.name))


_SELF_TRAINING = {**PL, **CSTA, **MSTA}
# Accepted rows weigh, together, as much as the given labels: so that a one-sided first harvest cannot take over.
_BALANCED = {n: Method(m.run, {**m.options, "balance_weights": True}) for n, m in _SELF_TRAINING.items()}
_SOFTMAX = {name: method for name, method in _SELF_TRAINING.items() if name.endswith("softmax")}
_TSIM = {name: method for name, method in _SELF_TRAINING.items() if name.endswith("tsim")}
_MUSHROOMS = ("mushrooms",)

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study(
            "table-ssb",
            "Biased labels: on most data sets self-training does better with T-similarity",
            labelings=("ssb",),
            methods=TABLE,
        ),
        Study(
            "table-iid",
            "Random labels: softmax and T-similarity are close, except in PL",
            labelings=("iid",),
            methods=TABLE,
        ),
        Study(
            "table-balanced",
            "Accepted rows weighed down: PL with T-similarity no longer collapses",
            methods=ERM | _BALANCED,
        ),
        Study(
            "failure-of-softmax",
            "Biased labels cost accuracy; softmax self-training seldom wins it back",
            methods=ERM | _SOFTMAX,
        ),
        Study(
            "figure-bias",
            "Biased labels sit at the ends of the first principal component",
            _MUSHROOMS,
            measure=projections,
            seeds=SEEDS[:1],
        ),
        Study(
            "figure-confidence",
            "Softmax is sure of many mistakes, T-similarity of almost none",
            ("mnist", "coil20", "dna", "har", "digits", "protein"),
            measure=confidence_histogram,
        ),
        Study(
            "figure-calibration",
            "More diversity: T-similarity falls ever further below the accuracy",
            ("cod_rna", "digits", "dna", "dry_bean", "mushrooms", "protein"),
            measure=calibration,
            vary=("gamma", (0.0, 0.5, 1.0, 1.5, 2.0)),
        ),
        Study(
            "figure-threshold",
            "Biased labels: T-similarity beats softmax at nearly every threshold of PL",
            ("mushrooms", "phishing", "svmguide1"),
            methods=PL,
            vary=("threshold", (0.7, 0.8, 0.9, 0.95)),
        ),
        Study(
            "figure-model-selection",
            "Biased labels: leave-one-out promises far more than the test set keeps",
            ("mnist", "mushrooms", "protein"),
            measure=leave_one_out,
        ),
        Study(
            "figure-interpolation",
            "Only strong bias hurts; at full bias softmax breaks PL and CSTA",
            _MUSHROOMS,
            labelings=("ssb",),
            methods=ERM | _SELF_TRAINING,
            vary=("alpha", (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)),
        ),
        Study(
            "figure-n-labeled",
            "Biased labels: the choice of confidence matters while labels are few",
            _MUSHROOMS,
            methods=ERM | _SELF_TRAINING,
            vary=("n_labeled", (20, 50, 100, 200, 500, 1000, 2000)),
        ),
        Study(
            "figure-gamma",
            "Biased labels: PL and CSTA need the diversity, MSTA does not",
            _MUSHROOMS,
            methods=ERM | _TSIM,
            vary=("gamma", (0.0, 0.5, 1.0, 1.5, 2.0)),
        ),
        Study(
            "figure-n-heads",
            "Two heads do as well as ten",
            _MUSHROOMS,
            methods=ERM | _TSIM,
            vary=("n_heads", (2, 5, 10)),
        ),
        Study(
            "figure-intro",
            "Away from the labels softmax stays sure, diverse heads disagree",
            (datasets.MOONS,),
            labelings=("ssb",),
            measure=plane,
            seeds=SEEDS[:1],
        ),
    )
}
