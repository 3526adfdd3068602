"""What every test runs under."""

import os
from functools import partial
from importlib.util import find_spec

# scikit-learn's estimator checks skip one of their own without it; SciPy reads it when it is imported.
os.environ["SCIPY_ARRAY_API"] = "1"
# Tests run on every core at once: more threads than that only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

# Examples are the same in every run, and a busy machine is no failure.
settings.register_profile("chary", deadline=None, derandomize=True)
settings.load_profile("chary")

# What cannot be tried without an extra, and so is left out where that is not installed.
NEEDS = {
    "torch": ["torch", *(f"studies/test_{name}.py" for name in ("authors", "deep", "figures", "stored"))],
    "matplotlib": ["studies", "report/test_plots.py", "common/test_notebook.py"],
    "distributed": ["studies/test_runner.py"],
}
collect_ignore = [place for package, places in NEEDS.items() if not find_spec(package) for place in places]


@pytest.fixture(scope="module")
def quick_learners():
    """The learners of ``chary label`` with few trees and short training, where nothing shown depends on it."""
    from sklearn.ensemble import ExtraTreesClassifier

    import chary.method.mixture
    from chary.labelling.learn import LEARNERS

    network = LEARNERS["network"]
    with pytest.MonkeyPatch.context() as patch:
        few = lambda n, **rest: ExtraTreesClassifier(10, **rest)  # noqa: E731
        patch.setattr(chary.method.mixture, "ExtraTreesClassifier", few)
        boosting = chary.method.mixture.boosted_trees
        patch.setattr(chary.method.mixture, "boosted_trees", lambda: boosting().set_params(max_iter=5))
        short = network._replace(estimator=partial(network.estimator, n_steps=150))
        patch.setitem(LEARNERS, "network", short)
        yield
