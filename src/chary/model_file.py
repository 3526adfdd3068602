"""Saving a fitted model in one file and loading it again: arrays as safetensors, the rest as JSON.

Nothing in a file is executed. Its metadata holds a JSON description of the model, in which the names of classes
come from a fixed list (``CODECS``), and a checksum over description and arrays. Loading builds objects of listed
classes from plain values, requires every field of each and has it predict two rows; whatever else a file holds, it
is refused. What a file makes in memory is bounded by its own size. A class of scikit-learn is kept as the
parameters that differ from its defaults and the listed attributes, its trees as plain arrays, so that a file
depends on no version of it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
import sklearn
from numpy.random import Generator, RandomState
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from chary import __version__
from chary._files import atomic_write, open_regular
from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.kept_guesses import KeptGuessesClassifier
from chary.method.mixture import ColumnScaler, Member, MixedEnsembleClassifier
from chary.method.network import Network
from chary.method.policies import POLICIES
from chary.method.self_training import SelfTrainingClassifier
from chary.method.trees import PlainBoosting, PlainForest, Trees, plain_trees
from chary.tables import TablePreparation
from chary.tables.cells import Column
from chary.tables.columns import is_whole

FORMAT = "chary-model-2"
_MAX_BYTES, _MAX_HEADER_BYTES = 2**33, 2**28
# A text array takes at most so many bytes for each of those that it has in the file.
_MOST_GROWTH = 64
_MOST_FEATURES = 2**20
# What may hold numbers that are infinite or missing: the offset of a class that a prior gives no share, and
# records that predict nothing.
_FREE = ("class_bias_", "loss_curve_", "confidence_", "history_", "transduction_")

Arrays = dict[str, NDArray[Any]]


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that is not a model of chary."""


class _UnsoundError(ModelFileError):
    """A model of the right classes with values that contradict each other."""


