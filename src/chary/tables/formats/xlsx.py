"""Excel workbooks: one sheet is the table.

A workbook knows numbers, text, truth values and moments. Whole numbers are read as such, moments at
midnight as dates, moments without a day as times; a column that mixes these is text. Its dates then
are texts such as 2024-01-31, and dates again in a workbook that is written. Formulas are read as
their results. The first of merged cells has the value, the others are empty. What a workbook cannot
keep exactly is written as text.
"""

from __future__ import annotations

import datetime
import io
import logging
import re
import zipfile
from collections.abc import Mapping
from functools import cache
from typing import Any, BinaryIO, NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

import polars as pl

from chary._words import Parameter, shown
from chary.tables.formats.base import Appender, Format, Reading, as_columns, with_added
from chary.tables.formats.files import File, opened_zip, refuse_bomb
from chary.tables.formats.header import ROWS, Header, find_header
from chary.tables.table import (
    Table,
    TableError,
    can_be_text,
    reason,
    refuse_beyond_memory,
    refuse_duplicates,
)

# A worksheet has room for this many rows, the header included.
_MOST_ROWS = 2**20
# A worksheet has room for this many columns.
_MOST_COLUMNS = 2**14
# A cell has room for this many characters.
_MOST_CHARACTERS = 2**15 - 1
# A workbook knows floats only, which hold whole numbers exactly below this one.
_EXACT_BELOW = 2**53
# Each cell of a worksheet, an empty one too, takes about this many bytes of memory while it is
# read: 56 to 61 were measured with fastexcel 0.21.
_CELL_BYTES = 64
# Excel stores a time without a day as a moment of one of these days.
_NO_DAY = (datetime.date(1899, 12, 30), datetime.date(1899, 12, 31))
# Workbooks number the days before this one in two ways, which contradict each other.
_FIRST_DAY = datetime.date(1900, 3, 1)
_NUMBER_FORMATS = {
    pl.Date: "yyyy-mm-dd",
    pl.Datetime: "yyyy-mm-dd hh:mm:ss.000",
    pl.Time: "hh:mm:ss.000",
}
# fastexcel writes moments in this way if their column also holds text.
_MOMENT = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$"
# A moment at midnight is a day; the group is what stays of it.
_MIDNIGHT = r"^(\d{4}-\d\d-\d\d) 00:00:00$"
# Days are kept in this way until the workbook is written.
_DAY = r"^\d{4}-\d\d-\d\d$"
# fastexcel says this of a column that mixes types.
_MIXED = re.compile(r"type coercion is strict.*column __UNNAMED__(\d+)", re.DOTALL)
# A sentence lists at most this many worksheets.
_NAMED_SHEETS = 12
# Of a column without a cell, such as the answers of a new sheet, the package logs a warning, which
# Python prints if nobody listens.
logging.getLogger("fastexcel").addHandler(logging.NullHandler())


class Xlsx(Format):
    """A workbook is a ZIP archive; ``File.unpacked`` refuses other archives."""

    name = "xlsx"
    words = "an Excel workbook"
    endings = (".xlsx", ".xlsm")
    begins = b"PK"
    in_batches = False

    def read(self, file: File, reading: Reading) -> Table:
        """Read all rows of a worksheet."""
        return _read_worksheet(file.read(), file.name, reading)

    def holds(self, dtype: pl.DataType) -> bool:
        """Tell whether a cell can keep values of a type, as text at least."""
        return can_be_text(dtype) and dtype != pl.Duration

    def refuse_unwritable(self, frame: pl.DataFrame) -> None:
        """Refuse what a worksheet has no room for.

        Without the package to write one, any table is refused.
        """
        _xlsxwriter()
        why = ""
        if frame.height >= _MOST_ROWS or frame.width > _MOST_COLUMNS:
            why = (
                f"{frame.height:,} rows and {frame.width:,} columns are more than a sheet has "
                "room for"
            )
        for cells in frame.select(pl.col(pl.String)):
            if (cells.str.len_chars() > _MOST_CHARACTERS).any():
                why = (
                    f"column {shown(cells.name)} holds a text of more than {_MOST_CHARACTERS:,} "
                    "characters"
                )
        if why:
            raise TableError(
                f"An Excel workbook cannot hold this table: {why}; choose another format with "
                f"{Parameter('format')}."
            )

    def appender(self, stream: BinaryIO, group_rows: int) -> Appender:
        """Make an appender, which writes rows to ``stream`` as they come."""
        return _WorkbookAppender(stream)


