"""A table by pages: sorted and searched like a plain Python list, and kept for the next page."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.review.result import PAGE, Pages
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
    st.fixed_dictionaries(
        {},
        optional={
            "sort": st.sampled_from(["n", "word", "chary_confidence"]),
            "descending": st.just("true"),
            "search": st.sampled_from(["RE", "3", "("]),
        },
    )
)
def test_rows_are_those_that_a_loop_would_find(asked):
    sort, descending = asked.get("sort"), "descending" in asked

    def wanted(row):
        texts = " ".join(str(value).lower() for value in row.values() if value is not None)
        return asked.get("search", "").lower() in texts

    found = [i for i, row in enumerate(ROWS) if wanted(row)]
    if sort:
        keys = {"n": lambda row: int(row["n"]), "word": lambda row: (row["word"] or "").lower()}
        key = keys.get(sort, lambda row: row[sort])
        full = [i for i in found if ROWS[i][sort] is not None]
        full.sort(key=lambda i: key(ROWS[i]), reverse=descending)
        if descending:  # equal ones stay in the order of the table
            full.sort(key=lambda i: [-ord(c) for c in str(key(ROWS[i]))] if sort == "word" else -key(ROWS[i]))
        found = full + [i for i in found if ROWS[i][sort] is None]
    pages = Pages(FRAME, ["chary_label"])
    if sort:
        asked = {**asked, "sort": str(pages.columns.index(sort))}
    numbers = []
    for number in range(pages.page(asked)["pages"]):
        page = pages.page({**asked, "page": str(number)})
        assert len(page["rows"]) <= PAGE
        assert page["page"] == number
        numbers += page["numbers"]
    assert [number - 1 for number in numbers] == found
    assert pages.page(asked)["matching"] == len(found)


def test_a_page_is_texts_and_the_first_columns_come_first():
    page = Pages(FRAME, ["chary_label", "gone"]).page({"page": "99"})
    assert page["columns"][0] == "chary_label"
    assert page["numeric"] == [False, True, False, True, False, False]
    assert (page["page"], page["pages"], page["total"]) == (2, 3, 130)
    assert page["rows"][-1] == ["b", "12", "Red", "0.29", "predicted", "false"]


def test_what_cannot_be_sorted_stays_as_it_is_and_no_other_column_is_known():
    pages = Pages(pl.DataFrame({"v": [[2], [1]]}), [])
    assert pages.page({"sort": "0"})["numbers"] == [1, 2]
    with pytest.raises(TableError, match="columns 0 to 0"):
        pages.page({"sort": "1"})
