"""The same bytes from one process, several and two shards; and what a run may use. Dask: ``test_cluster``."""

import pytest

from chary.jobs import FileTask, Means, Predictor, Shard, engines, free_memory, label_files, n_cores, plan_files
from chary.tables import TableError

GIB = 1 << 30


@pytest.fixture(name="predictor", scope="module")
def predictor_of_the_model(model_file):
    return Predictor(model_file.read_bytes())


@pytest.fixture(name="folder", scope="module")
def folder_of_files(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("in")
    for k in range(4):
        rows(300, seed=k).write_parquet(folder / f"{k}.parquet", row_group_size=100 + 77 * k)
    (folder / "torn.csv").write_text("a,b\n1\n")
    return folder


def run(model_file, predictor, folder, out, jobs=1, shard=None):
    plan = plan_files(predictor, [str(folder)], out, FileTask("", ""), shard)
    events = []
    label_files(model_file, predictor, plan.tasks, Means(jobs, 1, GIB), events.append)
    assert sum(event.rows for event in events) == 300 * sum(event.kind == "done" for event in events)
    return {path.name: path.read_bytes() for path in out.glob("*.parquet")}, events


def test_the_outputs_are_the_same_to_the_byte(model_file, predictor, folder, tmp_path):
    alone, events = run(model_file, predictor, folder, tmp_path / "1")
    assert len(alone) == 4
    (failed,) = [event for event in events if event.kind == "failed"]
    assert "torn.csv, line 2: 1 cells where the header has 2" in str(failed.error)
    assert run(model_file, predictor, folder, tmp_path / "2", jobs=2)[0] == alone
    for k in (1, 2):
        shards, _ = run(model_file, predictor, folder, tmp_path / "shards", shard=Shard(k, 2))
    assert shards == alone


def test_what_a_run_may_use(monkeypatch):
    monkeypatch.setattr(engines, "n_cores", lambda: 8)
    assert Means.of(100, None, 64 * GIB) == (8, 1, 8 * GIB)
    assert Means.of(3, None, 64 * GIB)[:2] == (3, 2)
    assert Means.of(100, None, GIB)[:2] == (2, 4)
    assert Means.of(100, 4, 4 * GIB) == (4, 2, GIB)
    assert Means.of(0, None, GIB).jobs == 1
    with pytest.raises(TableError, match=r"4 at a time need 1,600 MiB at least, and 1,024 MiB are allowed"):
        Means.of(100, 4, GIB)
    assert n_cores() >= 1
    assert free_memory() > 0


def test_no_other_engine(model_file, predictor):
    with pytest.raises(TableError, match="There is no engine 'spark'"):
        label_files(model_file, predictor, [], Means(1, 1, GIB), print, engine="spark")
