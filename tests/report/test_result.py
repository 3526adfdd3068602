"""One line in Python: the frame comes back with more columns, and the result shows itself."""

import inspect
import re
from typing import get_args, get_type_hints

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chary
from chary.options import LabelOptions, declarations
from chary.tables import Table, TableError

pytestmark = pytest.mark.usefixtures("quick_learners")
ADDED = ["chary_label", "chary_confidence", "chary_source"]


def customers(n=160, seed=0):
    """Make biased labels, of extreme x.

    The index counts down, and the target is not the last column.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).round(3)
    truth = np.where(x + 0.3 * rng.normal(size=n) > 0, "yes", "no")
    churn = pd.Categorical(
        np.where(np.abs(x) > 0.8, truth.astype(object), None), categories=["yes", "no"]
    )
    columns = {
        "town": rng.choice(["Ulm", "Bonn"], n),
        "churn": churn,
        "x": x,
        "code": rng.integers(0, 9, n),
    }
    return pd.DataFrame(columns, index=range(n, 0, -1)), truth


@pytest.fixture(scope="module")
def result(quick_learners):
    return chary.label(customers()[0], target="churn", seed=1, learner="linear")


def test_the_frame_comes_back_with_three_columns_more_and_nothing_else_changed(result):
    frame, _ = customers()
    pd.testing.assert_frame_equal(result.frame.drop(columns=ADDED), frame)
    assert result.frame.columns.tolist() == [*frame.columns, *ADDED]
    assert result.frame["chary_label"].dtype == frame["churn"].dtype
    given = frame["churn"].notna()
    assert (result.frame["chary_label"][given] == frame["churn"][given]).all()
    assert set(result.frame["chary_source"][~given]) <= {"learned", "predicted"}


def test_every_kind_of_table_gives_the_same_labels(result, tmp_path):
    frame, _ = customers()
    plain = pl.DataFrame(
        {
            name: frame[name].astype(object).where(frame[name].notna(), None).tolist()
            for name in frame
        }
    )
    plain.write_parquet(tmp_path / "t.parquet")
    for data in (plain, tmp_path / "t.parquet", Table(plain, "t"), plain.to_dict(as_series=False)):
        again = chary.label(data, target="churn", seed=1, learner="linear").frame
        assert isinstance(again, pl.DataFrame)
        assert again.columns == [*plain.columns, *ADDED]
        assert again["chary_label"].to_list() == result.frame["chary_label"].tolist()
        assert again["chary_confidence"].to_list() == result.frame["chary_confidence"].tolist()


def test_every_option_of_the_command_can_be_passed_in_python():
    of_files = {
        "memory",
        "out",
        "force",
        "format",
        "check_sheet",
        "probabilities",
        "discard_answers",
    }
    options = set(declarations(LabelOptions))
    assert options - of_files == set(inspect.signature(chary.label).parameters) - {"data"}


def test_importance_and_second_look_are_frames_of_the_same_kind():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    truth = np.where(x > 0, "yes", "no")
    wrong = np.flatnonzero(np.abs(x[:100]) > 1.2)[:4]
    given = truth.astype(object)
    given[wrong] = np.where(truth[wrong] == "yes", "no", "yes")
    given[100:] = None
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=200), "y": given}, index=range(500, 700))
    result = chary.label(frame, target="y", rounds=0)
    assert result.importance["column"].tolist() == ["x", "z"]
    assert result.importance["change"].is_monotonic_decreasing
    listed = result.second_look
    assert set(listed.index) & set(500 + wrong)
    assert (listed["y"] != listed["chary_held_out"]).all()
    assert listed["chary_row"].tolist() == (listed.index - 499).tolist()
    assert (listed["chary_probability"] - listed["chary_given_probability"] > 0.84).all()
    assert listed.columns.tolist()[:3] == ["x", "z", "y"]
    polars = chary.label(pl.from_pandas(frame), target="y", rounds=0)
    assert isinstance(polars.importance, pl.DataFrame)
    assert polars.second_look["chary_row"].to_list() == listed["chary_row"].tolist()
    assert polars.second_look.columns == listed.columns.tolist()


def test_probabilities_are_a_frame_of_the_same_kind(result):
    probs = result.probabilities
    assert probs.columns.tolist() == ["no", "yes"]
    assert probs.index.equals(customers()[0].index)
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=1e-6)
    given = (result.frame["chary_source"] == "given").to_numpy()
    assert (probs.to_numpy()[given].max(axis=1) == 1).all()
    last = (result.frame["chary_source"] == "predicted").to_numpy()
    assert (probs.idxmax(axis=1)[last] == result.frame["chary_label"].astype(str)[last]).all()


def test_nothing_is_overwritten_unless_told_to(result, tmp_path):
    for write, name in (
        (result.report, "r.html"),
        (result.save, "m.chary"),
        (result.rows_to_check, "c.csv"),
    ):
        path = tmp_path / name
        path.write_text("mine\n1\n")
        with pytest.raises(
            FileExistsError, match=r"exists already; choose another name, or pass force=True"
        ):
            write(path)
        assert path.read_text() == "mine\n1\n"
        write(path, force=True)
        assert path.stat().st_size > 100
    path.write_text("mine\n1\n")
    with pytest.raises(ValueError, match=r"exists already and cannot be enlarged"):
        result.draw(path)
    assert path.read_text() == "mine\n1\n"


def test_it_shows_itself_as_the_terminal_does_in_the_words_of_python(result, tmp_path):
    result.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text().split("</style>")[1]
    for shown in (
        page,
        repr(result),
        result._repr_html_(),
        repr(result.diagnosis),
        result.diagnosis._repr_html_(),
    ):
        assert not re.search(
            r"[^-]--[a-z]|chary (label|audit|predict)", shown.split("</style>")[-1]
        )
    assert "result.draw('audit.csv')" in repr(result)
    assert "result.draw(&#39;audit.csv&#39;)" in result._repr_html_()
    assert str(result) == repr(result)
    assert result.diagnosis.verdict in repr(result)


def test_a_notebook_shows_the_report_with_styles_that_reach_nothing_else(result):
    for shown in (result._repr_html_(), result.diagnosis._repr_html_()):
        assert "<pre" not in shown
        style, content = re.fullmatch(
            r'<div class="chary-view">\s*<style>(.*?)</style>(.*)</div>\s*', shown, re.S
        ).groups()
        assert result.diagnosis.verdict.lower() in content.lower() or "right" in content
        # Every rule of the style is nested below the view.
        open_rules = []
        for selector, bracket in re.findall(r"([^{};]*)([{}])", style):
            if bracket == "}":
                open_rules.pop()
                continue
            open_rules.append(selector.strip())
            outer = [rule for rule in open_rules if not rule.startswith("@media")]
            assert all(".chary-view" in part for rule in outer[:1] for part in rule.split(","))
        assert open_rules == []


def test_nothing_of_a_table_is_markup_in_a_notebook():
    nasty = "<script>alert(1)</script>"
    frame = customers(60)[0].rename(columns={"x": nasty}).assign(churn=[nasty, "no", None] * 20)
    for shown in (chary.label(frame, "churn", learner="linear"), chary.diagnose(frame, "churn")):
        assert "<script" not in shown._repr_html_()
        assert "&lt;script&gt;" in shown._repr_html_()
        assert nasty in repr(shown)


def test_types_catch_a_wrong_target_and_a_misspelt_aim():
    hints = get_type_hints(chary.label)
    assert hints["target"] is str
    assert get_args(hints["aim"]) == ("accuracy", "balanced")


def test_a_diagnosis_on_its_own_is_that_of_the_result(result):
    alone = chary.diagnose(customers()[0], target="churn", seed=1)
    assert alone.verdict == result.diagnosis.verdict == "strongly biased"
    assert alone.sentence == result.diagnosis.sentence
    assert alone.summary == result.diagnosis.summary


def test_an_audit_goes_round_in_python(tmp_path):
    frame, truth = customers()
    sheet = tmp_path / "a.csv"
    chary.label(frame, "churn", learner="linear").draw(sheet, 30, seed=2)
    answers = pl.read_csv(sheet, infer_schema=False)
    rows = answers["chary_row"].str.extract(r"row (\d+) of").cast(pl.Int64) - 1
    answers.with_columns(pl.Series("churn", truth[rows.to_numpy()])).write_csv(sheet)
    result = chary.label(frame, "churn", audit=sheet, error=0.2, learner="linear")
    assert result.summary["audit"]["before"]["n"] == 30
    accept = result.frame["chary_accept"]
    assert accept.dtype == bool
    assert accept[result.frame["chary_source"] == "given"].all()
    found = result.summary["accept"]
    n_new = int(accept.sum()) - int(result.details.labels.labeled.sum())
    n_answered = result.details.audit.acceptor.answered.n_from(found["threshold"])
    assert found["n_accepted"] == n_new + n_answered > n_new
    assert f"or more, {n_answered} of audited rows included, can be accepted" in found["sentence"]
    assert result.summary["accept"]["sentence"] in " ".join(repr(result).split())
    strict = chary.label(frame, "churn", audit=sheet, error=0.01, learner="linear")
    assert (strict.frame["chary_accept"] == (strict.frame["chary_source"] == "given")).all()
    assert (
        "this needs at least 230 audited rows, and there are 30"
        in strict.summary["accept"]["sentence"]
    )
    again = tmp_path / "again.csv"
    strict.draw(again, 30, seed=2)
    assert pl.read_csv(again)["chary_row"].to_list() == answers["chary_row"].to_list()


@pytest.mark.parametrize("kind", ["float", "category"])
def test_labels_of_whole_numbers_are_whole_and_of_categories_are_categories(kind):
    x = np.random.default_rng(0).normal(size=60)
    told = pd.Series(np.where(x > 0, 3, 1)).where(np.arange(60) % 3 == 0)
    told = told.astype("Int64").astype("category") if kind == "category" else told
    result = chary.label(pd.DataFrame({"x": x, "y": told}), target="y", learner="linear")
    assert [row["name"] for row in result.summary["classes"]] == ["1", "3"]
    expected = told.dtype if kind == "category" else np.dtype("int64")
    assert result.frame["chary_label"].dtype == expected
    assert set(result.frame["chary_label"]) == {1, 3}
    if kind == "float":
        found = chary.label(
            pl.DataFrame({"x": x, "y": pl.Series(told.to_numpy()).fill_nan(None)}),
            "y",
            learner="linear",
        ).frame
        assert found["chary_label"].unique().sort().to_list() == [1, 3]
        assert found["chary_label"].dtype == pl.Int64


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"target": "chrun"}, "did you mean 'churn'?"),
        ({"target": "churn", "error": 0.1}, "pass the parameter audit"),
        ({"target": "churn", "error": 10, "audit": "a.csv"}, "such as error='0.1'"),
        ({"target": "churn", "drop": ["nothing"]}, "no column 'nothing'"),
    ],
)
def test_errors_speak_of_parameters(arguments, said):
    with pytest.raises(TableError, match=re.escape(said)) as error:
        chary.label(customers()[0], **arguments)
    assert "--" not in str(error.value)


def test_too_few_rows_to_draw_from_are_said(tmp_path):
    frame = pd.DataFrame({"x": range(12), "y": ["a", "b"] * 5 + ["a", None]})
    result = chary.label(frame, "y", rounds=0)
    with pytest.raises(TableError, match="look at each unlabelled row"):
        result.draw(tmp_path / "a.csv")


def test_columns_may_have_names_that_are_no_text():
    frame = pd.DataFrame(
        {
            0: np.arange(40) % 10,
            1: [("a" if i % 10 > 4 else "b") if i % 2 else None for i in range(40)],
        }
    )
    result = chary.label(frame, target=1, rounds=0)
    assert result.frame.columns.tolist() == [0, 1, *ADDED]


@given(seed=st.integers(0, 2**20), shuffled=st.permutations(["town", "churn", "x", "code"]))
@settings(max_examples=4)
def test_whatever_order_the_columns_come_in_they_leave_in(seed, shuffled):
    frame = customers(60, seed)[0][shuffled]
    before = frame.copy(deep=True)
    found = chary.label(frame, "churn", rounds=0, learner="linear").frame
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(found[shuffled], before)
    assert found.columns.tolist() == [*shuffled, *ADDED]
