"""First bytes in, what a file is out; what chary does not read is called by its name."""

import pytest

from chary.tables.contents import content_of, refuse_broken_promise, told_otherwise, words_for
from chary.tables.errors import TableError


@pytest.mark.parametrize(
    ("head", "content"),
    [
        (b"PAR1...", "parquet"),
        (b"ARROW1\x00\x00", "arrow"),
        (b"\xff\xff\xff\xff\x10\x00\x00\x00", "arrow"),
        (b"\x1f\x8b\x08", "gz"),
        (b"PK\x03\x04", "zip"),
        (b"PK\x05\x06", "zip"),
        (b'{"a": 1}\n', "jsonl"),
        (b'\xef\xbb\xbf \n{ "a": 1}\n', "jsonl"),
        (b"{}\n", "jsonl"),
        (b"{a},b\n1,2\n", "csv"),
        (b"[a],b\n1,2\n", "csv"),
        (b"a,b\n", "csv"),
        (b"\xff\xfea\x00", "csv"),
        (b"<b>,c\n", "csv"),
        (b"", "csv"),
    ],
)
def test_a_file_is_what_its_content_says(head, content):
    assert content_of(head, "t") == content


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "an old Excel workbook; save the sheet as .xlsx or CSV."),
        (b"%PDF-1.7", "a PDF; export"),
        (b"\x80\x04\x95", "a Python pickle, which chary never opens"),
        (b"\x93NUMPY\x01", "a NumPy array, which has no columns"),
        (b"FEA1", "a Feather file of the old version 1"),
        (b"BZh9", "bzip2-compressed; unpack it first."),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
        (b"\n<!DOCTYPE HTML><p>", "a web page (a download may have failed), not a table"),
        (b"<?xml version='1.0'?>", "an XML file, not a table"),
        (b'[{"a": 1}]', "one JSON array; write it as JSON lines, an object on each line."),
    ],
)
def test_what_is_no_table_is_called_by_its_name(head, said):
    with pytest.raises(TableError) as caught:
        content_of(head, "t.csv")
    assert f"t.csv is {said}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("t.parquet", "t.parquet is not a Parquet file (its first bytes say so) but text, perhaps a CSV"),
        ("t.XLSX", "t.XLSX is not an Excel workbook"),
        ("t.jsonl", "t.jsonl is not JSON lines"),
        ("t.feather", "t.feather is not an Arrow file"),
        ("t.gz", "t.gz is not a gzip file"),
        ("t.zip", "t.zip is not a ZIP archive"),
    ],
)
def test_text_is_not_taken_for_what_a_name_promises(name, said):
    with pytest.raises(TableError) as caught:
        refuse_broken_promise("csv", b"a,b\n1,2\n", name, name)
    assert said in str(caught.value)
    with pytest.raises(TableError, match="but nothing that chary knows; check how it was written"):
        refuse_broken_promise("csv", b"\x00\x01\x02", name, name)
    refuse_broken_promise("csv", b"a,b", name, "t.csv")  # what is in it may be a text table
    refuse_broken_promise("parquet", b"PAR1", name, name)  # and what is known is read


def test_another_name_than_the_content_is_said():
    assert (
        told_otherwise("parquet", "t.csv")
        == "t.csv is a Parquet file, whatever its name says, and was read as such."
    )
    for content, name in (("csv", "t.txt"), ("csv", "t.csv"), ("jsonl", "t.json"), ("parquet", "t")):
        assert told_otherwise(content, name) is None
    assert words_for("gz") == "a gzip file"
