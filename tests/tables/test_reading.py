"""Files in, cells out: every dialect reads the same, every refusal names the place and the remedy."""

import gzip
import io
import shlex
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.tables.reading import Table, TableError, from_dataframe, read_table, target_labels, write_table

ROWS = [("31", "Ulm, old town", "yes"), ("47", 'the "blue"\nhouse', ""), ("", "Köln", "no")]
COLUMNS = ["age", "place", "churn"]


def csv_bytes(delimiter=",", end="\n", encoding="utf-8", bom=b""):
    def cell(text):
        return '"' + text.replace('"', '""') + '"' if any(c in text for c in f'{delimiter}"\n') else text

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


def test_old_mac_line_ends_and_no_final_newline(tmp_path):
    assert cells(read_table(write(tmp_path, b"a,b\r1,2\r3,4"))) == [("1", "2"), ("3", "4")]


def test_blank_lines_are_no_rows_but_empty_cells_are(tmp_path):
    table = read_table(write(tmp_path, b"a,b\n1,2\n\n,\n3,4\n\r\n\n"))
    assert cells(table) == [("1", "2"), ("", ""), ("3", "4")]


def test_a_column_may_have_no_name(tmp_path):
    assert read_table(write(tmp_path, b",b\n0,2\n")).frame.columns == ["", "b"]


def test_decimal_commas_do_not_make_a_comma_the_delimiter(tmp_path):
    table = read_table(write(tmp_path, b"a;b\n1,5;2,5\n2,5;3,5\n"))
    assert cells(table) == [("1,5", "2,5"), ("2,5", "3,5")]


def test_parquet_is_known_by_its_content(tmp_path):
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    frame.write_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.parquet").rename(tmp_path / "t.dat")
    table = read_table(tmp_path / "t.dat")
    assert table.frame.equals(frame)
    assert table.suffix == ".parquet"


def zip_bytes():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("t.csv", "a,b\n1,2\n")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "t.csv is empty"),
        (b" \n\n", "t.csv is empty"),
        (b"a,b\n", "has a header and no rows"),
        (b"a,b\n1,2\n3\n4,5\n", "t.csv, line 3: 1 cells where the header has 2; quote cells"),
        (b"a,b\n1,2\n3,4,5\n6,7\n", "t.csv, line 3: 3 cells where the header has 2"),
        (
            b'a,b\n"x\ny",2\n3,4\n5\n',
            r"t.csv, line 5: 1 cells where the header has 2 \(the file seems to be cut off",
        ),
        (b'a,b\n"x,2\n3,4\n', "line 2: a quote is opened and never closed"),
        (b'a,b\n5" x 3",2\n', "line 2: a quote in the middle of a cell"),
        (b'a,b\n"x"y,2\n', "line 2: a quote in the middle of a cell"),
        (b"a,b\n1,\x00\n", "line 2: a NUL character"),
        (b"a,b\nx,y\nK\xf6ln,2\n", "line 3: not valid utf-8 text; .*pass --encoding cp1252"),
        (b"a,b,a\n1,2,3\n", "columns 1 and 3 are both called 'a'; rename"),
        (b",b,\n1,2,3\n", "columns 1 and 3 are both called ''"),
        (b"\na,b\n1,2\n", "line 1: blank where the column names"),
        (zip_bytes(), "is a ZIP archive or an Excel workbook; unpack"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "is gzip-compressed; unpack"),
        (b"PAR1 and then nothing", r"is a damaged Parquet file \("),
        (b"a,chary_label\n1,2\n", "already has a column 'chary_label'"),
        (",".join(f"c{i}" for i in range(10_000)).encode() + b"\n" + b"1," * 9_999 + b"1\n", "has 10,000 columns"),
    ],
)
def test_refusals_name_the_place_and_the_remedy(tmp_path, data, message):
    with pytest.raises(TableError, match=message) as caught:
        read_table(write(tmp_path, data))
    assert "\n" not in str(caught.value)


