"""An audit file passes through a person's spreadsheet, and comes back right or is refused."""

import io
import json
import os
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from chary.audit import draw, sheet
from chary.audit.answers import read_audit
from chary.audit.filling import Filling
from chary.audit.origin import (
    CLASSES,
    DOUBT,
    SheetOrigin,
    origin_cells,
    read_origin,
    with_origin,
)
from chary.audit.sheet import ROW, enlarge_sheet, named_rows, sheet_rows
from chary.audit.table_cells import cells_of, table_checksum
from chary.tables import Table, TableError, read_table
from chary.tables.target import target_labels
from tests.fixtures.sheets import write_audit

N, K = 60, 12
N_MANGLED = 500 if os.environ.get("CHARY_FUZZ") == "full" else 200


@pytest.fixture(name="table")
def small_table(tmp_path):
    lines = ["name,height,note,animal"]
    for i in range(N):
        animal = ("cat", "dog")[i % 2] if i < 20 else ""
        lines.append(f'"n{i}, ""x""",{i / 4},{"=cmd()" if i % 3 else "-2.5"},{animal}')
    path = tmp_path / "animals.csv"
    path.write_text("\n".join(lines) + "\n")
    return read_table(path)


@pytest.fixture(name="drawn")
def drawn_file(table, tmp_path):
    labels = target_labels(table, "animal")
    rows = draw(labels.labeled, K, 0)
    path = tmp_path / "animals.audit.csv"
    with path.open("wb") as file:
        write_audit(table, "animal", labels, rows, file)
    return path


def answer(path, change=lambda frame: frame, separator=",", answers=None):
    """Fill the file in as a person with a spreadsheet would."""
    frame = pl.read_csv(path, infer_schema=False)
    answers = answers or ["cat", "dog"] * (K // 2)
    frame = change(frame.with_columns(pl.Series("animal", answers)))
    frame.write_csv(path, separator=separator)


def read(path, table):
    return read_audit(path, table, "animal", target_labels(table, "animal"))


def test_the_file_holds_the_drawn_rows_and_no_answer(table, drawn):
    rows = draw(target_labels(table, "animal").labeled, K, 0)
    frame = pl.read_csv(drawn, infer_schema=False)
    assert frame.columns == ["chary_row", "animal", "name", "height", "note", "chary_classes"]
    assert frame["animal"].is_null().all()
    assert frame["name"].to_list() == table.frame["name"][rows].to_list()
    assert next(iter(json.loads(frame["chary_classes"][0]).items())) == ("animal", ["cat", "dog"])


def test_answers_come_back_to_their_rows(table, drawn):
    answer(drawn)
    found = read(drawn, table)
    assert found.rows.tolist() == draw(target_labels(table, "animal").labeled, K, 0).tolist()
    assert found.labels.tolist() == ["cat", "dog"] * (K // 2)
    assert (found.n_drawn, found.n_skipped, found.n_left, found.notes) == (K, 0, 0, [])


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.sort("animal", descending=True),
        lambda f: f.select(["animal", "chary_row", "chary_classes"]),
        lambda f: f.with_columns(pl.lit("x").alias("remark"), pl.lit(None).alias("checked")),
        lambda f: f.with_columns(
            pl.col("height").cast(float).cast(int), pl.lit("2024-01-01").alias("name")
        ),
        lambda f: f.with_columns(
            " " + pl.col("chary_row") + " ", pl.col("animal").str.to_uppercase()
        ),
        lambda f: pl.concat(
            [f, f[:1].with_columns(pl.lit(None, dtype=pl.String).alias(c) for c in f.columns)]
        ),
    ],
)
def test_what_a_spreadsheet_does_changes_nothing(table, drawn, change):
    answer(drawn)
    expected = read(drawn, table)
    answer(drawn, change, separator=";")
    found = read(drawn, table)
    assert dict(zip(found.rows, found.labels, strict=True)) == dict(
        zip(expected.rows, expected.labels, strict=True)
    )


