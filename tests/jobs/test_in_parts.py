"""A table labelled in parts is labelled as it is at once; what is said of it is of all its rows."""

import io

import numpy as np
import polars as pl
import pytest

from chary.evaluation import draw
from chary.jobs import Allowance, Asked, label_in_parts, label_table, save, write_rows_to_check
from chary.jobs import in_parts as module
from chary.report import summarize
from chary.tables import TableError, open_large, read_table, target_labels, write_audit, write_table

pytestmark = pytest.mark.usefixtures("quick_learners")
MEMORY = 8 << 30


def table(n=400, n_labeled=60, seed=0):
    rng = np.random.default_rng(seed)
    x, z, colour = rng.normal(size=n), rng.normal(size=n), rng.choice(["red", "blue"], n)
    truth = np.where(x + (colour == "red") + 0.3 * rng.normal(size=n) > 0.9, "yes", "no")
    y = np.full(n, None, dtype=object)
    given = rng.choice(np.argsort(-np.abs(z))[: 2 * n_labeled], n_labeled, replace=False)
    y[given] = truth[given]
    columns = {"id": np.arange(n), "x": x.round(4), "z": z.round(4), "colour": colour}
    return pl.DataFrame({**columns, "y": pl.Series(y.tolist(), dtype=pl.String)}), truth


@pytest.fixture(name="path")
def path_of_table(tmp_path):
    path = tmp_path / "t.csv"
    table()[0].write_csv(path)
    return path


def in_parts(
    path, tmp_path, sample=10_000, probabilities=False, checksum=False, memory=MEMORY, threads=2, **asked
):
    file = io.BytesIO()
    result = label_in_parts(
        open_large(path),
        Asked.of("y", **asked),
        file,
        tmp_path,
        Allowance(memory, threads, sample),
        probabilities=probabilities,
        checksum=checksum,
    )
    return result, file.getvalue()


def at_once(path, **asked):
    read = read_table(path)
    result, file = label_table(read, "y", **asked), io.BytesIO()
    write_table(read, result.added_columns, file)
    return result, file.getvalue()


def sheet(path, tmp_path, truth, k=40):
    """An audit of rows drawn from the table, filled in."""
    read, audit = read_table(path), tmp_path / "t.audit.csv"
    labels = target_labels(read, "y")
    rows = draw(labels.labeled, k, 1)
    with audit.open("wb") as file:
        write_audit(read, "y", labels, rows, file)
    filled = pl.read_csv(audit, infer_schema=False).with_columns(pl.Series("y", truth[rows]))
    filled.write_csv(audit)
    return audit, rows


SHARES = {"yes": 0.3, "no": 0.7}


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"class_prior": SHARES},
        {"class_prior": "labeled", "learner": "linear"},
        {"learner": "network", "rounds": 2, "class_prior": SHARES},
        {"aim": "balanced"},
        {"aim": "balanced", "class_prior": SHARES, "learner": "network"},
        {"explain": True, "learner": "linear"},
    ],
    ids=str,
)
def test_where_all_rows_are_in_the_sample_the_file_is_the_same_to_the_byte(path, tmp_path, asked):
    expected, written = at_once(path, **asked)
    found, in_the_end = in_parts(path, tmp_path, **asked)
    assert in_the_end == written
    one, other = summarize(expected), summarize(found)
    for name in ("rows", "sources", "labels", "classes", "acceptance", "confidence", "held_out", "rows_to_label"):
        assert one[name] == other[name], name
    assert one["second_look"] == other["second_look"]
    assert other["sample"] == {"labeled": 60, "drawn": 340, "of": 340}
    assert one["sample"] is None


