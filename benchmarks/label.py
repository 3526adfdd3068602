"""``chary label`` on a table of a million rows and fifty columns with 500 labels: wall time and peak memory.

python benchmarks/label.py [rows]
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table


def write_parquet(path: Path, n_rows: int) -> None:
    """44 numbers, 4 categories, a date, and a target known for 500 rows far out along the first column."""
    rng = np.random.default_rng(0)
    numbers = {f"x{j}": rng.normal(size=n_rows) for j in range(44)}
    colours = {f"c{j}": rng.choice(["red", "green", "blue", "black"], n_rows) for j in range(4)}
    day = np.datetime64("2020-01-01") + rng.integers(0, 1000, n_rows).astype("timedelta64[D]")
    score = sum(rng.normal() * numbers[f"x{j}"] for j in range(40))
    far_out = np.argsort(-np.abs(numbers["x0"]) + 0.5 * rng.normal(size=n_rows))[: max(1000, n_rows // 200)]
    target = np.full(n_rows, None, dtype=object)
    given = rng.choice(far_out, 500, replace=False)
    target[given] = np.where(score[given] > 0, "yes", "no")
    pl.DataFrame({**numbers, **colours, "day": day, "target": target.tolist()}).write_parquet(path)


def main() -> None:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.parquet"
        write_parquet(path, n_rows)
        start = perf_counter()
        code = "import sys; from chary.cli import main; sys.exit(main())"
        done = subprocess.run(
            [sys.executable, "-c", code, "label", str(path), "--target", "target", "--json"],
            check=True,
            capture_output=True,
            text=True,
        )
        seconds = perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    table = Table(title=f"chary label, {n_rows:,} rows x 50 columns of Parquet, 500 labels", title_justify="left")
    for name in ("wall time", "CPU time", "peak memory", "verdict", "accepted", "predicted"):
        table.add_column(name, justify="right")
    figures = json.loads(done.stdout)
    table.add_row(
        f"{seconds:.0f} s",
        f"{used.ru_utime + used.ru_stime:.0f} s",
        f"{used.ru_maxrss / 2**20:.2f} GiB",
        figures["diagnosis"]["verdict"],
        f"{figures['sources']['accepted']:,}",
        f"{figures['sources']['predicted']:,}",
    )
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
