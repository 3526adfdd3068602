"""Three doors for files from strangers, and what to push through them: sources, sheets and models.

A target makes seeds, which are valid files, changes bytes as such a file is built, and runs the
code that reads them. Every input must end in a result or in an error of chary's own, in one
sentence; anything else is a finding.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import linecache
import random
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import xlsxwriter
from sklearn.pipeline import Pipeline

from chary._files import OutputError
from chary.api import TableModel
from chary.audit.answers import read_audit
from chary.audit.drawing import draw_sheet
from chary.audit.filling import Filling
from chary.audit.judge import draw_to_judge, judge_table
from chary.audit.judged_answers import TRUTH
from chary.audit.origin import CLASSES
from chary.audit.sheet import unlabelled_rows
from chary.cli.audit import _next_command, _stopping
from chary.model_file import ModelFileError, load_bytes, model_bytes
from chary.options import FillOptions, JudgeOptions
from chary.report import summarize_judged
from chary.tables import TableError, TablePreparation, open_source, read_table, write_table
from chary.tables.source import flattened
from chary.tables.target import target_labels
from tests.fuzz import forging

GOLDEN = Path(__file__).parents[1] / "fixtures" / "golden"
OWN_ERRORS = (TableError, ModelFileError, OutputError)

Mutate = Callable[[bytes, random.Random], bytes]


class ForbiddenError(BaseException):
    """What no file may make chary do; no ``except Exception`` takes it for an error of its own."""


class Target(NamedTuple):
    """What is fuzzed."""

    seeds: Callable[[], list[bytes]]
    mutated: Mutate  # a change that keeps most of the file's structure
    run: Callable[
        [bytes, Path], None
    ]  # reads the bytes as a file in a folder; raises what was found
    max_bytes: int


def check(data: bytes, target: Target, folder: Path) -> BaseException | None:
    """Run a target on an input; return what is neither a result nor an error of chary's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            target.run(data, folder)
        except Exception as error:
            return None if is_own(error) else error
        except ForbiddenError as error:
            return error
    return None


def is_own(error: Exception) -> bool:
    """Tell whether an error is one sentence of chary's: by class, or by the raising line."""
    if "\n" in str(error) or not str(error).endswith((".", "?")):
        return False
    if isinstance(error, OWN_ERRORS):
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not isinstance(error, ValueError | OSError):
        return False
    file = trace.tb_frame.f_code.co_filename
    return "/chary/" in file and linecache.getline(file, trace.tb_lineno).strip().startswith(
        "raise "
    )


# ---------------------------------------------------------------- sources


def example_frame(n: int = 24) -> pl.DataFrame:
    """Make a table with a column of every kind that a CSV can hold."""
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "id": [f"c{i:03}" for i in range(n)],
            "number": [None if i % 9 == 0 else round(float(rng.normal()), 3) for i in range(n)],
            "money": [f"${1000 + 7 * i:,}" for i in range(n)],
            "city": rng.choice(["Köln", "Ulm", 'a "b", c', ""], n),
            "flag": rng.choice(["yes", "no"], n),
            "day": [f"{1 + i % 28:02}.{1 + i % 12:02}.2024" for i in range(n)],
            "remark": [f"{'late' if i % 3 else 'good'} delivery of box {i % 5}" for i in range(n)],
            "y": [("a" if i % 3 else "b") if i % 2 else None for i in range(n)],
        }
    )


def _workbook(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        sheet = book.add_worksheet("data")
        for j, name in enumerate(frame.columns):
            sheet.write(0, j, name)
            for i, value in enumerate(frame[name].to_list(), 1):
                sheet.write(i, j, value)
        sheet.merge_range(3, 3, 5, 3, "merged")
    return buffer.getvalue()


def _parquet(frame: pl.DataFrame, **how: Any) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, **how)
    return buffer.getvalue()


def source_seeds() -> list[bytes]:
    """Make one table in every format."""
    frame = example_frame()
    nested = frame.with_columns(
        pl.Series("vector", [[1.0, 2.0]] * frame.height), pl.struct("number", "flag").alias("both")
    )
    text = frame.write_csv()
    csv_bytes = text.encode()
    return [
        csv_bytes,
        frame.write_csv(separator=";").replace(".", ",").encode("cp1252"),
        text.encode("utf-16"),
        frame.write_csv(separator="\t", line_terminator="\r\n").encode("utf-8-sig"),
        b"Report of 2024\n\n" + csv_bytes,
        frame.write_ndjson().encode(),
        nested.write_ndjson().encode(),
        _parquet(frame),
        _parquet(nested, compression="uncompressed"),
        _workbook(frame),
        gzip.compress(csv_bytes, mtime=0),
    ]


