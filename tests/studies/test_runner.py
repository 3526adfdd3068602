"""The runner: resume, retry, stop, and the same results however the work is spread."""

import os
import random
import runpy
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import cloudpickle
import pytest
import threadpoolctl
from sklearn.neighbors import KNeighborsClassifier

from studies import STUDIES, runner
from studies.results import results_of, to_csv
from studies.runner import Interrupted, run, work_out
from studies.store import Store, key_of
from studies.study import Method, Study, Task

# Workers cannot import a test module: its functions travel by value.
cloudpickle.register_pickle_by_value(sys.modules[__name__])
# How many times the study below is killed; the promise is for twenty.
N_KILLS = int(os.environ.get("CHARY_KILLS", "1"))


def nearest(task, k=1):
    return KNeighborsClassifier(k).fit(task.X[task.labeled], task.y[task.labeled])


def slow(task, seconds):
    time.sleep(seconds)
    return nearest(task)


def fail(task):
    raise ValueError("no luck today")


def die(task, marker, times, how):
    """End the worker, the first ``times`` times."""
    log = Path(marker)
    deaths = len(log.read_text()) if log.exists() else 0
    if deaths < times:
        log.write_text("x" * (deaths + 1))
        if how == "memory":
            raise MemoryError
        os.kill(os.getpid(), getattr(signal, how))
    return nearest(task)


def accuracy_and_threads(task, fitted):
    n_threads = max(info["num_threads"] for info in threadpoolctl.threadpool_info())
    return {"accuracy": fitted.score(task.X_test, task.y_test), "threads": n_threads}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells")


def study_of(blobs, **methods):
    return Study(
        "mine", "A study of one's own", (blobs,), ("ssb",), {name: Method(*m) for name, m in methods.items()}
    )


def test_a_study_runs_resumes_and_repairs(blobs, store):
    study = replace(study_of(blobs, one=(nearest,), three=(nearest, {"k": 3})), measure=accuracy_and_threads)
    cells = study.cells(n_seeds=3)
    seen = []
    before = dict(os.environ), signal.getsignal(signal.SIGINT), os.getcwd()
    progress = run(study, cells, store, jobs=2, report=lambda p: seen.append((p.n_done, p.n_running)))
    assert (progress.n_done, progress.n_found, progress.failed) == (6, 0, [])
    assert seen[0] == (0, 0)
    assert seen[-1] == (6, 0)
    assert max(running for _, running in seen) == 2
    assert (dict(os.environ), signal.getsignal(signal.SIGINT), os.getcwd()) == before
    assert {result["threads"] for _, result in results_of(cells, store)} == {1}
    whole = to_csv(study, results_of(cells, store))
    again = run(study, cells, store)
    assert (again.n_done, again.n_found) == (0, 6)
    # A torn file and an altered one: set aside, worked out again, the same table.
    first, second = (store.path(key_of(cell.content())) for cell in cells[:2])
    first.write_bytes(first.read_bytes()[:100])
    second.write_text(second.read_text().replace('"accuracy": ', '"accuracy": -'))
    repaired = run(study, cells, store)
    assert (repaired.n_done, repaired.n_found, repaired.n_damaged) == (2, 4, 2)
    assert first.with_suffix(".corrupt").exists()
    assert to_csv(study, results_of(cells, store)) == whole


def test_one_process_two_and_dask_give_identical_results(blobs, tmp_path):
    """Six cells of the paper's own methods."""
    study = STUDIES["table-ssb"]
    methods = ("erm", "csta-softmax", "pl-tsim")
    cells = [replace(c, model={"n_steps": 40}) for c in study.cells([blobs], 2) if c.method in methods]
    tables = []
    for name, options in (("one", {"jobs": 1}), ("two", {"jobs": 2}), ("dask", {"jobs": 2, "engine": "dask"})):
        store = Store(tmp_path / name)
        assert run(study, cells, store, **options).n_done == 6
        tables.append([store.read(key_of(cell.content())).result for cell in cells])
    assert tables[0] == tables[1] == tables[2]


