"""What every stored result has: its command, its commit and versions first, its ratios last."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("chary", "numpy", "scipy", "scikit-learn", "polars", "torch")
ROOT = Path(__file__).parents[1]


def print_head() -> None:
    """Print the command, the commit, and the versions that a result belongs to."""
    script = os.path.relpath(sys.argv[0], ROOT)
    print(f"$ {shlex.join(['python', script, *sys.argv[1:]])}")
    versions = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    print(f"# commit {commit()}, {', '.join(versions)}")
    print(f"# {os.cpu_count()} processors, {processor()}\n", flush=True)


def commit() -> str:
    """Return the commit of this tree, with a plus if files differ from it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--exclude=*", "--dirty=+"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def processor() -> str:
    """Return what Linux calls the processor, elsewhere what Python calls it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def print_ratio(name: str, cost: float, baseline: str, cost_of_baseline: float) -> None:
    """Print what something costs beside its baseline, as ``run.py`` reads it."""
    print(f"ratio: {name} / {baseline} = {cost / cost_of_baseline:.2f}", flush=True)
