"""Tells functions apart by what they do, so that a cell is reused only by the code that made it."""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
import sysconfig
from collections.abc import Mapping
from functools import cached_property, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_INSTALLED = tuple(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib"))
# What Python itself adds to a class.
_OF_EVERY_CLASS = {
    "__module__",
    "__dict__",
    "__weakref__",
    "__doc__",
    "__firstlineno__",
    "__static_attributes__",
}


def digest_of(*parts: Any) -> str:
    """Hash functions, classes and values by what they do.

    A function of the user is its qualified name and its compiled code with all that the code
    reaches: defaults, closures, functions, classes, modules and plain values. Comments, line
    numbers and the file do not matter, so that a script that is run and one that is imported have
    the same cells. Functions of chary, of the studies and of installed packages are module and
    qualified name. Another Python version compiles to other code, and so gives another digest.
    """
    described = _describe(parts, set())
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]


def name_of(function: Any) -> str:
    """Name a function, a partial of one, or an object that can be called."""
    if isinstance(function, partial):
        return name_of(function.func)
    return getattr(function, "__name__", type(function).__name__)


def _describe(value: Any, seen: set[int]) -> Any:
    """Describe a value as nested lists of texts; ``seen`` stops at what contains itself."""
    if isinstance(value, _PLAIN):
        return [type(value).__name__, repr(value)]
    if isinstance(value, (list, tuple)):
        return [_describe(item, seen) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_describe(item, seen) for item in value), key=json.dumps)
    if isinstance(value, Mapping):
        return [[_describe(key, seen), _describe(item, seen)] for key, item in value.items()]
    if isinstance(value, CodeType):
        return [
            value.co_code.hex(),
            *value.co_names,
            *value.co_varnames,
            _describe(value.co_consts, seen),
        ]
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, partial):
        return _describe(["partial", value.func, value.args, value.keywords], seen)
    if isinstance(value, MethodType):
        return _describe([value.__func__, value.__self__], seen)
    if isinstance(value, (FunctionType, type)):
        if _is_installed(value.__module__):
            return f"{value.__module__}.{value.__qualname__}"
        if id(value) in seen:
            return value.__qualname__
        seen.add(id(value))
        parts = _parts_of_class(value) if isinstance(value, type) else _parts_of_function(value)
        return [value.__qualname__, _describe(parts, seen)]
    return [_describe(type(value), seen), _state(value, seen)]


def _is_installed(module: str | None) -> bool:
    """Tell whether a module is chary's, Python's or an installed package's.

    Scripts and notebooks of a user are not.
    """
    if module is None or module == "__main__":
        return False
    if module.partition(".")[0] in ("chary", "studies"):
        return True
    if module not in sys.modules:
        return False
    file = getattr(sys.modules[module], "__file__", None)
    return file is None or file.startswith(_INSTALLED)


def _parts_of_function(function: FunctionType) -> list[Any]:
    closure = [cell.cell_contents for cell in function.__closure__ or ()]
    reached = {}
    for name in _global_names(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, (*_PLAIN, FunctionType, type, ModuleType)):
            reached[name] = value
    return [function.__code__, function.__defaults__, function.__kwdefaults__, closure, reached]


def _global_names(code: CodeType) -> list[str]:
    """List the names that a function looks up, and those that functions inside it look up."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names += _global_names(constant)
    return names


def _parts_of_class(cls: type) -> list[Any]:
    attributes = {name: value for name, value in vars(cls).items() if name not in _OF_EVERY_CLASS}
    return [attributes, list(cls.__bases__)]


def _state(value: Any, seen: set[int]) -> Any:
    """Describe what an object holds.

    That is the function of a property, the attributes of a user's object, or a pickle.
    """
    if isinstance(value, (staticmethod, classmethod)):
        return _describe(value.__func__, seen)
    if isinstance(value, property):
        return _describe([value.fget, value.fset], seen)
    if isinstance(value, cached_property):
        return _describe(value.func, seen)
    if hasattr(value, "__dict__") and not _is_installed(type(value).__module__):
        if id(value) in seen:
            return ""
        seen.add(id(value))
        return _describe(vars(value), seen)
    try:
        return hashlib.sha256(pickle.dumps(value, protocol=4)).hexdigest()
    except Exception:  # whatever a foreign object raises; its type must do
        return ""
