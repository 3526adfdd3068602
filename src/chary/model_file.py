"""Saving a fitted model in one file and loading it again: arrays as safetensors, the rest as JSON.

Nothing in a file is executed. Its metadata holds a JSON description of the model, in which the
names of classes come from a fixed list (``CLASSES``), and a checksum over description and arrays.
Loading builds objects of listed classes from plain values and has each estimator predict two rows;
a file that does not fit together is refused. What a file makes in memory is bounded by its own
size. A class of scikit-learn is kept as the parameters that differ from its defaults and the listed
attributes, its trees as plain arrays, so that a file depends on no version of it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import stat
import warnings
from dataclasses import dataclass, fields
from inspect import signature
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import safetensors.numpy
from numpy.random import Generator, RandomState
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from chary._files import atomic_write
from chary._words import visible
from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.kept_guesses import KeptGuessesClassifier
from chary.method.mixture import ColumnScaler, Member, MixedEnsembleClassifier
from chary.method.network import Network
from chary.method.policies import POLICIES
from chary.method.self_training import SelfTrainingClassifier
from chary.method.trees import PlainBoosting, PlainForest, Trees, plain_trees
from chary.tables import TablePreparation
from chary.tables.columns import Column, is_valid_column

FORMAT = "chary-model-2"
_MAX_BYTES, _MAX_HEADER_BYTES = 2**33, 2**28
# A text array takes at most so many bytes for each of those that it has in the file.
_MOST_GROWTH = 64
_MOST_FEATURES = 2**20
# What may hold numbers that are infinite or missing: the offset of a class that a prior gives no
# share, and records that predict nothing.
_FREE = ("class_bias_", "loss_curve_", "confidence_", "history_", "transduction_")

Arrays = dict[str, NDArray[Any]]


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that is not a model of chary."""


def save_model(model: Any, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Save a fitted model in one file; the same model makes the same bytes.

    Parameters
    ----------
    model : TablePreparation, DiverseEnsembleClassifier, MixedEnsembleClassifier, SelfTrainingClassifier, Pipeline
        A ``SelfTrainingClassifier`` around one of the others, or a ``Pipeline`` of them. The
        members of a mixed ensemble may be logistic regressions, extra trees, histogram gradient
        boosting of numbers, and pipelines of these with a ``StandardScaler`` or
        ``QuantileTransformer``. Not kept are a ``random_state`` that is a generator, and the
        seconds that rounds took.
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
    description = json.dumps({"model": _pack(model, arrays)}, allow_nan=False)
    data = _file(
        arrays,
        {"format": FORMAT, "description": description, "sha256": _checksum(description, arrays)},
    )
    try:
        load_bytes(data)
    except ModelFileError as error:
        kind = type(model).__name__
        raise ModelFileError(
            f"This {kind} was not saved, as it could not be loaded again: {error}"
        ) from error
    return data


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model saved by :func:`save_model`; its predictions are those of the saved one to the bit.

    Whatever versions of scikit-learn it was saved and is loaded with. Trees come back as plain
    arrays: instead of an ``ExtraTreesClassifier`` there is a ``chary.method.PlainForest``, which
    predicts the same.

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
        state = os.stat(path)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if state.st_size > _MAX_BYTES:
            raise ModelFileError(
                f"{name} has {state.st_size:,} bytes, more than a model of chary can have."
            )
        with open(path, "rb") as file:
            return file.read(state.st_size)
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
        arrays = safetensors.numpy.load(data)
        text = metadata["description"]
        _require(_checksum(text, arrays) == metadata["sha256"])
        description = json.loads(text, object_pairs_hook=_distinct)
        json.dumps(description, ensure_ascii=False).encode()  # half a character can be in no table
        model = _unpack(description["model"], arrays)
        check_is_fitted(model)
        return model
    except ModelFileError:
        raise
    except Exception:  # whatever a hostile file provokes ends here, before anything of it is used
        raise ModelFileError(
            f"{name} is damaged or not a model file of chary; copy or train it again."
        ) from None


@dataclass(frozen=True)
class DriftReference:
    """What the rows looked like that a model learned from: ranges and counts."""

    n_rows: int
    ranges: NDArray[np.float32]  # (numbers, 2) of the features that are numbers
    counts: NDArray[
        np.int64
    ]  # (e,) rows outside each range, with a new value and without one, by column

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
    header = json.dumps(
        {"__metadata__": metadata, **json.loads(data[8:start])}, separators=(",", ":")
    ).encode()
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
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray):
        return _pack_array(value, arrays)
    if isinstance(value, list):
        return [_pack(item, arrays) for item in value]
    name = type(value).__name__
    if CLASSES.get(name) is type(value):
        return {"class": name, "state": _pack(_state(value), arrays)}
    if isinstance(value, tuple):
        return {"tuple": [_pack(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_pack(key, arrays), _pack(item, arrays)] for key, item in value.items()]}
    raise ModelFileError(
        f"A {name} cannot be saved; chary saves its own classifiers and table preparation, "
        "with parameters that are numbers, text or its own policies."
    )


