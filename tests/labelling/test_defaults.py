"""Every number chosen by experiment decides something, and every rule can be switched off."""

from dataclasses import fields, replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from chary import SelfTrainingClassifier
from chary.audit.answers import AuditAnswers
from chary.audit.figures import compare
from chary.labelling import Diagnosis, audited, diagnose, label, label_table
from chary.labelling.audited import audit_model
from chary.labelling.defaults import DEFAULTS, RULES, Defaults
from chary.labelling.diagnose import (
    MILD,
    STRONG,
    Separation,
    _verdict,
    diagnose_rows,
    measure_coverage,
    prepare,
    separate,
)
from chary.labelling.drift import EventCounts, compare_with_reference, with_drift_reference
from chary.labelling.explain import Explainer, decisive, explainer, importance
from chary.labelling.guesses import GuessColumn, compare_guesses, find_guess_column
from chary.labelling.learn import choose_learner, fit_learner
from chary.labelling.learners import LINEAR, MIXED, NETWORK, learners
from chary.labelling.rows_to_check import rows_to_check, suspect_labels
from chary.labelling.rules import (
    OutOfFold,
    boost_many_labels,
    hand_over_to_network,
    lean_to_commonest_class,
    leave_out_columns_beyond_labels,
    leave_out_columns_empty_elsewhere,
    leave_out_useless_texts,
)
from chary.method.held_out import HeldOut
from chary.method.labels import Labels
from chary.method.mixture import MIXTURE_DEFAULTS, default_members
from chary.options import LabelOptions
from chary.tables import Table, TablePreparation
from chary.tables.target import likely_slips, target_labels

# A rule or a decision, as a function of the numbers; it returns something that can be compared.


def verdicts(defaults):
    return [
        _verdict(Separation(auc, p), defaults)
        for auc, p in ((0.9, 0.011), (0.9, 0.01), (0.75, 0.01), (0.749, 0.01))
    ]


def slips(defaults):
    counts = {"good": 40, "godo": 20, "bad": 31, "badd": 16}
    return [slip.label for slip in likely_slips(counts, defaults.slip_share)]


def diagnosis(verdict=STRONG, n_labeled=50):
    return Diagnosis(verdict, None, 0.9, [], {}, n_labeled, 1000)


def partly(codes, n_labeled, classes=("no", "yes")):
    labeled = np.arange(len(codes)) < n_labeled
    return Labels(np.array(classes), np.where(labeled, codes, -1), labeled)


def beyond_labels(defaults):
    """Make a running number with a rising share of "yes", beside a good column."""
    rng = np.random.default_rng(0)
    rows = np.arange(900)
    x = rng.normal(size=900)
    rising = np.where(rows < 120, rows / 30 - 2, 0)
    truth = (1.5 * x + rising + rng.normal(size=900) > 0).astype(int)
    # Two in a hundred other rows have a small number, too.
    number = np.where((rows >= 120) & (rows % 50 == 0), rows % 120, rows)
    frame = pl.DataFrame({"number": number, "x": x, "y": truth})
    prepared = prepare(Table(frame, "t"), "y")
    labels = partly(truth, 120)
    left_out = leave_out_columns_beyond_labels(
        prepared, labels, labels.labeled, diagnosis(), defaults
    )
    return seen(left_out)


def empty_elsewhere(defaults):
    """Fill columns in 20 % or less of 100 labelled rows, and in 1.1 % or less of 1,000 others."""
    filled = {"left": (20, 0), "called": (20, 10), "early": (20, 11), "rare": (9, 10), "by": (3, 0)}
    columns = {"x": np.arange(1100) % 7}
    for name, (n_labeled, n_others) in filled.items():
        numbers = np.concatenate([np.arange(100) < n_labeled, np.arange(1000) < n_others])
        columns[name] = ["abc"[row % 3] if numbers[row] else None for row in range(1100)]
    labels = partly(np.arange(1100) % 2, 100)
    table = Table(pl.DataFrame({**columns, "y": labels.codes}), "t")
    return seen(
        leave_out_columns_empty_elsewhere(prepare(table, "y"), table, labels.labeled, defaults)
    )


