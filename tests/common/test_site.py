"""The site, without building it: every page is listed, and what converts pages is right."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Written by a build.
BUILT = {"gallery/index", "results/index", "reference/cli", "reference/json", "look-inside"}
PAGES = [
    page
    for folder in ("", "tutorials/", "how-to/", "explanation/", "reference/")
    for page in DOCS.glob(f"{folder}*.md")
]


def load(name):
    spec = importlib.util.spec_from_file_location(f"docs_{Path(name).stem}", DOCS / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def in_toctrees():
    """The pages that the lists of contents name, by folder and name."""
    named = set()
    for page in [*PAGES, *DOCS.glob("api/*.rst")]:
        text = page.read_text()
        trees = re.findall(r"```\{toctree\}\n(.*?)```", text, flags=re.DOTALL)
        trees += re.findall(r"^\.\. toctree::\n((?:   .*\n|\n)+)", text, flags=re.MULTILINE)
        for tree in trees:
            lines = [
                line.strip()
                for line in tree.splitlines()
                if line.strip() and not line.strip().startswith(":")
            ]
            entries = [re.sub(r"^.*<(.*)>$", r"\1", line) for line in lines]
            named |= {str((page.parent / entry).resolve().relative_to(DOCS)) for entry in entries}
    return named


def test_every_page_is_in_a_list_of_contents():
    pages = {
        str(page.relative_to(DOCS).with_suffix("")) for page in [*PAGES, *DOCS.glob("api/*.rst")]
    }
    assert in_toctrees() == (pages - {"index"}) | BUILT


def test_links_to_the_repository_become_links_of_the_site():
    turn = load("_ext/forge_links.py").for_the_site
    assert turn("[home](../README.md)") == "[home](index.md)"
    assert turn("[safe](../SECURITY.md)") == "[safe](security.md)"
    assert turn("[a study](../studies/results/audit/report.md)") == "[a study](results/audit.md)"
    assert turn("[a link](../studies/results/audit/figure.png)") == "[a link](results/audit.md)"
    assert turn("[all](../studies/results)") == "[all](results/index.md)"
    assert (
        turn("[deeper](../../studies/results/audit/report.md)") == "[deeper](../results/audit.md)"
    )
    assert turn("[deeper](../../SECURITY.md#reporting)") == "[deeper](../security.md#reporting)"
    assert turn("[gallery](../../examples)") == "[gallery](../gallery/index.rst)"
    for kept in (
        "![shown](../studies/results/audit/figure.png)",
        "```text\n[home](../README.md)\n```\n",
    ):
        assert turn(kept) == kept
    dark = '<source media="(prefers-color-scheme: dark)" srcset="d.png">'
    turned = turn(f'<picture>{dark}<img src="l.png" alt="A page"></picture>')
    assert turned == "![A page](l.png){.only-light}\n![A page](d.png){.only-dark}"


def test_pages_that_docstrings_name_become_links_and_are_there():
    assert load("_ext/forge_links.py").link_pages(["See ``docs/how-to/audit.md``."]) == [
        "See :doc:`/how-to/audit`."
    ]
    named = {
        name
        for file in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"``docs/([\w/-]+\.md)``", file.read_text())
    }
    assert named
    assert all((DOCS / name).exists() for name in named)


def test_no_picture_of_two_themes_is_left_for_the_forge_alone():
    turn = load("_ext/forge_links.py").for_the_site
    assert not [page.name for page in PAGES if "<picture>" in turn(page.read_text())]


def test_every_stored_study_gets_a_page(tmp_path, monkeypatch):
    module = load("_ext/stored_results.py")
    monkeypatch.setattr(module, "PAGES", tmp_path / "results")
    names = module.write_pages()
    assert "table-ssb" in names
    listed = (tmp_path / "results" / "index.md").read_text()
    for name in names:
        text = (tmp_path / "results" / f"{name}.md").read_text()
        assert text.startswith(f"# {name}\n")
        assert f"[{name}]({name}.md): " in listed
        for target in re.findall(r"\]\(\.\./\.\./(studies/[^)]+)\)", text):
            assert (ROOT / target).exists()
    assert (
        "studies run table-ssb-authors"
        in (tmp_path / "results" / "table-ssb-authors.md").read_text()
    )


def test_formulas_are_drawn_in_the_colour_of_the_text():
    pytest.importorskip("docutils")
    pytest.importorskip("matplotlib")
    drawn = load("_ext/mathtext_svg.py").drawn
    svg = drawn(
        r"\tfrac1C \sum_{m \ne k} \lVert h_m \rVert^2 \le \Big( \text{weak} \Big) \ge \mathcal T"
    )
    assert svg.startswith('<svg fill="currentColor"')
    assert "#ffffff" not in svg
    with pytest.raises(ValueError, match="nosuchsign"):
        drawn(r"\nosuchsign")


PAGE = '<html><body><a href="{0}">x</a><img src="{1}"><h2 id="here">x</h2></body></html>'


def test_dead_links_and_foreign_resources_are_found(tmp_path):
    check = load("check_links.py")
    (tmp_path / "picture.png").write_bytes(b"")
    (tmp_path / "good.html").write_text(PAGE.format("good.html#here", "picture.png"))
    assert check.complaints(tmp_path) == []
    (tmp_path / "bad.html").write_text(PAGE.format("good.html#there", "https://example.org/x.png"))
    (tmp_path / "worse.html").write_text(
        PAGE.format("gone.html", "picture.png") + '<a href="https://a.b/">out</a>'
    )
    (tmp_path / "style.css").write_text(
        "@import 'https://example.org/font.css'; b { background: url(x.png) }"
    )
    assert check.complaints(tmp_path) == [
        "bad.html loads https://example.org/x.png from elsewhere",
        "style.css loads https://example.org/font.css from elsewhere",
        "bad.html links to good.html#there: no such place on that page",
        "worse.html links to gone.html: no such file",
    ]


WORDS = {
    "report/terminal.py": [
        "cross-validation",
        "model without the audit",
        "model that learned from it",
        "Estimated by the audit",
        "Precision",
        "Recall",
    ],
    "report/templates/cells.html": ["Wrong among them"],
    "report/templates/sections/audit.html": ["Recognised", "Cross-validation on your own labels"],
    "report/templates/sections/importance.html": ["Change of probability"],
    "report/templates/sections/second_look.html": ["Labels of yours worth a second look"],
    "report/plain_data.py": ["can be accepted with"],
}


@pytest.mark.parametrize("file", WORDS)
def test_what_may_be_quoted_is_called_as_chary_calls_it(file):
    """A figure that is renamed has to be renamed on the page that says what it promises."""
    shown, page = (
        (ROOT / "src/chary" / file).read_text(),
        (DOCS / "reference/numbers.md").read_text(),
    )
    for words in WORDS[file]:
        assert words in shown
        assert words in page


def test_what_cross_validation_promised_is_what_the_study_found():
    page = (DOCS / "explanation/bias.md").read_text().replace("\n", " ")
    tables = (ROOT / "studies/results/tables/report.md").read_text()
    assert "is off by +8.0 points on average (more than 5 too good in 42 of 76 reports)" in tables
    assert "below its 95 % interval in 39, within in 33, above in 4." in tables
    assert (
        "was 8.0 points too high on average. Its 95 % interval contained the truth in 33 of 76 "
        "cases" in page
    )


def test_a_copy_of_a_page_leads_to_copies_and_holds_its_answers(tmp_path):
    look_inside = load("_ext/look_inside.py")
    look_inside.COPIES = tmp_path
    page = (
        '<link href="/assets/review.css"><script type="module" src="/assets/review.js"></script>'
        '<a href="/audit">Audit</a><a href="/download/model" download="m">m</a><main id="content">'
    )
    answers = {"/": page, "/api/state": '{"version": 1}', "/api/start": '{"cell": "</script>"}'}
    look_inside.save_page("start", {"start": "/", "audit": "/audit"}, answers.__getitem__)

    copy = (tmp_path / "start.html").read_text()
    assert re.findall(r'(?:href|src)="([^"]*)"', copy) == [
        *("review.css", "review.js", "audit.html", "result.html"),
    ]
    assert "This is a copy" in copy
    saved = re.search(r"const SAVED = (.*?); const COPIES", copy)[1]
    assert json.loads(saved)["/api/start"] == {"cell": "</script>"}
    assert copy.count("</script>") == 2
