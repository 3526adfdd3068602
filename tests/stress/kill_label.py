"""``chary label`` killed (-9) at many moments: no file is torn, and all are there or none.

    python tests/stress/kill_label.py --times 40

Half of the moments are spread over the whole run; at the others the process kills itself before the
n-th step of putting its files in their place (a flush to the disk, a link, a renaming, a removal),
for every n there is. All runs share a folder, so each meets what the one before it left.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from pathlib import Path

from killing import KILLING, make_table, remains, run, run_and_kill, say_result

NAMES = ("table.labeled.csv", "table.model.chary", "table.report.html")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=40)
    n_times, rng = parser.parse_args().times, random.Random(0)
    broken: list[str] = []
    seen = {"none": 0, "all": 0, "some": 0, "left": 0}
    with tempfile.TemporaryDirectory() as name:
        table = make_table(Path(name) / "table.csv")
        own = table.read_bytes()
        words = ["label", table, "-t", "kind", "--rounds", 0, "--learner", "linear", "--out"]
        start = time.perf_counter()
        assert run(*words, Path(name) / "whole").returncode == 0
        seconds = time.perf_counter() - start
        whole = {file: (Path(name) / "whole" / file).read_bytes() for file in NAMES}
        folder = Path(name) / "killed"

        def is_whole(file: str, content: bytes) -> bool:
            """Return a file's bytes; of a report, which names its time, from first to last tag."""
            if file != NAMES[2]:
                return content == whole[file]
            return content.startswith(b"<!doctype html>") and content.rstrip().endswith(b"</html>")

        def look(when: str, was_killed: bool = True) -> None:
            found = (
                {file.name: file.read_bytes() for file in folder.glob("[!.]*")}
                if folder.is_dir()
                else {}
            )
            seen["none" if not found else "all" if len(found) == len(NAMES) else "some"] += (
                was_killed
            )
            broken.extend(
                f"{when}: {file} is not whole" for file in found if not is_whole(file, found[file])
            )
            seen["left"] += len(remains(folder))
            if NAMES[0] in found and len(found) < len(NAMES):
                broken.append(f"{when}: {NAMES[0]} is there without {set(NAMES) - set(found)}")
            if table.read_bytes() != own:
                broken.append(f"{when}: the table was changed")
            for file in folder.glob("[!.]*"):
                file.unlink()

        n_killed = 0
        while n_killed < n_times // 2:
            after = rng.uniform(0, seconds)
            was_killed = run_and_kill(after, *words, folder)  # or it was sooner done than the first
            n_killed += was_killed
            look(f"killed after {after:.2f} s", was_killed)
        n_steps = 0
        for step in itertools.count(1):
            if run(step, *words, folder, code=KILLING).returncode != -9:
                break
            n_steps, n_killed = step, n_killed + 1
            look(f"killed before step {step} of writing")
        for file in folder.glob("[!.]*"):
            file.unlink()
        done = run(*words, folder)
        if done.returncode or sorted(file.name for file in folder.glob("[!.]*")) != sorted(NAMES):
            broken.append(f"after all kills: {done.stderr}")
        look("after all kills", was_killed=False)
        if remains(folder):
            broken.append("temporary files stay")
    figures = {
        "kills": (
            f"{n_killed}: {n_killed - n_steps} spread over the run, "
            f"{n_steps} at the steps of writing"
        ),
        "outputs found after a kill": (
            f"none {seen['none']} times, all three {seen['all']}, some {seen['some']}"
        ),
        "temporary files found after kills": f"{seen['left']} in all, none after one more run",
    }
    return say_result("chary label, killed", figures, broken)


if __name__ == "__main__":
    sys.exit(main())
