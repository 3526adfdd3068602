"""Words typed after ``chary audit`` in; a sheet of random rows, and a person's labels in it, out."""

from __future__ import annotations

import glob
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chary.cli import options
from chary.cli.console import heed_interrupts, read_quietly, require_free, require_readable, stdout
from chary.cli.large import if_large
from chary.cli.prior import parse_share
from chary.cli.remedies import command
from chary.cli.sizes import parse_size

if TYPE_CHECKING:
    from chary.jobs import DrawnSheet
    from chary.tables import DrawnFrom

_OUTPUT = re.compile(r"\.(model\.chary|report\.html|labeled\.[a-z.]+)$")

DRAW_SEED = Annotated[
    int | None, typer.Option(min=0, max=2**31 - 1, help="Another seed, another draw.", show_default="0")
]

audit_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Label a few rows drawn at random, and learn how good the other labels really are.",
)


@audit_app.command("draw", epilog="Example:  chary audit draw customers.csv --target churn -k 30")
def draw_command(
    file: options.TABLE,
    target: options.TARGET,
    k: Annotated[int, typer.Option("-k", min=2, help="How many rows to draw.")] = 30,
    unlabeled: options.UNLABELED = None,
    exact_labels: options.EXACT_LABELS = False,
    show_guess: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL", help="Add what a FILE.model.chary says of each row. It sways whoever sees it."
        ),
    ] = None,
    delimiter: options.DELIMITER = None,
    encoding: options.ENCODING = "utf-8",
    sheet: options.SHEET = None,
    memory: options.MEMORY = None,
    seed: DRAW_SEED = None,
    out: options.OUT = None,
    force: options.FORCE = False,
) -> None:
    """Draw rows without a label, at random, for a person to label.

    Writes FILE.audit.csv: the rows with an empty target column. Fill it in with [bold]chary audit fill[/bold] or
    in a spreadsheet, then pass it to [bold]chary label --audit[/bold]. Where it is already, a larger -k adds rows
    to it and keeps the answers. A table that would take more than --memory is read in parts.
    """
    require_readable(*file)
    from chary._files import folders_for
    from chary.jobs import ToDrawFrom, draw_sheet, free_memory, load_table_model, predict_table
    from chary.tables import GUESS, Table, origin_to_tell

    how: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet}
    allowed = free_memory() // 2 if memory is None else parse_size(memory)
    large = if_large(file, how, allowed)
    if large is not None:
        found = ToDrawFrom.in_parts(large, target, unlabeled, exact_labels, room=allowed // 3)
    else:
        found = ToDrawFrom.at_once(read_quietly(file, **how), target, unlabeled, exact_labels)
    table, labels = found.table, found.labels
    path = (out or table.folder) / f"{table.stem}.audit.csv"
    require_free([path], force=True)
    model = None if show_guess is None else load_table_model(show_guess)

    def guesses(rows: Any) -> dict[str, Any]:
        drawn = Table(found.frame(rows).drop(target), table.name, table.delimiter)
        return {GUESS: predict_table(model, drawn)["chary_label"]}

    origin = origin_to_tell(table, target, labels, unlabeled, exact_labels=exact_labels)
    told = None if model is None else guesses
    with folders_for([path]):
        drawn = draw_sheet(
            path, table, origin, found.cells, found.closed, k, seed=seed, overwrite=force, guesses=told
        )
    say_drawn(drawn, int((~found.closed).sum()), "unlabelled rows", labels.classes.tolist(), path)
    if model is not None:
        say(
            f"Column {GUESS} shows the model's opinion: it biases the labeller, and the accuracy upwards.\n", "red"
        )
    say(f"Next:  chary audit fill {shlex.quote(str(path))}", "bold")


@audit_app.command("fill", epilog="Example:  chary audit fill customers.audit.csv")
def fill_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A FILE.audit.csv of chary audit draw, or of chary judge.")
    ],
    until_width: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="Say when the accuracy is known this closely, as 20%. For chary judge."
        ),
    ] = None,
    until_above: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Say when it is known to be above this or not, as 90%.")
    ] = None,
) -> None:
    """Label the drawn rows one by one, with a key for each class. Every answer is saved at once.

    With --until-width or --until-above, on a sheet of [bold]chary judge[/bold], an interval of the accuracy is
    shown that holds at whichever moment you stop, and when what you ask for is reached. No label is shown.
    """
    require_readable(file)
    from chary._files import sweep
    from chary.cli.enough import watch_sheet
    from chary.cli.sheet import Sheet
    from chary.tables import Filling

    heed_interrupts()
    sweep(Path(os.path.realpath(file)).parent)
    watched = until_width is not None or until_above is not None
    filling, watch = Filling(file, stopping=watched), None
    if watched:
        width, above = parse_share(until_width, "--until-width"), parse_share(until_above, "--until-above")
        watch = watch_sheet(filling, width, above)
    sheet = Sheet(filling, watch)
    interrupted = None
    try:
        sheet.work()
    except KeyboardInterrupt as error:
        interrupted = error
    say(f"\n{sheet.progress}: {file}")
    again = f"chary audit fill {shlex.quote(str(file))}"
    enough = False
    if watch is not None:
        words, enough = watch.words(sheet.answers)
        say(words)
    say(f"Next:  {again if sheet.n_empty and not enough else _next_command(file, filling.origin)}", "bold")
    if interrupted:
        raise interrupted


