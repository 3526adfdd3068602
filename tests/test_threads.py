"""Forked processes and threads: a sentence instead of an endless wait, and unchanged warnings."""

import subprocess
import sys
import warnings

import polars as pl
import pytest

import chary
from chary._threads import same_warnings

FORKING = """
import os, pathlib, sys, time, warnings
import polars as pl
import chary
warnings.simplefilter("ignore")  # newer Pythons warn of every fork beside threads
y = [("ab"[i % 10 > 4] if i % 4 else None) for i in range(80)]
frame = pl.DataFrame({"x": [i % 10 for i in range(80)], "y": y})
label, model = chary.label, None
def work():
    return label(frame, target="y", learner="linear", rounds=0)
def fork():
    child = os.fork()
    if not child:
        rows = lambda: list(chary.predictor(model)([frame]))
        for job in (work, lambda: model and model.predict(frame), lambda: model and rows()):
            try:
                job()
                print("done", flush=True)
            except RuntimeError as error:
                print(error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
fork()
frame.lazy().select(pl.col("x") + 1, pl.col("y").str.len_bytes()).collect()
# A thread gives itself its name when it first runs: on a busy machine a moment later.
names = lambda: [name.read_text() for name in pathlib.Path("/proc/self/task").glob("*/comm")]
while not any(name.startswith("polars-0") for name in names()):
    time.sleep(0.01)
fork()
model = work().model
fork()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, and names of threads")
def test_a_forked_process_is_told_to_be_spawned():
    """Forked before anything, after Polars was at work, and after labelling."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=60
    )
    refused = ["'spawn'" in line for line in done.stdout.splitlines()]
    assert refused == [False] * 3 + [True, False, False] + [True] * 3, done


def test_filters_of_warnings_are_afterwards_what_they_were(monkeypatch):
    def learn(*args):
        warnings.simplefilter("error", BytesWarning)  # as another thread would leave it
        raise ValueError

    label, before = chary.label, list(warnings.filters)
    monkeypatch.setattr("chary.labelling.label.learn", learn)
    with pytest.raises(ValueError, match=r"^$"):
        label(pl.DataFrame({"x": [1, 2], "y": ["a", None]}), target="y")
    assert warnings.filters == before


def test_many_classes_are_no_warning():
    frame = pl.DataFrame(
        {
            "x": [i * 37 % 101 for i in range(90)],
            "y": [f"c{i % 20}" if i < 60 else None for i in range(90)],
        }
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        chary.label(frame, target="y", learner="linear", rounds=0)
    assert [str(one.message) for one in seen] == []


def test_the_last_at_work_puts_back_what_was_before_the_first():
    before, first, second = list(warnings.filters), same_warnings(), same_warnings()
    first.__enter__()
    warnings.simplefilter("error", BytesWarning)
    second.__enter__()
    first.__exit__(None, None, None)
    assert warnings.filters != before
    second.__exit__(None, None, None)
    assert warnings.filters == before
