"""Does what README.md shows with an installed chary and nothing else, and compares what is printed.

    python .ci/first_steps.py README.md build/dist/empty     # venv/bin of that folder is used

Blocks of the kinds ``sh`` and ``console`` are run in an empty folder; what a ``console`` block
prints has to be as shown, where ``...`` stands for any text.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"```(sh|console)\n(.*?)```", re.DOTALL)


def commands(text: str) -> list[tuple[str, str | None]]:
    """List the commands of a page with what each prints; None: it is not shown."""
    listed: list[tuple[str, str | None]] = []
    for kind, block in BLOCK.findall(text):
        if kind == "sh":
            # A comment beside a command is for the reader, installing is done already.
            lines = [line.split("  #")[0].strip() for line in block.splitlines()]
            listed += [(line, None) for line in lines if line.startswith("chary ")]
        else:
            for part in block.split("$ ")[1:]:
                command, _, expected = part.partition("\n")
                listed.append((command, expected))
    return listed


def main() -> int:
    """Run all commands; exit code 1 at the first that fails or prints something else."""
    page, environment = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    variables = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    variables["PATH"] = f"{environment / 'venv/bin'}{os.pathsep}{os.environ['PATH']}"
    n_commands = 0
    with tempfile.TemporaryDirectory() as folder:
        for command, expected in commands(page.read_text(encoding="utf-8")):
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=variables, capture_output=True, text=True
            )
            printed = "\n".join(line.rstrip() for line in (done.stdout + done.stderr).split("\n"))
            pattern = ".*" if expected is None else re.escape(expected).replace(r"\.\.\.", ".*")
            shown = re.fullmatch(pattern, printed, re.DOTALL if expected is None else 0)
            if shown is None or done.returncode:
                print(f"$ {command}\n{printed}\nexit code {done.returncode}")
                return 1
            n_commands += 1
    print(f"{n_commands} commands of {page.name} run as printed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
