"""Parts cut anyhow: blocks of the same rows, none too large, none lost."""

from dataclasses import replace
from itertools import pairwise

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.tables import Part, Table, in_blocks, row_bytes
from chary.tables.table import Lines


def cut(table, bounds):
    """The table in parts; its lines with them."""
    bounds = [0, *sorted(bounds), table.frame.height]
    for a, b in pairwise(bounds):
        frame = table.frame[a:b]
        lines = None if table.lines is None else Lines(table.lines.texts[a:b], frame)
        yield Part(replace(table, frame=frame, lines=lines), b / table.frame.height)


@settings(max_examples=60)
@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=30),
    bounds=st.lists(st.integers(0, 30), max_size=5),
    n_rows=st.integers(1, 12),
    most=st.integers(1, 120),
)
def test_blocks_depend_on_the_rows_alone(lengths, bounds, n_rows, most):
    frame = pl.DataFrame({"t": ["x" * k for k in lengths], "n": range(len(lengths))})
    table = Table(frame, "t", format="jsonl", lines=Lines(frame["t"], frame))
    bounds = [min(b, len(lengths)) for b in bounds]
    found = list(in_blocks(cut(table, bounds), n_rows, most))
    usual = list(in_blocks(cut(table, []), n_rows, most))
    assert [part.table.frame.height for part in found] == [part.table.frame.height for part in usual]
    assert pl.concat([part.table.frame for part in found]).equals(frame)
    assert pl.concat([part.table.lines.texts for part in found]).equals(frame["t"])
    for part in found:
        height, size = part.table.frame.height, row_bytes(part.table.frame).sum()
        assert 1 <= height <= n_rows
        assert size <= most or height == 1
        assert part.table.lines.frame is part.table.frame
    assert found[-1].share == 1.0
