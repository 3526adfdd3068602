"""Excel workbooks, of which one sheet is the table.

A workbook knows numbers, text, truth values and moments. Whole numbers are read as such, moments at midnight as
dates, moments of no day as times; a column that mixes these is text. Formulas are read as their results. Cells
that are merged downwards all have the value of the first. What it cannot keep as it is, it is given as text.
"""

from __future__ import annotations

import datetime
import html
import io
import re
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

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
from chary.tables.table import Table, TableError, can_be_text, reason, refuse_duplicates

_MOST_ROWS, _MOST_COLUMNS, _MOST_CHARACTERS = 2**20, 2**14, 2**15 - 1
_WHOLE = 2**53  # beyond, a workbook keeps no whole number exactly
_LONGEST = 1e20  # beyond, a number is rather a quantity than the name of something
_SHEET, _LINK = re.compile(rb"<sheet\b[^>]*>"), re.compile(rb"<Relationship\b[^>]*>")
_HIDDEN = re.compile(rb'<row\b[^>]*\shidden="(?:1|true)"')
_FORMULA = re.compile(rb"<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)(?:<v>([^<]*)</v>)?")
_MERGED = re.compile(rb'<mergeCell\b[^>]*\sref="([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})"')
_CELL = re.compile(rb'<c\b[^>]*\sr="([A-Z]{1,3})\d+"[^>]*[^/]>')
_MIXED = re.compile(r"type coercion is strict.*column __UNNAMED__(\d+)", re.DOTALL)
_NO_DAY = (datetime.date(1899, 12, 30), datetime.date(1899, 12, 31))  # of a time alone
_FIRST_DAY = datetime.date(1900, 3, 1)  # before, workbooks count days in two ways
_MOMENTS = {pl.Date: "yyyy-mm-dd", pl.Datetime: "yyyy-mm-dd hh:mm:ss.000", pl.Time: "hh:mm:ss.000"}


class Xlsx(Format):
    """A workbook is a ZIP archive: whether one is, is looked up in it."""

    name, words, endings = "xlsx", "an Excel workbook", (".xlsx", ".xlsm")
    begins = b"PK"  # of an archive that was not unpacked

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
        as_text = {"strings_to_numbers": False, "strings_to_formulas": False, "strings_to_urls": False}
        whole = io.BytesIO()  # the package goes back and forth, which a compressed file does not
        with _xlsxwriter().Workbook(whole, {"in_memory": True, **as_text}) as workbook:
            sheet = workbook.add_worksheet("table")
            for j, cells in enumerate(frame):
                sheet.write_string(0, j, cells.name)
                write, cells = (
                    (sheet.write, cells) if _is_kept(cells) else (sheet.write_string, cells.cast(pl.String))
                )
                form = next((text for dtype, text in _MOMENTS.items() if cells.dtype == dtype), None)
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
        raise TableError(f"{name} is an Excel workbook; to read it, pip install 'chary[excel]'.") from None
    try:
        data = _checked(data, name)
        reader = fastexcel.read_excel(data)
        found = _sheet_name(reader.sheet_names, how.sheet, name)
        n_head = max(ROWS, how.header_row or 0)
        top = reader.load_sheet(found, header_row=None, skip_rows=0, n_rows=n_head, dtypes="string").to_polars()
        if not top.width:
            raise TableError(f"Sheet {shown(found)} of {name} is empty; chary needs a header and rows.")
        rows = [["" if text is None else str(text) for text in row] for row in top.iter_rows()]
        header = find_header(rows, how.header_row, name)
        names, first, above = (rows[0], 1, ()) if header is None else (header.names, header.last + 1, header.notes)
        cells, mixed = _load(reader, found, first)
        xml, notes = _unseen(data, found, name)
    except TableError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        raise TableError(f"{name} is a damaged Excel workbook ({reason(error)}); save it again.") from None
    notes = [*above, *notes]
    refuse_duplicates(names, f"{name}, sheet {shown(found)}")
    if not cells.height:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String)), tuple(notes)
    notes += [
        f"Column {shown(names[j])} of {name} mixes several types: it is read and written as text." for j in mixed
    ]
    notes += [
        f"Column {shown(own)} of {name} holds whole numbers of more than 15 digits, of which Excel keeps 15; if "
        "they name something, enter them as text."
        for own, column in zip(names, cells, strict=True)
        if column.dtype == pl.Float64 and bool(((column.abs() >= _WHOLE) & (column.abs() < _LONGEST)).any())
    ]
    cells, n_merged = _unmerged(cells, xml, first)
    if n_merged:
        ranges = f"{n_merged:,} merged ranges" if n_merged > 1 else "1 merged range"
        notes.append(f"In sheet {shown(found)}, each row of {ranges} has the value of the range.")
    frame = pl.DataFrame([_typed(column).alias(own) for own, column in zip(names, cells, strict=True)])
    return frame, tuple(notes)


