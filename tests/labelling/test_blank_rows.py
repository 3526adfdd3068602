"""Blank rows count nowhere, stay in their place in what is written, and move no row's number."""

import json

import numpy as np
import polars as pl
import pytest

import chary
from chary.audit.judge import draw_to_judge
from chary.audit.sheet import named_rows, read_sheet
from chary.cli import main
from chary.options import JudgeOptions
from chary.tables import Source, open_source, read_table

N = 240
RNG = np.random.default_rng(3)
ROWS = [
    {
        "x": round(float(RNG.normal(i % 2, 0.4)), 3),
        "word": "pq"[i % 3 == 0],
        "y": "ab"[i % 2] if i % 4 == 1 or i % 4 == 2 else None,
    }
    for i in range(N)
]
EMPTY = dict.fromkeys(ROWS[0])
BLANK = [0, 1, 50, *range(100, 180), 321, 322]  # at the start, alone, in a run, at the end


def with_blank_rows():
    rows = iter(ROWS)
    return [EMPTY if i in set(BLANK) else next(rows) for i in range(N + len(BLANK))]


PLAIN, FRAME = pl.DataFrame(ROWS), pl.DataFrame(with_blank_rows(), infer_schema_length=None)
KEPT = [i for i in range(FRAME.height) if i not in set(BLANK)]


@pytest.fixture(name="paths")
def tables_with_and_without_blank_rows(tmp_path):
    for name, frame in (("plain", PLAIN), ("blank", FRAME)):
        frame.write_csv(tmp_path / f"{name}.csv")
        frame.write_parquet(tmp_path / f"{name}.parquet")
        frame.write_ndjson(tmp_path / f"{name}.jsonl")
    return tmp_path


def labelled(path):
    return open_source(path, reserved=()).read().frame


@pytest.mark.parametrize(
    ("ending", "in_parts"), [("csv", False), ("parquet", True), ("jsonl", False)]
)
def test_labels_are_those_of_the_table_without_them(
    paths, ending, in_parts, quick_learners, capsys, monkeypatch
):
    monkeypatch.setattr(Source, "exceeds", lambda self, memory: in_parts)
    # Some blocks hold blank rows alone.
    monkeypatch.setattr("chary.labelling.score._BLOCK_ROWS", 16)
    for name in ("plain", "blank"):
        assert main(["label", str(paths / f"{name}.{ending}"), "-t", "y", "--json"]) == 0
    plain, blank = (
        json.loads(line) for line in capsys.readouterr().out.replace("}\n{", "}\x00{").split("\x00")
    )
    assert [note for note in blank["notes"] if note not in plain["notes"]] == [
        "85 blank rows are left out: they get no label and are not counted."
    ]
    for figures in ("classes", "diagnosis", "importance"):
        assert blank[figures] == plain[figures], figures
    written, expected = (
        labelled(paths / f"{name}.labeled.{ending}") for name in ("blank", "plain")
    )
    assert written.height == FRAME.height
    assert written[KEPT].equals(expected)
    assert written[BLANK].select(pl.all().is_null().all()).row(0) == (True,) * written.width


def test_a_draw_leaves_them_out_and_its_tokens_name_rows_of_the_file(paths, monkeypatch):
    path = paths / "blank.csv"
    for in_parts in (False, True):
        monkeypatch.setattr(Source, "exceeds", lambda self, memory, in_parts=in_parts: in_parts)
        assert main(["audit", "draw", str(path), "-t", "y", "-k", "60"]) == 0
        sheet = read_sheet(paths / "blank.audit.csv")
        rows = named_rows(sheet)
        for row, cells in zip(rows, sheet.frame.select("x", "word").rows(), strict=True):
            assert read_table(path).frame.select("x", "word").row(row.number) == cells
            assert row.number not in BLANK
        (paths / "blank.audit.csv").unlink()


