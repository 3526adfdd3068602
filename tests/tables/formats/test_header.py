"""Column names below the first row: found in text tables and workbooks alike, and said."""

import csv
import io
from importlib.util import find_spec

import pytest

from chary.tables import TableError, open_source, read_table, write_table

DATA = [["1", "Ulm", "20"], ["2", "Bonn", "30"], ["3", "Kiel", "45"]]
NAMES = ["id", "city", "sum"]
WIDE = [["7", "Ann", "1", "2", "3", "4"], ["8", "Bo", "2", "3", "4", "5"]]


def text_table(folder, rows, end="\r\n"):
    stream = io.StringIO()
    csv.writer(stream, delimiter=";", lineterminator=end).writerows(rows)
    (folder / "t.csv").write_bytes(stream.getvalue().encode())
    return folder / "t.csv"


def workbook(folder, rows, merged=()):
    import xlsxwriter

    with xlsxwriter.Workbook(folder / "t.xlsx") as book:
        sheet = book.add_worksheet("one")
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                if cell:
                    sheet.write(i, j, int(cell) if cell.isdigit() else cell)
        for top, left, bottom, right, text in merged:
            sheet.merge_range(top, left, bottom, right, text)
    return folder / "t.xlsx"


KINDS = [text_table]
if find_spec("fastexcel") and find_spec("xlsxwriter"):
    KINDS.append(workbook)


@pytest.mark.parametrize("made", KINDS)
@pytest.mark.parametrize(
    ("above", "row"),
    [
        ([["Sales, 2024"]], 2),
        ([["Sales", "", ""], ["", "", ""]], 3),
        ([["Sales"], ["made on", "3 May"], []], 4),
        ([[], []], 3),
    ],
)
def test_column_names_are_found_below_titles(tmp_path, made, above, row):
    path = made(tmp_path, [*above, NAMES, *DATA])
    table = read_table(path)
    assert table.frame.columns == NAMES
    assert [[str(cell) for cell in cells] for cells in table.frame.rows()] == DATA
    assert [note for note in table.notes if f"found in row {row};" in note]
    with_row = read_table(path, header_row=row)
    assert with_row.frame.equals(table.frame)


@pytest.mark.parametrize("made", KINDS)
def test_two_rows_of_names_are_not_joined(tmp_path, made):
    lower = ["id", "city", "Q1", "Q2", "Q1", "Q2"]
    path = made(tmp_path, [["", "", "2023", "", "2024", ""], lower, *WIDE])
    with pytest.raises(TableError, match="columns 3 and 5 are both called 'Q1'"):
        read_table(path)


def test_batches_have_the_same_header_and_lines_are_counted_from_the_top_of_the_file(
    tmp_path, monkeypatch
):
    path = text_table(tmp_path, [["Sales"], [], NAMES, *DATA * 400, ["4", "Hof"]])
    monkeypatch.setattr("chary.tables.formats.csv.CHUNK", 2000)
    for read in (lambda: read_table(path), lambda: list(open_source(path).batches())):
        with pytest.raises(TableError, match="line 1204: 2 cells where the header has 3"):
            read()
    path = text_table(tmp_path, [["Sales"], [], NAMES, *DATA * 400])
    parts = [batch.table.frame for batch in open_source(path).batches()]
    assert len(parts) > 5
    assert sum(part.height for part in parts) == 1200
    assert {tuple(part.columns) for part in parts} == {tuple(NAMES)}


@pytest.mark.parametrize("made", KINDS)
def test_the_header_row_can_be_said(tmp_path, made):
    path = made(tmp_path, [["a", "b", "c"], NAMES, *DATA])
    assert read_table(path).frame.columns == ["a", "b", "c"]
    table = read_table(path, header_row=2)
    assert (table.frame.columns, table.read_with) == (NAMES, {"header_row": 2})
    with pytest.raises(TableError, match=r"Row 99 of .* is empty, or not among the first 50 rows"):
        read_table(path, header_row=99)


@pytest.mark.parametrize(
    "rows",
    [
        [["text"], ["hello", " world"], ["a", " b"]],  # a comma in a text, not a title
        [["name"], ["1", "2", "3"], ["3", "4", "5"]],  # what is below is no header
        [["a", "b"], ["1", "2", "3"], ["3", "4", "5"]],  # a name is missing
        [["Title"], ["red", "low", "1"], ["blue", "low", "2"]],  # nor is what a column repeats
    ],
)
def test_a_row_of_data_is_not_taken_for_names(tmp_path, rows):
    with pytest.raises(TableError, match="cells where the header has"):
        read_table(text_table(tmp_path, rows))


@pytest.mark.parametrize("made", KINDS)
def test_columns_without_a_name_are_called_by_their_place(tmp_path, made):
    rows = [["id", "city", "sum", "", ""], *([*row, "x", "y"] for row in DATA)]
    table = read_table(made(tmp_path, rows))
    assert table.frame.columns == [*NAMES, "column 4", "column 5"]
    assert "called 'column 4' and 'column 5'" in table.notes[0]


def test_line_ends_of_a_text_table_are_kept(tmp_path):
    for end in ("\r\n", "\n"):
        path, out = text_table(tmp_path, [NAMES, *DATA], end), io.BytesIO()
        write_table(read_table(path), {"chary_label": ["a", "b", "c"]}, out)
        expected = path.read_bytes().replace(b"sum", b"sum;chary_label")
        for row, label in zip(DATA, "abc", strict=True):
            expected = expected.replace(
                row[2].encode() + end.encode(), f"{row[2]};{label}{end}".encode()
            )
        assert out.getvalue() == expected


@pytest.mark.skipif(len(KINDS) < 2, reason="needs chary[excel]: fastexcel and xlsxwriter")
def test_merged_cells_of_a_workbook_stay_empty_and_a_note_says_so(tmp_path):
    rows = [[], [], ["", *NAMES], *(["", row[0], "", row[2]] for row in DATA)]
    title = (0, 1, 0, 3, "Sales of 2024")
    table = read_table(workbook(tmp_path, rows, [title, (3, 2, 4, 2, "Ulm")]))
    assert table.frame.columns == NAMES
    assert table.frame["city"].to_list() == ["Ulm", None, None]
    assert (
        "Sheet 'one' of t.xlsx has merged cells: the first cell of a range has its value"
        in table.notes[1]
    )
    # Where the column names were found.
    assert len(read_table(workbook(tmp_path, rows, [title])).notes) == 1
