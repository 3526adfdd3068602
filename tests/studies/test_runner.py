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

from chary.studies import runner
from chary.studies.catalogue import STUDIES
from chary.studies.results import results_of, to_csv
from chary.studies.runner import CannotRunError, Interrupted, run, work_out
from chary.studies.store import Store, key_of
from chary.studies.study import Method, Study, Task

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
    assert {result["threads"] for _, result in results_of(study, cells, store)} == {1}
    whole = to_csv(study, results_of(study, cells, store))
    again = run(study, cells, store)
    assert (again.n_done, again.n_found) == (0, 6)
    # A torn file and an altered one: set aside, worked out again, the same table.
    first, second = (store.path(key_of(cell.content())) for cell in cells[:2])
    first.write_bytes(first.read_bytes()[:100])
    second.write_text(second.read_text().replace('"accuracy": ', '"accuracy": -'))
    repaired = run(study, cells, store)
    assert (repaired.n_done, repaired.n_found, repaired.set_aside) == (2, 4, 2)
    assert first.with_suffix(".corrupt").exists()
    assert to_csv(study, results_of(study, cells, store)) == whole


def test_one_process_two_and_dask_give_identical_results(blobs, tmp_path):
    """Twenty cells of the paper's own methods."""
    study = STUDIES["table-ssb"]
    methods = ("erm", "csta-softmax", "pl-tsim", "msta-tsim")
    cells = [replace(c, model={"n_steps": 40}) for c in study.cells([blobs], 5) if c.method in methods]
    tables = []
    for name, options in (("one", {"jobs": 1}), ("two", {"jobs": 2}), ("dask", {"jobs": 2, "engine": "dask"})):
        store = Store(tmp_path / name)
        assert run(study, cells, store, **options).n_done == 20
        tables.append([store.read(key_of(cell.content())).result for cell in cells])
    assert tables[0] == tables[1] == tables[2]


def test_a_cell_that_raises_fails_alone_and_is_tried_again_next_time(blobs, store):
    study = study_of(blobs, bad=(fail,), good=(nearest,))
    progress = run(study, study.cells(n_seeds=2), store)
    assert progress.n_done == 2
    assert {cell.method for cell, _ in progress.failed} == {"bad"}
    cell, reason = progress.failed[0]
    assert reason == "ValueError: no luck today" == store.failure(key_of(cell.content()))
    mended = replace(study, methods={**study.methods, "bad": Method(nearest)})
    assert run(mended, mended.cells(n_seeds=2), store).failed == []
    assert store.failure(key_of(cell.content())) is None


def test_a_result_that_cannot_be_stored_fails_its_cell_alone(blobs, store):
    def odd(task, fitted):
        return {"accuracy": 1.0} if task.cell.method == "good" else {"accuracy": float("nan")}

    study = replace(study_of(blobs, bad=(nearest,), good=(nearest,)), measure=odd)
    progress = run(study, study.cells(n_seeds=1), store)
    assert progress.n_done == 1
    ((cell, reason),) = progress.failed
    assert cell.method == "bad"
    assert reason.startswith("its result cannot be stored: ")


def test_a_measure_sees_the_cell_it_measures(blobs, store):
    """Cells of a group share a task; what the cell says is its own all the same."""

    def tell(task, fitted):
        return {"k": task.cell.options["k"]}

    study = replace(study_of(blobs, one=(nearest,), two=(nearest,)), measure=tell)
    methods = {name: Method(lambda task, k: nearest(task), {"k": k}) for name, k in (("one", 1), ("two", 2))}
    study = replace(study, methods=methods)
    run(study, cells := study.cells(n_seeds=1), store)
    assert [store.read(key_of(cell.content())).result["k"] for cell in cells] == [1, 2]


def test_a_study_may_bring_a_task_of_its_own(blobs):
    class Shuffled(Task):
        def __init__(self, cell):
            super().__init__(cell)
            self.X = self.X[::-1]

    study = replace(study_of(blobs, one=(lambda task: task,)), task=Shuffled)
    study = replace(study, measure=lambda task, fitted: {"same": fitted is task, "first": float(task.X[0, 0])})
    (cell,) = study.cells(n_seeds=1)
    ((_, answer),) = work_out(replace(study), [replace(cell, measure="any")])
    assert answer["result"] == {"same": True, "first": float(Task(cell).X[-1, 0])}


def test_a_worker_that_dies_costs_its_cell_a_retry_and_three_deaths_end_it(blobs, store, tmp_path):
    def deadly(name, times, how):
        return (die, {"marker": str(tmp_path / name), "times": times, "how": how})

    study = study_of(
        blobs,
        before=(nearest,),
        once=deadly("once", 1, "memory"),
        always=deadly("always", 99, "SIGKILL"),
        after=(nearest, {"k": 3}),
    )
    progress = run(study, study.cells(n_seeds=1), store)
    assert progress.n_done == 3
    ((cell, why),) = progress.failed
    assert (cell.method, why) == ("always", "its worker was killed by SIGKILL, 3 times")
    assert (tmp_path / "always").read_text() == "xxx"
    assert (tmp_path / "once").read_text() == "x"


def test_a_dask_worker_that_dies_costs_its_cell_a_retry_too(blobs, store, tmp_path):
    study = study_of(
        blobs,
        before=(nearest,),
        once=(die, {"marker": str(tmp_path / "once"), "times": 1, "how": "SIGKILL"}),
        memory=(die, {"marker": str(tmp_path / "memory"), "times": 99, "how": "memory"}),
    )
    progress = run(study, study.cells(n_seeds=1), store, engine="dask", jobs=1)
    assert progress.n_done == 2
    assert [(cell.method, "MemoryError" in why) for cell, why in progress.failed] == [("memory", True)]


def test_a_worker_that_cannot_start_is_one_sentence(blobs, store, monkeypatch):
    monkeypatch.setattr(runner, "__name__", "chary.nowhere")
    study = study_of(blobs, one=(nearest,))
    with pytest.raises(CannotRunError, match="No worker could be started: its worker ended with status 1"):
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
from chary.studies.runner import Interrupted, run
from chary.studies.store import Store
from chary.studies.study import Method, Study
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
        sys.exit(128 + stopped.signum)
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


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see processes")


@needs_proc
def test_ctrl_c_ends_it_within_two_seconds_with_nothing_torn_and_no_orphan(start, tmp_path):
    process = start(tmp_path / "cells")
    while process.stdout.readline().strip() != "2":
        pass
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    process.communicate()
    assert time.monotonic() - began < 2
    assert process.returncode == 128 + signal.SIGINT
    assert children_of(process.pid) == []
    assert not list(tmp_path.glob("cells/**/*.part"))
    files = list(tmp_path.glob("cells/*/*.json"))
    assert len(files) >= 2
    assert all(Store(tmp_path / "cells").read(path.stem) for path in files)


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
        deadline = time.monotonic() + 5
        while children_of(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert children_of(process.pid) == []  # workers notice that their parent is gone
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
        ((kind, answer),) = work_out(study, [cell])
        assert kind == "result"
        expected.append((cell, answer["result"]))
    assert to_csv(study, results_of(study, cells, store)) == to_csv(study, expected)


def test_a_store_that_cannot_be_written_is_found_before_any_work(blobs, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(runner, "_on_processes", None)  # which would be called
    study = study_of(blobs, near=(nearest,))
    with pytest.raises(OSError, match="file is a file, so nothing can be written in it"):
        run(study, study.cells(), Store(tmp_path / "file" / "cells"))
