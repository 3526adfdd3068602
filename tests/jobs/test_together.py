"""Files labelled by threads: all of them, by as many as asked for; an interruption leaves nothing behind."""

import threading

import pytest

from chary.jobs import FileTask, Predictor
from chary.jobs import together as module
from chary.jobs.together import here, on_threads


@pytest.fixture(name="predictor", scope="module")
def predictor_of_the_model(model_file):
    return Predictor(model_file.read_bytes())


@pytest.fixture(name="tasks")
def tasks_of_files(tmp_path, rows):
    (tmp_path / "out").mkdir()
    for k in range(5):
        rows(200 + k, seed=k).write_csv(tmp_path / f"{k}.csv")
    return [FileTask(str(tmp_path / f"{k}.csv"), str(tmp_path / "out" / f"{k}.csv")) for k in range(5)]


def test_every_file_is_labelled_and_told_of_by_the_thread_that_asked(predictor, tasks, tmp_path):
    events, told_by = [], set()

    def report(event):
        events.append(event)
        told_by.add(threading.current_thread())

    on_threads(predictor, tasks, 2, report)
    assert told_by == {threading.current_thread()}
    assert sorted(event.labelled.rows for event in events if event.kind == "done") == [200, 201, 202, 203, 204]
    assert {event.task.together for event in events} == {2}
    alone = []
    here(predictor, FileTask(tasks[0].source, str(tmp_path / "alone.csv")), alone.append)
    assert alone[-1].kind == "done"
    assert (tmp_path / "alone.csv").read_bytes() == (tmp_path / "out" / "0.csv").read_bytes()


def test_a_file_that_cannot_be_labelled_costs_itself_alone(predictor, tasks, tmp_path):
    (tmp_path / "2.csv").write_text("a,b\n1\n")
    events = []
    on_threads(predictor, tasks, 3, events.append)
    kinds = [event.kind for event in events if event.kind != "rows"]
    assert sorted(kinds) == ["done"] * 4 + ["failed"]


def test_what_is_interrupted_is_taken_back(predictor, tasks, tmp_path):
    def report(event):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        on_threads(predictor, tasks, 2, report)
    assert threading.active_count() == 1 or not any(
        thread.name.endswith("(_work)") for thread in threading.enumerate()
    )
    assert len(list((tmp_path / "out").iterdir())) < 5
    assert not list((tmp_path / "out").glob(".*"))


def test_a_fault_of_a_thread_is_one_of_the_run(predictor, tasks, monkeypatch):
    def broken(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(module, "label_file", broken)
    with pytest.raises(RuntimeError, match="broken"):
        on_threads(predictor, tasks, 2, lambda event: None)
