"""One file labelled block by block: the labels of the whole table, whole or absent, and the same bytes always."""

import io
import os
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest

from chary.jobs import FileTask, Predictor, label_file, predict_table, streamed
from chary.jobs.records import finished, read_record
from chary.tables import Table, TableError, read_table, write_table


@pytest.fixture(name="predictor", scope="module")
def predictor_of_the_model(model_file):
    return Predictor(model_file.read_bytes())


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("chary.jobs.predict._BLOCK_ROWS", 50)
    monkeypatch.setattr("chary.tables.streaming._CHUNK", 2000)
    monkeypatch.setattr(streamed, "GROUP_ROWS", 128)


def written(path, frame, kind):
    with path.open("wb") as file:
        write_table(Table(frame, path.name).written_as(kind), {}, file)
    return str(path)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet", "arrow"])
def test_a_file_gets_the_labels_that_the_whole_table_gets(tmp_path, predictor, trained, rows, kind):
    frame = rows(330).drop("x").with_columns(x=rows(330)["x"].round(3))
    source = written(tmp_path / f"t.{kind}", frame, kind)
    table = read_table(source)
    seen = []
    done = label_file(
        predictor, FileTask(source, str(tmp_path / f"o.{kind}")), lambda rows, share: seen.append((rows, share))
    )
    expected = io.BytesIO()
    write_table(table, predict_table(trained, table), expected)
    whole = tmp_path / f"whole.{kind}"
    whole.write_bytes(expected.getvalue())
    read = lambda path: read_table(path).frame.rename({"chary_label": "l"})  # noqa: E731
    with pytest.raises(TableError, match="already has a column 'chary_label'"):
        read(whole)
    from chary.tables.reading import read_labelled

    assert read_labelled(tmp_path / f"o.{kind}").frame.equals(read_labelled(whole).frame)
    if kind in ("csv", "jsonl"):
        assert (tmp_path / f"o.{kind}").read_bytes() == expected.getvalue()
    assert sum(n for n, _ in seen) == done.rows == sum(done.labels.values()) == 330
    assert seen[-1][1] == 1.0


def test_the_bytes_depend_on_nothing_but_file_model_and_settings(tmp_path, predictor, rows):
    frame = rows(700)
    found = set()
    for k, (group, threads) in enumerate([(700, 1), (90, 3), (1, 2), (333, 1)]):
        source = tmp_path / f"{k}.parquet"
        frame.write_parquet(source, row_group_size=group, compression="zstd" if k % 2 else "uncompressed")
        label_file(predictor, FileTask(str(source), str(tmp_path / f"o{k}.parquet"), threads=threads))
        found.add((tmp_path / f"o{k}.parquet").read_bytes())
    assert len(found) == 1


def test_columns_formats_probabilities_and_acceptance(tmp_path, model_file, rows):
    source = written(tmp_path / "t.parquet", rows(120), "parquet")
    predictor = Predictor(model_file.read_bytes(), columns=["city", "id"], probabilities=True, threshold=0.5)
    label_file(predictor, FileTask(source, str(tmp_path / "o.jsonl"), format="jsonl"))
    found = pl.read_ndjson(tmp_path / "o.jsonl")
    assert found.columns == ["city", "id", *predictor.schema]
    assert found["id"].to_list() == list(range(120))
    lines = written(tmp_path / "t.jsonl", rows(120), "jsonl")
    label_file(predictor, FileTask(lines, str(tmp_path / "p.jsonl")))
    assert (tmp_path / "p.jsonl").read_bytes() == (tmp_path / "o.jsonl").read_bytes()


def test_what_is_wrong_leaves_nothing(tmp_path, predictor, rows, monkeypatch):
    def refused(frame, match, **settings):
        source = written(tmp_path / "bad.parquet", frame, "parquet")
        with pytest.raises(TableError, match=match):
            label_file(predictor, FileTask(source, str(tmp_path / "made" / "o.parquet"), **settings))
        assert not (tmp_path / "made").exists()

    odd = pl.concat([rows(100), rows(100).with_columns(price=pl.lit("5.25 $"))])
    refused(odd, r"bad.parquet: Column 'price' holds '5.25 \$': 100 of 200 cells cannot be read")
    refused(rows(60).drop("city"), "bad.parquet: Column 'city' is missing")
    refused(
        rows(60).rename({"id": "chary_label"}),
        "already has a column 'chary_label'|There is a column 'chary_label'",
    )
    refused(
        rows(60),
        "takes more than the 1 MiB allowed, near row .* pass more with the parameter memory",
        memory=1 << 20,
    )
    refused(rows(60), "has no sheets", sheet="one")
    real = streamed._write

    def changed(work, *rest):
        real(work, *rest)
        pl.DataFrame({"a": [1]}).write_parquet(work.task.source)

    monkeypatch.setattr(streamed, "_write", changed)
    refused(rows(60), "bad.parquet changed while it was read; label it again")


def test_a_finished_file_is_neither_made_again_nor_overwritten(tmp_path, predictor, rows):
    source, output = written(tmp_path / "t.csv", rows(60), "csv"), tmp_path / "o" / "t.csv"
    task = FileTask(source, str(output), recorded=True)
    done = label_file(predictor, task)
    before = output.stat().st_ino
    assert label_file(predictor, task) == done
    assert output.stat().st_ino == before
    assert read_record(output) == finished(output, tmp_path / "t.csv", predictor.digest, task.settings)
    with pytest.raises(FileExistsError):
        label_file(predictor, replace(task, recorded=False))
    output.unlink()  # as if the run had ended after the record
    label_file(predictor, task)
    label_file(predictor, replace(task, overwrite=True))
    assert output.stat().st_ino != before
    assert sorted(path.name for path in output.parent.rglob("*")) == ["_chary", "t.csv", "t.csv.json"]


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the system tells no peak of memory")
def test_long_cells_that_are_short_in_the_file_do_not_fill_the_memory(tmp_path, model_file, rows):
    """A file of some kilobytes whose cells take gigabytes when written out; in a process of its own."""
    n = 40_000
    long = pl.Series(["Ulm " * 5000, "Bonn " * 4000]).gather([k % 2 for k in range(n)])
    frame = rows(n).with_columns(city=long, note=long)
    frame.write_parquet(tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 2**21
    script = f"""
import sys
from chary.jobs import FileTask, Predictor, label_file
predictor = Predictor(open({str(model_file)!r}, "rb").read(), columns=["id"])
label_file(predictor, FileTask({str(tmp_path / "t.parquet")!r}, {str(tmp_path / "o.parquet")!r}, memory=900 << 20))
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) >> 10 < 900
