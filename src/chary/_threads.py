"""What threads and forked processes would otherwise spoil for each other."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

# Scikit-learn's guess that many classes of few rows each are numbers; whether they are is asked of the table.
_MANY_CLASSES = "The number of unique classes is greater than 50% of the number of samples"
_lock = Lock()
_held: list[warnings.catch_warnings] = []  # the filters before the first of those at work now
_at_work = 0  # how many are
_used = _lost = False  # whether threads of Polars were started by chary, and whether a fork left them behind


def refuse_after_fork() -> None:
    """Refuse to wait for ever: the threads of Polars, which reads tables, do not follow into a forked process."""
    global _used
    if _lost:
        raise RuntimeError(
            "This process was forked after Polars had started, which would make it hang; start it with "
            "multiprocessing.get_context('spawn')."
        )
    _used = True


@contextmanager
def same_warnings() -> Iterator[None]:
    """Filters of warnings are afterwards what they were before; meanwhile, nobody is told of many classes.

    Scikit-learn sets them for a moment, and puts them back; of several threads, each what another had set. The
    last one that is at work puts back what was before the first.
    """
    global _at_work
    if getattr(sys.flags, "context_aware_warnings", False):  # each thread has its own
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", _MANY_CLASSES, UserWarning)
            yield
        return
    with _lock:
        if not _at_work:
            _held.append(warnings.catch_warnings())
            _held[0].__enter__()
            warnings.filterwarnings("ignore", _MANY_CLASSES, UserWarning)
        _at_work += 1
    try:
        yield
    finally:
        with _lock:
            _at_work -= 1
            if not _at_work:
                _held.pop().__exit__(None, None, None)


def _before_a_fork() -> None:
    """Note whether there are threads to lose, started by whomever; where they have no names, by chary."""
    global _used
    for name in Path("/proc/self/task").glob("*/comm"):
        try:
            _used = _used or name.read_text(encoding="utf-8").startswith("polars-0")
        except OSError:  # a thread that has ended meanwhile
            continue


def _after_a_fork() -> None:
    global _lost, _at_work, _lock
    _lost, _at_work, _lock = _lost or _used, 0, Lock()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_a_fork, after_in_child=_after_a_fork)