def test_numbers_retyped_are_still_the_class(tmp_path):
    table = read_table(
        _write(
            tmp_path / "t.csv",
            "x,y\n" + "".join(f"{i},{['1', '2', ''][i % 3]}\n" for i in range(60)),
        )
    )
    labels = target_labels(table, "y")
    rows = draw(labels.labeled, 4, 0)
    path = tmp_path / "t.audit.csv"
    with path.open("wb") as file:
        write_audit(table, "y", labels, rows, file)
    frame = pl.read_csv(path, infer_schema=False).with_columns(
        pl.Series("y", ["1.0", "2,0", "1", "2.00"])
    )
    frame.write_csv(path)
    found = read_audit(path, table, "y", labels)
    assert found.labels.tolist() == ["1", "2", "1", "2"]
    assert "'1.0' was read as '1'" in found.notes[0]


def test_a_sheet_of_an_older_version_is_read_and_grows(tmp_path):
    golden = Path(__file__).parents[1] / "fixtures" / "golden"
    table = read_table(golden / "biased.csv")
    labels = target_labels(table, "churn")
    found = read_audit(golden / "biased.audit.csv", table, "churn", labels)
    assert found.labels.tolist() == ["yes", "no"] * 4
    assert table.frame["id"][found.rows.tolist()].to_list()[0] == "1090"
    assert (found.n_drawn, found.n_skipped, found.n_left, found.notes[0][:8]) == (
        10,
        1,
        1,
        "1 of the",
    )
    path = tmp_path / "biased.audit.csv"
    path.write_bytes((golden / "biased.audit.csv").read_bytes())
    sheet = read_table(path)
    new = np.setdiff1d(labels.rows_to_predict, [*found.drawn, 0])[:2]
    with path.open("wb") as file:
        enlarge_sheet(sheet, read_origin(sheet), cells_of(table, "churn"), new, file)
    assert read_audit(path, table, "churn", labels).n_drawn == 12


def test_skipped_rows_are_told_from_rows_not_reached_even_after_sorting(table, drawn):
    answers = ["cat", "?", "", "dog", "cat", "n/a", "cat", "dog", "", "", "", ""]
    answer(drawn, lambda f: f.sort("animal"), answers=answers)
    found = read(drawn, table)
    assert (found.n_drawn, found.n_skipped, found.n_left, len(found.rows)) == (K, 3, 4, 5)
    assert "3 of the 12 rows drawn were skipped" in " ".join(found.notes)
    assert "4 of the 12 rows drawn have no label yet" in " ".join(found.notes)


def test_a_new_class_is_said_loudly_and_kept(table, drawn):
    answer(drawn, answers=["cat", "dog"] * 5 + ["fox", "dogg"])
    found = read(drawn, table)
    assert found.new_classes == {"fox": 1, "dogg": 1}
    assert found.labels.tolist()[-2:] == ["fox", "dogg"]
    assert "NEW CLASS: the audit found 'fox'" in found.warnings[0]


def test_an_apostrophe_that_chary_put_before_an_answer_is_taken_away(table, drawn):
    answer(drawn, answers=["'=fox", "'-x", "+", "'n", "cat", "cat"] * 2)
    assert set(read(drawn, table).labels) == {"=fox", "-x", "+", "'n", "cat"}


def draw_with_marker(table, path, unlabeled):
    labels = target_labels(table, "animal", unlabeled)
    with path.open("wb") as file:
        rows = draw(labels.labeled, K, 0)
        write_audit(table, "animal", labels, rows, file, unlabeled=unlabeled)


