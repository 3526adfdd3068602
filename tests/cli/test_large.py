"""Which tables are read in parts: those that do not fit, and those of which it is asked."""

import pytest

from chary.cli.large import if_large

MUCH, LITTLE = 1 << 40, 1 << 20


@pytest.mark.parametrize(
    ("allowed", "sample", "in_parts"), [(MUCH, None, False), (LITTLE, None, True), (MUCH, 100, True)]
)
def test_tables_that_do_not_fit_are_read_in_parts(table, allowed, sample, in_parts):
    assert (if_large([table], {"delimiter": ";"}, allowed, sample) is not None) == in_parts


def test_what_is_wrong_with_a_file_is_left_to_whoever_reads_it(tmp_path):
    (tmp_path / "empty.csv").touch()
    assert if_large([tmp_path / "empty.csv"], {}, LITTLE) is None


def test_standard_input_is_read_once():
    assert if_large(["-"], {}, LITTLE) is None
    with pytest.raises(ValueError, match="Standard input can be read once only"):
        if_large(["-"], {}, LITTLE, 100)
