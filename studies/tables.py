"""Studies on real tables: ``chary label`` and its report beside plain scikit-learn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier

from chary.audit import at_least, score
from chary.audit.answers import AuditAnswers
from chary.labelling import Diagnosis, LabeledTable, diagnose_rows, label_table
from chary.labelling.defaults import DEFAULTS
from chary.labelling.diagnose import MILD, REPRESENTATIVE, STRONG, UNKNOWN
from chary.labelling.learn import choose_with_audit, fit_learner
from chary.labelling.learners import MIXED, NETWORK, learners
from chary.method import confidence_auroc, risk_coverage_curve
from chary.options import LabelOptions
from studies import figures
from studies.collection import (
    NAMES,
    SOURCE,
    WAYS,
    Draw,
    Scored,
    ordinal_codes,
    paper_draw,
    possible,
    table_draw,
)
from studies.figures import Axes
from studies.findings import duel, signed, together, told
from studies.results import Line, summarize
from studies.study import LABELINGS, SEEDS, Cell, Method, Results, Study, TextTable

AUDIT = 30
# Unlabelled rows that methods of scikit-learn are given which learn from them; enough to tell what
# they are worth.
_POOL = 2_000
# Importance weights, as multiples of their mean.
_LEAST_WEIGHT, _MOST_WEIGHT = 0.1, 10.0
# Shares of the rows that might be accepted, and the fewest held-out rows that say anything of them.
_SHARES, _FEWEST = (1.0, 0.9, 0.75, 0.5, 0.25, 0.1), 10
# Rounds of self-training that go with a learner of ``chary label``.
_ROUNDS = {NETWORK: DEFAULTS.network_rounds}


class Labelled(NamedTuple):
    """What a method says of the rows that are scored."""

    codes: NDArray[np.intp]  # (k,) class codes of the draw
    confidence: NDArray[np.float64]  # (k,)
    scored: Scored
    seconds: float  # of CPU time, for learning and labelling; the features are there already
    said: Mapping[str, Any] = {}  # what else is to be kept


# -- chary -----------------------------------------------------------------------------------------


def automatic(draw: Draw, audited: int = 0, **asked: Any) -> Labelled:
    """What ``chary label`` does without being told anything, but for the figures of its report."""
    start = process_time()
    diagnosis, labels = _diagnosis(draw), draw.labels(draw.audited(0))
    asked = {"only_numbers": draw.only_numbers, "seed": draw.seed, **asked}
    fitted = fit_learner(draw.X, labels, diagnosis, **asked)
    if audited:
        rows = draw.audited(audited)
        truth = draw.classes[draw.truth[rows]].astype(object)
        answers = AuditAnswers(drawn=rows, truth=truth, n_drawn=len(rows))
        choice = choose_with_audit(fitted, draw.X, answers)
        return learner(draw, choice.name, audited, rounds=choice.rounds)
    found = labels_of(fitted.classifier, draw, draw.scored(draw.audited(0)), start)
    return found._replace(said={"verdict": diagnosis.verdict, "learner": fitted.choice.name})


def informed(draw: Draw, rounds: int) -> Labelled:
    """The same, told the true share of each class that has a label."""
    known = draw.labels(draw.audited(0)).classes
    shares = np.bincount(draw.truth, minlength=len(draw.classes))[
        np.searchsorted(draw.classes, known)
    ]
    return automatic(
        draw, class_prior=dict(zip(known, shares / shares.sum(), strict=True)), rounds=rounds
    )


def learner(draw: Draw, name: str, audited: int = 0, rounds: int | None = None) -> Labelled:
    """One of the learners of ``chary label``."""
    rounds = _ROUNDS.get(name, 0) if rounds is None else rounds
    return draw.once(
        (name, rounds, audited), lambda: _learn(draw, name, rounds, draw.audited(audited))
    )


def _learn(draw: Draw, name: str, rounds: int, more: NDArray[np.intp], **changes: Any) -> Labelled:
    start = process_time()
    model = learners()[name].classifier(rounds, draw.seed).set_params(**changes)
    return labels_of(model.fit(draw.X, draw.labels(more)), draw, draw.scored(more), start)


def labels_of(model: Any, draw: Draw, scored: Scored, start: float) -> Labelled:
    """What a self-trained model says of the rows that are scored."""
    probs, confidence = model.predict_scores(scored.X)
    codes = np.searchsorted(draw.classes, model.classes_[probs.argmax(axis=1)].astype(str))
    if scored.rows is not None:  # a row that was learned from keeps the label it was learned with
        learned = model.labeled_iter_[scored.rows] > 0
        codes[learned] = np.searchsorted(
            draw.classes, model.transduction_[scored.rows][learned].astype(str)
        )
    return Labelled(codes, np.asarray(confidence, dtype=np.float64), scored, process_time() - start)


def report(draw: Draw) -> Labelled:
    """``chary label`` itself, from the table on, and what its report says, beside the truth."""
    assert draw.table is not None
    start = process_time()
    outcome = label_table(
        draw.hidden(), LabelOptions.of(target=draw.table.facts.target, seed=draw.seed)
    )
    seconds = process_time() - start
    scored = draw.scored(draw.audited(0))
    codes = np.searchsorted(
        draw.classes, outcome.labels.classes[outcome.codes[scored.rows]].astype(str)
    )
    said = _what_was_said(outcome, codes, scored.truth)
    return Labelled(codes, outcome.confidence[scored.rows], scored, seconds, said)


def _levels(
    outcome: LabeledTable, right: NDArray[np.bool_], confidence: NDArray[np.float64]
) -> Reports:
    """Count wrong held-out labels among those as confident as the surest rows."""
    rest, judged, levels = outcome.counts.new, outcome.held_out, []
    for share in _SHARES:
        threshold = float(rest.smallest(rest.n - max(1, round(share * rest.n))))
        correct = judged.correct[np.round(judged.confidence, 4) >= threshold]
        n, n_right = len(correct), int(correct.sum())
        said = (
            {"error": (n - n_right) / n, "error_high": 1 - at_least(n_right, n)}
            if n >= _FEWEST
            else {}
        )
        true_error = float(np.mean(~right[confidence >= threshold]))
        levels.append(
            {"share": share, "error": None, "error_high": None, **said, "true_error": true_error}
        )
    return levels


def _what_was_said(
    outcome: LabeledTable, codes: NDArray[np.intp], truth: NDArray[np.intp]
) -> dict[str, Any]:
    pool = ~outcome.labels.labeled
    diagnosis, judged = outcome.diagnosis, outcome.held_out
    empty = np.setdiff1d(outcome.labels.codes[~pool], outcome.codes[pool])
    said = {
        "verdict": diagnosis.verdict,
        "learner": outcome.settings["learner"],
        "auc": diagnosis.separation.auc if diagnosis.separation else None,
        "coverage": diagnosis.coverage,
        "levels": _levels(outcome, codes == truth, outcome.confidence[pool]),
        "classes_without_rows": outcome.labels.classes[empty].tolist(),
        "held_out_rows": len(judged.correct),
    }
    if len(judged.correct):
        found = score(judged.correct)
        said |= {"held_out": found.share, "held_out_low": found.low, "held_out_high": found.high}
    return said


def _diagnosis(draw: Draw) -> Diagnosis:
    return draw.once(
        "diagnosis", lambda: diagnose_rows(draw.X, draw.labeled, random_state=draw.seed)
    )


# -- scikit-learn ----------------------------------------------------------------------------------


def plain(draw: Draw, kind: str, audited: int = 0) -> Labelled:
    """Make a classifier of scikit-learn with the same features, on given and audited labels."""
    more = draw.audited(audited)
    return _labelled_by(PLAIN[kind](draw.seed), draw, draw.X, more)


def ten_lines(draw: Draw) -> Labelled:
    """Fit boosting on the cells as they are; docs/how-to/studies.md has it in ten lines."""
    assert draw.table is not None
    cells = ordinal_codes(draw.table.frame.drop(draw.table.facts.target))
    # Boosting fails on a column without any cell.
    cells[:, np.isnan(cells[draw.labeled]).all(axis=0)] = 0
    return _labelled_by(_boosting(draw.seed), draw, cells, draw.audited(0))


def self_training(draw: Draw) -> Labelled:
    """Self-train a logistic regression with scikit-learn's defaults, from some unlabelled rows."""
    start = process_time()
    labels, scored = draw.labels(draw.audited(0)), draw.scored(draw.audited(0))
    rows = np.concatenate([np.flatnonzero(labels.labeled), _pool(draw)])
    model = SelfTrainingClassifier(_logistic(draw.seed)).fit(draw.X[rows], labels.codes[rows])
    return answer(model, labels.classes, draw, scored, scored.X, start)


