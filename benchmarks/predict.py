"""``chary predict`` on many Parquet files beside what Polars needs to read and write them.

    python benchmarks/predict.py --rows 50000000 --files 50 > benchmarks/results/predict.txt

Wall time and CPU time of a process and all it starts, and the largest sum of their memory, as /proc
tells: on the first five files, and on all, so that what a file more costs can be seen. Polars scans
each file and writes it, streaming, on all cores: the limit. With unlike learners, on the first
files alone, the limit is that and scikit-learn's own ``predict_proba`` of the members on prepared
rows, on 200,000 of them, scaled.

50,000,000 rows take about 8 GB of disk in the folder for temporary files (``TMPDIR``), emptied at
the end.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stored import print_head, print_ratio

Taken = tuple[float, float, int]  # wall seconds, CPU seconds, MiB

GENERATE = """
import sys, numpy as np, polars as pl
folder, n_files, n_rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for k in range(n_files):
    rng = np.random.default_rng(k)
    numbers = {f"x{j}": rng.standard_normal(n_rows) for j in range(9)}
    frame = pl.DataFrame(numbers | {"c": rng.choice(["a", "b", "c"], n_rows)})
    frame.write_parquet(f"{folder}/{k:03d}.parquet")
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
fitted = [member.estimator for member in model[-1].estimator_.members_]
members = [clone(getattr(member, "estimator", member)) for member in fitted]
for member in members:
    if "n_jobs" in member.get_params():
        member.set_params(n_jobs=-1)
    member.fit(X[:450], labels[:450])
start, cpu = time.perf_counter(), time.process_time()
for member in members:
    member.predict_proba(X)
print((time.perf_counter() - start) / len(X), (time.process_time() - cpu) / len(X))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--part", type=int, default=5, help="files of the smaller run")
    parser.add_argument("--learners", nargs="+", default=["linear", "network", "mixed"])
    parser.add_argument("--memory", default="1.5GiB")
    given = parser.parse_args()
    print_head()
    per_file, part = given.rows // given.files, min(given.part, given.files)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in ("all", "part"):
            (folder / kind).mkdir()
        run(GENERATE, folder / "all", given.files, per_file)
        for path in sorted((folder / "all").iterdir())[:part]:
            (folder / "part" / path.name).symlink_to(path)
        size = sum(path.stat().st_size for path in (folder / "all").iterdir())
        print(
            f"{given.rows:,} rows x 10 columns in {given.files} Parquet files, {size / 2**20:,.0f} "
            "MiB"
        )
        print(f"{len(os.sched_getaffinity(0))} cores, --memory {given.memory}\n")
        print(
            f"{'':28}{'files':>6}{'wall, s':>10}{'CPU, s':>10}{'MiB':>8}{'us/row':>9}"
            f"{'wall, times':>13}{'CPU, times':>12}"
        )
        sizes = {"part": part, "all": given.files} if part < given.files else {"all": given.files}
        limits = {kind: copied(folder, kind) for kind in sizes}
        for kind, n_files in sizes.items():
            show("Polars, read and write", n_files, limits[kind], n_files * per_file)
        for learner in given.learners:
            run(TRAIN, folder / f"{learner}.chary", learner)
            for kind, n_files in sizes.items():
                if learner == "mixed" and kind == "all" and len(sizes) > 1:
                    continue  # on the first files alone
                limit, rows = limits[kind], n_files * per_file
                copy = limits[kind]
                if learner == "mixed":
                    limit = with_members(limit, folder, rows)
                    show("  and scikit-learn's members", n_files, limit, rows)
                taken = predicted(folder, kind, learner, given.memory)
                show(f"chary predict, {learner}", n_files, taken, rows, limit)
                print_ratio(f"chary predict, {learner}", taken[1], "Polars copies", copy[1])


def copied(folder: Path, kind: str) -> Taken:
    """What Polars takes to read the files and to write them."""
    (folder / "copy").mkdir()
    found = run(COPY, folder / kind, folder / "copy")
    shutil.rmtree(folder / "copy")
    return found


def predicted(folder: Path, kind: str, learner: str, memory: str) -> Taken:
    """What ``chary predict`` takes for the files."""
    command = [
        "-m",
        "chary",
        "predict",
        folder / f"{learner}.chary",
        folder / kind,
        "--out",
        folder / "out",
    ]
    found = run(None, *command, "--memory", memory)
    shutil.rmtree(folder / "out")
    return found


def with_members(limit: Taken, folder: Path, rows: int) -> Taken:
    """The limit, and what the members take for so many rows."""
    command = [
        sys.executable,
        "-c",
        MEMBERS,
        folder / "mixed.chary",
        folder / "all" / "000.parquet",
    ]
    each = subprocess.run(command, capture_output=True, text=True, check=True)
    wall, cpu = (float(word) * rows for word in each.stdout.split())
    return limit[0] + wall, limit[1] + cpu, 0


def run(code: str | None, *words: object) -> Taken:
    """Measure wall and CPU seconds and peak memory, in MiB, of a process and its children."""
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
    cpu = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    return time.perf_counter() - start, cpu, peak >> 20


def children(pid: int) -> list[int]:
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except OSError:
        return []


def anonymous(pid: int) -> int:
    """Memory that is no file's."""
    try:
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def show(name: str, files: int, found: Taken, rows: int, limit: Taken | None = None) -> None:
    wall, cpu, peak = found
    times = f"{wall / limit[0]:13.2f}{cpu / limit[1]:12.2f}" if limit else ""
    row = f"{wall:10.1f}{cpu:10.1f}{peak or '':>8}{cpu / rows * 1e6:9.2f}{times}"
    print(f"{name:28}{files:6}{row}", flush=True)


if __name__ == "__main__":
    main()
