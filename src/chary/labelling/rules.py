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
from scipy.stats import binom
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.tree import DecisionTreeClassifier

from chary._arrays import Array, Ints, Mask
from chary.audit.answers import AuditAnswers
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
from chary.method.held_out import fit_without, hold_out, labelled_folds
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
class Lean(Finding):
    """A mixture that leans towards the commonest class."""

    amount: float  #: this many times the logarithm of the class shares is added to the scores


@dataclass(frozen=True)
class HandOver(Finding):
    """The paper's method, which learns in place of the mixture."""

    network: SelfTrainingClassifier  #: fitted
    mixture: Any  #: fitted; it would label the rest otherwise
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
    such a column says only that they come after the last labelled one, and a model gives all of
    these the label that is commonest shortly before that. The rule acts only if labels are strongly
    biased and three conditions hold:

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
    # All labelled rows, and a draw of the others.
    rng = np.random.default_rng(seed)
    others = draw_at_most(np.flatnonzero(~has_label), defaults.coverage_rows, rng)
    rows = np.sort(np.concatenate([np.flatnonzero(has_label), others]))
    X = prepared.X[rows]

    # Condition 1: the suspects, each with the share of rows in leaves without a label.
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

    # Condition 2: the class shares.
    stays = ~np.isin(columns, list(suspects))  # (d,)
    sample = labels.subset(rows)
    distance = _distance_of_shares(X, sample, defaults, seed)
    distance_without = _distance_of_shares(X[:, stays], sample, defaults, seed)
    if distance - distance_without < defaults.nearer_shares:
        return None

    # Condition 3: the log loss.
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
    """Return the share of unlabelled rows in leaves of a decision tree without a label.

    The tree tells from the features X (n, d) of one column whether a row is labelled.
    """
    # As many rows as hold ``labels_per_leaf`` labels on average: with 50 labels in 1,000 rows, 100
    # rows hold 5 labels.
    rows_per_label = defaults.labels_per_leaf * len(has_label) / has_label.sum()
    leaf_rows = max(1, math.ceil(rows_per_label))
    tree = DecisionTreeClassifier(min_samples_leaf=leaf_rows, random_state=0).fit(X, has_label)
    leaves = tree.apply(X)  # (n,) the number of each row's leaf
    is_beyond = ~np.isin(leaves[~has_label], leaves[has_label])
    return float(np.mean(is_beyond))


def _distance_of_shares(X: Array, labels: Labels, defaults: Defaults, seed: int) -> float:
    """Return the total variation between the class shares of labels and of predictions."""
    members = default_members(
        int(labels.labeled.sum()),
        len(labels.classes),
        X.shape[1],
        replace(defaults.mixture, n_trees=defaults.share_trees),
    )
    model = MixedEnsembleClassifier(members, random_state=seed).fit(X, labels)
    predicted_labels = model.predict(X[labels.rows_to_predict])
    predicted_codes = np.searchsorted(labels.classes, predicted_labels)
    return variation(labels.codes[labels.labeled], predicted_codes, len(labels.classes))


def _losses_without(
    prepared: Prepared, labels: Labels, stays: Mask, defaults: Defaults, seed: int
) -> tuple[float, float]:
    """Return two held-out log losses: with all features, and with those that stay, (d,)."""
    rows = rows_to_hold_out(prepared.X, labels, defaults.quick_rows, seed)
    X = prepared.X[rows]
    linear = linear_model(defaults.mixture)
    trees = ExtraTreesClassifier(defaults.quick_trees, max_features=defaults.mixture.tree_features)
    quick_model = MixedEnsembleClassifier(
        [("linear", linear), ("trees", trees)], unlabeled=None, random_state=seed
    )

    def loss(features: Array) -> float:
        predictions = hold_out(quick_model, features, labels.subset(rows), random_state=seed)
        probability = predictions.given_probability
        if len(probability) == 0:
            return 0.0
        return float(-np.log(np.maximum(probability, np.finfo(float).tiny)).mean())

    return loss(X), loss(X[:, stays])


def rows_to_hold_out(X: Array, labels: Labels, n_others: int, seed: int) -> Ints:
    """Return the numbers of all labelled rows and of at most ``n_others`` unlabelled rows.

    The unlabelled rows are drawn at random. Rows are first sorted by their features X (n, d), so
    that neither the draw nor the order of the result depends on their order in the table.
    """
    rng = np.random.default_rng(seed)
    # A random projection: one number for each row, made from its features alone.
    keys = np.round(X @ rng.normal(size=X.shape[1]), 6)  # (n,)
    rows = np.lexsort((labels.codes, keys))  # row numbers; the last key counts most
    is_labeled = labels.labeled[rows]
    drawn = rng.permutation(rows[~is_labeled])[:n_others]
    return np.concatenate([rows[is_labeled], drawn])


