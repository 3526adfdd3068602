"""Labels that anybody made: what an audit says of them is what is true of them."""

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

import chary
from chary.audit import accept_threshold, difference, draw, interval, sequence
from chary.audit.acceptance import LEVEL
from chary.audit.figures import kappa
from chary.audit.filling import Filling
from chary.audit.judge import EMPTY, draw_to_judge, judge_table
from chary.audit.judged_answers import cells_by_row
from chary.audit.labels_under_test import read_labels_under_test
from chary.audit.origin import read_origin
from chary.audit.sheet import read_sheet
from chary.options import JudgeOptions
from chary.report import summarize_judged
from chary.tables import Table, TableError, open_source
from chary.tables.target import target_labels
from tests.fixtures.sheets import write_audit

N = 600


@pytest.fixture(name="table", scope="module")
def labelled_table():
    """Make two rules that are mostly right, one with a useful confidence, and the truth."""
    rng = np.random.default_rng(0)
    truth = rng.choice(["ham", "spam"], N, p=[0.7, 0.3])
    sure = rng.random(N)
    flip = {"ham": "spam", "spam": "ham"}
    rule = [
        flip[t] if u < 0.3 * (1 - s) else t
        for t, s, u in zip(truth, sure, rng.random(N), strict=True)
    ]
    other = [flip[t] if u < 0.4 else t for t, u in zip(truth, rng.random(N), strict=True)]
    place = rng.choice(["north", "south"], N).tolist()
    place[0], rule[5] = "islet", ""
    frame = pl.DataFrame(
        {
            "text": [f"t{i}" for i in range(N)],
            "place": place,
            "rule": rule,
            "other": other,
            "sure": sure,
        }
    )
    return frame, truth


@pytest.mark.parametrize(
    "column", [["a", None, "b"] * 20, [1, 0, None] * 20, [True, False, None] * 20]
)
def test_the_digest_of_labels_changes_with_each_label_and_not_with_the_format(tmp_path, column):
    def digest(data):
        source = open_source(data, reserved=())
        return read_labels_under_test(source, JudgeOptions.of(labels="y")).digest("y")

    frame = pl.DataFrame({"x": range(60), "y": column})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    assert digest(frame) == digest(tmp_path / "t.csv") == digest(tmp_path / "t.parquet")
    others = [
        [*column[:i], other, *column[i + 1 :]] for i, other in ((0, column[1]), (1, column[0]))
    ]
    others += [[column[1], column[0], *column[2:]], [*column[:-2], None, None]]
    digests = {digest(frame.with_columns(y=pl.Series(other))) for other in others}
    assert len({digest(frame), *digests}) == 1 + len({*map(tuple, others)})


def test_a_sheet_without_its_column_of_classes_is_refused_and_says_what_is_missing(table, tmp_path):
    frame, truth = table
    path = tmp_path / "s.judge.csv"
    drawn(frame, "rule", path, 40)
    filled(path, truth, lambda sheet: sheet.drop("chary_classes"))
    with pytest.raises(
        TableError, match=r"no usable column 'chary_classes'.* draw the same rows again elsewhere"
    ):
        judge(frame, "rule", path)


def judge(frame, labels, truth, **told):
    return judge_table(
        open_source(frame, reserved=()), truth, JudgeOptions.of(labels=labels, **told)
    )


def drawn(frame, labels, path, k, **told):
    return draw_to_judge(
        open_source(frame, reserved=()), path, JudgeOptions.of(labels=labels, **told), k
    )


def filled(path, truth, change=lambda frame: frame):
    frame = pl.read_csv(path, infer_schema=False)
    rows = (frame["chary_row"].str.extract(r"row (\d+) of").cast(int) - 1).to_list()
    change(frame.with_columns(chary_truth=pl.Series([truth[row] for row in rows]))).write_csv(path)
    return rows


@pytest.fixture(name="judged")
def answered_sheet(table, tmp_path):
    frame, truth = table
    path = tmp_path / "t.judge.csv"
    drawn(frame, ["rule", "other"], path, 150, confidence="sure", hide=["place"])
    return path, filled(path, truth)


def test_the_sheet_hides_what_is_judged(table, judged):
    frame = pl.read_csv(judged[0])
    assert frame.columns == ["chary_row", "chary_truth", "text", "chary_classes"]
    assert judged[1] == draw(np.zeros(N, dtype=bool), 150, 0).tolist()


def test_a_confidence_may_be_written_as_people_write_numbers(table, judged):
    frame, _ = table
    written = pl.col("sure").cast(pl.String).str.replace(".", ",", literal=True) + " %"
    tables = frame, frame.with_columns(written)
    plain, typed = (
        judge(one, ["rule"], judged[0], confidence="sure", error=0.2).asked for one in tables
    )
    assert plain == typed
    assert plain.n_accepted


