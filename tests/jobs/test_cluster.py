"""A Dask cluster: a worker that is lost costs its file, and the rest is told in one sentence."""

import os
import signal
import sys

import pytest

from chary.jobs import FileTask, Predictor, label_file
from chary.jobs.cluster import _event, on_dask
from chary.jobs.workers import Job
from chary.tables import TableError

distributed = pytest.importorskip("distributed")


def test_a_lost_worker_costs_only_its_file_and_the_bytes_are_the_same(model_file, tmp_path, rows):
    predictor, tasks = Predictor(model_file.read_bytes()), []
    for k in range(3):
        rows(200, seed=k).write_parquet(tmp_path / f"{k}.parquet", row_group_size=70)
        output = str(tmp_path / "out" / f"{k}.parquet")
        tasks.append(FileTask(str(tmp_path / f"{k}.parquet"), output, recorded=True))
        label_file(predictor, FileTask(tasks[-1].source, str(tmp_path / "alone" / f"{k}.parquet")))
    (tmp_path / "torn.csv").write_text("a,b\n1\n")
    tasks.append(FileTask(str(tmp_path / "torn.csv"), str(tmp_path / "out" / "torn.csv"), recorded=True))
    job = Job(str(model_file), predictor.digest, {})
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
    assert sorted(event.kind for event in events) == ["done", "done", "done", "failed"]
    (torn,) = [event for event in events if event.kind == "failed"]
    assert "torn.csv, line 2: 1 cells where the header has 2" in str(torn.error)
    for k in range(3):
        alone, found = (tmp_path / folder / f"{k}.parquet" for folder in ("alone", "out"))
        assert found.read_bytes() == alone.read_bytes()
    assert not (tmp_path / "out" / "torn.csv").exists()


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
