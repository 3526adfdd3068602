"""Reports of ``chary label`` with the truth beside them in; how far each of their figures could be trusted out."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np

from chary.evaluation import MILD, REPRESENTATIVE, STRONG, UNKNOWN
from chary.studies.study import LABELINGS, Results, Study, TextTable
from chary.studies.tables.methods import REPORT

# More points too good than this is more than people take for granted.
_MUCH = 0.05

Reports = list[dict[str, Any]]


def held_out_and_truth(study: Study, results: Results) -> TextTable:
    """By labelling and verdict: accuracy on held-out labels, the truth, and where it lies beside the interval."""
    by_kind: dict[tuple[str, str], Reports] = defaultdict(list)
    for labeling, report in _reports(results):
        by_kind[labeling, report["verdict"]].append(report)
    rows = []
    for labeling in study.labelings:
        for verdict in (REPRESENTATIVE, MILD, STRONG, UNKNOWN):
            if found := by_kind.get((labeling, verdict)):
                rows.append([labeling, verdict, *_row(found)])
    heads = ["Labels", "Verdict", "Reports", "Held-out", "True", "Below", "Within", "Above", "Too good"]
    caption = (
        "What the reports said: accuracy on held-out labels and of the labels made, in percent; in how many "
        "reports the truth is below, within and above the 95 % interval of the held-out accuracy, and in how "
        "many the held-out accuracy is more than 5 points too good"
    )
    return TextTable(caption, heads, rows)


def _row(found: Reports) -> list[str]:
    said, true = (100 * np.mean([report[name] for report in found]) for name in ("held_out", "accuracy"))
    sides = Counter(_side(report) for report in found)
    too_good = sum(report["held_out"] - report["accuracy"] > _MUCH for report in found)
    counts = [sides["below"], sides["within"], sides["above"], too_good]
    return [str(len(found)), f"{said:.1f}", f"{true:.1f}", *map(str, counts)]


def promised_errors(study: Study, results: Results) -> TextTable:
    """By labelling and share of rows accepted: the limit given, the true error, how often that is larger."""
    rows = []
    found = _reports(results)
    for labeling in study.labelings:
        levels: dict[float, list[dict[str, Any]]] = defaultdict(list)
        for of, report in found:
            for level in report["levels"]:
                if of == labeling and level["error_high"] is not None:
                    levels[level["share"]].append(level)
        for share, here in levels.items():
            error, high, true = (
                100 * np.mean([x[name] for x in here]) for name in ("error", "error_high", "true_error")
            )
            passed = sum(x["true_error"] > x["error_high"] for x in here)
            numbers = [f"{error:.1f}", f"{high:.1f}", f"{true:.1f}", f"{passed} of {len(here)}"]
            rows.append([labeling, f"{100 * share:.0f} %", *numbers])
    heads = ["Labels", "Surest rows", "Error held out", "Up to (95 %)", "True error", "Limit passed"]
    return TextTable("What accepting the surest rows was said to mean, and what it meant, in percent", heads, rows)


def trust(study: Study, results: Results, companion: Results) -> list[str]:
    """What the figures of a report are worth, in sentences."""
    found = _reports(results)
    if not found:
        return []
    natural = [report for labeling, report in found if labeling != "random"]
    random = [report for labeling, report in found if labeling == "random"]
    said = []
    for words, reports in ((LABELINGS["random"], random), ("labels from a group or picked by a column", natural)):
        if reports:
            said += [_sides(words, reports), _limits(words, reports)]
    for verdict in (REPRESENTATIVE, MILD, STRONG):
        reports = [report for report in natural if report["verdict"] == verdict]
        if reports:
            said.append(_sides(f"labels from a group or picked by a column that look {verdict}", reports))
    empty = [report for _, report in found if report["classes_without_rows"]]
    said.append(f"A class that has labels received no row in {len(empty)} of {len(found)} reports.")
    return said


def _sides(words: str, reports: Reports) -> str:
    sides = Counter(_side(report) for report in reports)
    gap = 100 * np.mean([report["held_out"] - report["accuracy"] for report in reports])
    too_good = sum(report["held_out"] - report["accuracy"] > _MUCH for report in reports)
    return (
        f"With {words} the accuracy on held-out labels is off by {gap:+.1f} points on average (more than 5 too "
        f"good in {too_good} of {len(reports)} reports); the truth is below its 95 % interval in "
        f"{sides['below']}, within in {sides['within']}, above in {sides['above']}."
    )


def _limits(words: str, reports: Reports) -> str:
    levels = [level for report in reports for level in report["levels"] if level["error_high"] is not None]
    passed = sum(level["true_error"] > level["error_high"] for level in levels)
    share = f"{100 * passed / len(levels):.0f} %" if levels else "none"
    return f'With {words} the true error passes its limit "up to" in {share} of {len(levels)} lines.'


def _side(report: dict[str, Any]) -> str:
    if report["accuracy"] < report["held_out_low"]:
        return "below"
    return "above" if report["accuracy"] > report["held_out_high"] else "within"


def _reports(results: Results) -> list[tuple[str, dict[str, Any]]]:
    """Labelling and figures of every report that had labels to hold out."""
    return [(cell.labeling, result) for cell, result in results if cell.method == REPORT and "held_out" in result]
