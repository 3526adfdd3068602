"""The study of estimates without labels: is the accuracy under bias known without an audit?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chary._arrays import Floats, Mask
from chary.labelling.learners import MIXED, NETWORK, learners
from chary.method import probabilities
from chary.method.held_out import HeldOut, hold_out
from studies import figures
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
from studies.figures import Axes
from studies.study import ALL, Method, Results, Study, TextTable

# The estimates in the order in which they are shown. "audit_30" looks at thirty random rows.
ESTIMATES = {
    "held_out": "held-out labels",
    "doc": "DoC",
    "atc": "ATC",
    "cbpe": "CBPE",
    "weighted": "importance-weighted cross-validation",
    "mano": "MaNo",
    "audit_30": "30 random rows",
    "audit_100": "100 random rows",
}
_AUDITS = (30, 100)
_BIASED = WAYS[1:]
_ALL_BIASED = (*_BIASED, "ssb")
_FEWEST_TO_CORRELATE = 10  # draws

# Strengths of the regularisation of importance weights: the larger, the weaker.
_STRENGTHS = (1e-4, 1e-3, 1e-2, 0.1)

# The exponent of MaNo's norm, and the divergence from which its softmax is trusted, as published.
_MANO_POWER = 4
_MANO_CRITERION = 5.0


class Model(NamedTuple):
    """What a model says of the rows without a label, and of held-out ones."""

    held_out: HeldOut
    probs: Floats  # (k, C) of the rows without a label
    is_right: Mask  # (k,) whether the likeliest class is the true one


def fitted_model(draw: Draw, learner: str) -> Model:
    """Fit a learner to the given labels, and again without each fifth of them."""
    classifier = learners()[learner].classifier(0, draw.seed)
    labels = draw.labels(draw.audited(0))
    held_out = hold_out(classifier, draw.X, labels, draw.seed)
    model = classifier.fit(draw.X, labels)
    rest = ~draw.labeled
    probs = probabilities(model, draw.X[rest])
    predicted = np.asarray(model.classes_)[probs.argmax(axis=1)]
    truth = draw.classes[draw.truth[rest]]
    return Model(held_out, probs, predicted.astype(str) == truth.astype(str))


def estimates(draw: Draw, model: Model) -> dict[str, Any]:
    """Estimate the accuracy on the rows without a label, and measure it.

    MaNo's number is a score; ``with_mano`` makes an estimate of it.
    """
    confidence = model.probs.max(axis=1)
    held_out = model.held_out
    weights, auc = draw.once(
        "importance weights", lambda: importance_weights(draw.X, draw.labeled, draw.seed)
    )
    weight_of_row = dict(zip(np.flatnonzero(draw.labeled), weights, strict=True))
    held_out_weights = [weight_of_row[row] for row in held_out.rows]
    rest = np.flatnonzero(~draw.labeled)
    audits = {}
    for k in _AUDITS:
        is_audited = np.isin(rest, draw.audited(k))
        audits[f"audit_{k}"] = float(model.is_right[is_audited].mean())
    return {
        "accuracy": float(model.is_right.mean()),
        "auc": auc,
        "held_out": float(held_out.correct.mean()),
        "doc": difference_of_confidences(held_out, confidence),
        "atc": thresholded_confidence(held_out, confidence),
        "cbpe": calibrated_confidence(held_out, confidence),
        "weighted": float(np.average(held_out.correct, weights=held_out_weights)),
        "mano_score": mano_score(model.probs),
        **audits,
    }


def difference_of_confidences(held_out: HeldOut, confidence: Floats) -> float:
    """DoC: the held-out accuracy less what the mean confidence falls (Guillory et al., 2021)."""
    fall = held_out.probability.mean() - confidence.mean()
    return float(held_out.correct.mean() - fall)


def thresholded_confidence(held_out: HeldOut, confidence: Floats) -> float:
    """ATC: the share above the threshold that as many held-out rows pass as are right.

    Garg et al., 2022, with the highest class probability.
    """
    threshold = np.quantile(held_out.probability, 1 - held_out.correct.mean())
    return float(np.mean(confidence >= threshold))


def calibrated_confidence(held_out: HeldOut, confidence: Floats) -> float:
    """CBPE: the mean of the confidence, calibrated by the held-out rows (NannyML)."""
    calibration = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    calibration.fit(held_out.probability, held_out.correct.astype(float))
    return float(calibration.predict(confidence).mean())


def importance_weights(X: Any, labeled: Mask, seed: int) -> tuple[Floats, float]:
    """Weigh labelled rows by the odds of having no label (Sugiyama et al., 2007).

    A logistic regression gives the odds of rows that it has not seen. Of several strengths of
    regularisation the one with the lowest log loss counts: with a fixed one, few labels in many
    columns gave single rows most of the weight, and errors of 15 points without any bias.

    Returns
    -------
    weights : array, one for each labelled row
    auc : float
        How well the regression tells rows without a label from labelled ones.
    """
    best_chances = np.full(len(labeled), np.mean(~labeled))
    for strength in _STRENGTHS:
        regression = LogisticRegression(C=strength, max_iter=300, random_state=seed)
        model = make_pipeline(StandardScaler(), regression)
        chances = cross_val_predict(model, X, ~labeled, cv=5, method="predict_proba")[:, 1]
        if log_loss(~labeled, chances) < log_loss(~labeled, best_chances):
            best_chances = chances
    chances = np.clip(best_chances, 1e-6, 1 - 1e-6)
    weights = chances[labeled] / (1 - chances[labeled])
    return weights, float(roc_auc_score(~labeled, chances))


def mano_score(probs: Floats) -> float:
    r"""MaNo: the norm of all normalised logits, :math:`(\sum |p_{ij}|^4 / (n C))^{1/4}`.

    Xie, Odonnat et al., 2024. Logits are the logarithms of the probabilities. Where these are far
    from uniform the softmax is trusted, else a Taylor polynomial of degree 2 takes its place.
    """
    logits = np.log(np.clip(probs, 1e-12, None))
    divergence = -float(logits.mean())
    normalised = probs
    if divergence <= _MANO_CRITERION:
        centred = logits - logits.mean(axis=1, keepdims=True)
        taylor = 1 + centred + centred**2 / 2
        normalised = taylor / taylor.sum(axis=1, keepdims=True)
    return float(np.mean(np.abs(normalised) ** _MANO_POWER) ** (1 / _MANO_POWER))


# ---------------------------------------------------------------- how far they are off

Errors = dict[str, dict[tuple[str, str, int], float]]  # estimate -> draw -> points too high


def errors_of(results: Results, learner: str) -> Errors:
    """Find how many points each estimate of each draw is too high."""
    errors: Errors = defaultdict(dict)
    for (place, result), mano in with_mano(results, learner):
        measured = {**result, "mano": mano}
        for name in ESTIMATES:
            if name in measured:
                errors[name][place] = 100 * (measured[name] - measured["accuracy"])
    return errors


def with_mano(results: Results, learner: str) -> list[tuple[Any, float]]:
    """Make an estimate of MaNo's score: a line through score and truth of all other data sets.

    No user has these truths, so this is kinder to it than life.
    """
    found = [
        ((cell.dataset, cell.labeling, cell.seed), result)
        for cell, result in results
        if cell.method == learner
    ]
    names = np.array([place[0] for place, _ in found])
    scores = np.array([result["mano_score"] for _, result in found])
    truths = np.array([result["accuracy"] for _, result in found])
    lines: dict[str, NDArray[Any]] = {}
    for name in dict.fromkeys(names.tolist()):
        others = names != name
        lines[name] = np.array([0.0, truths[~others].mean()])
        if others.sum() >= 2:
            lines[name] = np.polyfit(scores[others], truths[others], 1)
    return [
        (one, float(np.clip(np.polyval(lines[name], score), 0, 1)))
        for one, name, score in zip(found, names.tolist(), scores, strict=True)
    ]


def _of_ways(errors: Errors, name: str, ways: Sequence[str]) -> NDArray[Any]:
    """Select the errors of an estimate on draws of some ways."""
    return np.array([error for place, error in errors[name].items() if place[1] in ways])


def error_table(study: Study, results: Results) -> TextTable:
    """Tabulate how far each estimate is off, by learner and by how labels were drawn."""
    rows = []
    for learner, method in study.methods.items():
        errors = errors_of(results, learner)
        for name, title in ESTIMATES.items():
            cells = []
            for way in study.labelings:
                points = _of_ways(errors, name, [way])
                words = "-"
                if len(points):
                    worst = np.abs(points).max()
                    words = f"{np.abs(points).mean():.1f} [{worst:.0f}; {len(points)}]"
                cells.append(words)
            if set(cells) != {"-"}:
                rows.append([method.title, title, *cells])
    caption = (
        "How far an estimate of the accuracy is off, in points: mean [worst; draws]; "
        "the rows below MaNo look at random rows"
    )
    return TextTable(caption, ["Model", "Estimate", *study.labelings], rows)


def headline(study: Study, results: Results) -> str:
    """Say how far estimates without labels are off, on real tables and under the paper's bias."""
    parts = []
    for words, ways in (("real tables with biased labels", _BIASED), ("the paper's bias", ["ssb"])):
        means = []
        for learner in study.methods:
            errors = errors_of(results, learner)
            for name in ("doc", "atc", "cbpe", "weighted", "mano"):
                points = _of_ways(errors, name, ways)
                if len(points):
                    means.append(float(np.abs(points).mean()))
        if means:
            parts.append(f"{min(means):.0f} to {max(means):.0f} points on {words}")
    if not parts:
        return ""
    return f"Estimates without labels are off by {' and '.join(parts)}"


