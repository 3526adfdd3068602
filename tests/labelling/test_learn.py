"""Which learner is chosen by what is known of the labels, and what holds for a part of the rows."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import chary
from chary import DiverseEnsembleClassifier, MixedEnsembleClassifier
from chary.audit import draw
from chary.audit.answers import AuditAnswers
from chary.labelling import Diagnosis, diagnose_table, label_table
from chary.labelling.defaults import Defaults
from chary.labelling.diagnose import MILD, REPRESENTATIVE, STRONG, UNKNOWN, prepare
from chary.labelling.learn import (
    Choice,
    FittedLearner,
    _hold_out,
    choose_learner,
    choose_with_audit,
    fit_learner,
    learn,
    prior_of_part,
)
from chary.labelling.learners import MIXED, NETWORK, learner_of, learners
from chary.labelling.rules import (
    OutOfFold,
    hand_over_to_network,
    leave_out_columns_beyond_labels,
    leave_out_useless_texts,
)
from chary.method.labels import Labels
from chary.options import DiagnoseOptions, LabelOptions
from chary.tables import Table
from chary.tables.target import target_labels
from tests.fixtures.sheets import write_audit

pytestmark = pytest.mark.usefixtures("quick_learners")
SHARES = {"yes": 0.3, "no": 0.7}


def diagnosis(verdict, n_labeled=50, coverage=0.9):
    return Diagnosis(verdict, None, coverage, [], {}, n_labeled, 1000)


def test_what_is_known_decides_who_learns():
    known = [
        (diagnosis(REPRESENTATIVE), "mixed", 0),
        (diagnosis(STRONG, coverage=0.01), "mixed", 0),
        (diagnosis(UNKNOWN, n_labeled=5, coverage=None), "mixed", 0),
        (diagnosis(REPRESENTATIVE, n_labeled=20_001), "boosting", 0),
        (diagnosis(REPRESENTATIVE, n_labeled=20_000), "mixed", 0),
    ]
    for found, learner, rounds in known:
        choice = choose_learner(found)
        assert (choice.name, choice.rounds) == (learner, rounds)
        assert choice.learner.words == learners()[learner].words
        assert ("20,000 labels" in choice.why) == (learner != "mixed")


def test_who_is_asked_for_learns_and_rounds_that_are_asked_for_are_taken():
    strong = diagnosis(STRONG, coverage=0.1)
    assert choose_learner(strong, learner="mixed").name == "mixed"
    assert choose_learner(strong, learner="network", rounds=3).rounds == 3
    assert choose_learner(strong, learner="linear", rounds=2).rounds == 2


def test_a_learner_makes_a_classifier_that_is_seeded_and_told_all():
    for name, kind in ((NETWORK, DiverseEnsembleClassifier), (MIXED, MixedEnsembleClassifier)):
        classifier = learners()[name].classifier(3, seed=7, class_prior="labeled")
        assert isinstance(classifier.estimator, kind)
        assert (classifier.max_rounds, classifier.class_prior, classifier.unlabeled) == (
            3,
            "labeled",
            None,
        )
        assert classifier.random_state == classifier.estimator.random_state == 7
        assert classifier.max_pool == learners()[name].most_rows


def test_a_users_classifier_is_cloned_and_charys_learns_that_empty_means_unlabelled():
    own = LogisticRegression(C=3)
    made = choose_learner(diagnosis(MILD), learner=own).classifier(0)
    assert made.estimator is not own
    assert (made.estimator.C, made.confidence) == (3, "max_probability")
    theirs = choose_learner(diagnosis(MILD), learner=DiverseEnsembleClassifier()).classifier(0)
    assert (theirs.estimator.unlabeled, theirs.confidence) == (None, "t_similarity")


def two_ends(noise):
    """Make labels at the far ends of x, and all other rows beside those of the second class."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(12, 1, 20), rng.normal(0, 1, 20), rng.normal(0, 1, 400)])
    codes = np.repeat([0, 1, -1], [20, 20, 400])
    if noise:  # nothing tells the classes apart, and one has most labels
        x, codes[:40] = rng.normal(size=440), rng.permutation(np.repeat([0, 1], [8, 32]))
    return x[:, None], Labels(np.array(["a", "b"]), codes, codes >= 0)


