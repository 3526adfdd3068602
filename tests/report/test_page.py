"""One page, self-contained, escaped, and with the figures it was given."""

import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from chary.audit import Acceptance, Score
from chary.audit.answers import AuditAnswers
from chary.audit.model import AuditFigures
from chary.labelling import label_table
from chary.labelling.diagnose import MILD, REPRESENTATIVE, STRONG, UNKNOWN
from chary.labelling.explain import Cell
from chary.method.held_out import HeldOut
from chary.options import LabelOptions
from chary.report import Hints, render_page, summarize
from chary.report.page import _SECTIONS as SECTIONS
from chary.tables import Table

pytestmark = pytest.mark.usefixtures("quick_learners")


class Tree(HTMLParser):
    """Elements in order with their depth, and all text."""

    VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.text, self.depth = [], [], 0
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((self.depth, tag, tuple(name for name, _ in attrs)))
        self.depth += tag not in self.VOID

    def handle_endtag(self, tag):
        self.depth -= 1

    def handle_data(self, data):
        self.text.append(data)


def page_of(result):
    """The page as the command line makes it."""
    return render_page(
        summarize(result),
        Hints.for_labels(
            LabelOptions(target=result.target), [result.table.name], result.audit_size
        ),
    )


@pytest.fixture(scope="module")
def result(quick_learners):
    rng = np.random.default_rng(0)
    n = 120
    x = rng.normal(size=n)
    frame = pl.DataFrame({
        "age": x,
        "city": rng.choice(["Ulm", "Bonn"], n),
        "note": [f"N-{i:04d}" for i in range(n)],
        "y": [
            ("yes" if x[i] > 0 else "no") if abs(x[i]) > 0.8 and i < 90 else None
            for i in range(n)
        ],
    })  # fmt: skip
    return label_table(
        Table(frame, "shop.csv", ","), LabelOptions.of(target="y", learner="network")
    )


@pytest.fixture(scope="module")
def audited(result):
    """The same with an audit of which nothing but the figures matters here."""
    some = Score(27, 30, 0.7, 0.98, 0.95)
    found = Acceptance(0.4, 12, 25, 1, 0.1, 0.9)
    of_labels = {
        "answers": AuditAnswers(np.arange(30), np.array(["yes"] * 30), 30),
        "correct": np.arange(30) < 27,
        "population": 90,
        "classes": {"yes": some},
        "acceptor": SimpleNamespace(
            at=lambda error: found, answered=SimpleNamespace(n_from=lambda threshold: 5)
        ),
        "error": 0.1,
    }
    pairs = {("yes", "yes"): 27, ("yes", "no"): 3}
    figures = AuditFigures(
        **of_labels,
        after=some,
        balanced=None,
        pairs=pairs,
        shares={},
        baseline=None,
        comparison=None,
        rounds=0,
    )
    return replace(result, audit=figures)


@pytest.fixture(scope="module")
def page(result):
    return page_of(result)


def test_the_page_is_well_formed_and_asks_for_nothing(page):
    tree = Tree(page)
    assert tree.depth == 0
    assert not {"script", "link", "img", "iframe", "object", "form"} & {
        tag for _, tag, _ in tree.elements
    }
    assert not re.search(r"https?://|url\(|@import|javascript:| on\w+=", page)
    assert "default-src 'none'" in page


def test_the_page_says_what_was_found(page, result):
    text = " ".join(" ".join(Tree(page).text).split())
    assert "Labels for y in shop.csv" in text
    assert result.diagnosis.sentence in text
    assert "Strongly biased" in text
    assert "Only an audit of random rows tells how often the new labels are wrong" in text
    n_given = int(result.labels.labeled.sum())
    first = text.split("Made by chary")[0].split("default;")[-1]
    for words in (
        f"of 120 rows, from {n_given} given labels",
        "Not known yet",
        "chary audit draw shop.csv",
        "Check the",
    ):
        assert words in first
    for count in (120, n_given, int((result.source == "learned").sum())):
        assert f"{count:,}" in text
    assert "expected calibration error" in text
    for title in (
        "Labels by class",
        "Rows to check",
        "How the labels were made",
        "What this rests on",
    ):
        assert title in text


