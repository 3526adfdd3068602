"""An output and its record: finished, or one sentence why it is not this run's."""

import json
from dataclasses import replace

import pytest

from chary.jobs.records import Record, digest_of, finished, read_record, record_path
from chary.tables import TableError


@pytest.fixture(name="made")
def made_output(tmp_path):
    source, output = tmp_path / "in.csv", tmp_path / "out" / "in.csv"
    output.parent.mkdir()
    source.write_text("a\n1\n")
    output.write_text("a,chary_label\n1,x\n")
    status = source.stat()
    record = Record(
        status.st_size,
        status.st_mtime_ns,
        digest_of(source),
        "m",
        {"format": "csv"},
        18,
        digest_of(output),
        1,
        {"x": 1},
    )
    path = record_path(output)
    path.parent.mkdir()
    path.write_bytes(record.text())
    return source, output, record


def test_a_finished_output_is_known_again(made):
    source, output, record = made
    assert record_path(output).parent.name == "_chary"
    assert read_record(output) == record
    assert finished(output, source, "m", {"format": "csv"}) == record
    source.touch()  # another time, the same content
    assert finished(output, source, "m", {"format": "csv"}) == record
    output.unlink()
    assert finished(output, source, "m", {"format": "csv"}) is None


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda source, output, record: output.write_text("torn"), "is not as it was written"),
        (lambda source, output, record: output.write_text("a,chary_label\n1,y\n"), "is not as it was written"),
        (lambda source, output, record: source.write_text("a\n2\n"), "has changed since .* was made of it"),
        (lambda source, output, record: source.write_text("a\n2\n3\n"), "has changed since .* was made of it"),
        (lambda source, output, record: record_path(output).unlink(), "no run of this kind wrote it"),
        (lambda source, output, record: record_path(output).write_text("{"), "no run of this kind wrote it"),
        (lambda source, output, record: record_path(output).write_text("[]"), "no run of this kind wrote it"),
        (
            lambda source, output, record: record_path(output).write_text(json.dumps({"version": 99})),
            "no run of this kind wrote it",
        ),
        (
            lambda source, output, record: record_path(output).write_bytes(
                replace(record, model_sha256="n").text()
            ),
            "was made with another model",
        ),
        (
            lambda source, output, record: record_path(output).write_bytes(replace(record, settings={}).text()),
            "was made with other settings",
        ),
    ],
)
def test_whatever_else_is_there_is_refused_in_one_sentence(made, spoil, why):
    source, output, record = made
    spoil(source, output, record)
    with pytest.raises(TableError, match=rf"{why}; pass overwrite=True|{why}; pass the parameter overwrite"):
        finished(output, source, "m", {"format": "csv"})
