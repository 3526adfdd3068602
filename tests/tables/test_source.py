"""A table is the same however it is read: at once, in batches, by row; so are the refusals."""

import gzip
import io
import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.tables import Table, TableError, open_source, read_table, write_table
from chary.tables import source as module
from chary.tables.formats import columnar, csv, jsonl
from chary.tables.formats.base import Batch
from chary.tables.source import find_files, in_blocks, table_without_cells
from chary.tables.table import row_bytes

ROWS = 300
FRAME = pl.DataFrame({
    "id": [f"{k:04d}" for k in range(ROWS)],
    "text": [f'say "{k}", or\nnot; ü' if k % 7 else None for k in range(ROWS)],
    "x": [str(k / 4) for k in range(ROWS)],
})  # fmt: skip
KINDS = ["csv", "csv.gz", "tsv", "parquet", "jsonl", "jsonl.gz"]
EXCEL = pytest.param(
    "xlsx", marks=pytest.mark.skipif(not find_spec("xlsxwriter"), reason="no Excel")
)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    for format in (csv, jsonl):
        monkeypatch.setattr(format, "CHUNK", 1000)
    monkeypatch.setattr("chary.tables.formats.files._PIECE", 500)
    monkeypatch.setattr(columnar, "_BATCH_BYTES", 200)


def written(path, kind, frame=FRAME):
    if kind == "tsv":
        frame.write_csv(path, separator="\t")
        return path
    with path.open("wb") as file:
        write_table(Table(frame, path.name).written_as(kind), {}, file)
    return path


def in_one(source, columns=None):
    return pl.concat([batch.table.frame for batch in source.batches(columns)])


# ---------------------------------------------------------------- one file of any kind


