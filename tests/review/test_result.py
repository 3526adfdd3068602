"""A table by pages, in the order of the file."""

import polars as pl

from chary.review.result import PAGE, Pages

FRAME = pl.DataFrame(
    {
        "n": [str(i % 13) for i in range(130)],
        "word": [["Red", "blue", None][i % 3] for i in range(130)],
        "chary_label": [["a", "b"][i % 2] for i in range(130)],
        "chary_confidence": [round(0.01 * (i % 100), 2) for i in range(130)],
        "chary_accept": [i % 4 == 0 for i in range(130)],
    }
)


def test_every_row_stands_on_one_page():
    pages = Pages(FRAME, [])
    found = [pages.page({"page": str(number)}) for number in range(3)]
    assert [page["first_row"] for page in found] == [1, 1 + PAGE, 1 + 2 * PAGE]
    assert [row[0] for page in found for row in page["rows"]] == FRAME["n"].to_list()


def test_a_page_is_texts_and_the_first_columns_come_first():
    page = Pages(FRAME, ["chary_label", "gone"]).page({"page": "99"})
    assert page["columns"][0] == "chary_label"
    assert page["numeric"] == [False, False, False, True, False]
    assert (page["page"], page["pages"], page["total"]) == (2, 3, 130)
    assert page["rows"][-1] == ["b", "12", "Red", "0.29", "false"]