def importance_weighted(draw: Draw) -> Labelled:
    """Fit a logistic regression to labels weighted by the odds that their rows would have none."""
    start = process_time()
    audited = draw.audited(0)
    labels = draw.labels(audited)
    scored = draw.scored(audited)
    labelled_rows = np.flatnonzero(labels.labeled)
    pool = _pool(draw)

    # A first model tells labelled rows from the pool.
    is_labelled = np.repeat([True, False], [len(labelled_rows), len(pool)])
    both = draw.X[np.concatenate([labelled_rows, pool])]
    separator = _logistic(draw.seed).fit(both, is_labelled)
    X = draw.X[labelled_rows]
    odds = np.exp(-separator.decision_function(X).clip(-50, 50))

    weights = np.clip(odds / odds.mean(), _LEAST_WEIGHT, _MOST_WEIGHT)
    model = _logistic(draw.seed).fit(X, labels.codes[labelled_rows], weights)
    return answer(model, labels.classes, draw, scored, scored.X, start)


def _logistic(seed: int) -> Any:
    return LogisticRegression(max_iter=1000, random_state=seed)


def _trees(seed: int) -> Any:
    return ExtraTreesClassifier(200, random_state=seed)


def _boosting(seed: int) -> Any:
    return HistGradientBoostingClassifier(
        max_iter=60, min_samples_leaf=5, max_leaf_nodes=15, random_state=seed
    )


