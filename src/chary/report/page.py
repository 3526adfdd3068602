"""The report as one self-contained HTML page: no script, no request, everything from the table escaped."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from chary._words import number, p_value, percent, visible
from chary.report.summary import (
    EVIDENCE,
    Hints,
    Summary,
    aim_question,
    in_unit,
    judged_steps,
    next_steps,
    prior_advice,
    quality,
)
from chary.tables.cells import TOPIC

# The sections of either page in their order: a template of that name shows each.
_SECTIONS = (
    *("audit", "accept", "bias", "classes", "next", "second_look", "importance", "confidence"),
    *("prior", "columns", "settings", "limits"),
)
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
        largest_classes=largest_classes(summary["classes"]),
        evidence=EVIDENCE,
        advice=prior_advice(diagnosis, hints, summary["class_prior"]["told"]),
        question=aim_question(hints, summary["aim"]["name"]),
        outlines=density_outlines(diagnosis["density"]),
        pictures=[{**contrast, **contrast_picture(contrast)} for contrast in diagnosis["contrasts"]],
        lengths=bar_lengths([shift["difference"] for shift in diagnosis["shifts"][:10]]),
        bars=histogram_bars(summary["confidence"]),
        columns_that_matter=_most_important(summary["importance"]),
    )


def render_judged(summary: Summary, hints: Hints = Hints()) -> str:  # noqa: B008 - immutable
    """The report of judged labels as HTML."""
    page = templates_of("chary.report").get_template("judged/page.html")
    sections = [f"judged/{name}.html" for name in _JUDGED_SECTIONS]
    return page.render(**summary, sections=sections, hints=hints, steps=judged_steps(summary, hints))


def render_card(summary: Summary, hints: Hints = Hints()) -> str:  # noqa: B008 - immutable
    """A model card of a labelled table: Markdown with the front matter of Hugging Face."""
    card = templates_of("chary.report").overlay(autoescape=False).get_template("card.md")
    return card.render(**summary, quality=quality(summary), steps=next_steps(summary, hints))


def notebook_picture(summary: Summary) -> str:
    """How labelled and other rows differ, drawn for a notebook; nothing if there is no such figure."""
    outlines = density_outlines(summary.get("diagnosis", summary).get("density"))
    if outlines is None:
        return ""
    sides = (("unlabeled", "#2f6fbf", "other rows"), ("labeled", "#c96400", "labelled rows"))
    shapes = [
        f"<polygon points='{outlines[side]}' fill='{colour}' fill-opacity='.4'/>" for side, colour, _ in sides
    ]
    key = ", ".join(f"<span style='color:{colour}'>{words}</span>" for _, colour, words in sides)
    return (
        "<div><svg viewBox='0 0 640 180' width='420' height='110' preserveAspectRatio='none' role='img' "
        f"aria-label='Labelled and other rows'>{''.join(shapes)}</svg><br>{key}</div>"
    )


@cache
def templates_of(package: str) -> Environment:
    """The templates of all pages of a room, with the words that numbers and names are shown in."""
    how: dict[str, Any] = {
        "autoescape": True,
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }
    environment = Environment(loader=PackageLoader(package), **how)
    environment.filters |= {"visible": visible, "percent": percent, "count": "{:,}".format}
    environment.filters |= {"number": number, "p_value": p_value}
    return environment


def largest_classes(classes: list[dict[str, Any]], most: int = 6) -> list[dict[str, Any]]:
    """The classes that most rows were given, each with how many and the length of its bar."""
    found = [{**one, "new": one["learned"] + one["predicted"]} for one in classes]
    found = sorted(found, key=lambda one: -one["new"])[:most]
    return _with_bars(found, "new")


def _most_important(importance: dict[str, Any] | None, most: int = 15) -> list[dict[str, Any]]:
    """The columns that change a label or a probability visibly, each with the length of its bar."""
    columns = [column for column in (importance or {"columns": []})["columns"] if column["change"] > 0][:most]
    return _with_bars(columns, "change")


def _with_bars(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    lengths = bar_lengths([row[key] for row in rows])
    return [{**row, "length": length} for row, length in zip(rows, lengths, strict=True)]


def density_outlines(density: dict[str, list[float]] | None, width: int = 640, height: int = 180) -> Any:
    """Outlines of the densities of labelled and unlabelled rows as SVG points, scaled to a common top."""
    if density is None:
        return None
    top = max(*density["labeled"], *density["unlabeled"], 1e-12)
    step = width / (len(density["grid"]) - 1)

    def outline(values: list[float]) -> str:
        points = (f"{i * step:.1f},{height - value / top * (height - 8):.1f}" for i, value in enumerate(values))
        return f"0,{height} {' '.join(points)} {width},{height}"

    return {side: outline(density[side]) for side in ("labeled", "unlabeled")}


def contrast_picture(contrast: dict[str, Any], width: int = 320, height: int = 110) -> dict[str, Any]:
    """How a column is spread on either side: outlines of its bins, or a pair of bars for each of its groups."""
    sides = contrast["labeled"], contrast["unlabeled"]
    top = max(*sides[0], *sides[1], 1e-12)
    if contrast["groups"]:
        rows = zip(contrast["groups"], *sides, strict=True)
        return {
            "bars": [
                {"name": name, "labeled": one, "unlabeled": other, "lengths": [_of(one, top), _of(other, top)]}
                for name, one, other in rows
            ]
        }

    def outline(shares: list[float]) -> str:
        step = width / len(shares)
        tops = [f"{height - share / top * (height - 6):.1f}" for share in shares]
        points = (f"{i * step:.1f},{y} {(i + 1) * step:.1f},{y}" for i, y in enumerate(tops))
        return f"0,{height} {' '.join(points)} {width},{height}"

    low, high = (in_unit(contrast["edges"][place], contrast["unit"]) for place in (0, -1))
    ends = ["less", "more"] if contrast["unit"] == TOPIC else [f"≤ {low}", f"≥ {high}"]
    return {"outlines": {"labeled": outline(sides[0]), "unlabeled": outline(sides[1])}, "ends": ends}


def histogram_bars(counts: dict[str, list[int]], width: int = 640, height: int = 160) -> list[dict[str, Any]]:
    """One bar for each bin of the confidence, rows that the model learned from below the others."""
    pairs = list(zip(counts["learned"], counts["predicted"], strict=True))
    unit = (height - 8) / max(1, *(learned + other for learned, other in pairs))
    n_bins = len(pairs)
    return [
        {
            "x": width // n_bins * b + 2,
            "learned_y": round(height - unit * learned, 1),
            "learned_height": round(unit * learned, 1),
            "other_y": round(height - unit * (learned + other), 1),
            "other_height": round(unit * other, 1),
            "title": f"{b / n_bins:.2f} to {(b + 1) / n_bins:.2f}: {learned:,} learned, {other:,} predicted",
        }
        for b, (learned, other) in enumerate(pairs)
    ]


def bar_lengths(differences: list[float]) -> list[int]:
    """Per cent of the track that the bar of each difference fills: the largest all of it, infinite ones apart.

    >>> bar_lengths([-4.0, 1.0]), bar_lengths([float("inf"), 2.0])
    ([100, 25], [100, 80])
    """
    finite = [abs(difference) for difference in differences if math.isfinite(difference)]
    whole = max(finite, default=0) / (1 if len(finite) == len(differences) else 0.8)
    return [_of(abs(difference), whole) if math.isfinite(difference) else 100 for difference in differences]


def _of(part: float, whole: float) -> int:
    return round(100 * part / whole) if whole > 0 else 0
