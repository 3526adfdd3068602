"""A labelled table in; one self-contained HTML page out: no script, no request, everything escaped."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import sklearn
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray

from chary import __version__
from chary._words import p_value, percent, ratio, visible
from chary.evaluation import MILD, REPRESENTATIVE, STRONG, Density, FeatureShift, expected_calibration_error
from chary.jobs import ACCEPTED, GIVEN, MIXED, NETWORK, PREDICTED, LabeledTable, advice
from chary.tables import TablePreparation

_N_BINS, _N_SHIFTS = 20, 10
# Of the rows to label next: columns, those of them that name the row, and characters of a cell.
_N_CELLS, _N_NAMES, _CELL = 6, 2, 20
_LEARNERS = {
    MIXED: "two linear models and trees, which count twice",
    NETWORK: "a neural network with five diverse heads",
}
_TONES = {REPRESENTATIVE: "good", MILD: "fair", STRONG: "bad"}


def render_report(result: LabeledTable) -> str:
    """The report of ``label_table`` as HTML."""
    environment = Environment(
        loader=PackageLoader("chary.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": visible, "percent": percent, "count": "{:,}".format, "fraction": ratio}
    return environment.get_template("report.html").render(**_figures(result))


def _figures(result: LabeledTable) -> dict[str, Any]:
    """All that the template shows, as text, numbers and coordinates."""
    preparation, classifier = result.model[0], result.model[-1]
    unlabeled = ~result.labels.labeled
    return {
        "name": result.table.name,
        "target": result.target,
        "n_rows": len(result.codes),
        "n_labeled": int(result.labels.labeled.sum()),
        "n_unlabeled": int(unlabeled.sum()),
        "n_accepted": int((result.source == ACCEPTED).sum()),
        "n_predicted": int((result.source == PREDICTED).sum()),
        "diagnosis": result.diagnosis,
        "tone": _TONES.get(result.diagnosis.verdict, "fair"),
        "density": _density_lines(result.diagnosis.density),
        "shifts": [_shift(shift, preparation) for shift in result.diagnosis.shifts[:_N_SHIFTS]],
        "classes": _class_rows(result),
        "histogram": _histogram(result.confidence[unlabeled], result.source[unlabeled] == ACCEPTED),
        "levels": result.levels,
        "audit": result.audit,
        "audit_size": result.audit_size,
        "audit_command": result.audit_command,
        "prior": result.prior,
        "mixed": result.settings["learner"] == MIXED,
        "advice": advice(result.diagnosis.verdict, result.prior.told),
        "history": classifier.history_,
        "termination": classifier.termination_condition_,
        "held_out": _held_out(result),
        "next_rows": _next_rows(result),
        "next_columns": [visible(name, _CELL) for name in _shown_columns(result)],
        "columns": preparation.columns_,
        "settings": {
            "File": result.table.name,
            "Target column": result.target,
            "Seed": result.settings["seed"],
            "Learner": _LEARNERS[result.settings["learner"]],
            "Rounds of self-training": result.settings["rounds"],
            "Features": len(preparation.get_feature_names_out()),
            "Time": f"{sum(result.seconds.values()):.1f} s",
            "Versions": f"chary {__version__}, scikit-learn {sklearn.__version__}, NumPy {np.__version__}, "
            f"Python {platform.python_version()}",
        },
    }


def _class_rows(result: LabeledTable) -> list[dict[str, Any]]:
    rows = []
    for code, name in enumerate(result.labels.classes):
        of_class = result.codes == code
        counts = {
            source: int((of_class & (result.source == source)).sum()) for source in (GIVEN, ACCEPTED, PREDICTED)
        }
        n_given = max(1, int(result.labels.labeled.sum()))
        n_new = max(1, int((~result.labels.labeled).sum()))
        shares = {
            "given_share": counts[GIVEN] / n_given,
            "new_share": (counts[ACCEPTED] + counts[PREDICTED]) / n_new,
        }
        rows.append({"name": name, **counts, **shares})
    return rows


def _shift(shift: FeatureShift, preparation: TablePreparation) -> dict[str, Any]:
    """A feature's means in the table's own units, and the length of its bar."""
    feature = preparation.features()[shift.feature]

    def text(value: float) -> str:
        if feature.indicator:
            return percent(value)
        number = feature.in_units(value)
        return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.4g}"

    return {
        "name": shift.name,
        "labeled": text(shift.labeled_mean),
        "unlabeled": text(shift.unlabeled_mean),
        "difference": f"{shift.difference:+.2f}" if np.isfinite(shift.difference) else "∞",
        "width": round(min(abs(shift.difference), 2.0) / 2 * 100),
        "p_value": p_value(shift.p_value),
    }


def _held_out(result: LabeledTable) -> dict[str, Any] | None:
    judged = result.judged
    if not len(judged.correct):
        return None
    return {
        "n": len(judged.correct),
        "accuracy": float(judged.correct.mean()),
        "probability": float(judged.probability.mean()),
        "calibration_error": expected_calibration_error(judged.probability, judged.correct),
        "biased": result.diagnosis.verdict in (MILD, STRONG),
    }


def _shown_columns(result: LabeledTable) -> list[str]:
    """Columns to know a row by: what names it, then what differs most."""
    preparation = result.model[0]
    names = [column.name for column in preparation.columns_ if column.kind == "identifier"][:_N_NAMES]
    of_feature = [feature.column for feature in preparation.features()]
    by_shift = [of_feature[shift.feature] for shift in result.diagnosis.shifts]
    return list(dict.fromkeys([*names, *by_shift, *of_feature]))[:_N_CELLS]


def _cell(value: object) -> str:
    return "" if value is None else visible(f"{value:.6g}" if isinstance(value, float) else value, _CELL)


def _next_rows(result: LabeledTable) -> list[dict[str, Any]]:
    frame = result.table.frame.select(_shown_columns(result))[result.next_rows]
    return [
        {
            "row": int(row) + 1,
            "label": visible(result.labels.classes[result.codes[row]], _CELL),
            "confidence": f"{result.confidence[row]:.2f}",
            "cells": [_cell(cell) for cell in cells],
        }
        for row, cells in zip(result.next_rows, frame.rows(), strict=True)
    ]


def _density_lines(density: Density | None, width: int = 640, height: int = 180) -> dict[str, str] | None:
    """Outlines of both densities as SVG points, scaled to a common top."""
    if density is None:
        return None
    top = max(density.labeled.max(), density.unlabeled.max(), 1e-12)
    x = np.linspace(0, width, len(density.grid))

    def outline(values: NDArray[Any]) -> str:
        y = height - values / top * (height - 8)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        return f"0,{height} {points} {width},{height}"

    return {"labeled": outline(density.labeled), "unlabeled": outline(density.unlabeled)}


def _histogram(confidence: NDArray[Any], accepted: NDArray[Any], height: int = 160) -> list[dict[str, Any]]:
    """One bar for each twentieth of the confidence, accepted rows below the others."""
    bins = np.clip((confidence * _N_BINS).astype(int), 0, _N_BINS - 1)
    n_accepted = np.bincount(bins[accepted], minlength=_N_BINS)
    n_other = np.bincount(bins[~accepted], minlength=_N_BINS)
    unit = (height - 8) / max(1, int((n_accepted + n_other).max()))
    return [
        {
            "x": 32 * b + 2,
            "accepted_y": round(height - unit * n_accepted[b], 1),
            "accepted_height": round(unit * n_accepted[b], 1),
            "other_y": round(height - unit * (n_accepted[b] + n_other[b]), 1),
            "other_height": round(unit * n_other[b], 1),
            "title": f"{b / _N_BINS:.2f} to {(b + 1) / _N_BINS:.2f}: "
            f"{n_accepted[b]:,} accepted, {n_other[b]:,} predicted",
        }
        for b in range(_N_BINS)
    ]
