"""Two hundred hostile tables in; what came of the pages of ``chary review`` in a real browser out.

    python tests/stress/hostile_tables_in_browser.py [--tables 200] [--learn 8]

Every table is opened, rows are drawn and answered by keyboard, and all pages looked at, as wide as on a phone: no
script runs, no element or attribute comes of a cell, no other server is asked, only tables scroll sideways.
Of the first few the labels are learned as well, with short training: every page then has something to show.
"""

import argparse
import logging
import runpy
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

PHONE = {"width": 390, "height": 800}
REVIEW = Path(__file__).parents[1] / "review"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--learn", type=int, default=8)
    asked = parser.parse_args()
    from chary.review import begin
    from chary.tables import TableError

    browsing, hostile = (runpy.run_path(str(REVIEW / f"{name}.py")) for name in ("browsing", "hostile_tables"))
    logging.getLogger("chary.review").setLevel(logging.ERROR)
    _train_shortly()
    walked, refused, pages, requests = Counter(), Counter(), 0, 0
    start, slowest = time.perf_counter(), 0.0
    with browsing["chromium"]() as browser:
        for seed in range(asked.tables):
            with tempfile.TemporaryDirectory() as folder:
                table = hostile["write_hostile"](Path(folder), seed, rows=100 if seed % 3 == 0 else 40)
                begun = time.perf_counter()
                try:
                    bench = begin([str(table.path)], table.target)
                except TableError as error:  # refused in one sentence: no page at all
                    refused[f"{table.kind}: {str(error)[-60:]}"] += 1
                    continue
                learn = seed < asked.learn and table.kind != "many columns"
                with browsing["served"](bench, learn=learn) as base:
                    visitor = browsing["Visitor"](browser, base, bench, viewport=PHONE)
                    browsing["walk_hostile"](visitor, learn)
                    requests += visitor.requests
                    visitor.close()
                pages += 5
                walked[table.kind] += 1
                slowest = max(slowest, time.perf_counter() - begun)
    for kind in hostile["KINDS"]:
        print(f"{kind:14} {walked[kind]:4} tables walked through")
    for sentence, n in refused.items():
        print(f"refused {n:4} {sentence}")
    seconds = time.perf_counter() - start
    n = sum(walked.values())
    print(f"{n} tables, {pages} pages, {requests:,} requests in {seconds:.0f} s, at most {slowest:.1f} s a table")
    print("No script ran, no element was added, nobody else was asked, nothing was too wide.")


def _train_shortly() -> None:
    """The learners with few trees: what they say does not matter here."""
    from sklearn.ensemble import ExtraTreesClassifier

    import chary.method.mixed as mixed
    from chary.jobs import LEARNERS

    boosting, network = mixed.boosted_trees, LEARNERS["network"]
    mixed.ExtraTreesClassifier = lambda n, **rest: ExtraTreesClassifier(10, **rest)
    mixed.boosted_trees = lambda: boosting().set_params(max_iter=5)
    LEARNERS["network"] = network._replace(estimator=partial(network.estimator, n_steps=150))


if __name__ == "__main__":
    main()
