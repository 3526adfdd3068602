"""From a table with gaps to labels: nothing given is changed, and in parts it is the same."""

import io
from dataclasses import replace
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from chary import MixedEnsembleClassifier
from chary.audit import draw
from chary.labelling import label, label_table, predict_table
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.labelling.rows_to_check import write_rows_to_check
from chary.method import default_members, labels
from chary.method.held_out import HeldOut
from chary.model_file import ModelFileError, load_model, save_model
from chary.options import LabelOptions
from chary.report import summarize
from chary.tables import Table, TableError, open_source, read_table, write_table
from chary.tables.sampling import sample_rows
from chary.tables.target import target_labels
from tests.fixtures.sheets import write_audit

pytestmark = pytest.mark.usefixtures("quick_learners")


def table(n=150, n_labeled=40, seed=0, dtype=pl.String, biased=False):
    """The first rows have a label; under bias, x is extreme in them."""
    rng = np.random.default_rng(seed)
    x, colour = rng.normal(size=n), rng.choice(["red", "blue"], n)
    if biased:
        x = x[np.argsort(-np.abs(x))]
    score = x + (colour == "red") + 0.3 * rng.normal(size=n) > 0.5
    y = pl.Series([bool(value) if i < n_labeled else None for i, value in enumerate(score)])
    names = {
        pl.String: {True: "=yes", False: "no"},
        pl.Int64: {True: 7, False: -3},
        pl.Boolean: {True: True, False: False},
    }
    y = pl.Series("y", [None if value is None else names[dtype][value] for value in y], dtype=dtype)
    frame = pl.DataFrame({"id": range(n), "x": x.round(3).astype(str), "y": y, "colour": colour})
    return Table(frame, "t.csv", ",")


@pytest.fixture(scope="module")
def result(quick_learners):
    return label_table(table(biased=True), LabelOptions.of(target="y", learner="network", seed=3))


def test_given_labels_are_kept_and_every_row_has_one(result):
    given = result.labels.labeled
    assert (result.codes[given] == result.labels.codes[given]).all()
    assert result.codes.min() >= 0
    assert (result.confidence[given] == 1).all()
    assert ((result.confidence >= 0) & (result.confidence <= 1)).all()
    counts = {
        source: int((result.source == source).sum()) for source in ("given", "learned", "predicted")
    }
    classifier = result.model[-1]
    assert counts == {
        "given": 40,
        "learned": 97,
        "predicted": 13,
    }  # forty percent of highest confidence, then eighty percent of the others
    assert (
        np.flatnonzero(result.source == "learned") == np.flatnonzero(classifier.labeled_iter_ > 0)
    ).all()
    assert (result.settings["learner"], result.settings["rounds"]) == ("network", 2)
    assert len(result.next_rows) == 50
    assert not given[result.next_rows].any()


def test_the_columns_come_after_the_tables_own_which_are_unchanged(result):
    buffer = io.BytesIO()
    write_table(result.table, result.added_columns, buffer)
    written = pl.read_csv(buffer.getvalue(), infer_schema=False)
    assert written.columns == [
        "id",
        "x",
        "y",
        "colour",
        "chary_label",
        "chary_confidence",
        "chary_source",
    ]
    assert written.select("x", "y", "colour").equals(result.table.frame.select("x", "y", "colour"))
    assert set(written["chary_label"]) == {"'=yes", "no"}  # no formula in what chary adds
    probs, given = result.probabilities(), result.labels.labeled
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    assert (probs[given].max(axis=1) == 1).all()
    assert (probs.argmax(axis=1) == result.codes)[result.source != "learned"].all()


def test_the_model_gives_new_rows_the_same_labels_and_so_does_its_file(result, tmp_path):
    save_model(result.model, tmp_path / "m.chary")
    added = predict_table(result.model, result.table)
    again = predict_table(load_model(tmp_path / "m.chary"), result.table)
    assert all(added[name].equals(again[name]) for name in ("chary_label", "chary_confidence"))
    predicted = result.source == "predicted"
    own = result.added_columns
    assert (added["chary_label"].to_numpy() == own["chary_label"].to_numpy())[predicted].all()
    assert (added["chary_confidence"].to_numpy() == own["chary_confidence"].to_numpy())[
        predicted
    ].all()


