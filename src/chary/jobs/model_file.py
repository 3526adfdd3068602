"""A fitted model in, one file out, and back: arrays as safetensors, the rest as JSON; nothing is executed.

A model file is a safetensors file. Its metadata holds a JSON description of the model, in which the names of
classes come from a fixed list, and a checksum over description and arrays. Loading builds objects of listed
classes from plain values; whatever else a file holds, it is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
import scipy
import sklearn
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.tree import ExtraTreeClassifier
from sklearn.utils.validation import check_is_fitted

from chary import __version__
from chary._files import atomic_write
from chary._sklearn import Tree
from chary.method import (
    AIMS,
    POLICIES,
    DiverseEnsembleClassifier,
    Member,
    MixedEnsembleClassifier,
    Network,
    SelfTrainingClassifier,
)
from chary.tables import Column, TablePreparation, preparation_state, restore_preparation

FORMAT = "chary-model-1"

_MAX_BYTES, _MAX_HEADER_BYTES = 2**33, 2**28
_FITTED_NAME = re.compile(r"[a-z][a-z0-9_]*_")


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that is not a model of chary."""


def save(model: Any, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Save a fitted model in one file.

    Parameters
    ----------
    model : TablePreparation, DiverseEnsembleClassifier, MixedEnsembleClassifier, SelfTrainingClassifier, Pipeline
        A ``SelfTrainingClassifier`` around one of the others, or a ``Pipeline`` of them. The members of a mixed
        ensemble may be logistic regressions, extra trees, and pipelines of these with a ``StandardScaler`` or
        ``QuantileTransformer``. A ``random_state`` that is a generator is not kept.
    path : path
        Usually ends in ``.chary``. The file is there whole or not at all.
    overwrite : bool, default=False
    """
    arrays: dict[str, NDArray[Any]] = {}
    if hasattr(model, "fit"):
        check_is_fitted(model)
    description = json.dumps({"versions": _versions(), "model": _pack(model, arrays)}, allow_nan=False)
    metadata = {"format": FORMAT, "description": description, "sha256": _checksum(description, arrays)}
    with atomic_write(path, overwrite=overwrite) as file:
        file.write(safetensors.numpy.save(arrays, metadata))


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model saved by :func:`save`; its predictions are those of the saved one to the bit."""
    name = Path(path).name
    try:
        size = Path(path).stat().st_size
        if size > _MAX_BYTES:
            raise ModelFileError(f"{name} has {size:,} bytes, more than a model of chary can have.")
        data = Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise ModelFileError(f"{name} cannot be read ({reason}); check the path.") from None
    try:
        metadata = _metadata(data)
        if metadata.get("format") != FORMAT:
            raise ModelFileError(f"{name} is not a model file of this version of chary; train the model again.")
        arrays = safetensors.numpy.load(data)
        description = metadata["description"]
        if _checksum(description, arrays) != metadata["sha256"]:
            raise ModelFileError(f"{name} is damaged (its checksum is wrong); copy or train it again.")
        content = json.loads(description)
        if content["versions"]["scikit-learn"] != sklearn.__version__ and '"class": "Tree' in description:
            raise ModelFileError(
                f"{name} holds trees of scikit-learn {content['versions']['scikit-learn']}, and this is "
                f"{sklearn.__version__}; install that version, or train the model again."
            )
        model = _unpack(content["model"], arrays)
        check_is_fitted(model)
        return model
    except ModelFileError:
        raise
    except Exception:  # whatever a hostile file provokes ends here, before anything of it is used
        raise ModelFileError(f"{name} is damaged or not a model file of chary; copy or train it again.") from None


def _metadata(data: bytes) -> dict[str, str]:
    """The metadata of a safetensors file: after eight bytes of length, JSON, and in it this one entry."""
    length = int.from_bytes(data[:8], "little")
    if not 2 <= length <= min(len(data) - 8, _MAX_HEADER_BYTES):
        return {}
    try:
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__", {})
    except (ValueError, AttributeError, RecursionError):
        return {}
    return metadata if isinstance(metadata, dict) else {}


def _checksum(description: str, arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(description.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _versions() -> dict[str, str]:
    return {
        "chary": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "scikit-learn": sklearn.__version__,
        "scipy": scipy.__version__,
    }


# ---------------------------------------------------------------- values <-> JSON and arrays


def _pack(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """A JSON value; numbers in bulk go to ``arrays``."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray):
        return _pack_array(value, arrays)
    if isinstance(value, list):
        return [_pack(item, arrays) for item in value]
    codec = _CODECS.get(type(value).__name__)
    if codec is not None and type(value) is codec.cls:
        return {"class": type(value).__name__, "state": _pack(codec.state(value), arrays)}
    if isinstance(value, tuple):
        return {"tuple": [_pack(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_pack(key, arrays), _pack(item, arrays)] for key, item in value.items()]}
    raise ModelFileError(
        f"A {type(value).__name__} cannot be saved; chary saves its own classifiers and table preparation, "
        "with parameters that are numbers, text or its own policies."
    )


def _unpack(node: Any, arrays: dict[str, NDArray[Any]]) -> Any:
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
            return {_unpack(key, arrays): _unpack(item, arrays) for key, item in items}
        case {"array": str(name)}:
            return arrays[name]
        case {"values": list(values), "codes": str(name), "dtype": ("text" | "object") as dtype}:
            unique = np.array([_unpack(value, arrays) for value in values], dtype=object)
            looked_up = unique[arrays[name]]
            return looked_up if dtype == "object" else looked_up.astype(str)
        case {"class": str(name), "state": dict(state)}:
            if name not in _CODECS:
                raise ModelFileError(
                    f"The model file holds a {name[:50]!r}, which this version of chary does not know."
                )
            return _CODECS[name].restore(_unpack(state, arrays))
    raise ModelFileError("The model file holds a value that this version of chary does not know.")


def _pack_array(array: NDArray[Any], arrays: dict[str, NDArray[Any]]) -> Any:
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


# ---------------------------------------------------------------- the classes a file may hold


class _Codec(NamedTuple):
    cls: type
    state: Callable[[Any], dict[str, Any]]
    restore: Callable[[dict[str, Any]], Any]


def _estimator_codec(cls: type, check: Callable[[Any], bool]) -> _Codec:
    """Constructor parameters, and every attribute that ``fit`` set."""

    def state(model: Any) -> dict[str, Any]:
        params = model.get_params(deep=False)
        learned = {name: value for name, value in vars(model).items() if _FITTED_NAME.fullmatch(name)}
        return {"params": _without_generators(params), "fitted": learned}

    def restore(saved: dict[str, Any]) -> Any:
        model = cls(**saved["params"])
        for name, value in saved["fitted"].items():
            _require(_FITTED_NAME.fullmatch(name) is not None)
            setattr(model, name, value)
        _require(not saved["fitted"] or check(model))  # a meta-estimator holds an unfitted one, too
        return model

    return _Codec(cls, state, restore)


def _dataclass_codec(cls: type) -> _Codec:
    def state(value: Any) -> dict[str, Any]:
        return {field.name: getattr(value, field.name) for field in fields(value)}

    assert is_dataclass(cls)
    return _Codec(cls, state, lambda saved: cls(**saved))


def _network_state(network: Network) -> dict[str, Any]:
    sizes = {name: getattr(network, name) for name in ("n_features", "hidden_sizes", "n_classes", "n_heads")}
    return {**sizes, "params": network.params}


def _restore_network(saved: dict[str, Any]) -> Network:
    params = saved.pop("params")
    sizes = [saved["n_features"], *saved["hidden_sizes"], saved["n_classes"], saved["n_heads"]]
    _require(all(type(size) is int and 1 <= size < 2**31 for size in sizes))
    widths = [saved["n_features"], *saved["hidden_sizes"], (1 + saved["n_heads"]) * saved["n_classes"]]
    n_params = sum(prod(pair) + pair[1] for pair in pairwise(widths))
    _require(params.shape == (n_params,) and params.dtype.kind == "f")
    network = Network(**saved, dtype=params.dtype)
    network.params[:] = params
    return network


def _table_state(preparation: TablePreparation) -> dict[str, Any]:
    columns, statistics = preparation_state(preparation)
    params = {name: tuple(value) for name, value in preparation.get_params().items()}
    return {"params": params, "columns": columns, "statistics": statistics}


def _restore_table(saved: dict[str, Any]) -> TablePreparation:
    columns, statistics = saved["columns"], saved["statistics"]
    _require(all(isinstance(column, Column) and isinstance(column.name, str) for column in columns))
    _require(any(column.used for column in columns))
    restored = restore_preparation(TablePreparation(**saved["params"]), columns, statistics)
    restored.get_feature_names_out()
    return restored


def _restore_pipeline(saved: dict[str, Any]) -> Pipeline:
    steps = saved["steps"]
    _require(all(type(name) is str and type(step).__name__ in _CODECS for name, step in steps))
    pipeline = Pipeline(steps)
    if isinstance(steps[0][1], TablePreparation) and len(steps) > 1:
        _require(len(steps[0][1].get_feature_names_out()) == steps[-1][1].n_features_in_)
    return pipeline


def _tree_state(tree: Tree) -> dict[str, Any]:
    state = tree.__getstate__()
    nodes = {name: np.ascontiguousarray(state["nodes"][name]) for name in state["nodes"].dtype.names}
    return {
        "n_features": tree.n_features,
        "max_depth": state["max_depth"],
        "values": state["values"],
        "nodes": nodes,
    }


def _restore_tree(saved: dict[str, Any]) -> Tree:
    """A tree of scikit-learn; its C code trusts the nodes, so they are checked here: no way out, no way back."""
    n_features, values, fields = saved["n_features"], saved["values"], saved["nodes"]
    n_nodes, _, n_classes = values.shape
    tree = Tree(n_features, np.array([n_classes], dtype=np.intp), 1)
    nodes = np.empty(n_nodes, dtype=tree.__getstate__()["nodes"].dtype)
    _require(set(fields) == set(nodes.dtype.names) and values.shape[1] == 1 and values.dtype == np.float64)
    for name, column in fields.items():
        _require(column.dtype == nodes.dtype[name] and column.shape == (n_nodes,))
        nodes[name] = column
    left, right, feature = nodes["left_child"], nodes["right_child"], nodes["feature"]
    leaf = left == -1
    children = np.concatenate([left[~leaf], right[~leaf]])
    parents = np.tile(np.flatnonzero(~leaf), 2)
    _require(bool((right[leaf] == -1).all() and (children > parents).all() and (children < n_nodes).all()))
    _require(bool((feature[~leaf] >= 0).all() and (feature[~leaf] < n_features).all()))
    max_depth = saved["max_depth"]
    _require(type(max_depth) is int and 0 <= max_depth <= n_nodes)
    state = {"max_depth": max_depth, "node_count": n_nodes, "nodes": nodes, "values": np.ascontiguousarray(values)}
    tree.__setstate__(state)
    return tree


def _tree_fits(model: ExtraTreeClassifier) -> bool:
    tree = model.tree_
    return type(tree) is Tree and tree.n_features == model.n_features_in_ and tree.n_classes[0] == model.n_classes_


def _trees_fit(model: ExtraTreesClassifier) -> bool:
    return model.n_outputs_ == 1 and all(
        type(tree) is ExtraTreeClassifier
        and tree.n_features_in_ == model.n_features_in_
        and tree.n_classes_ == model.n_classes_ == len(model.classes_)
        for tree in model.estimators_
    )


def _mixture_fits(model: MixedEnsembleClassifier) -> bool:
    n_members, n_classes = len(model.members_), len(model.classes_)
    return (
        model.aim in AIMS
        and all(type(member) is Member for member in model.members_)
        and model.scales_.shape == model.weights_.shape == (n_members,)
        and model.class_bias_.shape == (n_classes,)
    )


def _network_fits(model: DiverseEnsembleClassifier) -> bool:
    network, n_features = model.network_, model.n_features_in_
    return (
        model.aim in AIMS
        and type(network) is Network
        and network.n_features == n_features
        and model.classes_.shape == (network.n_classes,)
        and model.mean_.shape == model.scale_.shape == (n_features,)
    )


def _rounds_fit(model: SelfTrainingClassifier) -> bool:
    return (
        model.aim in AIMS
        and np.array_equal(model.classes_, model.estimator_.classes_)
        and model.labeled_iter_.shape == model.confidence_.shape == model.transduction_.shape
    )


def _without_generators(params: dict[str, Any]) -> dict[str, Any]:
    seed = params.get("random_state")
    return (
        {**params, "random_state": None}
        if isinstance(seed, np.random.Generator | np.random.RandomState)
        else params
    )


def _require(condition: bool) -> None:
    if not condition:
        raise ModelFileError("The model file contradicts itself; copy or train it again.")


_CODECS = {
    codec.cls.__name__: codec
    for codec in (
        _Codec(Network, _network_state, _restore_network),
        _Codec(TablePreparation, _table_state, _restore_table),
        _Codec(Pipeline, lambda pipeline: {"steps": pipeline.steps}, _restore_pipeline),
        _estimator_codec(DiverseEnsembleClassifier, _network_fits),
        _estimator_codec(SelfTrainingClassifier, _rounds_fit),
        # The default members of a mixed ensemble:
        _estimator_codec(MixedEnsembleClassifier, _mixture_fits),
        _Codec(Member, lambda member: member._asdict(), lambda saved: Member(**saved)),
        _estimator_codec(StandardScaler, lambda m: m.mean_.shape == m.scale_.shape == (m.n_features_in_,)),
        _estimator_codec(
            QuantileTransformer, lambda m: m.quantiles_.shape == (len(m.references_), m.n_features_in_)
        ),
        _estimator_codec(LogisticRegression, lambda m: m.coef_.shape == (len(m.intercept_), m.n_features_in_)),
        _estimator_codec(ExtraTreesClassifier, _trees_fit),
        _estimator_codec(ExtraTreeClassifier, _tree_fits),
        _Codec(Tree, _tree_state, _restore_tree),
        *map(_dataclass_codec, (Column, *POLICIES)),
    )
}
