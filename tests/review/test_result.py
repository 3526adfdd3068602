"""A table by pages: sorted and filtered like a plain Python list, and kept for the next page."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.review.result import PAGE, Pages, Selection, selection_of
from chary.tables import TableError

FRAME = pl.DataFrame(
    {
        "n": [str(i % 13) for i in range(130)],
        "word": [["Red", "blue", None][i % 3] for i in range(130)],
        "chary_label": [["a", "b"][i % 2] for i in range(130)],
        "chary_confidence": [round(0.01 * (i % 100), 2) for i in range(130)],
        "chary_source": ["given" if i < 20 else "predicted" for i in range(130)],
        "chary_accept": [i % 4 == 0 for i in range(130)],
    }
)
ROWS = FRAME.rows(named=True)


@settings(max_examples=40)
@given(
    st.builds(
        Selection,
        sort=st.sampled_from(["", "n", "word", "chary_confidence"]),
        descending=st.booleans(),
        label=st.sampled_from(["", "a", "b", "c"]),
        source=st.sampled_from(["", "given"]),
        accept=st.sampled_from(["", "true", "false"]),
        search=st.sampled_from(["", "RE", "3", "("]),
        low=st.sampled_from([None, 0.3]),
        high=st.sampled_from([None, 0.6]),
    )
)
def test_rows_are_those_that_a_loop_would_find(asked):
    def wanted(row):
        texts = " ".join(str(value).lower() for value in row.values() if value is not None)
        return (
            (not asked.label or row["chary_label"] == asked.label)
            and (not asked.source or row["chary_source"] == asked.source)
            and (not asked.accept or row["chary_accept"] == (asked.accept == "true"))
            and (not asked.search or asked.search.lower() in texts)
            and (asked.low is None or row["chary_confidence"] >= asked.low)
            and (asked.high is None or row["chary_confidence"] <= asked.high)
        )

    found = [i for i, row in enumerate(ROWS) if wanted(row)]
    if asked.sort:
        keys = {"n": lambda row: int(row["n"]), "word": lambda row: (row["word"] or "").lower()}
        key = keys.get(asked.sort, lambda row: row[asked.sort])
        full = [i for i in found if ROWS[i][asked.sort] is not None]
        full.sort(key=lambda i: key(ROWS[i]), reverse=asked.descending)
        if asked.descending:  # equal ones stay in the order of the table
            full.sort(
                key=lambda i: [-ord(c) for c in str(key(ROWS[i]))] if asked.sort == "word" else -key(ROWS[i])
            )
        found = full + [i for i in found if ROWS[i][asked.sort] is None]
    pages = Pages(FRAME, ["chary_label"], "chary_label")
    numbers = []
    for number in range(pages.page(asked, 0)["pages"]):
        page = pages.page(asked, number)
        assert len(page["rows"]) <= PAGE
        assert page["page"] == number
        numbers += page["numbers"]
    assert [number - 1 for number in numbers] == found
    assert pages.page(asked, 0)["matching"] == len(found)


def test_a_page_is_texts_and_the_first_columns_come_first():
    page = Pages(FRAME, ["chary_label", "gone"], "chary_label").page(Selection(), 99)
    assert page["columns"][0] == "chary_label"
    assert page["numeric"] == [False, True, False, True, False, False]
    assert (page["page"], page["pages"], page["total"]) == (2, 3, 130)
    assert page["filters"] == {"labels": ["a", "b"], "sources": ["given", "predicted"]}
    assert page["rows"][-1] == ["b", "12", "Red", "0.29", "predicted", "false"]


def test_what_cannot_be_sorted_or_filtered_is_said():
    pages = Pages(pl.DataFrame({"v": [[1], [2]]}), [], "v")
    for asked, words in (
        (Selection(sort="v"), "cannot be sorted"),
        (Selection(low=0.1), "no column 'chary_confidence' yet"),
    ):
        with pytest.raises(TableError, match=words):
            pages.page(asked, 0)
    assert selection_of({"descending": "true", "low": "0.5"}) == Selection(descending=True, low=0.5)