def say_drawn(drawn: DrawnSheet, n_open: int, of_what: str, classes: list[str], path: Path) -> None:
    """What was drawn, or added to what was there; what to do with it, and what it will tell."""
    from chary._words import shown
    from chary.evaluation import accuracy_interval

    k = drawn.n_drawn
    low, high = accuracy_interval(round(0.9 * k), k)
    named = ", ".join(shown(name, 30) for name in classes[:12]) + (", ..." if len(classes) > 12 else "")
    there = f"{k} of {n_open:,} {of_what}, drawn at random: {path}"
    if drawn.enlarged:
        there = (
            f"{drawn.n_new} rows more, drawn at random, are in {path}: {k} of {n_open:,} {of_what} now, and the "
            f"{drawn.n_answered} answers that it held are as they were."
        )
    say(
        f"{there}\n"
        f"Label them ({named}), hard ones too: a row that is skipped counts as wrong.\n"
        f"If {round(0.9 * k)} of {k} prove right, accuracy is between {low:.0%} and {high:.0%} (95% interval).\n"
    )


def _next_command(sheet: Path, origin: DrawnFrom) -> str:
    """What to type once a sheet is filled in."""
    if not origin.judged:
        return _label_command(sheet, origin)
    table = origin.table if origin.more_tables or origin.table == "-" else str(_table_of(sheet, origin.table))
    words = [word for name in origin.judged for word in ("--labels", name)]
    words += [word for name, value in origin.read_with.items() for word in (f"--{name}", value)]
    words += [word for value in origin.unlabeled or () for word in ("--unlabeled", value)]
    words += ["--exact-labels"] * origin.exact_labels
    return shlex.join(["chary", "judge", table, *origin.more_tables, *words, "--audit", str(sheet)])


def _label_command(audit: Path, origin: DrawnFrom) -> str:
    """What to type once an audit file is filled in; a table labelled before is labelled again."""
    import polars as pl

    from chary.tables import DOUBT, Table

    path = origin.table if origin.more_tables or origin.table == "-" else str(_table_of(audit, origin.table))
    table = Table(pl.DataFrame(), path, path=path, more_paths=origin.more_tables, read_with=origin.read_with)
    outputs = table.folder.glob(f"{glob.escape(table.stem)}.*") if table.folder.is_dir() else ()
    labeled_before = any(_OUTPUT.search(output.name) for output in outputs)
    given = "--checked" if origin.chosen == DOUBT else "--audit"
    more = ["--exact-labels"] * origin.exact_labels + [given, str(audit)] + ["--force"] * labeled_before
    return command(table, "label", origin.target, origin.unlabeled, *more)


def _table_of(audit: Path, typed: str) -> Path:
    """The table that an audit file was drawn from: the one next to it, or where it was then."""
    stem = audit.name.removesuffix(".csv").removesuffix(".audit").removesuffix(".check").removesuffix(".judge")
    names = [*([Path(typed).name] if typed else []), *(stem + suffix for suffix in (".csv", ".parquet", ".tsv"))]
    paths = [*(audit.with_name(name) for name in names), *([Path(typed)] if typed else [])]
    return next((path for path in paths if path.exists()), paths[0])


def say(text: str, style: str = "") -> None:
    """Words with names of files in them, on the terminal."""
    from rich.text import Text

    seen = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
    stdout().print(Text(seen, style), soft_wrap=True)
