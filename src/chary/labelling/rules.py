"""Decide what a user leaves open: the rules of ``chary label``, in order.

A rule is a function that ``learn`` or ``fit_learner`` calls. It returns a ``Finding``, the figures
that decided and what follows from them, or None if the rule does not act. A study switches
a rule off by its name, ``Defaults(switched_off=frozenset({"leave_out_useless_texts"}))``.
``docs/explanation/defaults.md`` says why each rule is there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, logsumexp
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.tree import DecisionTreeClassifier

from chary._arrays import Array, Ints, Mask
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.labelling.diagnose import (
    STRONG,
    Diagnosis,
    Prepared,
    draw_at_most,
    find_columns_empty_elsewhere,
    notes_on_empty,
)
from chary.labelling.learners import FoldModels, Learner
from chary.method.estimators import log_of
from chary.method.held_out import hold_out
from chary.method.labels import Labels
from chary.method.mixture import MixedEnsembleClassifier, default_members, linear_model
from chary.method.priors import variation
from chary.method.self_training import SelfTrainingClassifier
from chary.tables import Table
from chary.tables.columns import Texts


@dataclass(frozen=True)
class Finding:
    """What a rule saw that made it act."""

    rule: str  #: name of the rule
    figures: dict[str, float]  #: the figures that decided, by name


@dataclass(frozen=True)
class LeftOut(Finding):
    """Columns that are not learned from."""

    notes: dict[str, str]  #: for each column, why it is left out


@dataclass(frozen=True)
class MemberWeights(Finding):
    """How much each member of the mixture counts."""

    weights: NDArray[np.float64]  #: (M,) summing to 1


@dataclass(frozen=True)
class Lean(Finding):
    """A mixture that leans towards the commonest class."""

    amount: float  #: this many times the logarithm of the class shares is added to the scores


@dataclass(frozen=True)
class HandOver(Finding):
    """The paper's method, which learns in place of the mixture."""

    network: SelfTrainingClassifier  #: fitted
    why: str  #: half a sentence: why the mixture cannot be trusted


# ---------------------------------------------------------------- which columns are learned from


def leave_out_columns_empty_elsewhere(
    prepared: Prepared, table: Table, labeled: Mask, defaults: Defaults = DEFAULTS
) -> LeftOut | None:
    """Leave out columns that are filled in labelled rows, and not in the others."""
    rule = "leave_out_columns_empty_elsewhere"
    if not defaults.is_on(rule):
        return None
    columns = find_columns_empty_elsewhere(prepared, table, labeled, defaults)
    if not columns:
        return None
    figures = {}
    for name, shares in columns.items():
        figures[f"filled in labelled rows: {name}"] = shares.labeled
        figures[f"filled in other rows: {name}"] = shares.others
    return LeftOut(rule, figures, notes_on_empty(columns))


