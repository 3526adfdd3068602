"""The command ``chary review``: pages in the browser, until Ctrl-C."""

from __future__ import annotations

from chary.cli import console
from chary.options import ReviewOptions


@console.takes_options
def review_command(file: console.TABLE, options: ReviewOptions) -> None:
    """Do everything in the browser: label, audit, correct.

    The page runs on this machine only. Without --target or --labels you choose the column on it.
    Answers are saved at once in the files that chary audit, chary label and chary judge use, so you
    can switch between page, terminal and spreadsheet. Ctrl-C ends it; the command it prints goes on
    where you stopped.
    """
    if options.target is not None and options.labels:
        raise ValueError(
            "Give --target, the column to label, or --labels, the column to judge, not both."
        )
    if options.confidence is not None and not options.labels:
        raise ValueError(
            "--confidence goes with --labels; leave it out, or name the labels to judge."
        )
    if not options.labels and (options.hide or options.show or options.annotator):
        raise ValueError("--hide, --show and --annotator go with --labels; leave them out.")

    console.import_libraries(file)
    console.heed_interrupts()
    from chary.review import begin, serve

    with console.quietly():
        bench = begin(file, options)
    serve(bench, options.port, browser=not options.no_browser, opened=_say_address)

    sheets = [str(path) for path in (bench.paths.audit, bench.paths.check) if path.exists()]
    answers = "No answer was given."
    if sheets:
        answers = f"Your answers are in {' and '.join(sheets)}."
    again = bench.options.command(file)
    console.say(f"\nThe page has ended. {answers}\nGo on:  {again}")


def _say_address(url: str) -> None:
    """Say where the page is."""
    console.say(f"The page is at {url}  (Ctrl-C ends it)")
