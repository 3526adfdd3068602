"""What commands cost beside another version of chary: CPU seconds and memory, as ratios in one run.

    python benchmarks/beside.py OTHER_TREE [repeats] > benchmarks/results/beside.txt

``OTHER_TREE`` is a clone of another version (``git worktree add ../other COMMIT``). Both versions
run the same commands in turn, each in a process of its own; the least of the repeats counts.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from stored import print_head

ROOT = Path(__file__).resolve().parent.parent
FIT = """
import numpy as np
from chary import DiverseEnsembleClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 40))
y = np.where(np.arange(4000) < 200, (X[:, 0] > 0).astype(int), -1)
DiverseEnsembleClassifier(random_state=0).fit(X, y)
"""
COMMANDS = {
    "chary --version": ["-m", "chary", "--version"],
    "chary --help": ["-m", "chary", "--help"],
    "label, 4,000 rows": ["-m", "chary", "label", "t.csv", "--target", "y", "--force"],
    "label, network": [
        "-m",
        "chary",
        "label",
        "t.csv",
        "--target",
        "y",
        "--force",
        "--learner",
        "network",
    ],
    "predict, 300,000 rows": ["-m", "chary", "predict", "t.model.chary", "new.parquet", "--force"],
    "fit of the network": ["-c", FIT],
}


def main(other: str, repeats: int) -> None:
    """Print a line for each command, then what a second thread costs ``chary label``."""
    rng = np.random.default_rng(0)
    print(
        f"{'':24}{'CPU s, other':>14}{'this':>8}{'times':>8}"
        f"{'MiB, other':>14}{'this':>8}{'times':>8}"
    )
    folders = {}
    for tree in (other, str(ROOT)):
        folders[tree] = Path(tempfile.mkdtemp())
        for name, n in (("t.csv", 4_000), ("new.parquet", 300_000)):
            table(n, rng).pipe(
                pl.DataFrame.write_csv if n == 4_000 else without_target, folders[tree] / name
            )
    for name, command in COMMANDS.items():
        found = {
            tree: np.array([run(tree, folders[tree], command) for _ in range(repeats)])
            for tree in folders
        }
        (cpu, memory), (own_cpu, own_memory) = (found[tree].min(axis=0) for tree in folders)
        print(
            f"{name:24}{cpu:14.2f}{own_cpu:8.2f}{own_cpu / cpu:8.2f}"
            f"{memory:14.0f}{own_memory:8.0f}{own_memory / memory:8.2f}"
        )
    one, two = (
        min(
            run(str(ROOT), folders[str(ROOT)], COMMANDS["label, 4,000 rows"], n)[0]
            for _ in range(repeats)
        )
        for n in (1, 2)
    )
    print(
        "\n"
        f"label, 4,000 rows, this version: CPU with two BLAS and OpenMP threads {two / one:.2f} "
        "times one"
    )


def table(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Ten columns, two of them categories; the first hundred rows have a label."""
    X = rng.normal(size=(n, 8))
    kinds = {f"k{i}": rng.choice(list("abcde"), n) for i in range(2)}
    y = np.where(
        X[:, 0] + 0.5 * X[:, 1] + (kinds["k0"] == "a") + rng.normal(0, 0.3, n) > 0, "yes", "no"
    )
    labels = pl.Series("y", y.tolist()).to_frame().with_row_index()
    labels = labels.select(pl.when(pl.col("index") < 100).then("y").alias("y"))
    return pl.DataFrame({**{f"x{i}": X[:, i].round(4) for i in range(8)}, **kinds}).with_columns(
        labels["y"]
    )


def without_target(frame: pl.DataFrame, path: Path) -> None:
    frame.drop("y").write_parquet(path)


def run(tree: str, folder: Path, command: list[str], threads: int = 1) -> tuple[float, float]:
    """CPU seconds and MiB at most of a command with the code of a tree."""
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    there = {**os.environ, **limits, "PYTHONPATH": os.pathsep.join([f"{tree}/src", tree])}
    process = subprocess.Popen(
        [sys.executable, *command], cwd=folder, env=there, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed with {tree}.")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    print_head()
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3)
