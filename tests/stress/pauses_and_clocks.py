"""A page whose machine goes to sleep and whose clock jumps: is every confirmed answer in the sheet, exactly once?

    python tests/stress/pauses_and_clocks.py --seconds 60

The server is stopped (SIGSTOP) while a request is under way, for as long as asked, and goes on. Its clock jumps by
a day, by ten years, and back; that needs libfaketime (Debian: `apt-get install faketime`), or is skipped.
"""

import argparse
import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread

sys.path.insert(0, str(Path(__file__).parent))

from reviewing import Client, write_table

FAKETIME = next(iter(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)
ROWS = 30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long each of the three pauses is")
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        lost = sleep(Path(folder), seconds)
    print(f"3 pauses of {seconds:.0f} s in the middle of a request: {ROWS} answers confirmed, {lost} lost")
    if FAKETIME is None:
        print("the clock: not tried, as libfaketime is not installed")
        return int(lost > 0)
    with tempfile.TemporaryDirectory() as folder:
        jumps, wrong = jump(Path(folder))
    print(f"{jumps} jumps of the clock, by a day to ten years: {ROWS} answers confirmed, {wrong} lost")
    return int(lost + wrong > 0)


def sleep(folder: Path, seconds: float) -> int:
    """Stop the server while an answer is on its way, and count what is missing in the end."""
    page, process, sheet = start(folder)
    given = []
    for place in range(1, ROWS + 1):
        if place % 10 == 5:
            asked = Thread(target=answer, args=(page, place, given))
            process.send_signal(signal.SIGSTOP)
            asked.start()
            time.sleep(seconds)
            process.send_signal(signal.SIGCONT)
            asked.join()
        else:
            answer(page, place, given)
    return end(process, sheet, given)


def jump(folder: Path) -> tuple[int, int]:
    """Set the server's clock to another time before each third answer."""
    clock = folder / "clock"
    clock.write_text("+0d")
    fake = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"}
    fake["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"
    page, process, sheet = start(folder, **fake)
    given, times = [], ["+1d", "-1d", "+3650d", "-3650d", "+0d"]
    for place in range(1, ROWS + 1):
        if place % 3 == 0:
            clock.write_text(times[place // 3 % len(times)])
        answer(page, place, given)
    return ROWS // 3, end(process, sheet, given)


def start(folder: Path, **environment: str) -> tuple[Client, subprocess.Popen, Path]:
    table = folder / "t.csv"
    write_table(table)
    command = [sys.executable, "-m", "chary", "review", str(table), "--target", "y", "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | environment
    )
    url = next(line for line in process.stdout if "http://" in line).split("http://")[1].split()[0]
    page = Client(f"http://{url}")
    page.post("/api/audit/draw", k=ROWS)
    return page, process, folder / "t.audit.csv"


def answer(page: Client, place: int, given: list[str]) -> None:
    label = ("yes", "no")[place % 2]
    page.post("/api/audit", place=place, answer=label, expected="")
    given.append(label)


def end(process: subprocess.Popen, sheet: Path, given: list[str]) -> int:
    """The number of answers that the page confirmed and the sheet does not have."""
    process.terminate()
    process.wait(30)
    with sheet.open(newline="", encoding="utf-8") as file:
        found = [row["y"] for row in csv.DictReader(file)]
    return sum(a != b for a, b in zip(given, found, strict=True))


if __name__ == "__main__":
    sys.exit(main())
