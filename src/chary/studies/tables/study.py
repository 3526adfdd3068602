"""The study of real tables: ``chary label`` beside plain scikit-learn, on tables that people have."""

from __future__ import annotations

from functools import partial
from typing import Any

from chary.studies import figures
from chary.studies.study import SEEDS, Cell, Study
from chary.studies.tables.collection import NAMES, SOURCE, WAYS, possible
from chary.studies.tables.draws import paper_draw, table_draw
from chary.studies.tables.findings import (
    against_rivals,
    by_table,
    by_way,
    confidences,
    headline,
    worth_of_aim,
    worth_of_audit,
)
from chary.studies.tables.methods import (
    AUDITED,
    AUTO,
    BALANCED,
    INFORMED,
    OURS,
    REPORT,
    ROUNDS,
    SKLEARN,
    TEN_LINES,
    UNLABELLED_TOO,
    WITH_REPORT,
    labels_and_confidence,
)
from chary.studies.tables.trust import held_out_and_truth, promised_errors, trust

# A report costs as much as all the rest; methods that lose clearly need no more draws to show it.
_FIRST_SEEDS = {
    REPORT: 2,
    "majority": 2,
    "ten-lines": 2,
    "self-training": 2,
    "importance": 2,
    "extra-trees-audited": 2,
    "boosting-audited": 2,
    "ours-mixed": 2,
    "ours-mixed-5": 1,
    "ours-network": 2,
    "ours-linear": 2,
    "ours-boosting": 2,
    "auto-balanced": 3,
    "auto-audited": 3,
    "logistic-audited": 3,
    "auto-shares": 2,
    "auto-shares-5": 1,
}


# What undoes a bias, or fails to, is asked only where there is one; what takes long, where it is a group.
_WHERE = {"auto-shares": ("group", "column"), "auto-shares-5": ("group",), "ours-mixed-5": ("group",)}


def wanted(cell: Cell) -> bool:
    """Whether a cell is worth its time: what costs much, or is no rival, has fewer seeds."""
    if cell.labeling not in _WHERE.get(cell.method, WAYS):
        return False
    return possible(cell) and cell.seed in range(_FIRST_SEEDS.get(cell.method, 5))


TABLES = Study(
    "tables",
    "Real tables: `chary label`, plain scikit-learn, and what the report says of the labels",
    NAMES,
    labelings=WAYS,
    methods={
        **SKLEARN,
        **TEN_LINES,
        **UNLABELLED_TOO,
        **OURS,
        **ROUNDS,
        **BALANCED,
        **INFORMED,
        **AUDITED,
        **WITH_REPORT,
    },
    measure=labels_and_confidence,
    seeds=(0, 1, 2, 3, 4),
    task=table_draw,
    caption="Accuracy on the rows without a label",
    table=by_way,
    further=(confidences, by_table, held_out_and_truth, promised_errors),
    headline=headline,
    conclude=(against_rivals, worth_of_audit, worth_of_aim, trust),
    figure=figures.gains_by_table,
    source=SOURCE,
    only=wanted,
)

_STYLES: dict[str, dict[str, Any]] = {
    "logistic": {"color": figures.GREY, "marker": "s", "fillstyle": "none"},
    "ours-network": {"color": figures.GREEN, "marker": "^"},
    "ours-mixed": {"color": figures.BLUE, "marker": "o", "fillstyle": "none"},
    AUTO: {"color": "black", "marker": "o", "markersize": 4},
}
_ON_PAPER = (AUTO, "ours-mixed", "ours-network")
TABLES_PAPER = Study(
    "tables-paper",
    "The paper's data sets through the learners of `chary label`",
    methods={"logistic": SKLEARN["logistic"], **{name: OURS[name] for name in _ON_PAPER}, **BALANCED},
    measure=labels_and_confidence,
    seeds=SEEDS[:2],
    task=paper_draw,
    table=by_way,
    further=(confidences, by_table),
    headline=headline,
    conclude=(against_rivals, worth_of_aim),
    figure=partial(figures.dots, styles=_STYLES),
)
