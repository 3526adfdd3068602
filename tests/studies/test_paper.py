"""The paper's tables and figures as studies, and the numbers it prints."""

from chary.studies.catalogue import STUDIES
from chary.studies.paper import AUTHORS, PAPER, accuracy_tables, failure_table
from chary.studies.store import key_of
from chary.studies.study import Study


def test_the_paper_is_here_as_named_studies():
    assert {study.name.partition("-")[0] for study in PAPER} == {"table", "class", "failure", "figure"}
    assert len(PAPER) == 15  # the paper's, the tables with balanced weights, and PL with the class share
    for name in ("table-ssb", "table-iid"):
        assert len(STUDIES[name].cells()) == 13 * 9 * 9  # the paper's seven methods and two more
    assert STUDIES["figure-threshold"].vary == ("threshold", (0.7, 0.8, 0.9, 0.95))
    assert STUDIES["figure-n-heads"].vary == ("n_heads", (2, 5, 10))
    assert STUDIES["figure-gamma"].vary == ("gamma", (0.0, 0.5, 1.0, 1.5, 2.0))
    assert STUDIES["figure-interpolation"].vary[1][0] == 0
    assert STUDIES["figure-n-labeled"].vary[1][-1] == 2000


def test_the_authors_protocol_shares_every_cell_that_is_the_same():
    figures = {"figure-threshold", "figure-gamma", "figure-n-heads"}
    assert set(AUTHORS) == {"table-ssb", "table-iid", "class-share", *figures}
    for name, theirs in AUTHORS.items():
        ours = STUDIES[name]
        assert theirs.name == f"{name}-authors"
        assert list(theirs.methods) == list(ours.methods)
        keys = {key_of(cell.content()) for cell in ours.cells(["digits"])}
        apart = {cell.method for cell in theirs.cells(["digits"]) if key_of(cell.content()) not in keys}
        assert apart == {method for method in ours.methods if method.startswith(("pl-", "csta-"))}
        for cell in theirs.cells(["digits"], 1):
            assert cell.options.get("warm_start", False) == (cell.method in apart)
    assert AUTHORS["table-ssb"].companion == AUTHORS["table-iid"].name


def test_the_papers_numbers():
    assert accuracy_tables("ssb")["svmguide1", "pl-tsim"] == (81.07, 5.39)
    assert accuracy_tables("iid")["cod_rna", "erm"] == (89.28, 2.13)
    assert failure_table("ssb")["mushrooms", "pl-softmax"] == (54.08, 5.56)
    assert failure_table("iid")["mushrooms", "erm"] == (96.48, 1.57)
    assert len(accuracy_tables("ssb")) == 13 * 7
    assert accuracy_tables("random") == {}


def test_each_study_has_the_numbers_of_its_own_table():
    with_numbers = {study.name for study in PAPER if any(study.published(x) for x in study.labelings)}
    assert with_numbers == {"table-ssb", "table-iid", "table-balanced", "class-share", "failure-of-softmax"}
    assert STUDIES["failure-of-softmax"].published("ssb") is failure_table("ssb")


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
    claims = ("better", "best", "worse", "beats", "most", "hurt", "help", "wins", "fail", "needs", "far more")
    assert [s.title for s in STUDIES.values() if any(word in s.title.lower().split() for word in claims)] == []
