"""Learning from the labels of a table: which classifier learns, the fit, and what is known before labelling."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import clone, is_classifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from chary._words import Parameter, listed, shown
from chary.audit.acceptance import check_error
from chary.audit.answers import AuditAnswers, read_audit
from chary.audit.origin import DOUBT
from chary.labelling.audited import AuditFigures, audit_model, merge
from chary.labelling.diagnose import (
    STRONG,
    DiagnosedTable,
    Diagnosis,
    Prepared,
    compare_rows,
    draw_at_most,
    prepare,
)
from chary.labelling.drift import with_drift_reference
from chary.labelling.explain import Explainer, explainer
from chary.labelling.guesses import GuessColumn, GuessFigures, compare_guesses, find_guess_column
from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.estimators import log_of
from chary.method.held_out import HeldOut, held_out, judge_folds
from chary.method.labels import Labels, drop_empty_classes
from chary.method.mixture import (
    MixedEnsembleClassifier,
    boosted_trees,
    default_members,
    linear_model,
)
from chary.method.policies import Curriculum, Policy, RisingShare
from chary.method.priors import (
    ACCURACY,
    AIMS,
    ClassPrior,
    describe_prior,
    is_narrower,
    shares_of_part,
    variation,
)
from chary.method.self_training import SelfTrainingClassifier
from chary.options import LabelOptions
from chary.tables import Table, TableError
from chary.tables.columns import Texts
from chary.tables.preparation import Feature
from chary.tables.target import Target, read_target

AUTO, MIXED, NETWORK, LINEAR, BOOSTING = "auto", "mixed", "network", "linear", "boosting"
# Who learns from an audit, too: docs/explanation/bias.md has the figures.
WITH_AUDIT = MIXED

# Unlabelled rows on which a collapse is looked for, and those beside which texts are judged.
_GUARD_ROWS, _GUARD_POOL = 20_000, 500
# How fast a member's weight falls with its log loss on held-out labels; the most that its logarithm
# changes.
_PER_LOSS, _MOST_CHANGE = 4.0, 1.0
# Factors of logarithmic probabilities among which the best for held-out labels is looked for.
_SCALES = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.5, 7.0)
# How much the mixture leans towards the most frequent label where columns hardly tell the classes
# apart.
_LEAN = 2.0
# Trees that are enough to tell whether texts are of use; below what share of the log loss they are
# not.
_FEW_TREES, _CLEARLY_LESS = 40, 0.9
# Unlike learners cost more, the more labels there are, and gain less; beyond so many boosting
# learns alone.
_MOST_LABELED = 20_000
# Rows beyond the labels that make a column suspect; by how much class shares must be nearer without
# such columns, and how many times the log loss of held-out labels may be.
_BEYOND, _NEARER, _MUCH_WORSE = 0.8, 0.03, 2.0
_LABELS_OF_LEAF, _COVERAGE_ROWS = 5, 2_000
# Trees for these shares: of few, the boundary between labels that lie far apart depends too much on
# chance.
_MANY_TREES = 100

Judges = list[
    tuple[Any, NDArray[np.intp]]
]  # models, each with the labelled rows whose labels it has not seen


@dataclass(frozen=True, kw_only=True)
class Fit:
    """What was learned from a table, or from its labelled rows and a sample of the others."""

    table: Table  #: the rows that were learned from: all, or those of a larger table that are in memory
    options: LabelOptions  #: what was asked for
    labels: Labels  #: as given, in the table or by an audit
    diagnosis: Diagnosis  #: whether the labelled rows are like the rest
    compared: list[Feature]  #: the features that the diagnosis numbers, those left out later too
    choice: Choice  #: who learned
    model: Pipeline  #: preparation and classifier
    audit: AuditFigures | None  #: what the audit says; None: there was none
    held_out: HeldOut  #: each given label, predicted by a model that has not seen it
    prior: PriorFigures  #: what was told of the class shares
    guesses: GuessFigures | None  #: a column that guesses the label; None: there is no such column
    explainer: Explainer  #: which columns matter, and why a row has its label
    notes: list[str]  #: on how table and target were read, a sentence each


def learn(
    table: Table,
    options: LabelOptions,
    step: Callable[[str], None],
    diagnosed: Callable[[DiagnosedTable], None],
) -> tuple[Fit, NDArray[Any]]:
    """Learn from the rows of a table; also its features.

    Where they are a part of a larger table (``table.taken``), its labelled rows and a uniform
    sample of the others, what was told of all rows is worked out for these: class offsets come from
    the sample.

    Parameters
    ----------
    table : Table
    options : LabelOptions
    step : callable
        Told the name of each step as it begins.
    diagnosed : callable
        Told the diagnosis as soon as it is there.
    """
    step("Preparing columns")
    check_error(options.error, options.audit)
    if options.aim not in AIMS:
        raise TableError(
            f"{Parameter('aim', str(options.aim))} is not known; give {' or '.join(AIMS)}."
        )
    given, every, answers, read = read_labels(table, options)
    seed, n_rows = options.seed or 0, table.n_rows
    prepared = prepare(table, options.target, **options.kinds)
    X = prepared.X

    step("Comparing labelled and unlabelled rows")
    diagnosis = compare_rows(prepared, given, seed)
    compared = prepared.preparation.features()
    n_unlabeled = n_rows - int(given.labeled.sum())
    diagnosis = replace(diagnosis, audited=answers is not None, n_unlabeled=n_unlabeled)
    notes = [*table.notes, *read.notes]
    diagnosed(DiagnosedTable(table, options.target, given, prepared, diagnosis, notes))

    step("Training")
    if options.learner == AUTO and diagnosis.verdict == STRONG:
        prepared = prepared.without(columns_beyond_labels(prepared, given, every.labeled, seed))
    if options.learner == AUTO:
        prepared = prepared.without(useless_texts(prepared, given, seed))
        X = prepared.X
    rounds, aim = options.rounds, options.aim
    prior = prior_of_part(options.class_prior, given, n_rows)
    choice, classifier, tried = fit_learner(
        X,
        given,
        diagnosis,
        learner=options.learner,
        rounds=rounds,
        class_prior=prior,
        aim=aim,
        seed=seed,
    )
    if choice.lean:
        said = "Held-out labels are guessed worse than by always naming the most frequent class"
        notes = [*notes, f"{said}, so labels lean towards it."]
    step("Checking against held-out labels")
    judged, judges = _hold_out(choice, X, given, options, n_rows, tried)
    guess_column = None
    if options.learner == AUTO and options.class_prior is None and aim == ACCURACY:
        guess_column = find_guess_column(prepared, table, every)
    guesses = None
    if guess_column is not None and judges:
        classifier, judged, guesses = _keep_if_no_gain(
            guess_column, classifier, X, given, judged, judges
        )
    audit = None
    if answers is not None:
        audited = Choice(WITH_AUDIT, LEARNERS[WITH_AUDIT], 0) if options.learner == AUTO else choice
        classifier, audit = audit_model(
            lambda n_rounds: audited._replace(rounds=n_rounds).classifier(seed, prior, aim),
            X,
            every,
            answers,
            unaudited=classifier,
            rounds=rounds,
            error=options.error,
            n_unlabeled=n_rows - int(every.labeled.sum()),
            guess_column=guess_column,
            seed=seed,
        )
        choice = audited._replace(rounds=audit.rounds)
        guesses = audit.guesses
    if guesses is not None:
        notes = [guesses.sentence, *notes]
    if prior is not options.class_prior:  # a report and a model file say what was told
        classifier.class_prior = options.class_prior
        classifier.class_prior_ = ClassPrior.of(options.class_prior, every, n_rows=n_rows).shares
    pipeline = Pipeline([("prepare", prepared.preparation), ("classify", classifier)])
    model = with_drift_reference(pipeline, X, prepared.n_missing)

    step("Finding what decides the labels")
    explained = explainer(classifier, prepared.preparation, X, np.flatnonzero(~every.labeled))
    told = describe_prior(classifier.class_prior, classifier.class_prior_, classifier.classes_)
    fit = Fit(
        table=table,
        options=options,
        labels=every,
        diagnosis=diagnosis,
        compared=compared,
        choice=choice,
        model=model,
        audit=audit,
        held_out=judged,
        prior=PriorFigures(told, classifier.class_prior_ is not None),
        guesses=guesses,
        explainer=explained,
        notes=notes,
    )
    return fit, X


def read_labels(
    table: Table, options: LabelOptions
) -> tuple[Labels, Labels, AuditAnswers | None, Target]:
    """The labels of the table without the audited rows, and all together; the audit; the target as it was read.

    Both know every class. Some rows must be left to label.
    """
    target = options.target
    unlabeled = options.unlabeled
    read = read_target(table, target, **options.target_reading)
    labels = read.labels
    if options.checked is not None:  # rows chosen for doubt: their labels are labels like any other
        checked = read_audit(options.checked, table, target, labels, unlabeled, chosen=DOUBT)
        said = f"{len(checked.rows)} labels of rows that were checked one by one are among those given."
        labels, read = merge(labels, checked)[1], read._replace(notes=[*read.notes, said])
    if labels.labeled.all():
        most = str(labels.classes[np.bincount(labels.codes).argmax()])
        raise TableError(
            f"Every row of column {shown(target)} has a label, so there is nothing to label; if one of its values "
            f"means that there is none, name it, such as {Parameter('unlabeled', most)}."
        )
    if options.audit is None:
        return labels, labels, None, read
    answers = read_audit(options.audit, table, target, labels, unlabeled)
    prior: Any = options.class_prior
    if answers.new_classes and (isinstance(prior, Mapping) or np.ndim(prior)):
        raise TableError(
            f"The audit found the class {shown(next(iter(answers.new_classes)))}, which none of your labels has, "
            f"so the shares given for the known ones cannot be right; leave {Parameter('class_prior')} out."
        )
    given, every = merge(labels, answers)
    if every.labeled.all():
        raise TableError(
            f"With the audit every row of column {shown(target)} has a label; nothing is left to label."
        )
    return given, every, answers, read


def prior_of_part(told: Any, labels: Labels, n_rows: int) -> Any:
    """What was told of all ``n_rows``, as it is of a part of them that has all labelled ones."""
    if told is None or isinstance(told, str) or len(labels.codes) == n_rows:
        return told
    counts = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes))
    shares = ClassPrior.of(told, labels, n_rows=n_rows).shares
    return None if shares is None else shares_of_part(shares, counts, n_rows, len(labels.codes))


def _hold_out(
    choice: Choice,
    X: NDArray[Any],
    given: Labels,
    options: LabelOptions,
    n_rows: int,
    tried: Weighed | None,
) -> tuple[HeldOut, Judges]:
    """The given labels, held out in turn, as seen by what is used without an audit; and by whom.

    Whoever was fitted without them to weigh the mixture's members is not fitted again.
    """
    seed = options.seed or 0
    rows = (
        _held_out_rows(X, given, seed, choice.learner.held_out_rows)
        if tried is None
        else tried.rows
    )
    part, judges = given.subset(rows), list[Any]()
    prior = prior_of_part(options.class_prior, part, n_rows)
    same = choice.classifier(seed, prior, options.aim)
    if tried is None or not tried.judges:
        judged = held_out(same, X[rows], part, random_state=seed, keep=judges)
    else:
        folds, models = [fold for _, fold in tried.judges], [model for model, _ in tried.judges]
        judged = judge_folds(same, X[rows], part, folds, initial=models, keep=judges)
    return judged._replace(rows=rows[judged.rows]), [(model, rows[fold]) for model, fold in judges]


def _keep_if_no_gain(
    column: GuessColumn,
    classifier: SelfTrainingClassifier,
    X: NDArray[Any],
    given: Labels,
    judged: HeldOut,
    judges: Judges,
) -> tuple[SelfTrainingClassifier, HeldOut, GuessFigures]:
    """Keep the labels of a column that guesses, unless held-out labels show a gain by the model."""
    kept = column.judge(judges, X, given)
    guesses = compare_guesses(column, judged, kept, audited=False)
    if not guesses.kept:
        return classifier, judged, guesses
    return column.keep(classifier), kept, guesses


class PriorFigures(NamedTuple):
    """What was told of the class proportions."""

    sentence: str  # the assumption
    told: bool  # whether there is one


# ---------------------------------------------------------------- which columns are learned from


def columns_beyond_labels(
    prepared: Prepared, labels: Labels, known: NDArray[np.bool_], seed: int = 0
) -> dict[str, str]:
    """Columns that teach a boundary which exists among the labelled rows only, each with a note that says so.

    A date is one if all labels are of one year, or a running number. Of most rows it says nothing
    but that they lie beyond the labels, and whoever learns from it gives all of them the labels at
    the edge. Three things must hold. A decision tree that tells labelled rows from others by the
    column alone, with leaves in which five labels would be expected, has at least 80 % of the
    others in leaves without a label. The mixture predicts class shares that are nearer to those of
    the labels, by 0.03 or more, if it does without these columns: where it does not, what is
    learned from them carries over. And the log loss of held-out labels at most doubles without
    them: what decides the labels is never left out.

    Parameters
    ----------
    prepared : Prepared
    labels : Labels
        As given, without an audit's.
    known : array of shape (n,), bool
        Rows with a label, those of an audit too.
    seed : int, default=0
    """
    rng = np.random.default_rng(seed)
    rest = draw_at_most(np.flatnonzero(~known), _COVERAGE_ROWS, rng)
    rows = np.sort(np.concatenate([np.flatnonzero(known), rest]))
    X, is_known = prepared.X[rows], known[rows]
    owners = np.array([feature.column for feature in prepared.preparation.features()])
    beyond = {
        name: _share_beyond(X[:, owners == name], is_known)
        for name in dict.fromkeys(owners.tolist())
    }
    notes = {
        name: f"{share:.0%} of the other rows lie where no label is, so what it says of them cannot be learned"
        for name, share in beyond.items()
        if share >= _BEYOND
    }
    if not notes or len(notes) == len(beyond):
        return {}
    part, kept = labels.subset(rows), ~np.isin(owners, list(notes))
    nearer = _distance_of_shares(X, part, seed) - _distance_of_shares(X[:, kept], part, seed)
    if nearer < _NEARER:
        return {}
    every, without = _losses_without(prepared, labels, kept, seed)
    return notes if without <= _MUCH_WORSE * every else {}


def useless_texts(prepared: Prepared, labels: Labels, seed: int = 0) -> dict[str, str]:
    """Columns of free text, all of them, each with a note, where held-out labels are guessed better without.

    Thirty topics of each can outvote a few good columns. What counts is the mean log loss of a
    linear model and some trees: without the texts it must be lower by a tenth.
    """
    kinds = {column.name: column.kind for column in prepared.preparation.columns_}
    is_text = np.array(
        [kinds[feature.column] == Texts.name for feature in prepared.preparation.features()]
    )
    if is_text.all() or not is_text.any():
        return {}
    every, without = _losses_without(prepared, labels, ~is_text, seed)
    if without >= _CLEARLY_LESS * every:
        return {}
    note = "free text; held-out labels are guessed better without it"
    return {name: note for name, kind in kinds.items() if kind == Texts.name}


def _losses_without(
    prepared: Prepared, labels: Labels, kept: NDArray[np.bool_], seed: int
) -> tuple[float, float]:
    """Log loss of a quick model on held-out labels: with all features, and with those that are kept alone."""
    rows = _held_out_rows(prepared.X, labels, seed, _GUARD_POOL)
    trees = ExtraTreesClassifier(_FEW_TREES, max_features=0.5)
    quick = MixedEnsembleClassifier(
        [("linear", linear_model()), ("trees", trees)], unlabeled=None, random_state=seed
    )
    losses = []
    for features in (np.ones_like(kept), kept):
        own = held_out(
            quick, prepared.X[np.ix_(rows, features)], labels.subset(rows), random_state=seed
        ).own
        losses.append(-np.log(np.maximum(own, np.finfo(float).tiny)).mean() if len(own) else 0.0)
    return losses[0], losses[1]


def _held_out_rows(X: NDArray[Any], labels: Labels, seed: int, n_others: int) -> NDArray[np.intp]:
    """All labelled rows and some others beside them, in an order that depends on their features alone."""
    rng = np.random.default_rng(seed)
    place = np.round(X @ rng.normal(size=X.shape[1]), 6)
    rows = np.lexsort((labels.codes, place))
    is_given = labels.labeled[rows]
    return np.concatenate([rows[is_given], rng.permutation(rows[~is_given])[:n_others]])


def _share_beyond(X: NDArray[Any], known: NDArray[np.bool_]) -> float:
    """Share of rows without a label that a tree puts where no label is."""
    leaf_rows = max(1, math.ceil(_LABELS_OF_LEAF * len(known) / known.sum()))
    leaves = (
        DecisionTreeClassifier(min_samples_leaf=leaf_rows, random_state=0).fit(X, known).apply(X)
    )
    return float(np.mean(~np.isin(leaves[~known], leaves[known])))


def _distance_of_shares(X: NDArray[Any], labels: Labels, seed: int) -> float:
    """Total variation between the class shares of the labels and those the mixture predicts for the others."""
    members = default_members(
        int(labels.labeled.sum()), len(labels.classes), X.shape[1], _MANY_TREES
    )
    model = MixedEnsembleClassifier(members, random_state=seed).fit(X, labels)
    predicted = np.searchsorted(labels.classes, model.predict(X[labels.rows_to_predict]))
    return variation(labels.codes[labels.labeled], predicted, len(labels.classes))


# ---------------------------------------------------------------- who learns


class Learner(NamedTuple):
    """One way to learn from a table."""

    words: str  # what it is, for a report
    estimator: Callable[..., Any]  # (random_state=) -> classifier
    policy: Policy = RisingShare(max_rows=10_000)
    confidence: str = "t_similarity"
    most_rows: int | None = 50_000  # unlabelled ones that take part in the fits; None: all
    held_out_rows: int = (
        2_000  # unlabelled ones that stay in training while labelled rows are held out
    )
    unlike: bool = False  # whether its confidence is the agreement of unlike kinds, not of heads made to disagree

    def classifier(
        self, rounds: int, seed: int, class_prior: Any = None, aim: str = ACCURACY
    ) -> SelfTrainingClassifier:
        """Not fitted; missing values mark unlabelled rows."""
        return SelfTrainingClassifier(
            self.estimator(random_state=seed),
            policy=self.policy,
            confidence=self.confidence,
            max_rounds=rounds,
            class_prior=class_prior,
            aim=aim,
            max_pool=self.most_rows,
            unlabeled=None,
            random_state=seed,
        )


def _alone(name: str, make: Callable[[], Any]) -> Callable[..., MixedEnsembleClassifier]:
    """An ensemble of one, which prepares its columns with all rows."""
    return lambda random_state: MixedEnsembleClassifier([(name, make())], random_state=random_state)


LEARNERS = {
    MIXED: Learner(
        "a linear model, randomised trees and boosting",
        MixedEnsembleClassifier,
        confidence="purity",
        unlike=True,
    ),
    NETWORK: Learner(
        "a neural network with five diverse heads",
        partial(DiverseEnsembleClassifier, standardize="numbers"),
        Curriculum(step=0.4),
        most_rows=None,
        held_out_rows=20_000,
    ),
    LINEAR: Learner(
        "logistic regression", _alone(LINEAR, linear_model), confidence="max_probability"
    ),
    BOOSTING: Learner(
        "gradient boosting", _alone(BOOSTING, boosted_trees), confidence="max_probability"
    ),
}


class Choice(NamedTuple):
    """Who learns, how often from its own labels, and why."""

    name: str  # of LEARNERS, or "own"
    learner: Learner
    rounds: int
    why: str = ""  # half a sentence, where the network was taken because of what was seen
    lean: float = 0.0  # of the mixture towards the most frequent label

    def classifier(
        self, seed: int, class_prior: Any = None, aim: str = ACCURACY
    ) -> SelfTrainingClassifier:
        """Not fitted."""
        return self.learner.classifier(self.rounds, seed, class_prior, aim)


def choose_learner(
    diagnosis: Diagnosis, *, learner: Any = AUTO, rounds: int | None = None
) -> Choice:
    """The learner for what is known before anything is fitted.

    Parameters
    ----------
    diagnosis : Diagnosis
    learner : {"auto", "mixed", "network", "linear", "boosting"} or classifier, default="auto"
        A classifier of scikit-learn's kind is cloned; where it has a ``random_state`` of None, that
        is seeded.
    rounds : int, default=None
        None: one for the network, none otherwise.
    """
    name, why, found = learner, "", _own(learner)
    if name == AUTO:
        many = diagnosis.n_labeled > _MOST_LABELED
        name, why = (
            (BOOSTING, f"there are more than {_MOST_LABELED:,} labels") if many else (MIXED, "")
        )
    usual = (
        1 if name == NETWORK else 0
    )  # others gain nothing from their own labels: docs/explanation/defaults.md
    chosen = Choice("own", found, 0) if found else Choice(name, LEARNERS[name], usual, why)
    return chosen if rounds is None else chosen._replace(rounds=rounds)


def fit_learner(
    X: NDArray[Any],
    labels: Labels,
    diagnosis: Diagnosis,
    *,
    learner: Any = AUTO,
    rounds: int | None = None,
    class_prior: Any = None,
    aim: str = ACCURACY,
    seed: int = 0,
) -> tuple[Choice, SelfTrainingClassifier, Weighed | None]:
    """Fit whoever suits the labels, or was asked for: who that was, the classifier, and how members were weighed.

    Where nobody was asked for and the labels are strongly biased, the network takes the place of a
    mixture that has ``collapsed``.
    """
    choice = choose_learner(diagnosis, learner=learner, rounds=rounds)
    # A class that only the audit found is not learned here.
    labels = drop_empty_classes(labels)
    tried = None
    if learner == AUTO and choice.name == MIXED:
        tried = weigh_members(X, labels, seed, may_lean=class_prior is None and aim == ACCURACY)
        weighted = partial(choice.learner.estimator, weights=tried.weights, lean=tried.lean)
        choice = choice._replace(
            learner=choice.learner._replace(estimator=weighted), lean=tried.lean
        )
    classifier = choice.classifier(seed, class_prior, aim).fit(X, labels)
    # Only where nobody chose the learner, and nothing is known that keeps a collapse from
    # happening.
    is_guarded = class_prior is None and diagnosis.verdict == STRONG
    if (
        tried
        and is_guarded
        and collapsed(classifier.estimator_, X, labels, tried.out_of_fold, seed)
    ):
        why = "the mixture found other class shares than for held-out labels"
        choice, tried = (
            Choice(NETWORK, LEARNERS[NETWORK], 1 if rounds is None else rounds, why),
            None,
        )
        classifier = choice.classifier(seed, class_prior, aim).fit(X, labels)
    return choice, classifier, tried


class Weighed(NamedTuple):
    """What labels that were held out in turn say of the mixture."""

    weights: NDArray[np.float64] | None  # (M,) of its members; None: their own
    lean: float  # towards the most frequent label
    out_of_fold: NDArray[np.intp]  # (k,) class codes that the mixture gives held-out labels
    rows: NDArray[np.intp]  # all labelled ones and some others
    judges: Judges  # mixtures of these weights, each with those of ``rows`` whose labels it has not seen


def weigh_members(
    X: NDArray[Any], labels: Labels, seed: int = 0, *, may_lean: bool = True
) -> Weighed:
    r"""Weights of the mixture's members, and whether it should lean, by labels held out in turn.

    With :math:`\ell_m` the mean log loss of member m, its logits multiplied by what suits them
    best, its weight is

    .. math:: w_m \propto w_m^0 \exp(-4 (\ell_m - \bar\ell)), \qquad |4 (\ell_m - \bar\ell)| \le 1,

    which stays near the fixed weights :math:`w^0`: labelled rows are not like the others. Where the
    mixture names fewer held-out labels than whoever always names the most frequent one, it leans
    towards that: twice the logarithms of the class shares are added to its scores.
    """
    own = LEARNERS[MIXED]
    rows, judges = _held_out_rows(X, labels, seed, own.held_out_rows), list[Any]()
    part = labels.subset(rows)
    held_out(
        own.estimator(random_state=seed, unlabeled=None),
        X[rows],
        part,
        random_state=seed,
        keep=judges,
    )
    if not judges:
        return Weighed(None, 0.0, np.zeros(0, np.intp), rows, judges)
    logits = np.concatenate(
        [log_of(model.predict_head_proba(X[rows[fold]])) for model, fold in judges]
    )  # (k, M, C)
    given = part.codes[np.concatenate([fold for _, fold in judges])]
    losses = np.array(
        [min(_log_loss(a * z, given) for a in _SCALES) for z in logits.transpose(1, 0, 2)]
    )
    change = np.clip(-_PER_LOSS * (losses - losses.mean()), -_MOST_CHANGE, _MOST_CHANGE)
    weights = judges[0][0].weights_ * np.exp(change)
    weights /= weights.sum()
    scores = np.einsum("m,kmc->kc", weights, logits)
    counts = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes))
    lean, of_shares = 0.0, np.log(counts / counts.sum())
    if may_lean and np.mean(scores.argmax(axis=1) == given) < np.mean(given == counts.argmax()):
        lean, scores = _LEAN, scores + _LEAN * of_shares
    for model, _ in judges:
        model.weights_, model.class_bias_ = weights, lean * of_shares
    return Weighed(weights, lean, scores.argmax(axis=1), rows, judges)


def _log_loss(scores: NDArray[Any], codes: NDArray[np.intp]) -> float:
    return float(np.mean(logsumexp(scores, axis=1) - scores[np.arange(len(codes)), codes]))


def collapsed(
    model: MixedEnsembleClassifier,
    X: NDArray[Any],
    labels: Labels,
    out_of_fold: NDArray[np.intp],
    seed: int = 0,
) -> bool:
    r"""Whether a fitted mixture gives unlabelled rows other class shares than labelled ones that are held out.

    Where labels are strongly biased and it has, the network is ahead of it:
    docs/explanation/defaults.md has the figures. On rows far from any label unlike learners may
    find hardly anything but some of the classes. With a weak signal they do so everywhere, which is
    no fault: the likeliest class is the best guess. It is a collapse if the class shares of the
    predictions are far from those of the labels, and from those of labels predicted
    ``out_of_fold``, as ``is_narrower`` says.
    """
    n_classes = len(labels.classes)
    rest = draw_at_most(labels.rows_to_predict, _GUARD_ROWS, np.random.default_rng(seed))
    # By the likeliest labels, whatever is aimed at: moved boundaries hide a collapse and do not
    # mend it.
    predicted = np.searchsorted(labels.classes, model.predict(X[rest]))
    known = [labels.codes[labels.labeled], out_of_fold]
    return all(len(codes) > 0 and is_narrower(predicted, codes, n_classes) for codes in known)


def _own(learner: Any) -> Learner | None:
    """A classifier of the user's, fitted on the labelled rows, and on the others if it knows of them.

    None: the learner is one of chary's. Whatever else was given is refused.
    """
    if isinstance(learner, str) and learner in (AUTO, *LEARNERS):
        return None
    if isinstance(learner, str | type) or not hasattr(learner, "fit") or not is_classifier(learner):
        raise TableError(
            f"There is no learner {shown(learner)}; pass {Parameter('learner', AUTO)}, one of "
            f"{listed([repr(name) for name in LEARNERS])}, or a classifier of scikit-learn's kind."
        )

    def clone_of(random_state: int) -> Any:  # the self-training around it seeds what has no seed
        own = clone(learner)
        return own.set_params(unlabeled=None) if "unlabeled" in own.get_params(deep=False) else own

    confidence = "t_similarity" if hasattr(learner, "predict_head_proba") else "max_probability"
    return Learner(type(learner).__name__, clone_of, confidence=confidence)
