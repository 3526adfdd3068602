"""Files read part by part: the cells and the sentences are those of the whole."""

import gzip
import zipfile
from importlib.util import find_spec

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.tables import Table, TableError, file_kind, read_table, stream_table, streaming, write_table

ROWS = 300
FRAME = pl.DataFrame(
    {
        "id": [f"{k:04d}" for k in range(ROWS)],
        "text": [f'say "{k}", or\nnot; ü' if k % 7 else None for k in range(ROWS)],
        "x": [str(k / 4) for k in range(ROWS)],
    }
)
KINDS = ["csv", "csv.gz", "csv.zip", "tsv", "parquet", "jsonl", "jsonl.gz", "arrow", "parquet.gz"]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(streaming, "_CHUNK", 1000)
    monkeypatch.setattr(streaming, "_PART_BYTES", 200)


def written(path, kind, frame=FRAME):
    if kind == "tsv":
        frame.write_csv(path, separator="\t")
        return path
    with path.open("wb") as file:
        write_table(Table(frame, path.name).written_as(kind), {}, file)
    return path


@pytest.mark.parametrize(
    "kind",
    [*KINDS, pytest.param("xlsx", marks=pytest.mark.skipif(not find_spec("xlsxwriter"), reason="no Excel"))],
)
def test_a_file_of_any_kind_has_the_same_cells_in_parts(tmp_path, kind):
    path = written(tmp_path / f"t.{kind}", kind)
    whole, stream = read_table(path), stream_table(path)
    parts = list(stream.parts)
    assert pl.concat([part.table.frame for part in parts]).equals(whole.frame)
    assert (stream.table.format, stream.table.packed, stream.table.suffix) == (
        whole.format,
        whole.packed,
        whole.suffix,
    )
    assert stream.table.frame.schema == whole.frame.schema
    assert (stream.table.stem, stream.table.folder, stream.table.delimiter) == ("t", tmp_path, whole.delimiter)
    if kind in ("csv", "csv.gz", "tsv", "jsonl", "parquet"):
        assert len(parts) > 3
    shares = [part.share for part in parts]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    kept = file_kind(path)
    assert (kept.stem, kept.suffix) == (whole.stem, whole.suffix)


@settings(max_examples=40)
@given(
    cells=st.lists(st.text(alphabet='ab,"\n\r;é\t ', max_size=12), min_size=1, max_size=60),
    size=st.integers(5, 60),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_a_text_table_is_cut_at_the_ends_of_its_records(tmp_path_factory, cells, size, ending):
    path = tmp_path_factory.mktemp("cut") / "t.csv"
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    path.write_bytes("".join(f"{line}{ending}" for line in ["a,b", *(f"{cell},1" for cell in quoted)]).encode())
    whole = read_table(path, delimiter=",")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "_CHUNK", size)
        parts = list(stream_table(path, delimiter=",").parts)
    assert pl.concat([part.table.frame for part in parts]).equals(whole.frame)


@pytest.mark.parametrize(
    ("data", "how"),
    [
        (b"a,b\n" + b"1,2\n" * 500 + b"1,2,3\n" + b"1,2\n" * 500, {}),
        (b"a,b\n" + b"1,2\n" * 500 + b"1\n", {}),
        (b"a,b\n" + b"1,2\n" * 500 + b'1,"2\n', {}),
        (b"a,b\n" + b"1,2\n" * 500 + b'1,x"2"\n' + b"1,2\n" * 500, {}),
        (b"a,b\n" + b"1,2\n" * 500 + b"1,\xff\n" + b"1,2\n" * 500, {}),
        (b"a,b\n" + b"1,2\n" * 500 + b"1,\x00\n" + b"1,2\n" * 500, {}),
        (b"a,a\n" + b"1,2\n" * 500, {}),
        (b"\na,b\n" + b"1,2\n" * 500, {}),
        (b"a,b\n", {}),
        (b"   ", {}),
        (b"", {}),
        (b"a,b\n1,2\n", {"delimiter": "\n"}),
        (b"a,b\n1,2\n", {"encoding": "no such"}),
        (b"a,b\n1,2\n", {"sheet": "one"}),
        (b"a,chary_label\n" + b"1,2\n" * 500, {}),
        (b'{"a": 1}\n' * 500 + b'{"a": [}\n', {}),
        (b'{"a": 1}\n' * 500 + b"[1]\n", {}),
        (b"%PDF-1.4", {}),
        (b"PAR1 and nothing else", {}),
        (gzip.compress(b"a,b\n" + b"1,2\n" * 5000, mtime=0)[:60], {}),
        (gzip.compress(gzip.compress(b"a,b\n1,2\n", mtime=0), mtime=0), {}),
        (b"PK\x03\x04 no archive", {}),
    ],
)
def test_what_is_wrong_is_said_as_of_the_whole(tmp_path, data, how):
    path = tmp_path / "t.data"
    path.write_bytes(data)
    said = []
    for read in (lambda: read_table(path, **how), lambda: list(stream_table(path, **how).parts)):
        with pytest.raises(TableError) as caught:
            read()
        said.append(str(caught.value))
    if "no rows" in said[0]:
        assert said[1] == "t.data has a header and no rows; there is nothing to label."
    else:
        assert said[1] == said[0]


