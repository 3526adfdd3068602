"""Files to label in; what happens to each out, from the workers of a Dask cluster."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from chary.jobs.streamed import FileTask, Labelled, label_file
from chary.jobs.workers import MOST_DEATHS, Event, Job, packed, restored
from chary.tables import TableError


def on_dask(
    job: Job, tasks: Sequence[FileTask], jobs: int, report: Callable[[Event], None], address: str | None = None
) -> None:
    """Have files labelled by a cluster: at an address, or of so many workers on this machine.

    Model and files must be where its workers find them under the same paths. A file whose worker is lost is begun
    again by another, at most twice; as every output is whole or absent, nothing is done twice.
    """
    try:
        dask, distributed = importlib.import_module("dask"), importlib.import_module("distributed")
    except ImportError as error:
        raise TableError("The engine 'dask' needs a package more: pip install 'chary[dask]'.") from error
    patience = {"distributed.scheduler.allowed-failures": MOST_DEATHS - 1}
    with dask.config.set(patience), _client(distributed, jobs, address) as client:
        futures = {client.submit(_labelled, job._asdict(), asdict(task), pure=False): task for task in tasks}
        try:
            for future in distributed.as_completed(list(futures)):
                report(_event(future, futures[future], distributed))
        finally:
            client.cancel(list(futures))


def _labelled(job: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    """On a worker: the outcome of a file, or what is wrong with it, as plain data."""
    try:
        return {"done": asdict(label_file(Job(**job).predictor(), FileTask(**task)))}
    except (TableError, OSError) as error:
        return {"failed": packed(error)}


def _event(future: Any, task: FileTask, distributed: Any) -> Event:
    error = future.exception()
    if error is not None:
        lost = isinstance(error, distributed.KilledWorker)
        why = f"its worker died {MOST_DEATHS} times" if lost else f"{type(error).__name__}: {error}"
        return Event("failed", task, error=TableError(f"{task.source}: {why}."))
    found = future.result()
    if "failed" in found:
        return Event("failed", task, error=restored(found["failed"]))
    done = found["done"]
    labelled = Labelled(**{**done, "notes": tuple(done["notes"])})
    return Event("done", task, labelled.rows, 1.0, labelled)


@contextmanager
def _client(distributed: Any, jobs: int, address: str | None) -> Iterator[Any]:
    if address:
        with distributed.Client(address) as client:
            yield client
        return
    # Without an address of its own the page of an older Dask is open to other machines.
    options: dict[str, Any] = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    options["worker_dashboard_address"] = "127.0.0.1:0"
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client
