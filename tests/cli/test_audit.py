"""The commands around an audit as people type them: draw, fill in, label with the answers."""

import json
import os
import random
import re
import shlex
import subprocess
import sys
import threading
import time

import numpy as np
import polars as pl
import pytest
import typer

from chary.tables import source

QUICK = ("--learner", "linear", "--rounds", 0)
pytestmark = pytest.mark.usefixtures("quick_learners")


def test_draw_says_what_to_do_next_and_betrays_nothing(animals, run):
    path, _ = animals
    code, out, _ = run("audit", "draw", path, "-t", "animal")
    assert code == 0
    assert "30 of" in out
    assert "'cat' and 'dog'" in out
    assert f"chary audit fill {path.with_name('animals.audit.csv')}" in out.replace("\n", "")
    frame = pl.read_csv(path.with_name("animals.audit.csv"))
    assert len(frame) == 30
    assert frame.columns == ["chary_row", "animal", "size", "speed", "name", "chary_classes"]


def test_draw_never_overwrites_answers(drawn, animals, run):
    path, _ = drawn
    before = path.read_bytes()
    code, _, err = run("audit", "draw", animals[0], "-t", "animal", "--seed", 1)
    assert code == 1
    assert "exists already" in err
    assert path.read_bytes() == before
    assert run("audit", "draw", animals[0], "-t", "animal", "--seed", 1, "--force")[0] == 0
    assert path.read_bytes() != before


def test_a_larger_draw_adds_rows_and_keeps_the_answers(animals, run, keys, row_numbers, answers):
    path, _ = animals
    sheet = path.with_name("animals.audit.csv")
    run("audit", "draw", path, "-t", "animal", "-k", 6)
    keys("1212sq")
    run("audit", "fill", sheet)
    small = row_numbers(sheet)
    code, out, _ = run("audit", "draw", path, "-t", "animal", "-k", 10)
    assert code == 0
    assert "4 more rows were drawn at random" in out
    assert "keeps its 5 answers" in out
    assert answers(sheet) == ["cat", "dog", "cat", "dog", "?", "", "", "", "", ""]
    whole = row_numbers(sheet)
    assert whole[:6] == small
    before = sheet.read_bytes()
    code, _, err = run("audit", "draw", path, "-t", "animal", "-k", 10, "--force")
    assert code == 1
    assert (
        "animals.audit.csv holds 5 answers, which are never overwritten; to use them, pass it as "
        "--audit;" in err
    )
    assert sheet.read_bytes() == before
    code, out, _ = run("audit", "draw", path, "-t", "animal", "-k", 10, "--discard-answers")
    assert code == 0
    assert "animals.discarded-1.audit.csv" in out
    assert sheet.with_name("animals.discarded-1.audit.csv").read_bytes() == before
    assert row_numbers(sheet) == whole  # one draw, in two steps or in one


def next_command(out):
    return shlex.split(out.rpartition("Next:  ")[2])[1:]


def test_every_suggested_command_works_as_printed(tmp_path, monkeypatch, run, keys):
    rng = np.random.default_rng(0)
    lines = ["x:y z"]
    for i, x in enumerate(rng.normal(size=60)):
        lines.append(
            f"{x:.3f}:" + ("to do" if i % 2 else "" if i % 3 else "né" if x > 0 else "non")
        )
    (tmp_path / "in put").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "in put" / "my data.csv").write_bytes(("\n".join(lines) + "\n").encode("cp1252"))
    monkeypatch.chdir(tmp_path)
    words = [
        "in put/my data.csv",
        "-t",
        "y z",
        "--unlabeled",
        "to do",
        "--delimiter",
        ":",
        "--encoding",
        "cp1252",
    ]
    code, out, _ = run("label", *words, *QUICK)
    assert code == 0
    said = shlex.split(out.partition("Next:  ")[2].splitlines()[0])
    assert said == [
        *[
            "chary",
            "audit",
            "draw",
            "in put/my data.csv",
            "--target",
            "y z",
            "--unlabeled",
            "to do",
        ],
        *[*map(str, QUICK), "--delimiter", ":", "--encoding", "cp1252"],
    ]
    code, out, _ = run(*said[1:], "--out", "elsewhere", "-k", 6)
    assert code == 0
    keys("1212n12x", typed="to do")  # what means unlabelled is no class
    code, out, _ = run(*next_command(out))
    assert code == 0
    assert "6 labelled, 0 skipped, 0 left" in out
    code, out, err = run(*next_command(out))
    assert (code, err) == (0, "")
    assert "exact, 6 random rows" in out


