"""What a person sees in a terminal."""

from dataclasses import replace
from io import StringIO

from rich.console import Console

from chary.report import Hints, show_judged, summarize_judged
from chary.report.next_steps import judged_steps


def test_every_question_has_its_answer(judged):
    console = Console(file=StringIO(), width=100, color_system=None)
    summary = summarize_judged(judged)
    hints = Hints(draw="chary judge t.csv -k 60", typed=True)
    show_judged(console, summary, hints)
    show_judged(console, {**summary, "columns": summary["columns"][:1]}, hints)
    out = console.file.getvalue()
    for said in (
        summary["pairs"][0]["sentence"],
        "Estimated by the audit",
        "Labels in column 'rule', by place:",
        "too few audited rows to say",
        "rows: '<b>ham</b>' labelled as 'spam'",
        "beyond chance (kappa)",
        summary["accept"]["sentence"],
        "NEW CLASS",
        "takes about four times as many rows):  chary judge t.csv -k 60",
    ):
        assert said in out


def test_rows_not_reached_come_first(judged):
    summary = {**summarize_judged(judged), "left": 4}
    last = judged_steps(summary, Hints(fill="chary audit fill s.csv"))[-1]
    assert last["words"].endswith("label the 4 rows left:")
    assert last["command"] == "chary audit fill s.csv"


def test_several_people_go_on_in_their_own_sheets(judged):
    summary = {**summarize_judged(judged), "annotators": {"differing": 0}}
    assert judged_steps(summary, Hints(draw="chary judge draw t.csv"))[-1]["words"] == (
        "To narrow the intervals, draw a larger sheet and let each person go on in a copy with the "
        "old answers:"
    )


def test_the_error_named_is_the_one_that_the_sentence_speaks_of(judged):
    levels = [
        {"error": error, "level": 0.9, "threshold": 0.5, "n_accepted": 10 * (error == 0.2)}
        for error in (0.1, 0.2)
    ]
    summary = {**summarize_judged(judged), "accept": None, "acceptance": levels}
    out = shown(summary, Hints(typed=True))
    assert "at most 20% wrong (90% level, if you chose that error beforehand)" in out
    assert "10 labels in column 'rule' of confidence 0.5 or more" in out
    assert "To mark them, add  --error 20%" in out
    assert "To mark them, add  error=0.2" in shown(summary, Hints())


def test_who_looked_is_told_the_interval_that_holds_all_along_unless_it_is_the_one_shown(judged):
    summary = summarize_judged(judged)
    summary["columns"] = summary["columns"][:1]
    (column,) = summary["columns"]
    always = column["always"]
    line = "If you looked at the results while labelling and then stopped: between "
    assert f"{line}{always['low']:.1%} and {always['high']:.1%}" in shown(summary)
    stopped = replace(judged, answers=replace(judged.answers, stopped=True))
    summary["columns"] = summarize_judged(stopped)["columns"][:1]
    assert "If you looked" not in shown(summary)


def shown(summary, hints=Hints()):  # noqa: B008 - immutable
    console = Console(file=StringIO(), width=100, color_system=None)
    show_judged(console, summary, hints)
    return console.file.getvalue()
