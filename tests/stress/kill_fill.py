"""``chary audit fill`` killed (-9) while a person types: confirmed answers are in the sheet.

    python tests/stress/kill_fill.py --times 40

A pseudo-terminal shows the sheet; keys are pressed as soon as the screen counts the answer before.
The kill comes some milliseconds after the last key, at another moment each time: before, during or
after its answer is saved.
"""

from __future__ import annotations

import argparse
import os
import pty
import random
import re
import select
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import polars as pl
from killing import CHARY, environment, make_table, remains, run, say_result

COUNT = re.compile(rb"(\d+) labelled")
PATIENCE = 120  # seconds for a screen


class Person:
    """Somebody at a terminal."""

    def __init__(self, sheet: Path) -> None:
        self.terminal, inside = pty.openpty()
        command = [*CHARY, "audit", "fill", str(sheet)]
        streams = {"stdin": inside, "stdout": inside, "stderr": inside}
        self.process = subprocess.Popen(
            command,
            env={**environment(), "TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
            **streams,
        )
        os.close(inside)
        self.screen = b""

    def press(self, key: str) -> None:
        """A key, once the terminal waits for one: it drops those pressed before."""
        end = time.monotonic() + PATIENCE
        while termios.tcgetattr(self.terminal)[3] & termios.ICANON and time.monotonic() < end:
            time.sleep(0.001)
        os.write(self.terminal, key.encode())

    def wait_for(self, n_labelled: int) -> None:
        """Until the screen counts so many answers."""
        end = time.monotonic() + PATIENCE
        while not any(int(count) == n_labelled for count in COUNT.findall(self.screen)):
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(self.screen[-500:])
            self.screen += os.read(self.terminal, 1 << 16)
        self.screen = b""

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


def answers_in(sheet: Path) -> list[str]:
    frame = pl.read_csv(sheet, infer_schema=False)
    return frame["kind"].fill_null("").to_list()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=40)
    n_times, rng = parser.parse_args().times, random.Random(0)
    broken: list[str] = []
    typed: list[str] = []  # the answers, as far as the sheet must hold them
    n_confirmed = n_saved_unseen = n_lost_unseen = 0
    with tempfile.TemporaryDirectory() as name:
        table = make_table(Path(name) / "table.csv", 3 * (3 * n_times + 30))
        assert run("audit", "draw", table, "-t", "kind", "-k", 3 * n_times + 10).returncode == 0
        sheet = table.with_name("table.audit.csv")
        before = pl.read_csv(sheet, infer_schema=False).drop("kind")
        classes = ["large", "small"]
        for k in range(n_times):
            person = Person(sheet)
            person.wait_for(len(typed))
            for _ in range(rng.randrange(0, 3)):
                choice = rng.randrange(2)
                person.press(str(choice + 1))
                typed.append(classes[choice])
                person.wait_for(len(typed))  # confirmed: the screen counts it
                n_confirmed += 1
            last = rng.randrange(2)
            person.press(str(last + 1))
            time.sleep(rng.uniform(0, 0.03))
            person.kill()
            found = [answer for answer in answers_in(sheet) if answer]
            if found == [*typed, classes[last]]:
                typed.append(classes[last])
                n_saved_unseen += 1
            elif found == typed:
                n_lost_unseen += 1
            else:
                broken.append(
                    f"kill {k}: {len(typed)} answers were confirmed, the sheet holds {len(found)}"
                )
                typed = found
            if not pl.read_csv(sheet, infer_schema=False).drop("kind").equals(before):
                broken.append(f"kill {k}: other cells of the sheet were changed")
        n_left = len(remains(sheet.parent))
        person = Person(sheet)
        person.wait_for(len(typed))
        n_after = len(remains(sheet.parent))
        if n_after:
            broken.append(f"{n_after} temporary files stay")
        person.kill()
    figures = {
        "kills": n_times,
        "answers confirmed on the screen": n_confirmed,
        "of these in the sheet after the kill": n_confirmed if not broken else "see below",
        "answers typed within 30 ms of a kill": (
            f"{n_times}: {n_saved_unseen} in the sheet, {n_lost_unseen} not"
        ),
        "temporary files before the last start": n_left,
        "after it": n_after,
    }
    return say_result("chary audit fill, killed", figures, broken)


if __name__ == "__main__":
    sys.exit(main())
