"""One page, self-contained, escaped, and with the figures it was given."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from chary.evaluation.diagnosis import MILD, REPRESENTATIVE, STRONG, UNKNOWN, Density, FeatureShift
from chary.jobs.label import label_table
from chary.report import page as report
from chary.report.page import render_report
from chary.tables import Table, TablePreparation


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


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    n = 120
    x = rng.normal(size=n)
    frame = pl.DataFrame({
        "age": x,
        "city": rng.choice(["Ulm", "Bonn"], n),
        "note": [f"free text {i}" for i in range(n)],
        "y": [("yes" if x[i] > 0 else "no") if abs(x[i]) > 0.8 and i < 90 else None for i in range(n)],
    })  # fmt: skip
    return label_table(Table(frame, "shop.csv", ","), "y")


@pytest.fixture(scope="module")
def page(result):
    return render_report(result)


def test_the_page_is_well_formed_and_asks_for_nothing(page):
    tree = Tree(page)
    assert tree.depth == 0
    assert not {"script", "link", "img", "iframe", "object", "form"} & {tag for _, tag, _ in tree.elements}
    assert not re.search(r"https?://|url\(|@import|javascript:| on\w+=", page)
    assert "default-src 'none'" in page


def test_the_page_says_what_was_found(page, result):
    text = " ".join(" ".join(Tree(page).text).split())
    assert "Labels for y in shop.csv" in text
    assert result.diagnosis.sentence in text
    assert "Strongly biased" in text
    assert "expect more errors than this" in text
    for count in (120, int(result.labels.labeled.sum()), int((result.source == "accepted").sum())):
        assert f"{count:,}" in text
    assert "expected calibration error" in text
    assert "Under bias both are optimistic." in text
    for title in ("Labels by class", "How sure is it?", "Rows to label next", "Settings", "What this rests on"):
        assert title in text


def test_all_fifty_rows_to_label_are_there(page, result):
    section = page.split('id="next"')[1].split("<h2")[0]
    rows = re.findall(r'<tr><td class="n">([\d,]+)</td>', section)
    assert [int(row.replace(",", "")) - 1 for row in rows] == result.next_rows.tolist()


def columns_of_next_rows(page):
    section = page.split('id="next"')[1].split("<h2")[0]
    return re.findall(r"<th>(.*?)</th>", section)[1:]


def test_rows_to_label_start_with_what_names_them(page):
    assert columns_of_next_rows(page) == ["note", "age", "city"]
    assert "Row counts the rows of data from 1, without the" in page


def test_of_many_columns_those_that_differ_most_are_shown():
    rng = np.random.default_rng(0)
    n, name = 120, "a class with quite a long name"
    y = [(name if i % 2 else "no") if i < 60 else None for i in range(n)]
    cells = {f"mean of x{j}": rng.normal(size=n) + 3.0 * (j == 10) * (np.arange(n) < 60) for j in range(12)}
    frame = pl.DataFrame({**cells, "essay": [f"{i} " + "word " * 30 for i in range(n)], "y": y})
    page = render_report(label_table(Table(frame, "wide.csv", ","), "y", rounds=0))
    shown = columns_of_next_rows(page)
    assert shown[:2] == ["essay", "mean of x10"]
    assert len(shown) == 6
    assert '<td class="whole">a class with quit...</td>' in page


def test_dark_and_print_are_provided_for(page):
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


@pytest.mark.parametrize(
    ("verdict", "tone"), [(REPRESENTATIVE, "good"), (MILD, "fair"), (STRONG, "bad"), (UNKNOWN, "fair")]
)
def test_the_verdict_has_its_colour(result, verdict, tone):
    page = render_report(replace(result, diagnosis=replace(result.diagnosis, verdict=verdict)))
    assert f'class="verdict {tone}"' in page
    assert ("fair guide.\n" in page) == (verdict == REPRESENTATIVE)
    assert ("The labelled rows are not representative" in page) == (verdict in (MILD, STRONG))
    assert ("Under bias both are optimistic" in page) == (verdict in (MILD, STRONG))
    assert ("too few rows to tell whether the labelled ones are representative" in page) == (verdict == UNKNOWN)


def test_biased_labels_bring_the_advice_unless_proportions_were_told(result):
    biased = replace(result, diagnosis=replace(result.diagnosis, verdict=STRONG))
    assert "pass it with --class-prior" in render_report(biased)
    told = replace(biased, prior=result.prior._replace(told=True, sentence="you told chary that <b> is all"))
    page = render_report(told)
    assert "pass it with --class-prior" not in page
    assert "You told chary that &lt;b&gt; is all." in page
    assert "If they are not true, many labels are wrong" in page


def test_another_belief_shows_as_labels_that_change(result):
    level = next(level for level in result.prior.levels if level.factor == 2)
    assert '<tr><td class="n">2</td><td' in (page := render_report(result))
    assert f"{level.flipped:.0%}" in page or f"{level.flipped:.1%}" in page


def test_labels_that_are_not_strongly_biased_bring_no_rounds_and_the_page_says_why():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    labels = np.where(x > 0, "yes", "no").astype(object)
    labels[rng.permutation(120)[:80]] = None
    fair = label_table(Table(pl.DataFrame({"x": x, "y": labels.tolist()}), "fair.csv", ","), "y")
    page = " ".join(render_report(fair).split())
    assert "No label was accepted" in page
    assert "chary does not unless asked" in page
    assert "Learners of unlike kinds" in page


def test_of_a_large_table_the_page_says_how_many_rows_took_part(result):
    all_took_part = render_report(result)
    assert "took part" not in all_took_part
    record = {**result.model[-1].history_[0], "n_pool": 20}
    classifier = clone(result.model[-1])
    classifier.__dict__.update(result.model[-1].__dict__, history_=[record])
    part = replace(result, model=Pipeline([result.model.steps[0], ("classify", classifier)]))
    n_unlabeled = int((~result.labels.labeled).sum())
    page = " ".join(render_report(part).split())
    assert f"Of {n_unlabeled} unlabelled rows, 20 drawn at random took part" in page


def test_a_report_without_figures_can_be_made():
    frame = pl.DataFrame({"x": range(12), "c": ["u", "v"] * 6, "y": ["a", "b", *[None] * 10]})
    page = render_report(label_table(Table(frame, "tiny.csv", ","), "y", rounds=0))
    assert Tree(page).depth == 0
    assert "cannot be told" in page
    assert "No label was accepted" in page
    assert "too few" in page


def test_density_outlines_have_a_common_top():
    density = Density(np.arange(3.0), np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.5, 0.0]))
    lines = report._density_lines(density, width=20, height=108)
    assert lines["labeled"] == "0,108 0.0,108.0 10.0,8.0 20.0,108.0 20,108"
    assert lines["unlabeled"] == "0,108 0.0,108.0 10.0,58.0 20.0,108.0 20,108"


def test_the_histogram_counts_every_row():
    confidence = np.array([0.0, 0.04, 0.05, 0.99, 1.0])
    bars = report._histogram(confidence, np.array([True, False, False, True, True]))
    assert len(bars) == 20
    assert bars[0]["title"] == "0.00 to 0.05: 1 accepted, 1 predicted"
    assert bars[-1]["title"] == "0.95 to 1.00: 2 accepted, 0 predicted"
    assert bars[1]["other_height"] == pytest.approx(76)
    assert bars[-1]["accepted_height"] == pytest.approx(152)


def test_a_number_is_not_taken_for_a_category_because_it_is_standardised():
    preparation = TablePreparation().fit({"x": [-1.0, 1.0] * 30, "c": ["u", "v"] * 30})
    shifts = [FeatureShift(j, name, -0.1, 0.25, -0.35, "KS", 0.5) for j, name in enumerate(["x", "c = u"])]
    number, category = [report._shift(shift, preparation) for shift in shifts]
    assert (number["labeled"], number["unlabeled"]) == ("-0.1", "0.25")
    assert category["unlabeled"] == "25%"
