"""Many ``chary predict`` at once, on one model and one table: each is right, and none is in another's way.

    python tests/stress/parallel_predict.py --times 20

First each into a folder of its own, then all into one, without and with ``--force``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from killing import CHARY, environment, make_table, remains, run, say_result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    n_times = parser.parse_args().times
    broken: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        table = make_table(Path(name) / "table.csv")
        assert run("label", table, "-t", "kind", "--rounds", 0).returncode == 0
        model, new = table.with_name("table.model.chary"), make_table(Path(name) / "new.csv", 600)
        assert run("predict", model, new, "--out", Path(name) / "whole").returncode == 0
        whole = (Path(name) / "whole" / "new.predicted.csv").read_bytes()

        def at_once(folders: list[Path], *more: str) -> list[tuple[int, str]]:
            commands = [[*CHARY, "predict", str(model), str(new), "--out", str(f), *more] for f in folders]
            streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
            processes = [subprocess.Popen(words, env=environment(), **streams) for words in commands]
            said = [process.communicate()[1] for process in processes]
            for folder in set(folders):
                if {path.name: path.read_bytes() for path in folder.iterdir()} != {"new.predicted.csv": whole}:
                    broken.append(f"{folder.name}: {sorted(path.name for path in folder.iterdir())}")
            return [(process.returncode, words) for process, words in zip(processes, said, strict=True)]

        apart = at_once([Path(name) / f"apart-{k}" for k in range(n_times)])
        together = at_once([Path(name) / "together"] * n_times)
        forced = at_once([Path(name) / "together"] * n_times, "--force")
        n_first = sum(code == 0 for code, _ in together)
        broken += [f"apart: {words}" for code, words in apart if code]
        broken += [f"forced: {words}" for code, words in forced if code]
        broken += [f"together: {words}" for code, words in together if code and "exists already" not in words]
        if n_first != 1:
            broken.append(f"{n_first} of {n_times} wrote the same file without --force")
        if remains(Path(name)):
            broken.append("temporary files stay")
    figures = {
        "a folder each": f"{sum(code == 0 for code, _ in apart)} of {n_times} done, the same bytes as one alone",
        "one folder": f"{n_first} of {n_times} done, the others said that the file exists already",
        "one folder, --force": f"{sum(code == 0 for code, _ in forced)} of {n_times} done, the file whole",
    }
    return say_result("chary predict, many at once", figures, broken)


if __name__ == "__main__":
    sys.exit(main())
