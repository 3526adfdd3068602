"""What reports said and what was true: sides of the interval, limits passed, classes without rows."""

import pytest

from chary.evaluation import REPRESENTATIVE, STRONG
from chary.studies.tables.study import TABLES
from chary.studies.tables.trust import held_out_and_truth, promised_errors, trust


def said(accuracy, verdict, *, high=0.2, true=0.1, empty=()):
    return {
        "accuracy": accuracy,
        "verdict": verdict,
        "held_out": 0.8,
        "held_out_low": 0.7,
        "held_out_high": 0.9,
        "levels": [
            {"share": 1.0, "error": 0.1, "error_high": high, "true_error": true},
            {"share": 0.5, "error": None, "error_high": None, "true_error": 0.0},
        ],
        "classes_without_rows": list(empty),
    }


@pytest.fixture(scope="module")
def results():
    cells = [cell for cell in TABLES.cells(["hotel", "weather"], 1) if cell.method == "report"]
    outcomes = {
        ("hotel", "random"): said(0.8, REPRESENTATIVE),
        ("weather", "random"): said(0.95, REPRESENTATIVE),
        ("hotel", "group"): said(0.6, STRONG, true=0.3),
        ("weather", "group"): said(0.71, STRONG),
        ("hotel", "column"): said(0.78, REPRESENTATIVE, true=0.3, empty=["rare"]),
    }
    return [(cell, outcomes[key]) for cell in cells if (key := (cell.dataset, cell.labeling)) in outcomes]


def test_held_out_accuracy_is_held_against_the_truth(results):
    table = held_out_and_truth(TABLES, results)
    assert table.rows == [
        ["random", REPRESENTATIVE, "2", "80.0", "87.5", "0", "1", "1", "0"],
        ["group", STRONG, "2", "80.0", "65.5", "1", "1", "0", "2"],
        ["column", REPRESENTATIVE, "1", "80.0", "78.0", "0", "1", "0", "0"],
    ]


def test_limits_are_held_against_the_true_error_where_there_are_any(results):
    assert promised_errors(TABLES, results).rows == [
        ["random", "100 %", "10.0", "20.0", "10.0", "0 of 2"],
        ["group", "100 %", "10.0", "20.0", "20.0", "1 of 2"],
        ["column", "100 %", "10.0", "20.0", "30.0", "1 of 1"],
    ]


def test_it_is_said_in_sentences(results):
    sentences = trust(TABLES, results, ())
    assert sentences[0] == (
        "With labels drawn at random from all rows the accuracy on held-out labels is off by -7.5 points on "
        "average (more than 5 too good in 0 of 2 reports); the truth is below its 95 % interval in 0, within in "
        "1, above in 1."
    )
    assert 'picked by a column the true error passes its limit "up to" in 67 % of 3 lines.' in sentences[3]
    assert "that look strongly biased the accuracy on held-out labels is off by +14.5 points" in sentences[5]
    assert sentences[-1] == "A class that has labels received no row in 1 of 5 reports."
    assert trust(TABLES, [], ()) == []


def test_reports_that_held_nothing_out_are_left_out(results):
    cell, report = results[0]
    without = {key: value for key, value in report.items() if not key.startswith("held_out")}
    assert trust(TABLES, [(cell, without)], ()) == []