def useless_texts(defaults):
    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "blue", "large", "small", "round", "flat", "soft", "old"])
    texts = [" ".join(rng.choice(words, 5)) for _ in range(800)]
    x = rng.normal(size=800)
    frame = pl.DataFrame({"x": x, "text": texts, "y": x > 0})
    prepared = prepare(Table(frame, "t"), "y", text=["text"])
    return seen(leave_out_useless_texts(prepared, partly((x > 0).astype(int), 80), defaults))


def seen(left_out):
    if left_out is None:
        return None
    figures = {name: round(value, 3) for name, value in left_out.figures.items()}
    return list(left_out.notes), figures


def many_labels(defaults):
    return [boost_many_labels(n, defaults) is not None for n in (20_000, 20_001)]


def lean(defaults):
    codes = np.repeat([0, 1], [30, 10])
    scores = np.random.default_rng(0).normal(size=(40, 2))  # nothing is learned
    held = OutOfFold(np.arange(40), [(None, np.arange(40))], codes, scores)
    leaning = lean_to_commonest_class(held, partly(codes, 40), defaults)
    return None if leaning is None else leaning.amount


def clearly_worse(defaults):
    """Let the commonest class be right in 12 or 11 of 16 labels, and the mixture in the others."""
    outcomes = []
    for n_commonest in (12, 11):
        codes = np.repeat([0, 1], [n_commonest, 16 - n_commonest])
        scores = np.tile([0.0, 1.0], (16, 1))
        held = OutOfFold(np.arange(16), [(None, np.arange(16))], codes, scores)
        leaning = lean_to_commonest_class(held, partly(codes, 16), defaults)
        outcomes.append(leaning is not None)
    return outcomes


def collapses(defaults):
    """Make predictions nearer and nearer to the class shares of the labels: 50, 25, 25 percent."""
    given = np.repeat([0, 1, 2, -1], [50, 25, 25, 30_000])
    labels = Labels(np.array(["a", "b", "c"]), given, given >= 0)
    outcomes = []
    for shares in ((0.9, 0.1, 0), (0.89, 0.11, 0), (0.1, 0.9, 0), (0.1, 0.65, 0.25)):
        asked = []

        def predict(X, shares=shares, asked=asked):
            asked.append(len(X))
            counts = np.round(np.array(shares) * len(X)).astype(int)
            return np.repeat(labels.classes, counts)

        outcomes.append((handed_over(SimpleNamespace(predict=predict), labels, defaults), asked))
    return outcomes


def handed_over(model, labels, defaults, loss=1.0, by_network=None):
    """Tell whether a mixture with some held-out log loss hands over to a network."""
    given = labels.codes[labels.labeled]
    n_classes = len(labels.classes)
    lead = -np.log(np.expm1(loss) / (n_classes - 1))
    scores = lead * np.eye(n_classes)[given]
    fold_model = SimpleNamespace(class_bias_=np.zeros(n_classes))
    held = OutOfFold(given, [(fold_model, given)], given, scores)
    of_network = np.resize(labels.classes[given] if by_network is None else by_network, 40_000)
    network = SimpleNamespace(
        classes_=labels.classes,
        estimator_=SimpleNamespace(predict=lambda X: of_network[: len(X)]),
        labeled_iter_=np.full(len(labels.codes), -1),
        transduction_=np.full(len(labels.codes), None),
    )
    X = np.zeros((len(labels.codes), 1))
    outcome = hand_over_to_network(
        model, lambda: network, X, labels, held, diagnosis(), defaults=defaults
    )
    return outcome is not None


def too_easy(defaults):
    """Make held-out labels that are predicted worse and worse."""
    given = np.repeat([0, 1, -1], [20, 20, 400])
    labels = Labels(np.array(["a", "b"]), given, given >= 0)
    mixture = SimpleNamespace(predict=lambda X: np.resize(["a", "b", "b", "b"], len(X)))
    return [handed_over(mixture, labels, defaults, loss) for loss in (0.09, 0.099, 0.101)]


def nearer_shares(defaults):
    """Make class shares of the network that are nearer by 0.06 and by 0.04."""
    given = np.repeat([0, 1, -1], [20, 20, 400])
    labels = Labels(np.array(["a", "b"]), given, given >= 0)
    mixture = SimpleNamespace(predict=lambda X: np.resize(["a", "b", "b", "b"], len(X)))
    shares = [np.repeat(["a", "b"], [n_first, 100 - n_first]) for n_first in (31, 29)]
    return [handed_over(mixture, labels, defaults, 0.01, by_network) for by_network in shares]


