"""The command line: commands with their help, errors as sentences, signals, and streams.

A standard stream may be closed, have no reader, or be unable to encode a character: a command must
do its work all the same.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
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

_THREE_COMMANDS = """\
chary gives the unlabelled rows of a table a label, and tells you how good the labels are.

  chary review customers.csv                        everything in the browser
  chary label customers.csv --target churn          label the rows where churn is empty
  chary judge tickets.csv --labels llm_label        check labels that somebody else made

chary --help lists all commands, chary label --help the options of one. \
chary demo shows an example."""

_INTERRUPTED = "Interrupted; no file was left half-written."
_DISK_FULL = (
    "Cannot write to standard output (no space left on device); files that were written are whole."
)
_MEMORY_FULL = (
    "The table does not fit into memory; leave columns out with --drop, or take fewer rows."
)

# The exit code of a command that could not use its input.
_BAD_INPUT = 1
# The exit code of a command that a signal ended is this number plus that of the signal.
_BY_SIGNAL = 128
_SIGINT = 130
_SIGPIPE = 141

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

app.command("review", epilog="Example:  chary review customers.csv")(review_command)
app.command("label", epilog="Example:  chary label customers.csv --target churn")(label_command)
app.command("diagnose", epilog="Example:  chary diagnose customers.csv --target churn")(
    diagnose_command
)
app.command(
    "predict",
    epilog="Example:  chary predict customers.model.chary new.csv\n\n"
    "Example:  chary predict customers.model.chary 'in/*.parquet' --out out",
)(predict_command)
app.command("judge", epilog="Example:  chary judge draw tickets.csv --labels llm_label")(
    judge_command
)
app.add_typer(audit_app, name="audit")
audit_app.command("draw", epilog="Example:  chary audit draw customers.csv --target churn -k 30")(
    draw_command
)
audit_app.command("fill", epilog="Example:  chary audit fill customers.audit.csv")(fill_command)
app.command(
    "demo",
    help="Hide most labels of a table that ships with scikit-learn, find them again, and compare "
    "with the truth.",
)(demo_command)


@app.callback(invoke_without_command=True)
def _without_command(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Print the version, or the three commands that a beginner needs."""
    if version:
        typer.echo(f"chary {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(_THREE_COMMANDS)
    else:
        return
    raise typer.Exit


def main(arguments: list[str] | None = None) -> int:
    """Run a command, and return its exit code.

    0 is success, 1 a bad input told in one sentence, 130 an interruption, 143 a SIGTERM.
    """
    _prepare_streams()
    _heed_signals()
    try:
        code = app(arguments, prog_name="chary", standalone_mode=False) or 0
        sys.stdout.flush()
        message = _INTERRUPTED if code == _SIGINT else ""
    except BaseException as error:
        message, code = _message_and_code(error)
    if message:
        try:
            complain(message)
        except OSError:
            _drop(sys.stderr)
    return code


def _message_and_code(error: BaseException) -> tuple[str, int]:
    """Choose what to say of an error, and the exit code.

    An error that a user can mend is one sentence. Any other error is a mistake in chary: it is said
    to be one, or raised again if the environment asks for that.
    """
    if isinstance(error, (typer.Abort, KeyboardInterrupt)):
        return _INTERRUPTED, _SIGINT
    # The reader of a pipe is gone, as head is after ten lines.
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
        _drop(sys.stdout)
        return "", _SIGPIPE
    # The disk is full; without the name of a file, the output was redirected to it.
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
        _drop(sys.stdout)
        return _DISK_FULL, _BAD_INPUT

    if isinstance(error, (ValueError, OSError)):
        return sentence(error), _BAD_INPUT
    if isinstance(error, MemoryError):
        return _MEMORY_FULL, _BAD_INPUT

    # A usage error of Click, under whichever name Typer ships it.
    if hasattr(error, "format_message"):
        message = error.format_message()
        if not message:  # the help was shown
            return "", 0
        return f"{message.rstrip('.')}; try --help.", _BAD_INPUT

    if isinstance(error, Terminated):
        return str(error), error.exit_code
    if os.environ.get("CHARY_DEBUG") or isinstance(error, (SystemExit, GeneratorExit)):
        raise error
    mistake = f"{type(error).__name__}: {error}"
    message = (
        f"A mistake in chary itself ({mistake}); please report it. CHARY_DEBUG=1 shows where it is."
    )
    return message, _BAD_INPUT


# ---------------------------------------------------------------- signals and streams


class Terminated(BaseException):
    """A signal other than Ctrl-C asked for the end; half-written files are removed on the way."""

    def __init__(self, signum: int) -> None:
        name = signal.Signals(signum).name
        super().__init__(f"Stopped by {name}; no file was left half-written.")
        self.exit_code = _BY_SIGNAL + signum


def _heed_signals() -> None:
    """Have signals that end the process raise ``Terminated``, unless they are handled already."""
    if current_thread() is not main_thread():
        return

    def terminate(signum: int, frame: Any) -> None:
        raise Terminated(signum)

    for name in ("SIGTERM", "SIGHUP"):
        signum = getattr(signal, name, None)  # Windows has no SIGHUP
        if signum is not None and signal.getsignal(signum) is signal.SIG_DFL:
            signal.signal(signum, terminate)


def _prepare_streams() -> None:
    """Have standard streams escape what they cannot print, and replace closed streams.

    A closed stream is opened on the null device, which takes its file descriptor. Otherwise the
    next file that is opened would get the descriptor, and what a library prints would go into it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 (open to the end)
            setattr(sys, name, nowhere)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop(stream: TextIO) -> None:
    """Discard what Python has buffered for a stream, which it would write at its end."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
