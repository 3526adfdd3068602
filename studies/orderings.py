"""The study of orderings: does the members' agreement order labels better than probability?"""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from chary import DiverseEnsembleClassifier, MixedEnsembleClassifier
from chary.method import confidence_auroc, t_similarity
from studies.collection import (
    ANY_SOURCE,
    NAMES,
    PAPER_WAYS,
    SECOND,
    WAYS,
    Draw,
    collection_of,
    is_possible,
    paper_draw,
    table_draw,
)
from studies.findings import signed
from studies.results import summarize
from studies.study import ALL, Cell, Method, Results, Study, TextTable

# Rows without a label that are learned from and scored: enough for an AUROC.
_ROWS = 5_000
# What a row can be ordered by. Of the predicted class are the model's probability and the members'
# mean.
SCORES = {
    "agreement": "T-similarity",
    "probability": "probability",
    "mean": "mean of members",
    "margin": "margin",
    "geometric": "T x probability",
    "product": "T x mean",
    "t_margin": "T x margin",
    "ranks": "mean of ranks",
}
_BOTH = ("agreement", "probability")
# A score, and those that it should beat.
_CONTESTS = {"agreement": ("probability",)} | dict.fromkeys(
    ("geometric", "product", "t_margin", "ranks"), _BOTH
)
_BIASED = ("ssb", "group", "column")


class Opinions(NamedTuple):
    """What an ensemble says of the rows that are scored, and what is true."""

    probs: NDArray[Any]  # (k, C) of the model
    members: NDArray[Any]  # (k, M, C)
    weights: NDArray[Any] | None  # (M,)
    classes: NDArray[Any]  # (C,) numbers of the known classes in those of the draw
    truth: NDArray[np.intp]  # (k,)


def ensemble(draw: Draw, kind: str, labels: float = 1.0, **params: Any) -> Opinions:
    """Fit chary's mixture or the paper's network to the given labels or a part of them."""
    rng = np.random.default_rng([draw.seed, 7])
    given = rng.permutation(np.flatnonzero(draw.labeled))
    given = given[: max(10, round(labels * len(given)))]
    rest = rng.permutation(np.flatnonzero(~draw.labeled))[:_ROWS]
    classes, codes = np.unique(draw.truth[given], return_inverse=True)
    y = np.concatenate([codes, np.full(len(rest), -1)])
    maker = {"mixture": MixedEnsembleClassifier, "network": DiverseEnsembleClassifier}[kind]
    model = maker(random_state=draw.seed, **params).fit(draw.X[np.concatenate([given, rest])], y)
    X, truth = (draw.X[rest], draw.truth[rest]) if draw.test is None else draw.test[:2]
    weights = model.weights_ if kind == "mixture" else None
    probs, members = model.predict_joint_proba(X[:_ROWS])
    return Opinions(probs, members, weights, classes, truth[:_ROWS])


def orderings(draw: Draw, found: Opinions) -> dict[str, Any]:
    """AUROC of being right by each score, and how often a member would give another class."""
    codes, rows = found.probs.argmax(axis=1), np.arange(len(found.probs))
    right = found.classes[codes] == found.truth
    two = np.sort(found.probs, axis=1)[:, -2:]
    mean = np.average(found.members, axis=1, weights=found.weights)[rows, codes]
    scores = {
        "agreement": t_similarity(found.members, weights=found.weights),
        "probability": two[:, 1],
        "mean": mean,
        "margin": two[:, 1] - two[:, 0],
    }
    agreement = scores["agreement"]
    scores |= {
        "geometric": agreement * two[:, 1],  # orders as the geometric mean does
        "product": agreement * mean,
        "t_margin": agreement * scores["margin"],
        "ranks": (rankdata(agreement) + rankdata(two[:, 1])) / (2 * len(rows)),
    }
    aurocs = {name: confidence_auroc(score.clip(0, 1), right) for name, score in scores.items()}
    return {
        "accuracy": float(right.mean()),
        "disagreement": float(np.mean(found.members.argmax(axis=2) != codes[:, None])),
        **{name: None if np.isnan(auroc) else float(auroc) for name, auroc in aurocs.items()},
    }