def narrower_by_entropy(defaults):
    """Two classes for three: far from the labels, and as even as some of them."""
    given = np.repeat([0, 1, 2, -1], [60, 20, 20, 1000])
    labels = Labels(np.array(["a", "b", "c"]), given, given >= 0)
    model = SimpleNamespace(predict=lambda X: np.repeat(["a", "b", "c"], [110, 690, 200]))
    return handed_over(model, labels, defaults)


def network(defaults):
    choice = choose_learner(diagnosis(), learner=NETWORK, defaults=defaults)
    learner = choice.learner
    return choice.rounds, learner.policy.step, learner.held_out_rows, learner.warm_start


def linear(defaults):
    learner = learners(defaults)[LINEAR]
    return learner.most_rows, learner.policy.max_rows, learner.held_out_rows


def guess_column(n_labels, right, filled=1.0, classes=1.0):
    """Make a column that is right in some labelled rows, and empty or different in others."""
    codes = np.arange(200) % 2
    names = np.array(["no", "yes"])
    guess = names[np.where(np.arange(200) < right, codes, 1 - codes)].astype(object)
    guess[: n_labels - round(filled * n_labels)] = None
    guess[n_labels - round((1 - classes) * n_labels) : n_labels] = "other"
    labels = [str(names[code]) if row < n_labels else None for row, code in enumerate(codes)]
    frame = pl.DataFrame({"x": np.arange(200) % 7, "guess": guess.tolist(), "y": labels})
    table = Table(frame, "t")
    return prepare(table, "y"), table, target_labels(table, "y")


def found_guesses(*columns):
    def outcome(defaults):
        return [
            find_guess_column(*guess_column(**column), defaults) is not None for column in columns
        ]

    return outcome


def kept_guesses(defaults):
    column = GuessColumn("c", np.zeros(1, np.intp), np.zeros((1, 1), np.float32), np.array(["a"]))
    nothing = np.zeros(20)
    by_column = HeldOut(nothing, np.arange(20) < 10, nothing, nothing)
    return [
        compare_guesses(
            column,
            HeldOut(nothing, np.arange(20) < 10 + gain, nothing, nothing),
            by_column,
            True,
            defaults,
        ).kept
        for gain in (4, 5)
    ]


