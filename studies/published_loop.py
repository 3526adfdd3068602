"""Self-training with the draws and the training of the paper's authors: its printed numbers.

Written from what their repository does, with none of its code. A network starts from the weights
that PyTorch draws from a seed, and goes through its rows in order: the given ones, then those of
each round. The paper and its code leave the start of a refit open; ``published-loop`` tries both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary._words import listed
from chary.method import Curriculum, FixedThreshold, Network, Round, TransductiveBound
from chary.method.confidence import scores_of, softmax
from chary.method.network import Adam, default_hidden_sizes, loss_and_gradient
from studies.authors import (
    BATCH_SIZE,
    LEARNING_RATE,
    N_HEADS,
    N_STEPS,
    AuthorsTask,
    untrained_layers,
)
from studies.datasets import dataset_title
from studies.findings import duel, pairs_won, signed, told
from studies.paper import accuracy_tables, failure_table
from studies.published_search import PublishedBound
from studies.results import Line, summarize
from studies.study import SEEDS, Method, Results, Study, TextTable

Rows = NDArray[np.intp]
Accepts = FixedThreshold | Curriculum | TransductiveBound | PublishedBound

# The data sets on which many loops are affordable.
SMALL = ("dna", "dry_bean", "mushrooms", "phishing", "rice", "splice", "svmguide1")

# The paper's N and gamma.
MAX_ROUNDS = 5
GAMMA = 1.0
# Means that differ by no more points than this agree: what rounding in other places may do.
AGREES = 0.3
# Rows that are scored at a time.
_BLOCK_ROWS = 20_000


# -- The loop --------------------------------------------------------------------------------------


class Fitted(NamedTuple):
    """A trained network, and the classes that it knows."""

    network: Network
    classes_: NDArray[Any]

    def predict_joint_proba(self, X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Probabilities (n, C) of the prediction head and (n, M, C) of the diverse heads."""
        blocks = [X[start : start + _BLOCK_ROWS] for start in range(0, len(X), _BLOCK_ROWS)]
        logits = [self.network.logits(block.astype(np.float32)) for block in blocks]
        probs = softmax(np.concatenate(logits))
        return probs[:, 0], probs[:, 1:]

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Class codes, from the prediction head."""
        return self.classes_[self.predict_joint_proba(X)[0].argmax(axis=1)]


def untrained(task: AuthorsTask, weights: int) -> Network:
    """Return a network with set number ``weights`` of random weights; 0 are the authors'."""
    n_features = task.X.shape[1]
    n_classes = len(np.unique(task.y_true))
    seed = task.cell.seed + 1_000_000 * weights
    drawn_backbone, drawn_heads = untrained_layers(n_features, n_classes, seed)
    network = Network(n_features, default_hidden_sizes(n_features), n_classes, N_HEADS)
    *backbone, head_layer = network.layers(network.params)
    for layer, drawn in zip(backbone, drawn_backbone, strict=True):
        layer.weight[:] = _array(drawn.weight).T
        layer.bias[:] = _array(drawn.bias)
    head_layer.weight[:] = np.concatenate([_array(head.weight) for head in drawn_heads]).T
    head_layer.bias[:] = np.concatenate([_array(head.bias) for head in drawn_heads])
    return network


def _array(parameter: Any) -> NDArray[Any]:
    """Turn a parameter of PyTorch into an array."""
    array: NDArray[Any] = parameter.detach().numpy()
    return array


def erm(task: AuthorsTask, weights: int) -> Fitted:
    """Train on the given labels; loops with the same ``weights`` start from this model."""

    def fit() -> Fitted:
        network = untrained(task, weights)
        train(network, task, task.given, task.y_true[task.given], task.hidden)
        return Fitted(network, np.unique(task.y_true))

    return task.once(weights, fit)


def self_train(
    task: AuthorsTask, policy: Accepts, confidence: str, weights: int, warm: bool
) -> Fitted:
    """Run the rounds; each refit starts from its first weights, or, ``warm``, from its last."""
    fitted = erm(task, weights)
    rows, pool = task.given, task.hidden
    codes = task.y_true[rows]
    posterior = np.empty((len(task.X), len(fitted.classes_)))
    for number in range(1, MAX_ROUNDS + 1):
        if len(pool) == 0:
            break
        probs, head_probs = fitted.predict_joint_proba(task.X[pool])
        if number == 1:
            posterior[pool] = probs
        scores = scores_of(probs, confidence, head_probs)
        prediction = probs.argmax(axis=1)
        view = Round(
            scores.confidence, scores.class_confidence, prediction, posterior[pool], number
        )
        accepted = policy.accept(view).accepted
        if not accepted.any():
            break

        rows = np.concatenate([rows, pool[accepted]])
        codes = np.concatenate([codes, prediction[accepted]])
        pool = pool[~accepted]
        network = untrained(task, weights)
        if warm:
            network.params[:] = fitted.network.params
        train(network, task, rows, codes, pool)
        fitted = Fitted(network, fitted.classes_)
    return fitted


