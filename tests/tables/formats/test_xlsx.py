"""Excel workbooks in and out: sheets by name, types kept, no text a formula, limits refused."""

import datetime as dt
import io
import sys
import zipfile
from decimal import Decimal
from importlib.util import find_spec

import polars as pl
import pytest

from chary.tables import TablePreparation, read_table
from chary.tables.formats import FORMATS, write_table
from chary.tables.formats.base import Reading
from chary.tables.formats.files import File
from chary.tables.table import Table, TableError

FAR_CELL = b'<c r="XFD1048576"><v>1</v></c>'
needs_excel = pytest.mark.skipif(
    not (find_spec("fastexcel") and find_spec("xlsxwriter")),
    reason="needs chary[excel]: fastexcel and xlsxwriter",
)

FRAME = pl.DataFrame({
    "whole": [1, -2, None],
    "number": [1.5, None, 2.0],
    "text": ["=1+1", "007", "http://x.y"],
    "flag": [True, False, None],
    "day": [dt.date(2024, 1, 31), None, dt.date(1999, 12, 31)],
    "moment": pl.Series(
        [dt.datetime(2024, 1, 31, 12, 30, 15, 123000), None, None], dtype=pl.Datetime("ms")
    ),
    "time": [dt.time(12, 30), None, dt.time(1, 2, 3)],
    "nothing": pl.Series([None, None, None], dtype=pl.String),
})  # fmt: skip


def workbook(frame=FRAME):
    buffer = io.BytesIO()
    write_table(Table(frame, "t", format="xlsx"), {}, buffer)
    return buffer.getvalue()


def read_workbook(data, name, sheet):
    table = FORMATS["xlsx"].read(File(name, data=data), Reading(sheet=sheet))
    return table.frame, table.notes


def sheets(**cells):
    """A workbook with these sheets, each a list of rows."""
    import xlsxwriter

    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        for name, rows in cells.items():
            sheet = book.add_worksheet(name)
            for i, row in enumerate(rows):
                for j, value in enumerate(row):
                    sheet.write(i, j, value)
    return buffer.getvalue()


