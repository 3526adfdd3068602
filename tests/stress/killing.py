"""Shared by the scripts of this folder: a small table, commands to kill, and a verdict."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

CHARY = [sys.executable, "-m", "chary"]
# A process that kills itself before the n-th step of putting files in their place, n being its
# first argument.
KILLING = """
import os, signal, sys
n, steps = int(sys.argv.pop(1)), []
def counted(name):
    real = getattr(os, name)
    def step(*args, **how):
        steps.append(name)
        if len(steps) == n:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **how)
    setattr(os, name, step)
for name in ("fsync", "link", "replace", "unlink"):
    counted(name)
from chary.cli import main
sys.exit(main())
"""


def make_table(path: Path, n_rows: int = 300) -> Path:
    """Two columns that tell the class, of which every third row lacks it."""
    rows = [
        f"{i * 37 % 100},{'red' if i % 2 else 'blue'},{label(i) if i % 3 else ''}"
        for i in range(n_rows)
    ]
    path.write_text("\n".join(["size,colour,kind", *rows]) + "\n", encoding="utf-8")
    return path


def label(i: int) -> str:
    """The class of a row."""
    return "large" if i * 37 % 100 > 50 else "small"


def run(*words: object, code: str = "", **options: object) -> subprocess.CompletedProcess[str]:
    """A command, to its end."""
    start = [sys.executable, "-c", code] if code else CHARY
    return subprocess.run(
        [*start, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        **options,
    )


def run_and_kill(seconds: float, *words: object) -> bool:
    """Start a command, kill it and its children after some seconds; tell if it still ran."""
    options = {
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "start_new_session": True,
    }
    with subprocess.Popen([*CHARY, *map(str, words)], env=environment(), **options) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return True
    return False


def environment() -> dict[str, str]:
    """One thread each: there are many at once."""
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
    }


def remains(folder: Path) -> list[Path]:
    """Temporary files that were left."""
    return sorted(folder.rglob(".*.part"))


def say_result(title: str, figures: dict[str, object], broken: list[str]) -> int:
    """Print what was tried and found; the exit code."""
    width = max(map(len, figures))
    print(title)
    print(
        f"{time.strftime('%Y-%m-%d', time.gmtime())}, Python {platform.python_version()}, "
        f"{platform.system()}\n"
    )
    for name, value in figures.items():
        print(f"{name:{width}}  {value}")
    print(f"{'promises broken':{width}}  {len(broken)}")
    for sentence in broken[:20]:
        print(f"  {sentence}")
    return 1 if broken else 0