def leave_out_columns_beyond_labels(
    prepared: Prepared,
    labels: Labels,
    has_label: Mask,
    diagnosis: Diagnosis,
    defaults: Defaults = DEFAULTS,
    seed: int = 0,
) -> LeftOut | None:
    """Leave out columns whose values end where the labels end.

    Examples are a running number, or a date if all labels are of one year. Of most unlabelled rows
    such a column says only that they lie beyond the labelled ones, and a model gives all of these
    the labels at the edge. The rule acts only if labels are strongly biased and three conditions
    hold:

    1. A decision tree tells labelled rows from others by the column alone. Most of the other rows
       are in leaves without a label.
    2. Without these columns, the mixture predicts class shares that are nearer to the class shares
       of the labels. If it does not, what is learned from the columns holds for other rows, too.
    3. Without these columns, the log loss of held-out labels does not rise too far: a column that
       decides the labels stays.

    Parameters
    ----------
    prepared : Prepared
    labels : Labels
        The given labels, without the labels of an audit.
    has_label : array of shape (n,), bool
        Whether a row has a given label or a label of an audit.
    diagnosis : Diagnosis
    defaults : Defaults, default=DEFAULTS
    seed : int, default=0
    """
    rule = "leave_out_columns_beyond_labels"
    if not defaults.is_on(rule) or diagnosis.verdict != STRONG:
        return None
    rng = np.random.default_rng(seed)
    others = draw_at_most(np.flatnonzero(~has_label), defaults.coverage_rows, rng)
    rows = np.sort(np.concatenate([np.flatnonzero(has_label), others]))
    X = prepared.X[rows]

    columns = _columns_of_features(prepared)  # (d,)
    shares_beyond = {}
    for name in dict.fromkeys(columns.tolist()):
        shares_beyond[name] = _share_beyond(X[:, columns == name], has_label[rows], defaults)
    suspects = {
        name: share for name, share in shares_beyond.items() if share >= defaults.beyond_share
    }
    # Nothing to do without suspects; and if all columns are suspect, none would be left.
    if len(suspects) in (0, len(shares_beyond)):
        return None

    stays = ~np.isin(columns, list(suspects))
    sample = labels.subset(rows)
    distance = _distance_of_shares(X, sample, defaults, seed)
    distance_without = _distance_of_shares(X[:, stays], sample, defaults, seed)
    if distance - distance_without < defaults.nearer_shares:
        return None

    loss, loss_without = _losses_without(prepared, labels, stays, defaults, seed)
    if loss_without > defaults.max_loss_ratio * loss:
        return None
    notes = {
        name: f"{share:.0%} of the other rows lie where no label is, so what it says of them "
        "cannot be learned"
        for name, share in suspects.items()
    }
    figures = {
        "distance": distance,
        "distance_without": distance_without,
        "loss": loss,
        "loss_without": loss_without,
    }
    return LeftOut(rule, figures, notes)


def leave_out_useless_texts(
    prepared: Prepared, labels: Labels, defaults: Defaults = DEFAULTS, seed: int = 0
) -> LeftOut | None:
    """Leave out free text that makes held-out labels harder to predict.

    Thirty topics of each text can outvote a few good columns. All texts are left out, or none.
    """
    rule = "leave_out_useless_texts"
    texts = [column.name for column in prepared.preparation.columns_ if column.kind == Texts.name]
    is_text = np.isin(_columns_of_features(prepared), texts)
    if not defaults.is_on(rule) or is_text.all() or not is_text.any():
        return None

    loss, loss_without = _losses_without(prepared, labels, ~is_text, defaults, seed)
    if loss_without >= defaults.text_loss_ratio * loss:
        return None
    note = "free text; held-out labels are guessed better without it"
    return LeftOut(rule, {"loss": loss, "loss_without": loss_without}, dict.fromkeys(texts, note))


def _columns_of_features(prepared: Prepared) -> Array:
    """Return the name of the column that each feature is made of, (d,)."""
    return np.array([feature.column for feature in prepared.preparation.features()])


def _share_beyond(X: Array, has_label: Mask, defaults: Defaults) -> float:
    """Return the share of unlabelled rows in leaves of a decision tree without a label."""
    # As many rows as hold ``labels_per_leaf`` labels on average.
    leaf_rows = max(1, math.ceil(defaults.labels_per_leaf * len(has_label) / has_label.sum()))
    tree = DecisionTreeClassifier(min_samples_leaf=leaf_rows, random_state=0).fit(X, has_label)
    leaves = tree.apply(X)
    return float(np.mean(~np.isin(leaves[~has_label], leaves[has_label])))


def _distance_of_shares(X: Array, labels: Labels, defaults: Defaults, seed: int) -> float:
    """Return the total variation between the class shares of labels and of predictions."""
    members = default_members(
        int(labels.labeled.sum()),
        len(labels.classes),
        X.shape[1],
        replace(defaults.mixture, n_trees=defaults.share_trees),
    )
    model = MixedEnsembleClassifier(members, random_state=seed).fit(X, labels)
    predicted = np.searchsorted(labels.classes, model.predict(X[labels.rows_to_predict]))
    return variation(labels.codes[labels.labeled], predicted, len(labels.classes))


