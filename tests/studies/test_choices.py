"""The studies behind ``chary label``: what they measure, and the tables and sentences made of it."""

from dataclasses import replace

import numpy as np
import pytest

from chary.labelling.diagnose import MILD, REPRESENTATIVE, STRONG
from studies import figures
from studies.choices import LEARNERS, ROUNDS, VERDICTS, on_the_rest
from studies.results import to_csv, to_markdown
from studies.runner import work_out
from studies.study import Task


def test_learners_are_told_apart_by_the_verdict_on_their_labels(blobs):
    cells = [replace(cell, model={"n_steps": 30}) for cell in LEARNERS.cells([blobs], 1) if cell.alpha == 0]
    outcomes = list(work_out(LEARNERS, cells))
    assert [one.reason for one in outcomes] == [""] * 3, outcomes
    assert {one.result["verdict"] for one in outcomes} == {REPRESENTATIVE}
    assert [one.result["n_rounds"] for one in outcomes] == [1, 0, 5]


def test_the_table_of_learners_gives_means_and_the_worst_data_set():
    levels = {"network": 0.8, "mixed": 0.7, "mixed-st": 0.9}
    results = []
    for cell in LEARNERS.cells(["digits", "rice"], 2):
        verdict = STRONG if cell.alpha == 1 else MILD if cell.alpha == 0.65 else REPRESENTATIVE
        loss = (0.2 if cell.dataset == "rice" else 0) + (
            0.3 if verdict == STRONG and "mixed" in cell.method else 0
        )
        results.append((cell, {"accuracy": levels[cell.method] - loss, "verdict": verdict}))
    incomplete = [pair for pair in results if pair[0].method != "network" or pair[0].seed or pair[0].alpha != 1]
    text = to_markdown(LEARNERS, incomplete)
    assert (
        "| Labelled rows | Data sets | Fits | network, 1 round | unlike learners | unlike learners, 5 rounds |"
        in text
    )
    assert f"| {REPRESENTATIVE} | 2 | 12 | 70.0 (60.0) | 60.0 (50.0) | 80.0 (70.0) |" in text
    assert f"| {STRONG} | 2 | 2 | 70.0 (60.0) | 30.0 (20.0) | 50.0 (40.0) |" in text  # whole draws only
    assert (
        f"- Best on average: unlike learners, 5 rounds where labels are {REPRESENTATIVE} (80.0), unlike learners, "
        f"5 rounds where labels are {MILD} (80.0) and network, 1 round where labels are {STRONG} (70.0)."
    ) in text
    figures.draw(LEARNERS, results)


def test_rounds_are_judged_on_the_unlabelled_rows(blobs):
    cells = [replace(cell, model={"n_steps": 30}) for cell in ROUNDS.cells([blobs], 1)]
    assert [cell.options["max_rounds"] for cell in cells] == [0, 1, 2, 5]
    task = Task(cells[0])
    fitted = ROUNDS.methods["csta-tsim"].run(task, **cells[0].options)
    found = on_the_rest(task, fitted)
    right = task.initial.predict(task.X[~task.labeled]) == task.y_true[~task.labeled]
    assert found["rest_accuracy"] == pytest.approx(right.mean())
    confidence = task.initial.predict_confidence(task.X[~task.labeled], "t_similarity")
    assert found["confidence"] == pytest.approx(confidence.mean(), rel=1e-5)
    pairs = confidence[right][:, None] - confidence[~right]
    assert found["auroc"] == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)), rel=1e-5)


def test_the_table_of_rounds_gives_all_three_numbers_and_their_means():
    results = [
        (
            cell,
            {
                "rest_accuracy": 0.6 + 0.02 * cell.options["max_rounds"] + 0.1 * (cell.dataset == "rice"),
                "confidence": 0.5,
                "auroc": None if cell.dataset == "rice" else 0.75,
            },
        )
        for cell in ROUNDS.cells(["dna", "rice"], 2)
    ]
    text = to_markdown(ROUNDS, results)
    assert "| Data set | 0 rounds | 1 rounds | 2 rounds | 5 rounds |" in text
    assert "| DNA | 60.0 / 50.0 / 75.0 | 62.0 / 50.0 / 75.0 |" in text
    assert "| Rice | 70.0 / 50.0 / - |" in text
    assert "| Mean | 65.0 / 50.0 / - |" in text
    assert (
        "after 0, 1, 2 and 5 rounds: 65.0, 67.0, 69.0 and 75.0; mean confidence: 50.0, 50.0, 50.0 and 50.0" in text
    )
    partly = [pair for pair in results if pair[0].dataset == "dna" or pair[0].options["max_rounds"] < 5]
    assert "after 0, 1 and 2 rounds: 65.0, 67.0 and 69.0;" in to_markdown(ROUNDS, partly)
    assert "Mean" not in to_markdown(ROUNDS, results[:8])
    figures.draw(ROUNDS, results)


def test_verdicts_follow_how_the_labels_were_drawn(blobs):
    cells = VERDICTS.cells([blobs], 1)
    assert [cell.labeling for cell in cells] == ["ssb", "random", "stratified", "iid"]
    for cell in cells[1:]:
        (one,) = work_out(VERDICTS, [cell])
        assert (one.reason, one.result["verdict"]) == ("", REPRESENTATIVE)
        assert 0 < one.result["auc"] < 1
        assert 0 < one.result["coverage"] <= 1


def test_the_table_of_verdicts_counts_them():
    results = [
        (
            cell,
            {
                "verdict": STRONG if cell.labeling == "ssb" else MILD if cell.seed == 3 else REPRESENTATIVE,
                "auc": 0.5 + 0.01 * cell.seed,
                "coverage": 0.25,
            },
        )
        for cell in VERDICTS.cells(["rice"], 4)
    ]
    text = to_markdown(VERDICTS, results)
    assert "Verdicts over 4 seeds." in text
    assert "| Rice | with the paper's bias | 0 | 0 | 4 | 0.50 to 0.53 | 25% |" in text
    assert "| Rice | at random from all rows | 3 | 1 | 0 | 0.50 to 0.53 | 25% |" in text
    assert (
        "Taken for representative: 0 of 4 drawn with the paper's bias; 3 of 4 drawn at random from all rows;"
        in text
    )
    assert f"rice,random,diagnosis,{MILD},4,25.0000" in to_csv(VERDICTS, results)
