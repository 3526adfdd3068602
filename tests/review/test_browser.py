"""The pages of ``chary review`` in a real browser: by keyboard, hostile tables, accessibility."""

import csv
import re
import runpy
from pathlib import Path

import pytest

from chary._words import percent
from chary.cli.demo import invented_customers
from chary.options import ReviewOptions
from chary.review.audit_page import answer, audit_page
from chary.review.truth_page import truth_page

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
ASSETS = ROOT / "src/chary/review/assets"

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
browsing = runpy.run_path(str(HERE / "browsing.py"))
served, chromium, Visitor = (browsing[name] for name in ("served", "chromium", "Visitor"))
hostile = runpy.run_path(str(HERE / "hostile_tables.py"))
needs_browser = pytest.mark.skipif(
    not browsing["CHROMIUM"], reason="there is no Chromium on this machine"
)


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def customers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("customers")
    invented_customers().write_csv(folder / "customers.csv")
    return folder / "customers.csv"


@needs_browser
def test_the_walk(customers, browser, tmp_path):
    """From the table to accepted labels; one test, as each step needs the one before."""
    from chary.review import begin

    bench = begin([str(customers)], ReviewOptions(target="churn", learner="linear"))
    with served(bench) as base:
        visitor = Visitor(browser, base, bench)
        start_tells_what_was_read_and_draws_thirty_rows(visitor, customers)
        thirty_answers_by_keyboard_with_a_reload_in_the_middle(visitor, customers)
        undo_skip_and_another_class(visitor, customers)
        truth_shows_the_interval_and_accepts(visitor)
        what_is_downloaded_is_what_was_written(visitor, customers, tmp_path)
        result_shows_the_first_rows(visitor)
        doubtful_labels_are_accepted_changed_skipped_and_taken_back(visitor, customers)
        an_answer_given_elsewhere_is_kept_and_shown(visitor)
        a_key_that_is_held_down_answers_once(visitor)
        for place in ("/", "/audit", "/truth", "/review", "/result"):
            everybody_can_use(visitor, place)
        visitor.check()
        visitor.close()


def leaves(visitor):
    """What a person who knows the customers would say: read off the page, as they would."""
    cells = visitor.page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#fields > div')].map((one) => "
        "[one.querySelector('dt').textContent, one.querySelector('dd').textContent]))"
    )
    joy = (
        float(cells["visits"])
        + 1.5 * (cells["plan"] == "gold")
        + 0.03 * (float(cells["age"]) - 45)
        - 3.5
    )
    return "2" if joy < 0 else "1"


def answers_of(path, target="churn"):
    with path.open(newline="") as file:
        return [row[target] for row in csv.DictReader(file)]


def start_tells_what_was_read_and_draws_thirty_rows(visitor, customers):
    page = visitor.go("/")
    assert "400 rows, 60 of them with a label" in visitor.text("read")
    assert page.locator("#columns tbody tr").count() == 6
    assert visitor.text("classes").startswith("no")
    page.wait_for_selector("#verdict:not([hidden])")  # by itself, once the background knows
    assert "biased" in visitor.text("verdict").lower()
    assert page.input_value("#draw-k") == "30"
    visitor.press("Enter")
    page.wait_for_url("**/audit")
    visitor.settle()
    assert answers_of(customers.with_name("customers.audit.csv")) == [""] * 30


def thirty_answers_by_keyboard_with_a_reload_in_the_middle(visitor, customers):
    sheet = customers.with_name("customers.audit.csv")
    page = visitor.go("/audit")
    for place in range(1, 31):
        visitor.type_answer(leaves(visitor), f"Row {place}:")
        assert answers_of(sheet)[place - 1] in ("yes", "no")  # what the page says is saved, is
        if place == 12:
            shown = page.text_content("#fields")
            page.goto(visitor.base + "/audit")
            visitor.settle()
            assert visitor.text("progress-words") == "Row 13 of 30: 12 labelled, 0 skipped, 18 left"
            assert shown == page.text_content("#fields")
    assert page.is_visible("#all-done")
    assert "" not in answers_of(sheet)


