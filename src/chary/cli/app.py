"""The command line: the commands and their help, every error as one sentence, signals, and streams of any kind.

A stream may be closed, lead to nobody, or know no Arabic: a command must do its work all the same.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from threading import current_thread, main_thread
from typing import Annotated, Any, TextIO

import typer

from chary import __version__
from chary.cli.audit import draw_command, fill_command
from chary.cli.console import complain, sentence
from chary.cli.demo import demo_command
from chary.cli.judge import judge_command
from chary.cli.label import diagnose_command, label_command
from chary.cli.predict import predict_command
from chary.cli.review import review_command

_THREE = """\
chary gives the unlabelled rows of a table a label, and tells you how good the labels are.

  chary review customers.csv                        everything in the browser
  chary label customers.csv --target churn          label the rows where churn is empty
  chary judge tickets.csv --labels llm_label        check labels that somebody else made

chary --help lists all commands, chary label --help the options of one. chary demo shows an example."""

app = typer.Typer(
    name="chary",
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Label the rest of a table from a few labels that were not picked at random.",
)
audit_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Label random rows, to learn how good the other labels are.",
)


def _add(to: typer.Typer, name: str, command: Callable[..., None], *examples: str) -> None:
    told = [f"Example:  {example}" for example in examples]
    to.command(name, epilog="\n\n".join(told) or None)(command)


_add(app, "review", review_command, "chary review customers.csv")
_add(app, "label", label_command, "chary label customers.csv --target churn")
_add(app, "diagnose", diagnose_command, "chary diagnose customers.csv --target churn")
_add(
    app,
    "predict",
    predict_command,
    "chary predict customers.model.chary new.csv",
    "chary predict customers.model.chary 'in/*.parquet' --out out",
)
_add(app, "judge", judge_command, "chary judge draw tickets.csv --labels llm_label")
app.add_typer(audit_app, name="audit")
_add(audit_app, "draw", draw_command, "chary audit draw customers.csv --target churn -k 30")
_add(audit_app, "fill", fill_command, "chary audit fill customers.audit.csv")
_add(app, "demo", demo_command)

_INTERRUPTED = "Interrupted; no file was left half-written."


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version or context.invoked_subcommand is None:
        typer.echo(f"chary {__version__}" if version else _THREE)
        raise typer.Exit


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0 is success, 1 a bad input told in one sentence, 130 an interruption, 143 a SIGTERM."""
    _prepare_streams()
    _heed_signals()
    try:
        code = app(arguments, prog_name="chary", standalone_mode=False) or 0
        sys.stdout.flush()
        words = _INTERRUPTED if code == 130 else ""
    except BaseException as error:
        words, code = _words_and_code(error)
    if words:
        try:
            complain(words)
        except OSError:
            _drop(sys.stderr)
    return code


def _words_and_code(error: BaseException) -> tuple[str, int]:
    """What to say of an error, and the exit code."""
    if isinstance(error, (typer.Abort, KeyboardInterrupt)):
        return _INTERRUPTED, 130
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
        _drop(sys.stdout)
        return "", 128 + 13  # as of a program that SIGPIPE ends: nobody reads on
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
        _drop(sys.stdout)
        return (
            "Cannot write to standard output (no space left on device); files that were written are whole.",
            1,
        )
    if isinstance(error, (ValueError, OSError)):
        return sentence(error), 1
    if isinstance(error, MemoryError):
        return (
            "The table does not fit into memory; leave columns out with --drop, or take fewer rows.",
            1,
        )
    if hasattr(
        error, "format_message"
    ):  # a usage error of Click, under whichever name Typer ships it
        message = error.format_message()  # without a word: the help was shown
        return (f"{message.rstrip('.')}; try --help.", 1) if message else ("", 0)
    if isinstance(error, Terminated):
        return str(error), error.exit_code
    if os.environ.get("CHARY_DEBUG") or isinstance(error, (SystemExit, GeneratorExit)):
        raise error
    found = f"{type(error).__name__}: {error}"
    return (
        f"A mistake in chary itself ({found}); please report it. CHARY_DEBUG=1 shows where it is.",
        1,
    )


# ---------------------------------------------------------------- signals and streams


class Terminated(BaseException):
    """A signal other than Ctrl-C asked for the end; everything half-written is removed on the way out."""

    def __init__(self, signum: int) -> None:
        super().__init__(
            f"Stopped by {signal.Signals(signum).name}; no file was left half-written."
        )
        self.exit_code = 128 + signum


def _heed_signals() -> None:
    """Signals that would end the process at once raise ``Terminated``, unless somebody heeds or ignores them."""

    def terminate(signum: int, frame: Any) -> None:
        raise Terminated(signum)

    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    for signum in signals if current_thread() is main_thread() else []:
        if signal.getsignal(signum) is signal.SIG_DFL:
            signal.signal(signum, terminate)


def _prepare_streams() -> None:
    """Have standard streams that escape what they cannot print.

    One that is closed leads nowhere, and its number is taken: else the next file that is opened
    gets the number, and what a library prints goes into it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop(stream: TextIO) -> None:
    """What Python still holds of a stream when it ends goes nowhere."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
