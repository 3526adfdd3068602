"""Figures of a summary in; coordinates of its pictures out, for the SVG of the page."""

from __future__ import annotations

import math
from typing import Any


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

    return {
        "outlines": {"labeled": outline(sides[0]), "unlabeled": outline(sides[1])},
        "ends": [contrast["edges"][0], contrast["edges"][-1]],
    }


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
