"""A summary in; one self-contained HTML page, or a few lines of HTML, out: no script, no request, all escaped."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from chary._words import number, p_value, percent, ratio, visible
from chary.report.evidence import NATURAL
from chary.report.hints import Hints, aim_question, prior_advice
from chary.report.pictures import bar_lengths, contrast_picture, density_outlines, histogram_bars
from chary.report.summary import SECTIONS, Summary


def render_page(summary: Summary, hints: Hints = Hints()) -> str:  # noqa: B008 - immutable
    """The report of a labelled table as HTML."""
    diagnosis = summary["diagnosis"]
    return (
        templates()
        .get_template("page.html")
        .render(
            **summary,
            sections=SECTIONS,
            hints=hints,
            evidence=NATURAL,
            advice=prior_advice(diagnosis, hints, summary["class_prior"]["told"]),
            question=aim_question(hints, summary["aim"]["name"]),
            outlines=density_outlines(diagnosis["density"]),
            pictures=[{**contrast, **contrast_picture(contrast)} for contrast in diagnosis["contrasts"]],
            lengths=bar_lengths([shift["difference"] for shift in diagnosis["shifts"][:10]]),
            bars=histogram_bars(summary["confidence"]),
            columns_that_matter=_most_important(summary["importance"]),
            told_classes=_most_predicted(summary["class_prior"]),
        )
    )


def render_snippet(figures: dict[str, Any]) -> str:
    """The few lines that a notebook shows: see ``chary.report.brief``."""
    return templates().get_template("snippet.html").render(**figures)


@cache
def templates() -> Environment:
    """The templates of all pages, with the words that numbers and names are shown in."""
    environment = Environment(
        loader=PackageLoader("chary.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "visible": visible,
        "percent": percent,
        "count": "{:,}".format,
        "fraction": ratio,
        "number": number,
        "p_value": p_value,
        "own_units": number_in_units,
    }
    return environment


def _most_predicted(prior: dict[str, Any], most: int = 6) -> list[int]:
    """Which classes to show: that whose share is varied, and those that are predicted most, in their order."""
    shares = next(level["predicted"] for level in prior["levels"] if level["factor"] == 1)
    varied = prior["classes"].index(prior["class"])
    order = sorted(range(len(shares)), key=lambda code: (code != varied, -shares[code]))
    return sorted(order[:most])


def _most_important(importance: dict[str, Any] | None, most: int = 15) -> list[dict[str, Any]]:
    """The columns that change a label or a probability visibly, each with the length of its bar."""
    columns = [column for column in (importance or {"columns": []})["columns"] if column["change"] > 0][:most]
    lengths = bar_lengths([column["change"] for column in columns])
    return [{**column, "length": length} for column, length in zip(columns, lengths, strict=True)]


def number_in_units(number: float, is_share: bool = False) -> str:
    """The mean of a feature as its column writes it.

    >>> number_in_units(0.1, True), number_in_units(12345.6, False), number_in_units(-0.1, False)
    ('10%', '12,346', '-0.1')
    """
    if is_share:
        return percent(number)
    return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.4g}"
