"""The kind of threads in; a context in which there is one of them out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, Literal

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_lock = threading.Lock()
_held: list[Any] = [0]  # how many ask for one thread of BLAS now, and what was before the first


def one_thread(api: Literal["blas", "openmp"]) -> AbstractContextManager[Any]:
    """Hold BLAS or OpenMP at one thread for work so small that more of them would only wait for each other.

    What is computed is then the same to the bit whatever the number of threads before. Of OpenMP every Python
    thread has a number of its own. That of BLAS is one for the whole process: several may ask for it at the same
    time, and the last of them puts back what was before the first.
    """
    return _one_blas_thread() if api == "blas" else _controller(api).limit(limits=1, user_api=api)


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    with _lock:
        if not _held[0]:
            _held.append(_controller("blas").limit(limits=1, user_api="blas"))
        _held[0] += 1
    try:
        yield
    finally:
        with _lock:
            _held[0] -= 1
            if not _held[0]:
                _held.pop().restore_original_limits()


@cache
def _controller(api: str) -> ThreadpoolController:
    """Looking for the libraries of the process takes milliseconds: once is enough."""
    return ThreadpoolController()
