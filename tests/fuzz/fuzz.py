"""Fuzz one of the doors for files from strangers, guided by coverage (Atheris).

    make fuzz TIME=60                                             each target for a minute
    python tests/fuzz/fuzz.py models build/fuzz -max_total_time=60     one target, with options of
    libFuzzer

Inputs that are neither read nor refused in one sentence, or that make chary open a connection or
start a program, are left in FOLDER/TARGET/found, one for each place in the code; the run goes on. A
hang, a crash of the process or too much memory ends it, with the input in the same folder.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import traceback
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[2]
# What no file may make chary do.
_FORBIDDEN = (
    "socket.connect",
    "socket.getaddrinfo",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "pickle.find_class",
)


def main() -> None:
    name, place, *options = sys.argv[1:]
    sys.path.insert(0, str(ROOT))
    with atheris.instrument_imports(include=["chary"]):
        from tests.fuzz.targets import TARGETS, ForbiddenError, check
    target = TARGETS[name]
    corpus, found, work = (
        Path(place).absolute() / name / part for part in ("corpus", "found", "work")
    )
    for folder in (corpus, found, work):
        folder.mkdir(parents=True, exist_ok=True)
    for seed in target.seeds():
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    os.chdir(work)

    def run(data: bytes) -> None:
        error = check(data, target, work)
        if error is not None:
            _keep(error, data, found)

    def forbid(event: str, arguments: tuple[object, ...]) -> None:
        if event in _FORBIDDEN:
            raise ForbiddenError(f"{event} {arguments!r}")

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        # Now and then by the fuzzer's own changes of bytes, which know what was compared.
        changed = (
            atheris.Mutate(data, max_size) if rng.random() < 0.2 else target.mutated(data, rng)
        )
        return changed if len(changed) <= max_size else data

    arguments = [
        sys.argv[0],
        f"-max_len={target.max_bytes}",
        "-timeout=60",
        "-rss_limit_mb=4096",
        "-mutate_depth=2",
        "-print_final_stats=1",
        f"-artifact_prefix={found}/",
        *options,
        str(corpus),
    ]
    atheris.Setup(arguments, run, custom_mutator=mutate)
    sys.addaudithook(forbid)
    atheris.Fuzz()


def _keep(error: BaseException, data: bytes, folder: Path) -> None:
    """Store the first input that led to an error at a place in the code, with the traceback."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{type(error).__name__}-{Path(last.filename).stem}-{last.lineno}"
    if (folder / place).exists():
        return
    (folder / place).write_bytes(data)
    words = "".join(traceback.format_exception(error))
    (folder / f"{place}.txt").write_text(words, errors="backslashreplace")
    print(f"FOUND {place}: {error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
