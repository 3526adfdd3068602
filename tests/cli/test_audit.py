"""The commands around an audit, as a person types them."""

import json
import os
import random
import shlex
import subprocess
import sys
import threading
import time

import numpy as np
import polars as pl
import pytest
import typer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chary import DiverseEnsembleClassifier
from chary.cli import main
from chary.jobs.model_file import save


@pytest.fixture(name="table")
def table_of_animals(tmp_path):
    rng = np.random.default_rng(0)
    size, speed = rng.normal(size=(2, 300))
    animal = np.where(size + speed + 0.3 * rng.normal(size=300) > 0, "dog", "cat").astype(object)
    truth = animal.copy()
    animal[~((size > 0.5) & (rng.random(300) < 0.5) | (size < -1.2))] = None
    frame = pl.DataFrame(
        {"size": size, "speed": speed, "name": [f"n{i}" for i in range(300)], "animal": animal.tolist()}
    )
    path = tmp_path / "animals.csv"
    frame.write_csv(path)
    return path, truth


def run(capsys, *words):
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


def keys(monkeypatch, pressed, typed=""):
    """Press these keys; the last one and then nothing more."""
    left, lines = list(pressed), typed.split("|")
    monkeypatch.setattr(typer, "getchar", lambda: left.pop(0) if left else "q")
    monkeypatch.setattr("builtins.input", lambda prompt: lines.pop(0))
    return left


def lines(monkeypatch, *typed):
    """Type these lines, then nothing more."""
    left = list(typed)

    def line(prompt):
        if left:
            return left.pop(0)
        raise EOFError

    monkeypatch.setattr("builtins.input", line)


def answers(path):
    return pl.read_csv(path, infer_schema=False)["animal"].fill_null("").to_list()


def row_numbers(path):
    return [int(token.split("row ")[1].split(" of")[0]) - 1 for token in pl.read_csv(path)["chary_row"]]


@pytest.fixture(name="drawn")
def drawn_audit(table, capsys):
    path, truth = table
    assert run(capsys, "audit", "draw", path, "-t", "animal", "-k", 8)[0] == 0
    drawn = path.with_name("animals.audit.csv")
    return drawn, [truth[row] for row in row_numbers(drawn)]


def test_draw_says_what_to_do_next_and_betrays_nothing(table, capsys):
    path, _ = table
    code, out, _ = run(capsys, "audit", "draw", path, "-t", "animal")
    assert code == 0
    assert "30 of" in out
    assert "'cat', 'dog'" in out
    assert f"chary audit fill {path.with_name('animals.audit.csv')}" in out.replace("\n", "")
    frame = pl.read_csv(path.with_name("animals.audit.csv"))
    assert len(frame) == 30
    assert frame.columns == ["chary_row", "animal", "size", "speed", "name", "chary_classes"]


def test_draw_never_overwrites_answers(drawn, table, capsys):
    path, _ = drawn
    before = path.read_bytes()
    code, _, err = run(capsys, "audit", "draw", table[0], "-t", "animal", "--seed", 1)
    assert code == 1
    assert "exists already" in err
    assert path.read_bytes() == before
    assert run(capsys, "audit", "draw", table[0], "-t", "animal", "--seed", 1, "--force")[0] == 0
    assert path.read_bytes() != before


def test_draw_shows_the_guess_of_a_model_only_when_asked_and_warns(table, capsys, tmp_path):
    path, _ = table
    assert run(capsys, "label", path, "-t", "animal", "--rounds", 0)[0] == 0
    model = path.with_name("animals.model.chary")
    code, out, _ = run(capsys, "audit", "draw", path, "-t", "animal", "-k", 5, "--show-guess", model)
    assert code == 0
    assert "biases the labeller" in out
    assert set(pl.read_csv(path.with_name("animals.audit.csv"))["chary_guess"]) <= {"cat", "dog"}


@pytest.mark.parametrize(("k", "said"), [(1, "-k"), (10_000, "cannot be drawn")])
def test_draw_refuses_impossible_sizes(table, capsys, k, said):
    code, _, err = run(capsys, "audit", "draw", table[0], "-t", "animal", "-k", k)
    assert code == 1
    assert said in err


