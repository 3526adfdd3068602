"""The figures of docs/how-to/large-tables.md are those that benchmarks/predict.py stored."""

import re
from pathlib import Path

HERE = Path(__file__).parents[2]
PAGE = (HERE / "docs/how-to/large-tables.md").read_text()
STORED = (HERE / "benchmarks" / "results" / "predict.txt").read_text()
NAMES = {
    "Polars, read and write, the limit": "Polars, read and write",
    **{f"{learner}": f"chary predict, {learner}" for learner in ("linear", "network", "mixed")},
}


def stored(name):
    """CPU seconds, MiB and microseconds a row, on the most files that were tried."""
    rows = re.findall(
        rf"^{name} +(\d+) +[\d.]+ +([\d.]+) +(\d+) +([\d.]+)(?: +([\d.]+) +([\d.]+))?$",
        STORED,
        re.MULTILINE,
    )
    return max(rows, key=lambda row: int(row[0]))


def test_the_table_is_that_of_the_stored_run():
    table = PAGE[PAGE.index("## What it costs") :]
    for words, name in NAMES.items():
        files, cpu, peak, each, wall_times, cpu_times = stored(name)
        (row,) = re.findall(rf"^\| {words}(?: \(.*\))? \| (.*) \|$", table, re.MULTILINE)[:1]
        found = [cell.strip() for cell in row.split("|")]
        expected = [files, cpu, each, f"{wall_times} / {cpu_times}" if wall_times else "", peak]
        assert found == expected, words
