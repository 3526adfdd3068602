"""The runner: resume, retry, stop, and the same results however the work is spread."""

import os
import runpy
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest
import threadpoolctl
from sklearn.neighbors import KNeighborsClassifier

from studies import STUDIES, runner
from studies.results import results_of, to_csv
from studies.runner import Interrupted, run, work_out
from studies.store import Store, key_of
from studies.study import Method, Study, Task

try:  # the copy that workers are sent functions with
    from joblib.externals import cloudpickle
except ImportError:
    import cloudpickle

# Workers cannot import a test module: its functions travel by value.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def nearest(task, k=1):
    return KNeighborsClassifier(k).fit(task.X[task.labeled], task.y[task.labeled])


def fail(task):
    raise ValueError("no luck today")


def die(task, marker, times):
    """End the worker, the first ``times`` times."""
    log = Path(marker)
    deaths = len(log.read_text()) if log.exists() else 0
    if deaths < times:
        log.write_text("x" * (deaths + 1))
        os.kill(os.getpid(), signal.SIGKILL)
    return nearest(task)


def accuracy_and_threads(task, fitted):
    n_threads = max(info["num_threads"] for info in threadpoolctl.threadpool_info())
    return {"accuracy": float(fitted.score(task.X_test, task.y_test)), "threads": n_threads}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells")


def study_of(blobs, **methods):
    return Study(
        "mine",
        "A study of one's own",
        (blobs,),
        ("ssb",),
        {name: Method(*m) for name, m in methods.items()},
    )


def test_two_workers_give_what_one_process_gives_and_leave_no_trace(blobs, store):
    paper = {name: STUDIES["table-ssb"].methods[name] for name in ("erm", "pl-tsim")}
    study = replace(study_of(blobs), methods={**paper, "three": Method(nearest, {"k": 3})})
    study = replace(study, measure=accuracy_and_threads)
    cells = [replace(cell, model={"n_steps": 40}) for cell in study.cells(n_seeds=2)]
    before, seen = (dict(os.environ), signal.getsignal(signal.SIGINT), os.getcwd()), []
    progress = run(
        study, cells, store, jobs=2, report=lambda p: seen.append((p.n_done, p.n_running))
    )
    assert (progress.n_done, progress.n_found, progress.failed) == (6, 0, [])
    assert seen[0] == (0, 0)
    assert seen[-1] == (6, 0)
    assert max(running for _, running in seen) == 2
    assert (dict(os.environ), signal.getsignal(signal.SIGINT), os.getcwd()) == before
    found = [result for _, result in results_of(cells, store)]
    assert found == [
        next(work_out(study, [cell])).result for cell in cells
    ]  # here with one thread, too
    assert {result["threads"] for result in found} == {1}


def test_what_failed_or_is_damaged_is_worked_out_next_time_and_nothing_else(blobs, store, inline):
    def odd(task, fitted):
        return {"accuracy": float("inf") if task.cell.method == "odd" else 1.0}

    study = replace(
        study_of(blobs, bad=(fail,), odd=(nearest,), one=(nearest,), two=(nearest,)), measure=odd
    )
    cells = study.cells(n_seeds=1)
    with pytest.warns(
        UserWarning, match=r"(?s)2 cells failed; the first: ValueError: no luck .*in fail"
    ):
        progress = run(study, cells, store)
    assert progress.n_done == 2
    reasons = {cell.method: reason for cell, reason in progress.failed}
    assert set(reasons) == {"bad", "odd"}
    error, *trace = reasons["bad"].splitlines()
    assert error == trace[-1] == "ValueError: no luck today"
    assert "work_out" not in reasons["bad"]  # the user's own lines alone
    assert reasons["odd"].startswith("its result cannot be stored: ")
    # A torn file and an altered one: set aside, worked out again.
    first, second = (store.path(key_of(cell.content())) for cell in cells[2:])
    first.write_bytes(first.read_bytes()[:100])
    second.write_text(second.read_text().replace('"accuracy": ', '"accuracy": -'))
    mended = replace(study, methods={**study.methods, "bad": Method(nearest)})
    again = run(mended, cells[:1] + cells[2:], store)
    assert (again.n_done, again.n_found, again.n_damaged, again.failed) == (3, 0, 2, [])
    assert first.with_suffix(".corrupt").exists()
    last = run(mended, cells[:1] + cells[2:], store)
    assert (last.n_done, last.n_found) == (0, 3)