def can_it_be_told(study: Study, results: Results, companion: Results) -> list[str]:
    """Say whether the difference of labelled rows tells how far an estimate is off, if biased."""
    sentences = []
    for learner, method in study.methods.items():
        aucs = {
            (cell.dataset, cell.labeling, cell.seed): result["auc"]
            for cell, result in results
            if cell.method == learner and cell.labeling in _ALL_BIASED and "auc" in result
        }
        if len(aucs) < _FEWEST_TO_CORRELATE:
            continue
        errors = errors_of(results, learner)
        parts = []
        for name in ("doc", "atc", "cbpe"):
            sizes = [abs(errors[name][place]) for place in aucs]
            correlation = np.corrcoef(list(aucs.values()), sizes)[0, 1]
            parts.append(f"{ESTIMATES[name]} {correlation:.2f}")
        sentences.append(
            f"{method.title}, {len(aucs)} biased draws: the correlation of an estimate's error "
            f"with how well labelled rows are told from the others (AUC) is {', '.join(parts)}."
        )
    return sentences


def error_figure(study: Study, results: Results) -> Axes:
    """Plot the estimates by DoC, held-out labels and 100 random rows against the truth."""
    shown = {"held_out": figures.GREY, "doc": figures.BLUE, "audit_100": figures.ORANGE}
    axes = figures.panels(1, len(study.methods), 4.6, 4.2, sharex=True, sharey=True)
    for ax, (learner, method) in zip(axes[0], study.methods.items(), strict=True):
        ax.plot([0, 100], [0, 100], color="black", linewidth=0.8)
        for name, colour in shown.items():
            found = [
                (100 * result["accuracy"], 100 * result[name])
                for cell, result in results
                if cell.method == learner and cell.labeling in _ALL_BIASED
            ]
            if found:
                truths, estimated = zip(*found, strict=True)
                ax.scatter(truths, estimated, s=9, color=colour, label=ESTIMATES[name])
        ax.set(title=method.title, xlabel="Accuracy (%)", ylabel="Estimate (%)")
    handles = [
        axes[0, 0].plot([], [], "o", color=colour, label=ESTIMATES[name])[0]
        for name, colour in shown.items()
    ]
    return figures.finish(axes, study, results, handles)


LABEL_FREE = Study(
    "label-free",
    "How far estimates of the accuracy without an audit are off",
    (*NAMES, *SECOND, *ALL),
    labelings=(*WAYS, *PAPER_WAYS),
    methods={
        NETWORK: Method(fitted_model, {"learner": NETWORK}, "network"),
        "mixture": Method(fitted_model, {"learner": MIXED}, "mixture"),
    },
    measure=estimates,
    seeds=(0, 1, 2),
    task=part_of_table,
    metric="doc",
    caption="Accuracy as DoC estimates it",
    tables=(error_table,),
    headline=headline,
    conclude=(can_it_be_told,),
    figure=error_figure,
    source=ANY_SOURCE,
    only=is_possible,
)
