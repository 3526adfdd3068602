"""What ``chary judge`` costs on a large table, beside reading that table: wall, CPU, peak memory.

    python benchmarks/judge.py [rows] [folder]

A table of ten columns, as Parquet and as CSV. Draw thirty rows; judge the labels by their answers;
the same with a confidence column, which has to be read as a whole. Beside them Polars reading the
file, and an import of chary.
"""

import os
import subprocess
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table
from stored import print_head, print_ratio

CHARY = [sys.executable, "-c", "import sys; from chary.cli import main; sys.exit(main())"]


def write_tables(folder: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    columns = {f"x{j}": np.round(rng.normal(size=n), 3) for j in range(6)}
    columns |= {
        "id": np.arange(n),
        "region": rng.integers(0, 20, n),
        "sure": np.round(rng.random(n), 4),
    }
    labels = pl.Series("rule", np.array(["bug", "wish", "praise"])[rng.integers(0, 3, n)])
    frame = pl.DataFrame(columns).with_columns(labels)
    frame.write_parquet(folder / "table.parquet")
    frame.write_csv(folder / "table.csv")


def measured(words: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak MiB of one call."""
    start = perf_counter()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(child.stderr.read().decode() if child.stderr else status)
    return perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def answer(sheet: Path) -> None:
    """Somebody who says the same of every row."""
    frame = pl.read_csv(sheet, infer_schema=False)
    frame.with_columns(chary_truth=pl.lit("bug")).write_csv(sheet)


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp())
    print_head()
    found = Table(title=f"chary judge, {n:,} rows x 10 columns", title_justify="left")
    for name in ("file", "what", "wall s", "CPU s", "peak MiB"):
        found.add_column(name, justify="left" if name in ("file", "what") else "right")
    rows = [("", "import chary.labelling", [sys.executable, "-c", "import chary.labelling"])]
    ratios = []
    # In a process of its own: the peak of a child begins with what its parent holds.
    maker = get_context("spawn").Process(target=write_tables, args=(folder, n))
    maker.start()
    maker.join()
    for path in (folder / "table.parquet", folder / "table.csv"):
        size, sheet = (
            f"{path.suffix[1:]}, {path.stat().st_size >> 20:,} MiB",
            folder / "table.judge.csv",
        )
        # That of the other file holds answers, which are not overwritten.
        sheet.unlink(missing_ok=True)
        read = "read_parquet" if path.suffix == ".parquet" else "read_csv"
        judge = [*CHARY, "judge", str(path), "--labels", "rule", "--force"]
        rows = [
            *rows,
            (
                size,
                f"polars.{read}: the whole table",
                [sys.executable, "-c", f"import polars as p; p.{read}({str(path)!r})"],
            ),
            (size, "draw 30 rows", judge),
            (size, "judge by 30 answers", [*judge, "--audit", str(sheet)]),
            (
                size,
                "the same, by region, with a confidence",
                [*judge, "--audit", str(sheet), "--confidence", "sure", "--by", "region"],
            ),
        ]
        reading = 0.0
        for row in rows:
            taken = measured(row[2])
            found.add_row(*row[:2], *(f"{number:,.1f}" for number in taken))
            if row[1].startswith("polars"):
                reading = taken[1]
            elif reading:
                ratios.append(
                    (f"{row[1]}, {path.suffix[1:]}", taken[1], "Polars reads all", reading)
                )
            if row[1].startswith("draw"):
                answer(sheet)
        rows = []
    Console(width=110).print(found)
    for ratio in ratios:
        print_ratio(*ratio)


if __name__ == "__main__":
    main()
