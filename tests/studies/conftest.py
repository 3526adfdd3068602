"""What the tests of studies share: a small data set of one's own."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def blobs(tmp_path_factory):
    """Two classes in three dimensions, as the path of a file."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [90, 110])
    X = rng.normal(size=(200, 3)) + 2 * y[:, None]
    path = tmp_path_factory.mktemp("data") / "blobs.npz"
    np.savez(path, X=X, y=y, n_labeled=20, r=1.0)
    return str(path)
