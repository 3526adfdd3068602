"""What is released: one version, requirements stated once, and everything the package needs."""

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import chary

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
CONTENTS = runpy.run_path(str(ROOT / ".ci/contents.py"))
LOWEST = runpy.run_path(str(ROOT / ".ci/lowest.py"))
RELEASE = runpy.run_path(str(ROOT / ".ci/release.py"))
WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text())
    for path in sorted((ROOT / ".github/workflows").glob("*.yml"))
}
CFF = yaml.safe_load((ROOT / "CITATION.cff").read_text())
RECIPE = yaml.safe_load((ROOT / "recipe/recipe.yaml").read_text())


def test_the_version_stands_in_one_place_and_is_the_same_everywhere():
    assert "version" not in PROJECT
    assert "version" in PROJECT["dynamic"]
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
    assert SETTINGS["tool"]["ruff"]["target-version"] == "py311"
    assert SETTINGS["tool"]["mypy"]["python_version"] == named[0]
    assert WORKFLOWS["test.yml"]["jobs"]["test"]["strategy"]["matrix"]["python"] == named
    assert runpy.run_path(str(ROOT / ".ci/pythons.py"))["supported"]() == named


def test_the_recipe_needs_what_the_package_needs():
    """But for the names, which are those of conda-forge; of these packages they are the same."""
    # One recipe for all systems names what some of them need, too.
    needed = sorted(text.split(";")[0].replace(">=", " >=") for text in PROJECT["dependencies"])
    assert RECIPE["requirements"]["run"] == ["python >=${{ python_min }}", *needed]
    assert RECIPE["build"]["python"]["entry_points"] == [
        f"{name} = {place}" for name, place in PROJECT["scripts"].items()
    ]
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert RECIPE["about"]["summary"] == PROJECT["description"]


def test_users_see_the_extras_that_they_need_and_no_others():
    assert sorted(PROJECT["optional-dependencies"]) == ["dask", "excel", "plots", "torch"]
    told = (ROOT / "docs/index.md").read_text()
    assert all(f"`{extra}`" in told for extra in PROJECT["optional-dependencies"])


# ---------------------------------------------------------------- what is published, and how


def test_a_release_without_address_date_or_its_tag_is_refused(tmp_path):
    for name in ("pyproject.toml", "CHANGELOG.md", "src/chary/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    version = chary.__version__
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(f"# Changelog\n\n## {version} (2027-01-31)\n")
    settings = (tmp_path / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(settings.replace("chary.invalid", "example.org"))
    assert RELEASE["missing"](f"v{version}", tmp_path) == []
    assert RELEASE["missing"]("v9", tmp_path) == [f"The tag is v9, the version v{version}."]
    (tmp_path / "pyproject.toml").write_text(settings.replace("example.org", "chary.invalid"))
    assert "no address yet for" in RELEASE["missing"](f"v{version}", tmp_path)[0]
    changelog.write_text(f"# Changelog\n\n## {version} (unreleased)\n")
    assert "CHANGELOG.md has no line" in RELEASE["missing"](f"v{version}", tmp_path)[0]


def test_the_package_index_shows_no_link_to_a_file_beside_the_readme():
    pytest.importorskip("hatchling")
    hook = runpy.run_path(str(ROOT / ".ci/readme_of_package.py"))
    text = hook["with_addresses"]((ROOT / "README.md").read_text(), "https://a.b/c", "v1")
    targets = re.findall(r"\]\(([^)]+)\)|(?:src|srcset|href)=\"([^\"]+)", text)
    assert len(targets) > 5
    for target in (link or picture for link, picture in targets):
        assert target.startswith(("https://", "#")), target
        path = re.sub(r"https://a.b/c/(blob|raw)/v1/|#.*", "", target)
        assert path.startswith("https://") or (ROOT / path).exists(), target


def steps_of(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_of_others_are_named_by_digest_and_release(name):
    text = (ROOT / ".github/workflows" / name).read_text()
    used = re.findall(r"uses: (.*)", text)
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", one) for one in used)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_jobs_run_what_the_makefile_has_and_may_write_nothing_unasked(name):
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    targets = set(re.findall(r"^([a-z]+(?: [a-z]+)*):", (ROOT / "Makefile").read_text(), re.M))
    targets = {target for line in targets for target in line.split()}
    for step in steps_of(WORKFLOWS[name]):
        for target in re.findall(r"^make (\w+)", step.get("run", ""), re.M):
            assert target in targets


# ---------------------------------------------------------------- the lowest versions


def test_the_lowest_versions_are_those_that_are_stated():
    lines = LOWEST["lowest"](["excel", "test-core"]).splitlines()
    lowest = dict(line.split("==") for line in lines if ";" not in line)
    for text in [
        *PROJECT["dependencies"],
        *PROJECT["optional-dependencies"]["excel"],
        *SETTINGS["dependency-groups"]["test-core"],
    ]:
        name, version = text.split(";")[0].split(">=")
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
