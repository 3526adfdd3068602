"""A fitted model in, one file out, and back: arrays as safetensors, the rest as JSON; nothing is executed.

A model file is a safetensors file. Its metadata holds a JSON description of the model, in which the names of
classes come from a fixed list, and a checksum over description and arrays. Loading builds objects of listed
classes from plain values; whatever else a file holds, it is refused. What a file makes in memory is bounded by
its own size, and it depends on no version of scikit-learn, of which it holds plain arrays alone.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import scipy
import sklearn
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from chary import __version__
from chary._files import atomic_write
from chary.jobs.model_parts import CODECS, Codec, ModelFileError
from chary.jobs.old_models import OLD_CODECS
from chary.method import plain_trees

__all__ = ["FORMAT", "ModelFileError", "load", "load_bytes", "model_bytes", "save"]

FORMAT = "chary-model-2"
_FORMATS: dict[str, dict[str, Codec]] = {FORMAT: CODECS, "chary-model-1": OLD_CODECS}

_MAX_BYTES, _MAX_HEADER_BYTES = 2**33, 2**28
# A text array takes at most so many bytes for each of those that it has in the file.
_MOST_GROWTH = 64


def save(model: Any, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
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
    overwrite : bool, default=False
    """
    content = model_bytes(model)
    with atomic_write(path, overwrite=overwrite) as file:
        file.write(content)


def model_bytes(model: Any) -> bytes:
    """What :func:`save` writes, for who writes several files together."""
    arrays: dict[str, NDArray[Any]] = {}
    if hasattr(model, "fit"):
        check_is_fitted(model)
    description = json.dumps({"versions": _versions(), "model": _pack(model, arrays)}, allow_nan=False)
    _require_loadable(model, description, arrays)
    metadata = {"format": FORMAT, "description": description, "sha256": _checksum(description, arrays)}
    return _file(arrays, metadata)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model saved by :func:`save`; its predictions are those of the saved one to the bit.

    Whatever versions of scikit-learn it was saved and is loaded with. Trees come back as plain arrays: instead of
    an ``ExtraTreesClassifier`` there is a ``chary.method.PlainForest``, which predicts the same.

    Parameters
    ----------
    path : path
        Of a file that :func:`save` or a command wrote.
    """
    name = Path(path).name
    try:
        size = Path(path).stat().st_size
        if size > _MAX_BYTES:
            raise ModelFileError(f"{name} has {size:,} bytes, more than a model of chary can have.")
        data = Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise ModelFileError(f"{name} cannot be read ({reason}); check the path.") from None
    return load_bytes(data, name)


def load_bytes(data: bytes, name: str = "The model") -> Any:
    """The model that the bytes of a file hold."""
    try:
        metadata = _metadata(data)
        codecs = _FORMATS.get(metadata.get("format", ""))
        if codecs is None:
            raise ModelFileError(f"{name} is not a model file of this version of chary; train the model again.")
        arrays = safetensors.numpy.load(data)
        description = metadata["description"]
        if _checksum(description, arrays) != metadata["sha256"]:
            raise ModelFileError(f"{name} is damaged (its checksum is wrong); copy or train it again.")
        model = _unpack(json.loads(description)["model"], arrays, codecs)
        check_is_fitted(model)
        return model
    except ModelFileError:
        raise
    except Exception:  # whatever a hostile file provokes ends here, before anything of it is used
        raise ModelFileError(f"{name} is damaged or not a model file of chary; copy or train it again.") from None


def _require_loadable(model: Any, description: str, arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse now what would be refused when it is needed."""
    try:
        _unpack(json.loads(description)["model"], dict(arrays), CODECS)
    except Exception as error:
        reason = str(error) if isinstance(error, ModelFileError) else "It holds what does not belong there."
        kind = type(model).__name__
        raise ModelFileError(f"This {kind} is not saved, as it would not load: {reason}") from error


def _file(arrays: dict[str, NDArray[Any]], metadata: dict[str, str]) -> bytes:
    """The bytes of a safetensors file; the library itself puts the metadata into another order each time."""
    data = safetensors.numpy.save(arrays)
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.dumps({"__metadata__": metadata, **json.loads(data[8:start])}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data[start:]


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
    value = value.item() if isinstance(value, np.generic) else _plain(value)
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
        return {"class": type(value).__name__, "state": _pack(codec.state(value), arrays)}
    if isinstance(value, tuple):
        return {"tuple": [_pack(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_pack(key, arrays), _pack(item, arrays)] for key, item in value.items()]}
    raise ModelFileError(
        f"A {type(value).__name__} cannot be saved; chary saves its own classifiers and table preparation, "
        "with parameters that are numbers, text or its own policies."
    )


def _plain(value: Any) -> Any:
    try:
        return plain_trees(value)
    except (ValueError, AttributeError) as error:
        kind, version = type(value).__name__, sklearn.__version__
        unknown = f"A {kind} of scikit-learn {version} cannot be saved; this version of chary does not know it."
        raise ModelFileError(str(error) if isinstance(error, ValueError) else unknown) from error


def _unpack(node: Any, arrays: dict[str, NDArray[Any]], codecs: dict[str, Codec]) -> Any:
    """What a JSON value stands for; ``arrays`` are used up, so that no small file makes much of one of them."""
    if node is None or isinstance(node, bool | int | float | str):
        return node
    if isinstance(node, list):
        return [_unpack(item, arrays, codecs) for item in node]
    match node:
        case {"float": ("inf" | "-inf" | "nan") as text}:
            return float(text)
        case {"tuple": list(items)}:
            return tuple(_unpack(item, arrays, codecs) for item in items)
        case {"dict": list(items)}:
            return {_unpack(key, arrays, codecs): _unpack(item, arrays, codecs) for key, item in items}
        case {"array": str(name)}:
            return arrays.pop(name)
        case {"values": list(values), "codes": str(name), "dtype": ("text" | "object") as dtype}:
            return _looked_up([_unpack(value, arrays, codecs) for value in values], arrays.pop(name), dtype)
        case {"class": str(name), "state": dict(state)}:
            if name not in codecs:
                raise ModelFileError(
                    f"The model file holds a {name[:50]!r}, which this version of chary does not know."
                )
            return codecs[name].restore(_unpack(state, arrays, codecs))
    raise ModelFileError("The model file holds a value that this version of chary does not know.")


def _looked_up(values: list[Any], codes: NDArray[Any], dtype: str) -> NDArray[Any]:
    """The values by their codes; as an array of text only if that takes about as much room as it has in the file.

    NumPy gives every text of an array the room of the longest: one of a million letters, told once, could take
    gigabytes. As objects they are shared, and compare and print the same.
    """
    unique = np.empty(len(values), dtype=object)
    unique[:] = values
    looked_up = unique[codes]
    lengths = [len(value) for value in values if isinstance(value, str)]
    if dtype == "object" or len(lengths) < len(values):
        return looked_up
    in_memory, in_file = 4 * max(lengths, default=0) * codes.size, codes.nbytes + sum(lengths)
    return looked_up.astype(str) if in_memory <= _MOST_GROWTH * in_file else looked_up


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
