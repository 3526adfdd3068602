"""Files from strangers are read or refused in one sentence: valid ones, and fuzzed ones."""

import os
import random

import pytest

pytest.importorskip("xlsxwriter")

from tests.fuzz.targets import TARGETS, check

N_CHANGED = 2000 if os.environ.get("CHARY_FUZZ") == "full" else 40


@pytest.mark.parametrize("name", TARGETS)
def test_changed_files_are_read_or_refused_in_one_sentence(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target = TARGETS[name]
    seeds = target.seeds()
    for seed in seeds:
        target.run(seed, tmp_path)  # valid, whatever else is found
    for number in range(N_CHANGED):
        rng = random.Random(number)
        changed = target.mutated(rng.choice(seeds), rng)
        error = check(changed, target, tmp_path)
        assert error is None, (number, error)
