"""Malformed tables, hostile names and corrupted models: one sentence, or a whole result.

``CHARY_FUZZ=full`` runs as many of each as the project promises; without it, a part.
"""

import gzip
import io
import json
import os
import random
import sys
import time
import zipfile
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest
import safetensors.numpy
from threadpoolctl import threadpool_limits

import chary.labelling.learners
from chary import DiverseEnsembleClassifier, SelfTrainingClassifier
from chary.cli import main
from chary.labelling import label_table
from chary.method.labels import Labels
from chary.model_file import ModelFileError, load_model, save_model
from chary.options import LabelOptions
from chary.report import Hints, render_page, summarize
from chary.tables import Table, TableError, TablePreparation, write_table

FULL = os.environ.get("CHARY_FUZZ") == "full"
N_TABLES, N_NAMES, N_NAMED_TABLES, N_MODELS = (2000, 1000, 1000, 2000) if FULL else (50, 40, 4, 110)
N_FILES = 1000 if FULL else 46  # of other kinds than CSV and Parquet
N_COLUMNS = 5000 if FULL else 15
N_TEXTS = 400 if FULL else 12


@pytest.fixture(autouse=True, scope="module")
def short_training(quick_learners):
    """Train networks for three steps, on which nothing here depends.

    Small products gain nothing by a second thread, and wait for it where the processor is busy.
    """
    short = partial(DiverseEnsembleClassifier, n_steps=3)
    with threadpool_limits(1), pytest.MonkeyPatch.context() as patch:
        patch.setattr(chary.labelling.learners, "DiverseEnsembleClassifier", short)
        yield


def page_of(result):
    """The page as the command line makes it."""
    return render_page(
        summarize(result),
        Hints.for_labels(
            LabelOptions(target=result.target), [result.table.name], result.audit_size
        ),
    )


# ---------------------------------------------------------------- malformed tables


def good_csv(rng, n=60, delimiter=","):
    rows = [["id", "age", "city", "day", "y"]]
    for i in range(n):
        label = rng.choice(["yes", "no"]) if i % 3 == 0 else ""
        rows.append(
            [
                str(i),
                f"{rng.random():.3f}",
                rng.choice(["Köln", '"a, b"', "Ulm"]),
                f"2024-01-{i % 28 + 1:02d}",
                label,
            ]
        )
    return "\n".join(delimiter.join(row) for row in rows).encode()


def good_parquet(rng, n=60):
    frame = pl.DataFrame({
        "age": [rng.random() for _ in range(n)],
        "city": [rng.choice(["Köln", "Ulm", None]) for _ in range(n)],
        "y": [rng.choice(["yes", "no"]) if i % 3 == 0 else None for i in range(n)],
    })  # fmt: skip
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def flip_bits(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 3, 30])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def cut(data, rng):
    return data[: rng.randrange(len(data))]


def insert(*pieces):
    def mutate(data, rng):
        for _ in range(rng.choice([1, 5])):
            at = rng.randrange(len(data))
            data = data[:at] + rng.choice(pieces) + data[at:]
        return data

    return mutate


def drop_a_cell(data, rng):
    at = data.index(b",", rng.randrange(len(data) - 40))
    return data[:at] + data[at + 1 :]