def test_the_last_hint_runs_as_printed_and_says_what_it_replaces(animals, run, keys):
    path, _ = animals
    assert run("label", path, "-t", "animal", *QUICK)[0] == 0
    _, out, _ = run("audit", "draw", path, "-t", "animal", *QUICK, "-k", 6)
    keys("121212x")
    _, out, _ = run(*next_command(out))
    written = ["animals.labeled.csv", "animals.model.chary and", "animals.report.html."]
    assert [name for name in written if name not in out.replace("\n", "")] == []
    code, _, err = run(*next_command(out))
    assert (code, err) == (0, "")
    page = path.with_name("animals.report.html").read_text()
    assert "6 random rows that a person labelled" in page


def test_answers_beside_the_table_are_named_and_the_hint_uses_them(animals, run, keys):
    path, _ = animals
    sheet = path.with_name("animals.audit.csv")
    run("audit", "draw", path, "-t", "animal", "-k", 6)
    # Without answers: go on labelling, as another draw of the same size is refused.
    _, out, _ = run("label", path, "-t", "animal", *QUICK)
    assert out.partition("Next:  ")[2].startswith(f"chary audit fill {sheet}\n")
    keys("12121qx")
    run("audit", "fill", sheet)
    code, out, _ = run("label", path, "-t", "animal", *QUICK, "--force")
    said = f"animals.audit.csv holds 5 answers; add --audit {sheet}."
    # A long path is broken where the screen ends.
    assert "".join(said.split()) in "".join(out.split())
    assert said in path.with_name("animals.report.html").read_text()
    words = shlex.split(out.partition("Next:  ")[2].splitlines()[0])[1:]
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "exact, 5 random rows" in out
    # The refusal to overwrite names them, too.
    assert said in run("label", path, "-t", "animal", *QUICK)[2]


def test_draw_refuses_what_it_could_not_write_as_other_commands_do(animals, run):
    path, _ = animals
    code, _, err = run("audit", "draw", path, "-t", "animal", "--out", path)
    assert code == 1
    assert "(not a directory); fix that, or choose another folder." in err
    assert (
        run("audit", "draw", path, "-t", "animal", "--out", path.with_name("new") / "folder")[0]
        == 0
    )
    assert (path.with_name("new") / "folder" / "animals.audit.csv").exists()
    run("audit", "draw", path, "-t", "animal")
    said = run("audit", "draw", path, "-t", "animal")[2]
    assert (
        "already, with 30 rows; ask for more of them to enlarge it, or pass --force to replace it"
        in said
    )


def test_label_with_an_audit_says_what_it_found(drawn, animals, run, keys, row_numbers):
    path, truth = drawn
    keys(["12"[name == "dog"] for name in truth] + ["x"])
    run("audit", "fill", path)
    code, out, _ = run("label", animals[0], "-t", "animal", "--audit", path, *QUICK)
    assert code == 0
    assert "cross-validation" in out
    assert "exact, 8 random rows" in out
    assert "cross-fitted" in out
    page = path.with_name("animals.report.html").read_text()
    assert "does not estimate it: your labels are not a random sample" in page
    assert "needs an audit of 230 rows or more" in page
    labeled = pl.read_csv(path.with_name("animals.labeled.csv"))
    rows = row_numbers(path)
    assert labeled["chary_label"][rows].to_list() == truth
    assert set(labeled["chary_source"][rows]) == {"given"}