def test_the_same_seed_gives_the_same_outcome(result):
    again = label_table(table(biased=True), LabelOptions.of(target="y", learner="network", seed=3))
    assert (again.codes == result.codes).all()
    assert (again.confidence == result.confidence).all()
    assert (again.next_rows == result.next_rows).all()


def test_a_class_prior_is_met_kept_and_saved(result, tmp_path):
    names = result.labels.classes.tolist()
    told = label_table(
        table(),
        LabelOptions.of(
            target="y", seed=3, learner="linear", class_prior={names[0]: 0.8, names[1]: 0.2}
        ),
    )
    # Of all rows, given labels included.
    assert abs(np.mean(told.codes == 1) - 0.2) < 1 / len(told.codes)
    assert told.prior.told
    assert not result.prior.told
    save_model(told.model, tmp_path / "m.chary")
    loaded = load_model(tmp_path / "m.chary")[-1]
    assert loaded.class_prior == {names[0]: 0.8, names[1]: 0.2}
    assert (loaded.class_bias_ == told.model[-1].class_bias_).all()


def test_rounds_that_are_asked_for_are_taken_with_a_class_prior_too():
    told = label_table(
        table(biased=True),
        LabelOptions.of(target="y", seed=3, class_prior="labeled", rounds=5, learner="linear"),
    )
    classifier = told.model[-1]
    assert isinstance(classifier.estimator_, MixedEnsembleClassifier)
    assert told.settings["rounds"] == 5
    shares = [round(record["used"]["share"], 2) for record in classifier.history_]
    assert shares == [0.2, 0.35, 0.5, 0.65, 0.8]
    assert ((told.confidence >= 0) & (told.confidence <= 1)).all()


def too_easy():
    """Label the rows of one class that lie far beyond its others."""
    rng = np.random.default_rng(1)
    labelled = [rng.normal(-5, 0.5, 20), rng.normal(3, 0.5, 20)]
    others = [rng.normal(-1, 0.7, 200), rng.normal(3, 0.7, 200)]
    x = np.concatenate([*labelled, *others])
    y = ["a"] * 20 + ["b"] * 20 + [None] * 400
    return Table(pl.DataFrame({"x": x, "z": rng.normal(size=440), "y": y}), "t.csv", ",")


def test_labels_that_are_too_easy_call_for_the_papers_method_and_the_reason_is_given():
    found = label_table(too_easy(), LabelOptions.of(target="y"))
    assert np.mean(found.codes[40:] == np.repeat([0, 1], 200)) > 0.9
    assert (found.settings["learner"], found.settings["rounds"]) == ("network", 2)
    assert found.settings["is_paper_method"]
    assert "the easy edge of each class" in found.settings["why_learner"]
    assert not label_table(too_easy(), LabelOptions.of(target="y", learner="mixed")).settings[
        "is_paper_method"
    ]


def test_whoever_is_asked_for_learns():
    kinds = {
        "linear": ["linear"],
        "boosting": ["boosting"],
        "mixed": ["linear", "trees", "boosting"],
    }
    for name, members in kinds.items():
        asked = label_table(too_easy(), LabelOptions.of(target="y", learner=name))
        assert [member.name for member in asked.model[-1].estimator_.members_] == members
        assert asked.settings["learner"] == name


def test_any_classifier_of_scikit_learn_can_learn():
    asked = label_table(table(), LabelOptions.of(target="y", learner=GaussianNB(), seed=3))
    X = asked.model[0].transform(table().frame.drop("y"))
    given = asked.labels.labeled
    own = GaussianNB().fit(X[given], asked.labels.codes[given])
    np.testing.assert_array_equal(asked.codes[~given], own.predict(X[~given]))
    assert asked.settings["learner_words"] == "GaussianNB"


class StandIn(ClassifierMixin, BaseEstimator):
    """Has the interface of TabPFN and TabICL: weights from a file, no decision values."""

    def __init__(self, model_path="", random_state=None):
        self.model_path, self.random_state = model_path, random_state

    def fit(self, X, y):
        self.within_ = GaussianNB().fit(X, y)
        self.classes_ = self.within_.classes_
        return self

    def predict_proba(self, X):
        return self.within_.predict_proba(X)

    def predict(self, X):
        return self.within_.predict(X)