@pytest.mark.parametrize("kind", [*KINDS, EXCEL])
def test_a_file_of_any_kind_has_the_same_cells_however_it_is_read(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(module, "_SMALL_BYTES", 0)
    path = written(tmp_path / f"t.{kind}", kind)
    whole, source = read_table(path), open_source(path)
    assert (whole.notes, whole.files) == ((), (str(path),))
    assert replace(source.table, frame=whole.frame) == whole
    assert source.table.frame.schema == whole.frame.schema
    for _ in range(2):
        batches = list(source.batches())
        assert pl.concat([batch.table.frame for batch in batches]).equals(whole.frame)
        shares = [batch.share for batch in batches]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
    if kind in ("csv", "csv.gz", "tsv", "jsonl", "parquet"):
        assert len(batches) > 3
    assert in_one(source, ["x", "id", "none"]).columns == ["id", "x"]
    assert source.rows([299, 3, 3, 0], ["x", "id"]).equals(
        whole.frame.select("x", "id")[[299, 3, 3, 0]]
    )
    assert source.rows([], ["x"]).shape == (0, 1)
    assert source.rows([7])["text"].to_list() == [whole.frame["text"][7]]
    assert source.columns(["x", "text"]).equals(whole.frame.select("x", "text"))
    assert source.column("x").equals(whole.frame["x"])
    values, counts = source.counts("text")
    assert dict(zip(values.to_list(), counts, strict=True))[None] == 43
    assert source.n_rows == open_source(path).n_rows == ROWS
    kept = table_without_cells(path)
    assert (kept.stem, kept.suffix, kept.folder) == (whole.stem, whole.suffix, tmp_path)
    with pytest.raises(TableError, match="did you mean 'text'"):
        source.column_named("texts")
    assert source.read().frame.equals(whole.frame)
    assert next(source.batches(["x"])).table.frame.equals(whole.frame.select("x"))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_of_a_small_file_nothing_is_read_twice_and_of_parquet_no_more_than_is_asked_for(
    tmp_path, kind, monkeypatch
):
    source = open_source(written(tmp_path / "t", kind))
    assert (source.n_rows, len(source.column("x"))) == (ROWS, ROWS)
    assert (source._whole is not None) == (kind == "csv")
    read = next(source.batches()).table.frame.height
    assert (read == ROWS) == (kind == "csv")


def test_a_table_knows_how_it_was_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a:b\n1:é\n".encode("cp1252"))
    table = read_table(path, delimiter=":", encoding="cp1252")
    assert (table.path, table.read_with) == (str(path), {"delimiter": ":", "encoding": "cp1252"})
    assert read_table(table.path, **table.read_with).frame.equals(table.frame)
    assert open_source(path, name="mine", encoding="cp1252").table.name == "mine"


@settings(max_examples=40)
@given(
    cells=st.lists(st.text(alphabet='ab,"\n\r;é\t ', max_size=12), min_size=1, max_size=60),
    size=st.integers(5, 60),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_a_text_table_is_cut_at_the_ends_of_its_records(tmp_path_factory, cells, size, ending):
    path = tmp_path_factory.mktemp("cut") / "t.csv"
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    path.write_bytes(
        "".join(f"{line}{ending}" for line in ["a,b", *(f"{cell},1" for cell in quoted)]).encode()
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv, "CHUNK", size)
        found = in_one(open_source(path, delimiter=","))
    assert found.equals(read_table(path, delimiter=",").frame)


@pytest.mark.parametrize(
    ("data", "how"),
    [
        (b"a,b\n" + b"1,2\n" * 500 + b"1,2,3\n" + b"1,2\n" * 500, {}),
        (b"a,b\n" + b"1,2\n" * 500 + b"1\n", {}),
        (b"a,b\n" + b"1,2\n" * 500 + b'1,"2\n', {}),
        (b"a,b\n" + b"1,2\n" * 500 + b'1,x"2"\n' + b"1,2\n" * 500, {}),
        (b"a,b\n" + b"1,2\n" * 500 + b"1,\xff\n" + b"1,2\n" * 500, {"encoding": "utf-8"}),
        (b"a,b\n" + b"1,2\n" * 500 + b"1,\x81\n" + b"1,2\n" * 500, {}),
        (b"a,b\n" + b"1,2\n" * 500 + b"1,\x00\n" + b"1,2\n" * 500, {}),
        (b"a,a\n" + b"1,2\n" * 500, {}),
        (b"\na,b\n" + b"1,2\n" * 500, {"header_row": 1}),
        (b"a,b\n", {}),
        (b"   ", {}),
        (b"a,b\n1,2\n", {"delimiter": "\n"}),
        (b"a,b\n1,2\n", {"encoding": "no such"}),
        (b"a,b\n1,2\n", {"sheet": "one"}),
        (b"a,chary_label\n" + b"1,2\n" * 500, {}),
        (b'{"a": 1}\n' * 500 + b'{"a": [}\n', {}),
        (b'{"a": 1}\n' * 500 + b"[1]\n", {}),
        (b"PAR1 and nothing else", {}),
        (gzip.compress(b"a,b\n" + b"1,2\n" * 5000, mtime=0)[:60], {}),
        (gzip.compress(gzip.compress(b"a,b\n1,2\n", mtime=0), mtime=0), {}),
        (b"PK\x03\x04 no archive", {}),
    ],
)
def test_what_is_wrong_is_said_in_the_same_words_however_it_is_read(tmp_path, data, how):
    path = tmp_path / "t.data"
    path.write_bytes(data)
    said = []
    for read in (lambda: read_table(path, **how), lambda: list(open_source(path, **how).batches())):
        with pytest.raises(TableError) as caught:
            read()
        said.append(str(caught.value))
    assert "\n" not in said[0]
    if "no rows" in said[0]:
        assert said[1] == "t.data has a header and no rows; there is nothing to label."
    else:
        assert said[1] == said[0]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings_and_byte_order_marks(tmp_path, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes(("a,b\n" + "ü,é\n" * 900).encode(encoding))
    source = open_source(path, encoding="cp1252" if encoding == "cp1252" else "utf-8")
    frame = in_one(source)
    assert (frame["a"].unique().to_list(), frame["b"].n_unique(), frame.height) == (["ü"], 1, 900)
    assert source.table.bom
    assert source.read().frame.equals(frame)


def test_blank_lines_are_no_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n\n" * 900)
    assert in_one(open_source(path)).height == 900


def test_a_row_without_end_a_bomb_and_what_is_too_large_for_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("chary.tables.formats.text._LONGEST_RECORD", 10_000)
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,2\n1,"' + b"x" * 50_000)
    with pytest.raises(TableError, match=r"line 3: a row without end; perhaps a quote"):
        list(open_source(path).batches())
    monkeypatch.setattr("chary.tables.formats.files._SMALL_BYTES", 1000)
    with gzip.open(tmp_path / "b.csv.gz", "wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * 200_000)
    with pytest.raises(TableError, match=r"would unpack to more"):
        list(open_source(tmp_path / "b.csv.gz").batches())


@pytest.mark.parametrize("room", [1, 4000, 1 << 30])
def test_rows_of_parquet_are_the_same_however_much_is_read_at_a_time(tmp_path, monkeypatch, room):
    FRAME.write_parquet(tmp_path / "t.parquet", row_group_size=70)
    monkeypatch.setattr(columnar, "_FIXED_BYTES", 0)
    monkeypatch.setattr(columnar, "_LEAST_ROOM", room)
    assert in_one(open_source(tmp_path / "t.parquet", memory=0)).equals(FRAME)


def test_a_file_that_is_not_what_its_name_says_is_told_of(tmp_path):
    said = "is a Parquet file despite its name, and was read as one."
    buffer = io.BytesIO()
    FRAME.write_parquet(buffer)
    (tmp_path / "t.csv").write_bytes(buffer.getvalue())
    assert (
        read_table(tmp_path / "t.csv").notes
        == open_source(tmp_path / "t.csv").table.notes
        == (f"t.csv {said}",)
    )
    (tmp_path / "u.csv.gz").write_bytes(gzip.compress(buffer.getvalue()))
    with pytest.raises(
        TableError, match=r"u.csv.gz holds a Parquet file, which is compressed by itself; unpack"
    ):
        read_table(tmp_path / "u.csv.gz")


def test_standard_input_is_a_table_of_any_kind(monkeypatch):
    buffer = io.BytesIO()
    FRAME.write_parquet(buffer)
    kinds = {
        "csv": b"a,s\n1,x\n",
        "parquet": buffer.getvalue(),
        "jsonl": gzip.compress(b'{"a": 1}', mtime=0),
    }
    for kind, data in kinds.items():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        source = open_source("-")
        assert in_one(source).equals(source.read().frame)
        table = source.read()
        assert (table.format, table.stem, str(table.folder), table.files) == (
            kind,
            "stdin",
            ".",
            (),
        )
        assert not source.exceeds(1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(TableError, match=r"^standard input is empty"):
        read_table("-")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_changes_between_two_looks_is_refused(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(module, "_SMALL_BYTES", 0)
    path = written(tmp_path / f"t.{kind}", kind)
    source = open_source([str(path)])
    assert source.names == FRAME.columns
    written(path, kind, FRAME.head(100))
    looks = [
        source.read,
        lambda: source.rows([5]),
        lambda: source.column("x"),
        lambda: list(source.batches()),
    ]
    for look in looks:
        with pytest.raises(
            TableError, match=rf"t.{kind} was changed while it was read; wait until it is whole"
        ):
            look()
    path.unlink()  # which explains whatever else goes wrong
    with pytest.raises(TableError, match="was changed while it was read"):
        source.read()


# ---------------------------------------------------------------- what it takes


def test_what_it_takes_is_about_what_it_takes(tmp_path):
    frame = pl.DataFrame({"a": range(20_000), "b": ["some text that is longer"] * 20_000})
    for kind in ("csv", "parquet"):
        source = open_source(written(tmp_path / f"t.{kind}", kind, frame))
        least = 20_000 * (5 if kind == "csv" else 8) + 20_000 * 24
        assert least * 0.8 < source.n_bytes < 3 * least
        assert source.needed > source.n_bytes
    assert open_source(frame).n_bytes == 20_000 * 32


def test_long_cells_of_a_small_file_are_known_before_they_are_decoded(tmp_path):
    frame = pl.DataFrame({"a": ["y" * 10_000] * 30_000, "b": range(30_000)})
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    assert os.path.getsize(path) < 1 << 20
    assert open_source(path).n_bytes > 250 << 20


def test_which_tables_have_to_be_read_in_batches(tmp_path):
    for kind in ("csv", "jsonl", "parquet", "csv.gz"):
        path = written(tmp_path / f"t.{kind}", kind)
        assert open_source(path).exceeds(300 << 20)
        assert not open_source(path).exceeds(400 << 20)
    assert not open_source(FRAME).exceeds(1)
    (tmp_path / "t.csv").write_text("a,b\n1,2,3\n")
    assert not open_source(tmp_path / "t.csv").exceeds(1)  # what is wrong with it, its reader says


@settings(max_examples=30)
@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=30),
    bounds=st.lists(st.integers(0, 30), max_size=5),
    n_rows=st.integers(1, 12),
    most=st.integers(1, 120),
)
def test_blocks_depend_on_the_rows_alone(lengths, bounds, n_rows, most):
    frame = pl.DataFrame({"t": ["x" * k for k in lengths], "n": range(len(lengths))})
    table = Table(frame, "t")

    def cut(bounds):
        for a, b in pairwise([0, *sorted(bounds), table.frame.height]):
            part = table.frame[a:b]
            yield Batch(replace(table, frame=part), b / frame.height)

    found = list(in_blocks(cut([min(b, len(lengths)) for b in bounds]), n_rows, most))
    usual = list(in_blocks(cut([]), n_rows, most))
    assert [part.table.frame.height for part in found] == [
        part.table.frame.height for part in usual
    ]
    assert pl.concat([part.table.frame for part in found]).equals(frame)
    for part in found:
        height, size = part.table.frame.height, row_bytes(part.table.frame).sum()
        assert 1 <= height <= n_rows
        assert size <= most or height == 1
    assert found[-1].share == 1.0


# ---------------------------------------------------------------- which files are meant


@pytest.fixture
def folder(tmp_path):
    for name in (
        "b.csv",
        "a.csv",
        "c[1].csv",
        ".hidden.csv",
        "_metadata",
        "a.labeled.csv",
        "a.report.html",
    ):
        (tmp_path / name).write_text(name)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "d.csv").write_text("d")
    return tmp_path


def test_files_stand_in_the_order_of_their_names_or_as_given(folder):
    def names(*given):
        return [file.name for file in find_files([str(path) for path in given])[0]]

    assert names(folder) == ["a.csv", "b.csv", "c[1].csv"]
    assert names(f"{folder}/*.csv") == ["a.csv", "b.csv", "c[1].csv"]
    assert names(f"{folder}/**/*.csv") == ["a.csv", "b.csv", "c[1].csv", "d.csv"]
    assert names(folder / "b.csv", folder / "a.csv") == ["b.csv", "a.csv"]
    assert names(folder / "c[1].csv") == ["c[1].csv"]  # a name that looks like a pattern
    assert names(folder / "a.labeled.csv") == ["a.labeled.csv"]  # whoever names it means it
    (note,) = find_files([str(folder)])[1]
    assert (
        "Skipped by name, as written by chary or beside tables: _metadata, a.labeled.csv, "
        "a.report.html;" in note
    )
    assert find_files([f"{folder}/?.csv"])[1] == []


def test_a_file_that_only_looks_like_an_output_is_the_users(tmp_path):
    for name in ("sales.audit.2023.csv", "sales.labeled.by.hand.csv", "sales.audit.csv"):
        (tmp_path / name).write_text("x,y\n1,a\n")
    files, notes = find_files([str(tmp_path)])
    assert [file.name for file in files] == ["sales.audit.2023.csv", "sales.labeled.by.hand.csv"]
    assert "sales.audit.csv" in notes[0]


def test_a_file_with_several_names_is_read_once_and_a_note_says_so(folder):
    (folder / "latest.csv").symlink_to(folder / "b.csv")
    (folder / "z.csv").hardlink_to(folder / "a.csv")
    for paths in (
        [folder],
        [folder / "a.csv", f"{folder}/*.csv"],
        [folder, folder / "." / "a.csv"],
    ):
        files, notes = find_files([str(path) for path in paths])
        assert [file.name for file in files] == ["a.csv", "b.csv", "c[1].csv"]
        assert (
            "latest.csv is the same file as b.csv and was read once: each row counts once." in notes
        )
        assert "z.csv is the same file as a.csv and was read once: each row counts once." in notes


def test_a_link_in_a_folder_doubles_no_row(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n")
    (tmp_path / "latest.csv").symlink_to("a.csv")
    table = read_table(tmp_path)
    assert table.frame.height == 2
    assert (
        "latest.csv is the same file as a.csv and was read once: each row counts once."
        in table.notes
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["-", "a.csv"], "Standard input cannot be combined with files"),
        (["{}/*.parquet"], r"^No file is called '.*\*.parquet'; check the pattern.$"),
        (["{}/nothing.csv"], "cannot be read .no such file"),
        (
            ["{}/empty"],
            "^The folder .* holds no table; give a file, or a pattern for files deeper in it.$",
        ),
        (["/dev/null"], "is not a regular file"),
        (["a\x00b"], "cannot be read"),
        (["https://example.org/t.csv"], "cannot be read"),
        (["s3://bucket/*.parquet"], "No file is called"),
        ([], "No file was given"),
    ],
)
def test_paths_that_mean_no_table_are_refused(folder, given, said):
    (folder / "empty").mkdir()
    with pytest.raises(TableError, match=said):
        read_table([text.format(folder) for text in given])


# ---------------------------------------------------------------- several files


def folder_of(path, *frames, kind="parquet"):
    path.mkdir(exist_ok=True)
    for number, frame in enumerate(frames):
        written(path / f"{number}.{kind}", kind, frame)
    return str(path)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_files_of_a_folder_are_one_table(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(module, "_SMALL_BYTES", 0)
    path = folder_of(tmp_path / "in", FRAME, FRAME.select("x", "text", "id"), FRAME, kind=kind)
    source, table = open_source(path), read_table(path)
    assert table.frame.equals(pl.concat([FRAME] * 3))
    for _ in range(2):
        assert in_one(source).equals(table.frame)
    assert replace(source.table, frame=table.frame) == table
    assert table.notes == (
        f"3 files were read as one table, in this order: 0.{kind}, 1.{kind}, 2.{kind}.",
    )
    assert (table.name, table.stem, table.folder, source.n_rows) == (
        "3 files",
        "in",
        tmp_path,
        3 * ROWS,
    )
    assert source.rows([899, 300]).equals(table.frame[[899, 300]])
    table = read_table([f"{path}/2.{kind}", f"{path}/0.{kind}"])
    assert (table.path, table.more_paths) == (f"{path}/2.{kind}", (f"{path}/0.{kind}",))
    assert table.stem == "2-and-1-more"
    many = folder_of(tmp_path / "many", *[FRAME.head(1)] * 9, kind=kind)
    named = ", ".join(f"{k}.{kind}" for k in range(6))
    assert read_table(many).notes == (
        f"9 files were read as one table, in this order: {named}, ... 8.{kind}.",
    )


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs a list of open files")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_of_a_folder_are_open_one_at_a_time(tmp_path, kind):
    source = open_source(folder_of(tmp_path / "in", *[FRAME.head(4)] * 30, kind=kind))
    before = len(os.listdir("/proc/self/fd"))
    open_files = [len(os.listdir("/proc/self/fd")) - before for _ in source.batches()]
    assert len(open_files) == 30
    assert max(open_files) < 10


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"a": [1]}, "0.parquet has a column 'b' and 1.parquet has not; give files of one kind."),
        (
            {"a": [1], "b": [2], "c": [3]},
            "1.parquet has a column 'c' and 0.parquet has not; give files",
        ),
        ({"a": ["x"], "b": [2]}, "column 'a' holds Int64 and String; write it in one type."),
        ({"a": [[1]], "b": [2]}, "types of a column differ"),
        ({"a": [True], "b": [2]}, "column 'a' holds Boolean and Int64; write it in one type."),
        ({"a": [0.5], "b": [2]}, "Column 'a' of 0.parquet is too long for Float64"),
    ],
)
def test_files_of_other_columns_are_refused(tmp_path, other, said):
    path = folder_of(
        tmp_path / "in", pl.DataFrame({"a": [2**53 + 1], "b": [2]}), pl.DataFrame(other)
    )
    with pytest.raises(TableError) as caught:
        read_table(path)
    assert said in str(caught.value)
    with pytest.raises(TableError) as caught:
        in_one(open_source(path))
    assert said.partition(" of ")[2] in str(caught.value)  # a batch is called after the table