def test_figures_are_those_of_the_audited_rows(table, judged):
    frame, truth = table
    path, rows = judged
    found = judge(frame, ["rule", "other"], path, by=["place"], confidence="sure", error=0.2)
    right = np.array([frame["rule"][row] == truth[row] for row in rows])
    accuracy = found.columns[0].judgement.accuracy
    assert (accuracy.correct, accuracy.n) == (right.sum(), 150)
    assert (accuracy.low, accuracy.high) == interval(int(right.sum()), 150, N)
    assert found.columns[0].always.low <= accuracy.low <= found.accuracy.low
    assert found.columns[0].n_missing == 1
    assert any("Column 'rule' has no label in 1 of 600 rows" in note for note in found.notes)
    labelled = [row for row in rows if frame["rule"][row] is not None]
    counted = found.columns[0].labelled
    assert (counted.n, counted.low, counted.high) == (
        len(labelled),
        *interval(int(right.sum()), len(labelled), N - 1),
    )
    north = found.slices["place"]["north"]
    assert north.n == sum(frame["place"][row] == "north" for row in rows)
    assert found.slices["place"]["islet"].score is None
    assert found.pairs[0].difference.comparison.only_first == sum(
        frame["rule"][row] == truth[row] != frame["other"][row] for row in rows
    )
    counted = np.array([frame["rule"][row] != "" for row in rows])
    pool = frame.filter(pl.col("rule") != "")["sure"].to_numpy()
    own = frame["sure"].to_numpy()[rows]
    assert found.asked == accept_threshold(own[counted], right[counted], pool, 0.2, LEVEL)
    accepted = found.accepted
    assert accepted[rows].tolist() == right.tolist()  # where the truth is known, it decides
    others = np.setdiff1d(np.arange(N), rows)
    expected = (frame["sure"].to_numpy() >= found.asked.threshold) & (
        frame["rule"] != ""
    ).to_numpy()
    assert np.array_equal(accepted[others], expected[others])


def test_an_array_of_truth_says_the_same_and_warns(table, judged):
    frame, truth = table
    path, rows = judged
    known = [str(truth[i]).upper() if i in set(rows) else None for i in range(N)]
    by_sheet = judge(frame, ["rule"], path)
    for given in (known, np.array(known, dtype=object), pl.Series(known)):
        found = judge(frame, ["rule"], given)
        assert found.columns[0].judgement.accuracy == by_sheet.columns[0].judgement.accuracy
        assert any("hold only if the" in note for note in found.notes)


def test_skipped_rows_are_wrong_rows_not_reached_are_none_and_rows_removed_are_missed(
    table, tmp_path
):
    frame, truth = table
    path = tmp_path / "s.csv"
    drawn(frame, ["rule"], path, 40)

    def change(sheet):
        answers = [*sheet["chary_truth"][:30], *[None] * 10]
        answers[3], answers[7] = "?", None
        return sheet.with_columns(chary_truth=pl.Series(answers))

    rows = filled(path, truth, change)
    found = judge(frame, ["rule"], path)
    assert found.answers.drawn.tolist() == rows[:30]
    assert np.flatnonzero(found.answers.skipped).tolist() == [3, 7]
    accuracy = found.columns[0].judgement.accuracy
    right = [frame["rule"][row] == truth[row] for row in rows[:30]]
    right[3] = right[7] = False
    assert (accuracy.correct, accuracy.n) == (sum(right), 30)
    assert found.answers.n_left == 10
    whole = pl.read_csv(path, infer_schema=False)
    whole[:-5].write_csv(path)  # not reached
    assert judge(frame, ["rule"], path).accuracy == found.accuracy
    whole[2:].write_csv(path)
    with pytest.raises(
        TableError, match=r"s.csv lacks 2 rows of the draw; put what was removed back"
    ):
        judge(frame, ["rule"], path)


def test_labels_shown_on_the_sheet_sway_and_that_is_said(table, tmp_path):
    frame, truth = table
    drawn(frame, ["rule"], tmp_path / "s.csv", 20)
    filled(tmp_path / "s.csv", truth)
    assert judge(frame, ["rule"], tmp_path / "s.csv").answers.warnings == []
    found = judge(frame, ["other"], tmp_path / "s.csv")
    assert "Column 'other' was shown on the sheet" in found.answers.warnings[0]


def test_labels_may_change_and_columns_be_added_the_rows_may_not(table, judged):
    frame, truth = table
    path, _ = judged
    better = frame.with_columns(rule=pl.Series(truth.tolist()), new=pl.lit(1))
    assert judge(better, ["rule"], path).columns[0].correct.all()
    for other in (frame.reverse(), frame[:-1], frame.with_columns(text=pl.col("text") + "!")):
        with pytest.raises(TableError, match="does not match"):
            judge(other, ["rule"], path)


