"""Excel workbooks, of which one sheet is the table.

A workbook knows numbers, text, truth values and moments. Whole numbers are read as such, moments at
midnight as dates, moments of no day as times; a column that mixes these is text. Formulas are read
as their results. Of merged cells the first has the value, and the others are empty. What it cannot
keep as it is, it is given as text.
"""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from collections.abc import Mapping
from functools import cache
from typing import Any, BinaryIO, NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

import polars as pl

from chary._words import Parameter, shown
from chary.tables.formats.base import (
    ROWS,
    Appender,
    File,
    Format,
    Reading,
    as_columns,
    find_header,
    opened_zip,
    refuse_bomb,
    with_added,
)
from chary.tables.table import (
    Table,
    TableError,
    can_be_text,
    reason,
    refuse_beyond_memory,
    refuse_duplicates,
)

_MOST_ROWS, _MOST_COLUMNS, _MOST_CHARACTERS = 2**20, 2**14, 2**15 - 1
_WHOLE = 2**53  # beyond, a workbook keeps no whole number exactly
_CELL_BYTES = 64  # of memory for each cell of a sheet, an empty one too: 56 to 61 were measured with fastexcel 0.21
_MIXED = re.compile(r"type coercion is strict.*column __UNNAMED__(\d+)", re.DOTALL)
_NO_DAY = (datetime.date(1899, 12, 30), datetime.date(1899, 12, 31))  # of a time alone
_FIRST_DAY = datetime.date(1900, 3, 1)  # before, workbooks count days in two ways
_MOMENTS = {pl.Date: "yyyy-mm-dd", pl.Datetime: "yyyy-mm-dd hh:mm:ss.000", pl.Time: "hh:mm:ss.000"}


class Xlsx(Format):
    """A workbook is a ZIP archive: whether one is, is looked up in it."""

    name, words, endings = "xlsx", "an Excel workbook", (".xlsx", ".xlsm")
    begins = b"PK"
    in_batches = False

    def read(self, file: File, how: Reading) -> Table:
        frame, notes = _read_sheet(file.read(), file.name, how)
        return Table(frame, file.name, format=self.name, notes=notes)

    def holds(self, dtype: pl.DataType) -> bool:
        return can_be_text(dtype) and dtype != pl.Duration

    def refuse_unwritable(self, frame: pl.DataFrame) -> None:
        """Refuse what a sheet has no room for, and any table where the package to write one is absent."""
        _xlsxwriter()
        why, other = "", f"choose another format with {Parameter('format')}"
        if frame.height >= _MOST_ROWS or frame.width > _MOST_COLUMNS:
            why = f"{frame.height:,} rows and {frame.width:,} columns are more than a sheet has room for"
        for cells in frame.select(pl.col(pl.String)):
            if (cells.str.len_chars() > _MOST_CHARACTERS).any():
                why = f"column {shown(cells.name)} holds a text of more than {_MOST_CHARACTERS:,} characters"
        if why:
            raise TableError(f"An Excel workbook cannot hold this table: {why}; {other}.")

    def appender(self, stream: BinaryIO, group_rows: int) -> Appender:
        return _Sheet(stream)


