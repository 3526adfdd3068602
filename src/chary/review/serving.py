"""A server at 127.0.0.1, and a browser that shows it, until it is told to end."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from threading import Thread, current_thread, main_thread
from types import FrameType
from typing import Any

import uvicorn

from chary.review.app import create_app
from chary.review.safety import LOG
from chary.review.state import Workbench
from chary.tables import TableError

HOST = "127.0.0.1"


def serve(
    bench: Workbench, port: int = 0, *, browser: bool = True, opened: Callable[[str], None] = lambda url: None
) -> None:
    """Serve the pages until SIGINT or SIGTERM; ``opened`` is told the address, with its token, once it answers.

    The browser is not given the address, which would stand in the list of processes for every user of the machine
    to read, but a file in a folder of this user alone that leads there.
    """
    bound = _bind(port)
    port, token = bound.getsockname()[1], secrets.token_urlsafe(32)
    url = f"http://{HOST}:{port}/?token={token}"
    app = create_app(bench, token, port)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", server_header=False, timeout_graceful_shutdown=2
    )
    server = _Server(config)
    _log_to_the_error_stream()
    with _door(url) as door, _ended_by_signals(server):
        bench.relearn()
        opened(url)
        if browser:
            Thread(target=webbrowser.open, args=(door.as_uri(),), daemon=True).start()
        server.run(sockets=[bound])
    bench.close()


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are heeded outside, so that there is something to say at the end."""
        yield


def _bind(port: int) -> socket.socket:
    # Said to be TCP, connections send what they have at once; else each answer waits 40 ms for an acknowledgement.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
        bound.listen(128)  # who is early waits
    except OSError as error:
        bound.close()
        raise TableError(
            f"Port {port} cannot be used ({(error.strerror or '').lower()}); choose another."
        ) from None
    return bound


@contextmanager
def _door(url: str) -> Iterator[Path]:
    """A page in a folder that only this user can read, which leads to the address; gone when the server is."""
    folder = Path(tempfile.mkdtemp(prefix="chary-"))  # of mode 0700
    path = folder / "open.html"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(
                '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="referrer" '
                f'content="no-referrer"><meta http-equiv="refresh" content="0;url={escape(url)}"><title>chary'
                f'</title></head><body><p><a href="{escape(url)}">Open the page</a></p></body></html>'
            )
        yield path
    finally:
        with suppress(OSError):
            path.unlink()
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Ctrl-C and a request to terminate end the server, and what it does is finished first."""
    if current_thread() is not main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    before: dict[Any, Any] = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _log_to_the_error_stream() -> None:
    """A refused request is a line; nothing else is said while pages are shown."""
    if not LOG.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
        LOG.addHandler(handler)
        LOG.propagate = False
