"""Words of the command line are written in ``cli`` alone: other rooms speak of parameters."""

import ast
import re
from pathlib import Path

import typer

import chary
from chary.cli.app import app

PACKAGE = Path(chary.__file__).parent
COMMANDS = sorted(typer.main.get_command(app).commands)
WORDS = re.compile(rf"--[a-z]|\bchary ({'|'.join(COMMANDS)})\b")


def words_in(text):
    """Every text of a module, docstrings left out, that names an option or a command."""
    tree = ast.parse(text)
    explained = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(n.body[0].value)
        for n in ast.walk(tree)
        if isinstance(n, explained) and ast.get_docstring(n)
    }
    texts = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [
        f"line {n.lineno}: {n.value}"
        for n in texts
        if id(n) not in docstrings and WORDS.search(n.value)
    ]


def test_no_other_room_names_an_option_or_a_command():
    rooms = ("method", "tables", "audit", "labelling", "report", "review")
    modules = [path for room in rooms for path in sorted((PACKAGE / room).rglob("*.py"))]
    found = {str(path.relative_to(PACKAGE)): words_in(path.read_text()) for path in modules}
    assert modules
    assert {place: words for place, words in found.items() if words} == {}
