"""Files labelled block by block, by whoever: the same bytes, whole or absent."""

import io
import os
import signal
import subprocess
import sys
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from chary.labelling import Predictor, predict_files, predict_table
from chary.labelling.predict_files import FileTask, Resources, label_files, plan_files
from chary.options import PredictOptions
from chary.tables import Table, TableError, read_table, write_table
from chary.tables.source import open_source

GIB = 1 << 30
RESOURCES = Resources()


def into(out, **options):
    return PredictOptions(out=out, **options)


@pytest.fixture(name="predictor", scope="module")
def predictor_of_the_model(model_file):
    return Predictor.from_file(model_file)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("chary.labelling.score._BLOCK_ROWS", 50)
    monkeypatch.setattr("chary.tables.formats.csv.CHUNK", 2000)
    monkeypatch.setattr(predict_files, "GROUP_ROWS", 128)


def label_file(predictor, task, seen=lambda task, rows, share: None, resources=RESOURCES):
    """One file, or why it cannot be labelled."""
    (found,) = label_files(predictor, [task], resources, seen)
    if isinstance(found, Exception):
        raise found
    return found


def written(path, frame, kind):
    with path.open("wb") as file:
        write_table(Table(frame, path.name).written_as(kind), {}, file)
    return str(path)


def files(folder, rows, n=3, n_rows=200):
    """Tasks for so many files."""
    folder.mkdir(exist_ok=True)
    for k in range(n):
        rows(n_rows, seed=k).write_parquet(folder / f"{k}.parquet", row_group_size=70 + k)
    task = lambda k: FileTask(str(folder / f"{k}.parquet"), str(folder / "out" / f"{k}.parquet"))  # noqa: E731
    return [task(k) for k in range(n)]


# ---------------------------------------------------------------- one file


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", ["csv.gz", "jsonl", "parquet"])
def test_a_file_gets_the_labels_that_the_whole_table_gets(tmp_path, predictor, trained, rows, kind):
    source = written(tmp_path / f"t.{kind}", rows(330), kind)
    table, whole, found = read_table(source), tmp_path / f"whole.{kind}", tmp_path / f"o.{kind}"
    seen = []
    done = label_file(
        predictor, FileTask(source, str(found)), lambda _, rows, share: seen.append((rows, share))
    )
    expected = io.BytesIO()
    write_table(table, predict_table(trained, table), expected)
    whole.write_bytes(expected.getvalue())
    assert (
        open_source(found, reserved=())
        .read()
        .frame.equals(open_source(whole, reserved=()).read().frame)
    )
    assert kind != "jsonl" or found.read_bytes() == whole.read_bytes()
    assert done.rows == sum(done.labels.values()) == 330
    assert seen == sorted(seen)
    assert seen[-1] == (330, 1.0)


@pytest.mark.usefixtures("small_blocks")
def test_the_bytes_depend_on_nothing_but_file_model_and_settings(tmp_path, predictor, rows):
    frame = rows(700)
    found = set()
    for k, (group, threads) in enumerate([(700, 1), (90, 3), (1, 2), (333, 1)]):
        source = tmp_path / f"{k}.parquet"
        frame.write_parquet(
            source, row_group_size=group, compression="zstd" if k % 2 else "uncompressed"
        )
        task = FileTask(str(source), str(tmp_path / f"o{k}.parquet"))
        label_file(predictor, task, resources=Resources(1, threads))
        found.add((tmp_path / f"o{k}.parquet").read_bytes())
    assert len(found) == 1


def test_formats_probabilities_and_acceptance(tmp_path, model_file, rows):
    source = written(tmp_path / "t.parquet", rows(120), "parquet")
    predictor = Predictor(model_file.read_bytes(), probabilities=True, threshold=0.5)
    label_file(
        predictor, FileTask(source, str(tmp_path / "o.jsonl"), PredictOptions(format="jsonl"))
    )
    found = pl.read_ndjson(tmp_path / "o.jsonl")
    assert found.columns == [*rows(1).columns, *predictor.schema]
    assert found["id"].to_list() == list(range(120))


