"""How soon ``chary review`` shows the first row, and the next one after a key, beside plain Python.

    python benchmarks/review.py [rows of the small table] [rows of the large table]

First row: from starting the command to the JSON of the first row to label, drawn in between, beside
an import of scikit-learn in the same run. Keys: on a large table, while the model is being fitted
in the background, from sending an answer, which is on the disk by then, to having the next row;
beside the same server sending its stylesheet, and the CPU time of an answer by itself; and the
first rows of the result.
"""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, thread_time

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table
from stored import print_head, print_ratio

N_KEYS = 30


def write_table(path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    label = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no").astype(object)
    label[np.argsort(-np.abs(X[:, 0]))[200:]] = None
    columns = {f"x{j}": np.round(X[:, j], 3) for j in range(4)}
    regions = pl.Series("region", rng.integers(0, 20, n)).cast(pl.String)
    pl.DataFrame({"id": np.arange(n), **columns, "y": label.tolist()}).with_columns(
        regions
    ).write_csv(path)


class Server:
    """The command, typed."""

    def __init__(self, path: Path) -> None:
        words = [
            sys.executable,
            "-m",
            "chary",
            "review",
            str(path),
            "--target",
            "y",
            "--no-browser",
        ]
        self.start = perf_counter()
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        found = re.search(r"http://([\d.:]+)(/\?token=\S+)", self.process.stdout.readline())
        assert found is not None
        self.at = found[1]
        self.connection = http.client.HTTPConnection(self.at, timeout=600)
        self.cookie = ""
        self.connection.request("GET", found[2])
        answer = self.connection.getresponse()
        answer.read()
        self.cookie = str(answer.getheader("set-cookie")).split(";")[0]

    def ask(self, method: str, path: str, **body: object) -> bytes:
        headers = {
            "cookie": self.cookie,
            "origin": f"http://{self.at}",
            "content-type": "application/json",
        }
        self.connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = self.connection.getresponse()
        data = answer.read()
        assert answer.status == 200, data
        return data

    def cpu(self) -> float:
        times = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def timed(server: Server, *request: str, **body: object) -> tuple[float, bytes]:
    start = perf_counter()
    data = server.ask(*request, **body)
    return perf_counter() - start, data


def imported(repeats: int = 3) -> tuple[float, float]:
    """Wall and CPU seconds of a Python that imports scikit-learn's classifiers."""
    found = []
    for _ in range(repeats):
        start = perf_counter()
        child = subprocess.Popen([sys.executable, "-c", "import sklearn.ensemble, polars"])
        _, _, usage = os.wait4(child.pid, 0)
        found.append((perf_counter() - start, usage.ru_utime + usage.ru_stime))
    wall, cpu = np.min(found, axis=0)
    return float(wall), float(cpu)


def first_row(console: Console, path: Path, n: int) -> None:
    write_table(path, n)
    base_wall, base_cpu = imported()
    walls, cpus = [], []
    for _ in range(3):
        server = Server(path)
        server.ask("POST", "/api/audit/draw", k=30, rule="planned")
        walls.append(perf_counter() - server.start)
        cpus.append(server.cpu())
        server.kill()
        for made in path.parent.glob(f"{path.stem}.*.*"):
            made.unlink()
    table = Table(
        title=f"From the command to the first row, {n:,} rows, best of 3", title_justify="left"
    )
    for name in ("what", "wall s", "CPU s", "CPU, times the import"):
        table.add_column(name, justify="left" if name == "what" else "right")
    table.add_row("import sklearn.ensemble, polars", f"{base_wall:.2f}", f"{base_cpu:.2f}", "1.0")
    table.add_row(
        "chary review, first row",
        f"{min(walls):.2f}",
        f"{min(cpus):.2f}",
        f"{min(cpus) / base_cpu:.1f}",
    )
    console.print(table)
    print_ratio("chary review, first row", min(cpus), "importing scikit-learn", base_cpu)


def keys(console: Console, path: Path, n: int) -> None:
    write_table(path, n)
    server = Server(path)
    drawn, data = timed(server, "POST", "/api/audit/draw", k=N_KEYS + 5, rule="planned")
    ready = perf_counter() - server.start
    pressed, idle = [], []
    for _ in range(N_KEYS):
        row = json.loads(data)["row"]
        seconds, data = timed(
            server, "POST", "/api/audit", place=row["place"], answer="yes", expected=""
        )
        pressed.append(1000 * seconds)
        idle.append(1000 * timed(server, "GET", "/assets/review.css")[0])
    step = json.loads(server.ask("GET", "/api/state"))["work"]["step"]
    result = 1000 * timed(server, "GET", "/api/result")[0]
    server.kill()
    alone = answered_alone(path)
    table = Table(title=f"{n:,} rows; at work behind it: {step or 'nothing'}", title_justify="left")
    for name in ("what", "median ms", "95% ms", "most ms", "median, times a stylesheet"):
        table.add_column(name, justify="left" if name == "what" else "right")
    for name, found in (("a stylesheet", idle), ("an answer, to the next row", pressed)):
        told = [
            f"{figure:.0f}" for figure in (np.median(found), np.quantile(found, 0.95), max(found))
        ]
        table.add_row(name, *told, f"{np.median(found) / np.median(idle):.1f}")
    console.print(table)
    console.print(
        f"An answer by itself, nothing else at work in the process: {alone:.1f} ms of CPU."
    )
    print_ratio("an answer, by the clock", np.median(pressed), "a stylesheet", np.median(idle))
    console.print(
        f"Ready after {ready:.1f} s, of which the draw {drawn:.1f}. The result: {result:.0f} ms."
    )


def answered_alone(path: Path) -> float:
    """Median CPU milliseconds of the thread that writes an answer and makes the next row."""
    from chary.options import ReviewOptions
    from chary.review import begin
    from chary.review.audit_page import answer, draw_more

    bench, found = begin([str(path)], ReviewOptions(target="y")), []
    page = draw_more(bench, {"k": 3 * N_KEYS})
    for _ in range(N_KEYS):
        start = thread_time()
        page = answer(bench, {"place": page["row"]["place"], "answer": "yes", "expected": ""})
        found.append(1000 * (thread_time() - start))
    return float(np.median(found))


def main() -> None:
    small = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    large = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    console = Console(width=110)
    print_head()
    with tempfile.TemporaryDirectory() as folder:
        first_row(console, Path(folder) / "small.csv", small)
        keys(console, Path(folder) / "large.csv", large)


if __name__ == "__main__":
    main()
