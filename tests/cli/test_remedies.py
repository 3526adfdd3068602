"""What an error says where it is typed: options that exist, commands that can be copied into a shell."""

import ast
import io
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer

import chary
from chary._words import Parameter, Step
from chary.cli import app, main
from chary.cli.remedies import _COMMANDS, command, option, sentence
from chary.tables import Table, TableError, read_table, target_labels, write_audit

ROOT = typer.main.get_command(app)
PACKAGE = Path(chary.__file__).parent


def test_parameters_are_options_and_steps_are_commands():
    error = TableError(
        *("Pass ", Parameter("unlabeled", "to do"), " or ", Parameter("unlabeled", ""), ", leave "),
        *(Parameter("class_prior"), " out, or: ", Step("fill", "fill it in.", "my audit.csv")),
    )
    assert sentence(error) == (
        "Pass --unlabeled 'to do' or --unlabeled '', leave --class-prior out, or: chary audit fill 'my audit.csv'"
    )
    assert sentence(ValueError("class_prior lacks {0}")) == "class_prior lacks {0}"


def test_values_from_a_file_are_short_and_visible():
    assert sentence(TableError(Parameter("unlabeled", "\x1b[2J" + "x" * 900))) == (
        f"--unlabeled '\\x1b[2J{'x' * 50}...'"
    )


def spoken_of(name):
    """The first argument of every ``Parameter(...)`` or ``Step(...)`` in the package."""
    calls = [
        node
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name
    ]
    return sorted({call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)})


@pytest.mark.parametrize("name", [*spoken_of("Parameter"), "identifier", "categorical", "numeric"])
def test_every_parameter_that_is_spoken_of_can_be_typed(name):
    commands = [ROOT.commands["label"], ROOT.commands["judge"], ROOT.commands["predict"]]
    options = {word for command in commands for parameter in command.params for word in parameter.opts}
    assert option(name) in options


@pytest.mark.parametrize("name", spoken_of("Step"))
def test_every_step_that_is_spoken_of_can_be_typed(name):
    found = ROOT
    for word in _COMMANDS[name].split():
        found = found.commands[word]


def test_a_command_on_a_table_can_be_copied_into_a_shell(tmp_path):
    path = tmp_path / "my data.csv"
    path.write_bytes("a:b\n1:é\n".encode("cp1252"))
    table = read_table(path, delimiter=":", encoding="cp1252")
    words = ["chary", "audit", "draw", str(path), "--target", "it's", "--unlabeled", "", "--delimiter", ":"]
    words += ["--encoding", "cp1252", "-k", "7"]
    assert shlex.split(command(table, "audit draw", "it's", "", "-k", "7")) == words
    assert command(Table(pl.DataFrame(), "t.csv"), "label", "y") == "chary label t.csv --target y"


LABELED = b"x,y\n" + b"".join(b"%d,%s\n" % (i % 7, b"ab"[i % 2 : i % 2 + 1] if i % 3 else b"") for i in range(60))


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (
            b"x,y\n1,a\n2,b\n3,NA\n4,NA\n",
            [],
            "Column 'y' holds 'NA' in 2 rows, which may or may not mean unlabelled; pass --unlabeled NA if it "
            "does, or --unlabeled '' if it is a class.",
        ),
        (
            b"x,y\n1,a\n2,b\n3,?\n",
            [],
            "Column 'y' holds '?' in 1 rows, which may or may not mean unlabelled; pass --unlabeled '?' if it "
            "does, or --unlabeled '' if it is a class.",
        ),
        (
            b"y\na\nb\n",
            [],
            "t.csv has one column only, 'y'; chary needs a target and features (if the columns are separated by "
            "an unusual character, pass --delimiter).",
        ),
        (
            b"x,y\n1,a,3\n2,b\n",
            [],
            "t.csv, line 2: 3 cells where the header has 2; quote cells that contain the delimiter, or pass the "
            "right one with --delimiter.",
        ),
        (
            b"x,y\n1,\xe9\n",
            [],
            "t.csv, line 2: not valid utf-8 text; if it was written by Excel or an older program, pass --encoding "
            "cp1252.",
        ),
        (
            b"x,y\n1,\xe9\n",
            ["--encoding", "ascii"],
            "t.csv, line 2: not valid ascii text; pass the encoding it was written in with --encoding.",
        ),
        (
            b"x,y\n1,\x00\n",
            [],
            "t.csv, line 2: a NUL character, which text tables do not have; if the file is UTF-16, pass "
            "--encoding utf-16.",
        ),
        (
            LABELED,
            ["--delimiter", "\\t"],
            "The delimiter '\\t' is not usable; give one ASCII character such as ';'.",
        ),
        (
            b",".join([*(b"c%d" % i for i in range(250)), b"y"])
            + b"\n"
            + b"".join(b"x%d," % (i % 20) * 250 + b"ab"[i % 2 : i % 2 + 1] + b"\n" for i in range(100)),
            [],
            "The columns become 5,000 features; chary takes up to 4,096: leave some columns out with --drop.",
        ),
    ],
)
def test_commands_speak_of_options(tmp_path, capsys, data, options, said):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    assert main(["diagnose", str(path), "-t", "y", *options]) == 1
    assert capsys.readouterr().err == f"chary: {said}\n"


@pytest.mark.parametrize(
    ("unlabeled", "change", "said"),
    [
        (None, {}, "No row of t audit.csv has a label; at least two are needed: chary audit fill '{path}'"),
        (
            None,
            {"chary_row": "row"},
            "t audit.csv has no column 'chary_row', which says which row is which; it was not written by chary "
            "audit draw, or the column was removed: draw again, or put it back.",
        ),
        (
            "to do",
            {},
            "t audit.csv was drawn with --unlabeled 'to do', so its rows are not random among those unlabelled "
            "now; pass the same, or draw again.",
        ),
    ],
)
def test_commands_speak_of_commands(tmp_path, capsys, unlabeled, change, said):
    path, sheet = tmp_path / "t.csv", tmp_path / "t audit.csv"
    path.write_bytes(LABELED)
    table, drawn = read_table(path), io.BytesIO()
    write_audit(table, "y", target_labels(table, "y"), np.array([0, 3]), drawn, unlabeled=unlabeled)
    pl.read_csv(drawn.getvalue()).rename(change).write_csv(sheet)
    assert main(["label", str(path), "-t", "y", "--audit", str(sheet)]) == 1
    assert capsys.readouterr().err == f"chary: {said.format(path=sheet)}\n"


def test_a_sheet_drawn_without_a_marker_says_so(tmp_path, capsys):
    path, sheet = tmp_path / "t.csv", tmp_path / "t.audit.csv"
    path.write_bytes(LABELED)
    assert main(["audit", "draw", str(path), "-t", "y", "-k", "3"]) == 0
    capsys.readouterr()
    assert main(["label", str(path), "-t", "y", "--audit", str(sheet), "--unlabeled", "c"]) == 1
    assert capsys.readouterr().err == (
        "chary: t.audit.csv was drawn without --unlabeled, so its rows are not random among those unlabelled now; "
        "leave it out, or draw again.\n"
    )