def named(classes):
    """Make a fitted classifier that names some classes in turn."""
    return SimpleNamespace(predict=lambda X: np.resize(classes, len(X)))


def network(labels, classes):
    """Make self-training that accepted nothing, and names some classes in turn."""
    return SimpleNamespace(
        classes_=labels.classes,
        estimator_=named(classes),
        labeled_iter_=np.full(len(labels.codes), -1),
        transduction_=np.full(len(labels.codes), None),
    )


def held_out(codes, labels, loss):
    """Make held-out predictions with some log loss."""
    codes = np.asarray(codes)
    given = labels.codes[labels.labeled]
    n_classes = len(labels.classes)
    # With a lead of z over C - 1 others the log loss of a right answer is log(1 + (C - 1) exp(-z)).
    lead = -np.log(np.expm1(loss) / (n_classes - 1))
    scores = lead * np.eye(n_classes)[codes]
    model = SimpleNamespace(class_bias_=np.zeros(n_classes))
    return OutOfFold(np.arange(len(codes)), [(model, np.arange(len(codes)))], given, scores)


def handed_over(mixture, labels, out_of_fold, by_network=None, **told):
    X = np.zeros((len(labels.codes), 1))
    fitted = network(labels, labels.classes if by_network is None else by_network)
    return hand_over_to_network(
        mixture, lambda: fitted, X, labels, out_of_fold, diagnosis(STRONG), **told
    )


@pytest.mark.parametrize("noise", [False, True])
def test_one_class_for_all_other_rows_is_a_collapse_unless_held_out_labels_get_it_too(noise):
    X, labels = two_ends(noise)
    found = fit_learner(X, labels, diagnosis(MILD)).out_of_fold
    defaults = Defaults(too_easy_loss=0)
    collapse = handed_over(named(["b"]), labels, found, defaults=defaults)
    assert (collapse is None) is noise
    assert handed_over(named(["a", "b"]), labels, found, defaults=defaults) is None


def test_labels_that_are_too_easy_call_for_the_network_if_its_class_shares_are_nearer():
    _, labels = two_ends(noise=False)
    given = labels.codes[:40]
    three_to_one = named(["a", "b", "b", "b"])
    easy, hard = (held_out(given, labels, loss) for loss in (0.09, 0.11))
    handed = handed_over(three_to_one, labels, easy)
    assert "easy edge of each class" in handed.why
    assert handed.figures == pytest.approx(
        {"loss": 0.09, "distance": 0.25, "distance_of_network": 0.0}
    )
    assert handed_over(three_to_one, labels, hard) is None
    assert handed_over(three_to_one, labels, easy, only_numbers=False) is None
    # The network's shares are as far, or nearer by less than 0.05.
    assert handed_over(three_to_one, labels, easy, ["b", "a", "b", "b"]) is None
    almost_as_far = ["a"] * 7 + ["b"] * 18
    assert handed_over(three_to_one, labels, easy, almost_as_far) is None


@pytest.mark.parametrize(("by_mixture", "stays"), [("abbb", True), ("abba", True), ("abaa", False)])
def test_a_hand_over_stays_unless_the_mixture_has_more_audited_rows_right(by_mixture, stays):
    _, labels = two_ends(noise=False)
    easy = held_out(labels.codes[:40], labels, 0.01)
    handed = handed_over(named(["b"]), labels, easy)
    # Row 43 was skipped.
    truth = np.array(["a", "b", "a", None, "a"], dtype=object)
    answers = AuditAnswers(drawn=np.arange(40, 45), truth=truth, n_drawn=5)
    # An aim moves what the whole classifier predicts; there is no such mixture to compare it with.
    by_network = SimpleNamespace(estimator_=named(["a", "b", "b"]), predict=named("b").predict)
    handed = replace(handed, network=by_network, mixture=named(list(by_mixture)))
    fitted = FittedLearner(Choice(NETWORK, None, 2, "too easy"), None, findings=(None, handed))
    choice = choose_with_audit(fitted, np.zeros((440, 1)), answers)
    assert (choice.name, choice.rounds) == ((NETWORK, 2) if stays else (MIXED, 0))
    assert ("audited rows" in choice.why) is not stays
    # The annotator is told when to stop, and one drawn row is left.
    unfinished = replace(answers, stopped=True, n_drawn=6)
    assert choose_with_audit(fitted, np.zeros((440, 1)), unfinished).name == NETWORK


