"""The study of the paper's idea on real tables: self-training by softmax or by T-similarity."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chary import Curriculum
from chary.labelling.learners import MIXED, NETWORK, learners
from chary.method import probabilities, t_similarity
from chary.method.estimators import predicted_labels
from studies.collection import NAMES, SECOND, SOURCE, WAYS, Draw, part_of_table, possible
from studies.findings import told
from studies.paired import (
    Contest,
    Gains,
    by_draw,
    contest_figure,
    contest_table,
    gains_over,
)
from studies.study import Method, Results, Study, TextTable

_STEP = 0.4


def labels_after(
    draw: Draw, learner: str, confidence: str = "softmax", rounds: int = 0
) -> NDArray[Any]:
    """Label the rows without a label by CSTA, (k,); the paper's network goes on from its weights.

    A row that was accepted keeps its label; the others are predicted.
    """
    if rounds == 0:
        return predicted_labels(_first_model(draw, learner), draw.X[~draw.labeled])
    both: dict[int, NDArray[Any]] = draw.once(
        (learner, confidence), lambda: _labels_by_round(draw, learner, confidence)
    )
    return both[rounds]


def _first_model(draw: Draw, learner: str) -> Any:
    """The model of the given labels, which both confidences start from."""

    def fit() -> Any:
        model = learners()[learner].classifier(0, draw.seed)
        return model.fit(draw.X, draw.labels(draw.audited(0))).estimator_

    return draw.once((learner, "first model"), fit)


def _labels_by_round(draw: Draw, learner: str, confidence: str) -> dict[int, NDArray[Any]]:
    """Label the rows after one round and after three, in one fit.

    The third round accepts every row that is left, as the model of the second round labels it: two
    rounds give the labels of three.
    """
    models = []

    def measure(model: Any, X: Any) -> NDArray[Any]:
        models.append(model)
        return _CONFIDENCES[confidence](model, X)

    self_training = learners()[learner].classifier(2, draw.seed)
    self_training.set_params(
        policy=Curriculum(_STEP), confidence=measure, warm_start=learner == NETWORK
    )
    first = _first_model(draw, learner)
    self_training.fit(draw.X, draw.labels(draw.audited(0)), initial=first)

    rest = ~draw.labeled
    accepted_in = self_training.labeled_iter_[rest]
    labels = self_training.transduction_[rest]
    after_one = np.where(accepted_in == 1, labels, predicted_labels(models[-1], draw.X[rest]))
    after_three = np.where(
        accepted_in > 0, labels, predicted_labels(self_training.estimator_, draw.X[rest])
    )
    return {1: after_one, 3: after_three}


def _agreement(model: Any, X: Any) -> NDArray[Any]:
    weights = getattr(model, "head_weights_", None)
    return t_similarity(model.predict_head_proba(X), weights=weights)


_CONFIDENCES: dict[str, Callable[[Any, Any], NDArray[Any]]] = {
    "softmax": lambda model, X: probabilities(model, X).max(axis=1),
    "t_similarity": _agreement,
}


def share_right(draw: Draw, labels: NDArray[Any]) -> dict[str, Any]:
    """Measure the accuracy on the rows without a label."""
    truth = draw.classes[draw.truth[~draw.labeled]]
    return {"accuracy": float(np.mean(labels.astype(str) == truth.astype(str)))}


# ---------------------------------------------------------------- the methods and their names

_LEARNERS = {NETWORK: "network", MIXED: "mixture"}
_TITLES = {"softmax": "softmax", "t_similarity": "T-similarity"}
_ROUNDS = {1: "one round", 3: "three rounds"}
_BIASED = WAYS[1:]


def _name(learner: str, confidence: str, rounds: int) -> str:
    return f"{learner}-{confidence}-{rounds}"


def _methods() -> dict[str, Method]:
    methods = {}
    for learner, title in _LEARNERS.items():
        methods[learner] = Method(labels_after, {"learner": learner}, title)
        for confidence, rounds in product(_TITLES, _ROUNDS):
            options = {"learner": learner, "confidence": confidence, "rounds": rounds}
            words = f"{title}, {_TITLES[confidence]}, {_ROUNDS[rounds]}"
            methods[_name(learner, confidence, rounds)] = Method(labels_after, options, words)
    return methods


_METHODS = _methods()


def _against_itself() -> list[Contest]:
    return [
        Contest(method.title, name, method.options["learner"])
        for name, method in _METHODS.items()
        if name not in _LEARNERS
    ]


def _against_softmax() -> list[Contest]:
    contests = []
    for (learner, title), rounds in product(_LEARNERS.items(), _ROUNDS):
        ours = _name(learner, "t_similarity", rounds)
        rival = _name(learner, "softmax", rounds)
        contests.append(Contest(f"{title}, {_ROUNDS[rounds]}", ours, rival))
    return contests


def _against_mixture() -> list[Contest]:
    contests = [Contest("no self-training", NETWORK, MIXED)]
    for confidence, rounds in product(_TITLES, _ROUNDS):
        words = f"{_TITLES[confidence]}, {_ROUNDS[rounds]}"
        ours = _name(NETWORK, confidence, rounds)
        contests.append(Contest(words, ours, _name(MIXED, confidence, rounds)))
    return contests


_COMPARISONS = {
    "Self-training beside none": _against_itself(),
    "T-similarity beside softmax": _against_softmax(),
    "The network beside the mixture": _against_mixture(),
}


# ---------------------------------------------------------------- tables and sentences


def accuracies(study: Study, results: Results) -> TextTable:
    """The mean accuracy of every method, by how labels were drawn."""
    rows = []
    for method in study.methods:
        places = by_draw(results, method)
        cells = []
        for way in study.labelings:
            found = [accuracy for place, accuracy in places.items() if place[1] == way]
            cells.append(f"{np.mean(found):.1f} [{len(found)}]" if found else "-")
        if places:
            rows.append([study.title_of(method), *cells])
    caption = "Accuracy in percent on at most 2,000 rows without a label, mean over draws [draws]"
    return TextTable(caption, ["Method", *study.labelings], rows)


def headline(study: Study, results: Results) -> str:
    """Say what the paper's own method, three rounds by T-similarity, changes."""
    parts = []
    for learner, title in _LEARNERS.items():
        gains = gains_over(results, _BIASED, _name(learner, "t_similarity", 3), learner)
        if gains.by_draw:
            parts.append(f"the {title} by {gains.words} points ({len(gains.by_draw)} draws)")
    return told("With biased labels, three rounds by T-similarity change", parts)