def test_files_of_several_kinds_are_one_table_if_their_types_agree(tmp_path):
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    frame.write_parquet(tmp_path / "0")
    frame.write_ndjson(tmp_path / "1")
    assert read_table(tmp_path).frame.equals(pl.concat([frame, frame]))
    assert in_one(open_source(tmp_path)).equals(pl.concat([frame, frame]))
    frame.write_csv(tmp_path / "2")
    with pytest.raises(TableError, match=r"column 'a' holds .* write it in one type"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [
        (pl.Series([1], dtype=pl.Int32), pl.Series([2], dtype=pl.UInt8), pl.Int32),
        (pl.Series([1]), pl.Series([0.5]), pl.Float64),
        (pl.Series([None]), pl.Series(["x"]), pl.String),
        (pl.Series(["x"]), pl.Series([None]), pl.String),
        (pl.Series(["x"], dtype=pl.Categorical), pl.Series(["y"]), pl.String),
        (pl.Series([0.5], dtype=pl.Float32), pl.Series([float("nan")]), pl.Float64),
    ],
)
def test_types_meet_where_no_cell_changes(tmp_path, first, second, dtype):
    path = folder_of(tmp_path / "in", pl.DataFrame({"a": first}), pl.DataFrame({"a": second}))
    cells = read_table(path).frame["a"]
    assert cells.dtype == dtype
    assert cells.equals(pl.concat([first.cast(dtype), second.cast(dtype)]), null_equal=True)
    assert in_one(open_source(path))["a"].equals(cells, null_equal=True)


