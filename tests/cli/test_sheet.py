"""Filling in a sheet at a terminal: a key for each class, every answer saved, nothing lost."""

import json
import os
import subprocess
import sys
import threading
import time

import polars as pl
import pytest
import typer

pytestmark = pytest.mark.usefixtures("quick_learners")


def test_fill_takes_a_key_for_each_class(drawn, run, keys, answers):
    path, truth = drawn
    keys(["12"[name == "dog"] for name in truth] + ["x"])
    code, out, _ = run("audit", "fill", path)
    assert code == 0
    assert answers(path) == truth
    assert "8 labelled, 0 skipped, 0 left" in out
    assert f"chary label {path.with_name('animals.csv')} --target animal --audit {path}\n" in out


def test_fill_undoes_skips_ignores_other_keys_and_takes_new_classes(drawn, run, keys, answers):
    path, _ = drawn
    keys(list("1u2s9~n1nuq"), typed="fox|")
    code, out, _ = run("audit", "fill", path)
    assert code == 0
    assert answers(path) == ["dog", "?", "fox", "", "", "", "", ""]
    assert "2 labelled, 1 skipped, 5 left" in out


@pytest.mark.parametrize("typed", ["", "  ", "\x1b", "\x1bfox"])
def test_the_question_for_another_class_can_be_left(drawn, monkeypatch, typed, run, answers):
    path, _ = drawn
    asked = []
    monkeypatch.setattr("builtins.input", lambda prompt: asked.append(prompt) or typed)
    pressed = list("n2")
    monkeypatch.setattr(typer, "getchar", lambda: pressed.pop(0) if pressed else "q")
    assert run("audit", "fill", path)[0] == 0
    assert asked == ["A class that is not in the list (Enter: back): "]
    assert answers(path) == ["dog", *[""] * 7]


def test_ctrl_c_at_the_question_for_another_class_ends_as_elsewhere(drawn, monkeypatch, run, keys):
    def interrupted(prompt):
        raise KeyboardInterrupt

    path, _ = drawn
    keys("1n")
    monkeypatch.setattr("builtins.input", interrupted)
    code, out, err = run("audit", "fill", path)
    assert code == 130
    assert "1 labelled, 0 skipped, 7 left" in out
    assert err == "chary: Interrupted; no file was left half-written.\n"


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_a_real_ctrl_c_ends_the_question(drawn):
    import pty

    ours, theirs = pty.openpty()
    code = "import os, sys; os.setsid(); import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    code += "from chary.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "audit", "fill", str(drawn[0])]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        timer = threading.Timer(60, process.kill)
        timer.start()
        for sign, key in ((b"quit and go on later", b"n"), (b"(Enter: back): ", b"\x03")):
            seen = b""
            while sign not in seen:
                seen += os.read(ours, 4096)
            time.sleep(0.3)  # until it reads
            os.write(ours, key)
        assert process.wait() == 130
        timer.cancel()
    os.close(ours)


def test_keys_that_mean_nothing_are_said_so_and_answer_nothing(drawn, run, keys, answers):
    path, _ = drawn
    keys(["x", "12", "\x1b[A", "q"])  # two keys at once and an arrow arrive as one text
    _, out, _ = run("audit", "fill", path)
    for said in ("no such key: x\n", "no such key: 12\n", "no such key\n"):
        assert said in out
    assert answers(path) == [""] * 8
    keys([""])  # the end of the input
    assert run("audit", "fill", path)[0] == 0
    assert answers(path) == [""] * 8


def test_progress_and_end_count_alike(drawn, run, keys):
    path, _ = drawn
    keys("1s2q")
    _, out, _ = run("audit", "fill", path)
    assert "row 4 of 8: 2 labelled, 1 skipped, 5 left" in out
    assert f"\n2 labelled, 1 skipped, 5 left: {path}\nNext:  chary audit fill {path}\n" in out


def test_fill_resumes_and_can_undo_what_was_answered_before(drawn, run, keys, answers):
    path, _ = drawn
    keys("12q")
    run("audit", "fill", path)
    keys("u1q")
    run("audit", "fill", path)
    assert answers(path)[:3] == ["cat", "cat", ""]
    keys("111111u2x")
    run("audit", "fill", path)
    assert answers(path) == ["cat"] * 7 + ["dog"]


def test_nothing_is_lost_on_ctrl_c(drawn, monkeypatch, run, answers):
    path, _ = drawn
    pressed = list("12")

    def press():
        if pressed:
            return pressed.pop(0)
        raise KeyboardInterrupt

    monkeypatch.setattr(typer, "getchar", press)
    code, out, _ = run("audit", "fill", path)
    assert code == 130
    assert f"\n2 labelled, 0 skipped, 6 left: {path}\nNext:  chary audit fill {path}\n" in out
    assert answers(path)[:3] == ["cat", "dog", ""]
    assert [p.name for p in path.parent.iterdir() if p.name.startswith(".")] == []


def test_fill_without_terminal_says_so(drawn, monkeypatch, run):
    def nothing():
        raise OSError("no tty")

    monkeypatch.setattr(typer, "getchar", nothing)
    code, _, err = run("audit", "fill", drawn[0])
    assert code == 1
    assert "needs a terminal" in err
    monkeypatch.setattr(typer, "getchar", lambda: (_ for _ in ()).throw(EOFError))
    assert run("audit", "fill", drawn[0])[0] == 0


