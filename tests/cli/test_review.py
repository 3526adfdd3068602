"""What is typed after ``chary review``: one of two modes, and commands that do the same."""

import shlex
from pathlib import Path

import polars as pl
import pytest

import chary.review
from chary.cli.review import _typed
from chary.review import Fixed, Settings, begin


@pytest.fixture(name="served")
def no_server(monkeypatch):
    """The workbenches that would be served."""
    found = []

    def serve(bench, port, *, browser, opened):
        found.append((bench, port, browser))
        opened("http://127.0.0.1:1/?token=x")

    monkeypatch.setattr(chary.review, "serve", serve)
    return found


def test_the_address_is_printed_and_the_end_told(table, run, served):
    code, out, _ = run(
        "review", table, "-t", "churn", "--no-browser", "--port", "8123", "--id", "id", "--drop", "age"
    )
    assert code == 0
    assert "The page is at http://127.0.0.1:1/?token=x" in out
    assert "The page has ended. No answer was given." in out
    assert f"chary review {table} --target churn" in out.replace("\n", " ")
    bench, port, browser = served[0]
    assert (port, browser) == (8123, False)
    assert bench.settings.kinds == {"id": "identifier", "age": "leave out"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Give --target"),
        (["-t", "churn", "-l", "churn"], "Give --target"),
        (["-t", "churn", "--confidence", "age"], "--confidence goes with --labels"),
        (["-t", "chrun"], "did you mean 'churn'"),
        (["-t", "churn", "--port", "70000"], "--port"),
    ],
)
def test_what_cannot_be_is_one_sentence(table, run, served, words, said):
    code, _, err = run("review", table, *words)
    assert code == 1
    assert said in err
    assert not served


def test_commands_say_all_that_was_chosen(tmp_path):
    frame = pl.DataFrame({"a b": range(40), "y": [("pq"[i % 2] if i % 3 else None) for i in range(40)]})
    frame.write_csv(tmp_path / "my t.csv")
    bench = begin([str(tmp_path / "my t.csv")], "y", fixed=Fixed(("?",), True, ("-9",), None, 4), typed=_typed)
    settings = Settings({"a b": "number"}, {"p": 0.25, "q": 0.75}, "balanced", 0.1)
    (typed,) = bench.commands(settings, Path("s.audit.csv"), None)
    assert shlex.split(typed)[1:] == [
        *("label", str(tmp_path / "my t.csv"), "--target", "y", "--unlabeled", "?", "--numeric", "a b"),
        *("--missing", "-9", "--exact-labels", "--seed", "4", "--class-prior", "p=0.25"),
        *("--class-prior", "q=0.75", "--aim", "balanced", "--audit", "s.audit.csv", "--error", "0.1"),
    ]
    judging = begin([str(tmp_path / "my t.csv")], labels=["y"], confidence="a b", typed=_typed)
    assert shlex.split(judging.commands(settings, Path("s"), None)[0])[-6:] == [
        *("--confidence", "a b", "--audit", "s", "--error", "0.1")
    ]
