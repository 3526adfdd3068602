"""A Dask cluster: a worker that is lost costs its file, and the rest is told in one sentence."""

import os
import signal
import sys

import pytest

from chary.jobs import FileTask, Predictor
from chary.jobs.cluster import _event, on_dask
from chary.jobs.workers import Job
from chary.tables import TableError

distributed = pytest.importorskip("distributed")


def test_a_lost_worker_costs_only_its_file(model_file, tmp_path, rows):
    tasks = []
    for k in range(4):
        rows(200, seed=k).write_csv(tmp_path / f"{k}.csv")
        tasks.append(FileTask(str(tmp_path / f"{k}.csv"), str(tmp_path / "out" / f"{k}.csv"), recorded=True))
    job = Job(str(model_file), Predictor(model_file.read_bytes()).digest, {})
    events = []
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        with distributed.Client(cluster) as client:
            pids = list(client.run(os.getpid).values())

        def report(event):
            if not events:
                os.kill(pids[0], signal.SIGKILL)
            events.append(event)

        on_dask(job, tasks, 2, report, cluster.scheduler_address)
    assert [event.kind for event in events] == ["done"] * 4
    assert {event.labelled.rows for event in events} == {200}
    assert sorted(path.name for path in (tmp_path / "out").glob("*.csv")) == [f"{k}.csv" for k in range(4)]


class Future:
    def __init__(self, error):
        self.error = error

    def exception(self):
        return self.error


def test_what_went_wrong_is_a_sentence(monkeypatch):
    killed = distributed.KilledWorker("task", None, 2)
    event = _event(Future(killed), FileTask("a.csv", "b"), distributed)
    assert (event.kind, str(event.error)) == ("failed", "a.csv: its worker died 3 times.")
    event = _event(Future(RuntimeError("odd")), FileTask("a.csv", "b"), distributed)
    assert str(event.error) == "a.csv: RuntimeError: odd."
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(TableError, match=r"needs a package more: pip install 'chary\[dask\]'"):
        on_dask(Job("m", "d", {}), [], 1, print)
