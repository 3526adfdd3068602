"""The study ``defaults``: what each rule of ``chary label`` is worth where it acts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary.labelling import label_table
from chary.labelling.defaults import DEFAULTS, RULES, Defaults
from chary.options import LabelOptions
from studies.collection import (
    ANY_SOURCE,
    NAMES,
    PAPER_WAYS,
    SECOND,
    WAYS,
    Draw,
    is_possible,
    part_of_table,
)
from studies.findings import signed, told
from studies.paired import Contest, Gains, Place, contest_figure, gains_over
from studies.study import ALL, Method, Results, Study, TextTable

DEFAULT = "default"
# Rules that no draw can show: nothing is audited, and no table has more than 20,000 labels.
_NOT_ASKED = ("boost_many_labels", "self_train_if_clearly_better")
_ASKED = tuple(rule for rule in RULES if rule not in _NOT_ASKED)
_BY_BIAS = {"random labels": ("random", "iid"), "biased labels": ("group", "column", "ssb")}


class Labelled(NamedTuple):
    """The labels that ``chary label`` gives to the rows without one, and the rules that acted."""

    names: NDArray[Any]  # (k,)
    acted: dict[str, dict[str, float]]  # figures by rule


def labels_without(draw: Draw, rule: str = "") -> Labelled:
    """Label with a rule switched off; where it did not act, the labels are those of the default."""
    by_default: Labelled = draw.once(DEFAULT, lambda: _label(draw, DEFAULTS))
    if rule not in by_default.acted:
        return by_default
    labelled = _label(draw, replace(DEFAULTS, switched_off=frozenset({rule})))
    return labelled._replace(acted={rule: by_default.acted[rule]})


def _label(draw: Draw, defaults: Defaults) -> Labelled:
    assert draw.table is not None
    # A label such as "unknown" is a class here.
    classes = np.unique(draw.classes[draw.truth[draw.labeled]]).tolist()
    options = LabelOptions.of(target=draw.table.facts.target, classes=classes, seed=draw.seed)
    outcome = label_table(draw.hidden(), options, defaults=defaults)
    acted = {finding.rule: finding.figures for finding in outcome.findings}
    guesses = outcome.guesses
    if guesses is not None and guesses.kept:
        acted["find_guess_column"] = {}
    others = ~draw.labeled
    names = outcome.labels.classes[outcome.codes[others]]
    return Labelled(names, acted)


def accuracy_and_rules(draw: Draw, labelled: Labelled) -> dict[str, Any]:
    """Measure the accuracy on the rows without a label, and name the rules that acted."""
    truth = draw.classes[draw.truth[~draw.labeled]]
    return {
        "accuracy": float(np.mean(labelled.names.astype(str) == truth.astype(str))),
        "acted": labelled.acted,
    }


# ---------------------------------------------------------------- tables and sentences


def gains_of(rule: str, results: Results, ways: Sequence[str]) -> Gains:
    """Find what a rule gains in each of the draws in which it acts."""
    acts: set[Place] = set()
    for cell, result in results:
        if cell.method == rule and rule in result["acted"]:
            acts.add((cell.dataset, cell.labeling, cell.seed))
    gains = gains_over(results, ways, DEFAULT, rule).by_draw
    return Gains({place: points for place, points in gains.items() if place in acts})


def worth_of_rules(study: Study, results: Results) -> TextTable:
    """The gain of each rule in the draws in which it acts, by how labels were drawn."""
    rows = []
    for rule in _ASKED:
        for way in study.labelings:
            n_draws = sum(cell.method == rule and cell.labeling == way for cell, _ in results)
            if n_draws:
                gains = gains_of(rule, results, [way])
                rows.append([rule, way, f"{len(gains.by_draw)} of {n_draws}", *_figures(gains)])
    caption = (
        "Points that a rule gains in the draws in which it acts: mean ± standard error over "
        "tables, worst and best draw"
    )
    return TextTable(caption, ["Rule", "Labels", "Acts in", "Gain", "Worst", "Best"], rows)


def _figures(gains: Gains) -> list[str]:
    if not gains.by_draw:
        return ["-", "-", "-"]
    best = max(gains.by_draw.values())
    return [_words(gains), signed(gains.worst), signed(best)]


def _words(gains: Gains) -> str:
    """Write the mean with its error, which one table does not give."""
    return gains.words if len(gains.by_table) > 1 else signed(gains.mean)


def headline(study: Study, results: Results) -> str:
    """Say what the rules gain that act on real tables."""
    parts = []
    for rule in _ASKED:
        gains = gains_of(rule, results, WAYS)
        if gains.by_draw:
            parts.append(f"{rule} {_words(gains)} ({len(gains.by_draw)} draws)")
    return told("Points gained by rules where they act on real tables:", parts)


def verdict(study: Study, results: Results, companion: Results) -> list[str]:
    """Say in plain words which rules help where they act, by more than chance would."""
    sentences = []
    for data, ways in (("Real tables", WAYS), ("The paper's data sets", PAPER_WAYS)):
        answers: dict[str, list[str]] = {}
        for rule in _ASKED:
            if any(cell.method == rule and cell.labeling in ways for cell, _ in results):
                gains = gains_of(rule, results, ways)
                n_draws = len(gains.by_draw)
                text = f"{rule} ({_words(gains)}; {n_draws} draws)" if n_draws else rule
                answers.setdefault(_answer(gains), []).append(text)
        if answers:
            parts = [f"{answer}: {', '.join(rules)}" for answer, rules in answers.items()]
            sentences.append(f"{data}. {'. '.join(parts)}.")
    return sentences


def _answer(gains: Gains) -> str:
    """Say whether a gain is more than two standard errors, and on which side of zero."""
    if not gains.by_draw:
        return "Does not act"
    if not gains.is_clear:
        return "No difference beyond chance"
    return "Better" if gains.mean > 0 else "Worse"


ABLATIONS = Study(
    "defaults",
    "What each rule of `chary label` is worth: labels with it and without it",
    (*NAMES, *SECOND, *ALL),
    labelings=(*WAYS, *PAPER_WAYS),
    methods={
        DEFAULT: Method(labels_without, title="chary label"),
        **{rule: Method(labels_without, {"rule": rule}, f"without {rule}") for rule in _ASKED},
    },
    measure=accuracy_and_rules,
    seeds=(0, 1, 2),
    task=part_of_table,
    caption="Accuracy on the rows without a label",
    tables=(worth_of_rules,),
    headline=headline,
    conclude=(verdict,),
    figure=partial(contest_figure, [Contest(rule, DEFAULT, rule) for rule in _ASKED]),
    source=ANY_SOURCE,
    only=is_possible,
)