# ---------------------------------------------------------------- which model learns


def boost_many_labels(n_labeled: int, defaults: Defaults = DEFAULTS) -> Finding | None:
    """Let boosting learn alone if there are many labels."""
    rule = "boost_many_labels"
    if not defaults.is_on(rule) or n_labeled <= defaults.max_mixture_labels:
        return None
    return Finding(rule, {"labels": n_labeled})


class OutOfFold(NamedTuple):
    """What mixtures predict for labels that they have not seen."""

    rows: Ints  # numbers of the rows that took part: all labelled rows and some unlabelled ones
    # Each mixture, with the places in ``rows`` that it was fitted without; empty: too few labels.
    fold_models: FoldModels
    codes: Ints  # (k,) the classes of the labels that were held out, fold after fold
    scores: NDArray[np.float64]  # (k, C) log-probabilities, before any lean

    @property
    def predicted(self) -> Ints:
        """Class codes (k,) predicted for the labels that were held out."""
        if not self.fold_models:
            return self.codes
        first_mixture, _ = self.fold_models[0]  # all mixtures have the same class bias
        return (self.scores + first_mixture.class_bias_).argmax(axis=1)

    @property
    def loss(self) -> float:
        """Mean log loss, in nats, of the mixtures on the labels that were held out."""
        return _log_loss(self.scores, self.codes)


def predict_out_of_fold(learner: Learner, X: Array, labels: Labels, seed: int) -> OutOfFold:
    """Fit the mixture without each fold of the labels in turn, and predict that fold."""
    rows = rows_to_hold_out(X, labels, learner.held_out_rows, seed)
    sample = labels.subset(rows)
    estimator = learner.estimator(random_state=seed).set_params(unlabeled=None)
    fold_models: FoldModels = []
    codes_of_folds = []
    scores_of_folds = []
    for fold in labelled_folds(sample, seed):
        model = fit_without(estimator, X[rows], sample, fold)
        fold_models.append((model, fold))
        codes_of_folds.append(sample.codes[fold])
        scores_of_folds.append(log_of(model.predict_proba(X[rows[fold]])))
    if not fold_models:
        return OutOfFold(rows, fold_models, codes=np.zeros(0, np.intp), scores=np.zeros((0, 0)))
    return OutOfFold(
        rows,
        fold_models,
        codes=np.concatenate(codes_of_folds),
        scores=np.concatenate(scores_of_folds),
    )


def lean_to_commonest_class(
    out_of_fold: OutOfFold, labels: Labels, defaults: Defaults = DEFAULTS
) -> Lean | None:
    r"""Lean towards the commonest class if always naming it is clearly right more often.

    McNemar's exact test, one-sided: of the held-out labels that one of the two has right, and the
    other wrong, the commonest class has :math:`b` right and the mixture :math:`a`. If both were
    equally good, the commonest class would have :math:`b` or more right with probability

    .. math::
        p = 2^{-(a + b)} \sum_{k=b}^{a+b} \binom{a+b}{k}.

    The mixture leans if p is below ``lean_p``.
    """
    rule = "lean_to_commonest_class"
    if not defaults.is_on(rule) or not out_of_fold.fold_models:
        return None
    predicted_codes = out_of_fold.scores.argmax(axis=1)  # (k,)
    commonest_code = labels.class_counts.argmax()
    is_right = predicted_codes == out_of_fold.codes  # (k,)
    is_commonest = out_of_fold.codes == commonest_code  # (k,)
    n_only_commonest = np.sum(is_commonest & ~is_right)
    n_only_one = np.sum(is_commonest != is_right)
    # The probability of at least ``n_only_commonest`` heads in ``n_only_one`` throws of a coin.
    p_value = float(binom.sf(n_only_commonest - 1, n_only_one, 0.5))
    if p_value >= defaults.lean_p:
        return None
    figures = {
        "right": float(is_right.mean()),
        "right_by_commonest": float(is_commonest.mean()),
        "p_value": p_value,
    }
    return Lean(rule, figures, defaults.lean)