def test_numbers_and_truth_values_can_be_judged(tmp_path):
    frame = pl.DataFrame(
        {
            "x": range(60),
            "flag": [i % 2 == 0 for i in range(60)],
            "code": [float(i % 3) for i in range(60)],
        }
    )
    told = [str(i % 2 == 0).upper() if i < 30 else None for i in range(60)]
    assert judge(frame, ["flag"], told).columns[0].correct.all()
    assert judge(frame, ["code"], [i % 3 for i in range(60)]).columns[0].correct.all()
    empty = frame.with_columns(place=pl.Series(["a", " ", None] * 20))
    assert set(judge(empty, ["flag"], told, by=["place"]).slices["place"]) == {"a", EMPTY}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"labels": ["rul"]}, "did you mean 'rule'"),
        ({"labels": []}, "Give one column of labels, or two different ones"),
        ({"labels": ["rule", "rule"]}, "two different ones to compare"),
        ({"labels": ["rule", "other", "place"]}, "Give one column of labels"),
        ({"by": ["nowhere"]}, "no column 'nowhere'"),
        ({"by": ["text"]}, "600 different values, more than 200"),
        ({"confidence": "text"}, "holds no numbers, nor words"),
        ({"error": 0.1}, "name the column of their confidence"),
        ({"error": 7, "confidence": "sure"}, "is not a share of wrong labels"),
        ({"truth": ["ham"]}, "1 values for 600 rows"),
        ({"truth": [None] * N}, "The truth is known for 0 rows"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_one_sentence(table, judged, settings, said):
    told = {"labels": ["rule"], "truth": judged[0], **settings}
    with pytest.raises(TableError, match=said):
        judge(table[0], told.pop("labels"), told.pop("truth"), **told)


def test_a_table_of_labels_alone_shows_nothing_to_label_by(tmp_path):
    frame = pl.DataFrame({"rule": ["a", "b"] * 10, "chary_label": ["a"] * 20})
    with pytest.raises(TableError, match="no column that a person could label a row by"):
        drawn(frame, ["rule"], tmp_path / "s.csv", 5)


def test_nobody_can_foresee_a_draw_and_the_sheet_names_its_seed(
    table, tmp_path, monkeypatch, seed_of_draws
):
    frame, truth = table
    monkeypatch.setattr("chary.audit.drawing.random_seed", seed_of_draws)
    everywhere = np.zeros(N, dtype=bool)
    draws = set()
    for name in ("s.csv", "t.csv"):
        drawn(frame, ["rule"], tmp_path / name, 30)
        seed = read_origin(read_sheet(tmp_path / name)).seed
        rows = filled(tmp_path / name, truth)
        assert rows == draw(everywhere, 30, seed).tolist()
        draws.add(tuple(rows))
        drawn(frame, ["rule"], tmp_path / name, 40)  # enlarged by the same draw
        assert filled(tmp_path / name, truth) == draw(everywhere, 40, seed).tolist()
    assert len(draws) == 2


# -- Labels under test


def read(values, **told):
    frame = pl.DataFrame({"x": range(len(values)), "rule": values})
    return read_labels_under_test(
        open_source(frame, reserved=()), JudgeOptions.of(labels="rule", **told)
    )


def test_spellings_are_one_class_and_empty_cells_no_label():
    found = read(["Yes", "yes", "yes ", "no", None, "", "todo"], unlabeled="TODO")
    assert found.classes == ["no", "yes"]
    assert found.counts == {"rule": {"yes": 3, "no": 1, None: 3}}
    assert "'yes' and 'Yes' were read as one class" in found.notes[0]
    assert found.of(pl.Series(["yes", " Yes", "todo", None])) == ["yes", "yes", None, None]


def test_numbers_and_truth_values_are_labels():
    assert read([1, 0, 1]).counts == {"rule": {"0": 1, "1": 2}}
    assert read([True, False, None]).counts == {"rule": {"false": 1, "true": 1, None: 1}}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([None, "", " "], "holds no label in 3 rows"),
        (["yes", "NA"], "holds 'NA' in 1 row; pass"),
        ([f"v{i}" for i in range(60)], "60 different values in 60 rows, so it holds no classes"),
        ([[1], [2]], "holds List"),
    ],
)
def test_what_holds_no_labels_is_refused(values, said):
    with pytest.raises(TableError, match=said):
        read(values)


@pytest.mark.parametrize("name", ["chary_label", "rule"])
def test_the_apostrophe_that_chary_put_before_a_formula_is_no_part_of_a_label(tmp_path, name):
    classes = ["=no", "yes"]
    (tmp_path / "t.csv").write_text(f"x,{name}\n1,'=no\n2,yes\n")
    scan = open_source(tmp_path / "t.csv", reserved=())
    found = read_labels_under_test(scan, JudgeOptions(labels=(name,)))
    assert found.classes == classes
    assert found.counts == {name: dict.fromkeys(classes, 1)}
    cells = scan.rows([0, 1], [name])[name]
    assert found.of(cells) == classes
    assert scan.read().frame[name].to_list() == ["'=no", "yes"]  # written again as it was


# -- The answers

FRAME = pl.DataFrame({"x": range(40), "rule": ["a", "b"] * 20, "y": ["a", "b"] * 5 + [None] * 30})