def test_refusals_of_paths(tmp_path):
    with pytest.raises(TableError, match="is a directory"):
        read_table(tmp_path)
    with pytest.raises(TableError, match=r"cannot be read \(no such file"):
        read_table(tmp_path / "missing.csv")
    with pytest.raises(TableError, match="is not a Parquet file"):
        read_table(write(tmp_path, b"a,b\n1,2\n", "t.parquet"))
    with pytest.raises(TableError, match="not a regular file"):
        read_table("/dev/null")


@pytest.mark.parametrize("encoding", ["martian", "hex", "zlib", "a\x00b", "rot13"])
def test_an_unknown_encoding_is_refused(tmp_path, encoding):
    with pytest.raises(TableError, match="Unknown encoding"):
        read_table(write(tmp_path, b"a,b\n1,2\n"), encoding=encoding)


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n", "é"])
def test_an_impossible_delimiter_is_refused(tmp_path, delimiter):
    with pytest.raises(TableError, match="is not usable"):
        read_table(write(tmp_path, b"a,b\n1,2\n"), delimiter=delimiter)


# NUL is refused in a CSV, and a lone surrogate is no text.
text = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=8)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(text, text, text), min_size=1, max_size=6), delimiter=st.sampled_from(",;\t|"))
def test_what_was_read_is_written_back(tmp_path_factory, rows, delimiter):
    frame = pl.DataFrame(rows, schema=dict.fromkeys("abc", pl.String), orient="row")
    buffer = io.BytesIO()
    write_table(Table(frame, "t", delimiter), {}, buffer)
    path = write(tmp_path_factory.mktemp("csv"), buffer.getvalue())
    again = read_table(path, delimiter=delimiter)
    expected = [row for row in rows if any(row)] if all(not any(row) for row in rows) else rows
    assert cells(again) == (expected or rows)


def test_added_columns_come_last_and_the_others_are_unchanged(tmp_path):
    data = b"\xef\xbb\xbfid;x;y\n007;1,50;=A1\n008; 2 ;\n"
    table = read_table(write(tmp_path, data))
    buffer = io.BytesIO()
    write_table(table, {"chary_label": ["=A1", "ok"], "chary_confidence": [0.5, 1.0]}, buffer)
    assert buffer.getvalue() == (
        b"\xef\xbb\xbfid;x;y;chary_label;chary_confidence\n007;1,50;=A1;'=A1;0.5\n008; 2 ;;ok;1.0\n"
    )


@pytest.mark.parametrize("label", ["=1+1", "+x", "-x", "@SUM(A1)", "\tx", "\rx"])
def test_no_formula_in_added_text(label):
    buffer = io.BytesIO()
    write_table(Table(pl.DataFrame({"x": ["1"]}), "t", ","), {"chary_label": [label]}, buffer)
    written = pl.read_csv(buffer.getvalue())
    assert written["chary_label"].to_list() == ["'" + label]


@pytest.mark.parametrize("label", ["-1", "+", "-"])
def test_a_negative_number_or_a_sign_alone_is_no_formula(label):
    buffer = io.BytesIO()
    write_table(Table(pl.DataFrame({"x": ["1"]}), "t", ","), {"chary_label": [label]}, buffer)
    assert buffer.getvalue() == f"x,chary_label\n1,{label}\n".encode()


def test_parquet_keeps_types():
    frame = pl.DataFrame({"a": [1, 2], "d": ["=x", None]})
    buffer = io.BytesIO()
    write_table(Table(frame, "t"), {"chary_label": ["=x", "y"]}, buffer)
    assert pl.read_parquet(buffer.getvalue()).equals(frame.with_columns(chary_label=pl.Series(["=x", "y"])))


def table_of(**columns):
    frame = pl.DataFrame(columns)
    return Table(frame.with_columns(other=pl.lit("1")) if frame.width == 1 else frame, "t.csv", ",")


def test_a_table_to_predict_may_have_one_column_but_not_one_to_learn_from(tmp_path):
    table = read_table(write(tmp_path, b"a\n1\n2\n"))
    assert cells(table) == [("1",), ("2",)]
    with pytest.raises(TableError, match=r"t.csv has one column only, 'a'; .*pass --delimiter"):
        target_labels(table, "a")


def test_a_target_may_be_called_as_polars_calls_counts():
    assert target_labels(table_of(count=["a", "b", None]), "count").codes.tolist() == [0, 1, -1]


