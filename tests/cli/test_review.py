"""What is typed after ``chary review``: one of two modes."""

import shlex

import pytest

import chary.review


@pytest.fixture(name="served")
def no_server(monkeypatch):
    """The workbenches that would be served."""
    found = []

    def serve(bench, port, *, browser, opened):
        found.append((bench, port, browser))
        opened("http://127.0.0.1:1/?token=x")

    monkeypatch.setattr(chary.review, "serve", serve)
    return found


def test_the_line_that_goes_on_has_all_that_was_typed_and_chosen_on_the_page(table, run, served):
    words = [
        "--id",
        "id",
        "--encoding",
        "cp1252",
        "--class",
        "98",
        "--missing",
        "age=99",
        "--seed",
        "4",
    ]
    assert run("review", table, *words)[0] == 0
    bench = served[0][0]
    assert bench.job.kind == "choose"
    bench.choose_labels("churn", target="churn", unlabeled=("no answer",))
    bench.choose_kind("colour", "leave out")
    bench.choose_error(0.1)
    bench.close()
    line = bench.options.command([table])
    assert run(*shlex.split(line)[1:])[0] == 0
    options = served[1][0].options
    assert options == bench.options
    assert (options.target, options.unlabeled, options.drop) == (
        "churn",
        ("no answer",),
        ("colour",),
    )
    assert options.error == 0.1


def test_the_address_is_printed_and_the_end_told(table, run, served):
    code, out, _ = run(
        "review",
        table,
        "-t",
        "churn",
        "--no-browser",
        "--port",
        "8123",
        "--id",
        "id",
        "--drop",
        "age",
    )
    assert code == 0
    assert "The page is at http://127.0.0.1:1/?token=x" in out
    assert "The page has ended. No answer was given." in out
    assert (
        f"Go on:  chary review {table} --target churn --drop age --identifier id --port 8123 "
        "--no-browser\n" in out
    )
    bench, port, browser = served[0]
    assert (port, browser) == (8123, False)
    assert (bench.options.identifier, bench.options.drop) == (("id",), ("age",))


@pytest.mark.parametrize(
    ("words", "said"),
    [
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