def rounds_with_audit(defaults):
    """Make 40 audited rows; a round of self-training has five more right: p = 0.03."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    truth = np.where(X[:, 0] > 0, "yes", "no")
    rows = np.arange(40, 80)
    codes = np.where(np.arange(200) < 80, (truth == "yes").astype(int), -1)
    labels = Labels(np.array(["no", "yes"]), codes, codes >= 0)
    comparison = compare(np.ones(40, bool), np.arange(40) >= 6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audited, "compare_models", lambda *models: comparison)
        _, figures, _ = audit_model(
            lambda rounds: SelfTrainingClassifier(
                LogisticRegression(),
                max_rounds=rounds,
                unlabeled=None,
                confidence="max_probability",
            ),
            X,
            labels,
            AuditAnswers(rows, truth[rows], 40),
            defaults=defaults,
        )
    return figures.rounds


def second_look(defaults):
    """Of some labels that nobody would give again, a few are contradicted clearly."""
    outcomes = []
    for n, n_clear in ((99, 15), (100, 15), (100, 25)):
        margins = np.where(np.arange(n) < n_clear, 0.85, 0.84)
        nothing = np.zeros(n)
        held = HeldOut(
            nothing, nothing.astype(bool), nothing, margins, nothing, nothing, np.arange(n)
        )
        outcomes.append(len(suspect_labels(held, defaults)))
    return outcomes


def checked_rows(defaults):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    rows = rows_to_check(X, np.arange(3000) < 500, rng.random(3000), defaults)
    return len(rows), int(rows.sum())


def sampled_rows(defaults):
    asked = []

    def sample(source, target, k, **rest):
        asked.append(k)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label, "sample_of_table", sample)
        label._sample(None, LabelOptions(target="y"), 1 << 30, print, defaults)
    return asked


def separated(defaults):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 20))
    separation = separate(X, X[:, 0] > 0.5, 0, defaults)
    return round(separation.auc, 6), separation.p_value


def covered(defaults):
    rng = np.random.default_rng(0)
    return measure_coverage(rng.normal(size=(900, 2)), np.arange(900) < 60, 0, defaults)


def compared_rows(defaults):
    few = replace(defaults, n_permutations=1)
    compared = []

    def separation(X, labeled, *rest):
        compared.append((int(labeled.sum()), int((~labeled).sum())))
        return Separation(0.5, 1.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diagnose, "separate", separation)
        diagnose_rows(np.zeros((1300, 1)), np.arange(1300) < 650, defaults=few)
    return compared


class Linear:
    """Says yes where the sum of all features is high."""

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-0.1 * X.sum(axis=1)))
        return np.column_stack([1 - p, p])


@cache
def table_of_numbers(n_columns):
    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=2100) for j in range(n_columns)}
    return prepare(Table(pl.DataFrame(columns | {"y": 1}), "t"), "y")


def explained(defaults):
    prepared = table_of_numbers(25)
    found = explainer(Linear(), prepared.preparation, prepared.X, defaults=defaults)
    return len(found.columns), len(found.background)


def rows_of_importance(defaults):
    prepared = table_of_numbers(3)
    one = [np.arange(3)]
    rows = explainer(Linear(), prepared.preparation, prepared.X, defaults=defaults).n_rows
    most = importance(Linear(), np.resize(prepared.X, (9000, 3)), one, defaults)[1]
    fewest = importance(Linear(), prepared.X[:90], [np.arange(1)] * 1000, defaults)[1]
    return rows, most, fewest


def decisive_columns(defaults):
    return decisive(np.array([[1.0, 0.25, 0.2]]), defaults=defaults).tolist()


def decisive_words(defaults):
    """Make a text of which the longer words speak for the class, by one feature for each."""

    class ByLetters:
        def predict_proba(self, X):
            p = 1 / (1 + np.exp(-X[:, 0]))
            return np.column_stack([1 - p, p])

    class Letters:
        columns_ = ()

        def without(self, notes):
            return self

        def transform_part(self, texts):
            weights = {"long": 1.0, "longer": 0.5, "longest": 0.4}
            sums = [sum(weights.get(word, 0) for word in text.split()) for text in texts["t"]]
            return np.array(sums)[:, None]

    found = Explainer(
        ByLetters(), Letters(), [], 1, ["t"], [np.arange(1)], np.zeros((1, 1)), defaults
    )
    words = [*"abcdefghij", *(f"w{k}" for k in range(28)), "long", "longer", "longest"]
    texts = pl.Series("t", [" ".join(["un" + word if len(word) < 2 else word for word in words])])
    return found._deciding_words(0, np.zeros((1, 1)), np.array([1]), texts)


def drifted(defaults):
    """Count missing cells in 0 % of the rows of a model, and in a tenth or less of new ones."""
    rng = np.random.default_rng(0)
    preparation = TablePreparation().fit(pl.DataFrame({"x": rng.normal(size=1000)}))
    X, missing = preparation.transform_counted(pl.DataFrame({"x": np.arange(1000.0)}))
    model = with_drift_reference(Pipeline([("p", preparation)]), X, missing, defaults)
    verdicts = []
    for n_rows, n_missing in ((1000, 100), (1000, 99), (15, 2), (10, 1)):
        new = EventCounts(n_rows, np.array([0, n_missing]))
        verdicts.append(compare_with_reference(model, new, defaults).verdict)
    return verdicts, model.drift_reference_.ranges.round(2).tolist()


# By the number: the decision that it is for, and another value that decides otherwise.
PINNED = {
    "significance": (verdicts, 0.011),
    "strong_auc": (verdicts, 0.749),
    "slip_share": (slips, 0.55),
    "empty_share": (empty_elsewhere, 0.011),
    "times_as_filled": (empty_elsewhere, 9.0),
    "beyond_share": (beyond_labels, 0.999),
    "nearer_shares": (beyond_labels, 0.9),
    "max_loss_ratio": (beyond_labels, 0.5),
    "labels_per_leaf": (beyond_labels, 60),
    "coverage_rows": (beyond_labels, 500),
    "share_trees": (beyond_labels, 30),
    "text_loss_ratio": (useless_texts, 0.1),
    "quick_trees": (useless_texts, 30),
    "quick_rows": (useless_texts, 20),
    "max_mixture_labels": (many_labels, 19_999),
    "lean": (lean, 1.5),
    "lean_p": (clearly_worse, 0.11),
    "collapse_distance": (collapses, 0.39),
    "collapse_entropy": (narrower_by_entropy, 0.85),
    "collapse_rows": (collapses, 10_000),
    "too_easy_loss": (too_easy, 0.095),
    "network_nearer_shares": (nearer_shares, 0.03),
    "network_rounds": (network, 1),
    "network_step": (network, 0.3),
    "network_held_out_rows": (network, 2_000),
    "min_filled_share": (
        found_guesses(
            {"n_labels": 100, "right": 200, "filled": 0.5},
            {"n_labels": 100, "right": 200, "filled": 0.49},
        ),
        0.51,
    ),
    "min_class_share": (
        found_guesses(
            {"n_labels": 100, "right": 200, "classes": 0.8},
            {"n_labels": 100, "right": 200, "classes": 0.79},
        ),
        0.81,
    ),
    "min_kappa": (
        found_guesses({"n_labels": 100, "right": 71}, {"n_labels": 100, "right": 69}),
        0.43,
    ),
    "max_chance": (
        found_guesses({"n_labels": 12, "right": 10}, {"n_labels": 12, "right": 9}),
        0.08,
    ),
    "clear_gain": (kept_guesses, 4),
    "self_training_p": (rounds_with_audit, 0.03),
    "suspect_margin": (second_look, 0.84),
    "max_suspects": (second_look, 19),
    "min_held_out": (second_look, 101),
    "n_rows_to_check": (checked_rows, 40),
    "check_candidates": (checked_rows, 1),
    "check_rows": (checked_rows, 1_000),
    "check_reference_rows": (checked_rows, 20),
    "sample_rows": (sampled_rows, 1_000),
    "fit_rows": (linear, 1_000),
    "accepted_rows": (linear, 1_000),
    "held_out_rows": (linear, 1_000),
    "n_permutations": (separated, 499),
    "kernel_components": (separated, 9),
    "coverage_draws": (covered, 1),
    "compared_rows": (compared_rows, 601),
    "explaining_columns": (explained, 21),
    "background_rows": (explained, 9),
    "importance_rows": (rows_of_importance, 2_001),
    "importance_predictions": (rows_of_importance, 8_000),
    "min_shuffled_rows": (rows_of_importance, 17),
    "decisive_share": (decisive_columns, 0.26),
    "decisive_word_share": (decisive_words, 0.51),
    "words_left_out": (decisive_words, 2),
    "min_share_gained": (drifted, 0.099),
    "drift_significance": (drifted, 0.1),
    "range_tail": (drifted, 0.01),
}


# The numbers themselves, so that none changes unless its evidence in ``defaults.py`` does.
NUMBERS = {
    "significance": 0.01,
    "slip_share": 0.5,
    "strong_auc": 0.75,
    "empty_share": 0.01,
    "times_as_filled": 10.0,
    "beyond_share": 0.8,
    "nearer_shares": 0.03,
    "max_loss_ratio": 2.0,
    "labels_per_leaf": 5,
    "coverage_rows": 2000,
    "share_trees": 100,
    "text_loss_ratio": 0.9,
    "quick_trees": 40,
    "quick_rows": 500,
    "max_mixture_labels": 20_000,
    "lean": 2.0,
    "lean_p": 0.1,
    "too_easy_loss": 0.1,
    "collapse_distance": 0.4,
    "collapse_entropy": 0.9,
    "collapse_rows": 20_000,
    "network_nearer_shares": 0.05,
    "network_rounds": 2,
    "network_step": 0.4,
    "min_filled_share": 0.5,
    "min_class_share": 0.8,
    "min_kappa": 0.4,
    "max_chance": 0.05,
    "clear_gain": 5,
    "self_training_p": 0.05,
    "suspect_margin": 0.85,
    "max_suspects": 20,
    "min_held_out": 100,
    "n_rows_to_check": 50,
    "check_candidates": 20,
    "check_rows": 20_000,
    "check_reference_rows": 600,
    "sample_rows": 100_000,
    "fit_rows": 50_000,
    "accepted_rows": 10_000,
    "network_held_out_rows": 20_000,
    "held_out_rows": 2000,
    "n_permutations": 999,
    "kernel_components": 10,
    "coverage_draws": 10,
    "compared_rows": 600,
    "explaining_columns": 20,
    "background_rows": 8,
    "importance_rows": 2000,
    "importance_predictions": 8192,
    "min_shuffled_rows": 16,
    "decisive_share": 0.25,
    "decisive_word_share": 0.5,
    "words_left_out": 40,
    "min_share_gained": 0.1,
    "drift_significance": 0.01,
    "range_tail": 0.005,
}


MIXTURE_PINNED = {
    "inverse_penalty": 0.2,
    "n_trees": 31,
    "tree_features": 0.4,
    "boosting_rounds": 41,
    "boosting_leaves": 16,
    "boosting_leaf_rows": 6,
    "linear_weight": 1.1,
    "trees_weight": 2.1,
    "boosting_weight": 1.1,
    "boosting_labels": 31,
    "max_boosted_classes": 99,
    "max_boosted_features": 1_999,
    "max_leaf_shares": 2**26 - 3_000_000,
}
# What the decisions are with the default numbers; of those with figures, what they are about.
OUTCOMES = {
    verdicts: ["representative", STRONG, STRONG, MILD],
    slips: ["godo"],
    empty_elsewhere: ["left", "called"],
    beyond_labels: ["number"],
    useless_texts: ["text"],
    many_labels: [False, True],
    lean: 2.0,
    clearly_worse: [True, False],
    collapses: [(True, [20_000]), (False, [20_000]), (True, [20_000]), (True, [20_000])],
    narrower_by_entropy: True,
    too_easy: [True, True, False],
    nearer_shares: [True, False],
    separated: (0.988562, 0.001),
    compared_rows: [(600, 600)],
    explained: (20, 8),
    rows_of_importance: (2000, 8192, 16),
    decisive_columns: [[0, 1, -1]],
    decisive_words: [['"long"', '"longer"']],
    network: (2, 0.4, 20_000, True),
    linear: (50_000, 10_000, 2_000),
    kept_guesses: [True, False],
    rounds_with_audit: 1,
    second_look: [0, 15, 20],
    checked_rows: (50, 91_671),
    sampled_rows: [100_000],
}


def members(defaults):
    """Names, weights and settings of the default members of tables of several sizes."""
    sizes = ((45, 2, 5), (10_000, 100, 2_000), (20_000, 150, 5))
    return [
        [
            (member.name, member.weight, repr(member.estimator))
            for member in default_members(*size, defaults)
        ]
        for size in sizes
    ]


@cache
def by_default(decision):
    return decision(DEFAULTS)


@pytest.mark.parametrize("name", PINNED)
def test_another_number_decides_otherwise(name):
    decision, value = PINNED[name]
    assert getattr(DEFAULTS, name) != value
    assert decision(replace(DEFAULTS, **{name: value})) != by_default(decision)


@pytest.mark.parametrize("decision", OUTCOMES)
def test_decisions_with_the_default_numbers_are_as_they_were(decision):
    outcome = by_default(decision)
    if decision in (empty_elsewhere, beyond_labels, useless_texts):
        outcome = outcome[0]
    assert outcome == OUTCOMES[decision]


@pytest.mark.parametrize("name", ["min_filled_share", "min_class_share", "min_kappa", "max_chance"])
def test_a_column_just_within_each_limit_guesses_and_one_just_beyond_does_not(name):
    assert PINNED[name][0](DEFAULTS) == [True, False]


@pytest.mark.parametrize("name", MIXTURE_PINNED)
def test_another_number_makes_another_mixture(name):
    assert members(replace(MIXTURE_DEFAULTS, **{name: MIXTURE_PINNED[name]})) != members(
        MIXTURE_DEFAULTS
    )


def test_the_default_members_are_as_they_were():
    few_labels, many_columns, many_classes = members(MIXTURE_DEFAULTS)
    assert [(name, weight) for name, weight, _ in few_labels] == [
        ("linear", 1.25),
        ("trees", 2.0),
        ("boosting", 0.75),
    ]
    assert [(name, weight) for name, weight, _ in many_columns] == [
        ("linear", 1.0),
        ("trees", 2.0),
        ("boosting", 1.0),
    ]
    (_, linear_weight, _), (_, _, trees) = many_classes
    assert (linear_weight, "n_estimators=22" in trees) == (2.0, True)
    linear, trees, boosting = (settings for _, _, settings in few_labels)
    assert "C=0.3" in linear
    assert "max_features=0.5, n_estimators=30" in trees
    for setting in ("max_iter=40", "max_leaf_nodes=15", "min_samples_leaf=5"):
        assert setting in boosting


def test_a_floor_keeps_the_logarithm_of_a_members_zero_finite():
    X = np.random.default_rng(0).normal(size=(80, 2))
    labels = partly((X[:, 0] > 0).astype(int), 40)
    spreads = []
    for floor in (1e-3, 1e-4):
        defaults = Defaults(mixture=replace(MIXTURE_DEFAULTS, floor=floor))
        estimator = learners(defaults)[MIXED].estimator(random_state=0)
        spreads.append(estimator.set_params(unlabeled=None).fit(X, labels).scales_[1])
    assert MIXTURE_DEFAULTS.floor == 1e-3
    assert np.isfinite(spreads).all()
    assert spreads[0] < spreads[1]  # of the trees, whose probabilities are often 0


def test_numbers_of_the_columns_reach_the_preparation():
    frame = pl.DataFrame({"town": ["a", "b", "c"] * 40, "x": range(120)})
    frame = frame.with_columns(
        y=pl.Series([["no", "yes"][row % 2] if row < 60 else None for row in range(120)])
    )
    few = Defaults(columns=replace(DEFAULTS.columns, max_categories=2))
    options = LabelOptions(target="y", learner="linear")
    for defaults, is_named in ((DEFAULTS, True), (few, False)):
        model = label_table(Table(frame, "t"), options, defaults=defaults).model
        assert ("town = c" in model[0].get_feature_names_out()) == is_named


def test_numbers_chosen_by_experiment_stay():
    assert {name: getattr(DEFAULTS, name) for name in PINNED} == NUMBERS


def test_every_number_is_pinned():
    assert set(PINNED) | {"columns", "mixture", "switched_off"} == {
        field.name for field in fields(Defaults)
    }
    assert set(MIXTURE_PINNED) | {"floor"} == {
        field.name for field in fields(type(MIXTURE_DEFAULTS))
    }


def guesses(defaults):
    return find_guess_column(*guess_column(100, 90), defaults)


# By the rule: a decision about a table where the rule has reason to act.
RULES_AT_WORK = {
    "find_guess_column": guesses,
    "leave_out_columns_empty_elsewhere": empty_elsewhere,
    "leave_out_columns_beyond_labels": beyond_labels,
    "leave_out_useless_texts": useless_texts,
    "boost_many_labels": lambda defaults: many_labels(defaults)[1],
    "lean_to_commonest_class": lean,
    "hand_over_to_network": narrower_by_entropy,
    "self_train_if_clearly_better": rounds_with_audit,
}


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_can_be_switched_off(rule):
    decision = RULES_AT_WORK[rule]
    assert decision(Defaults(switched_off=frozenset(RULES) - {rule}))
    assert not decision(Defaults(switched_off=frozenset({rule})))


def test_an_unknown_rule_cannot_be_switched_off():
    with pytest.raises(ValueError, match="no rule 'no_lean'; the rules are leave_out"):
        Defaults(switched_off=frozenset({"no_lean"}))


def test_a_fit_names_the_rules_that_acted_and_without_them_the_mixture_does_not_lean():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 4))
    labels = partly((rng.random(300) < 0.3).astype(int), 100)  # nothing can be learned
    fitted = fit_learner(X, labels, diagnosis(MILD))
    rules = [finding.rule for finding in fitted.findings if finding is not None]
    assert rules == ["lean_to_commonest_class"]
    assert fitted.choice.lean == 2.0

    plain = fit_learner(
        X, labels, diagnosis(MILD), defaults=Defaults(switched_off=frozenset(RULES))
    )
    assert plain.findings == (None, None)
    assert plain.choice.lean == 0.0
    np.testing.assert_allclose(plain.classifier.estimator_.class_bias_, 0)