def _xlsxwriter() -> Any:
    try:
        import xlsxwriter
    except ImportError:
        raise TableError("To write an Excel workbook, pip install 'chary[excel]'.") from None
    return xlsxwriter


def _checked(data: bytes, name: str) -> bytes:
    """The workbook anew, not compressed: what it says of its sizes is known to be true."""
    total, anew = 0, io.BytesIO()
    with opened_zip(io.BytesIO(data), name) as archive, zipfile.ZipFile(anew, "w") as copy:
        for member in archive.infolist():
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


def _unseen(data: bytes, sheet: str, name: str) -> tuple[bytes, list[str]]:
    """The sheet as it is written, and what a person who looks at it sees otherwise: hidden rows, lost results."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        book = archive.read("xl/workbook.xml")
        sheets = _SHEET.findall(book)
        ids = {html.unescape(_attribute(b"name", one).decode()): _attribute(b"r:id", one) for one in sheets}
        links = _LINK.findall(archive.read("xl/_rels/workbook.xml.rels"))
        targets = {_attribute(b"Id", one): _attribute(b"Target", one) for one in links}
        member = targets.get(ids.get(sheet, b""), b"").decode().removeprefix("/").removeprefix("xl/")
        xml = archive.read(f"xl/{member}") if f"xl/{member}" in archive.namelist() else b""
    hidden, results = len(_HIDDEN.findall(xml)), _FORMULA.findall(xml)
    # Programs that cannot compute store nothing, or 0, and ask Excel to compute when it opens the workbook.
    nothing = (b"", b"0") if b'fullCalcOnLoad="1"' in book else (b"",)
    n = sum(result in nothing for result in results)
    notes = []
    if hidden:
        said = f"{hidden:,} hidden row{'s' * (hidden > 1)} of sheet {shown(sheet)} counted like all others"
        notes.append(f"{said}; delete what does not belong to the table.")
    if n:
        said = f"{n:,} of {len(results):,} formulas of sheet {shown(sheet)} have no result in {name}"
        notes.append(f"{said}, and were read as 0 or empty; open it in Excel, save it, and read it again.")
    return xml, notes


def _unmerged(cells: pl.DataFrame, xml: bytes, first: int) -> tuple[pl.DataFrame, int]:
    """The cells, those of ranges that are merged downwards with the value of the range; and how many ranges."""
    filled = [_number(letters) for letters in set(_CELL.findall(xml))]
    columns, n = cells.get_columns(), 0
    for left, top, bottom in _MERGED.findall(xml):
        j, start, size = _number(left) - min(filled, default=0), int(top) - 1 - first, int(bottom) - int(top)
        if 0 <= j < len(columns) and start >= 0 and size and start + size < cells.height:
            own = columns[j]
            if own[start] is not None and own[start + 1 : start + size + 1].null_count() == size:
                columns[j] = own.scatter(list(range(start + 1, start + size + 1)), own[start])
                n += 1
    return pl.DataFrame(columns), n


def _number(letters: bytes) -> int:
    """The number of a column that is called by letters: of A 1, of AA 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _attribute(name: bytes, element: bytes) -> bytes:
    """What an element says of something, empty where it does not."""
    found = re.search(rb"\s" + name + rb'="([^"]*)"', element)
    return found[1] if found else b""


def _load(reader: Any, sheet: str, first: int) -> tuple[pl.DataFrame, list[int]]:
    """The cells from a row on, and which columns mix types and are text therefore."""
    mixed: dict[int, str] = {}
    while True:
        how = {"header_row": None, "skip_rows": first, "schema_sample_rows": None, "dtypes": mixed or None}
        try:
            return reader.load_sheet(sheet, dtype_coercion="strict", **how).to_polars(), sorted(mixed)
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
        kept = not dtype.is_decimal() and bool((cells.cast(pl.Float64).abs() < _WHOLE).all() or dtype.is_float())
        kept = kept and bool(cells.cast(pl.Float64).is_finite().all())
    if dtype in (pl.Date, pl.Datetime):
        kept = getattr(dtype, "time_zone", None) is None and bool((cells.dt.date() >= _FIRST_DAY).all())
    if dtype in (pl.Datetime, pl.Time):
        kept = kept and bool((cells.dt.microsecond() % 1000 == 0).all())
    return kept and (dtype.is_numeric() or dtype in (pl.Boolean, *_MOMENTS))
