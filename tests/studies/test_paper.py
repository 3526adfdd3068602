"""The paper's tables and figures as studies, and the numbers it prints."""

from studies import STUDIES
from studies.calibration import calibration_curves
from studies.paper import PAPER, accuracy_tables
from studies.store import key_of
from studies.study import Study


def test_the_paper_is_here_as_named_studies():
    assert {study.name.partition("-")[0] for study in PAPER} == {"table", "failure", "figure"}
    assert len(PAPER) == 14 + 5  # also tables with balanced weights; both protocols
    for name in ("table-ssb", "table-iid"):
        assert len(STUDIES[name].cells()) == 13 * 9 * 9  # the paper's seven methods and two more
    assert STUDIES["figure-threshold"].vary == ("threshold", (0.7, 0.8, 0.9, 0.95))
    assert STUDIES["figure-n-heads"].vary == ("n_heads", (2, 5, 10))
    assert STUDIES["figure-gamma"].vary == ("gamma", (0.0, 0.5, 1.0, 1.5, 2.0))
    assert STUDIES["figure-interpolation"].vary[1][0] == 0
    assert STUDIES["figure-n-labeled"].vary[1][-1] == 2000


def test_the_authors_protocol_shares_every_cell_that_is_the_same():
    figures = ("figure-threshold", "figure-gamma", "figure-n-heads")
    for name in ("table-ssb", "table-iid", *figures):
        ours, theirs = STUDIES[name], STUDIES[f"{name}-authors"]
        assert list(theirs.methods) == list(ours.methods)
        keys = {key_of(cell.content()) for cell in ours.cells(["digits"])}
        apart = {
            cell.method for cell in theirs.cells(["digits"]) if key_of(cell.content()) not in keys
        }
        assert apart == {method for method in ours.methods if method.startswith(("pl-", "csta-"))}
        for cell in theirs.cells(["digits"], 1):
            assert cell.options.get("warm_start", False) == (cell.method in apart)
    assert STUDIES["table-ssb-authors"].companion == "table-iid-authors"


def test_the_paper_counted_from_its_own_table():
    paper = accuracy_tables("ssb")
    names = {dataset for dataset, _ in paper}
    wins = {
        p: sum(paper[n, f"{p}-tsim"][0] > paper[n, f"{p}-softmax"][0] for n in names)
        for p in ("pl", "csta", "msta")
    }
    assert wins == {"pl": 9, "csta": 12, "msta": 11}  # its text says 8, 11 and 11


def test_titles_name_what_is_studied_and_claim_nothing():
    assert all(isinstance(study, Study) and study.headline for study in PAPER)
    claims = (
        "better",
        "best",
        "worse",
        "beats",
        "most",
        "hurt",
        "help",
        "wins",
        "fail",
        "needs",
        "far more",
    )
    assert [
        s.title for s in STUDIES.values() if any(word in s.title.lower().split() for word in claims)
    ] == []


def test_twelve_panels_that_fall_in_the_picture():
    curves = calibration_curves()
    sets = ("cod_rna", "mushrooms", "phishing", "rice", "splice", "svmguide1")
    assert set(curves) == {(name, labeling) for name in sets for labeling in ("iid", "ssb")}
    for curve in curves.values():
        assert list(curve.t_similarity) == [0, 0.5, 1, 1.5, 2]
        assert all(0 < value < 100 for value in (curve.softmax, *curve.t_similarity.values()))
    # What the paper says of them: lower with diversity than without, in all panels; below softmax
    # but in one.
    assert all(curve.t_similarity[2.0] < curve.t_similarity[0.0] for curve in curves.values())
    above = [place for place, curve in curves.items() if curve.t_similarity[0.0] > curve.softmax]
    assert above == [("svmguide1", "ssb")]
