"""Keep threads and forked processes from spoiling each other's work."""

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

# scikit-learn warns that many classes of few rows each may be numbers. chary has found out from the
# table that they are classes.
_MANY_CLASSES = "The number of unique classes is greater than 50% of the number of samples"

# Whether threads of Polars were started in this process, and whether a fork left them behind.
_polars_started = False
_polars_lost = False


def refuse_after_fork() -> None:
    """Refuse to use Polars in a forked process; otherwise, note that it is about to start.

    The threads of Polars, which reads tables, do not follow into a forked process. What waits for
    them there hangs.
    """
    global _polars_started
    if _polars_lost:
        raise RuntimeError(
            "This process was forked after Polars had started, which would make it hang; start it "
            "with multiprocessing.get_context('spawn')."
        )
    _polars_started = True


class _SharedChange:
    """A change to the whole process that several threads may need at the same time.

    It is made when the first of them needs it, and undone when none needs it any more.

    Parameters
    ----------
    change : callable
        Makes the change and returns what undoes it.
    """

    def __init__(self, change: Callable[[], Callable[..., Any]]) -> None:
        self.change = change
        self.forget_threads()

    def forget_threads(self) -> None:
        """Forget the threads that need the change: a forked process has none of them."""
        self.lock = Lock()
        self.n_users = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self.lock:
            if self.n_users == 0:
                self.undo = self.change()
            self.n_users += 1
        try:
            yield
        finally:
            with self.lock:
                self.n_users -= 1
                if self.n_users == 0:
                    self.undo()


def _ignore_many_classes() -> Callable[..., Any]:
    """Ignore the warning of many classes; return what undoes that."""
    filters = warnings.catch_warnings()
    filters.__enter__()
    warnings.filterwarnings("ignore", _MANY_CLASSES, UserWarning)
    return partial(filters.__exit__, None, None, None)


def _limit_blas() -> Callable[..., Any]:
    """Hold BLAS at one thread; return what undoes that."""
    return _controller("blas").limit(limits=1, user_api="blas").restore_original_limits


_no_warning = _SharedChange(_ignore_many_classes)
_single_blas_thread = _SharedChange(_limit_blas)


@contextmanager
def same_warnings() -> Iterator[None]:
    """Leave the filters of warnings as they were before the block.

    Inside it, scikit-learn's warning that there are many classes is ignored.

    Filters are of the whole process, and scikit-learn changes them for a moment. If two threads did
    so at once, each might restore what the other had set. So all blocks that run at the same time
    share one change: the first to begin saves the filters, the last to end restores them.
    """
    # Newer versions of Python can give each thread filters of its own.
    if getattr(sys.flags, "context_aware_warnings", False):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", _MANY_CLASSES, UserWarning)
            yield
        return
    with _no_warning():
        yield


def one_thread(api: Literal["blas", "openmp"]) -> AbstractContextManager[Any]:
    """Hold BLAS or OpenMP at one thread.

    This is for work so small that more threads would only wait for each other. The result is then
    the same to the bit, whatever the number of threads was before. OpenMP has a limit for each
    Python thread. BLAS has one limit for the whole process: if several threads hold it at the same
    time, the earlier limit is restored when the last of them has ended.
    """
    if api == "blas":
        return _single_blas_thread()
    return _controller(api).limit(limits=1, user_api=api)


@cache
def _controller(api: str) -> Any:
    """Return a controller of the libraries that were loaded at the first call for ``api``.

    The argument is only the key of the cache: OpenMP may be loaded later than BLAS.
    """
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def _before_fork() -> None:
    """Note whether this process has threads of Polars, which a fork leaves behind.

    They are known by their names, whatever code started them. On a system that does not list the
    names of threads, ``refuse_after_fork`` has noted whether chary started them.
    """
    global _polars_started
    for name in Path("/proc/self/task").glob("*/comm"):
        try:
            if name.read_text(encoding="utf-8").startswith("polars-0"):
                _polars_started = True
        except OSError:
            # The thread has ended meanwhile.
            continue


def _after_fork() -> None:
    """Forget, in the child, all threads of its parent."""
    global _polars_lost
    _polars_lost = _polars_lost or _polars_started
    _no_warning.forget_threads()
    _single_blas_thread.forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
