"""What is released: one version, requirements stated once, and everything the package needs."""

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

import chary

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONTENTS = runpy.run_path(str(ROOT / ".ci/contents.py"))
LOWEST = runpy.run_path(str(ROOT / ".ci/lowest.py"))
CFF = yaml.safe_load((ROOT / "CITATION.cff").read_text())
RECIPE = yaml.safe_load((ROOT / "recipe/recipe.yaml").read_text())


def test_the_version_stands_in_one_place_and_is_the_same_everywhere():
    assert "version" not in PROJECT
    assert PROJECT["dynamic"] == ["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", chary.__version__)
    done = subprocess.run(
        [sys.executable, "-m", "chary", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"chary {chary.__version__}\n"
    assert CFF["version"] == RECIPE["context"]["version"] == chary.__version__


def test_asking_for_the_version_imports_nothing_heavy():
    code = (
        "import sys, chary; chary.__version__; "
        "sys.exit(', '.join({'numpy', 'sklearn', 'polars', 'importlib.metadata'} & "
        "set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"], check=False
    )
    assert done.returncode == 0


def test_the_pythons_that_are_named_are_those_that_are_required_and_tried():
    named = [
        text.rsplit(" ", 1)[1] for text in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", text)
    ]
    assert named == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={named[0]}" == f">={RECIPE['context']['python_min']}"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert settings["ruff"]["target-version"] == "py311"
    assert settings["mypy"]["python_version"] == named[0]
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == named


def test_the_recipe_needs_what_the_package_needs():
    """But for the names, which are those of conda-forge; of these packages they are the same."""
    needed = sorted(text.replace(">=", " >=") for text in PROJECT["dependencies"])
    assert RECIPE["requirements"]["run"] == ["python >=${{ python_min }}", *needed]
    assert RECIPE["build"]["python"]["entry_points"] == [
        f"{name} = {place}" for name, place in PROJECT["scripts"].items()
    ]
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert RECIPE["about"]["summary"] == PROJECT["description"]


# ---------------------------------------------------------------- the lowest versions


def test_the_lowest_versions_are_those_that_are_stated():
    lines = LOWEST["lowest"](["excel"]).splitlines()
    lowest = dict(line.split("==") for line in lines if ";" not in line)
    for text in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["excel"]]:
        name, version = text.split(">=")
        assert lowest[name] == version
    assert "dask" not in lowest
    assert any(line.startswith("joblib==") for line in lines), "what is not stated is pinned"


# ------------------------------------------------------- what is in a wheel and in a source archive


def in_a_wheel():
    names = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src/chary").rglob("*")
        if path.is_file()
    }
    names = {name for name in names if "__pycache__" not in name}
    return names | {"chary-0.dist-info/METADATA", "chary-0.dist-info/licenses/LICENSE"}


def faults_of_wheel(names):
    return CONTENTS["faults_of_wheel"](names, ROOT / "src/chary")


def test_a_whole_wheel_has_no_fault():
    assert faults_of_wheel(in_a_wheel()) == []


def test_a_file_that_is_missing_or_too_much_is_told():
    for name in (
        "chary/py.typed",
        "chary/report/templates/sections/bias.html",
        "chary/review/assets/review.js",
    ):
        assert faults_of_wheel(in_a_wheel() - {name}) == [f"lacks {name}"]
    for name in ("chary/__pycache__/a.pyc", "tests/conftest.py", "chary/cli/left.part"):
        assert faults_of_wheel(in_a_wheel() | {name}) == [f"should not hold {name}"]


def test_a_source_archive_holds_what_the_tests_read_and_no_remains():
    package = {f"chary-0/src/{name}" for name in in_a_wheel() if "dist-info" not in name}
    whole = package | {f"chary-0/{name}" for name in CONTENTS["IN_SOURCE"]}
    told = CONTENTS["faults_of_source"]
    assert told(whole, ROOT / "src/chary") == []
    assert told(whole - {"chary-0/LICENSE"}, ROOT / "src/chary") == ["lacks LICENSE"]
    cell = "chary-0/studies/cells/a.json"
    assert told(whole | {cell}, ROOT / "src/chary") == ["should not hold studies/cells/a.json"]
