"""The study of rows to check: what further labels teach, of rows that the report names and of others."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary._words import listed
from chary.evaluation import rows_to_label
from chary.jobs import LEARNERS, WITH_AUDIT
from chary.method import Labels
from chary.studies import figures
from chary.studies.findings import signed
from chary.studies.results import summarize
from chary.studies.study import LABELINGS, Method, Results, Study, TextTable
from chary.studies.tables.collection import COLUMN, GROUP, NAMES, SOURCE, possible
from chary.studies.tables.draws import Draw, table_draw
from chary.studies.tables.methods import AUDIT, PLAIN

SIZES = (0, 30, 60)
REPORT, RANDOM, MARGIN = CHOOSERS = ("report", "random", "margin")
_TITLES = {REPORT: "rows of the report", RANDOM: "random rows", MARGIN: "smallest margin"}


class Taught(NamedTuple):
    """What a quick learner says of every row after further labels, and the rows to judge it by."""

    codes: NDArray[np.intp]  # (n,)
    apart: NDArray[np.intp]  # set apart before anybody chose: the same for all choosers
    rest: NDArray[np.intp]  # without a label here


def taught(draw: Draw, chosen: str, audited: int, k: int) -> Taught:
    """A quick learner with k further labels.

    Rows are chosen with the model that ``chary label`` would use; the mean of the probabilities of logistic
    regression and of extra trees then learns from them, which is much quicker. A random half of the unlabelled
    rows is set apart to judge by: what is left by whoever takes the hard rows looks easy.
    """
    start = draw.audited(audited)
    by_chooser = {name: draw.once((name, audited), partial(_chosen, draw, name, start)) for name in CHOOSERS}
    more = np.concatenate([start, by_chooser[chosen][:k]])
    codes = draw.once(("taught", audited, k, chosen if k else ""), lambda: _quick_labels(draw, draw.labels(more)))
    return Taught(codes, _halves(draw, start)[1], np.setdiff1d(np.flatnonzero(~draw.labeled), more))


def on_rows_apart(draw: Draw, found: Taught) -> dict[str, Any]:
    """Accuracy on the rows set apart, and on all that are left to label here."""
    right = found.codes == draw.truth
    return {
        "accuracy": float(right[found.apart].mean()),
        "rest_accuracy": float(right[found.rest].mean()),
        "n_scored": len(found.apart),
    }


def _chosen(draw: Draw, chooser: str, start: NDArray[np.intp]) -> NDArray[np.intp]:
    """As many rows as the most that are asked for, the first to be labelled first."""
    known, pool = draw.labels(start), _halves(draw, start)[0]
    if chooser == RANDOM:
        return np.random.default_rng([draw.seed, 5]).permutation(pool)[: max(SIZES)]
    model = draw.once(("model", len(start)), lambda: _model(draw, known))
    if chooser == MARGIN:
        top = np.sort(model.predict_proba(draw.X[pool]), axis=1)[:, -2:]
        return pool[np.argsort(top[:, 1] - top[:, 0], kind="stable")[: max(SIZES)]]
    rows = np.concatenate([np.flatnonzero(known.labeled), pool])
    labeled, confidence = known.labeled[rows], np.ones(len(rows))
    confidence[~labeled] = model.predict_with_confidence(draw.X[pool])[1]
    return rows[rows_to_label(draw.X[rows], labeled, confidence, max(SIZES), random_state=draw.seed)]


def _halves(draw: Draw, start: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The unlabelled rows that can be chosen, and those set apart; without those audited at the start."""
    rows = np.random.default_rng([draw.seed, 6]).permutation(np.flatnonzero(~draw.labeled))
    halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    return np.setdiff1d(halves[0], start), np.setdiff1d(halves[1], start)


def _model(draw: Draw, known: Labels) -> Any:
    return LEARNERS[WITH_AUDIT].classifier(0, draw.seed).fit(draw.X, known)


def _quick_labels(draw: Draw, known: Labels) -> NDArray[np.intp]:
    rows = known.labeled
    fitted = [PLAIN[kind](draw.seed).fit(draw.X[rows], known.codes[rows]) for kind in ("logistic", "extra-trees")]
    probs = np.mean([model.predict_proba(draw.X) for model in fitted], axis=0)
    return np.searchsorted(draw.classes, known.classes[probs.argmax(axis=1)])


