"""Three files as people have them, through every command."""

from importlib.util import find_spec

import polars as pl
import pytest

from chary.audit import named_rows
from chary.options import ReviewOptions
from chary.review.workbench import begin
from chary.tables import open_source, read_table
from tests.fixtures.first_hour import catalogue, survey, tickets

WALKS = {
    tickets: ("Kategorie", "Rechnung", ["--unlabeled", "offen"], "read as cp1252"),
    catalogue: ("group", "tool", [], "found in row 3"),
    survey: (
        "NPS_class",
        "2",
        ["--unlabeled", "99", "--missing", "98", "--missing", "99"],
        "month first",
    ),
}


def filled(path, column, answer):
    """A sheet as a spreadsheet saves it, with answers."""
    table = read_table(path)
    frame = table.frame.with_columns(pl.Series(column, answer(table.frame.height)))
    if table.format == "xlsx":
        frame.write_excel(path)
        return
    data = frame.write_csv(separator=table.delimiter).encode()
    path.write_bytes(b"\xef\xbb\xbf" * table.bom + data)


@pytest.mark.parametrize("made", WALKS, ids=lambda made: made.__name__)
def test_a_file_as_people_have_it_goes_through_every_command(tmp_path, run, keys, made):
    if made is catalogue and not (find_spec("fastexcel") and find_spec("xlsxwriter")):
        pytest.skip("needs chary[excel]: fastexcel and xlsxwriter")
    path, (target, a_class, told, said) = made(tmp_path), WALKS[made]
    how = ["--target", target, *told]
    quick = ["--learner", "linear", "--rounds", "0"]

    def done(*arguments):
        code, out, err = run(*arguments)
        assert (code, err) == (0, ""), arguments
        return " ".join(out.split())

    if "--unlabeled" in told:  # a value that is no class is asked about
        code, _, err = run("label", path, "--target", target)
        assert (code, f"--unlabeled {told[1]}" in err) == (1, True)
    assert said in done("diagnose", path, *how)
    done("audit", "draw", path, *how, *quick, "-k", "10")
    # The sheet of a workbook is a workbook: Excel may open a CSV as one garbled column.
    ending = "xlsx" if made is catalogue else "csv"
    sheet = tmp_path / f"{path.stem}.audit.{ending}"
    classes = [a_class, {"Rechnung": "Technik", "tool": "toy", "2": "1"}[a_class]]
    filled(sheet, target, lambda n: [classes[i % 2] for i in range(n)])
    keys(["q"])
    assert "chary label" in done("audit", "fill", sheet)
    done("label", path, *how, *quick, "--audit", sheet, "--check-sheet")
    assert named_rows(read_table(tmp_path / f"{path.stem}.check.{ending}"))
    labelled = tmp_path / f"{path.stem}.labeled{path.suffix}"
    before, after = read_table(path).frame, open_source(labelled, reserved=()).read().frame
    assert after.columns[: before.width] == before.columns
    assert after.height == before.height
    assert set(after["chary_label"].cast(pl.String)) == set(classes)
    if made is tickets:  # as Excel reads it
        assert labelled.read_bytes().startswith("\ufeffNr;Datum;Kanal;Betrag;Überschrift".encode())
        assert b"\r\n" in labelled.read_bytes()
    done("predict", tmp_path / f"{path.stem}.model.chary", path)
    assert (
        open_source(tmp_path / f"{path.stem}.predicted{path.suffix}", reserved=()).n_rows
        == before.height
    )
    done("judge", "draw", labelled, "--labels", "chary_label", "-k", "10")
    judge = tmp_path / f"{labelled.stem}.judge.{ending}"
    filled(judge, "chary_truth", lambda n: [a_class] * n)
    assert "%" in done("judge", labelled, "--labels", "chary_label", "--audit", judge)
    bench = begin(
        [str(path)], ReviewOptions(target=target, unlabeled=("offen", "99"), learner="linear")
    )
    assert bench.job.columns