def undo_skip_and_another_class(visitor, customers):
    sheet = customers.with_name("customers.audit.csv")
    before = answers_of(sheet)
    page = visitor.page
    visitor.type_answer("u", "row 30 is taken back")
    assert answers_of(sheet)[29] == ""
    visitor.type_answer("s", "skipped")
    assert answers_of(sheet)[29] == "?"
    visitor.type_answer("u", "taken back")
    visitor.press("n")
    page.keyboard.type("s?1u")  # no key does anything while a name is typed
    assert page.input_value("#typed-name") == "s?1u"
    page.fill("#typed-name", "NA")
    visitor.press("Enter")
    visitor.until("answer-error", "no label")
    visitor.press("Escape")
    assert answers_of(sheet)[29] == ""
    visitor.type_answer({"no": "1", "yes": "2"}[before[29]], "saved")
    assert answers_of(sheet) == before


def truth_shows_the_interval_and_accepts(visitor):
    page = visitor.go("/truth")
    page.wait_for_selector("#known")  # by itself, once it is learned
    visitor.learned()
    truth = truth_page(visitor.bench, {})
    after = truth["bars"][0]
    assert visitor.text("headline") == f"{percent(after['low'])} to {percent(after['high'])} right"
    picture = page.locator("#accuracy .range").first
    assert float(picture.get_attribute("x").rstrip("%")) == pytest.approx(
        100 * after["low"], abs=0.01
    )
    promised = page.locator("#accuracy .mark").first.get_attribute("x1")
    assert float(promised.rstrip("%")) == pytest.approx(100 * after["mark"], abs=0.01)
    last = truth["acceptance"][-1]
    row = page.locator("#accept tbody tr").last
    assert f"{last['n_accepted']:,} rows" in row.text_content()
    row.locator("input").check()
    page.click("#accept-button")
    page.wait_for_selector("#accept-none")
    assert visitor.bench.options.error == pytest.approx(0.3)
    assert "marks these labels" in visitor.text("said")
    assert page.locator("#accept input:checked").get_attribute("value") == "0.3"


def what_is_downloaded_is_what_was_written(visitor, customers, tmp_path):
    page = visitor.go("/result")
    visitor.learned()
    for kind, name in {"labels": "customers.labeled.csv", "model": "customers.model.chary"}.items():
        with page.expect_download() as download:
            page.click(f"#files a[href='/download/{kind}']")
        download.value.save_as(tmp_path / name)
        assert download.value.suggested_filename == name
        assert (tmp_path / name).read_bytes() == customers.with_name(name).read_bytes()


def result_shows_the_first_rows(visitor):
    page = visitor.go("/result")
    assert "The first 50 of 400 rows" in visitor.text("matching")
    assert page.locator("#rows tbody tr").count() == 50


def doubtful_labels_are_accepted_changed_skipped_and_taken_back(visitor, customers):
    check = customers.with_name("customers.check.csv")
    page = visitor.go("/review")
    page.wait_for_selector("#row:not([hidden])")
    assert "do not measure accuracy" in page.text_content(".banner")
    proposed, first = visitor.text("proposed"), visitor.text("row-title")
    visitor.type_answer("Enter", f"“{proposed}”, saved")
    assert answers_of(check) == [proposed]
    second = visitor.text("row-title")
    visitor.press("s")
    page.wait_for_function(
        "(t) => document.getElementById('row-title').textContent !== t", arg=second
    )
    assert len(answers_of(check)) == 1  # a row that is skipped is left as it is
    other = {"yes": "1", "no": "2"}[visitor.text("proposed")]
    visitor.type_answer(other, "saved")
    assert len(answers_of(check)) == 2
    visitor.type_answer("u", "taken back")
    visitor.type_answer("u", "taken back")
    visitor.until("row-title", first)
    assert [text for text in answers_of(check) if text] == []


