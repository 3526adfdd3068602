"""The study of verdicts: what it measures, and the table and sentences made of it."""

from chary.labelling.diagnose import MILD, REPRESENTATIVE, STRONG
from studies.results import to_csv, to_markdown
from studies.runner import work_out
from studies.verdicts import VERDICTS


def test_verdicts_follow_how_the_labels_were_drawn(blobs):
    cells = VERDICTS.cells([blobs], 1)
    assert [cell.labeling for cell in cells] == ["ssb", "random", "stratified", "iid"]
    for cell in cells[1:]:
        (one,) = work_out(VERDICTS, [cell])
        assert (one.reason, one.result["verdict"]) == ("", REPRESENTATIVE)
        assert 0 < one.result["auc"] < 1
        assert 0 < one.result["coverage"] <= 1


def test_the_table_of_verdicts_counts_them():
    results = [
        (
            cell,
            {
                "verdict": STRONG if cell.labeling == "ssb" else MILD if cell.seed == 3 else REPRESENTATIVE,
                "auc": 0.5 + 0.01 * cell.seed,
                "coverage": 0.25,
            },
        )
        for cell in VERDICTS.cells(["rice"], 4)
    ]
    text = to_markdown(VERDICTS, results)
    assert "Verdicts over 4 seeds." in text
    assert "| Rice | with the paper's bias | 0 | 0 | 4 | 0.50 to 0.53 | 25% |" in text
    assert "| Rice | at random from all rows | 3 | 1 | 0 | 0.50 to 0.53 | 25% |" in text
    assert (
        "Taken for representative: 0 of 4 drawn with the paper's bias; 3 of 4 drawn at random from all rows;"
        in text
    )
    assert f"rice,random,diagnosis,{MILD},4,25.0000" in to_csv(VERDICTS, results)
