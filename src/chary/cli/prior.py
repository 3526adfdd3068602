"""What was typed after ``--class-prior`` in; the share of each class out."""

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
