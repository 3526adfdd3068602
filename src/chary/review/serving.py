"""How the server of the pages starts, is opened in the browser, and ends."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from threading import Thread

import uvicorn

from chary.review.app import create_app
from chary.review.safety import LEADING_TO
from chary.review.workbench import Workbench
from chary.tables import TableError

HOST = "127.0.0.1"
# When the server ends, a request that is being answered has this many seconds.
_SECONDS_TO_END = 2


def serve(
    bench: Workbench,
    port: int = 0,
    *,
    browser: bool = True,
    opened: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve the pages until a signal ends them.

    The browser is given a file in a folder of this user alone, which leads to the address: the
    address itself would stand in the list of processes, which every user of the machine can read.

    Parameters
    ----------
    bench : Workbench
    port : int, default=0
        The port to listen on; 0 picks a free one.
    browser : bool, default=True
        Open the browser.
    opened : callable
        Called with the address and its token once the server answers.
    """
    listener = _bind(port)
    _, port = listener.getsockname()
    token = secrets.token_urlsafe(32)
    url = f"http://{HOST}:{port}/?token={token}"
    config = uvicorn.Config(
        create_app(bench, token, port),
        timeout_graceful_shutdown=_SECONDS_TO_END,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
    )
    server = _Server(config)
    # Each refused request is logged in a line; nothing else is written while pages are shown.
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    with _door(url) as door, server.capture_signals():
        bench.learn()
        opened(url)
        if browser:
            Thread(target=webbrowser.open, args=(door.as_uri(),), daemon=True).start()
        server.run(sockets=[listener])
    bench.close()


class _Server(uvicorn.Server):
    """A server that ends in peace on a signal."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End the server on a signal, once it has answered what it was asked.

        Uvicorn would raise the signal again after that. Here it is not, so that the command can
        print a sentence at the end.
        """
        handlers = {}
        # Windows has no SIGHUP.
        for number in {"SIGINT", "SIGTERM", "SIGHUP"} & signal.Signals.__members__.keys():
            handlers[number] = signal.signal(signal.Signals[number], self.handle_exit)
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(signal.Signals[number], handler)


def _bind(port: int) -> socket.socket:
    """Listen on a port of this machine."""
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        raise TableError(f"Port {port} cannot be used ({reason}); choose another.") from None
    # Connections send at once; otherwise each answer waits 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


@contextmanager
def _door(url: str) -> Iterator[Path]:
    """Write a page that leads the browser to the address, and delete it at the end.

    Only this user can enter its folder, which has mode 0700.
    """
    with tempfile.TemporaryDirectory(prefix="chary-review-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "open.html")
        path.touch(0o600)
        path.write_text(LEADING_TO.format(url=escape(url)), encoding="utf-8")
        yield path
