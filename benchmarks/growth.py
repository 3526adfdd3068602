"""How time and memory of ``chary label`` and ``chary predict`` grow: a table and a picture.

    python benchmarks/growth.py [--part] > benchmarks/results/growth.txt

One size grows and the others stay: rows, columns, classes and labels, on tables of normal numbers
in Parquet. The exponent is the slope of the logarithms of CPU time, less that of a table of 200
rows (best of three), since the size before, where that took half a second more: 1 is linear, n log
n is 1.1 from 100,000 to 1,000,000. ``--part`` takes rows alone, a tenth of them, and draws nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from stored import ROOT, print_head, print_ratio


class Size(NamedTuple):
    """How large a table is."""

    rows: int = 10_000
    columns: int = 10
    classes: int = 2
    labels: int = 500


SIZES: dict[str, tuple[int, ...]] = {
    "rows": (10_000, 100_000, 1_000_000),
    "columns": (10, 100, 1_000),
    "classes": (2, 10, 50),
    "labels": (500, 2_000, 8_000),
}
# A smaller cost above the start, in seconds, tells nothing of growth: two starts differ by as much.
LEAST = 0.5
LABEL = ["label", "t.parquet", "--target", "y", "--force"]
PREDICT = ["predict", "t.model.chary", "new.parquet", "--out", "out.parquet", "--force"]
SMALLEST = Size(rows=200, labels=100)
PICTURE = ROOT / "docs" / "figures" / "growth.png"


class Cost(NamedTuple):
    """What a process took."""

    cpu: float  # seconds
    memory: float  # MiB, at most


def write_tables(folder: Path, size: Size) -> None:
    """Write a table whose first rows have a label, and the same without the target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((size.rows, size.columns))
    score = X[:, 0] + X[:, 1] + rng.standard_normal(size.rows) / 2
    edges = np.quantile(score, np.linspace(0, 1, size.classes + 1)[1:-1])
    names = pl.Series("y", [f"class {code:02}" for code in np.digitize(score, edges)])
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(size.columns)])
    frame.write_parquet(folder / "new.parquet")
    is_labeled = pl.Series(np.arange(size.rows) < size.labels)
    target = pl.select(pl.when(is_labeled).then(names)).to_series().alias("y")
    frame.with_columns(target).write_parquet(folder / "t.parquet")


def cost(folder: Path, words: list[str]) -> Cost:
    """Run a command of chary, and measure it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "chary", *words], cwd=folder, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{words} failed.")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def costs_of(size: Size) -> tuple[Cost, Cost]:
    """Measure ``label`` and ``predict`` on tables of a size."""
    with tempfile.TemporaryDirectory() as folder:
        # A process of its own: a child's memory counts from that of the process that starts it.
        code = (
            f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import growth; "
            f"growth.write_tables(growth.Path({folder!r}), growth.Size(*{tuple(size)}))"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
        return cost(Path(folder), LABEL), cost(Path(folder), PREDICT)


def exponent(sizes: list[int], costs: list[float]) -> str:
    """Compute the slope of the logarithms between the two largest sizes; a dash if unknown."""
    if costs[-2] < LEAST or costs[-1] <= 0:
        return "-"
    slope = np.log(costs[-1] / costs[-2]) / np.log(sizes[-1] / sizes[-2])
    return f"{slope:.2f}"


def draw(measured: dict[str, dict[int, tuple[Cost, Cost]]], starts: tuple[Cost, Cost]) -> None:
    """Draw seconds and MiB against each size, above those of the smallest table."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "chary"
    figure = Figure(figsize=(11, 5), layout="constrained")
    grid = figure.subplots(2, len(measured), sharey="row")
    for (name, by_size), column in zip(measured.items(), grid.T, strict=True):
        for c, (command, style) in enumerate((("label", "o-"), ("predict", "s--"))):
            for axes, quantity in zip(column, Cost._fields, strict=True):
                values = [
                    getattr(costs[c], quantity) - getattr(starts[c], quantity)
                    for costs in by_size.values()
                ]
                axes.loglog(list(by_size), np.maximum(values, 0.01), style, label=command)
        for axes in column:
            axes.xaxis.set_minor_formatter("")
            axes.set_xticks(list(by_size), [f"{size:,}" for size in by_size])
        column[1].set_xlabel(name)
    grid[0, 0].set_ylabel("CPU seconds")
    grid[1, 0].set_ylabel("MiB")
    grid[0, 0].legend(frameon=False)
    figure.savefig(PICTURE, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="store_true", help="small sizes, rows alone, no picture")
    is_part = parser.parse_args().part
    print_head()
    runs = [costs_of(SMALLEST) for _ in range(1 if is_part else 3)]
    starts = min(label for label, _ in runs), min(predict for _, predict in runs)
    print("CPU seconds and MiB at most, and the exponent of the CPU seconds above the start\n")
    of_label = f"{'label, s':>10}{'MiB':>8}{'exponent':>10}"
    of_predict = f"{'predict, s':>12}{'MiB':>8}{'exponent':>10}"
    print(f"{'':24}{of_label}{of_predict}")
    print_row("start: 200 rows", starts, ("", ""))
    measured: dict[str, dict[int, tuple[Cost, Cost]]] = {}
    for name, sizes in SIZES.items():
        if is_part and name != "rows":
            continue
        by_size = measured.setdefault(name, {})
        for size in sizes:
            grown = size // 10 if is_part else size
            others = {}
            if name == "labels":
                others = {"rows": 20_000}
            if name == "classes":
                others = {"labels": 1_000}
            by_size[grown] = costs_of(Size()._replace(**others, **{name: grown}))
            slopes = ["", ""]
            if len(by_size) > 1:
                for c in (0, 1):
                    above = [costs[c].cpu - starts[c].cpu for costs in by_size.values()]
                    slopes[c] = exponent(list(by_size), above)
            print_row(f"{grown:,} {name}", by_size[grown], slopes)
    if is_part:
        *_, tenth, largest = measured["rows"].values()
        for command, before, after in zip(("label", "predict"), tenth, largest, strict=True):
            print_ratio(f"chary {command}, 100,000 rows", after.cpu, "10,000 rows", before.cpu)
        return
    draw(measured, starts)


def print_row(name: str, costs: tuple[Cost, Cost], slopes: tuple[str, str] | list[str]) -> None:
    """Print the costs of one size, and the exponents since the size before."""
    (label, predict), (of_label, of_predict) = costs, slopes
    print(
        f"{name:24}{label.cpu:10.2f}{label.memory:8.0f}{of_label:>10}"
        f"{predict.cpu:12.2f}{predict.memory:8.0f}{of_predict:>10}",
        flush=True,
    )


if __name__ == "__main__":
    main()