def test_fill_keeps_whatever_else_is_in_the_file(drawn, run, keys):
    path, _ = drawn
    frame = pl.read_csv(path, infer_schema=False).with_columns(pl.lit("=1+1, [bold]").alias("remark")).reverse()
    frame.write_csv(path, separator=";")
    keys("1q")
    assert run("audit", "fill", path)[0] == 0
    again = pl.read_csv(path, infer_schema=False, separator=";")
    assert again.drop("animal").equals(frame.drop("animal"))
    assert again["animal"][0] == "cat"


def test_many_columns_and_many_classes_fit_the_screen(tmp_path, monkeypatch, run, lines):
    n = 200
    cells = {f"column {j}": [f"cell {j}"] * n for j in range(150)}
    labels = [f"class {i % 40}" if i < 120 else None for i in range(n)]
    path = tmp_path / "wide.csv"
    pl.DataFrame({**cells, "y": labels}).write_csv(path)
    assert run("audit", "draw", path, "-t", "y", "-k", 3)[0] == 0
    lines("12", "CLASS 7", "99", "", ":q")
    monkeypatch.setenv("LINES", "30")
    code, out, _ = run("audit", "fill", tmp_path / "wide.audit.csv")
    assert code == 0
    assert "of the 40 classes" in out
    assert " 12  class 19 " in out
    assert "'99' is no class in the list" in out
    assert "more columns in the file" in out
    found = pl.read_csv(tmp_path / "wide.audit.csv", infer_schema=False)["y"].fill_null("").to_list()
    classes = json.loads(pl.read_csv(tmp_path / "wide.audit.csv")["chary_classes"][0])["y"]
    assert found == [classes[11], "class 7", ""]


def test_among_many_classes_none_is_taken_for_an_action(tmp_path, monkeypatch, run, lines):
    names = ["Berlin", "n", "s", "q", "u", "A", "a", *(f"c{i:02d}" for i in range(30))]
    path = tmp_path / "t.csv"
    pl.DataFrame({"x": range(200), "y": [names[i % 37] if i < 111 else None for i in range(200)]}).write_csv(path)
    run("audit", "draw", path, "-t", "y", "-k", 9, "--exact-labels")
    lines(
        "n",
        "s",
        "q",
        "u",
        "berlin",
        "a",
        ":s",
        ":n  New York",
        ":u",
        ":n",
        ":n Quito",
        "c0",
        "C01",
        "",
    )
    code, out, _ = run("audit", "fill", tmp_path / "t.audit.csv")
    assert code == 0
    found = pl.read_csv(tmp_path / "t.audit.csv", infer_schema=False)["y"].to_list()
    assert found == ["n", "s", "q", "u", "Berlin", "a", "?", "Quito", "c01"]
    assert "'c0' is no class in the list" in out
    assert "no name: type it after :n" in out
    assert "8 labelled, 1 skipped, 0 left" in out


def test_many_classes_that_are_numbers_are_meant_by_name(tmp_path, run, lines):
    path = tmp_path / "t.csv"
    pl.DataFrame({"x": range(200), "y": [str(40 - i % 40) if i < 120 else None for i in range(200)]}).write_csv(
        path
    )
    run("audit", "draw", path, "-t", "y", "-k", 3)
    lines("7", "40", "41", ":q")
    run("audit", "fill", tmp_path / "t.audit.csv")
    assert pl.read_csv(tmp_path / "t.audit.csv", infer_schema=False)["y"].to_list() == ["7", "40", None]


def test_hostile_cells_reach_the_screen_as_text(tmp_path, run, keys):
    evil = ["[red]x[/red]", "\x1b[2J", "\u202eabc", "=cmd()"] * 20
    path = tmp_path / "evil.csv"
    pl.DataFrame({"x": range(80), "e\x1b[1m": evil, "y": ["a", "b"] * 20 + [None] * 40}).write_csv(path)
    assert run("audit", "draw", path, "-t", "y", "-k", 4)[0] == 0
    keys("1111x")
    _, out, _ = run("audit", "fill", tmp_path / "evil.audit.csv")
    assert "\x1b[2J" not in out.replace("\x1b[2J\x1b[H", "")
    assert "\u202e" not in out


def test_a_sheet_behind_a_link_is_the_one_that_is_filled_in(drawn, run, keys, answers):
    path, _ = drawn
    real = path.parent / "elsewhere" / "real.csv"
    real.parent.mkdir()
    path.rename(real)
    real.chmod(0o600)
    path.symlink_to(real)
    keys("12q")
    assert run("audit", "fill", path)[0] == 0
    assert path.is_symlink()
    assert answers(real)[:3] == ["cat", "dog", ""]
    assert real.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in real.parent.iterdir()] == ["real.csv"]


def test_remains_of_a_killed_start_are_swept_at_the_next(drawn, run, keys):
    path, _ = drawn
    code = (
        "import os, sys; from chary._files import atomic_write\n"
        "with atomic_write(sys.argv[1], overwrite=True): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert len(list(path.parent.glob(".*.part"))) == 1
    keys("q")
    assert run("audit", "fill", path)[0] == 0
    assert list(path.parent.glob(".*.part")) == []
