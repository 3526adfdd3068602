"""Files, folders and patterns: an output for each, in its place, and nothing that takes the place of something."""

import polars as pl
import pytest

from chary.jobs import FileTask, Predictor, Shard, is_one_file, label_file, output_of_one, plan_files
from chary.tables import TableError

TASK = FileTask("", "")


@pytest.fixture(name="predictor", scope="module")
def predictor_of_the_model(model_file):
    return Predictor(model_file.read_bytes())


@pytest.fixture(name="folder")
def folder_of_files(tmp_path, rows):
    for name in ("in/a.csv", "in/deep/b.csv", "in/deep/c.parquet"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        frame = rows(20)
        frame.write_csv(path) if name.endswith("csv") else frame.write_parquet(path)
    return tmp_path / "in"


def outputs(plan, root):
    return [str(path).removeprefix(f"{root}/") for path in sorted(task.output for task in plan.tasks)]


def test_one_file_is_one_that_is_named(folder):
    assert is_one_file([str(folder / "a.csv")])
    assert is_one_file(["-"])
    assert is_one_file(["nowhere.csv"])
    assert not is_one_file([str(folder)])
    assert not is_one_file([f"{folder}/*.csv"])
    assert not is_one_file(["a.csv", "b.csv"])
    assert output_of_one(str(folder / "a.csv"), None, "parquet") == folder / "a.predicted.parquet"
    assert output_of_one(str(folder / "a.csv"), folder / "out", None) == folder / "out" / "a.predicted.csv"


def test_outputs_keep_their_names_and_places(predictor, folder, tmp_path):
    out = tmp_path / "out"
    plan = plan_files(predictor, [str(folder)], out, TASK)
    assert outputs(plan, out) == ["a.csv"]
    assert plan.tasks[0].recorded
    plan = plan_files(predictor, [f"{folder}/**/*.*"], out, TASK)
    assert outputs(plan, out) == ["a.csv", "deep/b.csv", "deep/c.parquet"]
    plan = plan_files(predictor, [str(folder / "a.csv"), str(folder / "deep/b.csv")], out, TASK)
    assert outputs(plan, out) == ["a.csv", "deep/b.csv"]
    plan = plan_files(predictor, [f"{folder}/d*/*"], out, FileTask("", "", format="jsonl.gz"))
    assert outputs(plan, out) == ["deep/b.jsonl.gz", "deep/c.jsonl.gz"]
    plan = plan_files(predictor, [f"{folder}/deep/*"], None, TASK)
    assert outputs(plan, folder) == ["deep/b.predicted.csv", "deep/c.predicted.parquet"]


def test_shards_share_the_files_out(predictor, folder, tmp_path):
    parts = [plan_files(predictor, [f"{folder}/**/*"], tmp_path / "o", TASK, Shard(k, 2)) for k in (1, 2)]
    assert sorted(map(len, (plan.tasks for plan in parts))) == [1, 2]
    assert len({task.output for plan in parts for task in plan.tasks}) == 3
    assert plan_files(predictor, [f"{folder}/**/*"], tmp_path / "o", TASK, Shard(5, 9)).tasks == []
    with pytest.raises(TableError, match="There is no part 3 of 2"):
        plan_files(predictor, [str(folder)], None, TASK, Shard(3, 2))


def test_no_output_takes_the_place_of_an_input_or_of_another(predictor, folder, rows):
    plan = plan_files(predictor, [str(folder)], folder, TASK)
    assert (plan.tasks, len(plan.failed)) == ([], 1)
    assert "would take the place of an input; choose another folder" in str(plan.failed[0][1])
    rows(20).write_parquet(folder / "a.parquet")
    plan = plan_files(predictor, [f"{folder}/a.*"], folder / "out", FileTask("", "", format="csv"))
    assert len(plan.tasks) == 1
    assert "would both be written to" in str(plan.failed[0][1])


def test_what_is_finished_is_not_done_again_and_what_is_no_table_fails_alone(predictor, folder, tmp_path):
    out = tmp_path / "out"
    (folder / "z.csv").write_bytes(b"%PDF")
    plan = plan_files(predictor, [str(folder)], out, TASK)
    assert [name.rsplit("/", 1)[1] for name, _ in plan.failed] == ["z.csv"]
    label_file(predictor, plan.tasks[0])
    again = plan_files(predictor, [str(folder)], out, TASK)
    assert (again.tasks, [done.rows for done in again.done]) == ([], [20])
    pl.read_csv(folder / "a.csv")[:10].write_csv(folder / "a.csv")
    changed = plan_files(predictor, [str(folder)], out, TASK)
    assert "has changed since" in str(changed.failed[0][1])
    assert len(plan_files(predictor, [str(folder)], out, FileTask("", "", overwrite=True)).tasks) == 1
