"""What every test runs under."""

import errno
import gc
import json
import os
import stat
import sys
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache, partial
from importlib.util import find_spec

# scikit-learn's estimator checks skip one of their own without it; SciPy reads it when it is
# imported.
os.environ["SCIPY_ARRAY_API"] = "1"
# Tests run on every core at once: more threads than that only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

# Half a million objects are made while tests are imported and collected, and stay to the end.
# Looking them through for garbage again and again takes 3 % of a run.
gc.disable()

# Examples are the same in every run, and a busy machine is no failure.
settings.register_profile("chary", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("chary")

# What cannot be tried without an extra, and so is left out where that is not installed.
NEEDS = {
    "torch": [
        "torch",
        *(f"studies/test_{name}.py" for name in ("authors", "deep", "figures", "stored")),
    ],
    "matplotlib": ["studies"],
    "distributed": ["studies/test_runner.py"],
}
collect_ignore = [
    place for package, places in NEEDS.items() if not find_spec(package) for place in places
]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for examples in docstrings of the package alone; in every test it takes seconds."""
    return [found for found in (yield) if not isinstance(found, DoctestModule)]


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def seed_of_draws():
    """Draw by the seed 0 unless a test names another; return what chooses a seed otherwise."""
    from chary.audit import drawing

    chosen = drawing.random_seed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "random_seed", lambda: 0)
        yield chosen


@pytest.fixture(scope="session", autouse=True)
def signatures_read_once():
    """Remember what scikit-learn and Typer read from signatures in every call: 3 % of a run."""
    import typer.main
    from sklearn.base import BaseEstimator

    parameters_of = BaseEstimator._get_param_names.__func__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseEstimator, "_get_param_names", classmethod(cache(parameters_of)))
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(scope="module")
def quick_learners():
    """Shrink the learners of ``chary label`` where nothing shown depends on their size."""
    from sklearn.ensemble import ExtraTreesClassifier

    import chary.labelling.learners
    import chary.labelling.rules
    import chary.method.mixture

    with pytest.MonkeyPatch.context() as patch:
        few = lambda n, **rest: ExtraTreesClassifier(10, **rest)  # noqa: E731
        for module in (chary.method.mixture, chary.labelling.rules):
            patch.setattr(module, "ExtraTreesClassifier", few)
        boosting = chary.method.mixture.boosted_trees
        patch.setattr(
            chary.method.mixture,
            "boosted_trees",
            lambda numbers: boosting(numbers).set_params(max_iter=5),
        )
        short = partial(chary.labelling.learners.DiverseEnsembleClassifier, n_steps=60)
        patch.setattr(chary.labelling.learners, "DiverseEnsembleClassifier", short)
        yield


@pytest.fixture
def full_disk(monkeypatch):
    """Make a disk that is full: before, during, at the flush, at the naming, or after it."""
    from chary import _files

    def fail(*args, code=errno.ENOSPC, **kwargs):
        raise OSError(code, os.strerror(code))

    class HalfWritten:
        def __init__(self, file):
            self.file = file

        def write(self, data):
            self.file.write(bytes(data)[:5])
            fail(code=errno.EDQUOT)

        def __getattr__(self, name):
            return getattr(self.file, name)

    def fsync_of(is_wanted, fsync=os.fsync):
        return lambda descriptor: (
            fail() if is_wanted(os.fstat(descriptor).st_mode) else fsync(descriptor)
        )

    @contextmanager
    def full_disk(moment):
        with monkeypatch.context() as patch:
            if moment in ("before", "during"):
                writable = fail if moment == "before" else lambda *args: HalfWritten(open(*args))  # noqa: SIM115
                of_mode = lambda path, mode: (writable if mode == "xb" else open)(path, mode)  # noqa: E731
                patch.setattr(_files, "open", of_mode, raising=False)
            elif moment == "flush":
                patch.setattr(os, "fsync", fsync_of(stat.S_ISREG))
            elif moment == "name":
                for name in ("replace", "link", "rename"):
                    patch.setattr(os, name, fail)
            else:  # the file is there by then, and so is what it says
                assert moment == "after"
                patch.setattr(os, "fsync", fsync_of(stat.S_ISDIR))
            yield

    return full_disk


class Inline:
    """In place of worker processes: what is submitted is done at once, in this one."""

    def __init__(self, *args, **options):
        pass

    def submit(self, work, *args):
        future = Future()
        try:
            future.set_result(work(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, kill_workers):
        assert kill_workers


@pytest.fixture
def inline(monkeypatch):
    """A study is worked out in this process: starting workers takes seconds."""
    from studies import runner

    monkeypatch.setattr(runner, "ProcessPoolExecutor", Inline)
    return Inline


# Run in this process, and by Python itself at the start of every child. What leads away is refused.
RECORDER = """
import json, os, sys

def outside(host):
    host = host.decode() if isinstance(host, bytes) else host
    return not (host == "localhost" or host == "::1" or (host or "").startswith("127."))

def noticed(event, given):
    if not event.startswith("socket.") or "CHARY_TEST_SOCKETS" not in os.environ:
        return
    if event in ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"):
        address = given[1]
        # A socket of the file system, or the one that it is connected to.
        if not isinstance(address, tuple):
            return
        place = address[0]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        place = given[0]
        if place is None:  # nobody is asked: these are the addresses of this machine
            return
    else:
        return
    with open(os.environ["CHARY_TEST_SOCKETS"], "a") as file:
        file.write(json.dumps([event, str(place), outside(place)]) + "\\n")
    if outside(place):
        raise PermissionError(f"{event} to {place}")

sys.addaudithook(noticed)
"""


@pytest.fixture(scope="session")
def recorder():
    """Install a hook, which cannot be removed; it heeds nothing unless a variable is set."""
    exec(RECORDER, {})


@pytest.fixture
def sockets(recorder, tmp_path, monkeypatch):
    """Report the sockets used in the test, by it and by the processes that it started."""
    (tmp_path / "recorder").mkdir()
    (tmp_path / "recorder/sitecustomize.py").write_text(RECORDER)
    record = tmp_path / "sockets.jsonl"
    record.touch()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "recorder"), *sys.path]))
    monkeypatch.setenv("CHARY_TEST_SOCKETS", str(record))
    monkeypatch.delenv("CHARY_DATA", raising=False)
    return lambda: [tuple(json.loads(line)) for line in record.read_text().splitlines()]
