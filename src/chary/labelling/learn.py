"""Learning from the labels of a table: which classifier learns, the fit, and what is known before labelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from chary._words import Parameter, listed, shown
from chary.audit.acceptance import check_error
from chary.audit.answers import AuditAnswers, read_audit
from chary.audit.held_out import HeldOut, held_out
from chary.audit.model import AuditFigures, audit_model, merge
from chary.audit.sheet import DOUBT
from chary.labelling.diagnose import STRONG, Contrast, DiagnosedTable, Diagnosis, compare_rows, prepare
from chary.labelling.drift import with_drift_reference
from chary.labelling.explain import Explainer, explainer
from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.estimators import log_of
from chary.method.labels import Labels
from chary.method.mixture import MixedEnsembleClassifier, boosted_trees, linear_model
from chary.method.policies import Curriculum, Policy, RisingShare
from chary.method.priors import (
    ACCURACY,
    AIMS,
    ClassPrior,
    Sensitivity,
    describe_prior,
    sensitivity,
    shares_of_part,
)
from chary.method.self_training import SelfTrainingClassifier
from chary.options import Options
from chary.tables import Table, TableError
from chary.tables.target import Target, read_target

AUTO, MIXED, NETWORK, LINEAR, BOOSTING = "auto", "mixed", "network", "linear", "boosting"
# Who learns from an audit, too: docs/audit.md has the figures.
WITH_AUDIT = MIXED

# Where labels are strongly biased the network is ahead of unlike learners if hardly a row has a label near it, if
# they find hardly anything but one class, or if there are more features than this: docs/label.md has the figures.
_HARDLY_COVERED, _COLLAPSED, _WIDE = 0.2, 0.4, 500
# Unlabelled rows on which a collapse is looked for.
_GUARD_ROWS = 20_000
# Unlike learners cost more, the more labels there are, and gain less; beyond so many boosting learns alone.
_MOST_LABELED = 20_000
# Unlabelled rows, and their probabilities of all classes, to see what another belief would change.
_PRIOR_ROWS, _PRIOR_CELLS = 50_000, 2_000_000

Judges = list[tuple[Any, NDArray[np.intp]]]  # models, each with the labelled rows whose labels it has not seen


@dataclass(frozen=True, kw_only=True)
class Fit:
    """What was learned from a table, or from its labelled rows and a sample of the others."""

    table: Table  #: the rows that were learned from: all, or those of a larger table that are in memory
    options: Options  #: what was asked for
    labels: Labels  #: as given, in the table or by an audit
    diagnosis: Diagnosis  #: whether the labelled rows are like the rest
    contrasts: list[Contrast]  #: of the columns that differ most
    choice: Choice  #: who learned
    model: Pipeline  #: preparation and classifier
    audit: AuditFigures | None  #: what the audit says; None: there was none
    judged: HeldOut  #: each given label, guessed by a model that has not seen it
    prior: PriorFigures  #: what was told of the class shares, and what would change with others
    explainer: Explainer  #: which columns matter, and why a row has its label
    spellings: dict[str, dict[str, int]]  #: of classes that have several
    notes: list[str]  #: on how table and target were read, a sentence each


def learn(
    table: Table, options: Options, step: Callable[[str], None], diagnosed: Callable[[DiagnosedTable], None]
) -> tuple[Fit, NDArray[Any], Judges]:
    """Learn from the rows of a table; also its features, and the models that labels were held out from.

    Where they are a part of a larger table (``table.taken``), its labelled rows and a uniform sample of the
    others, what was told of all rows is worked out for these: class offsets come from the sample.

    Parameters
    ----------
    table : Table
    options : Options
    step : callable
        Told the name of each step as it begins.
    diagnosed : callable
        Told the diagnosis as soon as it is there.
    """
    step("Preparing columns")
    check_error(options.error, options.audit)
    if options.aim not in AIMS:
        raise TableError(Parameter("aim", str(options.aim)), f" is not known; give {' or '.join(AIMS)}.")
    given, every, answers, read = read_labels(table, options)
    seed, n_rows = options.seed or 0, table.n_rows
    prepared = prepare(table, str(options.target), options.features, **options.kinds)
    X = prepared.X

    step("Comparing labelled and unlabelled rows")
    diagnosis, differing = compare_rows(prepared, given, seed)
    n_unlabeled = n_rows - int(given.labeled.sum())
    diagnosis = replace(diagnosis, audited=answers is not None, n_unlabeled=n_unlabeled)
    notes = [*table.notes, *read.notes]
    diagnosed(
        DiagnosedTable(table, str(options.target), given, prepared, diagnosis, differing, read.spellings, notes)
    )

    step("Training")
    rounds, aim = options.rounds, options.aim
    prior = prior_of_part(options.class_prior, given, n_rows)
    choice, classifier = fit_learner(
        X, given, diagnosis, learner=options.learner, rounds=rounds, class_prior=prior, aim=aim, seed=seed
    )
    audit, unaudited = None, choice
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
            seed=seed,
        )
        choice = audited._replace(rounds=audit.rounds)
    if prior is not options.class_prior:  # a report and a model file say what was told
        classifier.class_prior = options.class_prior
        classifier.class_prior_ = ClassPrior.of(options.class_prior, every, n_rows=n_rows).shares
    pipeline = Pipeline([("prepare", prepared.preparation), ("classify", classifier)])
    model = with_drift_reference(pipeline, X, prepared.n_missing)

    step("Checking against held-out labels")
    judged, judges = _hold_out(unaudited, X, given, options, n_rows)

    step("Trying other class proportions")
    rest = np.flatnonzero(~every.labeled)
    figures = prior_figures(classifier, X, rest, random_state=seed)

    step("Finding what decides the labels")
    explained = explainer(classifier, prepared.preparation, X, rest)
    fit = Fit(
        table=table,
        options=options,
        labels=every,
        diagnosis=diagnosis,
        contrasts=differing,
        choice=choice,
        model=model,
        audit=audit,
        judged=judged,
        prior=figures,
        explainer=explained,
        spellings=read.spellings,
        notes=notes,
    )
    return fit, X, judges


def read_labels(table: Table, options: Options) -> tuple[Labels, Labels, AuditAnswers | None, Target]:
    """The labels of the table without the audited rows, and all together; the audit; the target as it was read.

    Both know every class. Some rows must be left to label.
    """
    target, unlabeled, exact = str(options.target), options.unlabeled, options.exact_labels
    read = read_target(table, target, unlabeled, exact_labels=exact)
    labels = read.labels
    if options.checked is not None:  # rows chosen for doubt: their labels are labels like any other
        checked = read_audit(options.checked, table, target, labels, unlabeled, exact_labels=exact, chosen=DOUBT)
        said = f"{len(checked.rows)} labels of rows that were checked one by one are among those given."
        labels, read = merge(labels, checked)[1], read._replace(notes=[*read.notes, said])
    if labels.labeled.all():
        raise TableError(f"Every row of column {shown(target)} has a label; there is nothing to label.")
    if options.audit is None:
        return labels, labels, None, read
    answers = read_audit(options.audit, table, target, labels, unlabeled, exact_labels=exact)
    if answers.new_classes and (isinstance(options.class_prior, Mapping) or np.ndim(options.class_prior)):  # type: ignore[arg-type]
        raise TableError(
            f"The audit found the class {shown(next(iter(answers.new_classes)))}, which none of your labels has, "
            "so the shares given for the known ones cannot be right; leave ",
            Parameter("class_prior"),
            " out.",
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
    choice: Choice, X: NDArray[Any], given: Labels, options: Options, n_rows: int
) -> tuple[HeldOut, Judges]:
    """The given labels, held out in turn, as seen by what is used without an audit; and by whom."""
    seed, pool = options.seed or 0, np.flatnonzero(~given.labeled)
    if len(pool) > choice.learner.held_out_rows:
        pool = np.random.default_rng(seed).choice(pool, choice.learner.held_out_rows, replace=False)
    rows = np.sort(np.concatenate([np.flatnonzero(given.labeled), pool]))
    prior = prior_of_part(options.class_prior, given.part(rows), n_rows)
    judges: list[Any] = []
    same = choice.classifier(seed, prior, options.aim)
    judged = held_out(same, X[rows], given.part(rows), random_state=seed, keep=judges)
    return judged._replace(rows=rows[judged.rows]), [(model, rows[part]) for model, part in judges]


class PriorFigures(NamedTuple):
    """What was believed about the class proportions, and what hangs on it."""

    sentence: str  # the assumption
    told: bool  # whether there is one
    class_name: str  # the class whose share matters most
    classes: list[str]
    levels: list[Sensitivity]  # the labels if the odds of that class were others


def prior_figures(
    classifier: SelfTrainingClassifier, X: NDArray[Any], rest: NDArray[np.intp], random_state: Any = None
) -> PriorFigures:
    """Describe the class prior of a fitted classifier and how its labels depend on it: those of the rows ``rest``.

    The belief is what the model predicts: with a prior, the predictions have its shares.
    """
    most = min(_PRIOR_ROWS, max(1_000, _PRIOR_CELLS // len(classifier.classes_)))
    if len(rest) > most:
        rest = rest[np.random.default_rng(random_state).choice(len(rest), most, replace=False)]
    probs = classifier.predict_proba(X[rest])
    prior, classes = classifier.class_prior_, classifier.classes_
    belief = np.bincount(probs.argmax(axis=1), minlength=len(classes)) / len(probs)
    code, levels = sensitivity(log_of(probs), belief)
    sentence = describe_prior(classifier.class_prior, prior, classes)
    return PriorFigures(sentence, prior is not None, str(classes[code]), [str(name) for name in classes], levels)


# ---------------------------------------------------------------- who learns


class Learner(NamedTuple):
    """One way to learn from a table."""

    words: str  # what it is, for a report
    estimator: Callable[..., Any]  # (random_state=) -> classifier
    policy: Policy = RisingShare(max_rows=10_000)
    confidence: str = "t_similarity"
    most_rows: int | None = 50_000  # unlabelled ones that take part in the fits; None: all
    held_out_rows: int = 2_000  # unlabelled ones that stay in training while labelled rows are held out
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
    MIXED: Learner("a linear model, randomised trees and boosting", MixedEnsembleClassifier, unlike=True),
    NETWORK: Learner(
        "a neural network with five diverse heads",
        partial(DiverseEnsembleClassifier, standardize="numbers"),
        Curriculum(step=0.4),
        most_rows=None,
        held_out_rows=20_000,
    ),
    LINEAR: Learner("logistic regression", _alone(LINEAR, linear_model), confidence="max_probability"),
    BOOSTING: Learner("gradient boosting", _alone(BOOSTING, boosted_trees), confidence="max_probability"),
}


class Choice(NamedTuple):
    """Who learns, how often from its own labels, and why."""

    name: str  # of LEARNERS, or "own"
    learner: Learner
    rounds: int
    why: str = ""  # half a sentence, where the network was taken because of what was seen

    def classifier(self, seed: int, class_prior: Any = None, aim: str = ACCURACY) -> SelfTrainingClassifier:
        """Not fitted."""
        return self.learner.classifier(self.rounds, seed, class_prior, aim)


def choose(
    diagnosis: Diagnosis,
    n_features: int,
    *,
    learner: Any = AUTO,
    rounds: int | None = None,
    class_prior: Any = None,
) -> Choice:
    """The learner for what is known before anything is fitted.

    Parameters
    ----------
    diagnosis : Diagnosis
    n_features : int
    learner : {"auto", "mixed", "network", "linear", "boosting"} or classifier, default="auto"
        A classifier of scikit-learn's kind is cloned; where it has a ``random_state`` of None, that is seeded.
    rounds : int, default=None
        None: one for the network, none otherwise.
    class_prior : None, "labeled", mapping or array-like
    """
    name, why, found = learner, "", _own(learner)
    if name == AUTO:
        name, why = _before_fitting(diagnosis, n_features, class_prior)
    usual = 1 if name == NETWORK else 0  # others gain nothing from their own labels: docs/label.md
    chosen = Choice("own", found, 0) if found else Choice(name, LEARNERS[name], usual, why)
    return chosen if rounds is None else chosen._replace(rounds=rounds)


def collapsed(given: NDArray[np.intp], predicted: NDArray[np.intp], n_classes: int) -> bool:
    r"""Whether predictions find hardly anything but one class, where the labels have several.

    That is if the entropy of the predicted class shares is less than 0.4 of that of the labelled ones:

    .. math:: H(\hat\pi) < 0.4\, H(\pi)

    >>> collapsed(np.array([0, 1] * 20), np.array([0] * 99 + [1]), 2)
    True
    >>> collapsed(np.array([0, 1] * 20), np.array([0] * 80 + [1] * 20), 2)
    False
    """
    entropies = [entr(np.bincount(codes, minlength=n_classes) / len(codes)).sum() for codes in (predicted, given)]
    return bool(entropies[0] < _COLLAPSED * entropies[1])


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
) -> tuple[Choice, SelfTrainingClassifier]:
    """Fit whoever suits the labels, or was asked for; who that was, and the classifier.

    Where nobody was asked for and the labels are strongly biased, the network takes the place of unlike learners
    that find hardly anything but one class.
    """
    choice = choose(diagnosis, X.shape[1], learner=learner, rounds=rounds, class_prior=class_prior)
    classifier = choice.classifier(seed, class_prior, aim).fit(X, labels)
    # Only where nobody chose the learner, and nothing is known that keeps a collapse from happening.
    is_guarded = choice.name == MIXED and class_prior is None and diagnosis.verdict == STRONG
    if learner == AUTO and is_guarded and _has_collapsed(classifier, X, labels):
        why = "unlike learners gave nearly every row the same label"
        choice = Choice(NETWORK, LEARNERS[NETWORK], 1 if rounds is None else rounds, why)
        classifier = choice.classifier(seed, class_prior, aim).fit(X, labels)
    return choice, classifier


def _has_collapsed(classifier: SelfTrainingClassifier, X: NDArray[Any], labels: Labels) -> bool:
    rest = np.flatnonzero(~labels.labeled)
    if len(rest) > _GUARD_ROWS:
        rest = rest[np.linspace(0, len(rest) - 1, _GUARD_ROWS).astype(np.intp)]
    # By the likeliest labels, whatever is aimed at: moved boundaries hide a collapse and do not mend it.
    predicted = np.searchsorted(labels.classes, classifier.estimator_.predict(X[rest]))
    return collapsed(labels.codes[labels.labeled], predicted, len(labels.classes))


def _before_fitting(diagnosis: Diagnosis, n_features: int, class_prior: Any) -> tuple[str, str]:
    if diagnosis.n_labeled > _MOST_LABELED:
        return BOOSTING, f"there are more than {_MOST_LABELED:,} labels"
    if class_prior is None and diagnosis.verdict == STRONG:
        if diagnosis.coverage is not None and diagnosis.coverage < _HARDLY_COVERED:
            return NETWORK, "hardly a row has a label near it"
        if n_features > _WIDE:
            return NETWORK, f"the labels are strongly biased and there are more than {_WIDE} features"
    return MIXED, ""


def _own(learner: Any) -> Learner | None:
    """A classifier of the user's, fitted on the labelled rows, and on the others if it knows of them.

    None: the learner is one of chary's. Whatever else was given is refused.
    """
    if isinstance(learner, str) and learner in (AUTO, *LEARNERS):
        return None
    if isinstance(learner, str | type) or not hasattr(learner, "fit") or not is_classifier(learner):
        raise TableError(
            f"There is no learner {shown(learner)}; pass ",
            Parameter("learner", AUTO),
            f", one of {listed([repr(name) for name in LEARNERS])}, or a classifier of scikit-learn's kind.",
        )

    def clone_of(random_state: int) -> Any:  # the self-training around it seeds what has no seed
        own = clone(learner)
        return own.set_params(unlabeled=None) if "unlabeled" in own.get_params(deep=False) else own

    confidence = "t_similarity" if hasattr(learner, "predict_head_proba") else "max_probability"
    return Learner(type(learner).__name__, clone_of, confidence=confidence)
