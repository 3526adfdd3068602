"""Processes that label files: one that dies costs its file, which is begun again; errors keep their parts."""

import os
import signal

import pytest

from chary._words import Parameter
from chary.jobs import FileTask, Predictor
from chary.jobs.together import on_threads
from chary.jobs.workers import Job, _begin_again, on_processes, packed, restored
from chary.tables import TableError


@pytest.fixture(name="job")
def job_of_the_model(model_file):
    return Job(str(model_file), Predictor(model_file.read_bytes()).digest, {"columns": ["id"]})


def test_a_worker_that_is_killed_costs_its_file_alone(job, tmp_path, rows, monkeypatch):
    tasks = []
    for k in range(3):
        rows(200, seed=k).write_csv(tmp_path / f"{k}.csv")
        tasks.append(FileTask(str(tmp_path / f"{k}.csv"), str(tmp_path / "out" / f"{k}.csv"), recorded=True))
    import chary.jobs.workers as workers

    real, killed = workers._Worker.give, []

    def give(self, task):
        real(self, task)
        if len(killed) < 2:
            killed.append(self.process.pid)
            os.kill(self.process.pid, signal.SIGKILL)

    monkeypatch.setattr(workers._Worker, "give", give)
    events = []
    on_processes(job, tasks, 2, events.append)
    kinds = sorted(event.kind for event in events if event.kind != "rows")
    assert kinds == ["again", "again", "done", "done", "done"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["0.csv", "1.csv", "2.csv", "_chary"]


def test_who_dies_of_a_file_three_times_is_given_up():
    task, pending, deaths, events = FileTask("a", "b"), [], {"b": 0}, []
    for _ in range(3):
        _begin_again(task, "it was killed", pending, deaths, events.append)
    assert [event.kind for event in events] == ["again", "again", "failed"]
    assert str(events[-1].error) == "a: it was killed, 3 times."
    assert pending == [task, task]


def test_errors_travel_with_their_parameters():
    error = TableError("pass ", Parameter("memory", "2GB"), ".")
    again = restored(packed(error))
    assert again.args == error.args
    assert str(restored(packed(OSError(28, "No space left on device")))) == "[Errno 28] No space left on device"


def test_another_model_under_the_same_name_is_not_used(job, tmp_path):
    with pytest.raises(TableError, match="changed during the run"):
        job._replace(digest="0" * 64).predictor()
    assert job.predictor().columns == ("id",)


def test_processes_and_threads_write_the_same_bytes(job, tmp_path, rows):
    rows(500, seed=3).write_parquet(tmp_path / "t.parquet")
    events = []
    for name in ("by-process", "by-thread"):
        task = FileTask(str(tmp_path / "t.parquet"), str(tmp_path / name / "t.parquet"), recorded=True)
        (tmp_path / name).mkdir()
        if name == "by-process":
            on_processes(job, [task], 1, events.append)
        else:
            on_threads(job.predictor(), [task], 1, events.append)
    assert [event.kind for event in events if event.kind != "rows"] == ["done", "done"]
    first, second = (tmp_path / name / "t.parquet" for name in ("by-process", "by-thread"))
    assert first.read_bytes() == second.read_bytes()