def test_with_an_audit_too(path, tmp_path):
    audit, _ = sheet(path, tmp_path, table()[1])
    asked = {"audit": audit, "error": 0.2, "class_prior": SHARES}
    expected, written = at_once(path, **asked)
    found, in_the_end = in_parts(path, tmp_path, **asked)
    assert in_the_end == written
    one, other = summarize(expected), summarize(found)
    assert one["audit"] == other["audit"]
    assert one["accept"] == other["accept"]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_files_of_any_kind_come_back_as_they_were(tmp_path, kind):
    frame, path = table()[0], tmp_path / f"t.{kind}"
    write = {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[kind]
    write(path)
    _, written = in_parts(path, tmp_path, sample=100, learner="linear", probabilities=True)
    again = tmp_path / f"u.{kind}"
    again.write_bytes(written)
    found = read_table(path).frame.columns
    out = pl.read_csv(again, infer_schema=False) if kind == "csv" else None
    out = pl.read_ndjson(again) if kind == "jsonl" else pl.read_parquet(again) if kind == "parquet" else out
    added = ["chary_label", "chary_confidence", "chary_source", "chary_p_no", "chary_p_yes"]
    assert out.columns == [*found, *added]
    sums = out["chary_p_no"].cast(pl.Float64) + out["chary_p_yes"].cast(pl.Float64)
    assert (sums - 1).abs().max() < 2e-4
    given = out["chary_source"] == "given"
    assert (out.filter(given)["chary_label"] == out.filter(given)["y"]).all()
    assert given.sum() == 60


def test_shares_are_met_on_all_rows_and_counts_are_of_all(path, tmp_path):
    found, written = in_parts(path, tmp_path, sample=100, class_prior=SHARES)
    out = pl.read_csv(written)
    assert (out["chary_label"] == "yes").sum() == 120
    summary = summarize(found)
    assert summary["labels"] == {"no": 280, "yes": 120}
    assert summary["sample"] == {"labeled": 60, "drawn": 100, "of": 340}
    assert "The class shares are met on all rows, exactly." in summary["notes"]
    confidence = out.filter(pl.col("chary_source") != "given")["chary_confidence"]
    assert summary["acceptance"][0]["threshold"] == confidence.min()
    assert summary["confidence"]["predicted"] == np.histogram(confidence, np.linspace(0, 1, 21))[0].tolist()
    assert found.model[-1].class_prior == SHARES
    assert found.model.sketch_.n_rows == 400
    save(found.model, tmp_path / "m.chary")


def test_the_result_does_not_depend_on_the_layout_or_the_threads(path, tmp_path):
    frame = table()[0]
    _, expected = in_parts(path, tmp_path, sample=80, class_prior=SHARES, threads=1)
    several = tmp_path / "several"
    several.mkdir()
    for number, rows in enumerate((slice(0, 33), slice(33, 300), slice(300, 400))):
        frame[rows].write_csv(several / f"{number}.csv")
    _, found = in_parts(several, tmp_path, sample=80, class_prior=SHARES, threads=2)
    assert found == expected


def test_an_audit_and_the_rows_to_check_are_of_the_whole_table(path, tmp_path):
    audit, rows = sheet(path, tmp_path, table()[1])
    found, written = in_parts(path, tmp_path, sample=50, audit=audit, error=0.3, checksum=True)
    out = pl.read_csv(written)
    assert out["chary_source"].gather(rows.tolist()).unique().to_list() == ["given"]
    summary = summarize(found)
    assert summary["audit"]["before"]["n"] == 40
    accepted = out.filter((pl.col("chary_source") != "given") & pl.col("chary_accept"))
    assert summary["accept"]["n_accepted"] == accepted.height
    assert accepted.height == 0 or accepted["chary_confidence"].min() >= summary["accept"]["threshold"]
    shown = summary["rows_to_label"]
    numbers = [row["row"] - 1 for row in shown]
    assert out["chary_label"].gather(numbers).to_list() == [row["label"] for row in shown]
    assert out["chary_confidence"].gather(numbers).to_list() == [row["confidence"] for row in shown]
    assert [str(v) for v in out["id"].gather(numbers)] == [row["cells"]["id"] for row in shown]
    assert len(set(numbers) - set(found.table.taken.numbers.tolist())) == 0
    # The sheet of rows to check is one of the whole table.
    check = tmp_path / "t.check.csv"
    with check.open("wb") as file:
        write_rows_to_check(found, file)
    truth = table()[1]
    filled = pl.read_csv(check, infer_schema=False).with_columns(pl.Series("y", truth[numbers]))
    filled.write_csv(check)
    again, _ = in_parts(path, tmp_path, sample=50, checked=check, learner="linear")
    known = label_table(read_table(path), "y", checked=check, learner="linear")
    assert again.labels.labeled.sum() == known.labels.labeled.sum() == 60 + len(numbers)


def test_what_cannot_be_done_in_parts_is_refused(path, tmp_path):
    with pytest.raises(TableError, match="A file of features is read as a whole"):
        in_parts(path, tmp_path, features=tmp_path / "f.npy")
    with pytest.raises(TableError, match="needs 600 MiB at least, and 100 MiB are allowed"):
        in_parts(path, tmp_path, memory=100 << 20)
    whole = tmp_path / "whole.csv"
    table()[0].with_columns(y=pl.col("y").fill_null("no")).write_csv(whole)
    with pytest.raises(TableError, match="Every row of column 'y' has a label"):
        in_parts(whole, tmp_path)


def test_more_memory_than_allowed_is_refused(path, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "resident_bytes", lambda: MEMORY + 1)
    with pytest.raises(TableError, match=r"t\.csv takes more than the 8,192 MiB allowed"):
        in_parts(path, tmp_path, learner="linear")


@pytest.mark.parametrize("when", ["Training", "Writing"])
def test_a_file_that_changes_on_the_way_is_refused(path, tmp_path, when):
    def progress(step):
        if step.startswith(when):
            path.write_bytes(path.read_bytes() + b"1,1,1,red,\n")

    asked, file = Asked.of("y", learner="linear"), io.BytesIO()
    with pytest.raises(TableError, match=r"t\.csv was changed while it was read"):
        label_in_parts(open_large(path), asked, file, tmp_path, Allowance(MEMORY), progress=progress)
    assert {one.name for one in tmp_path.iterdir()} == {"t.csv"}


def test_a_column_that_is_written_otherwise_further_down_is_refused(path, tmp_path, monkeypatch):
    refuse = module.Forms.refuse

    def refuse_many(forms):
        if forms._columns[0][1].n > 200:  # more than the sample has
            raise TableError("Column 'x' holds 'none'.")
        refuse(forms)

    monkeypatch.setattr(module.Forms, "refuse", refuse_many)
    with pytest.raises(TableError, match=r"t\.csv: Column 'x' holds"):
        in_parts(path, tmp_path, sample=40, learner="linear")
