"""Sizes and parts as people type them."""

import pytest

from chary.cli.sizes import parse_part, parse_size


@pytest.mark.parametrize(
    ("typed", "size"),
    [
        ("2GB", 2 * 10**9),
        ("2 gib", 2**31),
        ("1.5g", 1_500_000_000),
        ("512M", 512 * 10**6),
        ("100", 100),
        ("1TiB", 2**40),
    ],
)
def test_sizes(typed, size):
    assert parse_size(typed) == size


@pytest.mark.parametrize("typed", ["", "GB", "-1GB", "0", "2 XB", "2ib", "1e9", "nan"])
def test_what_is_no_size(typed):
    with pytest.raises(ValueError, match="is no size; give one such as 2GB"):
        parse_size(typed)


@pytest.mark.parametrize("typed", ["", "3", "0/4", "5/4", "a/b", "1/", "/2", "-1/4"])
def test_what_is_no_part(typed):
    with pytest.raises(ValueError, match="is no part of several"):
        parse_part(typed)


def test_parts():
    assert parse_part(" 3 / 16 ") == (3, 16)