def test_a_model_of_the_users_can_be_one_of_the_mixture():
    members = [*default_members(), ("foundation", StandIn("weights.ckpt"), 2.0)]
    asked = label_table(
        table(), LabelOptions.of(target="y", learner=MixedEnsembleClassifier(members), seed=3)
    )
    fitted = asked.model[-1].estimator_
    assert [member.name for member in fitted.members_] == [
        "linear",
        "trees",
        "boosting",
        "foundation",
    ]
    assert fitted.weights_[3] == pytest.approx(2 / 6)
    assert fitted.members_[3].estimator.model_path == "weights.ckpt"
    assert fitted.members_[3].estimator.random_state is not None
    with pytest.raises(ModelFileError, match="StandIn"):
        save_model(asked.model, "nowhere.chary")


def test_an_audit_is_learned_by_whoever_was_asked_for(tmp_path):
    whole = table()
    labels = target_labels(whole, "y")
    rows = draw(labels.labeled, 20, 0)
    with open(tmp_path / "audit.csv", "wb") as stream:
        write_audit(whole, "y", labels, rows, stream)
    sheet = pl.read_csv(tmp_path / "audit.csv", infer_schema=False)
    sheet.with_columns(pl.lit("no").alias("y")).write_csv(tmp_path / "audit.csv")
    asked = label_table(
        whole, LabelOptions.of(target="y", learner="linear", audit=tmp_path / "audit.csv")
    )
    assert [member.name for member in asked.model[-1].estimator_.members_] == ["linear"]


def test_what_cannot_be_done_is_refused_in_one_sentence():
    # The commonest class is the example of a value that may mean "no label".
    for y, commonest in (("aab", "a"), ("abb", "b")):
        full = Table(pl.DataFrame({"x": [1, 2, 3], "y": list(y)}), "t")
        with pytest.raises(TableError, match=f"Every row of column 'y' has .*='{commonest}'"):
            label_table(full, LabelOptions(target="y"))
    with pytest.raises(TableError, match=r"aim='rare' is not known; give accuracy or balanced\."):
        label_table(table(), LabelOptions(target="y", aim="rare"))
    for nobody in ("magic", GaussianNB, object()):
        with pytest.raises(
            TableError, match=r"There is no learner .*; pass learner='auto', one of 'mixed', .*, or"
        ):
            label_table(table(), LabelOptions.of(target="y", learner=nobody))


def test_labels_like_the_rest_are_learned_by_unlike_learners_and_nothing_is_accepted():
    steps = []
    fair = label_table(table(), LabelOptions.of(target="y", seed=3), progress=steps.append)
    assert steps[:2] == ["Preparing columns", "Comparing labelled and unlabelled rows"]
    assert fair.diagnosis.verdict == "representative"
    assert isinstance(fair.model[-1].estimator_, MixedEnsembleClassifier)
    assert fair.settings["rounds"] == 0
    assert set(fair.source) == {"given", "predicted"}


def test_of_a_large_table_a_part_takes_part_and_all_rows_are_labelled():
    prior = {"=yes": 0.3, "no": 0.7}
    told = label_table(
        table(n=400),
        LabelOptions.of(target="y", learner="linear", rounds=1, class_prior=prior),
        defaults=Defaults(fit_rows=50),
    )
    assert told.model[-1].history_[0]["n_pool"] == 50
    assert (told.codes == 0).sum() == 120  # the prior is met on all rows all the same
    assert 0 < (told.source == "learned").sum() <= 50


def test_a_parquet_label_has_the_type_of_its_target():
    source = table(dtype=pl.Int64)
    outcome = label_table(
        Table(source.frame, "t.parquet"), LabelOptions.of(target="y", learner="linear")
    )
    added = outcome.added_columns["chary_label"]
    assert added.dtype == pl.Int64
    given = outcome.labels.labeled
    assert added.filter(pl.Series(given)).equals(
        source.frame["y"].filter(pl.Series(given)), check_names=False
    )
    assert added.null_count() == 0


def test_a_class_prior_cannot_stand_beside_a_new_class_of_an_audit(tmp_path):
    source = table()
    labels = target_labels(source, "y")
    with (tmp_path / "a.csv").open("wb") as file:
        write_audit(source, "y", labels, draw(labels.labeled, 4, 0), file)
    frame = pl.read_csv(tmp_path / "a.csv", infer_schema=False)
    frame.with_columns(pl.Series("y", ["no", "maybe", "no", "no"])).write_csv(tmp_path / "a.csv")
    for prior in ({"=yes": 0.4, "no": 0.6}, {"=yes": 0.4, "no": 0.5, "maybe": 0.1}, [0.4, 0.6]):
        with pytest.raises(
            TableError,
            match=r"The audit found the class 'maybe', .* leave the parameter class_prior out",
        ):
            label_table(
                source, LabelOptions.of(target="y", audit=tmp_path / "a.csv", class_prior=prior)
            )