def test_an_audit_must_be_read_with_the_marker_it_was_drawn_with(table, drawn):
    cells = pl.Series(
        "animal", ["later" if i % 3 == 0 else cell for i, cell in enumerate(table.frame["animal"])]
    )
    table = Table(table.frame.with_columns(cells), table.name, ",")
    labels = target_labels(table, "animal", "later")
    draw_with_marker(table, drawn, "later")
    answer(drawn, answers=["cat", "later"] * (K // 2))
    found = read_audit(drawn, table, "animal", labels, " later ")
    assert (len(found.rows), found.n_skipped, found.new_classes) == (K // 2, K // 2, {})  # no class
    with pytest.raises(
        TableError,
        match="was drawn with 'later' as the parameter unlabeled, so its rows are not random",
    ):
        read(drawn, table)
    draw_with_marker(table, drawn, None)
    answer(drawn)
    assert len(read_audit(drawn, table, "animal", target_labels(table, "animal"), "").rows) == K
    with pytest.raises(TableError, match="was drawn with no value as the parameter unlabeled"):
        read_audit(drawn, table, "animal", labels, "later")


def test_what_a_draw_was_told_is_in_its_file(table, drawn):
    table = replace(table, path="in/a.csv", read_with={"delimiter": ":"})
    draw_with_marker(table, drawn, "?")
    origin = read_origin(read_table(drawn))
    assert origin == SheetOrigin(
        "animal", ["cat", "dog"], ("?",), ("in/a.csv",), {"delimiter": ":"}
    )
    answer(
        drawn, lambda f: f.with_columns(pl.lit('{"animal": ["cat", "dog"]}').alias("chary_classes"))
    )
    assert read_origin(read_table(drawn)) == SheetOrigin("animal", ["cat", "dog"], None, (), {})


@pytest.mark.parametrize(
    "about",
    ["", "7", "{}", "[]", '{"animal": 7}', '{"animal": [], "chary_read_with": [1]}', "[" * 100_000],
)
def test_a_file_that_does_not_tell_where_it_comes_from_is_refused(drawn, about):
    answer(drawn, lambda f: f.with_columns(pl.lit(about).alias("chary_classes")))
    assert read_origin(read_table(drawn)) is None
    with pytest.raises(TableError, match="has no usable column 'chary_classes'"):
        Filling(drawn)


def test_labels_put_into_the_table_meanwhile_must_agree(table, drawn, tmp_path):
    answer(drawn)
    found = read(drawn, table)
    cells = table.frame["animal"].to_list()
    cells[found.rows[0]] = "cat"
    same = Table(table.frame.with_columns(pl.Series("animal", cells)), table.name, ",")
    assert read(drawn, same).rows.tolist() == found.rows.tolist()
    cells[found.rows[0]] = "dog"
    other = Table(table.frame.with_columns(pl.Series("animal", cells)), table.name, ",")
    with pytest.raises(TableError, match="labelled 'dog' there and 'cat' in "):
        read(drawn, other)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.drop("chary_row"), "no column 'chary_row'"),
        (lambda f: f.drop("chary_classes"), "no usable column 'chary_classes'"),
        (
            lambda f: f[[0, 1, 4, 5, 11]],
            "animals.audit.csv lacks 7 rows of the draw; put what was removed back",
        ),
        (lambda f: f.rename({"animal": "Animal"}), "no column 'animal'; did you mean 'Animal'"),
        (lambda f: f.with_columns(pl.lit("").alias("animal")), "has 0 labels, and at least 2"),
        (lambda f: f.with_columns(pl.lit("?").alias("animal")), "has 0 labels, and at least 2"),
        (
            lambda f: f.with_columns(pl.lit("17").alias("chary_row")),
            "Row 1 of animals.audit.csv has '17'",
        ),
        (
            lambda f: f.with_columns(pl.col("chary_row").str.replace("of x.", "of x_")),
            "names no row",
        ),
        (
            lambda f: f.with_columns(pl.col("chary_row").str.replace("of x....", "of x0000")),
            "does not match",
        ),
        (
            lambda f: f.with_columns(pl.col("chary_row").str.replace("row .*of", "row 61 of")),
            "does not match",
        ),
        (
            lambda f: pl.concat([f, f[:1]]),
            r"has the same row twice, or rows of two draws \(row 13\)",
        ),
        (lambda f: f.with_columns(pl.lit(f["chary_row"][0]).alias("chary_row")), "twice"),
        (lambda f: f.with_columns(pl.col("chary_row").str.replace("^1/", "13/")), "does not match"),
    ],
)
def test_what_cannot_be_right_is_refused_in_one_sentence(table, drawn, change, said):
    answer(drawn, change)
    with pytest.raises(TableError, match=said) as caught:
        read(drawn, table)
    assert "\n" not in str(caught.value)


def test_rows_drawn_with_two_seeds_are_not_mixed(table, drawn, tmp_path):
    labels, parts = target_labels(table, "animal"), []
    for seed in (0, 1):
        with drawn.open("wb") as file:
            write_audit(table, "animal", labels, draw(labels.labeled, K, seed), file, seed=seed)
        parts.append(pl.read_csv(drawn, infer_schema=False))
    pl.concat([parts[0][:2], parts[1][-2:]]).with_columns(animal=pl.lit("cat")).write_csv(drawn)
    with pytest.raises(TableError, match=r"lacks \d+ rows of the draw"):
        read(drawn, table)


