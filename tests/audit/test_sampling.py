"""The sample is uniform, of the size asked for, and the same however the rows lie in files."""

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.audit.table_cells import cells_of, sample_of_table, table_checksum
from chary.tables import TableError, open_source, read_table


def frame(n, labeled=()):
    y = [("a" if i % 2 else "b") if i in set(labeled) else None for i in range(n)]
    return pl.DataFrame(
        {
            "x": np.arange(n),
            "said": [f"row {i}" for i in range(n)],
            "y": pl.Series(y, dtype=pl.String),
        }
    )


def written(folder, whole, cuts=(), kind="csv", group=7):
    """The rows in several files, cut before some of them."""
    ends = [0, *sorted(set(cuts)), whole.height]
    paths = []
    for number, (start, end) in enumerate(pairwise(ends)):
        if end > start:
            path = Path(folder) / f"{number:03}.{kind}"
            part = whole[start:end]
            if kind == "csv":
                part.write_csv(path)
            elif kind == "jsonl":
                part.write_ndjson(path)
            else:
                part.write_parquet(path, row_group_size=group)
            paths.append(str(path))
    return paths


@settings(deadline=None, max_examples=25)
@given(
    n=st.integers(2, 60),
    k=st.integers(1, 40),
    seed=st.integers(0, 5),
    cuts=st.lists(st.integers(1, 59), max_size=3),
    kind=st.sampled_from(["csv", "parquet", "jsonl"]),
    group=st.integers(1, 20),
)
def test_the_sample_is_the_same_whatever_the_layout(n, k, seed, cuts, kind, group):
    whole = frame(n, labeled=range(0, n, 5))
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        first = sample_of_table(open_source(written(one, whole)), "y", k, seed=seed)
        paths = written(other, whole, [cut for cut in cuts if cut < n], kind, group)
        second = sample_of_table(open_source(paths), "y", k, seed=seed)
    np.testing.assert_array_equal(first.taken.numbers, second.taken.numbers)
    assert first.frame["said"].to_list() == second.frame["said"].to_list()
    assert first.taken.n_rows == second.taken.n_rows == n
    drawn = np.setdiff1d(first.taken.numbers, np.arange(0, n, 5))
    assert len(drawn) == min(k, n - len(range(0, n, 5)))
    assert set(range(0, n, 5)) <= set(first.taken.numbers.tolist())


def test_every_row_is_drawn_as_often_as_any_other(tmp_path):
    large, n, k, draws = open_source(written(tmp_path, frame(40, labeled=[3]))), 40, 10, 150
    times = np.zeros(n)
    for seed in range(draws):
        times[sample_of_table(large, "y", k, seed=seed).taken.numbers] += 1
    assert times[3] == draws
    others = np.delete(times, 3)
    expected = draws * k / (n - 1)
    chi_square = (
        ((others - expected) ** 2 / (expected * (1 - k / (n - 1)))).sum() * (n - 2) / (n - 1)
    )
    assert 12 < chi_square < 76  # 38 degrees of freedom: outside in one case of a thousand


def test_samples_are_nested_and_rows_by_number_are_kept(tmp_path):
    large = open_source(written(tmp_path, frame(200, labeled=[7]), kind="parquet"))
    small, more = (sample_of_table(large, "y", k, seed=2).taken.numbers for k in (20, 50))
    assert set(small.tolist()) < set(more.tolist())
    kept = sample_of_table(large, "y", 20, seed=2, keep=[0, 199, 7]).taken.numbers
    assert set(kept.tolist()) == {*small.tolist(), 0, 199}


def test_cells_that_mean_no_label_are_others(tmp_path):
    whole = frame(30, labeled=[1, 2]).with_columns(y=pl.col("y").fill_null("Open "))
    large = open_source(written(tmp_path, whole))
    found = sample_of_table(large, "y", 5, unlabeled="open")
    assert len(found.taken.numbers) == 7
    assert found.frame["y"].to_list().count("Open ") == 5


def test_doubtful_labels_are_counted_over_the_whole_table_and_refused(tmp_path):
    whole = frame(30, labeled=[1, 2]).with_columns(y=pl.col("y").fill_null("NA"))
    with pytest.raises(TableError, match="holds 'NA' in 28 rows"):
        sample_of_table(open_source(written(tmp_path, whole, [10])), "y", 5)
    assert (
        sample_of_table(
            open_source(written(tmp_path, whole)), "y", 5, unlabeled=["NA", ""]
        ).taken.n_rows
        == 30
    )


def test_a_wrong_target_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(TableError, match=r"no column 'z'"):
        sample_of_table(open_source(written(tmp_path, frame(5, [0]))), "z", 5)


def test_what_takes_too_much_room_is_refused(tmp_path):
    large = open_source(written(tmp_path, frame(3000, labeled=range(10))))
    with pytest.raises(
        TableError, match=r"The rows of .* to learn from take .* or leave rows or columns out"
    ):
        sample_of_table(large, "y", 2000, max_bytes=20_000)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_the_checksum_is_that_of_the_table_read_at_once(tmp_path, kind):
    whole = frame(300, labeled=[1, 5]).with_columns(quoted=pl.lit('a "b", c'))
    paths = written(tmp_path, whole, [100, 250], kind)
    found = sample_of_table(open_source(paths), "y", 10, checksum=True, keep=[299])
    table = read_table(paths)
    assert found.taken.checksum == table_checksum(table, "y")
    one, other = cells_of(table, "y"), cells_of(found, "y")
    assert one.n_rows == other.n_rows == 300
    assert one.texts([1, 299]).equals(other.texts([1, 299]))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_by_number_are_those_of_the_table_in_the_order_asked_for(tmp_path, kind):
    whole = frame(50, labeled=range(4))
    large = open_source(written(tmp_path, whole, cuts=[13, 31], kind=kind))
    for numbers in ([49, 0, 13, 12, 13], [3], []):
        assert large.rows(numbers)["said"].to_list() == [f"row {number}" for number in numbers]


def test_rows_by_number_of_a_table_that_changes_are_refused(tmp_path):
    (path,) = written(tmp_path, frame(50))
    large = open_source(path)
    Path(path).write_text("x,said,y\n1,a,\n")
    with pytest.raises(TableError, match="changed"):
        large.rows([2])


def test_a_sheet_sees_the_cells_of_a_large_table_as_those_of_one_in_memory(tmp_path):
    whole = frame(40, labeled=range(6))
    paths = written(tmp_path, whole, cuts=[17])
    large = open_source(paths)
    sample = sample_of_table(large, "y", 1, checksum=True)
    mine, other = cells_of(sample, "y", large), cells_of(read_table(paths), "y")
    assert (mine.name, mine.n_rows) == (other.name, other.n_rows)
    cells = mine.texts([30, 2, 18])
    assert cells.equals(other.texts([30, 2, 18]))
    assert mine.checksums(cells) == other.checksums(cells)
