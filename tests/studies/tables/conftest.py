"""What the tests of real tables share: one thread, as the workers of a study have."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Boosting on several threads of a busy machine waits more than it works."""
    with threadpool_limits(1):
        yield
