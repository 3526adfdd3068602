"""The study of the default's rules: who is labelled again, and what the table says of it."""

from dataclasses import replace

import numpy as np
import pytest

from chary.labelling import label_table
from chary.labelling.defaults import DEFAULTS
from chary.options import LabelOptions
from studies.ablations import ABLATIONS, DEFAULT, accuracy_and_rules, labels_without
from studies.collection import part_of_table

LEANING = "lean_to_commonest_class"
BEYOND = "leave_out_columns_beyond_labels"


@pytest.mark.usefixtures("quick_learners")
def test_a_rule_that_acted_is_switched_off_and_any_other_changes_nothing(monkeypatch):
    always_lean = replace(DEFAULTS, lean_p=1.1)
    monkeypatch.setattr("studies.ablations.DEFAULTS", always_lean)
    cell = ABLATIONS.cells(["tumours"], 1)[0]
    draw = part_of_table(cell)
    by_default = labels_without(draw)
    assert list(by_default.acted) == [LEANING]
    assert labels_without(draw, "leave_out_useless_texts") is by_default

    without_lean = labels_without(draw, LEANING)
    no_lean = replace(always_lean, switched_off=frozenset({LEANING}))
    options = LabelOptions.of(target="diagnosis", seed=cell.seed)
    outcome = label_table(draw.hidden(), options, defaults=no_lean)
    others = np.flatnonzero(~draw.labeled)
    np.testing.assert_array_equal(without_lean.names, outcome.labels.classes[outcome.codes[others]])
    assert (without_lean.names != by_default.names).any()

    result = accuracy_and_rules(draw, without_lean)
    truth = draw.classes[draw.truth[others]]
    assert result["accuracy"] == pytest.approx(np.mean(without_lean.names == truth))
    assert list(result["acted"]) == [LEANING]


def test_the_table_counts_only_draws_in_which_a_rule_acts():
    right = {
        # By table: with the rule, without it, and whether it acts.
        "airports": (0.7, 0.6, True),
        "cars": (0.8, 0.77, True),
        "planes": (0.5, 0.5, False),
    }
    results = []
    for cell in ABLATIONS.cells(list(right), 1, [DEFAULT, BEYOND]):
        if cell.labeling == "column":
            with_rule, without_rule, acts = right[cell.dataset]
            accuracy = with_rule if cell.method == DEFAULT else without_rule
            acted = {BEYOND: {}} if acts else {}
            results.append((cell, {"accuracy": accuracy, "acted": acted}))
    (table,) = ABLATIONS.tables
    assert table(ABLATIONS, results).rows == [
        [BEYOND, "column", "2 of 3", "+6.5 ± 3.5", "+3.0", "+10.0"]
    ]
    assert ABLATIONS.findings(results) == [
        f"Points gained by rules where they act on real tables: {BEYOND} +6.5 ± 3.5 (2 draws).",
        f"Real tables. No difference beyond chance: {BEYOND} (+6.5 ± 3.5; 2 draws).",
    ]