# -- What is told --------------------------------------------------------------------------------------------


def by_chooser(study: Study, results: Results) -> TextTable:
    """For each way, start and number of further labels, the mean over tables by chooser."""
    means = _means(study, results)
    rows = []
    for labeling in study.labelings:
        for suffix in ("", "-audited"):
            for k in SIZES:
                here = [means.get((labeling, f"{name}{suffix}", k)) for name in CHOOSERS]
                if all(mean is not None for mean in here):
                    start = f"{AUDIT} audited" if suffix else "none"
                    rows.append([labeling, start, str(k), *(f"{mean:.1f}" for mean in here if mean is not None)])
    caption = "Accuracy in percent on rows set apart, mean over tables"
    return TextTable(caption, ["Labels", "Audit", "Further labels", *(_TITLES[name] for name in CHOOSERS)], rows)


def worth_of_choosing(study: Study, results: Results) -> str:
    """What the largest number of further labels adds, by who chose the rows, over ways and starts."""
    gains = {name: _gains(_means(study, results), name, max(SIZES)) for name in CHOOSERS}
    if not all(gains.values()):
        return ""
    parts = [f"{signed(np.mean(list(of.values())))} ({_TITLES[name]})" for name, of in gains.items()]
    return f"{max(SIZES)} further labels add, points of accuracy on rows set apart: {listed(parts)}"


def against_random(study: Study, results: Results, companion: Results) -> list[str]:
    """Chosen rows against random ones, for each number of further labels, way and start; also on all rows left."""
    said = []
    for metric, words in (("accuracy", "rows set apart"), ("rest_accuracy", "all rows left to label")):
        means = _means(study, results, metric)
        for k in SIZES[1:]:
            base = _gains(means, RANDOM, k)
            for name in (REPORT, MARGIN):
                own = _gains(means, name, k)
                parts = [f"{signed(own[place] - base[place])} {_place(place)}" for place in own if place in base]
                if parts:
                    said.append(f"{k} {_TITLES[name]} against {k} random ones, on {words}: {listed(parts)}.")
    return said


def _place(place: tuple[str, str]) -> str:
    labeling, suffix = place
    return f"with {LABELINGS[labeling]} {'after' if suffix else 'without'} an audit"


def _means(study: Study, results: Results, metric: str = "accuracy") -> dict[tuple[str, str, int], float]:
    """(labelling, method, further labels) -> mean over tables, in percent."""
    found: dict[tuple[str, str, int], list[float]] = {}
    for line in summarize(study, results):
        if line.metric == metric:
            found.setdefault((line.labeling, line.method, line.value), []).append(line.mean)
    return {place: float(np.mean(means)) for place, means in found.items()}


def _gains(means: dict[tuple[str, str, int], float], name: str, k: int) -> dict[tuple[str, str], float]:
    """(labelling, start) -> points that k further labels add."""
    gains = {}
    for (labeling, method, size), mean in means.items():
        chooser, _, audited = method.partition("-")
        before = means.get((labeling, method, 0))
        if chooser == name and size == k and before is not None:
            gains[labeling, audited] = mean - before
    return gains


METHODS = {
    f"{name}{suffix}": Method(taught, {"chosen": name, "audited": audited, "k": 0}, _TITLES[name])
    for suffix, audited in (("", 0), ("-audited", AUDIT))
    for name in CHOOSERS
}
ROWS_TO_CHECK = Study(
    "rows-to-check",
    "Further labels: of the rows that the report names, of random rows, of those with the smallest margin",
    NAMES,
    labelings=(GROUP, COLUMN),
    methods=METHODS,
    measure=on_rows_apart,
    vary=("k", SIZES),
    axis="Further labels",
    seeds=(0, 1),
    task=table_draw,
    caption="Accuracy on rows set apart",
    table=by_chooser,
    headline=worth_of_choosing,
    conclude=(against_random,),
    figure=figures.more_labels,
    source=SOURCE,
    only=possible,
)