def test_a_cell_that_fails_does_so_alone_and_is_tried_again_next_time(blobs, store):
    def odd(task, fitted):
        return {"accuracy": float("nan") if task.cell.method == "odd" else 1.0}

    study = replace(study_of(blobs, bad=(fail,), odd=(nearest,), good=(nearest,)), measure=odd)
    progress = run(study, study.cells(n_seeds=1), store)
    assert progress.n_done == 1
    reasons = {cell.method: reason for cell, reason in progress.failed}
    assert set(reasons) == {"bad", "odd"}
    assert reasons["bad"] == "ValueError: no luck today"
    assert reasons["odd"].startswith("its result cannot be stored: ")
    cell = next(cell for cell, _ in progress.failed if cell.method == "bad")
    assert store.failure(key_of(cell.content())) == reasons["bad"]
    mended = replace(study, methods={**study.methods, "bad": Method(nearest)})
    assert run(mended, [cell], store).failed == []
    assert store.failure(key_of(cell.content())) is None


def test_a_measure_sees_the_cell_it_measures(blobs):
    """Cells of a group share a task; what the cell says is its own all the same."""
    study = study_of(blobs, one=(slow, {"seconds": 0}), two=(slow, {"seconds": 0.01}))
    study = replace(study, measure=lambda task, fitted: {"seconds": task.cell.options["seconds"]})
    assert [one.result["seconds"] for one in work_out(study, study.cells(n_seeds=1))] == [0, 0.01]


def test_a_study_may_bring_a_task_of_its_own(blobs):
    class Shuffled(Task):
        def __init__(self, cell):
            super().__init__(cell)
            self.X = self.X[::-1]

    study = replace(study_of(blobs, one=(lambda task: task,)), task=Shuffled)
    study = replace(study, measure=lambda task, fitted: {"same": fitted is task, "first": float(task.X[0, 0])})
    (cell,) = study.cells(n_seeds=1)
    (one,) = work_out(replace(study), [replace(cell, measure="any")])
    assert one.result == {"same": True, "first": float(Task(cell).X[-1, 0])}


@pytest.mark.parametrize("engine", ["process", "dask"])
def test_a_worker_that_dies_costs_its_cell_a_second_try_and_no_other_cell_anything(blobs, store, tmp_path, engine):
    def deadly(name, times, how):
        return (die, {"marker": str(tmp_path / name), "times": times, "how": how})

    study = study_of(
        blobs,
        before=(nearest,),
        once=deadly("once", 1, "SIGKILL"),
        always=deadly("always", 99, "SIGKILL"),
        memory=deadly("memory", 99, "memory"),
        after=(nearest, {"k": 3}),
    )
    progress = run(study, study.cells(n_seeds=1), store, jobs=2, engine=engine)
    assert progress.n_done == 3
    reasons = {cell.method: why for cell, why in progress.failed}
    assert set(reasons) == {"always", "memory"}
    assert reasons["always"] == ("its worker died (SIGKILL(-9))" if engine == "process" else "its worker died")
    assert reasons["memory"].startswith("MemoryError")
    assert (tmp_path / "once").read_text() == "x"


def test_a_study_that_no_worker_can_read_is_one_sentence(blobs, store, monkeypatch):
    monkeypatch.setattr(runner.cloudpickle, "dumps", lambda study: b"no pickle")
    study = study_of(blobs, one=(nearest,))
    with pytest.raises(RuntimeError, match="No worker could be started: UnpicklingError"):
        run(study, study.cells(n_seeds=1), store)


@pytest.mark.parametrize(
    ("options", "message"), [({"engine": "spark"}, "choose 'process' or 'dask'"), ({"jobs": 0}, "at least 1")]
)
def test_nonsense_is_refused(blobs, store, options, message):
    study = study_of(blobs, one=(nearest,))
    with pytest.raises(ValueError, match=message):
        run(study, study.cells(n_seeds=1), store, **options)