def _with_plain_trees(value: Any) -> Any:
    try:
        return plain_trees(value)
    except (ValueError, AttributeError) as error:
        raise ModelFileError(
            f"A {type(value).__name__} of this kind cannot be saved: {error}."
        ) from error


def _pack_array(array: NDArray[Any], arrays: Arrays) -> Any:
    name = f"a{len(arrays)}"
    if array.dtype.kind in "fiub":
        arrays[name] = np.ascontiguousarray(array)
        return {"array": name}
    if array.dtype.kind not in "UO":
        raise ModelFileError(
            f"An array of {array.dtype} cannot be saved; chary saves numbers, text and objects."
        )
    position: dict[Any, int] = {}  # each distinct value once; 1, 1.0 and True are kept apart
    codes = [
        position.setdefault((type(item), item), len(position)) for item in array.ravel().tolist()
    ]
    arrays[name] = np.array(codes, dtype=np.int64).reshape(array.shape)
    values = [_pack(item, arrays) for _, item in position]
    return {
        "values": values,
        "codes": name,
        "dtype": "text" if array.dtype.kind == "U" else "object",
    }


def _unpack(node: Any, arrays: Arrays) -> Any:
    """What a JSON value stands for; ``arrays`` are used up, so that no small file makes much of one of them."""
    if node is None or isinstance(node, bool | int | float | str):
        return node
    if isinstance(node, list):
        return [_unpack(item, arrays) for item in node]
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
            if name not in CLASSES:
                _refuse_unknown(name)
            return _restore(CLASSES[name], _unpack(state, arrays))
    raise ValueError


def _looked_up(values: list[Any], codes: NDArray[Any], dtype: str) -> NDArray[Any]:
    """The values by their codes; as an array of text only if that takes about as much room as it has in the file.

    NumPy gives every text of an array the room of the longest: one of a million letters, told once,
    could take gigabytes. As objects they are shared, and compare and print the same.
    """
    _require(codes.dtype.kind in "iu" and all(map(_is_scalar, values)))
    unique = np.empty(len(values), dtype=object)
    unique[:] = values
    looked_up = unique[codes]
    if dtype == "object":
        return looked_up
    lengths = [len(value) for value in values]
    in_memory = 4 * max(lengths, default=0) * codes.size
    return (
        looked_up.astype(str)
        if in_memory <= _MOST_GROWTH * (codes.nbytes + sum(lengths))
        else looked_up
    )


# ---------------------------------------------------------------- classes that a file may hold

_COLUMN_NAMES = "feature_names_in_"  # only if it was fitted on a frame
_SEEN = ("n_features_in_", _COLUMN_NAMES)
_PRIOR = ("class_prior_", "class_bias_")
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

