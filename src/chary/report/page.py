"""The report as one self-contained HTML page: no script, no request, everything from the table escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from chary._words import number, p_value, percent, visible
from chary.report.summary import Hints, Summary, aim_question, judged_steps, next_steps, prior_advice, quality

# The sections of either page in their order: a template of that name shows each.
_SECTIONS = (
    *("audit", "accept", "bias", "classes", "next", "second_look", "importance", "confidence"),
    *("prior", "columns", "settings", "limits"),
)
_SIDES = ("labeled", "unlabeled")
_JUDGED_SECTIONS = ("accuracy", "compared", "classes", "shares", "slices", "accept", "limits")


def render_page(summary: Summary, hints: Hints = Hints()) -> str:  # noqa: B008 - immutable
    """The report of a labelled table as HTML."""
    diagnosis, learned = summary["diagnosis"], summary["confidence"]["learned"]
    stacked = {"learned": learned, "all": np.add(learned, summary["confidence"]["predicted"]).tolist()}
    page = templates_of("chary.report").get_template("page.html")
    return page.render(
        **summary,
        sections=[f"sections/{name}.html" for name in _SECTIONS],
        hints=hints,
        quality=quality(summary),
        steps=next_steps(summary, hints),
        largest_classes=largest_classes(summary["classes"]),
        advice=prior_advice(diagnosis, hints, summary["class_prior"]["told"]),
        question=aim_question(hints, summary["aim"]["name"]),
        outlines=density_outlines(diagnosis),
        lengths=bar_lengths([shift["difference"] for shift in diagnosis["shifts"][:10]]),
        confidences=outlines(stacked, height=160),
        columns_that_matter=_most_important(summary["importance"]["columns"]),
    )


def render_judged(summary: Summary, hints: Hints = Hints()) -> str:  # noqa: B008 - immutable
    """The report of judged labels as HTML."""
    page = templates_of("chary.report").get_template("judged/page.html")
    sections = [f"judged/{name}.html" for name in _JUDGED_SECTIONS]
    return page.render(**summary, sections=sections, hints=hints, steps=judged_steps(summary, hints))


def density_outlines(diagnosis: dict[str, Any]) -> Any:
    """How many labelled and other rows look how much like a labelled one; None if that is not known."""
    density = diagnosis.get("density")
    return outlines(density and {side: density[side] for side in _SIDES})


@cache
def templates_of(package: str) -> Environment:
    """The templates of all pages of a room, with the words that numbers and names are shown in."""
    how: dict[str, Any] = {
        "autoescape": True,
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }
    loader = ChoiceLoader([PackageLoader(package), PackageLoader("chary.report")])
    environment = Environment(loader=loader, **how)
    environment.filters |= {"visible": visible, "percent": percent, "count": "{:,}".format}
    environment.filters |= {"number": number, "p_value": p_value}
    return environment


def largest_classes(classes: list[dict[str, Any]], most: int = 6) -> list[dict[str, Any]]:
    """The classes that most rows were given, each with how many and the length of its bar."""
    found = [{**one, "new": one["learned"] + one["predicted"]} for one in classes]
    found = sorted(found, key=lambda one: -one["new"])[:most]
    return _with_bars(found, "new")


def _most_important(columns: list[dict[str, Any]], most: int = 15) -> list[dict[str, Any]]:
    """The columns that change a label or a probability visibly, each with the length of its bar."""
    return _with_bars([column for column in columns if column["change"] > 0][:most], "change")


def _with_bars(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    lengths = bar_lengths([row[key] for row in rows])
    return [{**row, "length": length} for row, length in zip(rows, lengths, strict=True)]


def outlines(heights: Mapping[str, Sequence[float]] | None, width: int = 640, height: int = 180) -> Any:
    """Outlines of bins of equal width as points of an SVG, one for each side, scaled to a common top.

    >>> outlines({"labeled": [1, 0], "unlabeled": [2, 1]}, width=20, height=8)["labeled"]
    '0,8 0.0,4.2 10.0,4.2 10.0,8.0 20.0,8.0 20,8'
    """
    if heights is None:
        return None
    top = max(1e-12, *(max(values) for values in heights.values()))

    def outline(values: Sequence[float]) -> str:
        step, tops = width / len(values), [f"{height - 0.95 * height * value / top:.1f}" for value in values]
        points = (f"{i * step:.1f},{y} {(i + 1) * step:.1f},{y}" for i, y in enumerate(tops))
        return f"0,{height} {' '.join(points)} {width},{height}"

    return {side: outline(values) for side, values in heights.items()}


def bar_lengths(differences: list[float]) -> list[int]:
    """Per cent of the track that the bar of each difference fills: the largest all of it, infinite ones apart.

    >>> bar_lengths([-4.0, 1.0]), bar_lengths([float("inf"), 2.0])
    ([100, 25], [100, 80])
    """
    finite = [abs(difference) for difference in differences if math.isfinite(difference)]
    whole = max(finite, default=0) / (1 if len(finite) == len(differences) else 0.8) or 1.0
    return [round(100 * min(1.0, abs(difference) / whole)) for difference in differences]
