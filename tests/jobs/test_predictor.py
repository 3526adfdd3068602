"""Record batches of any kind in: the labels of the table that they are of, however it is cut and shipped."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.jobs import Predictor, predict_table
from chary.tables import Table, TableError

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


@settings(max_examples=25)
@given(cuts=st.lists(st.integers(0, N), max_size=5))
def test_labels_do_not_depend_on_the_batches(predict, expected, rows, cuts):
    frame = rows(N)
    parts = list(predict(frame[a:b] for a, b in pairwise([0, *sorted(cuts), N])))
    assert pl.concat(parts).equals(expected)
    assert parts[0].schema == expected.schema


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
        assert pl.concat([pl.DataFrame(batch) for batch in found]).equals(expected.cast({"id": found_type(found)}))


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
    monkeypatch.setattr("chary.jobs.predict._BLOCK_ROWS", 64)
    taken = []

    def batches():
        for k in range(3):
            taken.append(k)
            yield rows(100, seed=k)

    found = predict(batches())
    assert next(found).height == 64
    assert taken == [0]
    assert [part.height for part in found] == [36, 64, 36, 64, 36]


def test_it_travels_as_the_model_file_and_is_shared_by_threads(predict, expected, rows):
    sent = pickle.dumps(predict)
    assert len(sent) < len(predict.data) + 1000
    again = pickle.loads(sent)
    assert (again.digest, again.settings, again.schema) == (predict.digest, predict.settings, predict.schema)
    frame = rows(N)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: pl.concat(again([frame[k : k + 50], frame[k + 50 :]])), [0] * 8))
    assert all(one.equals(expected) for one in found)


def test_no_batches_an_empty_one_and_what_is_refused(predict, rows):
    assert list(predict([])) == []
    (empty,) = predict([rows(5)[:0]])
    assert (empty.height, empty.columns[:2]) == (0, ["id", "chary_label"])
    with pytest.raises(TableError, match="Column 'city' is missing"):
        list(predict([rows(5).drop("city")]))
    with pytest.raises(TableError, match="no column 'id' to keep"):
        list(predict([rows(5).drop("id")]))
    odd = rows(40).with_columns(price=pl.lit("5.25 $"))
    found = predict([rows(40), odd, odd])
    assert [next(found).height for _ in range(3)] == [40, 40, 40]
    with pytest.raises(TableError, match=r"Column 'price' holds '5.25 \$': 80 of 120 cells cannot be read"):
        next(found)
    with pytest.raises(TableError, match="A table is needed"):
        list(predict([[1, 2, 3]]))
    for bad in ({"threshold": 2}, {"columns": "id"}):
        with pytest.raises(TableError):
            Predictor(predict.data, **bad)


def test_what_a_file_would_lack_or_have_twice(predict, rows):
    names = rows(1).columns
    predict.require_columns(names)
    with pytest.raises(TableError, match="already, written by chary"):
        Predictor(predict.data).require_columns([*names, "chary_label"])
    predict.require_columns([*names, "chary_label"])  # which is not kept
    with pytest.raises(TableError, match="There is no column 'id' to keep"):
        predict.require_columns(names[1:])
    assert repr(predict).startswith("<chary predictor: id, chary_label, chary_confidence, chary_p_no")