# Estimators, of chary's own or of scikit-learn, and what ``fit`` sets.
FITTED: dict[type, tuple[str, ...]] = {
    DiverseEnsembleClassifier: (
        *_SEEN,
        "classes_",
        "mean_",
        "scale_",
        "network_",
        "loss_curve_",
        *_PRIOR,
    ),
    MixedEnsembleClassifier: (*_SEEN, "classes_", "members_", "weights_", "scales_", *_PRIOR),
    SelfTrainingClassifier: _SELF_TRAINING,
    KeptGuessesClassifier: (*_SELF_TRAINING, *_GUESSES),
    ColumnScaler: (*_SEEN, "mean_", "scale_"),
    PlainForest: (*_SEEN, "classes_", "trees_"),
    PlainBoosting: (*_SEEN, "classes_", "trees_", "baseline_"),
    ExtraTreesClassifier: (),  # unfitted: fitted ones are kept as plain trees
    HistGradientBoostingClassifier: (),
    StandardScaler: (*_SEEN, "mean_", "var_", "scale_", "n_samples_seen_"),
    QuantileTransformer: (*_SEEN, "n_quantiles_", "references_", "quantiles_"),
    LogisticRegression: (*_SEEN, "classes_", "n_iter_", "coef_", "intercept_"),
}
# What has fields, and which.
RECORDS: dict[type, tuple[str, ...]] = {
    Network: ("n_features", "hidden_sizes", "n_classes", "n_heads", "params"),
    Member: Member._fields,
    **{cls: tuple(field.name for field in fields(cls)) for cls in (Column, Trees, *POLICIES)},
}
CLASSES = {cls.__name__: cls for cls in (*FITTED, *RECORDS, TablePreparation, Pipeline)}


def _state(value: Any) -> dict[str, Any]:
    """An object of a listed class as a dictionary."""
    if isinstance(value, TablePreparation):
        params = {name: tuple(given) for name, given in value.get_params().items()}
        return {"params": params, "columns": value.ordered_, "statistics": value.statistics_}
    if isinstance(value, Pipeline):
        reference = getattr(value, "drift_reference_", None)
        return {"steps": value.steps, **({} if reference is None else {"sketch": vars(reference)})}
    if type(value) in RECORDS:
        return {name: getattr(value, name) for name in RECORDS[type(value)]}
    return _estimator_state(value)


def _restore(cls: type, saved: dict[str, Any]) -> Any:
    """The object that a dictionary describes, if it is whole."""
    if cls is TablePreparation:
        return _restore_table(**saved)
    if cls is Pipeline:
        return _restore_pipeline(**saved)
    if cls is Network:
        return _restore_network(**saved)
    if cls is Column:
        return _restore_column(**saved)
    if cls in RECORDS:
        return cls(**saved)
    return _restore_estimator(cls, **saved)


def _estimator_state(model: Any) -> dict[str, Any]:
    """Parameters, of a class of scikit-learn those that are not its defaults, and what ``fit`` set."""
    names = FITTED[type(model)]
    params = model.get_params(deep=False)
    in_order: Any = vars(model)
    if isinstance(params.get("random_state"), Generator | RandomState):
        params["random_state"] = None
    if type(model).__module__.startswith("sklearn."):
        defaults = signature(type(model)).parameters
        params = {
            name: value
            for name, value in params.items()
            if repr(value) != repr(defaults[name].default)
        }
        in_order = names
    fitted = {name: vars(model)[name] for name in in_order if name in names and name in vars(model)}
    if "history_" in fitted:  # without the seconds: the same run writes the same file
        rounds = [
            {k: v for k, v in record.items() if k != "seconds"} for record in fitted["history_"]
        ]
        fitted["history_"] = rounds
    return {"params": params, "fitted": fitted}


def _restore_estimator(cls: type, params: dict[str, Any], fitted: dict[str, Any]) -> Any:
    """An estimator that was fitted has all of its attributes, but for the names of columns, and is tried out."""
    for name in params.keys() - signature(cls).parameters.keys():
        _refuse_unknown(f"{cls.__name__} with the parameter {name}")
    model = cls(**params)
    if hasattr(model, "_parameter_constraints"):
        model._validate_params()
    if not fitted:  # a meta-estimator holds an unfitted one, too
        return model
    names = set(FITTED[cls])
    _require(names - {_COLUMN_NAMES} <= fitted.keys() <= names)
    for name, value in fitted.items():
        setattr(model, name, value)
        if name not in _FREE:
            _require_finite(value)
    _try_out(model)
    return model


