"""The options that several commands share, each with its help: one place for a word that is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TABLE = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="CSV, Parquet, JSON lines, Arrow or Excel, also in gzip or zip; several files, a folder or a pattern "
        "are one table; - is standard input.",
    ),
]
TARGET = Annotated[str, typer.Option("--target", "-t", help="The column that holds the labels.")]
UNLABELED = Annotated[
    list[str] | None,
    typer.Option(metavar="VALUE", help="A cell value that means: no label. Empty cells always do. Repeatable."),
]
EXACT_LABELS = Annotated[
    bool,
    typer.Option("--exact-labels", help="Labels that differ in case or white space only are different classes."),
]
DROP = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out. Repeatable.")]
CATEGORICAL = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Numbers in it are names, as postcodes are. Repeatable.")
]
NUMERIC = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="It holds numbers. Repeatable.")]
IDENTIFIER = Annotated[
    list[str] | None, typer.Option("--id", metavar="COLUMN", help="It only names rows. Repeatable.")
]
MISSING = Annotated[
    list[str] | None,
    typer.Option(metavar="[COLUMN=]CODE", help="A cell that means: nothing, such as -9 or age=-9. Repeatable."),
]
TEXT = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="It holds free text. Repeatable.")]
FEATURES = Annotated[
    Path | None,
    typer.Option(metavar="FILE.npy", help="More numbers for each row of FILE, from a model for images or text."),
]
CLASS_PRIOR = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=SHARE", help="Share of a class among all rows, if you know it. For each class."),
]
AIM = Annotated[
    str,
    typer.Option(metavar="accuracy|balanced", help="Are rare classes as important as common ones? Then balanced."),
]
AUDIT = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Random rows that a person labelled: chary audit draw.")
]
CHECKED = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Rows to check that a person labelled: --check-sheet.")
]
CHECK_SHEET = Annotated[
    bool, typer.Option("--check-sheet", help="Also write FILE.check.csv: doubtful rows to check and correct.")
]
ERROR = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE", help="Mark the rows to accept with at most so many wrong, as 10%. Needs --audit."
    ),
]
PROBABILITIES = Annotated[bool, typer.Option("--probabilities", help="Add the probability of each class.")]
MEMORY = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="To use at most, such as 2GB.", show_default="half of what is free"),
]
SAMPLE = Annotated[
    int | None,
    typer.Option(
        min=100,
        metavar="ROWS",
        help="Read the table in parts, whatever its size, and learn with so many rows without a label.",
        show_default="100,000, if it is read in parts",
    ),
]
LEARNER = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Who learns: mixed (a linear model, trees and boosting), network, linear or boosting; auto: as suits "
        "the labels.",
    ),
]
EXPLAIN = Annotated[
    bool, typer.Option("--explain", help="Add the cells that decide each new label; slow on large tables.")
]
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
SHEET = Annotated[str | None, typer.Option(metavar="NAME", help="Of an Excel workbook that has several.")]
FORMAT = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="Of the table written: csv, parquet, jsonl, arrow or xlsx, or as in csv.gz; as FILE if not given.",
    ),
]
SEED = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Same seed, same result.")]
OUT = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where to write, made if it is not there; next to FILE if not given."),
]
STRICT = Annotated[
    bool, typer.Option("--strict", help="Refuse rows that do not look like those the model learned from.")
]
FORCE = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]
JSON = Annotated[bool, typer.Option("--json", help="Print figures for a program instead of for a person.")]