# The ending of a file's name by its first bytes; without one, it is a CSV.
_ENDINGS = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\x1f\x8b": "csv.gz",
    b"{": "jsonl",
    b"[": "jsonl",
    b"PK": "xlsx",
}
_TOKENS = [
    *(
        b'"',
        b'""',
        b",",
        b";",
        b"\t",
        b"\n",
        b"\r",
        b"\r\n",
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"null",
    ),
    *(
        b"NaN",
        b"1e999",
        b"-0",
        b"9" * 40,
        b"{}",
        b"[]",
        b'{"a":',
        b'"a":1,',
        b"\\ud800",
        b"\xed\xa0\x80",
        b"a" * 300,
    ),
    *(
        b"2024-02-30",
        b"24:61",
        b"1,234.5",
        b"1.234,5",
        b"$",
        b"%",
        b"NA",
        b"yes",
        b"true",
        b"\xe2\x80\x8b",
        b"\xc2\xa0",
    ),
    *(
        b'r="XFD1048576"',
        b'ref="A1:B2"',
        b'ref="B2:A1"',
        b't="s"',
        b"<v>99</v>",
        b"<c/>",
        b"&#0;",
        b"&#xD800;",
    ),
]


def mutated_source(data: bytes, rng: random.Random) -> bytes:
    """Change text at one place, or a part of an archive."""
    if data[:2] == b"PK" and rng.random() < 0.9:
        return _mutated_archive(data, rng)
    return _spliced(data, rng)


def _mutated_archive(data: bytes, rng: random.Random) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(sorted(parts))
        parts[name] = _spliced(parts[name], rng)
    except Exception:
        return _spliced(data, rng)
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name), part)
    return changed.getvalue()


