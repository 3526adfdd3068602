"""What threads and forked processes would otherwise spoil for each other."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any, Literal

# Scikit-learn's guess that many classes of few rows each are numbers; whether they are is asked of
# the table.
_MANY_CLASSES = "The number of unique classes is greater than 50% of the number of samples"
_used = _lost = (
    False  # whether threads of Polars were started by chary, and whether a fork left them behind
)


def refuse_after_fork() -> None:
    """Refuse to wait for ever: the threads of Polars, which reads tables, do not follow into a forked process."""
    global _used
    if _lost:
        raise RuntimeError(
            "This process was forked after Polars had started, which would make it hang; start it with "
            "multiprocessing.get_context('spawn')."
        )
    _used = True


class _Shared:
    """A change to the whole process, made for the first of the threads that ask for it, undone after the last."""

    def __init__(self, change: Callable[[], Callable[..., Any]]) -> None:
        self.change, self.lock, self.n_asking = change, Lock(), 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self.lock:
            if not self.n_asking:
                self.undo = self.change()
            self.n_asking += 1
        try:
            yield
        finally:
            with self.lock:
                self.n_asking -= 1
                if not self.n_asking:
                    self.undo()


def _ignore_many_classes() -> Callable[..., Any]:
    before = warnings.catch_warnings()
    before.__enter__()
    warnings.filterwarnings("ignore", _MANY_CLASSES, UserWarning)
    return partial(before.__exit__, None, None, None)


def _limit_blas() -> Callable[..., Any]:
    return _controller("blas").limit(limits=1, user_api="blas").restore_original_limits


_no_warning, _one_of_blas = _Shared(_ignore_many_classes), _Shared(_limit_blas)


@contextmanager
def same_warnings() -> Iterator[None]:
    """Filters of warnings are afterwards what they were before; meanwhile, nobody is told of many classes.

    Scikit-learn sets them for a moment, and puts them back; of several threads, each what another
    had set. The last one that is at work puts back what was before the first.
    """
    if getattr(sys.flags, "context_aware_warnings", False):  # each thread has its own
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", _MANY_CLASSES, UserWarning)
            yield
        return
    with _no_warning():
        yield


def one_thread(api: Literal["blas", "openmp"]) -> AbstractContextManager[Any]:
    """Hold BLAS or OpenMP at one thread for work so small that more of them would only wait for each other.

    What is computed is then the same to the bit whatever the number of threads before. Of OpenMP
    every Python thread has a number of its own. That of BLAS is one for the whole process: several
    may ask for it at the same time, and the last of them puts back what was before the first.
    """
    return _one_of_blas() if api == "blas" else _controller(api).limit(limits=1, user_api=api)


@cache
def _controller(api: str) -> Any:
    """What knows the libraries that are loaded when it is first asked for one of this kind."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def _before_a_fork() -> None:
    """Note whether there are threads to lose, started by whomever; where they have no names, by chary."""
    global _used
    for name in Path("/proc/self/task").glob("*/comm"):
        try:
            _used = _used or name.read_text(encoding="utf-8").startswith("polars-0")
        except OSError:  # a thread that has ended meanwhile
            continue


def _after_a_fork() -> None:
    global _lost
    _lost = _lost or _used
    for shared in (_no_warning, _one_of_blas):
        shared.lock, shared.n_asking = Lock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_a_fork, after_in_child=_after_a_fork)