def an_answer_given_elsewhere_is_kept_and_shown(visitor):
    retract_answers(visitor, 1)
    page = visitor.go("/audit")
    other = visitor.tab()
    other.goto(visitor.base + "/audit")
    other.wait_for_selector("#answers:not([hidden])")
    other.keyboard.press("1")
    other.wait_for_selector("#all-done:not([hidden])")
    visitor.press("2")
    page.wait_for_selector("#conflict:not([hidden])")
    assert "not saved" in visitor.text("conflict")
    assert audit_page(visitor.bench, {"place": "30"})["row"]["answer"] == "no"
    visitor.press("Enter")  # the marked next step: as it is now
    page.wait_for_selector("#all-done:not([hidden])")
    other.close()


def a_key_that_is_held_down_answers_once(visitor):
    retract_answers(visitor, 2)
    page = visitor.go("/audit")
    page.keyboard.down("1")
    page.keyboard.down("1")  # what a keyboard sends when the finger stays
    page.keyboard.up("1")
    visitor.until("saved", "Row 29")
    assert audit_page(visitor.bench, {})["left"] == 1
    visitor.type_answer("2", "Row 30")


def retract_answers(visitor, n):
    """Take the last answers back, as in a spreadsheet."""
    for place in range(31 - n, 31):
        answer(visitor.bench, {"place": place, "answer": ""})


NAMELESS = """() => [...document.querySelectorAll(
        "a, button, input, select, summary, [tabindex='0'], [role=img]")]
    .filter((one) => one.checkVisibility())
    .filter((one) => !(one.textContent.trim() && !one.matches("select")) &&
        !one.getAttribute("aria-label") &&
        ![...(one.labels ?? [])].some((label) => label.textContent.trim()))
    .map((one) => one.outerHTML)"""
SMALL = """() => [...document.querySelectorAll("a, button, input, select, summary")]
    .filter((one) => one.checkVisibility() && !one.matches("p > a:not(.main, .plain), .jump"))
    .filter((one) => { const box = (one.closest("label") ?? one).getBoundingClientRect();
        return box.width < 24 || box.height < 24; }).map((one) => one.outerHTML)"""
FOCUS = """() => { const all = [...document.querySelectorAll(
        "a, button, input, select, summary, [tabindex='0']")];
    const one = document.activeElement; const style = getComputedStyle(one);
    const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    return [all.indexOf(one), seen]; }"""


def everybody_can_use(visitor, place):
    """Check names and sizes of controls, the order and visibility of focus, and the width."""
    page = visitor.go(place)
    assert page.locator("h1:visible").count() == 1
    visitor.check()
    assert page.get_attribute("html", "lang") == "en"
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(SMALL) == []
    before = -1
    for _ in range(12):
        visitor.press("Tab")
        order, is_seen = page.evaluate(FOCUS)
        if order < 0:  # past the last
            break
        assert is_seen
        assert order > before
        before = order
    for width in (390, 640):  # a phone; 1,280 pixels at twice the size
        page.set_viewport_size({"width": width, "height": 700})
        assert visitor.fits()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.evaluate("() => document.activeElement.blur()")
    visitor.press("?")
    page.wait_for_selector("#help[open]")
    visitor.press("Escape")
    assert page.locator("[role=status], [aria-live]").count() >= 2


@needs_browser
def test_the_column_and_its_values_are_chosen_on_the_page(customers, browser, tmp_path):
    from chary.review import begin

    table = tmp_path / "table.csv"
    table.write_text(customers.read_text().replace(",yes\n", ",offen\n", 3))
    bench = begin([str(table)], ReviewOptions(learner="linear"))
    with served(bench) as base:
        visitor = Visitor(browser, base, bench)
        page = visitor.page
        assert page.locator("#targets input").first.get_attribute("value") == "churn"
        page.check("#targets input[value=churn]")
        page.wait_for_selector("#values li")
        assert page.locator("#values li:has-text('offen') input").is_checked() is False
        assert visitor.text("to-label") == "Label the 343 rows that have no label"
        everybody_can_use(visitor, "/")
        page.check("#targets input[value=churn]")
        page.check("#values li:has-text('offen') input")
        page.click("#values-part button.main")
        page.wait_for_selector("#classes li")
        assert "60 of them with a label" in visitor.text("read")
        assert bench.options.classes == ("offen",)
        page.select_option("#columns tr:has-text('age') select", "leave out")
        page.wait_for_selector("#columns tr.soft:has-text('age')")
        visitor.check()
        visitor.close()