@pytest.mark.parametrize(("encoding", "mark"), [("utf-8-sig", True), ("utf-16", False), ("cp1252", False)])
def test_encodings_and_byte_order_marks(tmp_path, encoding, mark):
    path = tmp_path / "t.csv"
    path.write_bytes(("a,b\n" + "ü,é\n" * 900).encode(encoding))
    stream = stream_table(path, encoding="cp1252" if encoding == "cp1252" else "utf-8")
    frame = pl.concat([part.table.frame for part in stream.parts])
    assert (frame["a"].unique().to_list(), frame["b"].n_unique(), frame.height) == (["ü"], 1, 900)
    assert stream.table.bom == mark


def test_lines_that_end_as_on_old_machines_and_blank_ones(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\r" + b"1,2\r" * 900)
    assert sum(part.table.frame.height for part in stream_table(path).parts) == 900
    path.write_bytes(b"a,b\n" + b"1,2\n\n" * 900)
    assert sum(part.table.frame.height for part in stream_table(path).parts) == 900


def test_a_column_of_json_lines_has_one_type_in_all_parts(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n' * 300 + '{"a": 1.5, "b": "x"}\n' * 300 + '{"a": null}\n' * 300)
    stream = stream_table(path)
    parts = [part.table for part in stream.parts]
    assert {tuple(table.frame.schema.items()) for table in parts} == {(("a", pl.Float64()), ("b", pl.String()))}
    assert pl.concat([table.frame for table in parts]).equals(read_table(path).frame)
    assert all(table.lines.frame is table.frame for table in parts)
    path.write_text('{"a": 1}\n' * 300 + '{"a": "x"}\n' * 300)
    with pytest.raises(TableError, match=r"t.jsonl: column 'a' holds String in some lines and Int64 in others"):
        stream_table(path)


def test_a_bomb_a_row_without_end_and_what_is_too_large_for_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "_MOST_RECORD", 10_000)
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,2\n1,"' + b"x" * 50_000)
    with pytest.raises(TableError, match=r"line 3: a row of more than .* MiB; perhaps a quote is opened"):
        list(stream_table(path).parts)
    monkeypatch.setattr("chary.tables.packed._SMALL", 1000)
    with gzip.open(tmp_path / "b.csv.gz", "wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * 200_000)
    with pytest.raises(TableError, match=r"unpacks to .* as no table does"):
        list(stream_table(tmp_path / "b.csv.gz").parts)
    FRAME.write_ipc(tmp_path / "t.arrow")
    with pytest.raises(TableError, match=r"has to be read as a whole, .* pass more with the parameter memory"):
        stream_table(tmp_path / "t.arrow", memory=1000)


def test_only_the_columns_asked_for_are_read_of_parquet_and_names_are_told(tmp_path):
    FRAME.write_parquet(tmp_path / "t.csv")
    stream = stream_table(tmp_path / "t.csv", columns=["x", "id", "none"])
    assert stream.table.frame.columns == ["id", "x"]
    assert next(stream.parts).table.frame.columns == ["id", "x"]
    assert stream.table.notes == ("t.csv is a Parquet file, whatever its name says, and was read as such.",)


def test_archives_hold_one_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("a.csv", "a\n1\n")
        archive.writestr("b.csv", "a\n1\n")
    with pytest.raises(TableError, match=r"'a.csv' and 'b.csv'; chary reads an archive of one file"):
        stream_table(tmp_path / "t.zip")


@settings(max_examples=40)
@given(
    groups=st.lists(
        st.tuples(st.integers(1, 2000), st.integers(0, 900), st.integers(0, 900)), min_size=1, max_size=12
    ),
    room=st.integers(1, 3000),
)
def test_row_groups_are_read_as_far_as_they_fit_and_cut_where_they_do_not(groups, room):
    groups = [streaming.RowGroup(*group) for group in groups]
    if any(group.packed > 2 * room // 3 and group.packed + group.unpacked > room // 2 for group in groups):
        with pytest.raises(TableError, match="has a row group of 0 MiB, more than can be read at once"):
            list(streaming._runs(groups, room, "t"))
        return
    runs = list(streaming._runs(groups, room, "t"))
    starts = [run.start for run in runs]
    assert starts == [sum(run.n_rows for run in runs[:k]) for k in range(len(runs))]
    assert sum(run.n_rows for run in runs) == sum(group.n_rows for group in groups)
    begin = 0
    for group in groups:  # what does not fit is never read as a whole
        if group.packed + group.unpacked > room // 2:
            of_it = [run for run in runs if begin <= run.start < begin + group.n_rows]
            assert all(run.sliced for run in of_it)
            assert len(of_it) > 1 or group.n_rows == 1
        begin += group.n_rows


@pytest.mark.parametrize("room", [1, 4000, 1 << 30])
def test_rows_are_the_same_however_much_is_read_at_a_time(tmp_path, monkeypatch, room):
    FRAME.write_parquet(tmp_path / "t.parquet", row_group_size=70)
    found = [group.packed for group in streaming.row_groups(tmp_path / "t.parquet", FRAME.columns)]
    monkeypatch.setattr(streaming, "_FIXED", 0)
    monkeypatch.setattr(streaming, "_LEAST_ROOM", room + 3 * max(found) // 2 + 2)
    stream = stream_table(tmp_path / "t.parquet", memory=0)
    assert pl.concat([part.table.frame for part in stream.parts]).equals(FRAME)
    monkeypatch.setattr(streaming, "_LEAST_ROOM", max(found))
    with pytest.raises(TableError, match="more than can be read at once in the memory allowed"):
        stream_table(tmp_path / "t.parquet", memory=0)
    monkeypatch.setattr(streaming, "row_groups", lambda path, names: None)
    stream = stream_table(tmp_path / "t.parquet", memory=0)
    assert pl.concat([part.table.frame for part in stream.parts]).equals(FRAME)
