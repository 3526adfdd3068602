"""Shared by the tests of studies: a small data set, results, one thread as workers have."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from studies.label_free import ESTIMATES
from studies.methods import FOUR

PAIRS = [
    (k, what) for k in ("softmax", "t_similarity") for what in ("ece", "auroc", "right", "wrong")
]


@pytest.fixture(scope="session")
def blobs(tmp_path_factory):
    """Two classes in three dimensions, as the path of a file."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [90, 110])
    X = rng.normal(size=(200, 3)) + 2 * y[:, None]
    path = tmp_path_factory.mktemp("data") / "blobs.npz"
    np.savez(path, X=X, y=y, n_labeled=20, r=1.0)
    return str(path)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Boosting on several threads of a busy machine waits more than it works."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def plausible():
    """A study -> results for its first seeds."""

    def made_up(study):
        rng = np.random.default_rng(0)
        counts = rng.integers(0, 50, size=20).tolist()
        grid = rng.uniform(size=3600).round(3).tolist()
        points, classes = rng.normal(size=(30, 2)).tolist(), (np.arange(30) % 2).tolist()
        shapes = {
            "calibration_errors": lambda: {
                f"{k}_{w}": float(rng.uniform())
                for k in FOUR
                for w in ("ece", "ece_mass", "auroc", "notebook")
            },
            "confidence_histogram": lambda: {
                f"{k}_{w}": counts for k, w in PAIRS if w in ("right", "wrong")
            },
            "leave_one_out": lambda: {"leave_one_out": float(rng.uniform(0.5, 1)), "accuracy": 0.7},
            "estimates": lambda: {
                name: float(rng.uniform(0.5, 1))
                for name in ("accuracy", "auc", "mano_score", *ESTIMATES)
            },
            "projections": lambda: {
                "edges": np.linspace(-3, 3, 21).tolist(),
                "all": counts,
                "labeled": counts,
                "points_all": points,
                "points_labeled": points,
            },
            "plane": lambda: {
                "axes": [np.linspace(-2, 2, 60).tolist()] * 2,
                "softmax": grid,
                "t_similarity": grid,
                "prediction": (np.array(grid) > 0.5).astype(int).tolist(),
                "points": points,
                "points_class": classes,
                "labeled": points,
                "labeled_class": classes,
                "softmax_auroc": 0.7,
                "t_similarity_auroc": None,
            },
        }
        cells = study.cells(n_seeds=min(3, len(study.seeds)))
        return [
            (cell, shapes.get(cell.measure, lambda: {"accuracy": float(rng.uniform(0.5, 1))})())
            for cell in cells
        ]

    return made_up