@pytest.mark.parametrize("new", ["maybe", "zzz"])
def test_a_class_that_only_the_audit_found_is_learned(tmp_path, new):
    source = table()
    labels = target_labels(source, "y")
    with (tmp_path / "a.csv").open("wb") as file:
        write_audit(source, "y", labels, draw(labels.labeled, 8, 0), file)
    frame = pl.read_csv(tmp_path / "a.csv", infer_schema=False)
    frame.with_columns(pl.Series("y", ["no", new, "=yes", "no"] * 2)).write_csv(tmp_path / "a.csv")
    found = label_table(source, LabelOptions.of(target="y", audit=tmp_path / "a.csv"))
    assert new in found.labels.classes
    assert found.audit.answers.new_classes == {new: 2}
    assert found.diagnosis.audited
    assert (found.diagnosis.n_labeled, found.diagnosis.n_unlabeled) == (40, 110)
    assert found.audit.population == 110


def test_a_large_pool_is_sampled_for_the_check(monkeypatch):
    seen, nothing = [], HeldOut(np.zeros(0), np.zeros(0, dtype=bool), np.zeros(0), np.zeros(0))
    monkeypatch.setattr(
        "chary.labelling.learn.hold_out",
        lambda model, X, labels, **rest: seen.append(labels) or nothing,
    )
    label_table(
        table(biased=True),
        LabelOptions.of(target="y", rounds=0, learner="network"),
        defaults=Defaults(network_held_out_rows=30),
    )
    assert (seen[0].labeled.sum(), (~seen[0].labeled).sum()) == (40, 30)


def test_an_audit_is_suggested_that_leaves_rows_to_label(result):
    assert result.audit_size == 30
    for n_unlabeled, size in ((31, 30), (5, 4), (3, 2), (2, 0), (1, 0)):
        few = replace(result.counts, labels=np.array([[100, 0], [0, 0], [0, n_unlabeled]]))
        assert replace(result, counts=few).audit_size == size


def test_labels_are_encoded_once_in_a_run(monkeypatch):
    """Text is sorted and looked up when the target is read; every later fit gets codes."""
    encoded = []
    whole = labels._encode_values
    monkeypatch.setattr(
        labels, "_encode_values", lambda y, unlabeled: encoded.append(len(y)) or whole(y, unlabeled)
    )
    label_table(table(biased=True), LabelOptions.of(target="y", rounds=1, learner="linear"))
    assert encoded == [150]


WORDS = {
    "wine": "a dry red with cherry oak and a long finish",
    "dogs": "the puppy wants toys walks and sleeps near me",
}


def reviews(n=160, seed=0):
    """Make reviews about wine or dogs: topics, words, and three numbers beside the table."""
    rng = np.random.default_rng(seed)
    about = rng.choice(list(WORDS), n)
    said = [" ".join(rng.choice(WORDS[of].split(), 6)) for of in about]
    numbers = rng.normal(size=(n, 3)) + 4 * (about == "wine")[:, None]
    return about, said, numbers


def test_free_text_is_learned_from(tmp_path):
    about, said, _ = reviews()
    frame = pl.DataFrame(
        {"review": said, "y": [of if i < 40 else None for i, of in enumerate(about)]}
    )
    outcome = label_table(Table(frame, "t.csv", ","), LabelOptions.of(target="y", learner="linear"))
    assert (outcome.labels.classes[outcome.codes] == about).mean() > 0.95
    save_model(outcome.model, tmp_path / "m.chary")
    new_about, new_said, _ = reviews(seed=1)
    added = predict_table(
        load_model(tmp_path / "m.chary"), Table(pl.DataFrame({"review": new_said}), "new.csv", ",")
    )
    assert (added["chary_label"].to_numpy() == new_about).mean() > 0.95
    forced = label_table(
        Table(frame, "t.csv", ","), LabelOptions.of(target="y", learner="linear", text=["review"])
    )
    assert (forced.codes == outcome.codes).all()


def lopsided(n=240):
    """A rare class, which a tenth of the rows has and four labels."""
    rng = np.random.default_rng(1)
    rare = np.arange(n) % 10 == 0
    x = rng.normal(size=n) + 1.5 * rare
    truth = np.where(rare, "rare", "common")
    y = [name if i < 41 else None for i, name in enumerate(truth)]
    return Table(pl.DataFrame({"x": x, "y": y}), "t.csv", ","), truth


