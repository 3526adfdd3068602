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

from chary.audit.drawing import draw_sheet
from chary.audit.filling import Filling
from chary.audit.sheet import unlabelled_rows
from chary.tables import read_table
from chary.tables.target import target_labels


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=10_000)
    n = parser.parse_args().times
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "t.csv"
        labels = [("ab"[i % 2] if i % 3 == 0 else None) for i in range(2 * n)]
        pl.DataFrame({"x": range(2 * n), "y": labels}).write_csv(table)
        read, sheet = read_table(table), table.with_name("t.audit.csv")
        draw_sheet(sheet, unlabelled_rows(read, "y", target_labels(read, "y")), n)
        filling, seconds = Filling(sheet), []
        memory = [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]
        for place in range(1, n + 1):
            start = time.perf_counter()
            filling.answer(place, "ab"[place % 2], expected="")
            seconds.append(time.perf_counter() - start)
            if place % (n // 10) == 0:  # the clock jumps
                now = time.time() + (86_400 if place % (n // 5) else -86_400)
                os.utime(sheet, (now, now))
                memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        found = pl.read_csv(sheet, infer_schema=False)["y"].to_list()
    lost = sum(answer != "ab"[place % 2] for place, answer in enumerate(found, 1))
    tenth = n // 10
    first, last = (sorted(part)[tenth // 2] for part in (seconds[:tenth], seconds[-tenth:]))
    print(f"{n:,} answers, {lost} lost; the clock jumped 10 times")
    print(f"{1000 * first:.0f} ms each at first, {1000 * last:.0f} ms at the end (medians)")
    print(f"memory {memory[1] / 1024:,.0f} MiB after a tenth, {memory[-1] / 1024:,.0f} MiB at the end")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
