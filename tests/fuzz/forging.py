"""Forge model files: change one thing in the description or the arrays; correct the checksum."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import numpy as np
import polars as pl
import safetensors.numpy
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from chary import MixedEnsembleClassifier, RisingShare, SelfTrainingClassifier, model_file
from chary.tables import TablePreparation

# Values that a field may be given in place of its own.
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    5,
    2**31,
    -(2**63),
    10**30,
    0.5,
    -1.5,
    1e-320,
    1e308,
    "",
    "0",
    "a",
    "x" * 5000,
    "\x00",
    "\ud800",
    "²",
    [],
    [0],
    [[]],
    {},
    {"tuple": []},
    {"tuple": ["a", 1]},
    {"dict": []},
    {"dict": [["a", 1]]},
    {"float": "nan"},
    {"float": "inf"},
    {"float": "-inf"},
    {"array": "a0"},
    {"array": "a1"},
    {"values": ["a", "b"], "codes": "a3", "dtype": "text"},
    {"values": [1, None, 2.5], "codes": "a3", "dtype": "object"},
    {"class": "Network", "state": {"dict": []}},
]
# Words of the format, for fields that hold text.
WORDS = [
    *("numeric", "boolean", "date", "time", "categorical", "words", "embedding"),
    *("identifier", "text", "constant", "dropped", "unsupported"),
    *(
        "comma",
        "thousands",
        "ymd",
        "ymd time",
        "dmy2:2026 time",
        "compact",
        "amount;,;.;barek;$",
        "amount;",
        "4096",
        "3",
    ),
    *(
        "yes",
        "true",
        "no",
        "Y",
        "accuracy",
        "balanced",
        "softmax",
        "t_share",
        "entropy",
        "margin",
        "labeled",
        "numbers",
    ),
    *(
        "float64",
        "passthrough",
        "deprecated",
        "auto",
        "columns_",
        "estimator_",
        "members_",
        "n_features_in_",
    ),
    *(
        "feature_names_in_",
        "class_bias_",
        "random_state",
        "verbose",
        "=",
        "a=",
        "day-first",
        "visits=day-first",
    ),
]
DTYPES = ["<f4", "<f8", "<i4", "<i8", "|u1", "|b1", "<f2", "<u4", "<u8"]
NUMBERS = [0, -1, 1, 2, 7, 10**6, -(2**31), 2**31 - 1, 0.5, 1e-320, 1e300, np.nan, np.inf, -np.inf]


def example_model() -> tuple[Pipeline, pl.DataFrame]:
    """Fit a small model of a table with a column of every kind; with the table."""
    rng = np.random.default_rng(0)
    n = 60
    frame = pl.DataFrame(
        {
            "number": rng.normal(size=n),
            "category": rng.choice(["u", "v", "w"], n),
            "flag": rng.choice(["yes", "no"], n),
            "day": [f"2024-{1 + i % 12:02}-{1 + i % 28:02} {i % 24:02}:30" for i in range(n)],
            "clock": [f"{i % 24}:1{i % 10}" for i in range(n)],
            "words": [
                f"{'late' if i % 3 else 'good'} delivery of box {'again' if i % 2 else ''}"
                for i in range(n)
            ],
            "vector": [rng.normal(size=3).tolist() for _ in range(n)],
        }
    )
    y = np.where(frame["number"].to_numpy() > 0, "yes", "no").astype(object)
    y[20:] = None
    members = [("linear", LogisticRegression()), ("trees", ExtraTreesClassifier(3))]
    ensemble = MixedEnsembleClassifier(members, random_state=0)
    classifier = SelfTrainingClassifier(
        ensemble, policy=RisingShare(), unlabeled=None, max_rounds=1, random_state=0
    )
    steps = [("prepare", TablePreparation(text=["words"])), ("classify", classifier)]
    return Pipeline(steps).fit(frame, y), frame


def parsed(data: bytes) -> tuple[Any, dict[str, Any], str]:
    """Read the description, the arrays and the format of a model file."""
    header, _ = model_file._read_header(data)
    metadata = header["__metadata__"]
    return (
        json.loads(metadata["description"]),
        dict(safetensors.numpy.load(data)),
        metadata["format"],
    )


def written(
    description: Any, arrays: dict[str, Any], file_format: str = model_file.FORMAT
) -> bytes:
    """Write a file with a right checksum and whatever content."""
    text = json.dumps(description)
    checksum = model_file._checksum(text, arrays)
    return model_file._file(
        arrays, {"format": file_format, "description": text, "sha256": checksum}
    )


def forged(data: bytes, rng: random.Random) -> bytes:
    """Change one to three things in a model file; bytes that are none are handed back."""
    try:
        description, arrays, file_format = parsed(data)
    except Exception:
        return data
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if arrays and rng.random() < 0.25:
            name = rng.choice(sorted(arrays))
            arrays[name] = changed_array(arrays[name], rng)
        else:
            _change_description(description, rng)
    try:
        return written(description, arrays, file_format)
    except Exception:  # text that cannot be written
        return data


def changed_array(array: Any, rng: random.Random) -> Any:
    """Change a number of an array, its shape or its type."""
    way = rng.randrange(8)
    if way == 0:
        return array[: rng.randrange(len(array) + 1)] if array.ndim else array[None]
    if way == 1:
        return np.ascontiguousarray(array.T[None])
    if way == 2:
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(DTYPES))
    if way == 3:
        return np.concatenate([array, array]) if array.ndim else array
    if way == 4:
        return np.zeros((0, *array.shape[1:]), array.dtype)
    array = array.copy()
    if array.size:
        with np.errstate(all="ignore"):
            value = np.array([rng.choice(NUMBERS)]).astype(array.dtype)[0]
        array.flat[rng.randrange(array.size)] = value
    return array


def _change_description(description: Any, rng: random.Random) -> None:
    candidates = list(places(description))
    if not candidates:
        return
    parent, key = rng.choice(candidates)
    way = rng.randrange(8)
    if way == 0:
        del parent[key]
    elif way == 1:
        other_parent, other_key = rng.choice(candidates)
        parent[key] = copy.deepcopy(other_parent[other_key])
    elif way == 2 and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[key]))
    elif way == 3 and isinstance(parent[key], str):
        parent[key] = rng.choice(WORDS)
    elif way == 4 and isinstance(parent, list):
        parent.insert(key, [rng.choice(WORDS), rng.choice(VALUES)])
    elif way == 5 and isinstance(parent[key], int | float):
        parent[key] = parent[key] + rng.choice([-1, 1, 0.5, 10**6])
    else:
        parent[key] = copy.deepcopy(rng.choice(VALUES))


def places(node: Any) -> Any:
    """Give every place in a JSON value, as its container and the key or index in it."""
    keys = range(len(node)) if isinstance(node, list) else list(node)
    for key in keys:
        yield node, key
        if isinstance(node[key], list | dict):
            yield from places(node[key])
