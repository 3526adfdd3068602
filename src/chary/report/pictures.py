"""Figures of a summary in; coordinates of its pictures out, for the SVG of the page."""

from __future__ import annotations

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


def histogram_bars(counts: dict[str, list[int]], width: int = 640, height: int = 160) -> list[dict[str, Any]]:
    """One bar for each bin of the confidence, accepted rows below the others."""
    pairs = list(zip(counts["accepted"], counts["predicted"], strict=True))
    unit = (height - 8) / max(1, *(accepted + other for accepted, other in pairs))
    n_bins = len(pairs)
    return [
        {
            "x": width // n_bins * b + 2,
            "accepted_y": round(height - unit * accepted, 1),
            "accepted_height": round(unit * accepted, 1),
            "other_y": round(height - unit * (accepted + other), 1),
            "other_height": round(unit * other, 1),
            "title": f"{b / n_bins:.2f} to {(b + 1) / n_bins:.2f}: {accepted:,} accepted, {other:,} predicted",
        }
        for b, (accepted, other) in enumerate(pairs)
    ]


def bar_length(difference: float, most: float = 2.0) -> int:
    """Per cent of the track that the bar of a difference fills."""
    return round(min(abs(difference), most) / most * 100)
