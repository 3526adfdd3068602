"""How many small faults the tests notice, in the modules that compute and decide.

    python benchmarks/mutants.py [--each 40] [--seed 0] [--only confidence] >
    benchmarks/results/mutants.txt

A mutant is a module with one fault: a sign, a bound, a number, a condition changed. The seed draws
some of each module. Each is imported in place of the module in a process of its own, forked after
all libraries are loaded, which runs the tests of the module until one fails. No file of the
project is written. First the tests must pass with the module as it is, and fail if its functions
return nothing. While they pass, it is recorded which test runs which line: the tests that run the
changed line come first, the quickest of them before the others. A mutant that takes three times as
long counts as noticed.

Faults that change nothing are listed in ``EQUIVALENT`` with the reason; they do not count, and are
shown.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.util
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
_COLUMNS = tuple(
    f"tests/tables/columns/test_{name}.py" for name in ("kinds", "corpus", "booleans", "numbers")
)
_LEARNING = ("tests/labelling/test_defaults.py", "tests/labelling/test_learn.py")
# Further tests that must notice, besides a module's own examples and the test file of its name, or
# options of pytest that leave out long simulations.
MODULES: dict[str, tuple[str, ...]] = {
    "audit/acceptance": ("-k", "not accepted_error_holds and not covers"),
    "audit/filling": ("tests/audit/test_stopping.py", "tests/audit/test_drawing.py"),
    "audit/figures": ("-k", "not cover_the_truth and not covers"),
    "audit/intervals": ("-k", "not covers"),
    "labelling/audited": (
        "tests/audit/test_model.py",
        "tests/labelling/test_guesses.py",
        "tests/labelling/test_defaults.py",
    ),
    "labelling/defaults": _LEARNING,
    "labelling/diagnose": ("tests/labelling/test_defaults.py",),
    "labelling/drift": (),
    "labelling/explain": (),
    "labelling/guesses": ("tests/labelling/test_defaults.py",),
    "labelling/label": ("tests/labelling/test_result.py", "tests/labelling/test_explain.py"),
    "labelling/learn": (*_LEARNING, "tests/labelling/test_label.py"),
    "labelling/learners": (*_LEARNING, "tests/labelling/test_label.py"),
    "labelling/predict_files": ("-k", "not long_cells"),
    "labelling/rows_to_check": ("tests/labelling/test_checks.py",),
    "labelling/rules": _LEARNING,
    "labelling/score": (
        *("-k", "not dask and not long_cells"),
        "tests/labelling/test_blank_rows.py",
        "tests/labelling/test_predict_files.py",
    ),
    "method/confidence": (),
    "method/network": ("tests/method/test_training.py",),
    "method/priors": ("tests/method/test_match_counts.py", "tests/method/test_balanced_shares.py"),
    "tables/cells": (*_COLUMNS, "tests/tables/test_target.py", "tests/tables/test_preparation.py"),
    "tables/columns/categories": _COLUMNS,
    "tables/columns/dates": _COLUMNS,
    "tables/source": (),
}
# By module, line as it is written and fault: why nobody can notice.
EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "labelling/audited",
        "is_better = comparison.only_first > comparison.only_second",
        "Gt -> GtE at 12",
    ): "if both are right equally often, the p-value is 1",
    (
        "labelling/diagnose",
        "if len(rows) <= n_most:",
        "LtE -> Lt at 3",
    ): "a draw of all rows, sorted, is all rows",
    (
        "labelling/diagnose",
        "if round(far_share, 9) >= 2 * _FAR_BY_CHANCE:",
        "9 -> 10 at 20",
    ): "any number of digits that a rounding error does not reach",
    (
        "labelling/explain",
        "donors = np.roll(sample, -(n // 2), axis=0)",
        "FloorDiv -> Div at 27",
    ): "NumPy makes the shift whole",
    (
        "labelling/explain",
        "rng = np.random.default_rng(0)",
        "0 -> 1 at 28",
    ): "any seed is as good as another",
    (
        "labelling/explain",
        "multiplier = np.uint64(0xBF58476D1CE4E5B9)",
        "13787848793156543929 -> 13787848793156543930 at 23",
    ): "another number of many bits mixes nearly as well",
    (
        "labelling/guesses",
        "kappa=kappa(counts) or 0.0,",
        "0.0 -> 1.0 at 23",
    ): "without a kappa the commonest label is as often right, which is asked for beside it",
    (
        "labelling/guesses",
        "highest_code = np.full(len(patterns), -1)",
        "1 -> 2 at 39",
    ): "any number that is no code",
    (
        "labelling/learn",
        "mixture = Choice(MIXED, learner, rounds=0, why=WHY_MIXTURE)",
        "0 -> 1 at 40",
    ): "the rounds are replaced by those that the audit decides on",
    (
        "labelling/learners",
        'if "unlabeled" in copy.get_params(deep=False):',
        "False -> True at 39",
    ): "a parameter of a part has the name of the part before its own",
    (
        "labelling/predict_files",
        "pool.shutdown(wait=False, cancel_futures=True)",
        "True -> False at 41",
    ): "a file that begins after the interruption ends at its first progress",
    (
        "labelling/rows_to_check",
        "doubt[chosen] = -1",
        "1 -> 2 at 17",
    ): "any number below 0",
    (
        "labelling/rules",
        "if distance - distance_without < defaults.nearer_shares:",
        "Lt -> LtE at 3",
    ): "they are equal by accident alone",
    (
        "labelling/rules",
        "place = np.round(X @ rng.normal(size=X.shape[1]), 6)",
        "6 -> 7 at 50",
    ): "any number of digits that a rounding error does not reach",
    (
        "labelling/score",
        "if len(submitted) > threads:",
        "Gt -> GtE at 3",
    ): "a thread may be idle for a moment",
    (
        "method/priors",
        "step = np.linalg.lstsq(curvature + 1, missing, rcond=None)[0]",
        "Add -> Sub at 23",
    ): "a multiple of ones fixes the direction in which nothing changes; what is missing sums to 0",
    (
        "method/priors",
        "step = np.linalg.lstsq(curvature + 1, missing, rcond=None)[0]",
        "1 -> 2 at 35",
    ): "a multiple of ones fixes the direction in which nothing changes; what is missing sums to 0",
    (
        "method/network",
        "_BLOCK_NUMBERS = 2**21",
        "21 -> 22 at 20",
    ): "twice as many rows are fetched at once, and no other",
    (
        "method/network",
        "if depth > 0:",
        "Gt -> GtE at 3",
    ): "one product more, of the inputs' gradient, that nobody reads",
    (
        "tables/columns/categories",
        "is_whole = filled.dtype.is_float() and bool((filled == filled.floor()).all())",
        "floor -> ceil at 55",
    ): "a number is whole if it is its floor, and if it is its ceiling",
    (
        "tables/columns/categories",
        "if not (numbers == numbers.floor()).all() or numbers.n_unique() < n:",
        "floor -> ceil at 19",
    ): "a number is whole if it is its floor, and if it is its ceiling",
    (
        "tables/columns/dates",
        "if sample.str.contains(pattern).sum() < len(sample) / 2:",
        "Lt -> LtE at 3",
    ): "it spares a reading: if half of the cells look like dates, fewer than 98 % are read",
}

# By pattern of a line and fault in brackets: why it cannot be noticed, if no test does.
EQUIVALENT_LINES = {
    r"^seed: int = 0, \[": "any seed is as good as another",
    r"^_BLOCK_(ROWS|NUMBERS) = |^_BATCH_ROWS = ": "the size of a block changes no result",
    r"^_MAX_(PREDICTED_NUMBERS|COMPARED_CELLS) = ": "the size of a block changes no result",
    r"^size = max\(1, max_numbers": "the size of a block changes no result",
    r"^size = GROUP_ROWS if ": "row groups of another size hold the same rows",
    r"model\[-1\].*\[USub twice": "the last of two steps is also the step number 1",
    r"^_RANGE_ROWS = ": "it bounds the cost; about this many rows give a range",
    r"^_(GROUP|BASE)_BYTES = |^_GROWTH = ": "it bounds the memory, nearly",
}

# What the tests import: loaded once for all mutants.
_LIBRARIES = (
    "hypothesis.strategies",
    "pandas",
    "polars",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.datasets",
    "torch",
)
# Parameters that only guard against faults of our own.
_GUARDS = ("strict", "frozen", "kw_only")
_MEMORY = 4 << 30  # bytes that a mutant may ask for
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_OPPOSITES = {
    "min": "max",
    "argmin": "argmax",
    "minimum": "maximum",
    "any": "all",
    "floor": "ceil",
    "sf": "cdf",
}
_OPPOSITES |= {opposite: name for name, opposite in _OPPOSITES.items()}


class Mutant(NamedTuple):
    """One fault."""

    module: str
    line: int
    text: str  # the line as it is written
    fault: str
    tree: ast.Module

    @property
    def equivalent(self) -> str:
        """Why it changes nothing; empty: it does."""
        for pattern, reason in EQUIVALENT_LINES.items():
            if re.search(pattern, f"{self.text} [{self.fault}]"):
                return reason
        return EQUIVALENT.get((self.module, self.text, self.fault), "")


def mutants(module: str) -> list[Mutant]:
    """All faults of a module, in the order of its lines."""
    source = (ROOT / "src/chary" / f"{module}.py").read_text()
    lines = source.splitlines()
    n_sites = len(list(_sites(ast.parse(source))))
    found = []
    for number in range(n_sites):
        tree = ast.parse(source)
        node, fault, change = list(_sites(tree))[number]
        change()
        text = lines[node.lineno - 1]
        place = node.col_offset - len(text) + len(text.lstrip())
        found.append(Mutant(module, node.lineno, text.strip(), f"{fault} at {place}", tree))
    return sorted(found, key=lambda mutant: mutant.line)


def _sites(tree: ast.AST) -> Iterator[tuple[Any, str, Callable[[], None]]]:
    """List places of faults, their names and the changes; types and messages are left alone."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            is_guard = isinstance(node, ast.keyword) and node.arg in _GUARDS
            is_left_alone = is_guard or isinstance(node, (ast.Raise, ast.JoinedStr))
            if isinstance(node, ast.AST) and not is_left_alone:
                yield from _faults(node)
                yield from _sites(node)


