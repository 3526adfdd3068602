"""A column that already guesses the label: found, compared, and kept unless the model gains."""

import numpy as np
import polars as pl
import pytest

import chary
from chary.labelling.diagnose import prepare
from chary.labelling.guesses import GuessColumn, compare_guesses, find_guess_column
from chary.method import confidence_auroc
from chary.method.held_out import HeldOut
from chary.method.kept_guesses import KeptGuessesClassifier
from chary.method.labels import Labels, encode
from chary.model_file import ModelFileError, model_bytes, save_model
from chary.tables import Table
from chary.tables.target import target_labels
from tests.fixtures.sheets import write_audit

pytestmark = pytest.mark.usefixtures("quick_learners")
N = 400


def guessed_table(n_labeled, *, right=0.78, classes=("no", "yes"), seed=0, signal=0.5):
    """Make a table with labels in its first rows and a column of guesses, some wrong or missing."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, 3))
    codes = (signal * x[:, 0] + rng.normal(size=N) > 0).astype(int)
    is_right = rng.random(N) < right
    truth = np.array(classes)[codes]
    guess = np.array(classes)[np.where(is_right, codes, 1 - codes)].astype(object)
    guess[::40] = None
    given = [label if row < n_labeled else None for row, label in enumerate(truth.tolist())]
    frame = pl.DataFrame(
        {"a": x[:, 0], "b": x[:, 1], "llm": guess.tolist(), "y": given}, strict=False
    )
    return frame, truth, guess


def test_labels_of_the_column_are_kept_in_the_table_and_by_the_saved_model(tmp_path):
    frame, truth, guess = guessed_table(30)
    result = chary.label(frame, target="y")
    has_guess = np.array([value is not None for value in guess])
    new = np.arange(N) >= 30
    labels = result.frame["chary_label"].to_numpy()
    assert (labels == guess)[new & has_guess].all()
    assert result.frame["chary_label"].null_count() == 0

    # The confidence tells right guesses from wrong ones.
    confidence = result.frame["chary_confidence"].to_numpy()
    rows = np.flatnonzero(new & has_guess)
    assert confidence_auroc(confidence[rows], labels[rows] == truth[rows]) > 0.6

    # What was done is said, and new rows get the labels of the column, too.
    assert result.details.guesses.kept is True
    (note,) = [note for note in result.summary["notes"] if "'llm'" in note]
    assert "so the column's labels are kept" in note
    assert note.split()[:4] == str(result).split("\n\n")[2].split()[:4]
    assert "column 'llm'" in result.summary["settings"]["learner_words"]
    result.save(tmp_path / "m.chary")
    model = chary.load(tmp_path / "m.chary")
    new_rows = frame.drop("y").with_columns(llm=pl.lit("YES "))
    assert set(model.predict(new_rows)) == {"yes"}
    again = model.predict_frame(frame.drop("y"))
    assert again["chary_label"].to_list()[30:] == labels.tolist()[30:]
    assert again["chary_confidence"].to_list()[30:] == confidence.tolist()[30:]
    probs = model.predict_proba(frame.drop("y"))
    assert np.allclose(probs.sum(axis=1), 1)


def test_the_model_takes_over_if_held_out_labels_show_a_gain():
    frame, truth, guess = guessed_table(120, signal=5)
    result = chary.label(frame, target="y")
    rest = np.arange(120, N)
    assert not isinstance(result.details.model[-1], KeptGuessesClassifier)
    assert result.details.guesses.kept is False
    assert any(note.endswith("the model is used.") for note in result.summary["notes"])
    right = np.mean(result.frame["chary_label"].to_numpy()[rest] == truth[rest])
    assert right > np.mean(guess[rest] == truth[rest]) + 0.05


def test_the_column_and_the_model_are_compared_on_the_audit_if_there_is_one(tmp_path):
    frame, truth, guess = guessed_table(20)
    table = Table(frame, "t")
    audited = np.arange(60, 90)
    path = tmp_path / "audit.csv"
    with path.open("wb") as stream:
        write_audit(table, "y", target_labels(table, "y"), audited, stream)
    sheet = pl.read_csv(path, infer_schema=False)
    sheet.with_columns(y=pl.Series(truth[audited].tolist())).write_csv(path)
    result = chary.label(table, target="y", audit=path)
    guesses = result.details.guesses
    assert (guesses.kept, guesses.audited, guesses.n) == (True, True, 30)
    assert "Of 30 audited rows, the column has" in result.summary["notes"][0]
    assert guesses.column_right == result.summary["audit"]["after"]["correct"]
    has_guess = np.array([value is not None for value in guess])
    new = np.setdiff1d(np.flatnonzero(has_guess), [*range(20), *audited])
    assert (result.frame["chary_label"].to_numpy() == guess)[new].all()


def test_who_asks_for_a_learner_class_shares_or_balance_gets_the_model():
    frame, _, _ = guessed_table(30)
    for asked in (
        {"learner": "linear"},
        {"class_prior": {"yes": 0.5, "no": 0.5}},
        {"aim": "balanced"},
    ):
        assert chary.label(frame, target="y", **asked).details.guesses is None


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (lambda truth, guess: guess, True),
        (
            lambda truth, guess: [
                None if value is None else f" {value.upper()}" for value in guess
            ],
            True,
        ),
        (
            lambda truth, guess: [
                None if value is None else {"no": "other"}.get(value, value) for value in guess
            ],
            False,
        ),
        (lambda truth, guess: np.roll(guess, 1), False),
        (lambda truth, guess: ["no"] * N, False),
        (
            lambda truth, guess: [
                value if row % 5 == 4 else None for row, value in enumerate(guess)
            ],
            False,
        ),
        (lambda truth, guess: np.where(truth == "yes", "no", "yes"), False),
    ],
)
def test_a_column_of_the_same_classes_that_agrees_far_above_chance_is_found(column, found):
    frame, truth, guess = guessed_table(100)
    frame = frame.with_columns(llm=pl.Series(list(column(truth, guess)), dtype=pl.String))
    table = Table(frame, "t")
    guess_column = find_guess_column(prepare(table, "y"), table, target_labels(table, "y"))
    assert (guess_column is not None) == found


def test_guesses_that_are_numbers_are_found_and_missing_ones_are_none():
    frame, _, guess = guessed_table(100, classes=(3, 4))
    assert frame["llm"].dtype.is_integer()
    table = Table(frame, "t")
    prepared = prepare(table, "y")
    guess_column = find_guess_column(prepared, table, target_labels(table, "y"))
    classifier = chary.SelfTrainingClassifier(
        chary.MixedEnsembleClassifier(), unlabeled=None, max_rounds=0
    )
    kept = guess_column.keep(classifier.fit(prepared.X, target_labels(table, "y")))
    expected = [-1 if value is None else value - 3 for value in guess.tolist()]
    assert kept.guesses(prepared.X).tolist() == expected


def test_rows_with_a_guess_that_no_label_has_get_the_models_label():
    frame, _, _ = guessed_table(30)
    maybe = frame["llm"].to_list()[:-20] + ["maybe"] * 20
    result = chary.label(frame.with_columns(llm=pl.Series(maybe)), target="y")
    assert result.details.guesses.kept is True
    assert set(result.frame["chary_label"]) == {"no", "yes"}
    assert "such as 'maybe', get the model's label." in result.summary["notes"][0]
    many = result.details.guesses._replace(unknown=("a", "b", "c", "d"))
    assert "such as 'a', 'b' and 'c', get the model's label." in many.sentence


def found_column(labels, **columns):
    """Find the column that guesses, beside a number; None: no column does."""
    frame = pl.DataFrame({"x": np.arange(len(labels)) % 7, **columns, "y": labels})
    table = Table(frame, "t")
    found = find_guess_column(prepare(table, "y"), table, target_labels(table, "y"))
    return None if found is None else found.name


def test_a_column_must_have_more_right_than_the_commonest_label_alone():
    labels = ["no"] * 90 + ["yes"] * 10 + [None] * 20
    for n_no_right, found in ((82, False), (83, True)):
        no = ["no"] * n_no_right + ["yes"] * (90 - n_no_right)
        guess = [*no, *["yes"] * 8, "no", "no", *["no"] * 20]
        assert (found_column(labels, llm=guess) == "llm") is found


def test_a_column_may_have_as_many_values_as_classes_and_two_more_besides_them():
    labels = ["no", "yes"] * 50 + [None] * 20
    for n_others, found in ((4, True), (5, False)):
        guess = [*labels[:100], *["no"] * 20]
        guess[:20] = [f"so {k % n_others}" for k in range(20)]
        assert (found_column(labels, llm=guess) == "llm") is found


def right_in(n_right, labels):
    """Guess all but the first rows wrongly."""
    wrong = {"no": "yes", "yes": "no", None: "no"}
    return [label if row < n_right else wrong[label] for row, label in enumerate(labels)]


def test_the_column_that_agrees_best_is_taken_of_equal_ones_the_first_by_name():
    labels = ["no", "yes"] * 50 + [None] * 20
    good = right_in(90, labels)
    assert found_column(labels, a=right_in(80, labels), b=good, c=right_in(85, labels)) == "b"
    assert found_column(labels, d=good, c=good) == "c"


def test_the_more_columns_are_compared_the_less_may_be_due_to_chance():
    labels = ["no", "yes"] * 6 + [None] * 100
    guess = right_in(10, labels)
    others = {f"q{k}": ["no", "no", "yes", "yes"] * 28 for k in range(2)}
    assert found_column(labels, llm=guess) == "llm"  # p = 0.02
    assert found_column(labels, llm=guess, **others) is None


def test_classes_that_differ_in_case_alone_have_no_guesses():
    guess = ["No", "no"] * 60
    table = Table(pl.DataFrame({"x": np.arange(120) % 7, "llm": guess, "y": guess}), "t")
    codes = np.where(np.arange(120) < 100, np.arange(120) % 2, -1)
    labels = Labels(np.array(["No", "no"]), codes, codes >= 0)
    assert find_guess_column(prepare(table, "y"), table, labels) is None


def test_of_many_columns_by_chance_alike_none_is_taken_for_one_that_guesses():
    rng = np.random.default_rng(0)
    frame, _, _ = guessed_table(30)
    others = {f"q{k}": rng.choice(["no", "yes"], N).tolist() for k in range(40)}
    table = Table(
        frame.drop("llm").with_columns(
            **{name: pl.Series(cells) for name, cells in others.items()}
        ),
        "t",
    )
    assert find_guess_column(prepare(table, "y"), table, target_labels(table, "y")) is None


@pytest.mark.parametrize(
    ("only_model", "only_column", "kept"),
    [(0, 0, True), (4, 0, True), (5, 0, False), (12, 8, True), (12, 7, False)],
)
def test_the_model_must_have_five_more_rows_right_than_the_column(only_model, only_column, kept):
    model = np.array([True] * only_model + [False] * only_column + [True] * 10)
    column = np.array([False] * only_model + [True] * only_column + [True] * 10)
    held = [
        HeldOut(np.zeros(len(right)), right, np.zeros(len(right)), np.zeros(len(right)))
        for right in (model, column)
    ]
    guess_column = GuessColumn(
        "llm", np.zeros(1, np.intp), np.zeros((1, 1), np.float32), np.array(["a"])
    )
    figures = compare_guesses(guess_column, *held, True)
    assert figures.kept == kept
    assert (figures.n, figures.model_right, figures.column_right) == (
        len(model),
        model.sum(),
        column.sum(),
    )


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("guess_features_", np.array([99])),
        ("guess_features_", np.array([-1, 0])),
        ("guess_codes_", np.array([0, 2])),
        ("guess_patterns_", np.zeros((2, 1), np.float64)),
        ("guess_column_", 3),
    ],
)
def test_a_model_that_keeps_guesses_of_nothing_is_not_saved(tmp_path, attribute, value):
    X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    y = encode(
        [["no", "yes"][int(row[0] > 0)] if i < 30 else None for i, row in enumerate(X)],
        unlabeled=None,
    )
    classifier = chary.SelfTrainingClassifier(
        chary.MixedEnsembleClassifier(), unlabeled=None, max_rounds=0
    ).fit(X, y)
    patterns = np.array([[0.0], [1.0]], np.float32)
    kept = GuessColumn("llm", np.array([1]), patterns, np.array(["no", "yes"])).keep(classifier)
    assert model_bytes(kept)
    setattr(kept, attribute, value)
    with pytest.raises(ModelFileError, match="contradicts itself"):
        save_model(kept, tmp_path / "forged")
