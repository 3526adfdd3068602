"""Draws the pictures of the method: heads that disagree, and what is taken in round by round.

    python docs/figures/method.py

It writes method_rounds.png, t_similarity-light.png and t_similarity-dark.png into docs/figures.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from sklearn.datasets import make_moons
from sklearn.preprocessing import StandardScaler

import chary
from chary.method import selection_biased

FOLDER = Path(__file__).parent
COLORS, MARKERS = ("#D55E00", "#0072B2"), ("o", "^")
SIZE = 160


class Theme(NamedTuple):
    """The colours of a picture on a light or a dark page."""

    name: str
    page: str
    text: str
    agreement: str  # where confidence is 1
    row: str  # an unlabelled one


THEMES = (
    Theme("light", "#ffffff", "#1f2328", "#9fd8b4", "#7d8590"),
    Theme("dark", "#0d1117", "#e6edf3", "#1f6f43", "#9198a1"),
)


def main() -> None:
    X, truth = make_moons(1000, noise=0.1, random_state=0)
    X = StandardScaler().fit_transform(X)
    labeled = selection_biased(X, truth, n_labeled=20, r=3, random_state=0)
    y = np.where(labeled, truth, -1)
    side = np.linspace(-2.5, 2.5, SIZE)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for theme in THEMES:
        heads(X, y, side, plane, theme)
    rounds(X, truth, y)


def heads(X: np.ndarray, y: np.ndarray, side: np.ndarray, plane: np.ndarray, theme: Theme) -> None:
    """Draw ordinary heads beside diverse ones, each on what it takes for sure."""
    figure = Figure(figsize=(7.2, 4.2), layout="constrained", dpi=150, facecolor=theme.page)
    ordinary, diverse = figure.subplots(1, 2, sharey=True)
    shades = LinearSegmentedColormap.from_list("agreement", [theme.page, theme.agreement])
    for ax, gamma, title in (
        (ordinary, 0.0, "Ordinary heads draw one line,\nand are sure nearly everywhere"),
        (diverse, 1.0, "Diverse heads may disagree:\ntrust them where they agree"),
    ):
        model = chary.DiverseEnsembleClassifier(gamma=gamma, random_state=0).fit(X, y)
        probs = model.predict_head_proba(plane)  # (n, M, C)
        agreement = chary.t_similarity(probs).reshape(SIZE, SIZE)
        # Five heads that are sure, and split three to two, have 0.4.
        ax.contourf(side, side, agreement, np.linspace(0.4, 1, 19), cmap=shades, extend="both")
        for head in range(probs.shape[1]):
            boundary = probs[:, head, 1].reshape(SIZE, SIZE)
            ax.contour(side, side, boundary, [0.5], colors=theme.text, linewidths=1.6)
        ax.plot(*X[y < 0].T, ".", color=theme.row, markersize=2.5)
        for c in (0, 1):
            ax.plot(
                *X[y == c].T,
                MARKERS[c],
                color=COLORS[c],
                markeredgecolor=theme.text,
                markersize=9,
            )
        ax.set_title(title, fontsize=14, color=theme.text)
        ax.set(xticks=[], yticks=[])
        for spine in ax.spines.values():
            spine.set_color(theme.row)
    words = "green: T-similarity is high;  lines: where a head changes its mind;  ● ▲ labels"
    figure.supxlabel(words, fontsize=12, color=theme.text)
    figure.savefig(FOLDER / f"t_similarity-{theme.name}.png")


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
