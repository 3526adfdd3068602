"""Makes the figures of docs/explanation/theory.md and the numbers it quotes (theory.json)."""

import json
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from chary import LinearDiverseEnsemble

HERE = Path(__file__).parent
BLUE, ORANGE, RED, GREEN, GREY = "#0072B2", "#E69F00", "#D55E00", "#009E73", "#666666"
mpl.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "font.size": 9, "savefig.dpi": 110}
)


def fit(X, y, gamma, lambdas):
    """A stationary point, whether minimiser or saddle; None where there is none."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The loss is not convex")
        try:
            return LinearDiverseEnsemble(len(lambdas), gamma, lambdas).fit(X, y)
        except ValueError:  # singular
            return None


def breast_cancer(n_labeled=40):
    """Thirty standardised features, forty random labels."""
    X, y = load_breast_cancer(return_X_y=True)
    unlabeled = np.random.default_rng(0).permutation(len(y))[n_labeled:]
    y[unlabeled] = -1
    return StandardScaler().fit_transform(X), y


def bounds_figure(n_heads=5):
    """Plot diversity, bounds and the regularisation term against gamma and the spread of lambda."""
    X, y = breast_cancer()
    gammas, spreads = np.geomspace(1e-3, 3, 401), np.geomspace(1, 1e4, 401)
    runs = {
        "γ   (λ from 0.1 to 10)": (
            gammas,
            [fit(X, y, gamma, np.geomspace(0.1, 10, n_heads)) for gamma in gammas],
        ),
        "largest λ / smallest λ   (γ = 1, largest λ = 100)": (
            spreads,
            [fit(X, y, 1.0, np.geomspace(100 / spread, 100, n_heads)) for spread in spreads],
        ),
    }
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.9), sharey=True, layout="constrained")
    facts = {}
    for axis, (label, (x, models)) in zip(axes, runs.items(), strict=True):
        draw_bounds(axis, x, models)
        axis.set_xlabel(label)
        assumed = np.array([bool(model.assumption_holds()) for model in models])
        convex = np.array([bool(model.strictly_convex()) for model in models])
        applies = np.array([model.lower_bound().applies for model in models])
        facts[label] = {
            "assumption_a_up_to": float(x[assumed].max()),
            "convex_up_to": float(x[convex].max()),
            "theorem_applies_from": float(x[applies].min()),
        }
    axes[0].set_ylim(-0.3, 1.1)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False
    )
    figure.savefig(HERE / "theory_bounds.png")
    return facts


def draw_bounds(axis, x, models):
    """Four curves over the ranges in which Assumption A holds, the loss is convex, or neither."""
    theorem = [model.lower_bound() for model in models]
    curves = [
        ("γ · diversity", BLUE, "-", [bound.diversity for bound in theorem]),
        ("theorem's bound on it", ORANGE, "-", [bound.value for bound in theorem]),
        (
            "corollary's bound on it",
            ORANGE,
            ":",
            [model.corollary_bound().value for model in models],
        ),
        (
            "regularisation term (theorem: ≥ 1)",
            GREY,
            "--",
            [bound.regularization for bound in theorem],
        ),
    ]
    for label, colour, style, values in curves:
        axis.plot(x, values, style, color=colour, label=label, linewidth=1.8)
    axis.axhline(1, color=GREY, linewidth=0.6)
    axis.axhline(0, color="black", linewidth=0.6)
    axis.set_xscale("log")
    axis.set_xlim(x[0], x[-1])
    state = np.array(
        [2 if m.assumption_holds() else int(bool(m.strictly_convex())) for m in models]
    )
    names = {
        2: ("Assumption A", GREEN, 0.22),
        1: ("strictly convex", GREEN, 0.08),
        0: ("saddle", RED, 0.10),
    }
    edges = np.flatnonzero(np.diff(state)) + 1
    for start, stop in zip([0, *edges], [*edges, len(x) - 1], strict=True):
        name, colour, alpha = names[int(state[start])]
        axis.axvspan(x[start], x[stop], color=colour, alpha=alpha, linewidth=0)
        if np.log(x[stop] / x[start]) > 0.05 * np.log(x[-1] / x[0]):
            middle = np.sqrt(x[start] * x[stop])
            where = {"transform": axis.get_xaxis_transform(), "ha": "center", "va": "bottom"}
            axis.text(middle, 1.01, name, color=GREY, fontsize=8, **where)


def random_problem(rng):
    """Make rows with a random covariance and noisy labels, in any setting of the paper."""
    d, n_heads = int(rng.integers(1, 7)), int(rng.integers(2, 6))
    n_labeled, n_unlabeled = int(rng.integers(4, 20)), int(rng.integers(2, 40))
    X = (
        rng.normal(size=(n_labeled + n_unlabeled, d))
        @ rng.normal(size=(d, d))
        * np.exp(rng.normal(size=d))
    )
    y = (X @ rng.normal(size=d) + rng.normal(size=len(X)) > 0).astype(int)
    y[:2], y[n_labeled:] = (0, 1), -1
    return X, y, float(np.exp(2 * rng.normal())), n_heads


def stationary_points_figure(n_problems=3000):
    """Where stationary points lie: regularisation term against diversity, by kind."""
    rng = np.random.default_rng(0)
    points = []
    for _ in range(n_problems):
        X, y, gamma, n_heads = random_problem(rng)
        asked = fit(X, y, gamma, np.ones(n_heads)).assumption_holds().smallest_lambda
        for low, high in [(0.0, 3.0), (-6.0, 3.0)]:  # inside Assumption A, and mostly outside
            model = fit(X, y, gamma, asked * np.exp(rng.uniform(low, high, size=n_heads)))
            kind = 0 if model.assumption_holds() else 1 if model.strictly_convex() else 2
            bound = model.lower_bound()
            error = abs(bound.diversity - bound.value - (bound.regularization - 1) / 2) / max(
                1, bound.value
            )
            points.append((kind, bound.regularization, bound.diversity, error))
    kind, regularization, diversity, error = np.array(points).T
    figure, axis = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    names = ["Assumption A holds", "strictly convex, Assumption A fails", "saddle point"]
    for code, colour in [(2, RED), (1, BLUE), (0, GREEN)]:
        chosen = kind == code
        axis.scatter(
            regularization[chosen],
            diversity[chosen],
            9,
            color=colour,
            label=names[code],
            linewidths=0,
        )
    reach = np.array([0, 2])
    axis.plot(
        reach,
        reach - 0.25,
        color="black",
        linewidth=1,
        label="γ · diversity = regularisation − 1/4",
    )
    axis.axvline(1, color=GREY, linestyle="--", linewidth=1)
    axis.text(1.02, -0.3, "the theorem applies →", color=GREY, va="center")
    axis.axhline(0, color="black", linewidth=0.5)
    axis.set(
        xlim=(-0.02, 2), ylim=(-0.4, 2.6), xlabel="regularisation term", ylabel="γ · diversity"
    )
    axis.legend(frameon=False, loc="upper left", markerscale=2)
    figure.savefig(HERE / "theory_stationary_points.png")
    large = regularization >= 1
    return {
        name: {
            "problems": int((kind == code).sum()),
            "theorem_applies": int((large & (kind == code)).sum()),
            "largest_regularization": float(regularization[kind == code].max()),
            "diversity_above_zero": int((diversity[kind == code] > 0).sum()),
            "smallest_room": float((diversity - regularization + 0.25)[kind == code].min()),
            "largest_error_of_the_identity": float(error[kind == code].max()),
        }
        for code, name in enumerate(names)
    }


def necessity_figure(n_problems=400, d=10):
    """Plot the share of strictly convex problems against the distance of lambda below A."""
    rng = np.random.default_rng(0)
    figure, axis = plt.subplots(figsize=(7.2, 3.9), layout="constrained")
    ratio = np.geomspace(1e-3, 1.5, 200)
    facts = {}
    for n_heads, colour in [(2, BLUE), (5, ORANGE), (20, GREEN)]:
        for n_labeled, style in [(5, "-"), (50, ":")]:
            needed = np.empty(n_problems)
            for index in range(n_problems):
                X = rng.normal(size=(n_labeled + 300, d)) @ rng.normal(size=(d, d))
                y = rng.integers(0, 2, size=len(X))
                y[:2], y[n_labeled:] = (0, 1), -1
                model = fit(X, y, 1.0, np.ones(n_heads))
                needed[index] = (
                    model.strictly_convex().smallest_lambda
                    / model.assumption_holds().smallest_lambda
                )
            share = [(needed < value).mean() for value in ratio]
            axis.plot(
                ratio,
                share,
                style,
                color=colour,
                label=f"M = {n_heads}, {n_labeled} labels",
                linewidth=1.8,
            )
            facts[f"M={n_heads}, labels={n_labeled}"] = {
                "asked_over_needed_at_least": float(1 / needed.max()) if needed.max() else None,
                "asked_over_needed_median": float(1 / np.median(needed))
                if np.median(needed)
                else None,
                "convex_for_any_lambda": float((needed == 0).mean()),
            }
        axis.axvline(1 / (n_heads + 1), color=colour, linewidth=0.8, linestyle="--")
    axis.axvline(1, color="black", linewidth=0.8)
    axis.text(0.97, 0.02, "Assumption A", ha="right", va="bottom", rotation=90)
    axis.set(xscale="log", xlim=(1e-3, 1.5), ylim=(-0.02, 1.03))
    axis.set(
        xlabel="λ / smallest λ of Assumption A   (dashed: 1 / (M + 1))",
        ylabel="share strictly convex",
    )
    axis.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 0.02))
    figure.savefig(HERE / "theory_necessity.png")
    return facts


if __name__ == "__main__":
    facts = {
        "bounds": bounds_figure(),
        "stationary_points": stationary_points_figure(),
        "necessity": necessity_figure(),
    }
    (HERE / "theory.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(facts, indent=1, ensure_ascii=False))