def test_aimed_at_every_class_more_of_a_rare_one_is_found_and_new_rows_too(tmp_path):
    table, truth = lopsided()
    found = {}
    for aim in ("accuracy", "balanced"):
        result = label_table(table, LabelOptions.of(target="y", learner="linear", aim=aim))
        assert result.options.aim == aim
        labels = result.labels.classes[result.codes][41:]
        found[aim] = np.mean(labels[truth[41:] == "rare"] == "rare")
        save_model(result.model, tmp_path / aim)
        told = load_model(tmp_path / aim).predict(table.frame.drop("y")[41:])
        np.testing.assert_array_equal(told, result.model.predict(table.frame.drop("y")[41:]))
        assert result.held_out.balanced is not None
    assert found["balanced"] > found["accuracy"]


def test_an_aim_goes_with_a_class_prior_and_with_an_audit(tmp_path):
    table, truth = lopsided()
    prior = {"common": 0.9, "rare": 0.1}
    met, aimed = (
        label_table(
            table, LabelOptions.of(target="y", class_prior=prior, learner="linear", aim=aim)
        )
        for aim in ("accuracy", "balanced")
    )
    shares = [np.mean(result.labels.classes[result.codes] == "rare") for result in (met, aimed)]
    assert shares[0] == pytest.approx(0.1, abs=0.01)
    assert shares[1] > shares[0]  # every class counts by one over its share
    labels = target_labels(table, "y")
    rows = draw(labels.labeled, 30, 0)
    with open(tmp_path / "audit.csv", "wb") as stream:
        write_audit(table, "y", labels, rows, stream)
    sheet = pl.read_csv(tmp_path / "audit.csv", infer_schema=False)
    places = sheet["chary_row"].str.extract(r"row (\d+) of").cast(pl.Int64).to_numpy() - 1
    sheet = sheet.with_columns(y=pl.Series(truth[places]))
    sheet.write_csv(tmp_path / "audit.csv")
    audited = label_table(
        table,
        LabelOptions.of(target="y", audit=tmp_path / "audit.csv", aim="balanced", learner="linear"),
    )
    assert audited.model[-1].aim == "balanced"
    assert audited.model[-1].class_bias_.any()
    assert audited.audit.accuracy.n == 30


def test_rows_that_were_checked_teach_and_measure_nothing(tmp_path):
    data = table(biased=True)
    before = label_table(data, LabelOptions.of(target="y", learner="linear"))
    path = tmp_path / "t.check.csv"
    with path.open("wb") as file:
        write_rows_to_check(before, file, as_workbook=False)
    sheet = pl.read_csv(path, infer_schema=False)
    assert sheet["chary_row"].str.starts_with("check ").all()
    assert set(sheet["chary_guess"]) <= {"'=yes", "no"}
    sheet.with_columns(pl.Series("y", ["no"] * 5 + [None] * (sheet.height - 5))).write_csv(path)
    after = label_table(data, LabelOptions.of(target="y", learner="linear", checked=path))
    checked = before.next_rows[:5]
    assert after.labels.labeled[checked].all()
    assert set(after.labels.classes[after.codes[checked]]) == {"no"}
    assert set(after.source[checked]) == {"given"}
    assert after.audit is None
    assert "5 labels of rows that were checked one by one are among those given." in after.notes
    with pytest.raises(TableError, match="chosen for doubt, not drawn at random"):
        label_table(data, LabelOptions.of(target="y", rounds=0, audit=path))


def test_durations_are_features_and_classes_like_any_other():
    cells = table().frame
    hours = pl.duration(hours=pl.col("x").cast(pl.Float64) * 60)
    classes = pl.Series(
        "y", [None if y is None else timedelta(hours=1 + (y == "no")) for y in cells["y"]]
    )
    frame = cells.with_columns(hours.alias("lasted"), classes).drop("x")
    result = label_table(
        Table(frame, "t.parquet"),
        LabelOptions.of(target="y", missing=["-9"], explain=True, learner="linear"),
    )
    assert set(result.added_columns["chary_label"].to_list()) == {"1h", "2h"}
    assert result.added_columns["chary_why"].str.contains("lasted = -?[0-9]").any()
    sheet = io.BytesIO()
    write_audit(result.table, "y", result.labels, draw(result.labels.labeled, 5, 0), sheet)
    assert b"lasted" in sheet.getvalue()


