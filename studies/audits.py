"""The study of audits: what k random labels add, and what k more from the biased source do not."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from chary import Curriculum, DiverseEnsembleClassifier, SelfTrainingClassifier
from chary.audit import accept_threshold, draw, score
from chary.audit.held_out import judge_folds
from chary.method import selection_biased
from studies import figures
from studies.findings import data_sets, together
from studies.methods import first_mixture
from studies.results import summarize
from studies.study import Method, Results, Study, Task

SIZES = (0, 10, 20, 30, 50)
RANDOM, SAME = "random", "same"
_ERRORS = (0.1, 0.2)
# Cross-validation and cross-fitting double the work; tables wider than this are left out of both.
_REFIT_WIDTH = 200


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
        model = SelfTrainingClassifier(task.estimator(), policy=Curriculum(0.4), confidence="t_similarity")
        return model.fit(task.X, _with(task, rows), initial=_first_fit(task, rows, source))

    return Trained(task.once(("csta", k, source if k else ""), fit), rows, source)


def mixed(task: Task, source: str, k: int) -> Trained:
    """Unlike learners together on the given labels and k more."""
    rows = extra_rows(task, source, k)

    def fit() -> Any:
        return first_mixture(task).fit(task.X, _with(task, rows))

    return Trained(task.once(("mixed", k, source if k else ""), fit), rows, source)


def extra_rows(task: Task, source: str, k: int) -> NDArray[np.intp]:
    """k more rows to label: drawn at random (an audit), or by the process that gave the first labels."""
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
    """Test accuracy; of a supervised model also what an audit says of the model without it, and the truth."""
    result: dict[str, Any] = {"accuracy": float(np.mean(trained.model.predict(task.X_test) == task.y_test))}
    if not isinstance(trained.model, DiverseEnsembleClassifier) or trained.source != RANDOM:
        return result
    k, refit = len(trained.rows), task.X.shape[1] <= _REFIT_WIDTH
    if k:
        result |= _audit_figures(task, trained.rows)
    if k == 0 and refit:
        result |= _cross_validated(task)
    if k == 30 and refit:
        result |= _cross_fitted(task, trained)
    return result


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
        f"Where labels are biased, {k} random ones more add {_span(random)} points, {k} from the same source "
        f"{_span(same)} ({data_sets(min(x.n_sets for x in found))})"
    )


def conclude(study: Study, results: Results, companion: Results) -> list[str]:
    """What the study says, in sentences."""
    said = []
    for labeling in ("ssb", "iid"):
        said += [
            f"{labeling.upper()}, {x.model}, {x.n_sets} data sets: {x.start:.1f} without more labels, "
            f"{x.random:.1f} with {x.k} random ones ({x.random - x.start:+.1f}), {x.same:.1f} with {x.k} from the "
            f"same source ({x.same - x.start:+.1f})."
            for x in _worth(study, results, labeling)
        ]
        said += _honesty(
            [(cell, result) for cell, result in results if cell.labeling == labeling], labeling.upper()
        )
    return said


AUDIT = Study(
    "audit",
    "A few labels more: of random rows, and of as many from the same source",
    methods={
        f"{name}-{source}": Method(run, {"source": source, "k": 0}, f"{_TITLES[name]} + {_SOURCES[source]}")
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
    lines = [x._replace(method=f"{x.method} {x.value}") for x in summarize(study, results, "accuracy")]
    found = []
    for name, k in product(_MODELS, SIZES[1:]):
        three = together(lines, labeling, [f"{name}-{RANDOM} 0", f"{name}-{RANDOM} {k}", f"{name}-{SAME} {k}"])
        if three:
            found.append(_Worth(name, k, len(three), *np.mean(list(three.values()), axis=0)))
    return found


def _span(gains: list[float]) -> str:
    low, high = f"{min(gains):.1f}", f"{max(gains):.1f}"
    return low if low == high else f"{low} to {high}"


def _honesty(results: Results, labeling: str) -> list[str]:
    """How often the intervals cover the truth and accepted rows keep their error."""
    said = []
    validated = [result for _, result in results if "cv_covers" in result]
    if validated:
        promised, truth, covers = (
            100 * np.mean([result[name] for result in validated]) for name in ("cv", "truth", "cv_covers")
        )
        said.append(
            f"{labeling}: cross-validation on the labels says {promised:.1f}, the truth is {truth:.1f}, and its "
            f"95 % interval covers the truth in {covers:.0f} % of {len(validated)} cases."
        )
    for what, name in (("audit", "covers"), ("cross-fitted", "cross_fit_covers")):
        found = [(cell.options["k"], result[name]) for cell, result in results if name in result]
        if found:
            by_size = {
                k: 100 * np.mean([hit for of, hit in found if of == k]) for k in sorted({k for k, _ in found})
            }
            sizes = ", ".join(f"{share:.0f} % at k = {k}" for k, share in by_size.items())
            total = 100 * np.mean([hit for _, hit in found])
            said.append(
                f"{labeling}: the {what} interval covers the truth in {total:.1f} % of {len(found)}: {sizes}."
            )
    for error in _ERRORS:
        kept = [result[f"kept_{error}"] for _, result in results if f"kept_{error}" in result]
        if kept:
            shares = np.array([result[f"accepted_{error}"] for _, result in results if f"kept_{error}" in result])
            said.append(
                f"{labeling}: accepted at an error of at most {100 * error:.0f} %, level 90 %: kept in "
                f"{100 * np.mean(kept):.1f} % of {len(kept)} audits; {100 * np.mean(shares > 0):.0f} % of "
                f"them could accept rows, {100 * np.mean(shares):.0f} % of the rows on average."
            )
    return said


def _first_fit(task: Task, rows: NDArray[np.intp], source: str) -> Any:
    """The supervised model, from which the others start."""
    if not len(rows):
        return task.initial
    return task.once(("erm", len(rows), source), lambda: task.estimator().fit(task.X, _with(task, rows)))


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


def _audit_figures(task: Task, rows: NDArray[np.intp]) -> dict[str, Any]:
    """The audit of the model that has not seen it, and whether what it says holds for all unlabelled rows."""
    pool = np.flatnonzero(~task.labeled)
    right = _pool_right(task)
    inside = np.searchsorted(pool, rows)
    found, truth = score(right[inside]), float(right.mean())
    figures = {"audit": found.share, "low": found.low, "high": found.high, "truth": truth}
    figures["covers"] = float(found.low <= truth <= found.high)
    confidence = task.once("confidence", lambda: task.initial.predict_confidence(task.X[pool], "t_similarity"))
    for error in _ERRORS:
        accepted = accept_threshold(confidence[inside], right[inside], confidence, error)
        above = confidence >= accepted.threshold
        figures[f"accepted_{error}"] = accepted.n_accepted / len(pool)
        figures[f"kept_{error}"] = float(not above.any() or np.mean(~right[above]) <= error)
    return figures


def _pool_right(task: Task) -> NDArray[np.bool_]:
    pool = ~task.labeled
    return task.once("right", lambda: task.initial.predict(task.X[pool]) == task.y_true[pool])


def _cross_fitted(task: Task, trained: Trained) -> dict[str, Any]:
    """Audited rows judged by models with the other audited rows, beside the truth of the model with all."""
    y, rows = _with(task, trained.rows), trained.rows
    right = _right(task, np.flatnonzero(y >= 0), y, [rows[fold] for _, fold in KFold(5).split(rows)])
    rest = y < 0
    truth = float(np.mean(trained.model.predict(task.X[rest]) == task.y_true[rest]))
    found = score(right)
    return {
        "cross_fit": found.share,
        "cross_fit_truth": truth,
        "cross_fit_covers": float(found.low <= truth <= found.high),
    }


def _cross_validated(task: Task) -> dict[str, Any]:
    """What five-fold cross-validation on the given labels says of the model, beside the truth."""
    rows = np.flatnonzero(task.labeled)
    counts = np.bincount(task.y[rows])
    rows = rows[counts[task.y[rows]] >= 2]
    folds = StratifiedKFold(int(min(5, counts[counts >= 2].min())), shuffle=True, random_state=task._seed(5))
    right = _right(task, rows, task.y, [rows[test] for _, test in folds.split(rows, task.y[rows])])
    found, truth = score(right), float(_pool_right(task).mean())
    return {"cv": found.share, "truth": truth, "cv_covers": float(found.low <= truth <= found.high)}


def _right(
    task: Task, known: NDArray[np.intp], y: NDArray[Any], folds: list[NDArray[np.intp]]
) -> NDArray[np.bool_]:
    """Whether the rows of each fold are predicted right by a model of the other known ones."""
    # Predictions depend neither on the ensemble nor on unlabelled rows: leave both out.
    inside = [np.searchsorted(known, fold) for fold in folds]
    return judge_folds(task.estimator(n_heads=2), task.X[known], y[known], inside, transductive=False).correct
