"""Packed files are unpacked; what would fill the memory, or cannot be told, is refused."""

import gzip
import io
import zipfile

import pytest

from chary.tables.formats import files as module
from chary.tables.formats import look_into
from chary.tables.formats.files import File, opened_zip, packed_stream, refuse_bomb
from chary.tables.table import TableError

DATA = b"a,b\n1,2\n" * 50


def of(data, name="t"):
    """A file as from standard input, and the name of what is in it."""
    return File(name, data=data).unpacked()


def from_bytes(data, name="t"):
    return of(data, name)[0].read()


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["gz", ""])
def test_what_is_packed_is_unpacked_and_the_same_bytes_every_time(kind):
    written = []
    for cut in (1, 7):
        buffer = io.BytesIO()
        with packed_stream(buffer, kind) as stream:
            for start in range(0, len(DATA), cut * 60):
                stream.write(DATA[start : start + cut * 60])
        written.append(buffer.getvalue())
    assert written[0] == written[1]
    file, inner_name = of(written[0], "t.csv.gz")
    assert (file.packed, file.read(), inner_name) == (kind, DATA, "t.csv" if kind else "t.csv.gz")
    pieces = list(file.chunks(100))
    assert b"".join(data for data, _, _ in pieces) == DATA
    assert [last for *_, last in pieces] == [False] * (len(pieces) - 1) + [True]
    assert pieces[-1][1] == 1.0


def test_a_gzip_of_several_parts_is_read_whole():
    assert from_bytes(gzip.compress(b"a,b\n") + gzip.compress(b"1,2\n")) == b"a,b\n1,2\n"


def test_a_damaged_gzip_is_one_sentence():
    data = gzip.compress(DATA)
    with pytest.raises(
        TableError, match=r"^t.gz is a damaged gzip file \(it is cut off\); copy it"
    ):
        from_bytes(data[:-9], "t.gz")
    for damaged in (data[:-8] + bytes(8), data[:12] + b"\xff\xff" + data[14:]):
        with pytest.raises(TableError, match=r"^t.gz is a damaged gzip file \("):
            from_bytes(damaged, "t.gz")


@pytest.mark.parametrize("members", [{}, {"a.csv": DATA}, {"xl/workbook.bin": b"x"}])
def test_an_archive_is_a_workbook_or_refused(members):
    with pytest.raises(TableError, match=r"^t.zip is a ZIP archive, or a document of another"):
        of(zipped(members), "t.zip")
    with pytest.raises(TableError, match=r"^t.gz holds an Excel workbook, .* unpack it"):
        look_into(File("t.gz", data=gzip.compress(zipped(members))))
    with pytest.raises(TableError, match=r"^t.gz is packed; unpack it first"):
        look_into(File("t.gz", data=gzip.compress(gzip.compress(DATA))))
    assert of(zipped({"[Content_Types].xml": b"x", "xl/workbook.xml": b"x"}))[0].packed == ""


def test_a_damaged_archive_is_one_sentence():
    data = zipped({"t.csv": DATA})
    with pytest.raises(
        TableError, match=r"t.zip is a damaged ZIP archive \(File is not a zip file\)"
    ):
        of(data[:40], "t.zip")
    with pytest.raises(TableError, match=r"mine"), opened_zip(io.BytesIO(data), "t.zip"):
        raise TableError("mine")


def test_bombs_are_refused_before_they_fill_the_memory(monkeypatch):
    monkeypatch.setattr(module, "_SMALL_BYTES", 2**20)
    monkeypatch.setattr(module, "_PIECE", 2**16)
    grown = []
    monkeypatch.setattr(
        module,
        "refuse_bomb",
        lambda size, *rest, **how: (grown.append(size), refuse_bomb(size, *rest, **how)),
    )
    bomb, _ = of(gzip.compress(bytes(2**24)), "t.gz")
    for size in (None, 2**18):
        with pytest.raises(TableError, match=r"t.gz would unpack to more than 3 MiB"):
            list(bomb.chunks(size))
    assert max(grown) < 2**22


def test_tables_compress_well_and_are_no_bombs():
    refuse_bomb(2**28, 1, "t")
    refuse_bomb(2**33, 2**33 // 199, "t")
    refuse_bomb(2**35, 2**34, "t", whole=False)
    with pytest.raises(TableError, match=r"would unpack to more"):
        refuse_bomb(2**35, 2**34, "t")
