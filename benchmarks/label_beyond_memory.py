"""``chary label`` on tables larger than memory: what it takes, what reading them in parts costs.

CHARY_DATA=... python benchmarks/label_beyond_memory.py [rows [learner]]

First a generated table of Parquet, 50 columns, four times as large in memory as ``--memory``, with
500 biased labels and the class shares told (0 rows: left out). Then tables that fit both ways: of
those in ``$CHARY_DATA/tables`` with 7,000 to 16,000 rows, labels are kept at random or by a column
as its README says; they are labelled at once, and in parts with a sample of 2,000 rows. Both have
the same labels to learn from.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter, process_time, sleep

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table as Grid
from stored import print_head

from chary.labelling import label_table
from chary.labelling.defaults import Defaults
from chary.options import LabelOptions
from chary.tables import open_source, read_table
from studies import COLLECTION, TableFacts, labelled_rows

ROWS, BLOCK = 8_000_000, 50_000
SAMPLES, SEEDS, WAYS, SIZES = (2_000,), (0, 1), ("random", "column"), (7_000, 16_000)
SHARES = {"yes": 0.3, "no": 0.7}


def blocks(n_rows: int):
    """44 numbers, 4 categories, a date, and the class: 30 % are yes."""
    weights = np.random.default_rng(0).normal(size=40)
    cut = 0.5244 * np.sqrt((weights**2).sum())  # above which 30 % of a normal are
    for start in range(0, n_rows, BLOCK):
        rng, n = np.random.default_rng(start + 1), min(BLOCK, n_rows - start)
        numbers = {f"x{j}": rng.normal(size=n) for j in range(44)}
        colours = {f"c{j}": rng.choice(["red", "green", "blue", "black"], n) for j in range(4)}
        day = np.datetime64("2020-01-01") + rng.integers(0, 1000, n).astype("timedelta64[D]")
        score = sum(weight * numbers[f"x{j}"] for j, weight in enumerate(weights))
        yield pl.DataFrame({**numbers, **colours, "day": day}), np.where(score > cut, "yes", "no")


def write_large(path: Path, n_rows: int) -> np.ndarray:
    """Write the table block by block and return the truth.

    Labels are given where the first column is far from 0.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_blocks = -(-n_rows // BLOCK)
    truth, writer = [], None
    for frame, of_block in blocks(n_rows):
        far_out, n_labels = (
            np.flatnonzero(np.abs(frame["x0"].to_numpy()) > 2),
            max(1, 500 // n_blocks),
        )
        target = np.full(frame.height, None, dtype=object)
        target[far_out[:n_labels]] = of_block[far_out[:n_labels]]
        table = frame.with_columns(target=pl.Series(target.tolist(), dtype=pl.String)).to_arrow()
        table = table.cast(
            pa.schema(
                [f.with_type(pa.string()) if "string" in str(f.type) else f for f in table.schema]
            )
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
        truth.append(of_block == "yes")
    writer.close()
    return np.concatenate(truth)


def run(path: Path, memory: int, learner: str) -> tuple[float, float, dict[str, int], dict]:
    """Measure wall and CPU seconds and the peaks of ``/proc/PID/status`` in MiB, with the output.

    ``ru_maxrss`` would be no less than what this process itself takes.
    """
    shares = [
        word for name, share in SHARES.items() for word in ("--class-prior", f"{name}={share:.0%}")
    ]
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
        *shares,
    ]
    start, peak = perf_counter(), {"RssAnon": 0, "VmHWM": 0}
    with path.with_suffix(".json").open("w+") as out:
        process = subprocess.Popen(
            [*command, "--memory", str(memory), "--learner", learner], stdout=out
        )
        status = Path(f"/proc/{process.pid}/status")
        while (done := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            lines = dict(
                line.split(":", 1) for line in status.read_text().splitlines() if ":" in line
            )
            for name in peak:
                peak[name] = max(peak[name], int(lines.get(name, "0 kB").split()[0]) >> 10)
            sleep(0.05)
        process.returncode = os.waitstatus_to_exitcode(done[1])
        if process.returncode:
            raise SystemExit(f"chary label ended with exit code {process.returncode}")
        out.seek(0)
        return perf_counter() - start, done[2].ru_utime + done[2].ru_stime, peak, json.load(out)


def large(console: Console, n_rows: int, learner: str) -> None:
    """A table four times as large as the memory allowed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.parquet"
        truth = write_large(path, n_rows)
        cells = open_source(str(path)).n_bytes
        memory = cells // 4
        seconds, cpu, peak, said = run(path, memory, learner)
        written = pl.read_parquet(
            path.with_suffix("").with_suffix(".labeled.parquet"), columns=["chary_label", "target"]
        )
    new = written["target"].is_null().to_numpy()
    label = (written["chary_label"] == "yes").to_numpy()
    wanted = round(SHARES["yes"] * n_rows)
    console.print(f"{n_rows:,} rows x 50 columns of Parquet, class shares told, learner {learner}:")
    console.print(
        f"  cells in memory        {cells >> 20:,} MiB, {cells / memory:.1f} times --memory"
    )
    console.print(f"  --memory               {memory >> 20:,} MiB")
    console.print(
        f"  peak of the process    {peak['RssAnon']:,} MiB, with files {peak['VmHWM']:,} MiB"
    )
    console.print(f"  wall time, CPU time    {seconds:.0f} s, {cpu:.0f} s")
    console.print(f"  learned from           {said['sample']}")
    console.print(f"  rows labelled yes      {said['labels']['yes']:,} ({wanted:,} wanted)")
    console.print(f"  right, new labels      {np.mean(label[new] == truth[new]):.2%}")
    console.print(*said["notes"], sep="\n  ", end="\n\n")


def both_ways(console: Console) -> None:
    """Tables of the collection, labelled at once and in parts."""
    grid = Grid(
        title="Share of new labels that are right, mean over seeds; shares of classes are not told",
        title_justify="left",
    )
    for name in ("table", "rows", "labels", "at once", *(f"sample {n:,}" for n in SAMPLES)):
        grid.add_column(name, justify="left" if name in ("table", "labels") else "right")
    every: dict[int, list[float]] = {n: [] for n in SAMPLES}
    for facts in COLLECTION:
        frame = pl.read_parquet(Path(os.environ["CHARY_DATA"], "tables", f"{facts.name}.parquet"))
        if not SIZES[0] <= frame.height <= SIZES[1]:
            continue
        for how in WAYS:
            found = np.array([_accuracies(frame, facts, how, seed) for seed in SEEDS])
            at_once, *in_parts = found.T
            for n, values in zip(SAMPLES, in_parts, strict=True):
                every[n] += (values - at_once).tolist()
            shown = [f"{column.mean():.1%}" for column in (at_once, *in_parts)]
            grid.add_row(facts.name, f"{frame.height:,}", how, *shown)
    console.print(grid)
    for n, values in every.items():
        mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
        console.print(
            f"sample {n:,} minus at once: {mean:+.2%} +- {1.96 * error:.2%} (95 %, {len(values)} "
            "tables and seeds)"
        )


def _accuracies(frame: pl.DataFrame, facts: TableFacts, how: str, seed: int) -> list[float]:
    """At once, then with each sample."""
    labeled = np.zeros(frame.height, dtype=bool)
    labeled[labelled_rows(frame, facts, how, seed)] = True
    truth = frame[facts.target].cast(pl.String)
    hidden = frame.with_columns(
        pl.select(pl.when(pl.Series(labeled)).then(truth)).to_series().alias(facts.target)
    )

    def right(labels: pl.Series) -> float:
        return float((labels.cast(pl.String) == truth).filter(pl.Series(~labeled)).mean())

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        hidden.write_parquet(path)
        at_once = label_table(read_table(path), LabelOptions.of(target=facts.target, seed=seed))
        found = [right(at_once.added_columns["chary_label"])]
        for n in SAMPLES:
            out, table = io.BytesIO(), open_source(path)
            asked = LabelOptions(target=facts.target, seed=seed, memory=4 << 30)
            label_table(table, asked, file=out, defaults=Defaults(sample_rows=n))
            found.append(right(pl.read_parquet(out.getvalue())["chary_label"]))
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    console = Console(width=110, highlight=False)
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    if n_rows:
        large(console, n_rows, sys.argv[2] if len(sys.argv) > 2 else "auto")
    start = process_time()
    both_ways(console)
    console.print(f"CPU time of the second part: {process_time() - start:.0f} s")


if __name__ == "__main__":
    print_head()
    main()
