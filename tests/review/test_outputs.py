"""Results are written where nothing is in the way, and are told stale when something newer is there."""

import pytest

from chary.review.files import Ownership
from chary.review.outputs import Outputs


def test_files_of_others_stay_until_that_is_said(tmp_path):
    labels, report = tmp_path / "t.labeled.csv", tmp_path / "t.report.html"
    report.write_text("theirs")
    outputs = Outputs({"labels": labels, "report": report}, Ownership({}))
    writers = {kind: lambda stream: stream.write(b"ours") for kind in ("labels", "report")}
    assert outputs.write(writers, "first") == ["t.report.html"]
    assert (labels.read_text(), report.read_text()) == ("ours", "theirs")
    told = {file["kind"]: file for file in outputs.files(["labels", "report"], "first")}
    assert told["labels"] == {
        "kind": "labels",
        "name": "t.labeled.csv",
        "written": True,
        "ours": True,
        "stale": False,
    }
    assert (told["report"]["ours"], told["report"]["stale"]) == (False, True)
    assert outputs.write(writers, "second", overwrite=True) == []
    assert report.read_text() == "ours"
    assert [file["stale"] for file in outputs.files(["labels", "report"], "second")] == [False, False]
    assert [file["stale"] for file in outputs.files(["labels", "report"], "third")] == [True, True]


def test_where_one_cannot_be_written_none_is_new(tmp_path):
    paths = {kind: tmp_path / kind for kind in ("labels", "report")}
    outputs = Outputs(paths, Ownership({}))
    outputs.write({kind: lambda stream: stream.write(b"first") for kind in paths}, "first")

    def fails(stream):
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        outputs.write({"labels": lambda stream: stream.write(b"second"), "report": fails}, "second")
    assert [path.read_text() for path in paths.values()] == ["first", "first"]
    assert [file["stale"] for file in outputs.files(list(paths), "second")] == [True, True]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels", "report"]
