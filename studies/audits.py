"""The study of audits: what k random labels add, and what k more from the biased source do not."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary import Curriculum, SelfTrainingClassifier
from chary.audit import draw
from chary.method import selection_biased
from studies import figures
from studies.findings import data_sets, together
from studies.methods import first_mixture
from studies.results import summarize
from studies.study import Method, Results, Study, Task, right_on_test

SIZES = (0, 10, 20, 30, 50)
RANDOM, SAME = "random", "same"
# Cross-validation and cross-fitting double the work; tables wider than this are left out of both.


class Trained(NamedTuple):
    """A model and the rows that were labelled for it besides those given."""

    model: Any
    rows: NDArray[np.intp]
    source: str


def supervised(task: Task, source: str, k: int) -> Trained:
    """The network on the given labels and k more."""
    rows = extra_rows(task, source, k)
    return Trained(_first_fit(task, rows, source), rows, source)


def curriculum(task: Task, source: str, k: int) -> Trained:
    """The paper's CSTA with T-similarity on the given labels and k more."""
    rows = extra_rows(task, source, k)

    def fit() -> Any:
        model = SelfTrainingClassifier(
            task.estimator(), policy=Curriculum(0.4), confidence="t_similarity"
        )
        return model.fit(task.X, _with(task, rows), initial=_first_fit(task, rows, source))

    return Trained(task.once(("csta", k, source if k else ""), fit), rows, source)


def mixed(task: Task, source: str, k: int) -> Trained:
    """Unlike learners together on the given labels and k more."""
    rows = extra_rows(task, source, k)

    def fit() -> Any:
        return first_mixture(task).fit(task.X, _with(task, rows))

    return Trained(task.once(("mixed", k, source if k else ""), fit), rows, source)


def extra_rows(task: Task, source: str, k: int) -> NDArray[np.intp]:
    """Draw k more rows to label: at random (an audit), or as the first labels were."""
    if k == 0:
        return np.empty(0, dtype=np.intp)
    if source == RANDOM:
        return draw(task.labeled, max(SIZES), task._seed(3))[:k]
    if task.cell.labeling == "iid":
        return _balanced(task, k)
    # The same random numbers rank the rows, so that the first labels come first again.
    r, alpha = float(task.cell.r or 0), float(1 if task.cell.alpha is None else task.cell.alpha)
    more = selection_biased(task.X, task.y_true, task.cell.n_labeled + k, r, alpha, task._seed(1))
    return np.flatnonzero(more & ~task.labeled)


def audited(task: Task, trained: Trained) -> dict[str, Any]:
    """Test accuracy."""
    return {"accuracy": float(right_on_test(task, trained.model).mean())}


_MODELS = {"erm": supervised, "csta-tsim": curriculum, "mixed": mixed}
_TITLES = {"erm": "ERM", "csta-tsim": "CSTA T-sim", "mixed": "Mixed"}
_SOURCES = {RANDOM: "random", SAME: "same source"}


def headline(study: Study, results: Results) -> str:
    """What the largest number of biased labels that was tried is worth, from either source."""
    found = _worth(study, results, "ssb")
    k = max((worth.k for worth in found), default=0)
    found = [worth for worth in found if worth.k == k]
    if not found:
        return ""
    random, same = [x.random - x.start for x in found], [x.same - x.start for x in found]
    return (
        f"Where labels are biased, {k} random ones more add {_span(random)} points, {k} from the "
        f"same source {_span(same)} ({data_sets(min(x.n_sets for x in found))})"
    )


def conclude(study: Study, results: Results, companion: Results) -> list[str]:
    """What the study says, in sentences."""
    said = []
    for labeling in ("ssb", "iid"):
        said += [
            f"{labeling.upper()}, {x.model}, {x.n_sets} data sets: {x.start:.1f} without more "
            f"labels, {x.random:.1f} with {x.k} random ones ({x.random - x.start:+.1f}), "
            f"{x.same:.1f} with {x.k} from the same source ({x.same - x.start:+.1f})."
            for x in _worth(study, results, labeling)
        ]
    return said


AUDIT = Study(
    "audit",
    "A few labels more: of random rows, and of as many from the same source",
    methods={
        f"{name}-{source}": Method(
            run, {"source": source, "k": 0}, f"{_TITLES[name]} + {_SOURCES[source]}"
        )
        for name, run in _MODELS.items()
        for source in _SOURCES
    },
    measure=audited,
    vary=("k", SIZES),
    axis="Labels added",
    headline=headline,
    conclude=(conclude,),
    figure=partial(figures.extra_labels, models=_TITLES),
)


class _Worth(NamedTuple):
    """Accuracy of a model in percent, without more labels and with k of either source."""

    model: str
    k: int
    n_sets: int
    start: float
    random: float
    same: float


def _worth(study: Study, results: Results, labeling: str) -> list[_Worth]:
    """Means over the data sets and seeds that have all three."""
    lines = [
        x._replace(method=f"{x.method} {x.value}") for x in summarize(study, results, "accuracy")
    ]
    found = []
    for name, k in product(_MODELS, SIZES[1:]):
        three = together(
            lines, labeling, [f"{name}-{RANDOM} 0", f"{name}-{RANDOM} {k}", f"{name}-{SAME} {k}"]
        )
        if three:
            found.append(_Worth(name, k, len(three), *np.mean(list(three.values()), axis=0)))
    return found


def _span(gains: list[float]) -> str:
    low, high = f"{min(gains):.1f}", f"{max(gains):.1f}"
    return low if low == high else f"{low} to {high}"


def _first_fit(task: Task, rows: NDArray[np.intp], source: str) -> Any:
    """The supervised model, from which the others start."""
    if not len(rows):
        return task.initial
    return task.once(
        ("erm", len(rows), source), lambda: task.estimator().fit(task.X, _with(task, rows))
    )


def _with(task: Task, rows: NDArray[np.intp]) -> NDArray[Any]:
    y = task.y.copy()
    y[rows] = task.y_true[rows]
    return y


def _balanced(task: Task, k: int) -> NDArray[np.intp]:
    """k unlabelled rows, as many of each class as possible, at random within a class."""
    rng = np.random.default_rng(task._seed(4))
    rows = rng.permutation(np.flatnonzero(~task.labeled))
    codes = task.y_true[rows]
    by_class = np.argsort(codes, kind="stable")
    rank = np.empty(len(rows), dtype=np.intp)
    rank[by_class] = np.concatenate([np.arange(n) for n in np.bincount(codes)])
    return rows[np.argsort(rank, kind="stable")[:k]]
