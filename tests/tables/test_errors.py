"""A sentence made of parts: what a Python caller reads, whatever the file held."""

import pickle

import pytest

from chary._words import Parameter, Step
from chary.tables.errors import EncodingError, TableError, reason


def test_a_sentence_names_parameters_and_steps_in_plain_words():
    error = TableError("'{x}' is odd; pass ", Parameter("unlabeled", "{0} %s"), " or ", Step("fill", "fill it."))
    assert str(error) == "'{x}' is odd; pass unlabeled='{0} %s' or fill it."
    assert str(TableError("one")) == "one"


@pytest.mark.parametrize("kind", [TableError, EncodingError])
def test_an_error_survives_the_way_from_another_process(kind):
    error = kind("leave some out with ", Parameter("drop"), ".")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.args, str(again)) == (kind, error.args, str(error))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory"), "no such file or directory"),
        (ValueError("\n  first line \nsecond"), "first line"),
        (ValueError(), "ValueError"),
        (ValueError("x" * 500), "x" * 97 + "..."),
    ],
)
def test_the_reason_is_the_first_line_of_what_a_library_said(error, said):
    assert reason(error) == said
