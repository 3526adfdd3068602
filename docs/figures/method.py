"""Draws the pictures of how-it-works.md: heads that disagree, and what is taken in round by round.

python docs/figures/method.py     writes docs/figures/method_heads.png and method_rounds.png
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons
from sklearn.preprocessing import StandardScaler

import chary
from chary.method import selection_biased

FOLDER = Path(__file__).parent
COLORS, MARKERS = ("#D55E00", "#0072B2"), ("o", "^")
SIZE = 160


def main() -> None:
    X, truth = make_moons(1000, noise=0.1, random_state=0)
    X = StandardScaler().fit_transform(X)
    labeled = selection_biased(X, truth, n_labeled=20, r=3, random_state=0)
    y = np.where(labeled, truth, -1)
    side = np.linspace(-2.5, 2.5, SIZE)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    heads(X, truth, y, side, plane)
    rounds(X, truth, y)


def heads(
    X: np.ndarray, truth: np.ndarray, y: np.ndarray, side: np.ndarray, plane: np.ndarray
) -> None:
    """Draw each head's boundary, without and with the pay for disagreement, and the result."""
    figure = Figure(figsize=(10.5, 3.9), layout="constrained", dpi=110)
    axes = figure.subplots(1, 3, sharey=True)
    for ax, gamma, words in (
        (axes[0], 0.0, "five heads that fit the labels"),
        (axes[1], 1.0, "the same, paid for disagreeing elsewhere"),
    ):
        model = chary.DiverseEnsembleClassifier(gamma=gamma, random_state=0).fit(X, y)
        probs = model.predict_head_proba(plane)[:, :, 1]  # (n, M)
        for head in range(probs.shape[1]):
            ax.contour(
                side,
                side,
                probs[:, head].reshape(SIZE, SIZE),
                [0.5],
                colors="#444444",
                linewidths=1.2,
            )
        ax.set_title(words, fontsize=10)
    filled = axes[2].contourf(
        side,
        side,
        model.predict_confidence(plane).reshape(SIZE, SIZE),
        np.linspace(0, 1, 11),
        cmap="cividis",
    )
    axes[2].set_title("their agreement: the confidence", fontsize=10)
    figure.colorbar(filled, ax=axes[2])
    for ax in axes:
        points(ax, X, truth, "white" if ax is axes[2] else None)
        for c in (0, 1):
            ax.plot(
                *X[y == c].T, MARKERS[c], color=COLORS[c], markeredgecolor="black", markersize=7
            )
    figure.savefig(FOLDER / "method_heads.png")


def rounds(X: np.ndarray, truth: np.ndarray, y: np.ndarray) -> None:
    """Which rows have a label after each round of a curriculum."""
    network = chary.DiverseEnsembleClassifier(random_state=0)
    model = chary.SelfTrainingClassifier(
        network, policy=chary.Curriculum(step=0.3), max_rounds=3
    ).fit(X, y)
    figure = Figure(figsize=(10.5, 3.1), layout="constrained", dpi=110)
    for t, ax in enumerate(figure.subplots(1, 4, sharey=True)):
        taken = (model.labeled_iter_ >= 0) & (model.labeled_iter_ <= t)
        points(ax, X[~taken], truth[~taken], "#bbbbbb")
        for c in (0, 1):
            ax.plot(
                *X[taken & (model.transduction_ == c)].T, MARKERS[c], color=COLORS[c], markersize=3
            )
        wrong = np.mean(model.transduction_[taken] != truth[taken])
        words = "given" if t == 0 else f"after round {t}"
        ax.set_title(f"{words}: {taken.sum()} labels, {wrong:.0%} wrong", fontsize=10)
    figure.savefig(FOLDER / "method_rounds.png")


def points(ax, X: np.ndarray, truth: np.ndarray, color: str | None) -> None:
    for c in (0, 1):
        ax.plot(*X[truth == c].T, MARKERS[c], color=color or COLORS[c], alpha=0.25, markersize=2.5)
    ax.set(xticks=[], yticks=[])


if __name__ == "__main__":
    main()