def test_fill_takes_a_key_for_each_class(drawn, capsys, monkeypatch):
    path, truth = drawn
    keys(monkeypatch, ["12"[name == "dog"] for name in truth] + ["x"])
    code, out, _ = run(capsys, "audit", "fill", path)
    assert code == 0
    assert answers(path) == truth
    assert "8 labelled, 0 skipped, 0 left" in out
    assert f"chary label {path.with_name('animals.csv')} --target animal --audit {path}\n" in out


def test_fill_undoes_skips_ignores_other_keys_and_takes_new_classes(drawn, capsys, monkeypatch):
    path, _ = drawn
    keys(monkeypatch, list("1u2s9~n1nuq"), typed="fox|")
    code, out, _ = run(capsys, "audit", "fill", path)
    assert code == 0
    assert answers(path) == ["dog", "?", "fox", "", "", "", "", ""]
    assert "2 labelled, 1 skipped, 5 left" in out


@pytest.mark.parametrize("typed", ["", "  ", "\x1b", "\x1bfox"])
def test_the_question_for_another_class_can_be_left(drawn, capsys, monkeypatch, typed):
    path, _ = drawn
    asked = []
    monkeypatch.setattr("builtins.input", lambda prompt: asked.append(prompt) or typed)
    pressed = list("n2")
    monkeypatch.setattr(typer, "getchar", lambda: pressed.pop(0) if pressed else "q")
    assert run(capsys, "audit", "fill", path)[0] == 0
    assert asked == ["A class that is not in the list (Enter: back): "]
    assert answers(path) == ["dog", *[""] * 7]


def test_ctrl_c_at_the_question_for_another_class_ends_as_elsewhere(drawn, capsys, monkeypatch):
    def interrupted(prompt):
        raise KeyboardInterrupt

    path, _ = drawn
    keys(monkeypatch, "1n")
    monkeypatch.setattr("builtins.input", interrupted)
    code, out, err = run(capsys, "audit", "fill", path)
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


def test_keys_that_mean_nothing_are_said_so_and_answer_nothing(drawn, capsys, monkeypatch):
    path, _ = drawn
    keys(monkeypatch, ["x", "12", "\x1b[A", "q"])  # two keys at once and an arrow arrive as one text
    _, out, _ = run(capsys, "audit", "fill", path)
    for said in ("no such key: x\n", "no such key: 12\n", "no such key\n"):
        assert said in out
    assert answers(path) == [""] * 8
    keys(monkeypatch, [""])  # the end of the input
    assert run(capsys, "audit", "fill", path)[0] == 0
    assert answers(path) == [""] * 8


def test_progress_and_end_count_alike(drawn, capsys, monkeypatch):
    path, _ = drawn
    keys(monkeypatch, "1s2q")
    _, out, _ = run(capsys, "audit", "fill", path)
    assert "row 4 of 8: 2 labelled, 1 skipped, 5 left" in out
    assert f"\n2 labelled, 1 skipped, 5 left: {path}\nNext:  chary audit fill {path}\n" in out


def test_fill_resumes_and_can_undo_what_was_answered_before(drawn, capsys, monkeypatch):
    path, _ = drawn
    keys(monkeypatch, "12q")
    run(capsys, "audit", "fill", path)
    keys(monkeypatch, "u1q")
    run(capsys, "audit", "fill", path)
    assert answers(path)[:3] == ["cat", "cat", ""]
    keys(monkeypatch, "111111u2x")
    run(capsys, "audit", "fill", path)
    assert answers(path) == ["cat"] * 7 + ["dog"]


def test_nothing_is_lost_on_ctrl_c(drawn, capsys, monkeypatch):
    path, _ = drawn
    pressed = list("12")

    def press():
        if pressed:
            return pressed.pop(0)
        raise KeyboardInterrupt

    monkeypatch.setattr(typer, "getchar", press)
    code, out, _ = run(capsys, "audit", "fill", path)
    assert code == 130
    assert f"\n2 labelled, 0 skipped, 6 left: {path}\nNext:  chary audit fill {path}\n" in out
    assert answers(path)[:3] == ["cat", "dog", ""]
    assert [p.name for p in path.parent.iterdir() if p.name.startswith(".")] == []


