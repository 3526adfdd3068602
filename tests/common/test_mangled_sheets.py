"""Sheets sorted in part, copied, glued and edited: one sentence, and no answer changes its row.

``CHARY_FUZZ=full`` tries 1,000; without it, a part.
"""

import os
import random

import polars as pl
import pytest

from chary.audit import draw
from chary.audit.answers import read_audit
from chary.tables import TableError, read_table
from chary.tables.target import target_labels
from tests.fixtures.sheets import write_audit

N_SHEETS = 1000 if os.environ.get("CHARY_FUZZ") == "full" else 150
N, K = 80, 12
CLASSES = [f"c{i:02d}" for i in range(20)]
CITIES = ["Köln", "Ulm", "Bonn", ""]


def a_table(path, seed=0):
    """People, some alike in a column or two, a few of whom have a label."""
    rng = random.Random(seed)
    rows = [
        {
            "name": f"{rng.choice(['Ann', 'Bo', 'Cy'])} {i:03d}",
            "height": f"{150 + rng.randrange(200) / 4:g}",
            "day": f"2024-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}",
            "city": rng.choice(CITIES),
            "y": CLASSES[i % 20] if i < 30 else "",
            "note": rng.choice(["=cmd()", "-2.5", "ok"]),
        }
        for i in range(N)
    ]
    pl.DataFrame(rows).write_csv(path)
    return read_table(path)


def a_sheet(table, path, k=K, seed=0):
    labels = target_labels(table, "y")
    rows = draw(labels.labeled, k, seed)
    with path.open("wb") as file:
        write_audit(table, "y", labels, rows, file, seed=seed)
    answers = [
        CLASSES[row % 20] for row in rows.tolist()
    ]  # known by the row, so that a moved one is found out
    return pl.read_csv(path, infer_schema=False).with_columns(pl.Series("y", answers)).fill_null("")


# ----------------------------------------------------------- what spreadsheets do, and nobody means


def as_shown(frame, rng):
    """Cells rounded, with a decimal comma, other dates, blanks, in capitals: all the same."""
    height, day = pl.col("height"), pl.col("day").str.to_date(strict=False)
    comma, rounded = (
        height.str.replace(".", ",", literal=True),
        height.cast(float, strict=False).round(0),
    )
    dates = [day.dt.strftime(form) for form in ("%d.%m.%y", "%m/%d/%Y", "%-d-%b")]
    city, note = pl.col("city").str.to_uppercase() + " ", pl.col("note").str.strip_prefix("'")
    return frame.with_columns(
        rng.choice([height, comma, rounded.cast(pl.String)]),
        rng.choice([pl.col("day"), *dates]),
        rng.choice([pl.col("city"), city]),
        rng.choice([pl.col("note"), note]),
    )


def a_block(frame, rng):
    """Move neighbouring columns, answers and one that tells rows apart, or the tokens alone."""
    columns = frame.columns
    first = rng.choice([0, 1])
    last = rng.randrange(1, 3) if first == 0 else rng.randrange(3, len(columns) + 1)
    return columns[first:last]


def sorted_in_part(frame, rng, other):
    block = a_block(frame, rng)
    by = rng.choice(block)
    part = frame.select(block).sort(by, descending=rng.random() < 0.5, maintain_order=True)
    return frame.with_columns(part.get_columns())


def swapped_tokens(frame, rng, other):
    i, j = rng.sample(range(frame.height), 2)
    tokens = frame["chary_row"].to_list()
    tokens[i], tokens[j] = tokens[j], tokens[i]
    return frame.with_columns(pl.Series("chary_row", tokens))


def shifted_down(frame, rng, other):
    """A cell inserted in some columns: all below move by one."""
    block, at = a_block(frame, rng), rng.randrange(frame.height - 1)
    part = frame.select(block)
    moved = pl.concat(
        [part[:at], part[at : at + 1].clear(1).cast(pl.String), part[at:-1]]
    ).fill_null("")
    return frame.with_columns(moved.get_columns())


def pasted_row(frame, rng, other):
    """All cells but the token, over those of another row."""
    i, j = rng.sample(range(frame.height), 2)
    rows = [dict(row) for row in frame.iter_rows(named=True)]
    rows[i] = {**rows[j], "chary_row": rows[i]["chary_row"]}
    return pl.DataFrame(rows)