def repacked(data, change):
    """Rewrite an archive's members; ``change`` maps name and bytes to bytes, or None to drop."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for member in old.infolist():
            content = change(member.filename, old.read(member))
            if content is not None:
                new.writestr(member.filename, content)
    return buffer.getvalue()


@needs_excel
def test_cells_and_types_come_back():
    frame, notes = read_workbook(workbook(), "t.xlsx", None)
    assert frame.equals(FRAME)
    assert frame.schema == FRAME.schema
    assert notes == ()


@needs_excel
def test_a_sheet_is_chosen_by_name():
    data = sheets(Data=[["a", "b"], [1, "x"]], Notes=[["c"], [2]])
    assert read_workbook(data, "t", "Data")[0].rows() == [(1, "x")]
    assert read_workbook(data, "t", "Notes")[0].rows() == [(2,)]
    with pytest.raises(
        TableError, match=r"^t has the sheets 'Data', 'Notes'; name one with the parameter sheet.$"
    ):
        read_workbook(data, "t", None)
    with pytest.raises(TableError, match=r"^t has no sheet 'Dat'; it has 'Data', 'Notes'.$"):
        read_workbook(data, "t", "Dat")
    assert read_workbook(sheets(Only=[["a"], [1]]), "t", None)[0].rows() == [(1,)]


@needs_excel
def test_columns_of_several_types_are_text_and_said():
    data = sheets(s=[["zip", "x", "y"], [1234, 1, True], ["01234", 2, 3], [1.5, 3, "z"]])
    frame, notes = read_workbook(data, "t.xlsx", None)
    assert frame.rows() == [("1234", 1, "true"), ("01234", 2, "3"), ("1.5", 3, "z")]
    assert notes == (
        "Column 'zip' of t.xlsx mixes several types: it is read and written as text.",
        "Column 'y' of t.xlsx mixes several types: it is read and written as text.",
    )


@needs_excel
def test_real_dates_beside_typed_ones_are_both_read_and_stay_what_they_are():
    typed = [f"{day:02d}.02.2024" for day in range(1, 11)]
    real = [dt.date(2024, 1, day) for day in range(1, 21)]
    moments = [dt.datetime(2024, 1, day, 10, 30) for day in range(1, 31)]
    columns = {"day": [*real, *typed], "moment": [*moments[:-1], "unknown"]}
    import xlsxwriter

    buffer = io.BytesIO()
    options = {"in_memory": True, "default_date_format": "dd.mm.yyyy"}
    with xlsxwriter.Workbook(buffer, options) as book:
        sheet = book.add_worksheet()
        for j, (name, values) in enumerate(columns.items()):
            sheet.write_column(0, j, [name, *values])
    for _ in range(2):  # as it was typed, and as chary wrote it
        table = FORMATS["xlsx"].read(File("t.xlsx", data=buffer.getvalue()), Reading())
        assert table.frame["day"].to_list() == [*map(str, real), *typed]
        assert table.frame["moment"][[0, -1]].to_list() == ["2024-01-01 10:30:00", "unknown"]
        assert table.notes[0] == (
            "Column 'day' of t.xlsx mixes dates and text: both are read, and dates stay dates."
        )
        assert TablePreparation().fit(table.frame).columns_[0].kind == "date"
        buffer = io.BytesIO()
        write_table(table, {}, buffer)


@needs_excel
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "^Sheet 's' of t is empty; chary needs a header and rows.$"),
        (
            [["a", "b", "a"], [1, 2, 3]],
            "^t, sheet 's': columns 1 and 3 are both called 'a'; rename one.$",
        ),
    ],
)
def test_sheets_without_a_table_are_refused(rows, said):
    with pytest.raises(TableError, match=said):
        read_workbook(sheets(s=rows), "t", None)


@needs_excel
def test_a_header_alone_is_a_table_without_rows():
    assert read_workbook(sheets(s=[["a", "b"]]), "t", None)[0].shape == (0, 2)


@needs_excel
def test_damaged_workbooks_are_one_sentence():
    broken = {
        "cut": repacked(workbook(), lambda name, data: data[:100] if "sheet1" in name else data),
        "no sheet": repacked(workbook(), lambda name, data: None if "sheet1" in name else data),
        "no text": repacked(
            workbook(), lambda name, data: b"\xff\xfe\x00" if "sheet1" in name else data
        ),
    }
    for name, data in broken.items():
        with pytest.raises(
            TableError, match=rf"^{name} is a damaged Excel workbook \(.*\); save it again.$"
        ):
            read_workbook(data, name, None)
    with pytest.raises(TableError, match="is a damaged ZIP archive"):
        read_workbook(workbook()[:200], "t", None)


@needs_excel
def test_a_workbook_that_unpacks_to_more_than_a_table_is_refused(monkeypatch):
    monkeypatch.setattr("chary.tables.formats.files._SMALL_BYTES", 2**20)
    bomb = repacked(
        workbook(), lambda name, data: data + b" " * 2**24 if "sheet1" in name else data
    )
    with pytest.raises(TableError, match=r"t would unpack to more than 16 MiB"):
        read_workbook(bomb, "t", None)


@needs_excel
@pytest.mark.parametrize(
    "cells",
    [
        [2**53, 1],
        [float("nan"), 1.5],
        [Decimal("1.10")],
        [dt.date(1899, 1, 1), dt.date(2024, 1, 1)],
        [dt.datetime(2024, 1, 1, 0, 0, 0, 7)],
        pl.Series([dt.datetime(2024, 1, 1)]).dt.replace_time_zone("UTC"),
    ],
)
def test_what_a_cell_cannot_keep_is_text(cells):
    frame = pl.DataFrame({"c": cells})
    again = read_workbook(workbook(frame), "t", None)[0]
    assert again["c"].to_list() == frame["c"].cast(pl.String).to_list()


@needs_excel
def test_a_text_longer_than_a_cell_is_refused():
    with pytest.raises(
        TableError, match=r"column 'c' holds a text of more than 32,767 characters; choose"
    ):
        FORMATS["xlsx"].refuse_unwritable(pl.DataFrame({"c": ["x" * 40_000]}))


@needs_excel
def test_a_table_larger_than_a_sheet_is_refused():
    with pytest.raises(
        TableError, match="1,048,576 rows and 1 columns are more than a sheet has room for"
    ):
        FORMATS["xlsx"].refuse_unwritable(pl.DataFrame({"a": pl.zeros(2**20, eager=True)}))


@pytest.mark.parametrize("package", ["fastexcel", "xlsxwriter"])
def test_without_the_package_one_sentence_says_what_to_install(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(TableError, match=r"pip install 'chary\[excel\]'"):
        read_workbook(b"", "t", None) if package == "fastexcel" else FORMATS[
            "xlsx"
        ].refuse_unwritable(FRAME)


@needs_excel
def test_a_merged_range_beside_a_column_without_a_name_moves_to_no_other_column(tmp_path):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 1, ["label", "city"])
        for i in range(1, 7):
            sheet.write_row(i, 0, [i, "yes" if i in (1, 4) else None])
        sheet.merge_range(1, 2, 3, 2, "Ulm")
    frame = read_table(tmp_path / "t.xlsx").frame
    assert frame["label"].to_list() == ["yes", None, None, "yes", None, None]
    assert frame["city"].to_list() == ["Ulm", *[None] * 5]


@needs_excel
def test_a_far_cell_is_refused_before_the_sheet_is_read():
    xlsxwriter = pytest.importorskip("xlsxwriter")
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        sheet = book.add_worksheet("far")
        sheet.write_row(0, 0, ["x", "y"])
        sheet.write_blank(2**20 - 1, 2**14 - 1, None, book.add_format({"bold": True}))
        sheet.write_row(1, 0, [1, 2])
    # A format alone takes no room.
    assert read_workbook(buffer.getvalue(), "t", None)[0].shape == (
        1,
        2,
    )

    far = repacked(
        buffer.getvalue(), lambda name, data: data.replace(b'<c r="XFD1048576" s="1"/>', FAR_CELL)
    )
    assert len(far) < 8_000
    with pytest.raises(
        TableError, match=r"Sheet 'far' of t would take about .* reach to row 1,048,576 and column"
    ):
        read_workbook(far, "t", None)
    unnamed = repacked(far, lambda name, data: data.replace(b'r="XFD1048576"', b""))
    # Beside the cell before it in its row.
    assert read_workbook(unnamed, "t", None)[0].height == 2**20 - 1


@needs_excel
def test_a_second_part_of_the_same_name_is_refused():
    twice = io.BytesIO(sheets(one=[["x"], [1]]))
    with zipfile.ZipFile(twice, "a") as archive:
        archive.writestr("xl\\worksheets/Sheet1.xml", b"<worksheet/>")
    with pytest.raises(TableError, match="two parts have one name"):
        read_workbook(twice.getvalue(), "t", None)