def test_fill_without_terminal_says_so(drawn, capsys, monkeypatch):
    def nothing():
        raise OSError("no tty")

    monkeypatch.setattr(typer, "getchar", nothing)
    code, _, err = run(capsys, "audit", "fill", drawn[0])
    assert code == 1
    assert "needs a terminal" in err
    monkeypatch.setattr(typer, "getchar", lambda: (_ for _ in ()).throw(EOFError))
    assert run(capsys, "audit", "fill", drawn[0])[0] == 0


def test_fill_keeps_whatever_else_is_in_the_file(drawn, capsys, monkeypatch):
    path, _ = drawn
    frame = pl.read_csv(path, infer_schema=False).with_columns(pl.lit("=1+1, [bold]").alias("remark")).reverse()
    frame.write_csv(path, separator=";")
    keys(monkeypatch, "1q")
    assert run(capsys, "audit", "fill", path)[0] == 0
    again = pl.read_csv(path, infer_schema=False, separator=";")
    assert again.drop("animal").equals(frame.drop("animal"))
    assert again["animal"][0] == "cat"


def test_many_columns_and_many_classes_fit_the_screen(tmp_path, capsys, monkeypatch):
    n = 200
    cells = {f"column {j}": [f"cell {j}"] * n for j in range(150)}
    labels = [f"class {i % 40}" if i < 120 else None for i in range(n)]
    path = tmp_path / "wide.csv"
    pl.DataFrame({**cells, "y": labels}).write_csv(path)
    assert run(capsys, "audit", "draw", path, "-t", "y", "-k", 3)[0] == 0
    lines(monkeypatch, "12", "CLASS 7", "99", "", ":q")
    monkeypatch.setenv("LINES", "30")
    code, out, _ = run(capsys, "audit", "fill", tmp_path / "wide.audit.csv")
    assert code == 0
    assert "of the 40 classes" in out
    assert " 12  class 19 " in out
    assert "'99' is no class in the list" in out
    assert "more columns in the file" in out
    found = pl.read_csv(tmp_path / "wide.audit.csv", infer_schema=False)["y"].fill_null("").to_list()
    classes = json.loads(pl.read_csv(tmp_path / "wide.audit.csv")["chary_classes"][0])["y"]
    assert found == [classes[11], "class 7", ""]


def test_among_many_classes_none_is_taken_for_an_action(tmp_path, capsys, monkeypatch):
    names = ["Berlin", "n", "s", "q", "u", "A", "a", *(f"c{i:02d}" for i in range(30))]
    path = tmp_path / "t.csv"
    pl.DataFrame({"x": range(200), "y": [names[i % 37] if i < 111 else None for i in range(200)]}).write_csv(path)
    run(capsys, "audit", "draw", path, "-t", "y", "-k", 9)
    lines(
        monkeypatch,
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
    code, out, _ = run(capsys, "audit", "fill", tmp_path / "t.audit.csv")
    assert code == 0
    found = pl.read_csv(tmp_path / "t.audit.csv", infer_schema=False)["y"].to_list()
    assert found == ["n", "s", "q", "u", "Berlin", "a", "?", "Quito", "c01"]
    assert "'c0' is no class in the list" in out
    assert "no name: type it after :n" in out
    assert "8 labelled, 1 skipped, 0 left" in out


def test_many_classes_that_are_numbers_are_meant_by_name(tmp_path, capsys, monkeypatch):
    path = tmp_path / "t.csv"
    pl.DataFrame({"x": range(200), "y": [str(40 - i % 40) if i < 120 else None for i in range(200)]}).write_csv(
        path
    )
    run(capsys, "audit", "draw", path, "-t", "y", "-k", 3)
    lines(monkeypatch, "7", "40", "41", ":q")
    run(capsys, "audit", "fill", tmp_path / "t.audit.csv")
    assert pl.read_csv(tmp_path / "t.audit.csv", infer_schema=False)["y"].to_list() == ["7", "40", None]


def next_command(out):
    return shlex.split(out.rpartition("Next:  ")[2])[1:]


@pytest.mark.parametrize("folder", [".", "elsewhere"])
def test_every_suggested_command_works_as_printed(tmp_path, capsys, monkeypatch, folder):
    rng = np.random.default_rng(0)
    lines = ["x:y z"]
    for i, x in enumerate(rng.normal(size=60)):
        lines.append(f"{x:.3f}:" + ("to do" if i % 2 else "" if i % 3 else "né" if x > 0 else "non"))
    (tmp_path / "in put").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "in put" / "my data.csv").write_bytes(("\n".join(lines) + "\n").encode("cp1252"))
    monkeypatch.chdir(tmp_path)
    words = ["in put/my data.csv", "-t", "y z", "--unlabeled", "to do", "--delimiter", ":", "--encoding", "cp1252"]
    code, out, _ = run(capsys, "label", *words, "--rounds", 0)
    assert code == 0
    said = shlex.split(" ".join(out.replace("│", " ").split()).partition("from them: ")[2].partition(" ╰")[0])
    assert said == [
        *["chary", "audit", "draw", "in put/my data.csv", "--target", "y z", "--unlabeled", "to do"],
        *["--delimiter", ":", "--encoding", "cp1252"],
    ]
    code, out, _ = run(capsys, *said[1:], *([] if folder == "." else ["--out", folder]), "-k", 6)
    assert code == 0
    keys(monkeypatch, "1212n12x", typed="to do")  # what means unlabelled is no class
    code, out, _ = run(capsys, *next_command(out))
    assert code == 0
    assert "6 labelled, 0 skipped, 0 left" in out
    assert next_command(out)[-1] == "--force"
    code, out, err = run(capsys, *next_command(out), "--rounds", 0)
    assert (code, err) == (0, "")
    assert "exact, 6 random rows" in out


