"""Spellings of a label: which are one class, which mean no label, and how that is said."""

from hypothesis import given
from hypothesis import strategies as st

from chary.tables.spellings import chosen_spellings, fold_sentences, folded, is_marker, markers_of, says_classes


def test_case_and_white_space_and_nothing_else_are_folded():
    assert len({folded(text) for text in ("Not sure", "not  SURE", "\tnot\u00a0sure ", "NOT SURE")}) == 1
    assert len({folded(text) for text in ("notsure", "not-sure", "not sure", "not sùre", "1", "1.0")}) == 6


@given(st.dictionaries(st.text("aAbB ", max_size=3), st.integers(1, 5), min_size=1), st.randoms())
def test_the_most_frequent_spelling_wins_whatever_the_order(counts, rng):
    chosen = chosen_spellings(counts)
    shuffled = list(counts.items())
    rng.shuffle(shuffled)
    assert chosen_spellings(dict(shuffled)) == chosen
    for text, name in chosen.items():
        group = [other for other in counts if folded(other) == folded(text)]
        assert name in group
        assert (-counts[name], name) == min((-counts[other], other) for other in group)


def test_markers_are_one_or_several():
    assert markers_of([" NA", "NA", "?"]) == ("NA", "?")
    assert markers_of("") == markers_of(()) == markers_of(None) == ()
    assert [says_classes(given) for given in (None, "NA", "", ["NA", " "], ["NA"], [])] == [
        False, False, True, True, False, False,
    ]  # fmt: skip
    assert is_marker("na", ["NA"])
    assert not is_marker("na", ["NA"], exact=True)
    assert not is_marker("", ["NA"])


def test_what_was_folded_is_said_with_its_rows():
    spellings = {"a": {"a": 2, "A": 1, "a ": 1}, "b": {f"b{' ' * i}": 9 - i for i in range(8)}}
    first, second = fold_sentences(spellings, "y")
    assert first == "In column 'y', 'a' (2 rows), 'A' (1 row) and 'a ' (1 row) were read as one class, 'a'."
    assert "and 2 more were read as one class, 'b'." in second
    assert fold_sentences({}, "y") == []
