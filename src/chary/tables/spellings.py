"""Spellings of a label in; which of them are one class, because only case and white space differ, out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chary._words import listed, shown

_SHOWN = 6


def folded(text: str) -> str:
    """What is left of a text without case and white space around and between its words.

    >>> folded(" Not  SURE") == folded("not sure")
    True
    """
    return " ".join(text.split()).casefold()


def chosen_spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """For each text the spelling of its class: the most frequent one, of equally frequent ones the first by value.

    >>> chosen_spellings({"yes": 3, "Yes": 5, "no": 2})
    {'yes': 'Yes', 'Yes': 'Yes', 'no': 'no'}
    """
    best: dict[str, str] = {}
    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        best.setdefault(folded(text), text)
    return {text: best[folded(text)] for text in counts}


def markers_of(unlabeled: str | Sequence[str] | None) -> tuple[str, ...]:
    """The labels that stand for none, without white space around them; an empty one stands for nothing.

    >>> markers_of("NA "), markers_of(["NA", "", "unknown"]), markers_of(None)
    (('NA',), ('NA', 'unknown'), ())
    """
    given = [unlabeled] if isinstance(unlabeled, str) else list(unlabeled or ())
    return tuple(dict.fromkeys(text.strip() for text in given if text.strip()))


def says_classes(unlabeled: str | Sequence[str] | None) -> bool:
    """Whether whatever looks like "no label", and is not named, was said to be a class: by an empty text."""
    given = [unlabeled] if isinstance(unlabeled, str) else list(unlabeled or ())
    return any(not text.strip() for text in given)


def is_marker(text: str, markers: Sequence[str], exact: bool = False) -> bool:
    """Whether a label stands for none, in upper or lower case unless that counts."""
    return text.strip() in markers if exact else folded(text) in {folded(marker) for marker in markers}


def fold_sentences(spellings: Mapping[str, Mapping[str, int]], target: str) -> list[str]:
    """What was folded, a sentence for each class.

    >>> fold_sentences({"yes": {"yes": 3, "YES": 1}}, "churn")
    ["In column 'churn', 'yes' (3 rows) and 'YES' (1 row) were read as one class, 'yes'."]
    """
    sentences = []
    for name, counts in spellings.items():
        most = [
            f"{shown(text)} ({count:,} row{'s' * (count > 1)})" for text, count in list(counts.items())[:_SHOWN]
        ]
        more = [f"{len(counts) - _SHOWN} more"] if len(counts) > _SHOWN else []
        sentences.append(
            f"In column {shown(target)}, {listed([*most, *more])} were read as one class, {shown(name)}."
        )
    return sentences
