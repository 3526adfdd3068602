"""The documentation is true: blocks give the output shown, figures are the stored ones."""

import csv
import doctest
import functools
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest

from chary import DiverseEnsembleClassifier, MixedEnsembleClassifier
from chary.cli import main
from chary.cli.demo import invented_customers
from chary.options import COMMANDS, declarations, flag_of

ROOT = Path(__file__).parents[2]
FOLDERS = ("", "tutorials", "how-to", "explanation", "reference")
BUILT = {"docs/reference/cli.md", "docs/reference/json.md", "docs/look-inside.md"}
FILES = [
    ROOT / "README.md",
    *(page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md"))),
]
TEXTS = {
    name: page.read_text() for page in FILES if (name := str(page.relative_to(ROOT))) not in BUILT
}


@pytest.fixture(autouse=True, scope="module")
def fitted_once():
    """Take over the first fit where pages label the same tables again and again."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in (MixedEnsembleClassifier, DiverseEnsembleClassifier):
            patch.setattr(kind, "fit", remembered(kind.fit))
        yield


def remembered(fit):
    known = {}

    @functools.wraps(fit)
    def fit_or_take_over(self, *args, **kwargs):
        key = joblib.hash((self.get_params(), args, kwargs))
        if key not in known:
            known[key] = vars(fit(self, *args, **kwargs)).copy()
        vars(self).update(known[key])
        return self

    return fit_or_take_over


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if "```pycon" in text])
def test_examples_of_the_documentation(name, tmp_path, monkeypatch, inline):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```pycon\n(.*?)```", TEXTS[name], flags=re.DOTALL)
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name, name, 0)
    output = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=output.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(output)


# Not run: lines for a person (sh), what something shows or needs that is not here (text, py).
NOT_RUN = {"", "sh", "text", "py", "{toctree}", "{include}"}


def test_every_block_is_run_or_says_that_it_is_not():
    for name, text in TEXTS.items():
        kinds = re.findall(r"^ *```(.*)$", text, flags=re.MULTILINE)[::2]
        assert {kind.split(" ")[0] for kind in kinds} <= {"pycon", "console", "python"} | NOT_RUN, (
            name
        )


@pytest.mark.parametrize(
    "name", [name for name, text in TEXTS.items() if re.search("```(console|python)\n", text)]
)
def test_commands_of_the_documentation(name, tmp_path, monkeypatch, capfd):
    """Run a block in a folder with the quickstart's customers; ``...`` stands for any text.

    The ``python`` blocks of a page are run too, where they stand; later ones use the names of
    earlier ones.
    """
    monkeypatch.chdir(tmp_path)
    for variable, value in {
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }.items():
        monkeypatch.setenv(variable, value)
    invented_customers().write_csv("customers.csv")
    names = {"__name__": "__main__"}
    for kind, block in re.findall(r"```(python|console)\n(.*?)```", TEXTS[name], flags=re.DOTALL):
        if kind == "python":
            exec(compile(block, name, "exec"), names)
            capfd.readouterr()
            continue
        for part in block.split("$ ")[1:]:
            command, _, expected = part.partition("\n")
            found = "\n".join(line.rstrip() for line in printed_by(command, capfd).split("\n"))
            pattern = re.escape(expected).replace(r"\.\.\.", ".*")
            assert re.fullmatch(pattern, found), f"$ {command}\n{found}"


def printed_by(command, capfd):
    """Run a command of a page: chary in this process, which is faster, the rest in a shell."""
    ours = re.match(r"chary ((?:'[^']*'|[^|>'])*)", command)
    said = ("", "")
    if ours:
        main(shlex.split(ours[1]))
        said, rest = capfd.readouterr(), command[ours.end() :]
        if not rest:
            return said[0] + said[1]
        command = f"cat {rest}"
    python = f'"{sys.executable}" -c "import sys; from chary.cli import main; sys.exit(main())"'
    script = f'chary() {{ {python} "$@"; }}; {command}'
    done = subprocess.run(
        ["bash", "-c", script], input=said[0], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr + said[1]


def beside_the_paper(study):
    """The stored accuracies of a study that the paper prints, too."""
    with (ROOT / "studies/results" / study / "results.csv").open() as file:
        return [
            row for row in csv.DictReader(file) if row["metric"] == "accuracy" and row["paper_mean"]
        ]


def line_of(page, start):
    """Find the line of a page that starts so."""
    return next(line for line in TEXTS[page].splitlines() if line.startswith(start))


@pytest.mark.parametrize(
    ("words", "study", "column"),
    [
        ("the paper", "table-ssb", "paper_mean"),
        ("ours, fresh starts", "table-ssb", "mean"),
        ("ours, warm starts", "table-ssb-authors", "mean"),
    ],
)
def test_the_means_beside_the_paper_are_the_stored_result(words, study, column):
    line = line_of("docs/explanation/paper.md", f"| {words} |")
    stored = {}
    for row in beside_the_paper(study):
        stored.setdefault(row["method"], []).append(float(row[column]))
    assert {len(of_method) for of_method in stored.values()} == {13}
    shown = [float(text) for text in re.findall(r"\d+\.\d", line)]
    np.testing.assert_allclose(
        shown, [np.mean(of_method) for of_method in stored.values()], atol=0.0501
    )


@pytest.mark.parametrize(
    ("words", "method"),
    [
        ("chary label", "chary"),
        ("CatBoost", "catboost"),
        ("skrub, extra trees", "skrub-trees"),
        ("skrub as it comes", "skrub"),
        ("logistic regression", "logistic"),
        ("the commonest label", "majority"),
    ],
)
def test_the_figures_of_page_one_are_those_of_unseen_tables(words, method):
    line = line_of("README.md", f"| {words} |")
    stored = (ROOT / "benchmarks/results/unseen.txt").read_text().partition("\nbalanced,")[0]
    rows = [row for row in stored.splitlines() if re.match(f"  {method} +\\d", row)]
    of_method = [re.findall(r"\d+\.\d", row) for row in rows]
    # Accuracies by way of labelling, and last the share of all draws far below the median rival,
    # which is not told of the commonest label.
    expected = [*of_method[0], *(shares[-1] for shares in of_method[1:])]
    assert re.findall(r"\d+\.\d", line) == expected


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_leads_on_page_one_are_those_on_unseen_tables(page):
    stored = (ROOT / "benchmarks/results/unseen.txt").read_text()
    row = re.search(r"chary - median rival +\+(.*)", stored)[1]
    leads = re.split(r" +\+", row)
    assert len(leads) == 3
    words = " ".join(TEXTS[page].split())
    assert [lead for lead in leads if lead not in words] == []


def test_the_readme_and_the_guides_are_short():
    assert len(TEXTS["README.md"].splitlines()) <= 100
    guides = {
        name: len(text.split()) for name, text in TEXTS.items() if name.startswith("docs/how-to/")
    }
    assert not {name: words for name, words in guides.items() if words > 700}


@pytest.mark.parametrize(
    ("words", "study"),
    [
        ("biased labels, fresh starts", "table-ssb"),
        ("biased labels, warm starts", "table-ssb-authors"),
        ("random labels, fresh starts", "table-iid"),
        ("random labels, warm starts", "table-iid-authors"),
    ],
)
def test_how_near_the_paper_we_say_we_are_is_the_stored_result(words, study):
    line = line_of("docs/explanation/paper.md", f"| {words}")
    _, _, deviation, n_near, pairs, _ = line.split("|")
    rows = beside_the_paper(study)
    off = np.array([float(row["mean"]) - float(row["paper_mean"]) for row in rows])
    within = np.abs(off) <= [float(row["paper_std"]) for row in rows]
    means = {(row["dataset"], row["method"]): float(row["mean"]) for row in rows}
    won = sum(
        mean > means[name, f"{m.removesuffix('-tsim')}-softmax"]
        for (name, m), mean in means.items()
        if "tsim" in m
    )
    assert float(deviation) == pytest.approx(np.abs(off).mean(), abs=0.0501)
    assert int(n_near) == within.sum()
    assert int(pairs.split()[0]) == won


def test_links_of_the_documentation_lead_somewhere():
    for name, text in TEXTS.items():
        folder = (ROOT / name).parent
        targets = re.findall(r"\]\((?!http)([^)#]+)[^)]*\)|<img src=\"([^\"]+)\"", text)
        for target in (markdown or image for markdown, image in targets):
            assert (folder / target).exists(), f"{name}: {target}"


def test_the_page_of_all_options_names_every_command_and_option():
    spec = importlib.util.spec_from_file_location(
        "cli_reference", ROOT / "docs/_ext/cli_reference.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.written()
    for command in (
        "label",
        "diagnose",
        "audit draw",
        "audit fill",
        "judge",
        "predict",
        "review",
        "demo",
    ):
        assert f"## chary {command}\n" in page
    for command in COMMANDS:
        assert all(f"`{flag_of(name)}`" in page for name in declarations(command))
