"""Results: summaries against plain NumPy, tables beside the paper's, files that round-trip."""

import numpy as np
import pytest

from studies import STUDIES
from studies.results import (
    import_results,
    published,
    results_of,
    summarize,
    to_markdown,
    write_report,
)
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
