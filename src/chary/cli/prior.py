"""What was typed after ``--class-prior``, or as a share, in; the share of each class, or a number, out."""

from __future__ import annotations

import math
import re
from typing import Any

_SEVERAL = re.compile(r"=\s*\d[\d.]*\s*%?\s*[,;]")  # a share, and something after it


def parse_prior(texts: list[str]) -> Any:
    """What was typed after ``--class-prior``: nothing, "labeled", or NAME=SHARE once for each class.

    >>> parse_prior(["yes=30%", "no=0.7"])
    {'yes': 0.3, 'no': 0.7}
    """
    if not texts:
        return None
    if texts == ["labeled"]:
        return "labeled"
    shares: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        percent = number.strip().endswith("%")
        try:
            share = float(number.strip().rstrip("%"))
        except ValueError:
            share = math.nan
        if not name or not math.isfinite(share):
            raise ValueError(
                f"--class-prior {text!r} is not understood; give NAME=SHARE, such as yes=0.3 or yes=30%, once for "
                "each class, or the word labeled."
            )
        if _SEVERAL.search(name):
            raise ValueError(
                f"--class-prior {text!r} holds more than one class; repeat the option for each, as in "
                "--class-prior yes=30% --class-prior no=70%."
            )
        if share > 1 and not percent:
            raise ValueError(
                f"--class-prior {text!r} is more than all rows; write {text.strip()}% if you mean per cent, "
                "or a share such as 0.3."
            )
        if name in shares:
            raise ValueError(f"--class-prior names {name!r} twice; give each class once.")
        shares[name] = share / 100 if percent else share
    return shares


def parse_error(text: str | None) -> float | None:
    """What was typed after ``--error``.

    >>> parse_error("10%"), parse_error("0.1"), parse_error(None)
    (0.1, 0.1, None)
    """
    return parse_share(text, "--error", "share of wrong labels")


def parse_share(text: str | None, option: str, what: str = "share") -> float | None:
    """What was typed after an option that takes a share, in per cent or not.

    >>> parse_share("20%", "--until-width")
    0.2
    """
    if text is None:
        return None
    percent = text.strip().endswith("%")
    try:
        share = float(text.strip().rstrip("%")) / (100 if percent else 1)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise ValueError(f"{option} {text!r} is no {what}; give one such as 10% or 0.1.")
    return share