def test_a_command_on_a_table_can_be_copied_into_a_shell(tmp_path):
    path = write(tmp_path, "a:b\n1:é\n".encode("cp1252"), "my data.csv")
    table = read_table(path, delimiter=":", encoding="cp1252")
    words = ["chary", "audit", "draw", str(path), "--target", "it's", "--unlabeled", "", "--delimiter", ":"]
    words += ["--encoding", "cp1252", "-k", "7"]
    assert shlex.split(table.command("audit draw", "it's", "", "-k", "7")) == words


def test_empty_cells_are_unlabelled_and_so_is_the_marker():
    table = table_of(y=["b", "", " a ", None, "todo", "b"], x=range(6))
    labels = target_labels(table, "y", "todo")
    assert labels.classes.tolist() == ["a", "b"]
    assert labels.codes.tolist() == [1, -1, 0, -1, -1, 1]


def test_a_numeric_target_becomes_text_classes():
    labels = target_labels(table_of(y=[1, None, 0]), "y")
    assert labels.classes.tolist() == ["0", "1"]
    assert target_labels(table_of(y=[1, 2, 0]), "y", "2").codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize("word", ["NA", "n/a", "nan", "NULL", "?", "-1"])
def test_words_that_may_mean_unlabelled_are_asked_about(word):
    table = table_of(y=["a", "b", word, word])
    with pytest.raises(TableError, match="in 2 rows, which may or may not mean unlabelled; pass --unlabeled"):
        target_labels(table, "y")
    assert target_labels(table, "y", word).classes.tolist() == ["a", "b"]
    assert len(target_labels(table, "y", "").classes) == 3


@pytest.mark.parametrize(
    ("columns", "target", "message"),
    [
        ({"churn": ["a", "b"]}, "chrun", "has no column 'chrun'; did you mean 'churn'?"),
        ({"churn": ["a", "b"], "x": [1, 2]}, "zzz", "has no column 'zzz'; it has 'churn', 'x'."),
        ({"y": ["", None]}, "y", "Column 'y' holds no label; label some rows"),
        ({"y": ["a", "a", ""]}, "y", "Column 'y' holds one class only, 'a' in 2 rows"),
        ({"y": [f"{i}.5" for i in range(50)]}, "y", "50 different values in 50 labelled rows"),
    ],
)
def test_targets_that_cannot_be_learned(columns, target, message):
    with pytest.raises(TableError, match=message):
        target_labels(table_of(**columns), target)


def test_labels_too_long_for_memory_are_refused(monkeypatch):
    monkeypatch.setattr("chary.tables.reading._MAX_LABEL_BYTES", 1000)
    with pytest.raises(TableError, match="has a label of 100 characters; shorten it"):
        target_labels(table_of(y=["a", "b" * 100, None]), "y")


def test_a_target_of_lists_is_refused():
    with pytest.raises(TableError, match="not labels"):
        target_labels(table_of(y=[[1], [2]]), "y")


def test_dataframes_of_all_kinds_are_the_same_table():
    columns = {"n": [1.5, None], "s": ["a", None], "b": [True, False]}
    expected = pl.DataFrame(columns)
    for data in (expected, columns, pd.DataFrame(columns), pd.DataFrame(columns).convert_dtypes()):
        frame = from_dataframe(data)
        assert frame.select("s", "b").equals(expected.select("s", "b"))
        assert frame["n"].fill_nan(None).to_list() == [1.5, None]


def test_dataframes_with_mixed_cells_dates_and_numbered_columns():
    data = pd.DataFrame({0: ["a", 1], 1: pd.to_datetime(["2020-01-01", None]), 2: pd.Categorical(["x", None])})
    frame = from_dataframe(data)
    assert frame.columns == ["0", "1", "2"]
    assert frame["0"].to_list() == ["a", "1"]
    assert frame["1"].dtype == pl.Datetime
    assert frame["2"].to_list() == ["x", None]


def test_what_is_no_table_is_refused():
    with pytest.raises(TableError, match="got ndarray"):
        from_dataframe(np.zeros((2, 2)))
    with pytest.raises(TableError, match="both called 'a'"):
        from_dataframe(pd.DataFrame([[1, 2]], columns=["a", "a"]))
