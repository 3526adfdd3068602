"""What the commands share: quiet reading, paths that are free, figures that any program reads."""

import json
import subprocess
import sys

import polars as pl
import pytest

from chary.cli.console import plain, print_json, read_quietly, require_free, require_readable, steps, writing


def test_paths_must_be_free_and_their_folder_there(tmp_path):
    taken = tmp_path / "taken.csv"
    taken.touch()
    (tmp_path / "other.csv").touch()
    require_free([tmp_path / "new.csv"], force=False)
    require_free([taken], force=True)
    with pytest.raises(ValueError, match=r"taken.csv exists already; pass --force"):
        require_free([tmp_path / "new.csv", taken], force=False)
    with pytest.raises(
        ValueError, match=r"taken.csv, .*other.csv and .* exist already; pass --force to overwrite them"
    ):
        require_free([taken, tmp_path / "new.csv", tmp_path / "other.csv", tmp_path], force=False)
    require_free([tmp_path / "made" / "later" / "new.csv"], force=True)
    with pytest.raises(ValueError, match=r"taken.csv is a file, so nothing can be written in it"):
        require_free([taken / "deep" / "new.csv"], force=True)
    (tmp_path / "link.csv").symlink_to("nowhere")
    with pytest.raises(ValueError, match=r"link.csv exists already; pass --force"):
        require_free([tmp_path / "link.csv"], force=False)
    with pytest.raises(OSError, match="has room for"):
        require_free([tmp_path / "new.csv"], force=False, n_bytes=10**18)


def test_folders_are_made_and_where_writing_fails_nothing_stays(tmp_path):
    deep, old = tmp_path / "a" / "b" / "new.txt", tmp_path / "old.txt"
    old.write_text("mine")

    def write(error=None):
        with writing([deep, old], force=True) as files:
            for file in files:
                file.write(b"new")
            if error:
                raise error

    with pytest.raises(KeyboardInterrupt):
        write(KeyboardInterrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["old.txt"]
    assert old.read_text() == "mine"
    write()
    assert (deep.read_text(), old.read_text()) == ("new", "new")


@pytest.mark.parametrize("given", ["-", "in/*.csv"])
def test_standard_input_and_patterns_are_left_to_the_reader(given):
    require_readable(given)
    with pytest.raises(ValueError, match="cannot be read"):
        require_readable(given, "nowhere.csv")


def test_a_damaged_file_is_one_sentence_and_the_error_stream_works_again(tmp_path):
    pl.DataFrame({"x": range(500), "y": ["a"] * 500}).write_parquet(tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(data[: len(data) // 2])
    code = (
        "import sys; from pathlib import Path; from chary.cli.console import read_quietly\n"
        "try: read_quietly([Path(sys.argv[1])])\n"
        "except ValueError as error: print(error, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "t.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("t.parquet is a damaged Parquet file")
    assert done.stderr.count("\n") == 1


def test_a_table_is_read_as_by_read_table(tmp_path):
    (tmp_path / "t.csv").write_text("a:b\n1:2\n")
    assert read_quietly([tmp_path / "t.csv"], delimiter=":").frame.columns == ["a", "b"]


def test_infinity_is_null_for_programs(capsys):
    print_json({"a": [1.5, float("inf")], "b": {"c": float("nan")}})
    assert json.loads(capsys.readouterr().out) == {"a": [1.5, None], "b": {"c": None}}


def test_foreign_text_is_short_visible_and_no_markup():
    assert plain("[bold]\x1b\u202e", 40) == "\\[bold]\\x1b\\u202e"
    assert len(plain("x" * 100)) == 60


def test_steps_say_nothing_where_there_is_no_terminal(capsys):
    with steps() as step:
        step("Reading")
    assert capsys.readouterr() == ("", "")
