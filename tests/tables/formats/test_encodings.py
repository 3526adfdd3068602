"""Text is read in its own encoding, and written as UTF-8 that spreadsheets recognise."""

import codecs

import polars as pl
import pytest

from chary.cli import main
from chary.tables import TableError, open_source, read_table, write_table

TEXT = "Straße;Größe;Wert\nÄpfelgäßchen;10 €;ja\nOst;12;nein\n"


@pytest.mark.parametrize(
    ("encoding", "mark", "said"),
    [
        ("utf-8", b"", ""),
        ("utf-8", codecs.BOM_UTF8, ""),
        ("utf-16-le", codecs.BOM_UTF16_LE, ""),
        ("cp1252", b"", "cp1252"),
    ],
)
def test_a_file_is_read_in_the_encoding_it_is_in_and_written_as_utf_8(
    tmp_path, encoding, mark, said
):
    path = tmp_path / "t.csv"
    path.write_bytes(mark + TEXT.encode(encoding))
    table = read_table(path)
    assert table.frame.columns == ["Straße", "Größe", "Wert"]
    assert table.frame["Größe"].to_list() == ["10 €", "12"]
    assert table.notes == (
        (f"t.csv is not UTF-8 and was read as {said}, as some spreadsheets write it.",) * bool(said)
    )
    with open(tmp_path / "out.csv", "wb") as stream:
        write_table(table, {"neu": pl.Series(["ä", "b"])}, stream)
    written = (tmp_path / "out.csv").read_bytes()
    plain = not mark and not said
    assert written.startswith(codecs.BOM_UTF8) != plain
    assert (
        written.decode("utf-8-sig")
        == "Straße;Größe;Wert;neu\nÄpfelgäßchen;10 €;ja;ä\nOst;12;nein;b\n"
    )
    assert read_table(tmp_path / "out.csv", encoding=encoding).frame["neu"].to_list() == ["ä", "b"]


def test_what_is_neither_is_refused_and_what_was_said_is_not_overruled(tmp_path):
    path = tmp_path / "t.csv"
    for data in ("ä,ö,ü\n1,2,3\n".encode() + b"\xe4,5,6\n", b"a,b\n\x81\xfc,1\n"):
        path.write_bytes(data)
        with pytest.raises(TableError, match="not valid utf-8 text; pass its encoding"):
            read_table(path)
    path.write_bytes(TEXT.encode("cp1252"))
    with pytest.raises(TableError, match=r"not valid utf-8 text; .* such as cp1252,"):
        read_table(path, encoding="utf-8")


def test_letters_that_come_late_in_a_large_file_are_read_too(tmp_path):
    path = tmp_path / "t.csv"
    n = 600_000
    path.write_bytes(b"a;b\n" + b"12345;6789\n" * n + "Größe;1\n".encode("cp1252"))
    assert read_table(path).frame["a"][-1] == "Größe"
    *_, last = open_source(path).batches()
    assert last.table.frame["a"][-1] == "Größe"


def test_of_a_german_table_that_excel_wrote_all_outputs_are_such_as_excel_reads(tmp_path, capsys):
    path = tmp_path / "Aufträge.csv"
    rows = [f"{i % 7};{['Grün', 'Weiß', ''][i % 3]}" for i in range(60)]
    path.write_bytes("\r\n".join(["Länge;Farbe", *rows, ""]).encode("cp1252"))
    assert main(["label", str(path), "-t", "Farbe", "--learner", "linear"]) == 0
    assert "Aufträge.csv is not UTF-8 and was read as cp1252" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main(["audit", "draw", str(path), "-t", "Farbe", "-k", "5"]) == 0
    for name in ("Aufträge.labeled.csv", "Aufträge.audit.csv"):
        text = (tmp_path / name).read_bytes().removeprefix(codecs.BOM_UTF8).decode()
        assert (tmp_path / name).read_bytes().startswith(codecs.BOM_UTF8)
        assert "Länge" in text
        assert "Grün" in text
