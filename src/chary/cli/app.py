"""Words typed after ``chary`` in; an exit code out: the commands put together, and every error as one sentence."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated

import typer

from chary import __version__
from chary.cli.audit import audit_app
from chary.cli.console import plain, stderr
from chary.cli.demo import demo_app
from chary.cli.judge import judge_app
from chary.cli.label import label_app
from chary.cli.predict import predict_app
from chary.cli.remedies import sentence
from chary.cli.review import review_app
from chary.cli.streams import any_text, heeded_signals
from chary.cli.study import datasets_app, study_app

app = typer.Typer(
    name="chary",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Label the rest of a table from a few labels that were not picked at random.",
)
app.add_typer(label_app)
app.add_typer(predict_app)
app.add_typer(review_app)
app.add_typer(judge_app)
app.add_typer(demo_app)
app.add_typer(audit_app, name="audit")
app.add_typer(study_app, name="study")
app.add_typer(datasets_app, name="datasets")

# Scikit-learn's guess that many classes of few rows each are numbers; whether they are is asked of the table.
_MANY_CLASSES = "The number of unique classes is greater than 50% of the number of samples"
_INTERRUPTED = "Interrupted; no file was left half-written."


@app.callback(invoke_without_command=True)
def _options(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"chary {__version__}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0 is success, 1 a bad input told in one sentence, 130 an interruption, 143 a SIGTERM."""
    with any_text(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", _MANY_CLASSES, UserWarning)
        return _run(arguments)


def _run(arguments: list[str] | None) -> int:
    try:
        with heeded_signals():
            code = app(arguments, prog_name="chary", standalone_mode=False) or 0
            sys.stdout.flush()
        return _fail(_INTERRUPTED, 130) if code == 130 else code
    except (typer.Abort, KeyboardInterrupt):
        return _fail(_INTERRUPTED, 130)
    except (ValueError, OSError) as error:
        return _fail(sentence(error), 1)
    except MemoryError:
        return _fail("The table does not fit into memory; leave columns out with --drop, or take fewer rows.", 1)
    except BaseException as error:
        return _failed(error)


def _failed(error: BaseException) -> int:
    """An error that no command expects: a wrong word, an end that was asked for, or a mistake of chary."""
    if hasattr(error, "format_message"):  # a usage error of Click, under whichever name Typer ships it
        message = error.format_message()  # without a word: the help was shown
        return _fail(f"{message.rstrip('.')}; try --help.", 1) if message else 0
    if hasattr(error, "exit_code"):
        return _fail(str(error), error.exit_code)
    if os.environ.get("CHARY_DEBUG") or isinstance(error, (SystemExit, GeneratorExit)):
        raise error
    found = f"{type(error).__name__}: {error}"
    return _fail(f"A mistake in chary itself ({found}); please report it. CHARY_DEBUG=1 shows where it is.", 1)


def _fail(sentence: str, code: int) -> int:
    stderr().print(f"[bold red]chary:[/bold red] {plain(sentence, 800)}", soft_wrap=True, highlight=False)
    return code
