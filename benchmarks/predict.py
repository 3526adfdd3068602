"""``chary predict`` on many Parquet files beside what Polars needs to read and write them, in one run.

    python benchmarks/predict.py --rows 5000000 --files 10 > benchmarks/results/predict.txt

Wall time and CPU time of a process and all it starts, and the largest sum of their memory, as /proc tells. Polars
scans each file and writes it again, streaming, on all cores: the limit. With unlike learners the limit is that and
scikit-learn's own ``predict_proba`` of the members on prepared rows, on a part of them, scaled.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

Taken = tuple[float, float, int]  # wall seconds, CPU seconds, MiB

GENERATE = """
import sys, numpy as np, polars as pl
folder, n_files, n_rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for k in range(n_files):
    rng = np.random.default_rng(k)
    numbers = {f"x{j}": rng.standard_normal(n_rows) for j in range(9)}
    pl.DataFrame(numbers | {"c": rng.choice(["a", "b", "c"], n_rows)}).write_parquet(f"{folder}/{k:03d}.parquet")
"""
TRAIN = """
import sys, numpy as np, polars as pl, chary
rng = np.random.default_rng(99)
X, c = rng.standard_normal((3000, 9)), rng.choice(["a", "b", "c"], 3000)
score = X[:, 0] + X[:, 1] * X[:, 2] + (c == "a") + rng.normal(size=3000) / 3
y = np.where(score > 0.5, "yes", "no").astype(object)
y[rng.random(3000) > 0.15] = None
frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(9)} | {"c": c.tolist(), "y": y.tolist()})
chary.label(frame, target="y", learner=sys.argv[2]).save(sys.argv[1])
"""
COPY = """
import sys, polars as pl
from pathlib import Path
for path in sorted(Path(sys.argv[1]).glob("*.parquet")):
    pl.scan_parquet(path).sink_parquet(Path(sys.argv[2]) / path.name)
"""
MEMBERS = """
import sys, time, warnings, polars as pl, chary
from sklearn.base import clone
warnings.simplefilter("ignore")
model = chary.load(sys.argv[1]).pipeline
frame = pl.read_parquet(sys.argv[2]).head(200_000)
X = model[0].transform(frame)
labels = model.predict(frame[:3000])
members = [clone(getattr(m.estimator, "estimator", m.estimator)) for m in model[-1].estimator_.members_]
for member in members:
    member.set_params(**({"n_jobs": -1} if "n_jobs" in member.get_params() else {})).fit(X[:450], labels[:450])
start, cpu = time.perf_counter(), time.process_time()
for member in members:
    member.predict_proba(X)
print((time.perf_counter() - start) / len(X), (time.process_time() - cpu) / len(X))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--learners", nargs="+", default=["linear", "network", "mixed"])
    parser.add_argument("--memory", default="1.5GiB")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        (folder / "copy").mkdir()
        per_file = given.rows // given.files
        run(GENERATE, folder / "in", given.files, per_file)
        size = sum(path.stat().st_size for path in (folder / "in").iterdir())
        print(f"{given.rows:,} rows x 10 columns in {given.files} Parquet files, {size / 2**20:,.0f} MiB")
        print(f"{len(os.sched_getaffinity(0))} cores, --memory {given.memory}\n")
        print(f"{'':28}{'wall, s':>10}{'CPU, s':>10}{'MiB':>8}{'us/row':>9}{'wall, times':>13}{'CPU, times':>12}")
        limit = run(COPY, folder / "in", folder / "copy")
        show("Polars, read and write", limit, given.rows)
        for learner in given.learners:
            model = folder / f"{learner}.chary"
            run(TRAIN, model, learner)
            command = ["-m", "chary", "predict", model, folder / "in", "--out", folder / learner]
            found = run(None, *command, "--memory", given.memory)
            of = limit
            if learner == "mixed":
                each = subprocess.run(
                    [sys.executable, "-c", MEMBERS, model, folder / "in" / "000.parquet"],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                wall, cpu = (float(word) * given.rows for word in each.stdout.split())
                of = limit[0] + wall, limit[1] + cpu, 0
                show("  and scikit-learn's members", of, given.rows)
            show(f"chary predict, {learner}", found, given.rows, of)


def run(code: str | None, *words: object) -> Taken:
    """Wall seconds, CPU seconds and the largest memory, in MiB, of a process with all that it starts."""
    before, start = os.times(), time.perf_counter()
    command = [sys.executable, *(["-c", code] if code else []), *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(anonymous, [process.pid, *children(process.pid)])))
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"a run failed: {command[-6:]}")
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, cpu, peak >> 20


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def anonymous(pid: int) -> int:
    """Memory that is no file's."""
    try:
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def show(name: str, found: Taken, rows: int, limit: Taken | None = None) -> None:
    wall, cpu, peak = found
    times = f"{wall / limit[0]:13.2f}{cpu / limit[1]:12.2f}" if limit else ""
    print(f"{name:28}{wall:10.1f}{cpu:10.1f}{peak or '':>8}{cpu / rows * 1e6:9.2f}{times}", flush=True)


if __name__ == "__main__":
    main()
