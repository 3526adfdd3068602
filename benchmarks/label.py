"""``chary label`` on a million rows and fifty columns with 500 labels: wall time and peak memory.

python benchmarks/label.py [--rows N] [--cases NAME ...] [--before FOLDER]

With ``--before`` the same is done by another version, whose ``src`` is in that folder
(``git archive COMMIT``), just before each case: only ratios of one run can be compared, where
others use the machine, too.
"""

import argparse
import json
import os
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
from stored import print_head, print_ratio

PRIOR = ("--class-prior", "yes=50%", "--class-prior", "no=50%")
# Whether the labels are biased, and what is told besides.
CASES = {"biased": (True, ()), "biased, shares told": (True, PRIOR), "random": (False, ())}


def write_parquet(path: Path, n_rows: int, biased: bool) -> None:
    """Make 44 numbers, 4 categories, a date and a target known for 500 rows.

    Those rows lie far out along the first column, or not.
    """
    rng = np.random.default_rng(0)
    numbers = {f"x{j}": rng.normal(size=n_rows) for j in range(44)}
    colours = {f"c{j}": rng.choice(["red", "green", "blue", "black"], n_rows) for j in range(4)}
    day = np.datetime64("2020-01-01") + rng.integers(0, 1000, n_rows).astype("timedelta64[D]")
    score = sum(rng.normal() * numbers[f"x{j}"] for j in range(40))
    far_out = np.argsort(-np.abs(numbers["x0"]) + 0.5 * rng.normal(size=n_rows))[
        : max(1000, n_rows // 200)
    ]
    target = np.full(n_rows, None, dtype=object)
    given = rng.choice(far_out if biased else n_rows, 500, replace=False)
    target[given] = np.where(score[given] > 0, "yes", "no")
    pl.DataFrame({**numbers, **colours, "day": day, "target": target.tolist()}).write_parquet(path)


def run(
    path: Path, told: tuple[str, ...], version: Path | None = None
) -> tuple[float, resource.struct_rusage, dict]:
    """Seconds, what the process used, and what it says; by another version, if one is given."""
    start = perf_counter()
    environment = (
        os.environ if version is None else {**os.environ, "PYTHONPATH": str(version / "src")}
    )
    code = "import sys; from chary.cli import main; sys.exit(main())"
    command = [
        sys.executable,
        "-c",
        code,
        "label",
        str(path),
        "--target",
        "target",
        "--json",
        "--force",
        *told,
    ]
    with path.with_suffix(".json").open("w+") as out:
        process = subprocess.Popen(command, stdout=out, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        seconds = perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"chary label ended with exit code {process.returncode}")
        out.seek(0)
        return seconds, used, json.load(out)


def copy_seconds(path: Path) -> float:
    """CPU seconds of a process in which Polars reads the table and writes it."""
    copy = str(path.with_suffix(".copy"))
    code = f"import polars as pl; pl.read_parquet({str(path)!r}).write_parquet({copy!r})"
    process = subprocess.Popen([sys.executable, "-c", code])
    _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--before", type=Path)
    asked = parser.parse_args()
    print_head()
    title = f"chary label, {asked.rows:,} rows x 50 columns of Parquet, 500 labels"
    table = Table(title=title, title_justify="left")
    table.add_column("labels")
    for name in ("version", "wall time", "CPU time", "peak memory", "verdict", "predicted"):
        table.add_column(name, justify="right")
    ratios = []
    for name in asked.cases:
        biased, told = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "big.parquet"
            write_parquet(path, asked.rows, biased)
            versions = (
                {"now": None} if asked.before is None else {"before": asked.before, "now": None}
            )
            found = {word: run(path, told, version) for word, version in versions.items()}
            copying = copy_seconds(path)
        for word, (seconds, used, figures) in found.items():
            table.add_row(
                name,
                word,
                f"{seconds:.0f} s",
                f"{used.ru_utime + used.ru_stime:.0f} s",
                f"{used.ru_maxrss / 2**20:.2f} GiB",
                figures["diagnosis"]["verdict"],
                f"{figures['sources']['predicted']:,}",
            )
        _, used, _ = found["now"]
        cpu = used.ru_utime + used.ru_stime
        ratios.append((f"chary label, {name} labels", cpu, "Polars copies", copying))
        if asked.before is not None:
            (_, old, _), (_, new, _) = found["before"], found["now"]
            cpu = (new.ru_utime + new.ru_stime) / (old.ru_utime + old.ru_stime)
            table.add_row(
                name, "ratio", "", f"{cpu:.2f}", f"{new.ru_maxrss / old.ru_maxrss:.2f}", "", ""
            )
    Console(width=110).print(table)
    for ratio in ratios:
        print_ratio(*ratio)


if __name__ == "__main__":
    main()
