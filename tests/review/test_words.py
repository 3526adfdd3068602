"""Errors on a page: no option, no parameter of Python, one sentence."""

import re

import pytest

from chary._words import Parameter, Step
from chary.review.words import _PLACES, page_sentence
from chary.tables import TableError


@pytest.mark.parametrize("name", [*_PLACES, "unlabeled", "delimiter", "missing"])
def test_a_parameter_is_said_in_words_of_the_page(name):
    said = page_sentence(TableError("It is odd; pass ", Parameter(name, "x"), " or ", Parameter(name), "."))
    assert not re.search(r"--|=|parameter", said)
    assert "'x'" in said


def test_steps_are_plain_words_and_other_errors_their_text():
    assert page_sentence(TableError("No row; ", Step("fill", "fill it in."))) == "No row; fill it in."
    assert page_sentence(FileNotFoundError(2, "No such file")) == "[Errno 2] No such file"
    assert "does not fit into memory" in page_sentence(MemoryError())
    assert page_sentence(KeyError("a")).startswith("A mistake in chary itself (KeyError")
