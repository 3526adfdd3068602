"""What was read and what is known of it in; the first page of a review out: columns, classes, bias, questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from chary.evaluation import MILD, REPRESENTATIVE, accuracy_interval
from chary.report import Hints, aim_question, density_outlines, number_in_units, prior_advice
from chary.review.settings import KINDS, Settings
from chary.tables import cell_texts

_EXAMPLES, _CONTRASTS, _LOOKED_AT = 3, 5, 200
_PRIOR = "choose its share below"
_AIM = "choose “every class counts the same”"


def columns_of(
    frame: pl.DataFrame,
    hidden: Sequence[str],
    columns: Sequence[dict[str, Any]],
    settings: Settings,
    kind: str,
    examples: dict[str, list[str]],
) -> list[dict[str, Any]]:
    """Each column that is not hidden: what it was taken for, once that is known, and some of its cells.

    ``examples`` holds those that were looked for before.
    """
    found = {column["name"]: column for column in columns}
    unknown = {"kind": "", "used": True, "note": "", "doubtful": False}
    shown = []
    for name in frame.columns:
        if name in hidden:
            continue
        about = found.get(name, unknown)
        if name not in examples:
            examples[name] = examples_of(frame[name])
        shown.append(
            {
                "name": name,
                "kind": about["kind"],
                "used": about["used"],
                "note": about["note"],
                "doubtful": about["note"] if about["doubtful"] else "",
                "examples": examples[name],
                "choices": list(KINDS) if kind == "label" else [],
                "chosen": settings.kinds.get(name),
            }
        )
    return shown


def examples_of(cells: pl.Series) -> list[str]:
    """A few different cells."""
    some = cell_texts(cells.slice(0, _LOOKED_AT), 60).drop_nulls()
    return [str(text) for text in some.unique(maintain_order=True).head(_EXAMPLES).to_list()]


def diagnosis_of(summary: dict[str, Any]) -> dict[str, Any]:
    """The verdict, its picture and the columns that differ most."""
    level = {REPRESENTATIVE: "good", MILD: "fair"}.get(summary["verdict"], "bad" if summary["biased"] else "fair")
    return {
        "verdict": summary["verdict"],
        "sentence": summary["sentence"],
        "level": level,
        "outlines": density_outlines(summary["density"]),
        "contrasts": [
            {
                "feature": shift["name"],
                "labeled": number_in_units(shift["labeled"], shift["is_share"]),
                "unlabeled": number_in_units(shift["unlabeled"], shift["is_share"]),
            }
            for shift in summary["shifts"][:_CONTRASTS]
        ],
    }


def questions_of(summary: dict[str, Any] | None, settings: Settings, kind: str) -> dict[str, str]:
    """What only a person can know, asked in plain words; nothing where there is no use in asking."""
    if kind != "label":
        return {"prior": "", "aim": ""}
    hints = Hints(class_prior=_PRIOR, aim=_AIM)
    told = settings.class_prior is not None
    return {
        "prior": "" if summary is None else prior_advice(summary, hints, told),
        "aim": aim_question(hints, settings.aim),
    }


def planned_of(population: int, size: int) -> dict[str, Any]:
    """How many rows to draw, and what they will tell."""
    k = max(2, min(size, population))
    right = round(0.9 * k)
    low, high = accuracy_interval(right, k)
    words = f"If {right} of {k} prove right, accuracy is between {low:.0%} and {high:.0%} (95% interval)."
    return {"k": k, "most": population, "words": words}