@needs_browser
def test_labels_under_test_are_judged_blind(customers, browser, tmp_path):
    from chary.review import begin

    table = tmp_path / "table.csv"
    with customers.open() as file:
        rows = list(csv.reader(file))
    table.write_text(
        "\n".join(
            ",".join([*row[1:6], "churn_by_vendor" if i == 0 else "yn"[i % 2]])
            for i, row in enumerate(rows)
        )
    )
    bench = begin([str(table)], ReviewOptions(labels=("churn_by_vendor",)))
    with served(bench) as base:
        visitor = Visitor(browser, base, bench)
        assert "400 rows" in visitor.text("read")
        assert visitor.page.locator("nav a").all_text_contents()[-1].startswith("Result")
        assert visitor.page.locator("nav a", has_text="Review").count() == 0
        visitor.page.fill("#draw-k", "4")
        visitor.page.click("#draw-button")
        visitor.page.wait_for_selector("#answers:not([hidden])")
        assert "vendor" not in visitor.page.text_content("main")
        for place in range(1, 5):
            visitor.type_answer("1", f"Row {place}")
        visitor.go("/truth").wait_for_selector("#known")
        assert visitor.text("headline").endswith(" right")
        visitor.check()
        visitor.close()


@needs_browser
@pytest.mark.parametrize(
    ("seed", "rows", "learn"), [(7, 40, True), (6, 20, False), (12, 100, False)]
)
def test_hostile_tables_are_text(seed, rows, learn, browser, tmp_path):
    """Everything hostile at once, learned too; many columns; 40 classes. More in tests/stress."""
    from chary.review import begin

    table = hostile["write_hostile"](tmp_path, seed, rows, many=400)
    bench = begin([str(table.path)], ReviewOptions(target=table.target, learner="linear"))
    with served(bench, learn=learn) as base:
        visitor = Visitor(browser, base, bench, viewport={"width": 390, "height": 800})
        browsing["walk_hostile"](visitor, learn)
        visitor.close()


def test_colours_can_be_read():
    """Text on its ground in every colour: 4.5 to 1; edges and pictures 3 to 1 (WCAG AA)."""
    light, dark = schemes((ASSETS / "review.css").read_text())
    assert set(light) == set(dark)
    for colours in (light, dark):
        for ground in ("paper", "panel"):
            for ink in ("ink", "soft", "good", "fair", "bad", "link"):
                assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
            for mark in ("edge", "other", "labelled", "button"):
                assert contrast(colours[mark], colours[ground]) >= 3, (mark, ground)
        for button in ("button", "danger"):
            assert contrast(colours[f"on-{button}"], colours[button]) >= 4.5, button


def schemes(css):
    """The colours of the light scheme, and of the dark one."""
    blocks = re.findall(r":root \{(.*?)\}", css, flags=re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#\w{6});", block)) for block in blocks[:2]]


def contrast(one, other):
    """Ratio of the relative luminances of two sRGB colours, (L1 + 0.05) / (L2 + 0.05)."""
    lights = sorted(map(_luminance, (one, other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_script_makes_no_markup_of_text():
    script = (ASSETS / "review.js").read_text()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|https?://(?!www\.w3\.org/2000/svg)",
        script,
    )
    for template in (ASSETS.parent / "templates").glob("*.html"):
        assert not re.search(
            r"\bstyle=|<style|\bon\w+=|<script(?! type=\"module\" src=\"/assets/)|https?://|\|safe",
            template.read_text(),
        )