def train(network: Network, task: AuthorsTask, rows: Rows, codes: Rows, hidden: Rows) -> None:
    """Train in place: batches in order, the last of a pass smaller, one hidden row at a step."""
    gradient = np.empty_like(network.params)
    layers = network.layers(network.params)
    gradients = network.layers(gradient)
    optimizer = Adam(network.params, LEARNING_RATE)
    n_batches = ceil(len(rows) / BATCH_SIZE)
    for step in range(N_STEPS):
        start = step % n_batches * BATCH_SIZE
        batch = slice(start, start + BATCH_SIZE)
        batch_codes = codes[batch]
        batch_rows = rows[batch]
        if len(hidden):
            batch_rows = np.append(batch_rows, hidden[step % len(hidden)])
        X = task.X[batch_rows].astype(np.float32)
        ones = np.ones(len(batch_codes), dtype=np.float32)
        loss_and_gradient(layers, gradients, X, batch_codes, ones, N_HEADS, GAMMA)
        optimizer.step(gradient)


def pseudo_labels(task: AuthorsTask, confidence: str, threshold: float, **start: Any) -> Fitted:
    """PL: accept above a fixed threshold."""
    return self_train(task, FixedThreshold(threshold), confidence, **start)


def curriculum(task: AuthorsTask, confidence: str, step: float, **start: Any) -> Fitted:
    """CSTA: accept a growing share."""
    return self_train(task, Curriculum(step), confidence, **start)


def transductive(task: AuthorsTask, confidence: str, search: str, index: str) -> Fitted:
    """MSTA from fresh weights, with the published search for its thresholds or the exact one."""
    bound = {"published": PublishedBound, "exact": TransductiveBound}[search]
    return self_train(task, bound(index), confidence, weights=0, warm=False)


def _bound(confidence: str, search: str, index: str, title: str) -> Method:
    """Build MSTA with a confidence, a search for its thresholds and an index."""
    options = {"confidence": confidence, "search": search, "index": index}
    return Method(transductive, options, f"MSTA {title}")


def _loops(policy: str, run: Callable[..., Fitted], **options: Any) -> dict[str, Method]:
    """Build the loops of a policy with softmax: fresh starts and warm ones."""
    methods = {}
    for start in ("fresh", "warm"):
        all_options = {
            "confidence": "softmax",
            **options,
            "weights": 0,
            "warm": start == "warm",
        }
        methods[f"{policy}-{start}"] = Method(run, all_options, f"{policy.upper()} {start}")
    return methods


_ERM = {"erm": Method(erm, {"weights": 0}, "ERM")}
_MSTA = {
    "msta-softmax": _bound("softmax", "published", "prediction", "softmax"),
    "msta-tsim": _bound("t_similarity", "published", "prediction", "T-sim"),
    "msta-tsim-exact": _bound("t_similarity", "exact", "prediction", "T-sim, exact search"),
    "msta-tsim-confidence": _bound(
        "t_similarity", "published", "confidence", "T-sim, index confidence"
    ),
}
_PL = _loops("pl", pseudo_labels, threshold=0.8)
_CSTA = _loops("csta", curriculum, step=0.4)


# -- ERM and MSTA beside the printed decimals ------------------------------------------------------


def with_both_decimals(study: Study, results: Results) -> TextTable:
    """Every method beside the paper's numbers, and how many agree."""
    lines = {(line.dataset, line.method): line for line in summarize(study, results, "accuracy")}
    datasets = [name for name in study.datasets if any(name == place[0] for place in lines)]
    rows = []
    for name in datasets:
        cells = [
            _both_decimals(lines.get((name, method)), _printed(name, method))
            for method in study.methods
        ]
        rows.append([dataset_title(name), *cells])
    counts = [
        _count_agreeing([line for line in lines.values() if line.method == method])
        for method in study.methods
    ]
    if rows:
        shares = [f"{n_agreeing} of {n}" for n_agreeing, n in counts]
        rows.append([f"nine seeds within {AGREES} points of the printed mean", *shares])
    return TextTable(
        "Test accuracy in percent, in brackets the paper's, mean ± standard deviation over nine "
        "seeds ([n]: over n)",
        ["Data set", *map(study.title_of, study.methods)],
        rows,
    )