PLAIN: dict[str, Callable[[int], Any]] = {
    "majority": lambda seed: DummyClassifier(strategy="most_frequent"),
    "logistic": _logistic,
    "extra-trees": _trees,
    "boosting": _boosting,
}


def _labelled_by(model: Any, draw: Draw, X: NDArray[Any], more: NDArray[np.intp]) -> Labelled:
    start = process_time()
    labels, scored = draw.labels(more), draw.scored(more)
    model.fit(X[labels.labeled], labels.codes[labels.labeled])
    return answer(
        model,
        labels.classes,
        draw,
        scored,
        scored.X if scored.rows is None else X[scored.rows],
        start,
    )


def answer(
    model: Any, classes: NDArray[Any], draw: Draw, scored: Scored, X: NDArray[Any], start: float
) -> Labelled:
    """The most probable class of each row, and its probability."""
    probs = model.predict_proba(X)  # (k, C)
    codes = np.searchsorted(draw.classes, classes[model.classes_[probs.argmax(axis=1)]])
    return Labelled(codes, probs.max(axis=1).clip(0, 1), scored, process_time() - start)


def _pool(draw: Draw) -> NDArray[np.intp]:
    rows = np.flatnonzero(~draw.labeled)
    return np.random.default_rng([draw.seed, 4]).permutation(rows)[:_POOL]


# -- What is kept of it ----------------------------------------------------------------------------


