"""How soon ``chary`` answers, and what BLAS threads do to a small table: CPU and wall as ratios.

    python benchmarks/startup.py [repeats]

Start-up: commands that have nothing to compute, beside an empty Python and one that imports
scikit-learn. Threads: ``chary label`` of 5,000 rows, its network trained, with one BLAS thread and
with one for each core.
"""

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

CHARY = ["-m", "chary"]
STARTS = {
    "python, nothing": ["-c", "pass"],
    "python, import sklearn.linear_model": ["-c", "import sklearn.linear_model"],
    "chary --version": [*CHARY, "--version"],
    "chary --help": [*CHARY, "--help"],
    "chary label --help": [*CHARY, "label", "--help"],
    "chary label gone.csv -t y": [*CHARY, "label", "gone.csv", "-t", "y"],
}


def timed(words: list[str], **environment: str) -> tuple[float, float]:
    """Wall and CPU seconds of one call of Python."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(
        [sys.executable, *words],
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    seconds, after = perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best(repeats: int, words: list[str], **environment: str) -> np.ndarray:
    return np.min([timed(words, **environment) for _ in range(repeats)], axis=0)


def write_table(path: Path) -> None:
    """Ten numbers; the 200 rows furthest out have a label, so that the network learns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 10))
    label = np.where(X @ rng.normal(size=10) > 0, "yes", "no").astype(object)
    label[np.argsort(-np.abs(X[:, 0]))[200:]] = None
    pl.DataFrame({**{f"x{j}": X[:, j] for j in range(10)}, "y": label.tolist()}).write_csv(path)


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    console = Console(width=100)
    print_head()
    table = Table(title=f"Start-up, best of {repeats}", title_justify="left")
    for name in ("command", "CPU seconds", "times an empty Python", "times importing scikit-learn"):
        table.add_column(name, justify="left" if name == "command" else "right")
    cpu = {name: best(repeats, words)[1] for name, words in STARTS.items()}
    empty, sklearn = list(cpu.values())[:2]
    for name, seconds in cpu.items():
        table.add_row(name, f"{seconds:.2f}", f"{seconds / empty:.1f}", f"{seconds / sklearn:.2f}")
    console.print(table)

    for name in ("chary --version", "chary label gone.csv -t y"):
        print_ratio(name, cpu[name], "importing sklearn.linear_model", sklearn)

    table = Table(title="chary label, 5,000 rows x 10 columns, 200 labels", title_justify="left")
    for name in ("BLAS threads", "wall seconds", "CPU seconds", "wall, times one thread"):
        table.add_column(name, justify="left" if name == "BLAS threads" else "right")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        write_table(path)
        words = [*CHARY, "label", str(path), "-t", "y", "--force"]
        one = None
        for threads in (1, os.cpu_count() or 1):
            wall, used = best(max(1, repeats // 2), words, OPENBLAS_NUM_THREADS=str(threads))
            one = one or wall
            if threads == 1:
                name = "chary label, 5,000 rows, 200 biased labels"
                print_ratio(name, used, "importing sklearn.linear_model", sklearn)
            table.add_row(str(threads), f"{wall:.1f}", f"{used:.1f}", f"{wall / one:.2f}")
    console.print(table)


if __name__ == "__main__":
    main()