class _Sheet(Appender):
    """Written at once; it has no more than a million rows."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.parts = stream, list[pl.DataFrame]()

    def append(self, table: Table, added: Mapping[str, Any]) -> None:
        self.parts.append(with_added(table.frame, as_columns(added)))

    def close(self) -> None:
        """A workbook of one sheet, in which no text is a formula."""
        frame = pl.concat(self.parts)
        Xlsx().refuse_unwritable(frame)
        as_text = {
            "strings_to_numbers": False,
            "strings_to_formulas": False,
            "strings_to_urls": False,
        }
        whole = io.BytesIO()  # the package goes back and forth, which a compressed file does not
        with _xlsxwriter().Workbook(whole, {"in_memory": True, **as_text}) as workbook:
            sheet = workbook.add_worksheet("table")
            for j, cells in enumerate(frame):
                sheet.write_string(0, j, cells.name)
                write, cells = (
                    (sheet.write, cells)
                    if _is_kept(cells)
                    else (sheet.write_string, cells.cast(pl.String))
                )
                form = next(
                    (text for dtype, text in _MOMENTS.items() if cells.dtype == dtype), None
                )
                how = form and workbook.add_format({"num_format": form})
                for i, value in enumerate(cells, start=1):  # the package writes cell by cell
                    if value is not None:
                        write(i, j, value, how)
        self.stream.write(whole.getvalue())


def _read_sheet(data: bytes, name: str, how: Reading) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The cells of a sheet, and what there is to say of how they were read."""
    try:
        import fastexcel
    except ImportError:
        raise TableError(
            f"{name} is an Excel workbook; to read it, pip install 'chary[excel]'."
        ) from None
    try:
        data = _checked(data, name)
        reader = fastexcel.read_excel(data)
        found = _sheet_name(reader.sheet_names, how.sheet, name)
        extent = _extent(_sheet_xml(data, found))
        refuse_beyond_memory(
            f"Sheet {shown(found)} of {name}",
            extent.n_cells * _CELL_BYTES,
            f"its cells reach to row {extent.last_row:,} and column {extent.last_column:,}: delete those outside "
            "the table",
        )
        n_head = max(ROWS, how.header_row or 0)
        top = reader.load_sheet(
            found, header_row=None, skip_rows=0, n_rows=n_head, dtypes="string"
        ).to_polars()
        if not top.width:
            raise TableError(
                f"Sheet {shown(found)} of {name} is empty; chary needs a header and rows."
            )
        rows = [["" if text is None else str(text) for text in row] for row in top.iter_rows()]
        header = find_header(rows, how.header_row, name)
        names, first, above = (
            (rows[0], 1, ()) if header is None else (header.names, header.row + 1, header.notes)
        )
        cells, mixed = _load(reader, found, first)
    except TableError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        raise TableError(
            f"{name} is a damaged Excel workbook ({reason(error)}); save it again."
        ) from None
    notes = list(above)
    refuse_duplicates(names, f"{name}, sheet {shown(found)}")
    if not cells.height:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String)), tuple(notes)
    notes += [
        f"Column {shown(names[j])} of {name} mixes several types: it is read and written as text."
        for j in mixed
    ]
    if extent.merged_to > first:  # a merged title above the column names is none of them
        notes.append(
            f"Sheet {shown(found)} of {name} has merged cells: the first cell of a range has its value, and the "
            "others are empty; unmerge and fill them if each row should have it."
        )
    frame = pl.DataFrame(
        [_typed(column).alias(own) for own, column in zip(names, cells, strict=True)]
    )
    return frame, tuple(notes)


def _xlsxwriter() -> Any:
    try:
        import xlsxwriter
    except ImportError:
        raise TableError("To write an Excel workbook, pip install 'chary[excel]'.") from None
    return xlsxwriter


def _checked(data: bytes, name: str) -> bytes:
    """The workbook anew, not compressed: what it says of its sizes is known to be true."""
    total, anew, seen = 0, io.BytesIO(), set[str]()
    with opened_zip(io.BytesIO(data), name) as archive, zipfile.ZipFile(anew, "w") as copy:
        for member in archive.infolist():
            if _part_name(member.filename) in seen:
                raise TableError(
                    f"{name} is a damaged Excel workbook (two parts have one name); save it again."
                )
            seen.add(_part_name(member.filename))
            total += member.file_size
            refuse_bomb(total, len(data), name)
            if member.flag_bits & 1:
                raise TableError(f"{name} is locked with a password; save it without one.")
            copy.writestr(zipfile.ZipInfo(member.filename), archive.read(member))
    return anew.getvalue()


def _sheet_name(names: list[str], sheet: str | None, name: str) -> str:
    if sheet is None and len(names) == 1:
        return names[0]
    held = ", ".join(shown(one, 40) for one in names[:12]) + (", ..." if len(names) > 12 else "")
    if sheet is None:
        raise TableError(f"{name} has the sheets {held}; name one with {Parameter('sheet')}.")
    if sheet not in names:
        raise TableError(f"{name} has no sheet {shown(sheet)}; it has {held}.")
    return sheet


class _Extent(NamedTuple):
    """How far the cells of a sheet reach; rows and columns count from 1."""

    last_row: int
    first_column: int
    last_column: int
    merged_to: int  # the last row of all merged ranges; 0: there is none

    @property
    def n_cells(self) -> int:
        """Cells of the rectangle that the reader keeps in memory, empty ones included."""
        return self.last_row * (self.last_column - self.first_column + 1)