def cells_that_agree(study: Study, results: Results, companion: Results) -> list[str]:
    """Count the printed means that are met."""
    lines = summarize(study, results, "accuracy")
    counts = {
        method: _count_agreeing([line for line in lines if line.method == method])
        for method in ("erm", "msta-softmax", "msta-tsim")
    }
    n_cells = sum(n for _, n in counts.values())
    if n_cells == 0:
        return []
    parts = [
        f"{study.title_of(method)} {n_agreeing} of {n}"
        for method, (n_agreeing, n) in counts.items()
    ]
    n_agreeing = sum(n for n, _ in counts.values())
    return [
        f"Within {AGREES} points of the printed mean: {listed(parts)}, in all {n_agreeing} of "
        f"{n_cells}."
    ]


def exact_search(study: Study, results: Results, companion: Results) -> list[str]:
    """Compare the exact search for MSTA's thresholds with the published one."""
    lines = summarize(study, results, "accuracy")
    gains = duel(lines, ("ssb",), "msta-tsim-exact", ["msta-tsim"]).gains
    if not gains:
        return []
    best = max(gains, key=gains.__getitem__)
    others = [gain for name, gain in gains.items() if name != best] or [0.0]
    n_better = sum(gain > 0 for gain in gains.values())
    return [
        f"The exact search is ahead of the published one on {n_better} of {len(gains)} data sets: "
        f"by {signed(gains[best])} points on {dataset_title(best)}, elsewhere by "
        f"{signed(min(others))} to {signed(max(others))}."
    ]


def _printed(dataset: str, method: str) -> tuple[float, float]:
    """Return the paper's mean and deviation; all of MSTA with T-similarity is beside one number."""
    if method.startswith("msta-tsim"):
        method = "msta-tsim"
    return accuracy_tables("ssb")[dataset, method]


def _both_decimals(line: Line | None, printed: tuple[float, float]) -> str:
    if line is None:
        return ""
    n = len(line.by_seed)
    count = f" [{n}]" if n < len(SEEDS) else ""
    mean, deviation = printed
    return f"{line.mean:.2f} ± {line.std:.2f}{count} ({mean:.2f} ± {deviation:.2f})"


def _agrees(mean: float, printed: float) -> bool:
    # Both with the two decimals that the paper prints, so that a difference of 0.30 agrees.
    return round(abs(round(mean, 2) - printed), 2) <= AGREES


def _count_agreeing(lines: list[Line]) -> tuple[int, int]:
    """Return how many lines of all nine seeds agree with the paper, and how many there are."""
    agree = [
        _agrees(line.mean, _printed(line.dataset, line.method)[0])
        for line in lines
        if len(line.by_seed) == len(SEEDS)
    ]
    return sum(agree), len(agree)


# -- Which loop PL and CSTA went through -----------------------------------------------------------

# The sets of random weights; set 0 holds the weights of the printed ERM.
_RANDOM = (1, 2, 3)
# (policy, where it is printed, that table): PL with softmax is printed twice.
_COLUMNS = (
    ("pl", "Tables 1 and 5", accuracy_tables),
    ("pl", "Table 3", failure_table),
    ("csta", "Tables 1, 3 and 5", accuracy_tables),
)


class Band(NamedTuple):
    """What a loop gives from random weights."""

    mean: float  #: over seeds and sets of weights
    deviation: float  #: of a mean over the seeds, from one set of weights to another

    def z_score(self, printed: float) -> float:
        """Compute how far a printed mean is from the band; our mean is uncertain, too."""
        return (printed - self.mean) / (self.deviation * sqrt(1 + 1 / len(_RANDOM)))


def bands(study: Study, results: Results) -> dict[tuple[str, str, str], Band]:
    """Compute the band of each data set, labelling and loop that all sets of weights have."""
    accuracies: dict[tuple[str, str, str], list[list[float]]] = defaultdict(list)
    for line in _of_nine_seeds(study, results):
        if line.value in _RANDOM:
            by_seed = [line.by_seed[seed] for seed in SEEDS]
            accuracies[line.dataset, line.labeling, line.method].append(by_seed)
    found = {}
    for place, by_set in accuracies.items():
        if len(by_set) == len(_RANDOM):
            table = np.array(by_set)  # (sets of weights, seeds)
            variance = table.var(axis=0, ddof=1).mean() / len(SEEDS)
            found[place] = Band(float(table.mean()), float(np.sqrt(variance)))
    return found


def _of_nine_seeds(study: Study, results: Results) -> list[Line]:
    """Collect the accuracies that have all of the paper's seeds."""
    lines = summarize(study, results, "accuracy")
    return [line for line in lines if len(line.by_seed) == len(SEEDS)]