def _spliced(data: bytes, rng: random.Random) -> bytes:
    """Put a token or a piece of the data itself at a place, or leave some of it out."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(data) + 1)
        length = rng.choice([0, 1, 2, 8, 40])
        start = rng.randrange(len(data) + 1)
        piece = rng.choice(
            [rng.choice(_TOKENS), data[start : start + rng.choice([1, 8, 200])], b""]
        )
        data = data[:at] + piece + data[at + length :]
    return data


def run_source(data: bytes, folder: Path) -> None:
    """Read a table, find its labels and the kinds of its columns, and write it again."""
    ending = next((ending for magic, ending in _ENDINGS.items() if data.startswith(magic)), "csv")
    path = folder / f"t.{ending}"
    path.write_bytes(data)
    source = open_source(str(path), memory=1 << 29)
    for batch in source.batches():
        assert batch.table.frame.width == source.table.frame.width
    table = source.read()
    frame = table.frame
    assert frame.height == source.n_rows
    if frame.width * frame.height > 20_000 or not frame.height:
        return
    write_table(table, {}, io.BytesIO())
    features = TablePreparation().fit_transform(frame)
    assert np.isfinite(features).all()
    target_labels(table, "y" if "y" in frame.columns else frame.columns[-1])


# ---------------------------------------------------------------- sheets

_LABELS = "llm"


def _table_of_sheets(folder: Path) -> Path:
    """Write the table that sheets are drawn from."""
    path = folder / "people.csv"
    if not path.exists():
        guesses = pl.Series(_LABELS, ["a" if i % 3 else "b" for i in range(24)])
        example_frame().with_columns(guesses).write_csv(path)
    return path


def _answered(path: Path, column: str, folder: Path) -> bytes:
    sheet = pl.read_csv(path, infer_schema=False)
    answers = [["a", "b", "?", "", "A", "c"][i % 6] for i in range(sheet.height)]
    return sheet.with_columns(pl.Series(column, answers)).write_csv().encode()


def sheet_seeds() -> list[bytes]:
    """Draw sheets to label rows and to judge labels, and answer them."""

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = _table_of_sheets(folder)
        table = read_table(path)
        pool = unlabelled_rows(table, "y", target_labels(table, "y"))
        draw_sheet(folder / "people.audit.csv", pool, 8, seed=0)
        draw_to_judge(
            flattened(open_source(str(path))),
            folder / "people.judge.csv",
            JudgeOptions.of(labels=_LABELS),
            8,
        )
        to_label = _answered(folder / "people.audit.csv", "y", folder)
        to_judge = _answered(folder / "people.judge.csv", TRUTH, folder)
    # A path of the machine that made the seeds would be of no use elsewhere.
    sheets = [sheet.replace(f"{folder}/".encode(), b"") for sheet in (to_label, to_judge)]
    frames = [pl.read_csv(sheet, infer_schema=False) for sheet in sheets]
    semicolons = [frame.write_csv(separator=";").encode("utf-8-sig") for frame in frames]
    return [*sheets, *semicolons, *map(_workbook_of_texts, frames), *map(_parquet, frames)]


def _workbook_of_texts(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True, "strings_to_numbers": True}) as book:
        sheet = book.add_worksheet("people")
        for i, row in enumerate([frame.columns, *frame.iter_rows()]):
            sheet.write_row(i, 0, row)
    return buffer.getvalue()


_CELLS = [
    *(
        "",
        "a",
        "b",
        "?",
        "A ",
        "c",
        "nan",
        "yes",
        "'=1",
        "1",
        "1.0",
        "\u200b",
        "x" * 400,
        "chary_row",
        "y",
        "truth",
    ),
    *(
        "1/8: row 3 of x0123456789",
        "9/8: row 999999999999 of x0123456789",
        "check 1/8: row 1 of x0123456789",
    ),
    *("{}", "[]", '{"y": []}', '{"y": null}', '{"y": {"a": 1}}', '{"y": ["a"], "chary_table": 5}'),
    *(
        '{"truth": ["a", "b"], "chary_judged": ["llm"], "chary_table": "people.csv"}',
        '{"y": [[[]]]}',
    ),
]
_OF_ORIGIN = [
    *(
        "chary_table",
        "chary_read_with",
        "chary_unlabeled",
        "chary_judged",
        "chary_options",
        "chary_digests",
    ),
    *("chary_shown", "chary_seed", "chary_chosen", "chary_place", "chary_stopped_when_enough"),
    *(
        "header_row",
        "delimiter",
        "encoding",
        "sheet",
        "http://127.0.0.1:9/t.csv",
        "s3://b/t.csv",
        "/dev/zero",
        "-",
    ),
]


def mutated_sheet(data: bytes, rng: random.Random) -> bytes:
    """Change cells of a sheet, what it says of where it comes from, its rows or its columns."""
    if data[:2] == b"PK" or data[:4] == b"PAR1" or rng.random() < 0.1:
        return mutated_source(data, rng)
    text = data.decode("utf-8-sig", "replace")
    delimiter = ";" if text.count(";") > text.count(",") else ","
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error:
        return _spliced(data, rng)
    if not rows or not rows[0]:
        return _spliced(data, rng)
    for _ in range(rng.choice([1, 1, 2, 5])):
        _change_rows(rows, rng)
    changed = io.StringIO()
    csv.writer(changed, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return changed.getvalue().encode("utf-8", "replace")


def _change_rows(rows: list[list[str]], rng: random.Random) -> None:
    i, other = rng.randrange(len(rows)), rng.randrange(len(rows))
    j = rng.randrange(max(1, len(rows[i])))
    way = rng.randrange(7)
    if way == 0 and CLASSES in rows[0]:
        _change_origin(rows, rows[0].index(CLASSES), rng)
    elif way == 1:
        rows[i], rows[other] = rows[other], rows[i]
    elif way == 2:
        rows.insert(i, list(rows[other]))
    elif way == 3 and len(rows) > 2:
        del rows[i]
    elif way == 4 and len(rows[0]) > 2:
        rows[:] = [row[:j] + row[j + 1 :] for row in rows]
    elif way == 5:
        rows[:] = [[*row[:j], rng.choice(row or [""]), *row[j:]] for row in rows]
    elif j < len(rows[i]):
        rows[i][j] = rng.choice([*_CELLS, *rows[other]])


def _change_origin(rows: list[list[str]], column: int, rng: random.Random) -> None:
    """Change the JSON in the cells that say where a sheet comes from, in all of them alike."""
    try:
        origin = json.loads(
            next(row[column] for row in rows[1:] if len(row) > column and row[column])
        )
        places = list(forging.places(origin))
        parent, key = rng.choice(places)
        values = [*forging.VALUES, *_OF_ORIGIN, *(parent[key] for parent, key in places)]
        if isinstance(origin, dict) and rng.random() < 0.5:
            origin[rng.choice(_OF_ORIGIN)] = rng.choice(values)
        else:
            parent[key] = rng.choice(values)
        cell = json.dumps(origin)
    except Exception:
        return
    for row in rows[1:]:
        if len(row) > column:
            row[column] = cell


def run_sheet(data: bytes, folder: Path) -> None:
    """Read a sheet's answers for a model and for a judgement, and fill it in at a terminal."""
    path = _table_of_sheets(folder)
    sheet = folder / ("people.audit.xlsx" if data[:2] == b"PK" else "people.audit.csv")
    sheet.write_bytes(data)
    table = read_table(path)
    options = JudgeOptions.of(labels=_LABELS)

    def read() -> None:
        read_audit(sheet, table, "y", target_labels(table, "y"))

    def judge() -> None:
        summarize_judged(judge_table(flattened(open_source(str(path))), sheet, options))

    def fill() -> None:
        filling = Filling(sheet)
        place = filling.next_empty()
        if place is not None:
            filling.cells(place)
            filling.answer(place, "a")
        _next_command(sheet, filling.origin)
        _stopping(filling, FillOptions.of(until_width=0.3)).words(filling.answers)

    _each(read, judge, fill)


