"""Labels under test: classes, counts, spellings, and what is no label."""

import polars as pl
import pytest

from chary.tables.errors import TableError
from chary.tables.scanning import scan_table
from chary.tables.tested import read_tested


def read(values, unlabeled=None, **more):
    frame = pl.DataFrame({"x": range(len(values)), "rule": values})
    return read_tested(scan_table(frame), ["rule"], unlabeled, **more)


def test_spellings_are_one_class_and_empty_cells_no_label():
    found = read(["Yes", "yes", "yes ", "no", None, "", "todo"], "TODO")
    assert found.classes == ["no", "yes"]
    assert found.counts == {"rule": {"yes": 3, "no": 1, None: 3}}
    assert "'yes' (2 rows) and 'Yes' (1 row) were read as one class" in found.notes[0]
    assert found.of(pl.Series(["yes", " Yes", "todo", None])) == ["yes", "yes", None, None]
    assert read(["Yes", "yes"], exact_labels=True).classes == ["Yes", "yes"]


def test_numbers_and_truth_values_are_labels():
    assert read([1, 0, 1]).counts == {"rule": {"0": 1, "1": 2}}
    assert read([True, False, None]).counts == {"rule": {"false": 1, "true": 1, None: 1}}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([None, "", " "], "holds no label in 3 rows"),
        (["yes", "NA"], "'NA' in 1 rows, which may or may not mean unlabelled"),
        ([f"v{i}" for i in range(60)], "60 different values in 60 rows, so it holds no classes"),
        ([[1], [2]], "holds List"),
    ],
)
def test_what_holds_no_labels_is_refused(values, said):
    with pytest.raises(TableError, match=said):
        read(values)


@pytest.mark.parametrize(("name", "classes"), [("chary_label", ["=no", "yes"]), ("rule", ["'=no", "yes"])])
def test_the_apostrophe_that_chary_put_before_a_formula_is_no_part_of_a_label(tmp_path, name, classes):
    (tmp_path / "t.csv").write_text(f"x,{name}\n1,'=no\n2,yes\n")
    scan = scan_table(tmp_path / "t.csv")
    found = read_tested(scan, [name])
    assert found.classes == classes
    assert found.counts == {name: dict.fromkeys(classes, 1)}
    cells = scan.rows([0, 1], [name])[name]
    assert found.of(cells) == classes
    assert found.has_label(cells).to_list() == [True, True]
    assert scan.whole().frame[name].to_list() == ["'=no", "yes"]  # written again as it was