def test_all_fifty_rows_to_label_are_there(page, result):
    section = page.split('id="next"')[1].split("<h2")[0]
    rows = re.findall(r"<b>Row ([\d,]+): ", section)
    assert [int(row.replace(",", "")) - 1 for row in rows] == result.next_rows.tolist()


def test_the_page_names_the_columns_that_decide_and_the_cells(page, result):
    section = page.split('id="importance"')[1].split("<h2")[0]
    names = re.findall(r'<tr><th scope="row">(.*?)</th>', section)
    assert names == [column.column for column in result.explainer.importance if column.change > 0]
    assert 'style="width:100%"' in section
    next_rows = page.split('id="next"')[1].split("<h2")[0]
    row = int(result.next_rows[0])
    assert "; ".join(cell.shown for cell in result.reasons[row]) in next_rows


def test_labels_worth_a_second_look_are_a_question_and_escaped(result):
    assert 'id="second_look"' not in page_of(result)
    labeled = np.flatnonzero(result.labels.labeled)
    k = len(labeled)
    far = {
        "probability": np.full(k, 0.99),
        "given_probability": np.linspace(0.001, 0.1, k),
        "rows": labeled,
    }
    doubted = HeldOut(np.full(k, "<b>yes"), np.zeros(k, dtype=bool), np.ones(k), **far)
    # As many as it takes to be asked about.
    many = HeldOut(*(np.tile(value, 4) for value in doubted))
    cell = Cell("a<i>", 1.0, "a<i> = </td>")
    page = page_of(replace(result, held_out=many, reasons={int(result.next_rows[0]): [cell]}))
    section = page.split('id="second_look"')[1].split("<h2")[0]
    assert section.count('<div class="row">') == 20
    assert "may still be right" in section
    assert "Nothing was changed" in section
    assert "&lt;b&gt;yes" in section
    assert "a&lt;i&gt; = &lt;/td&gt;" in page.split('id="next"')[1]


def columns_of_next_rows(page):
    section = page.split('id="next"')[1].split("<h2")[0]
    return re.findall(r"<dt>(.*?)</dt>", section.split('<div class="row">')[1])


def test_rows_to_label_start_with_what_names_them(page):
    assert columns_of_next_rows(page) == ["note", "age", "city"]
    assert "Rows are counted from 1, without the header" in page


def test_of_many_columns_those_that_differ_most_are_shown():
    rng = np.random.default_rng(0)
    n, name = 120, "a class with quite a long name"
    y = [(name if i % 2 else "no") if i < 60 else None for i in range(n)]
    cells = {
        f"mean of x{j}": rng.normal(size=n) + 3.0 * (j == 10) * (np.arange(n) < 60)
        for j in range(12)
    }
    frame = pl.DataFrame({**cells, "id": [f"{i:04d}" + "x" * 140 for i in range(n)], "y": y})
    page = page_of(
        label_table(Table(frame, "wide.csv", ","), LabelOptions.of(target="y", rounds=0))
    )
    shown = columns_of_next_rows(page)
    assert shown[:2] == ["id", "mean of x10"]
    assert len(shown) == 6
    assert "x" * 140 in page  # a text is shown whole


def test_before_anything_is_unfolded_it_is_short_on_a_phone_and_prints_on_two_pages(page, audited):
    playwright = pytest.importorskip("playwright.sync_api")
    browser_path = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if browser_path is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for html in (page, page_of(audited)):
            seen = browser.new_page(viewport={"width": 390, "height": 844})
            seen.set_content(html)
            assert seen.evaluate("document.documentElement.scrollHeight") <= 4000
            assert seen.evaluate("document.documentElement.scrollWidth") <= 390
            assert len(re.findall(rb"/Type ?/Page\b", seen.pdf(format="A4"))) <= 2
        browser.close()


