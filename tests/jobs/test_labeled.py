"""Counts of labels add up; the columns that are added are of the target's type."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from chary.jobs import SOURCES, Counts
from chary.jobs.labeled import columns_to_add
from chary.method import Labels


def rows(seed, n=40):
    rng = np.random.default_rng(seed)
    source = rng.choice(np.array(SOURCES, dtype=object), n)
    return rng.integers(0, 3, n), rng.random(n), source, rng.random(n) < 0.8


@given(st.integers(0, 2**32 - 1), st.integers(0, 40))
def test_counts_of_parts_add_up(seed, cut):
    codes, confidence, source, settled = whole = rows(seed)
    counts = Counts.of(*whole, 3)
    parts = [Counts.of(*(column[part] for column in whole), 3) for part in (slice(cut), slice(cut, None))]
    both = parts[0].plus(parts[1])
    np.testing.assert_array_equal(both.labels, counts.labels)
    np.testing.assert_array_equal(both.settled.counts, counts.settled.counts)
    assert counts.n == 40
    assert counts.n_new == (source != "given").sum() == counts.rest.n
    assert counts.labels[1, 2] == ((source == "learned") & (codes == 2)).sum()
    assert counts.settled.n_from(0.5) == ((np.round(confidence, 4) >= 0.5) & settled & (source != "given")).sum()


def test_labels_are_of_the_type_of_the_target_if_it_holds_them_all():
    codes, source = np.array([1, 0]), np.array(["given", "predicted"], dtype=object)
    for names, dtype, kind in ((["-3", "7"], pl.Int64, pl.Int64), (["7", "new"], pl.Int64, pl.String)):
        labels = Labels(np.array(names), codes, codes >= 0)
        added = columns_to_add(labels, dtype(), codes, np.array([1.0, 0.12345]), source)
        assert added["chary_label"].dtype == kind
        assert added["chary_label"].cast(pl.String).to_list() == names[::-1]
        assert added["chary_confidence"].to_list() == [1.0, 0.1234]
        assert list(added) == ["chary_label", "chary_confidence", "chary_source"]
