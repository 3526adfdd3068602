"""Why a label: rows of a result by number, new rows by a loaded model; what cannot be is said."""

import numpy as np
import pandas as pd
import pytest

import chary
from chary.tables import TableError

pytestmark = pytest.mark.usefixtures("quick_learners")


def customers(n=160):
    rng = np.random.default_rng(0)
    visits = rng.gamma(2, 2, n).round(1)
    churn = np.where(np.arange(n) % 2, np.where(visits < 3, "yes", "no").astype(object), None)
    columns = {
        "town": rng.choice(["Ulm", "Bonn"], n),
        "visits": visits,
        "=risky": rng.integers(0, 9, n),
    }
    return pd.DataFrame({**columns, "churn": churn}, index=range(1000, 1000 + n))


@pytest.fixture(scope="module")
def result(quick_learners):
    return chary.label(customers(), target="churn", rounds=0, explain=True)


def test_rows_of_a_result_are_told_by_number_mask_or_all(result):
    some = chary.explain(result, [4, 2])
    assert some.index.tolist() == [1004, 1002]
    assert some.columns.tolist() == ["chary_label", "chary_why", "town", "visits", "=risky"]
    every = chary.explain(result)
    pd.testing.assert_frame_equal(every.loc[[1004, 1002]], some)
    mask = np.isin(np.arange(160), [2, 4])
    pd.testing.assert_frame_equal(chary.explain(result, mask), some.loc[[1002, 1004]])
    pd.testing.assert_frame_equal(chary.explain(result, 4), some.loc[[1004]])
    by_index = pd.Series(mask, result.frame.index).sort_values()
    pd.testing.assert_frame_equal(chary.explain(result, by_index), some.loc[[1002, 1004]])
    assert every["chary_label"].tolist() == result.frame["chary_label"].tolist()


def test_it_says_what_the_added_column_says(result):
    new = result.frame["churn"].isna()
    every = chary.explain(result)
    assert every["chary_why"][new].tolist() == result.frame["chary_why"][new].tolist()
    assert result.frame["chary_why"][~new].isna().all()
    assert every["chary_why"][new].str.contains("visits = ").mean() > 0.8


def test_a_loaded_model_compares_rows_with_each_other_or_with_a_background(result, tmp_path):
    result.save(tmp_path / "m.chary")
    model, rows = chary.load(tmp_path / "m.chary"), customers().drop(columns="churn")
    own = chary.explain(model, rows.head(40))
    assert own.index.equals(rows.index[:40])
    one = chary.explain(model, rows.head(1), background=rows)
    assert one["chary_label"].tolist() == own["chary_label"].tolist()[:1]
    with pytest.raises(TableError, match="A single row has nothing to be compared with"):
        chary.explain(model, rows.head(1))


def test_what_is_no_row_is_refused(result):
    with pytest.raises(IndexError, match="out of bounds"):
        chary.explain(result, [160])
    with pytest.raises(IndexError, match="integers"):
        chary.explain(result, ["a"])
    assert len(chary.explain(result, [])) == 0