def test_new_classes_and_no_answers_among_values():
    found = judge(FRAME, "rule", ["A", "fox", "?", "n/a", " b "] + [None] * 35)
    assert found.answers.rows.tolist() == [0, 1, 4]
    assert found.answers.labels.tolist() == ["a", "fox", "b"]
    assert found.answers.new_classes == {"fox": 1}
    assert found.answers.warnings == [
        "NEW CLASS: the audit found 'fox' in 1 row, and none of the labels. If it is a slip, "
        "correct it."
    ]


def test_answers_that_are_hardly_ever_a_class_are_refused_with_both_remedies(tmp_path):
    frame = pl.DataFrame({"x": range(400), "rule": ["bug", "wish"] * 200})
    drawn(frame, "rule", tmp_path / "s.csv", 40)
    filled(tmp_path / "s.csv", ["yes"] * 400)
    said = (
        r"Only 0 of 40 answers are classes that the labels have \('bug' and 'wish'\); others are "
        "'yes' in 40 rows. Answer with the class of each row, .* or pass classes='yes' if"
    )
    with pytest.raises(TableError, match=said):
        judge(frame, "rule", tmp_path / "s.csv")
    with pytest.raises(TableError, match=said):
        judge(frame, "rule", ["yes"] * 40 + [None] * 360)
    accuracy = judge(frame, "rule", tmp_path / "s.csv", classes="yes").accuracy
    assert (accuracy.correct, accuracy.n) == (0, 40)
    # A few known classes, or few answers in all, are no sign of another question.
    assert judge(frame, "rule", ["yes"] * 36 + ["bug"] * 4 + [None] * 360).accuracy.n == 40
    assert judge(frame, "rule", ["yes"] * 4 + [None] * 396).accuracy.n == 4


def test_answers_that_are_all_the_labels_get_one_question():
    frame = pl.DataFrame({"x": range(400), "rule": ["bug", "wish"] * 200})
    labels = frame["rule"].to_list()
    question = "All 30 answers are the same as the labels in column 'rule'. Were these seen"
    notes = judge(frame, "rule", labels[:30] + [None] * 370).notes
    assert [note for note in notes if note.startswith(question)]
    notes = judge(frame, "rule", [*labels[:29], "bug"] + [None] * 370).notes
    assert not [note for note in notes if "Were these seen" in note]


def test_a_sheet_drawn_for_a_model_is_no_judge(tmp_path):
    table = Table(FRAME, "t.csv", ",")
    with (tmp_path / "a.csv").open("wb") as file:
        write_audit(
            table,
            "y",
            target_labels(table, "y"),
            target_labels(table, "y").rows_to_predict[:5],
            file,
        )
    with pytest.raises(TableError, match="drawn to audit a model"):
        judge(FRAME, "rule", tmp_path / "a.csv")


def test_a_checksum_is_of_the_row_and_of_the_number_of_rows():
    one, fewer = (
        cells_by_row(open_source(FRAME, reserved=()), ["x"]),
        cells_by_row(open_source(FRAME[:30], reserved=()), ["x"]),
    )
    cells = one.texts([3, 4])
    assert len(set(one.checksums(cells))) == 2
    assert one.checksums(cells) == one.checksums(cells)
    assert not set(one.checksums(cells)) & set(fewer.checksums(cells))


# -- Several labellers, several people, and columns that tell


def test_two_columns_are_compared_and_their_agreement_is_that_of_all_rows(table, judged):
    frame, _ = table
    (pair,) = judge(frame, ["rule", "other"], judged[0]).pairs
    assert (pair.first, pair.second) == ("rule", "other")
    there = frame.filter(pl.col("rule") != "")
    assert kappa(pair.counts) == pytest.approx(cohen_kappa_score(there["rule"], there["other"]))
    assert (
        "In column 'other'"
        in judge(
            frame.with_columns(other=pl.Series(["Ham ", *frame["other"].to_list()[1:]])),
            ["rule", "other"],
            judged[0],
        ).notes[0]
    )


def test_skipping_the_rows_that_one_column_gets_right_does_not_make_the_other_better(
    table, tmp_path
):
    frame, truth = table
    drawn(frame, ["rule", "other"], tmp_path / "s.csv", 200)
    is_right = [frame[name] == pl.Series(truth) for name in ("rule", "other")]
    only_other = is_right[1] & ~is_right[0]
    answers = [
        None if is_only else answer for is_only, answer in zip(only_other, truth, strict=True)
    ]
    rows = filled(tmp_path / "s.csv", answers)
    (pair,) = judge(frame, ["rule", "other"], tmp_path / "s.csv").pairs
    # One row of the table has no label in the first column.
    worst = difference(is_right[0].gather(rows), is_right[1].gather(rows), N - 1)
    assert pair.difference.comparison.only_second == 0
    assert pair.difference.comparison.n_skipped == worst.comparison.only_second > 5
    assert pair.difference.low == worst.low
    assert pair.difference.comparison.p_value == worst.comparison.p_value