def _losses_without(
    prepared: Prepared, labels: Labels, stays: Mask, defaults: Defaults, seed: int
) -> tuple[float, float]:
    """Return the held-out log losses with all features, and with those that stay."""
    rows = rows_to_hold_out(prepared.X, labels, defaults.quick_rows, seed)
    X = prepared.X[rows]
    quick_model = MixedEnsembleClassifier(
        [
            ("linear", linear_model(defaults.mixture)),
            (
                "trees",
                ExtraTreesClassifier(
                    defaults.quick_trees, max_features=defaults.mixture.tree_features
                ),
            ),
        ],
        unlabeled=None,
        random_state=seed,
    )

    def loss(features: Array) -> float:
        predictions = hold_out(quick_model, features, labels.subset(rows), random_state=seed)
        probability = predictions.given_probability
        if len(probability) == 0:
            return 0.0
        return float(-np.log(np.maximum(probability, np.finfo(float).tiny)).mean())

    return loss(X), loss(X[:, stays])


def rows_to_hold_out(X: Array, labels: Labels, n_others: int, seed: int) -> Ints:
    """Return all labelled rows and a draw of at most ``n_others`` unlabelled rows.

    Rows are first sorted by their features, so that the result does not depend on their order.
    """
    rng = np.random.default_rng(seed)
    # A random projection: one number for each row, made from its features alone.
    place = np.round(X @ rng.normal(size=X.shape[1]), 6)
    rows = np.lexsort((labels.codes, place))
    labeled = labels.labeled[rows]
    return np.concatenate([rows[labeled], rng.permutation(rows[~labeled])[:n_others]])


# ---------------------------------------------------------------- which model learns


def boost_many_labels(n_labeled: int, defaults: Defaults = DEFAULTS) -> Finding | None:
    """Let boosting learn alone if there are many labels."""
    rule = "boost_many_labels"
    if not defaults.is_on(rule) or n_labeled <= defaults.max_mixture_labels:
        return None
    return Finding(rule, {"labels": n_labeled})