def test_a_new_class_found_by_the_audit_is_said_loudly(drawn, animals, run, keys):
    path, _ = drawn
    keys("121212n1x", typed="fox")
    run("audit", "fill", path)
    code, out, _ = run("label", animals[0], "-t", "animal", "--audit", path, *QUICK)
    assert code == 0
    assert "NEW CLASS: the audit found 'fox'" in out
    assert '<li class="warning">NEW CLASS' in path.with_name("animals.report.html").read_text()


def test_mangled_audits_end_in_one_sentence_and_overwrite_nothing(drawn, animals, run, keys):
    """The commands on the files of ``test_audit_files``: a few here, five hundred there."""
    path, truth = drawn
    keys(["12"[name == "dog"] for name in truth] + ["x"])
    run("audit", "fill", path)
    data = path.read_bytes()
    rng = random.Random(1)
    refused = 0
    for _ in range(15):
        i, j = sorted(rng.randrange(len(data)) for _ in range(2))
        broken = rng.choice(
            [data[:i], data[:i] + data[j:], data[:i] + rng.randbytes(4) + data[i:], data[j:]]
        )
        path.write_bytes(broken)
        keys("q")
        code, out, err = run("audit", "fill", path)
        assert code in (0, 1)
        assert "Traceback" not in out + err
        assert "mistake in chary" not in err
        assert path.read_bytes() == broken
        refused += code
        assert err.strip().count("\n") == 0
    assert refused > 4
    assert animals[0].exists()


def test_label_marks_the_rows_that_can_be_accepted_at_an_error(animals, run, row_numbers):
    path, truth = animals
    sheet = path.with_name("animals.audit.csv")
    assert run("audit", "draw", path, "-t", "animal", "-k", 60)[0] == 0
    answers = pl.read_csv(sheet, infer_schema=False)
    answers.with_columns(pl.Series("animal", [truth[row] for row in row_numbers(sheet)])).write_csv(
        sheet
    )
    words = ("label", path, "-t", "animal", "--audit", sheet, "--force", *QUICK)
    code, out, _ = run(*words, "--error", "20%", "--json")
    assert code == 0
    asked = json.loads(out)["accept"]
    labeled = pl.read_csv(path.with_name("animals.labeled.csv"))
    new = labeled.filter(pl.col("chary_source") != "given")
    assert labeled.filter(pl.col("chary_source") == "given")["chary_accept"].all()
    n_answered = asked["n_accepted"] - new["chary_accept"].sum()
    assert 0 < n_answered <= 60
    assert f"{n_answered} of audited rows included" in asked["sentence"]
    assert (new["chary_accept"] == (new["chary_confidence"] >= asked["threshold"])).all()
    known = labeled.with_columns(pl.Series("truth", truth.tolist())).filter(
        (pl.col("chary_source") != "given") & pl.col("chary_accept")
    )
    assert (known["chary_label"] != known["truth"]).mean() <= 0.2
    code, out, _ = run(*words, "--error", "1%")
    assert code == 0
    said = " ".join(out.split())
    why = "this needs at least 230 audited rows, and there are 60"
    assert f"No new label can be accepted with at most 1% wrong: {why}" in said
    labeled = pl.read_csv(path.with_name("animals.labeled.csv"))
    assert (labeled["chary_accept"] == (labeled["chary_source"] == "given")).all()
    assert run(*words)[0] == 0
    assert "chary_accept" not in pl.read_csv(path.with_name("animals.labeled.csv")).columns


def test_a_table_that_does_not_fit_gives_the_same_sheet(animals, tmp_path, run):
    path, _ = animals
    for k in (6, 10):  # drawn, then enlarged
        for name, more in (("fits", ()), ("does_not", ("--memory", "100MB"))):
            words = "audit", "draw", path, "-t", "animal", "-k", k, "--out", tmp_path / name, *more
            code, out, _ = run(*words)
            assert code == 0
            assert f"{k} of" in out or "4 more rows" in out
        sheets = [
            (tmp_path / name / "animals.audit.csv").read_text() for name in ("fits", "does_not")
        ]
        fits, does_not = (re.sub(r', ""chary_options"": {.*?}', "", text) for text in sheets)
        assert fits == does_not