# ---------------------------------------------------------------- larger than memory

MEMORY = 8 << 30


def biased_rows(n=400, n_labeled=60, seed=0):
    rng = np.random.default_rng(seed)
    x, z, colour = rng.normal(size=n), rng.normal(size=n), rng.choice(["red", "blue"], n)
    truth = np.where(x + (colour == "red") + 0.3 * rng.normal(size=n) > 0.9, "yes", "no")
    y = np.full(n, None, dtype=object)
    given = rng.choice(np.argsort(-np.abs(z))[: 2 * n_labeled], n_labeled, replace=False)
    y[given] = truth[given]
    columns = {"id": np.arange(n), "x": x.round(4), "z": z.round(4), "colour": colour}
    return pl.DataFrame({**columns, "y": pl.Series(y.tolist(), dtype=pl.String)}), truth


@pytest.fixture(name="path")
def path_of_table(tmp_path):
    path = tmp_path / "t.csv"
    biased_rows()[0].write_csv(path)
    return path


def in_parts(path, memory=MEMORY, sample=10_000, progress=lambda step: None, **asked):
    file, options = io.BytesIO(), LabelOptions.of(target="y", memory=memory, **asked)
    defaults = replace(DEFAULTS, sample_rows=sample)
    result = label_table(
        open_source(path), options, file=file, progress=progress, defaults=defaults
    )
    return result, file.getvalue()


def at_once(path, **asked):
    file = io.BytesIO()
    return label_table(
        read_table(path), LabelOptions.of(target="y", **asked), file=file
    ), file.getvalue()


def sheet(path, tmp_path, truth, k=40):
    """An audit of rows drawn from the table, filled in."""
    read, audit = read_table(path), tmp_path / "t.audit.csv"
    labels = target_labels(read, "y")
    rows = draw(labels.labeled, k, 1)
    with audit.open("wb") as file:
        write_audit(read, "y", labels, rows, file)
    filled = pl.read_csv(audit, infer_schema=False).with_columns(pl.Series("y", truth[rows]))
    filled.write_csv(audit)
    return audit, rows


SHARES = {"yes": 0.3, "no": 0.7}


@pytest.mark.parametrize(
    "asked",
    [
        {"class_prior": "labeled", "probabilities": True},
        {"learner": "network", "rounds": 1, "class_prior": SHARES},
        {"aim": "balanced", "class_prior": SHARES, "learner": "linear"},
        {"explain": True, "learner": "linear"},
    ],
    ids=str,
)
def test_where_all_rows_are_in_the_sample_the_file_is_the_same_to_the_byte(path, asked):
    expected, written = at_once(path, **asked)
    found, in_the_end = in_parts(path, **asked)
    assert in_the_end == written
    one, other = summarize(expected), summarize(found)
    for name in ("rows", "sources", "labels", "classes", "held_out", "rows_to_label"):
        assert one[name] == other[name], name
    assert one["second_look"] == other["second_look"]
    assert other["sample"] == 340
    assert one["sample"] is None


