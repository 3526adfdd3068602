"""The shape of the house: who may import whom."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import chary
from chary.tables.table import ADDED_COLUMNS

PACKAGE = Path(chary.__file__).parent

# The rooms, the file that saves models and chary in Python, in their order: each may use those
# before it, and torch only method.
ORDER = ("method", "tables", "model_file", "audit", "labelling", "report", "api", "review", "cli")
RULE = {room: set(ORDER[:place]) for place, room in enumerate(ORDER)} | {"torch": {"method"}}
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


def violations(package: Path) -> list[str]:
    """What breaks the rules anywhere below a package's folder, a line each."""
    found = []
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        room = place.parts[0].removesuffix(".py")
        room = room if room in RULE else ""
        tree = ast.parse(path.read_text())
        found += [f"{place}: {what}" for what in _forbidden(tree, str(place), room)]
        first_line = (ast.get_docstring(tree) or "").split("\n")[0]
        if not first_line.endswith("."):
            found.append(f"{place}: does not open with a sentence that says what it is for")
    return found


def _forbidden(tree: ast.Module, place: str, room: str) -> list[str]:
    allowed = RULE.get(room, set()) | {room}
    found = []
    for module, names, at_import in imports_of(tree):
        top, *parts = module.split(".")
        if top == "studies":
            found.append("imports studies, which is not in the package")
        if top != "chary":
            if at_import and top in OPTIONAL and room not in OPTIONAL[top]:
                found.append(f"imports {top}, which is optional, whenever it is imported itself")
            continue
        other = parts[0] if parts else ""
        if not other:
            found += [
                f"imports {name} from chary"
                for name in names
                if name in RULE and name not in allowed
            ]
        elif other.startswith("_") or other == "options":
            continue
        elif other not in allowed and room:
            found.append(f"{room or 'the front door'} must not import {other}")
    return found


def imports_of(tree: ast.Module) -> list[tuple[str, list[str], bool]]:
    """Module, names, and whether it happens when the file itself is imported."""
    found, waiting = [], [(tree, True)]
    while waiting:
        node, at_import = waiting.pop()
        if isinstance(node, ast.Import):
            found += [(alias.name, [], at_import) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.module or "", [alias.name for alias in node.names], at_import))
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        is_for_types = isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        at_import = at_import and not is_function and not is_for_types
        waiting += [
            (child, at_import)
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.expr)
        ]
    return found


def test_the_house_keeps_its_rules():
    assert violations(PACKAGE) == []


ROOMS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())


def listed_names(room):
    """Read ``__all__`` of a room without importing it."""
    tree = ast.parse((PACKAGE / room / "__init__.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def borrowed_names(path):
    """List (room, name) for what a file imports from other rooms, whichever module has it."""
    home = path.relative_to(PACKAGE).parts[0]
    names = []
    for module, imported, _ in imports_of(ast.parse(path.read_text())):
        package, _, inner = module.partition(".")
        room = inner.partition(".")[0]
        if package == "chary" and room in ROOMS and room != home:
            # ``import chary.room.module`` names nothing, so that it would hide what is used.
            names += [(room, name) for name in imported or [module]]
        elif module == "chary":
            names += [(name, name) for name in imported if name in ROOMS and name != home]
    return names


def test_a_room_uses_what_the_door_of_another_lists():
    doors = {room: listed_names(room) for room in ROOMS}
    hidden = [
        f"{path.relative_to(PACKAGE)} uses {name}, which chary.{room} does not list"
        for path in sorted(PACKAGE.rglob("*.py"))
        for room, name in borrowed_names(path)
        if name not in doors[room]
    ]
    assert hidden == []


def test_every_folder_is_a_room_of_the_map():
    assert set(ROOMS) <= set(RULE)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_one_door(room):
    if room == "torch":
        pytest.importorskip("torch")
    door = import_module(f"chary.{room}")
    assert door.__all__, "a door names what others may use"
    assert all(hasattr(door, name) for name in door.__all__)


def test_an_output_column_is_spelled_once_in_the_code():
    text = {
        path: path.read_text("utf-8")
        for kind in ("py", "js", "html")
        for path in PACKAGE.rglob(f"*.{kind}")
    }
    in_code = {
        path
        for path in text
        if path.suffix == ".py" and any(name in text[path] for name in ADDED_COLUMNS)
        for node in ast.walk(ast.parse(text[path]))
        if isinstance(node, ast.Constant) and node.value in ADDED_COLUMNS  # a docstring is longer
    }
    pages = [path for path in text if path.suffix != ".py"]
    on_pages = {path for path in pages if any(name in text[path] for name in ADDED_COLUMNS)}
    assert in_code | on_pages == {PACKAGE / "tables" / "table.py"}


def test_importing_imports_no_more_than_it_must():
    heavy = ["torch", "dask", "matplotlib", "polars", "sklearn", "scipy", "numpy"]
    code = f"import sys\nloaded = lambda: [name for name in {heavy} if name in sys.modules]\n"
    for statement in (
        "import chary",
        "import chary.method",
        "import chary.labelling, chary.report",
    ):
        code += f"{statement}\nprint(*loaded())\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    arrays = "sklearn scipy numpy"
    assert done.stdout.splitlines() == ["", arrays, f"polars {arrays}"]