def test_skipped_rows_on_which_both_say_the_same_do_not_matter_for_the_difference(table, tmp_path):
    frame, truth = table
    drawn(frame, ["rule", "other"], tmp_path / "s.csv", 60)
    same = frame["rule"] == frame["other"]
    rows = filled(tmp_path / "s.csv", truth)
    (whole,) = judge(frame, ["rule", "other"], tmp_path / "s.csv").pairs
    answers = [None if same[row] and row != rows[-1] else truth[row] for row in range(N)]
    filled(tmp_path / "s.csv", answers)
    (part,) = judge(frame, ["rule", "other"], tmp_path / "s.csv").pairs
    assert part.difference == whole.difference


def test_before_the_end_of_an_audit_that_one_may_look_at_there_is_the_accuracy_alone(
    table, tmp_path
):
    frame, truth = table
    path = tmp_path / "s.csv"
    drawn(frame, ["rule", "other"], path, 60, confidence="sure")
    Filling(path).mark_stopping()
    settings = {"confidence": "sure", "by": ["place"], "error": 0.3}
    first_forty = pl.when(pl.int_range(pl.len()) < 40).then("chary_truth").alias("chary_truth")
    filled(path, truth, lambda sheet: sheet.with_columns(first_forty))
    found = judge(frame, ["rule", "other"], path, **settings)
    assert (found.pairs, found.slices, found.classes, found.acceptances) == ([], {}, {}, [])
    for column in found.columns:
        judgement = column.judgement
        if not column.n_missing:
            assert judgement.accuracy == column.always
        assert (judgement.classes, judgement.confusions) == ({}, {})
    assert found.asked.n_accepted == 0
    assert found.accepted.sum() == found.correct.sum()  # only those that a person confirmed
    assert (
        "Only the accuracy is shown until all 60 drawn rows are answered (20 are left)"
        in found.notes[0]
    )

    filled(path, truth)
    found = judge(frame, ["rule", "other"], path, **settings)
    low, high = sequence(found.correct, N)
    assert (found.accuracy.low, found.accuracy.high) == (low[-1], high[-1])
    assert all([found.pairs, found.slices, found.classes, found.acceptances])
    assert found.columns[0].judgement.accuracy.low == interval(int(found.correct.sum()), 60, N)[0]
    assert not any("Only the accuracy" in note for note in found.notes)


def answered(path, told, to):
    frame = pl.read_csv(path, infer_schema=False)
    frame.with_columns(chary_truth=pl.Series(told, dtype=pl.String)).write_csv(to)


def test_rows_on_which_two_people_differ_are_skipped_until_a_sheet_is_edited(table, tmp_path):
    frame, truth = table
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    drawn(frame, ["rule"], path, 30)
    rows = filled(path, truth)
    flip = {"ham": "spam", "spam": "ham"}
    told = [str(truth[row]) for row in rows]
    other_told = [
        flip[text] if i in (2, 5) else None if i == 7 else text for i, text in enumerate(told)
    ]
    answered(path, other_told, other)
    found = judge(frame, ["rule"], path, annotator=[str(other)])
    assert found.answers.annotators.differing == [3, 6]
    assert np.flatnonzero(found.answers.skipped).tolist() == [2, 5]
    assert any("both answered 29 rows and agree on 27" in note for note in found.notes)
    assert any(
        "differ on 2 rows, counted as skipped until somebody edits" in note for note in found.notes
    )
    told[2] = flip[told[2]]  # they have talked, and the first has come round
    answered(path, told, path)
    found = judge(frame, ["rule"], path, annotator=[str(other)])
    assert found.answers.truth[2] == told[2]
    assert np.flatnonzero(found.answers.skipped).tolist() == [5]
    with pytest.raises(TableError, match="was given twice"):
        judge(frame, ["rule"], path, annotator=[str(path)])
    drawn(frame, ["rule"], tmp_path / "c.csv", 30, seed=9)
    filled(tmp_path / "c.csv", truth)
    with pytest.raises(TableError, match="two draws"):
        judge(frame, ["rule"], path, annotator=[str(tmp_path / "c.csv")])


def test_columns_that_tell_the_label_are_not_on_the_sheet_unless_shown(table, tmp_path):
    frame, _ = table
    rng = np.random.default_rng(1)
    frame = frame.drop("other").with_columns(
        same=pl.when(pl.int_range(pl.len()) % 4 == 0).then(pl.lit("ham")).otherwise("rule"),
        code=pl.col("rule").replace({"ham": "H7", "spam": "S2"}),
        why=pl.format("I think it is {}.", "rule"),
        chance=pl.when(pl.col("rule") == "spam").then(0.6).otherwise(0.1)
        + pl.Series(rng.random(N)) / 4,
        answer=pl.Series(rng.choice(["ham", "spam"], N)),
    )
    path = tmp_path / "s.csv"
    found, _ = drawn(frame, ["rule"], path, 20, confidence="sure")
    assert found.hidden == ("same", "code", "why")
    shown = ["chary_row", "chary_truth", "text", "place", "chance", "answer", "chary_classes"]
    assert pl.read_csv(path).columns == shown
    drawn(frame, ["rule"], tmp_path / "t.csv", 20, confidence="sure", show=["why"])
    assert "why" in pl.read_csv(tmp_path / "t.csv").columns
    few = frame.select("code", "rule")
    # Nothing else to label a row by.
    assert drawn(few, ["rule"], tmp_path / "u.csv", 20)[0].hidden == ()


