"""Labels for rows of any kind: those of their table, however it is cut and shipped."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from chary import DiverseEnsembleClassifier
from chary.labelling import Predictor, predict_table, score
from chary.labelling.score import RowCounts, Scored, block_rows, probability_names
from chary.model_file import save_model
from chary.tables import Table, TableError, TablePreparation
from chary.tables.table import refuse_taken

N = 200


@pytest.fixture(name="predict", scope="module")
def predictor_of_the_model(model_file):
    return Predictor(model_file.read_bytes(), columns=["id"], probabilities=True, threshold=0.7)


@pytest.fixture(name="expected", scope="module")
def whole_table(trained, rows):
    frame = rows(N)
    added = predict_table(trained, Table(frame, "t"), probabilities=True)
    found = frame.select("id").with_columns([column.alias(name) for name, column in added.items()])
    return found.with_columns(chary_accept=pl.col("chary_confidence") >= 0.7)


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, N), max_size=5))
def test_labels_do_not_depend_on_the_batches(predict, expected, rows, cuts):
    frame = rows(N)
    parts = list(predict(frame[a:b] for a, b in pairwise([0, *sorted(cuts), N])))
    assert pl.concat(parts).equals(expected)
    assert parts[0].schema == expected.schema


def test_only_the_labels_come_back_if_no_column_is_to_be_kept(predict, expected, rows):
    frame = rows(N)
    labels = expected.select("chary_label", "chary_confidence")
    labels_alone = Predictor(predict.data)
    for batch in (frame, frame[:1]):
        assert pl.concat(labels_alone([batch])).equals(labels[: len(batch)])


def test_pyarrow_batches_become_pyarrow_batches_of_plain_types(predict, expected, rows):
    pa = pytest.importorskip("pyarrow")
    table = rows(N).to_arrow()
    strange = pa.table(
        {
            "extra": pa.nulls(N),
            "said": table["said"].dictionary_encode(),
            "city": table["city"].cast(pa.string()),
            "n": table["n"].cast(pa.int32()),
            "price": table["price"].cast(pa.large_string()),
            "x": table["x"],
            "id": table["id"].cast(pa.uint16()),
        }
    )
    for given_table in (table, strange):
        batches = [
            *given_table.to_batches(max_chunksize=64),
            given_table.slice(0, 0),
            *given_table.to_batches()[:0],
        ]
        found = list(predict(batches))
        assert all(isinstance(batch, pa.RecordBatch) for batch in found)
        assert found[0].schema.field("id").type == given_table.schema.field("id").type
        assert [str(field.type) for field in found[0].schema][1:] == [
            "string",
            "double",
            "double",
            "double",
            "bool",
        ]
        assert pl.concat([pl.DataFrame(batch) for batch in found]).equals(
            expected.cast({"id": found_type(found)})
        )


def found_type(batches):
    return pl.DataFrame(batches[0]).schema["id"]


def test_other_frames_and_a_single_one(predict, expected, rows):
    pd = pytest.importorskip("pandas")
    frame = rows(N)
    (one,) = predict(frame)
    assert one.equals(expected)
    as_pandas = pd.DataFrame({name: frame[name].to_list() for name in frame.columns})
    assert pl.concat(predict([as_pandas])).equals(expected)

    class Speaks:
        """Nothing but Arrow's interface."""

        def __init__(self, frame):
            self.frame = frame

        def __len__(self):
            return self.frame.height

        def slice(self, start, n):
            return Speaks(self.frame.slice(start, n))

        def __arrow_c_stream__(self, requested_schema=None):
            return self.frame.__arrow_c_stream__(requested_schema)

    assert pl.concat(predict([Speaks(frame[:50]), Speaks(frame[50:])])).equals(expected)


def test_large_batches_are_cut_and_nothing_is_read_ahead(predict, rows, monkeypatch):
    monkeypatch.setattr("chary.labelling.score._BLOCK_ROWS", 64)
    taken = []

    def batches():
        for k in range(3):
            taken.append(k)
            yield rows(100, seed=k)

    found = predict(batches())
    assert next(found).height == 64
    assert taken == [0]
    others = list(found)
    assert [part.height for part in others] == [36, 64, 36, 64, 36]
    assert pl.concat(others)["id"].to_list() == [*range(64, 100), *range(100), *range(100)]


def test_it_travels_as_the_model_file_and_is_shared_by_threads(predict, expected, rows):
    sent = pickle.dumps(predict)
    assert len(sent) < len(predict.data) + 1000
    again = pickle.loads(sent)
    assert (again.data, again.schema) == (predict.data, predict.schema)
    frame = rows(N)
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda k: pl.concat(again([frame[k : k + 50], frame[k + 50 :]])), [0] * 8)
        )
    assert all(one.equals(expected) for one in found)


def test_no_batches_an_empty_one_and_what_is_refused(predict, rows):
    assert list(predict([])) == []
    (empty,) = predict([rows(5)[:0]])
    assert (empty.height, empty.columns[:2]) == (0, ["id", "chary_label"])
    with pytest.raises(TableError, match="Column 'city' is missing"):
        list(predict([rows(5).drop("city")]))
    odd = rows(40).with_columns(price=pl.lit("5.25 $"))
    found = predict([rows(40), odd, odd])
    assert [next(found).height for _ in range(3)] == [40, 40, 40]
    with pytest.raises(
        TableError, match=r"Column 'price' holds '5.25 \$': 80 of 120 cells cannot be read"
    ):
        next(found)
    with pytest.raises(TableError, match="A table is needed"):
        list(predict([[1, 2, 3]]))
    with pytest.raises(TableError):
        Predictor(predict.data, threshold=2)