def _faults(node: Any) -> Iterator[tuple[Any, str, Callable[[], None]]]:
    if isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            if type(op) in _SWAPS:
                yield (
                    node,
                    _swap_words(op),
                    lambda place=place, op=op: node.ops.__setitem__(place, _swap(op)),
                )
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in _SWAPS:
        yield node, _swap_words(node.op), lambda: setattr(node, "op", _swap(node.op))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not, ast.Invert)):
        twice = ast.UnaryOp(node.op, node.operand)
        yield node, f"{type(node.op).__name__} twice", lambda: setattr(node, "operand", twice)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        new = not node.value if isinstance(node.value, bool) else node.value + 1
        yield node, f"{node.value} -> {new}", lambda: setattr(node, "value", new)
    elif isinstance(node, ast.Attribute) and node.attr in _OPPOSITES:
        new_name = _OPPOSITES[node.attr]
        yield node, f"{node.attr} -> {new_name}", lambda: setattr(node, "attr", new_name)
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _OPPOSITES
    ):
        function = node.func
        yield (
            node,
            f"{function.id} -> {_OPPOSITES[function.id]}",
            lambda: setattr(function, "id", _OPPOSITES[function.id]),
        )


def _swap(op: ast.AST) -> Any:
    return _SWAPS[type(op)]()