def _try_out(model: Any) -> None:
    """Have a fitted estimator make finite numbers, as many as it should, of zeros and of ones.

    Each is a row by itself: of an array that would fit some number of rows alone, more than one row
    comes out.
    """
    n_features = model.n_features_in_
    _require(isinstance(n_features, int | np.integer) and 1 <= n_features <= _MOST_FEATURES)
    columns = getattr(model, _COLUMN_NAMES, None)
    _require(
        columns is None
        or (len(columns) == n_features and _is_tuple_of_texts(tuple(columns.tolist())))
    )
    _require(not hasattr(model, "classes_") or _is_classes(model.classes_))
    _require(not hasattr(model, "whole") or model.whole())
    if isinstance(
        model, QuantileTransformer
    ):  # what lies between two that are not in order has no place
        _require(
            (np.diff(model.references_) >= 0).all()
            and (np.diff(model.quantiles_, axis=0) >= 0).all()
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in (np.zeros((1, n_features)), np.ones((1, n_features))):
            if hasattr(model, "transform"):
                _require_scores(model.transform(row), row.shape)
            else:
                _require_scores(model.predict_proba(row), (1, len(model.classes_)))
            if isinstance(model, SelfTrainingClassifier):
                _require_scores(model.predict_confidence(row), (1,))


def _require_scores(scores: NDArray[Any], shape: tuple[int, ...]) -> None:
    _require(scores.shape == shape and np.isfinite(scores).all())


def _restore_network(params: NDArray[Any], **sizes: Any) -> Network:
    network = Network(**sizes, dtype=params.dtype)
    _require(params.dtype.kind == "f" and params.shape == network.params.shape)
    _require_finite(params)
    network.params[:] = params
    return network


def _restore_table(
    params: dict[str, Any], columns: list[Column], statistics: dict[str, Any]
) -> TablePreparation:
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


def _restore_column(**saved: Any) -> Column:
    """Refuse a column with a field of another type, or that its kind cannot read."""
    column = Column(**saved)
    _require(all(type(getattr(column, name)) is kind for name, kind in _COLUMN_TYPES.items()))
    _require(_is_tuple_of_texts(column.categories))
    _require_finite(column.learned)
    _require(is_valid_column(column))
    return column


def _restore_pipeline(steps: list[Any], sketch: dict[str, Any] | None = None) -> Pipeline:
    """Refuse steps that do not follow on each other, and figures on rows that these steps cannot have seen."""
    for name, step in steps:
        _require(isinstance(name, str) and hasattr(step, "fit"))
    pipeline = Pipeline(steps)
    preparation = steps[0][1] if isinstance(steps[0][1], TablePreparation) else None
    of_numbers = steps if preparation is None else steps[1:]
    if of_numbers and _is_fitted(of_numbers[-1][1]):
        _try_out(Pipeline(of_numbers))
        if preparation is not None:
            _require(len(preparation.get_feature_names_out()) == of_numbers[0][1].n_features_in_)
    if sketch is not None:
        pipeline.drift_reference_ = DriftReference(**sketch)
        _require(preparation is not None and pipeline.drift_reference_.fits(preparation))
    return pipeline


# ---------------------------------------------------------------- what values must be


def _require(condition: bool | np.bool_) -> None:
    """Refuse what ``save`` does not write."""
    if not condition:
        raise ModelFileError("The model file contradicts itself; copy or train it again.")


def _refuse_unknown(what: str) -> NoReturn:
    raise ModelFileError(
        f"The model file holds a {visible(what)}, which the installed chary and scikit-learn do not know; "
        "install the versions that it was made with, or train the model again."
    )


def _require_finite(value: Any) -> None:
    """Refuse a number, or numbers anywhere in arrays, lists and dictionaries, that are infinite or missing."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            _require_finite(item)
    elif isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        _require(np.isfinite(value).all())


def _is_array(array: Any, *shape: int, dtype: Any) -> bool:
    return (
        isinstance(array, np.ndarray) and np.issubdtype(array.dtype, dtype) and array.shape == shape
    )


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _is_tuple_of_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(text, str) for text in value)


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _is_classes(value: Any) -> bool:
    """Whether an array names classes: plain values that differ, also as text."""
    names = value.tolist()
    return value.ndim == 1 and None not in names and 0 < len(names) == len(set(map(str, names)))
