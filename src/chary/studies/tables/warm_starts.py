"""The study of warm starts on real tables: the network's rounds from fresh weights, and from those it has."""

from __future__ import annotations

from functools import partial
from time import process_time
from typing import Any

from scipy.stats import wilcoxon

from chary._words import listed
from chary.jobs import LEARNERS
from chary.studies import figures
from chary.studies.findings import signed
from chary.studies.study import LABELINGS, Method, Results, Study
from chary.studies.tables.collection import COLLECTION, GROUP, SOURCE
from chary.studies.tables.draws import Draw, table_draw
from chary.studies.tables.findings import TIE, by_way, confidences, duel, numbers, together
from chary.studies.tables.methods import Labelled, labels_and_confidence, labels_of

ROUNDS = (1, 5)


def network(draw: Draw, rounds: int, warm_start: bool) -> Labelled:
    """The network of ``chary label``, with so many rounds."""
    start = process_time()
    model = LEARNERS["network"].classifier(rounds, draw.seed).set_params(warm_start=warm_start)
    nothing = draw.audited(0)
    return labels_of(model.fit(draw.X, draw.labels(nothing)), draw, draw.scored(nothing), start)


def means_by_way(study: Study, results: Results) -> str:
    """The mean accuracy of each method over the tables, by how labels were drawn."""
    found, parts = numbers(results), []
    for labeling in study.labelings:
        means = list(together(found, labeling, list(study.methods)).values())
        if means:
            by_method = zip(study.methods, zip(*means, strict=True), strict=True)
            told = [f"{study.title_of(method)} {sum(values) / len(values):.1f}" for method, values in by_method]
            parts.append(f"with {LABELINGS[labeling]} ({len(means)} tables) {listed(told)}")
    return f"Accuracy on average: {'; '.join(parts)}" if parts else ""


def warm_against_fresh(study: Study, results: Results, companion: Results) -> list[str]:
    """For each way of drawing labels and number of rounds: warm starts against fresh ones, table by table."""
    found, said = numbers(results), []
    for labeling in study.labelings:
        for rounds in ROUNDS:
            warm = duel(found, [labeling], f"warm-{rounds}", [f"fresh-{rounds}"])
            if not warm.gains:
                continue
            won, _, lost = warm.counts
            gains = list(warm.gains.values())
            p_value = float(wilcoxon(gains).pvalue) if any(gains) else 1.0
            said.append(
                f"Warm against fresh with {LABELINGS[labeling]}, {_rounds(rounds)}: {signed(warm.mean)} points "
                f"over {len(gains)} tables, better on {won} and worse on {lost} by more than {TIE} points "
                f"(Wilcoxon over tables: p = {p_value:.2f})."
            )
    return said


def _rounds(n: int) -> str:
    return "1 round" if n == 1 else f"{n} rounds"


METHODS = {"none": Method(network, {"rounds": 0, "warm_start": False}, "no round")} | {
    f"{'warm' if warm else 'fresh'}-{n}": Method(
        network, {"rounds": n, "warm_start": warm}, f"{_rounds(n)} {'warm' if warm else 'fresh'}"
    )
    for n in ROUNDS
    for warm in (False, True)
}
_STYLES: dict[str, dict[str, Any]] = {
    "none": {"color": figures.GREY, "marker": "s", "fillstyle": "none"},
    "fresh-5": {"color": figures.BLUE, "marker": "o"},
    "warm-5": {"color": figures.ORANGE, "marker": "^"},
}
WARM_STARTS = Study(
    "warm-starts",
    "Rounds of the network of `chary label` on real tables, from fresh weights and from those it has",
    tuple(facts.name for facts in COLLECTION if facts.group_column),
    labelings=(GROUP,),
    methods=METHODS,
    measure=labels_and_confidence,
    seeds=(0, 1),
    task=table_draw,
    caption="Accuracy on the rows without a label",
    table=by_way,
    further=(confidences,),
    headline=means_by_way,
    conclude=(warm_against_fresh,),
    figure=partial(figures.dots, styles=_STYLES),
    source=SOURCE,
)