def _swap_words(op: ast.AST) -> str:
    return f"{type(op).__name__} -> {_SWAPS[type(op)].__name__}"


class _Swapped(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, and gives a tree in place of its file."""

    def __init__(self, name: str, tree: ast.Module, path: str) -> None:
        self.name, self.tree, self.path = name, tree, path

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def exec_module(self, module: Any) -> None:
        exec(compile(ast.fix_missing_locations(self.tree), self.path, "exec"), module.__dict__)


def noticed(module: str, tree: ast.Module | None, seconds: int, plugin: Any) -> bool:
    """Tell whether a test fails or hangs with a tree in place of the module; None: as it is."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = _tried(module, tree, seconds, plugin)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return status != 0


def _tried(module: str, tree: ast.Module | None, seconds: int, plugin: Any) -> int:
    """Run the tests in this process and return pytest's code, 0 if all is well."""
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of processor time: a busy machine is no fault
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2) if tree is not None else ():
        os.dup2(nowhere, stream)
    for name in [name for name in sys.modules if name.split(".")[0] == "chary"]:
        del sys.modules[name]
    name = "chary." + module.replace("/", ".")
    if tree is not None:
        sys.meta_path.insert(0, _Swapped(name, tree, str(ROOT / "src/chary" / f"{module}.py")))
    # Before pytest looks for examples in the file, and imports it a second time.
    importlib.import_module(name)
    os.chdir(ROOT)
    # No plugin is needed, and they take longer than most tests.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    room, _, name = module.rpartition("/")
    own_tests = f"tests/{room}/test_{name}.py"
    # The module's own tests first: they notice most faults.
    tests = [f"src/chary/{module}.py", *MODULES[module]]
    if Path(own_tests).exists() and own_tests not in tests:
        tests.insert(1, own_tests)
    quiet = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
    return int(pytest.main([*quiet, *tests], plugins=[_FewExamples(), plugin]))


