"""From a CSV's bytes to cells: every dialect reads the same, every refusal names its place."""

import pytest

from chary.tables.source import read_table
from chary.tables.table import TableError

ROWS = [("31", "Ulm, old town", "yes"), ("47", 'the "blue"\nhouse', ""), ("", "Köln", "no")]
COLUMNS = ["age", "place", "churn"]


def csv_bytes(delimiter=",", end="\n", encoding="utf-8", bom=b""):
    def cell(text):
        return (
            '"' + text.replace('"', '""') + '"'
            if any(c in text for c in f'{delimiter}"\n')
            else text
        )

    lines = [delimiter.join(map(cell, row)) for row in [COLUMNS, *ROWS]]
    return bom + (end.join(lines) + end).encode(encoding)


def write(folder, data, name="t.csv"):
    path = folder / name
    path.write_bytes(data)
    return path


def cells(table):
    return [tuple("" if cell is None else cell for cell in row) for row in table.frame.rows()]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_every_dialect_reads_the_same(tmp_path, delimiter, end, bom):
    table = read_table(write(tmp_path, csv_bytes(delimiter, end, bom=bom)))
    assert table.frame.columns == COLUMNS
    assert cells(table) == ROWS
    assert (table.delimiter, table.bom, table.suffix) == (delimiter, bool(bom), ".csv")


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-16-le"])
def test_other_encodings_by_name(tmp_path, encoding):
    path = write(tmp_path, csv_bytes(encoding=encoding))
    assert cells(read_table(path, encoding=encoding)) == ROWS


def test_a_utf16_mark_is_enough(tmp_path):
    assert cells(read_table(write(tmp_path, csv_bytes(encoding="utf-16")))) == ROWS


def test_a_delimiter_can_be_given(tmp_path):
    path = write(tmp_path, b"a:b\n1:2\n")
    assert read_table(path, delimiter=":").frame.columns == ["a", "b"]


def test_a_file_may_end_without_a_newline(tmp_path):
    assert cells(read_table(write(tmp_path, b"a,b\r\n1,2\r\n3,4"))) == [("1", "2"), ("3", "4")]


def test_blank_lines_are_no_rows_but_empty_cells_are(tmp_path):
    table = read_table(write(tmp_path, b"a,b\n1,2\n\n,\n3,4\n\r\n\n"))
    assert cells(table) == [("1", "2"), ("", ""), ("3", "4")]


def test_a_column_may_have_no_name(tmp_path):
    assert read_table(write(tmp_path, b",b\n0,2\n")).frame.columns == ["", "b"]


def test_decimal_commas_do_not_make_a_comma_the_delimiter(tmp_path):
    table = read_table(write(tmp_path, b"a;b\n1,5;2,5\n2,5;3,5\n"))
    assert cells(table) == [("1,5", "2,5"), ("2,5", "3,5")]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "t.csv is empty"),
        (b" \n\n", "t.csv is empty"),
        (b"a,b\n1,2\n3\n4,5\n", "t.csv, line 3: 1 cells where the header has 2; quote cells"),
        (b"a,b\n1,2\n3,4,5\n6,7\n", "t.csv, line 3: 3 cells where the header has 2"),
        (b'a,b\n"x\ny",2\n3,4\n5\n', r"t.csv, line 5: 1 cells where the header has 2; quote cells"),
        (b'a,b\n"x,2\n3,4\n', "line 2: a quote is opened and never closed"),
        (b'a,b\n5" x 3",2\n', "line 2: a quote in the middle of a cell"),
        (b'a,b\n"x"y,2\n', "line 2: a quote in the middle of a cell"),
        (b"a,b\n1,\x00\n", "line 2: a NUL character"),
        (b"a,b\nx,y\nK\x81ln,2\n", "t.csv is not valid utf-8 text; pass its encoding"),
        (b"a\rx,b\n1,2\n", r"line 1: no readable column names \(new-line character"),
        (b"a,b,a\n1,2,3\n", "columns 1 and 3 are both called 'a'; rename"),
        (
            ",".join(f"c{i}" for i in range(10_000)).encode() + b"\n" + b"1," * 9_999 + b"1\n",
            "has 10,000 columns",
        ),
    ],
)
def test_refusals_name_the_place_and_the_remedy(tmp_path, data, message):
    with pytest.raises(TableError, match=message) as caught:
        read_table(write(tmp_path, data))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("encoding", ["martian", "hex", "zlib", "a\x00b", "rot13"])
def test_an_unknown_encoding_is_refused(tmp_path, encoding):
    with pytest.raises(TableError, match="Unknown encoding"):
        read_table(write(tmp_path, b"a,b\n1,2\n"), encoding=encoding)


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n", "é"])
def test_an_impossible_delimiter_is_refused(tmp_path, delimiter):
    with pytest.raises(TableError, match="is not usable"):
        read_table(write(tmp_path, b"a,b\n1,2\n"), delimiter=delimiter)


@pytest.mark.parametrize(
    ("data", "encoding", "remedy"),
    [
        (b"a,b\n1,\x00\n", "utf-8", "if it is UTF-16, pass encoding='utf-16'."),
        (b"a,b\n1,\xe9\n", "ascii", "cp1250, cp1251, latin-1 or shift_jis."),
        (b"a,b\n1\n2,3\n", "utf-8", "or pass the right one with the parameter delimiter."),
    ],
)
def test_a_remedy_is_a_parameter(tmp_path, data, encoding, remedy):
    with pytest.raises(TableError) as caught:
        read_table(write(tmp_path, data), encoding=encoding)
    assert str(caught.value).endswith(remedy)