def sums_of_z_scores(study: Study, results: Results) -> TextTable:
    """Sum the squared z-scores of every printed column, for both loops."""
    found = bands(study, results)
    rows = []
    for policy, place, paper in _COLUMNS:
        sums = []
        n_cells = 0
        for start in ("fresh", "warm"):
            scores = [
                band.z_score(paper(labeling)[dataset, f"{policy}-softmax"][0])
                for (dataset, labeling, method), band in found.items()
                if method == f"{policy}-{start}"
            ]
            n_cells = len(scores)
            sums.append(f"{np.sum(np.square(scores)):.0f}")
        if n_cells:
            rows.append([f"{policy.upper()} softmax, {place}", str(n_cells), *sums])
    return TextTable(
        "Sum of squared z-scores of the printed means, from the band of three sets of random "
        "weights; a right loop gives about the number of cells",
        ["Printed column", "Cells", "Fresh starts", "Warm starts"],
        rows,
    )


def z_scores(study: Study, results: Results) -> TextTable:
    """Set every printed mean beside the bands of both loops."""
    found = bands(study, results)
    rows = []
    for dataset, labeling in dict.fromkeys(place[:2] for place in found):
        row = [dataset_title(dataset), labeling.upper()]
        for policy, _, paper in _COLUMNS:
            printed = paper(labeling)[dataset, f"{policy}-softmax"][0]
            row.append(f"{printed:.2f}")
            for start in ("fresh", "warm"):
                band = found.get((dataset, labeling, f"{policy}-{start}"))
                row.append(_shown_band(band, printed))
        rows.append(row)
    heads = ["Data set", "Labels"]
    for policy, place, _ in _COLUMNS:
        heads += [f"{policy.upper()}, {place}", "fresh", "warm"]
    return TextTable(
        "Printed means, and those from random weights: mean ± standard deviation of a mean over "
        "nine seeds from one set of weights to another (z-score of the printed mean)",
        heads,
        rows,
    )


def _shown_band(band: Band | None, printed: float) -> str:
    if band is None:
        return ""
    return f"{band.mean:.2f} ± {band.deviation:.2f} ({band.z_score(printed):+.1f})"


def deviations_over_seeds(study: Study, results: Results) -> TextTable:
    """Set printed standard deviations beside those from ERM's weights and from random ones."""
    lines = [line for line in _of_nine_seeds(study, results) if line.method != "erm"]
    rows = []
    for name, labeling in dict.fromkeys((line.dataset, line.labeling) for line in lines):
        here = [line for line in lines if (line.dataset, line.labeling) == (name, labeling)]
        printed = [paper(labeling)[name, f"{policy}-softmax"][1] for policy, _, paper in _COLUMNS]
        of_erm = accuracy_tables(labeling)[name, "erm"][1]
        spans = [
            printed,
            [line.std for line in here if line.value == 0],
            [line.std for line in here if line.value in _RANDOM],
        ]
        row = [dataset_title(name), labeling.upper(), f"{of_erm:.1f}", *map(_span, spans)]
        rows.append(row)
    return TextTable(
        "Standard deviation over seeds, least and most of PL and CSTA with softmax",
        [
            "Data set",
            "Labels",
            "Printed, ERM",
            "Printed",
            "From ERM's weights",
            "From random weights",
        ],
        rows,
    )


def _span(numbers: list[float]) -> str:
    return f"{min(numbers):.1f} to {max(numbers):.1f}" if numbers else ""


def met_from_the_weights_of_erm(study: Study, results: Results, companion: Results) -> list[str]:
    """Count the printed means that each method meets from the weights of the printed ERM."""
    lines = [line for line in _of_nine_seeds(study, results) if line.value == 0]
    parts = []
    for method in study.methods:
        policy = method.partition("-")[0]
        column = "erm" if policy == "erm" else f"{policy}-softmax"
        agree = [
            _agrees(line.mean, accuracy_tables(line.labeling)[line.dataset, column][0])
            for line in lines
            if line.method == method
        ]
        parts += [f"{study.title_of(method)} {sum(agree)} of {len(agree)}"] if agree else []
    start = f"From the weights of the printed ERM, means within {AGREES} points of Tables 1 and 5:"
    return [f"{told(start, parts)}."] if parts else []


TABLE_SSB_EXACT = Study(
    "table-ssb-exact",
    "ERM and MSTA with the authors' draws and the published search, beside the paper's decimals",
    labelings=("ssb",),
    methods={**_ERM, **_MSTA},
    paper=accuracy_tables,
    task=AuthorsTask,
    tables=(with_both_decimals,),
    headline=pairs_won,
    conclude=(cells_that_agree, exact_search),
)
PUBLISHED_LOOP = Study(
    "published-loop",
    "PL and CSTA with the authors' draws: fresh and warm starts, from ERM's and random weights",
    datasets=SMALL,
    methods={**_ERM, **_PL, **_CSTA},
    vary=("weights", (0, *_RANDOM)),
    axis="Set of initial weights",
    paper=accuracy_tables,
    task=AuthorsTask,
    tables=(sums_of_z_scores, z_scores, deviations_over_seeds),
    conclude=(met_from_the_weights_of_erm,),
)