def test_an_own_task_is_run_and_not_taken_from_the_papers_cells(blobs, store, inline, capsys):
    class NoLabelsHidden(Task):
        def _labeled(self, seed):
            return self.y_true >= 0

    study = replace(
        study_of(blobs, near=(nearest,)),
        measure=lambda task, fitted: {"labels": int(task.labeled.sum())},
    )
    for changed, n_labels in ((study, 20), (replace(study, task=NoLabelsHidden), 150)):
        run(changed, changed.cells(n_seeds=1), store)
        assert [result["labels"] for _, result in results_of(changed.cells(n_seeds=1), store)] == [
            n_labels
        ]
    assert capsys.readouterr().err == ""


def test_reused_cells_are_announced_and_can_be_run_again(blobs, store, inline, capsys, tmp_path):
    log = tmp_path / "log"

    def logged(task, path):
        with open(path, "a") as file:
            file.write("x")
        return nearest(task)

    study = study_of(blobs, logged=(logged, {"path": str(log)}))
    cells = study.cells(n_seeds=2)
    run(study, cells[:1], store)
    assert capsys.readouterr().err == ""
    run(study, cells, store)
    assert capsys.readouterr().err.startswith(
        f"1 of 2 cells are reused from {store.directory}; again=True runs"
    )
    anew = run(study, cells, store, again=True)
    assert (anew.n_done, anew.n_found, log.read_text()) == (2, 0, "xxxx")


def test_a_function_that_exits_is_told_with_its_traceback_and_kills_no_worker(blobs):
    def leave(task):
        raise SystemExit("gone")

    study = study_of(blobs, leave=(leave,), after=(nearest, {"k": 3}))
    left, after = work_out(study, study.cells(n_seeds=1))
    assert left.reason.startswith("SystemExit: gone\nTraceback")
    assert 'raise SystemExit("gone")' in left.reason
    assert after.result["accuracy"] > 0.5


def test_cells_of_a_group_share_a_task_and_each_measure_sees_its_own_cell(blobs):
    class Shuffled(Task):
        def __init__(self, cell):
            super().__init__(cell)
            self.X = self.X[::-1]

    study = replace(
        study_of(blobs, one=(lambda task, k: task, {"k": 1})), vary=("k", (1, 2)), task=Shuffled
    )
    study = replace(
        study, measure=lambda task, fitted: {"k": task.cell.options["k"], "task": id(fitted)}
    )
    cells = study.cells(n_seeds=1)
    first, second = (one.result for one in work_out(study, cells))
    assert (first["k"], second["k"]) == (1, 2)
    assert first["task"] == second["task"]


def test_a_worker_that_dies_costs_its_cell_a_second_try_and_no_other_cell_anything(
    blobs, store, tmp_path
):
    study = study_of(
        blobs,
        once=(die, {"marker": str(tmp_path / "once"), "times": 1}),
        always=(die, {"marker": str(tmp_path / "always"), "times": 99}),
        after=(nearest, {"k": 3}),
    )
    progress = run(study, study.cells(n_seeds=1), store, jobs=1, report=lambda progress: None)
    assert progress.n_done == 2
    ((cell, reason),) = progress.failed
    assert (cell.method, reason) == ("always", "its worker died (SIGKILL(-9))")
    assert (tmp_path / "once").read_text() == "x"


def test_what_workers_cannot_do_is_one_sentence(blobs, store, inline, monkeypatch):
    study = study_of(blobs, one=(nearest,))
    for error, kind in ((TypeError("no pickle"), RuntimeError), (OSError("disk full"), OSError)):

        def end(*args, error=error):
            raise error

        monkeypatch.setattr(runner, "_work_out_group", end)
        with pytest.raises(
            kind, match=r"^(No worker could be started: TypeError: no pickle|disk full)$"
        ):
            run(study, study.cells(n_seeds=1), store)
    with pytest.raises(ValueError, match="at least 1"):
        run(study, study.cells(n_seeds=1), store, jobs=0)