def test_an_audit_of_them_is_read_back(paths, quick_learners):
    path, sheet = paths / "blank.csv", paths / "blank.audit.csv"
    assert main(["audit", "draw", str(path), "-t", "y", "-k", "40"]) == 0
    numbers = [row.number for row in named_rows(read_sheet(sheet))]
    truth = ["ab"[KEPT.index(number) % 2] for number in numbers]
    frame = read_table(sheet).frame.with_columns(pl.Series("y", truth))
    frame.write_csv(sheet)
    result = chary.label(path, target="y", audit=sheet)
    assert result.details.audit.population == PLAIN["y"].null_count()
    labels = result.frame["chary_label"]
    assert labels.gather(numbers).to_list() == truth


def test_a_frame_keeps_its_rows(quick_learners):
    result = chary.label(FRAME.to_pandas(), target="y")
    assert len(result.frame) == len(result.probabilities) == FRAME.height
    assert result.frame["chary_label"].isna().to_numpy().nonzero()[0].tolist() == BLANK
    assert result.probabilities.isna().any(axis=1).to_numpy().nonzero()[0].tolist() == BLANK
    predicted = result.model.predict_frame(FRAME.drop("y"))
    assert predicted["chary_label"].is_null().arg_true().to_list() == BLANK
    assert len(chary.explain(result)) == N
    again = chary.explain(result, [2, 51])
    assert len(again) == 2


def test_predicted_files_have_them_in_place(paths, quick_learners, capsys, monkeypatch):
    assert main(["label", str(paths / "plain.csv"), "-t", "y"]) == 0
    model = str(paths / "plain.model.chary")
    for ending in ("csv", "jsonl"):
        assert main(["predict", model, str(paths / f"plain.{ending}")]) == 0
    # The first block holds blank rows alone.
    monkeypatch.setattr("chary.labelling.score._BLOCK_ROWS", 2)
    for ending in ("csv", "jsonl"):
        assert main(["predict", model, str(paths / f"blank.{ending}")]) == 0
    assert "85 blank rows are left out" in capsys.readouterr().out
    for ending in ("csv", "jsonl"):
        written, expected = (
            labelled(paths / f"{name}.predicted.{ending}") for name in ("blank", "plain")
        )
        assert written[KEPT].equals(expected)
        assert written["chary_label"].is_null().arg_true().to_list() == BLANK


def test_blank_lines_do_not_change_the_diagnosis(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 3)).round(3)
    labels = np.where(rng.random(400) < 0.3, rng.choice(["a", "b"], 400), "")
    lines = [",".join(map(str, [*row, label])) for row, label in zip(values, labels, strict=True)]
    verdicts = []
    for more in ([], [",,,"] * 200):
        (tmp_path / "t.csv").write_text("\n".join(["p,q,r,y", *lines, *more]) + "\n")
        verdicts.append(chary.diagnose(tmp_path / "t.csv", target="y"))
    assert verdicts[0].details.separation == verdicts[1].details.separation
    assert verdicts[1].details.n_unlabeled == verdicts[0].details.n_unlabeled


def test_labels_are_judged_without_them(tmp_path, monkeypatch):
    rows = [{"id": i, "label": "ab"[i % 2], "truth": "ab"[i % 3 % 2]} for i in range(200)]
    nothing = dict.fromkeys(rows[0])
    places = [3, *range(60, 110)]
    mixed = iter(rows)
    frame = pl.DataFrame([nothing if i in set(places) else next(mixed) for i in range(251)])
    frame.write_csv(tmp_path / "t.csv")
    for kept in (True, False):
        monkeypatch.setattr(
            Source, "_may_read_whole", lambda self, kept=kept: self._whole is not None or kept
        )
        source = open_source(tmp_path / "t.csv", reserved=())
        assert (source.n_rows, source.n_filled, source.blank_numbers.tolist()) == (251, 200, places)
        sheet = tmp_path / f"{kept}.csv"
        draw_to_judge(source, sheet, JudgeOptions(labels=("label",), show=("truth",)), 200)
        drawn = [row.number for row in named_rows(read_sheet(sheet))]
        assert sorted(drawn) == [i for i in range(251) if i not in set(places)]
    judged = chary.judge(frame, labels="label", audit=frame["truth"])
    plain = chary.judge(pl.DataFrame(rows), labels="label", audit=pl.DataFrame(rows)["truth"])
    assert judged.accuracy == plain.accuracy
    assert judged.details.population == 200
    assert (
        "51 blank rows are left out: they get no label and are not counted." in judged.details.notes
    )
