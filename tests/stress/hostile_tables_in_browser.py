"""Shows two hundred hostile tables on the pages of ``chary review`` in a real browser.

    python tests/stress/hostile_tables_in_browser.py [--tables 200] [--learn 8]

Every table is opened, rows are drawn and answered by keyboard, and all pages looked at, as wide as
on a phone: no script runs, no element or attribute comes of a cell, no other server is asked, only
tables scroll sideways. Of the first few the labels are learned as well, with short training: every
page then has something to show.
"""

import argparse
import logging
import runpy
import sys
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
    browsing, hostile = (
        runpy.run_path(str(REVIEW / f"{name}.py")) for name in ("browsing", "hostile_tables")
    )
    logging.getLogger("chary.review").setLevel(logging.ERROR)
    _train_shortly()
    walked, failed, requests, start = Counter(), 0, 0, time.perf_counter()
    with browsing["chromium"]() as browser:
        for seed in range(asked.tables):
            rows = 100 if seed % 24 == 12 else 40  # where there are 40 classes
            with tempfile.TemporaryDirectory() as folder:
                table = hostile["write_hostile"](Path(folder), seed, rows)
                learn = seed < asked.learn and table.kind != "many columns"
                try:
                    requests += walk(browsing, browser, table, learn)
                    walked[table.kind] += 1
                except Exception as error:
                    failed += 1
                    print(f"table {seed} ({table.kind}): {error}", flush=True)
    for kind in hostile["KINDS"]:
        print(f"{kind:14} {walked[kind]:4} tables walked through")
    print(f"{requests:,} requests in {time.perf_counter() - start:.0f} s; {failed} tables failed.")
    sys.exit(failed > 0)


def walk(browsing, browser, table, learn: bool) -> int:
    """Go through the pages of one table; returns how many requests that made."""
    from chary.options import ReviewOptions
    from chary.review import begin

    bench = begin([str(table.path)], ReviewOptions(target=table.target))
    with browsing["served"](bench, learn=learn) as base:
        visitor = browsing["Visitor"](browser, base, bench, patience=300, viewport=PHONE)
        try:
            browsing["walk_hostile"](visitor, learn)
        finally:
            visitor.close()
    return visitor.requests


def _train_shortly() -> None:
    """The learners with few trees: what they say does not matter here."""
    from sklearn.ensemble import ExtraTreesClassifier

    import chary.method.mixture as mixed
    from chary.labelling import learners

    boosting = mixed.boosted_trees
    mixed.ExtraTreesClassifier = lambda n, **rest: ExtraTreesClassifier(10, **rest)
    mixed.boosted_trees = lambda numbers: boosting(numbers).set_params(max_iter=5)
    network = learners.DiverseEnsembleClassifier
    learners.DiverseEnsembleClassifier = partial(network, n_steps=150)


if __name__ == "__main__":
    main()
