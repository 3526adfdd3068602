"""What can be typed: every word is explained, read as it was meant, and can be typed again."""

import io
import re
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import polars as pl
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

import chary
from chary._words import Parameter, Step
from chary.audit.origin import DOUBT, SheetOrigin
from chary.cli import audit, main
from chary.cli.app import app
from chary.cli.console import _COMMANDS, sentence
from chary.options import (
    COMMANDS,
    DiagnoseOptions,
    DrawOptions,
    JudgeOptions,
    LabelOptions,
    Options,
    Requirement,
    ReviewOptions,
    declarations,
    flag_of,
    read_prior,
    read_share,
    read_size,
)
from chary.report import Hints
from chary.tables import TableError, read_table
from chary.tables.target import target_labels
from tests.fixtures.sheets import write_audit

ROOT = typer.main.get_command(app)
PACKAGE = Path(chary.__file__).parent


# ---------------------------------------------------------------- how texts are read


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], None),
        (["labeled"], "labeled"),
        (["yes=30 %", "no=0.7"], {"yes": 0.3, "no": 0.7}),
        (["a=b=1", "c, d=0"], {"a=b": 1.0, "c, d": 0.0}),
    ],
)
def test_class_proportions_as_typed(texts, expected):
    assert read_prior(texts) == expected


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["yes"], "is not understood; give NAME=SHARE"),
        (["=0.3"], "is not understood; give NAME=SHARE"),
        (["yes=nan"], "is not understood; give NAME=SHARE"),
        (["yes=0.3", "yes=0.7"], "names 'yes' twice"),
        (["yes=30", "no=70"], "'yes=30' is not understood; give NAME=SHARE, such as yes=30%"),
    ],
)
def test_class_proportions_that_cannot_be_are_said(texts, said):
    with pytest.raises(ValueError, match=said):
        read_prior(texts)


def test_shares_and_sizes_as_typed():
    assert read_share("5 %", "--error") == read_share("0.05", "--error") == 0.05
    for typed in ("ten", "", "0", "1", "100%", "-5%", "10", "nan", "%"):
        with pytest.raises(
            ValueError, match=r"--error .* is not a share; give one such as 10% or 0\.1"
        ):
            read_share(typed, "--error")
    sizes = {"2GB": 2 * 10**9, "2 gib": 2**31, "1.5g": 1_500_000_000, "100": 100, "1TiB": 2**40}
    assert {typed: read_size(typed) for typed in sizes} == sizes
    for typed in ("", "GB", "-1GB", "0", "2 XB", "2ib", "1e9", "nan"):
        with pytest.raises(ValueError, match="is not a size; give one such as 2GB"):
            read_size(typed)


def test_in_python_a_name_is_a_list_of_one_and_a_wrong_one_is_said():
    known = LabelOptions.of(target="y", drop="a", unlabeled=None)
    assert known == LabelOptions(target="y", drop=("a",))
    shares = {0: 0.3, np.int64(3): 0.2, 2.0: 0.4, True: 0.1}
    options = LabelOptions.of(target="y", class_prior=shares)
    assert options.class_prior == {"0": 0.3, "3": 0.2, "2": 0.4, "true": 0.1}
    with pytest.raises(TypeError, match="unexpected keyword argument 'tagret'"):
        LabelOptions.of(tagret="y")
    with pytest.raises(TypeError, match="unexpected keyword argument 'error'"):
        DiagnoseOptions.of(target="y", error=0.1)


# ----------------------------------------------------------- commands that are printed can be typed


def parsed(line):
    """The options of a command as it is printed, and its files; nothing is done."""
    program, *words = shlex.split(line)
    found, real = [], Options.typed.__func__

    def stop(command, **typed):
        found.append(real(command, **typed))
        raise typer.Exit

    assert program == "chary"
    with mock.patch.object(Options, "typed", classmethod(stop)):
        ROOT.main(words, prog_name="chary", standalone_mode=False)
    return found[0]


names = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=8)
lists = st.lists(names, max_size=2).map(tuple)
shares = st.integers(1, 99).map(lambda n: n / 100)
priors = (
    st.none() | st.just("labeled") | st.dictionaries(st.sampled_from("abc"), shares, min_size=1)
)
OWN = {
    "error": st.none() | shares,
    "class_prior": priors,
    "memory": st.none() | st.integers(1, 2**40),
}
OWN |= {"k": st.integers(2, 99), "rounds": st.none() | st.integers(0, 20)}
REQUIREMENTS = st.builds(Requirement, st.sampled_from(["accuracy", "coverage"]), st.none(), shares)
REQUIREMENTS |= st.builds(
    Requirement,
    st.sampled_from(["precision", "recall"]),
    names.map(str.strip).filter(bool),
    shares,
)
OWN |= {"require": st.none() | REQUIREMENTS, "header_row": st.none() | st.integers(1, 99)}
OWN |= {"threshold": st.none() | shares}
SLIPS = st.dictionaries(st.sampled_from("abc"), names.filter(str.strip), min_size=1)
OWN |= {"same": st.none() | SLIPS}
OWN |= {"until_width": st.none() | shares, "port": st.integers(0, 65535)}
OWN |= {
    "seed": st.none() | st.integers(0, 2**31 - 1),
    "target": names,
    "labels": st.lists(names, min_size=1).map(tuple),
}


def any_value(name, declaration):
    if name in OWN:
        return OWN[name]
    kinds = {bool: st.booleans(), Path: st.none() | names.map(Path), list[str]: lists, str: names}
    return kinds[declaration.typed_as]


def any_options(command):
    values = {name: any_value(name, one) for name, one in declarations(command).items()}
    return st.builds(command, **values)


@pytest.mark.parametrize(
    "command", [one for one in COMMANDS if one.verb not in ("predict", "demo")]
)
@given(st.data())
@settings(max_examples=10)
def test_what_is_written_is_read_again(command, data):
    options = data.draw(any_options(command))
    assert parsed(options.command(["my t.csv"])) == options


READING = {
    "unlabeled": ("", "to do"),
    "classes": ("unknown",),
    "delimiter": ":",
    "encoding": "cp1252",
}
WRITING = {"out": Path("o"), "format": "parquet", "force": True, "discard_answers": True}
AUDITED = {"audit": Path("s.csv"), "error": 0.05, "seed": 4}
CHOSEN = LabelOptions(
    target="it's",
    drop=("a b",),
    numeric=("n",),
    identifier=("id",),
    missing=("-9",),
    check_sheet=True,
    class_prior={"p": 0.25, "q": 0.75},
    same={"pp": "p", "a slip": "q"},
    aim="balanced",
    learner="linear",
    rounds=0,
    explain=True,
    memory=2 * 10**9,
    **READING,
    **WRITING,
    **AUDITED,
)
TO_JUDGE = JudgeOptions(
    labels=("rule", "other"),
    confidence="sure",
    k=40,
    by=("region",),
    hide=("why",),
    **READING,
    **WRITING,
    **AUDITED,
)
SAFE = {"force": False, "discard_answers": False}


def test_every_hint_says_all_that_was_chosen_and_overwrites_nothing(tmp_path):
    files = ["my t.csv", "more.csv"]
    draw = Hints.for_labels(CHOSEN, files, 12).draw
    assert draw.startswith(
        "chary audit draw 'my t.csv' more.csv --target 'it'\"'\"'s' --unlabeled '' "
    )
    assert parsed(draw) == DrawOptions.like(CHOSEN, k=12, **SAFE)
    assert Hints.for_labels(CHOSEN, files, 0).draw == ""

    table = SimpleNamespace(stem="t", folder=Path())
    judged = SimpleNamespace(
        population=100,
        answers=SimpleNamespace(n_drawn=60),
        tested=SimpleNamespace(source=SimpleNamespace(table=table)),
    )
    hints = Hints.for_judged(TO_JUDGE, files, judged)
    assert parsed(hints.draw) == replace(TO_JUDGE, k=100, audit=None, annotator=(), **SAFE)
    assert hints.fill == "chary audit fill s.csv"
    judged.answers.n_drawn = 100
    assert Hints.for_judged(TO_JUDGE, files, judged).draw == ""

    told = {"unlabeled": ("to do",), "read_with": {"delimiter": ":", "encoding": "cp1252"}}
    drawn = SheetOrigin("it's", ["a"], **told, tables=("my t.csv",))
    for name in ("my t.csv", "b.csv"):
        (tmp_path / name).write_text("x\n1\n")
    sheet = tmp_path / "my t.audit.csv"
    common = {"unlabeled": ("to do",), "delimiter": ":", "encoding": "cp1252"}
    said, _ = audit._next_command(sheet, drawn)
    assert str(tmp_path / "my t.csv") in said
    assert parsed(said) == LabelOptions(target="it's", audit=sheet, **common)
    said, replaced = audit._next_command(sheet, drawn._replace(chosen=DOUBT))
    assert parsed(said) == LabelOptions(target="it's", checked=sheet, **common)
    assert replaced == []
    said, _ = audit._next_command(
        sheet, drawn._replace(judged=("rule", "other"), tables=(*drawn.tables, "b.csv"))
    )
    assert parsed_files(said) == [str(tmp_path / "my t.csv"), str(tmp_path / "b.csv")]
    assert parsed(said) == JudgeOptions(labels=("rule", "other"), audit=sheet, **common)


