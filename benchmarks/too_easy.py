"""What the paper's method is worth where ``hand_over_to_network`` acts, and with thirty answers.

    python benchmarks/too_easy.py [demo draws [seeds]] > benchmarks/results/too_easy.txt

Draws of the table of ``chary demo``, with labels hidden as in the demo by other seeds; and the
paper's 13 data sets with its biased labels, at most 2,000 rows of each to label (``CHARY_DATA``).
The mixture and the paper's method, by T-similarity and by softmax, label these rows; then both
learn from the answers to thirty random rows, too. Draws are apart in which the rule acts.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from stored import print_head

from chary.audit.answers import AuditAnswers
from chary.cli.demo import TARGET, hide_labels
from chary.labelling.defaults import DEFAULTS
from chary.labelling.diagnose import diagnose_rows, prepare
from chary.labelling.learn import choose_with_audit, fit_learner
from chary.labelling.learners import MIXED, NETWORK, learners
from chary.method import confidence_auroc, probabilities
from chary.method.labels import Labels
from chary.tables import open_source
from chary.tables.target import target_labels
from studies.ablations import ABLATIONS, DEFAULT
from studies.collection import part_of_table
from studies.study import ALL

NO_NETWORK = replace(DEFAULTS, switched_off=frozenset({"hand_over_to_network"}))
N_ANSWERS = 30
FIGURES = {
    "held out": "mixture, held-out labels",
    "mixture": "mixture",
    "t_similarity": "paper's method, T-similarity",
    "max_probability": "paper's method, softmax",
    "auroc": "AUROC of its T-similarity",
    "auroc of purity": "AUROC of its purity",
    "mean": "mean T-similarity",
    "mean of softmax": "mean softmax probability",
    "mixture, answers": "mixture, 30 answers",
    "network, answers": "paper's method, 30 answers",
    "stands": "it has stood the audit",
}


class Draw(NamedTuple):
    """Rows of which some have a label."""

    X: NDArray[Any]  # (n, d)
    truth: NDArray[Any]  # (n,) as text
    labeled: NDArray[np.bool_]  # (n,)
    seed: int

    def labels(self, answered: NDArray[np.intp]) -> Labels:
        """Return the given labels and those of the rows that were answered."""
        known = self.labeled.copy()
        known[answered] = True
        classes = np.unique(self.truth[known])
        codes = np.where(known, np.searchsorted(classes, self.truth), -1)
        return Labels(classes, codes, known)


def draws_of_demo(n_draws: int) -> Iterator[Draw]:
    """Hide the labels of the demo's table in several ways."""
    for seed in range(n_draws):
        frame, truth = hide_labels(seed)
        table = open_source(frame, name="tumours").read()
        labeled = target_labels(table, TARGET).labeled
        yield Draw(prepare(table, TARGET).X, truth.astype(str), labeled, seed)


def draws_of_paper(n_seeds: int) -> Iterator[Draw]:
    """Hide the labels of the paper's data sets by its bias."""
    for cell in ABLATIONS.cells(ALL, n_seeds, [DEFAULT]):
        if cell.labeling == "ssb":
            draw = part_of_table(cell)
            truth = draw.classes[draw.truth].astype(str)
            yield Draw(prepare(draw.hidden(), "y").X, truth, draw.labeled, cell.seed)


def measured(draw: Draw) -> tuple[bool, dict[str, float]]:
    """Label a draw by each method; tell whether the rule acts."""
    X = draw.X
    labels = draw.labels(np.zeros(0, np.intp))
    rest = labels.rows_to_predict
    truth = draw.truth[rest]
    diagnosis = diagnose_rows(X, draw.labeled, random_state=draw.seed)
    fitted = fit_learner(X, labels, diagnosis, seed=draw.seed)
    acts = fitted.choice.name == NETWORK
    _, mixture, out_of_fold, _ = fit_learner(
        X, labels, diagnosis, seed=draw.seed, defaults=NO_NETWORK
    )
    figures = {
        "held out": np.mean(out_of_fold.predicted == out_of_fold.codes),
        "mixture": np.mean(mixture.predict(X[rest]) == truth),
    }
    for confidence in ("max_probability", "t_similarity"):
        network = learners()[NETWORK].classifier(DEFAULTS.network_rounds, draw.seed)
        network.set_params(confidence=confidence).fit(X, labels)
        right = labels_by(network, X, rest) == truth
        figures[confidence] = np.mean(right)
    t_similarity = network.predict_scores(X[rest])[1]
    probs = probabilities(network.estimator_, X[rest])
    figures["auroc"] = confidence_auroc(t_similarity, right)
    figures["auroc of purity"] = confidence_auroc((probs**2).sum(axis=1), right)
    figures["mean"] = t_similarity.mean()
    figures["mean of softmax"] = probs.max(axis=1).mean()
    return acts, figures | with_answers(draw, fitted)


def with_answers(draw: Draw, fitted: Any) -> dict[str, float]:
    """Learn from the answers to random rows, too; the other rows are scored."""
    rng = np.random.default_rng([draw.seed, 3])
    answered = rng.permutation(np.flatnonzero(~draw.labeled))[:N_ANSWERS]
    labels = draw.labels(answered)
    rest = labels.rows_to_predict
    figures = {}
    for name, learner, rounds in (
        ("mixture, answers", MIXED, 0),
        ("network, answers", NETWORK, DEFAULTS.network_rounds),
    ):
        model = learners()[learner].classifier(rounds, draw.seed).fit(draw.X, labels)
        figures[name] = np.mean(labels_by(model, draw.X, rest) == draw.truth[rest])
    answers = AuditAnswers(answered, draw.truth[answered].astype(object), N_ANSWERS)
    choice = choose_with_audit(fitted, draw.X, answers)
    figures["stands"] = float(choice.name == NETWORK)
    return figures


def labels_by(network: Any, X: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
    """Return the labels of rows: as accepted in a round, otherwise as predicted at the end."""
    accepted = network.labeled_iter_[rows] > 0
    return np.where(accepted, network.transduction_[rows], network.predict(X[rows]))


def show(title: str, draws: Iterator[Draw]) -> None:
    """Print means and standard errors over draws, in percent."""
    found = defaultdict(list)
    for draw in draws:
        acts, figures = measured(draw)
        found[acts].append(figures)
    n_draws = sum(map(len, found.values()))
    for acts, words in ((True, "the rule acts"), (False, "it does not")):
        if not found[acts]:
            continue
        print(f"\n{title}, {words}: {len(found[acts])} of {n_draws} draws")
        for name, words_of_figure in FIGURES.items():
            values = 100 * np.array([figures[name] for figures in found[acts]])
            print(f"  {words_of_figure:30} {mean_and_error(values)}")
        for title_of_gain, ours, rival in (
            ("paper's method - mixture", "t_similarity", "mixture"),
            ("the same with 30 answers", "network, answers", "mixture, answers"),
        ):
            gains = 100 * np.array([figures[ours] - figures[rival] for figures in found[acts]])
            print(f"  {title_of_gain:30} {mean_and_error(gains)} (worst {gains.min():+.1f})")


def mean_and_error(values: NDArray[np.float64]) -> str:
    """Write a mean with its standard error."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():6.1f} ± {error:.1f}"


if __name__ == "__main__":
    print_head()
    warnings.filterwarnings("ignore")
    n_draws, n_seeds = [*map(int, sys.argv[1:]), *[40, 3][len(sys.argv) - 1 :]]
    show("demo", draws_of_demo(n_draws))
    show("paper's sets", draws_of_paper(n_seeds))
