"""One file per cell: whole or absent, verified when read, swept of dead processes' remains."""

import json

import numpy as np
import pytest

from studies.store import Record, Store, key_of

CELL = {"dataset": "digits", "method": "erm", "seed": 0}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells")


def test_what_is_written_is_read_and_describes_itself(store):
    key = store.write(CELL, {"accuracy": 0.5, "curve": [0.1, 0.2]}, {"seconds": 1.5})
    assert store.read(key) == Record(CELL, {"accuracy": 0.5, "curve": [0.1, 0.2]}, {"seconds": 1.5})
    content = json.loads(store.path(key).read_text())
    assert set(content) == {"schema", "key", "cell", "result", "env", "sha256"}
    assert content["key"] == key == key_of(CELL)


def test_every_torn_file_is_damaged(store):
    key = store.write(CELL, {"accuracy": 0.5})
    path, whole = store.path(key), store.path(key).read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert store.read(key) is None, length
        assert not path.exists()
    assert set(store.damaged) == {path.with_suffix(".corrupt")}
    path.write_bytes(whole)
    assert store.read(key) is not None


def test_every_altered_character_is_noticed(store):
    key = store.write(CELL, {"accuracy": 0.5}, {"seconds": 2})
    path, whole = store.path(key), store.path(key).read_text()
    for i, character in enumerate(whole):
        if character.isspace():
            continue  # layout between values carries nothing
        path.write_text(whole[:i] + ("7" if character != "7" else "8") + whole[i + 1 :])
        assert store.read(key) is None, whole[max(0, i - 20) : i + 20]


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '"x"', '{"sha256": 1}', "\x00\x01"])
def test_strange_files_are_damaged(store, text):
    key = store.write(CELL, {})
    store.path(key).write_text(text)
    assert store.read(key) is None


def test_a_file_under_another_name_is_not_believed(store):
    key, other = store.write(CELL, {}), key_of({**CELL, "seed": 1})
    store.path(other).parent.mkdir(exist_ok=True)
    store.path(key).rename(store.path(other))
    assert store.read(other) is None


def test_infinity_is_refused_and_leaves_nothing(store):
    with pytest.raises(ValueError, match="inf is no finite number; give NaN where there is none"):
        store.write(CELL, {"nll": np.array([np.inf])})
    assert not [path for path in store.directory.rglob("*") if path.is_file()]