class _WorkbookAppender(Appender):
    """Collects the rows, at most a million, and writes them at the end."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.frames: list[pl.DataFrame] = []
        self.dated: tuple[str, ...] = ()

    def append(self, table: Table, added: Mapping[str, Any]) -> None:
        self.frames.append(with_added(table.frame, as_columns(added)))
        self.dated = table.dated

    def close(self) -> None:
        """Write a workbook of one worksheet, in which no text is a formula."""
        frame = pl.concat(self.frames)
        Xlsx().refuse_unwritable(frame)
        options = {
            "in_memory": True,
            "strings_to_numbers": False,
            "strings_to_formulas": False,
            "strings_to_urls": False,
        }
        # The package moves back and forth in the file, and the stream may not allow that.
        seekable = io.BytesIO()
        with _xlsxwriter().Workbook(seekable, options) as workbook:
            worksheet = workbook.add_worksheet("table")
            for j, column in enumerate(frame):
                worksheet.write_string(0, j, column.name)
                if column.name in self.dated:
                    _write_dates_and_texts(workbook, worksheet, j, column)
                else:
                    _write_cells(workbook, worksheet, j, column)
        self.stream.write(seekable.getvalue())


def _write_cells(workbook: Any, worksheet: Any, j: int, cells: pl.Series) -> None:
    """Write column ``j`` in its own type, or as text if a workbook cannot keep that type."""
    write = worksheet.write
    if not _can_keep(cells):
        cells = cells.cast(pl.String)
        write = worksheet.write_string
    number_format = _NUMBER_FORMATS.get(cells.dtype.base_type())
    style = number_format and workbook.add_format({"num_format": number_format})
    for i, value in enumerate(cells, start=1):  # the package writes cell by cell
        if value is not None:
            write(i, j, value, style)


def _write_dates_and_texts(workbook: Any, worksheet: Any, j: int, cells: pl.Series) -> None:
    """Write column ``j``, in which some texts are days or moments: these become dates again."""
    day_style = workbook.add_format({"num_format": _NUMBER_FORMATS[pl.Date]})
    moment_style = workbook.add_format({"num_format": _NUMBER_FORMATS[pl.Datetime]})
    is_day = cells.str.contains(_DAY).to_list()
    is_moment = cells.str.contains(_MOMENT).to_list()
    for place, text in enumerate(cells):
        i = place + 1  # the header is row 0
        if is_day[place]:
            day = datetime.datetime.fromisoformat(text)
            worksheet.write_datetime(i, j, day, day_style)
        elif is_moment[place]:
            moment = datetime.datetime.fromisoformat(text)
            worksheet.write_datetime(i, j, moment, moment_style)
        elif text is not None:
            worksheet.write_string(i, j, text)


def _xlsxwriter() -> Any:
    try:
        import xlsxwriter
    except ImportError:
        raise TableError("To write an Excel workbook, pip install 'chary[excel]'.") from None
    return xlsxwriter


def _can_keep(cells: pl.Series) -> bool:
    """Tell whether a workbook keeps the values of a column exactly.

    It does not keep whole numbers of more than 15 digits, and moments before 1900, finer than a
    millisecond, or in a time zone.
    """
    dtype = cells.dtype
    if dtype == pl.Boolean:
        return True
    if dtype.is_decimal():
        return False
    if dtype.is_numeric():
        numbers = cells.cast(pl.Float64)
        are_finite = bool(numbers.is_finite().all())
        are_small = bool((numbers.abs() < _EXACT_BELOW).all())
        return are_finite and (are_small or dtype.is_float())
    if dtype == pl.Date:
        return bool((cells >= _FIRST_DAY).all())
    if dtype == pl.Time:
        return _is_in_milliseconds(cells)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
        are_recent = bool((cells.dt.date() >= _FIRST_DAY).all())
        return are_recent and _is_in_milliseconds(cells)
    return False


def _is_in_milliseconds(cells: pl.Series) -> bool:
    return bool((cells.dt.microsecond() % 1000 == 0).all())


def _read_worksheet(data: bytes, name: str, reading: Reading) -> Table:
    """Read the cells of a worksheet."""
    try:
        import fastexcel
    except ImportError:
        raise TableError(
            f"{name} is an Excel workbook; to read it, pip install 'chary[excel]'."
        ) from None
    try:
        data = _checked(data, name)
        reader = fastexcel.read_excel(data)
        worksheet = _choose_worksheet(reader.sheet_names, reading.sheet, name)
        extent = _extent(_worksheet_xml(data, worksheet))
        refuse_beyond_memory(
            f"Sheet {shown(worksheet)} of {name}",
            extent.n_cells * _CELL_BYTES,
            f"its cells reach to row {extent.last_row:,} and column {extent.last_column:,}: "
            "delete those outside the table",
        )
        header = _read_header(reader, worksheet, reading.header_row, name)
        first_row = header.row + 1
        cells, mixed = _load(reader, worksheet, first_row)
    except TableError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        raise TableError(
            f"{name} is a damaged Excel workbook ({reason(error)}); save it again."
        ) from None

    names = header.names
    refuse_duplicates(names, f"{name}, sheet {shown(worksheet)}")
    if cells.height == 0:
        empty = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
        return Table(empty, name, format=Xlsx.name, notes=header.notes)
    notes = list(header.notes)
    columns = [_narrowed(column).alias(name) for name, column in zip(names, cells, strict=True)]
    dated = []
    for j in mixed:
        if _has_moments(columns[j]):
            dated.append(names[j])
            columns[j] = columns[j].str.replace(_MIDNIGHT, "$1")
            notes.append(
                f"Column {shown(names[j])} of {name} mixes dates and text: both are read, and "
                "dates stay dates."
            )
        else:
            notes.append(
                f"Column {shown(names[j])} of {name} mixes several types: it is read and written "
                "as text."
            )
    if extent.merged_to > first_row:  # a merged title above the column names does not matter
        notes.append(
            f"Sheet {shown(worksheet)} of {name} has merged cells: the first cell of a range has "
            "its value, and the others are empty; unmerge and fill them if each row should have it."
        )
    frame = pl.DataFrame(columns)
    return Table(frame, name, format=Xlsx.name, notes=tuple(notes), dated=tuple(dated))


def _has_moments(cells: pl.Series) -> bool:
    """Tell whether some texts of a mixed column are moments of a workbook, all with a day."""
    is_moment = cells.str.contains(_MOMENT).fill_null(False)
    days = cells.filter(is_moment).str.slice(0, 10)
    # An earlier day stands for none: Excel keeps a time without a day as a moment of 1899.
    return len(days) > 0 and bool((days >= str(_FIRST_DAY)).all())


def _read_header(reader: Any, worksheet: str, header_row: int | None, name: str) -> Header:
    """Find the column names in the first rows of a worksheet."""
    top = reader.load_sheet(
        worksheet,
        header_row=None,
        skip_rows=0,
        n_rows=ROWS,
        dtypes="string",
    ).to_polars()
    if top.width == 0:
        raise TableError(
            f"Sheet {shown(worksheet)} of {name} is empty; chary needs a header and rows."
        )
    rows = [list(row) for row in top.fill_null("").iter_rows()]
    return find_header(rows, header_row, name) or Header(rows[0], 0, ())


def _checked(data: bytes, name: str) -> bytes:
    """Check the parts of a workbook, and copy them uncompressed.

    A hostile archive may say a smaller size than it unpacks to. In the copy all sizes are true.
    """
    copied = io.BytesIO()
    total = 0
    seen_names: set[str] = set()
    with opened_zip(io.BytesIO(data), name) as archive, zipfile.ZipFile(copied, "w") as copy:
        for member in archive.infolist():
            part_name = _part_name(member.filename)
            if part_name in seen_names:
                raise TableError(
                    f"{name} is a damaged Excel workbook (two parts have one name); save it again."
                )
            seen_names.add(part_name)
            total += member.file_size
            refuse_bomb(total, len(data), name)
            if member.flag_bits & 1:
                raise TableError(f"{name} is locked with a password; save it without one.")
            copy.writestr(zipfile.ZipInfo(member.filename), archive.read(member))
    return copied.getvalue()


def _choose_worksheet(worksheets: list[str], sheet: str | None, name: str) -> str:
    """Return the worksheet that was asked for, or the only one."""
    if sheet is None and len(worksheets) == 1:
        return worksheets[0]
    if sheet is not None and sheet in worksheets:
        return sheet
    listing = ", ".join(shown(worksheet, 40) for worksheet in worksheets[:_NAMED_SHEETS])
    if len(worksheets) > _NAMED_SHEETS:
        listing += ", ..."
    if sheet is None:
        raise TableError(f"{name} has the sheets {listing}; name one with {Parameter('sheet')}.")
    raise TableError(f"{name} has no sheet {shown(sheet)}; it has {listing}.")


class _Extent(NamedTuple):
    """How far the cells of a worksheet reach; rows and columns count from 1."""

    last_row: int
    first_column: int
    last_column: int
    merged_to: int  # the last row of all merged ranges; 0 without any

    @property
    def n_cells(self) -> int:
        """Cells of the rectangle that the reader keeps in memory, empty ones included."""
        return self.last_row * (self.last_column - self.first_column + 1)


def _extent(xml: bytes) -> _Extent:
    """Find how far the cells of a worksheet reach, without keeping a cell of its XML.

    A parser calls ``start`` with each element in turn: a row, then its cells, each with the value
    that it holds. So ``row`` and ``column`` are those of the cell that was begun last.
    """
    filled_rows = {0}
    filled_columns: set[int] = set()
    row = 0
    column = 0
    merged_to = 0

    def start(element: str, attributes: dict[str, str]) -> None:
        nonlocal row, column, merged_to
        tag = element.rpartition(":")[2]  # without its namespace
        if tag == "row":
            row = int(attributes.get("r", row + 1))
            column = 0
        elif tag == "c":
            column += 1
            if "r" in attributes:
                row, column = _row_and_column(attributes["r"])
        elif tag in ("v", "is"):  # without one of these a cell has a format and no content
            filled_rows.add(row)
            filled_columns.add(column)
        elif tag == "mergeCell":
            last_cell = attributes["ref"].rpartition(":")[2]
            merged_to = max(merged_to, _row_and_column(last_cell)[0])

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.Parse(xml, True)
    return _Extent(
        last_row=max(filled_rows),
        first_column=min(filled_columns, default=1),
        last_column=max(filled_columns, default=0),
        merged_to=merged_to,
    )


def _row_and_column(reference: str) -> tuple[int, int]:
    """Read the name of a cell.

    >>> _row_and_column("AB12")
    (12, 28)
    """
    letters = reference.rstrip("0123456789")
    return int(reference[len(letters) :]), _column_number(letters)


@cache
def _column_number(letters: str) -> int:
    """Count columns from A, which is 1."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _worksheet_xml(data: bytes, worksheet: str) -> bytes:
    """Read the part of a workbook that holds a worksheet."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        member_of = {_part_name(member): member for member in archive.namelist()}

        def read_part(name: str) -> bytes:
            return archive.read(member_of[_part_name(name)])

        # The workbook gives each worksheet the id of a link, and the link the path of a part.
        workbook = ElementTree.fromstring(read_part("xl/workbook.xml"))
        links = ElementTree.fromstring(read_part("xl/_rels/workbook.xml.rels"))
        link_ids: list[str] = []
        for element in workbook.iter():
            if element.tag.endswith("}sheet") and element.get("name") == worksheet:
                link_ids += [value for key, value in element.items() if key.endswith("}id")]
        path_of = {link.get("Id"): link.get("Target", "") for link in links}
        path = path_of[link_ids[0]].removeprefix("/").removeprefix("xl/")
        return read_part(f"xl/{path}")


def _part_name(member: str) -> str:
    """Name a part of a workbook as readers compare it."""
    return member.lower().replace("\\", "/")


def _load(reader: Any, worksheet: str, first_row: int) -> tuple[pl.DataFrame, list[int]]:
    """Read the cells from a row on.

    A column that mixes types is read as text. The package refuses such a column by an error that
    names it, so the cells are read again after each such error.

    Returns
    -------
    cells : DataFrame
    mixed : list of int
        The numbers of the columns that mix types, from 0.
    """
    mixed: dict[int, str] = {}  # the type to read such a column in, by its number
    while True:
        try:
            cells = reader.load_sheet(
                worksheet,
                header_row=None,
                skip_rows=first_row,
                schema_sample_rows=None,
                dtypes=mixed or None,
                dtype_coercion="strict",
            )
            return cells.to_polars(), sorted(mixed)
        except Exception as error:
            # The package names one mixed column at a time.
            match = _MIXED.search(str(error))
            if match is None or int(match[1]) in mixed:
                raise
            mixed[int(match[1])] = "string"


def _narrowed(cells: pl.Series) -> pl.Series:
    """Cast a column to the narrowest type that keeps all values.

    Whole numbers become integers, moments at midnight dates, and moments without a day times. A
    column without a filled cell becomes text.
    """
    if cells.null_count() == len(cells):
        return cells.cast(pl.String)
    if cells.dtype == pl.Float64:
        is_whole = cells == cells.floor()
        is_exact = cells.abs() < _EXACT_BELOW
        if (is_whole & is_exact).all():
            return cells.cast(pl.Int64)
    if cells.dtype == pl.Datetime:
        days = cells.dt.date()
        times = cells.dt.time()
        if days.is_in(_NO_DAY).all():
            return times
        if (times == datetime.time(0)).all():
            return days
    return cells