def test_labels_that_the_network_accepted_count_in_its_class_shares():
    _, labels = two_ends(noise=False)
    rest = np.flatnonzero(~labels.labeled)
    fitted = network(labels, ["b"])
    fitted.labeled_iter_[rest[:200]] = 1
    fitted.transduction_[rest[:200]] = "a"
    easy = held_out(labels.codes[:40], labels, 0.01)
    handed = hand_over_to_network(
        named(["b"]), lambda: fitted, np.zeros((440, 1)), labels, easy, diagnosis(STRONG)
    )
    assert handed.figures["distance_of_network"] == 0


def test_predictions_more_even_than_the_labels_are_far_from_them_and_no_collapse():
    codes = np.concatenate([np.repeat([0, 1, 2], [36, 2, 2]), np.full(300, -1)])
    labels = Labels(np.array(["a", "b", "c"]), codes, codes >= 0)
    found = held_out(codes[:40], labels, 0.2)
    for classes in (["a", "b", "c"], ["b", "c"]):
        assert handed_over(named(classes), labels, found, ["a"]) is None


def partly(codes, n_labeled):
    labeled = np.arange(len(codes)) < n_labeled
    return Labels(np.array(["a", "b"]), np.where(labeled, codes, -1), labeled)


def test_labels_held_out_for_the_rules_are_judged_as_if_held_out_again():
    X = np.random.default_rng(0).normal(size=(300, 3))
    labels = partly((X[:, 0] > 0.3 * X[:, 1]).astype(int), 60)
    for told in ({}, {"class_prior": {"a": 0.7, "b": 0.3}}, {"aim": "balanced"}):
        options = LabelOptions.of(target="y", seed=1, **told)
        fitted = fit_learner(X, labels, diagnosis(STRONG), seed=1, **told)
        one, fold_models = _hold_out(fitted, X, labels, options, 300)
        other, _ = _hold_out(fitted._replace(out_of_fold=None), X, labels, options, 300)
        assert (one.prediction.tolist(), one.rows.tolist()) == (
            other.prediction.tolist(),
            other.rows.tolist(),
        )
        np.testing.assert_allclose(one.confidence, other.confidence)
        assert sorted(np.concatenate([rows for _, rows in fold_models])) == list(range(60))


def test_where_columns_tell_nothing_labels_lean_towards_the_most_frequent_class():
    rng = np.random.default_rng(3)
    X, codes = rng.normal(size=(600, 4)), (rng.random(600) < 0.3).astype(int)
    labels = partly(codes, 100)
    strong = diagnosis(STRONG)
    always = Defaults(lean_p=0.51)  # whenever held-out labels are guessed worse
    choice, model, *_ = fit_learner(X, labels, strong, defaults=always)
    assert choice.name == "mixed"
    assert choice.lean == 2
    plain = learners()["mixed"].classifier(0, 0).fit(X, labels)
    right, before = (
        np.mean(np.asarray(m.predict(X[100:])) == np.array(["a", "b"])[codes[100:]])
        for m in (model, plain)
    )
    assert right > before
    # As good as the most frequent class, if nothing can be known.
    assert right >= np.mean(codes[100:] == 0) - 0.01
    even = {"a": 0.5, "b": 0.5}
    assert fit_learner(X, labels, strong, aim="balanced", defaults=always).choice.lean == 0
    assert fit_learner(X, labels, strong, class_prior=even, defaults=always).choice.lean == 0
    telling = np.column_stack([codes, codes]) + X[:, :2] / 4
    assert fit_learner(telling, labels, strong, defaults=always).choice.lean == 0