@pytest.fixture(name="tickets")
def tickets_with_labels_of_others():
    """Make tickets labelled by an LLM, beside columns that betray the label or do not."""
    rng = np.random.default_rng(3)
    classes = ["cancel", "refund", "other"]
    llm = rng.choice(classes, N, p=[0.2, 0.3, 0.5])
    vendor = np.where(rng.random(N) < 0.8, llm, rng.choice(classes, N))
    text = [
        " ".join(rng.choice(["my", "order", "never", "came", "late", "help"], 8)) for _ in range(N)
    ]
    return pl.DataFrame({
        "ticket_id": [f"T{i}" for i in range(N)],
        "ticket_text": text,
        "amount": rng.normal(50, 20, N).round(2),
        "region": rng.choice(["north", "south"], N),
        "ticket_llm": llm,
        # Filled in 40 % of the rows, and in those for which a rule of a single class fires.
        "by_vendor": [v if u < 0.4 else None for v, u in zip(vendor, rng.random(N), strict=True)],
        "rule_cancel": np.where(rng.random(N) < np.where(llm == "cancel", 0.6, 0.1), "cancel", ""),
        "llm_confidence": rng.random(N),
        "llm_reason": text,
        "old_label": rng.choice(["a", "b"], N),
        "ticket_score": rng.random(N),
    })  # fmt: skip


def test_a_blind_sheet_goes_by_filled_cells_and_by_names(tickets, tmp_path):
    path = tmp_path / "s.csv"
    found, _ = drawn(tickets, ["ticket_llm"], path, 20)
    assert found.hidden == ("by_vendor", "rule_cancel", "llm_confidence", "llm_reason", "old_label")
    # Three columns are about tickets, so that word does not relate them to the judged one.
    assert found.shown == ("ticket_id", "ticket_text", "amount", "region", "ticket_score")
    assert pl.read_csv(path).columns[2:-1] == list(found.shown)


def test_a_blind_sheet_hides_a_column_related_by_name_that_may_hold_labels(tickets, tmp_path):
    tickets = tickets.rename({"ticket_llm": "sentiment", "ticket_score": "sentiment_score"})
    sheet, _ = drawn(tickets, ["sentiment"], tmp_path / "s.csv", 20)
    assert "sentiment_score" in sheet.hidden  # a confidence
    tickets = tickets.rename({"amount": "sentiment_score", "sentiment_score": "amount"})
    sheet, _ = drawn(tickets, ["sentiment"], tmp_path / "t.csv", 20)
    assert "sentiment_score" in sheet.shown  # a measurement
    tickets = tickets.rename({"sentiment": "type", "region": "kind_of_type"})
    sheet, _ = drawn(tickets, ["type"], tmp_path / "u.csv", 20)
    assert "kind_of_type" in sheet.shown  # "type" may be said of any column


@pytest.mark.parametrize("edited", ['["text", "place", "text", "place"]', '["nowhere"]', "{}"])
def test_what_a_sheet_says_of_its_columns_may_be_edited(table, tmp_path, edited):
    frame, truth = table
    frame = frame.select("text", "place", "rule")
    path = tmp_path / "s.csv"
    drawn(frame, ["rule"], path, 30)
    filled(path, truth)
    expected = judge(frame, ["rule"], path).correct.tolist()
    content = path.read_text()
    shown = '["text", "place"]'.replace('"', '""')
    assert shown in content
    path.write_text(content.replace(shown, edited.replace('"', '""')))
    assert judge(frame, ["rule"], path).correct.tolist() == expected


def test_the_report_says_what_the_sheet_showed(table, tmp_path):
    frame, truth = table
    second = pl.col("rule").str.to_uppercase().alias("second")
    frame = frame.select("text", "rule", second, pl.lit("x").alias("a column of the survey"))
    path = tmp_path / "s.csv"
    found, _ = drawn(frame, ["rule"], path, 30)
    assert found.hidden == ("second",)
    filled(path, truth)
    result = judge(frame, ["rule"], path)
    assert result.answers.columns_shown == found.shown
    sentence = summarize_judged(result)["blind"]
    assert sentence.startswith("The sheet did not show the labels under test; it showed 'text'")
    assert "second" not in sentence

    filled(path, truth, lambda sheet: sheet.with_columns(rule=pl.lit("looked up")))
    result = judge(frame, ["rule"], path)
    assert summarize_judged(result)["blind"].startswith(
        "The sheet showed the labels under test ('rule')"
    )
    assert "Column 'rule' was shown on the sheet" in result.answers.warnings[0]
    assert "is not known" in summarize_judged(judge(frame, ["rule"], truth.tolist()))["blind"]


