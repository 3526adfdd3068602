"""Handwritten digits, labels on 100 odd-looking ones: which confidence can be taken at its word?"""

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from chary import DiverseEnsembleClassifier

N_RUNS, LABELS_PER_CLASS = 9, 10
LEVELS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
KINDS = {"max_probability": "softmax", "t_similarity": "T-similarity"}


def odd_ones(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the mask of labelled rows class by class; unusual rows are drawn more often."""
    X = StandardScaler().fit_transform(X)
    labeled = np.zeros(len(y), dtype=bool)
    for digit in np.unique(y):
        rows = np.flatnonzero(y == digit)
        # Along what varies most.
        oddness = np.abs(PCA(1, random_state=0).fit_transform(X[rows])[:, 0])
        chance = np.exp(oddness / 2)
        labeled[rng.choice(rows, LABELS_PER_CLASS, replace=False, p=chance / chance.sum())] = True
    return labeled


def one_run(seed: int) -> np.ndarray:
    """Count hidden rows, (kinds, levels, 3): trusted rows, their confidence summed, right rows."""
    X, y = load_digits(return_X_y=True)
    labeled = odd_ones(X, y, np.random.default_rng(seed))
    model = DiverseEnsembleClassifier(random_state=seed).fit(X, np.where(labeled, y, -1))
    hidden = X[~labeled]
    right = model.predict(hidden) == y[~labeled]
    counts = np.empty((len(KINDS), len(LEVELS), 3))
    for i, kind in enumerate(KINDS):
        confidence = model.predict_confidence(hidden, kind)
        for j, level in enumerate(LEVELS):
            trusted = confidence >= level
            counts[i, j] = trusted.sum(), confidence[trusted].sum(), right[trusted].sum()
    return counts


def main() -> None:
    # Each (kinds, levels)
    n_trusted, promised, n_right = np.moveaxis(sum(map(one_run, range(N_RUNS))), -1, 0)
    figures = np.stack(
        [n_trusted / n_trusted[0, 0], promised / n_trusted, n_right / n_trusted], axis=-1
    )
    table = Table(
        title=f"1,797 digits, 100 biased labels, {N_RUNS} runs together", title_justify="left"
    )
    table.add_column("\nconfidence")
    for name in KINDS.values():
        for column in (f"{name}\nrows", "\nsays", "\nholds"):
            table.add_column(column, justify="right")
    for j, level in enumerate(LEVELS):
        name = f"at least {level:.1f}" if level else "any"
        table.add_row(
            name, *(f"{figure:.1%}" for figure in figures[:, j].ravel()), end_section=not level
        )
    console = Console()
    console.print(table)
    console.print(
        f"Trained on 100 odd-looking digits, the model is right on {figures[0, 0, 2]:.1%} of the "
        "others.\n"
        "[bold]rows[/]: the share that reaches the confidence; [bold]says[/]: the mean confidence "
        "in them;\n"
        "[bold]holds[/]: the share of them that is right. A confidence should hold what it says."
    )


if __name__ == "__main__":
    main()