def recode(data, rng):
    return data.decode().encode(
        rng.choice(["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "cp500", "utf-7"])
    )


def rename(header):
    return lambda data, rng: header + data[data.index(b"\n") :]


def as_zip(data, rng):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("t.csv", data)
    return buffer.getvalue()


def shuffle_lines(data, rng):
    lines = data.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


# Cells as people write them, of a number.
FORMS = [
    *[
        "${:,.2f}",
        "{:.2f} €",
        "{:.0f} %",
        "({:.1f})",
        "{:.1f} km",
        "{:.1f} mi",
        "{:.1f}k",
        "$ {:.2f} bn",
    ],
    *[
        "CHF {:.2f}",
        "\u2212{:.0f}",
        "+{:.0f}",
        "{:.0f}-",
        "1'{:03.0f}",
        "1\u202f{:03.0f}",
        "{:.0f}/5",
        "{:.0f} days",
    ],
    *[
        "{:.0f}-",
        "{:e}",
        "{:018.0f}",
        "2024-01-{:02.0f}",
        "{:02.0f}.01.2024",
        "1/{:.0f}/2024",
        "{:.0f} Mar 2024",
    ],
    *[
        "March {:.0f}, 2024",
        "202401{:02.0f}",
        "2024-01-{:02.0f}T10:30:00+02:00",
        "{:.0f}/1/24 2:30 PM",
    ],
    *[
        "12:{:02.0f}",
        "{:02.0f}:30:00",
        "{:.0f}h 30m",
        "PT{:.0f}H",
        "{:.0f} days 01:00:00",
        "17066958{:02.0f}",
    ],
    *["{:.0f}-20%", "<{:.0f}", "word {:.0f}", "999", "-9", "", "T"],
]
COLUMN_NAMES = [
    "price",
    "timestamp",
    "duration",
    "id",
    "subject_id",
    "x",
    "unix_ts",
    "lap time",
    "no",
    "\x1b[31m",
]


def broken(text, rng):
    """A character more, less or another."""
    at = rng.randrange(len(text) + 1)
    new = rng.choice(
        [
            "",
            "0",
            "9" * 40,
            ".",
            ",",
            "'",
            " ",
            "-",
            "(",
            "%",
            "$",
            "\x00",
            "\u202e",
            "\x1b[31m",
            "é",
            "e9",
        ]
    )
    return text[:at] + new + text[at + rng.randrange(2) :]


def cells_of_forms(rng, n):
    """A column of one form or several, some cells of it broken."""
    forms = rng.sample(FORMS, rng.choice([1, 1, 1, 2, 5]))
    share = rng.choice([0, 0, 0.02, 0.3])
    cells = [
        rng.choice(forms).format(rng.choice([0, 1, 7, 12.5, 28, 1e9, rng.random()]))
        for _ in range(n)
    ]
    return [broken(cell, rng) if rng.random() < share else cell for cell in cells]


def with_columns_of_forms(data, rng, n_columns):
    lines = data.decode().split("\n")
    columns = [["price", *cells_of_forms(rng, len(lines) - 1)] for _ in range(n_columns)]
    return "\n".join(
        ",".join([*('"' + column[i].replace('"', "") + '"' for column in columns), line])
        for i, line in enumerate(lines)
    ).encode("utf-8", "replace")


CSV_MUTATIONS = [
    lambda data, rng: data,
    flip_bits,
    cut,
    insert(b"\x00"),
    insert(b'"', b'""', b"'"),
    insert(b"\n", b"\r", b"\r\n", b","),
    insert(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
    insert("\u202e\ufeff\u200b".encode(), b"\x1b[31m"),
    drop_a_cell,
    recode,
    rename(b"id,age,age,day,y"),
    rename(b",,,,y"),
    rename(b"id,age,city,day,z"),
    rename(b"y,y,y,y,y"),
    rename(b""),
    rename(b"id,age,city,day,chary_label"),
    lambda data, rng: b"a,b,y\n" + b",,\n" * 50,
    lambda data, rng: data.replace(b"no", b"yes"),
    lambda data, rng: (
        b",".join(b"c%d" % i for i in range(9_999)) + b",y\n" + (b"1," * 9_999 + b"yes\n") * 3
    ),
    lambda data, rng: b'age,y\n"1","yes"\n"2","no"\n"3",\n' * 1 + b'"4",\n' * 40,
    lambda data, rng: b"",
    as_zip,
    lambda data, rng: rng.randbytes(rng.randrange(1, 3000)),
    lambda data, rng: data.replace(b",", rng.choice([b";", b"\t", b"|", b" ", b":", b",,"])),
    lambda data, rng: data.replace(b"\n", rng.choice([b"\r", b"\r\n", b"\n\n", b""])),
    lambda data, rng: data + b"x" * (300_000 if FULL else 30_000),
    lambda data, rng: b"y,x\n" + b"yes," + b"9" * 5000 + b"\nno,1e999\n,-inf\n,nan\n" * 12,
    lambda data, rng: data.split(b"\n")[0],
    shuffle_lines,
    lambda data, rng: (
        b"x,y\n" + b"".join(b"%d,%s\n" % (i % 5, b"NA" if i % 2 else b"a") for i in range(40))
    ),
]
CSV_MUTATIONS += [
    lambda data, rng: with_columns_of_forms(data, rng, 1),
    lambda data, rng: with_columns_of_forms(data, rng, 3),
    lambda data, rng: broken(with_columns_of_forms(data, rng, 2).decode(), rng).encode(),
]
PARQUET_MUTATIONS = [lambda data, rng: data, flip_bits, cut, insert(b"\x00"), insert(b"PAR1")]


def csv_mutation(seed):
    """Each in turn, whatever comes between."""
    return (seed - seed // 6) % len(CSV_MUTATIONS)


def malformed(seed):
    """(name, bytes) of one table; None is a folder."""
    rng = random.Random(seed)
    if seed % 50 == 49:
        return "folder.csv", None
    if seed % 6 == 5:
        mutate = PARQUET_MUTATIONS[(seed // 6) % len(PARQUET_MUTATIONS)]
        return rng.choice(["t.parquet", "t.csv"]), mutate(good_parquet(rng), rng)
    mutate = CSV_MUTATIONS[csv_mutation(seed)]
    data = mutate(good_csv(rng), rng)
    if rng.random() < 0.2 and len(data) > 1:
        data = rng.choice([flip_bits, cut])(data, rng)
    return rng.choice(["t.csv", "t.csv", "t.txt", "t.parquet"]), data


PANICS = [1433]  # Polars gives up on this Parquet file in its own words


@pytest.mark.parametrize("part", range(10))
def test_malformed_tables_end_in_a_result_or_in_one_sentence(tmp_path, capfd, part):
    for seed in {*range(part, N_TABLES, 10), *PANICS[part : part + 1]}:
        name, data = malformed(seed)
        path = tmp_path / f"{seed}" / name
        path.parent.mkdir()
        path.mkdir() if data is None else path.write_bytes(data)
        start = time.process_time()
        code = main(
            ["label" if seed % 3 else "diagnose", str(path), "--target", "y", "--encoding", "utf-8"]
        )
        seconds = time.process_time() - start
        err = capfd.readouterr().err
        assert seconds < 5, seed
        assert code in (0, 1), seed
        if code == 1:
            assert err.startswith("chary: "), (seed, err)
            assert err.count("\n") == 1, (seed, err)
            assert "mistake in chary" not in err, (seed, err)
            assert err.rstrip().endswith((".", "?")), (seed, err)
            assert len(err) < 900, (seed, err)
            assert [p.name for p in path.parent.iterdir()] == [name], seed
        else:
            assert err == "", (seed, err)


# ---------------------------------------------------------------- files of other kinds


def good_rows(rng, n=60):
    labels = [rng.choice(["yes", "no"]) if i % 3 == 0 else None for i in range(n)]
    return [
        {"age": rng.random(), "city": rng.choice(["Köln", "Ulm"]), "y": label} for label in labels
    ]


def as_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def jsonl(change=lambda rows, rng: rows):
    return lambda rng: as_lines(change(good_rows(rng), rng))


def archive(**members):
    def make(rng):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
            for name, data in members.items():
                file.writestr(name, good_csv(rng) if data is None else data)
        return buffer.getvalue()

    return make


def workbook(rng):
    if not find_spec("xlsxwriter"):
        return archive(**{"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"})(rng)
    buffer = io.BytesIO()
    write_table(Table(pl.DataFrame(good_rows(rng)), "t").written_as("xlsx"), {}, buffer)
    return buffer.getvalue()


def with_row(row):
    return jsonl(lambda rows, rng: [*rows[:30], row, *rows[30:]])


# Each is a name and what makes its bytes.
FILES = [
    ("t.csv.gz", lambda rng: gzip.compress(good_csv(rng))),
    ("t.csv.gz", lambda rng: cut(gzip.compress(good_csv(rng)), rng)),
    ("t.csv.gz", lambda rng: flip_bits(gzip.compress(good_csv(rng)), rng)),
    ("t.gz", lambda rng: gzip.compress(gzip.compress(good_csv(rng)))),
    ("t.gz", lambda rng: gzip.compress(bytes(2**20))),
    ("t.csv.gz", good_csv),
    ("t.zip", archive(**{"t.csv": None})),
    ("t.zip", archive(**{"../../../tmp/escaped.csv": None})),
    ("t.zip", archive()),
    ("t.zip", lambda rng: flip_bits(archive(**{"t.csv": None})(rng), rng)),
    ("t.zip", lambda rng: cut(archive(**{"t.csv": None})(rng), rng)),
    ("t.xlsx", workbook),
    ("t.xlsx", lambda rng: flip_bits(workbook(rng), rng)),
    ("t.xlsx", lambda rng: cut(workbook(rng), rng)),
    ("t.xlsx", good_csv),
    ("t.xlsx", archive(**{"t.csv": None})),
    ("t.xlsx", archive(**{"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"})),
    ("t.xlsx", archive(**{"[Content_Types].xml": b"<x/>", "word/document.xml": b"<x/>"})),
    ("t.jsonl", jsonl()),
    (
        "t.jsonl",
        jsonl(
            lambda rows, rng: [{k: v for k, v in row.items() if rng.random() < 0.7} for row in rows]
        ),
    ),
    ("t.jsonl", jsonl(lambda rows, rng: [{**row, "deep": {"a": [{"b": [1, 2]}]}} for row in rows])),
    ("t.jsonl", with_row({"age": float("nan"), "y": "yes"})),
    ("t.jsonl", with_row({"age": [1, 2], "y": "yes"})),
    ("t.jsonl", with_row({"age": "old", "y": {"a": 1}})),
    ("t.jsonl", with_row({"age": 10**40, "y": "yes"})),
    ("t.jsonl", with_row({"age": -(2**64), "y": "yes"})),
    ("t.jsonl", with_row({"": 1, "\u202e": 2, "\x00": 3, "y": "yes"})),
    (
        "t.jsonl",
        lambda rng: as_lines(good_rows(rng)) + b'{"age": ' + b"[" * 5000 + b"]" * 5000 + b"}\n",
    ),
    ("t.jsonl", lambda rng: as_lines(good_rows(rng)) + b'{"age": ' + b"9" * 5000 + b"}\n"),
    ("t.jsonl", lambda rng: as_lines(good_rows(rng)) + b'{"age": 1, "age": 2}\n{"y": "\\ud800"}\n'),
    ("t.jsonl", lambda rng: b"\xef\xbb\xbf" + as_lines(good_rows(rng))),
    ("t.jsonl", lambda rng: as_lines(good_rows(rng)).decode().encode("utf-16")),
    ("t.jsonl", lambda rng: flip_bits(as_lines(good_rows(rng)), rng)),
    ("t.jsonl", lambda rng: cut(as_lines(good_rows(rng)), rng)),
    ("t.jsonl", lambda rng: b"{}\n" * 60),
    ("t.json", lambda rng: json.dumps(good_rows(rng)).encode()),
    ("t.json", lambda rng: json.dumps(good_rows(rng)[0], indent=1).encode()),
    ("t.arrow", lambda rng: b"ARROW1\x00\x00" + rng.randbytes(500)),
    ("t.feather", good_parquet),
    ("t.feather", good_csv),
    ("t.csv", lambda rng: b"<!doctype html><title>Please log in</title>"),
]


def run_on(words, path, capfd, before):
    """Code and error of a command; after an error there is nothing but what was there."""
    start = time.process_time()
    code = main([*words, "--target", "y", "--rounds", "0"])
    seconds = time.process_time() - start
    err = capfd.readouterr().err
    assert seconds < 5, words
    assert code in (0, 1), words
    if code == 1:
        assert err.startswith("chary: "), err
        assert err.count("\n") == 1, err
        assert "mistake in chary" not in err, err
        assert err.rstrip().endswith((".", "?")), err
        assert len(err) < 900, err
        assert everything_in(path) == before, words
    else:
        assert err == "", err
    return code, err


def everything_in(path):
    return {str(p): p.is_file() and p.read_bytes() for p in path.rglob("*")}


@pytest.mark.parametrize("part", range(8))
def test_files_of_every_kind_end_in_a_result_or_in_one_sentence(tmp_path, capfd, part):
    for seed in range(part, N_FILES, 8):
        name, make = FILES[seed % len(FILES)]
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        (folder / name).write_bytes(make(random.Random(seed)))
        run_on(
            ["label", str(folder / name), "--out", str(folder / "new" / "out")],
            folder,
            capfd,
            everything_in(folder),
        )
    assert not (tmp_path.parent / "escaped.csv").exists()


SMALL = "x,y\n" + "".join(f"{i % 10},{'ab'[i % 10 > 4] if i % 4 else ''}\n" for i in range(40))


@pytest.mark.parametrize(
    ("files", "given", "said"),
    [
        ({"a.csv": SMALL, ".b.csv": "no\x00table"}, ".", None),
        ({"a.csv": SMALL, "b.csv": "x,z\n1,2\n"}, ".", "a.csv has a column 'y' and b.csv has not"),
        (
            {"a.csv": SMALL, "b.csv": '{"x": 1}'},
            ".",
            "a.csv has a column 'y' and b.csv has not",
        ),
        ({"a.csv": SMALL, "b.parquet": "PAR1"}, "*.*", "b.parquet is a damaged Parquet file"),
        ({"a.csv": "x,y\n1,a\n"}, "*.parquet", "No file is called"),
        ({".hidden": "x,y\n"}, ".", "holds no table"),
        ({"a.csv": SMALL, "a.labeled.csv": "mine"}, "a.csv", "exists already; pass --force"),
    ],
)
def test_folders_of_strangers(tmp_path, capfd, files, given, said):
    folder = tmp_path / "in"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    code, err = run_on(
        ["label", os.path.join(folder, given)], tmp_path, capfd, everything_in(tmp_path)
    )
    assert code == (said is not None), err
    assert (said or "") in err


def test_standard_input_of_any_bytes(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in range(40 if FULL else 8):
        rng = random.Random(seed)
        data = rng.choice(
            [good_csv, good_parquet, jsonl(), workbook, lambda rng: rng.randbytes(500)]
        )(rng)
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BytesIO(data if seed % 2 else cut(data, rng)))
        )
        run_on(
            ["label", "-", "--force", "--out", f"{seed}"], tmp_path, capfd, everything_in(tmp_path)
        )


@pytest.mark.parametrize("part", range(3))
def test_columns_of_any_form_become_numbers_or_one_sentence(part):
    for seed in range(part, N_COLUMNS, 3):
        rng = random.Random(seed)
        n = rng.choice([3, 40, 200])
        named = rng.sample(COLUMN_NAMES, 3)
        learned = pl.DataFrame({name: cells_of_forms(rng, n) for name in named})
        forced = {"numeric": named[:1]} if seed % 5 == 0 else {"missing": ["-9", f"{named[0]}=999"]}
        start = time.process_time()
        refused = told = ""
        try:
            preparation = TablePreparation(**forced).fit(
                learned.with_columns(fine=pl.Series(range(n)) % 3)
            )
            told = " ".join(column.note for column in preparation.columns_)
            for name in named:
                new = learned.with_columns(pl.Series(name, cells_of_forms(rng, n)), fine=pl.lit(1))
                assert np.isfinite(
                    preparation.transform(learned.with_columns(fine=pl.lit(1)))
                ).all(), seed
                assert np.isfinite(preparation.transform(new)).all(), seed
        except TableError as error:
            refused = str(error)
        assert refused.isprintable(), (seed, refused)
        assert told.isprintable(), (seed, told)
        assert time.process_time() - start < 5, seed


# ------------------------------------------------- hostile text, lists and numbers beside the table

SCRIPTS = [
    "abc", "ÀÉß", "абв", "αβγς", "عربي", "עברית", "हिन्दी", "ไทย", "ລາວ", "中文字", "にほん",
    "한국어", "ខ្មែរ", "ဗမာ", "አማርኛ", "ᏣᎳᎩ",
    "👍👩‍👩‍👧🏽🇩🇪", "\x00\x01\x1b\x7f", "\u202e\u2066\u200b\ufeff\u00ad",
    "\u0301\u0316" * 3, "\ufdfa", "ﬁ①Ⅷ", "\U000e0001", "\U0010fffd",
    "\u3000\u2003\x85\u2028", "0١२３", "-+=@", "<&>\"'",
]  # fmt: skip


def a_text(rng):
    """Letters of some scripts, or one very long cell: all letters, all marks, all blanks."""
    if rng.random() < 0.05:
        return rng.choice(
            ["a", "ab ", "\u0301", " ", "\u0301\u0316", "中", "\ufdfa", "0"]
        ) * rng.choice([3, 100_000 // 2])
    letters = "".join(rng.sample(SCRIPTS, 3)) + "  "
    return "".join(rng.choices(letters, k=rng.choice([0, 1, 5, 40, 200])))


def a_list(rng):
    return rng.choice(
        [
            None,
            [],
            [1.0],
            [1.0, 2.0],
            [0.0, float("nan")],
            [1e308, -1e308],
            [None, None],
            [1e-320, 1.0],
        ]
    )


@pytest.mark.parametrize("part", range(2))
def test_any_text_and_any_lists_end_in_a_result_or_in_one_sentence(tmp_path, capfd, part):
    codes = []
    for seed in range(part, N_TEXTS, 2):
        rng = random.Random(seed)
        n = rng.choice([4, 60])
        lists = [
            rng.choice([None, [], [1.0, rng.random()], [rng.random(), None]]) for _ in range(n)
        ]
        cells = {
            "said": [a_text(rng) if rng.random() < 0.9 else None for _ in range(n)],
            "list": [a_list(rng) for _ in range(n)] if seed % 3 == 0 else lists,
            "tags": [rng.choice([None, [], ["a"], ["a", "\x00"]]) for _ in range(n)],
            "y": [rng.choice(["yes", "no"]) if i % 3 == 0 else None for i in range(n)],
        }
        schema = {
            "said": pl.String,
            "list": pl.List(pl.Float64),
            "tags": pl.List(pl.String),
            "y": pl.String,
        }
        path = tmp_path / f"{seed}" / "t.parquet"
        path.parent.mkdir()
        pl.DataFrame(cells, schema=schema).write_parquet(path)
        words = ["--text", "said"] if seed % 2 else []
        start = time.process_time()
        code = main(["label" if seed % 3 else "diagnose", str(path), "--target", "y", *words])
        if code == 0 and seed % 3:
            assert (
                main(["predict", str(path.parent / "t.model.chary"), str(path), "--force"]) == 0
            ), seed
        err = capfd.readouterr().err
        assert time.process_time() - start < 10, seed
        assert (code, err) == (0, "") or (
            code == 1 and err.startswith("chary: ") and err.count("\n") == 1
        ), seed
        assert "mistake in chary" not in err, (seed, err)
        codes.append(code)
    assert 0 in codes  # not everything is refused


# ---------------------------------------------------------------- hostile names and labels

PAYLOADS = [
    "<script>alert(1)</script>", "</script>", "</style>", "</title><h1>",
    "<img src=x onerror=alert(1)>", "<!--", "-->", "]]>", "<![CDATA[", '"', "'", '" onmouseover="x',
    "&lt;", "&", "{{ 7 * 7 }}", "{% raw %}", "[bold]x[/bold]", "=1+1", '=HYPERLINK("http://x")',
    "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0", "\u202e", "\u2066", "\ufeff",
    "\u200b", "\x00", "\x1b[31m", "a\nb", "a\r\nb", "\\", "$\\alpha$", "%s%n", "x" *  10_000, "é",
    "日本", "🙂", "<svg/onload=1>", "javascript:1", "<tr><td>", "</table>", " ", ",", ";",
    "a,b;c\td", "None", "nan", "1e5",
]  # fmt: skip


def hostile(rng):
    """A text made of hostile pieces; never empty."""
    text = "".join(rng.choice(PAYLOADS) for _ in range(rng.choice([1, 1, 2, 4])))
    return text if text.strip(" \t\r\n\x00\ufeff\u200b") else text + "x"


def names(rng, count):
    found = set()
    while len(found) < count:
        found.add(hostile(rng))
    return rng.sample(sorted(found), count)


class Elements(HTMLParser):
    """The element tree: depth, tag and names of attributes."""

    def __init__(self, html):
        super().__init__()
        self.found, self.depth = [], 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((self.depth, tag, tuple(name for name, _ in attrs)))
        self.depth += tag != "meta"

    def handle_endtag(self, tag):
        self.depth -= 1

    def handle_comment(self, data):
        self.found.append("comment")


def benign_frame():
    rng = np.random.default_rng(0)
    n = 60
    x = rng.normal(size=n)
    labels = [("b" if value > 0 else "a") if i % 2 else None for i, value in enumerate(x)]
    return pl.DataFrame(
        {"x": x, "colour": ["red", "blue", "green"] * 20, "flag": ["yes", "no"] * 30, "y": labels}
    )


@pytest.fixture(scope="module")
def benign():
    result = label_table(
        Table(benign_frame(), "table.csv", ","), LabelOptions.of(target="y", classes=("a", "b"))
    )
    return result, Elements(page_of(result)).found


def dressed(result, rng):
    """The same outcome under hostile names: of columns, classes, cells and file."""
    x, colour, flag, target, low, high, cell, file = names(rng, 8)
    renamed = {"x": x, "colour": colour, "flag": flag, "y": target}
    classes = np.array([low, high], dtype=object)
    preparation = result.model[0]
    columns = [
        replace(column, name=renamed[column.name], note=cell) for column in preparation.ordered_
    ]
    shifts = [shift._replace(name=hostile(rng)) for shift in result.diagnosis.shifts]
    model = type(result.model)(result.model.steps)
    prepared = type(preparation).restored(
        preparation.get_params(), columns, preparation.statistics_
    )
    model.steps = [("prepare", prepared), result.model.steps[1]]
    frame = result.table.frame.with_columns(colour=pl.lit(cell)).rename(renamed)
    return replace(
        result,
        table=Table(frame, file, ","),
        options=replace(result.options, target=target),
        labels=Labels(classes, result.labels.codes, result.labels.labeled),
        diagnosis=replace(result.diagnosis, shifts=shifts),
        model=model,
    )


def test_hostile_names_do_not_change_the_report(benign):
    result, expected = benign
    for seed in range(N_NAMES):
        page = page_of(dressed(result, random.Random(seed)))
        assert Elements(page).found == expected, seed
        assert "\x00" not in page
        assert not any(mark in page for mark in "\u202e\u2066\ufeff\x1b"), seed


def test_hostile_labels_make_no_formula_and_change_no_cell(benign):
    result, _ = benign
    for seed in range(N_NAMES):
        outcome = dressed(result, random.Random(seed))
        buffer = io.BytesIO()
        write_table(outcome.table, outcome.added_columns, buffer)
        written = pl.read_csv(buffer.getvalue(), infer_schema=False, has_header=False)
        header = [*outcome.table.frame.columns, *outcome.added_columns]
        # At the start of a file it is a byte-order mark.
        header[0] = header[0].removeprefix("\ufeff")
        assert [written.row(0)[0].removeprefix("\ufeff"), *written.row(0)[1:]] == header, seed
        width = outcome.table.frame.width
        for j, name in enumerate(outcome.table.frame.columns):
            cells = outcome.table.frame[name].cast(pl.String)
            assert written[1:, j].equals(cells, check_names=False), seed
        for label in written[1:, width].unique():
            assert not label.startswith(("=", "+", "-", "@", "\t", "\r")) or _is_number(label), (
                seed,
                label,
            )


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("part", range(4))
def test_hostile_tables_are_labelled_like_benign_ones(benign, tmp_path, capsys, part):
    expected = benign[1]
    for seed in range(part, N_NAMED_TABLES, 4):
        rng = random.Random(seed)
        x, colour, flag, target, *labels = names(rng, 6)
        low, high = sorted(label.strip(" \t\r\n\x00\ufeff") for label in labels)
        if (
            low == high
            or {low.lower(), high.lower()} & {"nan", "none", "?"}
            or target.startswith("-")
        ):
            continue
        renamed = {"x": x, "colour": colour, "flag": flag, "y": target}
        frame = (
            benign_frame().with_columns(pl.col("y").replace({"a": low, "b": high})).rename(renamed)
        )
        as_csv = "\x00" not in "".join(frame.columns) + low + high and seed % 2 == 0
        path = tmp_path / f"{seed}" / ("table.csv" if as_csv else "table.parquet")
        path.parent.mkdir()
        frame.write_csv(path) if as_csv else frame.write_parquet(path)
        code = main(["label", str(path), f"--class={low}", f"--class={high}", f"--target={target}"])
        captured = capsys.readouterr()
        assert (code, captured.err) == (0, ""), seed
        assert "\x1b" not in captured.out
        assert Elements((path.parent / "table.report.html").read_text()).found == expected, seed
        if not as_csv:
            written = pl.read_parquet(path.parent / "table.labeled.parquet")
            assert written.select(frame.columns).equals(frame), seed
            assert set(written["chary_label"]) <= {low, high}, seed


# ---------------------------------------------------------------- corrupted models


@pytest.fixture(scope="module")
def model_bytes(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] > 0, "a", "b").astype(object)
    y[20:] = None
    base = DiverseEnsembleClassifier(hidden_sizes=(8,), n_steps=3, random_state=0)
    model = SelfTrainingClassifier(base, unlabeled=None, max_rounds=1).fit(X, y)
    path = tmp_path_factory.mktemp("model") / "m.chary"
    save_model(model, path)
    return path.read_bytes()


def swap_chunks(data, rng):
    a, b = sorted(rng.randrange(len(data)) for _ in range(2))
    return data[:a] + data[b:] + data[a:b]


def foreign(data, rng):
    arrays = {"a": np.arange(rng.randrange(1, 50), dtype=rng.choice(["f4", "i8", "u1"]))}
    return safetensors.numpy.save(
        arrays,
        {"format": rng.choice(["chary-model-1", "chary-model-2", "pt", ""]), "description": "{}"},
    )


MODEL_MUTATIONS = [
    flip_bits, cut, insert(b"\x00", b"{", b"\xff" * 9), swap_chunks, foreign,
    lambda data, rng: rng.randbytes(rng.randrange(2000)),
    lambda data, rng: data[:8] + rng.randbytes(len(data) - 8),
    lambda data, rng: rng.randrange(2**64).to_bytes(8, "little") + data[8:],
    lambda data, rng: data.replace(b"Network", b"Printer"),
    lambda data, rng: data.replace(b"a0", b"a9", 1),
    lambda data, rng: data + b"more",
]  # fmt: skip


def test_corrupted_models_raise_one_exception(model_bytes, tmp_path):
    path = tmp_path / "m.chary"
    path.write_bytes(model_bytes)
    assert load_model(path).n_rounds_ == 1  # the uncorrupted one is fine
    for seed in range(N_MODELS):
        rng = random.Random(seed)
        data = MODEL_MUTATIONS[seed % len(MODEL_MUTATIONS)](model_bytes, rng)
        assert data != model_bytes or MODEL_MUTATIONS[seed % len(MODEL_MUTATIONS)] is swap_chunks, (
            seed
        )
        path.write_bytes(data)
        if data == model_bytes:
            continue
        with pytest.raises(ModelFileError) as caught:
            load_model(path)
        assert "\n" not in str(caught.value), seed
        assert len(str(caught.value)) < 300, seed