def _means(
    study: Study, results: Results
) -> dict[tuple[str, str, str], dict[str, dict[str, float]]]:
    """(method, collection, labelling) -> score -> data set -> mean AUROC over seeds, in percent."""
    found: dict[Any, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for line in summarize(study, results):
        found[line.method, collection_of(line.dataset), line.labeling][line.metric][
            line.dataset
        ] = line.mean
    return found


def by_score(study: Study, results: Results) -> TextTable:
    """For each ensemble, collection and labelling the mean AUROC of every score."""
    rows = []
    for (method, where, labeling), found in _means(study, results).items():
        numbers = [f"{np.mean(list(found[score].values())):.1f}" for score in SCORES]
        n = len(found["agreement"])
        disagreement = np.mean(list(found["disagreement"].values()))
        rows.append(
            [study.title_of(method), where, labeling, str(n), f"{disagreement:.0f}", *numbers]
        )
    heads = ["Ensemble", "Data sets", "Labels", "n", "Members differ", *SCORES.values()]
    return TextTable("AUROC of being right, in percent, mean over data sets", heads, rows)


def against_both(study: Study, results: Results, companion: Results) -> list[str]:
    """Compare T-similarity with probability, and combinations with the better of both.

    For a combination the question was: a point or more with biased labels, nowhere more than half a
    point less?
    """
    said, every_mean = [], _means(study, results)
    for method, (score, rivals) in product(study.methods, _CONTESTS.items()):
        gains: dict[tuple[str, str], float] = {}  # collection and labelling -> points
        for (of, *place), found in every_mean.items():
            if of == method and (method == "mixture" or score == "agreement"):
                means = {name: np.mean(list(found[name].values())) for name in (score, *rivals)}
                gains[place[0], place[1]] = float(
                    means[score] - max(means[name] for name in rivals)
                )
        biased = [gain for (_, labeling), gain in gains.items() if labeling in _BIASED]
        random = [gain for (_, labeling), gain in gains.items() if labeling not in _BIASED]
        if biased and random:
            worst = min(gains, key=gains.__getitem__)
            asked = "yes" if np.mean(biased) >= 1 and gains[worst] >= -0.5 else "no"
            said.append(
                f"{study.title_of(method)}: {SCORES[score]} against "
                f"{' or '.join(SCORES[x] for x in rivals)}: {signed(np.mean(biased))} with biased "
                f"labels, {signed(np.mean(random))} with random ones; at worst "
                f"{signed(gains[worst])} ({', '.join(worst)}). A point up, never half a point "
                f"down: {asked}."
            )
    return said


def wanted(cell: Cell) -> bool:
    """Tell whether a cell is run.

    Variants of the network are run on the paper's sets alone, the mixture with few labels on one
    seed.
    """
    if not is_possible(cell):
        return False
    of_paper = cell.dataset in ALL
    if cell.method == "mixture-quarter":
        return cell.seed == 0 and cell.dataset not in ("mnist", "coil20")
    return of_paper or cell.method in ("mixture", "network")


def _task(cell: Cell) -> Draw:
    return paper_draw(cell) if cell.dataset in ALL else table_draw(cell)


ORDERINGS = Study(
    "orderings",
    "Orders of right and wrong labels: T-similarity, probability, and both together",
    (*ALL, *NAMES, *SECOND),
    labelings=(*PAPER_WAYS, *WAYS),
    methods={
        "mixture": Method(ensemble, {"kind": "mixture"}, "mixture"),
        "mixture-quarter": Method(
            ensemble, {"kind": "mixture", "labels": 0.25}, "mixture, a quarter of the labels"
        ),
        "network": Method(ensemble, {"kind": "network"}, "network"),
        "network-quarter": Method(
            ensemble, {"kind": "network", "labels": 0.25}, "network, a quarter of the labels"
        ),
        **{
            f"network-gamma{gamma}": Method(
                ensemble, {"kind": "network", "gamma": gamma}, f"network, γ = {gamma}"
            )
            for gamma in (0, 3)
        },
        **{
            f"network-heads{n}": Method(
                ensemble, {"kind": "network", "n_heads": n}, f"network, M = {n}"
            )
            for n in (2, 10)
        },
    },
    measure=orderings,
    seeds=(0, 1, 2),
    task=_task,
    metric="agreement",
    caption="AUROC of T-similarity",
    tables=(by_score,),
    conclude=(against_both,),
    source=ANY_SOURCE,
    only=wanted,
)
