"""JSON lines in, cells out, and lines of all keys written back."""

import io
import json
from dataclasses import replace
from time import perf_counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chary.tables.formats import FORMATS, write_table
from chary.tables.formats import text as text_module
from chary.tables.formats.base import Reading
from chary.tables.formats.files import File
from chary.tables.source import open_source, read_table
from chary.tables.table import TableError

scalar = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)


def written(table, **added):
    buffer = io.BytesIO()
    write_table(replace(table, format="jsonl"), added, buffer)
    return buffer.getvalue()


def read_lines(data, name="t"):
    return FORMATS["jsonl"].read(File(name, data=data), Reading())


@given(st.lists(st.tuples(scalar, scalar), min_size=1, max_size=5))
def test_cells_are_what_python_reads(rows):
    keep = [row for row in rows if type(row[0]) is type(rows[0][0]) and row[0] is not None] or [
        (1, None)
    ]
    data = "\n".join(json.dumps({"a": a}) for a, _ in keep).encode()
    assert read_lines(data, "t").frame["a"].to_list() == [a for a, _ in keep]


def test_keys_may_be_lacking_and_columns_stand_in_the_order_of_the_lines():
    table = read_lines(b'{"z": 1}\r\n\r\n{"b": "x", "z": null, "a": [1, 2]}\n{}', "t")
    assert table.frame.columns == ["z", "b", "a"]
    assert table.frame.rows() == [(1, None, None), (None, "x", [1, 2]), (None, None, None)]
    assert table.suffix == ".jsonl"
    assert written(table, k=[1, 2, 3]).split(b"\n") == [
        b'{"z":1,"b":null,"a":null,"k":1}',
        b'{"z":null,"b":"x","a":[1,2],"k":2}',
        b'{"z":null,"b":null,"a":null,"k":3}',
        b"",
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a": 1}\n{"a": \n', "t, line 2: no JSON object ("),
        (
            b'{"a": 1}\n\n[1]\n',
            "t, line 3: no JSON object (but '[1]'); write one object on each line.",
        ),
        (
            b'{"a": NaN}\n',
            "t, line 1: no JSON object (NaN is not JSON: write null where there is no number)",
        ),
        (b'{"a": 1}\n{"a": -Infinity}\n', "t, line 2: no JSON object (-Infinity is not JSON"),
        (
            b'{"a": [1]}\n{"a": 2}\n',
            "t cannot be read as JSON lines (failed to determine supertype",
        ),
        (b'{"a": true}\n{"a": 2}\n', "t cannot be read as JSON lines ("),
        (b'{"a": {"x": 1}}\n{"a": 2}\n', "t cannot be read as JSON lines ("),
        (b'{"a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}\n", "nested too deeply"),
        (b'{"a": 1} {"a": 2}\n', "t, line 1: no JSON object ("),
        (b'{"a": 1e999}\n', "t cannot be read as JSON lines ("),
    ],
)
def test_what_is_wrong_is_said_with_its_line(data, said):
    with pytest.raises(TableError) as caught:
        read_lines(data, "t")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_huge_whole_numbers_stay_whole():
    data = b'{"a":123456789012345678901234567890,"b":9007199254740993}\n{"a":1,"b":2}\n'
    table = read_lines(data, "t")
    assert table.frame["a"].to_list() == [123456789012345678901234567890, 1]
    assert written(table) == data


def test_types_that_json_cannot_hold_are_known_at_any_depth():
    holds = FORMATS["jsonl"].holds
    assert holds(pl.Struct({"a": pl.Int64, "b": pl.List(pl.Array(pl.String, 2))}))
    assert not holds(pl.Struct({"a": pl.Int64, "b": pl.List(pl.Array(pl.Binary, 2))}))


def test_a_column_has_one_type_in_all_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("chary.tables.formats.jsonl.CHUNK", 1000)
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n' * 300 + '{"a": 1.5, "b": "x"}\n' * 300 + '{"a": null}\n' * 300)
    batches = [batch.table for batch in open_source(path).batches()]
    assert len(batches) > 3
    assert {tuple(table.frame.schema.items()) for table in batches} == {
        (("a", pl.Float64()), ("b", pl.String()))
    }
    assert pl.concat([table.frame for table in batches]).equals(read_table(path).frame)
    path.write_text('{"a": 1}\n' * 300 + '{"a": "x"}\n' * 300)
    with pytest.raises(
        TableError, match=r"t.jsonl: column 'a' holds Int64 and String; write it in one type"
    ):
        list(open_source(path).batches())
    monkeypatch.setattr(text_module, "_LONGEST_RECORD", 10_000)
    path.write_text('{"a": 1}\n{"a": "' + "x" * 20_000)
    with pytest.raises(TableError, match="a row without end"):
        list(open_source(path).batches())


def test_many_brackets_beside_each_other_or_in_a_text_are_no_depth():
    wide = (
        '{"a": ['
        + "[1], " * 300
        + '[1]], "s": "'
        + "[" * 300
        + '\\\\", "t": "\\"'
        + "{" * 300
        + '"}\n'
    )
    table = read_lines(wide.encode(), "t")
    assert table.frame["s"].to_list() == ["[" * 300 + "\\"]
    assert table.frame["t"].to_list() == ['"' + "{" * 300]


@pytest.mark.parametrize("depth", [34, 100_000])
def test_a_line_that_would_overrun_the_stack_is_given_to_no_reader(monkeypatch, depth):
    monkeypatch.setattr(
        pl, "read_ndjson", lambda *given, **how: pytest.fail("it was given to the reader")
    )
    deep = b'{"a": 1}\n\n{"a": ' + b'[{"b": ' * (depth // 2) + b"1" + b"}]" * (depth // 2) + b"}\n"
    with pytest.raises(TableError, match="t, line 3: nested too deeply"):
        read_lines(deep)


def test_a_key_that_stands_twice_in_an_object_is_named(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "b": "\\"a\\": 2"}\n\n{"b": "x", "a" : 1, "a": 2}\n')
    with pytest.raises(
        TableError, match=r"t\.jsonl, line 3: the key 'a' stands twice in one object; keep it once"
    ):
        read_table(path)
    # In objects of their own, or in a text.
    path.write_text('{"a": [{"a": 1}, {"a": 2}], "b": ": \\"a\\":"}\n')
    assert read_table(path).frame.height == 1
    path.write_text('{"a": [{"a": 1, "k" : 2, "k": 3}]}\n')
    with pytest.raises(TableError, match="line 1: the key 'k' stands twice"):
        read_table(path)


def test_records_of_many_fields_have_them_in_the_order_of_their_names(tmp_path):
    record = {f"f{i * 7 % 50}": i for i in range(50)}
    line = {**record, "inside": record, "several": [record]}
    (tmp_path / "t.jsonl").write_text(
        json.dumps(line) + "\n" + json.dumps({**line, "late": 1}) + "\n"
    )
    frame = read_table(tmp_path / "t.jsonl").frame
    assert frame.columns == [*line, "late"]
    assert (
        frame["inside"].struct.fields == frame["several"].explode().struct.fields == sorted(record)
    )
    assert frame.row(0, named=True) == {**line, "late": None}


def test_many_keys_take_time_that_grows_with_their_number(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({f"k{i}": i for i in range(60_000)}) + "\n")
    start = perf_counter()
    with pytest.raises(TableError, match="has 60,000 columns"):
        read_table(path)
    # Two minutes and more, if each key is looked for among all others.
    assert perf_counter() - start < 30
