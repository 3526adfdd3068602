"""The shape of the package: imports point upstream, modules stay small, each has a test twin."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import chary

PACKAGE = Path(chary.__file__).parent
TESTS = Path(__file__).parents[1]

# The order in which data flows. A module may import only from modules before it.
FLOW = [
    "files",
    "labels",
    "model_selection",
    "tables",
    "preparation",
    "datasets",
    "assignment",
    "labeling",
    "diagnostics",
    "audit",
    "audit_files",
    "network",
    "training",
    "confidence",
    "priors",
    "classifier",
    "linear",
    "ensemble",
    "members",
    "policies",
    "self_training",
    "prior_figures",
    "audited",
    "metrics",
    "studies",
    "audit_study",
    "store",
    "runner",
    "study_report",
    "prior_study",
    "persistence",
    "audit_figures",
    "workflow",
    "plots",
    "report",
    "console",
    "study_cli",
    "demo",
    "audit_cli",
    "cli",
    "torch_network",
    "torch_training",
    "torch",
    "fixmatch",
]
MODULES = sorted(path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__"))


def imports_of(path: Path) -> set[str]:
    """Names of chary's modules that a file imports, at its top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("chary.")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "chary":
            names = [alias.name for alias in node.names] if node.module == "chary" else []
            found |= {node.module.split(".")[1]} if "." in node.module else set(names)
    return found


def test_every_module_has_its_place_in_the_flow():
    assert set(MODULES) <= set(FLOW)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_upstream(module):
    upstream = FLOW[: FLOW.index(module)]
    assert imports_of(PACKAGE / f"{module}.py") <= {*upstream, "__version__"}


@pytest.mark.parametrize("module", MODULES)
def test_modules_stay_small_and_open_with_one_line(module):
    text = (PACKAGE / f"{module}.py").read_text()
    assert len(text.splitlines()) <= 500
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring
    assert docstring.splitlines()[0].endswith(".")


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_test_twin(module):
    assert (TESTS / f"test_{module}.py").exists()


def test_importing_chary_imports_no_extra():
    heavy = ["torch", "dask", "matplotlib", "polars"]  # scikit-learn itself imports pandas where it is installed
    code = f"import sys, chary; sys.exit(', '.join(m for m in {heavy} if m in sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