def test_draw_and_label_must_agree_on_what_is_unlabelled(tmp_path, capsys, monkeypatch):
    path = tmp_path / "t.csv"
    cells = ["a", "b", "todo", None] * 15
    pl.DataFrame({"x": range(60), "z": [i % 7 for i in range(60)], "y": cells}).write_csv(path)
    run(capsys, "audit", "draw", path, "-t", "y", "-k", 4, "--unlabeled", "todo")
    keys(monkeypatch, "1212x")
    run(capsys, "audit", "fill", tmp_path / "t.audit.csv")
    code, _, err = run(capsys, "label", path, "-t", "y", "--audit", tmp_path / "t.audit.csv")
    assert code == 1
    assert "was drawn with --unlabeled todo" in err


def test_draw_refuses_what_it_could_not_write_as_other_commands_do(table, capsys):
    path, _ = table
    code, _, err = run(capsys, "audit", "draw", path, "-t", "animal", "--out", "nosuch")
    assert code == 1
    assert "The folder nosuch does not exist; create it first." in err
    run(capsys, "audit", "draw", path, "-t", "animal")
    assert "pass --force to overwrite it" in run(capsys, "audit", "draw", path, "-t", "animal")[2]


def test_draw_refuses_the_guess_of_a_model_without_a_table(table, capsys, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(np.arange(40) < 20, X[:, 0] > 0, -1)
    model = make_pipeline(StandardScaler(), DiverseEnsembleClassifier(n_steps=3, random_state=0)).fit(X, y)
    save(model, tmp_path / "m.chary")
    code, _, err = run(capsys, "audit", "draw", table[0], "-t", "animal", "--show-guess", tmp_path / "m.chary")
    assert code == 1
    assert "holds no table model; use one that chary label wrote." in err
    assert not table[0].with_name("animals.audit.csv").exists()


def test_hostile_cells_reach_the_screen_as_text(tmp_path, capsys, monkeypatch):
    evil = ["[red]x[/red]", "\x1b[2J", "\u202eabc", "=cmd()"] * 20
    path = tmp_path / "evil.csv"
    pl.DataFrame({"x": range(80), "e\x1b[1m": evil, "y": ["a", "b"] * 20 + [None] * 40}).write_csv(path)
    assert run(capsys, "audit", "draw", path, "-t", "y", "-k", 4)[0] == 0
    keys(monkeypatch, "1111x")
    _, out, _ = run(capsys, "audit", "fill", tmp_path / "evil.audit.csv")
    assert "\x1b[2J" not in out.replace("\x1b[2J\x1b[H", "")
    assert "\u202e" not in out


def test_label_with_an_audit_says_what_it_found(drawn, table, capsys, monkeypatch):
    path, truth = drawn
    keys(monkeypatch, ["12"[name == "dog"] for name in truth] + ["x"])
    run(capsys, "audit", "fill", path)
    code, out, _ = run(capsys, "label", table[0], "-t", "animal", "--audit", path, "--rounds", 0)
    assert code == 0
    assert "promised by your labels" in out
    assert "exact, 8 random rows" in out
    assert "approximate, cross-fitted" in out
    page = path.with_name("animals.report.html").read_text()
    assert "does not estimate it: your labels are no random sample" in page
    assert "needs an audit of 230 rows or more" in page
    labeled = pl.read_csv(path.with_name("animals.labeled.csv"))
    rows = row_numbers(path)
    assert labeled["chary_label"][rows].to_list() == truth
    assert set(labeled["chary_source"][rows]) == {"given"}


def test_label_gives_an_audits_figures_to_programs(drawn, table, capsys, monkeypatch):
    path, truth = drawn
    keys(monkeypatch, ["12"[name == "dog"] for name in truth[:6]] + ["s", "q"])
    run(capsys, "audit", "fill", path)
    code, out, _ = run(capsys, "label", table[0], "-t", "animal", "--audit", path, "--rounds", 0, "--json")
    figures = json.loads(out)["audit"]
    assert code == 0
    assert (figures["drawn"], figures["skipped"], figures["before"]["n"]) == (8, 1, 6)
    assert "1 of the 8 rows drawn were skipped" in " ".join(figures["notes"])


def test_label_without_an_audit_says_what_one_is_good_for(table, capsys):
    code, out, _ = run(capsys, "label", table[0], "-t", "animal", "--rounds", 0)
    assert code == 0
    command = f"chary audit draw {table[0]} --target animal"
    assert command.replace(" ", "") in "".join(out.replace("│", " ").split())
    page = table[0].with_name("animals.report.html").read_text()
    assert command in page
    assert "Without an audit no such figure is guaranteed" in page


def test_a_new_class_found_by_the_audit_is_said_loudly(drawn, table, capsys, monkeypatch):
    path, _ = drawn
    keys(monkeypatch, "121212n1x", typed="fox")
    run(capsys, "audit", "fill", path)
    code, out, _ = run(capsys, "label", table[0], "-t", "animal", "--audit", path, "--rounds", 0)
    assert code == 0
    assert "NEW CLASS: the audit found 'fox'" in out
    assert '<li class="warning">NEW CLASS' in path.with_name("animals.report.html").read_text()


def test_an_audit_that_leaves_nothing_to_label_is_refused(table, capsys, monkeypatch, tmp_path):
    path = tmp_path / "few.csv"
    pl.DataFrame({"x": range(30), "y": ["a", "b"] * 14 + [None, None]}).write_csv(path)
    run(capsys, "audit", "draw", path, "-t", "y", "-k", 2)
    keys(monkeypatch, "12x")
    run(capsys, "audit", "fill", tmp_path / "few.audit.csv")
    code, _, err = run(capsys, "label", path, "-t", "y", "--audit", tmp_path / "few.audit.csv")
    assert code == 1
    assert "nothing is left to label" in err


def test_mangled_audits_end_in_one_sentence_and_overwrite_nothing(drawn, table, capsys, monkeypatch):
    """The commands on the files of ``test_audit_files``: a few here, five hundred there."""
    path, truth = drawn
    keys(monkeypatch, ["12"[name == "dog"] for name in truth] + ["x"])
    run(capsys, "audit", "fill", path)
    data = path.read_bytes()
    rng = random.Random(1)
    refused = 0
    for _ in range(60):
        i, j = sorted(rng.randrange(len(data)) for _ in range(2))
        broken = rng.choice([data[:i], data[:i] + data[j:], data[:i] + rng.randbytes(4) + data[i:], data[j:]])
        path.write_bytes(broken)
        keys(monkeypatch, "q")
        code, out, err = run(capsys, "audit", "fill", path)
        assert code in (0, 1)
        assert "Traceback" not in out + err
        assert "mistake in chary" not in err
        assert path.read_bytes() == broken
        refused += code
        assert err.strip().count("\n") == 0
    assert refused > 10
    assert table[0].exists()
