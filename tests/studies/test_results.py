"""Results: summaries against plain NumPy, tables beside the paper's, files that round-trip."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import log_loss

from studies import STUDIES, Method, Metric, Study, average_ranks, draw, means_table, paired_tests
from studies.methods import TABLE
from studies.results import (
    import_results,
    published,
    results_of,
    summarize,
    to_csv,
    to_markdown,
    write_report,
)
from studies.runner import run
from studies.store import Store

SSB = STUDIES["table-ssb"]


def made_up(study, names, value_of, n_seeds=None):
    """Results as if the study had been run: value_of(cell, i) is the accuracy of the i-th seed."""
    cells = study.cells(names, n_seeds)
    return [
        (cell, {"accuracy": value_of(cell, study.seeds.index(cell.seed)), "stopped": "no_change"})
        for cell in cells
    ]


@pytest.fixture
def results():
    """Make results: T-similarity is +5 on Digits and -5 on DNA against softmax, on every seed."""

    def value(cell, i):
        gain = 0.05 if cell.dataset == "digits" else -0.05
        return (
            0.6
            + 0.01 * i
            + (gain if "tsim" in cell.method else 0.02 if "softmax" in cell.method else 0)
        )

    return made_up(SSB, ["digits", "dna"], value)


def test_means_and_deviations_are_those_of_numpy(results):
    line = next(
        x for x in summarize(SSB, results) if (x.dataset, x.method) == ("digits", "pl-tsim")
    )
    numbers = 100 * np.array(
        [
            result["accuracy"]
            for cell, result in results
            if (cell.dataset, cell.method) == line[:3:2]
        ]
    )
    assert (line.mean, line.std) == pytest.approx((numbers.mean(), numbers.std(ddof=0)))
    assert published(SSB, line) == (78.23, 4.1) or published(SSB, line)[0] == pytest.approx(
        78.2, abs=0.05
    )


def test_missing_cells_leave_gaps(tmp_path, results):
    part = [
        (cell, result)
        for cell, result in results
        if cell.method != "csta-tsim" or cell.dataset != "dna"
    ]
    row = next(line for line in to_markdown(SSB, part).splitlines() if line.startswith("| DNA"))
    assert row.split("|")[6].strip() == ""
    store = Store(tmp_path)
    cells = SSB.cells(["digits"], 1)
    store.write(cells[0].content(), {"accuracy": 0.5})
    assert results_of(cells, store) == [(cells[0], {"accuracy": 0.5})]


def test_a_report_is_the_same_bytes_each_time_and_holds_all_cells(tmp_path):
    results, out = (
        [(cell, {"accuracy": 0.5}) for cell in SSB.cells(["digits"], 1)],
        tmp_path / "a" / "b",
    )
    files = write_report(SSB, results, out)
    assert [path.name for path in files] == [
        "report.md",
        "results.csv",
        "cells.json.gz",
        "figure.png",
        "report.tex",
        "figure.pdf",
    ]
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    assert set(first) == {path.name for path in files}  # nothing else, no remains
    write_report(SSB, results, out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first
    assert import_results(out / "cells.json.gz") == results
    frame = import_results(out / "cells.json.gz").to_frame()
    assert len(frame) == len(results)
    assert frame["accuracy"].tolist() == [result["accuracy"] for _, result in results]
    assert frame["method"].tolist() == [cell.method for cell, _ in results]


def losses(task, fitted, floor):
    """An own measure as users write it: NumPy numbers, and NaN where there is none."""
    nll = log_loss(task.y_test, fitted.predict_proba(task.X_test).clip(floor))
    return {
        "nll": np.float32(nll),
        "n_rows": np.int64(len(task.X_test)),
        "is_good": np.bool_(nll < 1),
        "auroc": np.float64("nan" if task.cell.seed == 1 else 0.75),
    }


def test_an_own_measure_has_a_unit_and_a_direction(blobs, tmp_path, inline):
    study = Study(
        "mine",
        "",
        (blobs,),
        ("ssb",),
        {name: Method(TABLE["erm"].run) for name in ("pl-softmax", "pl-tsim")},
        partial(losses, floor=1e-6),
        metric="nll",
        caption="Negative log-likelihood",
        metrics={"nll": Metric("nats", lower_is_better=True), "n_rows": Metric("rows")},
    )
    cells = [replace(cell, model={"n_steps": 20}) for cell in study.cells(n_seeds=3)]
    store = Store(tmp_path)
    assert run(study, cells, store).failed == []
    results = results_of(cells, store)
    (nll,) = {round(result["nll"], 6) for cell, result in results if cell.seed == 0}
    assert 0 < nll < 1
    assert results[0][1]["is_good"] is True

    report = to_markdown(replace(study, paper=SSB.paper), results)  # which has accuracies only
    assert "Negative log-likelihood in nats (lower is better), mean" in report
    in_csv = {tuple(line.split(",")[2:6]) for line in to_csv(study, results).splitlines()[1:]}
    assert ("pl-tsim", "n_rows", "3", "50.0000") in in_csv  # not 5,000 percent
    assert ("pl-tsim", "auroc", "2", "75.0000") in in_csv  # without the seed that has none
    assert draw(study, results).get_xlabel() == "Negative log-likelihood (nats)"

    # The lower one is bold, with the digits that it deserves.
    worse = [
        (cell, {**result, "nll": result["nll"] + 0.1 * (cell.method == "pl-tsim")})
        for cell, result in results
    ]
    (row,) = [line for line in to_markdown(study, worse).splitlines() if "blobs" in line]
    softmax, tsim = row.split("|")[2:4]
    assert softmax.strip().startswith("**0.")
    assert "**" not in tsim
    assert len(tsim.split("±")[0].strip()) == 5


def test_a_number_that_no_result_has_is_told_in_a_sentence(blobs):
    study = Study("mine", "", (blobs,), ("ssb",), metric="nnl")
    tested = replace(study, tables=(means_table, average_ranks, paired_tests))

    def report_of(result, study=study):
        results = [(cell, result) for cell in study.cells(n_seeds=1)]
        draw(study, results)  # an empty figure, without a warning
        return to_markdown(study, results)

    assert "No result has a number 'nnl', which `metric` names; the measure gives 'nll'." in (
        report_of({"nll": 0.5})
    )
    for told in (study, tested):
        assert "'nnl' is NaN, or no number, in all results." in report_of({"nnl": None}, told)


def test_one_seed_has_no_deviation():
    one_of_two = made_up(SSB, ["digits"], lambda cell, i: 0.5, 2)[: len(SSB.methods) + 1]
    one = one_of_two[: len(SSB.methods)]
    bare = replace(SSB, paper=None)
    assert "accuracy in percent, one seed." in to_markdown(bare, one)
    assert "±" not in to_markdown(replace(bare, headline=None, conclude=()), one)
    assert "| Digits | 50.0 ± 0.0 | 50.0 [1] |" in to_markdown(bare, one_of_two)


def test_what_is_no_measure_is_told(blobs, tmp_path, inline):
    def of_number(task, fitted):
        return 0.5

    def of_infinity(task, fitted):
        return {"nll": np.float64("inf")}

    for measure, reason in (
        (of_number, "The measure of_number returned float; expected a dict of numbers by name"),
        (of_infinity, "cannot be stored: inf is no finite number; give NaN where there is none"),
    ):
        study = Study("mine", "", (blobs,), ("ssb",), measure=measure)
        with pytest.warns(UserWarning, match=reason):
            run(study, study.cells(n_seeds=1), Store(tmp_path))
