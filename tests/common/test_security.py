"""Each promise of SECURITY.md names tests that are there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
ROWS = [
    line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| what")
]


def test_every_promise_is_held_by_a_test():
    assert len(ROWS) >= 11
    for row in ROWS:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, row
        for file, test in named:
            tree = ast.parse((ROOT / file).read_text())
            names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert test in names, f"{file} has no {test}"