def test_dark_and_print_are_provided_for(page):
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


@pytest.mark.parametrize(
    ("verdict", "tone"),
    [(REPRESENTATIVE, "good"), (MILD, "fair"), (STRONG, "bad"), (UNKNOWN, "fair")],
)
def test_the_verdict_has_its_colour(result, verdict, tone):
    page = page_of(replace(result, diagnosis=replace(result.diagnosis, verdict=verdict)))
    assert f'class="verdict {tone}"' in page


def test_biased_labels_bring_the_advice_unless_proportions_were_told(result):
    biased = replace(result, diagnosis=replace(result.diagnosis, verdict=STRONG))
    assert "pass --class-prior" in page_of(biased)
    told = replace(
        biased, prior=result.prior._replace(told=True, sentence="you told chary that <b> is all")
    )
    page = page_of(told)
    assert "pass --class-prior" not in page
    assert "You told chary that &lt;b&gt; is all." in page
    assert "If they are not true, many labels are wrong" in page


def test_labels_that_are_not_strongly_biased_bring_no_rounds():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    labels = np.where(x > 0, "yes", "no").astype(object)
    labels[rng.permutation(120)[:80]] = None
    fair = label_table(
        Table(pl.DataFrame({"x": x, "y": labels.tolist()}), "fair.csv", ","),
        LabelOptions.of(target="y"),
    )
    page = " ".join(page_of(fair).split())
    assert "The model learned from the given labels alone" in page
    assert "Several kinds of model were trained" in page


def test_of_a_large_table_the_page_says_how_many_rows_took_part(result):
    all_took_part = page_of(result)
    assert "took part" not in all_took_part
    record = {**result.model[-1].history_[0], "n_pool": 20}
    classifier = clone(result.model[-1])
    classifier.__dict__.update(result.model[-1].__dict__, history_=[record])
    part = replace(result, model=Pipeline([result.model.steps[0], ("classify", classifier)]))
    n_unlabeled = int((~result.labels.labeled).sum())
    page = " ".join(page_of(part).split())
    assert f"Of {n_unlabeled} unlabelled rows, 20 drawn at random took part" in page


def test_a_report_without_figures_can_be_made():
    frame = pl.DataFrame({"x": range(12), "c": ["u", "v"] * 6, "y": ["a", "b", *[None] * 10]})
    page = page_of(
        label_table(Table(frame, "tiny.csv", ","), LabelOptions.of(target="y", rounds=0))
    )
    assert Tree(page).depth == 0
    assert "too few rows to compare" in page
    assert "The model learned from the given labels alone" in page
    assert "too few" in page


def test_a_python_caller_is_told_parameters_and_no_flag(result):
    page = render_page(
        summarize(replace(result, diagnosis=replace(result.diagnosis, verdict=STRONG)))
    )
    assert "pass class_prior={name: share, ...}" in page
    assert not re.search(r"[^-]--[a-z]|chary (label|audit|predict)", page.split("</style>")[1])


def test_every_section_has_its_template_and_every_template_its_section(page):
    templates = resources.files("chary.report") / "templates" / "sections"
    assert sorted(SECTIONS) == sorted(
        path.name.removesuffix(".html") for path in templates.iterdir()
    )
    asked_about = "second_look", "audit"  # only where there is something to ask, or to tell
    shown = re.findall(r'<div class="inside" id="(\w+)">', page)
    assert shown == [name for name in SECTIONS if name not in asked_about]


