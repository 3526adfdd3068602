"""The kind of threads in; a context in which there is one of them out."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Literal

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


def one_thread(api: Literal["blas", "openmp"]) -> AbstractContextManager[Any]:
    """Hold BLAS or OpenMP at one thread for work so small that more of them would only wait for each other.

    What is computed is then the same to the bit whatever the number of threads before, as long as no other Python
    thread sets it meanwhile: it is one number for the whole process, put back at the end.
    """
    return _controller(api).limit(limits=1, user_api=api)


@cache
def _controller(api: str) -> ThreadpoolController:
    """Looking for the libraries of the process takes milliseconds: once is enough."""
    return ThreadpoolController()
