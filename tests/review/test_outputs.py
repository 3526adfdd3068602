"""Results are written where nothing is in the way, and are told stale when something newer is there."""

from chary.review.files import Ownership
from chary.review.outputs import Outputs, to_stream


def test_files_of_others_stay_until_that_is_said(tmp_path):
    labels, report = tmp_path / "t.labeled.csv", tmp_path / "t.report.html"
    report.write_text("theirs")
    outputs = Outputs({"labels": labels, "report": report}, Ownership({}))
    writers = {kind: to_stream(lambda stream: stream.write(b"ours")) for kind in ("labels", "report")}
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
