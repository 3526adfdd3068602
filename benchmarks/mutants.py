"""Nine pure modules and their tests in; the share of small faults that the tests notice, and those they miss, out.

    python benchmarks/mutants.py [--each 40] [--seed 0] [--only confidence] > benchmarks/results/mutants.txt

A mutant is a module with one fault: a sign, a bound, a number, a condition changed. Of each module so many are drawn
by the seed; each is imported in place of the module in a process of its own, forked after all libraries are loaded,
which runs the tests of the module until one fails. No file is written. First of all the modules must pass as they
are: a mutant counts as noticed only because they do. One that takes ten times as long as that is noticed, too.

Faults that change nothing are listed in ``EQUIVALENT`` with the reason; they do not count, and are shown.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
# Each with the tests that must notice: its twin, and neighbours that say what it is for.
MODULES: dict[str, tuple[str, ...]] = {
    "evaluation/audit": (),
    "evaluation/differences": (),
    "evaluation/intervals": (),
    "evaluation/judging": (),
    "evaluation/metrics": (),
    "method/assignment": (),
    "method/confidence": (),
    "method/network": (),
    "method/priors": (),
}
# By module, line as it is written and fault: why nobody can notice.
EQUIVALENT: dict[tuple[str, str, str], str] = {}

_MEMORY = 4 << 30  # bytes that a mutant may ask for
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_OPPOSITES = {"min": "max", "argmin": "argmax", "minimum": "maximum", "any": "all", "floor": "ceil", "sf": "cdf"}
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
        found.append(Mutant(module, node.lineno, lines[node.lineno - 1].strip(), fault, tree))
    return sorted(found, key=lambda mutant: mutant.line)


def _sites(tree: ast.AST) -> Iterator[tuple[Any, str, Callable[[], None]]]:
    """Where a fault can be, what it is, and the change that makes it; words for people are left alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)):
            continue
        if isinstance(node, (ast.FunctionDef, ast.AnnAssign, ast.arg)):
            for name in ("returns", "annotation"):
                if hasattr(node, name):
                    setattr(node, name, None if name == "returns" else ast.Constant(None))
            if isinstance(node, ast.FunctionDef):
                for arg in ast.walk(node.args):
                    if isinstance(arg, ast.arg):
                        arg.annotation = None
        yield from _faults(node)
        yield from _sites(node)


def _faults(node: Any) -> Iterator[tuple[Any, str, Callable[[], None]]]:
    if isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            if type(op) in _SWAPS:
                yield node, _swap_words(op), lambda place=place, op=op: node.ops.__setitem__(place, _swap(op))
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in _SWAPS:
        yield node, _swap_words(node.op), lambda: setattr(node, "op", _swap(node.op))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not, ast.Invert)):
        yield node, f"{type(node.op).__name__} dropped", lambda: setattr(node, "op", ast.UAdd()) or _plain(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        new = not node.value if isinstance(node.value, bool) else node.value + 1
        yield node, f"{node.value} -> {new}", lambda: setattr(node, "value", new)
    elif isinstance(node, ast.Attribute) and node.attr in _OPPOSITES:
        new_name = _OPPOSITES[node.attr]
        yield node, f"{node.attr} -> {new_name}", lambda: setattr(node, "attr", new_name)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OPPOSITES:
        function = node.func
        yield node, f"{function.id} -> {_OPPOSITES[function.id]}", lambda: setattr(
            function, "id", _OPPOSITES[function.id]
        )


def _plain(node: ast.UnaryOp) -> None:
    """Of ``not x`` and ``~x``, x: a sign before a truth value would change its type."""
    node.op, node.operand = ast.UAdd(), node.operand


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


def noticed(module: str, tree: ast.Module | None, seconds: int) -> bool:
    """Whether a test of the module fails, or does not end, with a tree in its place; None: as it is."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = _tried(module, tree, seconds)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return status != 0


def _tried(module: str, tree: ast.Module | None, seconds: int) -> int:
    """In a process of its own: what pytest says, 0 if all is well."""
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of processor time: a busy machine is no fault
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    for name in [name for name in sys.modules if name.split(".")[0] == "chary"]:
        del sys.modules[name]
    if tree is not None:
        name = "chary." + module.replace("/", ".")
        sys.meta_path.insert(0, _Swapped(name, tree, str(ROOT / "src/chary" / f"{module}.py")))
    os.chdir(ROOT)
    room, _, name = module.partition("/")
    tests = [f"tests/{room}/test_{name}.py", *MODULES[module]]
    quiet = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly"]
    return int(pytest.main([*quiet, *tests]))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--each", type=int, default=40, help="mutants of each module (40)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a part of a module's name")
    asked = parser.parse_args()
    sys.path.insert(0, str(ROOT / "src"))
    for room in ("method", "evaluation"):
        importlib.import_module(f"chary.{room}")  # and with it every library, once for all mutants
    for library in ("hypothesis", "scipy.optimize", "scipy.stats", "sklearn.datasets"):
        importlib.import_module(library)
    n_noticed = n_counted = 0
    missed: list[str] = []
    excused: list[str] = []
    print(f"{'module':26} {'mutants':>8} {'noticed':>8} {'equivalent':>11}")
    for module in (name for name in MODULES if asked.only in name):
        start = time.process_time() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        if noticed(module, None, 600):
            print(f"{module}: its tests fail as it is; nothing can be said of mutants.")
            return 1
        took = time.process_time() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start
        every = mutants(module)
        rng = np.random.default_rng([asked.seed, *module.encode()])
        drawn = [every[k] for k in sorted(rng.permutation(len(every))[: asked.each].tolist())]
        found = [noticed(module, mutant.tree, int(10 + 10 * took)) for mutant in drawn]
        of_no_effect = [m for m, is_noticed in zip(drawn, found, strict=True) if not is_noticed and m.equivalent]
        rest = [m for m, is_noticed in zip(drawn, found, strict=True) if not is_noticed and not m.equivalent]
        excused += [f"{_where(m)}: {m.equivalent}" for m in of_no_effect]
        missed += [_where(m) for m in rest]
        n_noticed, n_counted = n_noticed + sum(found), n_counted + len(drawn) - len(of_no_effect)
        print(f"{module:26} {len(drawn):8} {sum(found):8} {len(of_no_effect):11}", flush=True)
    print(f"\n{n_noticed} of {n_counted} faults were noticed: {n_noticed / max(1, n_counted):.1%} (seed {asked.seed}).")
    print("\nMissed:", *missed or ["none"], sep="\n  ")
    print("\nOf no effect:", *excused or ["none"], sep="\n  ")
    return 0


def _where(mutant: Mutant) -> str:
    return f"src/chary/{mutant.module}.py:{mutant.line} [{mutant.fault}] {mutant.text}"


if __name__ == "__main__":
    sys.exit(main())