def test_a_page_hands_over_what_a_command_takes():
    chosen = ReviewOptions(target="y", drop=("a",), error=0.1, port=8000, no_browser=True)
    assert LabelOptions.like(chosen) == LabelOptions(target="y", drop=("a",), error=0.1)
    assert not hasattr(LabelOptions.like(chosen), "port")


def parsed_files(command):
    return shlex.split(command)[2:4]


def survey(folder):
    """Answers of 0 to 2 to a question, and 98 where there is none."""
    rows = [
        f"{i},{98 if i % 11 == 5 else i % 3},{['red', 'blue', 'to do'][i % 3]},{i % 7}"
        for i in range(90)
    ]
    path = folder / "my survey.csv"
    path.write_text("\n".join(["id;q1;colour;n", *rows]).replace(",", ";"), encoding="cp1252")
    return path


def hint(text, begins):
    """The command after a word of what was printed."""
    return next(line.partition(begins)[2].strip() for line in text.splitlines() if begins in line)


def test_the_line_printed_after_each_step_has_all_that_was_chosen_at_the_first(
    tmp_path, capsys, monkeypatch
):
    path = survey(tmp_path)
    chosen = [
        "--target",
        "colour",
        "--unlabeled",
        "to do",
        "--missing",
        "98",
        "--drop",
        "id",
        "--aim",
        "balanced",
    ]
    chosen += ["--encoding", "cp1252", "--seed", "3", "--learner", "linear", "--check-sheet"]
    assert main(["label", str(path), *chosen]) == 0
    first = parsed(shlex.join(["chary", "label", str(path), *chosen]))
    drawn = hint(capsys.readouterr().out, "Next:")
    assert parsed(drawn) == DrawOptions.like(first, k=29)
    assert main(shlex.split(drawn)[1:]) == 0
    sheet, check = tmp_path / "my survey.audit.csv", tmp_path / "my survey.check.csv"
    monkeypatch.setattr("typer.getchar", lambda: "q")
    for filled, after in (
        (sheet, {"audit": sheet}),
        (check, {"checked": check, "check_sheet": False}),
    ):
        text = pl.read_csv(filled, separator=";", infer_schema=False)
        text.with_columns(pl.lit("blue").alias("colour")).write_csv(filled, separator=";")
        capsys.readouterr()
        assert main(["audit", "fill", str(filled)]) == 0
        said = hint(capsys.readouterr().out, "Next:")
        assert parsed(said) == replace(first, force=True, **after)  # label has written before


def test_what_a_sheet_remembers_is_read_back_and_what_is_odd_in_it_is_not():
    for options, required in ((CHOSEN, {"target": "y"}), (TO_JUDGE, {"labels": ("rule",)})):
        kept = options.to_keep()
        assert type(options).kept(kept, **required).to_keep() == kept
        assert "force" not in kept
    odd = {
        "missing": 3,
        "rounds": "many",
        "drop": ["a", "b"],
        "force": True,
        "memory": "1e",
        "nonsense": "x",
    }
    assert LabelOptions.kept(odd, target="y") == LabelOptions(target="y", drop=("a", "b"))
    options = LabelOptions(target="y", learner=object(), aim="balanced")
    assert options.to_keep() == {"aim": "balanced"}


# ---------------------------------------------------------------- help


def commands(command, path=()):
    """Every command by the words that call it."""
    children = getattr(command, "commands", None)
    if children is None:
        return {" ".join(path): command}
    return {
        words: found
        for name, child in children.items()
        for words, found in commands(child, (*path, name)).items()
    }


def test_every_command_and_option_has_help_the_same_wherever_it_appears():
    told = {}
    for name, command in commands(ROOT).items():
        assert command.help, name
        for parameter in command.params:
            assert parameter.help, parameter.name
            if name in ("label", "diagnose", "predict", "audit draw") and parameter.name not in (
                "seed",
                "file",
            ):
                told.setdefault(parameter.name, set()).add(parameter.help)
    assert {name: texts for name, texts in told.items() if len(texts) > 1} == {}