def test_an_audit_of_another_table_or_an_older_state_is_refused(table, drawn):
    answer(drawn)
    for changed in (
        table.frame.reverse(),
        table.frame[:-1],
        table.frame.rename({"name": "title"}),
        table.frame.with_columns(pl.col("height") + "0"),
    ):
        with pytest.raises(TableError, match="does not match"):
            read(drawn, Table(changed, table.name, ","))


def test_the_checksum_ignores_the_target_and_nothing_else(table):
    labeled = table.frame.with_columns(pl.lit("cat").alias("animal"))
    assert table_checksum(Table(labeled, "x"), "animal") == table_checksum(table, "animal")


def test_parquet_tables_with_all_kinds_of_columns(tmp_path):
    frame = pl.DataFrame(
        {
            "n": range(40),
            "day": pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 2, 9), eager=True),
            "list": [[1, 2]] * 40,
            "bytes": [b"\xff"] * 40,
            "ok": [True, False] * 10 + [None] * 20,
        }
    )
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    table = read_table(path)
    labels = target_labels(table, "ok")
    target = io.BytesIO()
    write_audit(table, "ok", labels, draw(labels.labeled, 5, 0), target)
    out = tmp_path / "t.audit.csv"
    out.write_bytes(target.getvalue().replace(b",,", b",TRUE,"))
    found = read_audit(out, table, "ok", labels)
    assert found.labels.tolist() == ["true"] * 5


def test_spreadsheets_of_another_age_are_read(table, drawn):
    answer(drawn, lambda f: f.with_columns(pl.lit("é").alias("remark")))
    drawn.write_bytes(drawn.read_text().encode("cp1252"))
    assert "cp1252" in read(drawn, table).notes[0]


def test_refuses_a_table_that_is_an_audit_already(table):
    labels = target_labels(table, "animal")
    taken = Table(table.frame.with_columns(pl.lit("x").alias("chary_row")), "a.csv", ",")
    with pytest.raises(TableError, match="already has a column 'chary_row'"):
        write_audit(taken, "animal", labels, np.array([30]), io.BytesIO())


def mangled(data, rng):
    """One of many ways in which a file comes back broken."""
    text = data.decode()
    lines = text.split("\n")
    i, j = rng.randrange(len(data)), rng.randrange(len(data))
    cells = [line.split(",") for line in lines]
    way = rng.randrange(14)
    if way == 0:
        return data[:i]
    if way == 1:
        return bytes(b ^ (1 << rng.randrange(8)) if k == i else b for k, b in enumerate(data))
    if way == 2:
        return data[: min(i, j)] + data[max(i, j) :]
    if way == 3:
        return data[:i] + rng.randbytes(rng.randrange(1, 9)) + data[i:]
    if way == 4:
        rng.shuffle(lines)
        return "\n".join(lines).encode()
    if way == 5:
        return "\n".join(",".join(rng.sample(row, len(row))) for row in cells).encode()
    if way == 6:
        return "\n".join(line[: rng.randrange(len(line) + 1)] for line in lines).encode()
    if way == 7:
        return text.replace(
            rng.choice([",", "\n", '"', "row", "x", ": ", "/"]), rng.choice(["", ";", "\0", "é"])
        ).encode()
    if way == 8:
        return text.encode(rng.choice(["utf-16", "utf-32", "utf-8-sig", "cp1252"]))
    if way == 9:
        return rng.randbytes(rng.randrange(0, 300))
    if way == 10:
        return text.replace(
            "cat", rng.choice(["=1+1", "💥", "'dog", "NaN", "\u202e", "x" * 10_000, "[red]"])
        ).encode()
    if way == 11:
        return "\n".join(
            lines[: rng.randrange(len(lines))] + lines[: rng.randrange(len(lines))]
        ).encode()
    if way == 12:
        return text.replace(": row ", f": row {rng.randrange(10**9)}", rng.randrange(1, 6)).encode()
    return text.replace("chary_", rng.choice(["", "Chary_", "chary "])).encode()


