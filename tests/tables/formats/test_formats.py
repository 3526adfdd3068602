"""A file is what its first bytes say; what chary does not read is called by its name."""

import gzip

import pytest

from chary import options
from chary.tables.formats import FORMATS, look_into
from chary.tables.formats.files import File
from chary.tables.table import TableError


def look(head, name="t"):
    return look_into(File(name, data=head))


def test_what_can_be_read_can_be_asked_for():
    assert set(FORMATS) == set(options.FORMAT_WORDS)


@pytest.mark.parametrize(
    ("head", "content"),
    [
        (b"PAR1...", "parquet"),
        (b'{"a": 1}\n', "jsonl"),
        (b'\xef\xbb\xbf \n{ "a": 1}\n', "jsonl"),
        (b"{}\n", "jsonl"),
        (b"{a},b\n1,2\n", "csv"),
        (b"[a],b\n1,2\n", "csv"),
        (b"\xff\xfea\x00", "csv"),
        (b"<b>,c\n", "csv"),
    ],
)
def test_a_file_is_what_its_content_says(head, content):
    assert look(head)[1] is FORMATS[content]
    if content == "parquet":
        with pytest.raises(
            TableError, match="holds a Parquet file, which is compressed by itself; unpack it"
        ):
            look(gzip.compress(head))
    else:
        file, format = look(gzip.compress(head))
        assert (file.packed, format.name) == ("gz", content)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "an old Excel workbook; save the sheet as .xlsx or CSV."),
        (b"ARROW1\x00\x00", "an Arrow or Feather file; write the table as Parquet."),
        (
            b"\xff\xff\xff\xff\x10\x00\x00\x00",
            "an Arrow or Feather file; write the table as Parquet.",
        ),
        (b"%PDF-1.7", "a PDF; export"),
        (b"\x80\x04\x95", "a Python pickle, which chary never opens"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
        (b"\n<!DOCTYPE HTML><p>", "a web page or XML (a download may have failed), not a table"),
        (b"<?xml version='1.0'?>", "a web page or XML (a download may have failed), not a table"),
        (b'[{"a": 1}]', "one JSON array; write it as JSON lines, an object on each line."),
        (b"", "empty; chary needs a header and rows."),
        (gzip.compress(b"", mtime=0), "empty; chary needs a header and rows."),
    ],
)
def test_what_is_no_table_is_called_by_its_name(head, said):
    with pytest.raises(TableError) as caught:
        look(head, "t.csv")
    assert f"t.csv is {said}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("t.parquet", "t.parquet is named as a Parquet file but is none; check how"),
        ("t.XLSX", "t.XLSX is named as an Excel workbook"),
        ("t.jsonl", "t.jsonl is named as JSON lines"),
        ("t.gz", "t.gz is named as a gzip file"),
    ],
)
def test_text_is_not_taken_for_what_a_name_promises(name, said):
    with pytest.raises(TableError) as caught:
        look(b"a,b\n1,2\n", name)
    assert said in str(caught.value)
    with pytest.raises(TableError, match="but is none; check how it was written"):
        look(b"\x00\x01\x02", name)
    look(gzip.compress(b"a,b"), "t.csv.gz")  # what is in it may be a text table
    look(b"PAR1", name)  # and what is known is read