def test_help_has_at_most_ten_options_first_and_groups_the_others(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for name in commands(ROOT):
        first = help_of(name, capsys).partition("─ Options ─")[2].partition("╰")[0]
        assert 1 <= len(re.findall(r"^│ [* ]{0,3}--", first, re.MULTILINE)) <= 10, name
    groups = re.findall(r"^╭─ (.*?) ─", help_of("label", capsys), re.MULTILINE)
    assert groups[:2] == ["Arguments", "Options"]
    assert set(groups[2:]) == {"Files", "Target and columns", "Learning", "Audit", "Output"}


def help_of(name, capsys):
    main([*name.split(), "--help"])
    return capsys.readouterr().out


def test_alone_chary_names_the_three_commands_that_one_needs(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    lines = re.findall(r"^  (chary .*?)  ", out, re.MULTILINE)
    assert lines == [
        "chary review customers.csv",
        "chary label customers.csv --target churn",
        "chary judge tickets.csv --labels llm_label",
    ]
    for line in lines:
        parsed(line)


# ------------------------------------------------------------- errors speak of options and commands


def spoken_of(name):
    """The first argument of every ``Parameter("...")`` or ``Step("...")`` in the package."""
    return {
        word
        for path in PACKAGE.rglob("*.py")
        for word in re.findall(rf'\b{name}\("(\w+)"', path.read_text())
    }


def test_every_parameter_and_step_that_is_spoken_of_can_be_typed():
    assert "unlabeled" in spoken_of("Parameter")
    options = {
        word
        for name in ("label", "judge", "predict")
        for one in ROOT.commands[name].params
        for word in one.opts
    }
    assert {flag_of(name) for name in spoken_of("Parameter")} <= options
    for name in spoken_of("Step"):
        found = ROOT
        for word in _COMMANDS[name].split():
            found = found.commands[word]


def test_parameters_are_options_and_steps_are_commands():
    error = TableError(
        *("Pass ", Parameter("unlabeled", "to do"), " or ", Parameter("unlabeled", ""), ", leave "),
        *(Parameter("class_prior"), " out, or: ", Step("fill", "fill it in.", "my audit.csv")),
    )
    assert sentence(error) == (
        "Pass --unlabeled 'to do' or --unlabeled '', leave --class-prior out, or: chary audit fill "
        "'my audit.csv'"
    )
    assert sentence(ValueError("class_prior lacks {0}")) == "class_prior lacks {0}"
    assert sentence(TableError(Parameter("unlabeled", "\x1b[2J" + "x" * 900))) == (
        f"--unlabeled '\\x1b[2J{'x' * 50}...'"
    )


LABELED = b"x,y\n" + b"".join(
    b"%d,%s\n" % (i % 7, b"ab"[i % 2 : i % 2 + 1] if i % 3 else b"") for i in range(60)
)


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (
            b"x,y\n1,a\n2,b\n3,?\n",
            [],
            "Column 'y' holds '?' in 1 row; pass --unlabeled '?' if that means no label, or "
            "--class '?' if that is a class.",
        ),
        (
            b"y\na\nb\n",
            [],
            "t.csv has one column only, 'y'; chary needs a target and features (if the columns "
            "are separated by an unusual character, pass --delimiter).",
        ),
        (
            b"x,y\n1,\xe9\n",
            ["--encoding", "ascii"],
            "t.csv is not valid ascii text; pass its encoding with --encoding, such as cp1252, "
            "cp1250, cp1251, latin-1 or shift_jis.",
        ),
        (
            LABELED,
            ["--delimiter", "\\t"],
            "The delimiter '\\t' is not usable; give one ASCII character such as ';'.",
        ),
    ],
)
def test_commands_speak_of_options(tmp_path, capsys, data, options, said):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    assert main(["diagnose", str(path), "-t", "y", *options]) == 1
    assert capsys.readouterr().err == f"chary: {said}\n"


def test_commands_speak_of_commands(tmp_path, capsys):
    path, sheet = tmp_path / "t.csv", tmp_path / "t audit.csv"
    path.write_bytes(LABELED)
    table, drawn = read_table(path), io.BytesIO()
    write_audit(table, "y", target_labels(table, "y"), np.array([0, 3]), drawn)
    pl.read_csv(drawn.getvalue()).write_csv(sheet)
    assert main(["label", str(path), "-t", "y", "--audit", str(sheet)]) == 1
    said = f"t audit.csv has 0 labels, and at least 2 are needed: chary audit fill '{sheet}'"
    assert capsys.readouterr().err == f"chary: {said}\n"