def labels_and_confidence(draw: Draw, found: Labelled) -> dict[str, Any]:
    """Measure accuracy, balanced accuracy over present classes, and the order of the confidence."""
    truth = found.scored.truth
    right = found.codes == truth
    auroc = confidence_auroc(found.confidence, right)
    sizes = np.bincount(truth)
    recall = np.bincount(truth, right)[sizes > 0] / sizes[sizes > 0]
    return {
        "accuracy": float(right.mean()),
        "balanced": float(recall.mean()),
        "auroc": None if np.isnan(auroc) else auroc,
        "aurc": risk_coverage_curve(found.confidence, right).area,
        "confidence": float(found.confidence.mean()),
        "seconds": found.seconds,
        "n_scored": len(truth),
        **found.said,
    }


REPORT, AUTO = "report", "auto"
# The three that chary is held against, given the same features.
RIVALS = ("logistic", "extra-trees", "boosting")
_TITLES = {
    "majority": "majority",
    "logistic": "logistic regression",
    "extra-trees": "extra trees",
    "boosting": "boosting",
}
METHODS = {
    **{kind: Method(plain, {"kind": kind}, _TITLES[kind]) for kind in PLAIN},
    "ten-lines": Method(ten_lines, title="boosting, ten lines"),
    "self-training": Method(self_training, title="self-training"),
    "importance": Method(importance_weighted, title="importance weighting"),
    AUTO: Method(automatic, title="chary label"),
    **{
        f"ours-{name}": Method(learner, {"name": name}, f"chary, {name}")
        for name in learners()
        if name != AUTO
    },
    "ours-mixed-5": Method(learner, {"name": "mixed", "rounds": 5}, "chary, mixed, 5 rounds"),
    f"{AUTO}-balanced": Method(automatic, {"aim": "balanced"}, "chary label, balanced aim"),
    f"{AUTO}-shares": Method(informed, {"rounds": 0}, "chary label, shares told"),
    f"{AUTO}-shares-5": Method(informed, {"rounds": 5}, "the same, 5 rounds"),
    f"{AUTO}-audited": Method(automatic, {"audited": AUDIT}, f"chary label + {AUDIT}"),
    "ours-mixed-audited": Method(
        learner, {"name": MIXED, "audited": AUDIT, "rounds": 0}, f"chary, mixed + {AUDIT}"
    ),
    **{
        f"{kind}-audited": Method(
            plain, {"kind": kind, "audited": AUDIT}, f"{_TITLES[kind]} + {AUDIT}"
        )
        for kind in RIVALS
    },
    REPORT: Method(report, title="chary label, report"),
}


def _rivals(study: Study) -> Sequence[str]:
    """Name chary's rivals: plain learners, or on the paper's sets its own learners."""
    return (
        RIVALS
        if all(name in study.methods for name in RIVALS)
        else ("logistic", "ours-mixed", "ours-network")
    )


# -- Tables ----------------------------------------------------------------------------------------


def by_way(study: Study, results: Results) -> TextTable:
    """Every method: accuracy, plain and balanced, by how labels were drawn."""
    plain, balanced = (_by_place(study, results, metric) for metric in ("accuracy", "balanced"))
    ways = dict.fromkeys(labeling for labeling, _ in plain)
    most = {
        way: max(len(lines) for (labeling, _), lines in plain.items() if labeling == way)
        for way in ways
    }
    rows = []
    for method in study.methods:
        cells, seeds = [], set()
        for labeling in study.labelings:
            lines, n_most = plain.get((labeling, method), []), most.get(labeling, 0)
            seeds |= {seed for line in lines for seed in line.by_seed}
            number = (
                f"{_mean(lines):.1f} ({_mean(balanced[labeling, method]):.1f})" if lines else "-"
            )
            cells.append(number + (f" [{len(lines)}]" if 0 < len(lines) < n_most else ""))
        rows += [[study.title_of(method), str(len(seeds)), *cells]] if seeds else []
    tables = ", ".join(f"{n} with {study.words_of(labeling)}" for labeling, n in most.items())
    caption = (
        f"Accuracy (balanced accuracy) in percent, mean over tables: {tables}; [n]: over n tables"
    )
    return TextTable(caption, ["Method", "Seeds", *study.labelings], rows)