def test_answers_are_kept_in_python_too(table, tmp_path):
    frame, truth = table
    path = tmp_path / "s.csv"
    chary.draw_rows(frame, "rule", path, k=20)
    filled(path, truth)
    before = path.read_bytes()
    with pytest.raises(
        TableError, match=r"holds 20 answers, .* pass it as the parameter audit; .* discard_answers"
    ):
        chary.draw_rows(frame, "rule", path, k=20, force=True)
    assert path.read_bytes() == before
    chary.draw_rows(frame, "rule", path, k=20, discard_answers=True)
    assert (tmp_path / "s.discarded-1.csv").read_bytes() == before


def test_what_is_hidden_later_leaves_the_sheet_and_its_answers_stay(table, tmp_path):
    frame, truth = table
    path = tmp_path / "s.csv"
    drawn(frame, ["rule"], path, 20, show=["other"])
    rows = filled(path, truth)
    for k in (20, 25):
        drawn(frame, ["rule"], path, k, hide=["place"], show=["other"])
        sheet = pl.read_csv(path)
        assert "place" not in sheet.columns
        assert "other" in sheet.columns
        assert sheet["chary_truth"][:20].to_list() == [truth[row] for row in rows]
    assert judge(frame, ["rule"], path).accuracy.n == 20


def test_conversations_are_on_the_sheet_unless_they_give_the_label_away(tmp_path):
    labels = ["pass", "fail"] * 30
    frame = pl.DataFrame(
        {
            "messages": [[{"role": "user", "content": f"Question {i}"}] for i in range(60)],
            "votes": [[{"who": "a", "vote": label}] for label in labels],
            "steps": [[{"llm_note": "fine"}]] * 60,
            "audio": [b"\x00"] * 60,
            "verdict": labels,
        }
    )
    path = tmp_path / "s.csv"
    drawn, _ = draw_to_judge(open_source(frame), path, JudgeOptions.of(labels="verdict"), 5)
    assert (drawn.shown, drawn.hidden) == (("messages",), ("votes", "steps"))
    assert drawn.unreadable == ("audio",)
    sheet = read_sheet(path)
    assert all(text.startswith("▸ user\nQuestion ") for text in sheet.frame["messages"])
    assert read_origin(sheet).shown == ("messages",)

    # The rows are found again, and rows whose conversations were moved are refused.
    write_answers = sheet.frame.with_columns(chary_truth=pl.lit("pass"))
    write_answers.write_csv(path)
    judge_table(open_source(frame), path, JudgeOptions.of(labels="verdict"))
    moved = write_answers.with_columns(
        pl.col("messages").shift(1, fill_value=sheet.frame["messages"][-1])
    )
    moved.write_csv(path)
    with pytest.raises(TableError, match="mixes cells"):
        judge_table(open_source(frame), path, JudgeOptions.of(labels="verdict"))


def test_labels_are_compared_on_the_rows_that_have_one_in_both():
    """A vendor that is right wherever it speaks is not worse for the rows it leaves empty."""
    truth = ["a", "b"] * 60
    wrong = {"a": "b", "b": "a"}
    llm = [wrong[label] if i % 5 == 0 else label for i, label in enumerate(truth)]
    vendor = [label if i % 2 else None for i, label in enumerate(truth)]
    frame = pl.DataFrame({"text": truth, "llm": llm, "vendor": vendor})
    found = judge(frame, ["llm", "vendor"], truth)
    (pair,) = found.pairs
    assert (pair.n_audited, pair.counts.sum()) == (60, 60)
    comparison = pair.difference.comparison
    assert (comparison.only_first, comparison.only_second) == (0, 12)
    assert (pair.difference.low, pair.difference.high) == (-0.2, -0.2)
    of_llm, of_vendor = (judged.classes for judged in pair.judgements)
    assert of_llm["b"].recall.n == of_vendor["b"].recall.correct == 60
    (summary,) = summarize_judged(found)["pairs"]
    assert summary["sentence"].startswith(
        "'vendor' is better on the 60 rows (50%) with a label in both"
    )
    assert [(one["name"], one["labeller"]) for one in summary["classes"]] == [
        ("a", "llm"),
        ("a", "vendor"),
        ("b", "llm"),
        ("b", "vendor"),
    ]
    apart = judge(
        frame.with_columns(llm=pl.Series([None, "a"] * 60)).with_columns(
            vendor=pl.Series(["b", None] * 60)
        ),
        ["llm", "vendor"],
        truth,
    )
    assert "cannot be compared" in summarize_judged(apart)["pairs"][0]["sentence"]


def test_no_column_is_better_by_fewer_than_five_rows():
    truth = ["a", "b"] * 20
    second = ["b" if i < 8 else label for i, label in enumerate(truth)]
    frame = pl.DataFrame({"first": truth, "second": second})
    found = judge(frame, ["first", "second"], truth)
    assert found.pairs[0].difference.p_value < 0.05
    (pair,) = summarize_judged(found)["pairs"]
    assert pair["sentence"].startswith("Exactly one is right on 4 rows, too few")


