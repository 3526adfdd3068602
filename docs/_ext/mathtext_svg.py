"""Draws formulas of docstrings as SVG in the colour of the text; the site needs no script."""

import io
import re
from typing import Any

from docutils import nodes

# What LaTeX knows and matplotlib spells otherwise, in this order.
SPELLINGS = (
    (r"\\tfrac", r"\\frac"),
    (r"\\frac(\w)(\w)", r"\\frac{\1}{\2}"),
    (r"\\(ge|le|ne)(?![a-zA-Z])", r"\\\1q"),
    (r"\\[lr]Vert", r"\\|"),
    (r"\\([Bb]igg?[lr]?|textstyle)(?![a-zA-Z])", ""),
    (r"\\mathcal (\w)", r"\\mathcal{\1}"),
    (r"\\text(?![a-zA-Z])", r"\\mathrm"),
)


def drawn(formula: str) -> str:
    """The SVG of a formula, as a part of a page."""
    from matplotlib import mathtext, rc_context
    from matplotlib.font_manager import FontProperties

    for ours, theirs in SPELLINGS:
        formula = re.sub(ours, theirs, formula)
    file = io.StringIO()
    with rc_context({"svg.fonttype": "path", "mathtext.fontset": "stix", "svg.hashsalt": "chary"}):
        mathtext.math_to_image(
            f"${' '.join(formula.split())}$", file, prop=FontProperties(size=13), format="svg"
        )
    svg = file.getvalue()[file.getvalue().index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # The white ground goes, black becomes the colour of the text around it.
    svg = re.sub(r'<g id="patch_1">.*?</g>', "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r' id="(figure|text)_1"', "", svg)
    return svg.replace("<svg ", '<svg fill="currentColor" role="img" ', 1)


def _inline(self: Any, node: Any) -> None:
    self.body.append(f'<span class="math">{drawn(node.astext())}</span>')
    raise nodes.SkipNode


def _display(self: Any, node: Any) -> None:
    self.body.append(f'<div class="math">{drawn(node.astext())}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer(
        "mathtext", inline_renderers=(_inline, None), block_renderers=(_display, None)
    )
    app.config.html_math_renderer = "mathtext"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