def confidences(study: Study, results: Results) -> TextTable:
    """Every method: what its confidence is worth and what it costs, over all draws."""
    heads = {
        "auroc": "AUROC",
        "aurc": "AURC",
        "confidence": "Confidence",
        "accuracy": "Accuracy",
        "seconds": "Seconds",
    }
    found = {metric: summarize(study, results, metric) for metric in heads}
    rows = []
    for method in study.methods:
        here = {
            metric: [line for line in lines if line.method == method]
            for metric, lines in found.items()
        }
        if here["seconds"]:
            digits = {metric: 2 if metric == "seconds" else 1 for metric in heads}
            cells = [
                f"{_mean(lines):.{digits[metric]}f}" if lines else "-"
                for metric, lines in here.items()
            ]
            rows.append([study.title_of(method), *cells])
    caption = (
        "Over all draws, in percent: how often a right label has more confidence than a wrong one "
        "(AUROC), area under the risk-coverage curve (AURC, less is better), mean confidence "
        "beside accuracy; seconds of CPU time to learn and label, features being there, but for "
        "the one with its report"
    )
    return TextTable(caption, ["Method", *heads.values()], rows)


def _by_place(study: Study, results: Results, metric: str) -> dict[tuple[str, str], list[Line]]:
    """(labelling, method) -> a line for each table."""
    found: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in summarize(study, results, metric):
        found[line.labeling, line.method].append(line)
    return found


def _mean(lines: list[Line]) -> float:
    return float(np.mean([line.mean for line in lines]))


def by_table(study: Study, results: Results) -> TextTable:
    """Each table and way: chary beside the three rivals that are given the same features."""
    lines, methods = summarize(study, results, "accuracy"), [AUTO, *_rivals(study)]
    rows = []
    for labeling in study.labelings:
        for table, (own, *others) in together(lines, labeling, methods).items():
            rows.append(
                [
                    table,
                    labeling,
                    *(f"{mean:.1f}" for mean in (own, *others)),
                    signed(own - max(others)),
                ]
            )
    caption = (
        "Accuracy in percent by table, mean over seeds; last, chary label against the best of these"
    )
    return TextTable(
        caption, ["Table", "Labels", *map(study.title_of, methods), "Against the best"], rows
    )


# -- Sentences -------------------------------------------------------------------------------------


def headline(study: Study, results: Results) -> str:
    """The means of chary and of its best rival, by the way labels were drawn."""
    lines, rivals = summarize(study, results, "accuracy"), _rivals(study)
    parts = []
    for labeling in study.labelings:
        means = list(together(lines, labeling, [AUTO, *rivals]).values())
        if means:
            own, *others = np.mean(means, axis=0)
            rival = f"{study.title_of(rivals[int(np.argmax(others))])} {max(others):.1f}"
            parts.append(f"{own:.1f} with {study.words_of(labeling)} ({rival})")
    return told(f"{study.title_of(AUTO)} has", parts)


def against_rivals(study: Study, results: Results, companion: Results) -> list[str]:
    """Won, tied and lost against each rival; and how far behind the best of them at worst."""
    lines, rivals, ours = (
        summarize(study, results, "accuracy"),
        _rivals(study),
        study.title_of(AUTO),
    )
    said = []
    for rival in [
        *rivals,
        *(method for method in ("ten-lines", "majority") if method in study.methods),
    ]:
        parts = []
        for labeling in study.labelings:
            one = duel(lines, [labeling], AUTO, [rival])
            if one.gains:
                counts = "{} won, {} tied, {} lost".format(*one.counts)
                parts.append(f"{study.words_of(labeling)} {counts} ({signed(one.mean)} points)")
        said.append(told(f"{ours} against {study.title_of(rival)}, by table:", parts, "; ".join))
    said.append(
        told(f"Over all ways together, {ours} is ahead of", _tables_ahead(study, lines, rivals))
    )
    best = duel(lines, study.labelings, AUTO, rivals)
    if best.gains:
        said.append(
            f"Against the best of these on each table and way ({len(best.gains)}), {ours} has "
            f"{signed(best.mean)} points on average; more than 3 points behind on "
            f"{sum(gain < -3 for gain in best.gains.values())}; at worst "
            f"{signed(best.gains[best.worst])} ({best.worst})"
        )
    return [f"{sentence}." for sentence in said if sentence]