def test_the_rows_that_were_wrong_are_listed_with_what_the_person_saw(table, tmp_path):
    frame, truth = table
    path = tmp_path / "s.csv"
    drawn(frame, ["rule"], path, 40)
    rows = filled(path, truth)
    found = judge(frame, ["rule"], path)
    expected = [row for row in rows if frame["rule"][row] not in (truth[row], "")]
    assert [row.number for row in found.wrong] == expected
    listed = summarize_judged(found)["wrong"][0]
    row = expected[0]
    assert (listed["row"], listed["truth"]) == (row + 1, truth[row])
    assert listed["labels"] == {"rule": frame["rule"][row]}
    assert listed["cells"]["text"] == f"t{row}"
    assert "rule" not in listed["cells"]


@pytest.mark.parametrize(
    ("require", "outcome"),
    [
        ("coverage>=50%", "shown"),
        ("coverage>=90%", "ruled out"),
        ("precision of a>=60%", "shown"),
        ("recall of a>=99%", "ruled out"),
        ("recall of a>=50%", "open"),
        ("accuracy>=99%", "ruled out"),
        (0.6, "shown"),
    ],
)
def test_what_is_required_may_be_coverage_or_a_class(require, outcome):
    truth = ["a", "a", "b", "b"] * 50
    # Half of the rows that are "a" have the label, all rows with it are "a".
    labels = ["a", "b", "b", "b"] * 40 + [None] * 40
    frame = {"text": [f"t{i}" for i in range(200)], "rule": labels}
    told = [label if i % 3 == 0 else None for i, label in enumerate(truth)]
    required = chary.judge(frame, "rule", told, require=require).summary["required"]
    assert required["outcome"] == outcome
    assert (required["at_least"] >= required["share"]) == (outcome == "shown")


@pytest.mark.parametrize(
    ("require", "message"),
    [
        ("accurracy>=90%", "is not understood"),
        ("precision>=90%", "precision of CLASS"),
        ("accuracy>=110%", "is not a share"),
        ("recall of fox>=90%", "names 'fox', which is no class of column 'rule'"),
    ],
)
def test_what_cannot_be_required_is_refused(require, message):
    frame = {"rule": ["a", "b"] * 30}
    with pytest.raises(ValueError, match=message):
        chary.judge(frame, "rule", ["a", "b"] * 30, require=require)


def test_what_would_do_nothing_is_refused():
    frame = {"text": [f"t{i}" for i in range(60)], "rule": ["a", "b"] * 30}
    with pytest.raises(TableError, match="hide only applies to sheets"):
        chary.judge(frame, "rule", ["a", "b"] * 30, hide="text")


def test_refusals_and_decoration_are_asked_about():
    labels = ["bug", "idea"] * 30 + ["**bug**", "Idea.", "Label: bug", "I cannot determine this."]
    frame = {"text": [f"t{i}" for i in range(64)], "llm": labels}
    told = ["bug"] * 64
    with pytest.raises(TableError, match=r"'I cannot determine this\.' in 1 row.*unlabeled="):
        chary.judge(frame, "llm", told)
    refusal = "i cannot determine this."
    with pytest.raises(TableError, match=r"'\*\*bug\*\*' in 1 row.*same='Label: bug=bug'"):
        chary.judge(frame, "llm", told, unlabeled=refusal)
    same = {"**bug**": "bug", "Idea.": "idea", "Label: bug": "bug"}
    judged = chary.judge(frame, "llm", told, unlabeled=refusal, same=same)
    (column,) = judged.summary["columns"]
    assert {one["name"]: one["labelled"] for one in column["classes"]} == {"bug": 32, "idea": 31}
    assert column["missing"] == 1
    own = chary.judge(frame, "llm", told, unlabeled=refusal, classes=list(same)).summary
    assert len(own["columns"][0]["classes"]) == 5


def test_a_confidence_in_words_is_an_order(table, tmp_path):
    frame, truth = table
    sure = frame["sure"].to_numpy()
    words = pl.Series(np.array(["Low", "medium", "high"])[np.searchsorted([0.2, 0.8], sure)])
    worded = frame.with_columns(sure=words)
    numbered = frame.with_columns(sure=words.replace_strict({"Low": 1, "medium": 2, "high": 3}))
    told = [label if i % 4 == 0 else None for i, label in enumerate(truth)]
    settings = {"confidence": "sure", "error": 0.3}
    by_words = judge(worded, ["rule"], told, **settings)
    by_numbers = judge(numbered, ["rule"], told, **settings)
    assert by_words.asked == by_numbers.asked
    assert by_words.asked.n_accepted > 0
    assert any("low = 1, medium = 2 and high = 3" in note for note in by_words.notes)
    assert not any("order" in note for note in by_numbers.notes)
    # What is no confidence is refused before anybody labels a row.
    with pytest.raises(TableError, match="holds no numbers, nor words"):
        drawn(frame, ["rule"], tmp_path / "s.csv", 20, confidence="place")
    assert not (tmp_path / "s.csv").exists()
