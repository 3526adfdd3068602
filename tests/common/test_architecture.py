"""The shape of the house: who may import whom, one door a room, small modules, a test twin for each."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import chary

PACKAGE = Path(chary.__file__).parent
TESTS = Path(__file__).parents[1]

# The rooms that a room may use.
RULE = {
    "method": set(),
    "evaluation": {"method"},
    "tables": {"method"},
    "jobs": {"tables", "evaluation", "method"},
    "report": {"jobs", "tables", "evaluation", "method"},
    "review": {"report", "jobs", "tables", "evaluation", "method"},
    "studies": {"jobs", "tables", "evaluation", "method"},
    "torch": {"method"},
    "cli": {"review", "report", "studies", "jobs", "tables", "evaluation", "method"},
}
# Single files that may use a room more than theirs.
EXCEPTIONS = {"torch/study.py": {"studies"}, "torch/authors.py": {"studies"}}
# Packages that are optional or heavy, and where alone they may be imported when a module is.
OPTIONAL = {
    "torch": {"torch"},
    "dask": set(),
    "distributed": set(),
    "matplotlib": set(),
    "starlette": {"review"},
    "uvicorn": {"review"},
    "pandas": set(),
    "pyarrow": set(),
    "fastexcel": set(),
    "xlsxwriter": set(),
}
MOST_LINES = 500


def violations(package: Path) -> list[str]:
    """What breaks the rules anywhere below a package's folder, a line each."""
    found = []
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        room = place.parts[0] if len(place.parts) > 1 else ""
        tree = ast.parse(path.read_text())
        found += [f"{place}: {what}" for what in _forbidden(tree, str(place), room)]
        if len(path.read_text().splitlines()) > MOST_LINES:
            found.append(f"{place}: more than {MOST_LINES} lines")
        first_line = (ast.get_docstring(tree) or "").split("\n")[0]
        if not first_line.endswith("."):
            found.append(f"{place}: does not open with a sentence that says what goes in and what comes out")
    return found


def _forbidden(tree: ast.Module, place: str, room: str) -> list[str]:
    allowed = RULE.get(room, set()) | EXCEPTIONS.get(place, set()) | {room}
    found = []
    for module, names, at_import in imports_of(tree):
        top, *parts = module.split(".")
        if top != "chary":
            if at_import and top in OPTIONAL and room not in OPTIONAL[top]:
                found.append(f"imports {top}, which is optional, whenever it is imported itself")
            continue
        other = parts[0] if parts else ""
        if not other:
            found += [f"imports {name} from chary" for name in names if name in RULE and name not in allowed]
        elif other.startswith("_"):
            continue
        elif other not in allowed and room:
            found.append(f"{room or 'the front door'} must not import {other}")
        elif other != room and len(parts) > 1:
            found.append(f"goes past the door of {other} ({module})")
        elif other != room and names:
            door = import_module(f"chary.{other}").__all__ if place != "__init__.py" else names
            found += [f"{name} is not shown at the door of {other}" for name in names if name not in door]
    return found


def imports_of(tree: ast.Module) -> list[tuple[str, list[str], bool]]:
    """Module, names, and whether it happens when the file itself is imported."""
    found = []
    inside_functions = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
    }
    for_types_only = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and getattr(branch.test, "id", "") == "TYPE_CHECKING"
        for node in ast.walk(branch)
    }
    for node in ast.walk(tree):
        at_import = id(node) not in inside_functions | for_types_only
        if isinstance(node, ast.Import):
            found += [(alias.name, [], at_import) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.module or "", [alias.name for alias in node.names], at_import))
    return found


def test_the_house_keeps_its_rules():
    assert violations(PACKAGE) == []


@pytest.mark.parametrize(
    ("place", "text", "complaint"),
    [
        ("method/deep/inner.py", "from chary.tables import Table", "method must not import tables"),
        ("method/inner.py", "def f():\n    import chary.jobs", "method must not import jobs"),
        ("evaluation/inner.py", "from chary import studies", "imports studies from chary"),
        ("jobs/a/b/c.py", "from chary.method.labels import encode", "goes past the door of method"),
        ("jobs/inner.py", "from chary.method import nothing", "nothing is not shown at the door of method"),
        ("report/inner.py", "import matplotlib.pyplot", "imports matplotlib, which is optional"),
        ("studies/nested/inner.py", "import torch", "imports torch, which is optional"),
        ("cli/inner.py", "from chary.torch import DiverseHeads", "cli must not import torch"),
        ("tables/inner.py", "x = 1\n" * 500, "more than 500 lines"),
    ],
)
def test_a_planted_violation_is_found(tmp_path, place, text, complaint):
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(f'"""A file that breaks a rule."""\n{text}\n')
    (found,) = violations(tmp_path)
    assert found.startswith(f"{place}: ")
    assert complaint in found


def test_what_is_allowed_is_not_accused(tmp_path):
    for place, text in {
        "torch/heads.py": "import torch\nfrom chary.method import encode",
        "studies/figures.py": "def f():\n    import matplotlib",
        "torch/study.py": "from chary.studies import Study",
        "method/inner.py": "from chary.method.labels import encode\nfrom chary._files import atomic_write",
    }.items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(f'"""A file that breaks none."""\n{text}\n')
    assert violations(tmp_path) == []


ROOMS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())


def test_every_folder_is_a_room_of_the_map():
    assert set(ROOMS) <= set(RULE)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_one_door(room):
    if room == "torch":
        pytest.importorskip("torch")
    door = import_module(f"chary.{room}")
    assert door.__all__, "a door names what others may use"
    assert all(hasattr(door, name) for name in door.__all__)


def test_every_module_has_a_test_twin():
    modules = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if not path.stem.startswith("__")]
    twins = {TESTS / module.parent / f"test_{module.stem.lstrip('_')}.py": module for module in modules}
    assert [str(module) for twin, module in twins.items() if not twin.exists()] == []


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import chary", ["torch", "dask", "matplotlib", "polars", "sklearn", "scipy", "numpy"]),
        ("import chary.method, chary.evaluation", ["torch", "dask", "matplotlib", "polars"]),
        ("import chary.jobs, chary.report, chary.studies", ["torch", "dask", "matplotlib"]),
    ],
)
def test_importing_imports_no_more_than_it_must(statement, heavy):
    code = f"import sys\n{statement}\nsys.exit(', '.join(m for m in {heavy} if m in sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
