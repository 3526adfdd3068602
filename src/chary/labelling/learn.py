"""Learn from a table: columns, model, held-out labels, audit, explanation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from chary._arrays import Array
from chary._words import Parameter, shown
from chary.audit.acceptance import check_error
from chary.audit.answers import AuditAnswers, read_audit
from chary.audit.model import AuditFigures
from chary.audit.origin import DOUBT
from chary.labelling.audited import audit_model, merge
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.labelling.diagnose import (
    DiagnosedTable,
    Diagnosis,
    compare_rows,
    prepare,
)
from chary.labelling.drift import with_drift_reference
from chary.labelling.explain import Explainer, explainer
from chary.labelling.guesses import GuessFigures, compare_guesses, find_guess_column
from chary.labelling.learners import (
    AUTO,
    BOOSTING,
    MIXED,
    NETWORK,
    FoldModels,
    Learner,
    learner_of,
)
from chary.labelling.rules import (
    Finding,
    HandOver,
    OutOfFold,
    boost_many_labels,
    hand_over_to_network,
    has_stood_the_audit,
    lean_to_commonest_class,
    leave_out_columns_beyond_labels,
    leave_out_columns_empty_elsewhere,
    leave_out_useless_texts,
    predict_out_of_fold,
    rows_to_hold_out,
)
from chary.method.held_out import HeldOut, hold_out, hold_out_folds
from chary.method.labels import Labels, drop_empty_classes
from chary.method.priors import ACCURACY, AIMS, ClassPrior, describe_prior, shares_of_sample
from chary.method.self_training import SelfTrainingClassifier
from chary.options import LabelOptions
from chary.tables import Table, TableError
from chary.tables.preparation import Feature
from chary.tables.target import read_target


@dataclass(frozen=True, kw_only=True)
class Fit:
    """What was learned from a table, or from its labelled rows and a sample of the others."""

    table: Table  #: the rows learned from: all, or those of a larger table that are in memory
    options: LabelOptions  #: what was asked for
    defaults: Defaults  #: the numbers and rules that decided the rest
    findings: list[Finding]  #: the rules that acted, in their order
    labels: Labels  #: the known labels, given in the table or by an audit
    diagnosis: Diagnosis  #: whether the labelled rows are like the rest
    compared: list[Feature]  #: the features of the diagnosis, including those left out later
    choice: Choice  #: the learner, and why it was chosen
    model: Pipeline  #: preparation and classifier
    audit: AuditFigures | None  #: what the audit says; None: there was none
    held_out: HeldOut  #: each given label, predicted by a model that has not seen it
    prior: PriorFigures  #: what is known of the class shares
    guesses: GuessFigures | None  #: a column that guesses the label; None: there is no such column
    explainer: Explainer  #: which columns matter, and why a row has its label
    notes: list[str]  #: sentences about how table and target were read


class PriorFigures(NamedTuple):
    """What is assumed of the class shares."""

    sentence: str  # the assumption, in words
    told: bool  # whether class shares are assumed at all


class TableLabels(NamedTuple):
    """The labels of target and sheets.

    Both ``Labels`` have the same classes: those of the target and those of all sheets.
    """

    given_labels: Labels  # without the audited rows
    all_labels: Labels  # with the audited rows
    answers: AuditAnswers | None  # of the audit; None: there is no audit
    notes: list[str]  # sentences about how the target was read


def learn(
    table: Table,
    options: LabelOptions,
    step: Callable[[str], None],
    diagnosed: Callable[[DiagnosedTable], None],
    defaults: Defaults = DEFAULTS,
) -> tuple[Fit, Array]:
    """Learn from the rows of a table; return what was learned, and the features (n, d).

    The rows may be a part of a larger table (``table.taken``): its labelled rows and a uniform
    sample of the others. Then class shares given for the whole table are converted to those of the
    part, because class offsets are computed on the part.

    Parameters
    ----------
    table : Table
    options : LabelOptions
    step : callable
        Called with the name of each step as it begins.
    diagnosed : callable
        Called with the diagnosis as soon as it is there.
    defaults : Defaults, default=DEFAULTS
        Numbers chosen by experiment, and the rules that are used.
    """
    step("Preparing columns")
    check_error(options.error, options.audit)
    if options.aim not in AIMS:
        raise TableError(
            f"{Parameter('aim', str(options.aim))} is not known; give {' or '.join(AIMS)}."
        )
    given_labels, all_labels, answers, notes = read_labels(table, options)
    notes = [*table.notes, *notes]
    seed = options.seed or 0
    target = options.target
    prepared = prepare(table, target, defaults=defaults.columns, **options.kinds)
    # Before the comparison, as such a column would tell labelled rows from all others.
    empty = leave_out_columns_empty_elsewhere(prepared, table, given_labels.labeled, defaults)
    prepared = prepared.without(empty.notes if empty else {})

    step("Comparing labelled and unlabelled rows")
    diagnosis = replace(
        compare_rows(prepared, given_labels, seed, defaults),
        audited=answers is not None,
        n_unlabeled=table.n_rows - int(given_labels.labeled.sum()),
    )
    compared = prepared.preparation.features()
    diagnosed(DiagnosedTable(table, target, given_labels, prepared, diagnosis, notes))

    # The rules of docs/explanation/defaults.md, in its order; the first of them is above.
    step("Training")
    findings: list[Finding | None] = [empty]
    is_automatic = options.learner == AUTO
    if is_automatic:
        beyond = leave_out_columns_beyond_labels(
            prepared, given_labels, all_labels.labeled, diagnosis, defaults, seed
        )
        prepared = prepared.without(beyond.notes if beyond else {})
        texts = leave_out_useless_texts(prepared, given_labels, defaults, seed)
        prepared = prepared.without(texts.notes if texts else {})
        findings += [beyond, texts]
    X = prepared.X
    prior = prior_of_part(options.class_prior, given_labels, table.n_rows)
    fitted = fit_learner(
        X,
        given_labels,
        diagnosis,
        learner=options.learner,
        rounds=options.rounds,
        class_prior=prior,
        aim=options.aim,
        only_numbers=prepared.only_numbers,
        seed=seed,
        defaults=defaults,
    )
    choice = fitted.choice
    classifier = fitted.classifier

    step("Checking against held-out labels")
    predictions, fold_models = _hold_out(fitted, X, given_labels, options, table.n_rows)

    # A column that already guesses the label is better than the model, unless held-out labels, or
    # an audit, show that the model is.
    guess_column = None
    guesses = None
    if is_automatic and options.class_prior is None and options.aim == ACCURACY:
        guess_column = find_guess_column(prepared, table, all_labels, defaults)
    if guess_column is not None and fold_models:
        kept = guess_column.predict_held_out(fold_models, X, given_labels)
        guesses = compare_guesses(guess_column, predictions, kept, audited=False, defaults=defaults)
        if guesses.kept:
            classifier = guess_column.keep(classifier)
            predictions = kept

    # With an audit, the model that learned without it is measured, and another one learns from all
    # labels.
    audit = None
    if answers is not None:
        if is_automatic:
            choice = choose_with_audit(fitted, X, answers, defaults)
        # The network has its own number of rounds; with other learners the audit decides.
        rounds = options.rounds
        if choice.name == NETWORK:
            rounds = choice.rounds

        def make_classifier(rounds: int) -> SelfTrainingClassifier:
            return choice._replace(rounds=rounds).classifier(seed, prior, options.aim)

        classifier, audit, guesses = audit_model(
            make_classifier,
            X,
            all_labels,
            answers,
            unaudited=classifier,
            rounds=rounds,
            error=options.error,
            n_unlabeled=table.n_rows - int(all_labels.labeled.sum()),
            guess_column=guess_column,
            seed=seed,
            defaults=defaults,
        )
        choice = choice._replace(rounds=audit.rounds)
    if choice.lean:
        notes = [
            *notes,
            "Held-out labels are guessed worse than by always naming the most frequent class, so "
            "labels lean towards it.",
        ]
    if guesses is not None:
        notes = [guesses.sentence, *notes]

    # Reports and model files show the class shares that the user gave, not those of the sample.
    if prior is not options.class_prior:
        prior_of_table = ClassPrior.of(options.class_prior, all_labels, n_rows=table.n_rows)
        classifier.class_prior = options.class_prior
        classifier.class_prior_ = prior_of_table.shares
    pipeline = Pipeline([("prepare", prepared.preparation), ("classify", classifier)])
    model = with_drift_reference(pipeline, X, prepared.n_missing, defaults)

    step("Finding what decides the labels")
    unlabelled_rows = np.flatnonzero(~all_labels.labeled)
    findings = [*findings, *fitted.findings]
    fit = Fit(
        table=table,
        options=options,
        defaults=defaults,
        findings=[finding for finding in findings if finding is not None],
        labels=all_labels,
        diagnosis=diagnosis,
        compared=compared,
        choice=choice,
        model=model,
        audit=audit,
        held_out=predictions,
        prior=PriorFigures(
            describe_prior(classifier.class_prior, classifier.class_prior_, classifier.classes_),
            classifier.class_prior_ is not None,
        ),
        guesses=guesses,
        explainer=explainer(classifier, prepared.preparation, X, unlabelled_rows, defaults),
        notes=notes,
    )
    return fit, X


def read_labels(table: Table, options: LabelOptions) -> TableLabels:
    """Read labels and sheets; refuse a table without an unlabelled row."""
    target = options.target
    unlabeled = options.unlabeled
    labels, notes = read_target(table, target, **options.target_reading)

    # Checked rows were chosen for doubt, not drawn at random, so they are no audit: their labels
    # are merged with the given ones.
    if options.checked is not None:
        checked = read_audit(
            options.checked, table, target, labels, unlabeled, same=options.same, chosen=DOUBT
        )
        labels = merge(labels, checked)[1]
        notes = [
            *notes,
            f"{len(checked.rows)} labels of rows that were checked one by one are among those "
            "given.",
        ]
    answers = None
    given_labels = labels
    if options.audit is not None:
        answers = read_audit(
            options.audit,
            table,
            target,
            labels,
            unlabeled,
            same=options.same,
            classes=options.classes,
        )
        prior: Any = options.class_prior
        if answers.new_classes and (isinstance(prior, Mapping) or np.ndim(prior)):
            raise TableError(
                f"The audit found the class {shown(next(iter(answers.new_classes)))}, which none "
                "of your labels has, so the shares given for the known ones cannot be right; leave "
                f"{Parameter('class_prior')} out."
            )
        given_labels, labels = merge(labels, answers)
    if labels.labeled.all():
        commonest_code = np.bincount(labels.codes).argmax()
        commonest = str(labels.classes[commonest_code])
        raise TableError(
            f"Every row of column {shown(target)} has a label, so there is nothing to label; if "
            "one of its values means that there is none, name it, such as "
            f"{Parameter('unlabeled', commonest)}."
        )
    return TableLabels(given_labels, labels, answers, notes)


def prior_of_part(class_prior: Any, labels: Labels, n_rows: int) -> Any:
    """Convert class shares of a table to those of a part of its rows.

    The part has all labelled rows of the table, and some of the others (``shares_of_sample``).

    Parameters
    ----------
    class_prior : None, "labeled", mapping or array-like
        The assumption for the whole table. None and "labeled" are returned as they are.
    labels : Labels
        The labels of the part.
    n_rows : int
        The number of rows of the whole table.
    """
    is_whole = len(labels.codes) == n_rows
    if class_prior is None or isinstance(class_prior, str) or is_whole:
        return class_prior
    shares = ClassPrior.of(class_prior, labels, n_rows=n_rows).shares
    if shares is None:
        return None
    return shares_of_sample(shares, labels.class_counts, n_rows, len(labels.codes))


# ---------------------------------------------------------------- which model learns


# This says why the mixture learns if no rule decides otherwise
# (studies/results/real-tables/report.md).
WHY_MIXTURE = "on most tables these are right more often than the paper's method"
# This says why the mixture learns if the paper's method had taken over.
WHY_AUDIT = "these have more of the audited rows right than the paper's method"


class Choice(NamedTuple):
    """Which learner, how often it learns from its own labels, and why."""

    name: str  # a key of ``learners``, or "own" for a classifier of the user's
    learner: Learner
    rounds: int
    why: str  # half a sentence: why this learner was chosen
    lean: float = 0.0  # how far the mixture leans to the commonest class: ``Lean.amount``
    finding: Finding | None = None  # the rule that chose the learner before anything was fitted

    def classifier(
        self, seed: int, class_prior: Any = None, aim: str = ACCURACY
    ) -> SelfTrainingClassifier:
        """Make the classifier, not fitted."""
        return self.learner.classifier(self.rounds, seed, class_prior, aim)


class FittedLearner(NamedTuple):
    """A learner that was chosen and fitted."""

    choice: Choice
    classifier: SelfTrainingClassifier
    out_of_fold: OutOfFold | None = None  # the mixture's; None: another learner was fitted
    findings: tuple[Finding | None, ...] = ()  # of each rule that was asked; None: it did not act


def choose_learner(
    diagnosis: Diagnosis,
    *,
    learner: Any = AUTO,
    rounds: int | None = None,
    defaults: Defaults = DEFAULTS,
) -> Choice:
    """Choose the learner by what is known before anything is fitted.

    The rule ``hand_over_to_network`` may later choose the network in place of the mixture.

    Parameters
    ----------
    diagnosis : Diagnosis
    learner : {"auto", "mixed", "network", "linear", "boosting"} or classifier, default="auto"
        A scikit-learn classifier is cloned; its ``random_state`` is set if it is None.
    rounds : int, default=None
        Rounds of self-training. None: those of ``defaults`` for the network, none otherwise.
    defaults : Defaults, default=DEFAULTS
    """
    why = "you chose it"
    finding = None
    if learner == AUTO:
        learner = MIXED
        why = WHY_MIXTURE
        finding = boost_many_labels(diagnosis.n_labeled, defaults)
    if finding is not None:
        learner = BOOSTING
        why = f"there are more than {defaults.max_mixture_labels:,} labels"
    name, chosen = learner_of(learner, defaults)
    if rounds is None:
        rounds = defaults.network_rounds if name == NETWORK else 0
    return Choice(name, chosen, rounds, why, finding=finding)


def choose_with_audit(
    fitted: FittedLearner, X: Array, answers: AuditAnswers, defaults: Defaults = DEFAULTS
) -> Choice:
    """Choose the learner of given and audited labels.

    It is the mixture, without a lean: docs/explanation/bias.md has figures. Only a hand-over to the
    paper's method stays, if it has stood the audit.
    """
    _, learner = learner_of(MIXED, defaults)
    mixture = Choice(MIXED, learner, rounds=0, why=WHY_MIXTURE)
    for finding in fitted.findings:
        if isinstance(finding, HandOver):
            # Nothing is decided by an audit that is unfinished, as in ``audit_model``.
            if answers.is_unfinished or has_stood_the_audit(finding, X, answers):
                return fitted.choice
            return mixture._replace(why=WHY_AUDIT)
    return mixture


def fit_learner(
    X: Array,
    labels: Labels,
    diagnosis: Diagnosis,
    *,
    learner: Any = AUTO,
    rounds: int | None = None,
    class_prior: Any = None,
    aim: str = ACCURACY,
    only_numbers: bool = True,
    seed: int = 0,
    defaults: Defaults = DEFAULTS,
) -> FittedLearner:
    """Choose a learner by the rules, unless one is given, and fit it.

    Parameters
    ----------
    X : array of shape (n, d)
    labels : Labels
        The given labels, without those of an audit. The audit may have found a class that no given
        label has: then ``classes`` holds it, but nothing is learned of it.
    diagnosis : Diagnosis
    learner, rounds
        As in ``choose_learner``.
    class_prior, aim
        As in ``SelfTrainingClassifier``.
    only_numbers : bool, default=True
        Whether all columns are numbers or have two values.
    seed : int, default=0
    defaults : Defaults, default=DEFAULTS
    """
    choice = choose_learner(diagnosis, learner=learner, rounds=rounds, defaults=defaults)
    labels = drop_empty_classes(labels)
    if learner != AUTO or choice.name != MIXED:
        classifier = choice.classifier(seed, class_prior, aim).fit(X, labels)
        return FittedLearner(choice, classifier, findings=(choice.finding,))

    # From here on the mixture was chosen by the rules.
    out_of_fold = predict_out_of_fold(choice.learner, X, labels, seed)

    # The mixture may lean to the commonest class. It does not if the user gave class shares or an
    # aim: these decide how common a class should be.
    leaning = None
    lean = 0.0
    if class_prior is None and aim == ACCURACY:
        leaning = lean_to_commonest_class(out_of_fold, labels, defaults)
    if leaning is not None:
        lean = leaning.amount
        log_shares = np.log(labels.class_counts / labels.class_counts.sum())
        for model, _ in out_of_fold.fold_models:
            model.class_bias_ = lean * log_shares

    # The mixture with this lean is fitted on all given labels.
    estimator = partial(choice.learner.estimator, lean=lean)
    choice = choice._replace(learner=choice.learner._replace(estimator=estimator), lean=lean)
    classifier = choice.classifier(seed, class_prior, aim).fit(X, labels)

    # The paper's method may take over; but with known class shares the predictions of the mixture
    # cannot collapse to a few classes.
    findings: tuple[Finding | None, ...] = (leaning,)
    if class_prior is not None:
        return FittedLearner(choice, classifier, out_of_fold, findings)

    network_choice = choose_learner(diagnosis, learner=NETWORK, rounds=rounds, defaults=defaults)
    hand_over = hand_over_to_network(
        classifier.estimator_,
        lambda: network_choice.classifier(seed, aim=aim).fit(X, labels),
        X,
        labels,
        out_of_fold,
        diagnosis,
        only_numbers=only_numbers,
        defaults=defaults,
        seed=seed,
    )
    findings = (leaning, hand_over)
    if hand_over is None:
        return FittedLearner(choice, classifier, out_of_fold, findings)
    return FittedLearner(
        network_choice._replace(why=hand_over.why), hand_over.network, findings=findings
    )


def _hold_out(
    fitted: FittedLearner, X: Array, labels: Labels, options: LabelOptions, n_rows: int
) -> tuple[HeldOut, FoldModels]:
    """Predict the given labels by models that have not seen them.

    The mixtures that ``fit_learner`` fitted without each fold are used again, not refitted. Returns
    the predictions, and each model with the rows of X that it was fitted without.
    """
    # The rows that take part: all labelled rows, and some others.
    seed = options.seed or 0
    choice = fitted.choice
    out_of_fold = fitted.out_of_fold
    if out_of_fold is None:
        rows = rows_to_hold_out(X, labels, choice.learner.held_out_rows, seed)
    else:
        rows = out_of_fold.rows
    sample = labels.subset(rows)
    prior = prior_of_part(options.class_prior, sample, n_rows)
    classifier = choice.classifier(seed, prior, options.aim)

    fold_models: FoldModels = []  # filled by ``hold_out`` or ``hold_out_folds``
    if out_of_fold is None or not out_of_fold.fold_models:
        predictions = hold_out(classifier, X[rows], sample, random_state=seed, keep=fold_models)
    else:
        folds = [fold for _, fold in out_of_fold.fold_models]
        mixtures = [model for model, _ in out_of_fold.fold_models]
        predictions = hold_out_folds(
            classifier, X[rows], sample, folds, initial=mixtures, keep=fold_models
        )

    # Places in ``rows`` become row numbers of X.
    predictions = predictions._replace(rows=rows[predictions.rows])
    fold_models = [(model, rows[fold]) for model, fold in fold_models]
    return predictions, fold_models
