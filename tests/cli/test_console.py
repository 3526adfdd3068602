"""What the commands share: quiet reading, paths that are free, figures that any program reads."""

import contextlib
import gc
import io
import json
import sys

import polars as pl
import pytest

from chary.cli import main
from chary.cli.console import (
    _import_uncollected,
    complain,
    open_table,
    print_json,
    require_free,
    steps,
    writing,
)
from chary.options import LabelOptions
from chary.tables import Table


def test_paths_must_be_free_and_their_folder_there(tmp_path):
    taken = tmp_path / "taken.csv"
    taken.touch()
    (tmp_path / "other.csv").touch()
    require_free([tmp_path / "new.csv"], force=False)
    require_free([taken], force=True)
    with pytest.raises(ValueError, match=r"taken.csv exists already; pass --force"):
        require_free([tmp_path / "new.csv", taken], force=False)
    with pytest.raises(
        ValueError,
        match=r"taken.csv, .*other.csv and .* exist already; pass --force to overwrite them",
    ):
        require_free([taken, tmp_path / "new.csv", tmp_path / "other.csv", tmp_path], force=False)
    require_free([tmp_path / "made" / "later" / "new.csv"], force=True)
    with pytest.raises(OSError, match=r"Cannot write in .*taken.csv.* \(not a directory\)"):
        require_free([taken / "deep" / "new.csv"], force=True)
    (tmp_path / "link.csv").symlink_to("nowhere")
    with pytest.raises(ValueError, match=r"link.csv exists already; pass --force"):
        require_free([tmp_path / "link.csv"], force=False)


def test_folders_are_made_and_where_writing_fails_no_file_stays(tmp_path):
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
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [old]
    assert old.read_text() == "mine"
    write()
    assert (deep.read_text(), old.read_text()) == ("new", "new")


@pytest.mark.parametrize("was_enabled", [True, False])
@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_garbage_is_collected_after_the_imports_if_it_was_before(monkeypatch, was_enabled, error):
    def import_nothing(name):
        assert not gc.isenabled()
        if error:
            raise error

    monkeypatch.setattr("chary.cli.console.import_module", import_nothing)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    if not was_enabled:
        gc.disable()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            _import_uncollected.__wrapped__()
        assert gc.isenabled() is was_enabled
    finally:
        gc.enable()


def test_a_damaged_file_is_one_sentence_and_the_error_stream_works_again(tmp_path, capfd):
    pl.DataFrame({"x": range(500), "y": ["a"] * 500}).write_parquet(tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(data[: len(data) // 2])
    assert main(["diagnose", str(tmp_path / "t.parquet"), "-t", "y"]) == 1
    err = capfd.readouterr().err
    assert err.startswith("chary: t.parquet is a damaged Parquet file")
    assert err.count("\n") == 1


MUCH, LITTLE = 1 << 40, 1 << 20


def test_tables_that_do_not_fit_are_read_in_parts(table, monkeypatch):
    for memory, in_memory in ((MUCH, True), (LITTLE, False)):
        found = open_table([table], LabelOptions(target="y", delimiter=";", memory=memory))
        assert isinstance(found, Table) == in_memory
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    assert isinstance(open_table(["-"], LabelOptions(target="y", memory=LITTLE)), Table)


def test_infinity_is_null_for_programs(capsys):
    print_json({"a": [1.5, float("inf")], "b": {"c": float("nan")}})
    assert json.loads(capsys.readouterr().out) == {"a": [1.5, None], "b": {"c": None}}


def test_foreign_text_is_visible_and_no_markup(capsys):
    complain("[bold]\x1b\u202e")
    assert capsys.readouterr().err == "chary: [bold]\\x1b\\u202e\n"


def test_steps_say_nothing_where_there_is_no_terminal(capsys):
    with steps() as step:
        step("Reading")
    assert capsys.readouterr() == ("", "")