def _tables_ahead(study: Study, lines: list[Line], rivals: Sequence[str]) -> list[str]:
    """Count the tables on which chary leads each rival, on average over the ways of drawing."""
    parts = []
    for rival in rivals:
        gains: dict[str, list[float]] = defaultdict(list)
        for labeling in study.labelings:
            for table, gain in duel(lines, [labeling], AUTO, [rival]).gains.items():
                gains[table].append(gain)
        ahead = sum(np.mean(of_table) > 0 for of_table in gains.values())
        parts += [f"{study.title_of(rival)} on {ahead} of {len(gains)}"] if gains else []
    return [*parts[:-1], f"{parts[-1]} tables"] if parts else []


def worth_of_audit(study: Study, results: Results, companion: Results) -> list[str]:
    """Compare audited chary with rivals on the same rows, and with chary without an audit."""
    lines, audited, titles = (
        summarize(study, results, "accuracy"),
        f"{AUTO}-audited",
        study.title_of,
    )
    duels = {
        f"{titles(audited)} against {titles(f'{rival}-audited')}, points:": (
            audited,
            f"{rival}-audited",
        )
        for rival in RIVALS
    }
    duels[f"The audited rows add to {titles(AUTO)}, points:"] = (audited, AUTO)
    said = []
    for start, (ours, rival) in duels.items():
        gains = {labeling: duel(lines, [labeling], ours, [rival]) for labeling in study.labelings}
        parts = [
            f"{signed(one.mean)} with {study.words_of(labeling)}"
            for labeling, one in gains.items()
            if one.gains
        ]
        said += [f"{told(start, parts)}."] if parts else []
    return said


def worth_of_aim(study: Study, results: Results, companion: Results) -> list[str]:
    """What the balanced aim changes, on average and on the worst table."""
    said = []
    for metric, words in (("balanced", "Balanced accuracy"), ("accuracy", "Accuracy")):
        one = duel(summarize(study, results, metric), study.labelings, f"{AUTO}-balanced", [AUTO])
        if one.gains:
            said.append(
                f"{words}, balanced aim: {signed(one.mean)} points on average over "
                f"{len(one.gains)} tables and ways, at worst {signed(one.gains[one.worst])} "
                f"({one.worst})."
            )
    return said


# More points too good than this is more than people take for granted.
_MUCH = 0.05

Reports = list[dict[str, Any]]


def held_out_and_truth(study: Study, results: Results) -> TextTable:
    """Tabulate, by labelling and verdict, held-out accuracy, true accuracy and its interval."""
    by_kind: dict[tuple[str, str], Reports] = defaultdict(list)
    for labeling, report in _reports(results):
        by_kind[labeling, report["verdict"]].append(report)
    rows = []
    for labeling in study.labelings:
        for verdict in (REPRESENTATIVE, MILD, STRONG, UNKNOWN):
            if found := by_kind.get((labeling, verdict)):
                said, true = (
                    f"{100 * np.mean([one[name] for one in found]):.1f}"
                    for name in ("held_out", "accuracy")
                )
                rows.append(
                    [labeling, verdict, str(len(found)), said, true, *map(str, _sides(found))]
                )
    heads = [
        "Labels",
        "Verdict",
        "Reports",
        "Held-out",
        "True",
        "Below",
        "Within",
        "Above",
        "Too good",
    ]
    caption = (
        "What the reports said: accuracy on held-out labels and of the labels made, in percent; in "
        "how many reports the truth is below, within and above the 95 % interval of the held-out "
        "accuracy, and in how many the held-out accuracy is more than 5 points too good"
    )
    return TextTable(caption, heads, rows)


