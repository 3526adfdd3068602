"""A summary in; its pictures with matplotlib out, drawn only when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LABELLED, _OTHER = "#c96400", "#2f6fbf"


class Plots:
    """The pictures of a result; each draws on the axes given, or on new ones, and returns them."""

    def __init__(self, summary: Mapping[str, Any]) -> None:
        self._summary = summary

    def bias(self, ax: Any = None) -> Any:
        """How much labelled and other rows look like a labelled one: alike, if the outlines coincide.

        Drawn on ``ax``, or on new axes.
        """
        diagnosis = self._summary.get("diagnosis", self._summary)
        density = diagnosis["density"]
        ax = _axes(ax)
        if density is None:
            ax.set_title(diagnosis["verdict"])
            return ax
        for side, name, colour in (("unlabeled", "other rows", _OTHER), ("labeled", "labelled rows", _LABELLED)):
            ax.fill_between(density["grid"], density[side], color=colour, alpha=0.25)
            ax.plot(density["grid"], density[side], color=colour, label=name)
        ax.set(xlabel="looks like a labelled row →", yticks=[], ylim=(0, None), title=diagnosis["verdict"])
        ax.legend()
        return ax

    def confidence(self, ax: Any = None) -> Any:
        """How many new labels have which confidence, drawn on ``ax`` or on new axes."""
        counts = self._summary.get("confidence")
        if counts is None:
            raise ValueError("A diagnosis labels no row, so it has no confidence to show; label the table first.")
        ax = _axes(ax)
        n_bins = len(counts["predicted"])
        left = [b / n_bins for b in range(n_bins)]
        width = {"width": 0.9 / n_bins, "align": "edge"}
        if any(counts["learned"]):
            ax.bar(left, counts["learned"], color=_LABELLED, label="learned", **width)
        ax.bar(left, counts["predicted"], bottom=counts["learned"], color=_OTHER, label="predicted", **width)
        ax.set(xlabel="confidence", ylabel="rows", xlim=(0, 1))
        ax.legend()
        return ax


def _axes(ax: Any) -> Any:
    """Axes to draw on."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("Pictures need matplotlib; install it with: pip install 'chary[plots]'") from None
    return plt.subplots(figsize=(7, 3))[1]
