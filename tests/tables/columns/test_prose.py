"""Real-looking columns of text: which say something, and which only name the rows."""

import random
import uuid

import polars as pl
import pytest

from chary.tables.columns.prose import disguised, in_digits, in_words, naming

RNG = random.Random(0)
N = 200


def words(text):
    return text.split()


FIRST = words("Anna Ben Carla David Emma Felix Greta Hans Ida Jonas Karl Lena Max Nora Otto Paula")
LAST = words("Schmidt Müller Meyer Weber Wagner Becker Hoffmann Schulz Koch Richter Klein Wolf Lange Keller")
SAID = words("good bad room service food slow nice very the was and clean staff friendly price location hotel")
ARABIC = words("هذا المنتج جيد جدا ولكن السعر مرتفع قليلا والخدمة ممتازة")
IN_LETTERS = str.maketrans("0123456789", "qrstuvwxyz")
CHINESE = "这是一个很好的产品我非常喜欢但价格有点贵质量不错快递服务态度下次还会购买"
THAI = "สินค้าดีมากราคาถูกส่งเร็วแพ็คดีจะสั่งซื้ออีกแน่นอนบริการดี"


def some(words, low, high, between=" "):
    return between.join(RNG.choices(words, k=RNG.randint(low, high)))


def column(make, n=N):
    return pl.Series("x", [make(i) for i in range(n)])


SAYING = {
    "comments": column(lambda i: some(SAID, 4, 12)),
    "titles": column(lambda i: f"The {RNG.choice(SAID)} {RNG.choice(LAST)} of {RNG.choice(FIRST)}"),
    "people": column(lambda i: f"{RNG.choice(FIRST)} {RNG.choice(FIRST)} {RNG.choice(LAST)}"),
    "addresses": column(lambda i: f"{RNG.randrange(1, 300)} {RNG.choice(LAST)} Street"),
    "Arabic": column(lambda i: some(ARABIC, 3, 9)),
    "Chinese": column(lambda i: some(CHINESE, 6, 20, "")),
    "Thai": column(lambda i: some(THAI, 20, 30, "")),
    "diseases that return": column(lambda i: f"{RNG.choice('ABCDE')}{RNG.randrange(10, 60)}", 1000),
    "surnames that return": column(lambda i: RNG.choice(LAST) + RNG.choice(["", "mann", "er", "s", "le"])),
}
NAMING = {
    "codes": column(lambda i: f"A-{1000 + i}"),
    "universal ones": column(lambda i: str(uuid.UUID(int=RNG.getrandbits(128)))),
    "hexadecimal ones": column(lambda i: f"{RNG.getrandbits(64):016x}"),
    "a word and a number": column(lambda i: f"Customer {i:05d}"),
    "the same words and a number": column(lambda i: f"it was {i} o'clock"),
    "mail": column(lambda i: f"{RNG.choice(FIRST)}.{RNG.choice(LAST)}{i}@example.com"),
    "links": column(lambda i: f"https://shop.example/p/{i}/red-shoe"),
    "names of one word": column(lambda i: "".join(RNG.choices("abcdefghij", k=9)).title()),
    "telephones": column(lambda i: f"+49 {RNG.randrange(100, 999)} {RNG.randrange(10**6, 10**7)}"),
    "accounts": column(lambda i: f"DE{RNG.randrange(10, 99)} {RNG.randrange(10**4)} {RNG.randrange(10**4)}"),
    "plates": column(lambda i: f"{RNG.choice(['M', 'HH'])}-{RNG.choice('ABC')}X {RNG.randrange(10**6)}"),
    "words that never return": column(lambda i: f"{10**9 + i} {i + 99}".translate(IN_LETTERS)),
}


@pytest.mark.parametrize("name", SAYING)
def test_what_says_something_is_no_identifier(name):
    assert naming(SAYING[name]) is None


@pytest.mark.parametrize("name", NAMING)
def test_what_only_names_rows_is_an_identifier(name):
    found = naming(NAMING[name])
    assert (found.kind, found.note, found.used) == ("identifier", "different in every row", False)


def test_a_name_that_comes_twice_by_accident_is_still_one():
    found = naming(pl.concat([NAMING["codes"], NAMING["codes"][:5]]))
    assert (found.kind, found.note) == ("identifier", "different in nearly every row")


@pytest.mark.parametrize("name", ["comments", "Chinese"])
def test_order_and_number_of_rows_do_not_matter(name):
    cells = SAYING[name]
    assert in_words(cells.reverse())
    assert in_words(pl.concat([cells + f" {word}" for word in SAID]))  # more than are looked at


def test_no_more_than_the_beginning_of_a_cell_is_looked_at():
    assert in_words(SAYING["comments"] + " 1" * 100_000)


@pytest.mark.parametrize(
    "make",
    [
        lambda i: f"${RNG.randrange(100, 999)},{RNG.randrange(100, 999)}",
        lambda i: f"{RNG.randrange(300)} {RNG.choice(['kg', 'g'])}",
        lambda i: f"10.0.{RNG.randrange(9)}.{RNG.randrange(50)}",
        lambda i: f"{RNG.randrange(9)}/{RNG.randrange(99)}",
    ],
)
def test_numbers_in_a_form_that_is_not_read_are_left_out(make):
    found = disguised(column(make))
    assert (found.kind, found.note, found.used) == ("text", "digits in a form that is not read", False)


@pytest.mark.parametrize("name", SAYING)
def test_what_says_something_is_no_number(name):
    assert disguised(SAYING[name]) is None
    assert in_digits(SAYING[name]) == (name == "diseases that return")
