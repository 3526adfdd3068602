"""Ten thousand answers in one sitting: how long each takes, what memory grows, and whether all are in the sheet.

    python tests/stress/many_answers.py --times 10000

The clock of the machine jumps back and forth by a day meanwhile, as far as a process can make it: the sheet gets
times of change in the past and in the future.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from chary.audit.filling import Filling
from chary.audit.sheet import draw_sheet, unlabelled_rows
from chary.tables import read_table
from chary.tables.target import target_labels

PASSES = 10  # how often each row is answered, otherwise than before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=10_000)
    n = parser.parse_args().times // PASSES
    seconds, memory, lost = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "t.csv"
        labels = [("ab"[i % 2] if i % 3 == 0 else None) for i in range(2 * n)]
        pl.DataFrame({"x": range(2 * n), "y": labels}).write_csv(table)
        read, sheet = read_table(table), table.with_name("t.audit.csv")
        draw_sheet(sheet, unlabelled_rows(read, "y", target_labels(read, "y")), n)
        filling = Filling(sheet)
        for turn in range(PASSES):
            start = time.perf_counter()
            for place in range(1, n + 1):
                filling.answer(place, "ab"[(place + turn) % 2])
            seconds.append((time.perf_counter() - start) / n)
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            now = time.time() + (86_400 if turn % 2 else -86_400)  # the clock jumps
            os.utime(sheet, (now, now))
            found = pl.read_csv(sheet, infer_schema=False)["y"].to_list()
            lost += sum(answer != "ab"[(place + turn) % 2] for place, answer in enumerate(found, 1))
    print(f"{PASSES * n:,} answers in a sheet of {n:,} rows, {lost} lost; the clock jumped {PASSES} times")
    print(f"{1000 * seconds[0]:.0f} ms each at first, {1000 * seconds[-1]:.0f} ms at the end")
    print(f"memory at most {memory[0]:,.0f} MiB in the first pass, {memory[-1]:,.0f} MiB in the last")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