# This says to people why the mixture cannot be trusted if labels are too easy.
_TOO_EASY = (
    "the labelled rows differ strongly from the rest, all columns are numbers, and labels held out "
    "are predicted almost perfectly: then the labels come from the easy edge of each class, and a "
    "model that looks perfect on them cannot be trusted on the rest"
)
# This says to people why the mixture cannot be trusted if it has collapsed.
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
    # Condition 1: the labels are too easy, or the mixture has collapsed.
    rng = np.random.default_rng(seed)
    rows = draw_at_most(labels.rows_to_predict, defaults.collapse_rows, rng)
    codes_by_mixture = np.searchsorted(labels.classes, mixture.predict(X[rows]))
    is_too_easy = out_of_fold.loss < defaults.too_easy_loss
    if is_too_easy:
        why = _TOO_EASY
    elif _has_collapsed(codes_by_mixture, labels, out_of_fold, defaults):
        why = _COLLAPSED
    else:
        return None

    # Condition 2: the class shares of the network are nearer to those of the given labels.
    network = fit_network()
    codes_by_network = _codes_by_network(network, X, rows)
    n_classes = len(labels.classes)
    given_codes = labels.codes[labels.labeled]
    distance = variation(codes_by_mixture, given_codes, n_classes)
    distance_of_network = variation(codes_by_network, given_codes, n_classes)
    if distance - distance_of_network < defaults.network_nearer_shares:
        return None
    figures = {
        "loss": out_of_fold.loss,
        "distance": distance,
        "distance_of_network": distance_of_network,
    }
    return HandOver(rule, figures, network, mixture, why)


def has_stood_the_audit(hand_over: HandOver, X: Array, answers: AuditAnswers) -> bool:
    """Tell whether the paper's method has at least as many audited rows right as the mixture.

    Neither has seen an answer. Under the paper's bias the answers leave the hand-over as it is; the
    collapse that is seen on a real table, and is none, they reveal. An aim moves neither.
    """
    by_network = hand_over.network.estimator_.predict(X[answers.rows]).astype(str)
    by_mixture = hand_over.mixture.predict(X[answers.rows]).astype(str)
    n_by_network = np.sum(by_network == answers.labels)
    n_by_mixture = np.sum(by_mixture == answers.labels)
    return bool(n_by_network >= n_by_mixture)


def _has_collapsed(
    predicted: Ints, labels: Labels, out_of_fold: OutOfFold, defaults: Defaults
) -> bool:
    r"""Tell whether predictions for the other rows concentrate on a few of the classes.

    On rows far from any label the mixture may predict almost nothing but these few classes. It has
    collapsed if the class shares :math:`\hat\pi` of its predictions are far from the class shares
    :math:`\pi` of the labels, and less even:

    .. math::
        \tfrac12 \textstyle\sum_c |\hat\pi_c - \pi_c| \ge 0.4,
        \qquad H(\hat\pi) \le 0.9\, H(\pi)

    with H the entropy. Both must also hold if :math:`\pi` are the class shares of the out-of-fold
    predictions for labelled rows: if features say little, the commonest class is the best guess for
    labelled rows, too, which is no collapse.
    """
    n_classes = len(labels.classes)
    given_codes = labels.codes[labels.labeled]
    if not _is_narrower(predicted, given_codes, n_classes, defaults):
        return False
    return _is_narrower(predicted, out_of_fold.predicted, n_classes, defaults)


def _codes_by_network(network: SelfTrainingClassifier, X: Array, rows: Ints) -> Ints:
    """Return the class codes of rows: as accepted in a round, otherwise as predicted at the end."""
    codes = np.searchsorted(network.classes_, network.estimator_.predict(X[rows]))
    is_accepted = network.labeled_iter_[rows] > 0
    accepted_labels = network.transduction_[rows[is_accepted]].astype(network.classes_.dtype)
    codes[is_accepted] = np.searchsorted(network.classes_, accepted_labels)
    return codes


def _is_narrower(predicted: Ints, codes: Ints, n_classes: int, defaults: Defaults) -> bool:
    """Tell whether predictions concentrate on fewer classes than ``codes`` do."""
    if variation(predicted, codes, n_classes) < defaults.collapse_distance:
        return False
    entropy = _entropy_of_shares(predicted, n_classes)
    return entropy <= defaults.collapse_entropy * _entropy_of_shares(codes, n_classes)


def _entropy_of_shares(codes: Ints, n_classes: int) -> float:
    """Return the entropy of class shares, in nats."""
    shares = np.bincount(codes, minlength=n_classes) / len(codes)  # (C,)
    return float(entr(shares).sum())


def _log_loss(scores: Array, codes: Ints) -> float:
    """Return the mean log loss of unnormalised scores (k, C) for the true classes (k,)."""
    true_scores = scores[np.arange(len(codes)), codes]
    return float(np.mean(logsumexp(scores, axis=1) - true_scores))
