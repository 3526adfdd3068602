"""Every public name stands on a page of the API, and all that belongs to it is described."""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import pytest

import chary

API = Path(__file__).parents[2] / "docs" / "api"
TORCH = "chary.torch"


def listed():
    """(module, name) of every entry of the pages."""
    names = []
    for page in sorted(API.glob("*.rst")):
        module = None
        for line in page.read_text().splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split()[-1]
            elif module is not None and (match := re.fullmatch(r"   (\w+)", line)):
                names.append((module, match[1]))
    return names


LISTED = listed()
# What functions hand back: nobody makes one by hand, so that their attributes count, not how they
# are made.
RETURNED = {("chary.api", name) for name in ("Result", "Judged", "Diagnosed")}
MODULES = sorted({module for module, _ in LISTED})


def find(module, name):
    if module == TORCH:
        pytest.importorskip("torch")
    return getattr(importlib.import_module(module), name)


def section(text, title):
    """The lines under a title of a docstring, up to the next title."""
    match = re.search(
        rf"^{title}\n-+\n(.*?)(?=^[A-Z][\w ]+\n-+$|\Z)",
        inspect.cleandoc(text),
        re.DOTALL | re.MULTILINE,
    )
    return "" if match is None else match[1]


def entries(text, title):
    """The names described under a title, as in ``drop, text : sequences of column names``."""
    heads = re.findall(r"^([\w*][\w*, ]*?)(?: :.*)?$", section(text, title), flags=re.MULTILINE)
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def is_record(found):
    return inspect.isclass(found) and (issubclass(found, tuple) or dataclasses.is_dataclass(found))


def fields_with_a_comment(record):
    """Names of fields with ``#:`` beside them or above, which the pages show."""
    records = [one for one in record.__mro__ if one is record or dataclasses.is_dataclass(one)]
    lines = [line for one in records for line in inspect.getsource(one).splitlines()]
    above = [""] + [line.strip() for line in lines]
    return {
        match[1]
        for line, before in zip(lines, above, strict=False)
        if (match := re.match(r"    (\w+): ", line))
        and ("  #: " in line or before.startswith("#: "))
    }


def parameters(function):
    """Names in its signature, as a caller sees it."""
    return [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "self"
        and not name.startswith("_")
        and parameter.kind is not parameter.VAR_KEYWORD
    ]


def test_the_pages_hold_all_public_names():
    names = {name for module, name in LISTED}
    assert set(chary.__all__) <= {name for module, name in LISTED if module == "chary"}
    assert len(LISTED) == len(set(LISTED)) > 80
    assert {
        "Result",
        "Diagnosed",
        "Judged",
        "TableModel",
        "read_table",
        "label_table",
        "Study",
    } <= names


def test_the_pages_hold_all_public_names_of_torch():
    pytest.importorskip("torch")
    torch = importlib.import_module(TORCH)
    assert set(torch.__all__) - {"t_similarity"} == {
        name for module, name in LISTED if module == TORCH
    }


def test_every_page_is_listed():
    index = (API / "index.rst").read_text()
    assert all(f"   {page.stem}\n" in index for page in API.glob("*.rst") if page.stem != "index")


@pytest.mark.parametrize("module", MODULES)
def test_what_a_public_name_is_made_of_is_documented(module):
    untold = {name: missing_in(module, name) for one, name in LISTED if one == module}
    assert {name: what for name, what in untold.items() if what} == {}


def missing_in(module, name):
    """What the docstring of a public name does not speak of."""
    found = find(module, name)
    if not callable(found):
        return set()
    if not inspect.getdoc(found):
        return {"everything"}
    if is_record(found) and not section(found.__doc__, "Parameters"):
        wanted = (
            found._fields
            if issubclass(found, tuple)
            else [field.name for field in dataclasses.fields(found)]
        )
        return {name for name in wanted if name[0] != "_"} - fields_with_a_comment(found)
    if (module, name) in RETURNED or is_protocol(found) or is_error(found):
        return set()
    return (
        set(parameters(found))
        - entries(found.__doc__, "Parameters")
        - entries(found.__doc__, "Attributes")
    )


def is_error(found):
    return inspect.isclass(found) and issubclass(found, Exception)


def is_protocol(found):
    return bool(getattr(found, "_is_protocol", False))


CLASSES = [(module, name) for module, name in LISTED if name[0].isupper() and not name.isupper()]


@pytest.mark.parametrize("module", MODULES)
def test_methods_name_their_parameters(module):
    """Docstrings speak of all parameters but scikit-learn's ``X`` and ``y``."""
    for name in [name for one, name in CLASSES if one == module]:
        found = find(module, name)
        fields = (
            {field.name for field in dataclasses.fields(found)}
            if dataclasses.is_dataclass(found)
            else set()
        )
        for attribute, member in vars(found).items():
            if attribute.startswith("_") or attribute in fields or not inspect.isfunction(member):
                continue
            text = inspect.getdoc(getattr(found, attribute)) or ""
            assert text, f"{name}.{attribute} has no docstring"
            untold = [
                p
                for p in parameters(member)
                if p not in ("X", "y") and not re.search(rf"\b{p}\b", text)
            ]
            assert not untold, f"{name}.{attribute}: {untold}"


ESTIMATORS = [
    (module, name)
    for module, name in CLASSES
    if name.endswith(("Classifier", "Ensemble", "Trainer", "KFold", "Scorer", "Preparation"))
]


@pytest.mark.parametrize(("module", "name"), ESTIMATORS, ids=[name for _, name in ESTIMATORS])
def test_an_estimator_has_an_example_and_points_to_others(module, name):
    text = find(module, name).__doc__
    assert ">>>" in section(text, "Examples")
    others = re.findall(r"^([\w.]+)(?= :|$)", section(text, "See Also"), flags=re.MULTILINE)
    assert others
    for other in others:
        package, _, last = other.rpartition(".")
        if package == "chary.torch":
            pytest.importorskip("torch")
        assert hasattr(importlib.import_module(package or "chary"), last), other
