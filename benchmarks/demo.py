"""``chary label`` beside other learners on draws of the table of ``chary demo``.

    pip install catboost skrub
    python benchmarks/demo.py 10 > benchmarks/results/demo.txt

Labels of each draw are hidden as in the demo, by another seed. Methods and preparation are those of
``rivals.py``.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from rivals import METHODS, Draw
from stored import print_head

from chary.cli.demo import TARGET, hide_labels

SHOWN = ("chary", "catboost", "skrub-trees", "skrub", "logistic")


def draw(seed: int) -> Draw:
    """Hide labels as the demo does."""
    frame, truth = hide_labels(seed)
    labeled = frame[TARGET].is_not_null().to_numpy()
    order = np.argsort(~labeled, kind="stable")  # the labelled rows come first
    features = frame.drop(TARGET)[order]
    return Draw(f"demo {seed}", features, truth[labeled], truth[~labeled], seed)


def main(n_draws: int) -> None:
    """Print the accuracy in each draw, in percent, and the means."""
    print_head()
    print("seed" + "".join(method.rjust(14) for method in SHOWN))
    accuracies = []
    for seed in range(n_draws):
        hidden = draw(seed)
        right = [np.mean(METHODS[method](hidden)[0] == hidden.truth) for method in SHOWN]
        accuracies.append(right)
        print(f"{seed:4}" + "".join(f"{100 * share:14.1f}" for share in right), flush=True)
    means = 100 * np.mean(accuracies, axis=0)
    print("mean" + "".join(f"{mean:14.1f}" for mean in means))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
