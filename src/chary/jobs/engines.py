"""Files to label in; their outcomes out, one by one: by this process, several, or a Dask cluster.

Whoever labels a file, its bytes are the same. A process or a machine that is lost costs the file it was at, which
is begun again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from chary._files import folders_for, sweep
from chary._words import Parameter, shown
from chary.jobs.cluster import on_dask
from chary.jobs.predictor import Predictor
from chary.jobs.records import record_path
from chary.jobs.streamed import LEAST_MEMORY, FileTask
from chary.jobs.together import here, on_threads
from chary.jobs.workers import Event, Job, on_processes
from chary.method import scores_quickly
from chary.tables import TableError, free_memory

__all__ = ["ENGINES", "Means", "free_memory", "label_files", "n_cores"]

ENGINES = ("process", "dask")


class Means(NamedTuple):
    """What a run may use."""

    jobs: int
    threads: int  # of each job
    memory: int  # bytes of each job

    @classmethod
    def of(cls, n_files: int, jobs: int | None, memory: int) -> Means:
        """As many jobs as there are cores, files, and room for; the cores that are left over are their threads."""
        cores = n_cores()
        if jobs is None:
            jobs = max(1, min(cores, n_files, memory // LEAST_MEMORY))
        if memory // jobs < LEAST_MEMORY:
            raise TableError(
                f"{jobs} at a time need {jobs * LEAST_MEMORY >> 20:,} MiB at least, and {memory >> 20:,} MiB are "
                "allowed; pass fewer with ",
                Parameter("jobs"),
                ", or more with ",
                Parameter("memory"),
                ".",
            )
        jobs = max(1, min(jobs, n_files))
        return cls(jobs, max(1, cores // jobs), memory // jobs)


def n_cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def label_files(
    model: Path,
    predictor: Predictor,
    tasks: Sequence[FileTask],
    means: Means,
    report: Callable[[Event], None],
    *,
    engine: str = "process",
    address: str | None = None,
) -> None:
    """Label files, in whatever order; what happens to each is reported as it happens.

    Parameters
    ----------
    model : path
        Of the model file, which workers read.
    predictor : Predictor
        Of the same file.
    tasks : sequence of FileTask
    means : Means
    report : callable
    engine : {"process", "dask"}, default="process"
    address : str, default=None
        Of a running Dask scheduler, whose workers see the files under the same paths. None: a cluster of so many
        workers on this machine, for the time of the run.
    """
    if engine not in ENGINES:
        raise TableError(
            f"There is no engine {shown(engine)}; pass ", Parameter("engine", "process"), " or 'dask'."
        )
    tasks = [replace(task, threads=means.threads, memory=means.memory) for task in tasks]
    job = Job(os.path.abspath(model), predictor.digest, predictor.settings)
    with _folders(tasks):
        if engine == "dask":
            on_dask(job, tasks, means.jobs, report, address)
        elif means.jobs == 1:
            for task in tasks:
                here(predictor, task, report)
        elif scores_quickly(predictor.model[-1]):  # so that starting processes would count
            on_threads(predictor, tasks, means.jobs, report)
        else:
            on_processes(job, tasks, means.jobs, report)


@contextmanager
def _folders(tasks: Sequence[FileTask]) -> Iterator[None]:
    """Folders of all outputs, swept, made before any worker looks for its own; empty ones go again."""
    outputs = [Path(task.output).absolute() for task in tasks]
    paths = [*outputs, *(record_path(output) for output in outputs)]
    new = sorted({folder for path in paths for folder in path.parents if not folder.exists()}, reverse=True)
    with folders_for(paths):
        for folder in {path.parent for path in paths}:
            sweep(folder)
        yield
    for folder in new:  # inner ones first
        with suppress(OSError):
            folder.rmdir()
