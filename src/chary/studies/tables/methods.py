"""A draw in; labels and confidences by chary's learners, by plain scikit-learn, by ``chary label`` whole, out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier

from chary.evaluation import Diagnosis, confidence_auroc, diagnose, risk_coverage_curve
from chary.jobs import LEARNERS, WITH_AUDIT, LabeledTable, label_table, learn
from chary.studies.study import Method
from chary.studies.tables.collection import ordinal_codes
from chary.studies.tables.draws import Draw, Scored

AUDIT = 30
# Unlabelled rows that methods of scikit-learn are given which learn from them; enough to tell what they are worth.
_POOL = 2_000
# Importance weights, as multiples of their mean.
_LEAST_WEIGHT, _MOST_WEIGHT = 0.1, 10.0
# Rounds of self-training that go with a learner of ``chary label``.
_ROUNDS = {"network": 1}


class Labelled(NamedTuple):
    """What a method says of the rows that are scored."""

    codes: NDArray[np.intp]  # (k,) class codes of the draw
    confidence: NDArray[np.float64]  # (k,)
    scored: Scored
    seconds: float  # of CPU time, for learning and labelling; the features are there already
    said: Mapping[str, Any] = {}  # what else is to be kept


# -- chary ---------------------------------------------------------------------------------------------------


def automatic(draw: Draw, audited: int = 0, **asked: Any) -> Labelled:
    """What ``chary label`` does without being told anything, but for the figures of its report."""
    if audited:
        return learner(draw, WITH_AUDIT, audited, rounds=0)
    start = process_time()
    diagnosis, labels = _diagnosis(draw), draw.labels(draw.audited(0))
    learned = learn(draw.X, labels, diagnosis, seed=draw.seed, **asked)
    found = labels_of(learned.classifier, draw, draw.scored(draw.audited(0)), start)
    return found._replace(said={"verdict": diagnosis.verdict, "learner": learned.choice.name})


def informed(draw: Draw, rounds: int) -> Labelled:
    """The same, told the true share of each class that has a label."""
    known = draw.labels(draw.audited(0)).classes
    shares = np.bincount(draw.truth, minlength=len(draw.classes))[np.searchsorted(draw.classes, known)]
    return automatic(draw, class_prior=dict(zip(known, shares / shares.sum(), strict=True)), rounds=rounds)


def learner(draw: Draw, name: str, audited: int = 0, rounds: int | None = None) -> Labelled:
    """One of the learners of ``chary label``."""
    rounds = _ROUNDS.get(name, 0) if rounds is None else rounds
    return draw.once((name, rounds, audited), lambda: _learn(draw, name, rounds, draw.audited(audited)))


def _learn(draw: Draw, name: str, rounds: int, more: NDArray[np.intp]) -> Labelled:
    start = process_time()
    model = LEARNERS[name].classifier(rounds, draw.seed).fit(draw.X, draw.labels(more))
    return labels_of(model, draw, draw.scored(more), start)


def labels_of(model: Any, draw: Draw, scored: Scored, start: float) -> Labelled:
    """What a self-trained model says of the rows that are scored."""
    said, confidence = model.predict_with_confidence(scored.X)
    codes = np.searchsorted(draw.classes, said.astype(str))
    if scored.rows is not None:  # a row that was learned from keeps the label it was learned with
        learned = model.labeled_iter_[scored.rows] > 0
        codes[learned] = np.searchsorted(draw.classes, model.transduction_[scored.rows][learned].astype(str))
    return Labelled(codes, np.asarray(confidence, dtype=np.float64), scored, process_time() - start)


def report(draw: Draw) -> Labelled:
    """``chary label`` itself, from the table on, and what its report says, beside the truth."""
    assert draw.table is not None
    start = process_time()
    outcome = label_table(draw.hidden(), draw.table.facts.target, seed=draw.seed)
    seconds = process_time() - start
    scored = draw.scored(draw.audited(0))
    codes = np.searchsorted(draw.classes, outcome.labels.classes[outcome.codes[scored.rows]].astype(str))
    said = _what_was_said(outcome, codes, scored.truth)
    return Labelled(codes, outcome.confidence[scored.rows], scored, seconds, said)


def _what_was_said(outcome: LabeledTable, codes: NDArray[np.intp], truth: NDArray[np.intp]) -> dict[str, Any]:
    pool = ~outcome.labels.labeled
    right, confidence = codes == truth, outcome.confidence[pool]
    levels = [
        {
            "share": level.share,
            "error": level.error,
            "error_high": level.error_high,
            "true_error": float(np.mean(~right[confidence >= level.threshold])),
        }
        for level in outcome.levels
    ]
    diagnosis, judged = outcome.diagnosis, outcome.judged
    empty = np.setdiff1d(outcome.labels.codes[~pool], outcome.codes[pool])
    said = {
        "verdict": diagnosis.verdict,
        "learner": outcome.settings["learner"],
        "auc": diagnosis.separation.auc if diagnosis.separation else None,
        "coverage": diagnosis.coverage,
        "levels": levels,
        "classes_without_rows": outcome.labels.classes[empty].tolist(),
        "held_out_rows": len(judged.correct),
    }
    if len(judged.correct):
        score = judged.score
        said |= {"held_out": score.share, "held_out_low": score.low, "held_out_high": score.high}
    return said


def _diagnosis(draw: Draw) -> Diagnosis:
    return draw.once("diagnosis", lambda: diagnose(draw.X, draw.labeled, random_state=draw.seed))


# -- scikit-learn --------------------------------------------------------------------------------------------


def plain(draw: Draw, kind: str, audited: int = 0) -> Labelled:
    """A classifier of scikit-learn with the same features, on the labels given and those of an audit."""
    more = draw.audited(audited)
    return _labelled_by(PLAIN[kind](draw.seed), draw, draw.X, more)


def ten_lines(draw: Draw) -> Labelled:
    """Boosting on the cells as they are, texts as ordinal numbers: docs/studies.md has it in ten lines."""
    assert draw.table is not None
    cells = ordinal_codes(draw.table.frame.drop(draw.table.facts.target))
    cells[:, np.isnan(cells[draw.labeled]).all(axis=0)] = 0  # boosting fails on a column that it has no cell of
    return _labelled_by(_boosting(draw.seed), draw, cells, draw.audited(0))


def self_training(draw: Draw) -> Labelled:
    """scikit-learn's self-training of a logistic regression, with its defaults, from some unlabelled rows."""
    start = process_time()
    labels, scored = draw.labels(draw.audited(0)), draw.scored(draw.audited(0))
    rows = np.concatenate([np.flatnonzero(labels.labeled), _pool(draw)])
    model = SelfTrainingClassifier(_logistic(draw.seed)).fit(draw.X[rows], labels.codes[rows])
    return _answer(model, labels.classes, draw, scored, scored.X, start)