# ---------------------------------------------------------------- frames


def test_whatever_holds_a_table_becomes_one(tmp_path):
    columns = {"a": [1, 2], "s": ["x", None]}
    frame = pl.DataFrame(columns)
    frame.write_parquet(tmp_path / "t.parquet")
    for data in (frame, columns, pd.DataFrame(columns), frame.lazy()):
        table = open_source(data).read()
        assert table.frame.equals(frame)
        assert (table.name, table.path) == ("the table", "")
        source = open_source(data)
        assert (source.table.frame.height, source.n_rows) == (0, 2)
        assert source.rows([1], ["a"]).rows() == [(2,)]
    for data in (tmp_path / "t.parquet", f"{tmp_path}/*.parquet", [tmp_path / "t.parquet"]):
        table = open_source(data).read()
        assert table.frame.equals(frame)
    assert open_source(table).read() is table


def test_what_cannot_become_a_table_is_refused():
    with pytest.raises(TableError, match="got ndarray"):
        open_source(np.zeros((2, 2)))
    with pytest.raises(TableError, match=r"^the table has a header and no rows"):
        open_source({"a": []})
    with pytest.raises(TableError, match=r"^Shop already has a column 'chary_label'"):
        open_source({"chary_label": [1]}, name="Shop")
    assert open_source({"chary_label": [1]}, reserved=()).n_rows == 1
    with pytest.raises(
        TableError, match=r"^the table has 5,000 columns; chary takes up to 4,096: select some.$"
    ):
        open_source({str(k): [1] for k in range(5000)})
    with pytest.raises(
        TableError, match=r"^the parameter sheet only applies to files; leave it out.$"
    ):
        open_source({"a": [1]}, sheet="x")


def test_a_row_of_sums_at_the_end_is_refused_however_it_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("city,n\nUlm,1\nBonn,2\nTotal:,3\n")
    frame = pl.read_csv(path)
    ways = [
        lambda: read_table(path),
        lambda: list(open_source(path).batches()),
        lambda: open_source(frame),
    ]
    for read in ways:
        with pytest.raises(
            TableError,
            match=r"The last row of .* has 'Total:' in column 'city'; delete it .* move it up",
        ):
            read()
    for text in (
        "kind,n\ntotal,1\npart,2\ntotal,3\n",
        "city,n\nTotal,1\nUlm,2\n",
        "city,n\ntotal,1\n",
    ):
        path.write_text(text)  # a word of this column, a row moved up, and nothing to add up
        assert read_table(path).n_rows == open_source(path).n_rows > 0
