"""Writes ``docs/reference/cli.md``, the page of commands and options, from the commands."""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "reference" / "cli.md"
HEAD = """# Command line

`chary COMMAND --help` shows the same in a terminal. Files that the commands write:
[Files and columns](files.md).
"""


def written() -> str:
    """The page: a section for each command, and a table of its options."""
    from typer.main import get_command

    from chary.cli.app import app

    return HEAD + "".join(_commands(get_command(app), "chary"))


def _commands(command: Any, name: str) -> list[str]:
    """The sections of a command, or of those in a group."""
    if hasattr(command, "commands"):
        return [
            part
            for key, one in command.commands.items()
            for part in _commands(one, f"{name} {key}")
        ]
    arguments = [
        one.metavar or one.name.upper() for one in command.params if not one.opts[0].startswith("-")
    ]
    options = [
        one
        for one in command.params
        if one.opts[0].startswith("-") and not one.hidden and one.name != "help"
    ]
    usage = " ".join([name, *arguments, "[OPTIONS]"])
    table = "".join(["| Option | Default | What it does |\n|---|---|---|\n", *map(_row, options)])
    return [
        f"\n## {name}\n\n{_plain(command.help or '').strip()}\n\n```text\n{usage}\n```\n\n{table}"
    ]


def _row(option: Any) -> str:
    """A line of the table: how an option is typed, its default and its help."""
    flags = ", ".join(f"`{flag}`" for flag in option.opts)
    value = f" {option.metavar}" if option.metavar else ""
    told = option.show_default if isinstance(option.show_default, str) else option.default
    default = (
        "required"
        if option.required
        else str(told)
        if isinstance(told, (str, int)) and told is not False
        else ""
    )
    return f"| {flags}{_cell(value)} | {_cell(default)} | {_cell(option.help or '')} |\n"


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|").replace("\n", " ")


def _plain(text: str) -> str:
    """Remove Rich's marks and write names of options and files as Markdown leaves them."""
    return re.sub(r"\[/?(?:bold|dim)\]", "", text).replace("*", "\\*").replace("<", "\\<")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: PAGE.write_text(written(), encoding="utf-8") and None)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
