"""kill -9 of the server after and amid 30 answers: none that was confirmed is lost.

    python tests/stress/kill_answers.py

Each answer is confirmed by the page, then the server is killed and started again. Then the same
with the server killed while an answer is under way: such an answer is there or not, and all before
it are.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from reviewing import Server, write_table

N = 30


def answers_of(server):
    return [
        server.get(f"/api/audit?place={place}")["row"]["answer"] for place in range(1, 2 * N + 1)
    ]


def main():
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        write_table(path)
        server = Server(path)
        server.post("/api/audit/draw", k=2 * N)
        confirmed = [""] * (2 * N)
        lost = 0
        for place in range(1, N + 1):
            answer = ["yes", "no", "?", "another"][place % 4]
            server.post("/api/audit", place=place, answer=answer, expected="")
            server.kill()
            confirmed[place - 1] = answer
            server = Server(path)
            lost += answers_of(server) != confirmed
        print(
            f"{N} answers, the server killed after each: {lost} restarts that differ from what was "
            "confirmed"
        )
        there = lost = 0
        for place in range(N + 1, 2 * N + 1):
            receipts = []

            def write(place=place, receipts=receipts, server=server):
                try:
                    receipts.append(
                        server.post("/api/audit", place=place, answer="yes", expected="")[
                            "answered"
                        ]
                    )
                except Exception:
                    return

            thread = Thread(target=write)
            thread.start()
            time.sleep(float(rng.uniform(0, 0.3)))
            server.kill()
            thread.join()
            server = Server(path)
            found = answers_of(server)
            lost += found[: place - 1] != confirmed[: place - 1] or (
                bool(receipts) and found[place - 1] != "yes"
            )
            there += found[place - 1] == "yes"
            confirmed = found
        parts = [name for name in os.listdir(folder) if name.endswith(".part")]
        print(
            f"{N} answers, the server killed in their midst: {there} were written, {lost} lost or "
            "changed another"
        )
        print(f"temporary files left behind: {len(parts)}; files: {sorted(os.listdir(folder))}")
        server.end()
        return lost


if __name__ == "__main__":
    sys.exit(main())