def promised_errors(study: Study, results: Results) -> TextTable:
    """Tabulate, by labelling and share of accepted rows, the limit and the true error."""
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
                100 * np.mean([x[name] for x in here])
                for name in ("error", "error_high", "true_error")
            )
            numbers = [
                f"{error:.1f}",
                f"{high:.1f}",
                f"{true:.1f}",
                f"{_n_passed(here)} of {len(here)}",
            ]
            rows.append([labeling, f"{100 * share:.0f} %", *numbers])
    heads = [
        "Labels",
        "Surest rows",
        "Error held out",
        "Up to (95 %)",
        "True error",
        "Limit passed",
    ]
    return TextTable(
        "What accepting the surest rows was said to mean, and what it meant, in percent",
        heads,
        rows,
    )


def trust(study: Study, results: Results, companion: Results) -> list[str]:
    """What the figures of a report are worth, in sentences."""
    found = _reports(results)
    if not found:
        return []
    natural = [report for labeling, report in found if labeling != "random"]
    random = [report for labeling, report in found if labeling == "random"]
    said = []
    for words, reports in (
        (LABELINGS["random"], random),
        ("labels from a group or picked by a column", natural),
    ):
        if reports:
            said += [_told_sides(words, reports), _limits(words, reports)]
    for verdict in (REPRESENTATIVE, MILD, STRONG):
        reports = [report for report in natural if report["verdict"] == verdict]
        if reports:
            said.append(
                _told_sides(
                    f"labels from a group or picked by a column that look {verdict}", reports
                )
            )
    empty = [report for _, report in found if report["classes_without_rows"]]
    said.append(f"A class that has labels received no row in {len(empty)} of {len(found)} reports.")
    return said


def _told_sides(words: str, reports: Reports) -> str:
    below, within, above, too_good = _sides(reports)
    gap = 100 * np.mean([report["held_out"] - report["accuracy"] for report in reports])
    return (
        f"With {words} the accuracy on held-out labels is off by {gap:+.1f} points on average "
        f"(more than 5 too good in {too_good} of {len(reports)} reports); the truth is below its "
        f"95 % interval in {below}, within in {within}, above in {above}."
    )


def _limits(words: str, reports: Reports) -> str:
    levels = [
        level for report in reports for level in report["levels"] if level["error_high"] is not None
    ]
    share = f"{100 * _n_passed(levels) / len(levels):.0f} %" if levels else "none"
    return (
        f'With {words} the true error passes its limit "up to" in {share} of {len(levels)} lines.'
    )


def _n_passed(levels: Reports) -> int:
    return sum(level["true_error"] > level["error_high"] for level in levels)


def _sides(reports: Reports) -> tuple[int, int, int, int]:
    """Count truths below, within and above the interval, and held-out accuracies far too high."""
    below = sum(report["accuracy"] < report["held_out_low"] for report in reports)
    above = sum(report["accuracy"] > report["held_out_high"] for report in reports)
    too_good = sum(report["held_out"] - report["accuracy"] > _MUCH for report in reports)
    return below, len(reports) - below - above, above, too_good


def _reports(results: Results) -> list[tuple[str, dict[str, Any]]]:
    """Labelling and figures of every report that had labels to hold out."""
    return [
        (cell.labeling, result)
        for cell, result in results
        if cell.method == REPORT and "held_out" in result
    ]


_MARKS = dict(
    zip(RIVALS, (("s", figures.BLUE), ("^", figures.GREEN), ("D", figures.ORANGE)), strict=True)
)