class _Recorder:
    """A plugin: writes the lines of a module that each test runs, and the seconds it takes."""

    def __init__(self, module: str, path: str) -> None:
        self.module_path = str(ROOT / "src/chary" / f"{module}.py")
        self.path = path
        self.seconds: dict[str, float] = {}
        library: Any = importlib.import_module("coverage")
        self.coverage = library.Coverage(
            data_file=None, config_file=False, include=[self.module_path]
        )

    def pytest_sessionstart(self) -> None:
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        start = time.perf_counter()
        self.coverage.switch_context(item.nodeid)
        yield
        self.coverage.switch_context("")
        self.seconds[item.nodeid] = time.perf_counter() - start

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        tests_by_line = self.coverage.get_data().contexts_by_lineno(self.module_path)
        lines: dict[str, list[int]] = {test: [] for test in self.seconds}
        for line, tests in tests_by_line.items():
            for test in set(tests) & set(lines):
                lines[test].append(line)
        records = {test: (lines[test], seconds) for test, seconds in self.seconds.items()}
        Path(self.path).write_text(json.dumps(records))


class _InOrder:
    """A plugin: tests that run a line come first, the quickest of them before the others."""

    def __init__(self, records: dict[str, tuple[list[int], float]], line: int) -> None:
        self.seconds = {
            test: seconds for test, (lines, seconds) in records.items() if line in lines
        }

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self.seconds.get(item.nodeid, np.inf))


class _FewExamples:
    """A plugin: properties are tried on fewer examples than usual, which notice nearly as much."""

    def pytest_configure(self) -> None:
        hypothesis.settings.register_profile(
            "mutants", deadline=None, derandomize=True, max_examples=25
        )
        hypothesis.settings.load_profile("mutants")


class Found(NamedTuple):
    """What became of the mutants of a module."""

    noticed: list[Mutant]
    missed: list[Mutant]
    excused: list[Mutant]  # missed, and of no effect


def try_mutants(module: str, each: int, seed: int) -> Found | None:
    """Draw mutants of a module and try its tests on each.

    None means that the tests fail without any fault, or never fail.
    """
    start = _seconds()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/records.json"
        if noticed(module, None, 600, _Recorder(module, path)):
            return None
        records = json.loads(Path(path).read_text())
    limit = int(5 + 3 * (_seconds() - start))
    if not noticed(module, _without_results(module), 600, _InOrder(records, 0)):
        return None
    every = mutants(module)
    rng = np.random.default_rng([seed, *module.encode()])
    drawn = [every[k] for k in sorted(rng.permutation(len(every))[:each].tolist())]
    found = Found([], [], [])
    for mutant in drawn:
        if noticed(module, mutant.tree, limit, _InOrder(records, mutant.line)):
            found.noticed.append(mutant)
        elif mutant.equivalent:
            found.excused.append(mutant)
        else:
            found.missed.append(mutant)
    return found


def _without_results(module: str) -> ast.Module:
    """Make a module whose functions return nothing, which any test should notice."""
    tree = ast.parse((ROOT / "src/chary" / f"{module}.py").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Return):
            node.value = None
    return tree


def _seconds() -> float:
    """Processor time of the processes that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Try, and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--each", type=int, default=40, help="mutants of each module (40)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a part of a module's name")
    asked = parser.parse_args()
    # In place of this folder, in which coverage.py is not the library of that name.
    sys.path[0] = str(ROOT / "src")
    for library in ("chary.audit", *_LIBRARIES):
        if importlib.util.find_spec(library.partition(".")[0]):
            importlib.import_module(library)
    total = Found([], [], [])
    print(f"{'module':26} {'mutants':>8} {'noticed':>8} {'missed':>8} {'of no effect':>13}")
    for module in (name for name in MODULES if asked.only in name):
        found = try_mutants(module, asked.each, asked.seed)
        if found is None:
            print(
                f"{module}: its tests fail as it is, or pass without any result; nothing can be "
                "said of mutants."
            )
            return 1
        for every, own in zip(total, found, strict=True):
            every.extend(own)
        sizes = [len(own) for own in found]
        print(f"{module:26} {sum(sizes):8} {sizes[0]:8} {sizes[1]:8} {sizes[2]:13}", flush=True)
        print(*map(_where, found.missed), sep="\n", file=sys.stderr, flush=True)
    n = len(total.noticed) + len(total.missed)
    print(
        "\n"
        f"{len(total.noticed)} of {n} faults were noticed: {len(total.noticed) / n:.1%} (seed "
        f"{asked.seed})."
    )
    print("\nMissed:", *map(_where, total.missed), sep="\n  ")
    print(
        "\nOf no effect:",
        *(f"{_where(mutant)}: {mutant.equivalent}" for mutant in total.excused),
        sep="\n  ",
    )
    return 0


def _where(mutant: Mutant) -> str:
    return f"src/chary/{mutant.module}.py:{mutant.line} [{mutant.fault}] {mutant.text}"


if __name__ == "__main__":
    sys.exit(main())
