"""Figures of the documentation are stored ones, and a stored result says how it was made."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
SCRIPTS = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if page.parent.name != "results" and page.name not in ("cli.md", "changelog.md")
    ),
]
# Decimal numbers that no result holds: versions, settings, examples, ratios of two figures.
NO_RESULTS = {
    "docs/explanation/intervals.md": {"0.85", "1.09"},  # ratios of widths in paired.txt
    "docs/explanation/theory.md": {"0.3", "0.001", "0.69"},  # conditions of its theorems
    "docs/how-to/accept.md": {"0.8"},  # a confidence in an example
    "docs/index.md": {"1.0"},  # the version
    "docs/reference/columns.md": {"0.5", "1.5", "1200.5", "5.4"},  # cells and settings
    "docs/reference/numbers.md": {"96.7"},  # 29 of 30
    "docs/tutorials/csv.md": {"3.11"},  # of Python
}
# Results that were stored before they had to begin with their command and commit. Only ever remove
# a name: a result that is stored anew has both.
WITHOUT_HEAD = {
    "audit",
    "beside",
    "coverage",
    "cross_fitting",
    "explain",
    "guesses",
    "judge",
    "label",
    "label_beyond_memory",
    "predict",
    "real_audits",
    "second_look",
}
NUMBER = r"\d[\d,]*(?:\.\d+)?"
DECIMAL = r"(?<![\w.,])\d[\d,]*\.\d+(?![\w.])"


def cited_results(page):
    """Return the texts of the stored results that a page links to, here or through a page."""
    text = page.read_text()
    targets = {page.parent / target for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text)}
    pages = [target for target in targets if target.suffix == ".md" and target.exists()]
    for other in pages:
        linked = re.findall(r"\]\(([^)#]+)[^)]*\)", other.read_text())
        targets |= {other.parent / target for target in linked}
    results = {target.resolve() for target in targets if "/results/" in target.as_posix()}
    # The report of a study rounds; its numbers stand beside it.
    results |= {path.with_name("results.csv") for path in results if path.name == "report.md"}
    readable = (".txt", ".md", ".csv")
    return [path.read_text() for path in results if path.suffix in readable and path.exists()]


def figures_without_result(page):
    """Return the decimal numbers of a page that are in no result it cites."""
    text = page.read_text()
    stored = set()
    # What a page computes itself is checked where its blocks are run.
    blocks = re.findall(r"```.*?```", text, flags=re.DOTALL)
    for source in [*cited_results(page), *blocks]:
        stored |= {float(number.replace(",", "")) for number in re.findall(NUMBER, source)}

    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)|\$[^$]*\$", " ", text, flags=re.DOTALL)
    missing = []
    for shown in re.findall(DECIMAL, prose):
        value = float(shown.replace(",", ""))
        digits = len(shown.partition(".")[2])
        # Half of the last digit; a share may be shown in percent.
        near = 0.5001 * 10**-digits
        if not any(
            abs(value - number) <= near or abs(value - 100 * number) <= near for number in stored
        ):
            missing.append(shown)
    return missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_figure_is_in_a_stored_result(page):
    name = str(page.relative_to(ROOT))
    missing = set(figures_without_result(page)) - NO_RESULTS.get(name, set())
    assert not missing, (
        f"{name} shows {sorted(missing)}, which no result holds that it links to; link to the "
        "stored result, or show its figure."
    )


@pytest.mark.parametrize("name", sorted({path.stem for path in RESULTS.glob("*.txt")} & SCRIPTS))
def test_a_stored_result_begins_with_its_command_and_its_commit(name):
    lines = (RESULTS / f"{name}.txt").read_text().splitlines()
    has_head = lines[0].startswith("$ ") and re.match(r"(# )?commit \w+.*\d", lines[1])
    assert has_head or name in WITHOUT_HEAD


def test_every_benchmark_is_run_at_a_reduced_size_or_says_why_not():
    tree = ast.parse((ROOT / "benchmarks" / "run.py").read_text())
    tables = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
    }
    named = {*tables["REDUCED"], *tables["LEFT_OUT"]}
    assert named == SCRIPTS - {"run", "stored"}


def test_stored_results_whose_code_has_changed_since_are_listed():
    """The list is what pytest shows as skipped; it is no failure."""
    if not (ROOT / ".git").exists():
        pytest.skip("no history here")
    changed = []
    for name in sorted(SCRIPTS):
        script = ROOT / "benchmarks" / f"{name}.py"
        path = RESULTS / f"{name}.txt"
        if path.exists():
            since = git("log", "-1", "--format=%h", "--", str(path)).strip()
            n_changes = len(
                git("log", "--oneline", f"{since}..", "--", *code_of(script)).splitlines()
            )
            if n_changes:
                changed.append(f"{name} ({n_changes})")
    if changed:
        pytest.skip(f"stored before so many changes of their code: {', '.join(changed)}")


def code_of(script):
    """Return the paths of the code that a benchmark runs."""
    rooms = set(re.findall(r"from chary\.(\w+)", script.read_text()))
    # One that runs commands runs all of it.
    if not rooms or '"chary"' in script.read_text():
        return [str(script), "src/chary"]
    return [str(script), *(f"src/chary/{room}*" for room in sorted(rooms))]


def git(*words):
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