def gains_by_table(study: Study, results: Results) -> Axes:
    """Plot, by table, the points that chary leads each rival (open marks) and the best (filled)."""
    lines = summarize(study, results, "accuracy")
    means_by_way = {
        labeling: together(lines, labeling, [AUTO, *RIVALS]) for labeling in study.labelings
    }
    ways = {labeling: means for labeling, means in means_by_way.items() if means}
    names = list(dict.fromkeys(name for means in ways.values() for name in means))
    places = dict(zip(names, np.arange(len(names))[::-1], strict=True))
    axes = figures.panels(
        1, max(1, len(ways)), 3.6, 0.26 * len(names) + 0.9, sharex=True, sharey=True
    )
    for ax, (labeling, means) in zip(axes[0], ways.items(), strict=False):
        ax.axvline(0, color="black", linewidth=0.8)
        ax.axvline(-3, color=figures.GREY, linestyle=":", linewidth=0.8)
        at = [places[name] for name in means]
        # (tables, rivals)
        gains = np.array([own - np.array(others) for own, *others in means.values()])
        for j, rival in enumerate(RIVALS):
            marker, color = _MARKS[rival]
            ax.plot(
                gains[:, j], at, marker, color=color, fillstyle="none", markersize=5, alpha=0.7,
                label=f"ahead of {study.title_of(rival)}",
            )  # fmt: skip
        ax.plot(
            gains.min(axis=1),
            at,
            "o",
            color="black",
            markersize=4,
            label="ahead of the best of the three",
        )
        ax.set(
            title=study.words_of(labeling),
            xlabel="Points of accuracy (%)",
            ylim=(-0.6, len(names) - 0.4),
        )
        ax.set_xscale("symlog", linthresh=5, linscale=1.5)  # a rival that fails is far off
        ax.set_xticks(
            ticks := [-30, -10, -3, 0, 3, 10, 30], [f"{tick:+d}" if tick else "0" for tick in ticks]
        )
        ax.set_xticks([], minor=True)
        ax.set_yticks(list(places.values()), names)
        ax.grid(axis="y", alpha=0.3)
    return figures.finish(axes, study, results, axes[0, 0].get_legend_handles_labels()[0])


# A report costs as much as all the rest; methods that lose clearly need no more draws to show it.
_SEEDS = {
    1: "ours-mixed-5 auto-shares-5",
    2: (
        "report majority ten-lines self-training importance extra-trees-audited boosting-audited "
        "ours-mixed ours-network ours-linear ours-boosting auto-shares"
    ),
    3: "auto-balanced auto-audited logistic-audited",
}
_FIRST_SEEDS = {method: n for n, methods in _SEEDS.items() for method in methods.split()}
# What undoes a bias, or fails to, is asked only where there is one; what takes long, where it is a
# group.
_WHERE = {
    "auto-shares": ("group", "column"),
    "auto-shares-5": ("group",),
    "ours-mixed-5": ("group",),
}


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
    methods=METHODS,
    measure=labels_and_confidence,
    seeds=(0, 1, 2, 3, 4),
    task=table_draw,
    caption="Accuracy on the rows without a label",
    tables=(by_way, confidences, by_table, held_out_and_truth, promised_errors),
    headline=headline,
    conclude=(against_rivals, worth_of_audit, worth_of_aim, trust),
    figure=gains_by_table,
    source=SOURCE,
    only=wanted,
)

TABLES_PAPER = Study(
    "tables-paper",
    "The paper's data sets through the learners of `chary label`",
    methods={
        name: METHODS[name]
        for name in (
            "logistic",
            AUTO,
            "ours-mixed",
            "ours-network",
            f"{AUTO}-balanced",
            f"{AUTO}-audited",
            "ours-mixed-audited",
        )
    },
    measure=labels_and_confidence,
    seeds=SEEDS[:3],
    task=paper_draw,
    tables=(by_way, confidences, by_table),
    headline=headline,
    conclude=(against_rivals, worth_of_aim),
)