def verdict(study: Study, results: Results, companion: Results) -> list[str]:
    """Say in plain words what helps and what harms, by more than chance would."""
    sentences = []
    for words, ways in (("biased", _BIASED), ("random", WAYS[:1])):
        for comparison, contests in _COMPARISONS.items():
            answers: dict[str, list[str]] = {}
            for contest in contests:
                gains = gains_over(results, ways, contest.ours, contest.rival)
                if gains.by_draw:
                    text = f"{contest.words} ({gains.words})"
                    answers.setdefault(_answer(gains), []).append(text)
            if answers:
                parts = [f"{answer}: {'; '.join(found)}" for answer, found in answers.items()]
                sentences.append(f"{comparison}, {words} labels. {'. '.join(parts)}.")
    return sentences


def _answer(gains: Gains) -> str:
    """Say whether a difference is more than two standard errors, and on which side of zero."""
    if not gains.is_clear:
        return "No difference beyond chance"
    return "Better" if gains.mean > 0 else "Worse"


REAL_TABLES = Study(
    "real-tables",
    "The paper's idea on real tables: self-training of its network and of the mixture",
    (*NAMES, *SECOND),
    labelings=WAYS,
    methods=_METHODS,
    measure=share_right,
    seeds=(0, 1, 2),
    task=part_of_table,
    caption="Accuracy on the rows without a label",
    tables=(
        accuracies,
        *(partial(contest_table, *comparison) for comparison in _COMPARISONS.items()),
    ),
    headline=headline,
    conclude=(verdict,),
    figure=partial(contest_figure, _against_itself()),
    source=SOURCE,
    only=possible,
)