def test_with_an_audit_no_note_says_that_labels_lean(tmp_path):
    rng = np.random.default_rng(3)
    truth = np.where(rng.random(300) < 0.3, "b", "a").astype(object)
    given = np.where(np.arange(300) < 100, truth, None)
    table = Table(pl.DataFrame({"x": rng.normal(size=300), "y": given.tolist()}), "t")
    labels = target_labels(table, "y")
    rows = draw(labels.labeled, 20, 0)
    with open(tmp_path / "audit.csv", "wb") as stream:
        write_audit(table, "y", labels, rows, stream)
    sheet = pl.read_csv(tmp_path / "audit.csv", infer_schema=False)
    sheet.with_columns(y=pl.Series(truth[rows].tolist())).write_csv(tmp_path / "audit.csv")
    always = Defaults(lean_p=0.51)
    for audit in (None, tmp_path / "audit.csv"):
        options = LabelOptions.of(target="y", audit=audit)
        fit, _ = learn(table, options, lambda step: None, lambda diagnosed: None, always)
        leans = [note for note in fit.notes if "labels lean" in note]
        assert (fit.choice.lean, len(leans)) == ((2.0, 1) if audit is None else (0.0, 0))


def test_texts_are_left_out_only_where_held_out_labels_are_guessed_better_without():
    rng = np.random.default_rng(0)
    words = np.array(
        [
            "red",
            "green",
            "blue",
            "large",
            "small",
            "round",
            "flat",
            "soft",
            "hard",
            "new",
            "old",
            "warm",
            "cold",
            "dry",
            "wet",
        ]
    )
    texts = [" ".join(rng.choice(words, 6)) for _ in range(400)]
    x, word = rng.normal(size=400), np.array(["warm" in text for text in texts])
    for truth, expected in ((x > 0, ["text"]), (word, [])):
        labels = partly(truth.astype(int), 80)
        prepared = prepare(Table(pl.DataFrame({"x": x, "text": texts, "y": truth}), "t"), "y")
        left_out = leave_out_useless_texts(prepared, labels)
        assert ([] if left_out is None else list(left_out.notes)) == expected
        if expected:
            assert prepared.without(left_out.notes).X.shape[1] == 1


def part_of_many(n_others):
    """100 labelled rows, half of them yes, and some of 900 others."""
    codes = np.array([0] * 50 + [1] * 50 + [-1] * n_others)
    return Labels(np.array(["no", "yes"]), codes, codes >= 0)


def test_labelled_rows_are_many_among_few():
    """Of 1,000 rows 200 are yes, so of the 900 others 150 are: of 30 of them 5."""
    told = {"no": 0.8, "yes": 0.2}
    np.testing.assert_allclose(prior_of_part(told, part_of_many(30), 1000), [75 / 130, 55 / 130])


def test_what_says_nothing_of_all_rows_holds_for_a_part_and_of_all_rows_it_is_what_was_told():
    for told in (None, "labeled"):
        assert prior_of_part(told, part_of_many(30), 1000) == told
    told = {"no": 0.8, "yes": 0.2}
    assert prior_of_part(told, part_of_many(900), 1000) is told


def test_shares_that_cannot_be_those_of_all_rows_are_refused():
    with pytest.raises(ValueError, match="1 % of all 1,000 rows"):
        prior_of_part({"no": 0.99, "yes": 0.01}, part_of_many(30), 1000)


def numbered(labeled, n=1500):
    """Make rows with a running number that tells the share of "yes" in the first 150 rows alone."""
    rng = np.random.default_rng(0)
    number, x = np.arange(n) // 2, rng.normal(size=n)
    rising = np.where(np.arange(n) < 150, np.arange(n) / 37.5 - 2, 0)
    truth = np.where(1.5 * x + rising + rng.normal(size=n) > 0, "yes", "no")
    frame = pl.DataFrame(
        {
            "number": number,
            "x": x,
            "y": [t if k else None for t, k in zip(truth, labeled, strict=True)],
        }
    )
    return frame, truth


