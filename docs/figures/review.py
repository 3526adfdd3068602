"""Walks through ``chary review`` with the quickstart's customers; writes review-*.png.

    python docs/figures/review.py    # needs Chromium, Playwright and Pillow

Every page as it is on a wide screen and on a phone, side by side, once light and once dark.
"""

import runpy
import tempfile
import time
from io import BytesIO
from pathlib import Path

from chary.cli.demo import invented_customers
from chary.options import ReviewOptions
from chary.review import begin
from chary.review.audit_page import answer, audit_page, draw_more
from chary.review.truth_page import accept

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
browsing = runpy.run_path(str(ROOT / "tests/review/browsing.py"))
SIZES = ({"width": 1280, "height": 900}, {"width": 390, "height": 900})
PLACES = {
    "start": "/",
    "audit": "/audit",
    "truth": "/truth",
    "review": "/review",
    "result": "/result",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, browsing["chromium"]() as browser:
        invented_customers().write_csv(Path(folder) / "customers.csv")
        bench = begin([str(Path(folder) / "customers.csv")], ReviewOptions(target="churn"))
        with browsing["served"](bench) as base:
            for name in steps(bench):
                shoot(browser, base, bench, name)


def steps(bench):
    """Use the pages as a person would; name each when there is something to see on it."""
    let_it_learn(bench)
    yield "start"
    draw_more(bench, {"k": 30, "rule": "planned"})
    label(bench, 12)
    yield "audit"
    label(bench, 30)
    let_it_learn(bench)
    yield "truth"
    yield "review"
    accept(bench, {"error": 0.2})
    let_it_learn(bench)
    yield "result"


def let_it_learn(bench) -> None:
    """Wait until nothing is learned any more."""
    while (work := bench.background.view())["running"]:
        time.sleep(0.05)
    assert work["error"] == ""


def label(bench, upto: int) -> None:
    """Answer as somebody who knows the customers would."""
    while (page := audit_page(bench, {}))["row"] and page["answered"] < upto:
        cells = {field["name"]: field["text"] for field in page["row"]["fields"]}
        joy = (
            float(cells["visits"])
            + 1.5 * (cells["plan"] == "gold")
            + 0.03 * (float(cells["age"]) - 45)
            - 3.5
        )
        told = "yes" if joy < 0 else "no"
        answer(bench, {"place": page["row"]["place"], "answer": told, "expected": ""})


def shoot(browser, base: str, bench, name: str) -> None:
    """A page in both schemes and both widths."""
    from PIL import Image

    for scheme in ("light", "dark"):
        shots = []
        for size in SIZES:
            visitor = browsing["Visitor"](browser, base, bench, viewport=size, color_scheme=scheme)
            visitor.go(PLACES[name])
            visitor.page.wait_for_timeout(300)
            shots.append(Image.open(BytesIO(visitor.page.screenshot())))
            visitor.close()
        both = Image.new(
            "RGB", (sum(shot.width for shot in shots) + 24, shots[0].height), "#808890"
        )
        both.paste(shots[0], (0, 0))
        both.paste(shots[1], (shots[0].width + 24, 0))
        smaller = both.resize((both.width * 3 // 4, both.height * 3 // 4), Image.Resampling.LANCZOS)
        smaller.quantize(128, Image.Quantize.MAXCOVERAGE).save(
            HERE / f"review-{name}-{scheme}.png", optimize=True
        )


if __name__ == "__main__":
    main()
