"""Run the benchmarks of cost at a reduced size, and show today's ratios beside the stored ones.

    python benchmarks/run.py [--store] [NAME ...]        (make benchmarks)

Each ratio compares CPU times, or times of a clock where it says so, of one run: what chary takes,
over what the named baseline takes. A ratio that is more than 1.3 times the stored one is marked.
``--store`` keeps today's as the stored ones.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from stored import print_head

HERE = Path(__file__).parent
STORED = HERE / "results" / "benchmarks.txt"
# Worse by this factor is marked: it is more than two runs on a busy machine differ by.
MARKED = 1.3

# The arguments that make a benchmark of cost small enough to be run often.
REDUCED = {
    "fit": ["1", "Rice", "Splice", "DNA"],
    "priors": ["3", "2000x3", "100000x10"],
    "similarity": ["--rows", "20000"],
    "heads": ["--repeats", "5"],
    "startup": ["2"],
    "label": ["--rows", "20000", "--cases", "random"],
    "predict": ["--rows", "1000000", "--files", "2", "--learners", "linear", "mixed"],
    "judge": ["1000000"],
    "review": ["10000", "50000"],
    "growth": ["--part"],
}
# Benchmarks that run.py leaves out, and why.
LEFT_OUT = {
    "audit": "studies what an audit promises",
    "batch_norm": "studies accuracy",
    "beside": "needs another version of chary",
    "class_shares": "studies coverage",
    "coverage": "studies coverage",
    "cross_fitting": "studies coverage",
    "demo": "studies accuracy",
    "explain": "needs tables that are not in the repository",
    "guesses": "studies accuracy",
    "label_beyond_memory": "needs gigabytes, and tables that are not in the repository",
    "mutants": "studies the tests",
    "paired": "studies accuracy",
    "real_audits": "studies coverage",
    "rivals": "studies accuracy",
    "second_look": "studies accuracy",
    "too_easy": "studies accuracy",
    "unseen": "studies accuracy",
}

Ratios = dict[str, float]


def ratios_of(name: str) -> Ratios:
    """Run one benchmark, and return the ratios that it prints."""
    command = [sys.executable, str(HERE / f"{name}.py"), *REDUCED[name]]
    limits = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **limits}
    )
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
    found = re.findall(r"^ratio: (.*) = ([\d.]+)$", done.stdout, re.MULTILINE)
    return {f"{name}: {words}": float(ratio) for words, ratio in found}


def stored_ratios() -> Ratios:
    """Read the ratios of the last run with ``--store``."""
    if not STORED.exists():
        return {}
    found = re.findall(r"^(\w+: .*?) {2,}([\d.]+)$", STORED.read_text(), re.MULTILINE)
    return {words: float(ratio) for words, ratio in found}


def show(words: str, today: float, before: float | None) -> None:
    """Print one ratio beside the stored one."""
    compared = ""
    if before is not None:
        times = today / before
        mark = "   WORSE" if times > MARKED else ""
        compared = f"{before:10.2f}{times:8.2f}{mark}"
    print(f"{words:76}{today:8.2f}{compared}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(REDUCED))
    parser.add_argument("--store", action="store_true", help="keep today's ratios")
    given = parser.parse_args()
    unknown = set(given.names) - set(REDUCED)
    if unknown:
        parser.error(f"{', '.join(unknown)}: not among {', '.join(REDUCED)}.")

    start = perf_counter()
    stored = stored_ratios()
    today: Ratios = {}
    print_head()
    print(
        f"{'what chary takes / what the baseline takes':76}{'today':>8}{'stored':>10}{'times':>8}"
    )
    for name in given.names or REDUCED:
        for words, ratio in ratios_of(name).items():
            today[words] = ratio
            show(words, ratio, stored.get(words))
    print(f"\n{perf_counter() - start:.0f} seconds")
    if given.store:
        _store(stored | today)


def _store(ratios: Ratios) -> None:
    """Write the ratios, as a table that ``stored_ratios`` reads."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print_head()
        for words, ratio in ratios.items():
            show(words, ratio, None)
    STORED.write_text(text.getvalue())


if __name__ == "__main__":
    main()
