"""No text that chary adds runs in a spreadsheet, and each is read back as it was."""

import io

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chary.tables.formulas import all_as_typed, as_typed, guarded
from chary.tables.table import Table
from chary.tables.writing import write_table

# By hand once more: what Excel, LibreOffice and Google Sheets run, and what they pass over before it.
SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\u30fc")
UNSEEN = " \u00a0\u3000\u200b\u2009\ufeff\u202e\x00\x1b\t\r\n"
STARTS = [before + sign for before in ("", *UNSEEN, "  \t") for sign in SIGNS] + ["\t", "\r", "\n"]
SPEAKING = ["1+1", "cmd|' /C calc'!A0", "SUM(A1:A9)", "x", "5-3", "inf"]
HARMLESS = ["-5", "+5", "-0.5", "-.5", "+5.", "-1e-9", "+", "-", "yes", "a=b", "a-b", "", "'n", "5", "(=1)", "'"]


def test_every_start_is_guarded():
    texts = [start + rest for start in STARTS for rest in SPEAKING]
    assert guarded(pl.DataFrame({"a": texts}))["a"].to_list() == ["'" + text for text in texts]


@pytest.mark.parametrize("text", HARMLESS)
def test_numbers_and_signs_alone_stay_as_they_are(text):
    assert guarded(pl.DataFrame({"a": [text, None]}))["a"].to_list() == [text, None]


likely = st.text(st.sampled_from("'=+-@\uff1d\u30fc \t\n\u3000a5.e"), max_size=6)


@given(st.lists(st.one_of(likely, st.text(), st.none()), max_size=20))
@example(["'=x", "''=x", "'", "''", "'-5", "-5"])
def test_each_text_is_read_back_as_it_was_and_none_runs(texts):
    written = guarded(pl.DataFrame({"a": texts}, schema={"a": pl.String}))["a"]
    assert all_as_typed(written).to_list() == texts
    assert [text if text is None else as_typed(text) for text in written] == texts
    assert [
        text for text in written.drop_nulls() if text.lstrip(UNSEEN).startswith(SIGNS) if not is_sum(text)
    ] == []


def is_sum(text):
    """Whether it is nothing but a sign, or a number."""
    try:
        return text in ("+", "-") or float(text) is not None
    except ValueError:
        return False


def test_a_written_csv_holds_no_formula_in_what_was_added_and_the_rest_as_it_was():
    own = pl.DataFrame({"mine": ["=1+1", "\uff1d1", "-x"]})
    added = {"chary_label": ["=1+1", "\uff1d1", "-5"], "chary_confidence": [0.5, -1.0, 1.0]}
    buffer = io.BytesIO()
    write_table(Table(own, "t.csv", ","), added, buffer)
    assert buffer.getvalue().decode() == (
        "mine,chary_label,chary_confidence\n=1+1,'=1+1,0.5\n\uff1d1,'\uff1d1,-1.0\n-x,-5,1.0\n"
    )
