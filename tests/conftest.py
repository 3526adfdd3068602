"""What every test runs under."""

import os

# scikit-learn's estimator checks skip one of their own without it; SciPy reads it when it is imported.
os.environ["SCIPY_ARRAY_API"] = "1"
# The matrices of tests are small: more threads only wait for each other, and several workers share the machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

# Examples are the same in every run, and a busy machine is no failure.
settings.register_profile("chary", deadline=None, derandomize=True)
settings.load_profile("chary")