def filled_down(frame, rng, other):
    """A token dragged down: the number at its end counts up, or it is repeated."""
    tokens, at = frame["chary_row"].to_list(), rng.randrange(frame.height - 2)
    for step in (1, 2):
        ends = f"{int(tokens[at][-1], 16) + step:x}"[-1]
        tokens[at + step] = tokens[at] if rng.random() < 0.5 else tokens[at][:-1] + ends
    return frame.with_columns(pl.Series("chary_row", tokens))


def edited_token(frame, rng, other):
    tokens, at = frame["chary_row"].to_list(), rng.randrange(frame.height)
    edits = [
        ("/12", "/30"),
        ("row ", "row 1"),
        (": row", ":row"),
        (tokens[at][:2], "31"),
        (" of x", " of xx"),
    ]
    old, new = rng.choice(edits)
    tokens[at] = tokens[at].replace(old, new, 1)
    return frame.with_columns(pl.Series("chary_row", tokens))


def rows_of_another_table(frame, rng, other):
    return pl.concat([frame[: rng.randrange(1, K)], other["table"]])


def glued(frame, rng, other):
    """Add rows of the larger sheet of the draw, of another draw, or a row of its own again."""
    more = {
        "larger": other["larger"],
        "rest": other["larger"][K:],
        "seed": other["seed"],
        "row": frame[:1],
    }
    return pl.concat([frame, more[rng.choice(list(more))]])


def with_origin_in_one_row(frame):
    """Empty the column of the origin except its first cell, so that rows lose their places."""
    is_first = pl.int_range(pl.len()) == 0
    return frame.with_columns(
        pl.when(is_first).then("chary_classes").otherwise(pl.lit("")).alias("chary_classes")
    )


def shuffled(frame, rng, other):
    return frame.sample(fraction=1, shuffle=True, seed=rng.randrange(99))


WAYS = [
    sorted_in_part,
    swapped_tokens,
    shifted_down,
    pasted_row,
    filled_down,
    edited_token,
    rows_of_another_table,
    glued,
    shuffled,
]


@pytest.fixture(name="drawn", scope="module")
def table_and_sheets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sheets")
    table = a_table(folder / "people.csv")
    sheet = a_sheet(table, folder / "a.csv")
    others = {
        "larger": a_sheet(table, folder / "b.csv", k=2 * K),
        "seed": a_sheet(table, folder / "c.csv", seed=1),
        "table": a_sheet(a_table(folder / "others.csv", seed=5), folder / "d.csv"),
    }
    return table, sheet, others


def test_no_mangled_sheet_changes_the_row_of_an_answer(drawn, tmp_path):
    table, sheet, others = drawn
    labels, path = target_labels(table, "y"), tmp_path / "people.audit.csv"
    rng = random.Random(0)
    outcomes = {way.__name__: [] for way in WAYS}
    for i in range(N_SHEETS):
        way = WAYS[i % len(WAYS)]
        frame = way(sheet, rng, others)
        if rng.random() < 0.5:
            frame = with_origin_in_one_row(frame)
        if rng.random() < 0.3:
            frame = as_shown(frame, rng)
        frame.write_csv(path, separator=rng.choice([",", ";"]))
        try:
            found = read_audit(path, table, "y", labels)
        except TableError as error:
            outcomes[way.__name__].append(str(error))
            continue
        outcomes[way.__name__].append("")
        assert [CLASSES[row % 20] for row in found.rows.tolist()] == found.labels.tolist(), (
            way.__name__
        )
    for sentence in {sentence for said in outcomes.values() for sentence in said} - {""}:
        assert sentence.isprintable()
        assert sentence.count(". ") == 0
        assert len(sentence) < 500
    accepted = {name: said.count("") / len(said) for name, said in outcomes.items()}
    assert accepted["shuffled"] == 1
    assert 0 < accepted["glued"] < 1
    assert (
        accepted["swapped_tokens"]
        == accepted["pasted_row"]
        == accepted["rows_of_another_table"]
        == 0
    )
    assert accepted["filled_down"] == 0
    assert accepted["shifted_down"] == 0


def test_what_a_spreadsheet_shows_otherwise_is_no_alarm(drawn, tmp_path):
    table, sheet, _ = drawn
    labels, path = target_labels(table, "y"), tmp_path / "people.audit.csv"
    rng = random.Random(1)
    for _ in range(N_SHEETS // 5):
        as_shown(shuffled(sheet, rng, {}), rng).write_csv(path)
        assert len(read_audit(path, table, "y", labels).rows) == K
