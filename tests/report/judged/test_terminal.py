"""What a person sees in a terminal."""

from io import StringIO

from rich.console import Console

from chary.report.hints import JudgeHints
from chary.report.judged.summary import summarize_judged
from chary.report.judged.terminal import next_step, show_judged


def test_every_question_has_its_answer(judged):
    console = Console(file=StringIO(), width=100, color_system=None)
    summary = summarize_judged(judged)
    show_judged(console, summary, JudgeHints("chary judge t.csv -k 60", error="--error 10%"))
    out = console.file.getvalue()
    for said in (
        summary["comparison"]["sentence"],
        "Really, by the audit",
        "too few audited rows to say",
        "x '<b>ham</b>' was labelled 'spam'",
        "Agreement beyond chance (kappa)",
        summary["accept"]["sentence"],
        "NEW CLASS",
        "keeps the answers there are:  chary judge t.csv -k 60",
    ):
        assert said in out


def test_rows_not_reached_come_first(judged):
    summary = {**summarize_judged(judged), "left": 4}
    assert next_step(summary, JudgeHints(fill="chary audit fill s.csv")).endswith(
        "narrower:  chary audit fill s.csv"
    )