# -- Stopping: a study in a process of its own, told and killed from outside -----------------------------

SCRIPT = """
import sys, time
from studies.runner import Interrupted, run
from studies.store import Store
from studies.study import Method, Study
from sklearn.neighbors import KNeighborsClassifier

def slow(task, k):
    time.sleep(0.02)
    return KNeighborsClassifier(k).fit(task.X[task.labeled], task.y[task.labeled])

methods = {f"k{k}": Method(slow, {"k": k}) for k in range(1, 8)}
study = Study("mine", "", (BLOBS,), ("ssb",), methods)
cells = study.cells()[:60]
if __name__ == "__main__":
    store = Store(sys.argv[1])
    try:
        progress = run(study, cells, store, jobs=2, report=lambda p: print(p.n_done, flush=True))
    except Interrupted as stopped:
        sys.exit(stopped.exit_code)
"""


@pytest.fixture
def start(tmp_path, blobs):
    (tmp_path / "script.py").write_text(SCRIPT.replace("BLOBS", repr(blobs)))

    def begin(directory):
        command = [sys.executable, str(tmp_path / "script.py"), str(directory)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)

    return begin


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


def leaves_no_process(pid):
    deadline = time.monotonic() + 10
    while children_of(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not children_of(pid)


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see processes")


@needs_proc
def test_ctrl_c_ends_it_soon_with_nothing_torn_and_no_orphan(start, tmp_path):
    process = start(tmp_path / "cells")
    while int(process.stdout.readline()) < 2:
        pass
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    process.communicate()
    assert time.monotonic() - began < 20  # a cell takes longer
    assert process.returncode == 128 + signal.SIGINT
    assert leaves_no_process(process.pid)
    assert not list(tmp_path.glob("cells/**/*.part"))
    files = list(tmp_path.glob("cells/*/*.json"))
    assert len(files) >= 2
    assert all(Store(tmp_path / "cells").read(path.stem) for path in files)


def test_a_worker_whose_run_is_gone_before_it_has_begun_ends():
    code = "import time; from studies.runner import _start_worker; _start_worker(2**22 + 1); time.sleep(60)"
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=50)
    assert done.returncode == 1


def test_sigterm_interrupts_a_cell_that_would_take_long(blobs, store):
    study = study_of(blobs, slow=(slow, {"seconds": 60}))
    told = []

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


@needs_proc
def test_killed_at_random_moments_and_resumed_it_ends_as_if_nothing_had_happened(start, tmp_path):
    moments = random.Random(0)
    for _ in range(N_KILLS):
        process = start(tmp_path / "cells")
        for _ in range(moments.randrange(3, 12)):
            process.stdout.readline()
        time.sleep(moments.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert leaves_no_process(process.pid)  # workers notice that their parent is gone
    last = start(tmp_path / "cells")
    last.communicate()
    assert last.returncode == 0
    assert not list(tmp_path.glob("cells/**/*.part"))
    assert not list(tmp_path.glob("cells/**/*.corrupt"))
    store = Store(tmp_path / "cells")
    files = list(store.directory.glob("*/*.json"))
    assert len(files) == 60  # none lost, none twice
    uninterrupted = runpy.run_path(str(tmp_path / "script.py"))
    study, cells = uninterrupted["study"], uninterrupted["cells"]
    expected = []
    for cell in cells:
        (one,) = work_out(study, [cell])
        expected.append((cell, one.result))
    assert to_csv(study, results_of(cells, store)) == to_csv(study, expected)


def test_a_store_that_cannot_be_written_is_found_before_any_work(blobs, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(runner, "_Crew", None)  # which would be called
    study = study_of(blobs, near=(nearest,))
    with pytest.raises(OSError, match="file is a file, so nothing can be written in it"):
        run(study, study.cells(), Store(tmp_path / "file" / "cells"))