def test_a_column_whose_values_end_where_the_labels_do_is_left_out_and_says_why(tmp_path):
    labeled = np.arange(1500) < 150
    frame, truth = numbered(labeled)
    result = chary.label(frame, target="y", seed=0)
    number, x = (
        next(c for c in result.summary["columns"] if c["name"] == name) for name in ("number", "x")
    )
    assert (number["used"], x["used"]) == (False, True)
    assert (
        number["note"]
        == "100% of the other rows lie where no label is, so what it says of them cannot be learned"
    )
    # What differs is still told.
    assert result.summary["diagnosis"]["shifts"][0]["name"] == "number"
    right = [
        np.mean(found.frame["chary_label"].to_numpy()[~labeled] == truth[~labeled])
        for found in (result, chary.label(frame, target="y", learner="mixed", seed=0))
    ]
    assert right[0] > right[1] + 0.1  # who names a learner gives it every column
    result.save(tmp_path / "model.chary")
    again = chary.load(tmp_path / "model.chary").predict(frame.drop("number", "y"))
    assert np.mean(np.asarray(again)[~labeled] == truth[~labeled]) == right[0]


def test_a_running_number_stays_where_labels_are_all_over():
    frame, _ = numbered(np.random.default_rng(1).random(1500) < 0.1)
    assert all(
        column["used"] for column in chary.label(frame, target="y", seed=0).summary["columns"]
    )


def test_a_column_that_leaves_the_shares_as_they_are_stays_wherever_the_labels_end():
    """Halves of each unit tell the classes apart, before and after: the model carries over."""
    place = np.linspace(0, 100, 1000)
    truth = np.where(np.sin(place) > 0, "yes", "no")
    frame = pl.DataFrame({"place": place, "wave": np.sin(place), "y": truth})
    prepared = prepare(Table(frame, "t"), "y")
    labeled = np.arange(1000) < 126
    labels = Labels(np.array(["no", "yes"]), np.where(labeled, truth == "yes", -1), labeled)
    assert leave_out_columns_beyond_labels(prepared, labels, labeled, diagnosis(STRONG)) is None


def test_a_column_that_decides_the_labels_stays_even_if_no_label_is_near():
    """Only customers who come very often or never have answered; the others lie between them."""
    rng = np.random.default_rng(0)
    visits, plan = rng.gamma(2, 2, 300).round(1), rng.choice(["basic", "gold"], 300)
    leaves = visits + 2 * (plan == "gold") + rng.normal(0, 0.5, 300) < 4
    labeled = np.abs(visits - 4) > 2.5
    prepared = prepare(Table(pl.DataFrame({"visits": visits, "plan": plan, "y": leaves}), "t"), "y")
    labels = Labels(np.array(["no", "yes"]), np.where(labeled, leaves, -1), labeled)
    data = prepared, labels, labeled, diagnosis(STRONG)
    assert leave_out_columns_beyond_labels(*data) is None
    left_out = leave_out_columns_beyond_labels(*data, Defaults(max_loss_ratio=np.inf))
    assert list(left_out.notes) == ["visits"]


@pytest.mark.parametrize("reason", ["reason", None])
def test_a_column_that_came_with_the_labels_is_left_out_unless_its_kind_is_named(reason):
    """The reason why a customer left is known of no customer who may still leave."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 600)
    leaves = age + rng.normal(0, 20, 600) < 45
    labeled = np.arange(600) < 80
    reasons = np.where(labeled & leaves, rng.choice(["price", "moved"], 600), "")
    frame = pl.DataFrame(
        {
            "age": age,
            "reason": reasons,
            "leaves": np.where(labeled, np.where(leaves, "yes", "no"), ""),
        }
    )
    categorical = (reason,) if reason else ()
    options = LabelOptions(target="leaves", learner="linear", categorical=categorical)
    result = label_table(Table(frame, "t"), options)
    column = result.model[0].columns_[1]
    rules = [finding.rule for finding in result.findings]
    if reason is None:
        assert column.note.endswith(
            "of the labelled rows and in none of the others, so it cannot help there"
        )
        assert rules == ["leave_out_columns_empty_elsewhere"]
        assert result.diagnosis.verdict == REPRESENTATIVE
    else:
        assert column.used
        assert rules == []
    diagnosed = diagnose_table(
        Table(frame, "t"), DiagnoseOptions(target="leaves", categorical=categorical)
    )
    assert diagnosed.columns[1] == column


def test_the_mixture_alone_has_members_of_different_kinds():
    assert [name for name, learner in learners().items() if learner.unlike] == ["mixed"]
    _, own = learner_of(LogisticRegression(), Defaults())
    assert own.unlike is False
