"""The standard streams and the signals of a process in; streams that take any text, and one exception, out.

A stream may be closed, lead to nobody, or know no Arabic: what a command does must not hang on what it says.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from typing import Any, TextIO, cast


class Terminated(BaseException):
    """A signal other than Ctrl-C asked for the end; everything half-written is removed on the way out."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"Stopped by {signal.Signals(signum).name}; no file was left half-written.")
        self.exit_code = 128 + signum


@contextmanager
def heeded_signals() -> Iterator[None]:
    """Signals that would end the process at once raise ``Terminated``, unless somebody heeds or ignores them."""
    names = ("SIGTERM", "SIGHUP")
    signals = [getattr(signal, name) for name in names if hasattr(signal, name)]
    ours = [signum for signum in signals if signal.getsignal(signum) is signal.SIG_DFL]
    if current_thread() is not main_thread():
        ours = []
    for signum in ours:
        signal.signal(signum, _terminate)
    try:
        yield
    finally:
        for signum in ours:
            signal.signal(signum, signal.SIG_DFL)


@contextmanager
def any_text() -> Iterator[None]:
    """Standard streams for the time of a command: what cannot be printed is escaped, what nobody reads is dropped.

    The numbers of closed ones are taken first: else the next file that is opened gets such a number, and what a
    library prints goes into it.
    """
    _take_closed_numbers()
    before = sys.stdin, sys.stdout, sys.stderr
    with open(os.devnull, encoding="utf-8") as nothing, open(os.devnull, "w", encoding="utf-8") as nowhere:
        sys.stdin = before[0] or nothing
        sys.stdout = cast(TextIO, AnyText(before[1] or nowhere))
        sys.stderr = cast(TextIO, AnyText(before[2] or nowhere, needed=False))
        try:
            yield
        finally:
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError):
                    stream.flush()
            sys.stdin, sys.stdout, sys.stderr = before


class AnyText:
    """A text stream that takes any character, and nobody at its other end.

    Parameters
    ----------
    stream : text stream
    needed : bool, default=True
        Whether it is an error that a disk takes no more of it; a pipe that nobody reads never is.
    """

    def __init__(self, stream: TextIO, needed: bool = True) -> None:
        self._stream, self._needed = stream, needed

    def write(self, text: str) -> int:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        escaped = text.encode(encoding, "backslashreplace").decode(encoding)
        self._try(lambda: self._stream.write(escaped))
        return len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def _try(self, act: Any) -> None:
        try:
            act()
        except ValueError:  # closed meanwhile
            if self._needed and not self._stream.closed:
                raise
        except OSError as error:
            self._drop()
            if self._needed and not isinstance(error, BrokenPipeError):
                why = (error.strerror or str(error)).lower()
                raise OSError(
                    f"What there is to say cannot be printed ({why}); files that were written are whole."
                ) from None

    def _drop(self) -> None:
        """Have what follows, and what Python still holds when it ends, go nowhere."""
        with suppress(OSError, ValueError, AttributeError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _terminate(signum: int, frame: Any) -> None:
    raise Terminated(signum)


def _take_closed_numbers() -> None:
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