def importance_weighted(draw: Draw) -> Labelled:
    """Logistic regression, each label weighted by the odds that its row would have none."""
    start = process_time()
    labels, scored = draw.labels(draw.audited(0)), draw.scored(draw.audited(0))
    given, pool = np.flatnonzero(labels.labeled), _pool(draw)
    is_given = np.repeat([True, False], [len(given), len(pool)])
    apart = _logistic(draw.seed).fit(draw.X[np.concatenate([given, pool])], is_given)
    odds = np.exp(-apart.decision_function(draw.X[given]).clip(-50, 50))
    weights = np.clip(odds / odds.mean(), _LEAST_WEIGHT, _MOST_WEIGHT)
    model = _logistic(draw.seed).fit(draw.X[given], labels.codes[given], weights)
    return _answer(model, labels.classes, draw, scored, scored.X, start)


def _logistic(seed: int) -> Any:
    return LogisticRegression(max_iter=1000, random_state=seed)


def _trees(seed: int) -> Any:
    return ExtraTreesClassifier(200, random_state=seed)


def _boosting(seed: int) -> Any:
    return HistGradientBoostingClassifier(max_iter=60, min_samples_leaf=5, max_leaf_nodes=15, random_state=seed)


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
    return _answer(model, labels.classes, draw, scored, scored.X if scored.rows is None else X[scored.rows], start)


def _answer(
    model: Any, classes: NDArray[Any], draw: Draw, scored: Scored, X: NDArray[Any], start: float
) -> Labelled:
    """The most probable class of each row, and its probability."""
    probs = model.predict_proba(X)  # (k, C)
    codes = np.searchsorted(draw.classes, classes[model.classes_[probs.argmax(axis=1)]])
    return Labelled(codes, probs.max(axis=1).clip(0, 1), scored, process_time() - start)


def _pool(draw: Draw) -> NDArray[np.intp]:
    rows = np.flatnonzero(~draw.labeled)
    return np.random.default_rng([draw.seed, 4]).permutation(rows)[:_POOL]


# -- What is kept of it --------------------------------------------------------------------------------------


def labels_and_confidence(draw: Draw, found: Labelled) -> dict[str, Any]:
    """Accuracy, balanced accuracy over the classes that occur, and how the confidence orders right and wrong."""
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
SKLEARN = {kind: Method(plain, {"kind": kind}, _TITLES[kind]) for kind in PLAIN}
TEN_LINES = {"ten-lines": Method(ten_lines, title="boosting, ten lines")}
UNLABELLED_TOO = {
    "self-training": Method(self_training, title="self-training"),
    "importance": Method(importance_weighted, title="importance weighting"),
}
OURS = {
    AUTO: Method(automatic, title="chary label"),
    **{f"ours-{name}": Method(learner, {"name": name}, f"chary, {name}") for name in LEARNERS if name != AUTO},
}
ROUNDS = {"ours-mixed-5": Method(learner, {"name": "mixed", "rounds": 5}, "chary, mixed, 5 rounds")}
BALANCED = {f"{AUTO}-balanced": Method(automatic, {"aim": "balanced"}, "chary label, balanced aim")}
INFORMED = {
    f"{AUTO}-shares": Method(informed, {"rounds": 0}, "chary label, shares told"),
    f"{AUTO}-shares-5": Method(informed, {"rounds": 5}, "the same, 5 rounds"),
}
AUDITED = {
    f"{AUTO}-audited": Method(automatic, {"audited": AUDIT}, f"chary label + {AUDIT}"),
    **{
        f"{kind}-audited": Method(plain, {"kind": kind, "audited": AUDIT}, f"{_TITLES[kind]} + {AUDIT}")
        for kind in RIVALS
    },
}
WITH_REPORT = {REPORT: Method(report, title="chary label, report")}