def save_model(model: Any, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Save a fitted model in one file; the same model makes the same bytes.

    Parameters
    ----------
    model : TablePreparation, DiverseEnsembleClassifier, MixedEnsembleClassifier, SelfTrainingClassifier, Pipeline
        A ``SelfTrainingClassifier`` around one of the others, or a ``Pipeline`` of them. The members of a mixed
        ensemble may be logistic regressions, extra trees, histogram gradient boosting of numbers, and pipelines of
        these with a ``StandardScaler`` or ``QuantileTransformer``. Not kept are a
        ``random_state`` that is a generator, and the seconds that rounds took.
    path : path
        Usually ends in ``.chary``. The file is there whole or not at all.
    force : bool, default=False
    """
    content = model_bytes(model)
    with atomic_write(path, overwrite=force) as file:
        file.write(content)


def model_bytes(model: Any) -> bytes:
    """What :func:`save_model` writes, for callers that write several files together."""
    if hasattr(model, "fit"):
        check_is_fitted(model)
    arrays: Arrays = {}
    try:
        packed = _pack(model, arrays)
    except _UnsoundError as error:
        kind = type(model).__name__
        raise ModelFileError(f"This {kind} was not saved, as it could not be loaded again: {error}") from error
    description = json.dumps({"model": packed}, allow_nan=False)
    return _file(arrays, {"format": FORMAT, "description": description, "sha256": _checksum(description, arrays)})


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model saved by :func:`save_model`; its predictions are those of the saved one to the bit.

    Whatever versions of scikit-learn it was saved and is loaded with. Trees come back as plain arrays: instead of
    an ``ExtraTreesClassifier`` there is a ``chary.method.PlainForest``, which predicts the same.

    Parameters
    ----------
    path : path
        Of a file that :func:`save_model` or a command wrote.
    """
    return load_bytes(read_model_file(path), Path(path).name)


def read_model_file(path: str | os.PathLike[str]) -> bytes:
    """Read the bytes of a model file for :func:`load_bytes`; refuse a pipe or a device, which may have no end."""
    name = Path(path).name
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > _MAX_BYTES:
                raise ModelFileError(f"{name} has {size:,} bytes, more than a model of chary can have.")
            return file.read(size)
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise ModelFileError(f"{name} cannot be read ({reason}); check the path.") from None


def load_bytes(data: bytes, name: str = "The model") -> Any:
    """Build the model that the bytes of a file hold; every field is checked before anything is used."""
    try:
        metadata = _metadata(data)
        if metadata["format"] != FORMAT:
            raise ModelFileError(
                f"{name} is not a model file of this version of chary; install the version that it was made with, "
                "or train the model again."
            )
        _require(metadata.keys() == {"format", "description", "sha256"})
        arrays = safetensors.numpy.load(data)
        text = metadata["description"]
        if _checksum(text, arrays) != metadata["sha256"]:
            raise ModelFileError(f"{name} is damaged (its checksum is wrong); copy or train it again.")
        description = json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
        _require(description.keys() == {"model"})
        model = _unpack(description["model"], arrays)
        _require(not arrays)  # each was used once
        check_is_fitted(model)
        return model
    except ModelFileError:
        raise
    except Exception:  # whatever a hostile file provokes ends here, before anything of it is used
        raise ModelFileError(f"{name} is damaged or not a model file of chary; copy or train it again.") from None


@dataclass(frozen=True)
class DriftReference:
    """What the rows looked like that a model learned from: ranges and counts."""

    n_rows: int
    ranges: NDArray[np.float32]  # (numbers, 2) of the features that are numbers
    counts: NDArray[np.int64]  # (e,) rows outside each range, with a new value and without one, by column

    def fits(self, preparation: TablePreparation) -> bool:
        """Whether one from a file can be about the features of a preparation."""
        numbers = [feature.column for feature in preparation.features() if not feature.indicator]
        used = {column.name for column in preparation.columns_ if column.used}
        n_events = len(numbers) + len(used - set(numbers)) + len(used)
        return bool(
            type(self.n_rows) is int
            and 1 <= self.n_rows < 2**53
            and _is_array(self.ranges, len(numbers), 2, dtype=np.float32)
            and _is_array(self.counts, n_events, dtype=np.int64)
            and (self.ranges[:, 0] <= self.ranges[:, 1]).all()
            and (self.counts >= 0).all()
            and (self.counts <= self.n_rows).all()
        )


# ---------------------------------------------------------------- bytes


def _file(arrays: Arrays, metadata: dict[str, str]) -> bytes:
    """The bytes of a safetensors file; the library itself puts the metadata into another order each time."""
    data = safetensors.numpy.save(arrays)
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.dumps({"__metadata__": metadata, **json.loads(data[8:start])}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data[start:]


def _metadata(data: bytes) -> dict[str, str]:
    """The metadata of a safetensors file: after eight bytes of length, JSON, and in it this one entry."""
    length = min(int.from_bytes(data[:8], "little"), _MAX_HEADER_BYTES)
    metadata: dict[str, str] = json.loads(data[8 : 8 + length])["__metadata__"]
    return metadata


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dictionary of the entries of a JSON object, none of which may be there twice."""
    _require(len(dict(pairs)) == len(pairs))
    return dict(pairs)


def _refuse_constant(name: str) -> None:
    """Refuse NaN and Infinity, which are no JSON, and which ``save_model`` writes otherwise."""
    _require(False)


def _checksum(description: str, arrays: Arrays) -> str:
    digest = hashlib.sha256(description.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


# ---------------------------------------------------------------- values <-> JSON and arrays


def _pack(value: Any, arrays: Arrays) -> Any:
    """A JSON value; numbers in bulk go to ``arrays``."""
    value = value.item() if isinstance(value, np.generic) else _with_plain_trees(value)
    if isinstance(value, str):
        _require_unicode(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray):
        return _pack_array(value, arrays)
    if isinstance(value, list):
        return [_pack(item, arrays) for item in value]
    codec = CODECS.get(type(value).__name__)
    if codec is not None and type(value) is codec.cls:
        packed = _pack(codec.state(value), arrays)
        codec.check(value)
        return {"class": type(value).__name__, "state": packed}
    if isinstance(value, tuple):
        return {"tuple": [_pack(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_pack(key, arrays), _pack(item, arrays)] for key, item in value.items()]}
    raise ModelFileError(
        f"A {type(value).__name__} cannot be saved; chary saves its own classifiers and table preparation, "
        "with parameters that are numbers, text or its own policies."
    )


def _with_plain_trees(value: Any) -> Any:
    try:
        return plain_trees(value)
    except (ValueError, AttributeError) as error:
        kind, version = type(value).__name__, sklearn.__version__
        unknown = f"A {kind} of scikit-learn {version} cannot be saved; this version of chary does not know it."
        raise ModelFileError(str(error) if isinstance(error, ValueError) else unknown) from error


def _pack_array(array: NDArray[Any], arrays: Arrays) -> Any:
    name = f"a{len(arrays)}"
    if array.dtype.kind in "fiub":
        arrays[name] = np.ascontiguousarray(array)
        return {"array": name}
    if array.dtype.kind not in "UO":
        raise ModelFileError(f"An array of {array.dtype} cannot be saved; chary saves numbers, text and objects.")
    position: dict[Any, int] = {}  # each distinct value once; 1, 1.0 and True are kept apart
    codes = [position.setdefault((type(item), item), len(position)) for item in array.ravel().tolist()]
    arrays[name] = np.array(codes, dtype=np.int64).reshape(array.shape)
    values = [_pack(item, arrays) for _, item in position]
    return {"values": values, "codes": name, "dtype": "text" if array.dtype.kind == "U" else "object"}


def _unpack(node: Any, arrays: Arrays) -> Any:
    """What a JSON value stands for; ``arrays`` are used up, so that no small file makes much of one of them."""
    if isinstance(node, str):
        _require_unicode(node)
    if node is None or isinstance(node, bool | int | float | str):
        return node
    if isinstance(node, list):
        return [_unpack(item, arrays) for item in node]
    _require(set(node) in _NODES)
    match node:
        case {"float": ("inf" | "-inf" | "nan") as text}:
            return float(text)
        case {"tuple": list(items)}:
            return tuple(_unpack(item, arrays) for item in items)
        case {"dict": list(items)}:
            return _distinct([(_unpack(key, arrays), _unpack(item, arrays)) for key, item in items])
        case {"array": str(name)}:
            return arrays.pop(name)
        case {"values": list(values), "codes": str(name), "dtype": ("text" | "object") as dtype}:
            return _looked_up([_unpack(value, arrays) for value in values], arrays.pop(name), dtype)
        case {"class": str(name), "state": dict(state)}:
            if name not in CODECS:
                raise ModelFileError(
                    f"The model file holds a {name[:50]!r}, which this version of chary does not know."
                )
            value = CODECS[name].restore(_unpack(state, arrays))
            CODECS[name].check(value)
            return value
    raise ModelFileError("The model file holds a value that this version of chary does not know.")


# The keys that an object in a description may have, together.
_NODES = [{"float"}, {"tuple"}, {"dict"}, {"array"}, {"values", "codes", "dtype"}, {"class", "state"}]


def _looked_up(values: list[Any], codes: NDArray[Any], dtype: str) -> NDArray[Any]:
    """The values by their codes; as an array of text only if that takes about as much room as it has in the file.

    NumPy gives every text of an array the room of the longest: one of a million letters, told once, could take
    gigabytes. As objects they are shared, and compare and print the same.
    """
    _require(codes.dtype.kind in "iu" and all(map(_is_scalar, values)))
    unique = np.empty(len(values), dtype=object)
    unique[:] = values
    looked_up = unique[codes]
    lengths = [len(value) for value in values if isinstance(value, str)]
    if dtype == "object" or len(lengths) < len(values):
        return looked_up
    in_memory, in_file = 4 * max(lengths, default=0) * codes.size, codes.nbytes + sum(lengths)
    return looked_up.astype(str) if in_memory <= _MOST_GROWTH * in_file else looked_up


# ---------------------------------------------------------------- classes that a file may hold


class Codec(NamedTuple):
    """How objects of a class become a dictionary of plain values and arrays, and come back."""

    cls: type
    state: Callable[[Any], dict[str, Any]]
    restore: Callable[[dict[str, Any]], Any]
    check: Callable[[Any], None] = lambda value: None  # raises an error if it contradicts itself; both ways


def _require(condition: bool) -> None:
    """Refuse what ``save`` does not write."""
    if not condition:
        raise _UnsoundError("The model file contradicts itself; copy or train it again.")


def _require_unicode(text: str) -> None:
    """Refuse half a character, which no file of a table can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _UnsoundError("The model file holds text that is not Unicode; copy or train it again.") from None


def _require_finite(value: Any) -> None:
    """Refuse a number, or numbers anywhere in arrays, lists and dictionaries, that are infinite or missing."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            _require_finite(item)
        return
    floats = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
    if floats and not np.isfinite(value).all():
        raise _UnsoundError("The model file holds an infinite or missing number; copy or train it again.")


def _wrong(cls: type, name: str) -> _UnsoundError:
    """Say which field of which class holds a value that cannot be."""
    return _UnsoundError(
        f"The model file contradicts itself in {name!r} of a {cls.__name__}; copy or train it again."
    )


def _estimator(cls: type, *names: str) -> Codec:
    """Describe an estimator: its parameters, and the ``names`` of what ``fit`` sets.

    Of a class of chary all parameters are kept, of one of scikit-learn those that are not its defaults. A fitted
    estimator must have all of ``names``, but for the names of columns, and is tried out.
    """
    foreign = cls.__module__.startswith("sklearn.")
    defaults = {name: parameter.default for name, parameter in signature(cls).parameters.items()}

    def learned(model: Any) -> dict[str, Any]:
        in_order = names if foreign else vars(model)
        return {name: vars(model)[name] for name in in_order if name in names and name in vars(model)}

    def state(model: Any) -> dict[str, Any]:
        params, fitted = model.get_params(deep=False), learned(model)
        if isinstance(params.get("random_state"), Generator | RandomState):
            params["random_state"] = None
        if foreign:
            params = {name: value for name, value in params.items() if repr(value) != repr(defaults[name])}
        if "history_" in fitted:  # without the seconds: the same run writes the same file
            rounds = [{k: v for k, v in record.items() if k != "seconds"} for record in fitted["history_"]]
            fitted["history_"] = rounds
        return {"params": params, "fitted": fitted}

    def restore(saved: dict[str, Any]) -> Any:
        _require(saved.keys() == {"params", "fitted"})
        _require(all(isinstance(name, str) for name in (*saved["params"], *saved["fitted"])))
        for name in saved["params"].keys() - defaults.keys():
            installed = f"scikit-learn {sklearn.__version__}" if foreign else f"chary {__version__}"
            raise ModelFileError(
                f"The model file holds a {cls.__name__} with the parameter {name[:50]!r}, which {installed} does "
                "not know; install the version that it was made with, or train the model again."
            )
        model = cls(**saved["params"])
        for name, value in saved["fitted"].items():
            if name not in names:
                raise _wrong(cls, name[:50])
            setattr(model, name, value)
        return model

    def check(model: Any) -> None:
        _check_constraints(model)
        fitted = learned(model)
        if not fitted:  # a meta-estimator holds an unfitted one, too
            return
        for name in names:
            if name not in fitted and name != _COLUMN_NAMES:
                raise _wrong(cls, name)
        for name, value in fitted.items():
            if name not in _FREE:
                _require_finite(value)
        _require(_works(model))

    return Codec(cls, state, restore, check)


def _check_constraints(model: Any) -> None:
    """Refuse parameters of another type, or out of the range, that the estimator itself states for ``fit``."""
    if not hasattr(model, "_parameter_constraints"):
        return
    try:
        model._validate_params()
    except ValueError:
        raise _wrong(type(model), "parameters") from None


def _works(model: Any) -> bool:
    """Tell whether a fitted estimator makes finite numbers, as many as it should, of zeros and of ones.

    Each is a row by itself: of an array that would fit some number of rows alone, more than one row comes out.
    """
    try:
        n_features = model.n_features_in_
        if not _is_count(n_features) or not _has_names(model):
            return False
        if hasattr(model, "whole") and not model.whole():
            return False
        if isinstance(model, QuantileTransformer) and not _is_ascending(model):
            return False
        rows = np.stack([np.zeros(n_features), np.ones(n_features)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return all(_is_scored(model, row[None]) for row in rows)
    except Exception:  # arrays that do not fit together, in whatever way
        return False


def _is_ascending(model: QuantileTransformer) -> bool:
    """Tell whether quantiles are in order: what lies between two of them has no place otherwise."""
    shares = model.references_
    quantiles = model.quantiles_
    if not (_is_array(shares, len(quantiles)) and _is_array(quantiles, len(shares), model.n_features_in_)):
        return False
    in_order = (np.diff(shares) >= 0).all() and (np.diff(quantiles, axis=0) >= 0).all()
    return bool(in_order and shares.min() >= 0 and shares.max() <= 1)


def _has_names(model: Any) -> bool:
    """Tell whether columns and classes have the names that they need."""
    if hasattr(model, _COLUMN_NAMES):
        columns = model.feature_names_in_
        if columns.shape != (model.n_features_in_,) or not _is_tuple_of_texts(tuple(columns.tolist())):
            return False
    return not hasattr(model, "classes_") or _is_classes(model.classes_)


def _is_scored(model: Any, row: NDArray[Any]) -> bool:
    """Tell whether a row (1, d) becomes one row of finite numbers."""
    if hasattr(model, "transform"):
        scores = model.transform(row)
        return scores.shape == row.shape and bool(np.isfinite(scores).all())
    probabilities = model.predict_proba(row)
    if probabilities.shape != (1, len(model.classes_)) or not np.isfinite(probabilities).all():
        return False
    if isinstance(model, SelfTrainingClassifier):
        confidence = model.predict_confidence(row)
        return confidence.shape == (1,) and bool(np.isfinite(confidence).all())
    return True


def _is_array(array: Any, *shape: int, dtype: Any = np.floating) -> bool:
    return isinstance(array, np.ndarray) and np.issubdtype(array.dtype, dtype) and array.shape == shape


def _dataclass(cls: type, check: Callable[[Any], None] = lambda value: None) -> Codec:
    names = [field.name for field in fields(cls)]
    return Codec(
        cls, lambda value: {name: getattr(value, name) for name in names}, lambda saved: cls(**saved), check
    )


def _network_state(network: Network) -> dict[str, Any]:
    names = ("n_features", "hidden_sizes", "n_classes", "n_heads", "params")
    return {name: getattr(network, name) for name in names}


def _restore_network(saved: dict[str, Any]) -> Network:
    params = saved.pop("params")
    sizes = [saved["n_features"], *saved["hidden_sizes"], saved["n_classes"], saved["n_heads"]]
    _require(all(type(size) is int and 1 <= size < 2**31 for size in sizes))
    widths = [saved["n_features"], *saved["hidden_sizes"], (1 + saved["n_heads"]) * saved["n_classes"]]
    _require(_is_array(params, sum(math.prod(pair) + pair[1] for pair in pairwise(widths))))
    network = Network(**saved, dtype=params.dtype)
    network.params[:] = params
    return network


def _table_state(preparation: TablePreparation) -> dict[str, Any]:
    params = {name: tuple(value) for name, value in preparation.get_params().items()}
    return {"params": params, "columns": preparation.ordered_, "statistics": preparation.statistics_}


def _restore_table(saved: dict[str, Any]) -> TablePreparation:
    _require(saved.keys() == {"params", "columns", "statistics"})
    columns, statistics, params = saved["columns"], saved["statistics"], saved["params"]
    _require(isinstance(columns, list) and all(type(column) is Column for column in columns))
    _require(len({column.name for column in columns}) == len(columns))
    _require(any(column.used for column in columns))
    _require(all(map(_is_tuple_of_texts, params.values())))
    _require_finite(statistics)
    return TablePreparation.restored(params, columns, statistics)


_COLUMN_TYPES = {
    **dict.fromkeys(("name", "kind", "note", "form"), str),
    **dict.fromkeys(("other", "missing", "doubtful"), bool),
    "learned": dict,
}


def _check_column(column: Column) -> None:
    """Refuse a column with a field of another type, or that its kind cannot read."""
    for name, kind in _COLUMN_TYPES.items():
        if type(getattr(column, name)) is not kind:
            raise _wrong(Column, name)
    _require(_is_tuple_of_texts(column.categories))
    _require_finite(column.learned)
    if not is_whole(column):
        raise _wrong(Column, column.kind[:50])


def _pipeline_state(pipeline: Pipeline) -> dict[str, Any]:
    reference = getattr(pipeline, "drift_reference_", None)
    return {"steps": pipeline.steps, **({} if reference is None else {"sketch": vars(reference)})}


def _restore_pipeline(saved: dict[str, Any]) -> Pipeline:
    _require({"steps"} <= saved.keys() <= {"steps", "sketch"})
    pipeline = Pipeline(saved["steps"])
    if "sketch" in saved:
        pipeline.drift_reference_ = DriftReference(**saved["sketch"])
    return pipeline


def _check_pipeline(pipeline: Pipeline) -> None:
    """Refuse steps that do not follow on each other, and figures on rows that these steps cannot have seen."""
    steps = pipeline.steps
    _require(isinstance(steps, list) and len(steps) > 0)
    for step in steps:
        _require(isinstance(step, tuple) and len(step) == 2 and type(step[0]) is str and _is_estimator(step[1]))

    preparation = steps[0][1] if isinstance(steps[0][1], TablePreparation) else None
    of_numbers = steps if preparation is None else steps[1:]
    if of_numbers and _is_fitted(of_numbers[-1][1]):
        _require(_works(Pipeline(of_numbers)))
        if preparation is not None:
            _require(len(preparation.get_feature_names_out()) == of_numbers[0][1].n_features_in_)
    if (reference := getattr(pipeline, "drift_reference_", None)) is not None:
        _require(preparation is not None and reference.fits(preparation))


def _check_member(member: Member) -> None:
    _require(isinstance(member.name, str) and _is_estimator(member.estimator))


# ---------------------------------------------------------------- what values must be

_COLUMN_NAMES = "feature_names_in_"  # only if it was fitted on a frame


def _is_scalar(value: Any) -> bool:
    return value is None or type(value) in (bool, int, float, str)


def _is_tuple_of_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(text, str) for text in value)


def _is_estimator(value: Any) -> bool:
    """Whether it is an estimator that a file may hold."""
    codec = CODECS.get(type(_with_plain_trees(value)).__name__)
    return codec is not None and hasattr(codec.cls, "fit") and isinstance(value, BaseEstimator)


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _is_count(value: Any) -> bool:
    is_whole_number = isinstance(value, int | np.integer) and type(value) is not bool
    return is_whole_number and bool(1 <= value <= _MOST_FEATURES)


def _is_classes(value: Any) -> bool:
    """Whether an array names classes: plain values that differ, also as text."""
    names = value.tolist()
    if value.ndim != 1 or not names or None in names or not all(map(_is_scalar, names)):
        return False
    return len(set(map(str, names))) == len(names)


# What ``fit`` sets, by class.
_SEEN = ("n_features_in_", _COLUMN_NAMES)
_PRIOR = ("class_prior_", "class_bias_")
_NETWORK = ("mean_", "scale_", "network_", "loss_curve_")
_ENSEMBLE = ("members_", "weights_", "scales_")
_SELF_TRAINING = (
    "classes_",
    "estimator_",
    "labeled_iter_",
    "confidence_",
    "transduction_",
    "n_rounds_",
    "history_",
    "termination_condition_",
    *_PRIOR,
)
_GUESSES = ("guess_column_", "guess_features_", "guess_patterns_", "guess_codes_")

# A new class is a line here, of chary's own or of scikit-learn.
CODECS = {
    codec.cls.__name__: codec
    for codec in (
        _estimator(DiverseEnsembleClassifier, *_SEEN, "classes_", *_NETWORK, *_PRIOR),
        _estimator(MixedEnsembleClassifier, *_SEEN, "classes_", *_ENSEMBLE, *_PRIOR),
        _estimator(SelfTrainingClassifier, *_SELF_TRAINING),
        _estimator(KeptGuessesClassifier, *_SELF_TRAINING, *_GUESSES),
        _estimator(ColumnScaler, *_SEEN, "mean_", "scale_"),
        _estimator(PlainForest, *_SEEN, "classes_", "trees_"),
        _estimator(PlainBoosting, *_SEEN, "classes_", "trees_", "baseline_"),
        _estimator(ExtraTreesClassifier),  # unfitted: fitted ones are kept as plain trees
        _estimator(HistGradientBoostingClassifier),
        _estimator(StandardScaler, *_SEEN, "mean_", "var_", "scale_", "n_samples_seen_"),
        _estimator(QuantileTransformer, *_SEEN, "n_quantiles_", "references_", "quantiles_"),
        _estimator(LogisticRegression, *_SEEN, "classes_", "n_iter_", "coef_", "intercept_"),
        Codec(Network, _network_state, _restore_network, lambda network: _require_finite(network.params)),
        Codec(TablePreparation, _table_state, _restore_table),
        Codec(Pipeline, _pipeline_state, _restore_pipeline, _check_pipeline),
        Codec(Member, Member._asdict, lambda saved: Member(**saved), _check_member),
        _dataclass(Column, _check_column),
        *map(_dataclass, (Trees, *POLICIES)),
    )
}
