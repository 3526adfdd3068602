"""The report as one self-contained HTML page: no script, no request, everything from the table escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from chary._words import number, p_value, percent, visible
from chary.report.summary import Hints, Summary, aim_question, judged_steps, next_steps, prior_advice, quality

# The sections of either page in their order: a template of that name shows each.
_SECTIONS = (
    *("audit", "accept", "bias", "classes", "next", "second_look", "importance"),
    *("prior", "columns", "settings", "limits"),
)
# Of the picture of the bias, in units of its SVG.
_WIDTH = 640
_HEIGHT = 180
_JUDGED_SECTIONS = ("accuracy", "compared", "classes", "shares", "slices", "accept", "limits")


def render_page(summary: Summary, hints: Hints = Hints()) -> str:  # noqa: B008 - immutable
    """The report of a labelled table as HTML."""
    diagnosis = summary["diagnosis"]
    page = templates_of("chary.report").get_template("page.html")
    return page.render(
        **summary,
        sections=[f"sections/{name}.html" for name in _SECTIONS],
        hints=hints,
        quality=quality(summary),
        steps=next_steps(summary, hints),
        advice=prior_advice(diagnosis, hints, summary["class_prior"]["told"]),
        question=aim_question(hints, summary["aim"]["name"]),
        outlines=density_outlines(diagnosis["density"]),
    )


def render_judged(summary: Summary, hints: Hints = Hints()) -> str:  # noqa: B008 - immutable
    """The report of judged labels as HTML."""
    page = templates_of("chary.report").get_template("judged/page.html")
    sections = [f"judged/{name}.html" for name in _JUDGED_SECTIONS]
    return page.render(**summary, sections=sections, hints=hints, steps=judged_steps(summary, hints))


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


def density_outlines(density: Mapping[str, Any] | None) -> dict[str, str] | None:
    """Outline how many labelled and other rows look how much like a labelled one; None if that is not known."""
    if density is None:
        return None
    sides = {name: density[name] for name in ("labeled", "unlabeled")}
    top = max(max(heights) for heights in sides.values())
    return {name: outline(heights, top) for name, heights in sides.items()}


def outline(heights: Sequence[float], top: float) -> str:
    """Outline bins of equal width as points of an SVG, where ``top`` is the highest of all outlines.

    >>> outline([2, 1], top=2)
    '0,180 0.0,9.0 320.0,9.0 320.0,94.5 640.0,94.5 640,180'
    """
    step = _WIDTH / len(heights)
    points = [f"0,{_HEIGHT}"]
    for i, height in enumerate(heights):
        y = _HEIGHT - 0.95 * _HEIGHT * height / top
        points += [f"{i * step:.1f},{y:.1f}", f"{(i + 1) * step:.1f},{y:.1f}"]
    return " ".join([*points, f"{_WIDTH},{_HEIGHT}"])
