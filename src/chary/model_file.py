"""Saving and loading fitted models in one file: arrays as safetensors, the rest as JSON.

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
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import safetensors.numpy
from numpy.random import Generator, RandomState
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from chary._arrays import Array
from chary._files import GivenPath, atomic_write
from chary._threads import refuse_after_fork
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
# A model file has at most this many bytes.
_MAX_BYTES = 2**33
# An array of text takes at most this many bytes in memory for each byte that it has in the file.
_MAX_GROWTH = 64
# A model has at most this many features: each row on which a loaded model is tried out has as many
# numbers.
_MAX_FEATURES = 2**20

Arrays = dict[str, Array]
# Values that JSON holds as they are, but for infinity and NaN. A bool is an int.
_Scalar = int | float | str | None


class ModelFileError(ValueError):
    """A model that cannot be saved or loaded."""


def save_model(model: Any, path: GivenPath, *, force: bool = False) -> None:
    """Save a fitted model in one file.

    The same model makes the same bytes.

    Parameters
    ----------
    model : fitted estimator
        A ``TablePreparation``, a ``DiverseEnsembleClassifier``, a ``MixedEnsembleClassifier``, a
        ``SelfTrainingClassifier`` around one of these classifiers, or a ``Pipeline`` of them. The
        members of a mixed ensemble may be logistic regressions, extra trees, histogram gradient
        boosting of numbers, and pipelines of these with a ``StandardScaler`` or
        ``QuantileTransformer``. Not kept are a ``random_state`` that is a generator, and the
        seconds that rounds took.
    path : path
        Usually ends in ``.chary``. The file is there whole or not at all.
    force : bool, default=False
        Replace a file of this name.
    """
    content = model_bytes(model)
    with atomic_write(path, overwrite=force) as file:
        file.write(content)


def model_bytes(model: Any) -> bytes:
    """Make the bytes of a model file.

    For callers that write several files together; others call :func:`save_model`.
    """
    if hasattr(model, "fit"):
        check_is_fitted(model)
    arrays: Arrays = {}
    description = json.dumps({"model": _pack(model, arrays)}, allow_nan=False)
    checksum = _checksum(description, arrays)
    data = _file(arrays, {"format": FORMAT, "description": description, "sha256": checksum})
    try:
        load_bytes(data)
    except ModelFileError as error:
        raise ModelFileError(
            f"This {type(model).__name__} was not saved, as it could not be loaded again: {error}"
        ) from error
    return data


def load_model(path: GivenPath) -> Any:
    """Load a model saved by :func:`save_model`.

    It predicts as the saved one, to the bit. The versions of scikit-learn with which it was saved
    and is loaded do not matter. Trees come back as plain arrays: instead of an
    ``ExtraTreesClassifier`` there is a ``chary.method.PlainForest``, which predicts the same.

    Parameters
    ----------
    path : path
        Of a file that :func:`save_model` or a command wrote.
    """
    return load_bytes(read_model_file(path), Path(path).name)


def read_model_file(path: GivenPath) -> bytes:
    """Read the bytes of a model file, for :func:`load_bytes`.

    A pipe or a device, which may have no end, is refused.
    """
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
    """Build the model from the bytes of a file.

    Each field is checked before anything is used.
    """
    # Columns are tried out with Polars, which would wait for ever in a forked process.
    refuse_after_fork()
    try:
        # safetensors refuses a header that is too long or not of its form.
        arrays = safetensors.numpy.load(data)
        header, _ = _read_header(data)
        metadata = header["__metadata__"]
        if metadata["format"] != FORMAT:
            raise ModelFileError(
                f"{name} is not a model file of this version of chary; install the version that it "
                "was made with, or train the model again."
            )
        text = metadata["description"]
        _require(_checksum(text, arrays) == metadata["sha256"])
        description = json.loads(text, object_pairs_hook=_distinct_entries)
        # Refuses half of a surrogate pair, which JSON can hold and which would fail in a table.
        json.dumps(description, ensure_ascii=False).encode()
        model = _unpack(description["model"], arrays)
        check_is_fitted(model)
        return model
    except ModelFileError:
        raise
    except Exception:  # Whatever a hostile file provokes ends here, before it is used.
        raise ModelFileError(
            f"{name} is damaged or not a model file of chary; copy or train it again."
        ) from None


@dataclass(frozen=True)
class DriftReference:
    """Ranges and counts of the rows that a model learned from.

    Attributes
    ----------
    n_rows : int
        How many rows there were.
    ranges : array of shape (n_numbers, 2)
        For each feature that is a number, the lowest and the highest usual value.
    counts : array of shape (n_events,)
        How many rows had each event. The events are a number outside of its range, for each of the
        features above; then a new value, for each column without such a feature; then no value, for
        each column.
    """

    n_rows: int
    ranges: NDArray[np.float32]
    counts: NDArray[np.int64]

    def fits(self, preparation: TablePreparation) -> bool:
        """Tell whether a reference can be about the features of a preparation."""
        column_of_number = []
        for feature in preparation.features():
            if not feature.indicator:
                column_of_number.append(feature.column)
        used = {column.name for column in preparation.columns_ if column.used}
        n_numbers = len(column_of_number)
        n_without_number = len(used.difference(column_of_number))
        n_events = n_numbers + n_without_number + len(used)
        return (
            type(self.n_rows) is int
            and 1 <= self.n_rows < 2**53
            and self._has_ranges(n_numbers)
            and self._has_counts(n_events)
        )

    def _has_ranges(self, n_numbers: int) -> bool:
        """Tell whether there is a possible range for each number."""
        if self.ranges.dtype != np.float32 or self.ranges.shape != (n_numbers, 2):
            return False
        lows = self.ranges[:, 0]
        highs = self.ranges[:, 1]
        return bool((lows <= highs).all())

    def _has_counts(self, n_events: int) -> bool:
        """Tell whether there is a possible count for each event."""
        if self.counts.dtype != np.int64 or self.counts.shape != (n_events,):
            return False
        return bool(0 <= self.counts.min() <= self.counts.max() <= self.n_rows)


# ---------------------------------------------------------------- bytes


def _file(arrays: Arrays, metadata: dict[str, str]) -> bytes:
    """Make the bytes of a safetensors file.

    The library itself would put the metadata into another order each time.
    """
    data = safetensors.numpy.save(arrays)
    entries, start = _read_header(data)
    header = json.dumps({"__metadata__": metadata, **entries}, separators=(",", ":")).encode()
    n_blanks = -len(header) % 8  # so that the arrays begin at a multiple of eight bytes
    header += b" " * n_blanks
    length = len(header).to_bytes(8, "little")
    return length + header + data[start:]


def _read_header(data: bytes) -> tuple[dict[str, Any], int]:
    """Read the header of a safetensors file, and where it ends.

    The file begins with the length of the header in eight bytes; the header is JSON.
    """
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), end


def _distinct_entries(pairs: Any) -> dict[Any, Any]:
    """Make a dictionary of pairs, and refuse a key that is there twice."""
    entries = dict(pairs)
    _require(len(entries) == len(pairs))
    return entries


def _checksum(description: str, arrays: Arrays) -> str:
    """Hash the description and the arrays, in the order of their names."""
    digest = hashlib.sha256(description.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


# ---------------------------------------------------------------- values <-> JSON and arrays


def _pack(value: Any, arrays: Arrays) -> Any:
    """Turn a value into JSON.

    Numbers, texts and lists are JSON already. Other values become an object that says what they
    are, such as ``{"tuple": [1, 2]}``; ``_unpack`` turns it back. An array is put into ``arrays``
    under a name, and the JSON holds the name.
    """
    if isinstance(value, np.generic):
        value = value.item()
    value = _with_plain_trees(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, _Scalar):
        return value
    if isinstance(value, np.ndarray):
        return _pack_array(value, arrays)
    if isinstance(value, list):
        return [_pack(item, arrays) for item in value]
    # Before other tuples, as a ``Member`` is a tuple, too.
    name = type(value).__name__
    if CLASSES.get(name) is type(value):
        return {"class": name, "state": _pack(_state(value), arrays)}
    if isinstance(value, tuple):
        return {"tuple": _pack(list(value), arrays)}
    if isinstance(value, dict):
        return {"dict": _pack([list(entry) for entry in value.items()], arrays)}
    raise ModelFileError(
        f"A {name} cannot be saved; chary saves its own classifiers and table preparation, "
        "with parameters that are numbers, text or its own policies."
    )


def _with_plain_trees(value: Any) -> Any:
    """Turn fitted trees into plain arrays; leave other values as they are."""
    try:
        return plain_trees(value)
    except (ValueError, AttributeError) as error:
        raise ModelFileError(
            f"A {type(value).__name__} of this kind cannot be saved: {error}."
        ) from error


def _pack_array(array: Array, arrays: Arrays) -> Any:
    """Put an array among ``arrays``, and return the JSON that stands for it.

    An array of numbers is kept as it is. One of texts or objects, ["b", "a", "b"], becomes the
    array of codes 0, 1, 0 and the list of values "b", "a".
    """
    name = f"a{len(arrays)}"
    kind = array.dtype.kind
    if kind in "fiub":
        arrays[name] = np.ascontiguousarray(array)
        return {"array": name}
    if kind not in "UO":
        raise ModelFileError(
            f"An array of {array.dtype} cannot be saved; chary saves numbers, text and objects."
        )

    # Each distinct value is written once, and each item becomes the number of its value. The type
    # belongs to the value, as 1, 1.0 and True are equal.
    code_of: dict[Any, int] = {}
    codes = []
    for item in array.ravel().tolist():
        next_code = len(code_of)
        code = code_of.setdefault((type(item), item), next_code)
        codes.append(code)
    arrays[name] = np.array(codes, dtype=np.int64).reshape(array.shape)
    values = [_pack(item, arrays) for _, item in code_of]
    dtype = "text" if kind == "U" else "object"
    return {"values": values, "codes": name, "dtype": dtype}


def _unpack(node: Any, arrays: Arrays) -> Any:
    """Turn JSON into the value that it stands for.

    Each of the ``arrays`` can be used once, so that a small file cannot become a huge model by
    repeating one.
    """
    if isinstance(node, _Scalar):
        return node
    if isinstance(node, list):
        return [_unpack(item, arrays) for item in node]
    match node:
        case {"float": ("inf" | "-inf" | "nan") as text}:
            return float(text)
        case {"tuple": list(items)}:
            return tuple(_unpack(items, arrays))
        case {"dict": list(items)}:
            return _distinct_entries(_unpack(items, arrays))
        case {"array": str(name)}:
            return arrays.pop(name)
        case {"values": list(values), "codes": str(name), "dtype": ("text" | "object") as dtype}:
            return _look_up(_unpack(values, arrays), arrays.pop(name), dtype)
        case {"class": str(name), "state": dict(state)}:
            if name not in CLASSES:
                _refuse_unknown(name)
            return _restore(CLASSES[name], _unpack(state, arrays))
    raise ValueError


def _look_up(values: list[Any], codes: Array, dtype: str) -> Array:
    """Look up the value of each code.

    The result is an array of text only if that takes about as much room as the file. NumPy gives
    each text of an array the room of the longest, so that a single long text could take gigabytes.
    As objects they are shared, and compare and print the same.
    """
    _require(all(isinstance(value, _Scalar) for value in values))
    array = np.array(values, dtype=object)[codes]
    if dtype == "object":
        return array
    lengths = [len(value) for value in values]
    bytes_in_memory = 4 * max(lengths, default=0) * codes.size
    bytes_in_file = codes.nbytes + sum(lengths)
    if bytes_in_memory > _MAX_GROWTH * bytes_in_file:
        return array
    return array.astype(str)


# ---------------------------------------------------------------- classes that a file may hold

# Only an estimator that was fitted on a frame has this attribute.
_COLUMN_NAMES = "feature_names_in_"
_SEEN = (_COLUMN_NAMES, "n_features_in_")
_SELF_TRAINING = (
    "classes_",
    "class_prior_",
    "labeled_iter_",
    "confidence_",
    "history_",
    "termination_condition_",
    "estimator_",
    "class_bias_",
    "n_rounds_",
    "transduction_",
)

# Estimators of chary and of scikit-learn, and the attributes that ``fit`` sets, in their order in
# files. The last two estimators are saved only unfitted: fitted ones become plain trees.
FITTED: dict[type, tuple[str, ...]] = {
    DiverseEnsembleClassifier: (
        *_SEEN,
        "classes_",
        "mean_",
        "scale_",
        "network_",
        "loss_curve_",
        "class_prior_",
        "class_bias_",
    ),
    MixedEnsembleClassifier: (
        *_SEEN,
        "classes_",
        "members_",
        "weights_",
        "scales_",
        "class_prior_",
        "class_bias_",
    ),
    SelfTrainingClassifier: _SELF_TRAINING,
    KeptGuessesClassifier: (
        *_SELF_TRAINING,
        "guess_column_",
        "guess_features_",
        "guess_patterns_",
        "guess_codes_",
    ),
    ColumnScaler: (*_SEEN, "mean_", "scale_"),
    PlainForest: ("trees_", "classes_", *_SEEN),
    PlainBoosting: ("baseline_", "trees_", "classes_", *_SEEN),
    StandardScaler: (*_SEEN, "mean_", "var_", "scale_", "n_samples_seen_"),
    QuantileTransformer: (*_SEEN, "n_quantiles_", "references_", "quantiles_"),
    LogisticRegression: (*_SEEN, "classes_", "n_iter_", "coef_", "intercept_"),
    ExtraTreesClassifier: (),
    HistGradientBoostingClassifier: (),
}
CLASSES = {
    cls.__name__: cls
    for cls in (*FITTED, TablePreparation, Pipeline, Network, Member, Column, Trees, *POLICIES)
}

# These attributes may hold infinite or missing numbers: ``class_bias_`` does if a prior gives a
# class no share, and the others are records that are not used to predict.
_MAY_BE_INFINITE = ("class_bias_", "loss_curve_", "confidence_", "history_", "transduction_")


def _state(value: Any) -> dict[str, Any]:
    """Turn an object of a listed class into a dictionary; ``_restore`` does the reverse."""
    if type(value) in FITTED:
        return _estimator_state(value)
    if isinstance(value, TablePreparation):
        params = {name: tuple(columns) for name, columns in value.get_params().items()}
        return {"params": params, "columns": value.ordered_, "statistics": value.statistics_}
    if isinstance(value, Pipeline):
        state = {"steps": value.steps}
        if hasattr(value, "drift_reference_"):
            state["sketch"] = vars(value.drift_reference_)
        return state
    if isinstance(value, Member):
        return value._asdict()
    return vars(value)


def _restore(cls: type, state: dict[str, Any]) -> Any:
    """Build the object that a dictionary describes, if it is whole."""
    if cls in FITTED:
        return _restore_estimator(cls, **state)
    return _RESTORE.get(cls, cls)(**state)


def _estimator_state(model: Any) -> dict[str, Any]:
    """Collect the parameters of an estimator, and what ``fit`` set.

    Parameters of a scikit-learn estimator are left out if they have their default value.
    """
    params = model.get_params(deep=False)
    if isinstance(params.get("random_state"), Generator | RandomState):
        params["random_state"] = None
    if type(model).__module__.startswith("sklearn."):
        defaults = signature(type(model)).parameters
        for name, value in list(params.items()):
            is_default = repr(value) == repr(defaults[name].default)
            if is_default:
                del params[name]

    attributes = vars(model)
    fitted = {name: attributes[name] for name in FITTED[type(model)] if name in attributes}
    if "history_" in fitted:
        # Without the seconds, the same run writes the same file.
        records = [dict(record) for record in model.history_]
        for record in records:
            record.pop("seconds", None)
        fitted["history_"] = records
    return {"params": params, "fitted": fitted}


def _restore_estimator(cls: type, params: dict[str, Any], fitted: dict[str, Any]) -> Any:
    """Build an estimator.

    A fitted estimator must have all of its attributes, and is tried out.
    """
    for name in params.keys() - signature(cls).parameters.keys():
        _refuse_unknown(f"{cls.__name__} with the parameter {name}")
    model = cls(**params)
    if hasattr(model, "_parameter_constraints"):
        model._validate_params()
    if not fitted:  # a parameter may be an unfitted estimator
        return model

    names = set(FITTED[cls])
    # All attributes are there, and no others; only the names of columns may be missing.
    _require(names - {_COLUMN_NAMES} <= fitted.keys() <= names)
    for name, value in fitted.items():
        setattr(model, name, value)
        if name not in _MAY_BE_INFINITE:
            _require_finite(value)
    _try_out(model)
    return model


def _try_out(model: Any) -> None:
    """Have a fitted estimator score a row of zeros and one of ones.

    The rows are scored one by one, and the scores must be finite and of one row: an array of a
    damaged file that has several rows would make scores of several rows.
    """
    n_features = model.n_features_in_
    _require(n_features <= _MAX_FEATURES)
    if hasattr(model, _COLUMN_NAMES):
        _require(model.feature_names_in_.shape == (n_features,))
    if hasattr(model, "classes_"):
        # A table holds the classes as text, in which they must differ, too.
        names = model.classes_.tolist()
        _require(model.classes_.ndim == 1 and None not in names)
        _require(len(set(map(str, names))) == len(names) > 0)
    if hasattr(model, "whole"):
        _require(model.whole())
    if isinstance(model, QuantileTransformer):
        # Unsorted quantiles may score zeros and ones and yet fail for other numbers.
        for values in (model.references_, model.quantiles_):
            _require((np.diff(values, axis=0) >= 0).all())

    with warnings.catch_warnings(action="ignore"):
        for row in (np.zeros((1, n_features)), np.ones((1, n_features))):
            if hasattr(model, "transform"):
                _require_scores(model.transform(row), row.shape)
            else:
                _require_scores(model.predict_proba(row), (1, len(model.classes_)))
            if isinstance(model, SelfTrainingClassifier):
                _require_scores(model.predict_confidence(row), (1,))


def _restore_network(params: Array, **sizes: Any) -> Network:
    """Build a network from its sizes and all of its numbers."""
    network = Network(**sizes, dtype=params.dtype)
    _require(params.dtype.kind == "f")
    _require_scores(params, network.params.shape)
    network.params[:] = params
    return network


def _restore_table(
    params: dict[str, Any], columns: list[Column], statistics: dict[str, Any]
) -> TablePreparation:
    """Build a table preparation, and refuse columns of the same name."""
    _distinct_entries([(column.name, column) for column in columns])
    _require(all(map(_is_tuple_of_texts, params.values())))
    _require_finite(statistics)
    return TablePreparation.restored(params, columns, statistics)


def _restore_column(**fields: Any) -> Column:
    """Build a column, and refuse fields of a wrong type or that do not suit its kind."""
    column = Column(**fields)
    example = vars(Column("", ""))  # its fields have the right types
    for name, value in fields.items():
        _require(type(value) is type(example[name]))
    _require(_is_tuple_of_texts(column.categories))
    _require_finite(column.learned)
    _require(is_valid_column(column))
    return column


def _restore_pipeline(steps: list[Any], sketch: dict[str, Any] | None = None) -> Pipeline:
    """Build a pipeline, and refuse steps or a drift reference that do not fit together."""
    pipeline = Pipeline(steps)
    preparation = steps[0][1]
    is_of_table = isinstance(preparation, TablePreparation)
    of_numbers = Pipeline(steps[1:] if is_of_table else steps)
    # A parameter may be an unfitted pipeline, which cannot be tried out.
    if of_numbers.steps and of_numbers.__sklearn_is_fitted__():
        _try_out(of_numbers)
        if is_of_table:
            _require(len(preparation.get_feature_names_out()) == of_numbers.n_features_in_)
    if sketch is not None:
        pipeline.drift_reference_ = DriftReference(**sketch)
        _require(is_of_table and pipeline.drift_reference_.fits(preparation))
    return pipeline


# These functions build the objects that are not estimators. An object of a class that is not listed
# is built from its fields.
_RESTORE: dict[type, Any] = {
    Network: _restore_network,
    TablePreparation: _restore_table,
    Column: _restore_column,
    Pipeline: _restore_pipeline,
}


# ---------------------------------------------------------------- what values must be


def _require(condition: bool | np.bool_) -> None:
    """Refuse the file if a condition that all saved models meet is false."""
    if not condition:
        raise ModelFileError("The model file contradicts itself; copy or train it again.")


def _refuse_unknown(name: str) -> NoReturn:
    """Refuse a class or a parameter of another version."""
    raise ModelFileError(
        f"The model file holds a {visible(name)}, which the installed chary and scikit-learn do "
        "not know; install the versions that it was made with, or train the model again."
    )


def _require_scores(scores: Array, shape: tuple[int, ...]) -> None:
    """Refuse scores of another shape, or that are infinite or missing."""
    _require(scores.shape == shape and np.isfinite(scores).all())


def _require_finite(value: Any) -> None:
    """Refuse infinite or missing numbers anywhere in arrays, lists and dictionaries."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            _require_finite(item)
    elif isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        _require(np.isfinite(value).all())


def _is_tuple_of_texts(value: Any) -> bool:
    """Tell whether a value is a tuple of texts."""
    return isinstance(value, tuple) and all(isinstance(text, str) for text in value)