def _extent(xml: bytes) -> _Extent:
    """Look over the XML of a sheet without keeping a cell of it."""
    filled_rows, filled_columns = {0}, set[int]()
    row = column = merged_to = 0

    def start(element: str, attributes: dict[str, str]) -> None:
        nonlocal row, column, merged_to
        kind = element.rpartition(":")[2]
        if kind == "row":
            row = int(attributes.get("r", row + 1))
            column = 0
        elif kind == "c":
            column += 1
            if "r" in attributes:
                row, column = _row_and_column(attributes["r"])
        elif kind in ("v", "is"):  # without one of these a cell has a format and no content
            filled_rows.add(row)
            filled_columns.add(column)
        elif kind == "mergeCell":
            last_cell = attributes["ref"].rpartition(":")[2]
            merged_to = max(merged_to, _row_and_column(last_cell)[0])

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.Parse(xml, True)
    return _Extent(
        max(filled_rows), min(filled_columns, default=1), max(filled_columns, default=0), merged_to
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
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _sheet_xml(data: bytes, sheet: str) -> bytes:
    """Find the part of a workbook that holds a sheet, as the reader of the cells does."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {_part_name(member): member for member in archive.namelist()}
        book = ElementTree.fromstring(archive.read(parts["xl/workbook.xml"]))
        links = ElementTree.fromstring(archive.read(parts["xl/_rels/workbook.xml.rels"]))
        targets = {link.get("Id"): link.get("Target", "") for link in links}
        sheets = [element for element in book.iter() if element.tag.endswith("}sheet")]
        wanted = next(element for element in sheets if element.get("name") == sheet)
        link_id = next(value for key, value in wanted.items() if key.endswith("}id"))
        target = targets[link_id].removeprefix("/").removeprefix("xl/")
        return archive.read(parts[_part_name(f"xl/{target}")])


def _part_name(member: str) -> str:
    """Name a part of a workbook as readers compare it: in any case, with either slash."""
    return member.lower().replace("\\", "/")


def _load(reader: Any, sheet: str, first: int) -> tuple[pl.DataFrame, list[int]]:
    """The cells from a row on, and which columns mix types and are text therefore."""
    mixed: dict[int, str] = {}
    while True:
        how = {
            "header_row": None,
            "skip_rows": first,
            "schema_sample_rows": None,
            "dtypes": mixed or None,
        }
        try:
            return reader.load_sheet(sheet, dtype_coercion="strict", **how).to_polars(), sorted(
                mixed
            )
        except Exception as error:  # the package says of one column at a time that it mixes types
            found = _MIXED.search(str(error))
            if found is None or int(found[1]) in mixed:
                raise
            mixed[int(found[1])] = "string"


def _typed(cells: pl.Series) -> pl.Series:
    """A column in the narrowest type that says the same."""
    if cells.null_count() == len(cells):
        return cells.cast(pl.String)
    if cells.dtype == pl.Float64:
        whole = bool(((cells == cells.floor()) & (cells.abs() < _WHOLE)).all())
        return cells.cast(pl.Int64) if whole else cells
    if cells.dtype == pl.Datetime:
        if cells.dt.date().is_in(_NO_DAY).all():
            return cells.dt.time()
        return cells.dt.date() if bool((cells.dt.time() == datetime.time(0)).all()) else cells
    return cells


def _is_kept(cells: pl.Series) -> bool:
    """Whether a workbook keeps a column as it is: not so numbers of more digits, and moments finer or older."""
    dtype, kept = cells.dtype, True
    if dtype.is_numeric():
        kept = not dtype.is_decimal() and bool(
            (cells.cast(pl.Float64).abs() < _WHOLE).all() or dtype.is_float()
        )
        kept = kept and bool(cells.cast(pl.Float64).is_finite().all())
    if dtype in (pl.Date, pl.Datetime):
        kept = getattr(dtype, "time_zone", None) is None and bool(
            (cells.dt.date() >= _FIRST_DAY).all()
        )
    if dtype in (pl.Datetime, pl.Time):
        kept = kept and bool((cells.dt.microsecond() % 1000 == 0).all())
    return kept and (dtype.is_numeric() or dtype in (pl.Boolean, *_MOMENTS))