def test_figures_have_four_digits_and_rows_are_accepted_by_the_digits_that_are_shown(trained):
    counts = RowCounts(trained)
    confidence = np.array([0.79995, 0.79994])
    probs = np.array([[0.12344, 0.87656], [0.6, 0.4]])
    scored = Scored(np.array([1, 0]), confidence, probs, counts)
    assert list(scored.columns()) == ["chary_label", "chary_confidence"]
    columns = scored.columns(probabilities=True, threshold=0.8)
    assert {name: column.to_list() for name, column in columns.items()} == {
        "chary_label": ["yes", "no"],
        "chary_confidence": [0.8, 0.7999],
        "chary_p_no": [0.1234, 0.6],
        "chary_p_yes": [0.8766, 0.4],
        "chary_accept": [True, False],
    }


def test_labels_that_occur_are_counted_the_most_frequent_first_then_by_name(trained):
    found = []
    for class_counts in ([0, 1], [2, 3], [3, 3]):
        counts = RowCounts(trained)
        counts.class_counts = np.array(class_counts)
        found.append(list(counts.labels.items()))
    assert found == [[("yes", 1)], [("yes", 3), ("no", 2)], [("no", 3), ("yes", 3)]]
    both = RowCounts(trained)
    both.add(counts)
    both.add(counts)
    assert both.labels == {"no": 6, "yes": 6}


def test_blocks_have_fewer_rows_where_there_are_many_features(trained, rows, monkeypatch):
    n_features = trained[0].transform(rows(5)).shape[1]
    assert block_rows(trained) == min(2**15, 2**20 // n_features)
    for n_numbers, n_rows in ((n_features - 1, 1), (3 * n_features + 1, 3), (10**9, 2**15)):
        monkeypatch.setattr(score, "_BLOCK_NUMBERS", n_numbers)
        assert block_rows(trained) == n_rows


@pytest.mark.parametrize("threshold", [0, 1, -0.001, 1.001])
def test_a_threshold_is_from_0_to_1(predict, threshold):
    if threshold in (0, 1):
        assert Predictor(predict.data, threshold=threshold).threshold == threshold
        return
    with pytest.raises(TableError, match="is not a confidence"):
        Predictor(predict.data, threshold=threshold)


def test_a_table_model_without_self_training_predicts_too(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=60), "colour": rng.choice(["red", "blue"], 60)})
    preparation = TablePreparation().fit(frame)
    X, codes = (
        preparation.transform(frame),
        np.where(np.arange(60) < 40, frame["x"].to_numpy() > 0, -1),
    )
    classifier = DiverseEnsembleClassifier(n_steps=20, random_state=0).fit(X, codes)
    save_model(Pipeline([("prepare", preparation), ("classify", classifier)]), tmp_path / "m.chary")
    added = predict_table(
        Predictor.from_file(tmp_path / "m.chary").model, Table(frame, "new.csv", ",")
    )
    assert set(added["chary_label"]) <= {"0", "1"}
    assert added["chary_confidence"].is_between(0, 1).all()
    more = predict_table(
        Predictor.from_file(tmp_path / "m.chary").model,
        Table(frame, "new.csv", ","),
        probabilities=True,
    )
    assert list(more) == ["chary_label", "chary_confidence", "chary_p_0", "chary_p_1"]
    assert (more["chary_p_0"] + more["chary_p_1"]).is_between(0.9998, 1.0002).all()
    assert ((more["chary_p_1"] > 0.5) == (more["chary_label"] == "1")).all()


def test_a_model_that_takes_no_tables_is_refused(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(np.arange(40) < 20, X[:, 0] > 0, -1)
    model = make_pipeline(
        StandardScaler(), DiverseEnsembleClassifier(n_steps=3, random_state=0)
    ).fit(X, y)
    for number, one in enumerate((model, model[-1])):
        save_model(one, tmp_path / f"{number}.chary")
        with pytest.raises(TableError, match=r".chary' is not a model of a table; use one that"):
            Predictor.from_file(tmp_path / f"{number}.chary")


@given(st.lists(st.text(min_size=1, max_size=100), unique=True, max_size=8))
def test_every_class_has_a_column_of_its_own_with_nothing_invisible_in_its_name(classes):
    names = probability_names(np.array(classes, dtype=object))
    assert len(set(names)) == len(classes)
    assert all(
        name.startswith("chary_p_") and name.isprintable() and len(name) < 80 for name in names
    )


def test_names_that_look_alike_are_numbered():
    assert probability_names(["ab" * 40 + end for end in "abc"])[1:] == [
        f"{probability_names(['ab' * 40])[0]} ({number})" for number in (2, 3)
    ]


def test_no_column_of_the_tables_own_is_replaced():
    table = Table(pl.DataFrame({"chary_p_yes": [1]}), "t.csv", ",")
    refuse_taken(table, ["chary_p_no"])
    with pytest.raises(TableError, match="already has a column 'chary_p_yes'"):
        refuse_taken(table, ["chary_p_no", "chary_p_yes"])