def test_mangled_files_are_understood_or_refused_in_one_sentence(table, drawn):
    answer(drawn)
    data, whole = drawn.read_bytes(), read(drawn, table)
    truth = dict(zip(whole.rows.tolist(), whole.labels.tolist(), strict=True))
    rng = random.Random(0)
    outcomes = {"understood": [], "refused": []}
    for _ in range(N_MANGLED):
        broken = mangled(data, rng)
        drawn.write_bytes(broken)
        try:
            found = read(drawn, table)
        except TableError as error:
            outcomes["refused"].append(str(error))
        else:
            outcomes["understood"].append(found)
            assert set(found.rows.tolist()) <= set(truth)
        assert drawn.read_bytes() == broken
    assert len(outcomes["refused"]) > 0.4 * N_MANGLED
    assert len(outcomes["understood"]) > 0.1 * N_MANGLED
    for sentence in outcomes["refused"]:
        assert sentence.endswith((".", "?"))
        assert sentence.isprintable()
        assert len(sentence) < 600


def _write(path, text):
    path.write_text(text)
    return path


def test_every_marker_is_kept_and_compared(table, drawn):
    draw_with_marker(table, drawn, ["todo", "unknown"])
    assert read_origin(read_table(drawn)).markers == ("todo", "unknown")
    answer(drawn)
    labels = target_labels(table, "animal")
    for same in (["unknown", "todo"], ["TODO", "unknown", ""]):
        assert len(read_audit(drawn, table, "animal", labels, same).rows) == K
    with pytest.raises(TableError) as caught:
        read_audit(drawn, table, "animal", labels, "todo")
    assert (
        "was drawn with 'todo' and 'unknown' as the parameter unlabeled, so its rows are not random"
        in str(caught.value)
    )


def test_answers_are_folded_like_labels(table, drawn):
    spelt = ["CAT", "cat ", " Cat", "cow", "COW", "Cow", "cow", "c a t", "dog", "dog", "Dog", "?"]
    answer(drawn, lambda f: f.with_columns(pl.Series("animal", spelt)))
    found = read(drawn, table)
    assert found.labels.tolist() == ["cat"] * 3 + ["cow"] * 4 + ["c a t"] + ["dog"] * 3
    assert found.new_classes == {"cow": 4, "c a t": 1}
    assert "The answer 'COW' was read as 'cow'." in found.notes


def test_a_sheet_of_several_files_tells_them_all(table, drawn):
    table = replace(table, path="in/a.csv", more_paths=("in/b.csv",), read_with={"sheet": "Data"})
    draw_with_marker(table, drawn, None)
    origin = read_origin(read_table(drawn))
    assert (origin.tables, origin.read_with) == (("in/a.csv", "in/b.csv"), {"sheet": "Data"})


# -- Where it comes from

ORIGIN = SheetOrigin(
    "truth", ["a", "b"], ("?", "NA"), ("in/t.csv", "u.csv"), {"delimiter": ";"}, DOUBT
)
ORIGIN = ORIGIN._replace(seed=0, judged=("rule",), shown=("x",))


def a_sheet(origin):
    return Table(
        pl.DataFrame({"truth": ["", ""], CLASSES: origin_cells(origin, (1, 2))}),
        "s.csv",
        ",",
    )


def test_what_a_sheet_says_of_its_origin_is_read_back():
    plain = SheetOrigin("truth", ["a"], None, ("t.csv",), {})
    for origin in (ORIGIN, plain, plain._replace(unlabeled=("?",))):
        assert read_origin(a_sheet(origin)) == origin
        stopped = with_origin(a_sheet(origin), "stopped_when_enough", True)
        assert read_origin(stopped) == origin._replace(stopped_when_enough=True)
    # An edited one, which draws nothing.
    assert read_origin(a_sheet(ORIGIN._replace(seed=-1))).seed is None


# -- Tokens

TABLE = Table(pl.DataFrame({"x": [f"r{i}" for i in range(50)], "y": [None] * 50}), "t.csv", ",")
CELLS = cells_of(TABLE, "y")