class OutOfFold(NamedTuple):
    """What mixtures predict for labels that they have not seen."""

    rows: Ints  # all labelled rows and some unlabelled ones
    # Each mixture, with the places in ``rows`` that it was fitted without; empty: too few labels.
    fold_models: FoldModels
    codes: Ints  # (k,) the labels that were held out, fold after fold
    logits: NDArray[np.float64]  # (k, M, C) of the members

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores (k, C) of the mixtures with their present weights."""
        weights = self.fold_models[0][0].weights_
        return np.einsum("m,kmc->kc", weights, self.logits)

    @property
    def predicted(self) -> Ints:
        """Class codes (k,) predicted for the labels that were held out."""
        if not self.fold_models:
            return self.codes
        class_bias = self.fold_models[0][0].class_bias_
        return (self.scores + class_bias).argmax(axis=1)

    @property
    def loss(self) -> float:
        """Mean log loss, in nats, of the mixtures on the labels that were held out."""
        return _log_loss(self.scores, self.codes)


def predict_out_of_fold(learner: Learner, X: Array, labels: Labels, seed: int) -> OutOfFold:
    """Fit the mixture without each fold of the labels in turn, and predict that fold."""
    rows = rows_to_hold_out(X, labels, learner.held_out_rows, seed)
    sample = labels.subset(rows)
    fold_models: FoldModels = []
    estimator = learner.estimator(random_state=seed).set_params(unlabeled=None)
    hold_out(estimator, X[rows], sample, random_state=seed, keep=fold_models)
    if not fold_models:
        return OutOfFold(rows, fold_models, np.zeros(0, np.intp), np.zeros((0, 0, 0)))
    logits = [log_of(model.predict_head_proba(X[rows[fold]])) for model, fold in fold_models]
    codes = sample.codes[np.concatenate([fold for _, fold in fold_models])]
    return OutOfFold(rows, fold_models, codes, np.concatenate(logits))


def weigh_members(out_of_fold: OutOfFold, defaults: Defaults = DEFAULTS) -> MemberWeights | None:
    r"""Weigh the members of the mixture by how well they predict held-out labels.

    With :math:`\ell_m` the mean log loss of member m, its logits multiplied by the factor that
    suits them best, its weight is

    .. math::
        w_m \propto w_m^0 \exp(-\beta (\ell_m - \bar\ell)),
        \qquad |\beta (\ell_m - \bar\ell)| \le 1,

    with :math:`\beta` = ``weight_per_loss`` = 4. The bound of 1 is ``max_weight_change``: it keeps
    the weights near the fixed weights :math:`w^0`, as labelled rows may differ from the others.
    """
    rule = "weigh_members"
    if not defaults.is_on(rule) or not out_of_fold.fold_models:
        return None

    losses = np.zeros(out_of_fold.logits.shape[1])  # (M,)
    for m in range(len(losses)):
        logits = out_of_fold.logits[:, m]  # (k, C)
        losses[m] = min(
            _log_loss(scale * logits, out_of_fold.codes) for scale in defaults.logit_scales
        )

    limit = defaults.max_weight_change
    change = np.clip(-defaults.weight_per_loss * (losses - losses.mean()), -limit, limit)
    weights = out_of_fold.fold_models[0][0].weights_ * np.exp(change)
    weights /= weights.sum()
    figures = {f"loss_{m}": float(loss) for m, loss in enumerate(losses)}
    return MemberWeights(rule, figures, weights)


def lean_to_commonest_class(
    out_of_fold: OutOfFold, labels: Labels, defaults: Defaults = DEFAULTS
) -> Lean | None:
    """Lean towards the commonest class if always naming it is right more often."""
    rule = "lean_to_commonest_class"
    if not defaults.is_on(rule) or not out_of_fold.fold_models:
        return None
    commonest = labels.class_counts.argmax()
    right = float(np.mean(out_of_fold.scores.argmax(axis=1) == out_of_fold.codes))
    right_by_commonest = float(np.mean(out_of_fold.codes == commonest))
    if right >= right_by_commonest:
        return None
    figures = {"right": right, "right_by_commonest": right_by_commonest}
    return Lean(rule, figures, defaults.lean)


# Why the mixture cannot be trusted, in words for people.
_TOO_EASY = (
    "the labelled rows differ strongly from the rest, all columns are numbers, and labels held out "
    "are predicted almost perfectly: then the labels come from the easy edge of each class, and a "
    "model that looks perfect on them cannot be trusted on the rest"
)
_COLLAPSED = (
    "the labelled rows differ strongly from the rest, all columns are numbers, and the usual model "
    "puts far more of the other rows into a few classes than your labels do"
)


def hand_over_to_network(
    mixture: Any,
    fit_network: Callable[[], SelfTrainingClassifier],
    X: Array,
    labels: Labels,
    out_of_fold: OutOfFold,
    diagnosis: Diagnosis,
    *,
    only_numbers: bool = True,
    defaults: Defaults = DEFAULTS,
    seed: int = 0,
) -> HandOver | None:
    r"""Hand over to the paper's method if the mixture cannot be trusted beyond the labels.

    The rule acts only if labels are strongly biased, all columns are numbers, and two conditions
    hold:

    1. The labels are too easy: the mixture predicts held-out labels almost perfectly. Then they
       come from the easy edge of each class. Or the mixture has collapsed (``_has_collapsed``).
    2. The class shares of the network's labels are nearer to those of the given labels than the
       class shares of the mixture's. If they are not, nothing says that the network is better.

    Parameters
    ----------
    mixture : classifier
        Fitted.
    fit_network : callable
        Fits the paper's method; called only if the first condition holds.
    X : array of shape (n, d)
    labels : Labels
    out_of_fold : OutOfFold
        What mixtures predict for held-out labels.
    diagnosis : Diagnosis
    only_numbers : bool, default=True
        Whether all columns are numbers or have two values.
    defaults : Defaults, default=DEFAULTS
    seed : int, default=0
    """
    rule = "hand_over_to_network"
    if not defaults.is_on(rule) or diagnosis.verdict != STRONG or not only_numbers:
        return None
    if len(out_of_fold.codes) == 0:
        return None
    rng = np.random.default_rng(seed)
    rows = draw_at_most(labels.rows_to_predict, defaults.collapse_rows, rng)
    by_mixture = np.searchsorted(labels.classes, mixture.predict(X[rows]))
    is_too_easy = out_of_fold.loss < defaults.too_easy_loss
    if not is_too_easy and not _has_collapsed(by_mixture, labels, out_of_fold, defaults):
        return None

    network = fit_network()
    by_network = _labels_by(network, X, rows)
    n_classes = len(labels.classes)
    given_codes = labels.codes[labels.labeled]
    distance = variation(by_mixture, given_codes, n_classes)
    distance_of_network = variation(by_network, given_codes, n_classes)
    if distance - distance_of_network < defaults.network_nearer_shares:
        return None
    figures = {
        "loss": out_of_fold.loss,
        "distance": distance,
        "distance_of_network": distance_of_network,
    }
    return HandOver(rule, figures, network, _TOO_EASY if is_too_easy else _COLLAPSED)


def _has_collapsed(
    predicted: Ints, labels: Labels, out_of_fold: OutOfFold, defaults: Defaults
) -> bool:
    r"""Tell whether predictions for the other rows concentrate on a few of the classes.

    On rows far from any label the mixture may predict almost nothing but these. It has collapsed if
    the class shares :math:`\hat\pi` of its predictions are far from the class shares :math:`\pi` of
    the labels, and less even:

    .. math::
        \tfrac12 \textstyle\sum_c |\hat\pi_c - \pi_c| \ge 0.4,
        \qquad H(\hat\pi) \le 0.9\, H(\pi)

    with H the entropy. Both must also hold if :math:`\pi` are the class shares of the out-of-fold
    predictions for labelled rows: if features say little, the commonest class is the best guess for
    labelled rows, too, which is no collapse.
    """
    n_classes = len(labels.classes)
    given_codes = labels.codes[labels.labeled]
    return _is_narrower(predicted, given_codes, n_classes, defaults) and _is_narrower(
        predicted, out_of_fold.predicted, n_classes, defaults
    )


def _labels_by(network: SelfTrainingClassifier, X: Array, rows: Ints) -> Ints:
    """Return the class codes of rows: as accepted in a round, otherwise as predicted at the end."""
    codes = np.searchsorted(network.classes_, network.estimator_.predict(X[rows]))
    accepted = network.labeled_iter_[rows] > 0
    accepted_labels = network.transduction_[rows[accepted]].astype(network.classes_.dtype)
    codes[accepted] = np.searchsorted(network.classes_, accepted_labels)
    return codes


def _is_narrower(predicted: Ints, codes: Ints, n_classes: int, defaults: Defaults) -> bool:
    """Tell whether predictions concentrate on fewer classes than ``codes`` do."""
    if variation(predicted, codes, n_classes) < defaults.collapse_distance:
        return False
    entropy = _entropy_of_shares(predicted, n_classes)
    return entropy <= defaults.collapse_entropy * _entropy_of_shares(codes, n_classes)


def _entropy_of_shares(codes: Ints, n_classes: int) -> float:
    """Return the entropy of class shares, in nats."""
    return float(entr(np.bincount(codes, minlength=n_classes) / len(codes)).sum())


def _log_loss(scores: Array, codes: Ints) -> float:
    """Return the mean log loss of unnormalised scores (k, C)."""
    return float(np.mean(logsumexp(scores, axis=1) - scores[np.arange(len(codes)), codes]))