# ---------------------------------------------------------------- filling in at a terminal


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


def test_the_question_for_another_class_can_be_left(drawn, monkeypatch, run, answers):
    path, _ = drawn
    asked, typed = [], ["  ", "\x1bfox"]
    monkeypatch.setattr("builtins.input", lambda prompt: asked.append(prompt) or typed.pop())
    pressed = list("nn2")
    monkeypatch.setattr(typer, "getchar", lambda: pressed.pop(0) if pressed else "q")
    assert run("audit", "fill", path)[0] == 0
    assert asked == ["The name of the class (Enter: back): "] * 2
    assert answers(path) == ["dog", *[""] * 7]


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_a_real_ctrl_c_ends_the_question(drawn):
    import pty

    ours, theirs = pty.openpty()
    code = (
        "import os, sys; os.setsid(); import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    )
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
    assert out.count("no such key\n") == 3
    assert answers(path) == [""] * 8
    keys([""])  # the end of the input
    assert run("audit", "fill", path)[0] == 0
    assert answers(path) == [""] * 8


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
    frame = (
        pl.read_csv(path, infer_schema=False)
        .with_columns(pl.lit("=1+1, [bold]").alias("remark"))
        .reverse()
    )
    frame.write_csv(path, separator=";")
    keys("1q")
    assert run("audit", "fill", path)[0] == 0
    again = pl.read_csv(path, infer_schema=False, separator=";")
    assert again.drop("animal").equals(frame.drop("animal"))
    assert again["animal"][-1] == "cat"  # the first row of the draw, wherever it stands


def test_a_class_without_a_key_is_named(tmp_path, run, keys):
    n = 200
    labels = [f"class {i % 40}" if i < 120 else None for i in range(n)]
    path = tmp_path / "wide.csv"
    pl.DataFrame({"x": range(n), "y": labels}).write_csv(path)
    assert run("audit", "draw", path, "-t", "y", "-k", 4)[0] == 0
    # Further classes have no key: their names are typed.
    keys("2nnnq", typed="class 39|class 99|unlabelled")
    assert run("audit", "fill", tmp_path / "wide.audit.csv")[0] == 0
    found = (
        pl.read_csv(tmp_path / "wide.audit.csv", infer_schema=False)["y"].fill_null("").to_list()
    )
    assert found[:3] == ["class 1", "class 39", "class 99"]


def test_hostile_cells_reach_the_screen_as_text(tmp_path, run, keys):
    evil = ["[red]x[/red]", "\x1b[2J", "\u202eabc", "=cmd()"] * 20
    path = tmp_path / "evil.csv"
    pl.DataFrame({"x": range(80), "e\x1b[1m": evil, "y": ["a", "b"] * 20 + [None] * 40}).write_csv(
        path
    )
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


# ---------------------------------------------------------------- when to stop


@pytest.fixture(name="judged")
def a_sheet_to_judge(tmp_path, run):
    """Make 400 rows whose labels are right except every twentieth, and a sheet of 60 rows."""
    frame = pl.DataFrame(
        {"x": range(400), "rule": ["b" if (i % 2) != (i % 20 == 7) else "a" for i in range(400)]}
    )
    frame.write_csv(tmp_path / "t.csv")
    assert run("judge", tmp_path / "t.csv", "-l", "rule", "-k", 60)[0] == 0
    return tmp_path / "t.judge.csv"


def test_filling_in_tells_when_it_is_enough_and_the_report_knows(judged, run, keys):
    keys(
        [
            "12"[int(token.split("row ")[1].split()[0]) % 2 == 0]
            for token in pl.read_csv(judged)["chary_row"][:45]
        ]
    )
    code, out, err = run("audit", "fill", judged, "--until-width", "30%")
    assert code == 0, err
    assert "After 45 rows: between" in out
    assert "Done: the interval is 30% wide or less" in out
    assert (
        f"Next:  chary judge {judged.with_name('t.csv')} --labels rule --audit {judged}"
        in out.replace("\n", "")
    )
    code, out, _ = run(
        "judge", judged.with_name("t.csv"), "-l", "rule", "--audit", judged, "--json"
    )
    summary = json.loads(out)
    assert code == 0
    assert summary["stopped"]
    assert summary["audited"] == 45
    promised, always = summary["columns"][0]["promised"], summary["columns"][0]["always"]
    assert (promised["low"], promised["high"]) == (always["low"], always["high"])


def test_of_a_model_yet_to_be_made_nothing_can_be_told(drawn, run):
    code, _, err = run("audit", "fill", drawn[0], "--until-width", "0.2")
    assert code == 1
    assert "when it is enough can be told of a sheet of chary judge alone" in err
    assert "is not a share" in run("audit", "fill", drawn[0], "--until-width", "20")[2]


def test_without_its_table_nothing_can_be_told(judged, run):
    judged.with_name("t.csv").unlink()
    code, _, err = run("audit", "fill", judged, "--until-width", "20%")
    assert code == 1
    assert "is not beside it (links are not followed); pass the table with --table" in err


def named_by_the_sheet(sheet, *tables):
    """Have a sheet say that it was drawn from other tables, as a stranger may."""
    cells = pl.read_csv(sheet, infer_schema=False)
    about = [
        json.dumps({**json.loads(cell), "chary_table": tables}) for cell in cells["chary_classes"]
    ]
    cells.with_columns(chary_classes=pl.Series(about)).write_csv(sheet)


@pytest.mark.parametrize(
    "table",
    [
        "https://example.org/t.csv",
        "//host/share/t.csv",
        r"\\host\share\t.csv",
        "/dev/t.csv",
        "../t.csv",
        "/net/host/t.csv",
    ],
)
def test_of_the_table_that_a_sheet_names_only_the_file_beside_it_is_opened(
    judged, run, keys, sockets, monkeypatch, table
):
    named_by_the_sheet(judged, table)
    opened = []
    real = source.open_source
    monkeypatch.setattr(
        "chary.tables.open_source", lambda data, **more: opened.append(data) or real(data, **more)
    )
    keys("q")
    assert run("audit", "fill", judged, "--until-width", "20%")[0] == 0
    assert opened == [[str(judged.with_name("t.csv"))]]
    elsewhere = judged.with_name("elsewhere.csv")
    judged.with_name("t.csv").rename(elsewhere)
    for link in (None, elsewhere):
        if link is not None:
            judged.with_name("t.csv").symlink_to(link)
        code, _, err = run("audit", "fill", judged, "--until-width", "20%")
        assert code == 1
        assert "pass the table with --table FILE" in err
    assert len(opened) == 1
    keys(["1"] * 60)
    code, out, _ = run("audit", "fill", judged, "--until-width", "20%", "--table", elsewhere)
    assert code == 0
    assert opened[1:] == [[str(elsewhere)]]
    assert f"chary judge {elsewhere} --labels rule" in out.replace("\n", "")
    judged.with_name("t.csv").unlink()
    out = run("audit", "fill", judged)[1].replace("\n", "")
    suggested = table if table == "../t.csv" else "FILE"
    assert f"chary judge {suggested} --labels rule" in out
    assert "host" not in out
    assert sockets() == []


def test_a_table_of_several_files_is_found_beside_the_sheet(judged, run, keys):
    frame = pl.read_csv(judged.with_name("t.csv"))
    frame[:250].write_csv(judged.with_name("a.csv"))
    frame[250:].write_csv(judged.with_name("b.csv"))
    named_by_the_sheet(judged, "in/a.csv", "in/b.csv")
    keys("q")
    assert run("audit", "fill", judged, "--until-width", "20%")[0] == 0
    for tables in ([".."], ["in/"], ["-"], [], ["in/[ab].csv"]):
        named_by_the_sheet(judged, *tables)
        code, _, err = run("audit", "fill", judged, "--until-width", "20%")
        assert code == 1
        assert "--table" in err