def test_what_is_wrong_leaves_nothing(tmp_path, predictor, rows, monkeypatch):
    def refused(frame, match, resources=RESOURCES, **settings):
        source = written(tmp_path / "bad.parquet", frame, "parquet")
        with pytest.raises(TableError, match=match):
            label_file(
                predictor,
                FileTask(source, str(tmp_path / "made" / "o.parquet"), **settings),
                resources=resources,
            )
        assert not list((tmp_path / "made").iterdir())

    odd = pl.concat([rows(100), rows(100).with_columns(price=pl.lit("5.25 $"))])
    refused(odd, r"bad.parquet: Column 'price' holds '5.25 \$': 100 of 200 cells cannot be read")
    refused(rows(60).drop("city"), "bad.parquet: Column 'city' is missing")
    refused(rows(60).rename({"id": "chary_label"}), "a column 'chary_label'")
    refused(
        rows(60),
        "takes more than the 1 MiB allowed; pass more with the parameter memory",
        resources=Resources(1, 1, 1 << 20),
    )
    refused(rows(60), "without sheets", options=PredictOptions(sheet="one"))
    real = predict_files._write

    def changed(*of_the_file):
        real(*of_the_file)
        pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "bad.parquet")

    monkeypatch.setattr(predict_files, "_write", changed)
    refused(rows(60), "bad.parquet was changed while it was read")


