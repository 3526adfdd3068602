"""What the paper's method is worth where labels are too easy: draws of the table of ``chary demo``.

    python benchmarks/too_easy.py 40 > benchmarks/results/too_easy.txt

Labels of each draw are hidden as in the demo, by another seed. The mixture and the paper's method,
by T-similarity and by softmax, label the other rows; draws are apart in which the rule
``hand_over_to_network`` acts.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stored import print_head

from chary.cli.demo import TARGET, hide_labels
from chary.labelling.defaults import DEFAULTS
from chary.labelling.diagnose import diagnose_rows, prepare
from chary.labelling.learn import fit_learner
from chary.labelling.learners import NETWORK, learners
from chary.method import confidence_auroc, probabilities
from chary.tables import open_source
from chary.tables.target import target_labels

NO_NETWORK = replace(DEFAULTS, switched_off=frozenset({"hand_over_to_network"}))
FIGURES = {
    "held out": "mixture, held-out labels",
    "mixture": "mixture",
    "t_similarity": "paper's method, T-similarity",
    "max_probability": "paper's method, softmax",
    "auroc": "AUROC of its T-similarity",
    "auroc of purity": "AUROC of its purity",
    "mean": "mean T-similarity",
}


def measured(seed: int) -> tuple[bool, dict[str, float]]:
    """Label a draw by each method; tell whether the rule acts."""
    frame, truth = hide_labels(seed)
    table = open_source(frame, name="tumours").read()
    X = prepare(table, TARGET).X
    labels = target_labels(table, TARGET)
    rest = labels.rows_to_predict
    diagnosis = diagnose_rows(X, labels.labeled, random_state=seed)
    acts = fit_learner(X, labels, diagnosis, seed=seed).choice.name == NETWORK
    _, mixture, out_of_fold, _ = fit_learner(X, labels, diagnosis, seed=seed, defaults=NO_NETWORK)
    figures = {
        "held out": np.mean(out_of_fold.predicted == out_of_fold.codes),
        "mixture": np.mean(mixture.predict(X[rest]) == truth[rest]),
    }
    for confidence in ("max_probability", "t_similarity"):
        network = learners()[NETWORK].classifier(DEFAULTS.network_rounds, seed)
        network.set_params(confidence=confidence).fit(X, labels)
        right = labels_by(network, X, rest) == truth[rest]
        figures[confidence] = np.mean(right)
    t_similarity = network.predict_scores(X[rest])[1]
    purity = (probabilities(network.estimator_, X[rest]) ** 2).sum(axis=1)
    figures["auroc"] = confidence_auroc(t_similarity, right)
    figures["auroc of purity"] = confidence_auroc(purity, right)
    figures["mean"] = t_similarity.mean()
    return acts, figures


def labels_by(network: Any, X: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
    """Return the labels of rows: as accepted in a round, otherwise as predicted at the end."""
    accepted = network.labeled_iter_[rows] > 0
    return np.where(accepted, network.transduction_[rows], network.predict(X[rows]))


def main(n_draws: int) -> None:
    """Print means and standard errors, in percent."""
    draws = defaultdict(list)
    for seed in range(n_draws):
        acts, figures = measured(seed)
        draws[acts].append(figures)
    for acts, words in ((True, "the rule acts"), (False, "it does not")):
        print(f"\n{words}: {len(draws[acts])} of {n_draws} draws")
        for name, title in FIGURES.items():
            values = 100 * np.array([found[name] for found in draws[acts]])
            error = values.std(ddof=1) / np.sqrt(len(values))
            print(f"  {title:30} {values.mean():6.1f} ± {error:.1f}")
        gains = [100 * (found["t_similarity"] - found["mixture"]) for found in draws[acts]]
        print(f"  paper's method - mixture       {np.mean(gains):+6.1f} (worst {min(gains):+.1f})")


if __name__ == "__main__":
    print_head()
    warnings.filterwarnings("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
