"""``python -m studies run`` killed (-9) at many moments: a finished cell stays, as it was, and is not redone.

    python tests/stress/kill_study.py --times 40

One store from the first kill to the end. After each kill every cell that was there before it must be there with
the same bytes, and every file must verify; a last run works out what is left.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from killing import environment, is_alive, remains, say_result

from studies.store import Store


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=40)
    n_times, rng = parser.parse_args().times, random.Random(0)
    broken: list[str] = []
    n_midway = n_orphans = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "cells"
        words = [sys.executable, "-m", "studies", "run", "table-ssb", "--datasets", "digits", "--methods", "erm"]
        words += ["--seeds", str(2 * n_times + 10), "--jobs", "2", "--store", str(folder)]
        kept: dict[Path, bytes] = {}
        for k in range(n_times):
            options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
            with subprocess.Popen(words, env=environment(), **options) as process:
                wait_for_cells(folder, len(kept) + rng.randrange(0, 3), process)
                time.sleep(rng.uniform(0, 0.5))
                before = cells_in(folder)
                process.kill()
            n_orphans += not ends(process.pid)
            found = cells_in(folder)
            for path, content in {**kept, **before}.items():
                if found.get(path) != content:
                    broken.append(f"kill {k}: {path.name} was finished and is gone or another")
            store = Store(folder)
            torn = [path for path in found if store.read(path.stem) is None]
            broken += [f"kill {k}: {path.name} does not verify" for path in torn]
            n_midway += bool(remains(folder))
            kept = found
        n_left = len(remains(folder))
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment())
        said = re.search(r"(\d+) cells worked out, (\d+) were there, (\d+) failed", " ".join(done.stdout.split()))
        if said is None or int(said[2]) != len(kept) or said[3] != "0" or done.returncode:
            broken.append(f"the last run said: {done.stdout[-300:]} {done.stderr[-300:]}")
        last = cells_in(folder)
        broken += [f"{path.name} was redone" for path, content in kept.items() if last.get(path) != content]
        if remains(folder):
            broken.append(f"{len(remains(folder))} temporary files stay")
    broken += ["a worker outlived its study"] * n_orphans
    figures = {
        "kills": f"{n_times}, {n_midway} of them with a temporary file in the store",
        "cells finished before the last kill": len(kept),
        "of these there afterwards, with the same bytes": len(kept) if not broken else "see below",
        "cells that the last run worked out": said[1] if said else "?",
        "cells that it found": said[2] if said else "?",
        "temporary files before the last run": n_left,
        "workers that outlived a kill by ten seconds": n_orphans,
    }
    return say_result("python -m studies run, killed", figures, broken)


def cells_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.glob("??/*.json"))}


def wait_for_cells(folder: Path, n_cells: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None and len(list(folder.glob("??/*.json"))) < n_cells:
        time.sleep(0.02)


def ends(group: int) -> bool:
    """Whether all processes of a group are gone within ten seconds."""
    end = time.monotonic() + 10
    while is_alive(group) and time.monotonic() < end:
        time.sleep(0.1)
    return not is_alive(group)


if __name__ == "__main__":
    sys.exit(main())