def test_with_an_audit_too(path, tmp_path):
    audit, _ = sheet(path, tmp_path, biased_rows()[1])
    asked = {"audit": audit, "error": 0.2, "class_prior": SHARES, "learner": "linear"}
    expected, written = at_once(path, **asked)
    found, in_the_end = in_parts(path, **asked)
    assert in_the_end == written
    one, other = summarize(expected), summarize(found)
    assert one["audit"] == other["audit"]
    assert expected.at_error(None).accept is None
    assert (expected.at_error(0.2).accept == expected.accept).all()
    assert expected.at_error(0.9).accept.sum() >= expected.accept.sum()
    assert one["accept"] == other["accept"]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_files_of_any_kind_come_back_as_they_were(tmp_path, kind):
    frame, path = biased_rows()[0], tmp_path / f"t.{kind}"
    write = {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[
        kind
    ]
    write(path)
    _, written = in_parts(path, sample=100, learner="linear", probabilities=True)
    again = tmp_path / f"u.{kind}"
    again.write_bytes(written)
    found = read_table(path).frame.columns
    out = pl.read_csv(again, infer_schema=False) if kind == "csv" else None
    out = (
        pl.read_ndjson(again)
        if kind == "jsonl"
        else pl.read_parquet(again)
        if kind == "parquet"
        else out
    )
    added = ["chary_label", "chary_confidence", "chary_source", "chary_p_no", "chary_p_yes"]
    assert out.columns == [*found, *added]
    sums = out["chary_p_no"].cast(pl.Float64) + out["chary_p_yes"].cast(pl.Float64)
    assert (sums - 1).abs().max() < 2e-4
    given = out["chary_source"] == "given"
    assert (out.filter(given)["chary_label"] == out.filter(given)["y"]).all()
    assert given.sum() == 60


def test_shares_are_met_on_the_sample_and_counts_are_of_all_rows(path, tmp_path):
    found, written = in_parts(path, sample=150, class_prior=SHARES, learner="linear")
    out = pl.read_csv(written)
    n_yes = int((out["chary_label"] == "yes").sum())
    assert abs(n_yes - 120) < 30
    summary = summarize(found)
    assert summary["labels"] == {"no": 400 - n_yes, "yes": n_yes}
    assert summary["sample"] == 150
    assert any("are met on the sample" in note for note in summary["notes"])
    rest = found.labels.labeled.sum() + np.arange(150)  # rows without a label, in the sample
    of_all = 120 - (found.labels.codes == 1).sum()  # yes among the 340 others
    assert ((found.codes == 1) & ~found.labels.labeled).sum() == pytest.approx(
        len(rest) * of_all / 340, abs=1
    )
    assert found.model[-1].class_prior == SHARES
    assert found.model.drift_reference_.n_rows == 400
    save_model(found.model, tmp_path / "m.chary")


def test_the_result_does_not_depend_on_the_layout_or_the_threads(path, tmp_path, monkeypatch):
    frame = biased_rows()[0]
    _, expected = in_parts(path, sample=80, class_prior=SHARES, learner="linear")
    monkeypatch.setattr(label, "cpu_count", lambda: 1)
    several = tmp_path / "several"
    several.mkdir()
    for number, rows in enumerate((slice(0, 33), slice(33, 300), slice(300, 400))):
        frame[rows].write_csv(several / f"{number}.csv")
    _, found = in_parts(several, sample=80, class_prior=SHARES, learner="linear")
    assert found == expected


def test_an_audit_and_the_rows_to_check_are_of_the_whole_table(path, tmp_path):
    audit, rows = sheet(path, tmp_path, biased_rows()[1])
    found, written = in_parts(
        path, sample=50, audit=audit, error=0.3, check_sheet=True, learner="linear"
    )
    out = pl.read_csv(written)
    assert out["chary_source"].gather(rows.tolist()).unique().to_list() == ["given"]
    summary = summarize(found)
    assert summary["audit"]["before"]["n"] == 40
    accepted = out.filter((pl.col("chary_source") != "given") & pl.col("chary_accept"))
    n_answered = found.audit.acceptor.answered.n_from(summary["accept"]["threshold"])
    assert summary["accept"]["n_accepted"] == accepted.height + n_answered
    assert found.audit.acceptor.n_rows == found.audit.population
    assert (
        accepted.height == 0 or accepted["chary_confidence"].min() >= summary["accept"]["threshold"]
    )
    shown = summary["rows_to_label"]
    numbers = [row["row"] - 1 for row in shown]
    assert out["chary_label"].gather(numbers).to_list() == [row["label"] for row in shown]
    assert out["chary_confidence"].gather(numbers).to_list() == [row["confidence"] for row in shown]
    assert [str(v) for v in out["id"].gather(numbers)] == [row["cells"]["id"] for row in shown]
    assert len(set(numbers) - set(found.table.taken.numbers.tolist())) == 0
    # The sheet of rows to check is one of the whole table.
    check = tmp_path / "t.check.csv"
    with check.open("wb") as file:
        write_rows_to_check(found, file, as_workbook=False)
    truth = biased_rows()[1]
    filled = pl.read_csv(check, infer_schema=False).with_columns(pl.Series("y", truth[numbers]))
    filled.write_csv(check)
    again, _ = in_parts(path, sample=50, checked=check, learner="linear")
    known = label_table(
        read_table(path), LabelOptions.of(target="y", checked=check, learner="linear")
    )
    assert again.labels.labeled.sum() == known.labels.labeled.sum() == 60 + len(numbers)


def test_what_cannot_be_done_in_parts_is_refused(path, tmp_path):
    with pytest.raises(TableError, match="needs 600 MiB at least, and 100 MiB are allowed"):
        in_parts(path, memory=100 << 20)
    whole = tmp_path / "whole.csv"
    biased_rows()[0].with_columns(y=pl.col("y").fill_null("no")).write_csv(whole)
    with pytest.raises(TableError, match="Every row of column 'y' has a label"):
        in_parts(whole)


def test_more_memory_than_allowed_is_refused(path, monkeypatch):
    monkeypatch.setattr("chary.labelling.score.resident_bytes", lambda: MEMORY + 1)
    with pytest.raises(TableError, match=r"t\.csv takes more than the 8,192 MiB allowed"):
        in_parts(path, learner="linear")


@pytest.mark.parametrize("when", ["Training", "Labelling"])
def test_a_file_that_changes_on_the_way_is_refused(path, tmp_path, when):
    def progress(step):
        if step.startswith(when):
            path.write_bytes(path.read_bytes() + b"1,1,1,red,\n")

    with pytest.raises(TableError, match=r"t\.csv was changed while it was read"):
        in_parts(path, learner="linear", progress=progress)
    assert {one.name for one in tmp_path.iterdir()} == {"t.csv"}


def test_a_column_that_is_written_otherwise_further_down_is_refused(path):
    """The sample depends on seed and place alone; cells outside it can be changed."""
    frame = biased_rows()[0].with_columns(pl.col("x").cast(pl.String))
    learned = sample_rows(open_source(path), "y", 40, seed=0).taken.numbers
    others = pl.Series(~np.isin(np.arange(400), learned))
    frame.with_columns(x=pl.when(others).then(pl.lit("none of it")).otherwise("x")).write_csv(path)
    with pytest.raises(TableError, match=r"t\.csv: .*'x'"):
        in_parts(path, sample=40, learner="linear")


def test_what_a_sample_is_of_is_said_only_where_there_is_one(path):
    notes = in_parts(path, sample=150, learner="linear")[0].notes
    assert (
        "The table was read in parts, so the model learned from its 60 labelled rows and a random "
        "sample of 150 of the 340 others." in notes
    )
    assert not any("are met on the sample" in note for note in notes)
    assert not any("read in parts" in note for note in at_once(path, learner="linear")[0].notes)


def test_no_seed_is_the_seed_0_and_all_new_rows_measure_the_importance(monkeypatch, quick_learners):
    checked = []

    def choose(X, labeled, confidence, defaults, seed):
        checked.append(seed)
        np.testing.assert_array_equal(confidence, np.round(confidence, 4))
        return np.flatnonzero(~labeled)[:5]

    monkeypatch.setattr(label, "rows_to_check", choose)
    whole = table(biased=True)
    none, zero, three = (
        label_table(whole, LabelOptions.of(target="y", learner="network", rounds=0, seed=seed))
        for seed in (None, 0, 3)
    )
    assert checked == [0, 0, 3]
    assert three.settings["seed"] == 3
    assert (three.confidence != zero.confidence).any()
    np.testing.assert_array_equal(none.confidence, zero.confidence)
    np.testing.assert_array_equal(none.held_out.confidence, zero.held_out.confidence)
    assert none.settings["seed"] == 0
    assert none.diagnosis.separation == zero.diagnosis.separation
    assert none.explainer.n_rows == 110
    assert (
        (none.explainer.background[:, None] == none.features(slice(40, None))).all(-1).any(1).all()
    )


@pytest.mark.parametrize("n_unused", [1, 10, 12])
def test_classes_with_labels_that_no_other_row_receives_are_named(n_unused):
    rng = np.random.default_rng(0)
    # The unused classes are far from all rows without a label.
    x = np.concatenate([rng.normal(size=120), np.arange(n_unused) * 50.0 + 100])
    names = ["low" if value < 0 else "high" for value in x[:120]]
    far = [f"far {k:02}" for k in range(n_unused)]
    y = [*names[:40], *[None] * 80, *far]
    frame = pl.DataFrame({"x": x, "y": y})
    result = label_table(
        Table(frame, "t"), LabelOptions.of(target="y", learner=DecisionTreeClassifier())
    )
    (note,) = [note for note in result.notes if note.startswith("No row was predicted")]
    assert "'far 00' (1)" in note
    assert ("and 2 more." in note) == (n_unused == 12)
    assert (" more." in note) == (n_unused == 12)
    assert "high" not in note
