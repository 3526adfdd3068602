"""``chary predict --memory`` on Parquet that is hard to cut: it stays below what it was allowed.

    python tests/stress/memory_predict.py > benchmarks/results/stress_memory_predict.txt

Files of one row group each, several hundred MiB as they are read: long texts, two long texts of a
dictionary, 3,000 columns, millions of rows. Memory that is no file's, the largest that /proc tells
of the process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from killing import CHARY, environment, make_table, run, say_result

ALLOWED = ("600MB", "1GB", "2GB")


def main() -> int:
    broken: list[str] = []
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = make_table(folder / "table.csv")
        assert (
            run("label", table, "-t", "kind", "--rounds", 0, "--learner", "linear").returncode == 0
        )
        for what, frame in tables():
            path = folder / f"{what}.parquet"
            frame.write_parquet(path, row_group_size=frame.height)
            del frame
            for allowed in ALLOWED:
                words = [
                    "predict",
                    table.with_name("table.model.chary"),
                    path,
                    "--out",
                    folder / "out",
                    "--force",
                ]
                code, peak, said = watched([*words, "--memory", allowed])
                outcome = "labelled" if code == 0 else "refused"
                figures[f"{what}, {path.stat().st_size >> 20} MiB, {allowed}"] = (
                    f"{outcome}, {peak >> 20} MiB"
                )
                if peak > int(allowed[:-2]) * {"MB": 10**6, "GB": 10**9}[allowed[-2:]]:
                    broken.append(f"{what}, {allowed}: {peak >> 20} MiB")
                if (
                    code not in (0, 1)
                    or "Traceback" in said
                    or (code == 1 and "--memory" not in said)
                ):
                    broken.append(f"{what}, {allowed}: {said[-300:]}")
            path.unlink()
    return say_result("chary predict, memory taken beside memory allowed", figures, broken)


def tables() -> list[tuple[str, pl.DataFrame]]:
    rng = np.random.default_rng(0)

    def rows(n: int) -> pl.DataFrame:
        colours = pl.Series(["red", "blue"]).gather(rng.integers(0, 2, n))
        return pl.DataFrame({"size": rng.integers(0, 100, n), "colour": colours})

    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz     ", np.uint8)
    texts = [rng.choice(letters, 40_000).tobytes().decode() for _ in range(400)]
    long = pl.Series([f"{texts[i % 400][i % 97 :]}{i}" for i in range(10_000)])
    two = pl.Series([texts[0][:9500], texts[1][:9500]]).gather(rng.integers(0, 2, 300_000))
    more = [pl.Series(f"z{j}", rng.standard_normal(15_000)) for j in range(3000)]
    numbers = [pl.Series(f"z{j}", rng.standard_normal(4_000_000)) for j in range(8)]
    return [
        ("long texts", rows(10_000).with_columns(note=long)),
        ("two long texts in 300,000 rows", rows(300_000).with_columns(note=two)),
        ("3,000 columns", rows(15_000).hstack(more)),
        ("4,000,000 rows", rows(4_000_000).hstack(numbers)),
    ]


def watched(words: list[object]) -> tuple[int, int, str]:
    """Exit code, the largest memory and what was said."""
    command = [*CHARY, *map(str, words)]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, env=environment(), stdout=said, stderr=said)
        peak = 0
        while process.poll() is None:
            peak = max(peak, anonymous(process.pid))
            time.sleep(0.01)
        said.seek(0)
        return process.returncode, peak, said.read()


def anonymous(pid: int) -> int:
    try:
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * 4096


if __name__ == "__main__":
    sys.exit(main())