def _each(*steps: Callable[[], None]) -> None:
    """Run all steps; raise the first error that is not chary's own."""
    for step in steps:
        try:
            step()
        except Exception as error:
            if not is_own(error):
                raise


# ---------------------------------------------------------------- models


def model_seeds() -> list[bytes]:
    """Collect a model file of every kind that there is."""
    return [
        model_bytes(forging.example_model()[0]),
        *(path.read_bytes() for path in sorted(GOLDEN.glob("*.chary"))),
    ]


def mutated_model(data: bytes, rng: random.Random) -> bytes:
    """Change a field or an array, with a right checksum; or now and then any bytes."""
    return _spliced(data, rng) if rng.random() < 0.05 else forging.forged(data, rng)


def run_model(data: bytes, folder: Path) -> None:
    """Load a model, and have it predict if it can be loaded."""
    model = load_bytes(data)
    if isinstance(model, TablePreparation):
        model.transform(_rows_of(model))
        return
    if not isinstance(model, Pipeline) or not isinstance(model[0], TablePreparation):
        _predict_numbers(model)
        return
    if len(model) != 2 or not hasattr(model[-1], "predict_confidence"):
        return  # not one that a command takes
    table_model = TableModel(model)
    repr(table_model)
    rows = _rows_of(model[0])
    _each(
        lambda: table_model.predict_frame(rows, probabilities=True),
        lambda: str(table_model.compare(rows).sentence),
        lambda: table_model.predict(rows),
    )


def _rows_of(preparation: TablePreparation) -> pl.DataFrame:
    """Make rows with the columns of a model: empty cells, and some that can be read."""
    cells = {
        "numeric": "1",
        "boolean": "yes",
        "date": "2024-01-31 10:30",
        "time": "10:30",
        "categorical": "u",
        "words": "late delivery",
    }
    names = [column.name for column in preparation.columns_]
    values = {column.name: [None, cells.get(column.kind)] for column in preparation.columns_}
    return pl.DataFrame(values, schema=dict.fromkeys(names, pl.String))


def _predict_numbers(model: Any) -> None:
    rows = np.stack([np.zeros(model.n_features_in_), np.ones(model.n_features_in_)])
    if hasattr(model, "transform"):
        model.transform(rows)
        return
    assert np.isfinite(model.predict_proba(rows)).all()
    model.predict(rows)
    if hasattr(model, "predict_confidence"):
        model.predict_confidence(rows)


TARGETS = {
    "sources": Target(source_seeds, mutated_source, run_source, 1 << 16),
    "sheets": Target(sheet_seeds, mutated_sheet, run_sheet, 1 << 15),
    "models": Target(model_seeds, mutated_model, run_model, 1 << 17),
}