@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"), reason="the system tells no peak of memory"
)
def test_long_cells_that_are_short_in_the_file_do_not_fill_the_memory(tmp_path, model_file, rows):
    """Make a file of kilobytes whose cells take gigabytes; in a process of its own."""
    n = 20_000
    long = pl.Series(["Ulm " * 5000, "Bonn " * 4000]).gather([k % 2 for k in range(n)])
    frame = rows(n).with_columns(city=long, note=long)
    frame.write_parquet(tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 2**21
    script = f"""
from chary.labelling.predict_files import FileTask, Predictor, Resources, label_files
predictor = Predictor.from_file({str(model_file)!r})
task = FileTask({str(tmp_path / "t.parquet")!r}, {str(tmp_path / "o.parquet")!r})
assert label_files(predictor, [task], Resources(1, 1, 600 << 20))[0].rows == {n}
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) >> 10 < 600


def test_row_groups_of_long_rows_are_smaller(monkeypatch):
    def of_cells(n_rows, n_bytes):
        return predict_files.group_rows(pl.DataFrame({"text": ["x" * n_bytes] * n_rows}))

    assert of_cells(10, 1) == of_cells(0, 1) == predict_files.GROUP_ROWS
    # 64 MiB in a group, whatever the number of rows that it is reckoned from.
    for n_rows in (2, 8):
        assert of_cells(n_rows, 1 << 20) == pytest.approx(64, abs=1)
    monkeypatch.setattr(predict_files, "_MAX_GROUP_BYTES", 100)
    assert of_cells(2, 1_000) == 1


def test_files_that_are_labelled_together_share_their_memory(
    tmp_path, predictor, rows, monkeypatch
):
    asked = []
    monkeypatch.setattr(predict_files, "refuse_memory", lambda name, memory: asked.append(memory))
    label_files(predictor, files(tmp_path, rows, n=2, n_rows=20), Resources(2, 1, GIB))
    assert set(asked) == {2 * GIB}


# ---------------------------------------------------------------- plans


@pytest.fixture(name="folder")
def folder_of_files(tmp_path, rows):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for name, kind in (("a.csv", "csv"), ("deep/b.csv", "csv"), ("deep/c.parquet", "parquet")):
        written(tmp_path / "in" / name, rows(20), kind)
    return tmp_path / "in"


def test_outputs_keep_their_names_and_places(folder, tmp_path):
    out = tmp_path / "out"

    def outputs(given, out, root, format=None):
        plan = plan_files(given, into(out, format=format))
        return [os.path.relpath(path, root) for path in sorted(task.output for task in plan.tasks)]

    assert outputs([str(folder)], out, out) == ["a.predicted.csv"]
    every = ["a.predicted.csv", "deep/b.predicted.csv", "deep/c.predicted.parquet"]
    assert outputs([f"{folder}/**/*.*"], out, out) == every
    assert outputs([str(folder / "a.csv"), str(folder / "deep/b.csv")], out, out) == every[:2]
    assert outputs([str(folder), str(folder / "deep")], out, out) == every
    found = outputs([f"{folder}/d*/*"], out, out, format="jsonl.gz")
    assert found == ["deep/b.predicted.jsonl.gz", "deep/c.predicted.jsonl.gz"]
    assert outputs([f"{folder}/deep/*"], None, folder) == [
        "deep/b.predicted.csv",
        "deep/c.predicted.parquet",
    ]
    assert outputs([str(folder / "a.csv")], None, folder, format="parquet") == [
        "a.predicted.parquet"
    ]


def test_what_is_elsewhere_is_refused():
    with pytest.raises(TableError, match="cannot be read"):
        plan_files(["https://example.org/t.csv"], into(None))


def test_no_output_takes_the_place_of_an_input_or_of_another(folder, rows):
    rows(20).write_csv(folder / "a.predicted.csv")
    plan = plan_files([f"{folder}/a.csv", f"{folder}/a.predicted.csv"], into(None))
    assert (len(plan.tasks), len(plan.failed)) == (1, 1)
    assert "would take the place of an input; rename one" in str(plan.failed[0][1])
    (folder / "a.predicted.csv").unlink()
    rows(20).write_parquet(folder / "a.parquet")
    plan = plan_files([f"{folder}/a.*"], into(folder / "out", format="csv"))
    assert len(plan.tasks) == 1
    assert "would both be written to" in str(plan.failed[0][1])


def test_what_is_there_is_not_made_again_and_what_is_no_table_fails_alone(
    predictor, folder, tmp_path
):
    out = tmp_path / "out"
    (folder / "z.csv").write_bytes(b"%PDF")
    plan = plan_files([str(folder)], into(out))
    assert [name.rsplit("/", 1)[1] for name, _ in plan.failed] == ["z.csv"]
    label_file(predictor, plan.tasks[0])
    again = plan_files([str(folder)], into(out))
    assert again.tasks == []
    assert again.notes[-1].endswith("1 output (the first is a.predicted.csv).")
    alone = plan_files([str(folder / "a.csv")], into(out))
    assert "a.predicted.csv exists already; pass the parameter force to overwrite" in str(
        alone.failed[0][1]
    )
    assert len(plan_files([str(folder)], into(out, force=True)).tasks) == 1


# ---------------------------------------------------------------- who labels them


def outputs(tasks):
    return [
        Path(task.output).read_bytes() if os.path.exists(task.output) else None for task in tasks
    ]


def elsewhere(tasks, folder):
    return [replace(task, output=str(folder / os.path.basename(task.output))) for task in tasks]


def test_any_number_of_threads_writes_the_same_bytes_and_a_bad_file_costs_itself_alone(
    predictor, tmp_path, rows
):
    tasks = files(tmp_path, rows)
    (tmp_path / "torn.csv").write_text("a,b\n1\n")
    tasks.append(FileTask(str(tmp_path / "torn.csv"), str(tmp_path / "out" / "torn.csv")))
    *done, torn = label_files(predictor, tasks, Resources(1, 1, GIB))
    expected = outputs(tasks)
    assert [one.rows for one in done] == [200] * 3
    assert "torn.csv, line 2: 1 cells where the header has 2" in str(torn)
    seen = []
    by_threads = elsewhere(tasks, tmp_path / "threads")
    told = lambda task, rows, share: seen.append((os.path.basename(task.source), rows, share))  # noqa: E731
    *found, torn = label_files(predictor, by_threads, Resources(2, 1, GIB), told)
    assert outputs(by_threads) == expected
    assert [replace(one, output=was.output) for one, was in zip(found, done, strict=True)] == done
    assert isinstance(torn, TableError)
    assert {(f"{k}.parquet", 200, 1.0) for k in range(3)} | {("torn.csv", 0, 1.0)} <= set(seen)
    left = sorted(path.name for path in (tmp_path / "threads").rglob("*"))
    assert left == [f"{k}.parquet" for k in range(3)]


def test_a_lost_worker_of_a_dask_cluster_costs_only_its_file(predictor, tmp_path, rows):
    distributed = pytest.importorskip("distributed")
    tasks = files(tmp_path, rows, n=2, n_rows=50)
    by_dask = elsewhere(tasks, tmp_path / "dask")
    (tmp_path / "torn.csv").write_text("a,b\n1\n")
    by_dask.append(FileTask(str(tmp_path / "torn.csv"), str(tmp_path / "dask" / "torn.csv")))
    label_files(predictor, tasks, Resources(1, 1, GIB))
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        with distributed.Client(cluster) as client:
            pids = list(client.run(os.getpid).values())

        def kill(task, rows, share):
            if pids:
                os.kill(pids.pop(), signal.SIGKILL)

        address = cluster.scheduler_address
        *done, torn = label_files(predictor, by_dask, Resources(1, 1, GIB), kill, scheduler=address)
    assert outputs(by_dask[:2]) == outputs(tasks)
    assert [one.rows for one in done] == [50] * 2
    assert "torn.csv, line 2: 1 cells where the header has 2" in str(torn)


def test_a_file_that_kills_its_workers_is_given_up(predictor, tmp_path, rows, monkeypatch):
    distributed = pytest.importorskip("distributed")

    @contextmanager
    def deadly(*_):
        lost = Future()
        lost.set_exception(distributed.KilledWorker("task", None, 2))
        yield lambda task: lost

    monkeypatch.setattr(predict_files, "_dask", deadly)
    (task,) = files(tmp_path, rows, n=1, n_rows=20)
    (found,) = label_files(
        predictor, [task], Resources(1, 1, GIB), scheduler="tcp://127.0.0.1:8786"
    )
    assert str(found) == f"{task.source}: the workers that labelled it died."


def test_what_is_interrupted_is_taken_back(predictor, tmp_path, rows, monkeypatch):
    tasks = files(tmp_path, rows, n=4, n_rows=1_000)
    monkeypatch.setattr("chary.labelling.score._BLOCK_ROWS", 100)
    # Polars has put one of its own in place.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    told = []

    def interrupt(task, rows, share):
        if not told:
            told.append(task)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        label_files(predictor, tasks, Resources(2, 1, GIB), interrupt)
    out = tmp_path / "out"
    names = {path.name for path in out.glob("*.parquet")}
    assert len(names) < len(tasks)
    assert not list(out.rglob("*.part"))


def test_a_fault_is_one_of_the_run(predictor, tmp_path, rows, monkeypatch):
    def broken(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(predict_files, "label_file", broken)
    with pytest.raises(RuntimeError, match="broken"):
        label_files(predictor, files(tmp_path, rows, n=2, n_rows=20), Resources(2, 1, GIB))
    assert not list((tmp_path / "out").iterdir())


def test_what_a_run_may_use(predictor, monkeypatch):
    monkeypatch.setattr(predict_files, "cpu_count", lambda: 8)
    assert Resources.of(100, 64 * GIB) == (8, 1, 8 * GIB)
    assert Resources.of(3, 64 * GIB)[:2] == (3, 2)
    assert Resources.of(100, GIB)[:2] == (2, 4)
    assert Resources.of(0, GIB).jobs == 1
    assert Resources() == (1, 1, 2 * GIB)
    assert Resources.of(100, 400 << 20) == (1, 8, 400 << 20)
    with pytest.raises(TableError, match=r"needs at least 400 MiB, but only 100 MiB are allowed"):
        Resources.of(100, 100 << 20)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(TableError, match=r"needs the package dask: pip install 'chary\[dask\]'"):
        label_files(predictor, [], Resources(1, 1, GIB), scheduler="tcp://127.0.0.1:8786")


def test_cores_and_memory_are_shared_out_among_as_many_files_as_they_allow(monkeypatch):
    monkeypatch.setattr(predict_files, "cpu_count", lambda: 8)
    assert Resources.of(3, 6 * GIB) == Resources(jobs=3, threads=2, memory=2 * GIB)
    assert Resources.of(20, 60 * GIB).jobs == 8
    assert Resources.of(20, 2 * predict_files._MIN_MEMORY).jobs == 2
