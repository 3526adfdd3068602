"""What every test of this room runs under: one thread."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="package")
def one_thread():
    """On networks this small more threads only wait for each other: several times the CPU time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
