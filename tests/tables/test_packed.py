"""Compressed bytes in, what is in them out; what would fill the memory, or cannot be told, refused."""

import gzip
import io
import zipfile

import pytest

from chary.tables import packed
from chary.tables.errors import TableError
from chary.tables.packed import from_gzip, from_zip, opened_zip, packing, refuse_bomb

DATA = b"a,b\n1,2\n" * 50


def zipped(members, compression=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["gz", "zip", ""])
def test_what_is_packed_is_unpacked_and_the_same_bytes_every_time(kind):
    written = []
    for _ in range(2):
        buffer = io.BytesIO()
        with packing(buffer, kind, "t.csv") as stream:
            stream.write(DATA)
        written.append(buffer.getvalue())
    assert written[0] == written[1]
    if kind == "gz":
        assert from_gzip(written[0], "t") == gzip.decompress(written[0]) == DATA
    elif kind == "zip":
        assert from_zip(written[0], "t") == ("t.csv", DATA)
    else:
        assert written[0] == DATA


def test_a_gzip_of_several_parts_is_read_whole():
    assert from_gzip(gzip.compress(b"a,b\n") + gzip.compress(b"1,2\n"), "t") == b"a,b\n1,2\n"


def test_a_damaged_gzip_is_one_sentence():
    data = gzip.compress(DATA)
    with pytest.raises(TableError, match=r"^t.gz is a gzip file that is cut off; copy or download it again.$"):
        from_gzip(data[:-9], "t.gz")
    with pytest.raises(TableError, match=r"^t.gz is a damaged gzip file \("):
        from_gzip(data[:-8] + bytes(8), "t.gz")
    with pytest.raises(TableError, match=r"^t.gz is a damaged gzip file \("):
        from_gzip(data[:12] + b"\xff\xff" + data[14:], "t.gz")


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({}, "holds no file; chary reads an archive of one file"),
        (
            {"a.csv": DATA, "b.csv": DATA},
            "holds 'a.csv' and 'b.csv'; chary reads an archive of one file: unpack it",
        ),
        ({f"{i}.csv": DATA for i in range(9)}, "and '4.csv' and 4 more; chary reads"),
        ({"../\x1b[31m.csv": DATA, "x": b""}, "'../\\\\x1b"),
    ],
)
def test_an_archive_holds_one_file(members, said):
    with pytest.raises(TableError, match=said):
        from_zip(zipped(members), "t.zip")


def test_what_programs_leave_in_archives_is_no_file():
    members = {"in/": b"", "in/t.csv": DATA, "__MACOSX/in/._t.csv": b"x", "in/.DS_Store": b"y"}
    assert from_zip(zipped(members), "t.zip") == ("in/t.csv", DATA)


def test_a_name_in_an_archive_is_never_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert from_zip(zipped({"../../escaped.csv": DATA}), "t.zip")[1] == DATA
    assert list(tmp_path.iterdir()) == []
    assert not (tmp_path.parent / "escaped.csv").exists()


def test_a_locked_or_damaged_archive_is_one_sentence():
    data = zipped({"t.csv": DATA}, zipfile.ZIP_STORED)
    locked = bytearray(data)
    locked[6] |= 1
    locked[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(TableError, match=r"t.zip is locked with a password"):
        from_zip(bytes(locked), "t.zip")
    with pytest.raises(TableError, match=r"t.zip is a damaged ZIP archive \(File is not a zip file\)"):
        from_zip(data[:40], "t.zip")
    with pytest.raises(TableError, match=r"t.zip is a damaged ZIP archive \(Bad CRC-32"):
        from_zip(data.replace(b"a,b", b"a;b", 1), "t.zip")
    with pytest.raises(TableError, match=r"mine"), opened_zip(data, "t.zip"):
        raise TableError("mine")


def test_bombs_are_refused_before_they_fill_the_memory(monkeypatch):
    monkeypatch.setattr(packed, "_SMALL", 2**20)
    monkeypatch.setattr(packed, "_CHUNK", 2**16)
    grown = []
    monkeypatch.setattr(packed, "refuse_bomb", lambda size, *rest: (grown.append(size), refuse_bomb(size, *rest)))
    zeros = bytes(2**24)
    with pytest.raises(TableError, match=r"t.gz unpacks to 3 MiB or more from 15 KiB, as no table does; unpack"):
        from_gzip(gzip.compress(zeros), "t.gz")
    assert max(grown) < 2**22
    with pytest.raises(TableError, match=r"t.zip unpacks to 16 MiB or more"):
        from_zip(zipped({"t.csv": zeros}), "t.zip")


def test_an_archive_that_lies_about_its_size_yields_no_more_than_it_said():
    data = bytearray(zipped({"t.csv": bytes(2**20)}))
    for at in (22, data.index(b"PK\x01\x02") + 24):  # the size, in both headers
        data[at : at + 4] = (1000).to_bytes(4, "little")
    with pytest.raises(TableError, match=r"is a damaged ZIP archive"):
        from_zip(bytes(data), "t.zip")


def test_tables_compress_well_and_are_no_bombs():
    refuse_bomb(2**28, 1, "t")
    refuse_bomb(2**33, 2**33 // 199, "t")
    with pytest.raises(TableError, match=r"as no table does"):
        refuse_bomb(2**35, 2**34, "t")