def test_columns_left_out_and_doubtful_are_in_plain_sight(result):
    summary = summarize(result)
    summary["columns"][0] |= {"doubtful": True, "note": "most cells <hold> digits"}
    top = render_page(summary).split("<details")[0]
    assert "<b>Left out</b> 1 of 3 columns" in " ".join(top.split())
    assert '<span class="named">note</span>' in top
    assert '<span class="named">age</span> (most cells &lt;hold&gt; digits)' in top


def test_what_can_be_accepted_is_said_where_it_was_asked(audited):
    page = page_of(audited)
    assert "or more, 5 of audited rows included, can be accepted with at most 10% wrong" in page
    assert "--error 10%" not in page
    unasked = page_of(replace(audited, audit=replace(audited.audit, error=None)))
    assert "To mark them, add <code>--error 10% --force</code>" in unasked
    nothing = SimpleNamespace(at=lambda error: Acceptance(float("inf"), 0, 0, 0, error, 0.9))
    none = page_of(replace(audited, audit=replace(audited.audit, error=0.01, acceptor=nothing)))
    assert (
        "No new label can be accepted with at most 1% wrong: this needs at least 230 audited rows, "
        "and" in none
    )


# ---------------------------------------------------------------- for everybody's eyes


class Accessible(HTMLParser):
    """What a screen reader or a keyboard needs of a page."""

    def __init__(self, html):
        super().__init__()
        self.levels, self.tables, self.open, self.wrong, self.mains = [], 0, [], [], 0
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.levels += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        self.tables += tag == "table"
        self.mains += tag == "main"
        if tag == "th" and attributes.get("scope") not in ("col", "row"):
            self.wrong.append("th without scope")
        if tag == "svg" and not (attributes.get("role") == "img" and attributes.get("aria-label")):
            self.wrong.append("picture without words")
        if "scroll" in attributes.get("class", "").split() and not (
            attributes.get("tabindex") == "0"
            and attributes.get("role") == "region"
            and attributes.get("aria-label")
        ):
            self.wrong.append("scroll area that cannot be focused or has no name")


def test_a_page_can_be_read_by_everybody(page, audited):
    for html in (page, page_of(audited)):
        found = Accessible(html)
        assert found.wrong == []
        assert found.mains == 1
        assert found.tables > 5
        assert found.levels[0] == 1
        assert found.levels.count(1) == 1
        assert all(
            after - before <= 1
            for before, after in zip(found.levels, found.levels[1:], strict=False)
        )


def test_the_report_of_an_audit_shows_what_was_taken_for_what(page, audited):
    cells = re.findall(r'<td class="(right|wrong)" data-shade="(\d)">(\d*)</td>', page_of(audited))
    assert sorted(cells) == [("right", "5", "27"), ("wrong", "1", "3")]
    assert 'class="matrix"' not in page.split("</style>")[1]


def test_on_a_phone_every_cell_names_its_column(page, audited):
    """A row becomes a block there: cells without a column name span the row or say it all."""
    for html in (page, page_of(audited)):
        for table in re.findall(r'<table class="stack">.*?</table>', html, flags=re.DOTALL):
            for cell in re.findall(r"<td([^>]*)>(.*?)</td>", table):
                assert "data-head" in cell[0] or "wide" in cell[0] or not cell[1], cell


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def schemes():
    templates = resources.files("chary.report") / "templates"
    css = (templates / "style.css").read_text()
    blocks = {
        "light": (templates / "light.css").read_text(),
        "dark": (templates / "dark.css").read_text(),
        "print": re.findall(r":root \{(.*?)\}", css, re.S)[0],
    }
    return {
        scheme: dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for scheme, block in blocks.items()
    }


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_all_text_can_be_told_from_what_is_behind_it(scheme):
    colours = schemes()[scheme]
    for text in ("ink", "soft", "good", "fair", "bad"):
        for behind in ("paper", "panel"):
            assert contrast(colours[text], colours[behind]) >= 4.5, (text, behind)
    for mark in ("labelled", "other"):
        assert contrast(colours[mark], colours["paper"]) >= 3
