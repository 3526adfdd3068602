"""``chary predict`` on many files, killed (-9), and Dask workers too: nothing torn or twice.

    python tests/stress/kill_predict.py --times 20

Each round has a folder of its own: a run is killed at some
moment, or kills itself before the n-th step of putting files in their place; then the same command
is run to its end. What was there after the kill must be whole and must not be made again. At last
workers of a Dask cluster are killed while it is at work.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster
from killing import CHARY, KILLING, environment, make_table, remains, run, run_and_kill, say_result

N_FILES = 8
LEARNERS = ("linear", "mixed")  # whose rows cost little, and much


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--dask", type=int, default=4)
    given, rng = parser.parse_args(), random.Random(0)
    broken: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        for k in range(N_FILES):
            make_table(folder / "in" / f"{k}.csv", 3000 + 500 * k)
        of_learner = {learner: prepared(folder, learner) for learner in LEARNERS}
        seen = {"none": 0, "some": 0, "all": 0, "again": 0}
        for k in range(given.times):
            words, whole, seconds = of_learner[LEARNERS[k // 2 % 2]]
            out = folder / f"out-{k}"
            if k % 2:
                run(k + 1, *words, out, code=KILLING)
            else:
                while not run_and_kill(rng.uniform(0.4, 1.0) * seconds, *words, out):
                    seconds *= 0.9  # it had ended: the machine has become quicker
                    shutil.rmtree(out)
            broken += resumed(words, out, whole, seen, f"kill {k + 1}")
        for k in range(given.dask):
            words, whole, _ = of_learner[LEARNERS[k % 2]]
            broken += dask_worker_killed(words, folder / f"dask-{k}", whole, rng)
    figures = {
        "kills": given.times,
        "outputs after them": f"none {seen['none']} times, some {seen['some']}, all {seen['all']}",
        "made again though whole": seen["again"],
        "kills of a Dask worker": given.dask,
    }
    return say_result(f"chary predict on {N_FILES} files, killed and resumed", figures, broken)


def prepared(folder: Path, learner: str) -> tuple[list[object], dict[str, bytes], float]:
    """The command up to its folder, what it writes, and how long that takes."""
    table = make_table(folder / f"{learner}.csv")
    assert run("label", table, "-t", "kind", "--rounds", 0, "--learner", learner).returncode == 0
    words = ["predict", table.with_name(f"{learner}.model.chary"), folder / "in", "--out"]
    start = time.perf_counter()
    assert run(*words, folder / f"whole-{learner}").returncode == 0
    return words, outputs(folder / f"whole-{learner}"), time.perf_counter() - start


def outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("[!._]*")}


def resumed(
    words: list[object], out: Path, whole: dict[str, bytes], seen: dict[str, int], when: str
) -> list[str]:
    """What is wrong after a kill, and after the same command once more."""
    found = outputs(out)
    seen["none" if not found else "all" if len(found) == len(whole) else "some"] += 1
    wrong = [f"{when}: {name} is torn" for name, content in found.items() if content != whole[name]]
    files = {name: (out / name).stat().st_ino for name in found}
    done = run(*words, out)
    again = [name for name, number in files.items() if (out / name).stat().st_ino != number]
    seen["again"] += len(again)
    wrong += [f"{when}: {name} was made twice" for name in again]
    if done.returncode != bool(found) or outputs(out) != whole:
        wrong.append(f"{when}: not resumed: {done.stderr}")
    return wrong + [f"{when}: {path} stays" for path in remains(out)]


def dask_worker_killed(
    words: list[object], out: Path, whole: dict[str, bytes], rng: random.Random
) -> list[str]:
    """What is wrong if a worker of a cluster is killed while it is at work."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            workers = list(client.run(os.getpid).values())
        command = [*CHARY, *map(str, words), str(out), "--scheduler", cluster.scheduler_address]
        process = subprocess.Popen(
            command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        while process.poll() is None and not outputs(out):
            time.sleep(0.01)
        os.kill(rng.choice(workers), signal.SIGKILL)
        _, said = process.communicate()
    if process.returncode or outputs(out) != whole:
        return [f"{out.name}: {said[-500:]}"]
    return [f"{out.name}: {path} stays" for path in remains(out) if str(process.pid) in path.name]


if __name__ == "__main__":
    sys.exit(main())
