"""The options that several commands share, each with its help: one place for a word that is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TABLE = Annotated[Path, typer.Argument(metavar="FILE", help="A CSV or Parquet file.")]
TARGET = Annotated[str, typer.Option("--target", "-t", help="The column that holds the labels.")]
UNLABELED = Annotated[
    str | None, typer.Option(metavar="VALUE", help="A cell value that means: no label. Empty cells always do.")
]
DROP = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out. Repeatable.")]
CATEGORICAL = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Numbers in it are names, as postcodes are. Repeatable.")
]
NUMERIC = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="It holds numbers. Repeatable.")]
IDENTIFIER = Annotated[
    list[str] | None, typer.Option("--id", metavar="COLUMN", help="It only names rows. Repeatable.")
]
CLASS_PRIOR = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=SHARE", help="Share of a class among all rows, if you know it. For each class."),
]
AUDIT = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Random rows that a person labelled: chary audit draw.")
]
ERROR = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE", help="Mark the rows to accept with at most so many wrong, as 10%. Needs --audit."
    ),
]
PROBABILITIES = Annotated[bool, typer.Option("--probabilities", help="Add the probability of each class.")]
ROUNDS = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=20,
        help="How often to learn from its own best labels.",
        show_default="0, 1 or 5, as suits the labels",
    ),
]
DELIMITER = Annotated[str | None, typer.Option(help="Of a CSV; found out if not given.")]
ENCODING = Annotated[str, typer.Option(help="Of a CSV.")]
SEED = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Same seed, same result.")]
OUT = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where to write; next to FILE if not given.")]
FORCE = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]
JSON = Annotated[bool, typer.Option("--json", help="Print figures for a program instead of for a person.")]