def test_a_store_that_cannot_be_written_is_found_before_any_work(blobs, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(runner, "_Crew", None)  # which would be called
    study = study_of(blobs, near=(nearest,))
    with pytest.raises(OSError, match=r"Cannot write in .*file.* \(not a directory\)"):
        run(study, study.cells(), Store(tmp_path / "file" / "cells"))


def test_sigterm_interrupts_a_cell_that_would_take_long(blobs, store, inline, monkeypatch):
    monkeypatch.setattr(inline, "submit", lambda self, work, *args: Future())  # it never ends
    study, told = study_of(blobs, slow=(nearest,)), []

    def tell(progress):
        if progress.n_running:
            told.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Interrupted, match="Stopped by SIGTERM; run again to resume") as stopped:
        run(study, study.cells(n_seeds=1), store, report=tell)
    assert stopped.value.exit_code == 143
    assert time.monotonic() - told[0] < 2
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_worker_whose_run_is_gone_before_it_has_begun_ends(monkeypatch):
    ended = []
    monkeypatch.setattr(os, "_exit", ended.append)
    handler = signal.getsignal(signal.SIGINT)
    try:
        runner._start_worker(parent=-1)
    finally:
        signal.signal(signal.SIGINT, handler)
    deadline = time.monotonic() + 10
    while not ended and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ended == [1]


# -- A study in a process of its own, killed and told to stop from outside -------------------------

SCRIPT = """
import sys, time
from studies.runner import Interrupted, run
from studies.store import Store
from studies.study import Method, Study
from sklearn.neighbors import KNeighborsClassifier

def slow(task, k):
    time.sleep(0.05)
    return KNeighborsClassifier(k).fit(task.X[task.labeled], task.y[task.labeled])

methods = {f"k{k}": Method(slow, {"k": k}) for k in range(1, 8)}
study = Study("mine", "", (BLOBS,), ("ssb",), methods)
cells = study.cells()[:24]
if __name__ == "__main__":
    try:
        run(study, cells, Store(sys.argv[1]), report=lambda p: print(p.n_done, flush=True))
    except Interrupted as stopped:
        sys.exit(stopped.exit_code)
"""


def children_of(pid):
    """Processes of the session that ``pid`` leads, itself left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != pid:
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == pid and fields[0] != "Z":
                found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see processes")
def test_killed_then_stopped_with_ctrl_c_then_resumed_it_ends_as_if_nothing_had_happened(
    blobs, store, tmp_path, inline
):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("BLOBS", repr(blobs)))
    command = [sys.executable, str(script), str(store.directory)]
    for signum in (signal.SIGKILL, signal.SIGINT):
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        while int(process.stdout.readline()) < 2:
            pass
        began = time.monotonic()
        if signum == signal.SIGKILL:
            process.kill()
        else:
            os.killpg(process.pid, signum)  # as a terminal does: the workers get it too
        process.communicate()
        deadline = time.monotonic() + 10
        while children_of(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not children_of(process.pid)  # workers notice that their parent is gone
    assert time.monotonic() - began < 20
    assert process.returncode == 128 + signal.SIGINT
    assert not list(store.directory.glob("**/*.part"))
    there = {path: path.read_bytes() for path in store.directory.glob("*/*.json")}
    assert 4 <= len(there) < 24
    names = runpy.run_path(str(script))
    study, cells = names["study"], names["cells"]
    last = run(study, cells, store)
    assert (last.n_found, last.n_found + last.n_done, last.failed) == (len(there), 24, [])
    assert all(path.read_bytes() == content for path, content in there.items())
    assert not list(store.directory.glob("**/*.corrupt"))
    expected = [(cell, next(work_out(study, [cell])).result) for cell in cells]
    assert to_csv(study, results_of(cells, store)) == to_csv(study, expected)