def rows_of(numbers, of, answers, chosen="random"):
    cells = CELLS.texts(numbers)
    tokens = [
        sheet._token(place, of, number + 1, checksum, chosen)
        for place, (number, checksum) in enumerate(
            zip(numbers, CELLS.checksums(cells), strict=True), start=1
        )
    ]
    return pl.DataFrame({ROW: tokens, "y": answers, "x": cells["x"]})


def joined(*frames, chosen="random"):
    return sheet_rows(Table(pl.concat(frames), "s.csv", ","), CELLS, "y", chosen)


def test_parts_of_one_draw_are_joined_and_rows_of_two_draws_are_not():
    whole = rows_of([5, 9, 30, 2], 4, ["a", "", "c", ""])
    found = joined(whole[2:], whole[:2])
    assert {place: (row.number, row.answer) for place, row in found.by_place.items()} == {
        1: (5, "a"),
        2: (9, ""),
        3: (30, "c"),
        4: (2, ""),
    }
    fifth = rows_of([1, 6, 3, 4, 9], 5, [""] * 5)[4:]
    for other in (
        whole[:1],
        rows_of([8], 4, [""]),
        fifth,
    ):  # a row again, another at a place, one at two places
        with pytest.raises(TableError, match="has the same row twice, or rows of two draws"):
            joined(whole, other)


def test_rows_that_the_table_has_not_are_refused():
    beyond = rows_of([5], 1, ["a"]).with_columns(pl.col(ROW).str.replace("row 6", "row 51"))
    for frames in ([beyond], [beyond, rows_of([7, 8], 2, ["a", "b"])[1:]]):
        with pytest.raises(TableError, match=r"does not match t.csv \(row 1\)"):
            joined(*frames)
    with pytest.raises(TableError, match="names no row"):
        joined(rows_of([5], 1, ["a"]).with_columns(pl.col(ROW).str.replace("row 6", "row 0")))


def test_rows_of_doubt_are_no_audit_and_random_rows_are_not_wasted():
    doubt = rows_of([5, 6], 2, ["a", "b"], chosen=DOUBT)
    assert joined(doubt, chosen=DOUBT).n_drawn == 2
    with pytest.raises(
        TableError, match="chosen for doubt, not drawn at random, so they measure nothing"
    ):
        joined(doubt)
    with pytest.raises(TableError, match="chosen for doubt"):
        joined(rows_of([1, 2], 2, ["a", "b"]), doubt)  # glued
    with pytest.raises(TableError, match="drawn at random, so they measure as well as teach"):
        joined(rows_of([1, 2], 2, ["a", "b"]), chosen=DOUBT)
    forged = doubt.with_columns(pl.col(ROW).str.strip_prefix("check "))
    with pytest.raises(TableError, match="does not match"):
        joined(forged)


def test_answers_order_and_columns_of_a_sheet_survive_its_enlarging(tmp_path):
    frame = pl.DataFrame(
        {"x": [f"={i}" for i in range(40)], "z": range(40), "y": ["a", "b"] + [None] * 38}
    )
    table = Table(frame.cast(pl.String), "t.csv", ",")
    labels, path = target_labels(table, "y"), tmp_path / "t.audit.csv"
    with path.open("wb") as file:
        write_audit(table, "y", labels, np.array([7, 3, 30]), file, seed=4)
    mine = pl.read_csv(path, infer_schema=False).with_columns(
        y=pl.Series(["a", None, "b"]), remark=pl.lit("!")
    )
    mine.drop("z").reverse().write_csv(path, separator=";")
    before, cells = read_table(path), cells_of(table, "y")
    grown = io.BytesIO()
    enlarge_sheet(
        before, read_origin(before), cells, np.array([12, 5]), grown, {"chary_guess": ["=a", "b"]}
    )
    path.write_bytes(grown.getvalue())
    found = read_table(path)
    assert found.frame.columns == before.frame.columns
    assert found.delimiter == ";"
    assert found.frame[:3].equals(before.frame, null_equal=True)
    assert found.frame["x"].to_list()[3:] == ["'=12", "'=5"]  # nothing runs as a formula
    tokens = named_rows(found)
    assert [(token.place, token.number) for token in tokens] == [
        (3, 30),
        (2, 3),
        (1, 7),
        (4, 12),
        (5, 5),
    ]
    assert sheet_rows(found, cells, "y").n_drawn == 5
    assert read_origin(found).seed == 4
